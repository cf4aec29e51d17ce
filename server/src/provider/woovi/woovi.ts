import type { Log } from '../../ground/log.ts';
import { reaisOf, signedWholeCentsOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import type { Adapter } from '../adapter.ts';
import { arrayIn } from '../bacen.ts';
import {
  type Bucket,
  balanceFinding,
  clockFindings,
  limitsFinding,
  tokenFindings,
  unasked,
} from '../diagnosis.ts';
import type { DisputeReport } from '../dispute-report.ts';
import {
  type Call,
  createExchange,
  type Exchange,
  failureOf,
  isSuccess,
  missingScope,
  type PagePlace,
  type Paging,
  type Reply,
  readList,
  traceOf,
  unclear,
  unreadAnswer,
  wordsIn,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import { formOf } from '../multipart.ts';
import type {
  CancelInstruction,
  Capabilities,
  ChargeInstruction,
  ChargeReport,
  DefenceFile,
  DefenceInstruction,
  DefenceOutcome,
  DueInstruction,
  Finding,
  ListOutcome,
  ListWindow,
  PayoutConfirmation,
  PayoutInstruction,
  PayoutReport,
  PixOwner,
  Provider,
  ProviderBalance,
  ProviderCost,
  QueryOutcome,
  ReasonCode,
  ReceivedPix,
  ReceiverOutcome,
  RefundInstruction,
  RefundReport,
  SendOutcome,
  StatementLine,
  StaticCodeInstruction,
  StaticCodeReport,
  Unclear,
  UnnamedReturn,
  UnreadKind,
} from '../provider.ts';
import { createSigningKeys } from '../signing-keys.ts';
import { unreadItem } from '../unread.ts';
import { cut, plain } from '../wire.ts';
import {
  amountOf,
  errorOf,
  evidenceRefusalOf,
  isAtTheDoor,
  isDuplicate,
  isWithoutBalance,
  readCharge,
  readCost,
  readDispute,
  readListedReturn,
  readOwner,
  readPayout,
  readRefund,
  readTransaction,
  readWithdrawal,
  recordOf,
  refusalOf,
  saysNotFound,
  staticCodeIn,
  type Withdrawal,
} from './woovi-bodies.ts';
import { overdueBody, untilDayIsCertain, wooviDueTerms } from './woovi-due.ts';
import {
  bodyOf,
  events,
  isTestDelivery,
  type OwnAccount,
  plainId,
  plainNumber,
  readDelivery,
  readPublicKeys,
} from './woovi-webhooks.ts';

/**
 * Woovi (OpenPix): one key instead of tokens and certificates, integer cents, and our own id as the address of charges and
 * payouts (`correlationID`). The Pix of a charge has Woovi's own txid, which nothing here uses.
 */
export interface WooviOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Of the account, as Woovi said it when the connection was made; null: it was not asked. */
  identity?: string | null;
  /** `https://api.woovi.com`, `https://api.woovi-sandbox.com`. */
  baseUrl: string;
  /** The AppID, as its panel shows it. */
  appId: string;
  /** Whose balance is asked for; default: the company's default account. */
  accountId?: string;
  net: Net;
  clock: Clock;
  log: Log;
  limits?: Partial<WooviLimits>;
}

export interface WooviLimits {
  callTimeoutMs: number;
  /** For the creation of a charge and for a payout, the query after a refusal included. */
  sendTimeoutMs: number;
  maxParallelSends: number | null;
  /** Woovi gives a hundred items a page (docs/transaction/transaction-how-to-paginate-api.md). */
  pageSize: number;
  maxPages: number;
}

/**
 * Woovi asks the central directory for the receiver's key before it answers a payout. It publishes no limit but that of these look-ups, which
 * 429 answers: four sends at once are our choice.
 */
const defaultLimits: WooviLimits = {
  callTimeoutMs: 5_000,
  sendTimeoutMs: 15_000,
  maxParallelSends: 4,
  pageSize: 100,
  maxPages: 20,
};

/** The simulator answers at once or not at all, and its balance limits nothing, so nothing limits its sends. */
const simulatorLimits = { sendTimeoutMs: 5_000, maxParallelSends: null };

/** Woovi calls the new address before it answers, and waits for it up to 100 s (docs/webhook/webhook-timeout.md). */
const registrationTimeoutMs = 60_000;
/** `expiresIn`, of the OpenAPI document: at least five minutes. */
const shortestLifeSeconds = 300;
const hintEveryMs = 3_600_000;

/** docs/arquivos/upload-de-arquivo.md. */
const uploadMostBytes = 10 * 1024 * 1024;
/** Woovi names no number of documents. */
const evidenceMost = 5;
/** For one file and for a whole defence: five files of 10 MiB need some 5 Mbit/s, and what was uploaded is not lost. */
const uploadTimeoutMs = 60_000;
const defenceTimeoutMs = 100_000;
/** An upload that failed is made again with all its bytes. */
const uploadAgainMs = 120_000;

export const wooviAdapter: Adapter = {
  members: {
    appId: { required: true, secret: true, about: 'AppID of the application in the panel (API/Plugins)' },
    accountId: {
      required: false,
      secret: false,
      about: 'whose balance is read; default: the default account',
    },
  },
  certificate: 'none',
  defaultUrl: 'https://api.woovi.com',
  testUrl: 'https://api.woovi-sandbox.com',
  // The same API under its older name (src/swaggers/openpix.yml of woovi-developers).
  otherHosts: { live: ['api.openpix.com.br'] },
  simulatorPath: '/woovi',
  create({ name, test, simulated, url, credentials, identity }, world) {
    const { appId = '', accountId } = credentials;
    return createWooviProvider({
      ...world,
      connection: name,
      test,
      simulated,
      identity: identity ?? null,
      baseUrl: url,
      appId,
      ...(accountId === undefined ? {} : { accountId }),
      ...(simulated ? { limits: simulatorLimits } : {}),
    });
  },
};

interface Deps {
  exchange: Exchange;
  clock: Clock;
  log: Log;
  limits: WooviLimits;
}

export function createWooviProvider(options: WooviOptions): Provider {
  const { connection, net, clock, log } = options;
  const limits: WooviLimits = { ...defaultLimits, ...options.limits };
  const base = options.baseUrl.replace(/\/{1,9}$/, '');
  const calls = createExchange({
    baseUrl: base,
    credentials: { type: 'key', value: options.appId },
    callTimeoutMs: limits.callTimeoutMs,
    net,
    clock,
  });
  const exchange = withHints(calls, { connection, clock, log });
  const keys = createSigningKeys({
    header: 'x-webhook-signature',
    algorithm: 'RSA-SHA256',
    read: () => readPublicKeys(net, `${base}/api/v1/webhook/public-keys`, limits.callTimeoutMs),
    clock,
    log,
  });
  const deps: Deps = { exchange, clock, log, limits };
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: true,
    payouts: true,
    // A transaction names no payment: see `nameWithdrawals`.
    statementLacksOwnIds: true,
    confirmsPayouts: true,
    queryPayoutByOwnId: true,
    cancelsCharges: true,
    cards: false,
    dueCharges: true,
    dueTerms: wooviDueTerms,
    staticCodes: 'provider',
    canListCharges: true,
    canListPayouts: true,
    canRefund: true,
    canDispute: true,
    defence: {
      // `POST …/evidence` takes documents and no text.
      textMost: 0,
      files: {
        most: evidenceMost,
        mostBytes: uploadMostBytes,
        types: ['application/pdf', 'image/png', 'image/jpeg'],
      },
      timeoutMs: defenceTimeoutMs,
    },
    hasBalance: true,
    // A correlationID that was used is answered 400 (docs/payment/payment-idempotency.md).
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: limits.maxParallelSends,
    webhookTrust: 'signed',
    callTimeoutMs: limits.callTimeoutMs,
    sendTimeoutMs: limits.sendTimeoutMs,
    statement: { lists: true, dayReports: null },
  };
  const ownAccount = createOwnAccount(deps, options);
  const isTest = options.test || new URL(base).hostname.includes('sandbox');
  return {
    connection,
    // The simulator may start later than the connection is made: there an AppID is an account.
    identity: options.simulated ? identityOf(null, [options.appId]) : (options.identity ?? null),
    capabilities,
    async askAccount() {
      const asked = await ownAccount.ask();
      if (asked.outcome === 'unclear') return asked;
      const { baseUrl, simulated } = options;
      return {
        outcome: 'found',
        identity: identityOf(simulated ? null : baseUrl, [asked.account.accountId]),
      };
    },
    createCharge: (instruction) => createCharge(deps, instruction),
    queryCharge: (txid) => queryCharge(deps, txid),
    dueCharges: {
      create: (instruction) => createDueCharge(deps, instruction),
      query: (txid) => queryCharge(deps, txid),
      cancel: (instruction) => cancelCharge(deps, instruction),
    },
    createStaticCode: (instruction) => createStaticCode(deps, instruction),
    listCharges: (window) => listCharges(deps, window),
    cancelCharge: (instruction) => cancelCharge(deps, instruction),
    sendRefund: (instruction) => sendRefund(deps, instruction),
    queryRefund: (_endToEnd, providerId) => queryRefund(deps, providerId),
    sendPayout: (instruction) => sendPayout(deps, instruction),
    confirmPayout: (confirmation) => confirmPayout(deps, confirmation),
    queryPayout: (providerId) => queryPayout(deps, providerId),
    listPayouts: (window) => listPayouts(deps, window),
    async parseWebhook(delivery) {
      const body = bodyOf(delivery.rawBody);
      if (body === null) return { authentic: false, reason: 'the body is no JSON' };
      if (isTestDelivery(body)) return { authentic: true, addressed: true, received: [], payouts: [] };
      const fault = await keys.faultOf(delivery);
      if (fault !== null) return { authentic: false, reason: fault };
      return { authentic: true, ...readDelivery(body, { account: await ownAccount.known(), isTest }) };
    },
    readWebhook(rawBody) {
      const body = bodyOf(rawBody);
      return body && readDelivery(body, { account: ownAccount.last(), isTest });
    },
    registerWebhook: (url) => registerWebhook(deps, url),
    diagnose: ({ webhookUrl }) => diagnose(deps, options.accountId, webhookUrl),
    balance: () => balanceOf(deps, options.accountId),
    statement: (window) => statementOf(deps, window),
    listReturns: (window) => listReturns(deps, window),
    listCosts: (window) => listCosts(deps, window),
    async requestDayReport() {
      throw new Error('Woovi has no reports of days');
    },
    async readDayReport() {
      throw new Error('Woovi has no reports of days');
    },
    lookUpReceiver: (pixKey) => lookUpReceiver(deps, pixKey),
    findPix: (endToEnd) => findPix(deps, endToEnd),
    disputes: {
      list: (window) => listDisputes(deps, window),
      defend: (defence) => defendDispute(deps, defence),
    },
  };
}

