import { centsOf, signedCentsOf } from '../../ground/money.ts';
import type { Clock } from '../../ports/clock.ts';
import { saysNotFound } from '../bacen.ts';
import type { Bucket } from '../diagnosis.ts';
import { type Exchange, failureOf, isSuccess, type Reply, unclear } from '../exchange.ts';
import type {
  DayReportOutcome,
  ListOutcome,
  ListWindow,
  PayoutReport,
  Provider,
  ProviderBalance,
  ProviderCost,
  ReceivedPix,
  ReportedReturn,
  StatementLine,
} from '../provider.ts';
import { costOfPix } from '../provider.ts';

/**
 * Efí's views of an account as a whole. There is no statement by API, only the lists of received and sent Pix,
 * the balance, and an asynchronous report of a day that is over (dev.efipay.com.br, endpoints-exclusivos-efi).
 */

/** A Pix that left the account, by whatever way it was sent. */
export interface Sent {
  endToEnd: string;
  amountCents: number;
  at: number;
  completed: boolean;
  /** Null when it carries no id of a client. */
  payout: PayoutReport | null;
}

interface Lists {
  listReceived(window: ListWindow): Promise<ListOutcome<ReceivedPix>>;
  listSent(window: ListWindow): Promise<ListOutcome<Sent>>;
}

/** The union of both lists. It is whole only when both are. */
export async function statementOf(
  window: ListWindow,
  { listReceived, listSent }: Lists,
): Promise<ListOutcome<StatementLine>> {
  const received = await listReceived(window);
  if (received.outcome !== 'listed') return received;
  const inLines = received.reports.flatMap(linesOfReceived);
  if (!received.complete && window.wholeOnly) return { ...received, reports: inLines };
  const sent = await listSent(window);
  if (sent.outcome !== 'listed') return sent;
  const reports = [...inLines, ...sent.reports.flatMap(linesOfSent)];
  const unread = [...received.unread, ...sent.unread];
  if (received.complete && sent.complete) return { outcome: 'listed', reports, unread, complete: true };
  const parts = Math.max(received.complete ? 0 : received.parts, sent.complete ? 0 : sent.parts);
  return { outcome: 'listed', reports, unread, complete: false, parts };
}

export function linesOfReceived({
  endToEnd,
  amountCents,
  paidAt,
  txid,
  returns,
}: ReceivedPix): StatementLine[] {
  return [
    { id: endToEnd, rtrId: null, at: paidAt, kind: 'received', amountCents, endToEnd, providerId: txid },
    ...returnLines('debited', endToEnd, txid, returns),
  ];
}

function linesOfSent({ endToEnd, amountCents, at, completed, payout }: Sent): StatementLine[] {
  if (!completed) return [];
  const providerId = payout?.providerId ?? null;
  return [
    { id: endToEnd, rtrId: null, at, kind: 'sent', amountCents, endToEnd, providerId },
    ...returnLines('returned', endToEnd, providerId, payout?.returns ?? []),
  ];
}

const returnLines = (
  kind: 'returned' | 'debited',
  endToEnd: string,
  providerId: string | null,
  returns: ReceivedPix['returns'],
): StatementLine[] =>
  returns
    .filter(({ status }) => status === 'settled')
    .map(({ id, rtrId, at, amountCents }) => ({
      id: id ?? rtrId ?? endToEnd,
      rtrId,
      at,
      kind,
      amountCents,
      endToEnd,
      providerId,
    }));

export function dayReports(
  exchange: Exchange,
  clock: Clock,
): Pick<Provider, 'requestDayReport' | 'readDayReport'> {
  return {
    async requestDayReport(day) {
      const reply = await exchange({
        method: 'POST',
        path: '/v2/gn/relatorios/extrato-conciliacao',
        // Returns and costs: everything else is in the lists.
        body: { dataMovimento: day, tipoRegistros: reportedKinds },
      });
      if (reply.kind === 'answer' && isSuccess(reply.status)) {
        const id = (reply.body as { id?: unknown } | null | undefined)?.id;
        if (typeof id === 'string' && id !== '') return { outcome: 'requested', reportId: id };
      }
      return unclear(reply, clock);
    },

    async readDayReport(reportId) {
      const reply = await exchange({
        method: 'GET',
        path: `/v2/gn/relatorios/${encodeURIComponent(reportId)}`,
      });
      return reportOutcome(reply, clock);
    },
  };
}

const reportedKinds = {
  estornoPixEnviado: true,
  pixDevolucaoEnviada: true,
  pixDevolucaoRecebida: true,
  tarifaPixRecebido: true,
  tarifaPixEnviado: true,
  estornoTarifaPixRecebido: true,
  estornoTarifaPixEnviado: true,
};

function reportOutcome(reply: Reply, clock: Clock): DayReportOutcome {
  if (reply.kind !== 'answer') return unclear(reply, clock);
  if (saysNotFound(reply.status, reply.body)) return { outcome: 'notFound' };
  if (!isSuccess(reply.status)) return unclear(reply, clock);
  const { status } = (reply.body ?? {}) as { status?: unknown };
  if (status === 'AGUARDANDO_PROCESSAMENTO' || status === 'EM_PROCESSAMENTO') return { outcome: 'pending' };
  const read = readReport(reply.text);
  return read === null ? unclear(reply, clock) : { outcome: 'ready', ...read };
}

