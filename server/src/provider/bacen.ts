import type { Log } from '../ground/log.ts';
import { centsOf, reaisOf } from '../ground/money.ts';
import type { Clock } from '../ports/clock.ts';
import { changeBody, debtorOf, dueBody, shownTermsIn } from './bacen-due.ts';
import { buildBrCode, buildStaticBrCode } from './br-code.ts';
import type { PaidParts } from './due-terms.ts';
import {
  type Exchange,
  errorNameOf,
  isSuccess,
  outcomeOfSend,
  type Refusals,
  type Reply,
  readList,
  traceOf,
  unreadAnswer,
  windowQuery,
  wordsIn,
} from './exchange.ts';
import type {
  CancelInstruction,
  ChargeInstruction,
  ChargeReport,
  DueCharges,
  ListOutcome,
  ListWindow,
  PixReturn,
  Provider,
  QueryOutcome,
  ReceivedPix,
  RefundReport,
  SendOutcome,
} from './provider.ts';
import { cut, timeOf } from './wire.ts';

/**
 * Charges and their refunds over the Central Bank's API Pix 2.9.0. It ends there: sending is not standardised, every
 * provider adds calls of its own (see `efi-payouts.ts`).
 */
export interface BacenOptions {
  exchange: Exchange;
  /** The receiver's key, under which every charge is made. */
  pixKey: string;
  clock: Clock;
  log: Log;
  pageSize: number;
  maxPages: number;
  /** For the creation of a charge or a refund. */
  sendTimeoutMs: number;
  form?: ApiPixForm;
}

/** In what a provider's API Pix differs from the specification. */
export interface ApiPixForm {
  /** Before `/cob` and `/pix`, below the base address. */
  prefix: string;
  /** Where the text of the QR stands, in this order. */
  codeFields: readonly string[];
  /** Times of a window are asked for without milliseconds. */
  wholeSeconds: boolean;
  /** The same before the `/cob` of one charge, where it is another one. */
  chargePrefix?: string;
  /** Whether this text of a refund is sent (`descricao`). */
  takesRefundText: (text: string) => boolean;
  /** The longest window of `GET /pix`; null: any. */
  windowMostMs: number | null;
}

/** As the specification has it. */
export const plainForm: ApiPixForm = {
  prefix: '/v2',
  codeFields: ['pixCopiaECola'],
  wholeSeconds: false,
  takesRefundText: (text) => text !== '',
  windowMostMs: null,
};

export type Charges = Pick<
  Provider,
  'createCharge' | 'queryCharge' | 'listCharges' | 'createStaticCode' | 'sendRefund' | 'queryRefund'
> &
  Required<Pick<Provider, 'cancelCharge'>> & {
    dueCharges: Required<DueCharges>;
    /** `GET /pix`: every Pix received in the window, by the time it came in. */
    listReceived(window: ListWindow): Promise<ListOutcome<ReceivedPix>>;
    /** `GET /pix/{e2eid}`. */
    queryReceived(endToEnd: string): Promise<QueryOutcome<ReceivedPix>>;
  };

/**
 * Refusals of `PUT /cob/{txid}` and `PUT /cobv/{txid}` that are documented: by API Pix 2.9.0 (the problem's type) and by Efí (`nome`). What
 * is not in this table refuses nothing.
 */
const refusals: Refusals = {
  '400 CobOperacaoInvalida': 'provider_refused',
  '400 CobVOperacaoInvalida': 'provider_refused',
  '400 RequisicaoInvalida': 'provider_refused',
  '400 documento_bloqueado': 'provider_refused',
  '400 chave_invalida': 'provider_refused',
  '400 valor_invalido': 'provider_refused',
};

/** API Pix lists no 409, and providers answer it all the same for a txid that was used. */
const duplicates: ReadonlySet<string> = new Set([
  '409 txid_duplicado',
  '409 CobOperacaoInvalida',
  '409 CobVOperacaoInvalida',
]);

/**
 * Refusals of `PATCH /cob/{txid}` and `PATCH /cobv/{txid}` that are documented, by API Pix 2.9.0 and by Efí: the charge is not active any more, or cannot be as it was asked to be. Efí's answer is found under two
 * statuses. That it is not found is one as well (`saysNotFound`).
 */
