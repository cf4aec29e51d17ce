import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimEndingKeys } from '../../server/src/api/keys/ending.sql.ts';
import { claimUnusedKeys } from '../../server/src/api/keys/keys.sql.ts';
import { lockMoving } from '../../server/src/api/test-mode/clock.sql.ts';
import {
  holdOperator,
  lockOperators,
  suspendOperatorRow,
} from '../../server/src/console/people/operators.sql.ts';
import { becomePublisher } from '../../server/src/events/publish.sql.ts';
import {
  claimQueues,
  leaveQueues,
  noteHealth,
  renewQueues,
  wakeQueues,
} from '../../server/src/events/webhooks/deliveries.sql.ts';
import { claimUnwellEndpoints } from '../../server/src/events/webhooks/endpoints.sql.ts';
import { prepareLimits, takeQuery, takeSend } from '../../server/src/flow/limit.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { createSecrets } from '../../server/src/ground/secrets.ts';
import {
  claimDefenceAlerts,
  claimDisputeAlerts,
  claimIncidentAlerts,
  claimUnknownAlerts,
} from '../../server/src/operate/accounts/alerts.sql.ts';
import {
  lockAccount as lockBinding,
  lockConnection,
} from '../../server/src/operate/connections/connections.sql.ts';
import { createFirstTestAccount } from '../../server/src/operate/connections/directory.ts';
import { endRestore, pauseAfterRestore } from '../../server/src/operate/pause.ts';
import { stepRetention } from '../../server/src/operate/retention.ts';
import { authStore } from '../../server/src/panel/auth/auth-store.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import type { Queries, Sql, Statement, Transaction } from '../../server/src/ports/sql.ts';
import { claimSecret } from '../../server/src/store/database/installation-secret.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { sealAgain } from '../../server/src/store/database/sealed-columns.ts';
import { lockBalances } from '../../server/src/store/ledger.sql.ts';
import { claimReminder } from '../../server/src/store/rows/charge-reminders.sql.ts';
import { pruneFiles } from '../../server/src/store/rows/files.sql.ts';
import { claimTurns } from '../../server/src/store/rows/intent-turns.sql.ts';
import {
  claimDue,
  claimDueNeighbours,
  claimDueSends,
  claimMentioned,
  claimOverdue,
  makeDue,
  renewClaims,
} from '../../server/src/store/rows/intents.sql.ts';
import { claimJob } from '../../server/src/store/rows/jobs.sql.ts';
import { claimLateQueries } from '../../server/src/store/rows/late-queries.sql.ts';
import { lockAccount } from '../../server/src/store/rows/lock.sql.ts';
import { claimLines, setLinesAside } from '../../server/src/store/rows/statement-lines.sql.ts';
import { claimUnread, keepRows } from '../../server/src/store/rows/unread-items.sql.ts';

/**
 * The purpose of each row lock. Each lock of the service has a law here that two connections try: it must hold with the lock, and
 * must break when the lock's clause is taken out of the statement (else nothing shows what it is good for). A lock of the source
 * without a law here fails the rig.
 */
const clause = /\s+FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?/;

interface World {
  db: TestDatabase;
  /** The service's port, with the lock or without it. */
  sql: Sql;
  now: number;
  account: string;
  operation: string;
}

/** Says whether the law held. */
type Law = (world: World) => Promise<boolean>;

const ids = systemIds(systemClock);
const clock = systemClock;
const day = 86_400_000;
const at = (ms: number): string => new Date(ms).toISOString();
const first = '0190a000-0000-7000-8000-000000000001';
const last = '0190a000-0000-7000-8000-000000000002';
const stamp = { name: 'locks.wait', text: "SET LOCAL lock_timeout = '150ms'" };

/** Another transaction while `mine` is open: its answer, or `waits` when it would have to wait for ours. */
async function beside<T>(
  sql: Sql,
  mine: (tx: Transaction) => Promise<unknown>,
  other: (tx: Transaction) => Promise<T>,
): Promise<T | 'waits'> {
  const tx = await sql.begin();
  try {
    await mine(tx);
    return await sql.tx(async (second) => {
      await second.run(stamp);
      return other(second);
    });
  } catch (error) {
    if ((error as { code?: unknown }).code === '55P03') return 'waits';
    throw error;
  } finally {
    await tx.rollback();
  }
}

/** Another transaction that begins while `change` is not yet committed, and ends after. */
async function after<T>(
  world: World,
  change: string,
  values: unknown[],
  other: () => Promise<T>,
): Promise<T> {
  const tx = await world.db.sql.begin();
  await tx.run({ name: `locks.${change.length}`, text: change }, values);
  const pending = other();
  await until(() => somebodyWaits(world));
  await tx.commit();
  return pending;
}

