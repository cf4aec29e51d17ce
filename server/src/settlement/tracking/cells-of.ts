/**
 * What comes from a provider names payments of any account of the connection, and accounts live in cells. A payment's id begins with the
 * number of its account, and the directory knows the account's cell: nothing is searched.
 */
export interface CellsOf<Deps> {
  /** Those of this process, the first one in front. */
  all(): readonly Deps[];
  /** Where accounts live; a number that no account has is not in it. */
  ofNumbers(numbers: readonly number[]): Promise<ReadonlyMap<number, Deps>>;
  /** Takes up those that were made since. */
  refresh(): Promise<void>;
}

/** The first cell as the caller has it, and the others. */
export const everyCell = <Deps extends { cells: CellsOf<Deps> }>(home: Deps): readonly Deps[] => [
  home,
  ...home.cells.all().slice(1),
];
