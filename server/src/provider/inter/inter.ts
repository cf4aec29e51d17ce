import type { Log } from '../../ground/log.ts';
import { reaisOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClientCertificate, Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import { receiptsOf } from '../api-pix/api-pix.ts';
import { plainForm } from '../bacen.ts';
import { balanceFinding, unasked } from '../diagnosis.ts';
import {
  createExchange,
  type Exchange,
  failureOf,
  isSuccess,
  type Reply,
  traceOf,
  unclear,
  unreadAnswer,
  wordsIn,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  Capabilities,
  ListOutcome,
  ListWindow,
  PayoutInstruction,
  PayoutReport,
  Provider,
  ProviderBalance,
  QueryOutcome,
  SendOutcome,
  StatementLine,
  Unclear,
} from '../provider.ts';
import { plain } from '../wire.ts';
import {
  type Asked,
  readBalance,
  readPayout,
  readSent,
  type Sent,
  saysNotFound,
  violationsOf,
} from './inter-bodies.ts';
import { findDebit, listCosts, listSentLines } from './inter-statement.ts';

/**
 * Banco Inter: charges over API Pix (`api-pix.ts`), payouts and balance over its API Banking.
 *
 * A payout is known there by Inter's own code, which only the answer to its creation names. The idempotency key is our payment id, and the same
 * key gets the first answer again: so a payout whose answer was lost is asked for by the same creation, and by nothing else.
 */
export interface InterOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Everything before `/oauth`, `/pix` and `/banking`. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  pixKey: string;
  /** Digits of the account, where the application serves several. */
  accountNumber?: string;
  /** The application has the permissions of due-date charges. */
  dueCharges?: boolean;
  certificate?: ClientCertificate;
  /** `mtls`: a proxy of ours verifies Inter's certificate. */
  trust: 'path' | 'mtls';
  net: Net;
  clock: Clock;
  log: Log;
  limits?: {
    pageSize?: number;
    maxPages?: number;
    maxParallelSends?: number | null;
    /** How long a failure that nothing calls final has to stand. */
    failureStandsMs?: number;
  };
}

/** Five token calls a minute are allowed, so all permissions stand in one token. */
export const interScopes = [
  'cob.read',
  'cob.write',
  'pix.read',
  'pix.write',
  'webhook.read',
  'webhook.write',
  'pagamento-pix.read',
  'pagamento-pix.write',
  'extrato.read',
] as const;

/** Asked for only where the application has them: one that is not granted would cost the whole token. */
const dueScopes = ['cobv.read', 'cobv.write'] as const;

const callTimeoutMs = 5_000;
const sendTimeoutMs = 15_000;

/** Sixty payouts a minute are allowed, and at most one a second. */
const restAfterSendMs = 1_000;
/** A call above its limit is answered 429 without a time; Inter's own client waits for a minute. */
const restAfterLimitMs = 60_000;
/**
 * How long an idempotency key lives is not documented, so a payout is not repeated when its first request may be older than this. What
 * became of it is then found by a person, in the panel.
 */
const repeatsWithinMs = 15 * 60_000;
/** A status that nothing calls final ends a payout only after this long. */
const failureStandsMs = 5 * 60_000;
const hintEveryMs = 3_600_000;

