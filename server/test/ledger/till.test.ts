import { Writable } from 'node:stream';
import { createDatabase } from '@vintem/testkit/database.ts';
import { manualClock } from '@vintem/testkit/manual-clock.ts';
import {
  booksOf,
  codeOf,
  create,
  credit,
  cutAtCommit,
  gate,
  posting,
  reserve,
  tillOver,
  watched,
} from '@vintem/testkit/till.ts';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { refuse } from '../../src/ground/errors.ts';
import { createLog } from '../../src/ground/log.ts';
import { eventKinds } from '../../src/money/journal.ts';
import type { Payment } from '../../src/money/payment.ts';
import { type Clock, systemClock as clock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { sqlState } from '../../src/ports/sql.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { paymentKey, payments } from '../../src/store/rows/payments.sql.ts';
import { type ChainKey, type Command, createTill, put, type Till } from '../../src/store/till.ts';

const ids = systemIds(clock);
const silent = createLog('silent');
const db = await createDatabase();
const { newOperation, secondOperation, balanceOf, timesPosted, audit, somebodyWaitsForALock } = booksOf(db);

afterEach(audit);
afterAll(() => db.drop());

describe('many commands at once', () => {
  it('over one operation leave the balance at their sum, in a chain without gaps', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    await till.submit(credit(shop, 10_000));
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        codeOf(till.submit(index % 3 === 0 ? reserve(shop, 1000) : credit(shop, index + 1))),
      ),
    );
    const reserved = answers.filter((_, index) => index % 3 === 0 && answers[index] === 'posted').length;
    const credited = Array.from({ length: 300 }, (_, index) => (index % 3 === 0 ? 0 : index + 1));
    const total = 10_000 + credited.reduce((sum, amount) => sum + amount, 0);
    expect(await balanceOf(shop)).toMatchObject({
      available: total - reserved * 1000,
      reserved: reserved * 1000,
      seq: 1 + 200 + reserved,
    });
  });

  it('over many operations keep each of them to itself', async () => {
    const shops = await Promise.all(Array.from({ length: 12 }, newOperation));
    const till = tillOver(db.sql);
    await Promise.all(
      shops.flatMap((shop, index) => Array.from({ length: 20 }, () => till.submit(credit(shop, index + 1)))),
    );
    for (const [index, shop] of shops.entries()) {
      expect(await balanceOf(shop)).toMatchObject({ available: 20 * (index + 1), seq: 20 });
    }
  });

  it('of several processes over the same operation never spend the same cent twice', async () => {
    const shop = await newOperation();
    const pools = [1, 2, 3].map((one) =>
      openPool({ url: db.url, log: silent, name: `vintem test ${one}`, size: 3 }),
    );
    const tills = pools.map(tillOver);
    await tillOver(db.sql).submit(credit(shop, 50_000));
    const answers = await Promise.all(
      Array.from({ length: 240 }, (_, index) =>
        codeOf((tills[index % 3] as Till).submit(reserve(shop, 1000))),
      ),
    );
    expect(answers.filter((answer) => answer === 'posted')).toHaveLength(50);
    expect(answers.filter((answer) => answer === 'insufficient_balance')).toHaveLength(190);
    expect(await balanceOf(shop)).toMatchObject({ available: 0, reserved: 50_000, seq: 51 });
    await Promise.all(pools.map((pool) => pool.close()));
  });

  it('of two processes that post the same events in opposite order wait for each other, and never without an end', async () => {
    const here = await newOperation();
    const there = await secondOperation(here);
    const lines: string[] = [];
    const log = createLog(
      'warn',
      new Writable({
        write: (chunk, _, done) => {
          lines.push(String(chunk));
          done();
        },
      }),
    );
    const pools = [1, 2].map(() => openPool({ url: db.url, log, name: 'vintem test', size: 2 }));
    const [one, other] = pools.map((sql) => createTill({ sql, clock, log })) as [Till, Till];
    for (let round = 0; round < 4; round++) {
      const subjects = Array.from({ length: 400 }, () => ids.uuid());
      const answers = await Promise.all([
        ...subjects.map((subject) => one.submit(credit(here, 1, { subject }))),
        ...subjects.toReversed().map((subject) => other.submit(credit(there, 1, { subject }))),
      ]);
      expect(answers.filter((answer) => answer === 'posted')).toHaveLength(400);
    }
    await Promise.all(pools.map((pool) => pool.close()));
    expect(lines.filter((line) => line.includes('40P01'))).toEqual([]);
  });
});

