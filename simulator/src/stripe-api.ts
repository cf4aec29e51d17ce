import { createHmac } from 'node:crypto';
import { registerWebhook, rememberClient } from './bank.ts';
import { cardPage } from './card-page.ts';
import {
  type Attempt,
  approvalOf,
  type Card,
  type CardCash,
  type CardDispute,
  type CardRefund,
  cardBalance,
  isOpen,
  leftOf,
  mailAddress,
  moveCard,
  openPage,
  refundCard,
  refundedOf,
} from './cards.ts';
import type { ClientDesk, Desk, Request } from './desk.ts';
import { type Outcome, queried } from './provider-api.ts';
import { json, type Reply } from './reply.ts';
import type { Post, PostsOf } from './webhooks.ts';

/** Stripe's calls around a hosted page, as its published client makes them and reads the answers (https://docs.stripe.com/api). */
export function stripeApi(anyone: Desk, request: Request): Outcome | undefined {
  const { method, path, query } = request;
  const [version, first, second, third, fourth] = path;
  if (version === 'c' && first === 'pay') return page(anyone, second ?? '', request);
  if (version !== 'v1') return undefined;
  const client = clientOf(anyone, request);
  if (client === undefined)
    return failure(401, 'invalid_request_error', 'Invalid API Key provided', 'api_key_invalid');
  const desk: ClientDesk = { ...anyone, client };
  const call = [method, first, second].filter(Boolean).join(' ');
  if (call === 'POST checkout sessions' && third === undefined) return createSession(desk, request);
  if (call === 'POST checkout sessions' && fourth === 'expire') return expireSession(desk, third ?? '');
  if (call === 'GET checkout sessions')
    return third === undefined ? listSessions(desk, query) : getSession(desk, third, query);
  if (call === 'GET charges') return listCharges(desk, query);
  if (call === 'POST refunds') return createRefund(desk, request);
  if (call === 'GET refunds') return listRefunds(desk, query);
  if (method === 'GET' && first === 'refunds' && second) return getRefund(desk, second);
  if (call === 'GET disputes') return pageOf(desk, '/v1/disputes', disputesOf(desk), query);
  if (method === 'GET' && first === 'disputes' && second) return getDispute(desk, second);
  if (method === 'GET' && first === 'payment_intents' && second) return getIntent(desk, second);
  if (call === 'GET balance') return balance(desk);
  if (call === 'GET balance_transactions') return listCash(desk, query);
  if (call === 'GET account')
    return json(200, { id: `acct_${client}`, object: 'account', country: 'BR', default_currency: 'brl' });
  if (call === 'GET webhook_endpoints')
    return json(200, listOf('/v1/webhook_endpoints', endpoints(desk), false));
  if (call === 'POST webhook_endpoints') return createEndpoint(desk, request.body);
  return undefined;
}

/** https://docs.stripe.com/api/errors */
function failure(status: number, type: string, message: string, code?: string, param?: string): Reply {
  return json(status, { error: { type, message, ...(code && { code }), ...(param && { param }) } });
}

const unknownParameter = (name: string): Reply =>
  failure(400, 'invalid_request_error', `Received unknown parameter: ${name}`, 'parameter_unknown', name);

export const unknownStripe = (): Reply => failure(404, 'invalid_request_error', 'Unrecognized request URL.');

const noSuchSession = (ref: string): Reply =>
  failure(404, 'invalid_request_error', `No such checkout.session: ${ref}`, 'resource_missing', 'session');

const broken = (): Reply => failure(500, 'api_error', 'Sorry, there was an error.');

/** A key is a name and its secret, in Base64: `sk_test_…`. */
function clientOf(desk: Desk, { headers }: Request): string | undefined {
  const key = /^bearer [sr]k_test_([\w-]+)$/i.exec(headers.authorization ?? '')?.[1];
  const [id = '', secret = ''] = key === undefined ? [] : Buffer.from(key, 'base64url').toString().split(':');
  if (id === '' || secret === '' || !desk.isClient({ id, secret })) return undefined;
  desk.commit(rememberClient(desk.bank, { id, secret }));
  return id;
}

