import { reaisOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import { arrayIn } from '../bacen.ts';
import {
  type Bucket,
  balanceFinding,
  clockFindings,
  limitsFinding,
  tokenFindings,
  unasked,
} from '../diagnosis.ts';
import {
  createExchange,
  failureOf,
  isSuccess,
  notSentAfter,
  type Reply,
  readList,
  traceOf,
  unclear,
  unreadAnswer,
  wordsIn,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  CancelInstruction,
  Capabilities,
  ChargeInstruction,
  ChargeReport,
  Finding,
  ListOutcome,
  ListWindow,
  PayoutInstruction,
  PayoutReport,
  Provider,
  ProviderBalance,
  QueryOutcome,
  RefundInstruction,
  RefundReport,
  SendOutcome,
  Unclear,
  UnreadKind,
  WebhookNews,
  WithdrawalQuestion,
} from '../provider.ts';
import { plain } from '../wire.ts';
import {
  askAccount,
  askFreeBalance,
  balanceCall,
  balanceIn,
  contentOf,
  isToken,
  jsonOf,
  keyEvents,
  keyNewsIn,
  listCosts,
  notRead,
  olderHosts,
  registerWebhook,
  tokenLeast,
  webhookFindingOf,
  webhooksCall,
} from './asaas-account.ts';
import {
  type AsaasPayment,
  dayAt,
  decisiveOf,
  descriptionOf,
  errorTextOf,
  isRefusal,
  keyTypeOf,
  ownRefundIn,
  readAsked,
  readCost,
  readPayment,
  readTransfer,
  reasonOf,
  recordOf,
  refundDescription,
  textOf,
} from './asaas-bodies.ts';
import { type AsaasDeps, limitsOf, listWhere, pages } from './asaas-lists.ts';
import { findPix, pixNamed, pixOfPayments, statementOf } from './asaas-pix.ts';
import { deliveryWithoutTokens, exchangeWithoutTokens } from './asaas-tokens.ts';

/**
 * Asaas: one key, amounts in reais, and no idempotency of any kind. Our id is the `externalReference` of charges and transfers, which Asaas
 * does not keep unique; so everything is looked for before it is made, and what makes a payout exactly one is Asaas' own question before a transfer leaves
 * (`withdrawals`): one transfer of a payment is approved, once.
 */
export interface AsaasOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Of the account, as Asaas said it when the connection was made; null: it was not asked. */
  identity?: string | null;
  /** `https://api.asaas.com`, `https://api-sandbox.asaas.com`. */
  baseUrl: string;
  apiKey: string;
  /** `cus_…`: under whose name charges are made. */
  customer: string;
  /** Asaas writes to it when deliveries fail. */
  email: string;
  /** Of deliveries: the header `asaas-access-token` repeats it. */
  webhookToken: string;
  /** Of the question before a transfer leaves; absent: Asaas asks nothing, and nothing is paid out. */
  withdrawalToken?: string;
  net: Net;
  clock: Clock;
  limits?: { pageSize?: number; maxPages?: number };
}

const callTimeoutMs = 5_000;
/** A charge is looked for, made, and its code is asked for. */
const sendTimeoutMs = 20_000;
/**
 * An equal transfer within 15 minutes is refused (docs.asaas.com/docs/transfers-1), which guards a repeat beside the approval. Behind it, with a margin for
 * clocks and for a request that was slow, a payout is not repeated.
 */
const repeatsWithinMs = 10 * 60_000;

export const asaasEvents = [
  ...keyEvents,
  ...['PAYMENT_RECEIVED', 'PAYMENT_DELETED', 'PAYMENT_REFUNDED', 'PAYMENT_PARTIALLY_REFUNDED'],
  ...['PAYMENT_REFUND_IN_PROGRESS', 'PAYMENT_REFUND_DENIED', 'PAYMENT_RECEIVED_IN_CASH_UNDONE'],
  ...['TRANSFER_PENDING', 'TRANSFER_IN_BANK_PROCESSING', 'TRANSFER_BLOCKED', 'TRANSFER_DONE'],
  ...['TRANSFER_FAILED', 'TRANSFER_CANCELLED'],
] as const;