describe('a refusal', () => {
  it('answers its own command and no other of the batch, and changes nothing', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const broken: Command<never> = {
      ...credit(shop, 1),
      decide: () => {
        throw refuse('withdrawals_blocked');
      },
    };
    const answers = await Promise.all([
      till.submit(credit(shop, 500)),
      codeOf(till.submit(reserve(shop, 501))),
      codeOf(till.submit(broken)),
      till.submit(reserve(shop, 400)),
      codeOf(till.submit(reserve(shop, 101))),
      till.submit(credit(shop, 1)),
    ]);
    expect(answers).toEqual([
      'posted',
      'insufficient_balance',
      'withdrawals_blocked',
      'posted',
      'insufficient_balance',
      'posted',
    ]);
    expect(await balanceOf(shop)).toMatchObject({ available: 101, reserved: 400, seq: 3 });
  });

  it('after a posting of the same command takes that posting back', async () => {
    const shop = await newOperation();
    const command = credit(shop, 100);
    const both: Command<string> = {
      ...command,
      decide: (view, now) => {
        const decision = command.decide(view, now);
        const [first] = decision.postings ?? [];
        if (!first) throw new Error('nothing to post');
        const tooMuch = {
          ...first,
          event: eventKinds.reserve,
          movement: { kind: 'reserve', grossCents: 101 },
        } as const;
        return { answer: 'posted', postings: [first, tooMuch] };
      },
    };
    const till = tillOver(db.sql);
    const answers = await Promise.all([codeOf(till.submit(both)), till.submit(credit(shop, 7))]);
    expect(answers).toEqual(['insufficient_balance', 'posted']);
    expect(await balanceOf(shop)).toMatchObject({ available: 7, reserved: 0, seq: 1 });
  });
});

describe('the same thing twice', () => {
  it('in one batch is done once: the later command sees the earlier one', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const [id, subject] = [ids.uuid(), ids.uuid()];
    const answers = await Promise.all([
      till.submit(create(shop, id)),
      till.submit(create(shop, id)),
      till.submit(credit(shop, 100, { subject })),
      till.submit(credit(shop, 100, { subject })),
    ]);
    expect(answers).toEqual(['created', 'repeat', 'posted', 'already']);
    expect(await db.admin('SELECT 1 FROM payment WHERE id = $1', [id])).toHaveLength(1);
    expect(await balanceOf(shop)).toMatchObject({ available: 100, seq: 1 });
  });

  it('on two operations by two processes is done once: the one that comes too late reads again', async () => {
    const here = await newOperation();
    const there = await secondOperation(here);
    const [id, subject] = [ids.uuid(), ids.uuid()];
    const first = gate(db.sql, 'before COMMIT');
    const slow = tillOver(first.sql);
    const won = Promise.all([slow.submit(create(here, id)), slow.submit(credit(here, 100, { subject }))]);
    await first.reached;
    // It has read that there is nothing; its insert now waits for the fate of the other's.
    const fast = tillOver(db.sql);
    const lost = Promise.all([
      fast.submit(create(there, id)),
      fast.submit(credit(there, 100, { subject })),
      fast.submit(credit(there, 5)),
    ]);
    await somebodyWaitsForALock();
    first.open();
    expect(await won).toEqual(['created', 'posted']);
    expect(await lost).toEqual(['repeat', 'already', 'posted']);
    expect(await timesPosted(subject)).toBe(1);
    expect(await balanceOf(there)).toMatchObject({ available: 5, seq: 1 });
  });

  it('by a command that does not check for it collides on every try: only this command fails, the others succeed', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const subject = ids.uuid();
    await till.submit(credit(shop, 100, { subject }));
    const others = Array.from({ length: 9 }, () => till.submit(credit(shop, 1)));
    const blind = codeOf(till.submit(credit(shop, 100, { subject, looks: false })));
    const more = Array.from({ length: 9 }, () => till.submit(credit(shop, 1)));
    expect(await blind).toBe('request_in_progress');
    expect(await Promise.all([...others, ...more])).toEqual(Array.from({ length: 18 }, () => 'posted'));
    expect(await balanceOf(shop)).toMatchObject({ available: 118, seq: 19 });
  });
});

