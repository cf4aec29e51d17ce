import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Log } from '../log.ts';
import { centsOf, reaisOf } from '../money.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate, Net } from '../ports/net.ts';
import { arrayIn, bacenCharges, readReceived, readReturns, saysNotFound } from './bacen.ts';
import {
  createExchange,
  isSuccess,
  outcomeOfSend,
  type Refusals,
  readList,
  traceOf,
  unclear,
  windowQuery,
} from './exchange.ts';
import type {
  Capabilities,
  PayoutInstruction,
  PayoutReport,
  Provider,
  ReasonCode,
  ReceivedPix,
  StatementLine,
  WebhookDelivery,
  WebhookNews,
} from './provider.ts';
import { plain, timeOf } from './wire.ts';

/**
 * Efí: charges over API Pix (`bacen.ts`) and Efí's own calls for payouts, statement and balance. The simulator speaks
 * the same, so test accounts go through this adapter too.
 */
export interface EfiOptions {
  /** `simulator`, `live`. */
  connection: string;
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
  /** Only a proxy that pins Efí's certificate reaches the address. */
  | { trust: 'mtls' }
  /** Only the secret address protects it. */
  | { trust: 'path' };

export interface EfiLimits {
  callTimeoutMs: number;
  maxParallelSends: number | null;
  /** Items of a page; API Pix allows 1000. */
  pageSize: number;
  /** A listing that is longer is answered as incomplete. */
  maxPages: number;
}

/**
 * Efí asks for one send after the other, the next when the one before has ended: parallel ones collide over the
 * balance and fail. The simulator's balance limits nothing, so nothing limits its sends.
 */
const parallelSendsOf = (connection: string): number | null => (connection === 'simulator' ? null : 1);

/** How old a signed delivery may be: as long as the clocks of both sides may differ, no longer. */
const signatureToleranceMs = 5 * 60_000;

/**
 * Refusals of `PUT /v3/gn/pix/{idEnvio}` that Efí documents (`chave_nao_encontrada` by the simulator). What is not in
 * this table refuses nothing and releases nothing: the outcome is unclear.
 */
const refusals: Refusals = {
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
  AC03: 'recipient_refused',
  AC06: 'recipient_refused',
  AC07: 'recipient_account_closed',
  AC14: 'recipient_refused',
  AG03: 'recipient_refused',
  AM02: 'recipient_refused',
  BE01: 'recipient_refused',
  CH11: 'recipient_refused',
  DS04: 'recipient_refused',
  FRAD: 'fraud_suspected',
  chave_nao_encontrada: 'pix_key_not_found',
  chave_nao_pertence_ao_documento: 'recipient_refused',
};

export function createEfiProvider(options: EfiOptions): Provider {
  const { connection, pixKey, net, clock, log, webhook } = options;
  const limits: EfiLimits = {
    callTimeoutMs: 5000,
    maxParallelSends: parallelSendsOf(connection),
    pageSize: 1000,
    maxPages: 10,
    ...options.limits,
  };
  const capabilities: Capabilities = {
    // An idEnvio or txid that was used gets 409, whatever became of it.
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: limits.maxParallelSends,
    canList: true,
    webhookTrust: webhook.trust,
    callTimeoutMs: limits.callTimeoutMs,
  };
  const exchange = createExchange({
    baseUrl: options.baseUrl,
    clientId: options.clientId,
    clientSecret: options.clientSecret,
    ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    callTimeoutMs: limits.callTimeoutMs,
    net,
    clock,
  });
  const { pageSize, maxPages } = limits;

  return {
    connection,
    capabilities,
    ...bacenCharges({ exchange, pixKey, clock, log, pageSize, maxPages }),

    async sendPayout(instruction) {
      const reply = await exchange({
        method: 'PUT',
        path: `/v3/gn/pix/${instruction.providerId}`,
        body: payoutBody(instruction, pixKey),
        ...traceOf(instruction),
      });
      return outcomeOfSend(reply, clock, {
        refusals,
        duplicates,
        read(body) {
          const report = readPayout(body, pixKey, clock.now());
          if (report?.providerId !== instruction.providerId) return null;
          return report.amountCents === instruction.amountCents ? report : null;
        },
      });
    },

    async queryPayout(providerId) {
      const reply = await exchange({ method: 'GET', path: `/v2/gn/pix/enviados/id-envio/${providerId}` });
      if (reply.kind === 'answer') {
        if (isSuccess(reply.status)) {
          const report = readPayout(reply.body, pixKey, clock.now());
          if (report?.providerId === providerId) return { outcome: 'found', report };
        } else if (saysNotFound(reply.status, reply.body)) {
          return { outcome: 'notFound' };
        }
      }
      return unclear(reply, clock);
    },

    listPayouts: (window) =>
      readList(exchange, clock, {
        path: (page) => `/v2/gn/pix/enviados?${windowQuery(window, page, pageSize)}`,
        items: (body) => arrayIn(body, 'pix'),
        // Without our id it was sent from elsewhere, by hand for instance; the statement shows it.
        read: (item) => (hasIdEnvio(item) ? readPayout(item, pixKey, clock.now()) : 'foreign'),
        pageSize,
        maxPages,
        wholeOnly: window.wholeOnly,
      }),

    parseWebhook(delivery) {
      if (webhook.trust === 'signed') {
        const fault = signatureFault(delivery, webhook.secret, webhook.header ?? 'x-simulator-signature');
        if (fault !== null) return { authentic: false, reason: fault };
      }
      const news = readDelivery(delivery.rawBody, delivery.receivedAt, { pixKey, log });
      return news ? { authentic: true, ...news } : { authentic: false, reason: 'the body is no JSON' };
    },

    readWebhook: (rawBody, receivedAt) => readDelivery(rawBody, receivedAt, { pixKey, log }),

    async registerWebhook(url) {
      const reply = await exchange({
        method: 'PUT',
        path: `/v2/webhook/${encodeURIComponent(pixKey)}`,
        body: { webhookUrl: url },
        // Efí otherwise tests that our address refuses callers without its certificate.
        ...(webhook.trust === 'mtls' ? {} : { headers: { 'x-skip-mtls-checking': 'true' } }),
      });
      if (reply.kind === 'answer' && isSuccess(reply.status)) return;
      throw new Error(`the provider did not take our webhook address: ${describe(unclear(reply, clock))}`);
    },

    async balanceCents() {
      const reply = await exchange({ method: 'GET', path: '/v2/gn/saldo' });
      const cents =
        reply.kind === 'answer' && isSuccess(reply.status)
          ? signedCentsOf((reply.body as { saldo?: unknown } | null | undefined)?.saldo)
          : null;
      if (cents === null) throw new Error(`no balance: ${describe(unclear(reply, clock))}`);
      return cents;
    },

    statement: (window) =>
      readList(exchange, clock, {
        path: (page) => `/v2/gn/extrato?${windowQuery(window, page, pageSize)}`,
        items: (body) => arrayIn(body, 'lancamentos'),
        read: (item) => readLine(item, log),
        pageSize,
        maxPages,
        wholeOnly: window.wholeOnly,
      }),

    /** The connections are the port's. */
    close: async () => {},
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
  const returns = readReturns(payout.devolucoes, settledAt ?? at);
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

function reasonOf(code: unknown): ReasonCode {
  if (typeof code !== 'string' || !Object.hasOwn(reasons, code)) return 'provider_refused';
  return reasons[code] ?? 'provider_refused';
}

/**
 * The receiver's key stands in `favorecido`. `chave` is the payer's, ours, in Efí's samples, and the receiver's at the
 * simulator: so only another key than ours says anything. A masked one says nothing either.
 */
function receiverKeyOf(payout: WirePayout, pixKey: string): string | null {
  const key = payout.favorecido == null ? payout.chave : payout.favorecido.chave;
  if (typeof key !== 'string' || key === '' || key.includes('*')) return null;
  return payout.favorecido == null && key === pixKey ? null : key;
}

/** A balance may be below zero (a blocked amount that was taken). */
function signedCentsOf(text: unknown): number | null {
  if (typeof text !== 'string' || !text.startsWith('-')) return centsOf(text);
  const cents = centsOf(text.slice(1));
  return cents === null ? null : -cents;
}

const kinds: Readonly<Record<string, StatementLine['kind']>> = {
  PIX_RECEBIDO: 'received',
  PIX_ENVIADO: 'sent',
  DEVOLUCAO_RECEBIDA: 'returned',
};

function readLine(item: unknown, log: Log): StatementLine | null | 'foreign' {
  const { id, horario, tipo, valor, endToEndId, txid, idEnvio } = (item ?? {}) as Record<string, unknown>;
  const kind = typeof tipo === 'string' && Object.hasOwn(kinds, tipo) ? kinds[tipo] : undefined;
  if (kind === undefined) {
    log.warn('the statement has a line of a kind that is not known');
    return 'foreign';
  }
  const amountCents = centsOf(valor);
  const at = timeOf(horario);
  if ((typeof id !== 'string' && typeof id !== 'number') || amountCents === null || at === null) return null;
  const providerId = kind === 'received' ? txid : idEnvio;
  return {
    id: String(id),
    at,
    kind,
    amountCents,
    endToEnd: typeof endToEndId === 'string' ? endToEndId : null,
    providerId: typeof providerId === 'string' && providerId !== '' ? providerId : null,
  };
}

/**
 * A delivery of several Pix and payouts. What cannot be read or concerns another key than ours is left out: the raw
 * delivery is stored, and the follow-up asks for what is missing. Null: the body is no JSON.
 */
function readDelivery(
  rawBody: Buffer,
  receivedAt: number,
  { pixKey, log }: { pixKey: string; log: Log },
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
      const payout = readPayout(item, pixKey, receivedAt);
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