export const asaasAdapter: Adapter = {
  members: {
    apiKey: { required: true, secret: true, about: 'API key of the account in the panel (Integrações)' },
    customer: {
      required: true,
      secret: false,
      about: 'cus_…: a customer of the account under whose name charges are made, with notices switched off',
    },
    email: { required: true, secret: false, about: 'Asaas writes to it when deliveries fail' },
    webhookToken: {
      required: true,
      secret: true,
      about: 'of deliveries: 32 to 255 random characters of your own',
    },
    withdrawalToken: {
      required: false,
      secret: true,
      about:
        'of the question before a transfer leaves (Mecanismos de segurança); without it nothing is paid out',
    },
  },
  certificate: 'none',
  defaultUrl: 'https://api.asaas.com',
  testUrl: 'https://api-sandbox.asaas.com',
  otherHosts: olderHosts,
  simulatorPath: '/asaas',
  create({ name, test, simulated, url, credentials, identity }, world) {
    const { apiKey = '', customer = '', email = '', webhookToken = '', withdrawalToken } = credentials;
    for (const [member, token] of Object.entries({ webhookToken, withdrawalToken }))
      if (token !== undefined && token.length < tokenLeast)
        throw new CredentialFault(`${member}: takes at least ${tokenLeast} characters`);
    if (webhookToken === withdrawalToken)
      throw new CredentialFault('withdrawalToken: must be another one than webhookToken');
    if (!/^cus_\w{1,40}$/.test(customer))
      throw new CredentialFault('customer: has the form cus_000000000000');
    return createAsaasProvider({
      ...{ net: world.net, clock: world.clock, connection: name, test, simulated },
      ...{ identity: identity ?? null, baseUrl: url, apiKey, customer, email, webhookToken },
      ...(withdrawalToken === undefined ? {} : { withdrawalToken }),
    });
  },
};

export function createAsaasProvider(options: AsaasOptions): Provider {
  const { connection, net, clock, customer, apiKey, withdrawalToken } = options;
  const baseUrl = options.baseUrl.replace(/\/{1,9}$/, '').replace(/\/v3$/, '');
  const exchange = exchangeWithoutTokens(
    createExchange({
      ...{ baseUrl, callTimeoutMs, net, clock },
      credentials: { type: 'key', value: apiKey, header: 'access_token' },
    }),
  );
  const deps: AsaasDeps = { exchange, clock, limits: limitsOf(options.limits) };
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: true,
    payouts: withdrawalToken !== undefined,
    queryPayoutByOwnId: true,
    cancelsCharges: true,
    cards: false,
    dueCharges: false,
    // Its static codes carry a name of Asaas, and are made anew by every call.
    staticCodes: null,
    canListCharges: true,
    canListPayouts: true,
    canRefund: true,
    canDispute: false,
    defence: null,
    returnsInStatementAlone: true,
    hasBalance: true,
    // See `repeatsWithinMs` and `withdrawals`; a refund is never made again.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: options.simulated ? null : 4,
    // A token in clear proves that a delivery is from Asaas; what it says is asked for.
    webhookTrust: 'path',
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: true, dayReports: null },
  };
  return {
    connection,
    // The simulator may start later than the connection is made: there a key is an account.
    identity: options.simulated ? identityOf(null, [apiKey]) : (options.identity ?? null),
    capabilities,
    askAccount: () => askAccount(deps, options.simulated ? null : baseUrl),
    createCharge: (instruction) => createCharge(deps, customer, instruction),
    queryCharge: (txid) => queryCharge(deps, txid),
    listCharges: (window, asked) => listCharges(deps, window, asked),
    cancelCharge: (instruction) => cancelCharge(deps, instruction),
    sendRefund: (instruction) => sendRefund(deps, instruction),
    queryRefund: (endToEnd, providerId) => queryRefund(deps, endToEnd, providerId),
    sendPayout: (instruction) => sendPayout(deps, instruction),
    queryPayout: (providerId, providerRef) => queryPayout(deps, providerId, providerRef ?? null),
    listPayouts: (window) => listPayouts(deps, window),
    parseWebhook: (delivery) => contentOf(delivery, options.webhookToken, readDelivery),
    readWebhook: (rawBody) => readDelivery(rawBody),
    // The company may take cards over the same account.
    redactDelivery: deliveryWithoutTokens,
    registerWebhook: (url) => registerWebhook(deps, { ...options, events: asaasEvents }, url),
    diagnose: ({ webhookUrl }) => diagnose(deps, webhookUrl, withdrawalToken !== undefined),
    balance: () => balanceOf(deps),
    statement: (window) => statementOf(deps, window),
    listCosts: (window) => listCosts(deps, window, readCost),
    async requestDayReport() {
      throw new Error('Asaas has no reports of days');
    },
    async readDayReport() {
      throw new Error('Asaas has no reports of days');
    },
    findPix: (endToEnd) => findPix(deps, endToEnd),
    ...(withdrawalToken !== undefined && {
      withdrawals: {
        ...withdrawalsOf(withdrawalToken),
        ...(options.simulated && { enterAddress: (url: string) => enterAddress(deps, options, url) }),
      },
    }),
  };
}