/** Names what only a person can repair in Woovi's panel, at most once an hour. */
function withHints(
  exchange: Exchange,
  { connection, clock, log }: { connection: string; clock: Clock; log: Log },
): Exchange {
  let hintedAt = Number.NEGATIVE_INFINITY;
  return async (call) => {
    const reply = await exchange(call);
    if (isAtTheDoor(reply) && clock.monotonicMs() - hintedAt >= hintEveryMs) {
      hintedAt = clock.monotonicMs();
      const scope = /scope: ([A-Z_]{3,40})/.exec(errorOf(reply)?.text ?? '')?.[1];
      log.error(
        { connection, scope },
        'the provider refused our AppID: check it and its permissions (scopes)',
      );
    }
    return reply;
  };
}

const idPart = (id: string): string => encodeURIComponent(id);

/** An authentication error proves that the request was not processed. Null for every other answer. */
const notRead = (reply: Reply): { outcome: 'notSent'; detail: string } | null => {
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  return isAtTheDoor(reply) ? { outcome: 'notSent', detail: missingScope } : null;
};

// --------------------------------------------------------------------------------------------- charges

const createCharge = (deps: Deps, instruction: ChargeInstruction): Promise<SendOutcome<ChargeReport>> =>
  postCharge(deps, instruction, chargeBody(instruction));

async function createDueCharge(deps: Deps, instruction: DueInstruction): Promise<SendOutcome<ChargeReport>> {
  const now = deps.clock.now();
  const retryAfterMs = untilDayIsCertain(now);
  if (retryAfterMs > 0)
    return { outcome: 'notSent', detail: 'a day is about to end', answered: true, retryAfterMs };
  const body = overdueBody(instruction, now);
  // It was admitted on an earlier day, and no byte of it went out.
  if (body === null)
    return { outcome: 'refused', reason: 'provider_refused', detail: 'a day of its terms has come' };
  return postCharge(deps, instruction, body);
}