describe('a mistake of ours', () => {
  it('that would bring a column below zero is an error, and nothing of it is written', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    const complete = posting(shop, { kind: 'complete', grossCents: 1000, feeCents: 25 });
    const [wrong, right] = await Promise.all([codeOf(till.submit(complete)), till.submit(credit(shop, 5))]);
    expect(wrong).toBe('processing_unavailable');
    expect(right).toBe('posted');
    expect(await balanceOf(shop)).toMatchObject({ available: 5, reserved: 0, seq: 1 });
  });

  it('that posts to a chain it did not lock is an error of its command alone', async () => {
    const [shop, other] = [await newOperation(), await newOperation()];
    const till = tillOver(db.sql);
    const astray: Command<string> = { ...credit(other, 5), chains: [shop] };
    await expect(till.submit(astray)).rejects.toThrow('not locked');
    await expect(till.submit({ ...credit(shop, 5), eventRefs: [] })).rejects.toThrow('did not ask');
    expect(await till.submit(credit(other, 7))).toBe('posted');
    expect(await balanceOf(other)).toMatchObject({ available: 7, seq: 1 });
  });
});

describe('a backend that is killed', () => {
  const kill = (pid: number) => db.admin('SELECT pg_terminate_backend($1, 5000)', [pid]);

  it.each([
    'before balance_lock',
    'after balance_lock',
    'before journal_insert_common',
    'after journal_insert_common',
    'after balance_update',
    'before COMMIT',
    'after COMMIT',
  ])('%s leaves every command committed exactly once, and answered so', async (point) => {
    const [here, there] = [await newOperation(), await newOperation()];
    let kills = 0;
    const till = tillOver(
      watched(db.sql, (at, pid) => (at === point && kills++ === 0 ? kill(pid) : undefined)),
    );
    const [id, subjects] = [ids.uuid(), [ids.uuid(), ids.uuid(), ids.uuid()]];
    const answers = await Promise.all([
      ...subjects.map((subject, index) => till.submit(credit(index === 1 ? there : here, 100, { subject }))),
      till.submit(create(here, id)),
      codeOf(till.submit(reserve(here, 1000))),
      till.submit(reserve(here, 200)),
    ]);
    expect(kills).toBeGreaterThan(0);
    expect(answers).toEqual(['posted', 'posted', 'posted', 'created', 'insufficient_balance', 'posted']);
    for (const subject of subjects) expect(await timesPosted(subject)).toBe(1);
    expect(await db.admin('SELECT 1 FROM payment WHERE id = $1', [id])).toHaveLength(1);
    expect(await balanceOf(here)).toMatchObject({ available: 0, reserved: 200, seq: 3 });
    expect(await balanceOf(there)).toMatchObject({ available: 100, seq: 1 });
  });
});