/**
 * Mecanismos de segurança (docs.asaas.com/docs/mecanismo-para-validacao-de-saque-via-webhooks): five seconds after a transfer was made Asaas calls with it, and
 * sends it when the answer approves it. It asks the same of bills, codes, recharges and refunds; this service makes only transfers that way.
 */
const withdrawalsOf = (token: string): WithdrawalQuestion => ({
  isAuthentic: (headers) => isToken(headers['asaas-access-token'], token),
  read: (rawBody) => {
    const { type, transfer } = recordOf(jsonOf(rawBody)) ?? {};
    return type === 'TRANSFER' ? readAsked(transfer) : null;
  },
  answerOf: (approved) =>
    approved
      ? { status: 'APPROVED' }
      : { status: 'REFUSED', refuseReason: 'A transferencia nao consta nos livros do vintem' },
});

/** The simulator's panel. Its clients are named by their key, `id:secret` in base64. */
async function enterAddress(
  { exchange, clock }: AsaasDeps,
  { apiKey, withdrawalToken }: AsaasOptions,
  url: string,
): Promise<void> {
  const [client = ''] = Buffer.from(apiKey.replace(/^\$aact_[a-z]+_/, ''), 'base64')
    .toString()
    .split(':');
  const path = `/control/questions/${encodeURIComponent(client)}`;
  const reply = await exchange({ method: 'PUT', path, body: { url, token: withdrawalToken } });
  if (reply.kind !== 'answer' || !isSuccess(reply.status))
    throw failureOf('the simulator did not take the address of its questions', reply, clock);
}

// --------------------------------------------------------------------------------------------- charges

/** Everything that Asaas has under a reference. */
const listUnder = <Item>(
  deps: AsaasDeps,
  what: 'payments' | 'transfers',
  reference: string,
  { kind, read, referenceOf }: Read<Item>,
): Promise<{ items: Item[] } | Unclear> =>
  listWhere(deps, `/v3/${what}?externalReference=${encodeURIComponent(reference)}`, {
    ...{ kind, read, providerId: reference },
    isWanted: (item) => referenceOf(item) === reference,
  });

interface Read<Item> {
  kind: UnreadKind;
  read: (item: unknown) => Item | 'foreign' | null;
  referenceOf: (item: Item) => string | null;
}

const payments: Read<AsaasPayment> = {
  kind: 'charge',
  read: readPayment,
  referenceOf: ({ reference }) => reference,
};

const transfers: Read<PayoutReport> = {
  kind: 'payout',
  read: readTransfer,
  referenceOf: ({ providerId }) => providerId,
};

