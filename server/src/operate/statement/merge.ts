/** Journals of one operation, the newest first, as far as they were read. */
export interface Piece<Row> {
  operationId: string;
  rows: readonly Row[];
  /** Where the reading continues: below this `seq`, and no younger than `at`; null: everything was read. */
  rest: { below: number; at: number } | null;
}

export interface Merged<Row> {
  rows: { operationId: string; row: Row }[];
  /** For the next page: below which `seq` each operation continues. An operation that is not named has ended. */
  places: Map<string, number>;
}

/**
 * A page over the journals of several operations, the newest first. It ends where the unread part of one operation may be younger than the
 * next journal of another: a page never shows a journal before a younger one.
 */
export function mergeNewest<Row extends { seq: number; postedAt: number }>(
  pieces: readonly Piece<Row>[],
  limit: number,
): Merged<Row> {
  const taken = new Map(pieces.map(({ operationId }) => [operationId, 0]));
  const nextOf = ({ operationId, rows }: Piece<Row>): Row | undefined => rows[taken.get(operationId) ?? 0];
  const ageOf = (piece: Piece<Row>): number => nextOf(piece)?.postedAt ?? piece.rest?.at ?? -1;
  const rows: Merged<Row>['rows'] = [];
  while (rows.length < limit) {
    const [youngest] = pieces.toSorted((one, other) => ageOf(other) - ageOf(one));
    const row = youngest && nextOf(youngest);
    if (!youngest || !row) break;
    const { operationId } = youngest;
    rows.push({ operationId, row });
    taken.set(operationId, (taken.get(operationId) ?? 0) + 1);
  }
  const places = new Map<string, number>();
  for (const piece of pieces) {
    const next = nextOf(piece);
    if (next) places.set(piece.operationId, next.seq + 1);
    else if (piece.rest) places.set(piece.operationId, piece.rest.below);
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