async function postCharge(
  { exchange, clock, limits }: Deps,
  instruction: Pick<ChargeInstruction, 'txid' | 'amountCents' | 'traceparent'>,
  body: unknown,
): Promise<SendOutcome<ChargeReport>> {
  const reply = await exchange({
    method: 'POST',
    path: '/api/v1/charge?return_existing=true',
    body,
    timeoutMs: limits.sendTimeoutMs,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readCharge(recordOf(reply.body)?.charge);
    if (report?.txid === instruction.txid && report.amountCents === instruction.amountCents) {
      // One that exists and is paid: the query brings what it received.
      return report.status === 'paid' ? { outcome: 'duplicate' } : { outcome: 'accepted', report };
    }
    return unclear(reply, clock);
  }
  const error = errorOf(reply);
  if (error && isDuplicate(error)) return { outcome: 'duplicate' };
  // No payer has the code of a charge that was answered 400, and no money depends on it.
  if (error?.status === 400)
    return { outcome: 'refused', reason: 'provider_refused', detail: '400 error', ...wordsIn(reply) };
  return unclear(reply, clock);
}

/**
 * One that was deleted is not found any more, so its own answer alone says that it was. What that answers of a charge that is paid is not
 * documented: it is queried.
 */
async function cancelCharge(
  { exchange, clock, limits }: Deps,
  { txid, amountCents, createdAt, traceparent }: CancelInstruction,
): Promise<SendOutcome<ChargeReport>> {
  const reply = await exchange({
    method: 'DELETE',
    path: `/api/v1/charge/${idPart(txid)}`,
    timeoutMs: limits.sendTimeoutMs,
    ...traceOf({ traceparent }),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status) && recordOf(reply.body)?.status === 'OK') {
    // The answer names the charge alone.
    const unknown = { expiresAt: null, copyPaste: null, received: [] };
    return {
      outcome: 'accepted',
      report: { txid, amountCents, createdAt, status: 'removed', ...unknown },
    };
  }
  const error = errorOf(reply);
  return error?.status === 400 || (error && saysNotFound(error))
    ? { outcome: 'refused', reason: 'provider_refused', detail: `${error.status} error`, ...wordsIn(reply) }
    : unclear(reply, clock);
}

function chargeBody(instruction: ChargeInstruction): unknown {
  const { payerDocument } = instruction;
  const description = cut(instruction.description, 200);
  const name = cut(instruction.payerName, 200);
  return {
    correlationID: instruction.txid,
    value: instruction.amountCents,
    type: 'DYNAMIC',
    expiresIn: Math.max(instruction.expirySeconds, shortestLifeSeconds),
    ...(description === '' ? {} : { comment: cut(description, 140) }),
    // Woovi wants a document, an e-mail or a phone with the name of a customer.
    ...(payerDocument && { customer: { name, taxID: payerDocument } }),
    additionalInfo: [
      { key: 'Pagador', value: name },
      ...(description === '' ? [] : [{ key: 'Descrição', value: description }]),
    ],
  };
}

const staticPath = '/api/v1/qrcode-static';

/**
 * A static code is known by its identifier, which is also our `correlationID` (docs/pix-qr-code). A repeat is refused with a sentence that no
 * document fixes, so after every refusal the code is asked for: what is there was made before.
 */
async function createStaticCode(
  { exchange, clock, limits }: Deps,
  { identifier, name, amountCents }: StaticCodeInstruction,
): Promise<SendOutcome<StaticCodeReport>> {
  const value = amountCents === null ? {} : { value: amountCents };
  const reply = await exchange({
    method: 'POST',
    path: staticPath,
    body: { name, identifier, correlationID: identifier, ...value },
    timeoutMs: limits.sendTimeoutMs,
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const copyPaste = staticCodeIn(reply.body, identifier);
    return copyPaste === null ? unclear(reply, clock) : { outcome: 'accepted', report: { copyPaste } };
  }
  if (errorOf(reply)?.status !== 400) return unclear(reply, clock);
  const known = await exchange({ method: 'GET', path: `${staticPath}/${idPart(identifier)}` });
  const copyPaste =
    known.kind === 'answer' && isSuccess(known.status) ? staticCodeIn(known.body, identifier) : null;
  if (copyPaste !== null) return { outcome: 'accepted', report: { copyPaste } };
  const error = errorOf(known);
  if (error && saysNotFound(error))
    return { outcome: 'refused', reason: 'provider_refused', detail: '400 error', ...wordsIn(reply) };
  return unclear(known, clock);
}

async function queryCharge(deps: Deps, txid: string): Promise<QueryOutcome<ChargeReport>> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: `/api/v1/charge/${idPart(txid)}` });
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readCharge(recordOf(reply.body)?.charge);
    if (report?.txid !== txid) return unreadAnswer(reply, clock, 'charge', txid);
    return report.status === 'paid' ? withReceived(deps, report) : { outcome: 'found', report };
  }
  const error = errorOf(reply);
  return error && saysNotFound(error) ? { outcome: 'notFound' } : unclear(reply, clock);
}

/** A charge does not name its Pix. A paid one without any is no answer: a sum is not guessed. */
async function withReceived(deps: Deps, report: ChargeReport): Promise<QueryOutcome<ChargeReport>> {
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'received',
      (skip) => `/api/v1/transaction?charge=${idPart(report.txid)}&${skip}`,
      'transactions',
    ),
    read: (item) => receivedOf(item, report.txid),
    wholeOnly: undefined,
  });
  if (listed.outcome !== 'listed') return listed;
  if (!listed.complete || listed.unread.length > 0 || listed.reports.length === 0)
    return {
      outcome: 'unclear',
      cause: 'unreadable',
      detail: 'a paid charge without its Pix',
      retryAfterMs: null,
      unread: {
        ...{ kind: 'charge', name: report.txid, providerId: report.txid, endToEnd: null },
        body: listed.unread.map(({ body }) => body),
      },
    };
  return { outcome: 'found', report: { ...report, received: listed.reports } };
}

function receivedOf(item: unknown, txid: string | null): ReceivedPix | null | 'foreign' {
  const moved = readTransaction(item, txid);
  if (moved === null) return null;
  return moved.kind === 'received' ? moved.pix : 'foreign';
}

