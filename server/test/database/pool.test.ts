import net from 'node:net';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { CommitUnknown, ConnectionLost, type Statement, sqlState } from '../../src/ports/sql.ts';
import { openPool, parseTimestamp, timestamp, timestamps } from '../../src/store/database/pool.ts';
import { findOwners } from '../../src/store/rows/payments.sql.ts';

let db: TestDatabase;
let names = 0;
const rejected: unknown[] = [];
const note = (error: unknown) => rejected.push(error);

/** A statement with a name of its own. */
function sql(text: string): Statement {
  names += 1;
  return { name: `test.${names}`, text };
}

const countSlots = async () => {
  const [row] = await db.admin<{ count: string }>('SELECT count(*) FROM query_slot');
  return Number(row?.count);
};
const insertSlot = sql('INSERT INTO query_slot VALUES ($1, $2, $3)');
const slot = (number: number) => ['simulator', number, timestamp(0)];

beforeAll(async () => {
  process.on('unhandledRejection', note);
  db = await createDatabase();
});
afterAll(async () => {
  await db.drop();
  process.off('unhandledRejection', note);
  expect(rejected).toEqual([]);
});

describe('a transaction', () => {
  it('commits what was issued before COMMIT, without waiting in between', async () => {
    const before = await countSlots();
    const tx = await db.sql.begin();
    void tx.run(insertSlot, slot(1));
    void tx.run(insertSlot, slot(2));
    await tx.commit();
    expect(await countSlots()).toBe(before + 2);
  });

  it('commits nothing after one statement failed, and says why with the SQLSTATE', async () => {
    const before = await countSlots();
    const tx = await db.sql.begin();
    const statements = [
      tx.run(insertSlot, slot(3)),
      tx.run(insertSlot, slot(3)),
      tx.run(insertSlot, slot(4)),
    ];
    const error = await tx.commit().catch((reason: unknown) => reason);
    expect(sqlState(error)).toBe('23505');
    expect((await Promise.allSettled(statements)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(await countSlots()).toBe(before);
  });

  it('commits nothing when a value that was read is not safe', async () => {
    const before = await countSlots();
    const tx = await db.sql.begin();
    await tx.run(insertSlot, slot(5));
    await expect(tx.run(sql('SELECT 9007199254740993::bigint'))).rejects.toThrow('not a safe integer');
    await expect(tx.commit()).rejects.toThrow('not a safe integer');
    expect(await countSlots()).toBe(before);
  });

  it('rolls back what its work throws from, and gives the connection back', async () => {
    const before = await countSlots();
    for (let turn = 0; turn < 30; turn++) {
      const work = db.sql.tx(async (tx) => {
        await tx.run(insertSlot, slot(6));
        throw new Error('changed my mind');
      });
      await expect(work).rejects.toThrow('changed my mind');
    }
    expect(await countSlots()).toBe(before);
  });

  it('takes no statement after its end', async () => {
    const tx = await db.sql.begin();
    await tx.commit();
    await tx.rollback();
    await expect(tx.run(insertSlot, slot(7))).rejects.toThrow('has ended');
  });

  it('is the only place where something can be written', async () => {
    const before = await countSlots();
    // A failed BEGIN would leave this behind: statements that commit by themselves.
    const client = await connectPlainly();
    await expect(client.query('INSERT INTO query_slot VALUES ($1, $2, $3)', slot(8))).rejects.toMatchObject({
      code: '25006',
    });
    await client.end();
    expect(await countSlots()).toBe(before);
    await db.sql.run(insertSlot, slot(8));
    expect(await countSlots()).toBe(before + 1);
  });
});

describe('a connection whose server takes no writes any more', () => {
  it.each(['0A000', '25006'])('is not used again, and the next call has another one: %s', async (code) => {
    const pool = openPool({ url: db.url, log: createLog('silent'), name: 'vintem test', size: 1 });
    const backend = sql('SELECT pg_backend_pid() AS pid');
    const [before] = await pool.run<{ pid: number }>(backend);
    const refused = sql(
      `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}', MESSAGE = 'a standby'; END $$`,
    );
    await expect(pool.run(refused)).rejects.toMatchObject({ code });
    const [after] = await pool.run<{ pid: number }>(backend);
    expect(after?.pid).not.toBe(before?.pid);
    await pool.close();
  });
});

describe('a round trip', () => {
  const onlyOne = () => openPool({ url: db.url, log: createLog('silent'), name: 'vintem test', size: 1 });

  it('runs nothing behind a statement that fails, and knows afterwards what was never parsed', async () => {
    const pool = onlyOne();
    const fresh = sql('SELECT 1 AS one');
    const answers = await Promise.allSettled([
      pool.tx(async (tx) => {
        void tx.run(sql('SELECT 1 / 0'));
        await tx.run(fresh);
      }),
      pool.run(fresh),
    ]);
    expect(answers[0]).toMatchObject({
      reason: new Error(`${fresh.name} was not run: a statement before it failed`),
    });
    expect(answers[1]).toEqual({ status: 'fulfilled', value: [{ one: 1 }] });
    await pool.close();
  });

  it('keeps the answers before the one that fails', async () => {
    const tx = await db.sql.begin();
    const before = tx.run(sql('SELECT 1 AS one'));
    const failing = tx.run(sql('SELECT 1 / 0'));
    expect(await before).toEqual([{ one: 1 }]);
    expect(sqlState(await failing.catch((error: unknown) => error))).toBe('22012');
    await tx.rollback();
  });

  it('holds a statement as often as it is wanted, with rows and without', async () => {
    const pool = onlyOne();
    const some = sql('SELECT n, n::text AS text FROM generate_series(1, $1::integer) AS n');
    const none = sql('UPDATE publisher SET shard = shard WHERE shard < $1');
    for (let turn = 0; turn < 3; turn++) {
      const rows = await pool.tx((tx) =>
        Promise.all([tx.run(some, [0]), tx.run(none, [0]), tx.run(some, [2]), tx.run(some, [1])]),
      );
      expect(rows).toEqual([
        [],
        [],
        [
          { n: 1, text: '1' },
          { n: 2, text: '2' },
        ],
        [{ n: 1, text: '1' }],
      ]);
    }
    await pool.close();
  });

  it('is refused by PostgreSQL rather than misread when the columns have changed', async () => {
    await db.admin(
      'CREATE TABLE shape (a integer); GRANT SELECT ON shape TO vintem_app; INSERT INTO shape VALUES (1)',
    );
    const pool = onlyOne();
    const all = sql('SELECT * FROM shape');
    expect(await pool.run(all)).toEqual([{ a: 1 }]);
    await db.admin('ALTER TABLE shape DROP COLUMN a, ADD COLUMN b integer');
    expect(sqlState(await pool.run(all).catch((error: unknown) => error))).toBe('0A000');
    await pool.close();
  });

  it('commits nothing when a statement cannot be sent', async () => {
    const before = await countSlots();
    const tx = await db.sql.begin();
    void tx.run(insertSlot, slot(20));
    expect(() => tx.run(insertSlot, [{ an: 'object' }, 1, 1])).toThrow('$1 is nothing that can be sent');
    expect(() => tx.run(insertSlot, [['without a cast'], 1, 1])).toThrow('$1 is nothing that can be sent');
    await tx.rollback();

    const pool = onlyOne();
    const twice = pool.tx(async (other) => {
      void other.run(insertSlot, slot(21));
      void other.run({ name: insertSlot.name, text: 'SELECT 1 AS one' });
    });
    await expect(twice).rejects.toThrow(`two statements are called ${insertSlot.name}`);
    expect(await pool.run(sql('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    await pool.close();
    expect(await countSlots()).toBe(before);
  });

  it('gives its connection back when a value of a lone statement cannot be encoded', async () => {
    const pool = onlyOne();
    // The pool has one connection: if this one stays taken, the next statement waits until it is refused.
    await expect(pool.run(insertSlot, [{ an: 'object' }, 1, 1])).rejects.toThrow('nothing that can be sent');
    expect(await pool.run(sql('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    await pool.close();
  });
});

describe('a lost connection', () => {
  const self = sql('SELECT pg_backend_pid() AS pid');
  const terminate = (pid: number) => db.admin('SELECT pg_terminate_backend($1)', [pid]);

  it('before COMMIT means that nothing is on disk, and the pool keeps working', async () => {
    const before = await countSlots();
    const tx = await db.sql.begin();
    const [row] = await tx.run<{ pid: number }>(self);
    await tx.run(insertSlot, slot(9));
    const waiting = tx.run(sql('SELECT pg_sleep(300)')).catch((error: unknown) => error);
    await terminate(row?.pid as number);
    expect(await waiting).toBeInstanceOf(ConnectionLost);
    expect(await tx.run(insertSlot, slot(10)).catch((error: unknown) => error)).toBeInstanceOf(
      ConnectionLost,
    );
    expect(await tx.commit().catch((error: unknown) => error)).toBeInstanceOf(ConnectionLost);
    expect(await countSlots()).toBe(before);
    expect(await db.sql.run(self)).toHaveLength(1);
  });

  it('in the middle of a pipeline with its COMMIT leaves the outcome unknown', async () => {
    const tx = await db.sql.begin();
    const [row] = await tx.run<{ pid: number }>(self);
    void tx.run(sql('SELECT pg_sleep(300)'));
    void tx.run(insertSlot, slot(11));
    const commit = tx.commit().catch((error: unknown) => error);
    await terminate(row?.pid as number);
    expect(await commit).toBeInstanceOf(CommitUnknown);
    expect(await db.sql.run(self)).toHaveLength(1);
  });

  it('of every idle client is noticed without harm', async () => {
    await Promise.all(Array.from({ length: 10 }, () => db.sql.run(self)));
    await db.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    // Those that the pool has not seen go yet answer once with an error.
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => db.sql.run(self)));
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(ConnectionLost);
    }
    expect(await db.sql.run(self)).toHaveLength(1);
  });

  it('right after COMMIT was written leaves the outcome unknown, whatever happened', async () => {
    const before = await countSlots();
    const proxy = await cutAfter('COMMIT\0');
    const pool = openPool({
      url: db.url.replace(/:\d+\//, `:${proxy.port}/`),
      log: createLog('silent'),
      name: 'vintem test',
    });
    const tx = await pool.begin();
    await tx.run(insertSlot, slot(12));
    expect(await tx.commit().catch((error: unknown) => error)).toBeInstanceOf(CommitUnknown);
    await pool.close();
    await proxy.close();
    await expect.poll(countSlots).toBe(before + 1);
  });

  it('that cannot be made is a lost one as well', async () => {
    const pool = openPool({
      url: 'postgres://someone@127.0.0.1:9/none',
      log: createLog('silent'),
      name: 'vintem test',
    });
    await expect(pool.run(self)).rejects.toBeInstanceOf(ConnectionLost);
    await expect(pool.begin()).rejects.toBeInstanceOf(ConnectionLost);
    await pool.close();
  });
});

describe('a session', () => {
  it('works as vintem_app with the time limits, whatever the URL says', async () => {
    const pool = openPool({
      url: `${db.url}?options=-c%20role%3Dvintem_owner%20-c%20work_mem%3D9MB%20-c%20synchronous_commit%3Doff&statement_timeout=0`,
      log: createLog('silent'),
      name: 'vintem test',
    });
    const [row] = await pool.run(
      sql(`SELECT current_user::text, current_setting('work_mem') AS memory, current_setting('lock_timeout') AS lock,
                  current_setting('statement_timeout') AS statement, current_setting('application_name') AS name,
                  current_setting('synchronous_commit') AS commits,
                  current_setting('idle_in_transaction_session_timeout') AS idle`),
    );
    expect(row).toEqual({
      current_user: 'vintem_app',
      memory: '9MB',
      lock: '2s',
      statement: '5s',
      name: 'vintem test',
      // An acknowledged commit is on disk, whatever the server, the login or the URL says.
      commits: 'on',
      idle: '3s',
    });
    await pool.close();
  });

  it('in which a statement took too long is used again', async () => {
    const pool = openPool({ url: db.url, log: createLog('silent'), name: 'vintem test', size: 1 });
    const self = sql('SELECT pg_backend_pid() AS pid');
    const before = await pool.run(self);
    const error = await pool
      .tx(async (tx) => {
        await tx.run(sql(`SELECT set_config('statement_timeout', '20ms', true)`));
        await tx.run(sql('SELECT pg_sleep(300)'));
      })
      .catch((reason: unknown) => reason);
    expect([sqlState(error), error instanceof ConnectionLost]).toEqual(['57014', false]);
    expect(await pool.run(self)).toEqual(before);
    await pool.close();
  });

  it('waits no longer than two seconds for a lock', async () => {
    const holder = await db.sql.begin();
    await holder.run(sql('SELECT FROM installation FOR NO KEY UPDATE'));
    const error = await db.sql
      .tx((tx) => tx.run(sql('SELECT FROM installation FOR NO KEY UPDATE')))
      .catch((reason: unknown) => reason);
    expect(sqlState(error)).toBe('55P03');
    await holder.rollback();
  });
});

describe('values', () => {
  it('go out and come back as they are', async () => {
    const at = Date.UTC(2026, 10, 20, 20, 43, 18, 57);
    const [row] = await db.sql.run(
      sql(`SELECT $1::bigint AS big, $2::timestamptz AS at, $3::bytea AS bytes, $4::uuid AS id, $5::jsonb AS json,
                  $6::bigint[] AS bigs, $7::timestamptz[] AS ats, $8::bytea[] AS many, $9::jsonb[] AS jsons,
                  sum($1::bigint) AS total, $10::text[] AS texts, NULL::bigint AS nothing, $11::boolean[] AS flags`),
      [
        -9007199254740991,
        timestamp(at),
        Buffer.from([0, 255]),
        '01939f3a-7c00-7000-8000-000000000001',
        JSON.stringify([{ a: 1 }]),
        [1, null, -3],
        timestamps([at, null, 0]),
        [Buffer.from([1, 92]), Buffer.alloc(0)],
        [JSON.stringify({ quote: '"\\' })],
        ['a,b', 'c"d\\', '', null],
        [true, false],
      ],
    );
    expect(row).toEqual({
      big: -9007199254740991,
      at,
      bytes: Buffer.from([0, 255]),
      id: '01939f3a-7c00-7000-8000-000000000001',
      json: [{ a: 1 }],
      bigs: [1, null, -3],
      ats: [at, null, 0],
      many: [Buffer.from([1, 92]), Buffer.alloc(0)],
      jsons: [{ quote: '"\\' }],
      total: -9007199254740991,
      texts: ['a,b', 'c"d\\', '', null],
      nothing: null,
      flags: [true, false],
    });
  });

  it('that are instants are read to the millisecond', () => {
    for (const ms of [
      0, 999, 1_763_670_198_001, 1_763_670_198_570, 4_102_444_800_000, -1, 253_402_300_799_999,
    ]) {
      expect(parseTimestamp(timestamp(ms).replace('T', ' ').replace('Z', '+00'))).toBe(ms);
    }
    expect(parseTimestamp('2026-11-20 20:43:18+00')).toBe(Date.UTC(2026, 10, 20, 20, 43, 18));
    expect(parseTimestamp('2026-11-20 20:43:18.5+00')).toBe(Date.UTC(2026, 10, 20, 20, 43, 18, 500));
    expect(parseTimestamp('2026-11-20 20:43:18.123999+00')).toBe(Date.UTC(2026, 10, 20, 20, 43, 18, 123));
    expect(parseTimestamp('2026-11-20 17:43:18.5-03')).toBe(Date.UTC(2026, 10, 20, 20, 43, 18, 500));
    expect(() => parseTimestamp('infinity')).toThrow('not an instant');
  });
});

async function connectPlainly() {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    connectionString: db.url,
    options: '-c role=vintem_app -c search_path=vintem -c default_transaction_read_only=on',
  });
  await client.connect();
  return client;
}

/** A way to the server that ends the client's side when `word` has passed to the server. */
async function cutAfter(word: string): Promise<{ port: number; close(): Promise<void> }> {
  const target = Number(new URL(db.url).port);
  const server = net.createServer((client) => {
    const upstream = net.connect(target, '127.0.0.1');
    client.on('error', () => {});
    upstream.on('error', () => {});
    upstream.pipe(client);
    client.on('data', (bytes) => {
      upstream.write(bytes, () => {
        if (!bytes.includes(word)) return;
        upstream.unpipe(client);
        client.destroy();
        upstream.end();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe('plans', () => {
  it('follow a table that grows after its statements were used on it a thousand times while it was empty', async () => {
    // As wide as `refund` is: of the indexes of an empty one all seem equal, and the planner takes the newest.
    const texts = Array.from({ length: 12 }, (_, at) => `text${at} text`).join(', ');
    await db.admin(
      `CREATE TABLE grown (account_id uuid, id uuid, payment_id uuid, key uuid, ${texts}, UNIQUE (account_id, key))`,
    );
    await db.admin('CREATE INDEX grown_payment ON grown (account_id, payment_id, id)');
    await db.admin('GRANT SELECT, INSERT ON grown TO vintem_app');
    const read = sql(
      'SELECT * FROM grown JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, key) USING (account_id, key)',
    );
    const insert = sql('INSERT INTO grown SELECT $1::uuid, key, key, key FROM unnest($2::uuid[]) AS k (key)');
    const explain = sql(
      `EXPLAIN EXECUTE "${read.name}" (ARRAY[gen_random_uuid()], ARRAY[gen_random_uuid()])`,
    );
    const account = crypto.randomUUID();
    const pool = openPool({ url: db.url, log: createLog('silent'), name: 'one connection', size: 1 });
    const planOfRead = async () => {
      await pool.run(read, [[account], [crypto.randomUUID()]]);
      return JSON.stringify(await pool.run(explain));
    };
    for (let at = 0; at < 1_100; at++) await pool.run(read, [[account], [crypto.randomUUID()]]);
    expect(await planOfRead()).toContain('grown_payment');
    for (let at = 0; at < 40; at++)
      await pool.run(insert, [account, Array.from({ length: 100 }, () => crypto.randomUUID())]);
    expect(await planOfRead()).toContain('grown_account_id_key_key');
    await pool.close();
  });

  it('look a payment and its intent up by their whole keys, also while there are none', async () => {
    const pool = openPool({ url: db.url, log: createLog('silent'), name: 'one connection', size: 1 });
    await findOwners(pool, 'simulator', [{ accountNumber: 1, id: crypto.randomUUID() }]);
    const explain = sql('EXPLAIN EXECUTE payment_owners (ARRAY[1], ARRAY[gen_random_uuid()], $$simulator$$)');
    const plan = (await pool.run<{ 'QUERY PLAN': string }>(explain)).map((row) => row['QUERY PLAN']);
    const conditionOn = (table: string) => plan[plan.findIndex((line) => line.includes(`on ${table}`)) + 1];
    expect(conditionOn('payment p')).toMatch(/Index Cond: \(\(account_id = .*\(id = /);
    expect(conditionOn('intent i')).toMatch(/Index Cond: \(\(account_id = .*\(payment_id = /);
    await pool.close();
  });
});
