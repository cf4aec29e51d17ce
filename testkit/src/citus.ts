import pg from 'pg';

/** The databases of a run on a Citus cluster that is there already. */
export interface CitusDatabase {
  /** Of the coordinator, with the login that was given. */
  url: string;
  nodes: readonly CitusNode[];
  /** Removes it on every node. */
  drop(): Promise<void>;
}

export interface CitusNode {
  host: string;
  port: number;
  /** The same database there, with the same login. */
  url: string;
}

/**
 * A new database on every node of a cluster, with the extension, and its nodes known to its coordinator.
 *
 * @param coordinator address of a database of the cluster's coordinator, with a superuser's login that all nodes take
 */
export async function createCitusDatabase(coordinator: string, name: string): Promise<CitusDatabase> {
  const known = await ask<{ host: string; port: number; coordinator: boolean }>(
    coordinator,
    'SELECT nodename AS host, nodeport AS port, groupid = 0 AS coordinator FROM pg_dist_node ORDER BY groupid',
  );
  const nodes = known.map(({ host, port }) => ({
    host,
    port,
    url: addressOf(coordinator, { host, port, name }),
  }));
  const url = addressOf(coordinator, { name });
  const [first, ...workers] = nodes;
  if (!known[0]?.coordinator || !first || workers.length === 0)
    throw new Error('the cluster has no coordinator or no workers in pg_dist_node');
  for (const node of nodes) {
    const server = addressOf(coordinator, { ...node, name: 'postgres' });
    await ask(server, `CREATE DATABASE ${name}`);
    await ask(node.url, 'CREATE EXTENSION citus');
  }
  await ask(url, 'SELECT citus_set_coordinator_host($1, $2)', [first.host, first.port]);
  for (const { host, port } of workers) await ask(url, 'SELECT citus_add_node($1, $2)', [host, port]);
  return {
    url,
    nodes,
    drop: async () => {
      for (const node of nodes)
        await ask(
          addressOf(coordinator, { ...node, name: 'postgres' }),
          `DROP DATABASE ${name} WITH (FORCE)`,
        );
    },
  };
}

function addressOf(
  url: string,
  { host, port, name }: { host?: string; port?: number; name: string },
): string {
  const address = new URL(url);
  if (host !== undefined) address.hostname = host;
  if (port !== undefined) address.port = `${port}`;
  address.pathname = `/${name}`;
  return address.href;
}

/** One statement over a connection of its own. */
export async function ask<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
