import type { CellsOf } from '../flow/cells-of.ts';
import type { Sql, Statement } from '../ports/sql.ts';

/** The cells of a process, one runtime each. Cells that are made while it runs are taken up without a restart. */
export interface Cells<Cell> extends CellsOf<Cell> {
  /** Calls for every cell of this moment, and for each that comes later. @returns ends the calls */
  each(use: (cell: Cell) => void): () => void;
  /** Of an account; undefined: there is no such account. */
  ofAccount(accountId: string): Promise<Cell | undefined>;
  ofKey(keyId: string): Promise<Cell | undefined>;
  /** Also one that was made a moment ago. */
  named(cell: string): Cell;
  /** The first one, and how the others are opened. */
  begin(home: Cell, open: (cell: string) => OpenedCell<Cell>): void;
  close(): Promise<void>;
}

export interface OpenedCell<Cell> {
  runtime: Cell;
  close(): Promise<void>;
}

const list: Statement = { name: 'cell_list', text: 'SELECT name FROM cell ORDER BY created_at, name' };

const byNumber: Statement = {
  name: 'cell_of_number',
  text: 'SELECT number, cell FROM account WHERE number = ANY ($1::bigint[])',
};

const byAccount: Statement = { name: 'cell_of_account', text: 'SELECT cell FROM account WHERE id = $1' };

const byKey: Statement = {
  name: 'cell_of_key',
  text: 'SELECT a.cell FROM api_key k JOIN account a ON a.id = k.account_id WHERE k.id = $1',
};

/** Accounts keep their cell: what was learnt stays true. */
const rememberedMost = 100_000;

export function createCells<Cell extends { cell: string; sql: Sql }>(directory: Sql): Cells<Cell> {
  const opened = new Map<string, OpenedCell<Cell>>();
  const listeners = new Set<(cell: Cell) => void>();
  let openCell: (cell: string) => OpenedCell<Cell> = () => {
    throw new Error('the first cell has not begun');
  };
  /** Of account numbers. */
  const known = new Map<number, string>();

  const remember = (number: number, cell: string): void => {
    if (known.size >= rememberedMost) known.clear();
    known.set(number, cell);
  };

  function add(name: string, cell: OpenedCell<Cell>): Cell {
    opened.set(name, cell);
    for (const use of listeners) use(cell.runtime);
    return cell.runtime;
  }

  const runtimeOf = (name: string): Cell => opened.get(name)?.runtime ?? add(name, openCell(name));

  async function find(statement: Statement, id: string): Promise<Cell | undefined> {
    const [row] = await directory.run<{ cell: string }>(statement, [id]);
    return row && runtimeOf(row.cell);
  }

  const all = (): Cell[] => [...opened.values()].map(({ runtime }) => runtime);

  return {
    all,
    async ofNumbers(numbers) {
      const found = new Map<number, Cell>();
      const asked = [...new Set(numbers)].filter((number) => {
        const name = known.get(number);
        if (name !== undefined) found.set(number, runtimeOf(name));
        return name === undefined;
      });
      if (asked.length === 0) return found;
      for (const { number, cell } of await directory.run<{ number: number; cell: string }>(byNumber, [
        asked,
      ])) {
        remember(number, cell);
        found.set(number, runtimeOf(cell));
      }
      return found;
    },
    named: runtimeOf,
    ofAccount: (accountId) => find(byAccount, accountId),
    ofKey: (keyId) => find(byKey, keyId),
    each(use) {
      listeners.add(use);
      for (const cell of all()) use(cell);
      return () => listeners.delete(use);
    },
    async refresh() {
      for (const { name } of await directory.run<{ name: string }>(list)) runtimeOf(name);
    },
    begin(home, open) {
      openCell = open;
      add(home.cell, { runtime: home, close: async () => {} });
    },
    async close() {
      for (const { close } of opened.values()) await close();
    },
  };
}
