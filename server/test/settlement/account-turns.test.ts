import { openService, type Service } from '@vintem/testkit/service.ts';
import { fillQueryLimit } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { createInbound } from '../../src/flow/inbound.ts';
import { prepareLimits } from '../../src/flow/limit.ts';
import { stepLateQueries } from '../../src/jobs/late-queries.ts';
import type { Sql } from '../../src/ports/sql.ts';
import type { Capabilities, Provider } from '../../src/provider/provider.ts';
import { insertDeliveries } from '../../src/store/rows/inbound.sql.ts';

/**
 * Which accounts' rows are claimed while one account has thousands due. Rows are counted, and no payment stands behind them: one that is claimed is
 * looked for, not found, and left to its claim.
 */
const [crowd, small] = ['0190a000-0000-7000-8000-00000000000a', '0190a000-0000-7000-8000-00000000000b'];
const backlog = 5_000;

let service: Service;
let simulator: Provider;
/** The accounts of the rows in the order in which they were claimed. */
let claimed: string[];
beforeAll(async () => {
  service = await openService({ worker: false });
  simulator = service.runtime.providers.get('simulator') as Provider;
  await prepareLimits(service.runtime.sql, 'simulator', 1);
});
afterAll(() => service?.close());
beforeEach(async () => {
  claimed = [];
  await service.database.admin('DELETE FROM intent');
});

interface Rows {
  kind?: 'transfer' | 'deposit';
  priority: number;
  state?: 'ready' | 'awaiting';
}

/** Rows of an account that became due one after the other, the last one `ago` ms ago. */
const due = (
  accountId: string,
  most: number,
  ago: number,
  { kind = 'transfer', priority, state = 'awaiting' }: Rows,
): Promise<unknown> =>
  service.database.admin(
    `INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
        failures, absences, known, refused, created_at)
      SELECT $1, gen_random_uuid(), $1, 'simulator', $2, $3, $4, gen_random_uuid(), CASE WHEN $4 = 'ready' THEN 0 ELSE 1 END, at, at,
        0, 0, false, false, at
      FROM generate_series(0, $5 - 1) AS n, LATERAL (SELECT now() - ($6 + n) * interval '1 millisecond' AS at) AS t`,
    [accountId, kind, priority, state, most, ago],
  );

/** `sql` that notes whose rows its claims took. */
const noting = (sql: Sql): Sql => ({
  ...sql,
  run: async <Row>(statement: Parameters<Sql['run']>[0], values?: readonly unknown[]) => {
    const rows = await sql.run<Row>(statement, values);
    if (statement.name.startsWith('intent_claim'))
      claimed.push(...rows.map((row) => (row as { accountId: string }).accountId));
    return rows;
  },
});

function followUp(capabilities: Partial<Capabilities>) {
  const provider: Provider = { ...simulator, capabilities: { ...simulator.capabilities, ...capabilities } };
  const providers = new Map([['simulator', provider]]);
  return createFollowUp({ ...service.runtime, providers, sql: noting(service.runtime.sql) }, provider);
}

const oneByOne = { canListPayouts: false, canListCharges: false };

/** Queries until the small account has had one. @returns how many rows of the other one were claimed before it */
async function aheadOfSmall(step: () => Promise<unknown>, steps: number): Promise<number> {
  for (let n = 0; n < steps && !claimed.includes(small as string); n++) await step();
  const at = claimed.indexOf(small as string);
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}

describe('while thousands of queries of one account are due, another one’s', () => {
  const query = (capabilities: Partial<Capabilities>) => {
    const asking = followUp(capabilities);
    return async () => {
      await fillQueryLimit(service);
      await asking.stepQueries();
      await asking.idle();
    };
  };

  test('is made within four queries, although it became due last', async () => {
    await due(crowd as string, backlog, 1_000, { priority: 1 });
    await due(small as string, 1, 0, { priority: 1 });
    expect(await aheadOfSmall(query(oneByOne), 8)).toBeLessThanOrEqual(3);
  });

  test('is made within four queries, although it is of a less urgent kind', async () => {
    await due(crowd as string, backlog, 1_000, { priority: 1 });
    await due(small as string, 1, 0, { kind: 'deposit', priority: 5 });
    expect(await aheadOfSmall(query(oneByOne), 8)).toBeLessThanOrEqual(3);
  });

  test('waits for eight listings at most, where one answers for a thousand', async () => {
    await due(crowd as string, 20_000, 1_000, { kind: 'deposit', priority: 5 });
    await due(small as string, 1, 0, { kind: 'deposit', priority: 5 });
    expect(await aheadOfSmall(query({ canListCharges: true }), 12)).toBeLessThanOrEqual(8_001);
  });
});