// --------------------------------------------------------------------------------------------------------------- pages

const known = new Set([
  'mode',
  'ui_mode',
  'payment_method_types[0]',
  'line_items[0][quantity]',
  'line_items[0][price_data][currency]',
  'line_items[0][price_data][unit_amount]',
  'line_items[0][price_data][product_data][name]',
  'client_reference_id',
  'payment_intent_data[capture_method]',
  'payment_method_options[card][installments][enabled]',
  'adaptive_pricing[enabled]',
  'success_url',
  'cancel_url',
  'expires_at',
  'locale',
  'customer_email',
]);
const isMetadata = (name: string): boolean =>
  /^(payment_intent_data\[metadata\]|metadata)\[\w{1,40}\]$/.test(name);

const shortestSeconds = 1_800;
const longestSeconds = 86_400;

function createSession(desk: ClientDesk, { headers, body }: Request): Outcome {
  const { bank, world } = desk;
  const { checkout } = bank.behaviour;
  if (checkout === 'lose-request') return 'drop';
  if (checkout === 'error-500') return broken();
  if (checkout === 'refuse')
    return failure(400, 'invalid_request_error', 'The amount is too small.', 'amount_too_small');
  const given = new URLSearchParams(body);
  const fault = faultOf(given, world.now());
  if (fault !== null) return fault;
  const key = headers['idempotency-key'];
  const { answer, writes } = openPage(bank, world, {
    id: given.get('client_reference_id') ?? '',
    client: desk.client,
    idempotencyKey: typeof key === 'string' ? key : world.letters(24),
    body,
    amountCents: Number(given.get('line_items[0][price_data][unit_amount]')),
    currency: given.get('line_items[0][price_data][currency]') ?? '',
    name: given.get('line_items[0][price_data][product_data][name]') ?? '',
    returnUrl: given.get('success_url') ?? '',
    ...(given.get('cancel_url') && { cancelUrl: given.get('cancel_url') ?? '' }),
    ...(given.get('customer_email') && { payer: { email: given.get('customer_email') } }),
    host: headers.host ?? '127.0.0.1',
    expiresAt: Number(given.get('expires_at') ?? seconds(world.now()) + longestSeconds) * 1000,
  });
  desk.commit(writes);
  if (answer === 'conflict')
    return failure(
      400,
      'idempotency_error',
      'Keys can only be used with the same parameters they were first used with.',
    );
  if (checkout === 'lose-answer') return 'drop';
  if (checkout === 'hang') return 'hang';
  return json(200, sessionView(answer, world.now(), false));
}

function faultOf(given: URLSearchParams, now: number): Reply | null {
  const missing = [
    'mode',
    'success_url',
    'line_items[0][quantity]',
    'line_items[0][price_data][unit_amount]',
  ];
  for (const name of given.keys()) if (!known.has(name) && !isMetadata(name)) return unknownParameter(name);
  for (const name of missing)
    if (!given.get(name))
      return failure(
        400,
        'invalid_request_error',
        `Missing required param: ${name}.`,
        'parameter_missing',
        name,
      );
  const amount = Number(given.get('line_items[0][price_data][unit_amount]'));
  if (!Number.isSafeInteger(amount) || amount < 0)
    return failure(
      400,
      'invalid_request_error',
      'Invalid integer',
      'parameter_invalid_integer',
      'line_items',
    );
  // https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts
  if (amount < 50)
    return failure(400, 'invalid_request_error', 'The amount is too small.', 'amount_too_small');
  const email = given.get('customer_email');
  if (email !== null && !mailAddress.test(email))
    return failure(
      400,
      'invalid_request_error',
      `Invalid email address: ${email}`,
      'email_invalid',
      'customer_email',
    );
  const ahead = Number(given.get('expires_at') ?? now / 1000 + longestSeconds) - now / 1000;
  if (!(ahead >= shortestSeconds && ahead <= longestSeconds))
    return failure(
      400,
      'invalid_request_error',
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.',
      undefined,
      'expires_at',
    );
  return null;
}

