import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, journalsOf, later, providerIdOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { stepStatement } from '../../src/jobs/statement.ts';
import { listOpenLines, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { bookReturn, type ReturnOfPayout, shownReturn } from '../../src/operate/returned-payout.ts';
import type { Provider } from '../../src/provider/provider.ts';

/**
 * A payout that its receiver gave back, where the provider names the return by no word that the program can match: a person says of which payout
 * it is. It is booked as one that the provider reports, and once, whatever the provider says of it later.
 */

let service: Service;
let merchant: Merchant;
beforeAll(async () => {
  service = await openService({ worker: false, dialect: 'woovi' });
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await readLists();
});
afterAll(() => service?.close());
beforeEach(() => service.simulator.behave({}));

const woovi = (): Provider => {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  return provider;
};
const control = async (path: string, body: object = {}) => {
  const answer = await service.simulator.control('POST', `/control/${path}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
};

async function readLists(): Promise<void> {
  await service.database.admin(`UPDATE job SET due_at = 'epoch' WHERE what = 'statement'`);
  await fillQueryLimit(service);
  await stepStatement(service.runtime, woovi());
}

/** Looks every line up: from then on operators see those that have no answer. */
async function lookUp(): Promise<void> {
  await service.database.admin(`UPDATE statement_line SET next_at = now() - interval '1 minute'`);
  await fillQueryLimit(service);
  await stepStatementLines(service.runtime, woovi());
}

/** Operators see the line. */
const untilLine = (returnId: string): Promise<void> =>
  until(async () => {
    await readLists();
    await lookUp();
    return (await listOpenLines(service.runtime)).some(({ id }) => id === returnId);
  });

async function completed(of: Merchant = merchant): Promise<string> {
  const { body } = await of.transfer({ amountCents: 1_000 });
  await until(async () => {
    const followUp = createFollowUp(later(service.runtime, 1_000), woovi());
    while (await followUp.stepQueries());
    await followUp.idle();
    return (await statusOf(service, body.id)) === 'completed';
  });
  return body.id;
}

/** Its receiver gives so much back, and the delivery of that is lost. */
async function givenBack(id: string, amountCents: number): Promise<string> {
  await service.simulator.behave({ webhook: 'drop' });
  const { rtrId } = await control(`payouts/${providerIdOf(id)}/return`, { amountCents });
  return rtrId;
}

/** The delivery of its return comes after all, and is applied. */
async function heardAfterAll(id: string): Promise<void> {
  const before = await deliveriesApplied();
  await service.simulator.behave({});
  await control(`payouts/${providerIdOf(id)}/resend`);
  await until(async () => (await deliveriesApplied()) > before);
}

async function deliveriesApplied(): Promise<number> {
  const rows = await service.database.admin('SELECT FROM inbound WHERE applied_at IS NOT NULL');
  return rows.length;
}

const person = () => ({ ...service.runtime, actor: 'tester' });
const book = (wanted: Partial<ReturnOfPayout> & { paymentId: string; returnId: string }) =>
  bookReturn(service.runtime, person(), {
    amountCents: null,
    at: null,
    reason: 'seen in the panel',
    ...wanted,
  });
const returnsPosted = async (id: string): Promise<number> =>
  (await journalsOf(service, id)).filter((kind) => kind === 'return').length;
const incidentsOf = (id: string) =>
  service.database.admin<{ kind: string; detail: object }>(
    'SELECT kind, detail FROM incident WHERE payment_id = $1',
    [id],
  );

test('a line without its payment is given to the payout that a person names, as if the provider had reported it', async () => {
  const id = await completed();
  const returnId = await givenBack(id, 300);
  await untilLine(returnId);
  expect(await listOpenLines(service.runtime)).toMatchObject([{ id: returnId, amountCents: 300 }]);
  const before = await merchant.balanceCents();
  const seen = await shownReturn(service.runtime, person(), {
    ...{ paymentId: id, returnId, amountCents: null, at: null },
  });
  expect(seen).toMatchObject({
    movedCents: 300,
    postings: [{ movement: 'return', lines: { available: 300, clearing: -300 }, connection: 'simulator' }],
  });
  // To see it writes nothing.
  expect(await returnsPosted(id)).toBe(0);
  expect(await book({ paymentId: id, returnId })).toMatchObject({ amountCents: 300, returnedCents: 300 });
  expect(await merchant.balanceCents()).toBe(before + 300);
  expect(await listOpenLines(service.runtime)).toEqual([]);
  const events = await service.database.admin<{ type: string }>(
    'SELECT type FROM event WHERE payment_id = $1',
    [id],
  );
  expect(events.map(({ type }) => type)).toContain('transfer.returned');
  expect(
    await service.database.admin(
      `SELECT reason, detail FROM audit WHERE action = 'payment.returned' AND subject = $1`,
      [id],
    ),
  ).toMatchObject([
    { reason: 'seen in the panel', detail: { connection: 'simulator', returnId, amountCents: 300 } },
  ]);
  // The provider's word comes after all, and it is the same return.
  await heardAfterAll(id);
  await readLists();
  await lookUp();
  expect(await returnsPosted(id)).toBe(1);
  expect(await merchant.balanceCents()).toBe(before + 300);
  await expect(book({ paymentId: id, returnId })).rejects.toThrow('the books have this return already');
  expect(await violations(service)).toEqual([]);
});

test('a return is booked under one payout: a second one is refused, and where the provider names another one a person looks', async () => {
  const [right, wrong] = [await completed(), await completed()];
  const returnId = await givenBack(right, 200);
  await untilLine(returnId);
  await book({ paymentId: wrong, returnId });
  await expect(book({ paymentId: right, returnId })).rejects.toThrow('the books have this return already');
  const before = await merchant.balanceCents();
  await heardAfterAll(right);
  await until(async () => (await incidentsOf(right)).length === 1);
  expect(await incidentsOf(right)).toMatchObject([
    { kind: 'report_mismatch', detail: { pix: returnId, bookedUnder: wrong } },
  ]);
  expect(await returnsPosted(right)).toBe(0);
  expect(await merchant.balanceCents()).toBe(before);
});

test('of two people who give one return to two payouts at once, one is refused', async () => {
  const [one, other] = [await completed(), await completed()];
  const returnId = await givenBack(one, 100);
  await untilLine(returnId);
  const done = await Promise.allSettled([
    book({ paymentId: one, returnId }),
    book({ paymentId: other, returnId }),
  ]);
  expect(done.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect((await returnsPosted(one)) + (await returnsPosted(other))).toBe(1);
});

test('without a line a person gives amount and time, and what does not fit the transfer is refused', async () => {
  const id = await completed();
  const returnId = await givenBack(id, 250);
  const open = (await merchant.transfer()).body.id;
  const at = service.runtime.clock.now();
  const cases: [object, string][] = [
    [{}, 'it needs its amount and its time'],
    [{ amountCents: 250 }, 'it needs its amount and its time'],
    [{ amountCents: 250, at: at + 60_000 }, 'in the future'],
    [{ amountCents: 250, at: 1_000 }, 'before the transfer was made'],
    [{ amountCents: 1_000, at }, 'of the transfer 975 cents can come back'],
    [{ amountCents: 0, at }, 'can come back'],
    [{ amountCents: 250, at, returnId: 'E1' }, 'a D and 31'],
    [{ amountCents: 250, at, paymentId: open }, 'not completed'],
    [{ amountCents: 250, at, paymentId: await merchant.paidCharge() }, 'no such transfer'],
  ];
  for (const [given, why] of cases)
    await expect(book({ paymentId: id, returnId, ...given }), why).rejects.toThrow(why);
  await book({ paymentId: id, returnId, amountCents: 250, at });
  await readLists();
  expect(await listOpenLines(service.runtime)).toEqual([]);
  await heardAfterAll(id);
  expect(await returnsPosted(id)).toBe(1);
});

test('a line of another connection, of another payment or with another amount is not given to the transfer', async () => {
  const [id, other] = [await completed(), await completed()];
  const returnId = `D${'7'.repeat(31)}`;
  const at = service.runtime.clock.now();
  const line = (fields: object) =>
    service.database.admin(
      `INSERT INTO statement_line (connection, kind, reference, rtr_id, amount_cents, provider_id, moved_at, first_seen_at, tries, next_at)
        SELECT connection, 'returned', $1, $1, 90, provider_id, now(), now(), 1, now() + interval '1 hour'
        FROM json_to_record($2) AS given(connection text, provider_id text)`,
      [returnId, JSON.stringify({ connection: 'simulator', ...fields })],
    );
  await service.database.admin(
    `INSERT INTO connection (id, test, webhook_token, query_bucket_at) VALUES ('elsewhere', true, 'x', now())`,
  );
  await line({ connection: 'elsewhere' });
  const given = { paymentId: id, returnId, amountCents: 90, at };
  await expect(book(given)).rejects.toThrow('its line is of elsewhere');
  await service.database.admin('DELETE FROM statement_line');
  await line({ provider_id: providerIdOf(other) });
  await expect(book(given)).rejects.toThrow('names another payment');
  await service.database.admin('DELETE FROM statement_line');
  await line({});
  await expect(book({ ...given, amountCents: 91 })).rejects.toThrow('its line has another amount');
  await book({ paymentId: id, returnId });
  expect(await returnsPosted(id)).toBe(1);
});

test('verify finds a return that two payouts have', async () => {
  const id = await completed();
  const returnId = await givenBack(id, 120);
  await untilLine(returnId);
  await book({ paymentId: id, returnId });
  const found = async () =>
    (await violations(service)).flatMap((check) =>
      check.violations.map(({ fault }) => `${check.number} ${fault}`),
    );
  const fault = '49 2 returns that another payout has as well';
  expect(await found()).not.toContain(fault);
  await service.database.admin(
    `INSERT INTO known_return SELECT account_id, $2, reference, pix, return_id, rtr_id, amount_cents, at, posted
      FROM known_return WHERE payment = $1`,
    [id, await completed()],
  );
  expect(await found()).toContain(fault);
});
