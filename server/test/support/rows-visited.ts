import pg from 'pg';
import type { Sql, Statement } from '../../src/ports/sql.ts';

/** A statement as it was run, with its values. */
export interface Run {
  statement: Statement;
  values: readonly unknown[];
}

/** `sql` with a record of everything that is run through it. */
export function recording(sql: Sql): { sql: Sql; runs: Run[] } {
  const runs: Run[] = [];
  const record = <T extends Pick<Sql, 'run'>>(queries: T): T => ({
    ...queries,
    run: (statement: Statement, values: readonly unknown[] = []) => {
      runs.push({ statement, values });
      return queries.run(statement, values);
    },
  });
  return {
    runs,
    sql: {
      ...record(sql),
      tx: (work) => sql.tx((tx) => work(record(tx))),
      begin: async () => record(await sql.begin()),
    },
  };
}

/**
 * Rows that the scans of a statement read when it is run once more, those that a filter removed included, under the plan that the service
 * gets: generic, without sequential scans where an index can be used. What it writes is rolled back.
 */
export async function rowsVisited(url: string, { statement, values }: Run): Promise<number> {
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
    return scanned(plan.Plan);
  } finally {
    await client.query('ROLLBACK');
    await client.end();
  }
}

export interface PlanNode {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

export const scanned = (node: PlanNode): number =>
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
