import { createDatabase } from '@vintem/testkit/database.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import {
  booksOf,
  codeOf,
  create,
  credit,
  cutAt,
  cutAtCommit,
  gate,
  posting,
  reserve,
  tillOver,
  type Way,
  watched,
} from '@vintem/testkit/till.ts';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ApiError } from '../../src/ground/errors.ts';
import { createLog } from '../../src/ground/log.ts';
import { eventKinds } from '../../src/money/journal.ts';
import { type Clock, systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { committed, type Sql, type Statement } from '../../src/ports/sql.ts';
import { openPool } from '../../src/store/database/pool.ts';
import type { Table } from '../../src/store/database/table.ts';
import { OperatorRefused } from '../../src/store/operator.ts';
import { paymentKey, payments } from '../../src/store/rows/payments.sql.ts';
import {
  type ChainKey,
  type Command,
  createTill,
  put,
  type Read,
  read,
  remove,
  type Till,
  type Write,
} from '../../src/store/till.ts';

/** The till, statement by statement, when all goes well and when something fails. */

const ids = systemIds(clock);
const silent = createLog('silent');
const db = await createDatabase();
const { newOperation, balanceOf, timesPosted, audit, somebodyWaitsForALock } = booksOf(db);
await db.admin(`
  CREATE FUNCTION raise_state(state text) RETURNS void LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'made for a test'; END $$;
  CREATE TABLE note (key text PRIMARY KEY, token uuid, text text NOT NULL);
  GRANT SELECT, INSERT, UPDATE, DELETE ON note TO vintem_app`);

afterEach(audit);
afterAll(() => db.drop());

const raise: Statement = { name: 'test_raise', text: 'SELECT raise_state($1)' };

/** Of one transaction after the other the first write fails as the server says, with these SQLSTATEs; null: it goes well. */
function failing(...states: (string | null)[]): { sql: Sql; flushes(): number } {
  let begun = 0;
  return {
    flushes: () => begun,
    sql: {
      ...db.sql,
      begin: async () => {
        const tx = await db.sql.begin();
        const state = states[Math.min(begun++, states.length - 1)];
        return {
          ...tx,
          run: (statement, values) =>
            state && statement.name === 'journal_insert_common'
              ? tx.run(raise, [state])
              : tx.run(statement, values),
        };
      },
    },
  };
}

const always = (state: string) => failing(state);
const times = (count: number, state: string) => failing(...Array.from({ length: count }, () => state), null);

describe('a flush that fails', () => {
  it.each(['40001', '40P01', '57P01', '57P03', '08006', '25P03', '53300'])(
    'with %s is run again until it succeeds, and no caller sees the error',
    async (state) => {
      const shop = await newOperation();
      const { sql, flushes } = times(4, state);
      const till = tillOver(sql);
      const answers = await Promise.all([till.submit(credit(shop, 5)), till.submit(credit(shop, 6))]);
      expect([answers, flushes()]).toEqual([['posted', 'posted'], 5]);
      expect(await balanceOf(shop)).toMatchObject({ available: 11, seq: 2 });
    },
  );

  it('again and again waits longer each time, and half a second at most', async () => {
    const shop = await newOperation();
    const waits: number[] = [];
    const impatient: Clock = {
      ...clock,
      sleep: async (ms, signal) => (signal ? clock.sleep(ms, signal) : void waits.push(ms)),
    };
    const { sql } = times(7, '40001');
    expect(await createTill({ sql, clock: impatient, log: silent }).submit(credit(shop, 5))).toBe('posted');
    expect(waits).toEqual([20, 40, 80, 160, 320, 500, 500]);
  });

  it.each(['53100', '53200', '58030', 'XX001', '25006'])('with %s is answered 503 at once', async (state) => {
    const shop = await newOperation();
    const { sql, flushes } = always(state);
    const till = tillOver(sql);
    const answers = await Promise.all([1, 2, 3].map((cents) => codeOf(till.submit(credit(shop, cents)))));
    expect([answers, flushes()]).toEqual([Array(3).fill('processing_unavailable'), 1]);
  });

  it.each(['23505', '22000'])('once with %s is run once more as it was', async (state) => {
    const shop = await newOperation();
    const { sql, flushes } = times(1, state);
    const till = tillOver(sql);
    const answers = await Promise.all([till.submit(credit(shop, 5)), till.submit(credit(shop, 6))]);
    expect([answers, flushes()]).toEqual([['posted', 'posted'], 2]);
  });

  it.each([
    ['23505', 'request_in_progress'],
    ['22000', 'processing_unavailable'],
    // These only contain what others begin with.
    ['22530', 'processing_unavailable'],
    ['22080', 'processing_unavailable'],
  ])(
    'twice with %s is cut in halves down to the command that does it, which is answered %s',
    async (state, code) => {
      const shop = await newOperation();
      const { sql, flushes } = always(state);
      const till = tillOver(sql);
      const answers = await Promise.all([1, 2, 3].map((cents) => codeOf(till.submit(credit(shop, cents)))));
      // The batch twice; then one of them, the two others, and each of these.
      expect([answers, flushes()]).toEqual([Array(3).fill(code), 6]);
    },
  );

  it('by a unique violation says when to ask again', async () => {
    const shop = await newOperation();
    const error = await tillOver(always('23505').sql)
      .submit(credit(shop, 5))
      .catch((reason: ApiError) => reason);
    expect(error).toMatchObject({ code: 'request_in_progress', options: { retryAfterSeconds: 1 } });
  });

  it('counts violations and other errors apart, also in the halves', async () => {
    const shop = await newOperation();
    const one = failing('23505', '22000', null);
    expect([await tillOver(one.sql).submit(credit(shop, 5)), one.flushes()]).toEqual(['posted', 3]);
    for (const half of [
      ['22000', null, null],
      [null, '22000', null],
    ]) {
      const { sql, flushes } = failing('23505', '23505', ...half);
      const till = tillOver(sql);
      const answers = await Promise.all([till.submit(credit(shop, 5)), till.submit(credit(shop, 6))]);
      expect([answers, flushes()]).toEqual([['posted', 'posted'], 5]);
    }
  });

  it('because its connection is cut, however often, is run again', async () => {
    const shop = await newOperation();
    const way = await cutAt(db.url, 'balance_lock', 4, false);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    expect(await tillOver(sql).submit(credit(shop, 5))).toBe('posted');
    expect(way.cuts()).toBe(4);
    await sql.close();
    await way.close();
  });
});

describe('statement by statement', () => {
  /** The statements of every transaction. */
  function listened(): { sql: Sql; heard: string[] } {
    const heard: string[] = [];
    const sql = watched(db.sql, (at) => {
      if (at.startsWith('before ')) heard.push(at.slice('before '.length));
      return undefined;
    });
    return { sql, heard };
  }

  it('a flush sends what it needs and nothing more', async () => {
    const shop = await newOperation();
    const { sql, heard } = listened();
    const till = tillOver(sql);
    await till.submit(credit(shop, 100));
    expect(heard.splice(0)).toEqual([
      'balance_lock',
      'journal_posted',
      'journal_insert_common',
      'balance_update',
      'COMMIT',
    ]);
    const id = ids.uuid();
    await till.submit(create(shop, id));
    expect(heard.splice(0)).toEqual(['balance_lock', 'payment_read', 'payment_insert_common', 'COMMIT']);
    expect(await till.submit(create(shop, id))).toBe('repeat');
    expect(heard.splice(0)).toEqual(['balance_lock', 'payment_read']);
  });

  it('what comes twice in one batch is seen there, and written in one flush', async () => {
    const shop = await newOperation();
    const { sql, heard } = listened();
    const till = tillOver(sql);
    const subject = ids.uuid();
    const answers = await Promise.all([1, 2].map(() => till.submit(credit(shop, 100, { subject }))));
    expect(answers).toEqual(['posted', 'already']);
    expect(heard.filter((name) => name === 'COMMIT')).toHaveLength(1);
  });

  it('a crowd goes in batches of 512', async () => {
    const shop = await newOperation();
    const { sql, heard } = listened();
    const till = tillOver(sql);
    await Promise.all(Array.from({ length: 513 }, () => till.submit(credit(shop, 1))));
    expect(heard.filter((name) => name === 'COMMIT')).toHaveLength(2);
    expect(await balanceOf(shop)).toMatchObject({ available: 513, seq: 513 });
  });

  it('journals are written in the order of their events, whatever order they came in', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const subjects = Array.from({ length: 20 }, () => ids.uuid());
    await Promise.all(
      [...subjects.slice(10), ...subjects.slice(0, 10).toReversed()].map((subject) =>
        till.submit(credit(shop, 1, { subject })),
      ),
    );
    const stored = await db.admin<{ subject: string }>(
      'SELECT subject FROM journal WHERE chain_id = $1 ORDER BY ctid',
      [shop.chainId],
    );
    expect(stored.map(({ subject }) => subject)).toEqual(subjects.toSorted());
  });
});

