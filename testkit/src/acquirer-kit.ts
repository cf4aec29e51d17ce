import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { type Clock, systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import type { AdapterWorld } from '../../server/src/provider/adapter.ts';
import type {
  CardApproval,
  CheckoutName,
  CheckoutReport,
  NamedCardPayer,
  NamedPage,
} from '../../server/src/provider/cards.ts';
import type { Provider, RefundInstruction, WebhookDelivery } from '../../server/src/provider/provider.ts';

/**
 * The duties of every acquirer, whatever its protocol: the same tests against the simulator's acquirer in the dialect of each. What an acquirer cannot
 * do is named in its row, and nothing else may differ.
 */
export interface AcquirerSubject {
  name: string;
  /** Below the simulator's address. */
  path: string;
  lacks: readonly AcquirerLack[];
  create(url: string, world: AdapterWorld): Provider;
}

export type AcquirerLack =
  /** A repeat gives the first page again, and it is found by our id alone. Without: it makes another page. */
  | 'one page for an id'
  /** It reads a page by itself. Without: a closed page is known by its cancellation alone. */
  | 'reading of pages'
  /** Its query says why an attempt was refused, and counts them. Without: it shows the last one, and deliveries report each. */
  | 'reasons of refusals'
  /** It takes other currencies than the real. */
  | 'currencies'
  /** A refund is sent again under a key. Without: one that may have gone out is only looked for. */
  | 'repeats of refunds'
  /** Deliveries are signed. Without: they carry a token, and only wake queries. */
  | 'signatures'
  /** A dispute costs something of its own. */
  | 'costs of disputes';

interface Bench {
  provider: Provider;
  /** The same at another time. */
  at(aheadMs: number): Provider;
  control(method: 'GET' | 'PUT' | 'POST', path: string, body?: unknown): Promise<unknown>;
  act(id: string, action: string, fields?: object): Promise<unknown>;
  deliveries: WebhookDelivery[];
}

export function acquirerKit(subject: AcquirerSubject): void {
  describe(`the ${subject.name} acquirer`, () => {
    const bench = createBench(subject);
    aboutOffers(bench, subject);
    aboutPages(bench, subject);
    aboutApprovals(bench, subject);
    aboutEnds(bench, subject);
    aboutRefunds(bench, subject);
    aboutChargebacks(bench, subject);
    aboutDeliveries(bench, subject);
  });
}

function createBench(subject: AcquirerSubject): Bench {
  const net = createUndiciNet();
  const deliveries: WebhookDelivery[] = [];
  const inbox = createServer((request, answer) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      deliveries.push({
        headers: request.headers,
        rawBody: Buffer.concat(chunks),
        receivedAt: Date.now(),
      });
      answer.end();
    });
  });
  let simulator: { url: string; stop(): Promise<void> };
  let stateDir: string;
  const created = (clock: Clock): Provider =>
    subject.create(simulator.url + subject.path, { net, clock, log: createLog('silent') });
  const bench: Bench = {
    provider: undefined as unknown as Provider,
    at: (aheadMs) => created({ ...systemClock, now: () => Date.now() + aheadMs }),
    async control(method, path, body) {
      const { status, text } = await net.request({
        ...{ method, url: `${simulator.url}${subject.path}/control/${path}`, timeoutMs: 10_000 },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
      return JSON.parse(text);
    },
    act: (id, action, fields = {}) => bench.control('POST', `cards/${id}/${action}`, fields),
    deliveries,
  };
  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'vintem-acquirer-'));
    simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
    await new Promise<void>((done) => inbox.listen(0, '127.0.0.1', done));
    bench.provider = created(systemClock);
    const { port } = inbox.address() as AddressInfo;
    await bench.provider.registerWebhook(`http://127.0.0.1:${port}/hooks/secret`);
  });
  afterAll(async () => {
    await simulator.stop();
    await net.close();
    inbox.closeAllConnections();
    inbox.close();
    await rm(stateDir, { recursive: true });
  });
  beforeEach(async () => {
    deliveries.length = 0;
    await bench.control('PUT', 'behaviour', { ...plain });
  });
  return bench;
}

const plain = {
  checkout: 'create',
  cancel: 'remove',
  refund: 'complete',
  query: 'answer',
  fees: 'off',
  approval: 'now',
};

let made = 0;
const newId = (): string => (0x2000_0000_0000 + ++made).toString(16).padStart(32, 'c');

/** Our addresses for the payer of a page. */
export const back = {
  success: 'https://pay.example.com/pay/1/back?how=success',
  cancel: 'https://pay.example.com/pay/1/back?how=cancel',
  expired: 'https://pay.example.com/pay/1/back?how=expired',
};