const patchRefusals: Refusals = {
  '400 CobOperacaoInvalida': 'provider_refused',
  '400 CobVOperacaoInvalida': 'provider_refused',
  '400 status_cobranca_invalido': 'provider_refused',
  '409 status_cobranca_invalido': 'provider_refused',
  '400 RequisicaoInvalida': 'provider_refused',
  '400 valor_invalido': 'provider_refused',
};

const removal = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' };

const noDuplicates: ReadonlySet<string> = new Set();

/**
 * Refusals of `PUT /pix/{e2eid}/devolucao/{id}` that are documented. `PixDevolucaoInvalida` stands for four causes: a malformed amount, a
 * sum above the Pix, a Pix that is too old, and an id that was used. The last one says that the provider may have this very refund, so
 * the name alone proves nothing: see `refusesRefund`.
 */
const refundRefusals: Refusals = {
  '400 PixDevolucaoInvalida': 'provider_refused',
  '400 RequisicaoInvalida': 'provider_refused',
  '400 valor_invalido': 'provider_refused',
};

const refundDuplicates: ReadonlySet<string> = new Set([
  '409 devolucao_id_duplicado',
  '400 devolucao_id_duplicado',
  '409 PixDevolucaoInvalida',
]);

/** API Pix allows 512 characters; beyond 2,331 bytes there is no QR (version 40, level M). */
const longestCode = 2331;

const minute = 60_000;
const tenMinutes = 10 * minute;
const threeHours = 180 * minute;
/** By how much a clock that is kept right differs from ours, and the time of a call. */
const clockSkewMs = 2 * minute;

