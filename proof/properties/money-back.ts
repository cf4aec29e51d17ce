import type { Answer, Call } from '@vintem/testkit/service.ts';
import fc from 'fast-check';
import { expect } from 'vitest';
import { nth } from './commands.ts';

/** Ways in which money leaves a merchant's account again, drawn by chance, and a model of a page that predicts their results. */
export interface Refund {
  id: string;
  charge: Charge;
  amountCents: number;
  requestKey: string;
  description: string;
  status: 'pending' | 'completed' | 'failed';
}
export interface Dispute {
  /** The provider's. */
  id: string;
  amountCents: number;
  status: DisputeStatus;
  debitedCents: number;
  /** How often the provider had taken of the charge when it was opened. */
  takesBefore: number;
}
export interface Charge {
  id: string;
  amountCents: number;
  refunds: Refund[];
  /** The provider's debits of it, one after the other. */
  takes: number[];
  /** In the order in which they were opened. */
  disputes: Dispute[];
}
export interface Model {
  charges: Charge[];
  /** Money that left with transfers, fees included. */
  sentCents: number;
  /** As they were seen last: nothing moves between two commands. */
  columns: Columns;
}
export interface Columns {
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  holdWanted: number;
}
export type DisputeStatus = 'open' | 'defending' | 'accepted' | 'rejected' | 'cancelled';
/** The provider's act on a dispute, and its report of it. */
export const moves = {
  open: 'open',
  defend: 'defending',
  accept: 'accepted',
  reject: 'rejected',
  cancel: 'cancelled',
} as const;

export interface Real {
  call: Call;
  /** A charge that its payer has paid. @returns its id */
  paidCharge(amountCents: number): Promise<string>;
  /** A transfer that the provider completes; resolves when it has. */
  transfer(amountCents: number): Promise<Answer>;
  becomes(refundId: string, status: Refund['status']): Promise<void>;
  /** The provider ends a refund that it has. */
  end(refundId: string, how: 'complete' | 'refuse'): Promise<void>;
  /** The provider takes back a part of a charge, reported under these names; resolves when so many are booked. */
  take(charge: string, taken: { amountCents: number; returnForm: string; booked: number }): Promise<void>;
  /** A payer disputes a charge, and the service has read it. @returns the provider's id of the dispute */
  dispute(charge: string, amountCents: number): Promise<string>;
  /** The provider moves a dispute, and the service has read it. */
  move(disputeId: string, action: keyof typeof moves): Promise<void>;
  /** Closes the day after the last closed one: its clock is moved there. */
  closeDay(): Promise<Closed>;
  columns(): Promise<Columns>;
  /** The invariants of `vintem verify` that do not hold for this merchant. */
  violations(): Promise<unknown[]>;
  /** How often the provider was asked for a refund. */
  timesAsked(charge: string): Promise<Map<string, number>>;
}
export interface Closed {
  operation: Omit<Columns, 'holdWanted'> & {
    openingCents: number;
    closingCents: number;
    changeCents: number;
  };
  previousCents: number;
  /** Of the connection's close. */
  differenceCents: number | null;
}
export type Command = fc.AsyncCommand<Model, Real>;

const sum = (cents: readonly number[]): number => cents.reduce((all, one) => all + one, 0);
const amountOf = (refunds: readonly Refund[], ...of: Refund['status'][]): number =>
  sum(refunds.filter(({ status }) => of.includes(status)).map(({ amountCents }) => amountCents));
/** The amount that may still be taken of a charge. */
const leftOf = ({ amountCents, refunds, takes }: Charge): number =>
  amountCents - amountOf(refunds, 'pending', 'completed') - sum(takes);
const refundsOf = ({ charges }: Model): Refund[] => charges.flatMap(({ refunds }) => refunds);
const pendingOf = (model: Model): Refund[] => refundsOf(model).filter(({ status }) => status === 'pending');
const disputesOf = ({ charges }: Model): Dispute[] => charges.flatMap(({ disputes }) => disputes);

const isHolding = ({ status }: Dispute): boolean => status !== 'rejected' && status !== 'cancelled';
/** The amount that disputes may still take of a charge. */
const disputedOf = ({ disputes }: Charge): number =>
  sum(disputes.filter(isHolding).map((one) => one.amountCents - one.debitedCents));