async function somebodyWaits({ db }: Pick<World, 'db'>): Promise<boolean> {
  const [row] = await db.admin<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return (row?.n ?? 0) > 0;
}

/**
 * Runs two units of work, the second while the first has run all its statements and has not committed. The first commits when the
 * second waits for a lock or has ended.
 * @param lastStatement how the last statement of the first begins
 */
async function overlapping<T>(
  { db, sql }: World,
  lastStatement: string,
  work: (sql: Sql) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const gate = Promise.withResolvers<void>();
  const slow: Sql = {
    run: (...given) => sql.run(...given),
    begin: () => sql.begin(),
    tx: async (steps) => {
      const tx = await sql.begin();
      const result = await steps(tx);
      await gate.promise;
      await tx.commit();
      return result;
    },
  };
  const one = work(slow);
  await until(async () => {
    const [row] = await db.admin<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'
          AND query LIKE $1 || '%'`,
      [lastStatement],
    );
    return (row?.n ?? 0) > 0;
  });
  let ended = false;
  const other = work(sql).finally(() => {
    ended = true;
  });
  const both = Promise.allSettled([one, other]);
  await until(async () => ended || (await somebodyWaits({ db })));
  gate.resolve();
  return both;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 120_000; !(await holds()); await clock.sleep(5))
    if (Date.now() > deadline) throw new Error('no session waits for the lock');
}

const intents = ({ db, now, account, operation }: World): Promise<unknown> =>
  db.admin(
    `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
        failures, absences, known, refused, created_at)
      SELECT $1, p, $2, 'simulator', 'transfer', 1, 'awaiting', p, 1, $3, $3, 0, 0, false, false, $3
      FROM unnest($4::uuid[]) AS p`,
    [account, operation, at(now - 1_000), [first, last]],
  );

const sends =
  (kind: 'deposit' | 'transfer', state: 'ready' | 'sending' = 'ready') =>
  async (world: World): Promise<void> => {
    await intents(world);
    await world.db.admin(
      `UPDATE intent SET priority = 0, kind = $1, state = $2, attempt = CASE WHEN $2 = 'ready' THEN 0 ELSE 1 END,
        lease_until = CASE WHEN $2 = 'sending' THEN due_at END`,
      [kind, state],
    );
  };

/** The second in key order stands first on the page, so that only the clause makes the first one locked first. */
const lanes = async ({ db, now, account }: World, owner: string | null = null): Promise<void> => {
  for (const id of [last, first]) {
    await db.admin(
      `INSERT INTO webhook_endpoint (account_id, id, url, events, schema_version, enabled, secret, secret_hint, created_at, updated_at,
          failing_since, tell_after)
        VALUES ($1, $2, 'https://x', '{*}', 1, true, '\\x00', 'x', $3, $3, $3, $3)`,
      [account, id, at(now - 1_000)],
    );
    await db.admin(
      `INSERT INTO webhook_lane (account_id, endpoint_id, due_at, owner, lease_until) VALUES ($1, $2, $3, $4, $5)`,
      [account, id, at(now - 1_000), owner, owner && at(now + 1_000)],
    );
  }
};
const keysOf = (account: string) => [last, first].map((endpointId) => ({ accountId: account, endpointId }));

/** Two claimers: the second neither waits nor gets what the first has. */
const shared =
  <Row>(
    prepare: (world: World) => Promise<unknown>,
    claim: (tx: Queries, world: World) => Promise<Row[]>,
  ): Law =>
  async (world) => {
    await prepare(world);
    let mine: Row[] = [];
    const theirs = await beside(
      world.sql,
      async (tx) => {
        mine = await claim(tx, world);
      },
      (tx) => claim(tx, world),
    );
    expect(mine.length).toBeGreaterThan(0);
    return theirs !== 'waits' && !theirs.some((row) => JSON.stringify(mine).includes(JSON.stringify(row)));
  };

/**
 * A statement that waits for the first row in key order has not locked the second row yet, with any plan. So two such statements cannot
 * deadlock.
 */
const inOrder =
  (table: string, key: string, run: (tx: Queries, world: World) => Promise<unknown>): Law =>
  async (world) => {
    await lanes(world, first);
    const lock = `SELECT FROM ${table} WHERE account_id = $1 AND ${key} = $2 FOR UPDATE`;
    const held = await world.db.sql.begin();
    await held.run({ name: `locks.first.${table}`, text: lock }, [world.account, first]);
    const pending = world.sql.tx(async (tx) => {
      await tx.run({
        // In the order in which the rows were stored: the service's own settings would let an index give them sorted.
        name: 'locks.plan',
        text: `SELECT set_config(name, CASE name WHEN 'enable_seqscan' THEN 'on' ELSE 'off' END, true) FROM pg_settings
          WHERE name IN ('enable_seqscan', 'enable_nestloop', 'enable_mergejoin', 'enable_indexscan', 'enable_bitmapscan')`,
      });
      await run(tx, world);
    });
    await until(() => somebodyWaits(world));
    const free = await world.db.admin(
      `SELECT FROM ${table} WHERE account_id = $1 AND ${key} = $2 FOR UPDATE SKIP LOCKED`,
      [world.account, last],
    );
    await held.commit();
    await pending;
    return free.length === 1;
  };

/** As much of the second factor's schema as a counted failure needs. */
const secondFactor = {
  id: 'two-factor',
  schema: { twoFactor: { fields: { failedVerificationCount: { type: 'number', required: false } } } },
};
const adapter = ({ sql }: World) =>
  (
    authStore({ sql, clock: systemClock, ids }) as unknown as (
      options: object,
    ) => Record<'consumeOne' | 'incrementOne', (given: object) => Promise<unknown>>
  )({ plugins: [secondFactor] });

/** By the file and the statement's name, each with the law that only it keeps. */
/** SQL in front of the defence of a dispute: account, both ids and the operation are `$1` to `$3`. */
const withDispute = `WITH d AS (INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents,
    status, opened_at, debited_cents, created_at, updated_at)
  VALUES ($1, $2, $2, $3, 'simulator', 'x', 'E1', 1, 'open', now(), 0, now(), now()))`;

const laws: Record<string, [law: string, Law]> = {
  'store/rows/intents.sql.ts intent_claim': [
    'two workers take different payments, and neither waits',
    shared(intents, (tx, { now }) => claimDue(tx, 'simulator', 1, now, now + 5_000, 1)),
  ],
  'store/rows/intent-turns.sql.ts intent_claim_turns': [
    'two workers take different payments of the account whose turn it is, and neither waits',
    shared(intents, (tx, { now, account }) =>
      claimTurns(tx, 'simulator', [{ line: 3, accountId: account }], now, now + 5_000, 1),
    ),
  ],
  'store/rows/intents.sql.ts intent_claim_neighbours': [
    'two listings take different payments, and neither waits',
    shared(intents, (tx, { now }) => claimDueNeighbours(tx, 'simulator', 1, now, now + 5_000, 2)),
  ],
  'store/rows/intents.sql.ts intent_claim_mentioned': [
    'two listings that mention the same payments do not both hear of them, and neither waits',
    shared(intents, (tx, { now, account }) => {
      const payments = [first, last].map((id) => ({ accountId: account, id }));
      return claimMentioned(tx, 'simulator', 'transfer', now, now + 5_000, payments, 10);
    }),
  ],
  'store/rows/intents.sql.ts intent_claim_one': [
    'who looks a payment up does not wait for the worker that has it',
    shared(intents, async (tx, { now, account }) => {
      const taken = await claimOverdue(tx, account, first, now, now + 5_000);
      return taken ? [taken] : [];
    }),
  ],
  'store/rows/intents.sql.ts intent_give_back': [
    'giving rows back does not wait for who has them locked',
    async (world) => {
      await intents(world);
      const rows = [{ accountId: world.account, paymentId: first }];
      return (
        (await beside(
          world.sql,
          (tx) => claimDue(tx, 'simulator', 1, world.now, world.now + 5_000, 2),
          (tx) => makeDue(tx, rows, world.now),
        )) !== 'waits'
      );
    },
  ],
  'store/rows/intents.sql.ts intent_claim_unlimited_sends': [
    'two workers take different charges, and neither waits',
    shared(sends('deposit'), (tx, { now }) =>
      claimDueSends(tx, 'simulator', 'unlimited', now, now + 5_000, 1),
    ),
  ],
  'store/rows/intents.sql.ts intent_claim_abandoned_sends': [
    'two workers take over different transfers, and neither waits',
    shared(sends('transfer', 'sending'), (tx, { now }) =>
      claimDueSends(tx, 'simulator', 'abandoned', now, now + 5_000, 1),
    ),
  ],
  'store/rows/intents.sql.ts intent_claim_transfer_sends': [
    'two workers take different transfers, and neither waits',
    shared(sends('transfer'), (tx, { now }) =>
      claimDueSends(tx, 'simulator', 'limited', now, now + 5_000, 1),
    ),
  ],
  'store/rows/intents.sql.ts intent_renew_claim': [
    'renewing claims does not wait for a flush that has a row locked',
    async (world) => {
      await intents(world);
      const rows = [{ accountId: world.account, paymentId: first }];
      const renewed = await beside(
        world.sql,
        (tx) => claimDue(tx, 'simulator', 1, world.now, world.now + 5_000, 2),
        (tx) => renewClaims(tx, rows, world.now - 1_000, world.now + 5_000),
      );
      return renewed !== 'waits';
    },
  ],
  'store/rows/statement-lines.sql.ts statement_line_claim': [
    'two processes look up different lines of the statement, and neither waits',
    shared(
      ({ db, now }) => {
        const line = { rtrId: null, amountCents: 1, endToEnd: null, providerId: null, at: now };
        return setLinesAside(
          db.sql,
          'simulator',
          [first, last].map((id) => ({ ...line, kind: 'received' as const, id })),
          { now, nextAt: now, problem: null },
        );
      },
      (tx, { now }) => claimLines(tx, 'simulator', now, now + 5_000, 1),
    ),
  ],
  'store/rows/late-queries.sql.ts late_query_claim': [
    'two processes query different expired charges, and neither waits',
    shared(
      ({ db, account }) =>
        db.admin(
          `INSERT INTO late_query SELECT $1, id, 'simulator', now(), now() - interval '1 s', 0 FROM unnest($2::uuid[]) AS k (id)`,
          [account, [first, last]],
        ),
      (tx, { now }) => claimLateQueries(tx, 'simulator', now, now + 5_000, 1),
    ),
  ],
  'store/rows/unread-items.sql.ts unread_claim': [
    'two processes ask for different unread items, and neither waits',
    shared(
      async ({ db, now }) => {
        const row = {
          providerId: null,
          endToEnd: null,
          body: Buffer.of(0),
          firstSeenAt: now,
          incidentDueAt: now,
        };
        const rows = [first, last].map((id) => ({ ...row, id, kind: 'report' as const, reference: id }));
        await keepRows(db.sql, 'simulator', rows, now, now);
      },
      (tx, { now }) => claimUnread(tx, 'simulator', now, now + 5_000, 1),
    ),
  ],
  'flow/limit.ts query_token': [
    'two queries at once spend two tokens',
    async (world) => {
      await prepareLimits(world.db.sql, 'simulator', null);
      const still = { ...clock, now: () => world.now };
      const taken = await overlapping(world, 'UPDATE connection', (sql) =>
        sql.tx((tx) => takeQuery({ sql: tx as unknown as Sql, clock: still }, 'simulator', 5_000)),
      );
      expect(taken.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
      const [row] = await world.db.admin<{ at: Date }>(
        `SELECT query_bucket_at AS at FROM connection WHERE id = 'simulator'`,
      );
      // A full bucket lies 1.8 s in the past, and each token moves it by 200 ms.
      return row?.at.getTime() === world.now - 1_800 + 2 * 200;
    },
  ],
  'operate/retention.ts inbound_prune': [
    'who removes old deliveries does not wait for another that does',
    async (world) => {
      await world.db.admin(
        `INSERT INTO inbound (id, connection, received_at, body, authentic, next_at)
          VALUES ('00000000-0000-7000-8000-000000000000', 'simulator', now(), '', false, now())`,
      );
      const prune = (tx: Transaction) => stepRetention({ sql: tx as unknown as Sql, clock });
      return (await beside(world.sql, prune, prune)) !== 'waits';
    },
  ],
  'store/rows/files.sql.ts dispute_files_prune': [
    'two processes take the contents of different files away, and neither waits',
    shared(
      ({ db, account, operation }) =>
        db.admin(
          `WITH d AS (INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents,
                status, opened_at, debited_cents, created_at, updated_at, ended_at)
              VALUES ($1, $2, $2, $3, 'simulator', 'x', 'E1', 1, 'rejected', now(), 0, now(), now(), now())
              RETURNING account_id, id, operation_id)
            INSERT INTO dispute_file (account_id, id, dispute_id, operation_id, name, type, size_bytes, sha256, body, created_at)
              SELECT account_id, id, id, operation_id, 'x', 'image/png', 1, sha256(''), '', now() FROM d`,
          [account, first, operation],
        ),
      async (tx) =>
        Array.from({ length: await pruneFiles(tx, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 10) }, () => first),
    ),
  ],
  'flow/limit.ts ${table}_take': [
    'two that ask for a slot get two, at once',
    async (world) => {
      await prepareLimits(world.db.sql, 'simulator', 2);
      const send = (tx: Transaction) => takeSend({ sql: tx as unknown as Sql, clock }, 'simulator', 2, 5_000);
      const slot = await beside(world.sql, send, send);
      return slot !== 'waits' && slot !== null;
    },
  ],
  'operate/pause.ts pause_read': [
    'the end of a restore does not undo the pause that an operator has just begun',
    async (world) => {
      await world.db.sql.tx((tx) => pauseAfterRestore(tx, world.now));
      const operator = { sql: world.sql, clock, ids, log: createLog('silent'), actor: 'me' };
      await after(
        world,
        'UPDATE installation SET withdrawals_paused_at = $1, withdrawals_paused_reason = $2',
        [at(world.now + 5_000), 'stolen key'],
        () => endRestore(operator, { restoredAt: world.now, unlisted: [], doubtful: [], reason: null }),
      );
      const [row] = await world.db.admin<{ reason: string | null }>(
        'SELECT withdrawals_paused_reason AS reason FROM installation',
      );
      return row?.reason === 'stolen key';
    },
  ],
  'events/publish.sql.ts publish_lock': [
    'there is one publisher, and no other process waits to become it',
    async ({ sql }) => (await beside(sql, becomePublisher, becomePublisher)) === false,
  ],
  'store/ledger.sql.ts balance_lock': [
    'one flush at a time has an operation',
    async ({ sql, account, operation }) => {
      const take = (tx: Transaction) => lockBalances(tx, [{ accountId: account, chainId: operation }]);
      return (await beside(sql, take, take)) === 'waits';
    },
  ],
  'console/people/operators.sql.ts operator_lock': [
    'of two changes of operators at once, the later one sees the earlier: an administrator is left',
    async ({ db, sql }) => {
      await db.admin(
        `INSERT INTO operator_person (id, email, name, role, created_at) VALUES ($1, 'x@example.com', 'x', 'risk', now()) ON CONFLICT DO NOTHING`,
        [first],
      );
      return (await beside(sql, lockOperators, lockOperators)) === 'waits';
    },
  ],
  'console/people/operators.sql.ts operator_present': [
    'a sign-in waits for the suspension that is under way',
    async ({ db, sql }) => {
      await db.admin(
        `INSERT INTO operator_person (id, email, name, role, created_at, password, app_secret, enrolled_at)
          VALUES ($1, 'y@example.com', 'y', 'risk', now(), 'x', 'x', now()) ON CONFLICT DO NOTHING`,
        [last],
      );
      const suspend = (tx: Transaction) => suspendOperatorRow(tx, last, Date.now());
      const waits = (await beside(sql, suspend, (tx) => holdOperator(tx, last))) === 'waits';
      await db.admin('UPDATE operator_person SET suspended_at = NULL WHERE id = $1', [last]);
      return waits;
    },
  ],
  'store/rows/lock.sql.ts account_lock_balances': [
    'a change of an account blocks every batch of its operations',
    async ({ sql, account, operation }) =>
      (await beside(
        sql,
        (tx) => lockAccount(tx, account),
        (tx) => lockBalances(tx, [{ accountId: account, chainId: operation }]),
      )) === 'waits',
  ],
  'store/rows/lock.sql.ts account_lock': [
    'a change of an account locks the account row before any balance row',
    async (world) => {
      const tx = await world.sql.begin();
      await lockAccount(tx, world.account);
      const free = await world.db.admin('SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED', [
        world.account,
      ]);
      await tx.rollback();
      return free.length === 0;
    },
  ],
  'operate/connections/directory.ts account.first.lock': [
    'of two first starts at once, one makes the test account',
    async (world) => {
      await world.db.admin(cleared);
      const made = await overlapping(world, 'INSERT INTO balance', (sql) =>
        createFirstTestAccount({ sql, clock, ids }),
      );
      return made.filter((one) => one.status === 'fulfilled' && one.value !== null).length === 1;
    },
  ],
  'store/database/installation-secret.ts secret_installation': [
    'of two machines with different secrets that start at once, one is refused',
    async (world) => {
      const secretOf = [1, 2].map((byte) => createSecrets(ids, Buffer.alloc(32, byte)));
      const started = await overlapping(world, 'UPDATE installation SET secret_id', (sql) =>
        claimSecret({ sql, secrets: secretOf.pop() ?? expect.unreachable() }),
      );
      return started.filter(({ status }) => status === 'fulfilled').length === 1;
    },
  ],
  'store/database/sealed-columns.ts sealed_again_${name}_${column}': [
    'a rotation of the secret does not wait for one row while it holds others',
    async (world) => {
      const [old, current] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
      const before = createSecrets(ids, old);
      const secrets = createSecrets(ids, current, old);
      for (const id of [first, last])
        await world.db.admin(
          `INSERT INTO inbound (id, connection, received_at, body, authentic, next_at) VALUES ($1, 'simulator', now(), $2, true, now() - interval '1 s')`,
          [id, before.seal('body', id)],
        );
      const held = await world.db.sql.begin();
      await held.run({ name: 'locks.inbound', text: 'SELECT FROM inbound WHERE id = $1 FOR UPDATE' }, [
        first,
      ]);
      const rotating = sealAgain({ sql: world.sql, secrets });
      const isSealedAgain = async () => {
        const [row] = await world.db.admin<{ body: Buffer }>('SELECT body FROM inbound WHERE id = $1', [
          last,
        ]);
        return row?.body.subarray(1, 5).toString('hex') === secrets.id;
      };
      await until(async () => (await isSealedAgain()) || (await somebodyWaits(world)));
      const sealed = await isSealedAgain();
      await held.commit();
      await rotating;
      return sealed;
    },
  ],
  'events/webhooks/deliveries.sql.ts lane_claim': [
    'two processes take different queues, and neither waits',
    shared(lanes, (tx, { now }) => claimQueues(tx, first, now, now + 5_000, 1)),
  ],
  'events/webhooks/deliveries.sql.ts lane_renew': [
    'a queue that another process has just taken is not renewed',
    async (world) => {
      await lanes(world, first);
      const kept = await after(world, 'UPDATE webhook_lane SET owner = $1', [last], () =>
        renewQueues(world.sql, keysOf(world.account), first, world.now + 5_000),
      );
      return kept.length === 0;
    },
  ],
  'events/webhooks/deliveries.sql.ts lane_leave': [
    'a queue that another process has just taken is not given back',
    async (world) => {
      await lanes(world, first);
      await after(world, 'UPDATE webhook_lane SET owner = $1', [last], () =>
        leaveQueues(world.sql, keysOf(world.account), first),
      );
      return (await world.db.admin('SELECT FROM webhook_lane WHERE owner = $1', [last])).length === 2;
    },
  ],
  'events/webhooks/deliveries.sql.ts lane_wake': [
    'queues are woken in key order',
    inOrder('webhook_lane', 'endpoint_id', (tx, { account, now }) => wakeQueues(tx, keysOf(account), now)),
  ],
  'events/webhooks/deliveries.sql.ts webhook_note_health': [
    'the health of endpoints is noted in key order',
    inOrder('webhook_endpoint', 'id', (tx, { account, now }) =>
      noteHealth(
        tx,
        keysOf(account).map((key) => ({
          ...key,
          recovered: false,
          failedAttempts: 1,
          failedDeliveries: 0,
          firstFailureAt: now,
        })),
        now,
      ),
    ),
  ],
  'events/webhooks/endpoints.sql.ts webhook_claim_unwell': [
    'two processes do not write the same mail, and neither waits',
    shared(lanes, (tx, { now }) => claimUnwellEndpoints(tx, now, now + day)),
  ],
  'operate/accounts/alerts.sql.ts alert_claim_unknown': [
    'two processes do not mail of the same transfer, and neither waits',
    shared(
      async ({ db, account, operation }) => {
        await db.admin(
          `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint,
              description, pix_key, pix_key_type, created_at, updated_at, history, command)
            VALUES ($1, $2, $3, 'transfer', 'unknown', 1000, 25, $2, '\\x01', '', '\\x01', 'EMAIL', now(), now(), '[]', $2)`,
          [account, first, operation],
        );
        await db.admin('INSERT INTO unknown_told VALUES ($1, $2, now(), $3)', [account, first, at(0)]);
      },
      (tx, { now }) => claimUnknownAlerts(tx, now, now + 5_000, 10),
    ),
  ],
  'store/rows/charge-reminders.sql.ts charge_reminder_claim': [
    'two processes do not remind of the same charge, and neither waits',
    shared(
      async ({ db, account, operation }) => {
        await db.admin(
          `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint,
              description, pix_key, pix_key_type, created_at, updated_at, history, command)
            VALUES ($1, $2, $3, 'transfer', 'unknown', 1000, 25, $2, '\\x01', '', '\\x01', 'EMAIL', now(), now(), '[]', $2)`,
          [account, first, operation],
        );
        await db.admin('INSERT INTO charge_reminder VALUES ($1, $2, $3, 0)', [account, first, at(0)]);
      },
      async (tx, { now }) => [await claimReminder(tx, now, now + 5_000)].filter((one) => one !== undefined),
    ),
  ],
  'operate/accounts/alerts.sql.ts alert_claim_incidents': [
    'two processes do not mail of the same incident, and neither waits',
    shared(
      ({ db, account }) =>
        db.admin(
          `INSERT INTO incident (account_id, id, kind, amount_cents, reference, freezes, detail, state, opened_at, mail_due_at)
            VALUES ($1, $2, 'unmatched', 1, 'x', false, '{}', 'open', now(), $3)`,
          [account, first, at(0)],
        ),
      (tx, { now }) => claimIncidentAlerts(tx, now, now + 5_000, 10),
    ),
  ],
  'store/rows/jobs.sql.ts job_claim': [
    'two processes do not take the same turn of a job, and neither waits',
    shared(
      ({ db }) =>
        db.admin(
          `INSERT INTO job VALUES ('balance', 'simulator', 'epoch') ON CONFLICT (what, subject) DO UPDATE SET due_at = 'epoch'`,
        ),
      async (tx, { now }) =>
        [await claimJob(tx, { what: 'balance', claimMs: 5_000 }, 'simulator', now)].flatMap(
          (turn) => turn ?? [],
        ),
    ),
  ],
  'operate/accounts/alerts.sql.ts alert_claim_disputes': [
    'two processes do not mail of the same dispute, and neither waits',
    shared(
      ({ db, account, operation }) =>
        db.admin(
          `INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status,
              opened_at, debited_cents, created_at, updated_at, mail_due_at)
            VALUES ($1, $2, $2, $3, 'simulator', 'x', 'E1', 1, 'open', now(), 0, now(), now(), $4)`,
          [account, first, operation, at(0)],
        ),
      (tx, { now }) => claimDisputeAlerts(tx, now, now + 5_000, 10),
    ),
  ],
  'operate/accounts/alerts.sql.ts alert_claim_defences': [
    'two processes do not mail of the same defence, and neither waits',
    shared(
      ({ db, account, operation }) =>
        db.admin(
          `${withDispute} INSERT INTO dispute_defence (account_id, id, dispute_id, payment_id, operation_id, status, reason, attempts, amount_cents,
                fingerprint, mail_due_at, created_at, updated_at, command)
              VALUES ($1, $2, $2, $2, $3, 'failed', 'provider_refused', 1, 1, '', $4, now(), now(), $2)`,
          [account, first, operation, at(0)],
        ),
      (tx, { now }) => claimDefenceAlerts(tx, now, now + 5_000, 10),
    ),
  ],
  'operate/connections/connections.sql.ts connection_lock': [
    'changes of a connection and bindings to it come one after the other',
    async ({ sql }) => {
      const take = (tx: Transaction) => lockConnection(tx, 'simulator');
      return (await beside(sql, take, take)) === 'waits';
    },
  ],
  'operate/connections/connections.sql.ts connection_account': [
    'an account is bound to one connection at a time',
    async ({ sql, account }) => {
      const take = (tx: Transaction) => lockBinding(tx, account);
      return (await beside(sql, take, take)) === 'waits';
    },
  ],
  'api/test-mode/clock.sql.ts test_clock_lock': [
    'one process moves a test clock, and no other waits for it',
    shared(
      ({ db, account }) =>
        db.admin(
          'INSERT INTO test_clock (account_id, target_ahead_ms, moved_at) VALUES ($1, 86400000, now())',
          [account],
        ),
      async (tx, { account }) => {
        const row = await lockMoving(tx, account);
        return row ? [row] : [];
      },
    ),
  ],
  'api/keys/keys.sql.ts key_claim_unused': [
    'two processes do not warn of the same key, and neither waits',
    shared(
      ({ db, account }) =>
        db.admin(
          `INSERT INTO api_key (id, account_id, name, permissions, hash, pepper_id, created_at)
            VALUES ('locks0000000', $1, 'x', '{read}', '\\x00', 'x', now() - interval '1 day')`,
          [account],
        ),
      (tx, { now }) => claimUnusedKeys(tx, now, { since: now, until: now + day, most: 10 }),
    ),
  ],
  'api/keys/ending.sql.ts key_claim_ending': [
    'two processes do not mail of the end of the same key, and neither waits',
    shared(
      ({ db, account }) =>
        db.admin(
          `INSERT INTO api_key (id, account_id, name, permissions, hash, pepper_id, created_at, expires_at)
            VALUES ('locks0000001', $1, 'x', '{read}', '\\x00', 'x', now() - interval '60 days', now() + interval '7 days')`,
          [account],
        ),
      (tx, { now }) => claimEndingKeys(tx, now, { before: now + 14 * day, until: now + 5_000, most: 10 }),
    ),
  ],
  'panel/auth/auth-store.ts consumeOne': [
    'of two codes for one purpose, two that consume at once get one each',
    async (world) => {
      for (const id of [first, last])
        await world.db.admin(
          `INSERT INTO panel_verification (id, identifier, value, expires_at, created_at, updated_at)
            VALUES ($1, 'x', 'code', now() + interval '1 hour', now(), now())`,
          [id],
        );
      const consume = () =>
        adapter(world).consumeOne({
          model: 'verification',
          where: [{ field: 'identifier', value: 'x', operator: 'eq', connector: 'AND' }],
        });
      const got = await after(
        world,
        `DELETE FROM panel_verification WHERE ctid = (SELECT ctid FROM panel_verification WHERE identifier = $1 LIMIT 1)`,
        ['x'],
        async () => consume(),
      );
      return got !== null && got !== undefined;
    },
  ],
  'panel/auth/auth-store.ts incrementOne': [
    'a count does not pass its limit, however many count at once',
    async (world) => {
      await world.db.admin(
        `INSERT INTO panel_user (id, name, email, email_verified, created_at, updated_at) VALUES ($1, 'x', 'x@example.com', true, now(), now())`,
        [first],
      );
      await world.db.admin(
        `INSERT INTO panel_two_factor (id, user_id, secret, backup_codes, failed_verification_count) VALUES ($1, $1, 'x', 'x', 4)`,
        [first],
      );
      await after(
        world,
        'UPDATE panel_two_factor SET failed_verification_count = 5 WHERE id = $1',
        [first],
        async () =>
          adapter(world).incrementOne({
            model: 'twoFactor',
            where: [{ field: 'failedVerificationCount', value: 5, operator: 'lt', connector: 'AND' }],
            increment: { failedVerificationCount: 1 },
          }),
      );
      const [row] = await world.db.admin<{ n: number }>(
        'SELECT failed_verification_count AS n FROM panel_two_factor',
      );
      return row?.n === 5;
    },
  ],
};

const source = fileURLToPath(new URL('../../server/src/', import.meta.url));

/** Every lock of the source, by its file and the name of its statement. */
function locksOfTheSource(): string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  return files.flatMap((file) => {
    const text = readFileSync(`${source}${file}`, 'utf8').replace(/^\s*(\/?\*|\/\/).*$/gm, '');
    return [...text.matchAll(/\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b/g)].map(({ index }) => {
      const names = [...text.slice(0, index).matchAll(/name: ['`]([^'`]+)['`]|(\w+One): async/g)];
      const name = names.at(-1);
      return `${file.replaceAll('\\', '/')} ${name?.[1] ?? name?.[2]}`;
    });
  });
}

/** The port with the lock taken out of one statement. */
function without(sql: Sql, key: string): Sql {
  const name = key.split(' ')[1] ?? '';
  const pattern = new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '\\w+').replaceAll('.', '\\.')}$`);
  const bare = (statement: Statement): Statement =>
    pattern.test(statement.name) || (name.endsWith('One') && clause.test(statement.text))
      ? { name: `${statement.name}.bare`, text: statement.text.replace(clause, '') }
      : statement;
  const queries =
    (of: Queries): Queries['run'] =>
    (statement, values) =>
      of.run(bare(statement), values);
  const transaction = (tx: Transaction): Transaction => ({
    run: queries(tx),
    commit: () => tx.commit(),
    rollback: () => tx.rollback(),
  });
  return {
    run: queries(sql),
    begin: async () => transaction(await sql.begin()),
    tx: (work) => sql.tx((tx) => work(transaction(tx))),
  };
}

