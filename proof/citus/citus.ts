import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ask, type CitusDatabase, createCitusDatabase } from '@vintem/testkit/citus.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { cpuSecondsOf } from '../../bench/processes.ts';
import { command, commandsWith, endAll, newFolder, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import {
  type Clients,
  loadOf,
  type Merchant,
  merchantIn,
  pause,
  restAndCheck,
  startClients,
} from '../processes/clients.ts';
import { type Entry, longestWithout } from '../processes/history.ts';
import { type LocalNode, localNode } from './nodes.ts';

/**
 * The service over three cells on a Citus cluster: the first one beside the directory, one on each of two workers.
 *
 * 1. Under load alone: how many two-phase commits each node wrote into its log. There must be none.
 * 2. A cell is moved to another worker under load, where there are two.
 * 3. A worker dies, then the coordinator, each by kill -9 under load, and is started again. Only where the nodes run on this machine.
 * 4. Everything comes to rest. What was acknowledged is there, and `verify --full` finds nothing.
 *
 *   CITUS_URL=postgres://postgres@127.0.0.1:5432/postgres node proof/citus/citus.ts [--seed N] [--seconds N]
 *
 * `CITUS_URL` is a database of the coordinator, with a superuser's login that every node takes. The rig makes a database of its own on every node and
 * removes it. Without an address it says so and is not run.
 */
export interface CitusFigures {
  notRun: string | null;
  version: string;
  /** Without Citus, and on the cluster; null: the nodes run elsewhere. */
  cost: { plain: Cost | null; citus: Cost | null };
  /** Two-phase commits while there was nothing but payments, by node, and the transfers of that time. */
  prepared: Record<string, number>;
  transfers: number;
  calls: number;
  unanswered: number;
  acknowledged: number;
  missing: number;
  /** For each event and cell: the longest time without an acknowledged transfer of the cell, ms. */
  withoutWritesMs: Record<string, Record<string, number>>;
  faults: string[];
}

const cells = ['vintem_2', 'vintem_3'] as const;

export async function tryCitus(options: {
  seed: number;
  /** Of each part under load. */
  seconds: number;
  say(line: string): void;
}): Promise<CitusFigures> {
  const address = process.env.CITUS_URL;
  const figures: CitusFigures = {
    notRun: address ? null : 'CITUS_URL names no coordinator',
    version: '',
    cost: { plain: null, citus: null },
    prepared: {},
    transfers: 0,
    calls: 0,
    unanswered: 0,
    acknowledged: 0,
    missing: 0,
    withoutWritesMs: {},
    faults: [],
  };
  if (!address) {
    options.say(`not run: ${figures.notRun}`);
    return figures;
  }
  const name = `vintem_proof_${randomBytes(4).toString('hex')}`;
  figures.cost.plain = await costWithoutCitus(address, `${name}_plain`, options);
  const database = await createCitusDatabase(address, name);
  const folder = await newFolder('citus');
  try {
    const [row] = await ask<{ version: string }>(database.url, 'SELECT citus_version() AS version');
    figures.version = row?.version ?? '';
    await served(database.url, folder, (stage) =>
      underLoad({ ...stage, database, folder }, options, figures),
    );
  } finally {
    await database.drop();
    for (const { url } of database.nodes)
      await ask(postgresOf(url), `DROP DATABASE IF EXISTS ${nameIn(readerOf(url))} WITH (FORCE)`);
    await rm(folder, { recursive: true, force: true });
  }
  return figures;
}

/** The same load in a database of the coordinator's server that is no part of the cluster: what Citus is compared with. */
async function costWithoutCitus(
  address: string,
  name: string,
  { seed, seconds }: Parameters<typeof tryCitus>[0],
): Promise<Cost> {
  const url = new URL(address);
  url.pathname = `/${name}`;
  const server = postgresOf(address);
  await ask(server, `CREATE DATABASE ${name}`);
  const folder = await newFolder('citus-plain');
  try {
    return await served(url.href, folder, async ({ merchants }) => {
      const { hostname: host, port } = url;
      const node = await localNode({ host, port: Number(port), url: url.href });
      const historyPath = join(folder, 'history.ndjson');
      const { cost, clients } = await costOf(node ? [node] : [], seconds, () =>
        startClients({ ...loadOf(merchants), seed, clients: load, historyPath }),
      );
      await clients.stop();
      return cost;
    });
  } finally {
    await ask(server, `DROP DATABASE ${name} WITH (FORCE)`);
    await rm(folder, { recursive: true, force: true });
  }
}

/** The service over three cells of a new database, with a merchant in the second and in the third. */
async function served<Result>(
  url: string,
  folder: string,
  work: (stage: Pick<Stage, 'merchants' | 'simulatorUrl' | 'verify'>) => Promise<Result>,
): Promise<Result> {
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const env = {
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: url,
    VINTEM_SECRET: randomBytes(32).toString('base64'),
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  mkdirSync(env.DATA_DIR);
  const run = commandsWith(env);
  await run(['migrate']);
  for (const cell of cells) {
    const { name } = await run<{ name: string }>(['cells', 'add']);
    if (name !== cell) throw new Error(`the cell is called ${name}`);
  }
  const logFile = join(folder, 'log.jsonl');
  const parts = [
    part('simulator', { words: ['simulator'], env, ready: 'vintem simulator', logFile }),
    part('api', { words: ['api'], env, ready: 'vintem api ready', logFile }),
    part('worker', { words: ['worker'], env, ready: 'vintem worker ready', logFile }),
  ];
  try {
    for (const one of parts) await one.start();
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const merchants = await Promise.all(
      cells.map((cell) => merchantIn(cell, { run, url: `http://127.0.0.1:${port}`, simulatorUrl })),
    );
    const verify = async () => {
      const { code, text } = await command(['verify', '--full'], env);
      return code === 0 ? [] : [`verify ended with ${code}: ${text}`];
    };
    return await work({ merchants, simulatorUrl, verify });
  } catch (error) {
    const log = existsSync(logFile) ? readFileSync(logFile, 'utf8').slice(-2_000) : '';
    throw new Error(`${error instanceof Error ? error.message : error}; the log ends with ${log}`);
  } finally {
    await endAll(parts.reverse());
  }
}

interface Stage {
  folder: string;
  merchants: readonly Merchant[];
  simulatorUrl: string;
  /** @returns what it found */
  verify(): Promise<string[]>;
}

/** CPU of the nodes' PostgreSQL: at rest, and under load. */
export interface Cost {
  transfers: number;
  /** A second, at rest: the steps of the workers look for work all the time. */
  restMs: number;
  /** For each transfer, from its request to its provider's answer, beyond what there is at rest. */
  transferMs: number;
  /** How much of all CPU under load the first node took, which is the coordinator. */
  firstNodeShare: number;
}

const load = 16;

/** @param begin starts the load, which continues when this returns */
async function costOf(
  nodes: readonly LocalNode[],
  seconds: number,
  begin: () => Clients,
): Promise<{ cost: Cost; clients: Clients }> {
  const over = async (count: () => number) => {
    const spent = () => nodes.map(({ pid }) => cpuSecondsOf(pid) * 1_000);
    const [before, counted] = [spent(), count()];
    await pause(seconds * 1_000);
    const each = spent().map((ms, at) => ms - (before[at] ?? 0));
    return { each, ms: each.reduce((sum, one) => sum + one, 0), counted: count() - counted };
  };
  const rest = await over(() => 0);
  const clients = begin();
  const busy = await over(() => clients.counts.acknowledged);
  const cost = {
    transfers: busy.counted,
    restMs: rest.ms / seconds,
    transferMs: (busy.ms - rest.ms) / busy.counted,
    firstNodeShare: (busy.each[0] ?? 0) / busy.ms,
  };
  return { cost, clients };
}

async function underLoad(
  { database, folder, merchants, simulatorUrl, verify }: Stage & { database: CitusDatabase },
  { seed, seconds, say }: Parameters<typeof tryCitus>[0],
  figures: CitusFigures,
): Promise<void> {
  const cellOf = new Map(merchants.flatMap((one) => one.operations.map((id) => [id, one.cell] as const)));
  const { call, operations } = loadOf(merchants);
  const historyPath = join(folder, 'history.ndjson');
  await pause(2_000);
  const nodes = await Promise.all(database.nodes.map(localNode));
  const local = nodes.filter((node) => node !== null);
  const before = await positionsOf(database);
  const seen: { name: string; from: number; to: number }[] = [];
  const { cost, clients } = await costOf(local, seconds, () =>
    startClients({ call, operations, seed, clients: load, historyPath }),
  );
  const { counts } = clients;
  try {
    figures.cost.citus = local.length === nodes.length ? cost : null;
    figures.transfers = cost.transfers;
    figures.prepared = await preparedSince(database, before);
    say(`${figures.transfers} acknowledged; two-phase commits: ${JSON.stringify(figures.prepared)}`);
    for (const [node, count] of Object.entries(figures.prepared))
      if (count > 0)
        figures.faults.push(`${count} two-phase commits on ${node} while there were only payments`);

    const happens = async (name: string, work: () => Promise<void>) => {
      const from = Date.now();
      await work();
      await pause(seconds * 1_000);
      seen.push({ name, from, to: Date.now() });
      say(`${name}: ${counts.acknowledged} acknowledged, ${counts.unanswered} unanswered`);
    };
    const other = await otherWorker(database, cells[0]);
    if (other) await happens('a cell is moved', () => moveCell(database, cells[0], other));
    else say('the cluster has one worker: no cell is moved');
    const [coordinator, worker] = [nodes[0], nodes[1]];
    if (worker && coordinator) {
      await happens('a worker dies', () => dies(worker));
      await happens('the coordinator dies', () => dies(coordinator));
    } else say('the nodes run elsewhere: none is killed');
  } finally {
    await clients.stop();
  }

  const { calls, unanswered, acknowledged } = counts;
  Object.assign(figures, { calls, unanswered, acknowledged });
  const lines = readFileSync(historyPath, 'utf8').trim().split('\n');
  const entries = lines.map((line) => JSON.parse(line) as Entry);
  for (const { name, from, to } of seen)
    figures.withoutWritesMs[name] = Object.fromEntries(
      cells.map((cell) => [
        cell,
        longestWithout(
          entries.filter(({ operationId }) => cellOf.get(operationId) === cell),
          from,
          to,
        ),
      ]),
    );
  figures.faults.push(...(await restAndCheck(folder, call, simulatorUrl, operations)));
  figures.missing = figures.faults.filter((fault) => fault.includes('is gone')).length;
  figures.faults.push(...(await verify()));
}

const downMs = 5_000;

async function dies(node: LocalNode): Promise<void> {
  await node.kill();
  await pause(downMs);
  await node.start();
}

interface NodeAddress {
  host: string;
  port: number;
}

/** One on which the cell does not stand. */
async function otherWorker({ url }: CitusDatabase, cell: string): Promise<NodeAddress | undefined> {
  const [other] = await ask<NodeAddress>(
    url,
    `SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE groupid <> 0 AND (nodename, nodeport) NOT IN (
        SELECT nodename, nodeport FROM citus_shards WHERE table_name = ($1 || '.payment')::regclass) LIMIT 1`,
    [cell],
  );
  return other;
}

/** Its tables have keys, so that Citus copies them while they are written. */
async function moveCell({ url }: CitusDatabase, cell: string, { host, port }: NodeAddress): Promise<void> {
  await ask(url, 'SELECT citus_schema_move($1::regnamespace, $2::text, $3::integer)', [cell, host, port]);
}

/** A database beside it that is no part of the cluster, to read the node's log with PostgreSQL's own pg_walinspect. */
const readerOf = (url: string): string => `${url}_log`;
const nameIn = (url: string): string => new URL(url).pathname.slice(1);

/** By node: the end of its write-ahead log. */
async function positionsOf({ nodes }: CitusDatabase): Promise<Map<string, string>> {
  const positions = new Map<string, string>();
  for (const { url } of nodes) {
    const reader = readerOf(url);
    await ask(postgresOf(url), `CREATE DATABASE ${nameIn(reader)}`);
    await ask(reader, 'CREATE EXTENSION pg_walinspect');
    const [row] = await ask<{ lsn: string }>(reader, 'SELECT pg_current_wal_flush_lsn()::text AS lsn');
    positions.set(url, row?.lsn ?? '');
  }
  return positions;
}

/** The lines of each node's log since then. */
async function preparedSince(
  { nodes }: CitusDatabase,
  positions: Map<string, string>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { host, port, url } of nodes) {
    const [row] = await ask<{ prepared: string }>(
      readerOf(url),
      `SELECT coalesce(sum(count), 0) AS prepared FROM pg_get_wal_stats($1::pg_lsn, pg_current_wal_flush_lsn(), true)
        WHERE "resource_manager/record_type" = 'Transaction/PREPARE'`,
      [positions.get(url)],
    );
    counts[`${host}:${port}`] = Number(row?.prepared);
  }
  return counts;
}

function postgresOf(url: string): string {
  const address = new URL(url);
  address.pathname = '/postgres';
  return address.href;
}

if (import.meta.main) {
  const figures = await tryCitus({ ...numbersGiven({ seed: 1, seconds: 20 }), say: console.log });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
