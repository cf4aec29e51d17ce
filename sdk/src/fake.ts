import { makeSecret, sampleEvent } from './samples.ts';
import type {
  Dispute,
  EventType,
  FollowedEvent,
  Operation,
  Payment,
  PaymentStatus,
  Refund,
  StatementLine,
  TestClock,
  VintemEvent,
  Webhook,
} from './types.ts';

/**
 * What happens to a request: `drop` it is lost before it arrives; `lose-answer` it is carried out and the answer is lost;
 * `hang` it is carried out and never answered; a status: the service refuses with it (429, 500, 503).
 */
export type FakeFault = 'drop' | 'lose-answer' | 'hang' | 429 | 500 | 503;

/**
 * A service in memory. What it does not have (statement files, deliveries, `/webhooks/{id}/test`, returns and `/test/reset`) is answered with
 * 404 `route_not_found`.
 */
export interface FakeServer {
  /** For `new Vintem({ apiKey, baseUrl, fetch })`. */
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  /** Every request that arrived, oldest first. */
  readonly requests: readonly { method: string; path: string; body: unknown }[];
  /** Every event, oldest first. */
  readonly events: readonly VintemEvent[];
  /** Charges are paid as soon as they exist. Default false. */
  autoPay: boolean;
  /** Transfers are completed as soon as they exist. Default true; otherwise `settle` decides. */
  autoSettle: boolean;
  /** The faults of the next requests, in order. */
  fail(...faults: FakeFault[]): void;
  /** The payer pays a charge. */
  pay(chargeId: string): VintemEvent;
  /** A charge expires. */
  expire(chargeId: string): VintemEvent;
  /** The payer disputes a paid charge, in whole or in part: the amount is held, as far as the balance goes. */
  dispute(chargeId: string, amountCents?: number): VintemEvent;
  /** A person begins a transfer in the panel; `code` is what the mail says. */
  draft(transfer: { amountCents: number; pixKey: string }): { id: string; code: string };
  /** The provider decides a pending transfer. */
  settle(transferId: string, status?: 'completed' | 'cancelled'): VintemEvent;
}

const isoNow = (): string => new Date().toISOString();
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const feeCents = 25;

