import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  beside,
  callerOf,
  fillQueryLimit,
  incidentsOf,
  intentOf,
  journalsOf,
  later,
  leave,
  orderTo,
  providerIdOf,
  reservedCents,
  statusOf,
  tillAt,
} from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accept } from '../../src/flow/accept.ts';
import { applyOutcome } from '../../src/flow/apply.ts';
import { createBreakers } from '../../src/flow/breaker.ts';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { prepareLimits } from '../../src/flow/limit.ts';
import { takeAllowedQuery } from '../../src/flow/query.ts';
import { transfer } from '../../src/kinds/transfer/transfer.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { CommitUnknown, type Sql } from '../../src/ports/sql.ts';
import { createEfiProvider, simulatorLimits } from '../../src/provider/efi/efi.ts';
import type { PayoutInstruction, Provider } from '../../src/provider/provider.ts';
import { createTill } from '../../src/store/till.ts';

/** How payments go out and are followed when owners die, freeze, hang or meet each other. Each step is made by hand here. */

let service: Service;
let simulator: Provider;
/** Of the current merchant. */
let cell: Runtime;
beforeAll(async () => {
  service = await openService({ worker: false });
  simulator = service.runtime.providers.get('simulator') as Provider;
});
afterAll(() => service?.close());
/** Each on its own: nothing left to follow up, and limits that earlier tests moved into the future are free. */
beforeEach(async () => {
  await service.simulator.behave({});
  for (const text of [
    'DELETE FROM intent',
    'DELETE FROM breaker',
    `UPDATE query_slot SET lease_until = now() - interval '1 hour'`,
    `UPDATE send_slot SET lease_until = now() - interval '1 hour'`,
  ])
    await service.database.admin(text);
  await fillQueryLimit(service);
});

async function withMoney(amountCents = 5000): Promise<Merchant> {
  const merchant = await service.newMerchant();
  cell = service.cellOf(merchant);
  await merchant.receive(amountCents);
  return merchant;
}
const seen = async (id: string) => (await service.simulator.payout(id))?.timesReceived ?? 0;
/** Lets a worker of another process work until nothing is due. */
async function work(runtime: Runtime = cell, provider: Provider = simulator): Promise<void> {
  const followUp = createFollowUp(runtime, provider);
  await followUp.stepSends();
  await followUp.idle();
  while (await followUp.stepQueries());
  await followUp.idle();
}
const withProvider = (runtime: Runtime, provider: Provider): Runtime => ({
  ...runtime,
  providers: new Map([[provider.connection, provider]]),
});
/** A Sql whose next COMMIT is replaced by `once`. */
function atCommit(sql: Sql, once: (commit: () => Promise<void>) => Promise<void>): Sql {
  let armed = true;
  return {
    ...sql,
    begin: async () => {
      const tx = await sql.begin();
      return {
        ...tx,
        commit: () => {
          if (!armed) return tx.commit();
          armed = false;
          return once(() => tx.commit());
        },
      };
    },
  };
}
/** A Sql that fails once at the statement of this name, and then also at those named in `after`. */
function failingAt(sql: Sql, name: string, after: readonly string[] = []): Sql {
  let armed = true;
  return {
    ...sql,
    run: (statement, values) => {
      const fails = armed ? statement.name === name : after.includes(statement.name);
      if (!fails) return sql.run(statement, values);
      armed = false;
      return Promise.reject(new Error(`${statement.name} failed`));
    },
  };
}

