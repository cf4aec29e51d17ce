import type { Queries } from '../../ports/sql.ts';

/** Rows that the till reads under the lock, many keys at a time. */
export interface Readable<Row> {
  readonly name: string;
  keyOf(row: Row): string;
  read(tx: Queries, keys: readonly string[]): Promise<Row[]>;
}

/** Rows that the till writes, many at a time and in key order. */
export interface Table<Row> extends Readable<Row> {
  /** Its place in the fixed order of writes. */
  readonly rank: number;
  write(tx: Queries, changes: Changes<Row>): Promise<unknown>[];
  /** The token of the command that wrote the row, where it carries one. */
  tokenOf?(row: Row): string;
}

export interface Changes<Row> {
  inserted: readonly Row[];
  updated: readonly Row[];
  /** Keys. */
  deleted: readonly string[];
}