async function createCharge(
  deps: AsaasDeps,
  customer: string,
  instruction: ChargeInstruction,
): Promise<SendOutcome<ChargeReport>> {
  const { exchange, clock } = deps;
  const there = await listUnder(deps, 'payments', instruction.txid, payments);
  if (!('items' in there)) return notSentAfter(there);
  if (there.items.length > 0) return { outcome: 'duplicate' };
  // The provider's clock and ours may differ; the description is what payers and queries see.
  const createdAt = Math.floor(clock.now() / 1000) * 1000;
  const expiresAt = createdAt + instruction.expirySeconds * 1000;
  const { txid, amountCents, description, payerName } = instruction;
  const reply = await exchange({
    method: 'POST',
    path: '/v3/payments',
    body: {
      ...{ customer, billingType: 'PIX', value: Number(reaisOf(amountCents)), dueDate: dayAt(expiresAt) },
      ...{ description: descriptionOf(description, payerName, expiresAt), externalReference: txid },
    },
    timeoutMs: callTimeoutMs,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (isRefusal(reply))
    return { outcome: 'refused', reason: 'provider_refused', detail: '400 error', ...wordsIn(reply) };
  const made = reply.kind === 'answer' && isSuccess(reply.status) ? readPayment(reply.body) : null;
  if (made?.reference !== txid || made.amountCents !== amountCents) return unclear(reply, clock);
  const copyPaste = await codeOf(deps, made.id);
  if (typeof copyPaste === 'object' && copyPaste !== null) return copyPaste;
  return {
    outcome: 'accepted',
    report: { txid, amountCents, status: 'open', createdAt, expiresAt, copyPaste, received: [] },
  };
}

/** `GET /v3/payments/{id}/pixQrCode`. Null: Asaas has none for it. */
async function codeOf({ exchange, clock }: AsaasDeps, id: string): Promise<string | null | Unclear> {
  const reply = await exchange({ method: 'GET', path: `/v3/payments/${encodeURIComponent(id)}/pixQrCode` });
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const code = textOf(recordOf(reply.body)?.payload);
    return code ?? unclear(reply, clock);
  }
  return reply.kind === 'answer' && (reply.status === 404 || isRefusal(reply)) ? null : unclear(reply, clock);
}

async function queryCharge(deps: AsaasDeps, txid: string): Promise<QueryOutcome<ChargeReport>> {
  const there = await listUnder(deps, 'payments', txid, payments);
  if (!('items' in there)) return there;
  const charge = chargeIn(there.items);
  if (charge === undefined) return { outcome: 'notFound' };
  const received = await pixOfPayments(deps, there.items);
  if ('outcome' in received) return received;
  const copyPaste = charge.status === 'open' ? await codeOf(deps, charge.id) : null;
  if (typeof copyPaste === 'object' && copyPaste !== null) return copyPaste;
  return {
    outcome: 'found',
    report: { ...reportOf(charge, there.items), copyPaste, received: received.pix },
  };
}

/** The oldest that we made. What came as a further Pix of it has a payment of its own, without our description. */
const chargeIn = (items: readonly AsaasPayment[]): AsaasPayment | undefined =>
  items.filter(({ expiresAt }) => expiresAt !== null).at(-1);

function reportOf(charge: AsaasPayment, all: readonly AsaasPayment[]): ChargeReport {
  const isPaid = all.some(({ status }) => status === 'paid');
  return {
    txid: charge.reference ?? '',
    amountCents: charge.amountCents,
    status: isPaid ? 'paid' : charge.status,
    createdAt: charge.createdAt,
    expiresAt: charge.expiresAt,
    copyPaste: null,
    received: [],
  };
}

async function listCharges(
  deps: AsaasDeps,
  window: ListWindow,
  asked?: ReadonlyMap<string, number>,
): Promise<ListOutcome<ChargeReport>> {
  const days = `dateCreated[ge]=${dayAt(window.fromMs)}&dateCreated[le]=${dayAt(window.toMs)}`;
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, 'charge', () => `/v3/payments?billingType=PIX&${days}`),
    // Without a reference it was made in the panel, or by Asaas for a Pix that came without a charge.
    read: (item) => {
      const payment = readPayment(item);
      return payment?.reference === null ? 'foreign' : payment;
    },
    wholeOnly: window.wholeOnly,
  });
  if (listed.outcome !== 'listed') return listed;
  // The Pix of each paid charge costs a call, and the list has whole days of them.
  const wanted = listed.reports.filter(({ reference }) => asked?.has(reference ?? '') ?? true);
  const received = await pixOfPayments(deps, wanted);
  if ('outcome' in received) return received;
  const reports = [...Map.groupBy(wanted, ({ reference }) => reference)].flatMap(([txid, all]) => {
    const charge = chargeIn(all);
    const pix = received.pix.filter((one) => one.txid === txid);
    return charge === undefined ? [] : [{ ...reportOf(charge, all), received: pix }];
  });
  return { ...listed, reports: reports.sort((one, other) => one.createdAt - other.createdAt) };
}