export const interAdapter: Adapter = {
  members: {
    clientId: { required: true, secret: false, about: 'clientId of the application in internet banking' },
    clientSecret: { required: true, secret: true, about: 'clientSecret of the same application' },
    pixKey: {
      required: true,
      secret: false,
      about: 'a Pix key of the account: charges are received under it',
    },
    accountNumber: {
      required: false,
      secret: false,
      about: 'digits of the account, where the application serves several',
    },
    dueCharges: {
      required: false,
      secret: false,
      about: 'yes, where the application has the permissions cobv.read and cobv.write',
    },
    webhookTrust: { required: false, secret: false, about: 'path (default) or mtls' },
  },
  certificate: 'required',
  defaultUrl: 'https://cdpj.partners.bancointer.com.br',
  testUrl: 'https://cdpj-sandbox.partners.uatinter.co',
  // The acceptance environment of Inter's own SDKs (github inter-co/pj-sdk-java, EnvironmentEnum).
  otherHosts: { test: ['cdpj.partners.uatbi.com.br'] },
  simulatorPath: '/inter',
  create({ name, test, simulated, url, credentials, certificate }, world) {
    const {
      clientId = '',
      clientSecret = '',
      pixKey = '',
      accountNumber,
      dueCharges,
      webhookTrust = 'path',
    } = credentials;
    if (webhookTrust !== 'path' && webhookTrust !== 'mtls')
      throw new CredentialFault('webhookTrust: must be path or mtls');
    if (dueCharges !== undefined && dueCharges !== 'yes')
      throw new CredentialFault('dueCharges: must be yes, or left out');
    if (accountNumber !== undefined && !/^[1-9]\d*$/.test(accountNumber))
      throw new CredentialFault(
        'accountNumber: takes digits alone, with the check digit and without zeros before them',
      );
    return createInterProvider({
      ...world,
      connection: name,
      test,
      simulated,
      baseUrl: url,
      clientId,
      clientSecret,
      pixKey,
      ...(accountNumber === undefined ? {} : { accountNumber }),
      dueCharges: dueCharges === 'yes',
      ...(certificate === null ? {} : { certificate }),
      trust: webhookTrust,
      ...(simulated ? { limits: { maxParallelSends: null, failureStandsMs: 0 } } : {}),
    });
  },
};

interface Deps {
  exchange: Exchange;
  clock: Clock;
  failureStandsMs: number;
  /** Names what waits for a person. */
  hint: (providerId: string, sent: Sent) => void;
}

export function createInterProvider(options: InterOptions): Provider {
  const {
    connection,
    pixKey,
    accountNumber,
    dueCharges = false,
    trust,
    net,
    clock,
    log,
    limits = {},
  } = options;
  const scopes = [...interScopes, ...(dueCharges ? dueScopes : [])];
  // Connections made for receipts alone were given the address of API Pix.
  const baseUrl = options.baseUrl.replace(/\/{1,9}$/, '').replace(/\/pix\/v2$/, '');
  let granted: readonly string[] | null = null;
  const exchange = createExchange({
    baseUrl,
    credentials: {
      type: 'oauth',
      clientId: options.clientId,
      clientSecret: options.clientSecret,
      tokenUrl: `${baseUrl}/oauth/v2/token`,
      form: { body: 'form', client: 'body', scope: scopes.join(' ') },
      onScopes: (scopes) => {
        granted = scopes;
      },
    },
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    ...(accountNumber === undefined ? {} : { extraHeaders: () => ({ 'x-conta-corrente': accountNumber }) }),
    callTimeoutMs,
    net,
    clock,
  });
  const deps: Deps = {
    exchange,
    clock,
    failureStandsMs: limits.failureStandsMs ?? failureStandsMs,
    hint: hints({ connection, clock, log }),
  };
  const receipts = receiptsOf({
    exchange,
    form: { ...plainForm, prefix: '/pix/v2' },
    pixKey,
    clock,
    log,
    trust,
    limits,
    scopes: () => ({ needed: scopes, granted }),
  });
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: true,
    payouts: true,
    queryPayoutByOwnId: false,
    cancelsCharges: true,
    cards: false,
    dueCharges,
    staticCodes: 'local',
    canListCharges: true,
    canListPayouts: false,
    canRefund: true,
    canDispute: false,
    defence: null,
    hasBalance: true,
    // The same key gets the first answer again; see `repeatsWithinMs`.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: limits.maxParallelSends === undefined ? 1 : limits.maxParallelSends,
    webhookTrust: trust,
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: true, dayReports: null },
  };
  return {
    connection,
    // No call of Inter's names the account. Payouts leave the one that the header names, and charges come under the key.
    identity: identityOf(options.simulated ? null : baseUrl, [accountNumber ?? '', pixKey]),
    capabilities,
    ...receipts,
    statement: (window) => statementOf(deps, receipts, window),
    sendPayout: (instruction) => sendPayout(deps, instruction),
    queryPayout: (providerId, providerRef) => queryPayout(deps, providerId, providerRef ?? null),
    async listPayouts() {
      // Its statement names those that have left, and not those that wait.
      throw new Error('Inter lists no payouts that are under way');
    },
    async diagnose(expected) {
      const findings = await receipts.diagnose(expected);
      if (findings.some(({ check, ok }) => check === 'token' && !ok)) return findings;
      const reply = await exchange(balanceCall);
      return [
        ...findings,
        balanceFinding(reply, clock, (body) => readBalance(body)?.availableCents ?? null),
        unasked(
          'payout limit',
          'Inter names it by no call: internet banking shows limits and approval rules',
        ),
        unasked('fees', 'read from the enriched statement, and booked'),
      ];
    },
    balance: () => balanceOf(deps),
    listCosts: (window) => listCosts({ exchange, clock }, window),
    async requestDayReport() {
      throw new Error('Inter has no reports of days');
    },
    async readDayReport() {
      throw new Error('Inter has no reports of days');
    },
  };
}

