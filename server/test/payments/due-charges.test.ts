import { newPerson } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { providerIdOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stepReminders } from '../../src/api/due-charges/reminders.ts';
import { type Letter, MailRefused } from '../../src/ground/mail.ts';
import { priceOf } from '../../src/ground/money.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { untilDayIsCertain } from '../../src/provider/woovi/woovi-due.ts';

/** Charges with a due date: what pays one may be another amount than asked for, and the provider says which. */

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(async () => {
  expect(await violations(service)).toEqual([]);
  await service.close();
});

const dayMs = 24 * 3_600_000;
/** A day of Brasília, so many days from now. */
const inDays = (days: number): string =>
  new Date(Date.now() - 3 * 3_600_000 + days * dayMs).toISOString().slice(0, 10);
/** A Tuesday in a week without holidays of banks, whenever this runs. */
const tuesday = (() => {
  for (let days = 40; ; days++) {
    const day = inDays(days);
    const month = day.slice(5, 7);
    // July and August have none.
    if (new Date(day).getUTCDay() === 2 && (month === '07' || month === '08') && day.slice(8) < '20')
      return day;
  }
})();
const after = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);

const payer = {
  name: 'Maria Silva',
  document: '111.444.777-35',
  address: { street: 'Rua A, 1', city: 'Recife', state: 'PE', postalCode: '50030000' },
};
const terms = {
  dueDate: tuesday,
  fine: { type: 'percent', value: 200 },
  interest: { type: 'percent_month', value: 300, days: 'calendar' },
  discounts: [{ until: after(tuesday, -5), type: 'fixed', value: 500 }],
};

const ask = (merchant: Merchant, fields: object = {}) =>
  merchant.call('POST', '/pix/due-charges', {
    ...{ amountCents: 10_000, payer, description: 'Mensalidade', requestKey: crypto.randomUUID() },
    ...terms,
    ...fields,
  });
