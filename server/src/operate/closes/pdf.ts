import type { Language } from '../../ground/errors.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import { amountText } from '../../ground/money.ts';
import type { Grid, GridRow } from '../../ground/paper/grid.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { type Figures, withFigures } from '../statement/figures.ts';
import type { DayClose } from './closes.sql.ts';

/** The closed days of a month in one operation, the oldest first. */
export interface ClosedMonth {
  operationName: string;
  closes: readonly DayClose[];
}

export interface ClosesFacts {
  accountName: string;
  /** Test account: no money moves. */
  test: boolean;
  /** `2026-11` */
  month: string;
  language: Language;
  letterhead: Letterhead | null;
}

const words = {
  'pt-BR': {
    title: 'Fechamentos',
    page: 'Página',
    period: (month: string) => `Mês ${month} (dias de São Paulo), em reais`,
    columns: [
      ...['Dia', 'Saldo inicial', 'Entradas', 'Saídas', 'Tarifas'],
      ...['Reembolsos', 'Bloqueios', 'Saldo final'],
    ],
    sum: 'Soma',
    all: 'Todas as operações',
    empty: 'Nenhum dia fechado neste mês.',
    test: 'Conta de teste: nenhum dinheiro se move.',
  },
  en: {
    title: 'Closes',
    page: 'Page',
    period: (month: string) => `Month ${month} (days of São Paulo), in reais`,
    columns: ['Day', 'Opening', 'In', 'Out', 'Fees', 'Refunds', 'Holds', 'Closing'],
    sum: 'Sum',
    all: 'All operations',
    empty: 'No closed day in this month.',
    test: 'Test account: no money moves.',
  },
} as const;

/** @throws ApiError `too_many_concurrent_requests`, `overloaded` */
export const closesPdf = (
  papers: Papers,
  accountId: string,
  months: readonly ClosedMonth[],
  facts: ClosesFacts,
): Promise<Buffer> => papers.grid(accountId, gridOf(months, facts));

/** A day for each line with the sum of each operation, and of all where there are several. Pure. */
export function gridOf(months: readonly ClosedMonth[], facts: ClosesFacts): Grid {
  const say = words[facts.language];
  const closed = months.filter(({ closes }) => closes.length > 0);
  const sums = closed.map(({ closes }) => sumOf(closes));
  const [year, number] = facts.month.split('-');
  return {
    language: facts.language,
    title: say.title,
    letterhead: facts.letterhead,
    page: say.page,
    owner: closed.length === 1 ? `${facts.accountName} · ${closed[0]?.operationName}` : facts.accountName,
    period: say.period(facts.language === 'en' ? facts.month : `${number}/${year}`),
    warning: facts.test ? say.test : null,
    columns: say.columns,
    groups: [
      ...closed.map(({ operationName, closes }) => ({
        title: closed.length === 1 ? null : operationName,
        rows: [
          ...closes.map((close) => rowOf(close.day.split('-').reverse().join('/'), close, false)),
          rowOf(say.sum, sumOf(closes), true),
        ],
      })),
      ...(closed.length > 1 ? [{ title: say.all, rows: [rowOf(say.sum, sums.reduce(together), true)] }] : []),
    ],
    empty: say.empty,
  };
}

type ClosedFigures = Figures & Pick<DayClose, 'openingCents' | 'closingCents'>;

const together = (one: ClosedFigures, other: ClosedFigures): ClosedFigures => ({
  ...withFigures(one, other),
  openingCents: one.openingCents + other.openingCents,
  closingCents: one.closingCents + other.closingCents,
});

/** A stretch begins with the opening of its first day and ends with the closing of its last. */
const sumOf = (closes: readonly ClosedFigures[]): ClosedFigures => ({
  ...closes.reduce(together),
  openingCents: closes[0]?.openingCents ?? 0,
  closingCents: closes.at(-1)?.closingCents ?? 0,
});

/** With the sign by which each figure changes the balance. */
const rowOf = (name: string, figures: ClosedFigures, strong: boolean): GridRow => ({
  cells: [
    name,
    ...[figures.openingCents, figures.inCents].map(amountText),
    ...[figures.outCents, figures.feeCents, figures.refundCents, figures.holdCents].map((cents) =>
      amountText(0 - cents),
    ),
    amountText(figures.closingCents),
  ],
  strong,
});