const ownCard = (desk: ClientDesk, ref: string): Card | undefined => {
  const card = desk.bank.cards.get(ref);
  return card?.client === desk.client ? card : undefined;
};

function getSession(desk: ClientDesk, ref: string, query: URLSearchParams): Outcome {
  const card = ownCard(desk, ref);
  const isWhole = [...query].some(
    ([name, value]) =>
      name.startsWith('expand[') && value === 'payment_intent.latest_charge.balance_transaction',
  );
  return queried(
    desk,
    () => noSuchSession(ref),
    (stale) => {
      if (card === undefined) return noSuchSession(ref);
      const seen: Card = stale ? { ...card, status: 'open', attempts: [], events: [] } : card;
      return json(200, sessionView(seen, desk.world.now(), isWhole));
    },
    broken,
  );
}

function listSessions(desk: ClientDesk, query: URLSearchParams): Outcome {
  return queried(
    desk,
    () => json(200, listOf('/v1/checkout/sessions', [], false)),
    () => {
      const since = Number(query.get('created[gte]') ?? 0) * 1000;
      const limit = Math.min(Number(query.get('limit') ?? 10), 100);
      const intent = query.get('payment_intent');
      const all = [...desk.bank.cards.values()]
        .filter((card) => card.client === desk.client && card.createdAt >= since)
        .filter((card) => intent === null || card.intent === intent)
        .reverse();
      const after = query.get('starting_after');
      const from = after === null ? 0 : all.findIndex(({ ref }) => ref === after) + 1;
      const page = all.slice(from, from + limit).map((card) => sessionView(card, desk.world.now(), false));
      return json(200, listOf('/v1/checkout/sessions', page, from + limit < all.length));
    },
    broken,
  );
}

function expireSession(desk: ClientDesk, ref: string): Outcome {
  const { cancel } = desk.bank.behaviour;
  if (cancel === 'lose-request') return 'drop';
  if (cancel === 'error-500') return broken();
  const card = ownCard(desk, ref);
  if (card === undefined) return noSuchSession(ref);
  if (cancel === 'refuse' || !isOpen(card, desk.world.now()))
    return failure(
      400,
      'invalid_request_error',
      'Only Checkout Sessions with a status in ["open"] can be expired.',
    );
  const { writes } = moveCard(desk.bank, desk.world, card, 'expire', {});
  desk.commit(writes);
  if (cancel === 'lose-answer') return 'drop';
  if (cancel === 'hang') return 'hang';
  return json(200, sessionView(card, desk.world.now(), false));
}

const listOf = (url: string, data: unknown[], more: boolean) => ({
  object: 'list',
  url,
  has_more: more,
  data,
});

const seconds = (ms: number): number => Math.floor(ms / 1000);

function sessionView(card: Card, now: number, isWhole: boolean) {
  const open = isOpen(card, now);
  const approval = approvalOf(card);
  return {
    id: card.ref,
    object: 'checkout.session',
    amount_subtotal: card.amountCents,
    amount_total: card.amountCents,
    cancel_url: card.cancelUrl ?? null,
    client_reference_id: card.id,
    created: seconds(card.createdAt),
    currency: card.currency,
    customer: null,
    customer_email: card.payer?.email ?? null,
    expires_at: seconds(card.expiresAt),
    livemode: false,
    metadata: { vintem_payment: card.id },
    mode: 'payment',
    payment_intent: card.intent === undefined ? null : isWhole ? intentView(card) : card.intent,
    payment_method_types: ['card'],
    payment_status: approval ? 'paid' : 'unpaid',
    status: approval ? 'complete' : open ? 'open' : 'expired',
    success_url: card.returnUrl,
    ui_mode: 'hosted_page',
    url: open ? `http://${card.host}/stripe/c/pay/${card.ref}` : null,
  };
}