async function listCharges(deps: Deps, window: ListWindow): Promise<ListOutcome<ChargeReport>> {
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, 'charge', (skip) => `/api/v1/charge?${between(window)}&${skip}`, 'charges'),
    // Without a correlationID it was made in the panel.
    read: (item) => (isOfPanel(recordOf(item)) ? 'foreign' : readCharge(item)),
    wholeOnly: window.wholeOnly,
  });
  if (listed.outcome !== 'listed') return listed;
  const paid = listed.reports.some(({ status }) => status === 'paid');
  // Money received for them stands in the transactions, by the time at which it came.
  const moved = paid ? await listReceived(deps, { ...window, toMs: deps.clock.now() }) : null;
  if (moved && moved.outcome !== 'listed') return moved;
  const received = Map.groupBy(moved?.reports ?? [], ({ txid }) => txid);
  const charges = listed.reports
    .map((one) => ({ ...one, received: one.status === 'paid' ? (received.get(one.txid) ?? []) : [] }))
    .sort((a, b) => a.createdAt - b.createdAt);
  // A paid one whose Pix was not seen, or not read, is left to its own query.
  const { whole: reports = [], without = [] } = Object.groupBy(charges, (one) =>
    one.status === 'paid' && one.received.length === 0 ? 'without' : 'whole',
  );
  const unread = [...listed.unread, ...(moved?.unread ?? [])];
  if (listed.complete && moved?.complete !== false) {
    unread.push(
      ...without.map(({ txid }) => unreadItem('charge', { correlationID: txid, status: 'COMPLETED' })),
    );
    return { outcome: 'listed', reports, unread, complete: true };
  }
  return { outcome: 'listed', reports, unread, complete: false, parts: listed.complete ? 2 : listed.parts };
}

/** It was made there, and names no id of a client. What is no object says nothing of the kind. */
const isOfPanel = (item: Record<string, unknown> | null): boolean =>
  item !== null && (item.correlationID == null || item.correlationID === '');

const listReceived = (deps: Deps, window: ListWindow): Promise<ListOutcome<ReceivedPix>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'received',
      (skip) => `/api/v1/transaction?type=PAYMENT&${between(window)}&${skip}`,
      'transactions',
    ),
    read: (item) => receivedOf(item, null),
    wholeOnly: window.wholeOnly,
  });

// --------------------------------------------------------------------------------------------- payouts

/**
 * The first of two steps (docs/payment/payment-flow.md): without `autoApprove` Woovi takes the payout as CREATED and sends nothing. So a lost answer, or a death of
 * this process, leaves no doubt whether money left. Rejected: both steps in one call by `autoApprove`, which leaves CREATED behind when the second is refused.
 */
async function sendPayout(deps: Deps, instruction: PayoutInstruction): Promise<SendOutcome<PayoutReport>> {
  const { exchange, clock, limits } = deps;
  const until = clock.monotonicMs() + limits.sendTimeoutMs;
  const reply = await exchange({
    method: 'POST',
    path: '/api/v1/payment',
    body: payoutBody(instruction),
    timeoutMs: limits.sendTimeoutMs / 2,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) return acceptedIn(deps, reply, instruction);
  const error = errorOf(reply);
  if (error === null) return unclear(reply, clock);
  if (isDuplicate(error)) return { outcome: 'duplicate' };
  const refusal = refusalOf(error);
  if (refusal === null) return unclear(reply, clock);
  const ended = await afterRefusal(deps, instruction, refusal, until - clock.monotonicMs());
  return ended.outcome === 'refused' || ended.outcome === 'unclear' ? { ...ended, ...wordsIn(reply) } : ended;
}

/** A refusal counts only when the payout is not there, or has failed; where the look fails, the next query is it. */
async function afterRefusal(
  deps: Deps,
  instruction: PayoutInstruction,
  refusal: ReasonCode,
  leftMs: number,
): Promise<SendOutcome<PayoutReport>> {
  const found = await lookAt(deps, instruction, leftMs);
  if (found.outcome === 'notFound')
    return { outcome: 'refused', reason: refusal, detail: 'refused, and not there' };
  return found.outcome === 'unclear' && found.cause !== 'unreadable' ? { ...found, refused: true } : found;
}

/**
 * The second step. Only a payout that is CREATED can be approved ("em processamento ou confirmados não podem ser aprovados", docs/payment/payment-how-to-approve-batch.md), so a
 * repeat sends nothing twice. Without money it stays CREATED (payment-how-to-use-api-to-approve-a-payment.md), and can be approved later.
 */
async function confirmPayout(
  deps: Deps,
  confirmation: PayoutConfirmation,
): Promise<SendOutcome<PayoutReport>> {
  const { exchange, clock, limits, log } = deps;
  const until = clock.monotonicMs() + limits.sendTimeoutMs;
  const { providerId } = confirmation;
  const reply = await exchange({
    method: 'POST',
    path: '/api/v1/payment/approve',
    body: { correlationID: providerId },
    timeoutMs: limits.sendTimeoutMs / 2,
    ...traceOf(confirmation),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) return acceptedIn(deps, reply, confirmation);
  const error = errorOf(reply);
  if (error === null || !isWithoutBalance(error)) return unclear(reply, clock);
  log.warn({ paymentId: providerId }, 'a payout waits for money: the balance at the provider is too small');
  const found = await lookAt(deps, confirmation, until - clock.monotonicMs());
  return found.outcome === 'accepted' ? found : unclear(reply, clock);
}

function acceptedIn(
  { clock }: Deps,
  reply: Extract<Reply, { kind: 'answer' }>,
  { providerId, amountCents }: PayoutConfirmation | PayoutInstruction,
): SendOutcome<PayoutReport> {
  const report = readPayout(reply.body);
  return report?.providerId === providerId && report.amountCents === amountCents
    ? { outcome: 'accepted', report }
    : unclear(reply, clock);
}

/** Asks for a payout whose call was refused. */
async function lookAt(
  deps: Deps,
  { providerId, amountCents }: PayoutConfirmation | PayoutInstruction,
  leftMs: number,
): Promise<Exclude<SendOutcome<PayoutReport>, { outcome: 'refused' }> | { outcome: 'notFound' }> {
  const found = await queryPayout(deps, providerId, Math.max(1, Math.min(leftMs, deps.limits.callTimeoutMs)));
  if (found.outcome !== 'found') return found;
  const { report } = found;
  return report.amountCents === amountCents
    ? { outcome: 'accepted', report }
    : { outcome: 'unclear', cause: 'unreadable', detail: 'there with another amount', retryAfterMs: null };
}

function payoutBody({
  providerId,
  amountCents,
  pixKey,
  pixKeyType,
  description,
}: PayoutInstruction): unknown {
  const comment = plain(description, 140);
  return {
    type: 'PIX_KEY',
    value: amountCents,
    destinationAlias: pixKey,
    destinationAliasType: pixKeyType,
    correlationID: providerId,
    ...(comment === '' ? {} : { comment }),
  };
}

async function queryPayout(
  deps: Deps,
  providerId: string,
  timeoutMs = deps.limits.callTimeoutMs,
): Promise<QueryOutcome<PayoutReport>> {
  const { exchange, clock } = deps;
  const call: Call = { method: 'GET', path: `/api/v1/payment/${idPart(providerId)}`, timeoutMs };
  const reply = await exchange(call);
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readPayout(reply.body);
    if (report?.providerId !== providerId) return unreadAnswer(reply, clock, 'payout', providerId);
    return { outcome: 'found', report };
  }
  const error = errorOf(reply);
  return error && saysNotFound(error) ? { outcome: 'notFound' } : unclear(reply, clock);
}

const listPayouts = (deps: Deps, window: ListWindow): Promise<ListOutcome<PayoutReport>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(deps, 'payout', (skip) => `/api/v1/payment?${between(window)}&${skip}`, 'payments'),
    // Without a correlationID it was made in the panel.
    read: (item) => (isOfPanel(recordOf(recordOf(item)?.payment)) ? 'foreign' : readPayout(item)),
    wholeOnly: window.wholeOnly,
  });