/** A disputed amount is not refunded: the provider may still take it. */
const refundableOf = (charge: Charge): number => leftOf(charge) - disputedOf(charge);
/** The amount that the disputes of a charge want held. */
const wantedOf = (charge: Charge): number =>
  Math.min(
    disputedOf(charge),
    charge.amountCents - amountOf(charge.refunds, 'completed') - sum(charge.takes),
  );
function take(charge: Charge, amountCents: number): void {
  charge.takes.push(amountCents);
  count(charge);
}
/**
 * A debit counts for accepted disputes first, then for the oldest that hold and were open by then. Counted anew each time, so that it
 * does not matter in which order it became known.
 */
function count({ takes, disputes }: Charge): void {
  const isAccepted = ({ status }: Dispute) => status === 'accepted';
  const holding = disputes.filter(isHolding);
  const order = [...holding.filter(isAccepted), ...holding.filter((other) => !isAccepted(other))];
  for (const one of disputes) one.debitedCents = 0;
  for (const [at, cents] of takes.entries()) {
    let left = cents;
    for (const one of order.filter((dispute) => isAccepted(dispute) || dispute.takesBefore <= at)) {
      const share = Math.min(left, one.amountCents - one.debitedCents);
      one.debitedCents += share;
      left -= share;
    }
  }
}