export function bacenCharges(options: BacenOptions): Charges {
  const { exchange, pixKey, clock, log, pageSize, maxPages, sendTimeoutMs, form = plainForm } = options;
  const { prefix, wholeSeconds } = form;
  const zone = zoneOf(log);
  /** The calls about charges without a due date and about those with one are the same below their names. */
  const callsOf = (noun: 'cob' | 'cobv') => {
    const path = (txid: string): string => `${form.chargePrefix ?? prefix}/${noun}/${txid}`;
    return {
      async create(
        { txid, amountCents, traceparent }: Pick<ChargeInstruction, 'txid' | 'amountCents' | 'traceparent'>,
        body: unknown,
        life?: number,
      ): Promise<SendOutcome<ChargeReport>> {
        const requestedAt = clock.now();
        const reply = await exchange({
          method: 'PUT',
          path: path(txid),
          body,
          timeoutMs: sendTimeoutMs,
          ...traceOf({ traceparent }),
        });
        return outcomeOfSend(reply, clock, {
          refusals,
          duplicates,
          read(answer) {
            const known = { at: requestedAt, createdAt: requestedAt, ...(life !== undefined && { life }) };
            const report = readCharge(answer, known, { log, form });
            if (report?.txid !== txid || report.amountCents !== amountCents) return null;
            return zone.ofNew(report, requestedAt);
          },
        });
      },

      async query(txid: string, requestedAt?: number): Promise<QueryOutcome<ChargeReport>> {
        const reply = await exchange({ method: 'GET', path: path(txid) });
        if (reply.kind === 'answer') {
          if (isSuccess(reply.status)) {
            const report = readCharge(reply.body, { at: clock.now(), createdAt: requestedAt }, { log, form });
            if (report?.txid === txid) return { outcome: 'found', report: zone.ofKnown(report, requestedAt) };
          } else if (saysNotFound(reply.status, reply.body)) {
            return { outcome: 'notFound' };
          }
        }
        return unreadAnswer(reply, clock, 'charge', txid);
      },

      async list(
        window: ListWindow,
        requestedAts?: ReadonlyMap<string, number>,
      ): Promise<ListOutcome<ChargeReport>> {
        const listed = await readList(exchange, clock, {
          kind: 'charge',
          path: ({ page }) => `${prefix}/${noun}?${windowQuery(window, page, pageSize, wholeSeconds)}`,
          items: (body) => listIn(body, 'cobs'),
          read: (item) => {
            const report = readCharge(item, { at: clock.now(), createdAt: undefined }, { log, form });
            return report && zone.ofKnown(report, requestedAts?.get(report.txid));
          },
          pageSize,
          maxPages,
          wholeOnly: window.wholeOnly,
        });
        if (listed.outcome === 'listed') listed.reports.sort((a, b) => a.createdAt - b.createdAt);
        return listed;
      },

      /**
       * @param body a removal by itself, or changes: with any of them the specification refuses a removal
       * @param askedCents the amount that the body asks for; null: none. A charge that is removed may have been changed meanwhile
       */
      async patch(
        { txid, createdAt, traceparent }: Omit<CancelInstruction, 'amountCents'>,
        body: unknown,
        askedCents: number | null,
      ): Promise<SendOutcome<ChargeReport>> {
        const reply = await exchange({
          method: 'PATCH',
          path: path(txid),
          body,
          timeoutMs: sendTimeoutMs,
          ...traceOf({ traceparent }),
        });
        if (reply.kind === 'answer' && saysNotFound(reply.status, reply.body))
          return {
            ...({ outcome: 'refused', reason: 'provider_refused', detail: 'not found' } as const),
            ...wordsIn(reply),
          };
        return outcomeOfSend(reply, clock, {
          refusals: patchRefusals,
          duplicates: noDuplicates,
          read(body) {
            const report = readCharge(body, { at: clock.now(), createdAt }, { log, form });
            const isOther = askedCents !== null && report?.amountCents !== askedCents;
            if (report?.txid !== txid || isOther) return null;
            return zone.ofKnown(report, createdAt);
          },
        });
      },
    };
  };
  const [plain, due] = [callsOf('cob'), callsOf('cobv')];
  return {
    createCharge: (instruction) =>
      plain.create(instruction, chargeBody(instruction, pixKey), instruction.expirySeconds),
    queryCharge: plain.query,
    listCharges: plain.list,
    cancelCharge: (instruction) => plain.patch(instruction, removal, null),
    dueCharges: {
      query: due.query,
      list: due.list,
      create: (instruction) => due.create(instruction, dueBody(instruction, pixKey)),
      cancel: (instruction) => due.patch(instruction, removal, null),
      change: (instruction) => due.patch(instruction, changeBody(instruction), instruction.amountCents),
    },

    // API Pix has no call for static codes (bacen/pix-api issue 30): the receiver writes them.
    async createStaticCode({ amountCents, name: description, ...code }) {
      const amount = amountCents === null ? {} : { amount: reaisOf(amountCents) };
      const copyPaste = buildStaticBrCode({ ...code, description, pixKey, ...amount });
      return { outcome: 'accepted', report: { copyPaste } };
    },

    async sendRefund({ endToEnd, providerId, amountCents, description, traceparent }) {
      const text = cut(description, 140);
      const reply = await exchange({
        method: 'PUT',
        path: prefix + refundPath(endToEnd, providerId),
        body: { valor: reaisOf(amountCents), ...(form.takesRefundText(text) && { descricao: text }) },
        timeoutMs: sendTimeoutMs,
        ...traceOf({ traceparent }),
      });
      const known = refusesRefund(reply) ? refundRefusals : {};
      return outcomeOfSend(reply, clock, {
        refusals: known,
        duplicates: refundDuplicates,
        // Another amount than ours is read all the same: the state machine opens an incident about it.
        read: (body) => readRefund(body, providerId),
      });
    },

    async queryRefund(endToEnd, providerId) {
      const reply = await exchange({ method: 'GET', path: prefix + refundPath(endToEnd, providerId) });
      if (reply.kind === 'answer') {
        if (isSuccess(reply.status)) {
          const report = readRefund(reply.body, providerId);
          if (report) return { outcome: 'found', report };
        } else if (saysNotFound(reply.status, reply.body)) {
          return { outcome: 'notFound' };
        }
      }
      return unreadAnswer(reply, clock, 'refund', providerId);
    },

    async listReceived(window) {
      const parts =
        form.windowMostMs === null ? 1 : Math.ceil((window.toMs - window.fromMs) / form.windowMostMs);
      if (parts > 1) return { outcome: 'listed', reports: [], unread: [], complete: false, parts };
      return readList(exchange, clock, {
        kind: 'received',
        path: ({ page }) => `${prefix}/pix?${windowQuery(window, page, pageSize, wholeSeconds)}`,
        items: (body) => listIn(body, 'pix'),
        read: (item) => readReceived(item, clock.now()),
        pageSize,
        maxPages,
        wholeOnly: window.wholeOnly,
      });
    },

    async queryReceived(endToEnd) {
      const reply = await exchange({ method: 'GET', path: `${prefix}/pix/${encodeURIComponent(endToEnd)}` });
      if (reply.kind === 'answer') {
        if (isSuccess(reply.status)) {
          const report = readReceived(reply.body, clock.now());
          if (report?.endToEnd === endToEnd) return { outcome: 'found', report };
        } else if (saysNotFound(reply.status, reply.body)) {
          return { outcome: 'notFound' };
        }
      }
      return unreadAnswer(reply, clock, 'received', endToEnd);
    },
  };
}