// --------------------------------------------------------------------------------------------- refunds

/**
 * `correlationID` is "unique identifier refund" in the OpenAPI document, and a repeat goes out only under it. No refusal of a refund is
 * documented by a code, so every error of the answer is unclear: what the query and the deliveries say of this id decides.
 */
async function sendRefund(
  deps: Deps,
  { endToEnd, providerId, amountCents, description, traceparent }: RefundInstruction,
): Promise<SendOutcome<RefundReport>> {
  const { exchange, clock, limits } = deps;
  const comment = cut(description, 140);
  const reply = await exchange({
    method: 'POST',
    path: '/api/v1/refund',
    body: {
      transactionEndToEndId: endToEnd,
      correlationID: providerId,
      value: amountCents,
      ...(comment === '' ? {} : { comment }),
    },
    timeoutMs: limits.sendTimeoutMs,
    ...traceOf({ traceparent }),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readRefund(reply.body);
    if (report?.providerId !== providerId) return unclear(reply, clock);
    // The answer names no `rtrId`, the query does: without it the same return in a list would be taken for another one.
    const isWhole = report.status !== 'completed' || report.rtrId !== null;
    return {
      outcome: 'accepted',
      report: isWhole ? report : { ...report, status: 'pending', settledAt: null },
    };
  }
  const error = errorOf(reply);
  return error && isDuplicate(error) ? { outcome: 'duplicate' } : unclear(reply, clock);
}

async function queryRefund(
  { exchange, clock }: Deps,
  providerId: string,
): Promise<QueryOutcome<RefundReport>> {
  const reply = await exchange({ method: 'GET', path: `/api/v1/refund/${idPart(providerId)}` });
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = readRefund(reply.body);
    return report?.providerId === providerId
      ? { outcome: 'found', report }
      : unreadAnswer(reply, clock, 'refund', providerId);
  }
  const error = errorOf(reply);
  return error && saysNotFound(error) ? { outcome: 'notFound' } : unclear(reply, clock);
}

// ----------------------------------------------------------------------------------------------- lists

const between = ({ fromMs, toMs }: ListWindow): string =>
  `start=${encodeURIComponent(new Date(fromMs).toISOString())}&end=${encodeURIComponent(new Date(toMs).toISOString())}`;

function pages(
  { limits: { pageSize, maxPages } }: Deps,
  kind: UnreadKind,
  path: (skip: string) => string,
  name: string,
) {
  return {
    kind,
    // By what was given: a lower cap than what is asked for would lose what lies between.
    path: ({ skip }: PagePlace) => path(`skip=${skip}&limit=${pageSize}`),
    items: (body: unknown) => arrayIn(body, name),
    paging,
    pageSize,
    maxPages,
  };
}

function paging(body: unknown): Paging {
  const { hasNextPage, totalCount } = recordOf(recordOf(body)?.pageInfo) ?? {};
  return {
    pages: null,
    total: Number.isSafeInteger(totalCount) ? (totalCount as number) : null,
    more: typeof hasNextPage === 'boolean' ? hasNextPage : null,
  };
}

// -------------------------------------------------------------------------------------------- defences

/**
 * Files alone (docs/disputa/how-add-new-evidence-in-evidence.md, 2026-08): each is uploaded under its own id, which makes a repeat answer
 * the stored file, then one call makes them evidence. Only that call is the defence: what is uploaded before it is none.
 */
