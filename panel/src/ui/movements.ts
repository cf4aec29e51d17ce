import { money } from '../format.ts';
import type { Words } from '../text/pt.ts';
import type { Names } from './names.tsx';

/** A line of the statement. */
export interface Line {
  id: string;
  operationId: string;
  at: string;
  kind: string;
  cause: string | null;
  reason: string | null;
  amountCents: number;
  balanceCents: number;
  paymentId: string | null;
  payment: Names | null;
}

export interface Row extends Line {
  /** Of the movement; null: the line has none, or is one. */
  feeCents: number | null;
}

/** A fee stands on the line of its Pix. Debit, credit and balance are those of both, so that each balance follows from the one before. */
export function folded(lines: readonly Line[]): Row[] {
  const rows: Row[] = [];
  for (const line of lines) {
    const fee = rows.at(-1);
    if (fee && fee.id === `${line.id}-fee` && fee.operationId === line.operationId) {
      rows.pop();
      rows.push({ ...line, balanceCents: fee.balanceCents, feeCents: fee.amountCents });
    } else rows.push({ ...line, feeCents: null });
  }
  return rows;
}

export const isOfFee = ({ kind }: Line): boolean => /_fee(_cancelled)?$/.test(kind);

/** A line's name, with its cause where that has a name of its own. */
export const nameOfLine = ({ kind, cause }: Line, { statement }: Words): string =>
  statement.caused[`${kind}_${cause}`] ?? statement.kinds[kind as keyof typeof statement.kinds] ?? kind;

/** The part of a row that left, at most 0, and the part that came, at least 0, both with the fee. */
export function sumsOf({ amountCents, feeCents }: Row): { debitCents: number; creditCents: number } {
  const fee = feeCents ?? 0;
  return {
    debitCents: Math.min(amountCents, 0) + Math.min(fee, 0),
    creditCents: Math.max(amountCents, 0) + Math.max(fee, 0),
  };
}

/** A fee of the same direction is a part of the debit or the credit of its row; null: there is none. */
export function feeOf({ amountCents, feeCents }: Row, { statement }: Words): string | null {
  if (feeCents === null || feeCents === 0) return null;
  const text = money(Math.abs(feeCents));
  return feeCents * amountCents > 0 ? statement.includesFee(text) : statement.withFee(text);
}