// ------------------------------------------------------------------------------------------------------- other tables

interface Note {
  key: string;
  token: string | null;
  text: string;
}
interface Written {
  name: string;
  inserted: string[];
  updated: string[];
  deleted: string[];
}

const readNotes: Statement = {
  name: 'test_note_read',
  text: 'SELECT key, token, text FROM note WHERE key = ANY ($1::text[])',
};
const insertNotes: Statement = {
  name: 'test_note_insert',
  text: 'INSERT INTO note SELECT unnest($1::text[]), unnest($2::uuid[]), unnest($3::text[])',
};
const updateNotes: Statement = {
  name: 'test_note_update',
  text: `UPDATE note SET token = k.token, text = k.text
    FROM unnest($1::text[], $2::uuid[], $3::text[]) AS k (key, token, text) WHERE note.key = k.key`,
};
const deleteNotes: Statement = {
  name: 'test_note_delete',
  text: 'DELETE FROM note WHERE key = ANY ($1::text[])',
};

let written: Written[] = [];
beforeEach(() => {
  written = [];
});

/** A table of the test's own, that reports its writes. */
const notesTable = (name: string, rank: number, more: Partial<Table<Note>> = {}): Table<Note> => ({
  name,
  rank,
  keyOf: ({ key }) => key,
  read: (tx, keys) => tx.run<Note>(readNotes, [keys]),
  write: (tx, { inserted, updated, deleted }) => {
    const keys = (rows: readonly Note[]) => rows.map(({ key }) => key);
    written.push({ name, inserted: keys(inserted), updated: keys(updated), deleted: [...deleted] });
    const columns = (rows: readonly Note[]) => [
      keys(rows),
      rows.map((row) => row.token),
      rows.map((row) => row.text),
    ];
    return [
      tx.run(insertNotes, columns(inserted)),
      tx.run(updateNotes, columns(updated)),
      tx.run(deleteNotes, [deleted]),
    ];
  },
  ...more,
});
const notes = notesTable('notes', 12);
const signed = notesTable('signed', 11, { tokenOf: ({ token }) => token ?? '' });