function intentView(card: Card) {
  const approval = approvalOf(card);
  const last = card.attempts.at(-1);
  return {
    id: card.intent,
    object: 'payment_intent',
    amount: card.amountCents,
    currency: card.currency,
    created: seconds(card.createdAt),
    livemode: false,
    metadata: { vintem_payment: card.id },
    status: approval ? 'succeeded' : card.inReview ? 'processing' : 'requires_payment_method',
    last_payment_error:
      approval || card.inReview || !last
        ? null
        : {
            type: 'card_error',
            code: 'card_declined',
            decline_code: last.code,
            message: 'Your card was declined.',
            payment_method: {
              object: 'payment_method',
              type: 'card',
              card: { brand: last.brand, last4: last.last4 },
            },
          },
    latest_charge: last ? chargeView(card, approval ?? last, true) : null,
  };
}

function chargeView(card: Card, attempt: Attempt, isWhole = false) {
  const isPaid = attempt.status === 'succeeded';
  return {
    id: attempt.id,
    object: 'charge',
    amount: attempt.amountCents,
    amount_refunded: refundedOf(attempt.refunds),
    refunded: refundedOf(attempt.refunds) === attempt.amountCents,
    // Only where it is asked for, and the newest ten.
    ...(isWhole && {
      refunds: listOf(
        '/v1/refunds',
        attempt.refunds
          .slice(-10)
          .reverse()
          .map((one) => refundView(card, attempt, one)),
        attempt.refunds.length > 10,
      ),
    }),
    currency: attempt.currency,
    created: seconds(attempt.at),
    disputed: attempt.dispute !== undefined,
    livemode: false,
    metadata: { vintem_payment: card.id },
    paid: isPaid,
    payment_intent: card.intent,
    payment_method_details: {
      type: 'card',
      card: {
        brand: attempt.brand,
        last4: attempt.last4,
        installments:
          attempt.installments === 1
            ? null
            : { plan: { count: attempt.installments, interval: 'month', type: 'fixed_count' } },
      },
    },
    status: attempt.status,
    outcome: isPaid ? { type: 'authorized' } : { type: 'issuer_declined', reason: attempt.code },
    balance_transaction: isPaid
      ? {
          id: attempt.id.replace('ch_', 'txn_'),
          object: 'balance_transaction',
          amount: attempt.amountCents,
          available_on: seconds(attempt.releaseAt),
          created: seconds(attempt.at),
          currency: attempt.currency,
          fee: attempt.feeCents,
          net: attempt.amountCents - attempt.feeCents,
          status: attempt.released ? 'available' : 'pending',
          type: 'charge',
        }
      : null,
  };
}

/** https://docs.stripe.com/api/refunds/object */
function refundView(card: Card, { id: charge, currency }: Attempt, refund: CardRefund) {
  return {
    id: refund.id,
    object: 'refund',
    amount: refund.amountCents,
    charge,
    created: seconds(refund.at),
    currency,
    metadata: refund.metadata,
    payment_intent: card.intent,
    reason: null,
    status: refund.status,
  };
}

/** https://docs.stripe.com/api/disputes/object: what was taken with its cost, and what came back. */
function disputeView(card: Card, { id: charge, currency }: Attempt, dispute: CardDispute) {
  const moved = (amount: number, fee: number) => ({
    ...{
      id: `txn_${dispute.id}_${amount < 0 ? 'out' : 'back'}`,
      object: 'balance_transaction',
      amount,
      currency,
    },
    ...{ fee, net: amount - fee, type: 'adjustment', reporting_category: 'dispute', status: 'available' },
  });
  const { amountCents, costCents, status } = dispute;
  return {
    id: dispute.id,
    object: 'dispute',
    amount: amountCents,
    balance_transactions: [
      moved(-amountCents, costCents),
      ...(status === 'won' ? [moved(amountCents, -costCents)] : []),
    ],
    charge,
    created: seconds(dispute.at),
    currency,
    evidence_details: { due_by: seconds(dispute.at) + 7 * 86_400, has_evidence: false, past_due: false },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: card.intent,
    reason: 'fraudulent',
    status: status === 'open' ? 'needs_response' : status,
  };
}

