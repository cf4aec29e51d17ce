import type { Log } from '../../ground/log.ts';
import { centsOf, reaisOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sent } from '../api-pix/efi-account.ts';
import { arrayIn, readReturns, saysNotFound } from '../bacen.ts';
import {
  type Exchange,
  isSuccess,
  outcomeOfSend,
  type Refusals,
  readList,
  traceOf,
  unreadAnswer,
  windowQuery,
} from '../exchange.ts';
import { paymentSystemCodes } from '../payment-system-codes.ts';
import type {
  ListOutcome,
  ListWindow,
  PayoutInstruction,
  PayoutReport,
  Provider,
  QueryOutcome,
  ReasonCode,
  Receiver,
} from '../provider.ts';
import { receiverOf } from '../receiver.ts';
import { plain, timeOf } from '../wire.ts';

/** Payouts at Efí: what is sent, what is asked for, and how each answer is read. */

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

/** Hints to operators about the same thing come no closer together than this. */
const hintEveryMs = 3_600_000;

/** A payout of ours in any answer; null when it cannot be read. */
export type ReadPayout = (item: unknown, at: number) => PayoutReport | null;

/**
 * Reads payouts, and hints at the account's daily limit for payouts by API when one is refused without a reason: Efí gives no reason when the
 * daily limit is used up. In new accounts it is below R$ 1.
 */
export function payoutReader(options: {
  connection: string;
  pixKey: string;
  clock: Clock;
  log: Log;
}): ReadPayout {
  const { connection, pixKey, clock, log } = options;
  let hintedAt = Number.NEGATIVE_INFINITY;
  return (item, at) => {
    const report = readPayout(item, pixKey, at);
    if (report?.status === 'refused' && !hasReason(item) && clock.monotonicMs() - hintedAt >= hintEveryMs) {
      hintedAt = clock.monotonicMs();
      log.warn(
        { connection, paymentId: report.providerId },
        "a payout was refused without a reason: check the account's daily limit for payouts by API",
      );
    }
    return report;
  };
}

export interface PayoutCalls extends Required<Pick<Provider, 'sendPayout' | 'queryPayout' | 'listPayouts'>> {
  /** Everything that left the account; `foreign`: also what carries no id of a client. */
  listSent(window: ListWindow, foreign: boolean): Promise<ListOutcome<Sent>>;
  querySent(endToEnd: string): Promise<QueryOutcome<Sent>>;
}

export function efiPayouts(options: {
  exchange: Exchange;
  clock: Clock;
  pixKey: string;
  payoutOf: ReadPayout;
  pageSize: number;
  maxPages: number;
  sendTimeoutMs: number;
}): PayoutCalls {
  const { exchange, clock, pixKey, payoutOf, pageSize, maxPages, sendTimeoutMs } = options;

  const listSent = (window: ListWindow, foreign: boolean) =>
    readList(exchange, clock, {
      kind: 'sent',
      path: ({ page }) => `/v2/gn/pix/enviados?${windowQuery(window, page, pageSize)}`,
      items: (body) => arrayIn(body, 'pix'),
      // Without our id it was sent from elsewhere, by hand for instance.
      read: (item) => (foreign || hasIdEnvio(item) ? readSent(item, payoutOf, clock.now()) : 'foreign'),
      pageSize,
      maxPages,
      wholeOnly: window.wholeOnly,
    });

  /** `read` gives null for what does not answer the question: then the outcome is unclear, never "not found". */
  async function query<Report>(
    { kind, name, path }: { kind: 'sent' | 'payout'; name: string; path: string },
    read: (body: unknown) => Report | null,
  ): Promise<QueryOutcome<Report>> {
    const reply = await exchange({ method: 'GET', path: `/v2/gn/pix/enviados/${path}` });
    if (reply.kind === 'answer') {
      if (isSuccess(reply.status)) {
        const report = read(reply.body);
        if (report !== null) return { outcome: 'found', report };
      } else if (saysNotFound(reply.status, reply.body)) {
        return { outcome: 'notFound' };
      }
    }
    return unreadAnswer(reply, clock, kind, name);
  }

  return {
    listSent,

    querySent: (endToEnd) =>
      query({ kind: 'sent', name: endToEnd, path: encodeURIComponent(endToEnd) }, (body) => {
        const report = readSent(body, payoutOf, clock.now());
        return report?.endToEnd === endToEnd ? report : null;
      }),

    queryPayout: (providerId) =>
      query({ kind: 'payout', name: providerId, path: `id-envio/${providerId}` }, (body) => {
        const report = payoutOf(body, clock.now());
        return report?.providerId === providerId ? report : null;
      }),

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

    async listPayouts(window) {
      const listed = await listSent(window, false);
      if (listed.outcome !== 'listed') return listed;
      return { ...listed, reports: listed.reports.flatMap(({ payout }) => payout ?? []) };
    },
  };
}

function payoutBody(instruction: PayoutInstruction, pixKey: string): unknown {
  const text = plain(instruction.description, 140);
  return {
    valor: reaisOf(instruction.amountCents),
    pagador: { chave: pixKey, ...(text === '' ? {} : { infoPagador: text }) },
    favorecido: { chave: instruction.pixKey },
  };
}

type WireReceiver = {
  chave?: unknown;
  identificacao?: { nome?: unknown; cpf?: unknown; cnpj?: unknown } | null;
} | null;

interface WirePayout {
  idEnvio?: unknown;
  e2eId?: unknown;
  endToEndId?: unknown;
  valor?: unknown;
  chave?: unknown;
  favorecido?: WireReceiver;
  status?: unknown;
  horario?: unknown;
  gnExtras?: { idEnvio?: unknown; erro?: { codigo?: unknown } | null; favorecido?: WireReceiver } | null;
  devolucoes?: unknown;
}

function idEnvioOf(item: unknown): unknown {
  const payout = item as WirePayout | null | undefined;
  return payout?.idEnvio ?? payout?.gnExtras?.idEnvio;
}

export function hasIdEnvio(item: unknown): boolean {
  const id = idEnvioOf(item);
  return typeof id === 'string' && id !== '';
}

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
    receiver: receiverIn(payout),
  };
}

/** Efí names no bank. In a delivery the receiver stands in `gnExtras`. */
function receiverIn({ favorecido, gnExtras }: WirePayout): Receiver | null {
  const { nome, cpf, cnpj } = (favorecido ?? gnExtras?.favorecido)?.identificacao ?? {};
  return receiverOf({ name: nome, taxId: cpf ?? cnpj });
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
