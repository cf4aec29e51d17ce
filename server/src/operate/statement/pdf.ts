import type { Readable } from 'node:stream';
import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
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
    what: 'Lançamento',
    amount: 'Valor (R$)',
    balance: 'Saldo (R$)',
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
    amount: 'Amount (R$)',
    balance: 'Balance (R$)',
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
  const { title, when, what, amount, balance, empty } = say;
  return {
    language,
    title,
    letterhead: facts.letterhead,
    page: say.page,
    owner: `${facts.accountName} · ${facts.operationName}`,
    period: say.period(dateOf(facts.fromMs), dateOf(facts.toMs - 1)),
    warning: facts.test ? say.test : null,
    columns: { when, what, amount, balance },
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
  for await (const lines of stretch.pages(journalsPerRead)) yield lines.map((line) => rowOf(line, facts));
}

const rowOf = (line: Line, { language, partyOf }: PdfFacts): TableRow => ({
  when: `${dateOf(line.at)} ${localTimeOf(line.at).slice(11, 19)}`,
  what: textsOf(line, language, partyOf).join(' · '),
  amountCents: line.amountCents,
  balanceCents: line.balanceCents,
  figure: figureOf(line),
});

/** `21/11/2026`, as Brazilians write it in either language. */
const dateOf = (ms: number): string => dayOf(ms).split('-').reverse().join('/');