/** https://docs.stripe.com/api/balance_transactions/list, as far as they are of no payment: payouts, those that came back, and fees. */
function listCash(desk: ClientDesk, query: URLSearchParams): Outcome {
  const isWhole = query.getAll('expand[]').includes('data.source');
  const lines = [...desk.bank.cardCash.values()]
    .filter((cash) => cash.client === desk.client)
    .flatMap((cash) => cashLines(cash, isWhole))
    .filter(({ type }) => query.get('type') === null || type === query.get('type'))
    .sort((one, other) => one.created - other.created);
  return pageOf(desk, '/v1/balance_transactions', lines, query);
}

function cashLines(cash: CardCash, isWhole: boolean) {
  const { id, kind, amountCents, at, dueAt, failedAt } = cash;
  const payout = {
    ...{ id, object: 'payout', amount: amountCents, currency: 'brl', automatic: true, livemode: false },
    ...{ created: seconds(at), arrival_date: seconds(dueAt), method: 'standard', type: 'bank_account' },
    status: failedAt === undefined ? 'in_transit' : 'failed',
  };
  const line = (suffix: string, type: string, amount: number, when: number) => ({
    ...{ id: `txn_${id}${suffix}`, object: 'balance_transaction', amount, currency: 'brl', fee: 0 },
    ...{ net: amount, type, created: seconds(when), available_on: seconds(when), status: 'available' },
    source: kind === 'fee' ? null : isWhole ? payout : id,
  });
  const left = line('', kind === 'fee' ? 'stripe_fee' : 'payout', -amountCents, at);
  return failedAt === undefined ? [left] : [left, line('_back', 'payout_failure', amountCents, failedAt)];
}

const approvedCards = (desk: ClientDesk): { card: Card; approval: Attempt }[] =>
  [...desk.bank.cards.values()].flatMap((card) => {
    const approval = card.client === desk.client ? approvalOf(card) : undefined;
    return approval ? [{ card, approval }] : [];
  });

function createRefund(desk: ClientDesk, { headers, body }: Request): Outcome {
  const { bank, world } = desk;
  const { refund: fate } = bank.behaviour;
  if (fate === 'lose-request' || fate === 'delay-request') return 'drop';
  if (fate === 'error-500') return broken();
  if (fate === 'garbage') return json(200, { object: 'refund' });
  const given = new URLSearchParams(body);
  for (const name of given.keys())
    if (name !== 'payment_intent' && name !== 'amount' && !/^metadata\[\w{1,40}\]$/.test(name))
      return unknownParameter(name);
  const intent = given.get('payment_intent') ?? '';
  const found = approvedCards(desk).find(({ card }) => card.intent === intent);
  if (found === undefined)
    return failure(
      404,
      'invalid_request_error',
      `No such payment_intent: '${intent}'`,
      'resource_missing',
      'payment_intent',
    );
  if (fate === 'refuse-in-answer' || fate === 'refuse-unknown')
    return failure(400, 'invalid_request_error', 'This charge cannot be refunded.', 'charge_not_refundable');
  const amountCents = Number(given.get('amount') ?? leftOf(found.approval));
  if (!Number.isSafeInteger(amountCents) || amountCents <= 0)
    return failure(400, 'invalid_request_error', 'Invalid integer', 'parameter_invalid_integer', 'amount');
  const key = headers['idempotency-key'];
  const { answer, writes } = refundCard(bank, world, found.card, {
    ...{ amountCents, body, idempotencyKey: typeof key === 'string' ? key : world.letters(24) },
    metadata: Object.fromEntries(
      [...given].flatMap(([name, value]) =>
        name.startsWith('metadata[') ? [[name.slice(9, -1), value]] : [],
      ),
    ),
  });
  desk.commit(writes);
  if (answer === 'conflict')
    return failure(
      400,
      'idempotency_error',
      'Keys can only be used with the same parameters they were first used with.',
    );
  if (answer === 'too much')
    return failure(
      400,
      'invalid_request_error',
      'Refund amount is greater than unrefunded amount on charge.',
      'charge_already_refunded',
      'amount',
    );
  if (answer === 'disputed')
    return failure(400, 'invalid_request_error', 'The charge has been charged back.', 'charge_disputed');
  if (fate === 'lose-answer') return 'drop';
  if (fate === 'hang') return 'hang';
  if (fate === 'error-500-after-accepting') return broken();
  return json(200, refundView(found.card, found.approval, answer));
}