/** Header, totals, received Pix: records that are known to name neither a return nor a cost. */
const otherRecords = new Set(['CA', 'T', 'PR']);
/**
 * The costs of the Pix of an account, and those that were given back: `kind;account;end-to-end id;amount;time`. Efí publishes `TPR`; the other
 * three follow its names of the kinds (`tarifaPixEnviado`, `estornoTarifa…`).
 */
const costRecords = {
  TPR: { of: 'received', sign: 1 },
  TPE: { of: 'sent', sign: 1 },
  ETPR: { of: 'received back', sign: -1 },
  ETPE: { of: 'sent back', sign: -1 },
} as const;
/** BCB, manual of the SPI: `E` or `D`, the participant's ISPB, a time, and what the participant likes. Samples are shorter than 32. */
const pixId = /^E[0-9A-Z]{8}[0-9A-Za-z]{12,23}$/;
const returnId = /^D[0-9A-Z]{8}[0-9A-Za-z]{12,23}$/;

/**
 * The CSV of a day, layout 4.0: `;` between fields, the kind of record first, a `CA` record at its head. Efí publishes the places of
 * fields for received Pix and fees only, so returns are known by the forms of their ids, wherever these stand.
 * @returns null when it is no report
 */
export function readReport(
  text: string,
): { returns: ReportedReturn[]; costs: ProviderCost[]; unreadable: number } | null {
  const records = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (!/^\uFEFF?\s*CA;/.test(records[0] ?? '')) return null;
  const returns: ReportedReturn[] = [];
  const costs: ProviderCost[] = [];
  let unreadable = 0;
  for (const record of records.slice(1)) {
    const [kind = '', ...fields] = record.split(';').map((field) => field.trim());
    if (otherRecords.has(kind)) continue;
    if (Object.hasOwn(costRecords, kind)) {
      const cost = costOf(kind as keyof typeof costRecords, fields);
      if (cost === null) unreadable++;
      else costs.push(cost);
      continue;
    }
    const endToEnd = fields.find((field) => pixId.test(field)) ?? null;
    const rtrId = fields.find((field) => returnId.test(field)) ?? null;
    const id = rtrId ?? endToEnd;
    if (id === null) unreadable++;
    else returns.push({ id, rtrId, endToEnd, amountCents: amountOf(fields) });
  }
  return { returns, costs, unreadable };
}

function costOf(kind: keyof typeof costRecords, fields: readonly string[]): ProviderCost | null {
  const { of, sign } = costRecords[kind];
  const endToEnd = fields.find((field) => pixId.test(field));
  const amountCents = amountOf(fields);
  const at = Date.parse(fields.at(-1) ?? '');
  if (endToEnd === undefined || amountCents === null || Number.isNaN(at)) return null;
  return { reference: costOfPix(of, endToEnd), amountCents: sign * amountCents, at };
}

function amountOf(fields: readonly string[]): number | null {
  const amount = fields.find((field) => /^\d+[.,]\d\d$/.test(field));
  return amount === undefined ? null : centsOf(amount.replace(',', '.'));
}

export const balanceCall = { method: 'GET', path: '/v2/gn/saldo?bloqueios=true' } as const;

/** @throws Error when it is not known */
export async function balanceOf(exchange: Exchange, clock: Clock): Promise<ProviderBalance> {
  const reply = await exchange(balanceCall);
  const balance = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
  if (balance === null) throw failureOf('no balance', reply, clock);
  return balance;
}

/** `saldo`, and `bloqueios` where they were asked for; null when there is no balance. */
export function readBalance(body: unknown): ProviderBalance | null {
  const { saldo, bloqueios } = (body ?? {}) as {
    saldo?: unknown;
    bloqueios?: Record<string, unknown> | null;
  };
  // Below zero where a blocked amount was taken.
  const availableCents = signedCentsOf(saldo);
  if (availableCents === null) return null;
  const judicialCents = centsOf(bloqueios?.judicial);
  const medCents = centsOf(bloqueios?.med);
  const totalCents = centsOf(bloqueios?.total);
  const isWhole = judicialCents !== null && medCents !== null && totalCents !== null;
  // "Blocked money is in the account": `saldo` holds it too.
  return {
    availableCents,
    totalCents: availableCents,
    blocked: isWhole ? { judicialCents, medCents, totalCents } : null,
  };
}

/** `baldeA` (documents and random keys) and `baldeB` (phones and e-mails) of `GET /v2/gn/chaves/balde`; null when one cannot be read. */
export function readBuckets(body: unknown): Bucket[] | null {
  const { baldeA, baldeB } = (body ?? {}) as { baldeA?: unknown; baldeB?: unknown };
  const buckets = [baldeA, baldeB].map(readBucket);
  return buckets.every((bucket) => bucket !== null) ? buckets : null;
}

function readBucket(item: unknown): Bucket | null {
  const { tiposChave, capacidade, fichasDisponiveis, taxaDeReposicaoFichas, periodoReposicaoEmSegundos } =
    (item ?? {}) as Record<string, unknown>;
  const [left, capacity, refill, seconds] = [
    fichasDisponiveis,
    capacidade,
    taxaDeReposicaoFichas,
    periodoReposicaoEmSegundos,
  ].map((value) => (typeof value === 'number' && Number.isFinite(value) ? value : null));
  if (left == null || capacity == null || refill == null || seconds == null || seconds <= 0) return null;
  const name = Array.isArray(tiposChave) ? tiposChave.join(', ') : '';
  return { name, left, capacity, least: 1, perMinute: (refill * 60) / seconds };
}