const order = (amountCents = 12_500) => ({
  ...{ providerId: newId(), amountCents, description: 'Pedido nº 1042', minutes: 60 },
  ...{ createdAt: Date.now(), back, payer: null as NamedCardPayer | null },
});

type Order = ReturnType<typeof order>;

const nameOf = (asked: Order, providerRef: string | null, approval: string | null = null): CheckoutName => ({
  ...{ providerId: asked.providerId, createdAt: asked.createdAt, minutes: asked.minutes },
  ...{ amountCents: asked.amountCents, providerRef, approval },
});

async function page({ provider }: Bench, amountCents?: number): Promise<Order & { name: NamedPage }> {
  const asked = order(amountCents);
  const outcome = await provider.cards?.create(asked);
  if (outcome?.outcome !== 'accepted') throw new Error(JSON.stringify(outcome));
  const { providerRef } = outcome.report;
  return { ...asked, name: { ...nameOf(asked, providerRef), providerRef } };
}

async function reportOf(provider: Provider, name: CheckoutName): Promise<CheckoutReport> {
  const found = await provider.cards?.query(name);
  if (found?.outcome !== 'found') throw new Error(JSON.stringify(found));
  return found.report;
}

async function approvalOf(provider: Provider, name: CheckoutName): Promise<CardApproval> {
  const { approval } = await reportOf(provider, name);
  if (approval === null) throw new Error('it was not approved');
  return approval;
}

/** An approved page, asked for by the name of its approval as well from then on. */
async function paid(bench: Bench, fields: object = {}): Promise<{ id: string; name: CheckoutName }> {
  const { providerId: id, name } = await page(bench);
  await bench.act(id, 'approve', fields);
  const { reference } = await approvalOf(bench.provider, name);
  return { id, name: { ...name, approval: reference } };
}

// -------------------------------------------------------------------------------------------------------------- offers

function aboutOffers({ provider: _, ...bench }: Bench, { lacks }: AcquirerSubject): void {
  test('offers cards, their refunds and their disputes, and no Pix', async () => {
    const provider = bench.at(0);
    expect(provider.capabilities).toMatchObject({
      ...{ cards: true, canRefund: true, canDispute: true, cancelsCharges: true, hasBalance: true },
      ...{ movesMoney: false, charges: false, payouts: false, staticCodes: null, dueCharges: false },
      ...{ webhookTrust: lacks.includes('signatures') ? 'path' : 'signed' },
    });
    await expect(provider.queryPayout('1')).rejects.toThrow();
  });
}

// --------------------------------------------------------------------------------------------------------------- pages

