import type { Queries } from '../../ports/sql.ts';

/**
 * The tables that the till writes, in the fixed order of writes. One order for all processes, so that two flushes never wait for each other's
 * rows in a circle.
 */
const writeOrder = [
  'payment',
  'static_code',
  'payment_link',
  'refund',
  /** The tables of requests about charges, by their names. */
  'charge_request',
  'known_return',
  'draft',
  'intent',
  'lost_payment',
  'incident',
  'incident_ended',
  'incident_case',
  'event',
  'unknown_told',
  'charge_reminder',
  'hold',
  'day_close',
  'day_close_money',
  'connection_close',
  'connection_close_cell',
  'connection_movement',
  'cash_transfer',
  'dispute',
  'dispute_defence',
  'dispute_file',
  'late_query',
  'audit',
] as const;

export type WritePlace = (typeof writeOrder)[number];

export const rankOf = (place: WritePlace): number => writeOrder.indexOf(place);

/** Tables of one place go by their names. */
export const byWriteOrder = (
  one: Pick<Table<never>, 'rank' | 'name'>,
  other: Pick<Table<never>, 'rank' | 'name'>,
): number => one.rank - other.rank || (one.name < other.name ? -1 : 1);

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

/**
 * Rows that follow from rows of a table. They are put beside those, so that a later command of the same flush sees them, and nothing of
 * them is stored.
 */
export interface Derived<Row> extends Readable<Row> {
  readonly isDerived: true;
}

export interface Changes<Row> {
  inserted: readonly Row[];
  updated: readonly Row[];
  /** Keys. */
  deleted: readonly string[];
}