type Stored = Payment & { requestKey: string };
interface State {
  operations: (Operation & { deleted: boolean })[];
  payments: Stored[];
  refunds: Refund[];
  webhooks: Webhook[];
  disputes: Dispute[];
  /** Of drafts that are open. */
  codes: Map<string, { code: string; triesLeft: number; expiresAt: number }>;
  /** Each line of the statement with its business operation, oldest first. */
  lines: { operationId: string; line: Omit<StatementLine, 'endToEnd'> }[];
  /** What was said of a payment when it was made. */
  texts: Map<string, { description: string; payerName: string | null }>;
  clock: { started: boolean; aheadMs: number };
  moves: { at: number; aheadMs: number }[];
  events: VintemEvent[];
  /** What a requestKey was used for, and what came of it. */
  keys: Map<string, { fingerprint: string; answer: () => Answer }>;
  listeners: Set<() => void>;
}
interface Answer {
  status: number;
  body: object;
  /** What a repeat with the same key shows, when it is not this body. */
  again?: () => object;
}
interface Received {
  operation: Operation;
  body: Record<string, unknown>;
  query: URLSearchParams;
  /** The parts of the path that are ids. */
  ids: string[];
  server: FakeServer;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly more: object;
  constructor(status: number, code: string, more: object = {}) {
    super(code);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

/**
 * A service in memory that behaves as the contract says: request keys, balances, states, refusals, pages, events. Its `fetch`
 * is given to the client; nothing goes over a network.
 *
 * @param options `balanceCents` of the main operation at the beginning, default 0
 *
 * @example
 * const server = createFakeServer({ balanceCents: 5000 });
 * const vintem = new Vintem(server);
 * server.fail('lose-answer'); // the first answer is lost: the client repeats with the same key
 * const transfer = await vintem.transfers.create({ amountCents: 1000, pixKey: 'maria@example.com', pixKeyType: 'EMAIL' });
 * expect(transfer.status).toBe('completed');
 * expect((await vintem.account.get()).balanceCents).toBe(4000);
 */
export function createFakeServer({ balanceCents = 0 }: { balanceCents?: number } = {}): FakeServer {
  const main = { ...newOperation('Principal', true), balanceCents };
  const state: State = {
    operations: [{ ...main, deleted: false }],
    payments: [],
    refunds: [],
    webhooks: [],
    disputes: [],
    codes: new Map(),
    lines: [],
    texts: new Map(),
    clock: { started: false, aheadMs: 0 },
    moves: [],
    events: [],
    keys: new Map(),
    listeners: new Set(),
  };
  const faults: FakeFault[] = [];
  const requests: { method: string; path: string; body: unknown }[] = [];
  const server: FakeServer = {
    apiKey: 'vtm_test_fake',
    baseUrl: 'http://vintem.fake',
    requests,
    events: state.events,
    autoPay: false,
    autoSettle: true,
    fail: (...more) => void faults.push(...more),
    pay: (id) => settlePayment(state, found(state, id, 'deposit'), 'paid'),
    expire: (id) => settlePayment(state, found(state, id, 'deposit'), 'expired'),
    dispute: (id, amountCents) => openDispute(state, found(state, id, 'deposit'), amountCents),
    draft: (transfer) => newDraft(state, transfer),
    settle: (id, status = 'completed') => settlePayment(state, found(state, id, 'transfer'), status),
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const text = await request.text();
      const fault = faults.shift();
      if (fault === 'drop') throw new TypeError('fetch failed');
      const path = new URL(request.url).pathname.replace('/api/v1/public', '').replace('/api/v1', '');
      requests.push({ method: request.method, path, body: text === '' ? undefined : JSON.parse(text) });
      if (typeof fault === 'number') return answerOf(new Refusal(fault, refusalCodes[fault]));
      const answer =
        path === '/events/stream' ? stream(state, request) : carryOut(state, server, request, path, text);
      if (fault === 'lose-answer') throw new TypeError('fetch failed');
      if (fault === 'hang') return untilAborted(request.signal);
      return answer;
    },
  };
  return server;
}

const refusalCodes = { 429: 'rate_limited', 500: 'internal_error', 503: 'processing_unavailable' };

function carryOut(state: State, server: FakeServer, request: Request, path: string, text: string): Response {
  try {
    if (request.headers.get('authorization') !== `Bearer ${server.apiKey}`)
      throw new Refusal(401, 'api_key_invalid');
    const named = request.headers.get('x-service-operation');
    if (named !== null && !uuidForm.test(named)) throw new Refusal(400, 'invalid_operation_header');
    const operation = state.operations.find(
      (one) => !one.deleted && (named === null ? one.isDefault : one.id === named),
    );
    if (!operation) throw new Refusal(404, 'operation_not_found');
    for (const [method, form, handle] of routes) {
      const match = form.exec(path);
      if (method !== request.method || !match) continue;
      const ids = match.slice(1);
      if (ids.some((id) => !uuidForm.test(id) && !isAct(id))) throw new Refusal(400, 'invalid_id');
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const query = new URL(request.url).searchParams;
      // The order in which a client writes the members means nothing.
      const fingerprint = JSON.stringify([method, path, operation.id, Object.entries(body).sort()]);
      const answer = () => handle(state, { operation, body, query, ids, server });
      return answerOf(
        method === 'POST' && 'requestKey' in body ? once(state, body, fingerprint, answer) : answer(),
      );
    }
    throw new Refusal(404, 'route_not_found');
  } catch (error) {
    if (error instanceof Refusal) return answerOf(error);
    throw error;
  }
}
/** The same request with the same key gives the same resource as it is now; anything else with it is a conflict. */
function once(
  state: State,
  body: Record<string, unknown>,
  fingerprint: string,
  answer: () => Answer,
): Answer {
  const key = String(body.requestKey).toLowerCase();
  if (!uuidForm.test(key)) throw invalid('requestKey', 'not_a_uuid');
  const known = state.keys.get(key);
  if (known && known.fingerprint !== fingerprint) {
    const paymentId = state.payments.find((payment) => payment.requestKey === key)?.id;
    throw new Refusal(400, 'idempotency_conflict', paymentId ? { paymentId } : {});
  }
  if (known) return known.answer();
  try {
    const made = answer();
    const { status, again = () => made.body } = made;
    state.keys.set(key, { fingerprint, answer: () => ({ status, body: again() }) });
    return made;
  } catch (error) {
    // A refusal that names a payment has used the key up; any other leaves it free.
    if (error instanceof Refusal && 'paymentId' in error.more)
      state.keys.set(key, {
        fingerprint,
        answer: () => {
          throw error;
        },
      });
    throw error;
  }
}

type Handler = (state: State, received: Received) => Answer;
const id = '([^/]+)';
const routes: [method: string, path: RegExp, handle: Handler][] = [
  ['POST', /^\/pix\/charges$/, createCharge],
  ['POST', /^\/pix\/transfers$/, createTransfer],
  ['GET', /^\/payments$/, listPayments],
  [
    'GET',
    new RegExp(`^/payments/${id}$`),
    (state, { ids, operation }) => {
      const payment = state.payments.find((one) => one.id === ids[0] && one.operationId === operation.id);
      if (!payment) throw new Refusal(404, 'payment_not_found');
      return { status: 200, body: payment };
    },
  ],
  ['POST', new RegExp(`^/payments/${id}/refunds$`), createRefund],
  [
    'GET',
    new RegExp(`^/payments/${id}/refunds$`),
    (state, { ids }) => ({
      status: 200,
      body: { refunds: state.refunds.filter(({ paymentId }) => paymentId === ids[0]) },
    }),
  ],
  [
    'GET',
    new RegExp(`^/refunds/${id}$`),
    (state, { ids }) => ({
      status: 200,
      body: one(state.refunds, ids[0], 'refund_not_found'),
    }),
  ],
  ['POST', new RegExp(`^/pix/transfers/${id}/confirm$`), confirmDraft],
  ['POST', new RegExp(`^/pix/transfers/${id}/cancel$`), cancelDraft],
  ['GET', /^\/statement$/, listStatement],
  ['GET', /^\/disputes$/, listDisputes],
  [
    'GET',
    new RegExp(`^/disputes/${id}$`),
    (state, { ids, operation }) => ({ status: 200, body: disputeOf(state, operation, ids[0]) }),
  ],
  ['POST', new RegExp(`^/test/payments/${id}/(pay|expire|complete|refuse|dispute)$`), simulate],
  ['POST', new RegExp(`^/test/disputes/${id}/(defend|accept|reject|cancel)$`), moveDispute],
  ['GET', /^\/test\/clock$/, (state) => ({ status: 200, body: clockOf(state) })],
  [
    'POST',
    /^\/test\/clock$/,
    (state) => {
      state.clock.started = true;
      return { status: 200, body: clockOf(state) };
    },
  ],
  ['POST', /^\/test\/clock\/advance$/, advanceClock],
  ['GET', /^\/account$/, (state, { operation }) => ({ status: 200, body: summary(state, operation) })],
  [
    'GET',
    /^\/operations$/,
    (state) => ({
      status: 200,
      body: {
        ownerId: state.operations[0]?.id,
        limit: 10,
        operations: state.operations.filter((one) => !one.deleted).map(shownOperation),
      },
    }),
  ],
  ['POST', /^\/operations$/, createOperation],
  [
    'PATCH',
    new RegExp(`^/operations/${id}$`),
    (state, { ids, body }) => {
      const operation = one(
        state.operations.filter((each) => !each.deleted),
        ids[0],
        'operation_not_found',
      );
      operation.name = textOf(body, 'name', 2, 64);
      emit(state, 'operation.updated', { ...shownOperation(operation), operationId: operation.id });
      return { status: 200, body: shownOperation(operation) };
    },
  ],
  ['DELETE', new RegExp(`^/operations/${id}$`), deleteOperation],
  ['GET', /^\/webhooks$/, (state) => ({ status: 200, body: { webhooks: state.webhooks, limit: 10 } })],
  ['POST', /^\/webhooks$/, createWebhook],
  [
    'GET',
    new RegExp(`^/webhooks/${id}$`),
    (state, { ids }) => ({
      status: 200,
      body: one(state.webhooks, ids[0], 'webhook_not_found'),
    }),
  ],
  [
    'PATCH',
    new RegExp(`^/webhooks/${id}$`),
    (state, { ids, body }) => ({
      status: 200,
      body: Object.assign(one(state.webhooks, ids[0], 'webhook_not_found'), body, { updatedAt: isoNow() }),
    }),
  ],
  [
    'DELETE',
    new RegExp(`^/webhooks/${id}$`),
    (state, { ids }) => {
      state.webhooks.splice(state.webhooks.indexOf(one(state.webhooks, ids[0], 'webhook_not_found')), 1);
      return { status: 200, body: { ok: true } };
    },
  ],
  [
    'POST',
    new RegExp(`^/webhooks/${id}/rotate-secret$`),
    (state, { ids }) => {
      one(state.webhooks, ids[0], 'webhook_not_found');
      return { status: 200, body: { secret: makeSecret(), previousSecretExpiresAt: isoNow() } };
    },
  ],
  ['GET', /^\/events$/, listEvents],
  [
    'GET',
    new RegExp(`^/events/${id}$`),
    (state, { ids }) => ({
      status: 200,
      body: one(state.events, ids[0], 'event_not_found'),
    }),
  ],
];

const isAct = (word: string): boolean =>
  /^(pay|expire|complete|refuse|dispute|defend|accept|reject|cancel)$/.test(word);

/** The acts of test mode, on a payment whose kind and state allow them. */
function simulate(state: State, { ids: [paymentId = '', act], operation, server, body }: Received): Answer {
  const payment = state.payments.find((one) => one.id === paymentId && one.operationId === operation.id);
  if (!payment) throw new Refusal(404, 'payment_not_found');
  if (act === 'dispute') {
    const amountCents = body.amountCents === undefined ? payment.amountCents : Number(body.amountCents);
    if (payment.status !== 'paid' || amountCents > payment.amountCents)
      throw new Refusal(400, 'simulation_refused', { paymentId });
    server.dispute(paymentId, amountCents);
    return { status: 200, body: { ok: true } };
  }
  const ofCharge = act === 'pay' || act === 'expire';
  if (payment.status !== 'pending' || ofCharge !== (payment.kind === 'deposit'))
    throw new Refusal(400, 'simulation_refused', { paymentId });
  if (act === 'pay') server.pay(paymentId);
  else if (act === 'expire') server.expire(paymentId);
  else server.settle(paymentId, act === 'complete' ? 'completed' : 'cancelled');
  return { status: 200, body: { ok: true } };
}

function createCharge(state: State, { body, operation, server }: Received): Answer {
  known(body, ['amountCents', 'payerName', 'description', 'requestKey', 'metadata']);
  const amountCents = amountOf(body, 200, 200_000);
  textOf(body, 'payerName', 2, 100);
  if (body.description !== undefined) textOf(body, 'description', 0, 200);
  const payment = newPayment(operation, 'deposit', amountCents, body);
  Object.assign(payment, {
    copyPaste: `00020101021226${payment.id}6304FAKE`,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  state.payments.push(payment);
  state.texts.set(payment.id, {
    description: String(body.description ?? ''),
    payerName: String(body.payerName),
  });
  emit(state, 'charge.created', shownInEvent(payment), { from: 'unknown', to: 'pending' });
  if (server.autoPay) server.pay(payment.id);
  return { status: 201, body: payment, again: () => payment };
}

function createTransfer(state: State, { body, operation, server }: Received): Answer {
  known(body, ['amountCents', 'pixKey', 'pixKeyType', 'description', 'requestKey', 'metadata']);
  const amountCents = amountOf(body, 1_000, 1_000_000);
  const pixKey = textOf(body, 'pixKey', 3, 150);
  textOf(body, 'description', 0, 80);
  if (!['EMAIL', 'CPF', 'CNPJ', 'PHONE', 'RANDOM'].includes(String(body.pixKeyType)))
    throw invalid('pixKeyType', 'not_one_of');
  if (operation.balanceCents < amountCents) throw new Refusal(400, 'insufficient_balance');
  const payment = newPayment(operation, 'transfer', amountCents, body);
  Object.assign(payment, {
    feeCents,
    debitAmountCents: amountCents,
    expectedNetAmountCents: amountCents - feeCents,
  });
  state.payments.push(payment);
  state.texts.set(payment.id, { description: String(body.description), payerName: null });
  post(state, payment, [
    ['transfer', feeCents - amountCents],
    ['transfer_fee', -feeCents],
  ]);
  if (pixKey === 'refuse-in-answer@simulator.example') {
    settlePayment(state, payment, 'cancelled');
    throw new Refusal(400, 'recipient_refused', { paymentId: payment.id });
  }
  emit(state, 'transfer.created', shownInEvent(payment), { from: 'unknown', to: 'pending' });
  if (server.autoSettle) server.settle(payment.id);
  return { status: 201, body: payment, again: () => payment };
}

function newPayment(
  operation: Operation,
  kind: Payment['kind'],
  amountCents: number,
  { requestKey, metadata }: Record<string, unknown>,
): Stored {
  const at = isoNow();
  return {
    id: crypto.randomUUID(),
    kind,
    amountCents,
    status: 'pending',
    createdAt: at,
    updatedAt: at,
    operationId: operation.id,
    feeCents: 0,
    settledAt: null,
    paymentMethod: 'pix',
    expiresAt: null,
    requestKey: keyOf({ requestKey }),
    ...(Object.keys(metadata ?? {}).length > 0 && { metadata: metadata as Record<string, string> }),
  };
}

function settlePayment(state: State, payment: Stored, status: PaymentStatus): VintemEvent {
  const late = payment.status === 'expired' && status === 'paid';
  if (payment.status !== 'pending' && !late) throw new Error(`the payment is ${payment.status} already`);
  const from = payment.status;
  const at = isoNow();
  delete payment.copyPaste;
  Object.assign(payment, { status, updatedAt: at });
  if (status === 'paid' || status === 'completed')
    Object.assign(payment, {
      settledAt: at,
      endToEnd: `E${payment.id.replaceAll('-', '').slice(1)}`,
      netAmountCents: payment.amountCents - (payment.feeCents ?? 0),
      ...(status === 'paid' ? { paidAt: at } : {}),
    });
  if (status === 'cancelled') payment.reasonCode = 'recipient_refused';
  if (status === 'paid') post(state, payment, [['charge', payment.amountCents]]);
  if (status === 'cancelled')
    post(state, payment, [
      ['transfer_cancelled', payment.amountCents - feeCents],
      ['transfer_fee_cancelled', feeCents],
    ]);
  const type = `${payment.kind === 'deposit' ? 'charge' : 'transfer'}.${status}` as EventType;
  return emit(state, type, shownInEvent(payment), { from, to: status });
}

/** A movement: the balance, and the lines of the statement that say so. */
function post(
  state: State,
  payment: Stored,
  movement: readonly (readonly [kind: string, amountCents: number])[],
): void {
  const { operationId } = payment;
  const operation = state.operations.find((each) => each.id === operationId);
  if (!operation) throw new Error(`there is no operation ${operationId}`);
  const seq = state.lines.filter((each) => each.operationId === operationId).length + 1;
  for (const [kind, amountCents] of movement) {
    operation.balanceCents += amountCents;
    // A hold belongs to the balance, and to no payment.
    const of = kind.startsWith('hold') ? null : payment;
    const line = {
      id: kind.includes('_fee') ? `${seq}-fee` : String(seq),
      seq,
      at: isoNow(),
      kind,
      paymentId: of?.id ?? null,
      amountCents,
      balanceCents: operation.balanceCents,
      requestKey: of?.requestKey ?? null,
      ...(state.texts.get(of?.id ?? '') ?? { description: '', payerName: null }),
      ...(of?.metadata && { metadata: of.metadata }),
    };
    state.lines.push({ operationId, line });
  }
}

/** Lines of a period, oldest first, with the balances at its ends. */
function listStatement(state: State, { query, operation }: Received): Answer {
  const lines = state.lines
    .filter(({ operationId }) => operationId === operation.id)
    .map(({ line }) => ({
      ...line,
      endToEnd: state.payments.find(({ id }) => id === line.paymentId)?.endToEnd ?? null,
    }));
  const [from, to] = [boundOf(query.get('from'), 0), boundOf(query.get('to'), dayMs)];
  const before = lines.filter(({ at }) => from !== null && Date.parse(at) < from);
  const fits = lines.slice(before.length).filter(({ at }) => to === null || Date.parse(at) < to);
  const first = fits[0] ?? lines[before.length];
  const openingBalanceCents = first ? first.balanceCents - first.amountCents : operation.balanceCents;
  const closingBalanceCents = fits.at(-1)?.balanceCents ?? openingBalanceCents;
  const { items, ...rest } = pageOf(fits, query);
  return { status: 200, body: { lines: items, openingBalanceCents, closingBalanceCents, ...rest } };
}

const dayMs = 86_400_000;

/** A time, or a day of São Paulo from its beginning, and `addMs` later. */
function boundOf(text: string | null, addMs: number): number | null {
  if (text === null) return null;
  return /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00-03:00`) + addMs : Date.parse(text);
}

function openDispute(state: State, payment: Stored, amountCents = payment.amountCents): VintemEvent {
  if (payment.status !== 'paid') throw new Error(`the charge is ${payment.status}`);
  const operation = state.operations.find(({ id }) => id === payment.operationId);
  const heldCents = Math.min(amountCents, operation?.balanceCents ?? 0);
  if (heldCents > 0) post(state, payment, [['hold', -heldCents]]);
  const at = isoNow();
  const dispute: Dispute = {
    id: crypto.randomUUID(),
    paymentId: payment.id,
    operationId: payment.operationId,
    status: 'open',
    amountCents,
    heldCents,
    debitedCents: 0,
    endToEnd: payment.endToEnd ?? '',
    reason: 'golpe',
    openedAt: at,
    deadlineAt: new Date(Date.now() + 3 * dayMs).toISOString(),
    endedAt: null,
    createdAt: at,
    updatedAt: at,
  };
  state.disputes.push(dispute);
  return emit(state, 'dispute.opened', dispute, { from: null, to: 'open' });
}

const movesOf = {
  defend: 'defending',
  accept: 'accepted',
  reject: 'rejected',
  cancel: 'cancelled',
} as const;

/** An accepted dispute keeps its hold until the provider takes the money; a rejected or cancelled one holds nothing more. */
function moveDispute(state: State, { ids: [disputeId, act], operation }: Received): Answer {
  const dispute = disputeOf(state, operation, disputeId);
  const from = dispute.status;
  const status = movesOf[act as keyof typeof movesOf];
  if (status === 'rejected' || status === 'cancelled') {
    if (dispute.heldCents > 0)
      post(state, found(state, dispute.paymentId, 'deposit'), [['hold_released', dispute.heldCents]]);
    dispute.heldCents = 0;
  }
  const at = isoNow();
  Object.assign(dispute, { status, updatedAt: at, endedAt: status === 'defending' ? null : at });
  if (from !== status) emit(state, `dispute.${status}`, dispute, { from, to: status });
  return { status: 200, body: { ok: true } };
}

function disputeOf(state: State, { id: operationId }: Operation, disputeId: string | undefined): Dispute {
  const own = state.disputes.filter((each) => each.operationId === operationId);
  return one(own, disputeId, 'dispute_not_found');
}

function listDisputes(state: State, { query, operation }: Received): Answer {
  const statuses = query.get('status')?.split(',');
  const fits = state.disputes.filter(
    ({ operationId, status }) => operationId === operation.id && (!statuses || statuses.includes(status)),
  );
  const { items, ...rest } = pageOf(fits.reverse(), query);
  return { status: 200, body: { disputes: items, ...rest } };
}

function newDraft(state: State, { amountCents }: { amountCents: number }): { id: string; code: string } {
  const operation = state.operations.find(({ isDefault, deleted }) => isDefault && !deleted);
  if (!operation) throw new Error('there is no operation');
  const payment = newPayment(operation, 'transfer', amountCents, { requestKey: crypto.randomUUID() });
  const expectedNetAmountCents = amountCents - feeCents;
  Object.assign(payment, {
    status: 'draft',
    feeCents,
    debitAmountCents: amountCents,
    expectedNetAmountCents,
  });
  state.payments.push(payment);
  const code = String(crypto.getRandomValues(new Uint32Array(1))[0])
    .slice(-6)
    .padStart(6, '0');
  state.codes.set(payment.id, { code, triesLeft: 5, expiresAt: Date.now() + dayMs });
  return { id: payment.id, code };
}

function draftOf(state: State, { ids: [paymentId = ''], operation }: Received) {
  const payment = state.payments.find(
    ({ id, kind, operationId }) => id === paymentId && kind === 'transfer' && operationId === operation.id,
  );
  if (!payment) throw new Refusal(404, 'payment_not_found');
  const draft = state.codes.get(paymentId);
  if (!draft) throw new Refusal(400, 'not_a_draft', { paymentId });
  return { payment, draft };
}

function endDraft(state: State, payment: Stored, reasonCode: NonNullable<Payment['reasonCode']>): void {
  state.codes.delete(payment.id);
  Object.assign(payment, { status: 'cancelled', reasonCode, updatedAt: isoNow() });
  emit(state, 'transfer.cancelled', shownInEvent(payment), { from: 'draft', to: 'cancelled' });
}

function confirmDraft(state: State, received: Received): Answer {
  const { payment, draft } = draftOf(state, received);
  const { operation, server } = received;
  if (textOf(received.body, 'code', 6, 6) !== draft.code) {
    draft.triesLeft--;
    if (draft.triesLeft === 0) endDraft(state, payment, 'draft_locked');
    const details = [{ triesLeft: draft.triesLeft }];
    throw new Refusal(400, 'invalid_code', { paymentId: payment.id, details });
  }
  if (operation.balanceCents < payment.amountCents)
    throw new Refusal(400, 'insufficient_balance', { paymentId: payment.id });
  state.codes.delete(payment.id);
  Object.assign(payment, { status: 'pending', updatedAt: isoNow() });
  post(state, payment, [
    ['transfer', feeCents - payment.amountCents],
    ['transfer_fee', -feeCents],
  ]);
  emit(state, 'transfer.created', shownInEvent(payment), { from: 'draft', to: 'pending' });
  if (server.autoSettle) server.settle(payment.id);
  return { status: 200, body: payment };
}

function cancelDraft(state: State, received: Received): Answer {
  const { payment } = draftOf(state, received);
  endDraft(state, payment, 'draft_cancelled');
  return { status: 200, body: payment };
}

const clockOf = ({ clock: { started, aheadMs } }: State): TestClock => ({
  now: new Date(Date.now() + aheadMs).toISOString(),
  started,
  status: 'ready',
  to: null,
});

/** What falls due on the way is carried out at once; the answer says that it is under way, as the service's does. */
function advanceClock(state: State, { body, server }: Received): Answer {
  const to = Date.parse(textOf(body, 'to', 1, 64));
  if (Number.isNaN(to)) throw invalid('to', 'not_a_time');
  const { aheadMs: before } = state.clock;
  const aheadMs = to - Date.now();
  if (aheadMs <= before || aheadMs > 731 * dayMs) throw invalid('to', 'not_ahead_of_test_clock');
  const byMs = aheadMs - before;
  for (const [paymentId, draft] of state.codes) {
    draft.expiresAt -= byMs;
    if (draft.expiresAt <= Date.now()) endDraft(state, found(state, paymentId, 'transfer'), 'draft_expired');
  }
  for (const { id, kind, status, createdAt, expiresAt } of state.payments) {
    if (kind !== 'deposit' || status !== 'pending' || !expiresAt) continue;
    // Of a charge counts what the clock was moved since it was created.
    const leftMs = Date.parse(expiresAt) - Date.now() - (aheadMs - aheadAt(state, createdAt));
    if (leftMs <= 0) server.expire(id);
  }
  state.moves.push({ at: Date.now(), aheadMs });
  state.clock = { started: true, aheadMs };
  return { status: 200, body: { ...clockOf(state), status: 'advancing', to: new Date(to).toISOString() } };
}

const aheadAt = ({ moves }: State, at: string): number =>
  moves.filter((move) => move.at <= Date.parse(at)).at(-1)?.aheadMs ?? 0;

function listPayments(state: State, { query, operation }: Received): Answer {
  const is = (name: string, value: string | null | undefined) =>
    !query.has(name) || query.get(name) === value;
  const statuses = query.get('status')?.split(',');
  const fits = state.payments.filter(
    (payment) =>
      payment.operationId === operation.id &&
      is('kind', payment.kind) &&
      is('paymentMethod', payment.paymentMethod) &&
      is('requestKey', payment.requestKey) &&
      is('endToEnd', payment.endToEnd) &&
      (!statuses || statuses.includes(payment.status)) &&
      inTime(query, payment.createdAt),
  );
  const { items, ...rest } = pageOf(fits.reverse(), query);
  return {
    status: 200,
    body: { payments: items.map(({ copyPaste, ...payment }) => shown(payment)), ...rest },
  };
}

function listEvents(state: State, { query }: Received): Answer {
  const fits = state.events.filter(
    ({ type, timestamp, data }) =>
      (!query.has('type') || query.get('type') === type) &&
      (!query.has('paymentId') || query.get('paymentId') === (data as { id?: string }).id) &&
      inTime(query, timestamp),
  );
  const { items, ...rest } = pageOf(fits.reverse(), query);
  return { status: 200, body: { events: items, ...rest } };
}

const inTime = (query: URLSearchParams, at: string): boolean =>
  (!query.has('createdFrom') || Date.parse(at) >= Date.parse(String(query.get('createdFrom')))) &&
  (!query.has('createdTo') || Date.parse(at) < Date.parse(String(query.get('createdTo'))));

/** A cursor is the id of the last entry before the page, with the filters that it is for. */
function pageOf<Item extends { id: string }>(all: Item[], query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? 100);
  const filter = [...query].filter(([name]) => name !== 'cursor' && name !== 'limit').join('&');
  const cursor = query.get('cursor');
  const places = all.map((item) => btoa(`${item.id} ${filter}`));
  const after = cursor === null ? -1 : places.indexOf(cursor);
  if (cursor !== null && after < 0) throw new Refusal(400, 'invalid_cursor');
  const items = all.slice(after + 1, after + 1 + limit);
  const hasMore = after + 1 + limit < all.length;
  return { items, hasMore, nextCursor: hasMore ? (places[after + limit] ?? null) : null };
}

function createRefund(state: State, { ids, body, operation }: Received): Answer {
  const payment = state.payments.find((one) => one.id === ids[0] && one.operationId === operation.id);
  if (!payment) throw new Refusal(404, 'payment_not_found');
  if (payment.status !== 'paid') throw new Refusal(400, 'payment_not_refundable');
  const before = state.refunds.filter(
    ({ paymentId, status }) => paymentId === payment.id && status !== 'failed',
  );
  const leftCents = payment.amountCents - before.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const amountCents = body.amountCents === undefined ? leftCents : Number(body.amountCents);
  if (amountCents > leftCents || leftCents === 0) throw new Refusal(400, 'refund_exceeds');
  if (!Number.isInteger(amountCents) || amountCents < 1) throw invalid('amountCents', 'out_of_range');
  if (operation.balanceCents < amountCents) throw new Refusal(400, 'insufficient_balance');
  post(state, payment, [['refund', -amountCents]]);
  const at = isoNow();
  const times = { createdAt: at, updatedAt: at, settledAt: at };
  const refund: Refund = {
    id: crypto.randomUUID(),
    paymentId: payment.id,
    operationId: operation.id,
    amountCents,
    status: 'completed',
    reason: 'requested',
    description: typeof body.description === 'string' ? body.description : '',
    requestKey: String(body.requestKey),
    ...times,
  };
  state.refunds.push(refund);
  return { status: 201, body: refund };
}

function createOperation(state: State, { body }: Received): Answer {
  const name = textOf(body, 'name', 2, 64);
  if (state.operations.filter((each) => !each.deleted).length >= 10)
    throw new Refusal(400, 'operation_limit_reached');
  const made = { ...newOperation(name, false), deleted: false };
  state.operations.push(made);
  emit(state, 'operation.created', { ...shownOperation(made), operationId: made.id });
  return { status: 201, body: shownOperation(made) };
}

function deleteOperation(state: State, { ids }: Received): Answer {
  const gone = one(state.operations, ids[0], 'operation_not_found');
  if (gone.deleted) return { status: 200, body: { ok: true } };
  const others = state.operations.filter((each) => !each.deleted && each !== gone);
  if (others.length === 0) throw new Refusal(400, 'last_operation');
  if (gone.balanceCents !== 0) throw new Refusal(400, 'operation_has_balance');
  if (state.payments.some((each) => each.operationId === gone.id && each.status === 'pending'))
    throw new Refusal(400, 'operation_has_unfinished_payments');
  gone.deleted = true;
  if (gone.isDefault && others[0]) others[0].isDefault = true;
  emit(state, 'operation.deleted', { ...shownOperation(gone), operationId: gone.id });
  return { status: 200, body: { ok: true } };
}

function createWebhook(state: State, { body }: Received): Answer {
  const url = textOf(body, 'url', 1, 2048);
  if (!Array.isArray(body.events)) throw invalid('events', 'required');
  if (state.webhooks.length >= 10) throw new Refusal(400, 'webhook_limit_reached');
  const at = isoNow();
  const webhook: Webhook = {
    id: crypto.randomUUID(),
    url,
    events: body.events as string[],
    description: (body.description as string | undefined) ?? null,
    operationIds: (body.operationIds as string[] | undefined) ?? null,
    enabled: true,
    status: 'active',
    disabledReason: null,
    disabledAt: null,
    secretHint: 'whsec_…',
    schemaVersion: 1,
    createdAt: at,
    updatedAt: at,
  };
  state.webhooks.push(webhook);
  // The secret is shown once, not to a repeat.
  return { status: 201, body: { ...webhook, secret: makeSecret() }, again: () => webhook };
}

function summary(state: State, operation: Operation) {
  const reserved = state.payments.filter(
    (payment) =>
      payment.operationId === operation.id && payment.kind === 'transfer' && payment.status === 'pending',
  );
  return {
    operationId: operation.id,
    enabled: true,
    balanceCents: operation.balanceCents,
    feeCents,
    cardFeeCents: 0,
    minimumCardCents: 0,
    maximumCardCents: 0,
    minimumDepositCents: 200,
    maximumDepositCents: 200_000,
    minimumWithdrawalCents: 1_000,
    maximumWithdrawalCents: 1_000_000,
    reservedWithdrawalCents: reserved.reduce((sum, { amountCents }) => sum + amountCents, 0),
    depositFeeCents: 0,
    withdrawalFeeBps: 0,
    depositFeeBps: 0,
    cardFeeBps: 0,
    refundFees: 'kept',
  };
}

/** Server-sent events from `Last-Event-ID` on, until the client ends it. */
function stream(state: State, request: Request): Response {
  const wanted = new URL(request.url).searchParams.get('types')?.split(',');
  const from = request.headers.get('last-event-id');
  let next = from === null ? state.events.length : Math.min(Number(from), state.events.length);
  const encoder = new TextEncoder();
  let send = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(`retry: 2000\nid: ${next}\n: listening\n\n`));
      send = () => {
        for (; next < state.events.length; next++) {
          const event = state.events[next] as FollowedEvent;
          if (wanted && !wanted.includes(event.type)) continue;
          controller.enqueue(
            encoder.encode(`id: ${next + 1}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
          );
        }
      };
      state.listeners.add(send);
      request.signal.addEventListener('abort', () => {
        state.listeners.delete(send);
        controller.error(request.signal.reason);
      });
      send();
    },
    cancel: () => void state.listeners.delete(send),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

