import {
  type CellRow,
  connectionsOfCells,
  listCells,
  loadOfCell,
  openCellToAccounts,
} from '../../store/database/cells.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { addCellAlone, type Context, onDatabase } from '../start.ts';
import { type Command, instant, required, table, UsageFault } from './command.ts';
import { cellsOf } from './in-cells.ts';

/** Where accounts stand. A cell that was made stays: what goes back is that it takes no new accounts. */
export const cellCommands: Command[] = [
  {
    name: 'cells list',
    about: 'the cells with the number of their accounts; the first one holds the directory as well',
    run: async (edge) => {
      const cells = (await onDatabase(edge, 'cells list', ({ sql }) => listCells(sql))).map(shown);
      return { json: { cells }, text: table(cells.map(lineOf), '') };
    },
  },
  {
    name: 'cells status',
    about: 'what is open in each cell, how many connections processes have there, and how large it is',
    run: async (edge) => {
      const cells = await onDatabase(edge, 'cells status', async (context) => {
        const databases = new Map((await cellsOf(context)).map(({ cell, sql }) => [cell, sql]));
        const rows = await listCells(context.sql);
        const connected = await connectionsOfCells(context.sql);
        const loads = await Promise.all(
          rows.map(({ name }) => loadOfCell(databases.get(name) ?? context.sql)),
        );
        return rows.map((row, at) => ({
          ...shown(row),
          ...loads[at],
          connections: connected.get(row.name) ?? 0,
        }));
      });
      const rows = cells.map((one) => [
        ...lineOf(one),
        `${one.openPayments} open payments`,
        `due for ${Math.round(one.oldestDueSeconds ?? 0)} s`,
        `${one.connections} connections`,
        `${one.bytes} bytes`,
      ]);
      return { json: { cells }, text: table(rows, '') };
    },
  },
  {
    name: 'cells add',
    about: 'makes the next cell; running processes take it up within seconds, and it cannot be removed again',
    run: async (edge) => {
      const name = await addCellAlone(edge);
      return { json: { name }, text: name };
    },
  },
  {
    name: 'cells set',
    usage: 'NAME --open true|false',
    about: 'whether a cell takes new accounts; those that it has stay',
    options: { open: { type: 'string' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      const open = required(values, 'open');
      if (open !== 'true' && open !== 'false') throw new UsageFault('--open takes true or false');
      await onDatabase(edge, 'cells set', async ({ sql }) => {
        if (!(await openCellToAccounts(sql, name, open === 'true')))
          throw new OperatorRefused(`no cell ${name}`);
      });
      return { json: { name, open: open === 'true' }, text: `${name} ${openText(open === 'true')}` };
    },
  },
];

/**
 * Over which cell a new account is made.
 * @param wanted its name, also of a closed one; null: the open one with the fewest accounts
 * @throws OperatorRefused there is no such cell, or none is open
 */
export async function cellOfNewAccount(context: Context, wanted: string | null): Promise<Context> {
  const cells = await listCells(context.sql);
  const open = cells.filter((cell) => cell.open).sort((one, other) => one.accounts - other.accounts);
  const chosen = wanted === null ? open[0] : cells.find(({ name }) => name === wanted);
  if (!chosen)
    throw new OperatorRefused(wanted === null ? 'no cell takes new accounts' : `no cell ${wanted}`);
  const found = (await cellsOf(context)).find(({ cell }) => cell === chosen.name);
  if (!found) throw new OperatorRefused(`${chosen.name} is being made: try again`);
  return { ...context, sql: found.sql };
}

const shown = (row: CellRow) => ({ ...row, createdAt: instant(row.createdAt) });

const openText = (open: boolean): string => (open ? 'takes new accounts' : 'takes no new accounts');

const lineOf = ({ name, open, accounts }: Pick<CellRow, 'name' | 'open' | 'accounts'>): string[] => [
  name,
  openText(open),
  `${accounts} accounts`,
];