async function defendDispute(deps: Deps, { disputeId, files }: DefenceInstruction): Promise<DefenceOutcome> {
  const { exchange, clock, limits, log } = deps;
  const until = clock.monotonicMs() + defenceTimeoutMs - limits.callTimeoutMs;
  const documents: { fileId: string; description: string; correlationID: string }[] = [];
  for (const file of files) {
    const leftMs = until - clock.monotonicMs();
    if (leftMs <= 0) return { outcome: 'notSent', detail: 'the time was over before all files were there' };
    const uploaded = await upload(deps, file, Math.min(leftMs, uploadTimeoutMs));
    if (typeof uploaded !== 'string') return uploaded;
    documents.push({ fileId: uploaded, description: file.name, correlationID: file.id });
  }
  const reply = await exchange({
    method: 'POST',
    path: `/api/v1/dispute/${idPart(disputeId)}/evidence`,
    body: { documents },
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const there = (arrayIn(reply.body, 'documents') ?? []).map((one) => recordOf(one)?.fileId);
    const isWhole = documents.every(({ fileId }) => there.includes(fileId));
    return isWhole ? { outcome: 'accepted' } : unclear(reply, clock);
  }
  const refused = evidenceRefusalOf(errorOf(reply));
  if (refused === null) return unclear(reply, clock);
  if (refused === 'not allowed')
    log.error(
      { feature: 'DISPUTE_EVIDENCE_FILE_ID' },
      'the provider has not granted this account evidence by file',
    );
  return { outcome: 'refused', reason: 'provider_refused', detail: refused };
}

/** @returns the id that Woovi gave it, or why the defence is not sent */
async function upload(
  { exchange, clock }: Deps,
  file: DefenceFile,
  timeoutMs: number,
): Promise<string | Exclude<DefenceOutcome, { outcome: 'accepted' }>> {
  const contents = await file.read();
  if (contents === null) return { outcome: 'notSent', detail: 'a file cannot be read' };
  const fields = { purpose: 'DISPUTE_EVIDENCE', correlationID: file.id };
  const shown = { field: 'file', name: file.name, type: file.type, contents };
  const reply = await exchange({
    method: 'POST',
    path: '/api/v1/files',
    // The contents are older than the file's id, so they do not hold it.
    form: formOf(fields, shown, `vintem-${file.id}`),
    timeoutMs,
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const stored = recordOf(recordOf(reply.body)?.file);
    if (typeof stored?.id === 'string' && stored.id !== '' && stored.correlationID === file.id)
      return stored.id;
  }
  if (reply.kind === 'answer' && [400, 413, 415].includes(reply.status))
    return { outcome: 'refused', reason: 'provider_refused', detail: `${reply.status} for a file` };
  const { detail, retryAfterMs } = unclear(reply, clock);
  const againMs = Math.max(retryAfterMs ?? 0, uploadAgainMs);
  return { outcome: 'notSent', detail: `a file is not stored: ${detail}`, retryAfterMs: againMs };
}

// --------------------------------------------------------------------------------------------- account

const webhooksOf = (url: string): string => `/api/v1/webhook?url=${encodeURIComponent(url)}`;

/** The events that the address is not registered for. */
function missingEvents(body: unknown, url: string): readonly string[] {
  const there = (arrayIn(body, 'webhooks') ?? [])
    .map(recordOf)
    .filter((one) => one?.url === url && one.isActive !== false);
  const has = new Set(there.map((one) => one?.event));
  return events.filter((event) => !has.has(event));
}

async function registerWebhook({ exchange, clock }: Deps, url: string): Promise<void> {
  const failed = (reply: Reply): Error =>
    failureOf('the provider did not take our webhook address', reply, clock);
  const there = await exchange({ method: 'GET', path: webhooksOf(url) });
  if (there.kind !== 'answer' || !isSuccess(there.status)) throw failed(there);
  for (const event of missingEvents(there.body, url)) {
    const reply = await exchange({
      method: 'POST',
      path: '/api/v1/webhook',
      body: { webhook: { name: `vintem ${event}`, event, url, isActive: true } },
      timeoutMs: registrationTimeoutMs,
    });
    if (reply.kind !== 'answer' || !isSuccess(reply.status)) throw failed(reply);
  }
}

const accountCall = (accountId: string | undefined): Call => ({
  method: 'GET',
  path: accountId === undefined ? '/api/v1/account/' : `/api/v1/account/${idPart(accountId)}`,
});

async function balanceOf({ exchange, clock }: Deps, accountId: string | undefined): Promise<ProviderBalance> {
  const reply = await exchange(accountCall(accountId));
  const balance = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
  if (balance === null) throw failureOf('no balance', reply, clock);
  return balance;
}

/** The account that was asked for, or the default one in the list. */
function accountIn(body: unknown): Record<string, unknown> | null {
  const accounts = arrayIn(body, 'accounts');
  if (!accounts) return recordOf(recordOf(body)?.account);
  return accounts.map(recordOf).find((one) => one?.isDefault === true) ?? null;
}

/** Who owns the account may be asked again after this: a default account can be changed in Woovi's panel. */
const accountLivesMs = 3_600_000;
/** After a failure it is asked for no sooner, whatever is delivered. */
const accountAgainMs = 10_000;

type AskedAccount = { outcome: 'found'; account: OwnAccount } | Unclear;

/**
 * The account that payouts leave, as Woovi says it. Its owner's document stands only in the answer for one account, which needs a permission of its
 * own; without it the account's id alone says to whom a delivery is addressed.
 */
function createOwnAccount({ exchange, clock }: Deps, { accountId: wanted }: WooviOptions) {
  let account: OwnAccount | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<unknown> | null = null;

  async function ask(): Promise<AskedAccount> {
    triedAt = clock.monotonicMs();
    const reply = await exchange(accountCall(wanted));
    const one = reply.kind === 'answer' && isSuccess(reply.status) ? accountIn(reply.body) : null;
    const accountId = one?.accountId;
    if (typeof accountId !== 'string' || accountId === '') return unclear(reply, clock);
    const whole = one?.taxId === undefined ? await exchange(accountCall(accountId)) : reply;
    const said = whole.kind === 'answer' && isSuccess(whole.status) ? accountIn(whole.body) : null;
    const taxId = said?.taxId;
    account = {
      accountId,
      taxId: typeof taxId === 'string' && taxId !== '' ? plainId(taxId) : null,
      number: said && plainNumber(said),
    };
    readAt = clock.monotonicMs();
    return { outcome: 'found', account };
  }

  return {
    ask,
    last: () => account,
    /** Null: Woovi does not say it now. */
    async known(): Promise<OwnAccount | null> {
      const now = clock.monotonicMs();
      if (now - readAt < accountLivesMs) return account;
      if (underWay === null && now - triedAt >= accountAgainMs)
        underWay = ask().finally(() => {
          underWay = null;
        });
      // A burst of deliveries asks once, and all of them wait for the answer.
      await underWay;
      return account;
    },
  };
}

function readBalance(body: unknown): ProviderBalance | null {
  const balance = recordOf(accountIn(body)?.balance);
  const availableCents = signedWholeCentsOf(balance?.available);
  if (balance === null || availableCents === null) return null;
  const totalCents = amountOf(balance.blocked);
  const medCents = amountOf(balance.blockedBySecurity);
  return {
    availableCents,
    totalCents: signedWholeCentsOf(balance.total) ?? availableCents + (totalCents ?? 0),
    // Woovi does not name blocks by a court.
    blocked: totalCents === null || medCents === null ? null : { judicialCents: 0, medCents, totalCents },
  };
}

async function diagnose(deps: Deps, accountId: string | undefined, webhookUrl: string): Promise<Finding[]> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: webhooksOf(webhookUrl) });
  const findings = tokenFindings(reply, { needed: [], granted: null });
  if (reply.kind !== 'answer' || reply.status === 401) return findings;
  const missing = isSuccess(reply.status) ? missingEvents(reply.body, webhookUrl) : events;
  const webhook: Finding =
    missing.length === 0
      ? { check: 'webhook', ok: true, message: `our address is registered for all ${events.length} events` }
      : {
          check: 'webhook',
          ok: false,
          message:
            missing.length === events.length
              ? 'our address is not registered'
              : `our address is not registered for ${missing.join(', ')}`,
          action:
            'start the service: it registers its address; PUBLIC_URL must be how the provider reaches it',
        };
  const balance = await exchange(accountCall(accountId));
  const cents = (body: unknown) => readBalance(body)?.availableCents ?? null;
  const limits = await exchange({ method: 'GET', path: '/api/v1/pix-keys/tokens' });
  return [
    ...findings,
    ...clockFindings(reply, clock),
    webhook,
    balanceFinding(balance, clock, cents),
    limitsFinding(limits, readTokens),
    await payoutLimit(deps, balance),
    unasked(
      'automatic withdrawal',
      'Woovi says by no call whether it is on: its panel switches it off, or gives it a minimum; else the balance leaves at 19:00',
    ),
    await feesFinding(deps),
  ];
}