const charged = async (merchant: Merchant, fields?: object): Promise<string> => {
  const { status, body } = await ask(merchant, fields);
  expect([status, body.status]).toEqual([201, 'pending']);
  return body.id;
};
const pay = (id: string, body: object) =>
  service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`, body);
const paid = async (merchant: Merchant, id: string, body: object) => {
  expect((await pay(id, body)).status).toBe(200);
  await until(async () => (await statusOf(service, id)) === 'paid');
  return (await merchant.call('GET', `/payments/${id}`)).body;
};
const incidentsOf = (merchant: Merchant) =>
  service.database.admin<{ kind: string; amount_cents: string }>(
    'SELECT kind, amount_cents FROM incident WHERE account_id = $1 ORDER BY opened_at',
    [merchant.ownerId],
  );

describe('A due-date charge', () => {
  test('goes to the provider with its terms and its payer, and shows them with the document masked', async () => {
    const merchant = await service.newMerchant();
    const { body } = await ask(merchant, { rebate: { type: 'fixed', value: 100 }, validAfterDue: 10 });
    expect(body).toMatchObject({
      ...{ kind: 'deposit', status: 'pending', amountCents: 10_000, dueDate: tuesday },
      dueTerms: {
        ...{ validAfterDue: 10, payerDocument: '***.444.777-**', fine: terms.fine, interest: terms.interest },
        ...{ discounts: terms.discounts, rebate: { type: 'fixed', value: 100 } },
      },
    });
    expect(body.copyPaste).toMatch(/^000201/);
    const page = await (await fetch(`${service.url}${new URL(body.payerUrl).pathname}?lang=en`)).text();
    expect(page).toContain(tuesday.split('-').reverse().join('/'));
    expect(page).toContain('It can still be paid for 10 days after that.');
    expect(page).not.toContain('id="left"');
    // Weekends, and two days for holidays of the payer's town: not before the last day is certainly over.
    expect(Date.parse(body.expiresAt)).toBeGreaterThan(Date.parse(after(tuesday, 11)));
    expect(Date.parse(body.expiresAt)).toBeLessThan(Date.parse(after(tuesday, 16)));
    expect(JSON.stringify(body)).not.toContain('11144477735');
    const [row] = await service.database.admin<{ due: object; payer: Buffer }>(
      'SELECT due, payer FROM payment WHERE id = $1',
      [body.id],
    );
    expect(JSON.stringify(row?.due)).not.toContain('11144477735');
    expect(row?.payer.includes('11144477735')).toBe(false);
  });

  test.each([
    ['five days early takes its discount off', -5, 9_500, { discountCents: 500 }],
    ['on its day is paid as asked', 0, 10_000, {}],
    ['ten days late brings fine and interest', 10, 10_300, { fineCents: 200, interestCents: 100 }],
  ])('%s, by the provider’s word with its parts', async (_name, days, amountCents, part) => {
    const merchant = await service.newMerchant();
    await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, {
      ...{ depositFeeCents: 10, depositFeeBps: 100 },
    });
    await service.simulator.behave({ components: 'sent' });
    const id = await charged(merchant);
    const body = await paid(merchant, id, { on: after(tuesday, days) });
    const feeCents = 10 + amountCents / 100;
    const none = { fineCents: 0, interestCents: 0, discountCents: 0, rebateCents: 0 };
    expect(body).toMatchObject({
      ...{ amountCents: 10_000, originalAmountCents: 10_000, amountPaidCents: amountCents },
      ...{ feeCents: 110, providerFeeCents: feeCents, netAmountCents: amountCents - feeCents },
      components: { ...none, ...part },
    });
    expect(await merchant.balanceCents()).toBe(amountCents - feeCents);
    expect(await incidentsOf(merchant)).toEqual([]);
    await service.simulator.behave({});
  });

  test.each([
    ['on Monday', 2, 10_000],
    ['on Tuesday', 3, 10_203],
  ])(
    'due on a Saturday and paid %s is paid by the day to which its bank moves it',
    async (_name, days, amountCents) => {
      const merchant = await service.newMerchant();
      const saturday = after(tuesday, 4);
      const id = await charged(merchant, {
        dueDate: saturday,
        interest: { type: 'percent_day', value: 3, days: 'calendar' },
      });
      expect(await paid(merchant, id, { on: after(saturday, days) })).toMatchObject({
        ...{ originalAmountCents: 10_000, amountPaidCents: amountCents, netAmountCents: amountCents },
      });
    },
  );

  test('whose dispute cannot be read holds all that its Pix brought, interest included', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    await paid(merchant, id, { on: after(tuesday, 10) });
    await service.simulator.behave({ lists: 'odd-items' });
    const made = await service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/dispute`, {
      amountCents: 5_000,
    });
    expect(made.status).toBe(200);
    await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
    const disputes = async () => (await merchant.call('GET', '/disputes')).body.disputes;
    await until(async () => (await disputes()).length > 0);
    expect(await disputes()).toMatchObject([{ status: 'open', heldCents: 10_300 }]);
    expect(await merchant.balanceCents()).toBe(0);
    await service.simulator.behave({});
  });

  test('is paid by its amount alone where the provider reports no parts, and gives back all of it', async () => {
    const merchant = await service.newMerchant();
    const id = await charged(merchant);
    const body = await paid(merchant, id, { on: after(tuesday, 10) });
    expect(body).toMatchObject({ amountPaidCents: 10_300, netAmountCents: 10_300 });
    expect(body).not.toHaveProperty('components');
    const receipt = await fetch(`${service.url}${new URL(body.payerUrl).pathname}?lang=en`);
    expect(await receipt.text()).toContain('R$ 103,00');
    const refund = (amountCents: number) =>
      merchant.call('POST', `/payments/${id}/refunds`, { amountCents, requestKey: crypto.randomUUID() });
    expect((await refund(10_301)).body.code).toBe('refund_exceeds');
    expect((await refund(10_300)).status).toBe(201);
    await until(async () => (await merchant.balanceCents()) === 0);
  });

  test('that is paid with what its terms never lead to stops for a person, and so do parts that do not add up, beside the credited money', async () => {
    const merchant = await service.newMerchant();
    const [most, tooMuch, unfit] = [
      await charged(merchant),
      await charged(merchant),
      await charged(merchant),
    ];
    // 2 %, 3 % a month for thirty days and ten that holidays may add, and a cent of rounding for each of these.
    await paid(merchant, most, { amountCents: 10_640 });
    await pay(tooMuch, { amountCents: 10_641 });
    await service.simulator.behave({ components: 'sent' });
    // The parts of its day, and one cent beside them.
    await pay(unfit, { on: after(tuesday, 10), amountCents: 10_301 });
    await service.simulator.behave({});
    await until(async () => (await incidentsOf(merchant)).length === 2);
    expect(await incidentsOf(merchant)).toEqual([
      { kind: 'amount_mismatch', amount_cents: '10641' },
      { kind: 'report_mismatch', amount_cents: '10301' },
    ]);
    const { body } = await merchant.call('GET', `/payments/${unfit}`);
    expect(body).toMatchObject({ status: 'paid', amountPaidCents: 10_301 });
    expect(body).not.toHaveProperty('components');
    expect(await merchant.balanceCents()).toBe(10_640 + body.netAmountCents);
  });

  test('is found by its own call when its delivery is lost, and is over only when its last day is', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.behave({ webhook: 'drop' });
    const [seen, over] = [await charged(merchant), await charged(merchant)];
    await pay(seen, { on: after(tuesday, 2) });
    await service.simulator.control('POST', `/control/charges/${providerIdOf(over)}/expire`);
    await service.simulator.behave({});
    await service.database.admin('UPDATE intent SET due_at = $2 WHERE payment_id = ANY ($1::uuid[])', [
      [seen, over],
      new Date(Date.now() - 1_000).toISOString(),
    ]);
    await until(async () => (await statusOf(service, seen)) === 'paid');
    await until(async () => (await statusOf(service, over)) === 'expired');
  });

  test('that a restore has lost and that was paid with a fine is posted by its repeat, and its money leaves suspense', async () => {
    const merchant = await service.newMerchant();
    const { runtime } = service;
    await service.simulator.behave({ webhook: 'drop' });
    const requestKey = crypto.randomUUID();
    const id = await charged(merchant, { requestKey });
    for (const table of ['intent', 'charge_reminder'])
      await service.database.admin(`DELETE FROM ${table} WHERE payment_id = $1`, [id]);
    await service.database.admin('DELETE FROM payment WHERE id = $1', [id]);
    await pay(id, { on: after(tuesday, 2) });
    const operator = {
      ...{ ...runtime, everyCell: runtime.cells.all().map(({ sql }) => sql), actor: 'tester' },
    };
    await reconcile(runtime, operator, { accountId: null, sinceMs: null });
    const [incident] = (await listIncidents(runtime, null)).filter(
      ({ detail }) => (detail as { named?: string }).named === id,
    );
    expect(incident).toMatchObject({ kind: 'unmatched', state: 'open' });
    const cents = incident?.amountCents ?? 0;
    expect(cents).toBeGreaterThan(10_000);
    const again = await ask(merchant, { requestKey });
    expect([again.status, again.body.id]).toEqual([201, id]);
    await until(async () => (await statusOf(service, id)) === 'paid');
    expect(await merchant.balanceCents()).toBe(cents);
    // One Pix, one booking: what a person credits is taken out of suspense, and not given again.
    await resolveIncident(operator, incident?.id ?? '', { action: 'credit', reason: 'it was repeated' });
    expect(await merchant.balanceCents()).toBe(cents);
    const suspense = await service.database.admin<{ sum: string }>(
      'SELECT coalesce(sum(suspense), 0)::text AS sum FROM journal WHERE account_id = subject',
    );
    expect(suspense).toEqual([{ sum: '0' }]);
    await service.simulator.behave({});
  });

  test('is cancelled at the provider, and a repeat of its key is the same charge', async () => {
    const merchant = await service.newMerchant();
    const requestKey = crypto.randomUUID();
    const first = await ask(merchant, { requestKey });
    const again = await ask(merchant, { requestKey, payer: { ...payer, document: '11144477735' } });
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    const other = await ask(merchant, { requestKey, dueDate: after(tuesday, 1) });
    expect(other.body.code).toBe('idempotency_conflict');
    const cancelled = await merchant.call('POST', `/payments/${first.body.id}/cancel`);
    expect(cancelled.body).toMatchObject({ status: 'failed', reasonCode: 'cancelled_by_merchant' });
    expect((await pay(first.body.id, {})).status).toBe(409);
  });

  test.each([
    ['a due date that is over', { dueDate: inDays(-1) }, 'due_date_out_of_range'],
    ['a day that no month has', { dueDate: '2027-02-30' }, 'due_date_out_of_range'],
    [
      'a discount behind the due date',
      { discounts: [{ until: after(tuesday, 1), type: 'fixed', value: 1 }] },
      'due_terms_invalid',
    ],
    ['a rebate of everything', { rebate: { type: 'percent', value: 10_000 } }, 'due_terms_invalid'],
    [
      'a document with wrong check digits',
      { payer: { ...payer, document: '11144477734' } },
      'validation_failed',
    ],
    ['a payer without a document', { payer: { name: 'Maria' } }, 'validation_failed'],
    ['reminders to a payer without a mail address', { reminders: true }, 'validation_failed'],
    [
      'a second address in the mail address',
      { payer: { ...payer, email: 'a<maria@loja.example>' } },
      'validation_failed',
    ],
    ['a part of no type', { fine: { type: 'daily', value: 1 } }, 'validation_failed'],
    ['a description that the provider would cut', { description: 'x'.repeat(141) }, 'validation_failed'],
  ])('with %s is refused and nothing is recorded', async (_name, fields, code) => {
    const merchant = await service.newMerchant();
    const { status, body } = await ask(merchant, fields);
    expect([status, body.code]).toEqual([400, code]);
    expect((await merchant.call('GET', '/payments')).body.payments).toEqual([]);
  });
});

