import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Bank,
  createCharge,
  type Entry,
  emptyBank,
  endDelivery,
  expireCharge,
  nextTurnAt,
  passTime,
  payCharge,
  ready,
  registerWebhook,
  rememberClient,
  removeCharge,
  requestPayout,
  requestRefund,
  restore,
  returnPayout,
  setBehaviour,
  settlePayout,
  showKey,
  snapshot,
} from './bank.ts';
import { choices, defaultBehaviour } from './behaviour.ts';
import type { World } from './world.ts';

/** The test's own world: the clock moves only when the test sets it, and the random source counts up. */
function countingWorld(): World & { at: number } {
  let drawn = 0;
  return {
    at: 1_700_000_000_000,
    now() {
      return this.at;
    },
    letters: (count) => String(++drawn).padStart(count, '0'),
  };
}

const id = fc.constantFrom('a', 'b', 'c');
const key = fc.constantFrom('k', 'l', 'm');
const client = fc.constantFrom('one', 'other');
const command = fc.oneof(
  fc.record({ do: fc.constant('payout' as const), id, key, cents: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant('charge' as const), id, key }),
  fc.record({ do: fc.constant('show' as const), client, key }),
  fc.record({ do: fc.constantFrom('pay' as const, 'expire' as const, 'remove' as const), id }),
  fc.record({ do: fc.constantFrom('complete' as const, 'refuse' as const), id }),
  fc.record({ do: fc.constant('return' as const), id, cents: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant('refund' as const), id, cents: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    do: fc.constant('behave' as const),
    payout: fc.constantFrom(...choices.payout),
    refund: fc.constantFrom(...choices.refund),
    charge: fc.constantFrom(...choices.charge),
    webhook: fc.constantFrom(...choices.webhook),
    waitMs: fc.integer({ min: 0, max: 300 }),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 400 }), taken: fc.boolean() }),
);

type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

function run(bank: Bank, world: World & { at: number }, one: Command): Entry[] {
  switch (one.do) {
    case 'payout':
      return requestPayout(bank, world, one.id, {
        idEnvio: one.id,
        amountCents: one.cents,
        payerKey: one.key,
        pixKey: 'x',
      }).writes;
    case 'charge':
      return createCharge(bank, world, one.id, {
        txid: one.id,
        key: one.key,
        amountCents: 5,
        lifeSeconds: 60,
        details: {},
      }).writes;
    case 'show':
      return [
        ...rememberClient(bank, { id: one.client, secret: 's' }),
        ...showKey(bank, one.client, one.key),
      ];
    case 'pay':
      return payCharge(bank, world, one.id).writes;
    case 'expire':
      return expireCharge(bank, world, one.id).writes;
    case 'remove':
      return removeCharge(bank, one.id).writes;
    case 'complete':
      return settlePayout(bank, world, one.id, 'completed').writes;
    case 'refuse':
      return settlePayout(bank, world, one.id, {}).writes;
    case 'return':
      return returnPayout(bank, world, one.id, one.cents).writes;
    case 'refund': {
      const [endToEnd = ''] = bank.payments.keys();
      return requestRefund(bank, world, endToEnd, one.id, { amountCents: one.cents, message: '' }).writes;
    }
    case 'behave': {
      const { payout, refund, charge, webhook, waitMs } = one;
      const behaviour = {
        ...defaultBehaviour,
        payout,
        refund,
        charge,
        webhook,
        settleAfterMs: waitMs,
        delayMs: waitMs,
      };
      return setBehaviour(bank, behaviour);
    }
    case 'wait': {
      world.at += one.ms;
      const { deliveries, writes } = passTime(bank, world);
      for (const delivery of deliveries) writes.push(...endDelivery(bank, world, delivery, one.taken));
      return writes;
    }
  }
}

/** The bank as it would continue from its journal; how often a delivery failed is not kept, nor when it is due again. */
function shape(bank: Bank) {
  return JSON.parse(
    JSON.stringify({
      charges: bank.chargeList,
      payments: bank.paymentList,
      payouts: [...bank.payouts.values()].sort((a, b) => a.idEnvio.localeCompare(b.idEnvio)),
      decided: bank.payoutList.map((payout) => payout.idEnvio),
      byEndToEnd: [...bank.payoutsByEndToEnd.keys()].sort(),
      statement: bank.statement,
      arrivals: [...bank.arrivals.values()],
      webhooks: [...bank.webhooks.values()],
      behaviour: bank.behaviour,
      waiting: [...bank.outbox.waiting.keys()].sort((a, b) => a - b),
      balanceCents: bank.balanceCents,
      accounts: [...bank.accounts].sort(([a], [b]) => a.localeCompare(b)),
      clients: [...bank.clients.values()],
    }),
  );
}

function replay(entries: Iterable<Entry>): Bank {
  const bank = emptyBank();
  for (const entry of entries) restore(bank, JSON.parse(JSON.stringify(entry)));
  ready(bank);
  return bank;
}

