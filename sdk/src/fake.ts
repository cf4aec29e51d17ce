import {
  defend,
  disputeOf,
  listDisputes,
  moveDispute,
  openDispute,
  refuseFile,
  removeFile,
  showDefence,
  takeHeld,
} from './fake-disputes.ts';
import {
  type Answer,
  accountNow,
  amountOf,
  dayMs,
  emit,
  emptyAccount,
  type FileAnswer,
  found,
  type Handler,
  invalid,
  isoNow,
  known,
  newOperation,
  one,
  pageOf,
  type Received,
  Refusal,
  type State,
  type Stored,
  textOf,
  timeOf,
  uuidForm,
} from './fake-state.ts';
import { listStatement, post, statementFile } from './fake-statement.ts';
import {
  changeEndpoint,
  createEndpoint,
  deliverDue,
  fanOut,
  listDeliveries,
  listEndpoints,
  listEventTypes,
  type Receive,
  removeEndpoint,
  replay,
  retryDelivery,
  rotateSecret,
  sendTest,
  showDelivery,
  showEndpoint,
} from './fake-webhooks.ts';
import type {
  EventType,
  FollowedEvent,
  Operation,
  Payment,
  PaymentStatus,
  Refund,
  TestClock,
  VintemEvent,
} from './types.ts';

/**
 * What happens to a request: `drop` it is lost before it arrives; `lose-answer` it is carried out and the answer is lost;
 * `hang` it is carried out and never answered; a status: the service refuses with it (429, 500, 503).
 */
export type FakeFault = 'drop' | 'lose-answer' | 'hang' | 429 | 500 | 503;

/** A service in memory: every call of the API and of test mode. */
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
  /** What the endpoints answer, which get each event as a signed request: your own handler, say. Default: 204. */
  receive: Receive;
  /** Resolves when no attempt to deliver is under way. Later ones are made when the test clock or a request comes past their time. */
  delivered(): Promise<void>;
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

