import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import {
  type CardApproval,
  type CardPayout,
  type CardRefund,
  type CheckoutInstruction,
  type CheckoutName,
  type CheckoutReport,
  type NamedPage,
  payoutName,
} from '../cards.ts';
import { balanceFinding, clockFindings, tokenFindings, webhookFinding } from '../diagnosis.ts';
import type { DisputeReport } from '../dispute-report.ts';
import {
  createExchange,
  type Exchange,
  failureOf,
  isSuccess,
  notSentAfter,
  type Reply,
  traceOf,
  unclear,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  Capabilities,
  Finding,
  ListOutcome,
  ListWindow,
  MovedPage,
  PixOwner,
  Provider,
  ProviderBalance,
  ProviderCost,
  QueryOutcome,
  RefundInstruction,
  RefundReport,
  SendOutcome,
  Unclear,
  UnreadItem,
  WebhookContent,
  WebhookDelivery,
  WebhookNews,
} from '../provider.ts';
import { unreadItem } from '../unread.ts';
import { cut } from '../wire.ts';
import {
  apiVersion,
  balanceIn,
  errorOf,
  failedIn,
  hasMoreRefunds,
  intentNameIn,
  intentOf,
  isDisputed,
  listIn,
  metadataName,
  movedItem,
  nameIn,
  paidPagesIn,
  payoutIn,
  payoutTypes,
  readDispute,
  readFee,
  readMovedCharge,
  readMovedRefund,
  readPayout,
  readRefund,
  readSession,
  recordOf,
  refundMetadataName,
} from './stripe-bodies.ts';

/**
 * Stripe Checkout: card payments on Stripe's own page. It has no Pix here. A page is made under our payment id as the idempotency key and names it as
 * `client_reference_id`; everything about it is read by one query, so a delivery only says that there is something to read.
 */
export interface StripeOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  simulated?: boolean;
  /** As Stripe said it when the connection was made; null: it was not asked. */
  identity?: string | null;
  baseUrl: string;
  secretKey: string;
  /** Signing secrets of the endpoint: two during a change. */
  webhookSecrets: readonly string[];
  net: Net;
  clock: Clock;
}

const callTimeoutMs = 10_000;
const postTimeoutMs = 20_000;
/** A refund is looked for before it is sent, and a page is asked for again without its payer. */
const sendTimeoutMs = 2 * postTimeoutMs;
/** https://docs.stripe.com/webhooks#replay-prevention */
const toleranceMs = 300_000;
/** A page lives for at least half an hour and at most a day (`expires_at`). */
const pagesMost = 20;
const pageSize = 100;
/** Stripe may forget a key after a day: https://docs.stripe.com/api/idempotent_requests. None is looked for that is older than two. */
const keyLastsMost = 48 * 3_600_000;
/** A page is looked for from a little before we asked for it: two clocks. */
const clocksApartMs = 300_000;

const sessions = '/v1/checkout/sessions';
const whole =
  'expand[]=payment_intent.latest_charge.balance_transaction&expand[]=payment_intent.latest_charge.refunds';