// Nothing goes out there within a minute of midnight.
describe.skipIf(untilDayIsCertain(Date.now()) > 0)('A due-date charge at Woovi', () => {
  let woovi: Service;
  beforeAll(async () => {
    woovi = await openService({ dialect: 'woovi' });
  });
  afterAll(async () => {
    expect(await violations(woovi)).toEqual([]);
    await woovi.close();
  });
  const offered = {
    interest: { type: 'percent_day', value: 10, days: 'calendar' },
    payer: { ...payer, address: { ...payer.address, neighborhood: 'Boa Vista' } },
  };

  test('is paid late by the amount that Woovi computes', async () => {
    const merchant = await woovi.newMerchant();
    const { status, body } = await ask(merchant, offered);
    expect([status, body.status]).toEqual([201, 'pending']);
    expect(body.copyPaste).toMatch(/^000201/);
    await woovi.simulator.control('POST', `/control/charges/${providerIdOf(body.id)}/pay`, {
      on: after(tuesday, 10),
    });
    await until(async () => (await statusOf(woovi, body.id)) === 'paid');
    const shown = (await merchant.call('GET', `/payments/${body.id}`)).body;
    // 2 % once and 0.10 % for each of ten days.
    expect(shown).toMatchObject({ originalAmountCents: 10_000, amountPaidCents: 10_300 });
    expect(shown).not.toHaveProperty('components');
    expect(await merchant.balanceCents()).toBe(shown.netAmountCents);
  });

  test.each([
    ['interest by the month', { interest: terms.interest }, 'not_offered_by_provider'],
    [
      'interest in cents',
      { interest: { type: 'fixed_day', value: 5, days: 'calendar' } },
      'not_offered_by_provider',
    ],
    ['a rebate', { rebate: { type: 'fixed', value: 100 } }, 'not_offered_by_provider'],
    [
      'a discount on the due date',
      { discounts: [{ until: tuesday, type: 'fixed', value: 500 }] },
      'not_offered_by_provider',
    ],
    ['an address without its district', { payer }, 'pending'],
    ['no address at all', { payer: { name: payer.name, document: payer.document } }, 'validation_failed'],
  ])(
    'with %s is refused before anything is recorded, or goes out as it is meant',
    async (_name, fields, ends) => {
      const merchant = await woovi.newMerchant();
      const { body } = await ask(merchant, { ...offered, ...fields });
      expect(body.code ?? body.status).toBe(ends);
      if (ends === 'validation_failed')
        expect(body.details).toEqual([{ field: 'payer.address', code: 'required' }]);
      const { payments } = (await merchant.call('GET', '/payments')).body;
      expect(payments).toHaveLength(ends === 'pending' ? 1 : 0);
    },
  );

  test('keeps its terms, and can be cancelled', async () => {
    const merchant = await woovi.newMerchant();
    const { body } = await ask(merchant, offered);
    const change = await merchant.call('PATCH', `/pix/due-charges/${body.id}`, { amountCents: 9_000 });
    expect([change.status, change.body.code]).toEqual([400, 'not_offered_by_provider']);
    const cancelled = await merchant.call('POST', `/payments/${body.id}/cancel`);
    expect(cancelled.body).toMatchObject({ status: 'failed', reasonCode: 'cancelled_by_merchant' });
  });
});