interface Noting {
  chains: readonly ChainKey[];
  reads?: readonly Read[];
  writes: (token: string) => Write[];
  withinMs?: number;
}
const noting = ({ chains, reads = [], writes, withinMs = 120_000 }: Noting): Command<'done'> => {
  const token = ids.uuid();
  return {
    token,
    chains,
    reads,
    eventRefs: [],
    deadlineMs: clock.monotonicMs() + withinMs,
    decide: () => ({ answer: 'done', writes: writes(token) }),
  };
};
const note = (key: string, text = 'a', token: string | null = null): Note => ({ key, text, token });
const stored = async (...keys: string[]): Promise<string[]> =>
  (await db.admin<Note>('SELECT key, text FROM note WHERE key = ANY ($1) ORDER BY key', [keys])).map(
    ({ key, text }) => `${key}=${text}`,
  );

describe('rows of other tables', () => {
  it('are inserted, updated and deleted by what was stored, each table in its turn and in key order', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const key = (name: string) => `${shop.chainId} ${name}`;
    const puts = (...names: string[]) => names.map((name) => put(notes, note(key(name))));
    await till.submit(noting({ chains: [shop], writes: () => puts('d', 'b', 'c') }));
    expect(written).toEqual([
      { name: 'notes', inserted: ['b', 'c', 'd'].map(key), updated: [], deleted: [] },
    ]);
    written = [];
    const reads = ['b', 'c', 'd', 'e', 'x'].map((name) => read(notes, key(name)));
    await Promise.all([
      till.submit(
        noting({
          chains: [shop],
          reads,
          writes: () => [
            put(notes, note(key('d'), 'changed')),
            put(notes, note(key('b'), 'changed')),
            remove(notes, key('c')),
            put(notes, note(key('e'))),
            put(signed, note(key('s'))),
          ],
        }),
      ),
      // Of what the batch itself has put there nothing is left, and nothing is deleted that was never stored.
      till.submit(
        noting({ chains: [shop], reads, writes: () => [remove(notes, key('e')), remove(notes, key('x'))] }),
      ),
    ]);
    expect(written).toEqual([
      { name: 'signed', inserted: [key('s')], updated: [], deleted: [] },
      { name: 'notes', inserted: [], updated: ['b', 'd'].map(key), deleted: [key('c')] },
    ]);
    expect(await stored(...['b', 'c', 'd', 'e', 's', 'x'].map(key))).toEqual(
      ['b=changed', 'd=changed', 's=a'].map(key),
    );
  });

  it('without a change are not written', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    await till.submit(noting({ chains: [shop], reads: [read(notes, 'none')], writes: () => [] }));
    expect(written).toEqual([]);
  });

  it('that a command did not name, and chains that it did not lock, are read and locked when its decision asks for them', async () => {
    const [shop, other] = [await newOperation(), await newOperation()];
    await db.admin(`INSERT INTO note (key, text) VALUES ('unnamed', 'stored'), ('changed', 'stored')`);
    const till = tillOver(db.sql);
    const asking = (decide: Command<string>['decide'], reads: Read[] = []): Command<string> => ({
      ...credit(shop, 1),
      reads,
      decide,
    });
    const looks =
      (...keys: string[]): Command<string>['decide'] =>
      (view) => ({ answer: keys.map((key) => view.get(notes, key)?.text ?? 'none').join() });
    expect(await till.submit(asking(looks('unnamed', 'nowhere'), [read(notes, 'other')]))).toBe(
      'stored,none',
    );
    // A staged write of a command of the same flush stays, and becomes a change of the row that is there.
    const stages = asking(() => ({
      answer: 'staged',
      writes: [put(notes, note('changed', 'staged'))],
    }));
    const changes = asking((view) => {
      const found = view.get(notes, 'changed');
      return { answer: found?.text ?? 'none', writes: found ? [put(notes, { ...found, text: 'both' })] : [] };
    });
    written = [];
    expect(await Promise.all([till.submit(stages), till.submit(changes)])).toEqual(['staged', 'staged']);
    expect(written).toEqual([{ name: 'notes', inserted: [], updated: ['changed'], deleted: [] }]);
    expect(await stored('changed')).toEqual(['changed=both']);
    const balance = (...chains: ChainKey[]) =>
      asking((view) => ({ answer: chains.map((chain) => view.balance(chain)?.available).join() }));
    await till.submit(credit(other, 7));
    const nowhere = { ...shop, chainId: ids.uuid() };
    expect(await till.submit(balance(shop, other, nowhere))).toBe('0,7,');
  });
});

