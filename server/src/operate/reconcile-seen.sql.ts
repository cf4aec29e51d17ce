import type { Ids } from '../ports/ids.ts';
import type { Sql, Statement } from '../ports/sql.ts';

const add: Statement = {
  name: 'reconcile_seen_add',
  text: `INSERT INTO reconcile_seen (run, provider_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING
    RETURNING provider_id AS "providerId"`,
};

const find: Statement = {
  name: 'reconcile_seen_find',
  text: `SELECT provider_id AS "providerId" FROM reconcile_seen WHERE run = $1 AND provider_id = ANY ($2::text[])`,
};

const forget: Statement = {
  name: 'reconcile_seen_forget',
  text: `WITH gone AS (DELETE FROM reconcile_seen s USING (
      SELECT run, provider_id FROM reconcile_seen WHERE run = $1 AND provider_id > $2 ORDER BY provider_id LIMIT $3) AS k
      WHERE s.run = k.run AND s.provider_id = k.provider_id RETURNING s.provider_id)
    SELECT max(provider_id) AS last FROM gone`,
};

const abandoned: Statement = {
  name: 'reconcile_seen_abandoned',
  text: `SELECT run FROM reconcile_seen WHERE run < $1 ORDER BY run LIMIT 1`,
};

/** Provider ids that a list showed during one comparison. They are kept in the database: there may be more than fit into memory. */
export interface Seen {
  /** Adds ids. @returns those that are new */
  add(providerIds: readonly string[]): Promise<Set<string>>;
  /** @returns those of the ids that were added before */
  among(providerIds: readonly string[]): Promise<Set<string>>;
  /** Removes everything of this comparison. */
  end(): Promise<void>;
}

interface Deps {
  sql: Sql;
  ids: Ids;
}

export function createSeen({ sql, ids }: Deps): Seen {
  const run = ids.uuid();
  const setOf = (rows: readonly { providerId: string }[]): Set<string> =>
    new Set(rows.map(({ providerId }) => providerId));
  return {
    add: async (providerIds) => setOf(await sql.run(add, [run, providerIds])),
    among: async (providerIds) => setOf(await sql.run(find, [run, providerIds])),
    end: () => forgetRun(sql, run),
  };
}

/** Rows per statement: some 10 ms. Five thousand of two million took more than five seconds where other work left a database 3 % of a core. */
const rowsPerStep = 1_000;

/** Each step begins behind the one before: the entries of deleted rows stay in the index until vacuum. */
async function forgetRun(sql: Sql, run: string): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const [step]: { last: string | null }[] = await sql.run(forget, [run, after, rowsPerStep]);
    after = step?.last ?? null;
  }
}

/** Removes what comparisons left behind that began before the given id and whose process ended. */
export async function forgetAbandoned(sql: Sql, below: string): Promise<void> {
  for (;;) {
    const [left] = await sql.run<{ run: string }>(abandoned, [below]);
    if (!left) return;
    await forgetRun(sql, left.run);
  }
}
