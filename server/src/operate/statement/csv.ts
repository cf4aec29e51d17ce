import { type Cell, type CsvForm, csvLine } from '../../ground/csv.ts';
import { textOfDocuments } from '../../money/fiscal-documents.ts';
import type { Line } from './line.ts';
import { localTimeOf } from './period.ts';
import type { Stretch } from './statement.ts';

const columns = [
  'id',
  'seq',
  'at',
  'kind',
  'paymentId',
  'payerName',
  'description',
  'endToEnd',
  'requestKey',
  'amount',
  'balance',
  'metadata',
  'cause',
  'fiscalDocuments',
];

const rowOf = ({ id, seq, at, kind, payment, cause, amountCents, balanceCents }: Line): Cell[] => [
  id,
  String(seq),
  localTimeOf(at),
  kind,
  payment?.id ?? null,
  payment?.payerName ?? null,
  payment?.description ?? null,
  payment?.endToEnd ?? null,
  payment?.requestKey ?? null,
  { cents: amountCents },
  { cents: balanceCents },
  payment?.metadata ? JSON.stringify(payment.metadata) : null,
  cause,
  textOfDocuments(payment?.fiscalDocuments),
];

/** Amounts in reais with two decimals, times in São Paulo with their offset. */
export async function* csvOf(stretch: Stretch, form: CsvForm, bom: boolean): AsyncGenerator<string> {
  yield `${bom ? '\ufeff' : ''}${csvLine(columns, form)}`;
  for await (const lines of stretch.pages(500))
    yield lines.map((line) => csvLine(rowOf(line), form)).join('');
}
