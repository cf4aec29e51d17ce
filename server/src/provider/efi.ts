import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Log } from '../ground/log.ts';
import { centsOf, reaisOf } from '../ground/money.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate, Net } from '../ports/net.ts';
import { type Adapter, CredentialFault } from './adapter.ts';
import { arrayIn, bacenCharges, readReceived, readReturns, saysNotFound } from './bacen.ts';
import { balanceFinding, clockFindings, keyFindings, limitsFinding, tokenFindings } from './diagnosis.ts';
import {
  dayReports,
  defenceTextMost,
  defendDispute,
  readBalance,
  readBuckets,
  readDispute,
  type Sent,
  statementOf,
} from './efi-account.ts';
import {
  createExchange,
  type Exchange,
  isSuccess,
  lacksScope,
  outcomeOfSend,
  type Refusals,
  readList,
  traceOf,
  unclear,
  windowQuery,
} from './exchange.ts';
import { paymentSystemCodes } from './payment-system-codes.ts';
import type {
  Capabilities,
  ListWindow,
  PayoutInstruction,
  PayoutReport,
  Provider,
  QueryOutcome,
  ReasonCode,
  ReceivedPix,
  WebhookContent,
  WebhookDelivery,
  WebhookNews,
} from './provider.ts';
import { plain, timeOf } from './wire.ts';

/**
 * Efí: charges over API Pix (`bacen.ts`) and Efí's own calls for payouts and the account (`efi-account.ts`). The simulator
 * speaks the same, so test accounts go through this adapter too.
 */
export interface EfiOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** Everything before `/v2` and `/oauth`. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Ours: charges are received under it, payouts paid from its account. */
  pixKey: string;
  /** Efí asks for one on every call, the simulator for none. */
  certificate?: ClientCertificate;
  webhook: WebhookTrust;
  net: Net;
  clock: Clock;
  log: Log;
  limits?: Partial<EfiLimits>;
}

export type WebhookTrust =
  /**
   * A header `t=<unix s>,v1=<hex>` with the HMAC-SHA256 under `secret` of `<t>.<raw body>`. The simulator signs so with
   * its client secret under `x-simulator-signature`; Efí signs nothing, but a proxy of ours that checks its
   * certificate can.
   */
  | { trust: 'signed'; secret: string; header?: string }
  /** A proxy of ours verifies Efí's certificate and says so (`WebhookDelivery.clientVerified`). */
  | { trust: 'mtls' }
  /** Only the secret address protects it. */
  | { trust: 'path' };

export interface EfiLimits {
  /** For a query, or a page of a list. */
  callTimeoutMs: number;
  /** For the creation of a charge and for a payout. */
  sendTimeoutMs: number;
  maxParallelSends: number | null;
  /** Items of a page; API Pix allows 1000. */
  pageSize: number;
  /** A listing that is longer is answered as incomplete. */
  maxPages: number;
}

/**
 * Efí asks for one send after the other, the next when the one before has ended: parallel ones collide over the
 * balance and fail.
 *
 * It looks the receiver's key up at the central directory before it answers a payout, and public clients give it 15 to 60 s: with 5 s
 * more payouts end unclear, and each of those costs a query.
 */
const efiLimits = { sendTimeoutMs: 15_000, maxParallelSends: 1 };

/** The simulator answers at once or not at all, and its balance limits nothing, so nothing limits its sends. */
export const simulatorLimits = { sendTimeoutMs: 5_000, maxParallelSends: null };

/** Efí calls the new address, once or twice, before it answers its registration. */
const registrationTimeoutMs = 60_000;

/** Hints to operators about the same thing come no closer together than this. */
const hintEveryMs = 3_600_000;

/**
 * The permission that each call needs (dev.efipay.com.br, credenciais). An application that was made before 2024-07-29 has to
 * switch `pix.send` off and on again.
 */
