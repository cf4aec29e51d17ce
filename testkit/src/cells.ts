import pg from 'pg';
import type { Runtime } from '../../server/src/main/runtime.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { directoryTables, homeCell, makeCell } from '../../server/src/store/database/cells.ts';
import type { Service } from './service.ts';

/** How many cells the databases of a run have: `TEST_CELLS=3` runs the suites over three, with the merchants of each service spread over them. */
export const testCells = Number(process.env.TEST_CELLS ?? 1);

/** Gives a service further cells. @returns all of them, the first one in front */
export async function addCells(service: Service, number: number): Promise<readonly Runtime[]> {
  await makeCells(service.database.url, number);
  await service.runtime.cells.refresh();
  return service.runtime.cells.all();
}

export async function makeCells(url: string, number: number): Promise<void> {
  const login = new pg.Client({ connectionString: url });
  await login.connect();
  try {
    for (let made = 0; made < number; made++) await makeCell(login, systemClock.now());
  } finally {
    await login.end();
  }
}

/** Where tests read the rows of all cells as one. */
const everyCell = 'every_cell';

/** Views over the tables of all cells, for tests that look at rows and not at where they stand. */
export async function showCellsAsOne(url: string): Promise<void> {
  const login = new pg.Client({ connectionString: url });
  await login.connect();
  try {
    const { rows } = await login.query<{ view: string }>(
      `SELECT format('CREATE VIEW %I.%I AS %s', $1::text, c.relname,
          (SELECT string_agg(format('SELECT * FROM %I.%I', cell.name, c.relname), ' UNION ALL ') FROM vintem.cell)) AS view
        FROM pg_class c WHERE c.relnamespace = 'vintem'::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($2::text[])`,
      [everyCell, directoryTables],
    );
    await login.query(`CREATE SCHEMA ${everyCell}`);
    for (const { view } of rows) await login.query(view);
  } finally {
    await login.end();
  }
}

/** A statement as the superuser. */
export interface Looking {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  end(): Promise<void>;
}

/** Where statements of tests are done: reads see all cells as one; a change of a table that every cell has is made in each of them. */
export async function lookAtCells(url: string, cells: number): Promise<Looking> {
  const open = async (path: string) => {
    const client = new pg.Client({
      connectionString: url,
      options: `-c search_path=${path} -c TimeZone=UTC`,
    });
    await client.connect();
    let last: Promise<unknown> = Promise.resolve();
    return {
      /** Behind the statements before it: `pg` is going to refuse a client that is busy. */
      query: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => {
        const next = last.then(() => client.query<Row>(text, values));
        last = next.catch(() => {});
        return next;
      },
      end: () => client.end(),
    };
  };
  const home = await open(homeCell);
  if (cells < 2)
    return {
      query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
        (await home.query<Row>(text, values)).rows,
      end: () => home.end(),
    };
  const names = Array.from({ length: cells }, (_, at) => (at === 0 ? homeCell : `${homeCell}_${at + 1}`));
  const reading = await open(`${everyCell},${homeCell}`);
  const changing = [home, ...(await Promise.all(names.slice(1).map((name) => open(`${name},${homeCell}`))))];
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => {
      const [, changed] =
        /^\s*(?:UPDATE|DELETE FROM|INSERT INTO|TRUNCATE|ALTER TABLE)\s+([\w.]+)/.exec(text) ?? [];
      const ofCells = changed !== undefined && !changed.includes('.') && !directoryTables.includes(changed);
      if (!ofCells) return (await reading.query<Row>(text, values)).rows;
      const rows: Row[] = [];
      // A text of several statements has a result for each.
      for (const client of changing)
        for (const result of [await client.query<Row>(text, values)].flat()) rows.push(...result.rows);
      return rows;
    },
    end: async () => {
      await Promise.all([reading, ...changing].map((client) => client.end()));
    },
  };
}