/** At most once an hour: a person has to approve payouts in internet banking, or a status is new. */
function hints({ connection, clock, log }: { connection: string; clock: Clock; log: Log }): Deps['hint'] {
  let hintedAt = Number.NEGATIVE_INFINITY;
  return (paymentId, { needs, wire }) => {
    if (needs === null || clock.monotonicMs() - hintedAt < hintEveryMs) return;
    hintedAt = clock.monotonicMs();
    log.warn(
      { connection, paymentId, status: wire },
      needs === 'approval'
        ? 'payouts wait for approval: approve or decline them in internet banking, or change its rules'
        : 'the provider names a status of a payout that ends nothing: look at it in internet banking',
    );
  };
}

// --------------------------------------------------------------------------------------------- payouts

/** Our id as the UUID that it was made from: small letters, with hyphens. */
const keyOf = (providerId: string): string =>
  providerId.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

async function sendPayout(deps: Deps, instruction: PayoutInstruction): Promise<SendOutcome<PayoutReport>> {
  const { exchange, clock } = deps;
  const { providerId, amountCents, repeatOf } = instruction;
  if (repeatOf !== undefined && clock.now() - repeatOf > repeatsWithinMs)
    return findSent(deps, instruction, repeatOf);
  const traced = traceOf(instruction).headers;
  const reply = await exchange({
    method: 'POST',
    path: '/banking/v2/pix',
    headers: { 'x-id-idempotente': keyOf(providerId), ...traced },
    body: payoutBody(instruction),
    timeoutMs: sendTimeoutMs,
  });
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const sent = readSent(reply.body);
    if (sent === null) return unclear(reply, clock);
    deps.hint(providerId, sent);
    const report: PayoutReport = {
      providerId,
      providerRef: sent.providerRef,
      // The answer repeats neither: its queries name both.
      amountCents,
      pixKey: null,
      status: 'pending',
      endToEnd: null,
      settledAt: null,
      reason: null,
      returns: [],
    };
    return { outcome: 'accepted', report, restMs: restAfterSendMs };
  }
  return refusalOf(reply) ?? unclearOf(reply, clock);
}

/** A payout whose answer was lost and that is not repeated any more: the statement names it by the id in its description, once it has left. */
async function findSent(
  deps: Deps,
  { providerId, amountCents }: PayoutInstruction,
  sentAt: number,
): Promise<SendOutcome<PayoutReport>> {
  const debit = await findDebit(deps, { providerId, providerRef: null, endToEnd: null }, sentAt);
  if (debit !== null && !('outcome' in debit)) {
    const found = await queryPayout(deps, providerId, debit.providerRef);
    if (found.outcome === 'found' && found.report.amountCents === amountCents)
      return { outcome: 'accepted', report: found.report };
  }
  return {
    outcome: 'unclear',
    cause: 'unknownRefusal',
    detail: 'not sent again: the idempotency key may have expired',
    retryAfterMs: restAfterLimitMs,
  };
}

/** The description ends in our id, so that the statement names the payout by it. */
function payoutBody({ providerId, amountCents, pixKey, description }: PayoutInstruction): unknown {
  const text = plain(description, 140 - 1 - providerId.length);
  return {
    // A number in Inter's document; clients in use send it as text.
    valor: Number(reaisOf(amountCents)),
    descricao: text === '' ? providerId : `${text} ${providerId}`,
    destinatario: { tipo: 'CHAVE', chave: pixKey },
  };
}