/** A transfer of the least amount has to fit. */
const leastPayoutCents = 1_000;

/** `GET /api/v1/limits/{accountId}`, which Woovi enables for each company. */
async function payoutLimit({ exchange }: Deps, account: Reply): Promise<Finding> {
  const accountId = account.kind === 'answer' ? accountIn(account.body)?.accountId : null;
  const reply =
    typeof accountId !== 'string'
      ? null
      : await exchange({ method: 'GET', path: `/api/v1/limits/${idPart(accountId)}` });
  const limits =
    reply?.kind === 'answer' && isSuccess(reply.status) ? recordOf(recordOf(reply.body)?.limits) : null;
  const [day, night] = [limits?.pixOutDifferentHolderDayLimit, limits?.pixOutDifferentHolderNightLimit].map(
    amountOf,
  );
  if (day == null || night == null)
    return unasked(
      'payout limit',
      'Woovi does not say it: grant ACCOUNT_LIMITS_GET, and have its support unlock the call',
    );
  const message = `payouts to others: R$ ${reaisOf(day)} by day, R$ ${reaisOf(night)} by night`;
  return day >= leastPayoutCents
    ? { check: 'payout limit', ok: true, message }
    : {
        check: 'payout limit',
        ok: false,
        message,
        action: 'have Woovi raise the limit before the first transfer',
      };
}

async function feesFinding({ exchange, clock }: Deps): Promise<Finding> {
  const reply = await exchange({ method: 'GET', path: '/api/v1/transaction?type=FEE&skip=0&limit=1' });
  if (reply.kind === 'answer' && isSuccess(reply.status))
    return unasked('fees', 'read from the transactions of the type FEE, and booked');
  return {
    ...{ check: 'fees', ok: false, message: `the fees cannot be read: ${unclear(reply, clock).detail}` },
    action: 'grant TRANSACTION_GET_LIST: without it every daily close differs by the fees',
  };
}

/** Below this every payment is answered 429, those of QR codes too (docs/payment/pix-key-token-bucket.md). */
const leastTokens = 20;

function readTokens(body: unknown): Bucket[] | null {
  const { tokens, maxTokens, refreshRate } = recordOf(body) ?? {};
  if (typeof tokens !== 'number' || typeof maxTokens !== 'number' || typeof refreshRate !== 'number')
    return null;
  return [{ name: '', left: tokens, capacity: maxTokens, least: leastTokens, perMinute: refreshRate }];
}

/**
 * A known key costs one token, an unknown key twenty. While at least half of the bucket is left, look-ups cannot use up what payments need. Woovi
 * enables the call for each account, and may bill each key once a day (docs/payment/check-pix-key.md).
 *
 * `pixKeyEndToEndId` of the answer is not sent with the payment: how long Woovi accepts it is not documented.
 */
async function lookUpReceiver({ exchange, clock }: Deps, pixKey: string): Promise<ReceiverOutcome> {
  const bucket = await exchange({ method: 'GET', path: '/api/v1/pix-keys/tokens' });
  const [tokens] = (bucket.kind === 'answer' && isSuccess(bucket.status) && readTokens(bucket.body)) || [];
  if (tokens === undefined) return notRead(bucket) ?? unclear(bucket, clock);
  if (tokens.left < tokens.capacity / 2)
    return { outcome: 'notAsked', detail: 'less than half of the tokens are left' };
  const reply = await exchange({ method: 'POST', path: '/api/v1/pix-keys/check', body: { pixKey } });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const receiver = readOwner(reply.body);
    return receiver ? { outcome: 'found', receiver } : unclear(reply, clock);
  }
  const status = errorOf(reply)?.status;
  // `PIX_KEY_CHECK_NOT_ALLOWED`; the answers to POST have a text alone.
  if (status === 403) return { outcome: 'notAsked', detail: 'not enabled for this account' };
  return status === 404 ? { outcome: 'notFound' } : unclear(reply, clock);
}

/**
 * Received Pix and completed payouts, from their lists, and whatever else has left the account: the lines of Woovi's own statement carry no end-to-end id and
 * no id of ours. What its panel pays out, and the withdrawal of each evening (docs/faq/withdraw.md), stand in no list of payouts.
 */
async function statementOf(deps: Deps, window: ListWindow): Promise<ListOutcome<StatementLine>> {
  const received = await listReceived(deps, window);
  if (received.outcome !== 'listed') return received;
  const reports = received.reports.map(lineOfReceived);
  if (!received.complete && window.wholeOnly) return { ...received, reports };
  const sent = await listPayouts(deps, window);
  if (sent.outcome !== 'listed') return sent;
  const left = await listWithdrawals(deps, window);
  if (left.outcome !== 'listed') return left;
  const named = await nameWithdrawals(deps, sent.reports, left.reports);
  if (named.outcome !== 'listed') return named;
  reports.push(...sent.reports.flatMap((payout) => lineOfPayout(payout, window.fromMs)), ...named.reports);
  const unread = [...received.unread, ...sent.unread, ...left.unread, ...named.unread];
  const parts = [received, sent, left].map((one) => (one.complete ? 0 : one.parts));
  return parts.every((one) => one === 0)
    ? { outcome: 'listed', reports, unread, complete: true }
    : { outcome: 'listed', reports, unread, complete: false, parts: Math.max(...parts) };
}

const listWithdrawals = (deps: Deps, window: ListWindow): Promise<ListOutcome<Withdrawal>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'sent',
      (skip) => `/api/v1/transaction?type=WITHDRAW&${between(window)}&${skip}`,
      'transactions',
    ),
    read: readWithdrawal,
    wholeOnly: window.wholeOnly,
  });

