import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { type Clock, systemClock } from '../../server/src/ports/clock.ts';
import {
  type Net,
  type NetAnswer,
  NetFailure,
  type NetRequest,
  NotSent,
} from '../../server/src/ports/net.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import type { AdapterWorld } from '../../server/src/provider/adapter.ts';
import { newStaticIdentifier, parseBrCode } from '../../server/src/provider/br-code.ts';
import { queryAnyCharge } from '../../server/src/provider/due-charges.ts';
import type { DueTerms } from '../../server/src/provider/due-terms.ts';
import type {
  DueCharges,
  Moves,
  Provider,
  WebhookContent,
  WebhookDelivery,
} from '../../server/src/provider/provider.ts';
import { payOut } from './pay-out.ts';

/**
 * The duties of every adapter, whatever its protocol: the same tests against the simulator's dialect of each. How an adapter is added to
 * it says `docs/developers/adapters.md`.
 */
export interface Subject {
  name: string;
  /** Below the simulator's address. */
  path: string;
  /** Asks for tokens; without them one key goes with every call. */
  tokens: boolean;
  /** It sends; without payouts it only receives, and its deliveries wake queries. */
  payouts: boolean;
  /**
   * A payout is found under our own id, listed, and reported by deliveries. Without that its creation answers with the provider's name of it, which
   * alone finds it, and the same creation again gets the first answer again.
   */
  ownId: boolean;
  /** The offers that its provider has not, and its capabilities deny. */
  lacks?: readonly Lack[];
  /**
   * It has no idempotency, so the adapter looks whether something is there before it makes it: a repeat does not reach the provider. Its deliveries name
   * ids alone, and money that comes back of a payout stands in its statement.
   */
  looksFirst?: true;
  /** The wait after a 429 that names no time. */
  restAfterLimitMs?: number;
  /** It documents by a name that a refund is refused. Without that every error of the answer is unclear. */
  refundRefusal: boolean;
  /** A first call prepares a payout, and a second one sends it. */
  twoSteps?: true;
  /** @param limits of pages; the adapter's own where they are left out */
  create(url: string, world: AdapterWorld, limits: { pageSize?: number; maxPages?: number }): Provider;
}

type Lack =
  | 'cancels'
  | 'refunds'
  | 'static codes'
  | 'due-date charges'
  | 'disputes'
  | 'end-to-end ids of payouts';

/** A fault on the way: an answer in place of the provider's, an error, another request; undefined: the request passes. */
type Fault = (request: NetRequest) => NetAnswer | Error | { pass: NetRequest } | undefined;

interface Bench {
  provider: Provider;
  with(options: { clock?: Clock; pageSize?: number; maxPages?: number }): Provider;
  control(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  payoutState(
    id: string,
  ): Promise<{ status?: string; timesReceived: number; timesAccepted: number } | undefined>;
  /** Holds for the calls whose address matches, until it is lifted. */
  fault(on: RegExp, fault: Fault): void;
  lift(): void;
  deliveries: WebhookDelivery[];
}

export function adapterKit(subject: Subject): void {
  describe(`the ${subject.name} adapter`, () => {
    const bench = createBench(subject);
    const { lacks = [] } = subject;
    aboutCharges(bench, subject);
    if (!lacks.includes('cancels')) aboutCancels(bench);
    if (!lacks.includes('due-date charges')) aboutDueCharges(bench);
    aboutChargeLists(bench);
    if (!lacks.includes('refunds')) aboutRefunds(bench, subject);
    if (!lacks.includes('static codes')) aboutStaticCodes(bench);
    aboutLacks(bench, lacks);
    if (!subject.payouts) {
      aboutReceiptsAlone(bench);
      return;
    }
    aboutPayouts(bench, subject);
    if (subject.twoSteps) aboutSecondSteps(bench);
    aboutTheWay(bench, subject);
    if (!subject.ownId) {
      aboutReceivedMoney(bench);
      aboutPayoutsByReference(bench);
      return;
    }
    aboutLists(bench);
    if (subject.looksFirst) {
      aboutDeliveriesThatName(bench);
      return;
    }
    if (!lacks.includes('disputes')) {
      aboutDisputes(bench);
      aboutDefences(bench);
    }
    aboutWebhooks(bench);
  });
}

function aboutLacks(bench: Bench, lacks: readonly Lack[]): void {
  test('its capabilities deny what its provider lacks, and nothing else', () => {
    const { cancelsCharges, canRefund, staticCodes, dueCharges } = bench.provider.capabilities;
    expect([cancelsCharges, canRefund, staticCodes !== null, dueCharges]).toEqual([
      !lacks.includes('cancels'),
      !lacks.includes('refunds'),
      !lacks.includes('static codes'),
      !lacks.includes('due-date charges'),
    ]);
    if (lacks.includes('disputes')) expect(bench.provider.capabilities.canDispute).toBe(false);
  });
}

function createBench(subject: Subject): Bench {
  const net = createUndiciNet();
  let faults: { on: RegExp; fault: Fault }[] = [];
  const faulty: Net = {
    ...net,
    async request(request) {
      for (const { on, fault } of faults) {
        const met = on.test(`${request.method} ${request.url}`) ? fault(request) : undefined;
        if (met instanceof Error) throw met;
        if (met && 'pass' in met) return net.request(met.pass);
        if (met) return met;
      }
      return net.request(request);
    },
  };
  const deliveries: WebhookDelivery[] = [];
  const inbox = createServer((request, answer) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const rawBody = Buffer.concat(chunks);
      deliveries.push({ headers: request.headers, rawBody, receivedAt: Date.now() });
      answer.end();
    });
  });
  let simulator: { url: string; stop(): Promise<void> };
  let stateDir: string;
  const created = (options: { clock?: Clock; pageSize?: number; maxPages?: number } = {}): Provider => {
    const { clock = systemClock, ...limits } = options;
    const world: AdapterWorld = { net: faulty, clock, log: createLog('silent') };
    return subject.create(simulator.url + subject.path, world, limits);
  };
  const bench: Bench = {
    provider: undefined as unknown as Provider,
    with: created,
    async control(method, path, body) {
      const { status, text } = await net.request({
        method,
        url: `${simulator.url}${subject.path}/control/${path}`,
        timeoutMs: 10_000,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
      return JSON.parse(text);
    },
    async payoutState(id) {
      const { payouts } = (await bench.control('GET', `state?idEnvio=${id}`)) as { payouts: never[] };
      return payouts[0];
    },
    fault: (on, fault) => void faults.push({ on, fault }),
    lift: () => {
      faults = [];
    },
    deliveries,
  };
  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'vintem-kit-'));
    simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
    await new Promise<void>((done) => inbox.listen(0, '127.0.0.1', done));
    bench.provider = created();
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
    bench.lift();
    deliveries.length = 0;
    await bench.control('DELETE', 'behaviour');
  });
  return bench;
}

let made = 0;
const newId = (): string => (0x1000_0000_0000 + ++made).toString(16).padStart(32, 'a');

const charge = (provider: Provider, txid: string, amountCents = 12_345) =>
  provider.createCharge({
    txid,
    amountCents,
    payerName: 'João da Silva',
    description: 'Pedido nº 1',
    expirySeconds: 3600,
  });

/** The provider's names of payouts, as an intent keeps them. */
const references = new Map<string, string>();

async function payout(
  provider: Provider,
  providerId: string,
  pixKey = 'fulano@example.com',
  amountCents = 975,
) {
  const outcome = await payOut(provider, {
    providerId,
    amountCents,
    pixKey,
    pixKeyType: 'EMAIL',
    description: 'Saque de março',
  });
  if (outcome.outcome === 'accepted' && outcome.report.providerRef !== undefined)
    references.set(providerId, outcome.report.providerRef);
  return outcome;
}

