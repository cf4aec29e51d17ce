/** Which end of the journals stands first. */
export type Order = 'newest' | 'oldest';

/** Journals of one operation in their order, as far as they were read. */
export interface Piece<Row> {
  operationId: string;
  rows: readonly Row[];
  /** Where the reading continues: beyond this `seq`, and with nothing that stands before `at` in the order; null: everything was read. */
  rest: { beyond: number; at: number } | null;
}

export interface Merged<Row> {
  rows: { operationId: string; row: Row }[];
  /** For the next page: beyond which `seq` each operation continues. An operation that is not named has ended. */
  places: Map<string, number>;
}

/**
 * A page over the journals of several operations. It ends where the unread part of one operation may stand before the next journal of another: in the order
 * from the newest on a page never shows a journal before a younger one.
 */
export function mergeInOrder<Row extends { seq: number; postedAt: number }>(
  pieces: readonly Piece<Row>[],
  limit: number,
  order: Order,
): Merged<Row> {
  const sign = order === 'newest' ? 1 : -1;
  const taken = new Map(pieces.map(({ operationId }) => [operationId, 0]));
  const nextOf = ({ operationId, rows }: Piece<Row>): Row | undefined => rows[taken.get(operationId) ?? 0];
  const rankOf = (piece: Piece<Row>): number => {
    const at = nextOf(piece)?.postedAt ?? piece.rest?.at;
    return at === undefined ? Number.NEGATIVE_INFINITY : sign * at;
  };
  const rows: Merged<Row>['rows'] = [];
  while (rows.length < limit) {
    const [first] = pieces.toSorted((one, other) => rankOf(other) - rankOf(one));
    const row = first && nextOf(first);
    if (!first || !row) break;
    const { operationId } = first;
    rows.push({ operationId, row });
    taken.set(operationId, (taken.get(operationId) ?? 0) + 1);
  }
  const places = new Map<string, number>();
  for (const piece of pieces) {
    const next = nextOf(piece);
    if (next) places.set(piece.operationId, next.seq + sign);
    else if (piece.rest) places.set(piece.operationId, piece.rest.beyond);
  }
  return { rows, places };
}

/** `operation.seq,operation.seq`, as the next page is asked for; null: this was the last one. */
export const placesText = (places: ReadonlyMap<string, number>): string | null =>
  places.size === 0 ? null : [...places].map(([operationId, seq]) => `${operationId}.${seq}`).join(',');

/** @param text as `placesText` wrote it */
export const placesIn = (text: string): Map<string, number> =>
  new Map(
    text.split(',').map((one) => {
      const [operationId = '', seq] = one.split('.');
      return [operationId, Number(seq)];
    }),
  );

/** A place as a caller sends it back: at most the ten operations of an account. */
export const placesForm = '^[0-9a-f-]{36}\\.[0-9]{1,9}(,[0-9a-f-]{36}\\.[0-9]{1,9}){0,19}$';
