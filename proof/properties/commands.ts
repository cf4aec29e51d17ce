import type { Call } from '@vintem/testkit/service.ts';
import fc from 'fast-check';
import { expect } from 'vitest';

/** A client's calls, drawn by chance, and a model of a page that predicts their results. */
export interface Operation {
  id: string;
  cents: number;
  deleted: boolean;
}
export interface Known {
  path: string;
  body: { requestKey: string; amountCents: number };
  operation: Operation;
  id: string;
  status: number;
  /** Of a transfer that the provider completes: what has not come back of it. */
  sentCents?: number;
  /** How often it came back. */
  returns?: number;
}
export interface Model {
  operations: Operation[];
  payments: Known[];
}
export interface Real {
  call: Call;
  pay(id: string): Promise<void>;
  /** How the provider's deliveries come from now on. */
  deliver(webhook: 'send' | 'duplicate' | 'reorder'): Promise<void>;
  /** A transfer comes back in part, reported under these names; resolves when the service has booked so much of it. */
  giveBack(
    id: string,
    back: { amountCents: number; id: string; returnForm: string; bookedCents: number },
  ): Promise<void>;
  /** Sends a delivery that the service has seen already once more, with the same bytes. */
  deliverAgain(n: number): Promise<void>;
  /** A call with a key of its own, and what revokes it. */
  withOwnKey(): Promise<{ call: Call; revoke(): Promise<void> }>;
  /** Of another account. */
  foreign: { operationId: string; paymentId: string };
}
export type Command = fc.AsyncCommand<Model, Real>;

const feeCents = 25;
const live = (model: Model): Operation[] => model.operations.filter(({ deleted }) => !deleted);
const returnable = (payments: readonly Known[], cents: number): Known[] =>
  payments.filter(({ operation, sentCents = 0 }) => !operation.deleted && sentCents >= cents);
export const nth = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