const feeCents = 25;

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
  const state: State = {
    ...emptyAccount(balanceCents),
    events: [],
    listeners: new Set(),
    delivering: Promise.resolve(),
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
    receive: () => new Response(null, { status: 204 }),
    delivered: async () => {
      for (let seen: unknown; seen !== state.delivering; await seen) seen = state.delivering;
    },
    fail: (...more) => void faults.push(...more),
    pay: (id) => settlePayment(state, found(state, id, 'deposit'), 'paid'),
    expire: (id) => settlePayment(state, found(state, id, 'deposit'), 'expired'),
    dispute: (id, amountCents) => openDispute(state, found(state, id, 'deposit'), amountCents),
    draft: (transfer) => newDraft(state, transfer),
    settle: (id, status = 'completed') => settlePayment(state, found(state, id, 'transfer'), status),
    fetch: async (input, init) => {
      const request = new Request(input, init);
      // A file is no JSON, and nothing is recorded of it.
      const isFile = request.headers.get('content-type')?.match(/^(application\/pdf|image\/)/) != null;
      const text = isFile ? '' : await request.text();
      const fault = faults.shift();
      if (fault === 'drop') throw new TypeError('fetch failed');
      const path = new URL(request.url).pathname.replace('/api/v1/public', '').replace('/api/v1', '');
      requests.push({ method: request.method, path, body: text === '' ? undefined : JSON.parse(text) });
      if (typeof fault === 'number') return answerOf(new Refusal(fault, refusalCodes[fault]));
      deliverDue(state, server.receive);
      const answer =
        path === '/events/stream' ? stream(state, request) : carryOut(state, server, request, path, text);
      if (fault === 'lose-answer') throw new TypeError('fetch failed');
      if (fault === 'hang') return untilAborted(request.signal);
      return answer;
    },
  };
  state.listeners.add((event) => {
    fanOut(state, event);
    deliverDue(state, server.receive);
  });
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
    for (const { method, form, handle } of routes) {
      const match = form.exec(path);
      if (method !== request.method || !match) continue;
      const ids = match.slice(1);
      if (ids.some((id) => !uuidForm.test(id) && !actForm.test(id))) throw new Refusal(400, 'invalid_id');
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const query = new URL(request.url).searchParams;
      // The order in which a client writes the members means nothing.
      const fingerprint = JSON.stringify([method, path, operation.id, Object.entries(body).sort()]);
      const answer = () => handle(state, { operation, body, query, ids, server });
      if (method !== 'POST' || !('requestKey' in body)) return answerOf(answer());
      return answerOf(once(state, body, fingerprint, answer as () => Answer));
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

/** What a path has besides ids. */
const actForm =
  /^(csv|ofx|pdf|pay|expire|remove|complete|refuse|return|dispute|defend|accept|reject|cancel)$/;

/** By method and path; what stands for an id is `{id}`, and `{a|b}` one of these words. */
const calls: Record<string, Handler> = {
  'POST /pix/charges': createCharge,
  'POST /pix/transfers': createTransfer,
  'POST /pix/transfers/{id}/confirm': confirmDraft,
  'POST /pix/transfers/{id}/cancel': cancelDraft,
  'GET /payments': listPayments,
  'GET /payments/{id}': (state, received) => ({ status: 200, body: paymentOf(state, received) }),
  'POST /payments/{id}/refunds': createRefund,
  'GET /payments/{id}/refunds': (state, received) => {
    const { id } = paymentOf(state, received);
    return { status: 200, body: { refunds: state.refunds.filter(({ paymentId }) => paymentId === id) } };
  },
  'GET /refunds/{id}': (state, { ids }) => ({
    status: 200,
    body: one(state.refunds, ids[0], 'refund_not_found'),
  }),
  'GET /disputes': listDisputes,
  'GET /disputes/{id}': (state, { ids, operation }) => ({
    status: 200,
    body: disputeOf(state, operation, ids[0]),
  }),
  'GET /disputes/{id}/defence': showDefence,
  'POST /disputes/{id}/defence': defend,
  'POST /disputes/{id}/files': refuseFile,
  'DELETE /disputes/{id}/files/{id}': removeFile,
  'GET /account': (state, { operation }) => ({ status: 200, body: summary(state, operation) }),
  'GET /statement': listStatement,
  'GET /statement.{csv|ofx|pdf}': statementFile,
  'GET /operations': listOperations,
  'POST /operations': createOperation,
  'PATCH /operations/{id}': renameOperation,
  'DELETE /operations/{id}': deleteOperation,
  'GET /webhooks': listEndpoints,
  'POST /webhooks': createEndpoint,
  'GET /webhooks/event-types': listEventTypes,
  'GET /webhooks/{id}': showEndpoint,
  'PATCH /webhooks/{id}': changeEndpoint,
  'DELETE /webhooks/{id}': removeEndpoint,
  'POST /webhooks/{id}/rotate-secret': rotateSecret,
  'POST /webhooks/{id}/test': sendTest,
  'GET /webhooks/{id}/deliveries': listDeliveries,
  'GET /webhooks/{id}/deliveries/{id}': showDelivery,
  'POST /webhooks/{id}/deliveries/{id}/retry': retryDelivery,
  'POST /webhooks/{id}/replay': replay,
  'GET /events': listEvents,
  'GET /events/{id}': (state, { ids }) => ({
    status: 200,
    body: one(state.events, ids[0], 'event_not_found'),
  }),
  'POST /test/payments/{id}/{pay|expire|remove|complete|refuse|return|dispute}': simulate,
  'POST /test/disputes/{id}/{defend|accept|reject|cancel}': moveDispute,
  'GET /test/clock': (state) => ({ status: 200, body: clockOf(state) }),
  'POST /test/clock': (state) => {
    state.clock.started = true;
    return { status: 200, body: clockOf(state) };
  },
  'POST /test/clock/advance': advanceClock,
  'POST /test/reset': reset,
};

const routes = Object.entries(calls).map(([call, handle]) => {
  const [method = '', path = ''] = call.split(' ');
  const form = path
    .replaceAll('.', '\\.')
    .replaceAll(/\{(.+?)\}/g, (_, words: string) => (words === 'id' ? '([^/]+)' : `(?:(${words}))`));
  return { method, form: new RegExp(`^${form}$`), handle };
});

/** Of the operation that is asked. */
function paymentOf(state: State, { ids, operation }: Pick<Received, 'ids' | 'operation'>): Stored {
  const own = state.payments.filter(({ operationId }) => operationId === operation.id);
  return one(own, ids[0], 'payment_not_found');
}

/** The acts of test mode, on a payment whose kind and state allow them. */
function simulate(state: State, received: Received): Answer {
  const { ids, server, body } = received;
  const payment = paymentOf(state, received);
  const { id: paymentId, kind, status } = payment;
  const act = String(ids[1]);
  const refused = new Refusal(400, 'simulation_refused', { paymentId });
  if (act === 'dispute') {
    const amountCents = body.amountCents === undefined ? payment.amountCents : Number(body.amountCents);
    if (status !== 'paid' || amountCents > payment.amountCents) throw refused;
    server.dispute(paymentId, amountCents);
  } else if (act === 'return') {
    if (status !== 'paid' && status !== 'completed') throw refused;
    const leftCents = (payment.netAmountCents ?? 0) - (state.returned.get(paymentId) ?? 0);
    const amountCents = body.amountCents === undefined ? leftCents : Number(body.amountCents);
    if (leftCents === 0 || amountCents > leftCents) throw refused;
    comeBack(state, payment, amountCents);
  } else {
    const ofCharge = act === 'pay' || act === 'expire' || act === 'remove';
    if (status !== 'pending' || ofCharge !== (kind === 'deposit')) throw refused;
    const paidCents = body.amountCents === undefined ? payment.amountCents : Number(body.amountCents);
    if (act === 'pay' && paidCents !== payment.amountCents) payOther(state, payment);
    else if (act === 'pay') server.pay(paymentId);
    else if (act === 'expire') server.expire(paymentId);
    else if (act === 'remove') settlePayment(state, payment, 'failed');
    else server.settle(paymentId, act === 'complete' ? 'completed' : 'cancelled');
  }
  return { status: 200, body: { ok: true } };
}

/** A Pix of another amount: the charge stays open, and the money is no balance before a person has looked. */
function payOther(state: State, payment: Stored): void {
  payment.notice =
    'A Pix of another amount was received for this charge. It enters the balance only after review.';
  payment.updatedAt = isoNow();
  post(state, payment, []);
  const { status } = payment;
  emit(state, 'charge.unexpected_payment', shownInEvent(payment), { from: status, to: status });
}

/** What was sent comes back into the balance; what was received is taken out of it, or out of what a dispute holds. */
function comeBack(state: State, payment: Stored, amountCents: number): void {
  const { id, kind } = payment;
  state.returned.set(id, (state.returned.get(id) ?? 0) + amountCents);
  payment.updatedAt = isoNow();
  if (kind === 'transfer') {
    payment.notice = 'The Pix was returned, in whole or in part; the amount is back in the balance.';
    post(state, payment, [['transfer_returned', amountCents]]);
    emit(state, 'transfer.returned', shownInEvent(payment), { from: 'completed', to: 'completed' });
    return;
  }
  payment.notice = 'The provider took the received Pix back.';
  const leftCents = takeHeld(state, payment, amountCents);
  if (leftCents > 0) post(state, payment, [['debit', -leftCents]]);
}

function reset(state: State): Answer {
  const { events } = state;
  events.length = 0;
  Object.assign(state, emptyAccount(0));
  return { status: 201, body: { ownerId: state.ownerId, operationId: state.operations[0]?.id } };
}

/** A PNG in which there is no code. */
const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==';

function createCharge(state: State, { body, operation, server }: Received): Answer {
  known(body, ['amountCents', 'payerName', 'description', 'requestKey', 'metadata']);
  const amountCents = amountOf(body, 200, 200_000);
  textOf(body, 'payerName', 2, 100);
  if (body.description !== undefined) textOf(body, 'description', 0, 200);
  const payment = newPayment(operation, 'deposit', amountCents, body);
  Object.assign(payment, {
    copyPaste: `00020101021226${payment.id}6304FAKE`,
    qrCodeBase64: onePixel,
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
  delete payment.qrCodeBase64;
  Object.assign(payment, { status, updatedAt: at });
  if (status === 'paid' || status === 'completed')
    Object.assign(payment, {
      settledAt: at,
      endToEnd: `E${payment.id.replaceAll('-', '').slice(1)}`,
      providerFeeCents: payment.feeCents,
      netAmountCents: payment.amountCents - (payment.feeCents ?? 0),
      ...(status === 'paid' ? { paidAt: at } : {}),
    });
  if (status === 'cancelled') payment.reasonCode = 'recipient_refused';
  if (status === 'failed')
    Object.assign(payment, {
      reasonCode: 'provider_refused',
      notice: 'The provider refused or removed this charge. It cannot be paid; create another one.',
    });
  if (status === 'paid') post(state, payment, [['charge', payment.amountCents]]);
  if (status === 'completed') post(state, payment, []);
  if (status === 'cancelled')
    post(state, payment, [
      ['transfer_cancelled', payment.amountCents - feeCents],
      ['transfer_fee_cancelled', feeCents],
    ]);
  const type = `${payment.kind === 'deposit' ? 'charge' : 'transfer'}.${status}` as EventType;
  return emit(state, type, shownInEvent(payment), { from, to: status });
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

const clockOf = (state: State): TestClock => ({
  now: new Date(accountNow(state)).toISOString(),
  started: state.clock.started,
  status: state.clock.to === null ? 'ready' : 'advancing',
  to: state.clock.to,
});

/** Drafts and charges end at once; it is there when the deliveries that fall due on the way were tried. */
function advanceClock(state: State, { body, server }: Received): Answer {
  const to = timeOf(body, 'to');
  const { aheadMs: before } = state.clock;
  const aheadMs = to - Date.now();
  if (aheadMs <= before || aheadMs > 731 * dayMs) throw invalid('to', 'not_ahead_of_test_clock');
  if (state.clock.to !== null) throw new Refusal(400, 'test_clock_advancing');
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
  state.clock = { started: true, aheadMs, to: new Date(to).toISOString() };
  deliverDue(state, server.receive).then(() => {
    state.clock.to = null;
  });
  return { status: 200, body: clockOf(state) };
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
    body: { payments: items.map(({ copyPaste, qrCodeBase64, ...payment }) => shown(payment)), ...rest },
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

/** What the test clock was moved since the charge was paid counts as time, too. */
const refundWindowMs = 90 * dayMs;

function createRefund(state: State, { ids, body, operation }: Received): Answer {
  const payment = paymentOf(state, { ids, operation });
  if (payment.status !== 'paid') throw new Refusal(400, 'payment_not_refundable');
  const paidAt = payment.paidAt ?? payment.createdAt;
  if (accountNow(state) - aheadAt(state, paidAt) > Date.parse(paidAt) + refundWindowMs)
    throw new Refusal(400, 'refund_window_closed');
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
  const refund: Refund = {
    id: crypto.randomUUID(),
    paymentId: payment.id,
    operationId: operation.id,
    amountCents,
    status: 'pending',
    reason: 'requested',
    description: typeof body.description === 'string' ? body.description : '',
    requestKey: keyOf(body),
    createdAt: at,
    updatedAt: at,
    settledAt: null,
  };
  state.refunds.push(refund);
  const pending = { ...refund };
  const endToEnd = `D${refund.id.replaceAll('-', '').slice(1)}`;
  Object.assign(refund, { status: 'completed', settledAt: at, endToEnd });
  post(state, payment, []);
  payment.refundedCents = (payment.refundedCents ?? 0) + amountCents;
  emit(state, 'refund.completed', refund, { from: 'pending', to: 'completed' });
  emit(state, 'charge.refunded', shownInEvent(payment), { from: 'paid', to: 'paid' });
  return { status: 201, body: pending, again: () => refund };
}

function listOperations({ ownerId, operations }: State): Answer {
  const there = operations.filter(({ deleted }) => !deleted).map(shownOperation);
  return { status: 200, body: { ownerId, limit: 10, operations: there } };
}

function renameOperation(state: State, { ids, body }: Received): Answer {
  const there = state.operations.filter(({ deleted }) => !deleted);
  const operation = one(there, ids[0], 'operation_not_found');
  operation.name = textOf(body, 'name', 2, 64);
  emit(state, 'operation.updated', { ...shownOperation(operation), operationId: operation.id });
  return { status: 200, body: shownOperation(operation) };
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

const keyOf = ({ requestKey }: Record<string, unknown>): string => String(requestKey).toLowerCase();
/** In a list. */
const shown = ({ requestKey, ...payment }: Partial<Stored>): object => payment;
const shownInEvent = ({ copyPaste, qrCodeBase64, ...payment }: Stored): object => payment;
const shownOperation = ({ deleted, ...operation }: Operation & { deleted: boolean }): Operation => operation;

function answerOf(answer: Answer | FileAnswer | Refusal): Response {
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`;
  const headers = { 'content-type': 'application/json', 'x-request-id': requestId };
  if ('content' in answer)
    return new Response(answer.content, { headers: { ...headers, 'content-type': answer.type } });
  const { status } = answer;
  if (!(answer instanceof Refusal)) return new Response(JSON.stringify(answer.body), { status, headers });
  const { code, more } = answer;
  const body = { statusCode: status, message: code, error: code, code, requestId, ...more };
  return new Response(JSON.stringify(body), { status, headers });
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