/**
 * `devedor` with a document alone: API Pix allows a name there only together with one, and a strict
 * provider refuses the whole charge. The payer reads both texts in the additional information as well, and the first
 * 140 of 200 characters of the description in the bank's message line.
 */
function chargeBody(instruction: ChargeInstruction, pixKey: string): unknown {
  const description = cut(instruction.description, 200);
  const payer = cut(instruction.payerName, 200);
  const { payerDocument } = instruction;
  return {
    calendario: { expiracao: instruction.expirySeconds },
    valor: { original: reaisOf(instruction.amountCents) },
    chave: pixKey,
    ...(payerDocument && { devedor: debtorOf({ name: payer, document: payerDocument }) }),
    ...(description === '' ? {} : { solicitacaoPagador: cut(description, 140) }),
    infoAdicionais: [
      { nome: 'Pagador', valor: payer },
      ...(description === '' ? [] : [{ nome: 'Descrição', valor: description }]),
    ],
  };
}

const refundPath = (endToEnd: string, providerId: string): string =>
  `/pix/${encodeURIComponent(endToEnd)}/devolucao/${providerId}`;

/**
 * Whether a refusal is about the request and not about an id that was used. Only `violacoes` shows it: each must name something else
 * than the id. Without any, the outcome is unclear and the refund is queried.
 */
function refusesRefund(reply: Reply): boolean {
  if (reply.kind !== 'answer') return false;
  const { violacoes } = (reply.body ?? {}) as { violacoes?: unknown };
  if (errorNameOf(reply.body) !== 'PixDevolucaoInvalida') return true;
  if (!Array.isArray(violacoes) || violacoes.length === 0) return false;
  return violacoes.every((one) => {
    const { razao, propriedade } = (one ?? {}) as { razao?: unknown; propriedade?: unknown };
    return typeof propriedade === 'string' && !/(^|\.)\{?id\}?$/.test(propriedade) && !namesUsedId(razao);
  });
}

const namesUsedId = (reason: unknown): boolean =>
  typeof reason === 'string' && /utilizad|duplicad/i.test(reason);

/** Devolucao; null when it cannot be read or is another one. */
function readRefund(body: unknown, providerId: string): RefundReport | null {
  const item = (body ?? {}) as Record<string, unknown>;
  const amountCents = centsOf(item.valor);
  if (item.id !== providerId || amountCents === null || typeof item.status !== 'string') return null;
  const horario = (item.horario ?? {}) as { liquidacao?: unknown };
  const status = returnStatusOf(item.status);
  return {
    providerId,
    rtrId: nameOf(item.rtrId),
    amountCents,
    status: status === 'settled' ? 'completed' : status === 'failed' ? 'refused' : 'pending',
    settledAt: status === 'settled' ? timeOf(horario.liquidacao) : null,
    reason: status === 'failed' ? 'provider_refused' : null,
  };
}

/** A 404, or Efí's 400, counts only with the error's name: a proxy's page says nothing about a payment. */
export function saysNotFound(status: number, body: unknown): boolean {
  return (status === 404 || status === 400) && /nao_?encontrad[oa]$/i.test(errorNameOf(body));
}

/** The substitute for times that cannot be read. */
interface KnownTimes {
  /** Now. */
  at: number;
  /** When the charge was asked for; undefined: not known. */
  createdAt: number | undefined;
  /** The life that was asked for, in seconds, where this is the answer to that. */
  life?: number;
}