function aboutPages(bench: Bench, { lacks }: AcquirerSubject): void {
  test('makes a page of the amount in reais, which a browser reaches, and which no query ends', async () => {
    const asked = order();
    const outcome = await bench.provider.cards?.create(asked);
    if (outcome?.outcome !== 'accepted') throw new Error(JSON.stringify(outcome));
    const { report } = outcome;
    expect(report).toMatchObject({
      ...{ providerId: asked.providerId, amountCents: 12_500, currency: 'BRL', page: 'open' },
      ...{ attempt: null, approval: null },
    });
    expect(report.expiresAt).toBeGreaterThanOrEqual(asked.createdAt + 60 * 60_000 - 1_000);
    expect((await fetch(report.url ?? '')).status).toBe(200);
    const again = await reportOf(bench.provider, nameOf(asked, report.providerRef));
    expect(again).toMatchObject({ page: 'open', url: report.url, amountCents: 12_500, approval: null });
  });

  test('sends its payer back to our address for each way of leaving it, and takes no card itself', async () => {
    const asked = order();
    const made = async () => {
      const outcome = await bench.provider.cards?.create(asked);
      return outcome?.outcome === 'accepted' ? (outcome.report.url ?? '') : JSON.stringify(outcome);
    };
    const url = await made();
    const html = await (await fetch(url)).text();
    expect(html).toContain(`href="${back.cancel}"`);
    expect(html).not.toMatch(/<input|<textarea/);
    const press = (act: string) =>
      fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ act }) });
    expect((await press('refuse')).status).toBe(200);
    const paid = await press('approve');
    expect([paid.status, paid.headers.get('location')]).toEqual([303, back.success]);
    expect((await press('approve')).status).toBe(200);
    asked.providerId = newId();
    const other = await made();
    await bench.act(asked.providerId, 'expire');
    const ended = lacks.includes('reading of pages') ? back.expired : back.cancel;
    expect(await (await fetch(other)).text()).toContain(`href="${ended}"`);
  });

  test('is filled in with what was given of the payer, and is made without it where the acquirer does not take that', async () => {
    const known = { name: 'Maria Silva', document: '11144477735', phone: '+5511987654321' };
    for (const [email, isTaken] of [
      ['maria@example.com', true],
      ['maria@localhost', false],
    ] as const) {
      const asked = { ...order(), payer: { ...known, email } };
      expect(await bench.provider.cards?.create(asked)).toMatchObject({ outcome: 'accepted' });
      const { cards } = (await bench.control('GET', 'state')) as { cards: { id: string; payer: object }[] };
      const own = cards.filter(({ id }) => id === asked.providerId);
      expect(own).toHaveLength(1);
      expect(JSON.stringify(own[0]).includes(email)).toBe(isTaken);
      expect((await bench.provider.cards?.create(asked))?.outcome).toBe('accepted');
    }
  });

  test('a page whose answer was lost is unclear, and its repeat makes the only page that is known', async () => {
    const asked = order();
    await bench.control('PUT', 'behaviour', { checkout: 'lose-answer' });
    expect(await bench.provider.cards?.create(asked)).toMatchObject({ outcome: 'unclear', cause: 'network' });
    await bench.control('PUT', 'behaviour', { checkout: 'create' });
    const isOne = !lacks.includes('one page for an id');
    expect((await bench.provider.cards?.query(nameOf(asked, null)))?.outcome).toBe(
      isOne ? 'found' : 'notFound',
    );
    const repeated = await bench.provider.cards?.create(asked);
    if (repeated?.outcome !== 'accepted') throw new Error(JSON.stringify(repeated));
    const { cards } = (await bench.control('GET', 'state')) as { cards: { id: string; ref: string }[] };
    const own = cards.filter(({ id }) => id === asked.providerId);
    expect(own).toHaveLength(isOne ? 1 : 2);
    expect(own.at(-1)?.ref).toBe(repeated.report.providerRef);
  });

  test('a page that is asked for again with another end, as after a restore that lost its payment, is the first one with what was paid on it', async () => {
    const asked = order();
    const first = await bench.provider.cards?.create(asked);
    if (first?.outcome !== 'accepted') throw new Error(JSON.stringify(first));
    await bench.act(asked.providerId, 'approve');
    const aheadMs = 20 * 60_000;
    const again = await bench.at(aheadMs).cards?.create({ ...asked, createdAt: asked.createdAt + aheadMs });
    if (lacks.includes('one page for an id')) {
      if (again?.outcome !== 'accepted') throw new Error(JSON.stringify(again));
      expect(again.report.providerRef).not.toBe(first.report.providerRef);
    } else
      expect(again).toMatchObject({
        outcome: 'accepted',
        report: { providerRef: first.report.providerRef, approval: { amountCents: asked.amountCents } },
      });
  });

  test('what was approved and given back is listed under the time of each, and what was only tried is not', async () => {
    const since = Date.now() - 1_000;
    const [paid, tried] = [order(), order()];
    for (const asked of [paid, tried]) await bench.provider.cards?.create(asked);
    await bench.act(tried.providerId, 'refuse');
    await bench.act(paid.providerId, 'approve');
    await bench.act(paid.providerId, 'refund', { amountCents: 100 });
    const list = async (fromMs: number) => {
      const listed = await bench.provider.cards?.listMoved?.({ fromMs, toMs: fromMs + 600_000 });
      if (listed?.outcome !== 'listed') throw new Error(JSON.stringify(listed));
      return listed;
    };
    const found = await bench.provider.cards?.query(nameOf(paid, null));
    const { reports, unread, complete } = await list(since);
    expect([unread, complete]).toEqual([[], true]);
    const approvals = reports.filter(({ refund }) => refund === null);
    const isNamed = !lacks.includes('one page for an id');
    if (isNamed) {
      expect(reports.filter(({ providerId }) => providerId === tried.providerId)).toEqual([]);
      if (found?.outcome !== 'found') throw new Error(JSON.stringify(found));
      const approval = found.report.approval?.reference;
      const own = reports.filter(({ providerId }) => providerId === paid.providerId);
      expect(own).toMatchObject([
        { approval, refund: null },
        { approval, refund: [found.report.approval?.refunds[0]?.reference] },
      ]);
      expect((await list(since - 3_600_000)).reports).toEqual([]);
    } else expect(approvals.some(({ page }) => page !== null)).toBe(true);
    expect(JSON.stringify(reports)).not.toContain('4242424242424242');
    // A list may name what was paid and not its page: by that name the page is found as well.
    const { cards } = (await bench.control('GET', 'state')) as { cards: { id: string; ref: string }[] };
    const providerRef = cards.find(({ id }) => id === paid.providerId)?.ref;
    const own = approvals.find(({ page, providerId: id }) => page === providerRef || id === paid.providerId);
    expect(await bench.provider.cards?.query(nameOf(paid, own?.page ?? own?.approval ?? null))).toMatchObject(
      { outcome: 'found', report: { providerRef, approval: { reference: own?.approval } } },
    );
  });

  test.each([
    ['lose-request', 'network'],
    ['error-500', 'server'],
  ])('a page under %s is unclear (%s), and is not there', async (checkout, cause) => {
    await bench.control('PUT', 'behaviour', { checkout });
    const asked = order();
    expect(await bench.provider.cards?.create(asked)).toMatchObject({ outcome: 'unclear', cause });
    expect(await bench.provider.cards?.query(nameOf(asked, null))).toEqual({ outcome: 'notFound' });
  });

  test('a documented refusal of a page is one, with the words of the acquirer', async () => {
    await bench.control('PUT', 'behaviour', { checkout: 'refuse' });
    expect(await bench.provider.cards?.create(order())).toMatchObject({
      ...{ outcome: 'refused', reason: 'provider_refused', words: { name: expect.stringMatching(/^400 /) } },
    });
    await bench.control('PUT', 'behaviour', { checkout: 'create' });
    expect(await bench.provider.cards?.create(order(10))).toMatchObject({ outcome: 'refused' });
  });

  test.each(['error-500', 'not-found'])('a query under %s ends nothing', async (query) => {
    const { name } = await page(bench);
    await bench.control('PUT', 'behaviour', { query });
    const outcome = await bench.provider.cards?.query(name);
    if (outcome?.outcome === 'found') expect(outcome.report).toMatchObject({ page: 'open', approval: null });
    else expect(outcome?.outcome).toMatch(/^(unclear|notFound)$/);
  });
}