const scopes: readonly { method: string; path: string; scope: string }[] = [
  { method: 'PUT', path: '/v2/cob', scope: 'cob.write' },
  { method: 'GET', path: '/v2/cob', scope: 'cob.read' },
  { method: 'GET', path: '/v2/pix', scope: 'pix.read' },
  { method: 'PUT', path: '/v2/pix', scope: 'pix.write' },
  { method: 'PUT', path: '/v3/gn/pix', scope: 'pix.send' },
  { method: 'GET', path: '/v2/gn/pix/enviados', scope: 'gn.pix.send.read' },
  { method: 'PUT', path: '/v2/webhook', scope: 'webhook.write' },
  { method: 'GET', path: '/v2/webhook', scope: 'webhook.read' },
  { method: 'GET', path: '/v2/gn/saldo', scope: 'gn.balance.read' },
  { method: 'GET', path: '/v2/gn/infracoes', scope: 'gn.infractions.read' },
  { method: 'POST', path: '/v2/gn/relatorios', scope: 'gn.reports.write' },
  { method: 'GET', path: '/v2/gn/relatorios', scope: 'gn.reports.read' },
];

/**
 * Not among them: whoever runs the service grants it once Efí has confirmed how a defence is read (docs/operators/efi.md). Where it is certain
 * that it is not granted, no defence is offered: it would wait until its deadline.
 */
const defenceScope = 'gn.infractions.write';

/** Days of reports are those of Brasília, which has had no summer time since 2019. */
const brasiliaOffsetMs = -3 * 3_600_000;

/** How old a signed delivery may be: as long as the clocks of both sides may differ, no longer. */
const signatureToleranceMs = 5 * 60_000;

/**
 * Refusals of `PUT /v3/gn/pix/{idEnvio}` that Efí documents; their bodies are in `contract/provider-bodies/efi`. What is not in
 * this table refuses nothing and releases nothing: the outcome is unclear.
 */
const refusals: Refusals = {
  '404 chave_favorecido_nao_encontrada': 'pix_key_not_found',
  // The name under which calls before v3 have it.
  '400 chave_nao_encontrada': 'pix_key_not_found',
  '400 chave_nao_pertence_ao_documento': 'recipient_refused',
  // These two speak of our own account and key, not of the receiver's.
  '400 documento_bloqueado': 'provider_refused',
  '400 chave_invalida': 'provider_refused',
  '400 valor_invalido': 'provider_refused',
  '422 pagamento_negado': 'provider_refused',
};

const duplicates: ReadonlySet<string> = new Set(['409 id_envio_duplicado']);

/** `gnExtras.erro.codigo` of a payout that was not made: codes of the payment system, and the names above. */
const reasons: Readonly<Record<string, ReasonCode>> = {
  ...paymentSystemCodes,
  chave_favorecido_nao_encontrada: 'pix_key_not_found',
  chave_nao_encontrada: 'pix_key_not_found',
  chave_nao_pertence_ao_documento: 'recipient_refused',
};

/**
 * Where Efí's API is, and what its connections are made with. The name of the header is the simulator's own where it signs;
 * elsewhere a proxy of the operator signs.
 */
export const efiAdapter: Adapter = {
  members: {
    clientId: {
      required: true,
      secret: false,
      about: 'Client_Id of the application in the panel (API, Aplicações)',
    },
    clientSecret: { required: true, secret: true, about: 'Client_Secret of the same application' },
    pixKey: {
      required: true,
      secret: false,
      about: 'a Pix key of the account: charges are received under it',
    },
    webhookTrust: { required: false, secret: false, about: 'path (default), mtls or signed' },
    webhookSecret: {
      required: false,
      secret: true,
      about: 'for signed: what the proxy signs deliveries with',
    },
  },
  certificate: 'required',
  defaultUrl: 'https://pix.api.efipay.com.br',
  simulatorPath: '',
  create({ name, test, simulated, url, credentials, certificate }, world) {
    const { clientId = '', clientSecret = '', pixKey = '' } = credentials;
    return createEfiProvider({
      connection: name,
      test,
      baseUrl: url,
      clientId,
      clientSecret,
      pixKey,
      ...(certificate === null ? {} : { certificate }),
      webhook: trustOf(credentials, simulated),
      ...(simulated ? { limits: simulatorLimits } : {}),
      ...world,
    });
  },
};

