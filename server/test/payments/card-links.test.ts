import { type Merchant, openService, type Service, simulatorAt, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { createConnection } from '../../src/operate/connections/connections.ts';

/** Links whose payers choose between Pix and card: what each makes, what counts as the payment of the link, and what two ways of one payer become. */

let service: Service;

beforeAll(async () => {
  service = await openService();
  const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
  for (const [name, adapter] of [
    ['cartoes', 'stripe-checkout'],
    ['parcelas', 'asaas-checkout'],
  ] as const) {
    await createConnection(
      { ...service.runtime, actor: 'tester', config },
      { ...{ name, adapter, mode: 'shared', url: null, credentials: null, simulated: true } },
    );
    await until(async () => service.runtime.providers.has(name));
  }
});
afterAll(() => service?.close());

const acquirer = () => simulatorAt(`${service.simulator.url}/stripe`);
beforeEach(async () => {
  await service.database.admin('DELETE FROM breaker');
  await acquirer().behave({});
});

const agree = (merchant: Merchant, conditions: object) =>
  setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, conditions);

async function shop(conditions: object = {}): Promise<Merchant> {
  const merchant = await service.newMerchant();
  const card = { cardConnection: 'cartoes', cardFeeCents: 39, cardFeeBps: 399, minimumCardCents: 500 };
  await agree(merchant, { ...card, ...conditions });
  return merchant;
}

interface Link {
  id: string;
  path: string;
}

const ask = (merchant: Merchant, fields: object) =>
  merchant.call('POST', '/payment-links', {
    ...{ title: 'Curso de cerâmica', amountCents: 10_000, methods: ['pix', 'card'] },
    requestKey: crypto.randomUUID(),
    ...fields,
  });

async function newLink(merchant: Merchant, fields: object = {}): Promise<Link> {
  const { status, body } = await ask(merchant, fields);
  expect({ status, body }).toMatchObject({ status: 201 });
  return { id: body.id, path: new URL(body.url).pathname };
}

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
type Answer = { status: number; body: any };