/** A list that is asked for by payment or by time, newest first. */
function pageOf<One extends { id: string; created: number; payment_intent?: string }>(
  desk: ClientDesk,
  url: string,
  all: One[],
  query: URLSearchParams,
  view: (one: One) => unknown = (one) => one,
): Outcome {
  return queried(
    desk,
    () => json(200, listOf(url, [], false)),
    (stale) => {
      const intent = query.get('payment_intent');
      const [from, to] = [query.get('created[gte]'), query.get('created[lte]')];
      const chosen = (stale ? [] : all)
        .filter((one) => intent === null || one.payment_intent === intent)
        .filter(({ created }) => created >= Number(from ?? 0) && created <= Number(to ?? Infinity))
        .reverse();
      const after = query.get('starting_after');
      const begin = after === null ? 0 : chosen.findIndex(({ id }) => id === after) + 1;
      const limit = Number(query.get('limit') ?? 10);
      const page = chosen.slice(begin, begin + limit).map(view);
      return json(200, listOf(url, page, begin + limit < chosen.length));
    },
    broken,
  );
}

function listRefunds(desk: ClientDesk, query: URLSearchParams): Outcome {
  const refunds = approvedCards(desk).flatMap(({ card, approval }) =>
    approval.refunds.map((one) => ({
      ...refundView(card, approval, one),
      payment_intent: card.intent ?? '',
    })),
  );
  const view = query.getAll('expand[]').includes('data.payment_intent')
    ? ({ payment_intent, ...refund }: (typeof refunds)[number]) => ({
        ...refund,
        payment_intent: intentOf(desk, payment_intent),
      })
    : undefined;
  return pageOf(desk, '/v1/refunds', refunds, query, view);
}

function intentOf(desk: ClientDesk, intent: string) {
  const card = [...desk.bank.cards.values()].find((one) => one.intent === intent);
  return card === undefined ? null : intentView(card);
}

function getRefund(desk: ClientDesk, id: string): Reply {
  for (const { card, approval } of approvedCards(desk)) {
    const refund = approval.refunds.find((one) => one.id === id);
    if (refund) return json(200, refundView(card, approval, refund));
  }
  return failure(404, 'invalid_request_error', `No such refund: '${id}'`, 'resource_missing', 'id');
}

const disputesOf = (desk: ClientDesk) =>
  approvedCards(desk).flatMap(({ card, approval }) =>
    approval.dispute
      ? [{ ...disputeView(card, approval, approval.dispute), payment_intent: card.intent ?? '' }]
      : [],
  );

function getDispute(desk: ClientDesk, id: string): Reply {
  const found = disputesOf(desk).find((one) => one.id === id);
  return found
    ? json(200, found)
    : failure(404, 'invalid_request_error', `No such dispute: '${id}'`, 'resource_missing', 'id');
}

function getIntent(desk: ClientDesk, id: string): Reply {
  const card = [...desk.bank.cards.values()].find((one) => one.client === desk.client && one.intent === id);
  return card === undefined
    ? failure(404, 'invalid_request_error', `No such payment_intent: '${id}'`, 'resource_missing', 'intent')
    : json(200, intentView(card));
}

