import pg from 'pg';
import type { Sql, Statement } from '../../server/src/ports/sql.ts';

/** A statement as it was run, with its values. */
export interface Run {
  statement: Statement;
  values: readonly unknown[];
  /** How long it took, ms; 0 until it has ended. */
  ms: number;
}

/** `sql` with a record of everything that is run through it. */
export function recording(sql: Sql): { sql: Sql; runs: Run[] } {
  const runs: Run[] = [];
  return { runs, sql: recordedBy(sql, (run) => runs.push(run)) };
}

/** `sql` that hands every statement over as it is issued. */
export function recordedBy(sql: Sql, keep: (run: Run) => void): Sql {
  const record = <T extends Pick<Sql, 'run'>>(queries: T): T => ({
    ...queries,
    run: <Row>(statement: Statement, values: readonly unknown[] = []) => {
      const run: Run = { statement, values, ms: 0 };
      keep(run);
      const began = performance.now();
      const ended = (): void => {
        run.ms = performance.now() - began;
      };
      const answer = queries.run<Row>(statement, values);
      answer.then(ended, ended);
      return answer;
    },
  });
  return {
    ...record(sql),
    tx: (work) => sql.tx((tx) => work(record(tx))),
    begin: async () => record(await sql.begin()),
  };
}

/** Rows that the scans of a statement read, as `visited`. */
export const rowsVisited = async (url: string, run: Run): Promise<number> => (await visited(url, run)).rows;

export interface Visited {
  rows: number;
  /** Pages of 8 kB, from memory or disk. */
  pages: number;
}

/**
 * The rows that the scans of a statement read when it is run once more, those that a filter removed included, under the plan that the service
 * gets: generic, without sequential scans where an index can be used. What it writes is rolled back.
 */
export async function visited(url: string, { statement, values }: Run): Promise<Visited> {
  const client = new pg.Client({
    connectionString: url,
    options:
      '-c search_path=vintem -c TimeZone=UTC -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off',
  });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`PREPARE visited AS ${statement.text}`);
    const { rows: types } = await client.query<{ types: string[] }>(
      `SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'visited'`,
    );
    const literals = values.map((value, at) => literal(value, types[0]?.types[at]));
    const given = values.length > 0 ? `(${literals.join(', ')})` : '';
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE visited${given}`,
    );
    const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
    if (!plan) throw new Error('no plan');
    const pages = (plan.Plan['Shared Hit Blocks'] ?? 0) + (plan.Plan['Shared Read Blocks'] ?? 0);
    return { rows: Math.round(scanned(plan.Plan)), pages };
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
}

interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Relation Name'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

const scanned = (node: PlanNode): number =>
  (node['Relation Name'] !== undefined && node['Node Type'].endsWith('Scan')
    ? (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops']
    : 0) + (node.Plans ?? []).reduce((sum, child) => sum + scanned(child), 0);

function literal(value: unknown, type: string | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) {
    // As the pool does: instants in arrays are milliseconds.
    const isTime = type === 'timestamp with time zone[]';
    const elements = value.map((one) =>
      element(isTime && typeof one === 'number' ? new Date(one).toISOString() : one),
    );
    return `'{${elements.join(',').replaceAll("'", "''")}}'`;
  }
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  return `'${String(value).replaceAll("'", "''")}'`;
}

const element = (value: unknown): string => {
  if (value === null) return 'NULL';
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
};
