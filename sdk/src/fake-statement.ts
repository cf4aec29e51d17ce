import {
  type Answer,
  dayMs,
  type FileAnswer,
  hourMs,
  invalid,
  isoNow,
  pageOf,
  type Received,
  type State,
  type Stored,
} from './fake-state.ts';
import type { StatementLine } from './types.ts';

/** A movement: its number, the balance, and the lines of the statement that say so. Some, as a completion, change no balance. */
export function post(
  state: State,
  payment: Stored,
  movement: readonly (readonly [kind: string, amountCents: number])[],
): void {
  const { operationId } = payment;
  const operation = state.operations.find((each) => each.id === operationId);
  if (!operation) throw new Error(`there is no operation ${operationId}`);
  const seq = (state.moved.get(operationId) ?? 0) + 1;
  state.moved.set(operationId, seq);
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

type Line = StatementLine;
type Period = { fromMs: number | null; toMs: number | null };

/** What a file or a page of a period tells. */
interface Stretch {
  lines: Line[];
  openingBalanceCents: number;
  closingBalanceCents: number;
}

/** Lines of a period, oldest first, with the balances at its ends. */
export function listStatement(state: State, received: Received): Answer {
  const { lines, ...balances } = stretchOf(state, received, periodOf(received.query));
  const { items, ...rest } = pageOf(lines, received.query);
  return { status: 200, body: { lines: items, ...balances, ...rest } };
}

function stretchOf(state: State, { operation }: Received, { fromMs, toMs }: Period): Stretch {
  const lines = state.lines
    .filter(({ operationId }) => operationId === operation.id)
    .map(({ line }) => ({
      ...line,
      endToEnd: state.payments.find(({ id }) => id === line.paymentId)?.endToEnd ?? null,
    }));
  const before = lines.filter(({ at }) => fromMs !== null && Date.parse(at) < fromMs);
  const fits = lines.slice(before.length).filter(({ at }) => toMs === null || Date.parse(at) < toMs);
  const first = fits[0] ?? lines[before.length];
  const openingBalanceCents = first ? first.balanceCents - first.amountCents : operation.balanceCents;
  const closingBalanceCents = fits.at(-1)?.balanceCents ?? openingBalanceCents;
  return { lines: fits, openingBalanceCents, closingBalanceCents };
}

function periodOf(query: URLSearchParams): Period {
  const period = { fromMs: boundOf(query, 'from', 0), toMs: boundOf(query, 'to', dayMs) };
  if (period.fromMs !== null && period.toMs !== null && period.toMs <= period.fromMs)
    throw invalid('to', 'not_after_from');
  return period;
}

/** A time, or a day of São Paulo from its beginning, and `addMs` later. */
function boundOf(query: URLSearchParams, field: string, addMs: number): number | null {
  const text = query.get(field);
  if (text === null) return null;
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00-03:00`) + addMs : Date.parse(text);
  if (Number.isNaN(ms)) throw invalid(field, 'not_a_day_or_time');
  return ms;
}

/** Of a file: without `from` the month in São Paulo that holds the last moment of the period. */
function withinMonth({ fromMs, toMs }: Period): Period & { fromMs: number } {
  const lastMs = toMs === null ? Date.now() : toMs - 1;
  return { fromMs: fromMs ?? Date.parse(`${localTimeOf(lastMs).slice(0, 7)}-01T00:00:00-03:00`), toMs };
}

/** `2026-11-21T23:15:00.123-03:00`: São Paulo has had no summer time since 2019. */
const localTimeOf = (ms: number): string => `${new Date(ms - 3 * hourMs).toISOString().slice(0, -1)}-03:00`;

export function statementFile(state: State, received: Received): FileAnswer {
  const period = withinMonth(periodOf(received.query));
  const stretch = stretchOf(state, received, period);
  switch (received.ids[0]) {
    case 'csv':
      return { type: 'text/csv; charset=utf-8', content: csvOf(stretch, received.query) };
    case 'ofx':
      return { type: 'application/x-ofx', content: ofxOf(stretch, received.operation.id, period) };
    default:
      return { type: 'application/pdf', content: pdfOf(stretch) };
  }
}

const reais = (cents: number, decimal = '.'): string => {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}${decimal}${digits.slice(-2)}`;
};

/** RFC 4180, as the service writes it. */
function csvOf({ lines }: Stretch, query: URLSearchParams): string {
  const separator = query.get('separator') === 'semicolon' ? ';' : ',';
  const amount = (cents: number): string => reais(cents, separator === ';' ? ',' : '.');
  const cell = (text: string | null): string => {
    const safe = /^[=+\-@\t\r]/.test(text ?? '') ? `'${text}` : (text ?? '');
    return /["\r\n]/.test(safe) || safe.includes(separator) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const rows = lines.map((line) => [
    ...[line.id, String(line.seq), localTimeOf(Date.parse(line.at)), line.kind, line.paymentId].map(cell),
    ...[line.payerName, line.description, line.endToEnd, line.requestKey].map(cell),
    amount(line.amountCents),
    amount(line.balanceCents),
    cell(line.metadata ? JSON.stringify(line.metadata) : null),
  ]);
  const head =
    'id,seq,at,kind,paymentId,payerName,description,endToEnd,requestKey,amount,balance,metadata'.split(',');
  const text = [head, ...rows].map((row) => `${row.join(separator)}\r\n`).join('');
  return query.get('bom') === 'yes' ? `\ufeff${text}` : text;
}

/** What files call a line. */
const kindWords: Record<string, string> = {
  charge: 'Pix received',
  transfer: 'Pix sent',
  transfer_fee: 'Transfer fee',
  transfer_cancelled: 'Pix not sent: amount back',
  transfer_fee_cancelled: 'Pix not sent: fee back',
  refund: 'Refund of a Pix received',
  transfer_returned: 'Sent Pix returned',
  debit: 'Debit by the provider (return or MED)',
  hold: 'Administrative hold',
  hold_released: 'Hold released',
};

/** OFX 1.0.2, SGML, as the service writes it. */
function ofxOf(
  { lines, closingBalanceCents }: Stretch,
  operationId: string,
  { fromMs, toMs }: Period & { fromMs: number },
): string {
  const time = (ms: number): string => `${localTimeOf(ms).replaceAll(/[-T:]/g, '').slice(0, 14)}[-3:BRT]`;
  const endMs = Math.max(Math.min(toMs ?? Date.now(), Date.now()), fromMs);
  const status = '<STATUS>|<CODE>0|<SEVERITY>INFO|</STATUS>';
  const transactions = lines.map((line) => {
    const type = line.kind === 'transfer_fee' ? 'FEE' : line.amountCents < 0 ? 'DEBIT' : 'CREDIT';
    const about = /_fee|^hold$/.test(line.kind) ? [] : [line.payerName, line.description];
    const name = kindWords[line.kind] ?? line.kind;
    const memo = [name, ...about].filter(Boolean).join(' - ');
    const reference = line.paymentId === null ? '' : `<REFNUM>${line.paymentId.replaceAll('-', '')}|`;
    return `<STMTTRN>|<TRNTYPE>${type}|<DTPOSTED>${time(Date.parse(line.at))}|<TRNAMT>${reais(line.amountCents)}|<FITID>${line.id}|${reference}<NAME>${plain(name, 32)}|<MEMO>${plain(memo, 255)}|</STMTTRN>|`;
  });
  return [
    'OFXHEADER:100|DATA:OFXSGML|VERSION:102|SECURITY:NONE|ENCODING:USASCII|CHARSET:1252|COMPRESSION:NONE|',
    'OLDFILEUID:NONE|NEWFILEUID:NONE||<OFX>|<SIGNONMSGSRSV1>|<SONRS>|',
    `${status}|<DTSERVER>${time(Date.now())}|<LANGUAGE>ENG|<FI>|<ORG>vintem|<FID>0|</FI>|</SONRS>|`,
    `</SIGNONMSGSRSV1>|<BANKMSGSRSV1>|<STMTTRNRS>|<TRNUID>0|${status}|<STMTRS>|<CURDEF>BRL|<BANKACCTFROM>|`,
    `<BANKID>000|<ACCTID>${operationId.replaceAll('-', '').slice(-22)}|<ACCTTYPE>CHECKING|</BANKACCTFROM>|`,
    `<BANKTRANLIST>|<DTSTART>${time(fromMs)}|<DTEND>${time(endMs)}|`,
    ...transactions,
    `</BANKTRANLIST>|<LEDGERBAL>|<BALAMT>${reais(closingBalanceCents)}|<DTASOF>${time(endMs)}|</LEDGERBAL>|`,
    '</STMTRS>|</STMTTRNRS>|</BANKMSGSRSV1>|</OFX>|',
  ]
    .join('')
    .replaceAll('|', '\r\n');
}

/** ASCII without accents and without the sign that stands for the end of a line above. */
const plain = (text: string, most: number): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7b\x7d\x7e]/gu, '?')
    .slice(0, most)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

/** One page with a row for each line: a PDF that opens, and not the service's layout. */
function pdfOf({ lines, closingBalanceCents }: Stretch): string {
  const rows = [
    ...lines.map(({ at, kind, amountCents }) => `${at}  ${kind}  ${reais(amountCents)}`),
    `balance ${reais(closingBalanceCents)}`,
  ];
  const drawn = `BT /F1 9 Tf 40 800 Td 12 TL ${rows.map((row) => `(${row}) Tj T*`).join(' ')} ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${drawn.length}>>stream\n${drawn}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, n) => {
    const place = text.length;
    text += `${n + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  return `${text}xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
}