function trustOf(
  { webhookTrust, webhookSecret, clientSecret }: Readonly<Record<string, string>>,
  simulated: boolean,
): WebhookTrust {
  // The simulator signs with the secret of the client that registered the address.
  if (simulated && webhookTrust === undefined) return { trust: 'signed', secret: clientSecret ?? '' };
  const trust = webhookTrust ?? (webhookSecret === undefined ? 'path' : 'signed');
  if (trust !== 'signed' && webhookSecret !== undefined)
    throw new CredentialFault(`webhookSecret: is of no use with webhookTrust ${trust}`);
  if (trust === 'path' || trust === 'mtls') return { trust };
  if (trust !== 'signed') throw new CredentialFault('webhookTrust: must be path, mtls or signed');
  if (webhookSecret === undefined)
    throw new CredentialFault('webhookSecret: is missing, and webhookTrust signed needs it');
  return { trust, secret: webhookSecret, header: 'x-provider-signature' };
}

/** Whether a delivery is authentic shows in itself: nothing has to be asked for. */
export interface EfiProvider extends Provider {
  parseWebhook(delivery: WebhookDelivery): WebhookContent;
}

export function createEfiProvider(options: EfiOptions): EfiProvider {
  const { connection, pixKey, net, clock, log, webhook } = options;
  const limits: EfiLimits = {
    callTimeoutMs: 5_000,
    ...efiLimits,
    pageSize: 1000,
    maxPages: 10,
    ...options.limits,
  };
  let granted: readonly string[] | null = null;
  const capabilities: Capabilities = {
    // An idEnvio or txid that was used gets 409, whatever became of it.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: limits.maxParallelSends,
    movesMoney: !options.test,
    charges: true,
    payouts: true,
    queryPayoutByOwnId: true,
    canListCharges: true,
    canListPayouts: true,
    canRefund: true,
    canDispute: true,
    get defence() {
      return granted === null || granted.includes(defenceScope)
        ? { textMost: defenceTextMost, files: null, timeoutMs: limits.callTimeoutMs }
        : null;
    },
    hasBalance: true,
    webhookTrust: webhook.trust,
    callTimeoutMs: limits.callTimeoutMs,
    sendTimeoutMs: limits.sendTimeoutMs,
    statement: { lists: true, dayReports: { utcOffsetMs: brasiliaOffsetMs } },
  };
  const calls = createExchange({
    baseUrl: options.baseUrl,
    credentials: {
      type: 'oauth',
      clientId: options.clientId,
      clientSecret: options.clientSecret,
      onScopes: (scopesOfToken) => {
        granted = scopesOfToken;
        const missing = scopes.map(({ scope }) => scope).filter((scope) => !scopesOfToken.includes(scope));
        if (missing.length > 0)
          log.warn({ connection, missing }, 'the provider credentials lack permissions (scopes)');
      },
    },
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    callTimeoutMs: limits.callTimeoutMs,
    net,
    clock,
  });
  const exchange: Exchange = async (call) => {
    const reply = await calls(call);
    if (lacksScope(reply)) {
      const needed = scopes.find(({ method, path }) => method === call.method && call.path.startsWith(path));
      log.error(
        { connection, scope: needed?.scope },
        'the provider refused a call: grant this permission (scope) in its panel',
      );
    }
    return reply;
  };
  const { pageSize, maxPages, sendTimeoutMs } = limits;
  const { listReceived, queryReceived, ...charges } = bacenCharges({
    exchange,
    pixKey,
    clock,
    log,
    pageSize,
    maxPages,
    sendTimeoutMs,
  });

  let hintedAt = Number.NEGATIVE_INFINITY;
  const payoutOf: ReadPayout = (item, at) => {
    const report = readPayout(item, pixKey, at);
    // Efí gives no reason when the account's daily limit for payouts by API is used up; in new accounts it is below R$ 1.
    if (report?.status === 'refused' && !hasReason(item) && clock.monotonicMs() - hintedAt >= hintEveryMs) {
      hintedAt = clock.monotonicMs();
      log.warn(
        { connection, paymentId: report.providerId },
        "a payout was refused without a reason: check the account's daily limit for payouts by API",
      );
    }
    return report;
  };

  const listSent = (window: ListWindow, foreign: boolean) =>
    readList(exchange, clock, {
      path: (page) => `/v2/gn/pix/enviados?${windowQuery(window, page, pageSize)}`,
      items: (body) => arrayIn(body, 'pix'),
      // Without our id it was sent from elsewhere, by hand for instance.
      read: (item) => (foreign || hasIdEnvio(item) ? readSent(item, payoutOf, clock.now()) : 'foreign'),
      pageSize,
      maxPages,
      wholeOnly: window.wholeOnly,
    });

  async function querySent(endToEnd: string): Promise<QueryOutcome<Sent>> {
    const reply = await exchange({
      method: 'GET',
      path: `/v2/gn/pix/enviados/${encodeURIComponent(endToEnd)}`,
    });
    if (reply.kind === 'answer') {
      if (isSuccess(reply.status)) {
        const report = readSent(reply.body, payoutOf, clock.now());
        if (report?.endToEnd === endToEnd) return { outcome: 'found', report };
      } else if (saysNotFound(reply.status, reply.body)) {
        return { outcome: 'notFound' };
      }
    }
    return unclear(reply, clock);
  }

  return {
    connection,
    capabilities,
    ...charges,

    async sendPayout(instruction) {
      const reply = await exchange({
        method: 'PUT',
        path: `/v3/gn/pix/${instruction.providerId}`,
        body: payoutBody(instruction, pixKey),
        timeoutMs: sendTimeoutMs,
        ...traceOf(instruction),
      });
      return outcomeOfSend(reply, clock, {
        refusals,
        duplicates,
        read(body) {
          const report = payoutOf(body, clock.now());
          if (report?.providerId !== instruction.providerId) return null;
          return report.amountCents === instruction.amountCents ? report : null;
        },
      });
    },

    async queryPayout(providerId) {
      const reply = await exchange({ method: 'GET', path: `/v2/gn/pix/enviados/id-envio/${providerId}` });
      if (reply.kind === 'answer') {
        if (isSuccess(reply.status)) {
          const report = payoutOf(reply.body, clock.now());
          if (report?.providerId === providerId) return { outcome: 'found', report };
        } else if (saysNotFound(reply.status, reply.body)) {
          return { outcome: 'notFound' };
        }
      }
      return unclear(reply, clock);
    },

    async listPayouts(window) {
      const listed = await listSent(window, false);
      if (listed.outcome !== 'listed') return listed;
      return { ...listed, reports: listed.reports.flatMap(({ payout }) => payout ?? []) };
    },

    parseWebhook(delivery) {
      if (webhook.trust === 'signed') {
        const fault = signatureFault(delivery, webhook.secret, webhook.header ?? 'x-simulator-signature');
        if (fault !== null) return { authentic: false, reason: fault };
      }
      if (webhook.trust === 'mtls' && delivery.clientVerified !== true)
        return { authentic: false, reason: "no proxy has verified the provider's certificate" };
      const news = readDelivery(delivery.rawBody, delivery.receivedAt, { pixKey, log, payoutOf });
      return news ? { authentic: true, ...news } : { authentic: false, reason: 'the body is no JSON' };
    },

    readWebhook: (rawBody, receivedAt) => readDelivery(rawBody, receivedAt, { pixKey, log, payoutOf }),

    async registerWebhook(url) {
      const reply = await exchange({
        method: 'PUT',
        path: `/v2/webhook/${encodeURIComponent(pixKey)}`,
        body: { webhookUrl: url },
        timeoutMs: registrationTimeoutMs,
        // Efí otherwise tests that our address refuses callers without its certificate.
        ...(webhook.trust === 'mtls' ? {} : { headers: { 'x-skip-mtls-checking': 'true' } }),
      });
      if (reply.kind === 'answer' && isSuccess(reply.status)) return;
      throw new Error(`the provider did not take our webhook address: ${describe(unclear(reply, clock))}`);
    },

    async diagnose({ webhookUrl }) {
      const path = `/v2/webhook/${encodeURIComponent(pixKey)}`;
      const reply = await exchange({ method: 'GET', path });
      const findings = tokenFindings(reply, { needed: scopes.map(({ scope }) => scope), granted });
      if (reply.kind !== 'answer' || reply.status === 401) return findings;
      findings.push(...clockFindings(reply, clock), ...keyFindings(reply, webhookUrl));
      const balance = await exchange({ method: 'GET', path: '/v2/gn/saldo?bloqueios=true' });
      findings.push(balanceFinding(balance, clock, (body) => readBalance(body)?.availableCents ?? null));
      const limits = await exchange({ method: 'GET', path: '/v2/gn/chaves/balde' });
      findings.push(limitsFinding(limits, readBuckets));
      return findings;
    },

    async balance() {
      const reply = await exchange({ method: 'GET', path: '/v2/gn/saldo?bloqueios=true' });
      const balance = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
      if (balance === null) throw new Error(`no balance: ${describe(unclear(reply, clock))}`);
      return balance;
    },

    statement: (window) => statementOf(window, { listReceived, listSent: (one) => listSent(one, true) }),
    ...dayReports(exchange, clock),

    disputes: {
      list: (window) =>
        readList(exchange, clock, {
          path: (page) => `/v2/gn/infracoes?${windowQuery(window, page, pageSize)}`,
          items: (body) => arrayIn(body, 'infracoes'),
          read: readDispute,
          pageSize,
          maxPages,
          wholeOnly: window.wholeOnly,
        }),
      defend: (defence) => defendDispute(exchange, clock, defence),
    },

    async findPix(endToEnd) {
      const received = await queryReceived(endToEnd);
      if (received.outcome === 'found')
        return { outcome: 'found', report: { direction: 'received', providerId: received.report.txid } };
      if (received.outcome === 'unclear') return received;
      const sent = await querySent(endToEnd);
      if (sent.outcome !== 'found') return sent;
      const { payout } = sent.report;
      return { outcome: 'found', report: { direction: 'sent', providerId: payout?.providerId ?? null } };
    },
  };
}