async function send({ path }: Link, body: object): Promise<Answer> {
  // Each payer comes from a network of his own.
  await service.database.admin(`DELETE FROM rate_bucket WHERE id LIKE 'link-1-network %'`);
  const answer = await fetch(`${service.url}${path}/charge`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

async function made(link: Link, method: 'pix' | 'card', fields: object = {}): Promise<string> {
  const { status, body } = await send(link, { method, ...fields });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.id;
}

const open = async (path: string, language = 'pt-BR'): Promise<string> =>
  (await fetch(`${service.url}${path}?lang=${language}`)).text();

const pathOfCharge = (merchant: Merchant, link: Link, id: string): string => {
  const number = service.runtime.pages.read(link.path.split('/').at(-1) ?? '')?.accountNumber ?? -1;
  expect(merchant.ownerId).toBeTruthy();
  return service.runtime.pages.of('charge', number, id).slice(service.runtime.pages.base.length);
};

const control = async (what: 'cards' | 'charges', id: string, action: string, fields: object = {}) => {
  const path = `/control/${what}/${id.replaceAll('-', '')}/${action}`;
  const { status, body } = await service.simulator.control('POST', path, fields);
  expect({ action, status, body }).toMatchObject({ status: 200 });
};
const card = (id: string, action: string, fields: object = {}) => control('cards', id, action, fields);
const payCode = (id: string) => control('charges', id, 'pay');

const payment = async (merchant: Merchant, id: string) =>
  (await merchant.call('GET', `/payments/${id}`)).body;
const becomes = (merchant: Merchant, id: string, what: object) =>
  expect.poll(() => payment(merchant, id), { interval: 50 }).toMatchObject(what);
const shown = async (merchant: Merchant, { id }: Link) =>
  (await merchant.call('GET', `/payment-links/${id}`)).body;
const linkBecomes = (merchant: Merchant, link: Link, what: object) =>
  expect.poll(() => shown(merchant, link), { interval: 50 }).toMatchObject(what);
const chargesOf = async (
  merchant: Merchant,
  { id }: Link,
): Promise<{ id: string; paymentMethod: string }[]> =>
  (await merchant.call('GET', `/payment-links/${id}/payments`)).body.payments;
const eventsOf = async (merchant: Merchant, type: string): Promise<{ data: { id: string } }[]> =>
  (await merchant.call('GET', `/events?type=${type}`)).body.events;

describe('The methods of a link', () => {
  test('are Pix alone unless others are named, stand in one order, and are of the request', async () => {
    const merchant = await shop();
    const requestKey = crypto.randomUUID();
    const plain = await ask(merchant, { methods: undefined, requestKey });
    expect(plain.body.methods).toEqual(['pix']);
    const named = await ask(merchant, { methods: ['pix'], requestKey });
    expect([named.body.id, named.headers.get('idempotent-replayed')]).toEqual([plain.body.id, 'true']);
    expect((await ask(merchant, { requestKey })).body.code).toBe('idempotency_conflict');
    const key = crypto.randomUUID();
    const both = await ask(merchant, { methods: ['card', 'pix'], requestKey: key });
    expect(both.body.methods).toEqual(['pix', 'card']);
    const again = await ask(merchant, { methods: ['pix', 'card'], requestKey: key });
    expect(again.body).toEqual(both.body);
    expect((await ask(merchant, { methods: ['card'], requestKey: key })).body.code).toBe(
      'idempotency_conflict',
    );
    expect((await ask(merchant, { methods: ['card'] })).body.methods).toEqual(['card']);
  });

  test.each([
    ['no method', { methods: [] }, 400, 'validation_failed'],
    ['a method that is none', { methods: ['boleto'] }, 400, 'validation_failed'],
    ['three of them', { methods: ['pix', 'card', 'pix'] }, 400, 'validation_failed'],
    ['an amount below the least by card', { amountCents: 499 }, 400, 'amount_out_of_limits'],
    [
      'an amount beyond the greatest by card',
      { amountCents: 90_001, methods: ['card'] },
      400,
      'amount_out_of_limits',
    ],
    [
      'bounds that leave no amount by card',
      { amountCents: null, minimumCents: 200, maximumCents: 499 },
      400,
      'amount_out_of_limits',
    ],
    [
      'bounds beyond those of its only method',
      { amountCents: null, minimumCents: 100, methods: ['card'] },
      400,
      'amount_out_of_limits',
    ],
  ])('refuse a link with %s', async (_what, fields, status, code) => {
    const merchant = await shop({ maximumCardCents: 90_000 });
    expect(await ask(merchant, fields)).toMatchObject({ status, body: { code } });
    expect((await merchant.call('GET', '/payment-links')).body.paymentLinks).toEqual([]);
  });

  test('need an account that takes cards, and a fee below the amount', async () => {
    const merchant = await service.newMerchant();
    for (const methods of [['card'], ['pix', 'card']])
      expect(await ask(merchant, { methods })).toMatchObject({
        ...{ status: 403, body: { statusCode: 403, code: 'card_not_enabled' } },
      });
    await agree(merchant, { cardConnection: 'cartoes', cardFeeCents: 600, minimumCardCents: 500 });
    expect((await ask(merchant, { amountCents: 600 })).body.code).toBe('amount_below_fee');
    expect((await ask(merchant, { amountCents: 600, methods: ['pix'] })).status).toBe(201);
    const typed = await ask(merchant, { amountCents: null });
    expect(typed.body).toMatchObject({ minimumCents: 200, maximumCents: 200_000 });
  });
});

describe.each([['cartoes'], ['parcelas']])('A payment by card of a link (%s)', (cardConnection) => {
  test('is a checkout of the account, counted as the payment of the link, refunded, and charged back', async () => {
    const merchant = await shop({ cardConnection });
    const link = await newLink(merchant, { metadata: { course: 'c1' }, maxPayments: 2 });
    const answer = await send(link, { method: 'card', payerName: 'Maria Silva' });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        ...{ method: 'card', status: 'pending', amountCents: 10_000, copyPaste: null, qrCodeBase64: null },
        ...{ checkoutUrl: expect.stringContaining('/pay/'), payerUrl: expect.stringContaining('/pay/') },
      },
    });
    const { id } = answer.body;
    expect(await payment(merchant, id)).toMatchObject({
      ...{ paymentMethod: 'card', paymentLinkId: link.id, feeCents: 438, metadata: { course: 'c1' } },
    });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1, paidCount: 0 });
    const there = await fetch(new URL(answer.body.checkoutUrl).pathname.replace(/^/, service.url), {
      redirect: 'manual',
    });
    expect(there.status).toBe(303);
    await card(id, 'refuse');
    await becomes(merchant, id, { card: { status: 'refused' } });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1, paidCount: 0 });
    await card(id, 'approve');
    await becomes(merchant, id, { status: 'paid', cardSettlementStatus: 'held' });
    const counted = { openCount: 0, paidCount: 1, paidCents: 10_000, status: 'active' };
    expect(await shown(merchant, link)).toMatchObject(counted);

    const refund = { requestKey: crypto.randomUUID(), amountCents: 3_000 };
    expect((await merchant.call('POST', `/payments/${id}/refunds`, refund)).status).toBe(201);
    await becomes(merchant, id, { refundedCents: 3_000 });
    await card(id, 'release');
    await becomes(merchant, id, { cardSettlementStatus: 'available' });
    // A refund of a link for several payments gives its place to no other payer.
    expect(await shown(merchant, link)).toMatchObject(counted);

    const other = await made(link, 'card');
    await card(other, 'approve');
    await linkBecomes(merchant, link, { status: 'completed', paidCount: 2, paidCents: 20_000 });
    expect((await eventsOf(merchant, 'payment_link.completed')).map(({ data }) => data.id)).toEqual([
      link.id,
    ]);
    await card(other, 'chargeback');
    await expect
      .poll(async () => (await merchant.call('GET', '/disputes')).body.disputes)
      .toMatchObject([{ paymentId: other, status: 'open' }]);
    expect(await shown(merchant, link)).toMatchObject({ paidCount: 2, paidCents: 20_000, openCount: 0 });
    expect(await violationsOfBooks(service, { accountId: merchant.ownerId })).toEqual([]);
  });
});