describe('a lost answer to COMMIT', () => {
  it.each([
    ['that was carried out', true],
    ['that never arrived', false],
  ])('%s: every command is committed exactly once, and answered so', async (_, arrives) => {
    const shop = await newOperation();
    const way = await cutAtCommit(db.url, arrives);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    const till = tillOver(sql);
    const [id, subject] = [ids.uuid(), ids.uuid()];
    const answers = await Promise.all([
      till.submit(credit(shop, 100, { subject })),
      till.submit(create(shop, id)),
      codeOf(till.submit(reserve(shop, 101))),
    ]);
    expect(answers).toEqual(['posted', 'created', 'insufficient_balance']);
    expect(way.cuts()).toBe(1);
    expect(await timesPosted(subject)).toBe(1);
    expect(await balanceOf(shop)).toMatchObject({ available: 100, seq: 1 });
    // A flush that only created a payment is known again by its token.
    way.rearm();
    expect(await till.submit(create(shop, ids.uuid()))).toBe('created');
    // So is one that did nothing but what had been done before.
    expect(await till.submit(create(shop, id))).toBe('repeat');
    await sql.close();
    await way.close();
  });

  it('of a mere change of state does not change it twice', async () => {
    const shop = await newOperation();
    const id = ids.uuid();
    const key = paymentKey(shop.accountId, id);
    await tillOver(db.sql).submit(create(shop, id));
    const way = await cutAtCommit(db.url, true);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    let decisions = 0;
    const status = await tillOver(sql).submit<string>({
      ...create(shop, id),
      decide: (view) => {
        decisions += 1;
        const payment = view.get(payments, key) as Payment;
        if (payment.status !== 'unknown') return { answer: payment.status };
        const step = { status: 'pending', at: '', cause: { by: 'query', id: '1' } } as const;
        const pending: Payment = { ...payment, status: 'pending', history: [...payment.history, step] };
        return { answer: 'pending', writes: [put(payments, pending)] };
      },
    });
    expect({ status, decisions, cuts: way.cuts() }).toEqual({ status: 'pending', decisions: 2, cuts: 1 });
    const [stored] = await payments.read(db.sql, [key]);
    expect(stored?.history.map((step) => step.status)).toEqual(['unknown', 'pending']);
    await sql.close();
    await way.close();
  });

  it('that cannot be looked up in time is answered 503, and nothing changes later', async () => {
    const shop = await newOperation();
    const way = await cutAtCommit(db.url, true);
    const sql = openPool({ url: way.url, log: silent, name: 'vintem test' });
    const moved = manualClock();
    // Its looks are made in real time, its deadline is not.
    const sleep: Clock['sleep'] = (ms, signal) => (signal ? moved.sleep(ms, signal) : clock.sleep(ms));
    const till = createTill({ sql, clock: { ...moved, sleep }, log: createLog('silent') });
    way.refuseOthers();
    const subject = ids.uuid();
    const deadlineMs = moved.monotonicMs() + 700;
    const late = codeOf(till.submit({ ...credit(shop, 100, { subject }), deadlineMs }));
    await expect.poll(() => way.cuts()).toBe(1);
    moved.advance(700);
    expect(await late).toBe('processing_unavailable');
    await till.idle();
    await expect.poll(() => timesPosted(subject)).toBe(1);
    way.rearm();
    // The repeat that the caller is asked for finds it.
    expect(await tillOver(db.sql).submit(credit(shop, 100, { subject }))).toBe('already');
    await sql.close();
    await way.close();
  });
});