/** The events of a payment, its release, and what is taken back of it. */
export const stripeEvents = [
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.async_payment_failed',
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.payment_failed',
  'payment_intent.succeeded',
  'charge.updated',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const;

export const stripeAdapter: Adapter = {
  members: {
    secretKey: {
      required: true,
      secret: true,
      about: 'secret or restricted key (Developers, API keys): sk_… or rk_…',
    },
    webhookSecret: {
      required: true,
      secret: true,
      about: 'signing secret of the endpoint (Developers, Webhooks): whsec_…',
    },
    previousWebhookSecret: {
      required: false,
      secret: true,
      about: 'the signing secret before, while Stripe signs with both',
    },
  },
  certificate: 'none',
  defaultUrl: 'https://api.stripe.com',
  // Its test mode has the same address and keys of its own.
  testUrl: 'https://api.stripe.com',
  simulatorPath: '/stripe',
  create({ name, test, simulated, url, credentials, identity }, { net, clock }) {
    const { secretKey = '', webhookSecret = '', previousWebhookSecret } = credentials;
    if (!/^[sr]k_(live|test)_[\x21-\x7e]+$/.test(secretKey))
      throw new CredentialFault('secretKey: is no secret or restricted key of Stripe');
    if (secretKey.slice(3, 8) !== (test ? 'test_' : 'live_'))
      throw new CredentialFault(`secretKey: is of Stripe's ${test ? 'live' : 'test'} mode`);
    const webhookSecrets = previousWebhookSecret ? [webhookSecret, previousWebhookSecret] : [webhookSecret];
    const options = { connection: name, test, simulated, identity: identity ?? null, baseUrl: url };
    return createStripeProvider({ ...options, secretKey, webhookSecrets, net, clock });
  },
};

interface Deps {
  exchange: Exchange;
  clock: Clock;
}

export function createStripeProvider(options: StripeOptions): Provider {
  const { connection, net, clock, baseUrl, simulated = false } = options;
  const exchange = createExchange({
    baseUrl,
    credentials: { type: 'key', value: `Bearer ${options.secretKey}` },
    extraHeaders: () => ({ 'stripe-version': apiVersion }),
    callTimeoutMs,
    net,
    clock,
  });
  const deps: Deps = { exchange, clock };
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: false,
    payouts: false,
    queryPayoutByOwnId: false,
    cancelsCharges: true,
    cards: true,
    dueCharges: false,
    staticCodes: null,
    canListCharges: false,
    canListPayouts: false,
    canRefund: true,
    canDispute: true,
    defence: null,
    hasBalance: true,
    // Within a day the key gives back the first page; afterwards the page would end before it is allowed to, and is refused.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: null,
    webhookTrust: 'signed',
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: false, dayReports: null },
  };
  const notOffered = async (): Promise<never> => {
    throw new Error('Stripe has no Pix here');
  };
  return {
    connection,
    identity: simulated ? identityOf(null, [options.secretKey]) : (options.identity ?? null),
    capabilities,
    askAccount: () => askAccount(deps, simulated ? null : baseUrl, options.secretKey),
    createCharge: notOffered,
    queryCharge: notOffered,
    listCharges: notOffered,
    sendPayout: notOffered,
    queryPayout: notOffered,
    listPayouts: notOffered,
    sendRefund: (instruction) => sendRefund(deps, instruction),
    queryRefund: (intent, providerId) => queryRefund(deps, intent, providerId),
    statement: notOffered,
    requestDayReport: notOffered,
    readDayReport: notOffered,
    findPix: (intent) => findIntent(deps, intent),
    disputes: { list: (window) => listDisputes(deps, window) },
    cards: {
      create: (instruction) => createSession(deps, instruction),
      query: (checkout) => querySession(deps, checkout),
      expire: (checkout) => expireSession(deps, checkout),
      listPayouts: (window) => listPayouts(deps, window),
      listMoved: (window) => listMoved(deps, window),
    },
    listCosts: (window) => listFees(deps, window),
    parseWebhook: (delivery) => parseDelivery(delivery, options.webhookSecrets),
    readWebhook: (rawBody) => readDelivery(rawBody),
    registerWebhook: (url) => registerWebhook(deps, url, simulated),
    diagnose: ({ webhookUrl }) => diagnose(deps, webhookUrl),
    balance: () => balanceOf(deps),
  };
}

// --------------------------------------------------------------------------------------------------------------- pages

const form = (fields: Readonly<Record<string, string>>) => ({
  type: 'application/x-www-form-urlencoded',
  bytes: Buffer.from(new URLSearchParams(fields).toString()),
});

/**
 * The amount in reais and nothing that changes it: no instalments, no other currency, no discount, no saved card. Each field follows from the
 * payment, since Stripe refuses a repeat under the same key that differs in one.
 */
function sessionOf({
  providerId,
  amountCents,
  description,
  createdAt,
  minutes,
  back,
  payer,
}: CheckoutInstruction) {
  return form({
    mode: 'payment',
    ui_mode: 'hosted_page',
    'payment_method_types[0]': 'card',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'brl',
    'line_items[0][price_data][unit_amount]': String(amountCents),
    'line_items[0][price_data][product_data][name]': cut(description, 250) || 'Pagamento',
    client_reference_id: providerId,
    [`metadata[${metadataName}]`]: providerId,
    [`payment_intent_data[metadata][${metadataName}]`]: providerId,
    'payment_intent_data[capture_method]': 'automatic',
    'payment_method_options[card][installments][enabled]': 'false',
    'adaptive_pricing[enabled]': 'false',
    success_url: back.success,
    cancel_url: back.cancel,
    // The one thing of a payer that a page without a customer is filled in with.
    ...(payer?.email !== undefined && { customer_email: payer.email }),
    // Rounded up: the shortest life that Stripe takes is counted to the second.
    expires_at: String(Math.ceil(createdAt / 1000) + Math.min(minutes * 60 + leewaySeconds, lifeMostSeconds)),
    locale: 'pt-BR',
  });
}