// ----------------------------------------------------------------------------------------------------------- approvals

function aboutApprovals(bench: Bench, { lacks }: AcquirerSubject): void {
  const isNamed = !lacks.includes('reasons of refusals');

  test('reports a refused attempt with its card, one that is looked at, and the approval after them', async () => {
    const { providerId: id, name } = await page(bench);
    await bench.act(id, 'refuse', { reason: 'expired_card', brand: 'amex', last4: '0005' });
    expect((await reportOf(bench.provider, name)).attempt).toEqual({
      ...{ status: 'refused', brand: 'amex', last4: '0005', refusals: 1 },
      refusal: isNamed ? 'expired_card' : 'refused_by_issuer',
    });
    await bench.act(id, 'refuse', {});
    expect((await reportOf(bench.provider, name)).attempt?.refusals).toBe(isNamed ? 2 : 1);
    await bench.act(id, 'review');
    expect((await reportOf(bench.provider, name)).attempt?.status).toBe('processing');
    await bench.act(id, 'approve', { brand: 'mastercard', last4: '4444' });
    expect(await reportOf(bench.provider, name)).toMatchObject({
      ...{ page: 'closed', attempt: null },
      approval: { brand: 'mastercard', last4: '4444', amountCents: 12_500 },
    });
  });

  test('an approval has amount, currency, instalments and cost, and is found by page and by its own name alike', async () => {
    await bench.control('PUT', 'behaviour', { fees: 'on' });
    const before = await bench.provider.balance();
    const { name } = await paid(bench);
    const approval = await approvalOf(bench.provider, { ...name, approval: null });
    expect(approval).toMatchObject({
      ...{ amountCents: 12_500, currency: 'BRL', installments: 1, released: false },
      ...{ refunds: [], chargebacks: [] },
    });
    expect(approval.at).toBeGreaterThanOrEqual(name.createdAt - 2_000);
    expect(approval.releaseAt).toBeGreaterThan(Date.now() + 20 * 86_400_000);
    expect(await approvalOf(bench.provider, name)).toEqual(approval);
    expect(approval.costCents).toBeGreaterThan(0);
    const after = await bench.provider.balance();
    expect(after.totalCents - before.totalCents).toBe(12_500 - (approval.costCents ?? 0));
    expect(after.availableCents).toBe(before.availableCents);
  });

  const others = [
    ['amount', { amountCents: 12_499 }, { amountCents: 12_499 }],
    ['number of instalments', { installments: 2 }, { installments: 2, amountCents: 12_500 }],
    ['currency', { currency: 'usd' }, { currency: 'USD' }],
  ] as const;
  test.each(others.filter(([what]) => what !== 'currency' || !lacks.includes('currencies')))(
    'an approval of another %s is reported as it is',
    async (_what, given, said) => {
      const { providerId: id, name } = await page(bench);
      await bench.act(id, 'approve', given);
      const report = await reportOf(bench.provider, name);
      expect(report).toMatchObject({ amountCents: 12_500, currency: 'BRL', approval: said });
    },
  );

  test('is reviewed first, or approved with other facts, as the behaviour of the simulator says', async () => {
    const seen: Record<string, object> = {};
    for (const approval of ['review', 'other-amount', 'other-currency', 'two-instalments']) {
      const { providerId: id, name } = await page(bench);
      await bench.control('PUT', 'behaviour', { approval });
      await bench.act(id, 'approve');
      const { attempt, approval: given } = await reportOf(bench.provider, name);
      seen[approval] = [attempt?.status, given?.amountCents, given?.currency, given?.installments];
      if (approval === 'review') {
        await bench.act(id, 'approve');
        expect((await approvalOf(bench.provider, name)).amountCents).toBe(12_500);
      }
    }
    expect(seen).toEqual({
      review: ['processing', undefined, undefined, undefined],
      'other-amount': [undefined, 12_499, 'BRL', 1],
      'other-currency': [undefined, 12_500, lacks.includes('currencies') ? 'BRL' : 'USD', 1],
      'two-instalments': [undefined, 12_500, 'BRL', 2],
    });
  });

  test('is released by the word of its acquirer alone, whatever time it is', async () => {
    const { id, name } = await paid(bench);
    const before = await bench.provider.balance();
    const late = bench.at(90 * 86_400_000);
    expect((await approvalOf(late, name)).released).toBe(false);
    await bench.act(id, 'release');
    expect((await approvalOf(bench.provider, name)).released).toBe(true);
    const after = await bench.provider.balance();
    expect(after.totalCents).toBe(before.totalCents);
    expect(after.availableCents - before.availableCents).toBe(12_500);
  });
}