describe('a balance row', () => {
  const columns = async ({ accountId, chainId }: ChainKey) =>
    (
      await db.admin<{ frozen: boolean; wanted: number; at: number; seq: number }>(
        `SELECT frozen, hold_wanted::int AS wanted, (extract(epoch FROM updated_at) * 1000)::float8 AS at, seq::int FROM balance
          WHERE account_id = $1 AND operation_id = $2`,
        [accountId, chainId],
      )
    )[0];

  it('is frozen and freed with what the same command posts, and only where it is locked', async () => {
    const [shop, other] = [await newOperation(), await newOperation()];
    const till = tillOver(db.sql);
    const deciding = (extra: 'freeze' | 'thaw'): Command<string> => {
      const command = credit(shop, 5);
      return {
        ...command,
        decide: (view, now) => ({ ...command.decide(view, now), [extra]: [shop, other] }),
      };
    };
    await till.submit(deciding('freeze'));
    expect(await columns(shop)).toMatchObject({ frozen: true, seq: 1 });
    expect(await columns(other)).toMatchObject({ frozen: false });
    await till.submit(deciding('thaw'));
    expect(await columns(shop)).toMatchObject({ frozen: false, seq: 2 });
    const only: Command<string> = {
      ...credit(shop, 1),
      decide: () => ({ answer: 'frozen', freeze: [shop] }),
    };
    await till.submit(only);
    expect(await columns(shop)).toMatchObject({ frozen: true, seq: 2 });
  });

  it('keeps the amount that a hold still wants though no money moves, and no journal shows it', async () => {
    const shop = await newOperation();
    await tillOver(db.sql).submit(posting(shop, { kind: 'hold', amountCents: 700 }));
    expect(await columns(shop)).toMatchObject({ wanted: 700, seq: 0 });
  });

  it('shows when the amount of its merchant was changed last, and never goes back', async () => {
    const shop = await newOperation();
    const began = (await columns(shop))?.at ?? 0;
    let now = Math.ceil(began) + 1_000;
    const till = createTill({ sql: db.sql, clock: { ...clock, now: () => now }, log: silent });
    const at = async () => (await columns(shop))?.at;
    await till.submit(credit(shop, 10_000));
    expect(await at()).toBe(now);
    const credited = now;
    now += 1_000;
    await till.submit(reserve(shop, 1_000));
    const reserved = now;
    expect(await at()).toBe(reserved);
    now += 1_000;
    // From the reserve to the provider: nothing that the merchant sees has changed.
    await till.submit(
      posting(shop, { kind: 'complete', grossCents: 1_000, feeCents: 25 }, { event: eventKinds.complete }),
    );
    expect(await at()).toBe(reserved);
    now = credited;
    await till.submit(credit(shop, 1));
    expect(await at()).toBe(reserved);
    now = reserved + 5_000;
    // A debt that grows is seen as well, though there is nothing left to take.
    await till.submit(posting(shop, { kind: 'debit', amountCents: 9_001 }, { event: eventKinds.debit }));
    now += 1_000;
    await till.submit(posting(shop, { kind: 'debit', amountCents: 5 }, { event: eventKinds.debit }));
    expect(await at()).toBe(now);
  });
});