/** CobGerada or CobCompleta; null when it is neither, or when any of its Pix cannot be read: no sum is guessed. */
function readCharge(
  body: unknown,
  known: KnownTimes,
  { log, form }: { log: Log; form: ApiPixForm },
): ChargeReport | null {
  const cob = body as {
    txid?: unknown;
    status?: unknown;
    valor?: { original?: unknown } | null;
    calendario?: {
      criacao?: unknown;
      expiracao?: unknown;
      dataDeVencimento?: unknown;
      validadeAposVencimento?: unknown;
    } | null;
    location?: unknown;
    loc?: { location?: unknown } | null;
    pix?: unknown;
    [field: string]: unknown;
  } | null;
  const amountCents = centsOf(cob?.valor?.original);
  if (typeof cob?.txid !== 'string' || cob.txid === '') return null;
  if (typeof cob.status !== 'string' || amountCents === null) return null;
  const criacao = timeOf(cob.calendario?.criacao);
  if (criacao === null) log.warn({ txid: cob.txid }, "a charge's creation time cannot be read");

  const received: ReceivedPix[] = [];
  if (cob.pix != null) {
    if (!Array.isArray(cob.pix)) return null;
    for (const item of cob.pix) {
      const pix = readReceived(item, known.at);
      if (pix === null) return null;
      if (pix.txid !== null && pix.txid.toLowerCase() !== cob.txid.toLowerCase()) {
        log.warn({ txid: cob.txid }, 'a charge lists a Pix that names another charge');
        continue;
      }
      received.push({ ...pix, txid: cob.txid });
    }
  }
  const beganAt = criacao ?? known.createdAt;
  const lifeSeconds = lifeOf(cob.calendario?.expiracao) ?? known.life;
  return {
    txid: cob.txid,
    amountCents,
    status: statusOf(cob.status),
    createdAt: beganAt ?? known.at,
    expiresAt:
      lastMomentOf(cob.calendario) ??
      (beganAt === undefined || lifeSeconds === undefined ? null : beganAt + lifeSeconds * 1000),
    copyPaste: copyPasteOf(cob, amountCents, { log, form }),
    ...shownTermsIn(cob as object),
    // No charge is paid before it is made: the clocks of a provider's machines differ by moments.
    received: received.map((pix) => ({ ...pix, paidAt: Math.max(pix.paidAt, beganAt ?? 0) })),
  };
}

/** In seconds; Efí's own samples write it as text. */
function lifeOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value;
  return Number.isSafeInteger(seconds) && (seconds as number) > 0 ? (seconds as number) : undefined;
}

const dayMs = 24 * 3_600_000;
/** Days of Brasília begin at three in the morning of UTC, without summer time since 2019. */
const brasiliaMs = 3 * 3_600_000;
/** A local holiday before the last day and one on it: which of them the payer's town keeps no one here knows. */
const localHolidays = 2;

/**
 * When a charge with a due date can certainly not be paid any more; null: it has none. A due date and a last day without work move to the next day with, at the
 * payer's place, so this is rather too late: a charge that counts as over and is paid all the same would be worse than one that waits.
 */
function lastMomentOf(
  calendar: { dataDeVencimento?: unknown; validadeAposVencimento?: unknown } | null | undefined,
): number | null {
  const { dataDeVencimento: due, validadeAposVencimento: valid } = calendar ?? {};
  const at = typeof due === 'string' && /^\d{4}-\d\d-\d\d$/.test(due) ? Date.parse(due) : Number.NaN;
  if (Number.isNaN(at)) return null;
  const days = valid === undefined ? 30 : Number(valid);
  if (!Number.isSafeInteger(days) || days < 0) return null;
  return afterWeekend(afterWeekend(at) + days * dayMs) + (1 + localHolidays) * dayMs + brasiliaMs;
}

/** The day itself, or Monday where it is of a weekend. */
function afterWeekend(at: number): number {
  const weekday = new Date(at).getUTCDay();
  return at + (weekday === 6 ? 2 : weekday === 0 ? 1 : 0) * dayMs;
}

