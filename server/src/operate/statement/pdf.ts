import type { Readable } from 'node:stream';
import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { priceOf } from '../../ground/money.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import type { Table, TableRow } from '../../ground/paper/table.ts';
import { figureOf } from './figures.ts';
import type { Line } from './line.ts';
import { dayOf, localTimeOf } from './period.ts';
import type { Names } from './statement.sql.ts';
import type { Stretch } from './statement.ts';
import { type PartyOf, textsOf } from './words.ts';

/** Whose statement it is and of which stretch of time, in ms since 1970. */
export interface PdfFacts extends Names {
  fromMs: number;
  toMs: number;
  language: Language;
  partyOf: PartyOf;
  letterhead: Letterhead | null;
}

const words = {
  'pt-BR': {
    title: 'Extrato',
    page: 'Página',
    period: (from: string, to: string) => `De ${from} a ${to} (horário de Brasília)`,
    when: 'Data',
    what: 'Histórico',
    document: 'Doc.',
    debit: 'Débito (R$)',
    credit: 'Crédito (R$)',
    balance: 'Saldo (R$)',
    fee: (amount: string) => `tarifa ${amount}`,
    withFee: (amount: string) => `inclui tarifa de ${amount}`,
    opening: 'Saldo inicial',
    closing: 'Saldo final',
    came: 'Entradas',
    went: 'Saídas',
    fees: 'Tarifas',
    refunds: 'Reembolsos',
    holds: 'Bloqueios',
    empty: 'Nenhum lançamento no período.',
    test: 'Conta de teste: nenhum dinheiro se move.',
  },
  en: {
    title: 'Statement',
    page: 'Page',
    period: (from: string, to: string) => `From ${from} to ${to} (Brasília time)`,
    when: 'Date',
    what: 'Entry',
    document: 'Doc.',
    debit: 'Debit (R$)',
    credit: 'Credit (R$)',
    balance: 'Balance (R$)',
    fee: (amount: string) => `fee ${amount}`,
    withFee: (amount: string) => `includes a fee of ${amount}`,
    opening: 'Opening balance',
    closing: 'Closing balance',
    came: 'In',
    went: 'Out',
    fees: 'Fees',
    refunds: 'Refunds',
    holds: 'Holds',
    empty: 'No entries in this period.',
    test: 'Test account: no money moves.',
  },
} as const;

/** Few enough that the texts of one page are some 2 ms of work: drawing them is the thread's. */
const journalsPerRead = 500;

/**
 * The statement for people: opening balance, a row for each line, totals, closing balance. A stream that the reader may give up.
 * @param accountId whose share of the drawings it takes
 * @throws ApiError `too_many_concurrent_requests`, `overloaded`
 */
export const statementPdf = (
  papers: Papers,
  accountId: string,
  stretch: Stretch,
  facts: PdfFacts,
): Promise<Readable> => papers.table(accountId, tableOf(stretch, facts), rowsOf(stretch, facts));

function tableOf({ opening, closing }: Stretch, facts: PdfFacts): Table {
  const { language } = facts;
  const say = words[language];
  const { title, when, what, document, debit, credit, balance, empty } = say;
  return {
    language,
    title,
    letterhead: facts.letterhead,
    page: say.page,
    owner: `${facts.accountName} · ${facts.operationName}`,
    period: say.period(dateOf(facts.fromMs), dateOf(facts.toMs - 1)),
    warning: facts.test ? say.test : null,
    columns: { when, what, document, debit, credit, balance },
    opening: { label: say.opening, cents: opening.balanceCents },
    closing: { label: say.closing, cents: closing.balanceCents },
    empty,
    sums: {
      inCents: say.came,
      outCents: say.went,
      feeCents: say.fees,
      refundCents: say.refunds,
      holdCents: say.holds,
    },
  };
}

async function* rowsOf(stretch: Stretch, facts: PdfFacts): AsyncGenerator<TableRow[]> {
  for await (const lines of stretch.pages(journalsPerRead))
    yield withFees(lines).map(([line, fee]) => rowOf(line, fee, facts));
}

/** Each line with the fee that stands beside it: it is a part of the debit or the credit, so that each balance follows from the one before. Pure. */
export function withFees(lines: readonly Line[]): [line: Line, fee: Line | null][] {
  const rows: [Line, Line | null][] = [];
  for (const line of lines) {
    const last = rows.at(-1);
    if (last && last[1] === null && line.id === `${last[0].id}-fee`) last[1] = line;
    else rows.push([line, null]);
  }
  return rows;
}

function rowOf(line: Line, fee: Line | null, { language, partyOf }: PdfFacts): TableRow {
  const parts = fee === null ? [line] : [line, fee];
  const texts = textsOf(line, language, partyOf);
  if (fee !== null) {
    const { fee: beside, withFee } = words[language];
    const isPart = fee.amountCents * line.amountCents > 0;
    // The amount stays on one line with its sign.
    const amount = priceOf(Math.abs(fee.amountCents)).replace(' ', '\u00a0');
    texts.push((isPart ? withFee : beside)(amount));
  }
  const sumOf = (bounded: (cents: number) => number) =>
    parts.reduce((sum, { amountCents }) => sum + bounded(amountCents), 0);
  return {
    when: `${dateOf(line.at)} ${localTimeOf(line.at).slice(11, 16)}`,
    what: texts.join(' · '),
    document: String(line.seq),
    debitCents: sumOf((cents) => Math.min(cents, 0)),
    creditCents: sumOf((cents) => Math.max(cents, 0)),
    balanceCents: (fee ?? line).balanceCents,
    figures: parts.map((part) => [figureOf(part), part.amountCents]),
  };
}

/** `21/11/2026`, as Brazilians write it in either language. */
const dateOf = (ms: number): string => dayOf(ms).split('-').reverse().join('/');