/** Everything that a law has written. */
const cleared = `TRUNCATE sealing_secret, statement_line, unread_item, late_query, intent, payment, unknown_told, charge_reminder, incident, inbound, webhook_lane, webhook_endpoint, query_slot, send_slot, panel_verification, panel_two_factor CASCADE;
  UPDATE installation SET secret_id = NULL;
  UPDATE connection SET query_bucket_at = to_timestamp(0);
  DELETE FROM panel_user;
  DELETE FROM api_key;
  DELETE FROM balance WHERE account_id IN (SELECT id FROM account WHERE number > 0);
  DELETE FROM operation;
  DELETE FROM dispute_defence; DELETE FROM dispute_file; DELETE FROM dispute; DELETE FROM test_clock; DELETE FROM account WHERE number > 0`;

describe('row locks', () => {
  let db: TestDatabase;
  let pool: Sql & { close(): Promise<void> };

  beforeAll(async () => {
    db = await createDatabase();
    pool = openPool({ url: db.url, log: createLog('silent'), name: 'locks' });
  });
  afterAll(async () => {
    await pool.close();
    await db.drop();
  });

  async function holds(key: string, law: Law, locked: boolean): Promise<boolean> {
    await db.admin(cleared);
    const made = await createFirstTestAccount({ sql: db.sql, clock, ids });
    if (!made) throw new Error('there is an account already');
    const sql = locked ? pool : without(pool, key);
    return law({ db, sql, now: Date.now(), account: made.ownerId, operation: made.operationId });
  }

  it('have a law for each lock of the source, and none besides', () => {
    expect([...new Set(locksOfTheSource())].sort()).toEqual(Object.keys(laws).sort());
  });

  it.each(Object.entries(laws).map(([key, [law, tried]]) => ({ key, law, tried })))(
    '$law ($key)',
    async ({ key, tried }) => {
      expect(await holds(key, tried, true), 'with the lock').toBe(true);
      expect(await holds(key, tried, false), 'without the lock').toBe(false);
    },
  );
});