/** The second step, where the provider has two. */
async function confirm(provider: Provider, providerId: string, amountCents = 975) {
  const providerRef = references.get(providerId) ?? null;
  const outcome = await provider.confirmPayout?.({ providerId, providerRef, amountCents });
  if (!outcome) throw new Error('a prepared payout of a provider without a second step');
  return outcome;
}

const queryOf = (provider: Provider, providerId: string) =>
  provider.queryPayout(providerId, references.get(providerId) ?? null);

const steered = (behaviour: string): string => `${behaviour}@simulator.example`;

/** Waits for a condition; the test's own limit ends it. */
async function until<T>(find: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await systemClock.sleep(10);
  }
}

const ended = (provider: Provider, id: string) =>
  until(async () => {
    const query = await queryOf(provider, id);
    if (query.outcome !== 'found') return undefined;
    const { report } = query;
    return report.status === 'pending' || report.status === 'prepared' ? undefined : report;
  });

/** A payout that has completed at the provider, and its last report. */
async function completed({
  provider,
}: Bench): Promise<{ id: string; report: Awaited<ReturnType<typeof ended>> }> {
  const id = newId();
  await payout(provider, id);
  return { id, report: await ended(provider, id) };
}

const everything = () => ({ fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000 });

// --------------------------------------------------------------------------------------------- charges

function aboutCharges(bench: Bench, { looksFirst }: Subject): void {
  test('creates a charge with a code and a deadline', async () => {
    const txid = newId();
    const outcome = await charge(bench.provider, txid);
    if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
    expect(outcome.report).toMatchObject({ txid, amountCents: 12_345, status: 'open', received: [] });
    expect(outcome.report.expiresAt).toBe(outcome.report.createdAt + 3_600_000);
    expect(parseBrCode(outcome.report.copyPaste ?? '')).toMatchObject({ amount: '123.45' });
  });

  test('a charge under a used id is the same charge or a duplicate, and never one of another amount', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    expect((await charge(bench.provider, txid)).outcome).toMatch(/^(accepted|duplicate)$/);
    expect((await charge(bench.provider, txid, 999)).outcome).toMatch(/^(duplicate|unclear)$/);
    expect(await bench.provider.queryCharge(txid)).toMatchObject({ report: { amountCents: 12_345 } });
  });

  test.each([
    ['lose-answer', 'network', 'found'],
    ['lose-request', 'network', 'notFound'],
    ['error-500', 'server', 'notFound'],
    ['refuse-unknown', 'unknownRefusal', 'notFound'],
  ])('a charge under %s is unclear (%s), and a query says %s', async (behaviour, cause, query) => {
    await bench.control('PUT', 'behaviour', { charge: behaviour });
    const txid = newId();
    expect(await charge(bench.provider, txid)).toMatchObject({ outcome: 'unclear', cause });
    expect(await bench.provider.queryCharge(txid)).toMatchObject({ outcome: query });
  });

  test('a documented refusal of a charge is one', async () => {
    await bench.control('PUT', 'behaviour', { charge: 'refuse' });
    expect(await charge(bench.provider, newId())).toMatchObject({
      outcome: 'refused',
      reason: 'provider_refused',
    });
  });

  test('a paid charge shows every Pix, and the deliveries tell the same', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    await bench.control('POST', `charges/${txid}/pay`, { amountCents: 1 });
    const query = await bench.provider.queryCharge(txid);
    if (query.outcome !== 'found') throw new Error(query.outcome);
    expect(query.report.status).toBe('paid');
    expect(query.report.received.map((pix) => pix.amountCents)).toEqual([12_345, 1]);
    if (looksFirst) {
      await until(async () => ((await newsOf(bench)).named.includes(txid) ? true : undefined));
      return;
    }
    const told = await until(async () => {
      const { received } = await newsOf(bench);
      const pix = new Map(received.map((one) => [one.endToEnd, one]));
      return pix.size === 2 ? pix : undefined;
    });
    for (const one of query.report.received) expect(told.get(one.endToEnd)).toEqual(one);
  });
}

// --------------------------------------------------------------------------------------------- cancels

function aboutCancels(bench: Bench): void {
  const cancel = (txid: string) =>
    bench.provider.cancelCharge?.({ txid, amountCents: 12_345, createdAt: Date.now() });

  test('an open charge is cancelled by its own answer, and is then shown as removed or not at all', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    expect(await cancel(txid)).toMatchObject({
      outcome: 'accepted',
      report: { txid, amountCents: 12_345, status: 'removed', received: [] },
    });
    const query = await bench.provider.queryCharge(txid);
    expect(query.outcome === 'found' ? query.report.status : query.outcome).toMatch(/^(removed|notFound)$/);
    expect(await cancel(txid)).toMatchObject({ outcome: 'refused' });
  });

  test('a cancel of a paid charge, of one that a payer is quicker to pay, and of none is refused', async () => {
    const [paid, late] = [newId(), newId()];
    for (const txid of [paid, late]) await charge(bench.provider, txid);
    await bench.control('POST', `charges/${paid}/pay`, {});
    await bench.control('PUT', 'behaviour', { cancel: 'late-cancel' });
    for (const txid of [paid, late]) {
      expect(await cancel(txid)).toMatchObject({ outcome: 'refused' });
      expect(await bench.provider.queryCharge(txid)).toMatchObject({ report: { status: 'paid' } });
    }
    expect(await cancel(newId())).toMatchObject({ outcome: 'refused' });
  });

  test.each([
    ['lose-answer', 'network'],
    ['lose-request', 'network'],
    ['error-500', 'server'],
    ['refuse', 'unknownRefusal'],
    ['garbage', 'unreadable'],
  ])('a cancel under %s is unclear (%s)', async (behaviour, cause) => {
    await bench.control('PUT', 'behaviour', { cancel: behaviour });
    const txid = newId();
    await charge(bench.provider, txid);
    expect(await cancel(txid)).toMatchObject({ outcome: 'unclear', cause });
  });
}

// --------------------------------------------------------------------------------------------- due-date charges

const brasiliaMs = 3 * 3_600_000;

