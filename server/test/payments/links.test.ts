import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargesByLinks } from '../../src/api/links/charge-of-link.ts';
import { createLink, stepLinks } from '../../src/api/links/links.ts';
import type { Caller } from '../../src/ground/caller.ts';
import { ApiError } from '../../src/ground/errors.ts';
import { findLinkPage } from '../../src/kinds/link/link-page.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import { reconcile } from '../../src/operate/reconcile.ts';

/** Links by which payers make charges of their own: what they may cost, sell and bring, at any time and by any payer. */

let service: Service;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

type Link = Record<string, unknown> & { id: string; url: string };

async function newLink(merchant: Merchant, body: object = {}): Promise<Link> {
  const order = { title: 'Curso de cerâmica', amountCents: 2500, requestKey: crypto.randomUUID(), ...body };
  const made = await merchant.call('POST', '/payment-links', order);
  expect(made.body).toMatchObject({ status: 'active', openCount: 0, paidCount: 0 });
  return made.body;
}

const numberOf = (link: Link): number =>
  service.runtime.pages.read(new URL(link.url).pathname.split('/').at(-1) ?? '')?.accountNumber ?? -1;

const cellOf = async (link: Link): Promise<Runtime> =>
  (await service.runtime.cells.ofNumbers([numberOf(link)])).get(numberOf(link)) ?? service.runtime;

let networks = 0;
/** Each payer comes from a network of his own, unless one is named. */
const newNetwork = (): string => `2001:db8:${(++networks).toString(16)}::/48`;

/** @param at the time of the limits; default: now */
const open = async (link: Link, form: object = {}, network = newNetwork(), at?: number) => {
  const cell = await cellOf(link);
  const clock = { ...cell.clock, ...(at !== undefined && { now: () => at }) };
  const fields = { formKey: crypto.randomUUID(), requestId: 'req_payer', ...form };
  return chargesByLinks({ ...cell, clock })({ accountNumber: numberOf(link), id: link.id }, fields, network);
};

const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'made',
    (error) => (error instanceof ApiError ? error.code : String(error)),
  );

