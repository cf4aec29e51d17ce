/** Lists of several operations as one, the newest row first. */

/** Of one operation: rows that were read and are not shown yet, and whether there are more behind them. */
interface Rest<Row> {
  rows: Row[];
  cursor: string | null;
  ended: boolean;
}

export type Rests<Row> = ReadonlyMap<string, Rest<Row>>;

export interface MergedPage<Row> {
  rows: Row[];
  /** Where the next page continues; null: this was the last one. */
  rests: Rests<Row> | null;
}

/**
 * The next page of all operations. Each is asked for a page of its own where nothing of it is left; the page ends where one of them may have a newer row
 * than those that were read.
 * @param before `rests` of the page before; null: this is the first one
 * @param read a page of one operation, the newest row first
 */
export async function mergedPage<Row extends { createdAt: string }>(
  operationIds: readonly string[],
  before: Rests<Row> | null,
  read: (operationId: string, cursor: string | null) => Promise<{ rows: Row[]; nextCursor: string | null }>,
): Promise<MergedPage<Row>> {
  const rests = await Promise.all(
    operationIds.map(async (id): Promise<[string, Rest<Row>]> => {
      const { rows, cursor, ended } = before?.get(id) ?? { rows: [], cursor: null, ended: false };
      if (rows.length > 0 || ended) return [id, { rows: [...rows], cursor, ended }];
      const page = await read(id, cursor);
      return [id, { rows: [...page.rows], cursor: page.nextCursor, ended: page.nextCursor === null }];
    }),
  );
  const shown: Row[] = [];
  const all = rests.map(([, rest]) => rest);
  const newest = (): Rest<Row> | undefined =>
    all
      .filter(({ rows }) => rows.length > 0)
      .sort((one, other) => timeOf(other) - timeOf(one))
      .at(0);
  while (!all.some(({ rows, ended }) => rows.length === 0 && !ended)) {
    const row = newest()?.rows.shift();
    if (row === undefined) break;
    shown.push(row);
  }
  const isLast = all.every(({ rows, ended }) => rows.length === 0 && ended);
  return { rows: shown, rests: isLast ? null : new Map(rests) };
}

const timeOf = ({ rows: [first] }: Rest<{ createdAt: string }>): number => Date.parse(first?.createdAt ?? '');