/** A command, and after it everything that must hold whatever it was. */
const command = (
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command => ({
  check,
  run: async (model, real) => {
    await run(model, real);
    await compare(model, real);
  },
  toString: () => name,
});

/** The merchant's columns, lists and statement beside the model. */
async function compare(model: Model, real: Real): Promise<void> {
  const { charges, sentCents } = model;
  const columns = await real.columns();
  model.columns = columns;
  expect(Math.min(...Object.values(columns))).toBeGreaterThanOrEqual(0);
  const refunds = refundsOf(model);
  const received = sum(charges.map(({ amountCents }) => amountCents));
  const taken = sum(charges.flatMap(({ takes }) => takes));
  const { available, held, reserved, receivable, holdWanted } = columns;
  const leftCents = received - sentCents - amountOf(refunds, 'completed') - taken;
  expect(available + held + reserved - receivable).toBe(leftCents);
  expect(reserved).toBe(amountOf(refunds, 'pending'));
  expect(held + holdWanted).toBe(sum(charges.map(wantedOf)));
  // Free money pays a debt and fills a hold first.
  if (available > 0) expect({ receivable, holdWanted }).toEqual({ receivable: 0, holdWanted: 0 });
  for (const charge of charges) await compareCharge(charge, real);
  await compareDisputes(model, real);
  const { body } = await real.call('GET', '/statement?limit=100');
  expect(body.hasMore).toBe(false);
  expect(sum(body.lines.map((one: { amountCents: number }) => one.amountCents))).toBe(available - receivable);
  expect(await real.violations()).toEqual([]);
}

async function compareCharge(charge: Charge, { call, timesAsked }: Real): Promise<void> {
  const { id, refunds, amountCents } = charge;
  const refundedCents = amountOf(refunds, 'completed');
  expect(refundedCents + amountOf(refunds, 'pending')).toBeLessThanOrEqual(amountCents);
  expect((await call('GET', `/payments/${id}`)).body.refundedCents ?? 0).toBe(refundedCents);
  const listed = (await call('GET', `/payments/${id}/refunds`)).body.refunds as Refund[];
  const shown = (one: Refund): string => `${one.id} ${one.amountCents} ${one.status}`;
  expect(listed.map(shown).sort()).toEqual(refunds.map(shown).sort());
  for (const [refundId, times] of await timesAsked(id)) expect([refundId, times]).toEqual([refundId, 1]);
}

async function compareDisputes(model: Model, { call }: Real): Promise<void> {
  const listed = (await call('GET', '/disputes?limit=100')).body.disputes as (Dispute & {
    paymentId: string;
    heldCents: number;
  })[];
  const shown = (paymentId: string, { amountCents, status, debitedCents }: Dispute): string =>
    `${paymentId} ${amountCents} ${status} ${debitedCents}`;
  expect(listed.map((one) => shown(one.paymentId, one)).sort()).toEqual(
    model.charges.flatMap(({ id, disputes }) => disputes.map((one) => shown(id, one))).sort(),
  );
  expect(sum(listed.map(({ heldCents }) => heldCents))).toBe(model.columns.held);
}

/** How the provider answers a refund, and what the refund then is. */
const endings = {
  complete: 'completed',
  'complete-in-answer': 'completed',
  'lose-answer': 'completed',
  'refuse-in-answer': 'failed',
  'refuse-later': 'failed',
  'stay-pending': 'pending',
} as const;
type Ending = keyof typeof endings;

/** Adds a refund that was admitted to the model, when the provider has answered it. */
async function admitted(charge: Charge, asked: Asked, { body }: Answer, real: Real): Promise<void> {
  const status = endings[asked.ending];
  await real.becomes(body.id, status);
  const { amountCents, requestKey, description } = asked.body;
  charge.refunds.push({ id: body.id, charge, amountCents, requestKey, description, status });
}

interface Asked {
  ending: Ending;
  body: { requestKey: string; amountCents: number; description: string };
}
const askOf = (amountCents: number, ending: Ending): Asked => ({
  ending,
  body: { requestKey: crypto.randomUUID(), amountCents, description: `${ending}@simulator.example` },
});
const ask = (real: Real, { id }: Charge, { body }: Asked): Promise<Answer> =>
  real.call('POST', `/payments/${id}/refunds`, body);

/**
 * An even part of it. What the provider takes is odd: a return that is reported without its id differs from a refund by its amount
 * alone, and beside an unfinished refund of the same amount it decides nothing until that refund ends.
 */
const even = (part: number): number => 2 * part;

const part = fc.integer({ min: 1, max: 700 });
const ending = fc.constantFrom(...(Object.keys(endings) as Ending[]));

export const receipt = fc.integer({ min: 100, max: 2_000 }).map((part) =>
  command(
    `receive ${even(part)}`,
    ({ charges }) => charges.length < 6,
    async ({ charges }, real) => {
      const id = await real.paidCharge(even(part));
      charges.push({ id, amountCents: even(part), refunds: [], takes: [], disputes: [] });
    },
  ),
);

const refundOf = (n: number, part: number, ending: Ending): Command =>
  command(
    `refund ${even(part)} of charge ${n}, ${ending}`,
    ({ charges }) => charges.length > 0,
    async ({ charges, columns }, real) => {
      const charge = nth(charges, n);
      const asked = askOf(even(part), ending);
      const answer = await ask(real, charge, asked);
      const { status, body } = answer;
      if (even(part) > refundableOf(charge)) expect([status, body.code]).toEqual([400, 'refund_exceeds']);
      else if (even(part) > columns.available)
        expect([status, body.code]).toEqual([400, 'insufficient_balance']);
      else {
        expect(status).toBe(201);
        await admitted(charge, asked, answer, real);
      }
    },
  );

const endOf = (n: number, how: 'complete' | 'refuse'): Command =>
  command(
    `the provider ends pending refund ${n}: ${how}`,
    (model) => pendingOf(model).length > 0,
    async (model, real) => {
      const refund = nth(pendingOf(model), n);
      await real.end(refund.id, how);
      refund.status = how === 'complete' ? 'completed' : 'failed';
      await real.becomes(refund.id, refund.status);
    },
  );

const whole = fc.constant('all' as const);

const disputeOf = (n: number, amount: number | 'all'): Command =>
  command(
    `the payer disputes ${amount} of charge ${n}`,
    ({ charges }) => charges.length > 0 && (amount === 'all' || nth(charges, n).amountCents >= amount),
    async ({ charges }, real) => {
      const charge = nth(charges, n);
      const amountCents = amount === 'all' ? charge.amountCents : amount;
      const id = await real.dispute(charge.id, amountCents);
      const takesBefore = charge.takes.length;
      charge.disputes.push({ id, amountCents, status: 'open', debitedCents: 0, takesBefore });
    },
  );

/** A refund that ends while the whole charge is disputed: by chance alone it comes too seldom. */
export const refundUnderDispute = fc
  .tuple(fc.nat(1), part, fc.constantFrom('complete' as const, 'complete' as const, 'refuse' as const))
  .map(([n, part, how]) => [refundOf(n, part, 'stay-pending'), disputeOf(n, 'all'), endOf(0, how)]);

export const commands = [
  receipt,
  fc.integer({ min: 1_000, max: 3_000 }).map((amountCents) =>
    command(
      `send ${amountCents}`,
      () => true,
      async (model, real) => {
        const { status, body } = await real.transfer(amountCents);
        if (amountCents > model.columns.available)
          expect([status, body.code]).toEqual([400, 'insufficient_balance']);
        else {
          expect(status).toBe(201);
          model.sentCents += amountCents;
        }
      },
    ),
  ),
  fc.tuple(fc.nat(9), part, ending).map(([n, part, ending]) => refundOf(n, part, ending)),
  fc.tuple(fc.nat(9), part, fc.integer({ min: 2, max: 4 })).map(([n, part, times]) =>
    command(
      `refund ${even(part)} of charge ${n}, ${times} at once`,
      ({ charges }) => charges.length > 0,
      async ({ charges, columns }, real) => {
        const charge = nth(charges, n);
        const all = Array.from({ length: times }, () => askOf(even(part), 'complete'));
        const answers = await Promise.all(all.map((asked) => ask(real, charge, asked)));
        const fit = Math.max(0, Math.floor(Math.min(refundableOf(charge), columns.available) / even(part)));
        expect(answers.filter(({ status }) => status === 201).length).toBe(Math.min(times, fit));
        for (const [at, answer] of answers.entries())
          if (answer.status === 201) await admitted(charge, nth(all, at), answer, real);
          else {
            expect(answer.status).toBe(400);
            expect(['refund_exceeds', 'insufficient_balance']).toContain(answer.body.code);
          }
      },
    ),
  ),
  fc.tuple(fc.nat(9), part).map(([n, part]) =>
    command(
      `refund ${even(part)} of charge ${n}, twice at once under one key`,
      ({ charges, columns }) =>
        charges.length > 0 && even(part) <= Math.min(refundableOf(nth(charges, n)), columns.available),
      async ({ charges }, real) => {
        const charge = nth(charges, n);
        const asked = askOf(even(part), 'complete');
        const [one, other] = await Promise.all([ask(real, charge, asked), ask(real, charge, asked)]);
        expect([one, other].map(({ status, body }) => [status, body.code, body.id])).toEqual(
          Array(2).fill([201, undefined, one.body.id]),
        );
        await admitted(charge, asked, one, real);
      },
    ),
  ),
  fc.tuple(fc.nat(50), fc.boolean()).map(([n, same]) =>
    command(
      `repeat refund ${n}${same ? '' : ' with another amount'}`,
      (model) => refundsOf(model).length > 0,
      async (model, real) => {
        const { id, charge, amountCents, requestKey, description } = nth(refundsOf(model), n);
        const body = { requestKey, amountCents: amountCents + (same ? 0 : 1), description };
        const again = await real.call('POST', `/payments/${charge.id}/refunds`, body);
        if (same) expect([again.status, again.body.id]).toEqual([201, id]);
        else expect([again.status, again.body.code]).toEqual([400, 'idempotency_conflict']);
      },
    ),
  ),
  fc
    .tuple(fc.nat(50), fc.constantFrom('complete' as const, 'refuse' as const))
    .map(([n, how]) => endOf(n, how)),
  fc
    .tuple(fc.nat(9), part, fc.constantFrom('id', 'rtrId', 'both', 'changing'))
    .map(([n, part, returnForm]) => {
      const amountCents = even(part) - 1;
      return command(
        `the provider takes ${amountCents} of charge ${n}, reported by ${returnForm}`,
        ({ charges }) => charges.length > 0 && leftOf(nth(charges, n)) >= amountCents,
        async ({ charges }, real) => {
          const charge = nth(charges, n);
          take(charge, amountCents);
          await real.take(charge.id, { amountCents, returnForm, booked: charge.takes.length });
        },
      );
    }),
  fc.tuple(fc.nat(9), fc.oneof(part, whole)).map(([n, amountCents]) => disputeOf(n, amountCents)),
  fc
    .tuple(fc.nat(50), fc.constantFrom(...(Object.keys(moves) as (keyof typeof moves)[])))
    .map(([n, action]) =>
      command(
        `dispute ${n}: ${action}`,
        (model) => disputesOf(model).length > 0,
        async (model, real) => {
          const dispute = nth(disputesOf(model), n);
          await real.move(dispute.id, action);
          dispute.status = moves[action];
          for (const charge of model.charges) count(charge);
        },
      ),
    ),
  fc.constant(0).map(() =>
    command(
      'close the day',
      () => true,
      async ({ columns: { holdWanted, ...columns } }, real) => {
        const { operation, previousCents, differenceCents } = await real.closeDay();
        const { openingCents, closingCents, changeCents, ...closed } = operation;
        expect(closed).toEqual(columns);
        expect(closingCents).toBe(columns.available - columns.receivable);
        expect([openingCents, openingCents + changeCents]).toEqual([previousCents, closingCents]);
        expect(differenceCents).toBe(0);
      },
    ),
  ),
];