describe('time', () => {
  it('that is over while the database says nothing is answered so, each command in its own time', async () => {
    const shop = await newOperation();
    const slow = gate(db.sql, 'before COMMIT');
    const moved = manualClock();
    const till = createTill({ sql: slow.sql, clock: moved, log: silent });
    const order: string[] = [];
    const told = async (name: string, cents: number, withinMs: number) => {
      const deadlineMs = moved.monotonicMs() + withinMs;
      const code = await codeOf(till.submit({ ...credit(shop, cents), deadlineMs }));
      order.push(`${name} ${code}`);
    };
    const [short, long, patient] = [told('short', 1, 60), told('long', 2, 200), told('patient', 4, 8_000)];
    await slow.reached;
    moved.advance(59);
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    moved.advance(1);
    await short;
    moved.advance(139);
    await new Promise(setImmediate);
    expect(order).toEqual(['short processing_unavailable']);
    moved.advance(1);
    await long;
    slow.open();
    await patient;
    expect(order).toEqual(
      ['short', 'long'].map((name) => `${name} processing_unavailable`).concat('patient posted'),
    );
    // The commands that were being committed when their callers got the error are stored: a repeat finds them.
    expect(await balanceOf(shop)).toMatchObject({ available: 7, seq: 3 });
  });

  it('that is over when the lock is there at last: nothing of it is committed', async () => {
    const shop = await newOperation();
    const slow = gate(db.sql, 'after balance_lock');
    const till = tillOver(slow.sql);
    const late = codeOf(till.submit(credit(shop, 100, { withinMs: 40 })));
    const patient = till.submit(credit(shop, 10));
    expect(await late).toBe('processing_unavailable');
    slow.open();
    expect(await patient).toBe('posted');
    expect(await balanceOf(shop)).toMatchObject({ available: 10, seq: 1 });
  });

  it('counts to the millisecond: at its deadline a command is late, before it runs and under its lock', async () => {
    const shop = await newOperation();
    let now = 1_000;
    const still: Clock = {
      ...clock,
      monotonicMs: () => now,
      // Only the till's own look at the clock shows it.
      sleep: (_, signal) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    };
    const due = (command: Command<string>, deadlineMs: number) => ({ ...command, deadlineMs });
    const slow = gate(db.sql, 'after balance_lock');
    const till = createTill({ sql: slow.sql, clock: still, log: silent });
    expect(await codeOf(till.submit(due(credit(shop, 1), 1_000)))).toBe('processing_unavailable');
    const late = codeOf(till.submit(due(credit(shop, 100), 2_000)));
    const inTime = till.submit(due(credit(shop, 10), 2_001));
    await slow.reached;
    now = 2_000;
    slow.open();
    expect([await late, await inTime]).toEqual(['processing_unavailable', 'posted']);
    expect(await balanceOf(shop)).toMatchObject({ available: 10, seq: 1 });
  });

  it('is watched no longer than the flush runs', async () => {
    const shop = await newOperation();
    const signals: AbortSignal[] = [];
    const watching: Clock = {
      ...clock,
      sleep: (ms, signal) => {
        if (signal) signals.push(signal);
        return clock.sleep(ms, signal);
      },
    };
    const till = createTill({ sql: db.sql, clock: watching, log: silent });
    await till.submit(credit(shop, 1));
    await till.idle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('is over for every caller once the till is closed', async () => {
    const shop = await newOperation();
    const slow = gate(db.sql, 'before COMMIT');
    const till = tillOver(slow.sql);
    const first = till.submit(credit(shop, 1));
    await slow.reached;
    const waiting = codeOf(till.submit(credit(shop, 2)));
    till.close();
    slow.open();
    expect([await first, await waiting]).toEqual(['posted', 'processing_unavailable']);
    expect(await codeOf(till.submit(credit(shop, 4)))).toBe('processing_unavailable');
    expect(await balanceOf(shop)).toMatchObject({ available: 1 });
  });

  it('passes until every command is answered, and only then the till is idle', async () => {
    const shop = await newOperation();
    const slow = gate(db.sql, 'before COMMIT');
    const till = tillOver(slow.sql);
    await till.idle();
    let answered = 0;
    for (const cents of [1, 2]) void till.submit(credit(shop, cents)).then(() => answered++);
    await slow.reached;
    void till.submit(credit(shop, 4)).then(() => answered++);
    let idle = false;
    const done = till.idle().then(() => {
      idle = true;
      expect(answered).toBe(3);
    });
    await clock.sleep(20);
    expect(idle).toBe(false);
    slow.open();
    await done;
  });
});

describe('a lock that another session keeps', () => {
  /** As another process that stopped in the middle of a flush. */
  async function keepLock({ accountId, chainId }: ChainKey): Promise<{ release(): Promise<unknown> }> {
    const client = new pg.Client({ connectionString: db.url, options: '-c search_path=vintem' });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('BEGIN');
    await client.query(
      'SELECT 1 FROM balance WHERE account_id = $1 AND operation_id = $2 FOR NO KEY UPDATE',
      [accountId, chainId],
    );
    return { release: () => client.query('ROLLBACK') };
  }

  it('lets what fails in the queue apart be run once more, as in the other', async () => {
    const shop = await newOperation();
    const { release } = await keepLock(shop);
    const { sql, flushes } = failing(null, '23505', null);
    const answer = tillOver(sql).submit(credit(shop, 5));
    await expect.poll(flushes).toBe(2);
    await release();
    expect([await answer, flushes()]).toEqual(['posted', 3]);
  });

  it('holds up all commands for its chains together, and they are all answered when it is free', async () => {
    const [frozen, live] = [await newOperation(), await newOperation()];
    const { release } = await keepLock(frozen);
    const till = tillOver(db.sql);
    let answered = 0;
    const counted = (command: Command<string>) =>
      codeOf(till.submit(command)).then((code) => {
        answered++;
        return code;
      });
    const stuck = [1, 2, 4].map((cents) => counted(credit(frozen, cents)));
    expect(await till.submit(credit(live, 1))).toBe('posted');
    // In a queue of their own now; the till is not idle while they wait.
    stuck.push(counted(credit(frozen, 8)));
    expect(await till.submit(credit(live, 1))).toBe('posted');
    await new Promise(setImmediate);
    const idle = till.idle().then(() => expect(answered).toBe(4));
    expect(answered).toBe(0);
    await release();
    expect(await Promise.all(stuck)).toEqual(Array(4).fill('posted'));
    await idle;
    expect(await balanceOf(frozen)).toMatchObject({ available: 15, seq: 4 });
  });
});

describe('a lost answer to COMMIT', () => {
  const reached = async (
    arrives: boolean | 'late',
    timed: Clock = clock,
  ): Promise<{ till: Till; way: Way }> => {
    const way = await cutAtCommit(db.url, arrives);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    onTestFinished(async () => {
      await sql.close();
      await way.close();
    });
    return { till: createTill({ sql, clock: timed, log: silent }), way };
  };

  it('of postings alone is learnt from the journal, by the token in it', async () => {
    const shop = await newOperation();
    const { till } = await reached(true);
    expect(await till.submit(credit(shop, 100))).toBe('posted');
    expect(await balanceOf(shop)).toMatchObject({ available: 100, seq: 1 });
  });

  it('of a row that carries its token is learnt from that', async () => {
    const shop = await newOperation();
    const { till } = await reached(true);
    const key = ids.uuid();
    let decided = 0;
    const command = noting({
      chains: [shop],
      reads: [read(signed, key), read(notes, key)],
      writes: (token) => {
        decided++;
        return [put(signed, note(key, 'mine', token))];
      },
    });
    expect(await till.submit(command)).toBe('done');
    expect(decided).toBe(1);
  });

  it('is not taken from what another has posted or created meanwhile', async () => {
    const shop = await newOperation();
    const [subject, id] = [ids.uuid(), ids.uuid()];
    const { till, way } = await reached(false);
    way.refuseOthers();
    const answers = [till.submit(credit(shop, 100, { subject })), till.submit(create(shop, id))];
    await expect.poll(() => way.cuts()).toBe(1);
    const other = tillOver(db.sql);
    expect(await other.submit(credit(shop, 100, { subject }))).toBe('posted');
    expect(await other.submit(create(shop, id))).toBe('created');
    way.letThrough();
    expect(await Promise.all(answers)).toEqual(['already', 'repeat']);
    expect(await timesPosted(subject)).toBe(1);
    const [row] = await payments.read(db.sql, [paymentKey(shop.accountId, id)]);
    expect(row?.id).toBe(id);
  });

  it('is looked for under its own locks: what is still on its way is waited for', async () => {
    const shop = await newOperation();
    const { till, way } = await reached('late');
    const answer = till.submit(credit(shop, 100));
    await expect.poll(() => way.cuts()).toBe(1);
    await somebodyWaitsForALock();
    way.letThrough();
    expect(await answer).toBe('posted');
    expect(await balanceOf(shop)).toMatchObject({ available: 100, seq: 1 });
  });

  it('is looked for again and again, half a second apart at most', async () => {
    const shop = await newOperation();
    const way = await cutAtCommit(db.url, true);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    onTestFinished(async () => {
      await sql.close();
      await way.close();
    });
    const waits: number[] = [];
    const impatient: Clock = {
      ...clock,
      sleep: async (ms, signal) => (signal ? clock.sleep(ms, signal) : void waits.push(ms)),
    };
    let begun = 0;
    const away: Sql = {
      ...sql,
      // The first is the flush's own.
      begin: () => (++begun > 1 && begun <= 8 ? Promise.reject(new Error('not there')) : sql.begin()),
    };
    const till = createTill({ sql: away, clock: impatient, log: silent });
    expect(await till.submit(credit(shop, 5))).toBe('posted');
    expect(waits).toEqual([20, 40, 80, 160, 320, 500, 500]);
  });

  it('is looked for without a commit, which only the postings that were shown have', async () => {
    const shop = await newOperation();
    const { way } = await reached(true);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    onTestFinished(() => sql.close());
    let commits = 0;
    const once: Sql = {
      ...sql,
      begin: async () => {
        const tx = await sql.begin();
        const commit = async () => {
          if (++commits > 1) throw new OperatorRefused('these are not the postings that were shown');
          await tx.commit();
        };
        return { run: (...args) => tx.run(...args), rollback: () => tx.rollback(), commit };
      },
      tx: async (work) => committed(await once.begin(), work),
    };
    const till = createTill({ sql: once, clock, log: silent });
    expect(await till.submit(credit(shop, 5))).toBe('posted');
    expect([commits, await balanceOf(shop)]).toMatchObject([1, { available: 5, seq: 1 }]);
  });

  it('is looked for as long as a caller waits; the others are answered in their own time', async () => {
    const shop = await newOperation();
    const moved = manualClock();
    const { till, way } = await reached(true, {
      ...moved,
      // Its looks are made in real time, its deadlines are not.
      sleep: (ms, signal) => (signal ? moved.sleep(ms, signal) : clock.sleep(ms)),
    });
    way.refuseOthers();
    const by = (withinMs: number) => ({ deadlineMs: moved.monotonicMs() + withinMs });
    const short = codeOf(till.submit({ ...credit(shop, 1), ...by(150) }));
    const long = till.submit({ ...credit(shop, 2), ...by(8_000) });
    await expect.poll(() => way.cuts()).toBe(1);
    moved.advance(150);
    expect(await short).toBe('processing_unavailable');
    way.letThrough();
    expect(await long).toBe('posted');
    expect(await balanceOf(shop)).toMatchObject({ available: 3, seq: 2 });
  });
});
