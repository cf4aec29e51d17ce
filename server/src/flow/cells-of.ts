/**
 * Reports of a provider name payments of any account of the connection, and accounts live in cells. A payment's id begins with the
 * number of its account, and the directory knows the account's cell: nothing is searched.
 */
export interface CellsOf<Deps> {
  /** The cells of this process. */
  all(): readonly Deps[];
  /** The cell of each account number; numbers without an account are left out. */
  ofNumbers(numbers: readonly number[]): Promise<ReadonlyMap<number, Deps>>;
  /** Takes up the cells that were made since. */
  refresh(): Promise<void>;
}