async function cancelCharge(
  deps: AsaasDeps,
  { txid, amountCents, createdAt, traceparent }: CancelInstruction,
): Promise<SendOutcome<ChargeReport>> {
  const { exchange, clock } = deps;
  const there = await listUnder(deps, 'payments', txid, payments);
  if (!('items' in there)) return notSentAfter(there);
  const refused = { outcome: 'refused', reason: 'provider_refused' } as const;
  const open = there.items.filter(({ status }) => status === 'open');
  if (open.length === 0) return { ...refused, detail: 'no open payment is there' };
  for (const { id } of open) {
    const path = `/v3/payments/${encodeURIComponent(id)}`;
    const reply = await exchange({ method: 'DELETE', path, ...traceOf({ traceparent }) });
    const unread = notRead(reply);
    if (unread) return unread;
    if (isRefusal(reply) || (reply.kind === 'answer' && reply.status === 404))
      return { ...refused, detail: 'it was not taken back', ...wordsIn(reply) };
    const answer = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
    if (answer?.deleted !== true) return unclear(reply, clock);
  }
  const unknown = { expiresAt: null, copyPaste: null, received: [] };
  return { outcome: 'accepted', report: { txid, amountCents, createdAt, status: 'removed', ...unknown } };
}

// --------------------------------------------------------------------------------------------- payouts

async function sendPayout(
  deps: AsaasDeps,
  instruction: PayoutInstruction,
): Promise<SendOutcome<PayoutReport>> {
  const { exchange, clock } = deps;
  const { providerId, amountCents, repeatOf } = instruction;
  const there = await listUnder(deps, 'transfers', providerId, transfers);
  if (!('items' in there)) return notSentAfter(there);
  if (there.items.length > 0) return { outcome: 'duplicate' };
  if (repeatOf !== undefined && clock.now() - repeatOf > repeatsWithinMs)
    return {
      ...{ outcome: 'unclear', cause: 'unknownRefusal', retryAfterMs: null },
      detail: 'too long after its first request to be repeated',
    };
  const reply = await exchange({
    method: 'POST',
    path: '/v3/transfers',
    body: transferBody(instruction),
    timeoutMs: sendTimeoutMs - callTimeoutMs,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  // Another transfer of this amount to this key within a quarter of an hour: this one was not made, and may be made later.
  if (reply.kind === 'answer' && reply.status === 409)
    return {
      outcome: 'notSent',
      detail: 'an equal transfer was made within the last 15 minutes',
      answered: true,
    };
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readTransfer(reply.body);
    const isOurs = report !== null && report !== 'foreign' && report.providerId === providerId;
    return isOurs && report.amountCents === amountCents
      ? { outcome: 'accepted', report }
      : unclear(reply, clock);
  }
  return isRefusal(reply) ? afterRefusal(deps, instruction, reply) : unclear(reply, clock);
}

/**
 * No table of Asaas says which errors leave nothing behind. So a refusal counts only where no transfer is there; where that look fails, the next query is
 * it.
 */
async function afterRefusal(
  deps: AsaasDeps,
  { providerId }: PayoutInstruction,
  reply: Reply,
): Promise<SendOutcome<PayoutReport>> {
  const there = await listUnder(deps, 'transfers', providerId, transfers);
  if (!('items' in there)) return { ...there, ...wordsIn(reply), refused: true };
  if (there.items.length > 0) return { outcome: 'duplicate' };
  const reason = reasonOf(errorTextOf(reply));
  return { outcome: 'refused', reason, detail: 'refused, and not there', ...wordsIn(reply) };
}

const transferBody = ({ providerId, amountCents, pixKey, pixKeyType, description }: PayoutInstruction) => {
  const text = plain(description, 140);
  return {
    value: Number(reaisOf(amountCents)),
    operationType: 'PIX',
    pixAddressKey: pixKey,
    pixAddressKeyType: keyTypeOf(pixKeyType),
    externalReference: providerId,
    ...(text === '' ? {} : { description: text }),
  };
};

/**
 * By Asaas' own name, where it is known: the one transfer of the payment that may leave. Else by our reference, under which a repeat may have made
 * several. Asaas' public clients do not have that filter; where it is not taken, nothing is known.
 */
async function queryPayout(
  deps: AsaasDeps,
  providerId: string,
  providerRef: string | null,
): Promise<QueryOutcome<PayoutReport>> {
  const { exchange, clock } = deps;
  if (providerRef !== null) {
    const reply = await exchange({ method: 'GET', path: `/v3/transfers/${encodeURIComponent(providerRef)}` });
    if (reply.kind === 'answer' && reply.status === 404) return { outcome: 'notFound' };
    if (reply.kind !== 'answer' || !isSuccess(reply.status)) return unclear(reply, clock);
    const report = readTransfer(reply.body);
    return report === null || report === 'foreign' || report.providerId !== providerId
      ? unreadAnswer(reply, clock, 'payout', providerId)
      : { outcome: 'found', report };
  }
  const there = await listUnder(deps, 'transfers', providerId, transfers);
  if (!('items' in there)) return there;
  const completed = there.items.filter(({ status }) => status === 'completed');
  if (completed.length > 1)
    return {
      ...{ outcome: 'unclear', cause: 'unreadable', retryAfterMs: null },
      detail: 'more than one transfer of it has left',
      unread: { kind: 'payout', name: providerId, providerId, endToEnd: null, body: completed },
    };
  const report = decisiveOf(there.items);
  return report === undefined ? { outcome: 'notFound' } : { outcome: 'found', report };
}

async function listPayouts(deps: AsaasDeps, window: ListWindow): Promise<ListOutcome<PayoutReport>> {
  const days = `dateCreated[ge]=${dayAt(window.fromMs)}&dateCreated[le]=${dayAt(window.toMs)}`;
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, 'payout', () => `/v3/transfers?${days}`),
    read: readTransfer,
    wholeOnly: window.wholeOnly,
  });
  if (listed.outcome !== 'listed') return listed;
  const reports = [...Map.groupBy(listed.reports, ({ providerId }) => providerId).values()].flatMap(
    (all) => decisiveOf(all) ?? [],
  );
  return { ...listed, reports };
}