const describe = ({ cause, detail }: { cause: string; detail: string }): string => `${cause} (${detail})`;

function payoutBody(instruction: PayoutInstruction, pixKey: string): unknown {
  const text = plain(instruction.description, 140);
  return {
    valor: reaisOf(instruction.amountCents),
    pagador: { chave: pixKey, ...(text === '' ? {} : { infoPagador: text }) },
    favorecido: { chave: instruction.pixKey },
  };
}

interface WirePayout {
  idEnvio?: unknown;
  e2eId?: unknown;
  endToEndId?: unknown;
  valor?: unknown;
  chave?: unknown;
  favorecido?: { chave?: unknown } | null;
  status?: unknown;
  horario?: unknown;
  gnExtras?: { idEnvio?: unknown; erro?: { codigo?: unknown } | null } | null;
  devolucoes?: unknown;
}

function idEnvioOf(item: unknown): unknown {
  const payout = item as WirePayout | null | undefined;
  return payout?.idEnvio ?? payout?.gnExtras?.idEnvio;
}

function hasIdEnvio(item: unknown): boolean {
  const id = idEnvioOf(item);
  return typeof id === 'string' && id !== '';
}

/** A payout of ours in any answer; null when it cannot be read. */
type ReadPayout = (item: unknown, at: number) => PayoutReport | null;

