import pg from 'pg';
import { type EmbeddedPostgres, startEmbedded } from '../server/src/store/database/embedded.ts';

/**
 * PostgreSQL's execution time of each statement (`pg_stat_statements`). Counting has a cost of its own, so a run with it gives no other figures to
 * quote.
 */
export interface StatementCost {
  /** Verb and table: the inserts of a table are one, whatever columns they name. */
  statement: string;
  calls: number;
  rows: number;
  /** Execution alone: not what came over the wire, and not its plan. */
  microseconds: number;
}

/** The embedded server of a data folder, with the extension in its first database. */
export async function startCounting(options: Parameters<typeof startEmbedded>[0]): Promise<EmbeddedPostgres> {
  const server = await startEmbedded(options);
  await ask(server.url, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
  await server.stop();
  const again = await startEmbedded(options);
  await ask(again.url, 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  return again;
}

export const forgetStatements = (url: string): Promise<unknown> =>
  ask(url, 'SELECT pg_stat_statements_reset()');

/** Of all databases, the most expensive first. */
export async function readStatements(url: string): Promise<StatementCost[]> {
  const rows = await ask<{ query: string; calls: number; rows: number; us: number }>(
    url,
    `SELECT regexp_replace(query, '\\s+', ' ', 'g') AS query, calls::float, rows::float, total_exec_time * 1000 AS us FROM pg_stat_statements`,
  );
  const costs = new Map<string, StatementCost>();
  for (const { query, calls, rows: count, us } of rows) {
    const statement = nameOf(query);
    const known = costs.get(statement) ?? { statement, calls: 0, rows: 0, microseconds: 0 };
    known.calls += calls;
    known.rows += count;
    known.microseconds += us;
    costs.set(statement, known);
  }
  return [...costs.values()].sort((one, other) => other.microseconds - one.microseconds);
}

const nameOf = (query: string): string =>
  /^(?:INSERT INTO|UPDATE|DELETE FROM) [^ (]+/.exec(query)?.[0] ??
  (/^SELECT .{0,40}/.test(query)
    ? `SELECT FROM ${/ FROM ([^ ,()]+)/.exec(query)?.[1] ?? 'nothing'}: ${query.slice(7, 40)}`
    : query.slice(0, 50));

export async function ask<Row>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** Calls and microseconds of each statement for one operation, the most expensive first. */
export const textOfStatements = (costs: readonly StatementCost[], operations: number, most = 14): string =>
  costs
    .slice(0, most)
    .map(({ statement, calls, microseconds }) => {
      const us = (microseconds / operations).toFixed(1).padStart(7);
      return `${us} µs ${(calls / operations).toFixed(3)} calls  ${statement}`;
    })
    .join('\n');

/** How many payments were made meanwhile. */
export const paymentsOf = (costs: readonly StatementCost[]): number =>
  costs.find(({ statement }) => statement === 'INSERT INTO payment')?.rows ?? Number.NaN;

export interface StatementLine {
  statement: string;
  /** Of each row of the bench: rows and microseconds of one call. */
  calls: { rows: number; microseconds: number }[];
  /** Microseconds of a call whatever it carries, and of each row that it carries; null: all its calls carry the same. */
  fixed: number | null;
  marginal: number | null;
}

/**
 * The cost of each statement for being there and for each row of it: the line through its averages in rows of the bench that carry batches of
 * different sizes.
 */
export function linesOf(runs: readonly (readonly StatementCost[])[], most = 16): StatementLine[] {
  const last = runs.at(-1) ?? [];
  return last.slice(0, most).map(({ statement }) => {
    const calls = runs.map((run) => {
      const found = run.find((one) => one.statement === statement);
      return found && found.calls > 0
        ? { rows: found.rows / found.calls, microseconds: found.microseconds / found.calls }
        : { rows: Number.NaN, microseconds: Number.NaN };
    });
    return { statement, calls, ...lineThrough(calls.filter(({ rows }) => Number.isFinite(rows))) };
  });
}

/** Least squares. */
function lineThrough(
  points: readonly { rows: number; microseconds: number }[],
): Pick<StatementLine, 'fixed' | 'marginal'> {
  const mean = (of: (point: (typeof points)[number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const rows = mean((point) => point.rows);
  const microseconds = mean((point) => point.microseconds);
  const spread = mean((point) => (point.rows - rows) ** 2);
  // Batches that differ by less than a row tell nothing of a row.
  if (points.length < 2 || spread < 0.25) return { fixed: null, marginal: null };
  const marginal = mean((point) => (point.rows - rows) * (point.microseconds - microseconds)) / spread;
  return { fixed: microseconds - marginal * rows, marginal };
}

export function tableOfStatements(rowNames: readonly string[], lines: readonly StatementLine[]): string {
  const cells = (all: readonly string[]): string => `| ${all.join(' | ')} |`;
  const figure = (value: number | null): string =>
    value === null || !Number.isFinite(value) ? '–' : value.toFixed(value < 10 ? 1 : 0);
  return [
    cells(['Statement', ...rowNames.map((name) => `${name}: rows, µs a call`), 'Fixed µs', 'µs a row']),
    cells(Array.from({ length: rowNames.length + 3 }, () => '---')),
    ...lines.map(({ statement, calls, fixed, marginal }) =>
      cells([
        statement,
        ...calls.map(({ rows, microseconds }) => `${figure(rows)}, ${figure(microseconds)}`),
        figure(fixed),
        figure(marginal),
      ]),
    ),
    '',
  ].join('\n');
}
