import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, statusOf } from '@vintem/testkit/settlement.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chargesByLinks } from '../../src/api/links/charge-of-link.ts';
import { stepStatement } from '../../src/jobs/statement.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { endsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { dayOf } from '../../src/operate/statement/period.ts';

/** A day of a market stall: two printed codes, thirty links, twenty due-date charges, a tired bank. At its end every cent is where the provider says that it is. */

let service: Service;
let merchant: Merchant;

const hourMs = 3_600_000;
const startedAt = Date.now();
const inDays = (days: number): string => dayOf(startedAt + days * 24 * hourMs);

/** Everything up to a day, as the worker does it when the day is over. */
const close = async (day: string): Promise<unknown> => {
  const [row] = await service.database.admin<{ day: string | null }>(
    `SELECT to_char(closed_day, 'YYYY-MM-DD') AS day FROM installation`,
  );
  return closeDays(service.runtime, row?.day ?? null, endsAt(day) + hourMs);
};

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
});
afterAll(() => service?.close());

/** R$ 0.10 and 0.99 %, rounded half up: counted here, and not by the program that is looked at. */
const feeOf = (cents: number): number => 10 + Math.round((cents * 99) / 10_000);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const providerIdOf = (id: string): string => id.replaceAll('-', '');

/** A day so many days from another. */
const after = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 24 * hourMs).toISOString().slice(0, 10);
/** A Tuesday of July or August, which have no holidays of banks. */
const dueDate = (() => {
  for (let day = inDays(40); ; day = after(day, 1))
    if (new Date(day).getUTCDay() === 2 && ['07', '08'].includes(day.slice(5, 7)) && day.slice(8) < '20')
      return day;
})();
/** Customers of the month: five early, ten on the day, five late; every fourth delivery is lost. Fine of 2 %, 3 % a month, R$ 1 off five days early. */
const customers = Array.from({ length: 20 }, (_, at) => {
  const askedCents = 3_000 + at * 100;
  const days = at < 5 ? -5 : at < 15 ? 0 : 10;
  const paidCents = days < 0 ? askedCents - 100 : days === 0 ? askedCents : askedCents * 1.03;
  return { askedCents, paidCents: Math.round(paidCents), days, webhook: at % 4 === 3 ? 'drop' : 'send' };
});