/** With terms that every provider takes. Their days lie so far apart that neither a weekend nor midnight makes another amount. */
function aboutDueCharges(bench: Bench): void {
  // At Woovi nothing goes out within a minute of midnight.
  const byDay: Clock = {
    ...systemClock,
    now() {
      const now = Date.now();
      const sinceMidnight = (now + 86_400_000 - brasiliaMs) % 86_400_000;
      return sinceMidnight < 300_000 || sinceMidnight > 86_100_000 ? now + 900_000 : now;
    },
  };
  const dueOf = (): DueCharges => {
    const { dueCharges } = bench.with({ clock: byDay });
    if (!dueCharges) throw new Error('the adapter has no due-date charges');
    return dueCharges;
  };
  const inDays = (days: number): string =>
    new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const terms = (): DueTerms => ({
    ...{ dueDate: inDays(10), validAfterDue: 60, interest: null, rebate: null },
    fine: { type: 'percent', value: 200 },
    discounts: [{ until: inDays(7), type: 'fixed', value: 500 }],
  });
  const payer = {
    ...{ name: 'Maria Silva', document: '11144477735' },
    address: { street: 'Rua A, 12', city: 'Recife', state: 'PE', postalCode: '50030000' },
  };
  const create = (txid: string) =>
    dueOf().create({ txid, amountCents: 10_000, terms: terms(), payer, description: 'Mensalidade' });

  test.each([
    ['early', 3, 9_500],
    ['late', 40, 10_200],
  ])(
    'a due-date charge has a code, and what is paid %s is what its provider computes',
    async (_, on, paid) => {
      const txid = newId();
      const outcome = await create(txid);
      if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
      expect(outcome.report).toMatchObject({ txid, amountCents: 10_000, status: 'open', received: [] });
      expect(parseBrCode(outcome.report.copyPaste ?? '')).not.toBeNull();
      expect((await create(txid)).outcome).toMatch(/^(accepted|duplicate)$/);
      await bench.control('POST', `charges/${txid}/pay`, { on: inDays(on) });
      expect(await dueOf().query(txid)).toMatchObject({
        report: { amountCents: 10_000, status: 'paid', received: [{ amountCents: paid, txid }] },
      });
      expect(await queryAnyCharge(bench.provider, txid)).toMatchObject({ report: { status: 'paid' } });
    },
  );

  test.each([
    ['lose-answer', 'network', 'found'],
    ['lose-request', 'network', 'notFound'],
    ['refuse-unknown', 'unknownRefusal', 'notFound'],
  ])('a due-date charge under %s is unclear (%s), and a query says %s', async (behaviour, cause, query) => {
    await bench.control('PUT', 'behaviour', { charge: behaviour });
    const txid = newId();
    expect(await create(txid)).toMatchObject({ outcome: 'unclear', cause });
    expect(await dueOf().query(txid)).toMatchObject({ outcome: query });
  });

  test('a due-date charge is cancelled by its own answer', async () => {
    const txid = newId();
    await create(txid);
    const asked = { txid, amountCents: 10_000, createdAt: Date.now() };
    expect(await dueOf().cancel(asked)).toMatchObject({
      ...{ outcome: 'accepted', report: { txid, status: 'removed' } },
    });
  });

  test('the terms of an open charge are changed where the provider changes them, and it says where it does not', async () => {
    const { change } = dueOf();
    expect(change === undefined).toBe(bench.provider.capabilities.dueTerms?.changes === false);
    if (!change) return;
    const txid = newId();
    await create(txid);
    const asked = { txid, amountCents: 11_000, terms: terms(), before: terms(), createdAt: Date.now() };
    expect(await change(asked)).toMatchObject({ outcome: 'accepted', report: { amountCents: 11_000 } });
  });
}

// --------------------------------------------------------------------------------------------- payouts

function aboutPayouts(bench: Bench, { ownId, looksFirst, lacks = [] }: Subject): void {
  const reportsPayouts = ownId && !looksFirst;
  /** How a query and a repeat see a payout whose answer was lost. */
  const lost = ownId ? { query: 'found', repeat: 'duplicate' } : { query: 'notFound', repeat: 'accepted' };

  test('a payout is accepted and completes, and the delivery tells the same as the query', async () => {
    const id = newId();
    expect(await payout(bench.provider, id)).toMatchObject({
      outcome: 'accepted',
      report: { providerId: id, amountCents: 975, status: 'pending' },
    });
    const report = await ended(bench.provider, id);
    expect(report).toMatchObject({ status: 'completed', amountCents: 975, returns: [] });
    if (lacks.includes('end-to-end ids of payouts')) expect(report.endToEnd).toBeNull();
    else expect(report.endToEnd).toMatch(/^E/);
    if (!reportsPayouts) return;
    const told = await until(async () => (await newsOf(bench)).payouts.find((one) => one.providerId === id));
    expect(told).toMatchObject({
      status: 'completed',
      endToEnd: report.endToEnd,
      settledAt: report.settledAt,
    });
  });

  test('A payout to a CNPJ with letters is accepted', async () => {
    const sent = await bench.provider.sendPayout({
      providerId: newId(),
      amountCents: 975,
      pixKey: '12ABC34501DE35',
      pixKeyType: 'CNPJ',
      description: 'Saque',
    });
    expect(sent).toMatchObject({ outcome: 'accepted' });
  });

  test('a lost answer is unclear, and the repeat pays nothing again', async () => {
    const id = newId();
    expect(await payout(bench.provider, id, steered('lose-answer'))).toMatchObject({
      outcome: 'unclear',
      cause: 'network',
    });
    expect(await queryOf(bench.provider, id)).toMatchObject({ outcome: lost.query });
    expect(await payout(bench.provider, id, steered('lose-answer'))).toMatchObject({ outcome: lost.repeat });
    expect(await bench.payoutState(id)).toMatchObject({
      timesReceived: looksFirst ? 1 : 2,
      timesAccepted: 1,
    });
    expect(await queryOf(bench.provider, id)).toMatchObject({ outcome: 'found' });
  });

  test('a lost request: unclear, not found, and the repeat is accepted once', async () => {
    const id = newId();
    expect(await payout(bench.provider, id, steered('lose-request'))).toMatchObject({
      outcome: 'unclear',
      cause: 'network',
    });
    expect(await queryOf(bench.provider, id)).toEqual({ outcome: 'notFound' });
    expect(await payout(bench.provider, id)).toMatchObject({ outcome: 'accepted' });
    expect(await bench.payoutState(id)).toMatchObject({ timesAccepted: 1 });
  });

  test('a late request: what was not found arrives after all, and is never made twice', async () => {
    await bench.control('PUT', 'behaviour', { delayMs: 300 });
    const id = newId();
    expect(await payout(bench.provider, id, steered('delay-request'))).toMatchObject({ outcome: 'unclear' });
    await until(async () => ((await bench.payoutState(id))?.timesAccepted === 1 ? true : undefined));
    expect(await queryOf(bench.provider, id)).toMatchObject({ outcome: lost.query });
    expect(await payout(bench.provider, id)).toMatchObject({ outcome: lost.repeat });
    expect(await bench.payoutState(id)).toMatchObject({ timesAccepted: 1 });
  });

  test('a used id makes no second payout, neither the same nor another', async () => {
    const { id } = await completed(bench);
    expect(await payout(bench.provider, id)).toMatchObject({ outcome: lost.repeat });
    expect(await payout(bench.provider, id, 'outro@example.com', 1)).toMatchObject({ outcome: lost.repeat });
    expect(await queryOf(bench.provider, id)).toMatchObject({
      report: { amountCents: 975, status: 'completed' },
    });
    expect(await bench.payoutState(id)).toMatchObject({
      timesReceived: looksFirst ? 1 : 3,
      timesAccepted: 1,
    });
  });

  test.each([
    ['pix-key-not-found', 'pix_key_not_found'],
    ['refuse-in-answer', undefined],
  ])('a documented refusal (%s) refuses, and nothing was carried out', async (behaviour, reason) => {
    const id = newId();
    const outcome = await payout(bench.provider, id, steered(behaviour));
    // It is said in the answer, or the answer to a query for this id says it: both are the provider's word for this id.
    const said = outcome.outcome === 'accepted' ? outcome.report : outcome;
    expect(said).toMatchObject(
      outcome.outcome === 'accepted' ? { status: 'refused' } : { outcome: 'refused' },
    );
    if (reason !== undefined && outcome.outcome === 'refused') expect(outcome.reason).toBe(reason);
    // Where the key is looked up before, nothing was sent.
    const never = { status: 'refused', timesAccepted: 0 };
    expect((await bench.payoutState(id)) ?? never).toMatchObject(never);
  });

  test.each([
    ['refuse-unknown', 'unknownRefusal', 'notFound'],
    ['error-500', 'server', 'notFound'],
    ['error-500-after-accepting', 'server', 'found'],
    ['garbage', 'unreadable', 'found'],
  ])('%s is unclear (%s), and a query says %s', async (behaviour, cause, query) => {
    const id = newId();
    expect(await payout(bench.provider, id, steered(behaviour))).toMatchObject({ outcome: 'unclear', cause });
    const seen = query === 'found' ? lost.query : query;
    expect(await queryOf(bench.provider, id)).toMatchObject({ outcome: seen });
  });

  test('a payout that was refused in unlisted words leaves its row, and its id makes no payout any more', async () => {
    const id = newId();
    await payout(bench.provider, id, steered('refuse-unknown'));
    const refused = { status: 'refused', timesAccepted: 0 };
    expect(await bench.payoutState(id)).toMatchObject(refused);
    if (!looksFirst) expect((await payout(bench.provider, id)).outcome).toMatch(/^(duplicate|unclear)$/);
    expect(await bench.payoutState(id)).toMatchObject(refused);
  });

  test('a payout that waits for a person stays open, and then ends as that person decides', async () => {
    const [approved, declined] = [newId(), newId()];
    const status = bench.provider.capabilities.confirmsPayouts ? 'prepared' : 'pending';
    for (const id of [approved, declined]) {
      expect(await payout(bench.provider, id, steered('hold-for-approval'))).toMatchObject({
        outcome: 'accepted',
        report: { status },
      });
      expect(await queryOf(bench.provider, id)).toMatchObject({ report: { status } });
    }
    await bench.control('POST', `payouts/${approved}/complete`, {});
    await bench.control('POST', `payouts/${declined}/refuse`, {});
    expect(await ended(bench.provider, approved)).toMatchObject({ status: 'completed' });
    expect(await ended(bench.provider, declined)).toMatchObject({ status: 'refused' });
  });

  test('one that is refused later says so and why', async () => {
    const id = newId();
    await payout(bench.provider, id, steered('refuse-later'));
    expect(await ended(bench.provider, id)).toMatchObject({ status: 'refused', reason: 'recipient_refused' });
    if (!reportsPayouts) return;
    const told = await until(async () => (await newsOf(bench)).payouts.find((one) => one.providerId === id));
    expect(told).toMatchObject({ status: 'refused', reason: 'recipient_refused' });
  });

  if (reportsPayouts) aboutPayoutsThatComeBack(bench, !lacks.includes('end-to-end ids of payouts'));
}

