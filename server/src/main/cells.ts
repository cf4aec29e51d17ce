import type { CellsOf } from '../flow/cells-of.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql, Statement } from '../ports/sql.ts';

/** The cells of a process, one runtime each. Cells that are made while it runs are taken up without a restart. */
export interface Cells<Cell> extends CellsOf<Cell> {
  /** Calls for every cell of this moment, and for each that comes later. @returns ends the calls */
  each(use: (cell: Cell) => void): () => void;
  /** Of an account; undefined: there is no such account. */
  ofAccount(accountId: string): Promise<Cell | undefined>;
  ofKey(keyId: string): Promise<Cell | undefined>;
  /** There is no cell but the first one, as far as this process knows. */
  isAlone(): boolean;
  /** Without a look at the database: where there is one cell, that one; else what was learnt. */
  known(kind: 'account' | 'key', id: string): Cell | undefined;
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
/** What was not found may be made at any moment: a flood of one id is one look a second. */
const missedMs = 1_000;
const missedMost = 10_000;

export function createCells<Cell extends { cell: string; sql: Sql }>(
  directory: Sql,
  clock: Pick<Clock, 'monotonicMs'>,
): Cells<Cell> {
  const opened = new Map<string, OpenedCell<Cell>>();
  const listeners = new Set<(cell: Cell) => void>();
  let openCell: (cell: string) => OpenedCell<Cell> = () => {
    throw new Error('the first cell has not begun');
  };
  const known = new Map<string, string>();
  /** Until when each is taken for missing, monotonic. */
  const missed = new Map<string, number>();

  const remember = (key: string, cell: string): void => {
    if (known.size >= rememberedMost) known.clear();
    known.set(key, cell);
  };

  function add(name: string, cell: OpenedCell<Cell>): Cell {
    opened.set(name, cell);
    for (const use of listeners) use(cell.runtime);
    return cell.runtime;
  }

  /** Also one that was made a moment ago. */
  const runtimeOf = (name: string): Cell => opened.get(name)?.runtime ?? add(name, openCell(name));

  async function find(kind: string, statement: Statement, id: string): Promise<Cell | undefined> {
    const key = `${kind}/${id}`;
    let name = known.get(key);
    if (name === undefined) {
      const now = clock.monotonicMs();
      if ((missed.get(key) ?? now) > now) return undefined;
      const [row] = await directory.run<{ cell: string }>(statement, [id]);
      if (!row) {
        if (missed.size >= missedMost) missed.clear();
        missed.set(key, now + missedMs);
        return undefined;
      }
      name = row.cell;
      remember(key, name);
    }
    return runtimeOf(name);
  }

  const all = (): Cell[] => [...opened.values()].map(({ runtime }) => runtime);

  return {
    all,
    async ofNumbers(numbers) {
      const found = new Map<number, Cell>();
      const asked = [...new Set(numbers)].filter((number) => {
        const name = known.get(`number/${number}`);
        if (name !== undefined) found.set(number, runtimeOf(name));
        return name === undefined;
      });
      if (asked.length === 0) return found;
      for (const { number, cell } of await directory.run<{ number: number; cell: string }>(byNumber, [
        asked,
      ])) {
        remember(`number/${number}`, cell);
        found.set(number, runtimeOf(cell));
      }
      return found;
    },
    isAlone: () => opened.size === 1,
    known: (kind, id) => {
      if (opened.size === 1) return all()[0];
      const name = known.get(`${kind}/${id}`);
      return name === undefined ? undefined : opened.get(name)?.runtime;
    },
    ofAccount: (accountId) => find('account', byAccount, accountId),
    ofKey: (keyId) => find('key', byKey, keyId),
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
