import { freePort } from '@vintem/testkit/free-port.ts';
import {
  type Call,
  callWith,
  type Merchant,
  openService,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revokeKey } from '../../server/src/api/keys/keys.ts';
import { readConfig } from '../../server/src/ground/config.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { type Api, runApi } from '../../server/src/main/api.ts';
import { openRuntime } from '../../server/src/main/runtime.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { draws } from '../draws.ts';
import { commands, type Model, nth, type Real, transferOf } from './commands.ts';
import { deliverAgain } from './old-deliveries.ts';

/**
 * Promises to a client, whatever it does in whatever order: commands drawn by chance against two processes of the
 * service over one PostgreSQL, each answer and each balance compared with a model of a page. Then several at once,
 * which must be what some order of them would have given.
 */
describe('two processes over one database', () => {
  let service: Service;
  let second: Api;
  let foreign: Real['foreign'];
  let closeSecond: () => Promise<void>;

  beforeAll(async () => {
    service = await openService();
    const stranger = await service.newMerchant();
    foreign = { operationId: stranger.operationId, paymentId: (await stranger.charge()).body.id };
    const pool = openPool({ url: service.database.url, log: createLog('silent'), name: 'second' });
    const config = readConfig({
      PORT: String(await freePort()),
      SIMULATOR_URL: service.simulator.url,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'silent',
      DATA_DIR: '/tmp',
    });
    const { clock, ids, net, secrets, log } = service.runtime;
    const draining = new AbortController();
    second = await runApi(
      await openRuntime({ config, sql: pool, clock, ids, net, secrets, log }, draining.signal),
      config,
    );
    closeSecond = async () => {
      draining.abort();
      await second.stop();
      await pool.close();
    };
  });
  afterAll(async () => {
    await closeSecond?.();
    await service?.close();
  });

  const both = (merchant: Merchant): Call => {
    const calls = [merchant.call, callWith(`${second.url}/api/v1/public`, merchant.key)];
    let turn = 0;
    return (...given) => nth(calls, turn++)(...given);
  };
  const realOf = (merchant: Merchant): Real => {
    const call = both(merchant);
    return {
      call,
      foreign,
      deliverAgain: (n) => deliverAgain({ ...service, secrets: service.runtime.secrets }, n),
      deliver: async (webhook) => {
        await service.simulator.control('PUT', '/control/behaviour', { webhook });
      },
      giveBack: async (id, { amountCents, id: returnId, returnForm, bookedCents }) => {
        await service.simulator.control('PUT', '/control/behaviour', { returnForm });
        const path = `/control/payouts/${id.replaceAll('-', '')}/return`;
        // The provider completes it in a moment, and reports it.
        await until(
          async () =>
            (await service.simulator.control('POST', path, { amountCents, id: returnId })).status === 200,
        );
        await until(async () => {
          const [row] = await service.database.admin<{ cents: string }>(
            'SELECT returned_cents AS cents FROM vintem.payment WHERE id = $1',
            [id],
          );
          return Number(row?.cents) === bookedCents;
        });
      },
      withOwnKey: async () => {
        const key = await service.newKey(merchant.ownerId);
        return {
          call: callWith(`${service.url}/api/v1/public`, key),
          revoke: async () => {
            await revokeKey(service.runtime, key.split('_')[2] ?? '');
          },
        };
      },
      pay: async (id) => {
        await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`);
        for (const deadline = Date.now() + 10_000; ; ) {
          const [row] = await service.database.admin<{ status: string }>(
            'SELECT status FROM vintem.payment WHERE id = $1',
            [id],
          );
          if (row?.status === 'paid') return;
          if (Date.now() > deadline) throw new Error('it was not paid within 10 s');
          await service.runtime.clock.sleep(5);
        }
      },
    };
  };

  it('any order of calls gives what the model says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 25 }), async (drawn) => {
        const merchant = await service.newMerchant();
        const setup = () => ({
          model: {
            operations: [{ id: merchant.operationId, cents: 0, deleted: false }],
            payments: [],
          } as Model,
          real: realOf(merchant),
        });
        await fc.asyncModelRun(setup, drawn);
      }),
      draws(Number(process.env.PROPERTY_RUNS ?? 10)),
    );
    await service.simulator.control('DELETE', '/control/behaviour');
    // No delivery that came twice or in another order was taken for unexpected money.
    expect(await service.database.admin('SELECT kind, payment_id FROM vintem.incident')).toEqual([]);
  });

  it('calls at once give what some order of them would have given', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 9_000 }),
        fc.array(fc.integer({ min: 1_000, max: 4_000 }), { minLength: 2, maxLength: 8 }),
        async (cents, amounts) => {
          const merchant = await service.newMerchant();
          const real = realOf(merchant);
          if (cents >= 200) {
            const made = await merchant.charge({ amountCents: cents });
            await real.pay(made.body.id);
          }
          const before = cents >= 200 ? cents : 0;
          const answers = await Promise.all(
            amounts.map((amountCents) =>
              real.call('POST', '/pix/transfers', transferOf(amountCents, 'stay-pending')),
            ),
          );
          const accepted = answers.map(({ status }) => status === 201);
          for (const [at, { status, body }] of answers.entries())
            if (!accepted[at]) expect([status, body.code]).toEqual([400, 'insufficient_balance']);
          const spent = amounts.reduce((sum, amount, at) => sum + (accepted[at] ? amount : 0), 0);
          expect(spent).toBeLessThanOrEqual(before);
          expect(explained(before, amounts, accepted)).toBe(true);
          expect(await merchant.balanceCents()).toBe(before - spent);
        },
      ),
      draws(Number(process.env.PROPERTY_RUNS ?? 10)),
    );
  });

  it('one request key at once from everywhere is one payment', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(10_000);
    const real = realOf(merchant);
    for (let round = 0; round < 10; round++) {
      const body = { ...transferOf(1_000, 'complete') };
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => real.call('POST', '/pix/transfers', body)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
      expect(new Set(answers.map(({ body: { id } }) => id)).size).toBe(1);
    }
    expect(await merchant.balanceCents()).toBe(0);
  });

  it('one operation under many callers of two processes: every call is answered, none by "in progress"', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(200_000);
    const real = realOf(merchant);
    const answers = await Promise.all(
      Array.from({ length: 150 }, () =>
        real.call('POST', '/pix/transfers', transferOf(1_000, 'stay-pending')),
      ),
    );
    expect(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code)).toEqual([]);
    expect(await merchant.balanceCents()).toBe(50_000);
  });

  it('ten operations and one that stays, however many are made and deleted at once', async () => {
    const merchant = await service.newMerchant();
    const real = realOf(merchant);
    for (let round = 0; round < 4; round++) {
      const made = await Promise.all(
        Array.from({ length: 16 }, () =>
          real.call('POST', '/operations', { name: 'Loja nova', requestKey: crypto.randomUUID() }),
        ),
      );
      expect(made.filter(({ status }) => status === 201).length).toBe(9);
      for (const { status, body } of made)
        if (status !== 201) expect([status, body.code]).toEqual([400, 'operation_limit_reached']);
      const all = (await real.call('GET', '/operations')).body.operations as { id: string }[];
      expect(all.length).toBe(10);
      const gone = await Promise.all(all.map(({ id }) => real.call('DELETE', `/operations/${id}`, {})));
      expect(gone.filter(({ status }) => status === 200).length).toBe(9);
      const left = (await real.call('GET', '/operations')).body.operations as { isDefault: boolean }[];
      expect(left.map(({ isDefault }) => isDefault)).toEqual([true]);
    }
  });

  it('a deletion and a payment of one operation at once: one of them comes first', async () => {
    for (let round = 0; round < 12; round++) {
      const merchant = await service.newMerchant();
      const real = realOf(merchant);
      const requestKey = crypto.randomUUID();
      const made = await real.call('POST', '/operations', { name: 'Loja nova', requestKey });
      const body = { amountCents: 500, payerName: 'Maria', description: '', requestKey: crypto.randomUUID() };
      const [gone, charge] = await Promise.all([
        real.call('DELETE', `/operations/${made.body.id}`, {}),
        real.call('POST', '/pix/charges', body, made.body.id),
      ]);
      const outcome = [gone.status, charge.status].join();
      expect(['200,404', '400,201', '400,201']).toContain(outcome);
    }
  });
});

/** Whether some order of the calls, each accepted exactly when there is enough then, gives these answers: all orders are tried. */
function explained(cents: number, amounts: readonly number[], accepted: readonly boolean[]): boolean {
  const from = (left: number, waiting: readonly number[]): boolean =>
    waiting.length === 0 ||
    waiting.some((at) => {
      const amount = amounts[at] ?? 0;
      if (accepted[at] !== amount <= left) return false;
      const others = waiting.filter((other) => other !== at);
      return from(accepted[at] ? left - amount : left, others);
    });
  return from(cents, [...amounts.keys()]);
}