// ---------------------------------------------------------------------------------------------------------------- ends

function aboutEnds(bench: Bench, { lacks }: AcquirerSubject): void {
  const isRead = !lacks.includes('reading of pages');
  const hour = 3_600_000;

  test('closes a page that was not paid, once, and is not paid by its repeat', async () => {
    const { name } = await page(bench);
    expect(await bench.provider.cards?.expire(name)).toMatchObject({
      ...{ outcome: 'accepted', report: { page: 'closed', approval: null, providerRef: name.providerRef } },
    });
    expect((await bench.provider.cards?.expire(name))?.outcome).toMatch(/^(refused|unclear)$/);
    expect((await reportOf(bench.at(2 * hour), name)).page).toBe('closed');
  });

  test('does not close a page that was paid, and its query has the approval', async () => {
    const { providerId: id, name } = await page(bench);
    await bench.act(id, 'approve');
    expect(await bench.provider.cards?.expire(name)).toMatchObject({ outcome: 'refused' });
    expect((await approvalOf(bench.provider, name)).amountCents).toBe(12_500);
  });

  test.each([
    ['lose-answer', 'network'],
    ['lose-request', 'network'],
    ['error-500', 'server'],
  ])(
    'a close under %s is unclear (%s), and a page without a payment is closed when its time is over',
    async (cancel, cause) => {
      const { providerId: id, name } = await page(bench);
      await bench.control('PUT', 'behaviour', { cancel });
      expect(await bench.provider.cards?.expire(name)).toMatchObject({ outcome: 'unclear', cause });
      await bench.control('PUT', 'behaviour', { cancel: 'remove' });
      if (isRead && cancel !== 'lose-answer') await bench.act(id, 'expire');
      expect((await reportOf(bench.at(2 * hour), name)).page).toBe('closed');
    },
  );

  test('reports a page of which its time is over as closed, and one that was approved meanwhile as paid', async () => {
    const [open, late] = [await page(bench), await page(bench)];
    expect((await reportOf(bench.provider, open.name)).page).toBe('open');
    await bench.act(open.providerId, 'expire');
    await bench.act(late.providerId, 'approve');
    const later = bench.at(2 * hour);
    expect(await reportOf(later, open.name)).toMatchObject({ page: 'closed', url: null, approval: null });
    expect(await reportOf(later, late.name)).toMatchObject({ approval: { amountCents: 12_500 } });
  });
}