function listCharges(desk: ClientDesk, query: URLSearchParams): Outcome {
  const charges = [...desk.bank.cards.values()]
    .filter((card) => card.client === desk.client)
    .flatMap((card) =>
      card.attempts.map((attempt) => ({ ...chargeView(card, attempt), payment_intent: card.intent ?? '' })),
    );
  return pageOf(desk, '/v1/charges', charges, query);
}

function balance(desk: ClientDesk): Outcome {
  return queried(
    desk,
    broken,
    () => {
      const { availableCents, pendingCents } = cardBalance(desk.bank, desk.client);
      const part = (amount: number) => [{ amount, currency: 'brl', source_types: { card: amount } }];
      return json(200, {
        object: 'balance',
        available: part(availableCents),
        pending: part(pendingCents),
        livemode: false,
      });
    },
    broken,
  );
}

/** The page of the payer. It asks for no card: a call of `/control` approves or refuses the attempt. */
function page(desk: Desk, ref: string, request: Request): Reply {
  const card = desk.bank.cards.get(ref);
  return card === undefined ? noSuchSession(ref) : cardPage(desk, card, request);
}

// ---------------------------------------------------------------------------------------------------------- deliveries

function createEndpoint(desk: ClientDesk, body: string): Reply {
  const given = new URLSearchParams(body);
  const url = given.get('url') ?? '';
  if (!URL.canParse(url)) return failure(400, 'invalid_request_error', 'Invalid URL', 'url_invalid', 'url');
  const events = [...given.entries()]
    .filter(([name]) => name.startsWith('enabled_events['))
    .map(([, value]) => value);
  desk.commit(
    registerWebhook(desk.bank, desk.world, { key: desk.client, url, clientId: desk.client, events }),
  );
  return json(200, {
    ...endpoints(desk)[0],
    secret: secretOf(desk.bank.clients.get(desk.client)?.secret ?? ''),
  });
}

function endpoints(desk: ClientDesk) {
  const there = desk.bank.webhooks.get(desk.client);
  if (there === undefined) return [];
  const { url, events = [], createdAt } = there;
  const created = seconds(createdAt);
  return [
    {
      id: `we_${desk.client}`,
      object: 'webhook_endpoint',
      url,
      enabled_events: events,
      created,
      status: 'enabled',
      livemode: false,
    },
  ];
}

/** The endpoint's secret is the client's: both sides know it without a call. */
const secretOf = (secret: string): string => `whsec_${secret}`;

/** One event a delivery, signed over its time and its body (https://docs.stripe.com/webhooks#verify-manually). */
export const stripePosts: PostsOf = (bank, { key, notifications }, now) => {
  const webhook = bank.webhooks.get(key);
  if (webhook === undefined) return [];
  const secret = secretOf(bank.clients.get(key)?.secret ?? '');
  return notifications.flatMap(({ id, returns }): Post[] => {
    const card = bank.cards.get(id);
    const type = card?.events[returns - 1];
    if (card === undefined || type === undefined || !webhook.events?.includes(type)) return [];
    const body = JSON.stringify({
      id: `evt_${card.ref}_${returns}`,
      object: 'event',
      api_version: '2026-07-29.dahlia',
      created: seconds(now),
      data: { object: objectOf(card, type, now) },
      livemode: false,
      type,
    });
    const mac = createHmac('sha256', secret)
      .update(`${seconds(now)}.${body}`)
      .digest('hex');
    const headers = { 'stripe-signature': `t=${seconds(now)},v1=${mac}` };
    return [{ address: new URL(webhook.url), headers, body }];
  });
};

function objectOf(card: Card, type: string, now: number): unknown {
  if (type.startsWith('checkout.session.')) return sessionView(card, now, false);
  if (type.startsWith('payment_intent.')) return intentView(card);
  const last = approvalOf(card);
  if (last === undefined) return null;
  const refund = last.refunds.at(-1);
  if (type.startsWith('refund.') && refund) return refundView(card, last, refund);
  if (type.startsWith('charge.dispute.') && last.dispute) return disputeView(card, last, last.dispute);
  return chargeView(card, last);
}