/** A status that is not known leaves the charge as it is: nothing is paid, nothing has ended. */
function statusOf(status: string): ChargeReport['status'] {
  if (status === 'CONCLUIDA') return 'paid';
  // The specification spells it both ways, REMOVIDA in the list and REMOVIDO in the text.
  return /^REMOVID[AO]_PEL[AO]_/.test(status) ? 'removed' : 'open';
}

function copyPasteOf(
  cob: { location?: unknown; loc?: { location?: unknown } | null; [field: string]: unknown },
  amountCents: number,
  { log, form }: { log: Log; form: ApiPixForm },
): string | null {
  for (const field of form.codeFields) {
    const code = cob[field];
    if (typeof code === 'string' && code !== '' && Buffer.byteLength(code) <= longestCode) return code;
  }
  const location = [cob.location, cob.loc?.location].find((text) => typeof text === 'string' && text !== '');
  if (typeof location !== 'string') return null;
  try {
    // The payer's bank shows the name behind the location; the two fields must only not be empty.
    return buildBrCode({
      location,
      amount: reaisOf(amountCents),
      merchantName: 'RECEBEDOR',
      merchantCity: 'BRASILIA',
    });
  } catch (error) {
    log.warn({ err: error }, 'no code can be built from the location of a charge');
    return null;
  }
}

/**
 * Some providers have written local time with a `Z` behind it (bacen/pix-api issues 163 and 573): their charges seem to be three hours old at
 * birth, and one of less would expire at once. So where the creation lies three hours from our request, the charge counts from our
 * request, and what it received is moved by as much.
 *
 * A charge that is repeated under its id (after a restore) may really be three hours old. A provider writes all of its times alike: once one
 * of its charges was made at the time that it says, no other one is moved.
 */
function zoneOf(log: Log) {
  let isRight = false;
  function onOurClock(report: ChargeReport, requestedAt: number): ChargeReport {
    const driftMs = report.createdAt - requestedAt;
    if (Math.abs(driftMs) <= tenMinutes) {
      isRight = true;
      return report;
    }
    const wrongZone = !isRight && Math.abs(Math.abs(driftMs) - threeHours) <= clockSkewMs;
    log.warn({ txid: report.txid, driftMs, wrongZone }, "the provider's creation time is not ours");
    if (!wrongZone) return report;
    const expiresAt = report.expiresAt === null ? null : report.expiresAt - driftMs;
    const moved = (at: number): number => Math.max(requestedAt, at - Math.sign(driftMs) * threeHours);
    return {
      ...report,
      createdAt: requestedAt,
      expiresAt,
      received: report.received.map((pix) => ({
        ...pix,
        paidAt: moved(pix.paidAt),
        returns: pix.returns.map((back) => ({ ...back, at: moved(back.at) })),
      })),
    };
  }
  return {
    /** Of the answer to a creation. */
    ofNew: onOurClock,
    /** A charge is older than our request only by a wrong clock, but may well be younger: it may have been sent again. */
    ofKnown: (report: ChargeReport, requestedAt: number | undefined): ChargeReport =>
      requestedAt !== undefined && report.createdAt < requestedAt ? onOurClock(report, requestedAt) : report,
  };
}

/**
 * A Pix that came in, in a charge or in a webhook. Ids are opaque text: providers' samples have 26 to 31 characters
 * where the rule says 32. `at` stands in for a time that cannot be read.
 */
export function readReceived(item: unknown, at: number): ReceivedPix | null {
  const endToEnd = memberOf(item, 'endToEndId', 'e2eId');
  const valor = memberOf(item, 'valor');
  const amountCents = centsOf(memberOf(valor, 'original') ?? valor);
  if (typeof endToEnd !== 'string' || endToEnd === '' || amountCents === null) return null;
  const horario = memberOf(item, 'horario');
  const paidAt = timeOf(memberOf(horario, 'liquidacao') ?? horario) ?? at;
  const returns = readReturns(memberOf(item, 'devolucoes'), paidAt, 'pending');
  if (returns === null) return null;
  return {
    endToEnd,
    amountCents,
    paidAt,
    txid: nameOf(memberOf(item, 'txid')),
    returns,
    ...partsIn(memberOf(item, 'componentesValor')),
  };
}