/** Between our clock and Stripe's, and for the time until the request arrives. */
const leewaySeconds = 60;
/** A day, less the time by which Stripe's clock may be behind ours. */
const lifeMostSeconds = 86_400 - leewaySeconds;

async function createSession(
  { exchange, clock }: Deps,
  instruction: CheckoutInstruction,
): Promise<SendOutcome<CheckoutReport>> {
  const { providerId } = instruction;
  const traced = traceOf(instruction);
  const ask = (of: CheckoutInstruction, key: string): Promise<Reply> =>
    exchange({
      method: 'POST',
      path: sessions,
      form: sessionOf(of),
      ...traced,
      headers: { ...traced.headers, 'idempotency-key': key },
      timeoutMs: postTimeoutMs,
    });
  let reply = await ask(instruction, providerId);
  // An address that Stripe does not take (https://docs.stripe.com/error-codes#email-invalid) costs no payment. The key of the refused request takes no other one.
  if (errorOf(reply)?.name === 'email_invalid')
    reply = await ask({ ...instruction, payer: null }, `${providerId}-without-email`);
  const unsent = notProcessed(reply);
  if (unsent) return unsent;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readSession(reply.body, providerId);
    return report === null ? unclear(reply, clock) : { outcome: 'accepted', report };
  }
  const error = errorOf(reply);
  // The key was used with other parameters: the page is there.
  if (error?.type === 'idempotency_error') return earlierPage({ exchange, clock }, instruction);
  return refusalOr(reply, clock);
}

/**
 * The page under the key of this request, which asks for another end: a restore lost its payment, and the repeat of the request made it once more. The key
 * is as old as the page, and a query looks for pages from this request on alone.
 */
async function earlierPage(
  deps: Deps,
  { providerId, createdAt }: CheckoutInstruction,
): Promise<SendOutcome<CheckoutReport>> {
  const ref = await findSession(deps, providerId, createdAt - keyLastsMost);
  const found = typeof ref === 'string' ? await sessionAt(deps, providerId, ref) : null;
  return found?.outcome === 'found'
    ? { outcome: 'accepted', report: found.report }
    : { outcome: 'duplicate' };
}

/** https://docs.stripe.com/api/checkout/sessions/expire: one that is not open any more is refused, and a query shows why. */
async function expireSession(
  { exchange, clock }: Deps,
  { providerId, providerRef }: NamedPage,
): Promise<SendOutcome<CheckoutReport>> {
  const path = `${sessions}/${encodeURIComponent(providerRef)}/expire`;
  const reply = await exchange({ method: 'POST', path, form: form({}), timeoutMs: postTimeoutMs });
  const unsent = notProcessed(reply);
  if (unsent) return unsent;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readSession(reply.body, providerId);
    return report === null ? unclear(reply, clock) : { outcome: 'accepted', report };
  }
  return refusalOr(reply, clock);
}

/** A request that Stripe documents as invalid was not carried out. */
function refusalOr(reply: Reply, clock: Clock): SendOutcome<never> {
  const error = errorOf(reply);
  if (error?.type !== 'invalid_request_error' || (error.status !== 400 && error.status !== 404))
    return named(reply, clock);
  const detail = `${error.status} ${error.name}`;
  return { outcome: 'refused', reason: 'provider_refused', detail, words: { name: detail, message: null } };
}

/** Stripe answers a key that it does not know, or that may not do this, before it looks at the request. */
function notProcessed(reply: Reply): { outcome: 'notSent'; detail: string } | null {
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  if (reply.kind !== 'answer' || (reply.status !== 401 && reply.status !== 403)) return null;
  return { outcome: 'notSent', detail: 'the key is not valid for this call' };
}

function named(reply: Reply, clock: Clock): Unclear {
  const error = errorOf(reply);
  const outcome = unclear(reply, clock);
  if (error === null || isSuccess(error.status)) return outcome;
  const name = `${error.status} ${error.name}`;
  return { ...outcome, detail: name, words: { name, message: null } };
}