describe('The choice of a payer', () => {
  test('makes one charge of a form and a method, and another of the other method', async () => {
    const merchant = await shop();
    const link = await newLink(merchant);
    const formKey = crypto.randomUUID();
    const both = await Promise.all([made(link, 'card', { formKey }), made(link, 'card', { formKey })]);
    expect(new Set(both).size).toBe(1);
    const code = await made(link, 'pix', { formKey });
    expect(code).not.toBe(both[0]);
    expect(await made(link, 'pix', { formKey })).toBe(code);
    expect((await chargesOf(merchant, link)).map(({ paymentMethod }) => paymentMethod).sort()).toEqual([
      ...['card', 'pix'],
    ]);
  });

  test('of a method that the link does not take is refused and makes nothing', async () => {
    const merchant = await shop();
    const [pix, only] = [
      await newLink(merchant, { methods: ['pix'] }),
      await newLink(merchant, { methods: ['card'] }),
    ];
    for (const [link, method] of [
      [pix, 'card'],
      [only, 'pix'],
      [only, 'boleto'],
      [only, 7],
    ] as const)
      expect(await send(link, { method })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      });
    const form = new URLSearchParams({ method: 'boleto' });
    const answer = await fetch(`${service.url}${only.path}/charge`, { method: 'POST', body: form });
    expect(answer.status).toBe(400);
    for (const link of [pix, only]) expect(await chargesOf(merchant, link)).toEqual([]);
  });

  test('is on the page with its bounds, in both languages, and a look at it makes nothing', async () => {
    const merchant = await shop({ maximumCardCents: 90_000 });
    const link = await newLink(merchant, { amountCents: null, maximumCents: 150_000 });
    const rows = () =>
      service.database.admin<{ count: string }>(
        `SELECT (SELECT count(*) FROM ${service.cellOf(merchant).cell}.payment WHERE account_id = $1)
          + (SELECT count(*) FROM ${service.cellOf(merchant).cell}.request_key WHERE account_id = $1)
          + (SELECT count(*) FROM ${service.cellOf(merchant).cell}.intent WHERE account_id = $1) AS count`,
        [merchant.ownerId],
      );
    const before = await rows();
    const pages = await Promise.all(Array.from({ length: 50 }, () => open(link.path)));
    expect(await rows()).toEqual(before);
    for (const text of [
      '<button class="button" name="method" value="pix">Pagar com Pix</button>',
      '<button class="button second" name="method" value="card">Pagar com cartão</button>',
      'Com Pix, de R$ 2,00 a R$ 1.500,00.<br>Com cartão, de R$ 5,00 a R$ 900,00.',
      'No cartão, à vista, na página da adquirente.',
      'O valor é o mesmo com Pix e com cartão.',
    ])
      expect(pages[0]).toContain(text);
    const files = [...(pages[0] ?? '').matchAll(/(?:href|src)="(\/pay\/(?:style\.css|page\.js)[^"]*)"/g)];
    const sent = [pages[0], ...(await Promise.all(files.map(([, path]) => open(path ?? ''))))];
    expect(sent).toHaveLength(3);
    expect(sent.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)).toBeLessThan(60 * 1024);
    const english = await open(link.path, 'en');
    expect(english).toContain('By card, from R$ 5,00 to R$ 900,00.');
    expect(english).toContain('value="card">Pay by card</button>');
    expect(await send(link, { method: 'card', amountCents: 499 })).toMatchObject({
      body: { code: 'amount_out_of_limits' },
    });
    expect(await send(link, { method: 'card', amountCents: 90_001 })).toMatchObject({
      body: { code: 'amount_out_of_limits' },
    });
    const fixed = await open((await newLink(merchant, { methods: ['card'] })).path);
    expect(fixed).not.toContain('value="pix"');
    expect(fixed).not.toContain('O valor é o mesmo');
    const alone = await open((await newLink(merchant, { methods: ['pix'] })).path);
    expect(alone).not.toContain('cart');
  });

  test('leads the form of the page to the charge’s own page and from there to the acquirer, and back to us and to no address of the link', async () => {
    const merchant = await shop();
    const link = await newLink(merchant, { successUrl: 'https://loja.example/obrigado' });
    const answer = await fetch(`${service.url}${link.path}/charge?lang=en`, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ method: 'card' }) },
    });
    expect(answer.status).toBe(303);
    const path = (answer.headers.get('location') ?? '').split('?')[0] ?? '';
    const page = await open(path, 'en');
    const to = /href="([^"]+)" rel="noreferrer">Pay by card</.exec(page)?.[1] ?? '';
    const there = await fetch(service.url + to, { redirect: 'manual' });
    expect(there.headers.get('location')).toContain('/stripe/c/pay/');
    const [{ id } = { id: '' }] = await chargesOf(merchant, link);
    await card(id, 'approve');
    await becomes(merchant, id, { status: 'paid' });
    const back = await fetch(`${service.url}${path}/back?how=success`, { redirect: 'manual' });
    expect([back.status, back.headers.get('location')]).toEqual([303, path]);
    expect(await open(path, 'en')).toContain('href="https://loja.example/obrigado"');
  });

  test('is refused by card once the account takes none any more: the page says so, and offers Pix where the link takes it', async () => {
    const merchant = await shop();
    const [both, only] = [await newLink(merchant), await newLink(merchant, { methods: ['card'] })];
    const paid = await made(only, 'card');
    await agree(merchant, { cardConnection: null });
    const page = await open(both.path);
    expect(page).toContain('O cartão não está disponível agora.');
    expect(page).toContain('value="pix"');
    expect(page).not.toContain('value="card"');
    const none = await open(only.path);
    expect(none).toContain('Pagamento indisponível');
    expect(none).not.toContain('<form');
    for (const link of [both, only])
      expect(await send(link, { method: 'card' })).toMatchObject({
        ...{ status: 403, body: { code: 'card_not_enabled' } },
      });
    const form = new URLSearchParams({ method: 'card' });
    const refused = await fetch(`${service.url}${both.path}/charge`, { method: 'POST', body: form });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('value="pix"')]);
    expect(await send(both, { method: 'pix' })).toMatchObject({ status: 201 });
    // A page that a payer has is paid all the same.
    await card(paid, 'approve');
    await becomes(merchant, paid, { status: 'paid' });
    await agree(merchant, { cardConnection: 'cartoes', minimumCardCents: 10_001 });
    expect(await open(both.path)).toContain('O cartão não está disponível agora.');
  });
});