describe('an attempt', () => {
  test('that committed too late for its lease is not sent and does not count: the next one may be refused', async () => {
    const merchant = await withMoney();
    let aheadMs = 0;
    const clock = {
      ...cell.clock,
      monotonicMs: () => cell.clock.monotonicMs() + aheadMs,
    };
    const slow = atCommit(cell.sql, async (commit) => {
      await commit();
      aheadMs = 7_000;
    });
    const runtime = { ...cell, clock, till: createTill({ ...cell, clock, sql: slow }) };
    const { row: payment } = await accept(
      runtime,
      transfer,
      await callerOf(service, merchant),
      orderTo('refuse-in-answer'),
    );
    // Its caller has waited long enough by that clock: the attempt is given back after the answer.
    await until(async () => (await intentOf(service, payment.id))?.state === 'ready');
    expect(await seen(payment.id)).toBe(0);
    expect(await intentOf(service, payment.id)).toMatchObject({ attempt: 0 });
    await work(later(cell, 60_000));
    expect(await statusOf(service, payment.id)).toBe('cancelled');
    expect(await reservedCents(merchant)).toBe(0);
  });

  test('whose COMMIT got no answer still belongs to its owner, and is sent once', async () => {
    const merchant = await withMoney();
    const id = await leave(service, merchant, 'complete');
    const lost = atCommit(cell.sql, async (commit) => {
      await commit();
      throw new CommitUnknown('the answer was lost');
    });
    await work({ ...cell, till: createTill({ ...cell, sql: lost }) });
    await until(async () => (await statusOf(service, id)) === 'completed');
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
  });

  test('whose owner died is taken over when its lease has ended, and is then queried, never sent at once [3b]', async () => {
    const merchant = await withMoney();
    const id = await leave(service, merchant, 'stay-pending');
    // Its owner committed `sending` and died before the first byte.
    await service.database.admin(
      `UPDATE intent SET state = 'sending', attempt = 1, fence = $2, lease_until = now() + interval '15 s',
         due_at = now() + interval '15 s' WHERE payment_id = $1`,
      [id, crypto.randomUUID()],
    );
    await work(later(cell, 14_000));
    expect(await intentOf(service, id)).toMatchObject({ state: 'sending' });
    await work(later(cell, 16_000));
    expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting', attempt: 1 });
    expect(await seen(id)).toBe(0);
    // Two queries ten seconds apart did not find it: the same id goes out, and comes once.
    for (const second of [22, 33, 45, 60]) await work(later(cell, second * 1000));
    await until(async () => (await statusOf(service, id)) === 'pending');
    expect(await service.simulator.payout(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
    expect(await reservedCents(merchant)).toBe(1000);
  });

  test('whose repeat is refused as a duplicate is known to the provider: it is queried and never sent again', async () => {
    const merchant = await withMoney();
    const id = await leave(service, merchant, 'lose-answer');
    await service.simulator.behave({ query: 'not-found', webhook: 'drop' });
    for (const second of [0, 7, 18, 30, 45]) await work(later(cell, second * 1000));
    expect(await seen(id)).toBe(2);
    expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting', attempt: 2, known: true });
    // However long it is not found: nothing is sent, nothing is released.
    for (const minute of [2, 5, 10, 30, 90]) await work(later(cell, minute * 60_000));
    expect(await seen(id)).toBe(2);
    expect(await statusOf(service, id)).toBe('unknown');
    expect(await reservedCents(merchant)).toBe(1000);
    await service.simulator.behave({});
    await work(later(cell, 5 * 3_600_000));
    expect(await statusOf(service, id)).toBe('completed');
    expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
  });

  test('after a restore counts as a repeat, ready or not: its refusal releases nothing', async () => {
    const merchant = await withMoney();
    await service.database.admin('UPDATE installation SET restored_at = now()');
    const ready = await leave(service, merchant, 'refuse-in-answer');
    const { body } = await merchant.transfer({ pixKey: 'refuse-in-answer@simulator.example' });
    await work();
    await service.database.admin('UPDATE installation SET restored_at = NULL');
    for (const id of [ready, body.id]) {
      expect(await statusOf(service, id)).toBe('unknown');
      expect(await intentOf(service, id)).toMatchObject({ attempt: 2 });
    }
    expect(await reservedCents(merchant)).toBe(2000);
  });
});

describe('a word that comes late', () => {
  test('“completed” in the answer to a send that was cancelled meanwhile is an incident, and freezes withdrawals', async () => {
    const merchant = await withMoney();
    const { body } = await merchant.transfer({ pixKey: 'stay-pending@simulator.example' });
    await service.simulator.control('POST', `/control/payouts/${providerIdOf(body.id)}/refuse`);
    await until(async () => (await statusOf(service, body.id)) === 'cancelled');
    const report = {
      providerId: providerIdOf(body.id),
      amountCents: 975,
      pixKey: null,
      status: 'completed',
      endToEnd: 'E',
      settledAt: Date.now(),
      reason: null,
      returns: [],
    } as const;
    await applyOutcome(
      cell,
      {
        accountId: merchant.ownerId,
        paymentId: body.id,
        operationId: merchant.operationId,
        connection: 'simulator',
        kind: 'transfer',
        observation: {
          from: 'send',
          fence: cell.ids.uuid(),
          outcome: { outcome: 'accepted', report: { ...report, returns: [] } },
        },
      },
      cell.clock.monotonicMs() + 15_000,
    );
    expect(await incidentsOf(service, body.id)).toMatchObject([{ kind: 'contradiction' }]);
    expect((await merchant.transfer()).body).toMatchObject({ statusCode: 403, code: 'withdrawals_blocked' });
    expect(await journalsOf(service, body.id)).toEqual(['reserve', 'release']);
  });
});

describe('one transfer', () => {
  test('that cannot be sent, and one that hangs, do not delay other transfers', async () => {
    const merchant = await withMoney(9000);
    const broken = await leave(service, merchant, 'complete');
    await service.database.admin(`UPDATE payment SET pix_key = '\\x0102' WHERE id = $1`, [broken]);
    const hanging = await leave(service, merchant, 'complete');
    const good = await leave(service, merchant, 'complete');
    const { promise: answer, resolve: goOn } = Promise.withResolvers<void>();
    const provider: Provider = {
      ...simulator,
      sendPayout: async (instruction) => {
        if (instruction.providerId === providerIdOf(hanging)) await answer;
        return simulator.sendPayout(instruction);
      },
    };
    const followUp = createFollowUp(withProvider(cell, provider), provider);
    await followUp.stepSends();
    await until(async () => (await statusOf(service, good)) === 'completed');
    const last = await leave(service, merchant, 'complete');
    await followUp.stepSends();
    await until(async () => (await statusOf(service, last)) === 'completed');
    expect(await seen(hanging)).toBe(0);
    goOn();
    await followUp.idle();
    expect(await seen(broken)).toBe(0);
    expect(await reservedCents(merchant)).toBeGreaterThanOrEqual(1000);
    await until(async () => (await statusOf(service, hanging)) === 'completed');
  });
});

describe('sends that the adapter limits', () => {
  test('are never more at once than it allows, over all processes, and no process polls for a slot', async () => {
    const merchant = await withMoney(20_000);
    const runtime = cell;
    let [underWay, most] = [0, 0];
    const limited = createEfiProvider({
      connection: 'simulator',
      test: true,
      baseUrl: service.simulator.url,
      clientId: 'vintem',
      clientSecret: runtime.secrets.derive('simulator client').toString('hex'),
      pixKey: 'vintem@simulator.example',
      webhook: { trust: 'path' },
      limits: { ...simulatorLimits, maxParallelSends: 2 },
      net: runtime.net,
      clock: runtime.clock,
      log: runtime.log,
    });
    const counted: Provider = {
      ...limited,
      sendPayout: async (instruction) => {
        most = Math.max(most, ++underWay);
        // The first one waits for the second: how soon that follows is the machine's.
        await until(async () => most > 1);
        await runtime.clock.sleep(30);
        return limited.sendPayout(instruction).finally(() => underWay--);
      },
    };
    await prepareLimits(runtime.sql, 'simulator', 2);
    const processes = [1, 2, 3].map(() => createFollowUp(withProvider(beside(runtime), counted), counted));
    const ids = await Promise.all(Array.from({ length: 12 }, () => leave(service, merchant, 'complete')));
    await Promise.all(
      processes.map(async (followUp) => {
        while ((await Promise.all(ids.map(seen))).some((times) => times === 0)) {
          while (await followUp.stepSends());
          await runtime.clock.sleep(20);
        }
      }),
    );
    await Promise.all(processes.map((followUp) => followUp.idle()));
    expect(most).toBe(2);
    expect(await Promise.all(ids.map(seen))).toEqual(ids.map(() => 1));
    // With both slots taken a step says that there is nothing to do.
    await runtime.sql.run({
      name: 'all_taken',
      text: `UPDATE send_slot SET lease_until = now() + interval '10 s'`,
    });
    await leave(service, merchant, 'complete');
    expect(await processes[0]?.stepSends()).toBe(false);
    await runtime.sql.run({
      name: 'all_free',
      text: `UPDATE send_slot SET lease_until = now() - interval '1 s'`,
    });
    await work();
  });
});

describe('a slot of a shared limit whose next statement fails', () => {
  const taken = async (table: string): Promise<number> =>
    (await service.database.admin(`SELECT FROM ${table} WHERE lease_until > now()`)).length;

  test('is free again when it is one for sends: the next step sends', async () => {
    const merchant = await withMoney();
    const id = await leave(service, merchant, 'complete');
    const provider: Provider = {
      ...simulator,
      capabilities: { ...simulator.capabilities, maxParallelSends: 1 },
    };
    await prepareLimits(cell.sql, 'simulator', 1);
    const sql = failingAt(cell.sql, 'intent_claim_transfer_sends');
    const followUp = createFollowUp(withProvider({ ...cell, sql }, provider), provider);
    await expect(followUp.stepSends()).rejects.toThrow('intent_claim_transfer_sends failed');
    expect(await taken('send_slot')).toBe(0);
    expect(await followUp.stepSends()).toBe(true);
    await followUp.idle();
    expect(await seen(id)).toBe(1);
    await until(async () => (await statusOf(service, id)) === 'completed');
  });

  test.each(['query_token', 'breaker_read'])(
    'is free again when it is one for queries and %s fails',
    async (name) => {
      const sql = failingAt(service.runtime.sql, name);
      const runtime = { ...service.runtime, sql, breakers: createBreakers({ ...service.runtime, sql }) };
      await expect(takeAllowedQuery(runtime, simulator)).rejects.toThrow(`${name} failed`);
      expect(await taken('query_slot')).toBe(0);
      const slot = await takeAllowedQuery(runtime, simulator);
      expect(slot).not.toBeNull();
      await slot?.free();
    },
  );

  test('and cannot be given back is left to its lease: the first failure is the one that is thrown', async () => {
    const sql = failingAt(service.runtime.sql, 'query_token', ['query_slot_free']);
    await expect(takeAllowedQuery({ ...service.runtime, sql }, simulator)).rejects.toThrow(
      'query_token failed',
    );
    expect(await taken('query_slot')).toBe(1);
  });
});

describe('a provider that asks for a rest', () => {
  const answers: [string, (instruction: PayoutInstruction) => unknown][] = [
    [
      'with its answer to a send',
      ({ providerId, amountCents }) => ({
        outcome: 'accepted',
        restMs: 60_000,
        report: {
          providerId,
          amountCents,
          pixKey: null,
          status: 'pending',
          endToEnd: null,
          settledAt: null,
          reason: null,
          returns: [],
        },
      }),
    ],
    ['with a 429', () => ({ outcome: 'unclear', cause: 'rateLimited', detail: '429', retryAfterMs: 60_000 })],
  ];
  test.each(answers)('%s gets no further send of any process before it is over', async (_, answer) => {
    const merchant = await withMoney();
    const runtime = cell;
    const sent: string[] = [];
    const provider = {
      ...simulator,
      capabilities: { ...simulator.capabilities, maxParallelSends: 1 },
      sendPayout: async (instruction: PayoutInstruction) => {
        sent.push(instruction.providerId);
        return answer(instruction);
      },
    } as unknown as Provider;
    await prepareLimits(runtime.sql, 'simulator', 1);
    for (let n = 0; n < 2; n++) await leave(service, merchant, 'complete');
    const step = async (at: Runtime) => {
      const followUp = createFollowUp(withProvider(beside(at), provider), provider);
      const begun = await followUp.stepSends();
      await followUp.idle();
      return begun;
    };
    // The time stands still: a second that the test takes is none of the rest.
    const now = runtime.clock.now();
    const still: Runtime = { ...runtime, clock: { ...runtime.clock, now: () => now } };
    expect(await step(still)).toBe(true);
    expect([await step(still), await step(later(still, 59_000))]).toEqual([false, false]);
    expect(sent).toHaveLength(1);
    expect(await step(later(still, 61_000))).toBe(true);
    expect(new Set(sent).size).toBe(2);
  });

  test('keeps no abandoned transfer from being taken over, since that sends nothing', async () => {
    const id = await leave(service, await withMoney(), 'complete');
    const runtime = cell;
    const sendPayout = async () => {
      throw new Error('sent although every slot rests');
    };
    const provider: Provider = {
      ...simulator,
      capabilities: { ...simulator.capabilities, maxParallelSends: 1 },
      sendPayout,
    };
    await prepareLimits(runtime.sql, 'simulator', 1);
    await service.database.admin(`UPDATE send_slot SET lease_until = now() + interval '50 min'`);
    await service.database.admin(
      `UPDATE intent SET state = 'sending', attempt = 1, fence = $2, lease_until = now() - interval '1 s',
         due_at = now() - interval '1 s' WHERE payment_id = $1`,
      [id, crypto.randomUUID()],
    );
    const followUp = createFollowUp(withProvider(beside(runtime), provider), provider);
    await followUp.stepSends();
    await followUp.idle();
    expect(await intentOf(service, id)).toMatchObject({ state: 'awaiting', attempt: 1 });
  });
});

describe('an open breaker', () => {
  const row = async (call: string) =>
    (
      await service.database.admin<{ open: boolean; probe_at: Date }>(
        `SELECT open, probe_at FROM breaker WHERE connection = 'simulator' AND call = $1`,
        [call],
      )
    )[0];

  test('is closed by a worker’s probe although another process accepts and takes its turns', async () => {
    const merchant = await withMoney();
    const runtime = cell;
    await service.database.admin(
      `INSERT INTO breaker (connection, call, open, probe_at, changed_at)
       VALUES ('simulator', 'payout', true, now() - interval '1 s', now()) ON CONFLICT DO NOTHING`,
    );
    const api = beside(runtime, { breakers: createBreakers(runtime) });
    await accept(api, transfer, await callerOf(service, merchant), orderTo('complete'));
    const worker = { ...runtime, breakers: createBreakers(runtime), till: createTill(runtime) };
    await service.database.admin(`UPDATE breaker SET probe_at = now() - interval '1 s'`);
    await work(later(worker, 31_000));
    await until(async () => (await row('payout'))?.open === false);
    await service.database.admin('DELETE FROM breaker');
  });

  test('that another process closed is not opened again by one failure and those counted before', async () => {
    const [here, there] = [createBreakers(cell), createBreakers(cell)];
    const call = { connection: 'simulator', call: 'payout', accountId: 'a' } as const;
    const lost = { outcome: 'unclear', cause: 'network' } as const;
    const fails = () => here.counted(call, async () => lost);
    for (let failed = 0; failed < 10; failed++) await fails();
    await until(async () => (await row('payout'))?.open === true);
    expect(await there.allows('simulator', 'payout')).toBe(false);
    await there.counted(call, async () => ({ outcome: 'accepted' }));
    await until(async () => (await row('payout'))?.open === false);
    expect(await here.allows('simulator', 'payout')).toBe(true);
    for (let failed = 0; failed < 9; failed++) await fails();
    expect(await here.allows('simulator', 'payout')).toBe(true);
    await fails();
    await until(async () => (await row('payout'))?.open === true);
    await service.database.admin('DELETE FROM breaker');
  });
});

describe('a repeat', () => {
  test('is answered although the provider is not configured any more', async () => {
    const merchant = await withMoney();
    const caller = await callerOf(service, merchant);
    const order = orderTo('complete');
    const first = await accept(cell, transfer, caller, order);
    const gone = { ...cell, providers: new Map<string, Provider>() };
    const again = await accept(gone, transfer, caller, order);
    expect(again).toMatchObject({ replayed: true, row: { id: first.row.id } });
    await expect(accept(gone, transfer, caller, orderTo('complete'))).rejects.toMatchObject({
      code: 'provider_not_configured',
    });
  });
});

/** Payouts that the provider has completed without a webhook, and the follow-up that queries them a minute later, step by step. */
async function sentAndUnheard(count: number) {
  const merchant = await withMoney(40_000);
  await service.simulator.behave({ webhook: 'drop' });
  const ids = await Promise.all(Array.from({ length: count }, () => leave(service, merchant, 'complete')));
  const followUp = createFollowUp(cell, simulator);
  while (await followUp.stepSends());
  await followUp.idle();
  await until(async () => (await Promise.all(ids.map(seen))).every((times) => times === 1));
  await until(async () =>
    (await Promise.all(ids.map((id) => service.simulator.payout(id)))).every(
      (payout) => payout?.status === 'completed',
    ),
  );
  const calls = { lists: 0, queries: 0, truncated: false, failing: false };
  const provider: Provider = {
    ...simulator,
    listPayouts: async (window) => {
      calls.lists++;
      if (calls.failing) return { outcome: 'unclear', cause: 'server', detail: '500', retryAfterMs: null };
      const outcome = await simulator.listPayouts(window);
      return calls.truncated && outcome.outcome === 'listed'
        ? { ...outcome, reports: [], unread: [], complete: false, parts: 2 }
        : outcome;
    },
    queryPayout: (id) => {
      calls.queries++;
      return simulator.queryPayout(id);
    },
  };
  let aheadMs = 60_000;
  const now = () => cell.clock.now() + aheadMs;
  const clock = { ...cell.clock, now };
  const till = tillAt(cell.till, now);
  const runtime = withProvider({ ...cell, clock, till }, provider);
  const asking = createFollowUp(runtime, provider);
  const step = async (passesMs = 1_000) => {
    aheadMs += passesMs;
    await asking.stepQueries();
    await asking.idle();
  };
  return { merchant, ids, calls, now, step };
}

describe('a listing', () => {
  test('that was too long is halved down to four, then single queries take over, and it grows again', async () => {
    const { merchant, ids, calls, step } = await sentAndUnheard(24);
    calls.truncated = true;
    // 1000 halved eight times is under four; then it asks for one after the other.
    for (let n = 0; n < 40 && calls.queries < 5; n++) await step();
    expect(calls.lists).toBeGreaterThanOrEqual(8);
    expect(calls.lists).toBeLessThanOrEqual(12);
    expect(calls.queries).toBe(5);
    calls.truncated = false;
    const before = calls.lists;
    await step(120_000);
    for (let n = 0; n < 60; n++) await step();
    expect(calls.lists).toBeGreaterThan(before);
    expect(await Promise.all(ids.map((id) => statusOf(service, id)))).toEqual(ids.map(() => 'completed'));
    expect(await reservedCents(merchant)).toBe(0);
  });

  test('that fails lets no payment wait longer: they are asked for one by one, and it is tried again', async () => {
    const { ids, calls, step } = await sentAndUnheard(6);
    calls.failing = true;
    await step();
    expect(calls).toMatchObject({ lists: 1, queries: 0 });
    for (const id of ids) expect(await intentOf(service, id)).toMatchObject({ failures: 0 });
    await step();
    expect(calls).toMatchObject({ lists: 1, queries: 1 });
    calls.failing = false;
    await step(10_000);
    expect(calls).toMatchObject({ lists: 2, queries: 1 });
    expect(await Promise.all(ids.map((id) => statusOf(service, id)))).toEqual(ids.map(() => 'completed'));
  });

  test('also ends payments that it lists and no query asked for, and leaves those that others have claimed', async () => {
    const { ids, step, now } = await sentAndUnheard(7);
    const [claimed, ...waiting] = ids.slice(4) as [string, string, string];
    const put = (id: string, at: number) =>
      service.database.admin(
        `UPDATE intent SET due_at = '${new Date(at).toISOString()}' WHERE payment_id = '${id}'`,
      );
    for (const id of waiting) await put(id, now() + 3_600_000);
    await put(claimed, now() + 3_000);
    await step();
    expect(await Promise.all(ids.map((id) => statusOf(service, id)))).toEqual(
      ids.map((id) => (id === claimed ? 'pending' : 'completed')),
    );
  });
});