async function querySession(
  deps: Deps,
  { providerId, providerRef, createdAt }: CheckoutName,
): Promise<QueryOutcome<CheckoutReport>> {
  if (providerRef !== null && !isIntent(providerRef)) return sessionAt(deps, providerId, providerRef);
  const found = await (providerRef === null
    ? findSession(deps, providerId, createdAt)
    : findSessionOf(deps, providerRef));
  return typeof found === 'string' ? sessionAt(deps, providerId, found) : found;
}

async function sessionAt(deps: Deps, providerId: string, ref: string): Promise<QueryOutcome<CheckoutReport>> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: `${sessions}/${encodeURIComponent(ref)}?${whole}` });
  if (errorOf(reply)?.status === 404) return { outcome: 'notFound' };
  const report =
    reply.kind === 'answer' && isSuccess(reply.status) ? readSession(reply.body, providerId) : null;
  if (report === null || reply.kind !== 'answer') return named(reply, clock);
  const intent = intentOf(reply.body);
  if (report.approval !== null && intent !== null)
    return withTakings(deps, { ...report, approval: report.approval }, intent, reply.body);
  if (report.attempt?.status !== 'refused' || intent === null) return { outcome: 'found', report };
  // The intent names its last refusal alone.
  const charges = await exchange({
    method: 'GET',
    path: `/v1/charges?payment_intent=${encodeURIComponent(intent)}&limit=10`,
  });
  const refusals = charges.kind === 'answer' && isSuccess(charges.status) ? failedIn(charges.body) : null;
  if (refusals === null) return named(charges, clock);
  return { outcome: 'found', report: { ...report, attempt: { ...report.attempt, refusals } } };
}

/** An approved page with all of its refunds and with its chargebacks, which stand in lists of their own. */
async function withTakings(
  deps: Deps,
  report: CheckoutReport & { approval: CardApproval },
  intent: string,
  session: unknown,
): Promise<QueryOutcome<CheckoutReport>> {
  const of = `payment_intent=${encodeURIComponent(intent)}`;
  const refunds = hasMoreRefunds(session)
    ? await listed(deps, `/v1/refunds?${of}`, readRefund)
    : report.approval.refunds;
  if (!Array.isArray(refunds)) return refunds;
  const chargebacks = isDisputed(session) ? await listed(deps, `/v1/disputes?${of}`, readDispute) : [];
  if (!Array.isArray(chargebacks)) return chargebacks;
  return { outcome: 'found', report: { ...report, approval: { ...report.approval, refunds, chargebacks } } };
}

/** Every item of a list. Unclear: a part of it cannot be read, or it is longer than is read. */
async function listed<One>(
  { exchange, clock }: Deps,
  path: string,
  read: (item: unknown) => One | null,
): Promise<One[] | Unclear> {
  const all: One[] = [];
  let after = '';
  for (let page = 0; page < pagesMost; page++) {
    const reply = await exchange({ method: 'GET', path: `${path}&limit=${pageSize}${after}` });
    const list = reply.kind === 'answer' && isSuccess(reply.status) ? listIn(reply.body, read) : null;
    if (list === null) return named(reply, clock);
    all.push(...list.items);
    if (list.more === null) return all;
    after = `&starting_after=${encodeURIComponent(list.more)}`;
  }
  return { outcome: 'unclear', cause: 'unreadable', detail: tooLong, retryAfterMs: null };
}

const tooLong = 'the list is too long';

// ------------------------------------------------------------------------------------------------ refunds and chargebacks

/** Stripe forgets an idempotency key after a day: a repeat that is sent later could be a second refund. */
const keyLastsMs = 23 * 3_600_000;

/**
 * https://docs.stripe.com/api/refunds/create. It is looked for first, a first attempt too: a restore loses the record of a refund and when it went out, and
 * a key of more than a day keeps no second one back.
 */