/** Where a first call prepares a payout, and a second one sends it. */
function aboutSecondSteps(bench: Bench): void {
  const prepare = async (amountCents = 975) => {
    const id = newId();
    const sent = await bench.provider.sendPayout({
      ...{ providerId: id, amountCents, pixKey: 'fulano@example.com', pixKeyType: 'EMAIL', description: '' },
    });
    expect(sent).toMatchObject({ outcome: 'accepted', report: { providerId: id, status: 'prepared' } });
    return id;
  };
  const statusOf = async (id: string) => {
    const found = await queryOf(bench.provider, id);
    return found.outcome === 'found' ? found.report.status : found.outcome;
  };

  test('a prepared payout is found and listed as that, has moved nothing, and stays so', async () => {
    const before = await bench.provider.balance();
    const id = await prepare();
    expect(await statusOf(id)).toBe('prepared');
    const listed = await bench.provider.listPayouts(everything());
    if (listed.outcome !== 'listed') throw new Error(listed.outcome);
    expect(listed.reports.find(({ providerId }) => providerId === id)?.status).toBe('prepared');
    const moved = await bench.provider.statement(everything());
    if (moved.outcome !== 'listed') throw new Error(moved.outcome);
    expect(moved.reports.filter(({ providerId }) => providerId === id)).toEqual([]);
    expect((await bench.provider.balance()).availableCents).toBe(before.availableCents);
  });

  test('a second step sends it once, and another one sends nothing', async () => {
    const id = await prepare();
    expect(await confirm(bench.provider, id)).toMatchObject({
      ...{ outcome: 'accepted', report: { status: 'pending' } },
    });
    expect(await ended(bench.provider, id)).toMatchObject({ status: 'completed' });
    expect(await confirm(bench.provider, id)).toMatchObject({ outcome: 'unclear' });
    expect(await bench.payoutState(id)).toMatchObject({ timesAccepted: 1 });
  });

  test.each([
    ['lose-answer', 'network', 'completed'],
    ['lose-request', 'network', 'prepared'],
    ['error-500', 'server', 'prepared'],
    ['refuse-unknown', 'unknownRefusal', 'prepared'],
    ['garbage', 'unreadable', 'completed'],
  ])('a second step under %s is unclear (%s), and the payout is %s', async (behaviour, cause, status) => {
    const id = await prepare();
    await bench.control('PUT', 'behaviour', { confirm: behaviour });
    expect(await confirm(bench.provider, id)).toMatchObject({ outcome: 'unclear', cause });
    await bench.control('PUT', 'behaviour', {});
    await expect.poll(() => statusOf(id)).toBe(status);
  });

  test('a second step without money leaves it prepared', async () => {
    const id = await prepare(100_000_000);
    await bench.control('PUT', 'behaviour', { overdraft: 'refuse' });
    expect(await confirm(bench.provider, id, 100_000_000)).toMatchObject({
      ...{ outcome: 'accepted', report: { status: 'prepared' } },
    });
  });
}

function aboutStaticCodes(bench: Bench): void {
  test('a static code is made once for its identifier, and each Pix of it is listed, found and delivered under that', async () => {
    const identifier = newStaticIdentifier(randomBytes(15));
    const create = () =>
      bench.provider.createStaticCode?.({
        ...{
          identifier,
          name: 'Balcão 1',
          amountCents: 1500,
          merchantName: 'São João',
          merchantCity: 'BRASIL',
        },
      });
    const made = await create();
    if (made?.outcome !== 'accepted') throw new Error('the code was not made');
    expect(parseBrCode(made.report.copyPaste)).toMatchObject({ txid: identifier, amount: '15.00' });
    expect(await create()).toEqual(made);
    const paid = (await bench.control('POST', 'static', { identifier, amountCents: 1500 })) as {
      endToEnd: string;
    };
    expect(await bench.provider.findPix(paid.endToEnd)).toEqual({
      outcome: 'found',
      report: { direction: 'received', providerId: identifier },
    });
    const now = Date.now();
    const listed = await bench.provider.statement({ fromMs: now - 60_000, toMs: now + 60_000 });
    const lines = listed.outcome === 'listed' ? listed.reports : [];
    expect(lines.find(({ endToEnd }) => endToEnd === paid.endToEnd)).toMatchObject({
      ...{ kind: 'received', amountCents: 1500, providerId: identifier },
    });
    const told = await until(async () =>
      (await newsOf(bench)).received.find(({ endToEnd }) => endToEnd === paid.endToEnd),
    );
    expect(told).toMatchObject({ txid: identifier, amountCents: 1500 });
  });
}

function aboutPayoutsThatComeBack(bench: Bench, isFoundByPix: boolean): void {
  test('one that comes back is told with its return, and its Pix names the payout', async () => {
    const { id, report } = await completed(bench);
    await bench.control('POST', `payouts/${id}/return`, { amountCents: 75 });
    const back = await until(async () => {
      const { payouts, returned = [] } = await newsOf(bench);
      const own = payouts.flatMap((one) => (one.providerId === id ? one.returns : []));
      return [
        ...own,
        ...returned.filter((one) => one.endToEnd === report.endToEnd).map((one) => one.back),
      ][0];
    });
    expect(back).toMatchObject({ amountCents: 75, status: 'settled' });
    if (!isFoundByPix) return;
    expect(await bench.provider.findPix(report.endToEnd ?? '')).toEqual({
      outcome: 'found',
      report: { direction: 'sent', providerId: id },
    });
  });
}