describe('while thousands of sends of one account are due, another one’s', () => {
  const send = (capabilities: Partial<Capabilities>) => {
    const sending = followUp(capabilities);
    return async () => {
      await sending.stepSends();
      await sending.idle();
    };
  };
  const ready = { priority: 0, state: 'ready' } as const;

  test('goes out with the second claim', async () => {
    await due(crowd as string, backlog, 1_000, ready);
    await due(small as string, 1, 0, ready);
    expect(await aheadOfSmall(send({ maxParallelSends: null }), 4)).toBeLessThanOrEqual(2 * 256 - 1);
  });

  test('goes out as one of the next six, where the provider takes one after the other', async () => {
    await due(crowd as string, backlog, 1_000, ready);
    await due(small as string, 1, 0, ready);
    expect(await aheadOfSmall(send({ maxParallelSends: 1 }), 16)).toBeLessThanOrEqual(6);
  });

  test('goes out with the second claim, where transfers wait for a slot and it does not', async () => {
    await due(crowd as string, backlog, 1_000, { ...ready, kind: 'deposit' });
    await due(small as string, 1, 0, { ...ready, kind: 'deposit' });
    expect(await aheadOfSmall(send({ maxParallelSends: 1 }), 4)).toBeLessThanOrEqual(2 * 256 - 1);
  });
});

test('of the expired charges that are queried once more, a few at a time, those of each account take turns', async () => {
  const provider = { ...simulator, capabilities: { ...simulator.capabilities, ...oneByOne } };
  const expired = (accountId: string, most: number, ago: number): Promise<unknown> =>
    service.database.admin(
      `INSERT INTO late_query (account_id, payment_id, connection, created_at, due_at, tries)
        SELECT $1, gen_random_uuid(), 'simulator', now(), now() - ($3 + n) * interval '1 millisecond', 0 FROM generate_series(1, $2) AS n`,
      [accountId, most, ago],
    );
  await expired(crowd as string, 400, 1_000);
  await expired(small as string, 1, 0);
  await stepLateQueries(service.runtime, provider);
  // There is no charge behind them, so what was queried is over.
  const left = await service.database.admin<{ account_id: string }>('SELECT account_id FROM late_query');
  expect(left.filter((row) => row.account_id === small)).toEqual([]);
  expect(left).toHaveLength(396);
});

test('of deliveries that were left, another account’s is applied among the first two hundred, although thousands of one account came before it', async () => {
  const { runtime } = service;
  const now = runtime.clock.now();
  // Nothing is in them: what is counted is which are taken.
  const left = (line: number, ago: number) => {
    const id = runtime.ids.uuid();
    return {
      ...{ id, line, connection: 'simulator', authentic: true, tries: 0 },
      ...{ receivedAt: now, body: runtime.secrets.seal(Buffer.from('{"pix":[]}'), id), nextAt: now - ago },
    };
  };
  const ofSmall = left(2, 1_000);
  const ofNone = left(0, 1_000);
  await insertDeliveries(runtime.sql, [
    ...Array.from({ length: backlog }, (_, n) => left(1, 2_000 + n)),
    ...[ofSmall, ofNone],
  ]);
  const inbound = createInbound(runtime);
  for (const _ of [1, 2]) await inbound.stepLeft();
  const applied = await service.database.admin<{ id: string; line: string }>(
    'SELECT id, line FROM inbound WHERE applied_at IS NOT NULL',
  );
  expect(applied.length).toBeLessThanOrEqual(200);
  expect(applied.map(({ id }) => id)).toEqual(expect.arrayContaining([ofSmall.id, ofNone.id]));
  await service.database.admin('DELETE FROM inbound');
});
