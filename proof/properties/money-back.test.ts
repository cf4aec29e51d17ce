import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, journalsOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stepDisputes } from '../../server/src/jobs/poll.ts';
import { dayAfter, endsAt } from '../../server/src/operate/closes/day.ts';
import { closeDays } from '../../server/src/operate/closes/step.ts';
import { dayOf } from '../../server/src/operate/statement/period.ts';
import { draws } from '../draws.ts';
import {
  type Columns,
  commands,
  type Model,
  moves,
  type Real,
  receipt,
  refundUnderDispute,
} from './money-back.ts';

/**
 * Refunds, disputes, money that the provider takes and daily closes in whatever order: after each command every invariant of the books, and
 * the merchant's columns, lists and statement beside a model of a page.
 */
let service: Service;
let closedDay: string;
beforeAll(async () => {
  service = await openService();
  closedDay = dayOf(Date.now());
});
afterAll(() => service?.close());

const provider = () => {
  const one = service.runtime.providers.get('simulator');
  if (!one) throw new Error('no simulator');
  return one;
};

/** As the worker does it when the day is over. */
async function closeNextDay(): Promise<void> {
  const day = dayAfter(closedDay);
  await fillQueryLimit(service);
  await closeDays(service.runtime, closedDay, endsAt(day) + 3_600_000);
  closedDay = day;
}

async function control(path: string, body: object = {}): Promise<{ id: string }> {
  const answer = await service.simulator.control('POST', `/control/${path}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
}

/** Reads the provider's disputes until the service knows this state: the worker may have the turn. */
async function readDisputes(id: string, status: string): Promise<void> {
  await fillQueryLimit(service);
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await stepDisputes(service.runtime, provider());
  await until(async () => {
    const [row] = await service.database.admin<{ status: string }>(
      'SELECT status FROM dispute WHERE provider_id = $1',
      [id],
    );
    return row?.status === status;
  });
}

async function columnsOf({ ownerId, operationId }: Merchant): Promise<Columns> {
  const [row] = await service.database.admin<Record<keyof Columns, string>>(
    `SELECT available, reserved, held, receivable, hold_wanted AS "holdWanted" FROM balance
      WHERE account_id = $1 AND operation_id = $2`,
    [ownerId, operationId],
  );
  if (!row) throw new Error('the operation has no balance');
  const { available, reserved, held, receivable, holdWanted } = row;
  return {
    available: Number(available),
    reserved: Number(reserved),
    held: Number(held),
    receivable: Number(receivable),
    holdWanted: Number(holdWanted),
  };
}

/** Of the operation, the last close and the one before it. */
async function closesOf({ operationId }: Merchant): Promise<Record<string, number>[]> {
  const rows = await service.database.admin<Record<string, string>>(
    `SELECT available, reserved, held, receivable, opening_cents AS "openingCents", closing_cents AS "closingCents",
        in_cents - out_cents - fee_cents - refund_cents - hold_cents AS "changeCents"
      FROM day_close c WHERE chain_id = $1 ORDER BY c.day DESC LIMIT 2`,
    [operationId],
  );
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, cents]) => [name, Number(cents)])),
  );
}

const txid = (id: string): string => id.replaceAll('-', '');

const realOf = (merchant: Merchant): Real => ({
  call: merchant.call,
  paidCharge: (amountCents) => merchant.paidCharge({ amountCents }),
  transfer: async (amountCents) => {
    const answer = await merchant.transfer({ amountCents });
    if (answer.status === 201)
      await until(async () => (await statusOf(service, answer.body.id)) === 'completed');
    return answer;
  },
  becomes: (refundId, status) =>
    until(async () => (await merchant.call('GET', `/refunds/${refundId}`)).body.status === status),
  end: async (refundId, how) => {
    await control(`refunds/${refundId}/${how}`);
  },
  take: async (charge, { amountCents, returnForm, booked }) => {
    await service.simulator.behave({ returnForm });
    await control(`charges/${txid(charge)}/return`, { amountCents });
    await until(async () => (await journalsOf(service, charge)).length === 1 + booked);
  },
  dispute: async (charge, amountCents) => {
    const { id } = await control(`charges/${txid(charge)}/dispute`, { amountCents });
    await readDisputes(id, 'open');
    return id;
  },
  move: async (id, action) => {
    await control(`disputes/${id}/${action}`);
    await readDisputes(id, moves[action]);
  },
  closeDay: async () => {
    await closeNextDay();
    const [last, before] = await closesOf(merchant);
    const [connection] = await service.database.admin<{ difference: string | null }>(
      `SELECT difference_cents AS difference FROM connection_close c ORDER BY c.day DESC LIMIT 1`,
    );
    return {
      operation: last as Awaited<ReturnType<Real['closeDay']>>['operation'],
      previousCents: before?.closingCents ?? 0,
      differenceCents: connection?.difference == null ? null : Number(connection.difference),
    };
  },
  columns: () => columnsOf(merchant),
  violations: () => violationsOfBooks(service, { accountId: merchant.ownerId }),
  timesAsked: async (charge) => {
    const { body } = await service.simulator.control('GET', `/control/state?txid=${txid(charge)}`);
    const refunds = (body.charges[0].refunds ?? []) as { id: string; timesReceived: number }[];
    return new Map(refunds.map(({ id, timesReceived }) => [id, timesReceived]));
  },
});

/** Two charges, and then anything: `fc.commands` draws lists so short that most have nothing to refund. */
const drawing = fc
  .tuple(
    fc.array(receipt, { minLength: 2, maxLength: 2 }),
    fc.oneof(fc.constant([]), refundUnderDispute),
    fc.array(fc.oneof(...commands), { minLength: 15, maxLength: 25 }),
  )
  .map((drawn) => drawn.flat());

it('money that goes back, in whatever order, is what the model says', async () => {
  await fc.assert(
    fc.asyncProperty(drawing, async (drawn) => {
      const merchant = await service.newMerchant();
      // The first close of an operation has what moved before as its opening: it is of a day on which nothing has moved.
      await closeNextDay();
      const columns = { available: 0, reserved: 0, held: 0, receivable: 0, holdWanted: 0 };
      const setup = () => ({
        model: { charges: [], sentCents: 0, columns } as Model,
        real: realOf(merchant),
      });
      await fc.asyncModelRun(setup, drawn);
    }),
    draws(Number(process.env.PROPERTY_RUNS ?? 10)),
  );
  expect(await violationsOfBooks(service)).toEqual([]);
  // The provider's takings alone are for a person to see: nothing was taken for unexpected money, and every close agrees.
  expect(await service.database.admin(`SELECT kind, detail FROM incident WHERE kind <> 'debit'`)).toEqual([]);
});