/** Lines of those that no payout of the window is: of a payout that was made earlier, or of none. One that could not be searched whole stays unread. */
async function nameWithdrawals(
  deps: Deps,
  listed: readonly PayoutReport[],
  withdrawals: readonly Withdrawal[],
): Promise<ListOutcome<StatementLine>> {
  const reports: StatementLine[] = [];
  const there = new Set(listed.map(({ endToEnd }) => endToEnd));
  let left = withdrawals.filter(({ endToEnd }) => !there.has(endToEnd));
  for (const beforeMs of searchedBeforeMs) {
    if (left.length === 0) break;
    const times = left.map(({ at }) => at);
    const window = { fromMs: Math.min(...times) - beforeMs, toMs: Math.max(...times) + minuteMs };
    const earlier = await listPayouts(deps, window);
    if (earlier.outcome !== 'listed') return earlier;
    if (!earlier.complete) {
      const unread = left.map(({ endToEnd, ...one }) => unreadItem('sent', { endToEndId: endToEnd, ...one }));
      return { outcome: 'listed', reports, unread, complete: true };
    }
    const owners = new Map(earlier.reports.map((payout) => [payout.endToEnd, payout]));
    reports.push(
      ...left.flatMap(({ endToEnd, at }) => {
        const payout = owners.get(endToEnd);
        return payout ? lineOfPayout(payout, at) : [];
      }),
    );
    left = left.filter(({ endToEnd }) => !owners.has(endToEnd));
  }
  reports.push(...left.map(lineOfWithdrawal));
  return { outcome: 'listed', reports, unread: [], complete: true };
}

const lineOfWithdrawal = ({ endToEnd, amountCents, at }: Withdrawal): StatementLine => ({
  ...{ id: endToEnd, rtrId: null, at, kind: 'sent', amountCents, endToEnd, providerId: null },
});

/**
 * Returns of both directions. A transaction of type REFUND names no other: its schema has `withdraw`, and the list a filter `withdrawal`, but
 * what Woovi writes of both (docs/transaction/transaction-how-to-get-withdrawal-report.md) is about received Pix that were paid out together.
 * So the delivery of a return alone names its Pix, and where it was lost a person has it sent again ("Reenviar Webhook", docs/faq/transactions.md).
 */
const listReturns = (deps: Deps, window: ListWindow): Promise<ListOutcome<UnnamedReturn>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'return',
      (skip) => `/api/v1/transaction?type=REFUND&${between(window)}&${skip}`,
      'transactions',
    ),
    read: readListedReturn,
    wholeOnly: window.wholeOnly,
  });

/**
 * Woovi's fees, each as a transaction of its own that names no other. So `fee` of a received Pix (its delivery and lists have it) is not
 * read: it would be counted twice with its line here.
 */
const listCosts = (deps: Deps, window: ListWindow): Promise<ListOutcome<ProviderCost>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'cost',
      (skip) => `/api/v1/transaction?type=FEE&${between(window)}&${skip}`,
      'transactions',
    ),
    read: readCost,
    wholeOnly: window.wholeOnly,
  });

const lineOfReceived = ({ endToEnd, amountCents, paidAt, txid }: ReceivedPix): StatementLine => ({
  id: endToEnd,
  rtrId: null,
  at: paidAt,
  kind: 'received',
  amountCents,
  endToEnd,
  providerId: txid,
});

function lineOfPayout(payout: PayoutReport, at: number): StatementLine[] {
  const { status, endToEnd, amountCents, providerId, settledAt } = payout;
  if (status !== 'completed' || endToEnd === null) return [];
  return [
    { id: endToEnd, rtrId: null, at: settledAt ?? at, kind: 'sent', amountCents, endToEnd, providerId },
  ];
}

/** A MED is about its whole Pix, as far as Woovi says it: more than that is never held. */
async function listDisputes(deps: Deps, window: ListWindow): Promise<ListOutcome<DisputeReport>> {
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, 'dispute', (skip) => `/api/v1/dispute?${between(window)}&${skip}`, 'disputes'),
    read: (item) => readDispute(item, deps.clock.now()),
    wholeOnly: window.wholeOnly,
  });
  if (listed.outcome !== 'listed') return listed;
  const reports: DisputeReport[] = [];
  for (const { amountCents, ...dispute } of listed.reports) {
    const cents = amountCents ?? (await amountOfPix(deps, dispute.endToEnd));
    if (typeof cents === 'object') return cents;
    reports.push({ ...dispute, amountCents: cents });
  }
  return { ...listed, reports };
}

async function amountOfPix({ exchange, clock }: Deps, endToEnd: string): Promise<number | Unclear> {
  const reply = await exchange({ method: 'GET', path: `/api/v1/transaction/${idPart(endToEnd)}` });
  const pix =
    reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(recordOf(reply.body)?.transaction) : null;
  const cents = pix?.endToEndId === endToEnd ? amountOf(pix.value) : null;
  return cents ?? unclear(reply, clock);
}

const minuteMs = 60_000;
/** How long before its Pix a payout was created: at once as we send it, or days before when a person approved it. */
const searchedBeforeMs = [10 * minuteMs, 7 * 24 * 60 * minuteMs];

/** A transaction of ours names no payout: the list of payouts names its end-to-end id. */
async function findPix(deps: Deps, endToEnd: string): Promise<QueryOutcome<PixOwner>> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: `/api/v1/transaction/${idPart(endToEnd)}` });
  const error = errorOf(reply);
  if (error && saysNotFound(error)) return { outcome: 'notFound' };
  const pix =
    reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(recordOf(reply.body)?.transaction) : null;
  if (pix?.endToEndId !== endToEnd) return unclear(reply, clock);
  if (pix.type !== 'WITHDRAW') {
    const moved = readTransaction(pix, null);
    if (moved?.kind !== 'received') return unclear(reply, clock);
    return { outcome: 'found', report: { direction: 'received', providerId: moved.pix.txid } };
  }
  const at = Date.parse(String(pix.time ?? pix.createdAt));
  if (Number.isNaN(at)) return unclear(reply, clock);
  for (const beforeMs of searchedBeforeMs) {
    const listed = await listPayouts(deps, { fromMs: at - beforeMs, toMs: at + minuteMs });
    if (listed.outcome !== 'listed') return listed;
    const payout = listed.reports.find((one) => one.endToEnd === endToEnd);
    if (payout) return { outcome: 'found', report: { direction: 'sent', providerId: payout.providerId } };
    if (!listed.complete)
      return {
        outcome: 'unclear',
        cause: 'unreadable',
        detail: 'too many payouts to search',
        retryAfterMs: null,
      };
  }
  return { outcome: 'found', report: { direction: 'sent', providerId: null } };
}