describe('A reminder of a due-date charge', () => {
  /** Nine in the morning of Brasília, so many days from the due date, and a moment later. */
  const morning = (days: number): number => Date.parse(`${after(tuesday, days)}T12:00:01Z`);
  const hourMs = 3_600_000;
  /** Another one of each merchant, so that a test sees its own mails. */
  const addressOf = ({ ownerId }: Merchant): string => `Maria@${ownerId}.example`;
  const reminded = (merchant: Merchant, email = addressOf(merchant)) =>
    charged(merchant, { payer: { ...payer, email }, reminders: true });
  /** A test account reminds its own people alone. */
  async function someone(): Promise<Merchant> {
    const merchant = await service.newMerchant();
    await newPerson(service, merchant.ownerId, addressOf(merchant).toLowerCase(), 'viewer');
    return merchant;
  }

  /** The mails of one round of the worker at a moment; it reads the clock nowhere else, so the rounds of the running service find nothing. */
  async function mailsAt(merchant: Merchant, now: number, send = async (_: Letter) => {}): Promise<Letter[]> {
    const letters: Letter[] = [];
    const runtime = service.cellOf(merchant);
    const deps = {
      ...runtime,
      clock: { ...runtime.clock, now: () => now },
      mail: {
        send: async (letter: Letter) => {
          if (letter.to?.toLowerCase() !== addressOf(merchant).toLowerCase()) return;
          await send(letter);
          letters.push(letter);
        },
      },
    };
    while (await stepReminders(deps));
    return letters;
  }
  const pathIn = (url: string | undefined): string => new URL(url ?? '').pathname;

  test('that is under way leaves what was planned meanwhile: another day, or no mail any more', async () => {
    const merchant = await someone();
    const id = await reminded(merchant);
    const planned = async () =>
      (
        await service.database.admin('SELECT due_at, sent_count FROM charge_reminder WHERE payment_id = $1', [
          id,
        ])
      )[0];
    for (const [sent, due_at] of [
      [1, new Date(morning(20))],
      [2, null],
    ] as const) {
      await mailsAt(merchant, morning(sent === 1 ? -3 : 20), async () => {
        await service.database.admin('UPDATE charge_reminder SET due_at = $2 WHERE payment_id = $1', [
          id,
          due_at,
        ]);
      });
      expect(await planned()).toEqual({ due_at, sent_count: sent });
    }
  });

  test('goes to the payer of an open charge alone, three times, and never to one that is paid or about to be cancelled', async () => {
    const merchant = await someone();
    const open = await reminded(merchant);
    const [settled, over] = [await reminded(merchant), await reminded(merchant)];
    await charged(merchant, { payer: { ...payer, email: addressOf(merchant) } });
    await paid(merchant, settled, { on: tuesday });
    await merchant.call('POST', `/payments/${over}/cancel`);
    const { body } = await merchant.call('GET', `/payments/${open}`);
    expect(body.dueTerms.reminders).toBe(true);
    expect(await mailsAt(merchant, morning(-3) - 2_000)).toEqual([]);
    const [first, ...others] = await mailsAt(merchant, morning(-3));
    expect(others).toEqual([]);
    const day = tuesday.split('-').reverse().join('/');
    expect(first).toMatchObject({
      to: addressOf(merchant),
      'pt-BR': { subject: `[teste] ${priceOf(10_000)} vence em ${day}` },
      en: { subject: `[test] ${priceOf(10_000)} due on ${day}` },
    });
    expect(first?.['pt-BR'].text).toContain(`Pagar: ${body.payerUrl}\n`);
    expect(JSON.stringify(first)).not.toMatch(/444|Mensalidade/);
    expect(await mailsAt(merchant, morning(-3))).toEqual([]);
    expect((await mailsAt(merchant, morning(0)))[0]?.['pt-BR'].subject).toContain('vence hoje');
    expect((await mailsAt(merchant, morning(3)))[0]?.['pt-BR'].subject).toContain('venceu em');
    expect(await mailsAt(merchant, morning(300))).toEqual([]);
  });

  test('of an account that was shut off is not sent, and a test account reminds its own people alone', async () => {
    const merchant = await someone();
    await reminded(merchant);
    const enabled = (on: boolean) =>
      service.cellOf(merchant).sql.run(
        {
          name: 'account_enabled',
          text: 'UPDATE account SET enabled = $2 WHERE id = $1',
        },
        [merchant.ownerId, on],
      );
    await enabled(false);
    expect(await mailsAt(merchant, morning(-3))).toEqual([]);
    await enabled(true);
    const stranger = await service.newMerchant();
    await reminded(stranger);
    expect(await mailsAt(stranger, morning(-3))).toEqual([]);
  });

  test('is tried again on its day while the mail server cannot take it, and no more where that does not know the address', async () => {
    const merchant = await someone();
    await reminded(merchant);
    const refuses = (code: number) => () => Promise.reject(new MailRefused(code, 'RCPT TO', ''));
    // None of these is one of the six.
    for (let tries = 0; tries < 8; tries++)
      expect(await mailsAt(merchant, morning(-3) + tries * 31 * 60_000, refuses(451))).toEqual([]);
    expect(await mailsAt(merchant, morning(-3) + 5 * hourMs)).toHaveLength(1);
    expect(await mailsAt(merchant, morning(-3) + 6 * hourMs)).toEqual([]);
    expect(await mailsAt(merchant, morning(0), refuses(550))).toEqual([]);
    expect(await mailsAt(merchant, morning(0) + 5 * hourMs)).toEqual([]);
    expect(await mailsAt(merchant, morning(3))).toHaveLength(1);
  });

  test('is one of six at once to one address; the next one waits', async () => {
    const merchant = await someone();
    for (let at = 0; at < 7; at++) await reminded(merchant);
    expect(await mailsAt(merchant, morning(-3))).toHaveLength(6);
    expect(await mailsAt(merchant, morning(-3) + 1.1 * hourMs)).toEqual([]);
    expect(await mailsAt(merchant, morning(-3) + 5 * hourMs)).toHaveLength(1);
  });

  test('has a link by which its payer ends those of the merchant: a GET of it changes nothing, a press or the mail program does', async () => {
    const merchant = await someone();
    await reminded(merchant);
    const [letter] = await mailsAt(merchant, morning(-3));
    const path = pathIn(letter?.unsubscribe);
    const page = await fetch(`${service.url}${path}?lang=en`);
    const text = await page.text();
    expect([page.status, text.includes('No more reminders?'), text.includes('Maria')]).toEqual([
      200,
      true,
      false,
    ]);
    const stops = () =>
      service.database.admin<{ address: Buffer }>('SELECT address FROM reminder_stop WHERE account_id = $1', [
        merchant.ownerId,
      ]);
    expect(await stops()).toEqual([]);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    for (const body of [form, new URLSearchParams('List-Unsubscribe=One-Click')]) {
      const done = await fetch(`${service.url}${path}`, { method: 'POST', body });
      expect([done.status, (await done.text()).includes('Pronto, sem lembretes')]).toEqual([200, true]);
    }
    expect(await stops()).toHaveLength(1);
    expect(await mailsAt(merchant, morning(0))).toEqual([]);
    // Nor of a later charge, whose mail is written in other letters.
    await reminded(merchant, addressOf(merchant).toUpperCase());
    expect(await mailsAt(merchant, morning(-3))).toEqual([]);
    // Another merchant is another matter.
    const other = await someone();
    await reminded(other);
    expect(await mailsAt(other, morning(-3))).toHaveLength(1);
    // An address of another page is none of it.
    const { body } = await merchant.call('GET', '/payments');
    const { payerUrl } = (await merchant.call('GET', `/payments/${body.payments[0].id}`)).body;
    expect((await fetch(`${service.url}${pathIn(payerUrl)}`, { method: 'POST' })).status).toBe(404);
  });
});