/** A 400 that names what is wrong with the request: nothing was made of it. Whatever else is answered proves nothing. */
function refusalOf(reply: Reply): SendOutcome<PayoutReport> | null {
  const violations = reply.kind === 'answer' && reply.status === 400 ? violationsOf(reply.body) : [];
  if (violations.length === 0) return null;
  const isMissingKey = violations.some(
    ({ property, reason }) =>
      /chave$/.test(property) && /chave/i.test(reason) && / não encontrada/i.test(reason),
  );
  return {
    outcome: 'refused',
    reason: isMissingKey ? 'pix_key_not_found' : 'provider_refused',
    detail: `400 ${violations.map(({ property }) => property).join(', ')}`,
    ...wordsIn(reply),
  };
}

/** A limit that names no time rests for a minute. */
function unclearOf(reply: Reply, clock: Clock, outcome = unclear(reply, clock)): Unclear {
  return outcome.cause === 'rateLimited'
    ? { ...outcome, retryAfterMs: outcome.retryAfterMs ?? restAfterLimitMs }
    : outcome;
}

/**
 * By Inter's code. Without one (the answer to the creation was lost) there is no call that could find the payout: it counts as not
 * found, which proves nothing and lets the same creation follow.
 */
async function queryPayout(
  deps: Deps,
  providerId: string,
  providerRef: string | null,
): Promise<QueryOutcome<PayoutReport>> {
  const { exchange, clock, hint } = deps;
  if (providerRef === null) return { outcome: 'notFound' };
  const reply = await exchange({ method: 'GET', path: `/banking/v2/pix/${encodeURIComponent(providerRef)}` });
  if (reply.kind === 'answer') {
    if (isSuccess(reply.status)) {
      const found = readPayout(reply.body, providerRef);
      if (found) {
        hint(providerId, found.sent);
        return found.failure === null
          ? { outcome: 'found', report: { providerId, ...found.report } }
          : afterFailure(deps, providerId, found, found.failure);
      }
    } else if (saysNotFound(reply.status, reply.body)) {
      return { outcome: 'notFound' };
    }
  }
  return unclearOf(reply, clock, unreadAnswer(reply, clock, 'payout', providerId));
}

/**
 * A failure that nothing calls final releases the amount only once it has stood for minutes and the statement, read whole, has no debit for it. Until then
 * the payout is under way.
 */
async function afterFailure(
  deps: Deps,
  providerId: string,
  { report, sent }: Asked,
  { requestedAt, at }: NonNullable<Asked['failure']>,
): Promise<QueryOutcome<PayoutReport>> {
  const underWay = {
    outcome: 'found',
    report: { ...report, providerId, status: 'pending', reason: null },
  } as const;
  if (at === null || deps.clock.now() - at < deps.failureStandsMs) return underWay;
  const names = { providerId, providerRef: sent.providerRef, endToEnd: report.endToEnd };
  const debit = await findDebit(deps, names, requestedAt ?? at);
  if (debit === null) return { outcome: 'found', report: { ...report, providerId } };
  if ('outcome' in debit) return debit;
  deps.hint(providerId, { ...sent, needs: 'look' });
  return underWay;
}

// --------------------------------------------------------------------------------------------- account

/** Received Pix, over API Pix, and Pix that left the account. */
async function statementOf(
  deps: Deps,
  receipts: Pick<Provider, 'statement'>,
  window: ListWindow,
): Promise<ListOutcome<StatementLine>> {
  const received = await receipts.statement(window);
  if (received.outcome !== 'listed' || (!received.complete && window.wholeOnly)) return received;
  const sent = await listSentLines(deps, window);
  if (sent.outcome !== 'listed') return sent;
  const reports = [...received.reports, ...sent.reports];
  const unread = [...received.unread, ...sent.unread];
  if (received.complete && sent.complete) return { outcome: 'listed', reports, unread, complete: true };
  const parts = Math.max(received.complete ? 0 : received.parts, sent.complete ? 0 : sent.parts);
  return { outcome: 'listed', reports, unread, complete: false, parts };
}

const balanceCall = { method: 'GET', path: '/banking/v2/saldo' } as const;

async function balanceOf({ exchange, clock }: Deps): Promise<ProviderBalance> {
  const reply = await exchange(balanceCall);
  const balance = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
  if (balance === null) throw failureOf('no balance', reply, clock);
  return balance;
}