// ------------------------------------------------------------------------------------------------------------- refunds

function aboutRefunds(bench: Bench, { lacks }: AcquirerSubject): void {
  const refundOf = (
    { id, name }: { id: string; name: CheckoutName },
    amountCents: number,
  ): RefundInstruction => ({
    ...{
      endToEnd: name.approval ?? '',
      providerId: newId(),
      chargeId: id,
      amountCents,
      description: 'volta',
    },
  });
  const refundsAt = async (name: CheckoutName) => (await approvalOf(bench.provider, name)).refunds;

  test('gives back a part and then the rest, each under our id, and never more than was paid', async () => {
    const one = await paid(bench);
    const before = (await bench.provider.balance()).totalCents;
    const [part, rest] = [refundOf(one, 2_500), refundOf(one, 10_000)];
    for (const asked of [part, rest]) {
      const sent = await bench.provider.sendRefund(asked);
      expect(sent).toMatchObject({ outcome: 'accepted', report: { status: 'completed' } });
      expect(await bench.provider.queryRefund(asked.endToEnd, asked.providerId)).toEqual({
        ...{ outcome: 'found', report: 'report' in sent ? sent.report : null },
      });
    }
    expect(await bench.provider.sendRefund(refundOf(one, 1))).toMatchObject({ outcome: 'refused' });
    expect(
      (await refundsAt(one.name)).map(({ providerId, amountCents }) => [providerId, amountCents]),
    ).toEqual(
      expect.arrayContaining([
        [part.providerId, 2_500],
        [rest.providerId, 10_000],
      ]),
    );
    expect(before - (await bench.provider.balance()).totalCents).toBe(12_500);
  });

  test('a refund is looked for before it is sent, so that one whose record was lost is not made twice', async () => {
    const one = await paid(bench);
    const asked = refundOf(one, 2_500);
    const first = await bench.provider.sendRefund(asked);
    expect(await bench.provider.sendRefund(asked)).toEqual(first);
    expect(await refundsAt(one.name)).toHaveLength(1);
  });

  test('a refund whose answer was lost is found, and its repeat makes no second one', async () => {
    const one = await paid(bench);
    const asked = refundOf(one, 2_500);
    await bench.control('PUT', 'behaviour', { refund: 'lose-answer' });
    expect(await bench.provider.sendRefund(asked)).toMatchObject({ outcome: 'unclear', cause: 'network' });
    await bench.control('PUT', 'behaviour', { refund: 'complete' });
    const repeat = { ...asked, repeatOf: Date.now() - 60_000 };
    expect(await bench.provider.sendRefund(repeat)).toMatchObject({
      ...{ outcome: 'accepted', report: { status: 'completed', amountCents: 2_500 } },
    });
    expect(await refundsAt(one.name)).toHaveLength(1);
  });

  test('a refund that may have gone out and is not there is sent again only where a key makes it one', async () => {
    const one = await paid(bench);
    const asked = { ...refundOf(one, 2_500), repeatOf: Date.now() - 60_000 };
    const isKeyed = !lacks.includes('repeats of refunds');
    expect((await bench.provider.sendRefund(asked)).outcome).toBe(isKeyed ? 'accepted' : 'unclear');
    expect(await refundsAt(one.name)).toHaveLength(isKeyed ? 1 : 0);
    const old = { ...refundOf(one, 2_500), repeatOf: Date.now() - 48 * 3_600_000 };
    expect((await bench.provider.sendRefund(old)).outcome).toBe('unclear');
  });

  test.each([
    ['error-500', 'unclear'],
    ['error-500-after-accepting', 'unclear'],
    ['garbage', 'unclear'],
    ['refuse-in-answer', 'refused'],
  ])('a refund under %s is %s', async (refund, outcome) => {
    const one = await paid(bench);
    await bench.control('PUT', 'behaviour', { refund });
    expect(await bench.provider.sendRefund(refundOf(one, 2_500))).toMatchObject({ outcome });
  });

  test('a refund that waits, and one that fails later, are told apart', async () => {
    const one = await paid(bench);
    const [waits, fails] = [refundOf(one, 1_000), refundOf(one, 2_000)];
    await bench.control('PUT', 'behaviour', { refund: 'stay-pending' });
    await bench.provider.sendRefund(waits);
    await bench.control('PUT', 'behaviour', { refund: 'refuse-later' });
    await bench.provider.sendRefund(fails);
    const statusOf = async ({ endToEnd, providerId }: RefundInstruction) => {
      const found = await bench.provider.queryRefund(endToEnd, providerId);
      return found.outcome === 'found' ? found.report.status : found.outcome;
    };
    expect([await statusOf(waits), await statusOf(fails)]).toEqual(['pending', 'refused']);
    expect(await statusOf({ ...waits, providerId: newId() })).toBe('notFound');
  });

  test('refunds that a person made have no id of ours, and two of one amount are two', async () => {
    const one = await paid(bench);
    for (const _ of [1, 2]) await bench.act(one.id, 'refund', { amountCents: 700 });
    const refunds = await refundsAt(one.name);
    expect(refunds.map(({ providerId, amountCents }) => [providerId, amountCents])).toEqual([
      [null, 700],
      [null, 700],
    ]);
    expect(new Set(refunds.map(({ reference }) => reference)).size).toBe(2);
    expect(await refundsAt(one.name)).toEqual(refunds);
  });
}