const act = (id: string, action: string) =>
  service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/${action}`);

const shown = async (merchant: Merchant, { id }: Link) =>
  (await merchant.call('GET', `/payment-links/${id}`)).body;

const eventsOf = async (merchant: Merchant, type: string): Promise<{ data: { id: string } }[]> =>
  (await merchant.call('GET', `/events?type=${type}`)).body.events;

describe('a payment link', () => {
  test('is made once for a request key, has its page, and is seen by its operation alone', async () => {
    const [merchant, other] = [await service.newMerchant(), await service.newMerchant()];
    const requestKey = crypto.randomUUID();
    const link = await newLink(merchant, { requestKey });
    expect(link.url).toMatch(/\/pay\/[A-Za-z0-9_-]{51}$/);
    const again = await merchant.call('POST', '/payment-links', {
      ...{ title: 'Curso de cerâmica', amountCents: 2500, requestKey },
    });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(link);
    const conflict = await merchant.call('POST', '/payment-links', { title: 'Outro', requestKey });
    expect(conflict.body.code).toBe('idempotency_conflict');
    for (const path of ['', '/payments'])
      expect((await other.call('GET', `/payment-links/${link.id}${path}`)).body.code).toBe(
        'payment_link_not_found',
      );
    expect((await merchant.call('GET', '/payment-links')).body.paymentLinks).toEqual([link]);
  });

  test.each([
    ['an amount beyond the limits of the account', { amountCents: 200_001 }, 'amount_out_of_limits'],
    [
      'bounds in the wrong order',
      { amountCents: undefined, minimumCents: 900, maximumCents: 800 },
      'amount_out_of_limits',
    ],
    ['bounds beside an amount', { minimumCents: 900 }, 'validation_failed'],
    ['a time that is over', { expiresAt: '2020-01-01T00:00:00Z' }, 'validation_failed'],
    ['a page without encryption to go on to', { successUrl: 'http://shop.example' }, 'validation_failed'],
    ['a script to go on to', { successUrl: 'javascript:alert(1)' }, 'validation_failed'],
    ['only one payer', { onlyDocument: '111.444.777-35' }, 'not_offered_by_provider'],
    ['an only payer of wrong check digits', { onlyDocument: '111.444.777-34' }, 'validation_failed'],
    ['a rule for the document that is none', { payerFields: { document: 'maybe' } }, 'validation_failed'],
  ])('with %s is refused and makes nothing', async (_what, body, code) => {
    const merchant = await service.newMerchant();
    const order = { title: 'Curso', amountCents: 2500, requestKey: crypto.randomUUID(), ...body };
    expect((await merchant.call('POST', '/payment-links', order)).body.code).toBe(code);
    expect((await merchant.call('GET', '/payment-links')).body.paymentLinks).toEqual([]);
  });

  test('that was read makes nothing, however often', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant);
    const { sql } = await cellOf(link);
    const pages = await Promise.all(
      Array.from({ length: 100 }, () => findLinkPage(sql, numberOf(link), link.id, Date.now())),
    );
    expect(pages[0]).toMatchObject({
      title: 'Curso de cerâmica',
      amountCents: 2500,
      status: 'active',
      left: null,
    });
    expect((await merchant.call('GET', `/payment-links/${link.id}/payments`)).body.payments).toEqual([]);
  });
});

describe('a charge of a link', () => {
  test('takes amount and merchant from the row, is paid as any charge is, and is counted', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { metadata: { course: 'c1' } });
    const charge = await open(link, { payerName: 'Maria 🌸' });
    expect(charge).toMatchObject({ amountCents: 2500, status: 'pending', paymentLinkId: link.id });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1, paidCount: 0 });
    await act(charge.id, 'pay');
    await until(async () => (await merchant.balanceCents()) === 2500);
    expect(await shown(merchant, link)).toMatchObject({
      openCount: 0,
      paidCount: 1,
      paidCents: 2500,
      status: 'active',
    });
    const { payments } = (await merchant.call('GET', `/payment-links/${link.id}/payments`)).body;
    expect(payments).toMatchObject([{ id: charge.id, paymentLinkId: link.id, metadata: { course: 'c1' } }]);
  });

  test('of another amount than the form may choose is refused', async () => {
    const merchant = await service.newMerchant();
    const fixed = await newLink(merchant);
    expect((await open(fixed, { amountCents: 200 })).amountCents).toBe(2500);
    const chosen = await newLink(merchant, { amountCents: undefined, minimumCents: 500, maximumCents: 900 });
    expect(await codeOf(open(chosen, { amountCents: 499 }))).toBe('amount_out_of_limits');
    expect(await codeOf(open(chosen, { amountCents: 901 }))).toBe('amount_out_of_limits');
    expect(await codeOf(open(chosen))).toBe('amount_out_of_limits');
    expect((await open(chosen, { amountCents: 900 })).amountCents).toBe(900);
  });

  test('is one for a form that is sent again, by reload, by the back button and twice at once', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant);
    const form = { formKey: crypto.randomUUID(), payerName: 'Ana' };
    const made = await Promise.all([open(link, form), open(link, form)]);
    const again = await open(link, form);
    expect(new Set([...made, again].map(({ id }) => id)).size).toBe(1);
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1 });
  });

  test('that expired is replaced by one new charge, whichever tab asks, and one that waits is shown again', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant);
    const old = await open(link);
    expect((await open(link, { replaces: old.id })).id).toBe(old.id);
    await act(old.id, 'expire');
    await until(async () => (await merchant.call('GET', `/payments/${old.id}`)).body.status === 'expired');
    const fresh = await Promise.all([open(link, { replaces: old.id }), open(link, { replaces: old.id })]);
    expect(new Set(fresh.map(({ id }) => id)).size).toBe(1);
    expect(fresh[0]?.id).not.toBe(old.id);
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1 });
    const stranger = await newLink(merchant);
    expect(await codeOf(open(stranger, { replaces: old.id }))).toBe('payment_not_found');
  });

  test('without a name that the link requires is refused', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { payerFields: { name: 'required' } });
    expect(await codeOf(open(link, { payerName: '   ' }))).toBe('payer_name_required');
    expect((await open(link, { payerName: 'Ana' })).payerName).toBe('Ana');
  });
});

describe('the document of a payer', () => {
  const documentOf = async (id: string) => {
    const [row] = await service.database.admin<{ link_payer: Buffer | null; payer_document: string | null }>(
      'SELECT link_payer, payer_document FROM payment WHERE id = $1',
      [id],
    );
    return { sealed: row?.link_payer ?? null, masked: row?.payer_document ?? null };
  };

  test('goes to the provider with the charge, is kept sealed and shown masked', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { payerFields: { document: 'required' } });
    expect(link).toMatchObject({ payerFields: { name: 'optional', document: 'required' } });
    expect(await codeOf(open(link, { payerName: 'Ana' }))).toBe('payer_document_required');
    expect(await codeOf(open(link, { payerDocument: '111.444.777-34' }))).toBe('payer_document_invalid');
    const { id, status } = await open(link, { payerName: 'Ana', payerDocument: '111.444.777-35' });
    expect(status).toBe('pending');
    const { body } = await merchant.call('GET', `/payments/${id}`);
    expect(body.payerDocument).toBe('***.444.777-**');
    expect(JSON.stringify(body)).not.toContain('11144477735');
    const { sealed, masked } = await documentOf(id);
    expect(masked).toBe('***.444.777-**');
    expect(sealed?.includes('11144477735')).toBe(false);
    await act(id, 'pay');
    await until(async () => (await merchant.call('GET', `/payments/${id}`)).body.status === 'paid');
  });

  test('is carried to a new code in the place of an old one', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { payerFields: { document: 'required' } });
    const { id } = await open(link, { payerDocument: '11.222.333/0001-81' });
    await act(id, 'expire');
    await service.database.admin(
      "UPDATE payment SET expires_at = now() - interval '1 minute' WHERE id = $1",
      [id],
    );
    const next = await open(link, { replaces: id });
    expect(next.id).not.toBe(id);
    expect((await documentOf(next.id)).masked).toBe('11.222.***/****-81');
  });

  test('is not kept where the link asks for none, and may be left out where it is optional', async () => {
    const merchant = await service.newMerchant();
    const none = await newLink(merchant);
    const { id } = await open(none, { payerDocument: '111.444.777-35' });
    expect(await documentOf(id)).toEqual({ sealed: null, masked: null });
    const optional = await newLink(merchant, { payerFields: { document: 'optional' } });
    expect((await open(optional)).status).toBe('pending');
  });

  test('is asked for by the page, and a wrong one is shown to its payer with the reason', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { payerFields: { document: 'required' } });
    const path = `${service.url}${new URL(link.url).pathname}`;
    const page = await (await fetch(`${path}?lang=en`)).text();
    expect(page).toMatch(/<input id="document" name="payerDocument"[^>]* required/);
    const form = new URLSearchParams({ method: 'pix', payerDocument: '111.444.777-34' });
    const refused = await fetch(`${path}/charge?lang=en`, { method: 'POST', body: form, redirect: 'manual' });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('This is no valid CPF or CNPJ.');
    form.set('payerDocument', '111.444.777-35');
    const made = await fetch(`${path}/charge?lang=en`, { method: 'POST', body: form, redirect: 'manual' });
    expect(made.status).toBe(303);
    const shownPage = await (await fetch(`${service.url}${made.headers.get('location')}`)).text();
    expect(shownPage).not.toMatch(/444.?777/);
  });
});

describe('the limits of a link', () => {
  test('let no stock be oversold by charges that wait, and complete it with its last payment', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 3 });
    const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(open(link))));
    expect(codes.filter((code) => code === 'made')).toHaveLength(3);
    expect(codes.filter((code) => code === 'payment_link_closed')).toHaveLength(3);
    const { payments } = (await merchant.call('GET', `/payment-links/${link.id}/payments`)).body;
    for (const { id } of payments) await act(id, 'pay');
    await until(async () => (await shown(merchant, link)).status === 'completed');
    expect(await shown(merchant, link)).toMatchObject({ openCount: 0, paidCount: 3, paidCents: 7500 });
    expect((await eventsOf(merchant, 'payment_link.completed')).map(({ data }) => data.id)).toEqual([
      link.id,
    ]);
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toEqual([]);
  });

  test('complete a link whose stock is lowered to what was paid, once and with its event', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 3 });
    const [paid, waiting] = [await open(link), await open(link)];
    await act(paid.id, 'pay');
    await until(async () => (await shown(merchant, link)).paidCount === 1);
    const change = (changes: object) => merchant.call('PATCH', `/payment-links/${link.id}`, changes);
    expect((await change({ maxPayments: 2 })).body.status).toBe('active');
    expect((await change({ maxPayments: 1, status: 'active' })).body.code).toBe('payment_link_closed');
    expect((await change({ maxPayments: 1 })).body).toMatchObject({ status: 'completed', paidCount: 1 });
    expect(await codeOf(open(link))).toBe('payment_link_closed');
    // Its code was given out before: what it brings is booked, and is more than the merchant wants.
    await act(waiting.id, 'pay');
    await until(async () => (await merchant.balanceCents()) === 5000);
    expect((await change({ title: 'Sold' })).body).toMatchObject({ status: 'completed', paidCount: 2 });
    expect(await eventsOf(merchant, 'payment_link.completed')).toHaveLength(1);
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toHaveLength(1);
    expect((await change({ maxPayments: 4, status: 'active' })).body.status).toBe('active');
    expect(await codeOf(open(link))).toBe('made');
  });

  test('book both payers of a link for one payment who pay in the same second, and say that it is overpaid', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 1 });
    const [one, other] = [await open(link), await open(link)];
    await Promise.all([act(one.id, 'pay'), act(other.id, 'pay')]);
    await until(async () => (await merchant.balanceCents()) === 5000);
    expect(await shown(merchant, link)).toMatchObject({
      status: 'completed',
      openCount: 0,
      paidCount: 2,
      paidCents: 5000,
    });
    expect(await eventsOf(merchant, 'payment_link.completed')).toHaveLength(1);
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toHaveLength(1);
    expect(await codeOf(open(link))).toBe('payment_link_closed');
  });

  test('cancel the code of a slower payer once the only payment of the link was made', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 1 });
    const [fast, slow] = [await open(link), await open(link)];
    await act(fast.id, 'pay');
    await until(async () => (await shown(merchant, link)).status === 'completed');
    await until(async () => (await merchant.call('GET', `/payments/${slow.id}`)).body.status === 'failed');
    expect((await merchant.call('GET', `/payments/${slow.id}`)).body.reasonCode).toBe(
      'cancelled_by_merchant',
    );
    expect(await shown(merchant, link)).toMatchObject({ openCount: 0, paidCount: 1 });
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toEqual([]);
  });

  test('cancel a slower code behind many links whose codes no provider cancels', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 1 });
    const [fast, slow] = [await open(link), await open(link)];
    const links = `${service.cellOf(merchant).cell}.payment_link`;
    const [kept] = await service.database.admin<{ row: string }>(
      `SELECT to_jsonb(l)::text AS row FROM ${links} l WHERE id = $1`,
      [link.id],
    );
    await service.database.admin(
      `INSERT INTO ${links} SELECT made.* FROM generate_series(1, 120) n, jsonb_populate_record(NULL::${links}, $1::jsonb || jsonb_build_object(
          'id', '00000000-0000-8000-8000-' || lpad(n::text, 12, '0'), 'status', 'completed', 'open_count', 1, 'paid_count', 1)) AS made`,
      [kept?.row],
    );
    await act(fast.id, 'pay');
    await until(async () => (await merchant.call('GET', `/payments/${slow.id}`)).body.status === 'failed');
    await service.database.admin(
      `DELETE FROM payment_link WHERE id < '00000000-0000-8000-8000-999999999999'`,
    );
  });

  test('allow twenty open charges, whatever the number of networks that ask', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant);
    const codes = await Promise.all(Array.from({ length: 25 }, () => codeOf(open(link))));
    expect(codes.filter((code) => code === 'made')).toHaveLength(20);
    expect(new Set(codes)).toEqual(new Set(['made', 'payment_link_busy']));
    expect(await shown(merchant, link)).toMatchObject({ openCount: 20 });
  });

  test('allow a network ten charges a minute, by the database that all processes share', async () => {
    const merchant = await service.newMerchant();
    const links = await Promise.all(Array.from({ length: 13 }, () => newLink(merchant)));
    const network = newNetwork();
    // In one moment, however slow the machine is: a place comes back every six seconds.
    const at = Date.now();
    const codes = await Promise.all(links.map((link) => codeOf(open(link, {}, network, at))));
    expect(codes.filter((code) => code === 'made')).toHaveLength(10);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(3);
  });

  test('keep the payers of no other network away, however many of one are refused, and say truly when the next one may come', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: null });
    const [bots, payer] = [newNetwork(), newNetwork()];
    const at = Date.now();
    const codes: unknown[] = [];
    for (let round = 0; round < 16; round++)
      codes.push(...(await Promise.all(Array.from({ length: 20 }, () => codeOf(open(link, {}, bots, at))))));
    expect(codes.filter((code) => code === 'made')).toHaveLength(10);
    expect(await codeOf(open(link, {}, payer, at))).toBe('made');
    const refused = await open(link, {}, bots, at).catch((error: ApiError) => error.options);
    const { retryAfterSeconds = 0 } = refused as ApiError['options'];
    expect(retryAfterSeconds).toBe(6);
    expect(await codeOf(open(link, {}, bots, at + 5_900))).toBe('rate_limited');
    expect(await codeOf(open(link, {}, bots, at + retryAfterSeconds * 1_000))).toBe('made');
  });

  test('give each of many payers who come at once a charge of his own link, whatever leads nowhere among them', async () => {
    const one = await service.newMerchant();
    const cell = service.cellOf(one);
    const other = await service.newMerchant(cell);
    const links = [await newLink(one), await newLink(one, { amountCents: 900 }), await newLink(other)];
    const door = chargesByLinks(cell);
    const form = () => ({ formKey: crypto.randomUUID(), requestId: 'req_payer' });
    const places = links.map((link) => ({ accountNumber: numberOf(link), id: link.id }));
    // The link of another account, and one that never was.
    const nowhere = [
      { ...places[0], accountNumber: places[2]?.accountNumber },
      { ...places[0], id: crypto.randomUUID() },
    ];
    const asked = [...places, ...nowhere, ...places] as { accountNumber: number; id: string }[];
    const answers = await Promise.allSettled(asked.map((place) => door(place, form(), newNetwork())));
    expect(
      answers.map((one) =>
        one.status === 'fulfilled' ? [one.value.paymentLinkId, one.value.amountCents] : one.reason.code,
      ),
    ).toEqual([
      ...[
        [links[0]?.id, 2_500],
        [links[1]?.id, 900],
        [links[2]?.id, 2_500],
      ],
      ...['payment_link_not_found', 'payment_link_not_found'],
      ...[
        [links[0]?.id, 2_500],
        [links[1]?.id, 900],
        [links[2]?.id, 2_500],
      ],
    ]);
  });

  test('take none of the places of a network for a form that is refused', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, {
      amountCents: null,
      minimumCents: 500,
      payerFields: { name: 'required' },
    });
    const network = newNetwork();
    for (let at = 0; at < 12; at++) {
      expect(await codeOf(open(link, { amountCents: 700, payerName: '' }, network))).toBe(
        'payer_name_required',
      );
      expect(await codeOf(open(link, { amountCents: 499, payerName: 'Ana' }, network))).toBe(
        'amount_out_of_limits',
      );
    }
    expect(await codeOf(open(link, { amountCents: 700, payerName: 'Ana' }, network))).toBe('made');
  });

  test('end a link that was closed, and let a code that was given out be paid', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant);
    const charge = await open(link);
    await merchant.call('PATCH', `/payment-links/${link.id}`, { status: 'disabled' });
    expect(await codeOf(open(link))).toBe('payment_link_closed');
    await act(charge.id, 'pay');
    await until(async () => (await merchant.balanceCents()) === 2500);
    expect(await shown(merchant, link)).toMatchObject({ status: 'disabled', paidCount: 1 });
    await merchant.call('PATCH', `/payment-links/${link.id}`, { status: 'active' });
    expect(await codeOf(open(link))).toBe('made');
  });

  test('end a link by its time with one event, and book what is paid by a code of its last second', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const charge = await open(link);
    await service.database.admin(
      `UPDATE ${(await cellOf(link)).cell}.payment_link SET expires_at = now() - interval '1 second' WHERE id = $1`,
      [link.id],
    );
    expect(await codeOf(open(link))).toBe('payment_link_closed');
    while (await stepLinks(await cellOf(link)));
    await stepLinks(await cellOf(link));
    expect(await eventsOf(merchant, 'payment_link.expired')).toHaveLength(1);
    await act(charge.id, 'pay');
    await until(async () => (await merchant.balanceCents()) === 2500);
    expect(await shown(merchant, link)).toMatchObject({ status: 'expired', openCount: 0, paidCount: 1 });
  });

  test('answer the repeat of a request with its link also after its end, and make no other that has ended', async () => {
    const merchant = await service.newMerchant();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const order = { title: 'Feira', amountCents: 2_500, expiresAt, requestKey: crypto.randomUUID() };
    const { body: link } = await merchant.call('POST', '/payment-links', order);
    const cell = await cellOf(link);
    const later = { ...cell, clock: { ...cell.clock, now: () => Date.parse(expiresAt) + 1 } };
    const caller: Caller = {
      ...{ accountId: merchant.ownerId, accountNumber: numberOf(link), operationId: merchant.operationId },
      ...{ operationNamed: false, test: false, connection: 'simulator' },
      ...{ keyId: null, permissions: new Set(['charges'] as const), requestId: 'req_again' },
    };
    expect(await createLink(later, caller, order)).toMatchObject({ replayed: true, link: { id: link.id } });
    const another = { ...order, requestKey: crypto.randomUUID() };
    expect(await codeOf(createLink(later, caller, another))).toBe('validation_failed');
  });

  test('come back with a link that a restore has lost, at the same address, and with a charge of it that was paid meanwhile', async () => {
    const merchant = await service.newMerchant();
    const order = { requestKey: crypto.randomUUID(), maxPayments: 1 };
    const link = await newLink(merchant, order);
    const form = { formKey: crypto.randomUUID() };
    await service.simulator.behave({ webhook: 'drop' });
    const charge = await open(link, form);
    const { cell } = await cellOf(link);
    for (const table of ['intent', 'payment', 'payment_link', 'request_key'])
      await service.database.admin(`DELETE FROM ${cell}.${table} WHERE account_id = $1`, [merchant.ownerId]);
    await act(charge.id, 'pay');
    await service.simulator.behave({});
    const { runtime } = service;
    const everyCell = runtime.cells.all().map(({ sql }) => sql);
    await reconcile(runtime, { ...runtime, everyCell, actor: 'tester' }, { accountId: null, sinceMs: null });
    const again = await newLink(merchant, order);
    expect([again.id, again.url]).toEqual([link.id, link.url]);
    expect((await open(again, form)).id).toBe(charge.id);
    await until(async () => (await merchant.balanceCents()) === 2500);
    expect(await shown(merchant, link)).toMatchObject({ status: 'completed', openCount: 0, paidCount: 1 });
  });

  test('leave the link of a charge that the provider removed open for the next payer', async () => {
    const merchant = await service.newMerchant();
    const link = await newLink(merchant, { maxPayments: 2 });
    const charges = [await open(link), await open(link)];
    expect(await codeOf(open(link))).toBe('payment_link_closed');
    await act(charges[0]?.id ?? '', 'remove');
    await until(async () => (await shown(merchant, link)).openCount === 1);
    expect(await codeOf(open(link))).toBe('made');
  });
});

test('Invariants hold over the books of all links, and a wrong count breaks them', async () => {
  expect(await violationsOfBooks(service)).toEqual([]);
  const merchant = await service.newMerchant();
  const link = await newLink(merchant);
  await open(link);
  await service.database.admin(
    `UPDATE ${(await cellOf(link)).cell}.payment_link SET open_count = 0 WHERE id = $1`,
    [link.id],
  );
  const broken = await violationsOfBooks(service, { accountId: merchant.ownerId });
  expect(broken.map(({ number }) => number)).toEqual([68]);
});