/** Null when it cannot be read. */
function readSent(item: unknown, payoutOf: ReadPayout, at: number): Sent | null {
  const pix = item as WirePayout | null | undefined;
  const endToEnd = pix?.endToEndId ?? pix?.e2eId;
  const amountCents = centsOf(pix?.valor);
  if (typeof endToEnd !== 'string' || endToEnd === '' || amountCents === null) return null;
  const payout = hasIdEnvio(pix) ? payoutOf(pix, at) : null;
  if (hasIdEnvio(pix) && payout === null) return null;
  const times = pix?.horario as { solicitacao?: unknown; liquidacao?: unknown } | null | undefined;
  return {
    endToEnd,
    amountCents,
    at: timeOf(times?.liquidacao) ?? timeOf(times?.solicitacao) ?? at,
    completed: pix?.status === 'REALIZADO',
    payout,
  };
}

/**
 * A payout in the answer to a send, in a query, a list or a webhook; null when it cannot be read. `at` stands in for
 * the time of a return that cannot be read.
 */
function readPayout(item: unknown, pixKey: string, at: number): PayoutReport | null {
  const payout = item as WirePayout | null | undefined;
  const providerId = idEnvioOf(payout);
  const amountCents = centsOf(payout?.valor);
  if (payout == null || typeof providerId !== 'string' || providerId === '') return null;
  if (amountCents === null || typeof payout.status !== 'string') return null;
  const status = payoutStatusOf(payout.status);
  // In webhooks the time is a text, the settlement's.
  const horario = payout.horario;
  const settledAt = timeOf(
    typeof horario === 'object' ? (horario as { liquidacao?: unknown } | null)?.liquidacao : horario,
  );
  const returns = readReturns(payout.devolucoes, settledAt ?? at, 'settled');
  if (returns === null) return null;
  const endToEnd = payout.endToEndId ?? payout.e2eId;
  return {
    providerId,
    amountCents,
    pixKey: receiverKeyOf(payout, pixKey),
    status,
    endToEnd: typeof endToEnd === 'string' && endToEnd !== '' ? endToEnd : null,
    settledAt: status === 'completed' ? settledAt : null,
    reason: status === 'refused' ? reasonOf(payout.gnExtras?.erro?.codigo) : null,
    returns,
  };
}