// --------------------------------------------------------------------------------------------------------- chargebacks

function aboutChargebacks(bench: Bench, { lacks }: AcquirerSubject): void {
  const everything = () => ({ fromMs: Date.now() - 60_000, toMs: Date.now() + 60_000 });
  const listed = async (payment: string | null) => {
    const list = await bench.provider.disputes?.list(everything());
    if (list?.outcome !== 'listed' || !list.complete) throw new Error(JSON.stringify(list));
    return list.reports.find(({ endToEnd }) => endToEnd === payment);
  };

  test('a chargeback is taken with its opening, and a won one is given back', async () => {
    await bench.control('PUT', 'behaviour', { fees: 'on' });
    const { id, name } = await paid(bench);
    const before = (await bench.provider.balance()).totalCents;
    await bench.act(id, 'chargeback');
    const [opened] = (await approvalOf(bench.provider, name)).chargebacks;
    expect(opened).toMatchObject({
      ...{ outCents: 12_500, backCents: 0, costBackCents: 0 },
      report: { endToEnd: name.approval, status: 'open', amountCents: 12_500, reason: expect.any(String) },
    });
    expect(opened?.report.deadlineAt).toBeGreaterThan(Date.now());
    const costs = lacks.includes('costs of disputes');
    expect((opened?.costCents ?? 0) === 0).toBe(costs);
    expect(await listed(name.approval)).toMatchObject({ status: 'open', debitedCents: 12_500 });
    const taken = 12_500 + (opened?.costCents ?? 0);
    expect(before - (await bench.provider.balance()).totalCents).toBe(taken);
    await bench.act(id, 'win');
    const [won] = (await approvalOf(bench.provider, name)).chargebacks;
    expect(won).toMatchObject({ outCents: 12_500, backCents: 12_500, report: { status: 'rejected' } });
    expect(await listed(name.approval)).toMatchObject({ status: 'rejected', debitedCents: 0 });
    expect((await bench.provider.balance()).totalCents).toBe(before);
  });

  test('a lost chargeback stays taken, and its payment is one of ours by the acquirer’s own names', async () => {
    const { id, name } = await paid(bench);
    await bench.act(id, 'chargeback');
    await bench.act(id, 'lose');
    const [lost] = (await approvalOf(bench.provider, name)).chargebacks;
    expect(lost).toMatchObject({ outCents: 12_500, backCents: 0, report: { status: 'accepted' } });
    expect(await listed(name.approval)).toMatchObject({ status: 'accepted', debitedCents: 12_500 });
    const found = await bench.provider.findPix(name.approval ?? '');
    if (found.outcome !== 'found') throw new Error(found.outcome);
    const { providerId, page: ref } = found.report;
    expect(providerId ?? ref).toBe(providerId === null ? name.providerRef : id);
  });
}

// ---------------------------------------------------------------------------------------------------------- deliveries