async function sendRefund(
  deps: Deps,
  { endToEnd, providerId, chargeId, amountCents, repeatOf }: RefundInstruction,
): Promise<SendOutcome<RefundReport>> {
  const { exchange, clock } = deps;
  const earlier = await queryRefund(deps, endToEnd, providerId);
  if (earlier.outcome === 'found') return { outcome: 'accepted', report: earlier.report };
  if (earlier.outcome === 'unclear') return notSentAfter(earlier);
  if (repeatOf !== undefined && clock.now() - repeatOf > keyLastsMs)
    return {
      ...{ outcome: 'unclear', cause: 'unknownRefusal', retryAfterMs: null },
      detail: 'its key is too old to be repeated',
    };
  const reply = await exchange({
    method: 'POST',
    path: '/v1/refunds',
    form: form({
      payment_intent: endToEnd,
      amount: String(amountCents),
      [`metadata[${refundMetadataName}]`]: providerId,
      ...(chargeId !== undefined && { [`metadata[${metadataName}]`]: chargeId }),
    }),
    headers: { 'idempotency-key': providerId },
    timeoutMs: postTimeoutMs,
  });
  const unsent = notProcessed(reply);
  if (unsent) return unsent;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const refund = readRefund(reply.body);
    return refund?.providerId === providerId
      ? { outcome: 'accepted', report: reportOf(refund, providerId) }
      : unclear(reply, clock);
  }
  return errorOf(reply)?.type === 'idempotency_error' ? { outcome: 'duplicate' } : refusalOr(reply, clock);
}

const reportOf = ({ reference, amountCents, status, at }: CardRefund, providerId: string): RefundReport => ({
  ...{ providerId, rtrId: reference, amountCents, reason: null },
  status: status === 'settled' ? 'completed' : status === 'failed' ? 'refused' : 'pending',
  settledAt: status === 'settled' ? at : null,
});

/** Stripe finds a refund by its own name alone, so ours is looked for among those of its payment. */
async function queryRefund(
  deps: Deps,
  intent: string,
  providerId: string,
): Promise<QueryOutcome<RefundReport>> {
  const refunds = await listed(deps, `/v1/refunds?payment_intent=${encodeURIComponent(intent)}`, readRefund);
  if (!Array.isArray(refunds)) return refunds;
  const found = refunds.find((one) => one.providerId === providerId);
  return found ? { outcome: 'found', report: reportOf(found, providerId) } : { outcome: 'notFound' };
}

/** Disputes that were opened in the window: for what a delivery has not said. */
async function listDisputes(deps: Deps, window: ListWindow): Promise<ListOutcome<DisputeReport>> {
  const disputes = await listed(deps, `/v1/disputes?${createdIn(window)}`, readDispute);
  if (!Array.isArray(disputes)) return disputes;
  const reports = disputes.map(({ report, outCents, backCents }) => ({
    ...report,
    debitedCents: outCents - backCents,
  }));
  return { outcome: 'listed', reports, unread: [], complete: true };
}

/**
 * https://docs.stripe.com/api/balance_transactions/list: the lines of one type, in reais, each with what it is about. One that cannot be read is no
 * reason to leave the others out.
 */
async function linesOf<One>(
  deps: Deps,
  type: string,
  window: ListWindow,
  read: (item: unknown) => One | null,
): Promise<{ reports: One[]; unread: unknown[] } | Unclear> {
  const path = `/v1/balance_transactions?type=${type}&currency=brl&${createdIn(window)}&expand[]=data.source`;
  const lines = await listed(deps, path, (item) => ({ item, line: read(item) }));
  if (!Array.isArray(lines)) return lines;
  return {
    reports: lines.flatMap(({ line }) => line ?? []),
    unread: lines.flatMap(({ item, line }) => (line === null ? [item] : [])),
  };
}

async function listPayouts(deps: Deps, window: ListWindow): Promise<ListOutcome<CardPayout>> {
  const reports: CardPayout[] = [];
  const unread: UnreadItem[] = [];
  for (const type of payoutTypes) {
    const lines = await linesOf(deps, type, window, readPayout);
    if ('outcome' in lines) return lines;
    reports.push(...lines.reports);
    unread.push(...lines.unread.map(unreadPayout));
  }
  return { outcome: 'listed', reports, unread, complete: true };
}

/**
 * https://docs.stripe.com/api/charges/list and https://docs.stripe.com/api/refunds/list. A charge has the metadata of its payment
 * (https://docs.stripe.com/payments/payment-intents#storing-information-in-metadata), and a refund that a person made names it by its payment alone.
 */