describe('Two ways of one payment', () => {
  test('that are both paid in the same second are both booked, and the link is reported as overpaid', async () => {
    const merchant = await shop();
    const link = await newLink(merchant, { maxPayments: 1 });
    await acquirer().behave({ cancel: 'error-500' });
    const [byCard, byCode] = [await made(link, 'card'), await made(link, 'pix')];
    await Promise.all([card(byCard, 'approve'), payCode(byCode)]);
    await becomes(merchant, byCard, { status: 'paid' });
    await becomes(merchant, byCode, { status: 'paid' });
    expect(await shown(merchant, link)).toMatchObject({
      ...{ status: 'completed', openCount: 0, paidCount: 2, paidCents: 20_000 },
    });
    expect(await eventsOf(merchant, 'payment_link.completed')).toHaveLength(1);
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toHaveLength(1);
    expect(await send(link, { method: 'card' })).toMatchObject({ body: { code: 'payment_link_closed' } });
    const account = (await merchant.call('GET', '/account')).body;
    expect(account).toMatchObject({ balanceCents: 10_000, cardHeldCents: 10_000 });
    expect(await violationsOfBooks(service, { accountId: merchant.ownerId })).toEqual([]);
  });

  test('end each other, each over its own connection: a paid code closes the page, and a paid page takes back the code', async () => {
    const merchant = await shop();
    const [first, second] = [
      await newLink(merchant, { maxPayments: 1 }),
      await newLink(merchant, { maxPayments: 1 }),
    ];
    const [left, code] = [await made(first, 'card'), await made(first, 'pix')];
    await payCode(code);
    await becomes(merchant, left, { status: 'expired' });
    const { cards } = (await acquirer().control('GET', '/control/state')).body;
    expect(cards.find((one: { id: string }) => one.id === left.replaceAll('-', '')).status).toBe('expired');
    const [page, slow] = [await made(second, 'card'), await made(second, 'pix')];
    await card(page, 'approve');
    await becomes(merchant, slow, { status: 'failed', reasonCode: 'cancelled_by_merchant' });
    for (const link of [first, second])
      expect(await shown(merchant, link)).toMatchObject({ status: 'completed', openCount: 0, paidCount: 1 });
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toEqual([]);
  });

  test('of one payer: the page for the card is closed before there is a code, and two tabs get the same one', async () => {
    const merchant = await shop();
    const link = await newLink(merchant);
    const page = await made(link, 'card');
    expect(await open(pathOfCharge(merchant, link, page))).toContain('Trocar para Pix');
    const codes = [await made(link, 'pix', { replaces: page }), await made(link, 'pix', { replaces: page })];
    expect(new Set(codes).size).toBe(1);
    expect(codes[0]).not.toBe(page);
    expect(await payment(merchant, page)).toMatchObject({ status: 'expired' });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1 });
    const again = await made(link, 'card', { replaces: codes[0] });
    expect(await payment(merchant, codes[0] ?? '')).toMatchObject({ status: 'failed' });
    expect(await payment(merchant, again)).toMatchObject({ status: 'pending', paymentMethod: 'card' });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 1 });
  });

  test('of one payer: a code takes the place of no payment by card that is under way', async () => {
    const merchant = await shop();
    const link = await newLink(merchant);
    const [page, stuck, late] = [
      await made(link, 'card'),
      await made(link, 'card'),
      await made(link, 'card'),
    ];
    // Nor does a page its own, also when its time is over and its acquirer has not said so.
    expect(await made(link, 'card', { replaces: page })).toBe(page);
    await service.database.admin(
      `UPDATE ${service.cellOf(merchant).cell}.payment SET expires_at = now() - interval '1 minute' WHERE id = $1`,
      [late],
    );
    expect(await made(link, 'card', { replaces: late })).toBe(late);
    await card(page, 'review');
    await becomes(merchant, page, { card: { status: 'processing' } });
    expect(await made(link, 'pix', { replaces: page })).toBe(page);
    const text = await open(pathOfCharge(merchant, link, page));
    expect(text).toContain('Pagamento em análise');
    expect(text).not.toContain('<form');
    expect(await payment(merchant, page)).not.toHaveProperty('notice');
    await acquirer().behave({ cancel: 'error-500' });
    expect(await made(link, 'pix', { replaces: stuck })).toBe(stuck);
    expect(await open(pathOfCharge(merchant, link, stuck))).toContain('Encerrando o pagamento com cartão');
    await card(stuck, 'approve');
    await becomes(merchant, stuck, { status: 'paid' });
    expect(await made(link, 'pix', { replaces: stuck })).toBe(stuck);
    await card(page, 'approve');
    await becomes(merchant, page, { status: 'paid' });
    expect((await chargesOf(merchant, link)).map(({ paymentMethod }) => paymentMethod)).toEqual([
      ...['card', 'card', 'card'],
    ]);
    expect(await shown(merchant, link)).toMatchObject({ paidCount: 2, openCount: 1 });
  });

  test('where a page expires while its acquirer approves: a code in its place is a second payment, reported as overpaid', async () => {
    const merchant = await shop();
    const link = await newLink(merchant, { maxPayments: 1 });
    const page = await made(link, 'card');
    await card(page, 'expire');
    await becomes(merchant, page, { status: 'expired' });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 0, paidCount: 0 });
    const text = await open(pathOfCharge(merchant, link, page));
    expect(text).toContain('Página do cartão encerrada');
    expect(text).toContain('value="card">Tentar de novo com cartão<');
    const code = await made(link, 'pix', { replaces: page });
    await payCode(code);
    await linkBecomes(merchant, link, { status: 'completed', paidCount: 1 });
    await card(page, 'approve');
    await becomes(merchant, page, { status: 'paid', cardSettlementStatus: 'held' });
    expect(await shown(merchant, link)).toMatchObject({ openCount: 0, paidCount: 2, paidCents: 20_000 });
    expect(await eventsOf(merchant, 'payment_link.overpaid')).toHaveLength(1);
  });

  test('hold no more of a stock than they may sell, and a link that ends lets its page be paid', async () => {
    const merchant = await shop();
    const link = await newLink(merchant, { maxPayments: 2 });
    const answers = await Promise.all(
      (['card', 'pix', 'card', 'pix'] as const).map((method) => send(link, { method })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 400, 400]);
    const ids = (await chargesOf(merchant, link)).map(
      ({ id, paymentMethod }) => [id, paymentMethod] as const,
    );
    await merchant.call('PATCH', `/payment-links/${link.id}`, { status: 'disabled' });
    for (const [id, method] of ids) await (method === 'card' ? card(id, 'approve') : payCode(id));
    await linkBecomes(merchant, link, { paidCount: 2, openCount: 0 });
  });
});

