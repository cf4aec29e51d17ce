import { type EntrySum, type Line, type LineKind, linesOf } from './line.ts';

/**
 * The figures of a stretch of lines: the one definition that statement, home, closes and files use.
 *
 * The lines of the stretch add up to them. What goes back to where it came from is taken off its own figure: a cancelled transfer off
 * `out`, a failed refund off `refunds`, a fee that a refund brings back off `fees`, a released hold off `holds`. So a day with more
 * cancelled than sent transfers has an `out` below zero. A disputed amount that the provider takes leaves `holds` and is in `out`.
 */
export interface Figures {
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
}

/** Fees of transfers that were set aside and given back: the journal of a reserve does not split its gross. */
export interface TransferFees {
  reservedCents: number;
  releasedCents: number;
}

export const figureNames = ['inCents', 'outCents', 'feeCents', 'refundCents', 'holdCents'] as const;

export type Figure = (typeof figureNames)[number];

/** Where a line counts; corrections count by their sign. */
const figureOfKind: Record<Exclude<LineKind, 'correction'>, Figure> = {
  charge: 'inCents',
  unexpected_payment: 'inCents',
  transfer_returned: 'inCents',
  debt_forgiven: 'inCents',
  transfer: 'outCents',
  transfer_cancelled: 'outCents',
  debit: 'outCents',
  debit_returned: 'inCents',
  charge_fee: 'feeCents',
  charge_fee_back: 'feeCents',
  transfer_fee: 'feeCents',
  transfer_fee_cancelled: 'feeCents',
  refund: 'refundCents',
  refund_failed: 'refundCents',
  hold: 'holdCents',
  hold_released: 'holdCents',
};

export const figureOf = ({ kind, amountCents }: Pick<Line, 'kind' | 'amountCents'>): Figure =>
  kind === 'correction' ? (amountCents > 0 ? 'inCents' : 'outCents') : figureOfKind[kind];

/** With these lines. */
export function withLines(before: Figures, lines: readonly Pick<Line, 'kind' | 'amountCents'>[]): Figures {
  const figures = { ...before };
  for (const line of lines) {
    const figure = figureOf(line);
    figures[figure] += figure === 'inCents' ? line.amountCents : 0 - line.amountCents;
  }
  return figures;
}

/** Of two stretches together. */
export const withFigures = (one: Figures, other: Figures): Figures => ({
  inCents: one.inCents + other.inCents,
  outCents: one.outCents + other.outCents,
  feeCents: one.feeCents + other.feeCents,
  refundCents: one.refundCents + other.refundCents,
  holdCents: one.holdCents + other.holdCents,
});

export const noFigures: Figures = { inCents: 0, outCents: 0, feeCents: 0, refundCents: 0, holdCents: 0 };

/**
 * Journals whose parts have the same signs have the lines of their sum, so that a stretch is summed up in the database by the rule that
 * splits a journal here.
 * @param sums as the statement groups them: by movement and signs
 */
export function figuresOf(sums: readonly EntrySum[], fees: TransferFees): Figures {
  const unused = { seq: 0, postedAt: 0, availableAfter: 0, receivableAfter: 0, payment: null, hold: null };
  const figures = withLines(
    noFigures,
    sums.flatMap((sum) => linesOf({ ...sum, ...unused })),
  );
  const feeCents = fees.reservedCents - fees.releasedCents;
  return { ...figures, outCents: figures.outCents - feeCents, feeCents: figures.feeCents + feeCents };
}

/** The change of a balance by the figures. */
export const changeOf = (figures: Figures): number =>
  figures.inCents - figures.outCents - figures.feeCents - figures.refundCents - figures.holdCents;