function emit(state: State, type: EventType, data: object, change?: object): VintemEvent {
  const { id, timestamp, schemaVersion, livemode } = sampleEvent(type);
  const event = { id, type, timestamp, schemaVersion, livemode, ...(change ? { change } : {}), data };
  // A copy: a later change of the payment must not change the event.
  state.events.push(JSON.parse(JSON.stringify(event)) as VintemEvent);
  for (const listener of state.listeners) listener();
  return state.events.at(-1) as VintemEvent;
}

const keyOf = ({ requestKey }: Record<string, unknown>): string => String(requestKey).toLowerCase();
/** In a list. */
const shown = ({ requestKey, ...payment }: Partial<Stored>): object => payment;
const shownInEvent = ({ copyPaste, qrCodeBase64, ...payment }: Stored): object => payment;
const shownOperation = ({ deleted, ...operation }: Operation & { deleted: boolean }): Operation => operation;

function newOperation(name: string, isDefault: boolean): Operation {
  const at = isoNow();
  return { id: crypto.randomUUID(), name, isDefault, balanceCents: 0, balanceUpdatedAt: at, createdAt: at };
}

function found(state: State, id: string, kind: Payment['kind']): Stored {
  const payment = state.payments.find((one) => one.id === id && one.kind === kind);
  if (!payment) throw new Error(`there is no ${kind} ${id}`);
  return payment;
}