/** `componentesValor`: that of an ordinary charge has the original amount alone, and says nothing. One that cannot be read says nothing either. */
function partsIn(value: unknown): { parts?: PaidParts } {
  const centsIn = (name: string): number | null => {
    const part = memberOf(value, name);
    return part === undefined || part === null ? 0 : centsOf(memberOf(part, 'valor') ?? part);
  };
  const original = centsIn('original');
  const [fine, interest, discount, rebate] = ['multa', 'juros', 'desconto', 'abatimento'].map(centsIn);
  if (!original || fine == null || interest == null || discount == null || rebate == null) return {};
  return {
    parts: {
      ...{ originalCents: original, fineCents: fine, interestCents: interest },
      ...{ discountCents: discount, rebateCents: rebate },
    },
  };
}

/**
 * `devolucoes`; null when one of them cannot be read. A status that is not known has moved nothing yet.
 * @param withoutStatus what an item without a status is. `Devolucao` of API Pix has one always. The items of Efí's sent Pix
 *   have none (`{rtrId, valor, horario}`, `PixSendDetailResponseSchema` of its SDK 2.0): there, what is listed has arrived
 */
export function readReturns(
  items: unknown,
  at: number,
  withoutStatus: PixReturn['status'],
): PixReturn[] | null {
  if (items == null) return [];
  if (!Array.isArray(items)) return null;
  const returns: PixReturn[] = [];
  for (const item of items) {
    const { id, rtrId, valor, horario, status } = (item ?? {}) as Record<string, unknown>;
    const names = { id: nameOf(id), rtrId: nameOf(rtrId) };
    const amountCents = centsOf(valor);
    if ((names.id === null && names.rtrId === null) || amountCents === null) return null;
    const times = (typeof horario === 'object' ? horario : { liquidacao: horario }) as {
      solicitacao?: unknown;
      liquidacao?: unknown;
    } | null;
    returns.push({
      ...names,
      amountCents,
      at: timeOf(times?.liquidacao) ?? timeOf(times?.solicitacao) ?? at,
      status: status === undefined ? withoutStatus : returnStatusOf(status),
    });
  }
  return returns;
}

const nameOf = (text: unknown): string | null => (typeof text === 'string' && text !== '' ? text : null);

function returnStatusOf(status: unknown): PixReturn['status'] {
  if (status === 'DEVOLVIDO') return 'settled';
  return status === 'NAO_REALIZADO' ? 'failed' : 'pending';
}

/** The list under `name`; null when there is none. */
export function arrayIn(body: unknown, name: string): unknown[] | null {
  const list = (body as Record<string, unknown> | null | undefined)?.[name];
  return Array.isArray(list) ? list : null;
}

/** A list of API Pix: under its name, or the one list of the answer where a bank names it otherwise. */
function listIn(body: unknown, name: string): unknown[] | null {
  if (Array.isArray(body)) return body;
  const named = arrayIn(body, name);
  if (named !== null || typeof body !== 'object' || body === null) return named;
  const lists = Object.values(body).filter(Array.isArray);
  return lists.length === 1 ? (lists[0] as unknown[]) : null;
}

/**
 * The Pix of a delivery: `{pix: [...]}`, and what banks have sent in its place: one Pix under `pix`, a list by itself, one Pix by itself. Null:
 * it has none of these.
 */
export function pixIn(body: unknown): unknown[] | null {
  if (Array.isArray(body)) return body;
  const pix = memberOf(body, 'pix');
  if (Array.isArray(pix)) return pix;
  if (typeof pix === 'object' && pix !== null) return [pix];
  return memberOf(body, 'endToEndId', 'e2eId') === undefined ? null : [body];
}

/** A delivery that has nothing to say: the call by which a provider tries our address. */
export const isTestCall = (body: unknown): boolean =>
  typeof body !== 'object' ||
  body === null ||
  Object.keys(body).length === 0 ||
  /teste?/i.test(String((body as { evento?: unknown }).evento));

/** A member under one of its names: as the specification writes it, or in other capitals (`txId`, `endtoendid`). */
export function memberOf(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const members = value as Record<string, unknown>;
  for (const name of names) if (members[name] !== undefined) return members[name];
  const small = new Set(names.map((name) => name.toLowerCase()));
  const found = Object.keys(members).find((name) => small.has(name.toLowerCase()));
  return found === undefined ? undefined : members[found];
}