async function listMoved(deps: Deps, window: ListWindow): Promise<ListOutcome<MovedPage>> {
  const reports: MovedPage[] = [];
  const unread: UnreadItem[] = [];
  for (const { kind, path, read } of [
    { kind: 'charge', path: '/v1/charges?', read: readMovedCharge },
    { kind: 'refund', path: '/v1/refunds?expand[]=data.payment_intent&', read: readMovedRefund },
  ] as const) {
    const items = await listed(deps, `${path}${createdIn(window)}`, (item) => ({ item, read: read(item) }));
    if (!Array.isArray(items))
      return items.detail === tooLong
        ? { outcome: 'listed', reports, unread, complete: false, parts: 4 }
        : items;
    for (const { item, read: moved } of items)
      if (moved === null) unread.push(movedItem(kind, recordOf(item) ?? {}, nameIn(item)));
      else if (moved !== 'foreign') reports.push(moved);
  }
  return { outcome: 'listed', reports, unread, complete: true };
}

const createdIn = ({ fromMs, toMs }: ListWindow): string =>
  `created[gte]=${Math.floor(fromMs / 1000)}&created[lte]=${Math.ceil(toMs / 1000)}`;

/** Under the name of the payout, which both its lines share. */
function unreadPayout(line: unknown): UnreadItem {
  const item = unreadItem('sent', line);
  const reference = payoutIn(line);
  return reference === null
    ? item
    : { ...item, name: payoutName(reference, recordOf(line)?.type !== 'payout') };
}

async function listFees(deps: Deps, window: ListWindow): Promise<ListOutcome<ProviderCost>> {
  const lines = await linesOf(deps, 'stripe_fee', window, readFee);
  if ('outcome' in lines) return lines;
  const { reports, unread } = lines;
  return {
    outcome: 'listed',
    reports,
    unread: unread.map((item) => unreadItem('cost', item)),
    complete: true,
  };
}

/** Of which payment of ours an intent is: its metadata says it. */
async function findIntent({ exchange, clock }: Deps, intent: string): Promise<QueryOutcome<PixOwner>> {
  const reply = await exchange({ method: 'GET', path: `/v1/payment_intents/${encodeURIComponent(intent)}` });
  if (errorOf(reply)?.status === 404) return { outcome: 'notFound' };
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) return named(reply, clock);
  return { outcome: 'found', report: { direction: 'received', providerId: nameIn(reply.body) } };
}

/** Stripe finds a page by its own name alone, so a page whose creation was not answered is looked for in the list, newest first. */
async function findSession(
  { exchange, clock }: Deps,
  providerId: string,
  createdAt: number,
): Promise<string | { outcome: 'notFound' } | Unclear> {
  const since = Math.floor((createdAt - clocksApartMs) / 1000);
  let after = '';
  for (let page = 0; page < pagesMost; page++) {
    const reply = await exchange({
      method: 'GET',
      path: `${sessions}?created[gte]=${since}&limit=${pageSize}${after}`,
    });
    const list = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
    if (list === null || !Array.isArray(list.data)) return named(reply, clock);
    const found = list.data.map(recordOf).find((one) => one?.client_reference_id === providerId);
    if (typeof found?.id === 'string') return found.id;
    const last = recordOf(list.data.at(-1))?.id;
    if (list.has_more !== true || typeof last !== 'string') return { outcome: 'notFound' };
    after = `&starting_after=${encodeURIComponent(last)}`;
  }
  const detail = 'too many pages were made since';
  return { outcome: 'unclear', cause: 'unreadable', detail, retryAfterMs: null };
}

/** Known by what was paid on it alone, as a list of charges names it. */
const isIntent = (ref: string): boolean => ref.startsWith('pi_');

/** https://docs.stripe.com/api/checkout/sessions/list: a list takes the name of a payment, and neither our reference nor metadata. */
async function findSessionOf(
  { exchange, clock }: Deps,
  intent: string,
): Promise<string | { outcome: 'notFound' } | Unclear> {
  const reply = await exchange({
    method: 'GET',
    path: `${sessions}?payment_intent=${encodeURIComponent(intent)}`,
  });
  const list = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  if (list === null || !Array.isArray(list.data)) return named(reply, clock);
  const ref = recordOf(list.data[0])?.id;
  return typeof ref === 'string' ? ref : { outcome: 'notFound' };
}

// ---------------------------------------------------------------------------------------------------------- deliveries