test('what is written is what is: the journal and the snapshot both give the same bank again', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60, size: 'max' }), (commands) => {
      const bank = emptyBank();
      const world = countingWorld();
      const journal: Entry[] = [];
      const keep = (writes: Entry[]) => journal.push(...JSON.parse(JSON.stringify(writes)));
      keep(registerWebhook(bank, world, { key: 'k', url: 'http://x.example', clientId: 'c' }));
      for (const one of commands) {
        keep(run(bank, world, one));
        expect(shape(replay(journal))).toEqual(shape(bank));
      }
      expect(shape(replay(snapshot(bank)))).toEqual(shape(bank));
    }),
    { numRuns: 60 },
  );
});

test('a payout that was refused in unlisted words is never decided anew, neither by a repeat nor by a delayed request', () => {
  const bank = emptyBank();
  const world = countingWorld();
  const request = { idEnvio: 'a', amountCents: 1, payerKey: 'k', pixKey: 'p' };
  setBehaviour(bank, { ...defaultBehaviour, payout: 'delay-request', delayMs: 100 });
  requestPayout(bank, world, 'a', request);
  setBehaviour(bank, { ...defaultBehaviour, payout: 'refuse-unknown' });
  expect(requestPayout(bank, world, 'a', request)).toMatchObject({ answer: 'unlisted' });
  setBehaviour(bank, { ...defaultBehaviour, payout: 'complete' });
  world.at += 1_000;
  passTime(bank, world);
  expect(requestPayout(bank, world, 'a', request)).toMatchObject({ answer: 'duplicate' });
  expect(settlePayout(bank, world, 'a', 'completed').answer).toBe('not-pending');
  expect(bank.payouts.get('a')).toMatchObject({ accepted: false, timesReceived: 3 });
  expect(replay(snapshot(bank)).payoutList).toEqual([]);
});

test('a payout is decided at most once, and the balance is what the rows say', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80, size: 'max' }), (commands) => {
      const bank = emptyBank();
      const world = countingWorld();
      const decided = new Map<string, string>();
      for (const one of commands) {
        run(bank, world, one);
        let balance = 0;
        for (const { amountCents, returns } of bank.payments.values()) {
          const back = returns.filter(({ state }) => state === undefined);
          balance += amountCents - back.reduce((sum, each) => sum + each.amountCents, 0);
        }
        for (const payout of bank.payouts.values()) {
          if (payout.status === 'completed' || payout.status === 'returned') balance -= payout.amountCents;
          const back = payout.returns.reduce((sum, each) => sum + each.amountCents, 0);
          expect(back).toBeLessThanOrEqual(payout.amountCents);
          balance += back;
          if (payout.status === 'seen') continue;
          const asDecided = `${payout.endToEnd} ${payout.accepted} ${payout.amountCents}`;
          expect(decided.get(payout.idEnvio) ?? asDecided).toBe(asDecided);
          decided.set(payout.idEnvio, asDecided);
        }
        expect(bank.balanceCents).toBe(balance);
        const accounts = [...bank.accounts.values()];
        expect(accounts.reduce((sum, account) => sum + account.balanceCents, 0)).toBe(balance);
        expect(bank.payoutList).toHaveLength(decided.size);
      }
    }),
    { numRuns: 300 },
  );
});

test('left alone long enough, nothing is left to do', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 40, size: 'max' }), (commands) => {
      const bank = emptyBank();
      const world = countingWorld();
      for (const one of commands) run(bank, world, one);
      for (let turns = 0; turns < 1000; turns++) {
        const at = nextTurnAt(bank);
        if (at === undefined) return;
        world.at = Math.max(world.at, at);
        for (const delivery of passTime(bank, world).deliveries) endDelivery(bank, world, delivery, true);
      }
      throw new Error('it never came to rest');
    }),
  );
});

test('A refund under delay-request is made when its request arrives, once, and not beyond what is left by then', () => {
  const bank = emptyBank();
  const world = countingWorld();
  const received = { txid: 'a', key: 'k', amountCents: 5, lifeSeconds: 60, details: {} };
  createCharge(bank, world, 'a', received);
  payCharge(bank, world, 'a');
  const [payment] = bank.paymentList;
  const ask = (name: string, amountCents: number) =>
    requestRefund(bank, world, payment?.endToEnd ?? '', name, { amountCents, message: '' });
  const behave = (refund: (typeof choices.refund)[number]) =>
    setBehaviour(bank, { ...defaultBehaviour, refund, delayMs: 100, settleAfterMs: 0 });

  behave('delay-request');
  expect([ask('late', 2).fate, ask('late', 2).fate, ask('beyond', 4).fate]).toEqual(['drop', 'drop', 'drop']);
  world.at += 99;
  passTime(bank, world);
  expect(payment?.returns).toEqual([]);
  world.at += 1;
  passTime(bank, world);
  world.at += 1;
  passTime(bank, world);
  expect(payment).toMatchObject({ returns: [{ id: 'late', amountCents: 2 }], asked: { late: 2, beyond: 1 } });
  expect([payment?.returns.length, bank.balanceCents, bank.arrivals.size]).toEqual([1, 3, 0]);
});