function one<Item extends { id: string }>(all: Item[], id: string | undefined, code: string): Item {
  const item = all.find((each) => each.id === id);
  if (!item) throw new Refusal(404, code);
  return item;
}

const invalid = (field: string, code: string): Refusal =>
  new Refusal(400, 'validation_failed', { message: [`${field}: ${code}`], details: [{ field, code }] });

function known(body: Record<string, unknown>, names: string[]): void {
  for (const name of Object.keys(body)) if (!names.includes(name)) throw invalid(name, 'unknown_property');
}

function amountOf({ amountCents }: Record<string, unknown>, min: number, max: number): number {
  if (!Number.isInteger(amountCents)) throw invalid('amountCents', 'not_an_integer');
  if (Number(amountCents) < min || Number(amountCents) > max) throw invalid('amountCents', 'out_of_range');
  return Number(amountCents);
}

function textOf(body: Record<string, unknown>, name: string, min: number, max: number): string {
  const text = body[name];
  if (typeof text !== 'string') throw invalid(name, text === undefined ? 'required' : 'not_a_string');
  if ([...text].length < min || [...text].length > max) throw invalid(name, 'out_of_length');
  return text;
}

function answerOf(answer: Answer | Refusal): Response {
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`;
  const headers = { 'content-type': 'application/json', 'x-request-id': requestId };
  const { status } = answer;
  if (!(answer instanceof Refusal)) return new Response(JSON.stringify(answer.body), { status, headers });
  const { code, more } = answer;
  const body = { statusCode: status, message: code, error: code, code, requestId, ...more };
  return new Response(JSON.stringify(body), { status, headers });
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