// --------------------------------------------------------------------------------------------- refunds

/** The refunds of the payment that a Pix came for. */
async function refundsOf(
  deps: AsaasDeps,
  endToEnd: string,
): Promise<{ paymentId: string; items: unknown[] } | { outcome: 'notFound' } | Unclear> {
  const pix = await pixNamed(deps, endToEnd);
  if (pix === null) return { outcome: 'notFound' };
  if ('outcome' in pix) return pix;
  const { paymentId } = pix;
  if (paymentId === null) return { outcome: 'notFound' };
  const path = `/v3/payments/${encodeURIComponent(paymentId)}/refunds`;
  const reply = await deps.exchange({ method: 'GET', path: `${path}?limit=100` });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? arrayIn(reply.body, 'data') : null;
  return items === null ? unclear(reply, deps.clock) : { paymentId, items };
}

/**
 * Asaas keeps no id of ours for a refund: it stands at the end of the description, and is looked for before the refund is made. One that may have gone out
 * before is never made again: a request that was slow would give the money back twice.
 */
async function sendRefund(
  deps: AsaasDeps,
  instruction: RefundInstruction,
): Promise<SendOutcome<RefundReport>> {
  const { exchange, clock } = deps;
  const { endToEnd, providerId, amountCents, description, repeatOf, traceparent } = instruction;
  const there = await refundsOf(deps, endToEnd);
  if ('outcome' in there)
    return there.outcome === 'notFound'
      ? { outcome: 'notSent', detail: 'its Pix is not in the list yet', answered: true }
      : notSentAfter(there);
  if (ownRefundIn(there.items, providerId) !== null) return { outcome: 'duplicate' };
  if (repeatOf !== undefined)
    return {
      ...{ outcome: 'unclear', cause: 'unknownRefusal', retryAfterMs: null },
      detail: 'it may have been made, and is not there: a refund is not made again',
    };
  const reply = await exchange({
    method: 'POST',
    path: `/v3/payments/${encodeURIComponent(there.paymentId)}/refund`,
    body: { value: Number(reaisOf(amountCents)), description: refundDescription(description, providerId) },
    ...traceOf({ traceparent }),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = ownRefundIn(arrayIn(reply.body, 'refunds') ?? [], providerId);
    return report?.amountCents === amountCents ? { outcome: 'accepted', report } : unclear(reply, clock);
  }
  if (!isRefusal(reply)) return unclear(reply, clock);
  const after = await refundsOf(deps, endToEnd);
  if (!('items' in after)) return { ...unclear(reply, clock), ...wordsIn(reply), refused: true };
  return ownRefundIn(after.items, providerId) === null
    ? { outcome: 'refused', reason: 'provider_refused', detail: 'refused, and not there', ...wordsIn(reply) }
    : { outcome: 'duplicate' };
}

async function queryRefund(
  deps: AsaasDeps,
  endToEnd: string,
  providerId: string,
): Promise<QueryOutcome<RefundReport>> {
  const there = await refundsOf(deps, endToEnd);
  if ('outcome' in there)
    // It was there when the refund was sent, so this list says nothing of its refunds. It lags: an answer that can be read is no failure of the connection.
    return there.outcome === 'notFound'
      ? {
          outcome: 'unclear',
          cause: 'unknownRefusal',
          detail: 'its Pix is not in the list',
          retryAfterMs: null,
        }
      : there;
  const report = ownRefundIn(there.items, providerId);
  return report === null ? { outcome: 'notFound' } : { outcome: 'found', report };
}

// ------------------------------------------------------------------------------------------ deliveries

/**
 * A delivery names a payment or a transfer; each is asked for. It is of the account that registered the address, so it is for us; one of a charge that came
 * without us, or without a reference, names nothing here, and the statement has it.
 */
function readDelivery(rawBody: Buffer): WebhookNews | null {
  const body = recordOf(jsonOf(rawBody));
  if (body === null) return null;
  const key = keyNewsIn(body);
  if (key) return { addressed: true, received: [], payouts: [], unread: [key] };
  const { payment, transfer } = body;
  const reference = textOf(recordOf(payment ?? transfer)?.externalReference);
  return { addressed: true, received: [], payouts: [], named: reference === null ? [] : [reference] };
}

// --------------------------------------------------------------------------------------------- account

async function balanceOf(deps: AsaasDeps): Promise<ProviderBalance> {
  const cents = await askFreeBalance(deps);
  return { availableCents: cents, totalCents: cents, blocked: null };
}

async function diagnose(deps: AsaasDeps, webhookUrl: string, asks: boolean): Promise<Finding[]> {
  const { exchange, clock } = deps;
  const reply = await exchange(webhooksCall);
  const findings = tokenFindings(reply, { needed: [], granted: null });
  if (reply.kind !== 'answer' || reply.status === 401) return findings;
  const balance = await exchange(balanceCall);
  const bucket = await exchange({ method: 'GET', path: '/v3/pix/tokenBucket/addressKey' });
  return [
    ...findings,
    ...clockFindings(reply, clock),
    webhookFindingOf(reply.body, webhookUrl, asaasEvents),
    balanceFinding(balance, clock, balanceIn),
    limitsFinding(bucket, readBucket),
    payoutFinding(asks),
    unasked('payout limit', 'Asaas names it by no call: its panel shows it'),
    unasked('fees', 'read from the statement, and booked'),
  ];
}

/** Whether the mechanism is on says no call of Asaas. */
const payoutFinding = (asks: boolean): Finding => ({
  check: 'approval',
  ok: true,
  message: asks
    ? 'payouts leave when this service approves them: the panel must name its address under "Mecanismos de segurança"'
    : 'nothing is paid out: the credentials have no withdrawalToken',
});

/** docs.asaas.com/docs/look-up-pix-key: a look-up of a key that is not there takes 15, two come back in a minute. */
function readBucket(body: unknown): Bucket[] | null {
  const { capacity, remaining } = recordOf(body) ?? {};
  if (typeof capacity !== 'number' || typeof remaining !== 'number') return null;
  return [{ name: '', left: remaining, capacity, least: 15, perMinute: 2 }];
}