function aboutDeliveries(bench: Bench, { lacks }: AcquirerSubject): void {
  /** Those that came for one page, once there are so many: those of earlier tests may come in between. */
  async function until(
    count: number,
    { id, name }: { id: string; name: CheckoutName },
  ): Promise<WebhookDelivery[]> {
    const names = [id, name.providerRef ?? id, name.approval ?? id];
    for (;;) {
      const own = bench.deliveries.filter(({ rawBody }) => names.some((one) => rawBody.includes(one)));
      if (own.length >= count) return own;
      await systemClock.sleep(10);
    }
  }

  test('every delivery of a payment is authentic, names it, and says nothing of money by itself', async () => {
    const { id, name } = await paid(bench);
    await bench.act(id, 'release');
    for (const delivery of await until(3, { id, name })) {
      const content = await bench.provider.parseWebhook(delivery);
      if (!content.authentic) throw new Error(content.reason);
      expect(content).toMatchObject({ addressed: true, received: [], payouts: [] });
      const { named = [], namedAs = [] } = content;
      if (named.length > 0) expect(named).toEqual([id]);
      else
        for (const one of namedAs) {
          const found = await bench.provider.findPix(one);
          if (found.outcome !== 'found') throw new Error(found.outcome);
          expect(found.report.providerId ?? found.report.page).toBe(
            found.report.providerId === null ? name.providerRef : id,
          );
        }
      expect(named.length + namedAs.length).toBe(1);
      const kept = bench.provider.redactDelivery?.(delivery.rawBody) ?? delivery.rawBody;
      expect(kept.toString()).not.toMatch(/token/i);
      expect(bench.provider.readWebhook(kept, delivery.receivedAt)).toMatchObject({ named });
    }
  });

  test('three refusals end the payment: each is counted once by queries and deliveries together, and the page is closed', async () => {
    const { providerId: id, name } = await page(bench);
    await bench.control('PUT', 'behaviour', { webhook: 'duplicate' });
    for (let attempt = 0; attempt < 3; attempt++) await bench.act(id, 'refuse');
    const isCounted = !lacks.includes('reasons of refusals');
    const names = new Set<string>();
    // A signed delivery only names the page, whose query counts.
    for (const delivery of await until(6, { id, name })) {
      const content = await bench.provider.parseWebhook(delivery);
      if (!content.authentic) throw new Error(content.reason);
      for (const { page: ref, attempt } of content.refusedAttempts ?? []) {
        expect(ref).toBe(name.providerRef);
        names.add(attempt);
      }
      const kept = bench.provider.redactDelivery?.(delivery.rawBody) ?? delivery.rawBody;
      const again = bench.provider.readWebhook(kept, delivery.receivedAt);
      expect(again?.refusedAttempts).toEqual(content.refusedAttempts);
    }
    const { attempt } = await reportOf(bench.provider, name);
    expect([attempt?.refusals, names.size]).toEqual(isCounted ? [3, 0] : [1, 3]);
    expect(await bench.provider.cards?.expire(name)).toMatchObject({ outcome: 'accepted' });
    await bench.act(id, 'approve');
    expect(await approvalOf(bench.provider, name)).toMatchObject({ amountCents: 12_500 });
  });

  test('an attempt that is looked at is reported after its page was closed, and a close that proves no end for it is refused', async () => {
    const { providerId: id, name } = await page(bench);
    await bench.act(id, 'review');
    const closed = await bench.provider.cards?.expire(name);
    if (lacks.includes('reading of pages')) expect(closed?.outcome).toBe('refused');
    expect((await reportOf(bench.at(2 * 3_600_000), name)).attempt?.status).toBe('processing');
  });

  test('a delivery without its proof is not authentic, and one with it about nothing of ours names nothing', async () => {
    const [delivery] = await until(2, await paid(bench));
    if (delivery === undefined) throw new Error('no delivery');
    const isSigned = !lacks.includes('signatures');
    const proofs = Object.keys(delivery.headers).filter((name) => /signature|token/.test(name));
    expect(proofs).toHaveLength(1);
    const [proof = ''] = proofs;
    for (const headers of [{}, { ...delivery.headers, [proof]: 'another' }])
      expect(await bench.provider.parseWebhook({ ...delivery, headers })).toMatchObject({ authentic: false });
    const foreign = Buffer.from(JSON.stringify({ event: 'X', payment: { id: 'pay_1', value: 1 }, data: {} }));
    const other = await bench.provider.parseWebhook({ ...delivery, rawBody: foreign });
    // A signature is over the body; a token proves the sender alone.
    expect(other.authentic).toBe(!isSigned);
    if (other.authentic) expect(other).toMatchObject({ addressed: false, named: [] });
    const garbage = { ...delivery, rawBody: Buffer.from('{') };
    expect(await bench.provider.parseWebhook(garbage)).toMatchObject({ authentic: false });
  });

  test('its doctor finds the key, the address and the balance in order', async () => {
    const url = 'https://vintem.example/hooks/providers/cartoes/other';
    const findings = await bench.provider.diagnose({ webhookUrl: url });
    const ok = findings.filter((one) => one.ok).map(({ check }) => check);
    expect(ok).toEqual(expect.arrayContaining(['token', 'balance']));
    expect(findings.find(({ check }) => check === 'webhook')).toMatchObject({ ok: false });
  });
}