// --------------------------------------------------------------------------------------------- the way

function aboutTheWay(bench: Bench, { tokens, restAfterLimitMs }: Subject): void {
  const isCall = /^(PUT|POST) .*\/(gn\/pix|api\/v1\/payment|banking\/v2\/pix|v2\/transfer|v3\/transfers)\b/;
  const limited = (headers: Record<string, string>): NetAnswer => ({
    status: 429,
    headers: { 'content-type': 'application/json', ...headers },
    text: '{}',
  });

  test.each<[Record<string, string>, number | null]>([
    [{ 'retry-after': '7' }, 7_000],
    [{}, restAfterLimitMs ?? null],
  ])('429 with %o is unclear, and says how long to wait', async (headers, retryAfterMs) => {
    bench.fault(isCall, () => limited(headers));
    expect(await payout(bench.provider, newId())).toMatchObject({
      outcome: 'unclear',
      cause: 'rateLimited',
      retryAfterMs,
    });
  });

  test('an hour between the clocks changes no outcome', async () => {
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 };
    const provider = bench.with({ clock });
    const [txid, id] = [newId(), newId()];
    expect(await charge(provider, txid)).toMatchObject({ outcome: 'accepted', report: { status: 'open' } });
    expect(await payout(provider, id)).toMatchObject({ outcome: 'accepted' });
    expect(await ended(provider, id)).toMatchObject({ status: 'completed' });
  });

  test('what cannot be sent, with an expired certificate for instance, is not sent', async () => {
    const provider = bench.with({});
    bench.fault(/./, () => new NotSent('certificate expired'));
    const id = newId();
    expect(await payout(provider, id)).toMatchObject({ outcome: 'notSent' });
    expect(await charge(provider, newId())).toMatchObject({ outcome: 'notSent' });
    expect(await provider.queryPayout(id, 'a name')).toMatchObject({ outcome: 'unclear', cause: 'network' });
    bench.lift();
    expect(await bench.payoutState(id)).toBeUndefined();
  });

  if (tokens) aboutTokens(bench, isCall);
  else aboutKeys(bench, isCall);
}

function aboutTokens(bench: Bench, isCall: RegExp): void {
  test('a token that cannot be had, whatever became of the question, sends nothing', async () => {
    const provider = bench.with({});
    bench.fault(/oauth/, () => new NetFailure('tls alert certificate expired', { timedOut: false }));
    const id = newId();
    expect(await payout(provider, id)).toMatchObject({ outcome: 'notSent' });
    bench.lift();
    expect(await bench.payoutState(id)).toBeUndefined();
  });

  test('a token that expires in the middle is replaced, and the payout is made once', async () => {
    const { provider } = bench;
    await completed(bench);
    let refused = 0;
    bench.fault(isCall, (request) => {
      if (refused++ > 0) return undefined;
      return { pass: { ...request, headers: { ...request.headers, authorization: 'Bearer expired' } } };
    });
    const id = newId();
    expect(await payout(provider, id)).toMatchObject({ outcome: 'accepted' });
    expect(await bench.payoutState(id)).toMatchObject({ timesReceived: 1, timesAccepted: 1 });
  });
}

function aboutKeys(bench: Bench, isCall: RegExp): void {
  test('a key that is refused sends nothing', async () => {
    const wrong = { authorization: 'x', 'access-signature': 'x', access_token: 'x' };
    bench.fault(isCall, (request) => ({
      pass: { ...request, headers: { ...request.headers, ...wrong } },
    }));
    const id = newId();
    expect(await payout(bench.provider, id)).toMatchObject({ outcome: 'notSent' });
    expect(await bench.payoutState(id)).toBeUndefined();
  });
}

// --------------------------------------------------------------------------------------------- refunds

function aboutRefunds(bench: Bench, { refundRefusal, looksFirst }: Subject): void {
  /** A charge that was paid, and its Pix. */
  const paid = async (): Promise<{ txid: string; endToEnd: string }> => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    const query = await bench.provider.queryCharge(txid);
    if (query.outcome !== 'found') throw new Error(query.outcome);
    return { txid, endToEnd: query.report.received[0]?.endToEnd ?? '' };
  };
  const refund = (endToEnd: string, providerId: string, description = 'Devolução', amountCents = 345) =>
    bench.provider.sendRefund({ endToEnd, providerId, amountCents, description });
  /** The provider's own truth about the refunds of a charge. */
  const atProvider = async (txid: string) => {
    const { charges } = (await bench.control('GET', `state?txid=${txid}`)) as {
      charges: {
        refunds?: { id: string; timesReceived: number; timesAccepted: number; status?: string }[];
      }[];
    };
    return charges[0]?.refunds ?? [];
  };
  const refunded = (endToEnd: string, id: string) =>
    until(async () => {
      const query = await bench.provider.queryRefund(endToEnd, id);
      return query.outcome === 'found' && query.report.status !== 'pending' ? query.report : undefined;
    });

  test('a refund is accepted and completes, and its query names the return', async () => {
    const { txid, endToEnd } = await paid();
    const id = newId();
    expect(bench.provider.capabilities.canRefund).toBe(true);
    expect(await refund(endToEnd, id)).toMatchObject({
      outcome: 'accepted',
      report: { providerId: id, amountCents: 345, status: 'pending' },
    });
    const report = await refunded(endToEnd, id);
    expect(report).toMatchObject({ status: 'completed', amountCents: 345, reason: null });
    expect(report.rtrId).toMatch(/^D/);
    expect(report.settledAt).toBeGreaterThan(0);
    expect(await atProvider(txid)).toMatchObject([{ id, status: 'completed', timesAccepted: 1 }]);
  });

  test('a refund whose answer is lost is found by our id, and its repeat gives nothing back again', async () => {
    const { txid, endToEnd } = await paid();
    const id = newId();
    expect(await refund(endToEnd, id, steered('lose-answer'))).toMatchObject({
      outcome: 'unclear',
      cause: 'network',
    });
    expect(await bench.provider.queryRefund(endToEnd, id)).toMatchObject({ outcome: 'found' });
    expect((await refund(endToEnd, id)).outcome).toMatch(/^(duplicate|accepted|unclear)$/);
    const all = await atProvider(txid);
    expect(all).toMatchObject([{ id, timesReceived: looksFirst ? 1 : 2, timesAccepted: 1 }]);
  });

  test('a refund whose request is lost is not found, and its repeat is accepted once', async () => {
    const { txid, endToEnd } = await paid();
    const id = newId();
    expect(await refund(endToEnd, id, steered('lose-request'))).toMatchObject({ outcome: 'unclear' });
    expect(await bench.provider.queryRefund(endToEnd, id)).toEqual({ outcome: 'notFound' });
    expect(await refund(endToEnd, id)).toMatchObject({ outcome: 'accepted' });
    expect(await atProvider(txid)).toMatchObject([{ id, timesReceived: 2, timesAccepted: 1 }]);
  });

  test.each([
    ['refuse-unknown', 'unknownRefusal', 'notFound'],
    ['error-500', 'server', 'notFound'],
    ['error-500-after-accepting', 'server', 'found'],
    ['garbage', 'unreadable', 'found'],
  ])('a refund under %s is unclear (%s), and a query says %s', async (behaviour, cause, query) => {
    const { endToEnd } = await paid();
    const id = newId();
    expect(await refund(endToEnd, id, steered(behaviour))).toMatchObject({ outcome: 'unclear', cause });
    expect(await bench.provider.queryRefund(endToEnd, id)).toMatchObject({ outcome: query });
  });

  test('a refund that fails later says so, and one above its Pix gives nothing back', async () => {
    const { txid, endToEnd } = await paid();
    const [failing, excessive] = [newId(), newId()];
    await refund(endToEnd, failing, steered('refuse-later'));
    expect(await refunded(endToEnd, failing)).toMatchObject({
      status: 'refused',
      reason: 'provider_refused',
    });
    const { outcome } = await refund(endToEnd, excessive, '', 12_346);
    expect(outcome).toBe(refundRefusal ? 'refused' : 'unclear');
    expect((await atProvider(txid)).filter((one) => one.timesAccepted > 0)).toMatchObject([
      { id: failing, status: 'failed' },
    ]);
  });

  test('a refund that cannot be sent is not sent', async () => {
    const { endToEnd } = await paid();
    const provider = bench.with({});
    bench.fault(/./, () => new NotSent('certificate expired'));
    const instruction = { endToEnd, providerId: newId(), amountCents: 1, description: '' };
    expect(await provider.sendRefund(instruction)).toMatchObject({ outcome: 'notSent' });
  });
}