test('A day of a market stall ends with books, daily close and provider equal to the cent', async () => {
  const { runtime } = service;
  await setConditions({ ...runtime, actor: 'tester' }, merchant.ownerId, {
    depositFeeCents: 10,
    depositFeeBps: 99,
  });
  // Tomorrow is closed while nothing has moved: the whole day of the stall is in the day after it, also when midnight passes meanwhile.
  await close(inDays(1));

  // The codes: 400 Pix. Sixty deliveries come twice and sixty never; eight payers type another amount than the code names.
  const newCode = async (body: object) =>
    (await merchant.call('POST', '/static-codes', { requestKey: crypto.randomUUID(), ...body })).body;
  const open = await newCode({ name: 'Banca' });
  const fixed = await newCode({ name: 'Pastel', amountCents: 1_250 });
  const pix = Array.from({ length: 400 }, (_, at) => {
    const typed = 200 + ((at * 379) % 7_800);
    if (at % 2 === 0) return { code: open, amountCents: typed };
    return { code: fixed, amountCents: at % 50 === 1 ? 1_300 : 1_250 };
  });
  const payAll = async (some: typeof pix, webhook: string): Promise<void> => {
    await service.simulator.behave({ webhook });
    for (let at = 0; at < some.length; at += 20)
      await Promise.all(
        some.slice(at, at + 20).map(({ code, amountCents }) =>
          service.simulator.control('POST', '/control/static', {
            identifier: code.identifier,
            amountCents,
          }),
        ),
      );
  };
  await payAll(pix.slice(0, 280), 'send');
  await payAll(pix.slice(280, 340), 'duplicate');
  const seen = async () => (await codes()).map(({ paidCount }) => paidCount).reduce((one, two) => one + two);
  const codes = () =>
    Promise.all(
      [open, fixed].map(async ({ id }) => (await merchant.call('GET', `/static-codes/${id}`)).body),
    );
  await until(async () => (await seen()) === 340);
  await payAll(pix.slice(340), 'drop');
  await service.simulator.behave({});

  // The links: 30 orders for one payment each. Two payers are at the first one in the same second.
  const links = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => {
      const order = { title: `Encomenda ${at + 1}`, amountCents: 2_000 + at * 111, maxPayments: 1 };
      return (await merchant.call('POST', '/payment-links', { ...order, requestKey: crypto.randomUUID() }))
        .body as { id: string; url: string; amountCents: number };
    }),
  );
  const charge = async (link: (typeof links)[number], network: string) => {
    const subject = runtime.pages.read(new URL(link.url).pathname.split('/').at(-1) ?? '');
    const form = { formKey: crypto.randomUUID(), payerName: 'Ana', requestId: 'req_stall' };
    const place = { accountNumber: subject?.accountNumber ?? 0, id: link.id };
    return chargesByLinks(service.cellOf(merchant))(place, form, network);
  };
  const first = links[0] as (typeof links)[number];
  const charges = await Promise.all(
    [...links, first].map((link, at) => charge(link, `2001:db8:${at.toString(16)}::/48`)),
  );
  await Promise.all(
    charges.map(({ id }) => service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`)),
  );
  for (const { id } of charges) await until(async () => (await statusOf(service, id)) === 'paid');
  const twice = (await merchant.call('GET', `/payment-links/${first.id}`)).body;
  expect(twice).toMatchObject({ status: 'completed', paidCount: 2, paidCents: 4_000 });

  // The month's customers: charges with a due date, of which the bank names what is paid on which day.
  const monthly = await Promise.all(
    customers.map(async ({ askedCents }, at) => {
      const { status, body } = await merchant.call('POST', '/pix/due-charges', {
        ...{ amountCents: askedCents, dueDate, requestKey: crypto.randomUUID() },
        payer: { name: `Freguesa ${at + 1}`, document: '111.444.777-35' },
        fine: { type: 'percent', value: 200 },
        interest: { type: 'percent_month', value: 300, days: 'calendar' },
        discounts: [{ until: after(dueDate, -5), type: 'fixed', value: 100 }],
      });
      expect(status).toBe(201);
      return body.id as string;
    }),
  );
  const payMonthly = async (webhook: string): Promise<string[]> => {
    await service.simulator.behave({ webhook, components: 'sent' });
    const some = monthly.filter((_, at) => customers[at]?.webhook === webhook);
    for (const id of some) {
      const on = after(dueDate, customers[monthly.indexOf(id)]?.days ?? 0);
      await service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`, { on });
    }
    return some;
  };
  for (const id of await payMonthly('send'))
    await until(async () => (await statusOf(service, id)) === 'paid');
  const lost = await payMonthly('drop');
  await service.simulator.behave({});

  // The evening: the statement brings what no delivery brought, the second payer gets the money back, and the takings go home.
  await runtime.sql.run({ name: 'due', text: `UPDATE job SET due_at = 'epoch' WHERE what = 'statement'` });
  await fillQueryLimit(service);
  const simulator = runtime.providers.get('simulator');
  if (!simulator) throw new Error('no provider');
  await stepStatement(runtime, simulator);
  await until(async () => (await seen()) === 400);
  for (const id of lost) await until(async () => (await statusOf(service, id)) === 'paid');
  const again = charges.at(-1)?.id ?? '';
  const refund = await merchant.call('POST', `/payments/${again}/refunds`, {
    requestKey: crypto.randomUUID(),
  });
  expect(refund.status).toBe(201);
  await until(
    async () => (await merchant.call('GET', `/refunds/${refund.body.id}`)).body.status === 'completed',
  );
  const { body: home } = await merchant.transfer({ amountCents: 150_000 });
  await until(async () => (await statusOf(service, home.id)) === 'completed');

  // The expected books, by arithmetic of this test.
  const received = [
    ...pix.map(({ amountCents }) => amountCents),
    ...links.map((link) => link.amountCents),
    ...customers.map(({ paidCents }) => paidCents),
    2_000,
  ];
  const inCents = sum(received);
  const feeCents = sum(received.map(feeOf)) + home.feeCents;
  const closingCents = inCents - feeCents - 2_000 - (150_000 - home.feeCents);
  expect((await codes()).map(({ paidCount, paidCents }) => [paidCount, paidCents])).toEqual(
    [open, fixed].map((code) => {
      const own = pix.filter((one) => one.code === code).map(({ amountCents }) => amountCents);
      return [own.length, sum(own)];
    }),
  );
  const pages = await merchant.call('GET', `/static-codes/${fixed.id}/payments?limit=100`);
  const noticed = pages.body.payments.filter((one: { notice?: string }) => one.notice !== undefined);
  expect(noticed.every(({ amountCents }: { amountCents: number }) => amountCents === 1_300)).toBe(true);
  expect(await merchant.balanceCents()).toBe(closingCents);
  expect(await violationsOfBooks(service)).toEqual([]);
  await close(inDays(2));
  const [day] = await service.database.admin<Record<string, string>>(
    'SELECT in_cents, out_cents, fee_cents, refund_cents, closing_cents FROM day_close WHERE chain_id = $1 ORDER BY day DESC LIMIT 1',
    [merchant.operationId],
  );
  expect(day).toEqual({
    in_cents: `${inCents}`,
    out_cents: `${150_000 - home.feeCents}`,
    fee_cents: `${feeCents}`,
    refund_cents: '2000',
    closing_cents: `${closingCents}`,
  });
  const [connection] = await service.database.admin<Record<string, string | null>>(
    'SELECT in_cents, difference_cents, incident_id FROM connection_close ORDER BY day DESC LIMIT 1',
  );
  expect(connection).toEqual({ in_cents: `${inCents}`, difference_cents: '0', incident_id: null });
});