test('The document of a payer is sealed and masked whichever way it is paid, and carried from one to the other', async () => {
  const merchant = await shop({ cardConnection: 'parcelas' });
  const link = await newLink(merchant, { payerFields: { document: 'required' } });
  expect(await send(link, { method: 'card' })).toMatchObject({ body: { code: 'payer_document_required' } });
  const page = await made(link, 'card', { payerName: 'Maria Silva', payerDocument: '111.444.777-35' });
  const { cards } = (await simulatorAt(`${service.simulator.url}/asaas`).control('GET', '/control/state'))
    .body;
  expect(cards.find((one: { id: string }) => one.id === page.replaceAll('-', '')).payer).toEqual({
    ...{ name: 'Maria Silva', cpfCnpj: '11144477735' },
  });
  const code = await made(link, 'pix', { replaces: page });
  const again = await made(link, 'card', { replaces: code });
  for (const id of [page, code, again]) {
    expect((await payment(merchant, id)).payerDocument).toBe('***.444.777-**');
    const [row] = await service.database.admin<{ row: string }>(
      `SELECT to_jsonb(p)::text AS row FROM ${service.cellOf(merchant).cell}.payment p WHERE id = $1`,
      [id],
    );
    expect(row?.row).not.toContain('11144477735');
  }
  // No name that the payer did not give goes to the acquirer.
  const nameless = await made(link, 'card', { payerDocument: '11.222.333/0001-81' });
  const after = (await simulatorAt(`${service.simulator.url}/asaas`).control('GET', '/control/state')).body;
  expect(
    after.cards.find((one: { id: string }) => one.id === nameless.replaceAll('-', '')).payer ?? null,
  ).toBeNull();
});

test('Invariants hold over the books of all links, and a payment by a method that its link does not take breaks them', async () => {
  expect(await violationsOfBooks(service)).toEqual([]);
  const merchant = await shop();
  const link = await newLink(merchant);
  await made(link, 'card');
  await service.database.admin(
    `UPDATE ${service.cellOf(merchant).cell}.payment_link SET takes_card = false WHERE id = $1`,
    [link.id],
  );
  const broken = await violationsOfBooks(service, { accountId: merchant.ownerId });
  expect(broken.map(({ number }) => number)).toEqual([68]);
});