export const command = (
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command => ({
  check,
  run,
  toString: () => name,
});

const balanceOf = async (real: Real, { id }: Operation): Promise<number> =>
  (await real.call('GET', '/account', undefined, id)).body.balanceCents;

export const commands = [
  fc.tuple(fc.nat(9), fc.integer({ min: 200, max: 5_000 })).map(([n, amountCents]) =>
    command(
      `receive ${amountCents} in ${n}`,
      () => true,
      async (model, real) => {
        const operation = nth(live(model), n);
        const body = { amountCents, payerName: 'Maria', description: '', requestKey: crypto.randomUUID() };
        const made = await real.call('POST', '/pix/charges', body, operation.id);
        expect(made.status).toBe(201);
        await real.pay(made.body.id);
        operation.cents += amountCents;
        model.payments.push({ path: '/pix/charges', body, operation, id: made.body.id, status: 201 });
        expect(await balanceOf(real, operation)).toBe(operation.cents);
      },
    ),
  ),
  fc
    .tuple(
      fc.nat(9),
      fc.integer({ min: 1_000, max: 4_000 }),
      fc.constantFrom('complete', 'refuse-in-answer', 'stay-pending', 'lose-answer'),
    )
    .map(([n, amountCents, behaviour]) =>
      command(
        `send ${amountCents} from ${n}, ${behaviour}`,
        () => true,
        async (model, real) => {
          const operation = nth(live(model), n);
          const body = transferOf(amountCents, behaviour);
          const made = await real.call('POST', '/pix/transfers', body, operation.id);
          if (amountCents > operation.cents) {
            expect([made.status, made.body.code]).toEqual([400, 'insufficient_balance']);
            expect(made.body.paymentId).toBeUndefined();
          } else if (behaviour === 'refuse-in-answer') {
            expect(made.status).toBe(400);
            model.payments.push({
              path: '/pix/transfers',
              body,
              operation,
              id: made.body.paymentId,
              status: 400,
            });
          } else {
            expect(made.status).toBe(201);
            expect(made.body).toMatchObject({
              debitAmountCents: amountCents,
              expectedNetAmountCents: amountCents - feeCents,
            });
            operation.cents -= amountCents;
            const sentCents = behaviour === 'stay-pending' ? 0 : amountCents - feeCents;
            model.payments.push({
              path: '/pix/transfers',
              body,
              operation,
              id: made.body.id,
              status: 201,
              sentCents,
            });
          }
          expect(await balanceOf(real, operation)).toBe(operation.cents);
        },
      ),
    ),
  fc
    .tuple(fc.nat(50), fc.constantFrom(300, 300, 200), fc.constantFrom('id', 'rtrId', 'both', 'changing'))
    .map(([n, amountCents, returnForm]) =>
      command(
        `${amountCents} of transfer ${n} come back, reported by ${returnForm}`,
        ({ payments }) => returnable(payments, amountCents).length > 0,
        async (model, real) => {
          const known = nth(returnable(model.payments, amountCents), n);
          const returns = known.returns ?? 0;
          known.sentCents = (known.sentCents ?? 0) - amountCents;
          known.returns = returns + 1;
          // The same ids under every transfer: they are unique within one only.
          const bookedCents = known.body.amountCents - feeCents - known.sentCents;
          await real.giveBack(known.id, { amountCents, id: String(returns), returnForm, bookedCents });
          known.operation.cents += amountCents;
          expect(await balanceOf(real, known.operation)).toBe(known.operation.cents);
        },
      ),
    ),
  fc.nat(50).map((n) =>
    command(
      `repeat ${n}`,
      ({ payments }) => payments.length > 0,
      async (model, real) => {
        const { path, body, operation, id, status } = nth(model.payments, n);
        const again = await real.call('POST', path, body, operation.id);
        if (operation.deleted) expect(again.status).toBe(404);
        else expect([again.status, again.body.id ?? again.body.paymentId]).toEqual([status, id]);
        if (!operation.deleted) expect(await balanceOf(real, operation)).toBe(operation.cents);
      },
    ),
  ),
  fc.tuple(fc.nat(50), fc.constantFrom('amount', 'operation', 'kind')).map(([n, what]) =>
    command(
      `repeat ${n} with another ${what}`,
      (model) => model.payments.length > 0 && (what !== 'operation' || live(model).length > 1),
      async (model, real) => {
        const known = nth(model.payments, n);
        const operation =
          what === 'operation'
            ? nth(
                live(model).filter((one) => one !== known.operation),
                n,
              )
            : known.operation;
        const body =
          what === 'amount' ? { ...known.body, amountCents: known.body.amountCents + 1 } : known.body;
        const { requestKey } = known.body;
        const answer =
          what === 'kind'
            ? await real.call('POST', '/operations', { name: 'Nova', requestKey })
            : await real.call('POST', known.path, body, operation.id);
        if (operation.deleted && what !== 'kind') expect(answer.status).toBe(404);
        else expect([answer.status, answer.body.code]).toEqual([400, 'idempotency_conflict']);
      },
    ),
  ),
  fc.constant(0).map(() =>
    command(
      'create an operation',
      () => true,
      async (model, real) => {
        const made = await real.call('POST', '/operations', {
          name: 'Loja nova',
          requestKey: crypto.randomUUID(),
        });
        if (live(model).length === 10)
          expect([made.status, made.body.code]).toEqual([400, 'operation_limit_reached']);
        else {
          expect(made.status).toBe(201);
          model.operations.push({ id: made.body.id, cents: 0, deleted: false });
        }
      },
    ),
  ),
  fc.nat(20).map((n) =>
    command(
      `delete operation ${n}`,
      () => true,
      async (model, real) => {
        const operation = nth(model.operations, n);
        const answer = await real.call('DELETE', `/operations/${operation.id}`, {});
        if (operation.deleted) expect(answer.status).toBe(200);
        else if (answer.status === 200) {
          expect(operation.cents).toBe(0);
          expect(live(model).length).toBeGreaterThan(1);
          operation.deleted = true;
        } else expect(answer.status).toBe(400);
        const listed = (await real.call('GET', '/operations')).body.operations as { id: string }[];
        expect(listed.map(({ id }) => id).sort()).toEqual(
          live(model)
            .map(({ id }) => id)
            .sort(),
        );
      },
    ),
  ),
  fc.nat(50).map((n) =>
    command(
      `look ${n} up`,
      ({ payments }) => payments.length > 0,
      async (model, real) => {
        const { id, operation, body } = nth(model.payments, n);
        const found = await real.call('GET', `/payments/${id}`, undefined, operation.id);
        if (operation.deleted) expect(found.status).toBe(404);
        else
          expect(found.body).toMatchObject({ id, amountCents: body.amountCents, operationId: operation.id });
        const other = live(model).find((one) => one !== operation);
        if (other) expect((await real.call('GET', `/payments/${id}`, undefined, other.id)).status).toBe(404);
      },
    ),
  ),
  fc.nat(9).map((n) =>
    command(
      `list those of ${n}`,
      () => true,
      async (model, real) => {
        const operation = nth(live(model), n);
        const listed = await real.call('GET', '/payments?limit=100', undefined, operation.id);
        expect(listed.status).toBe(200);
        expect(listed.body.payments.map(({ id }: { id: string }) => id).sort()).toEqual(
          model.payments
            .filter((known) => known.operation === operation)
            .map(({ id }) => id)
            .sort(),
        );
      },
    ),
  ),
  fc.tuple(fc.nat(20), fc.constantFrom('Loja do Centro', 'Loja da Praia')).map(([n, name]) =>
    command(
      `name operation ${n} ${name}`,
      () => true,
      async (model, real) => {
        const { id, deleted } = nth(model.operations, n);
        const answer = await real.call('PATCH', `/operations/${id}`, { name });
        expect(answer.status).toBe(deleted ? 404 : 200);
        if (!deleted) expect(answer.body.name).toBe(name);
      },
    ),
  ),
  fc.constantFrom('send', 'duplicate', 'reorder').map((webhook) =>
    command(
      `deliveries: ${webhook}`,
      () => true,
      async (_, real) => real.deliver(webhook as 'send' | 'duplicate' | 'reorder'),
    ),
  ),
  fc.nat(50).map((n) =>
    command(
      `delivery ${n} again`,
      () => true,
      async ({ operations }, real) => {
        await real.deliverAgain(n);
        for (const operation of operations)
          if (!operation.deleted) expect(await balanceOf(real, operation)).toBe(operation.cents);
      },
    ),
  ),
  fc.constant(0).map(() =>
    command(
      'use a key and revoke it',
      () => true,
      async (model, real) => {
        const { call, revoke } = await real.withOwnKey();
        expect((await call('GET', '/operations')).status).toBe(200);
        await revoke();
        // A read may still be shown for a second; money is decided on the key as it stands under the lock.
        const operation = nth(live(model), 0);
        expect(
          (await call('POST', '/pix/transfers', transferOf(1_000, 'complete'), operation.id)).status,
        ).toBe(401);
        expect(await balanceOf(real, operation)).toBe(operation.cents);
      },
    ),
  ),
  fc.nat(9).map((n) =>
    command(
      'use what another account has',
      () => true,
      async (model, real) => {
        const operation = nth(live(model), n);
        const { operationId, paymentId } = real.foreign;
        const answers = [
          await real.call('GET', `/payments/${paymentId}`, undefined, operation.id),
          await real.call('POST', '/pix/transfers', transferOf(1_000, 'complete'), operationId),
          await real.call('PATCH', `/operations/${operationId}`, { name: 'Minha loja' }),
          await real.call('DELETE', `/operations/${operationId}`, {}),
        ];
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      },
    ),
  ),
];

export const transferOf = (amountCents: number, behaviour: string) => ({
  amountCents,
  pixKey: `${behaviour}@simulator.example`,
  pixKeyType: 'EMAIL',
  description: '',
  requestKey: crypto.randomUUID() as string,
});