describe('a frozen transaction', () => {
  /** Another process that stopped while it held the lock of an operation. */
  async function freeze(chain: ChainKey): Promise<{ thaw(): Promise<void> }> {
    const client = new pg.Client({ connectionString: db.url, options: '-c search_path=vintem' });
    await client.connect();
    await client.query('BEGIN');
    await client.query(
      'SELECT 1 FROM balance WHERE account_id = $1 AND operation_id = $2 FOR NO KEY UPDATE',
      [chain.accountId, chain.chainId],
    );
    onTestFinished(() => client.end());
    return { thaw: async () => void (await client.query('ROLLBACK')) };
  }

  it('holds up its own operation alone: the others are answered, also those that come later', async () => {
    const [frozen, live] = [await newOperation(), await newOperation()];
    const { thaw } = await freeze(frozen);
    const till = tillOver(db.sql);
    const subject = ids.uuid();
    // The lock is held until all of them are answered.
    const stuck = codeOf(till.submit(credit(frozen, 100, { subject, withinMs: 6_000 })));
    // The first shares the flush that waits for the lock: two seconds, and it is split.
    expect(await till.submit(credit(live, 1))).toBe('posted');
    const more = codeOf(till.submit(credit(frozen, 1, { withinMs: 1_000 })));
    for (let turn = 0; turn < 5; turn++) expect(await till.submit(credit(live, 1))).toBe('posted');
    for (const one of [more, stuck]) expect(await one).toBe('processing_unavailable');
    await till.idle();
    await thaw();
    expect(await till.submit(credit(frozen, 7))).toBe('posted');
    expect(await timesPosted(subject)).toBe(0);
    expect(await balanceOf(frozen)).toMatchObject({ available: 7, seq: 1 });
    expect(await balanceOf(live)).toMatchObject({ available: 6, seq: 6 });
  });

  it('that ends in time costs its commands nothing but the wait', async () => {
    const shop = await newOperation();
    const { thaw } = await freeze(shop);
    const till = tillOver(db.sql);
    const answers = Promise.all([1, 2, 3].map((amount) => till.submit(credit(shop, amount))));
    await somebodyWaitsForALock();
    await thaw();
    expect(await answers).toEqual(['posted', 'posted', 'posted']);
    expect(await balanceOf(shop)).toMatchObject({ available: 6, seq: 3 });
  });
});

describe('a command whose time is over', () => {
  it('before it is run is answered 503 and does nothing later', async () => {
    const shop = await newOperation();
    const slow = gate(db.sql, 'before COMMIT');
    const till = tillOver(slow.sql);
    const first = till.submit(credit(shop, 1));
    await slow.reached;
    let decided = 0;
    const command = credit(shop, 100, { withinMs: 30 });
    const late = codeOf(
      till.submit({
        ...command,
        decide: (view, now) => {
          decided += 1;
          return command.decide(view, now);
        },
      }),
    );
    const patient = till.submit(credit(shop, 10));
    await clock.sleep(40);
    slow.open();
    expect([await first, await late, await patient]).toEqual(['posted', 'processing_unavailable', 'posted']);
    await till.idle();
    expect(decided).toBe(0);
    expect(await balanceOf(shop)).toMatchObject({ available: 11, seq: 2 });
  });

  it('when it arrives is answered at once', async () => {
    const shop = await newOperation();
    const till = tillOver(db.sql);
    expect(await codeOf(till.submit(credit(shop, 100, { withinMs: -1 })))).toBe('processing_unavailable');
    expect(await balanceOf(shop)).toMatchObject({ available: 0, seq: 0 });
  });
});

describe('what is written once', () => {
  it.each([
    'UPDATE journal SET available = available',
    'DELETE FROM journal',
    'TRUNCATE journal',
    'UPDATE request_key SET resource = resource',
    'DELETE FROM request_key',
    'DELETE FROM payment',
    'DELETE FROM balance',
    'ALTER TABLE journal DISABLE TRIGGER ALL',
  ])('stays: the role of the service may not %s', async (text) => {
    const error = await db.sql.run({ name: text, text }).catch((reason: unknown) => reason);
    expect(sqlState(error)).toBe('42501');
  });

  it('is refused by the database when it is posted a second time, or does not sum to zero', async () => {
    const shop = await newOperation();
    await tillOver(db.sql).submit(credit(shop, 100));
    const copy = (change: string) =>
      db
        .admin(
          `WITH one AS (SELECT * FROM journal WHERE chain_id = $1)
          INSERT INTO journal SELECT account_id, chain_id, seq + 1, template, ${change}, held, receivable, clearing, fee_revenue,
            provider_cost, suspense, adjustments, available_after, reserved_after, held_after, receivable_after, effective_at,
            posted_at, command, version, previous, hash, connection FROM one`,
          [shop.chainId],
        )
        .catch(sqlState);
    expect(await copy('subject, event, reference, available, reserved')).toBe('23505');
    expect(await copy("subject, event, 'again', available + 1, reserved")).toBe('23514');
  });
});