// ----------------------------------------------------------------------------------------------- lists

function aboutChargeLists(bench: Bench): void {
  const behave = (behaviour: object) => bench.control('PUT', 'behaviour', behaviour);
  const listed = async () => {
    const answer = await bench.with({ pageSize: 100, maxPages: 1_000 }).listCharges(everything());
    if (answer.outcome !== 'listed') throw new Error(answer.outcome);
    return answer;
  };

  test.each(['short', 'other-type'])('amounts in another form (%s) are read', async (amounts) => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    await behave({ amounts });
    const { reports, unread } = await listed();
    await bench.control('DELETE', 'behaviour');
    expect(unread).toEqual([]);
    expect(reports.find((one) => one.txid === txid)).toMatchObject({
      amountCents: 12_345,
      received: [{ amountCents: 12_345 }],
    });
  });

  test('a list with pages that are smaller than asked, in another order, and one with an odd item in each, is read to its end', async () => {
    for (let n = 0; n < 3; n++) await charge(bench.provider, newId());
    const before = (await listed()).reports.length;
    await behave({ pageCap: 2 });
    const capped = await listed();
    await behave({ lists: 'reversed' });
    const reversed = await listed();
    await behave({ pageCap: 0, lists: 'odd-item' });
    const odd = await listed();
    await behave({ lists: 'whole', listLagMs: 3_600_000 });
    const late = await listed();
    await bench.control('DELETE', 'behaviour');
    expect([capped.complete, capped.reports.length]).toEqual([true, before]);
    const txids = (one: typeof capped) => one.reports.map(({ txid }) => txid).toSorted();
    expect([reversed.complete, txids(reversed)]).toEqual([true, txids(capped)]);
    // One, and where deposits are a list of their own the charge of the odd one as well.
    const unread = new Set(
      odd.unread.flatMap(({ kind, providerId }) => (kind === 'charge' ? [providerId] : [])),
    );
    expect(unread.size).toBeGreaterThan(0);
    expect([odd.complete, odd.reports.length]).toEqual([true, before - unread.size]);
    expect([late.complete, late.reports]).toEqual([true, []]);
  });

  test('paid and open charges are listed with what they received, oldest first', async () => {
    const [paid, open] = [newId(), newId()];
    await charge(bench.provider, paid);
    await charge(bench.provider, open);
    await bench.control('POST', `charges/${paid}/pay`, {});
    const listed = await bench.provider.listCharges(everything());
    if (listed.outcome !== 'listed') throw new Error(listed.outcome);
    const of = (txid: string) => listed.reports.find((one) => one.txid === txid);
    expect(of(paid)).toMatchObject({ status: 'paid', received: [{ amountCents: 12_345, txid: paid }] });
    expect(of(open)).toMatchObject({ status: 'open', received: [] });
    const times = listed.reports.map(({ createdAt }) => createdAt);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
}

function aboutReceiptsAlone(bench: Bench): void {
  const isCharge = /^PUT .*\/cob\//;

  test('429 is unclear, a broken connection too, and what cannot be sent is not sent', async () => {
    bench.fault(isCharge, () => ({ status: 429, headers: { 'retry-after': '7' }, text: '{}' }));
    const limited = await charge(bench.provider, newId());
    expect(limited).toMatchObject({ outcome: 'unclear', cause: 'rateLimited', retryAfterMs: 7_000 });
    bench.lift();
    bench.fault(isCharge, () => new NetFailure('broken', { timedOut: false }));
    expect(await charge(bench.provider, newId())).toMatchObject({ outcome: 'unclear', cause: 'network' });
    bench.lift();
    bench.fault(/./, () => new NotSent('certificate expired'));
    expect(await charge(bench.with({}), newId())).toMatchObject({ outcome: 'notSent' });
  });

  test('a token that expires in the middle is replaced', async () => {
    await charge(bench.provider, newId());
    let refused = 0;
    bench.fault(isCharge, (request) => {
      if (refused++ > 0) return undefined;
      return { pass: { ...request, headers: { ...request.headers, authorization: 'Bearer expired' } } };
    });
    expect(await charge(bench.provider, newId())).toMatchObject({ outcome: 'accepted' });
    expect(refused).toBe(2);
  });

  aboutReceivedMoney(bench);

  test('it says what it does not offer', () => {
    const { payouts, canListPayouts, hasBalance, charges } = bench.provider.capabilities;
    expect({ payouts, canListPayouts, hasBalance, charges }).toEqual({
      payouts: false,
      canListPayouts: false,
      hasBalance: false,
      charges: true,
    });
    expect(bench.provider.capabilities.webhookTrust).not.toBe('signed');
  });
}

function aboutReceivedMoney(bench: Bench): void {
  test('the statement names what came in and what was given back, and whose it was', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    await bench.control('POST', `charges/${txid}/return`, { amountCents: 45 });
    const statement = await bench.with({ pageSize: 1, maxPages: 1_000 }).statement(everything());
    if (statement.outcome !== 'listed') throw new Error(statement.outcome);
    expect(statement.complete).toBe(true);
    const own = statement.reports.filter((line) => line.providerId === txid);
    expect(own.map(({ kind, amountCents }) => [kind, amountCents])).toEqual([
      ['received', 12_345],
      ['debited', 45],
    ]);
    expect(await bench.provider.findPix(own[0]?.endToEnd ?? '')).toEqual({
      outcome: 'found',
      report: { direction: 'received', providerId: txid },
    });
  });
}