/** https://docs.stripe.com/webhooks#verify-manually */
function parseDelivery(
  { headers, rawBody, receivedAt }: WebhookDelivery,
  secrets: readonly string[],
): WebhookContent {
  const header = headers['stripe-signature'];
  if (typeof header !== 'string') return { authentic: false, reason: 'no header stripe-signature' };
  const parts = header.split(',', signaturesMost).map((part) => part.trim().split('=', 2));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  const signatures = parts.flatMap(([name, value]) => (name === 'v1' && value ? [Buffer.from(value)] : []));
  const isSigned = secrets.some((secret) => {
    const right = createHmac('sha256', secret).update(`${time}.`).update(rawBody).digest('hex');
    const bytes = Buffer.from(right);
    return signatures.some((one) => one.length === bytes.length && timingSafeEqual(one, bytes));
  });
  if (!isSigned) return { authentic: false, reason: 'no signature of ours is among them' };
  if (!/^[0-9]{1,12}$/.test(time) || Math.abs(receivedAt - Number(time) * 1000) > toleranceMs)
    return { authentic: false, reason: 'the signature is too old' };
  const news = readDelivery(rawBody);
  return news ? { authentic: true, ...news } : { authentic: false, reason: 'the body is no JSON' };
}

const signaturesMost = 20;

function readDelivery(rawBody: Buffer): WebhookNews | null {
  let body: unknown;
  try {
    body = JSON.parse(rawBody.toString());
  } catch {
    return null;
  }
  const event = recordOf(body);
  const object = recordOf(event?.data)?.object;
  const name = nameIn(object);
  const intent = name === null ? intentNameIn(object) : null;
  return {
    ...{ addressed: true, received: [], payouts: [] },
    named: name === null ? [] : [name],
    paidPages: paidPagesIn(object),
    ...(intent !== null && { namedAs: [intent] }),
  };
}

const endpointsOf = async ({ exchange }: Deps): Promise<Reply> =>
  exchange({ method: 'GET', path: '/v1/webhook_endpoints?limit=100' });

const registeredIn = (reply: Reply, url: string): boolean | null => {
  const list = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body)?.data : null;
  if (!Array.isArray(list)) return null;
  return list.map(recordOf).some((one) => one?.url === url && one.status === 'enabled');
};

/** Stripe shows the signing secret of an endpoint once, when a person makes it: so ours is not made here, but looked for. */
async function registerWebhook(deps: Deps, url: string, simulated: boolean): Promise<void> {
  const reply = await endpointsOf(deps);
  const isThere = registeredIn(reply, url);
  if (isThere === null) throw failureOf('the endpoints of deliveries', reply, deps.clock);
  if (isThere) return;
  if (!simulated)
    throw new Error(`make an endpoint for ${stripeEvents.join(', ')} in Stripe's dashboard, at our address`);
  const events = Object.fromEntries(stripeEvents.map((event, at) => [`enabled_events[${at}]`, event]));
  const made = await deps.exchange({
    method: 'POST',
    path: '/v1/webhook_endpoints',
    form: form({ url, ...events }),
  });
  if (made.kind !== 'answer' || !isSuccess(made.status))
    throw failureOf('the endpoint of deliveries', made, deps.clock);
}

// ------------------------------------------------------------------------------------------------------------- account

async function askAccount({ exchange, clock }: Deps, baseUrl: string | null, secretKey: string) {
  const reply = await exchange({ method: 'GET', path: '/v1/account' });
  const id = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body)?.id : null;
  if (typeof id !== 'string' || id === '') return named(reply, clock);
  // In the simulator a key is an account.
  return { outcome: 'found', identity: identityOf(baseUrl, [baseUrl === null ? secretKey : id]) } as const;
}

async function balanceOf({ exchange, clock }: Deps): Promise<ProviderBalance> {
  const reply = await exchange({ method: 'GET', path: '/v1/balance' });
  const balance = reply.kind === 'answer' && isSuccess(reply.status) ? balanceIn(reply.body) : null;
  if (balance === null) throw failureOf('the balance', reply, clock);
  return { ...balance, blocked: null };
}

async function diagnose(deps: Deps, webhookUrl: string): Promise<Finding[]> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: '/v1/balance' });
  const findings = tokenFindings(reply, { needed: [], granted: null });
  if (reply.kind !== 'answer' || reply.status === 401) return findings;
  const isThere = registeredIn(await endpointsOf(deps), webhookUrl);
  return [
    ...findings,
    ...clockFindings(reply, clock),
    webhookFinding(isThere ? webhookUrl : null, webhookUrl),
    balanceFinding(reply, clock, (body) => balanceIn(body)?.availableCents ?? null),
  ];
}