/** Only the two final words end a payout: one that is new to us must not release a reserve. */
function payoutStatusOf(status: string): PayoutReport['status'] {
  if (status === 'REALIZADO') return 'completed';
  return status === 'NAO_REALIZADO' ? 'refused' : 'pending';
}

function hasReason(item: unknown): boolean {
  return (item as WirePayout | null | undefined)?.gnExtras?.erro?.codigo != null;
}

function reasonOf(code: unknown): ReasonCode {
  if (typeof code !== 'string' || !Object.hasOwn(reasons, code)) return 'provider_refused';
  return reasons[code] ?? 'provider_refused';
}

/**
 * The receiver's key stands in `favorecido`; `chave` is the payer's, ours. Where `favorecido` is missing, another key than ours
 * in `chave` is taken for the receiver's. A masked one says nothing.
 */
function receiverKeyOf(payout: WirePayout, pixKey: string): string | null {
  const key = payout.favorecido == null ? payout.chave : payout.favorecido.chave;
  if (typeof key !== 'string' || key === '' || key.includes('*')) return null;
  return payout.favorecido == null && key === pixKey ? null : key;
}

/**
 * A delivery of several Pix and payouts. What cannot be read or concerns another key than ours is left out: the raw
 * delivery is stored, and the follow-up asks for what is missing. Null: the body is no JSON.
 */
function readDelivery(
  rawBody: Buffer,
  receivedAt: number,
  { pixKey, log, payoutOf }: { pixKey: string; log: Log; payoutOf: ReadPayout },
): WebhookNews | null {
  let body: unknown;
  try {
    body = JSON.parse(rawBody.toString('utf8'));
  } catch {
    return null;
  }
  const received: ReceivedPix[] = [];
  const payouts: PayoutReport[] = [];
  // Efí's test delivery at registration has no list: authentic, and empty.
  for (const item of arrayIn(body, 'pix') ?? []) {
    const { tipo, chave } = (item ?? {}) as { tipo?: unknown; chave?: unknown };
    if (tipo === 'SOLICITACAO' || hasIdEnvio(item)) {
      const payout = payoutOf(item, receivedAt);
      if (payout !== null) payouts.push(payout);
      else log.warn('a payout in a delivery of the provider cannot be read');
    } else if (typeof chave === 'string' && chave !== pixKey) {
      // Another customer of the same provider can point its webhook at our address (bacen/pix-api issue 239).
      log.warn('a delivery of the provider tells of a Pix to a key that is not ours');
    } else {
      const pix = readReceived(item, receivedAt);
      if (pix !== null) received.push(pix);
      else log.warn('a Pix in a delivery of the provider cannot be read');
    }
  }
  return { received, payouts };
}

/** Null when the signature is right. More than one `v1` is allowed, so that a secret can be changed. */
function signatureFault(delivery: WebhookDelivery, secret: string, header: string): string | null {
  const value = delivery.headers[header];
  if (typeof value !== 'string') return `no header ${header}`;
  let seconds = '';
  const given: string[] = [];
  for (const part of value.split(',')) {
    const [name, content = ''] = part.trim().split('=', 2);
    if (name === 't') seconds = content;
    if (name === 'v1') given.push(content);
  }
  if (!/^\d{1,12}$/.test(seconds)) return 'no time in the signature';
  const right = createHmac('sha256', secret).update(`${seconds}.`).update(delivery.rawBody).digest();
  const matches = given.some((hex) => {
    const bytes = Buffer.from(hex, 'hex');
    return bytes.length === right.length && timingSafeEqual(bytes, right);
  });
  if (!matches) return 'the signature is not ours';
  // Looked at last: only what is signed has a time.
  if (Math.abs(delivery.receivedAt - Number(seconds) * 1000) > signatureToleranceMs)
    return 'the signature is too old';
  return null;
}