/** Where only the provider's own name of a payout finds it. */
function aboutPayoutsByReference(bench: Bench): void {
  test('a payout goes out under a key made from our id, and the provider names it', async () => {
    const id = newId();
    const sent: NetRequest[] = [];
    bench.fault(/^POST .*banking/, (request) => void sent.push(request));
    const outcome = await payout(bench.provider, id);
    expect(outcome).toMatchObject({ outcome: 'accepted', report: { providerRef: expect.any(String) } });
    expect(references.get(id)?.replaceAll('-', '')).not.toBe(id);
    const [request] = sent;
    expect(request?.headers?.['x-id-idempotente']?.replaceAll('-', '')).toBe(id);
    expect(request?.headers?.['x-id-idempotente']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('a repeat long after the first request is not sent, since its key may have expired', async () => {
    const id = newId();
    const repeat = (repeatOf: number) =>
      bench.provider.sendPayout({
        providerId: id,
        amountCents: 975,
        pixKey: 'fulano@example.com',
        pixKeyType: 'EMAIL',
        description: '',
        repeatOf,
      });
    expect(await repeat(Date.now() - 3_600_000)).toMatchObject({ outcome: 'unclear' });
    expect(await bench.payoutState(id)).toBeUndefined();
    expect(await repeat(Date.now() - 20_000)).toMatchObject({ outcome: 'accepted' });
  });

  test('it says what it does not offer, and its balance is what the provider has', async () => {
    const { payouts, canListPayouts, queryPayoutByOwnId, hasBalance } = bench.provider.capabilities;
    expect({ payouts, canListPayouts, queryPayoutByOwnId, hasBalance }).toEqual({
      payouts: true,
      canListPayouts: false,
      queryPayoutByOwnId: false,
      hasBalance: true,
    });
    // Until they agree: a payout of a test before this one may still leave between the two looks.
    const differenceCents = async () => {
      const { balanceCents } = (await bench.control('GET', 'state')) as { balanceCents: number };
      return (await bench.provider.balance()).availableCents - balanceCents;
    };
    await expect.poll(differenceCents).toBe(0);
  });

  test('what the provider does not know is not found', async () => {
    expect(await bench.provider.queryPayout(newId(), newId())).toEqual({ outcome: 'notFound' });
    expect(await bench.provider.queryCharge(newId())).toEqual({ outcome: 'notFound' });
  });
}

function aboutLists(bench: Bench): void {
  test('a window is read to its last page, and says when it was not', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await completed(bench)).id);
    const paged = await bench.with({ pageSize: 2, maxPages: 1_000 }).listPayouts(everything());
    if (paged.outcome !== 'listed') throw new Error(paged.outcome);
    expect(paged.complete).toBe(true);
    expect(paged.reports.map((one) => one.providerId)).toEqual(expect.arrayContaining(ids));
    const cut = await bench.with({ pageSize: 2, maxPages: 1 }).listPayouts(everything());
    if (cut.outcome !== 'listed' || cut.complete) throw new Error('it says to be whole');
    expect(cut.reports).toHaveLength(2);
    expect(cut.parts).toBeGreaterThanOrEqual(2);
  });

  test('entries that are not ours do not hide ours', async () => {
    await payout(bench.provider, 'deOutroSistema', 'fulano@example.com');
    const { id } = await completed(bench);
    const listed = await bench.provider.listPayouts(everything());
    if (listed.outcome !== 'listed') throw new Error(listed.outcome);
    expect(listed.complete).toBe(true);
    expect(listed.reports.some((one) => one.providerId === id)).toBe(true);
  });

  test('the statement names what moved, and the balance is what the provider has', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    const { id, report } = await completed(bench);
    const statement = await bench.provider.statement(everything());
    if (statement.outcome !== 'listed') throw new Error(statement.outcome);
    expect(statement.complete).toBe(true);
    expect(statement.reports).toContainEqual(
      expect.objectContaining({ kind: 'sent', amountCents: 975, endToEnd: report.endToEnd, providerId: id }),
    );
    expect(statement.reports).toContainEqual(
      expect.objectContaining({ kind: 'received', amountCents: 12_345, providerId: txid }),
    );
    // Until they agree: a payout of a test before this one may still leave between the two looks.
    const differenceCents = async () => {
      const { balanceCents } = (await bench.control('GET', 'state')) as { balanceCents: number };
      return (await bench.provider.balance()).availableCents - balanceCents;
    };
    await expect.poll(differenceCents).toBe(0);
  });

  test('what the provider does not know is not found, and the follow-up is told so in words of its own', async () => {
    expect(await bench.provider.queryPayout(newId())).toEqual({ outcome: 'notFound' });
    expect(await bench.provider.queryCharge(newId())).toEqual({ outcome: 'notFound' });
    expect(await bench.provider.findPix('E99999999202601010000aaaaaaaaaaa')).toEqual({ outcome: 'notFound' });
  });
}

// -------------------------------------------------------------------------------------------- disputes

function aboutDisputes(bench: Bench): void {
  test('a dispute is listed with its Pix, its amount and what becomes of it', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    const opened = (await bench.control('POST', `charges/${txid}/dispute`, {})) as { id: string };
    const listed = async () => {
      const outcome = await bench.provider.disputes?.list(everything());
      if (outcome?.outcome !== 'listed') throw new Error(outcome?.outcome);
      return outcome.reports.find((one) => one.providerId === opened.id);
    };
    const query = await bench.provider.queryCharge(txid);
    const endToEnd = query.outcome === 'found' ? query.report.received[0]?.endToEnd : '';
    expect(await listed()).toMatchObject({ endToEnd, amountCents: 12_345, status: 'open' });
    for (const [act, status] of [
      ['accept', 'accepted'],
      ['reject', 'rejected'],
      ['cancel', 'cancelled'],
    ]) {
      await bench.control('POST', `disputes/${opened.id}/${act}`, {});
      expect(await listed()).toMatchObject({ status });
    }
  });
}

function aboutDefences(bench: Bench): void {
  const opened = async (): Promise<string> => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    return ((await bench.control('POST', `charges/${txid}/dispute`, {})) as { id: string }).id;
  };
  const contents = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(300, 0xe9)]);
  const file = {
    id: crypto.randomUUID(),
    name: 'recibo "assinado" nº 1.pdf',
    type: 'application/pdf' as const,
    read: async () => contents,
  };
  const defend = (disputeId: string, longest = false) => {
    const { textMost = 0, files } = bench.provider.capabilities.defence ?? {};
    const text = longest ? 'x'.repeat(textMost) : 'Entregue em 20/11.';
    const content = { text: textMost === 0 ? null : text, files: files ? [file] : [] };
    return bench.provider.disputes?.defend?.({ disputeId, ...content });
  };
  const kept = async (id: string) => {
    const { disputes } = (await bench.control('GET', 'state')) as {
      disputes: { id: string; defence?: { text?: string; files?: object[] } }[];
    };
    return disputes.find((one) => one.id === id)?.defence;
  };

  test('a defence is taken, and once for each dispute where it is a text', async () => {
    const { defence } = bench.provider.capabilities;
    if (defence === null) return;
    const id = await opened();
    expect(await defend(id, true)).toEqual({ outcome: 'accepted' });
    if (defence.textMost > 0)
      expect(await defend(id)).toMatchObject({ outcome: 'refused', reason: 'already_defended' });
  });

  test('files arrive byte for byte, and a repeat makes no second copy', async () => {
    if (!bench.provider.capabilities.defence?.files) return;
    const id = await opened();
    await bench.control('PUT', 'behaviour', { defence: 'lose-answer' });
    expect(await defend(id)).toMatchObject({ outcome: 'unclear' });
    await bench.control('PUT', 'behaviour', { defence: 'take' });
    expect(await defend(id)).toEqual({ outcome: 'accepted' });
    const sha256 = createHash('sha256').update(contents).digest('hex');
    const name = file.name.replaceAll('"', '%22');
    expect((await kept(id))?.files).toMatchObject([{ name, sha256, sizeBytes: contents.length }]);
  });

  test('a file that cannot be read is no defence, and nothing else is sent', async () => {
    if (!bench.provider.capabilities.defence?.files) return;
    const id = await opened();
    const files = [file, { ...file, id: crypto.randomUUID(), read: async () => null }];
    const outcome = await bench.provider.disputes?.defend?.({ disputeId: id, text: null, files });
    expect(outcome).toMatchObject({ outcome: 'notSent' });
    expect(await kept(id)).toBeUndefined();
  });

  test('a defence of a dispute that has ended is refused', async () => {
    if (bench.provider.capabilities.defence === null) return;
    const id = await opened();
    await bench.control('POST', `disputes/${id}/reject`, {});
    expect(await defend(id)).toMatchObject({ outcome: 'refused' });
  });
}

