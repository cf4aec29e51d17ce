import { type EntrySum, type LineKind, linesOf } from '../statement/line.ts';
import { dayOf, startOfDay } from '../statement/period.ts';

/**
 * The rules of the daily close. Pure.
 *
 * **A day is São Paulo's.** A close holds the journals after the last close's `closing_seq` up to the last one that was posted before the
 * day's end. What is posted later, whatever it is about, is in the next day: a closed day never changes.
 *
 * **The figures follow the statement's lines**, so a close is what the lines of its day add up to. What goes back to where it came from is
 * taken off its own figure: a cancelled transfer off `out`, a failed refund off `refunds`, a fee that a refund brings back off `fees`, a released hold off `holds`. So a day with more
 * cancelled than sent transfers has an `out` below zero.
 */
export interface DayFigures {
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

type Figure = keyof DayFigures;

/** Where a line counts; corrections count by their sign. */
const figureOf: Record<Exclude<LineKind, 'correction'>, Figure> = {
  charge: 'inCents',
  unexpected_payment: 'inCents',
  transfer_returned: 'inCents',
  debt_forgiven: 'inCents',
  transfer: 'outCents',
  transfer_cancelled: 'outCents',
  debit: 'outCents',
  charge_fee: 'feeCents',
  charge_fee_back: 'feeCents',
  transfer_fee: 'feeCents',
  transfer_fee_cancelled: 'feeCents',
  refund: 'refundCents',
  refund_failed: 'refundCents',
  hold: 'holdCents',
  hold_released: 'holdCents',
};

/** @param sums as the statement groups them: by movement and signs */
export function figuresOf(sums: readonly EntrySum[], fees: TransferFees): DayFigures {
  const figures: DayFigures = { inCents: 0, outCents: 0, feeCents: 0, refundCents: 0, holdCents: 0 };
  const unused = { seq: 0, postedAt: 0, availableAfter: 0, receivableAfter: 0, payment: null };
  for (const { kind, amountCents } of sums.flatMap((sum) => linesOf({ ...sum, ...unused }))) {
    const figure = kind === 'correction' ? (amountCents > 0 ? 'inCents' : 'outCents') : figureOf[kind];
    figures[figure] += figure === 'inCents' ? amountCents : -amountCents;
  }
  const feeCents = fees.reservedCents - fees.releasedCents;
  return { ...figures, outCents: figures.outCents - feeCents, feeCents: figures.feeCents + feeCents };
}

/** The change of a balance by the figures. */
export const changeOf = (figures: DayFigures): number =>
  figures.inCents - figures.outCents - figures.feeCents - figures.refundCents - figures.holdCents;

export const startsAt = (day: string): number => startOfDay(day);
export const endsAt = (day: string): number => startOfDay(day, 1);
export const dayAfter = (day: string): string => dayOf(endsAt(day));
export const dayBefore = (day: string): string => dayOf(startsAt(day) - 1);