// -------------------------------------------------------------------------------------------- webhooks

/** Everything that the deliveries so far say and that is believed; payouts that one only names are queried, as the service does. */
async function newsOf({ provider, deliveries }: Bench): Promise<Required<Moves>> {
  const lists = { received: [], payouts: [], returned: [], named: [], namedAs: [] };
  const all: Required<Moves> = { ...lists, unread: [], costs: [] };
  for (const delivery of [...deliveries]) {
    const content = await provider.parseWebhook(delivery);
    if (!content.authentic) throw new Error(content.reason);
    all.received.push(...content.received);
    all.payouts.push(...content.payouts);
    all.returned.push(...(content.returned ?? []));
    all.named.push(...(content.named ?? []));
    all.unread.push(...(content.unread ?? []));
    all.costs.push(...(content.costs ?? []));
    for (const id of content.named ?? []) {
      const query = await provider.queryPayout(id);
      if (query.outcome === 'found') all.payouts.push(query.report);
    }
  }
  return all;
}

/** Deliveries with a token in clear: they prove who sent them, and name what is then asked for. */
function aboutDeliveriesThatName(bench: Bench): void {
  test('a delivery is taken with the token of its registration alone, and says nothing of money', async () => {
    const { id } = await completed(bench);
    const delivery = await until(() => bench.deliveries[0]);
    expect(await bench.provider.parseWebhook(delivery)).toMatchObject({
      ...{ authentic: true, received: [], payouts: [], named: [id] },
    });
    expect(bench.provider.readWebhook(delivery.rawBody, Date.now())).toMatchObject({ named: [id] });
    for (const headers of [{}, { ...delivery.headers, 'asaas-access-token': 'another' }])
      expect(await bench.provider.parseWebhook({ ...delivery, headers })).toMatchObject({ authentic: false });
    const rawBody = Buffer.from('no json');
    expect(await bench.provider.parseWebhook({ ...delivery, rawBody })).toMatchObject({ authentic: false });
    expect(bench.provider.capabilities.webhookTrust).toBe('path');
  });

  test('money that comes back of a payout stands in the statement under the payout', async () => {
    const { id, report } = await completed(bench);
    await bench.control('POST', `payouts/${id}/return`, { amountCents: 75 });
    const statement = await bench.provider.statement(everything());
    if (statement.outcome !== 'listed') throw new Error(statement.outcome);
    expect(statement.reports.filter((line) => line.providerId === id)).toMatchObject([
      { kind: 'sent', amountCents: 975, endToEnd: report.endToEnd },
      { kind: 'returned', amountCents: 75, endToEnd: report.endToEnd, rtrId: expect.stringMatching(/^D/) },
    ]);
  });

  test('a refund that may have gone out is not made again', async () => {
    const txid = newId();
    await charge(bench.provider, txid);
    await bench.control('POST', `charges/${txid}/pay`, {});
    const query = await bench.provider.queryCharge(txid);
    const endToEnd = query.outcome === 'found' ? (query.report.received[0]?.endToEnd ?? '') : '';
    const instruction = {
      ...{ endToEnd, providerId: newId(), chargeId: txid, amountCents: 345, description: '' },
    };
    expect(await bench.provider.sendRefund({ ...instruction, repeatOf: Date.now() })).toMatchObject({
      outcome: 'unclear',
    });
    expect(await bench.provider.queryRefund(endToEnd, instruction.providerId)).toEqual({
      outcome: 'notFound',
    });
  });

  test('a payout is repeated within ten minutes alone, and an equal one of the same time waits', async () => {
    const [id, other] = [newId(), newId()];
    const repeat = (providerId: string, repeatOf?: number) =>
      bench.provider.sendPayout({
        ...{ providerId, amountCents: 976, pixKey: 'fulano@example.com', pixKeyType: 'EMAIL' },
        ...{ description: '', ...(repeatOf === undefined ? {} : { repeatOf }) },
      });
    expect(await repeat(id, Date.now() - 11 * 60_000)).toMatchObject({ outcome: 'unclear' });
    expect(await bench.payoutState(id)).toBeUndefined();
    expect(await repeat(id, Date.now() - 60_000)).toMatchObject({ outcome: 'accepted' });
    await bench.control('PUT', 'behaviour', { sameTransfer: 'refuse' });
    expect(await repeat(other)).toMatchObject({ outcome: 'notSent', answered: true });
    expect(await bench.payoutState(other)).toBeUndefined();
  });

  test('registering the same address again is no error', async () => {
    await bench.provider.registerWebhook('http://127.0.0.1:9/hooks/other');
    await bench.provider.registerWebhook('http://127.0.0.1:9/hooks/other');
  });
}

function aboutWebhooks(bench: Bench): void {
  const parsed = async (delivery: WebhookDelivery): Promise<WebhookContent> =>
    bench.provider.parseWebhook(delivery);
  const delivered = (count: number) =>
    until(() => (bench.deliveries.length >= count ? [...bench.deliveries] : undefined));

  test('a delivery is believed only as it was signed', async () => {
    await completed(bench);
    const [delivery] = await delivered(1);
    if (!delivery) throw new Error('no delivery');
    expect(await parsed(delivery)).toMatchObject({ authentic: true });
    const text = delivery.rawBody.toString();
    const changed = { ...delivery, rawBody: Buffer.from(text.replace(/9/, '8')) };
    expect(changed.rawBody.toString()).not.toBe(text);
    expect(await parsed(changed)).toMatchObject({ authentic: false });
    expect(await parsed({ ...delivery, headers: {} })).toMatchObject({ authentic: false });
    expect(await parsed({ ...delivery, rawBody: Buffer.from('no json') })).toMatchObject({
      authentic: false,
    });
  });

  test('a doubled delivery says the same twice', async () => {
    await bench.control('PUT', 'behaviour', { webhook: 'duplicate' });
    const { id } = await completed(bench);
    const told = await until(async () => {
      const own = (await newsOf(bench)).payouts.filter((one) => one.providerId === id);
      return own.length >= 2 ? own : undefined;
    });
    expect(told[1]).toEqual(told[0]);
  });

  test('reordered deliveries each say what they said before', async () => {
    await bench.control('PUT', 'behaviour', { webhook: 'reorder' });
    const first = await completed(bench);
    const second = await completed(bench);
    const told = await until(async () => {
      const { payouts } = await newsOf(bench);
      const own = [first, second].map(({ id }) => payouts.find((one) => one.providerId === id));
      return own.every((one) => one !== undefined) ? own : undefined;
    });
    expect(told).toMatchObject([
      { status: 'completed', endToEnd: first.report.endToEnd },
      { status: 'completed', endToEnd: second.report.endToEnd },
    ]);
  });

  test('what was believed and stored is read again later', async () => {
    const { id } = await completed(bench);
    const [delivery] = await delivered(1);
    const news = delivery && bench.provider.readWebhook(delivery.rawBody, Date.now() + 86_400_000);
    expect(news?.payouts).toMatchObject([{ providerId: id, status: 'completed' }]);
  });

  test('registering the same address again is no error', async () => {
    await bench.provider.registerWebhook('http://127.0.0.1:9/hooks/other');
    await bench.provider.registerWebhook('http://127.0.0.1:9/hooks/other');
  });
}
