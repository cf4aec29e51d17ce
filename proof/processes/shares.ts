import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { commandsWith, type Part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { loadOf, merchantIn, pause, startClients } from './clients.ts';
import { conclude, type LoadFigures, noLoad, openScene, type Scene } from './scene.ts';

/**
 * Workers that share many cells under load. An `api` takes transfers for merchants in every cell and sends none of them; a worker of
 * `vintem start` and two further ones send and follow them. A worker dies (kill -9), one stands still (SIGSTOP), one ends (SIGTERM), one joins.
 *
 *   node proof/processes/shares.ts [--seed N] [--cells 8] [--seconds 20]
 *
 * For each fault and cell: how long no transfer was settled there. A worker that died or stands still counts as alive for 8 s, and the others
 * read every 2 s who is, so 10 s and what a busy machine needs; one that ends gives its cells away at once. For each process: how many
 * connections to PostgreSQL it had open, which its bound limits (docs/operators/connections.md). Linux, for /proc.
 */
export interface SharesFigures extends LoadFigures {
  notRun: string | null;
  cells: number;
  /** By fault: the longest and the median time without a settled transfer, over the cells, ms. */
  withoutMs: Record<string, { most: number; median: number }>;
  /** By process: the most connections that it had open, and its bound. */
  connections: Record<string, { most: number; bound: number }>;
}

const takenOverWithinMs = 8_000 + 2_000;
const givenAwayWithinMs = 2_000;
/** Statements and sends of a machine that does all of this on its own. */
const busyMachineMs = 6_000;

interface Options {
  seed: number;
  cells: number;
  seconds: number;
  say(line: string): void;
}

export async function shareCells(options: Options): Promise<SharesFigures> {
  const figures: SharesFigures = {
    notRun: process.platform === 'linux' ? null : 'connections are read from /proc',
    cells: options.cells,
    withoutMs: {},
    connections: {},
    ...noLoad(),
  };
  if (figures.notRun) return figures;
  await using place = await placeIn();
  await place.main.start();
  const cells = ['vintem'];
  while (cells.length < options.cells) cells.push((await place.run<{ name: string }>(['cells', 'add'])).name);
  await Promise.all([place.api, place.first, place.second].map((one) => one.start()));
  await underLoad(place, cells, options, figures);
  return figures;
}

/** The processes, none of them started, and where they are reached. */
interface Place extends Scene {
  apiUrl: string;
  /** `vintem start`, with a worker of its own. */
  main: Part;
  api: Part;
  first: Part;
  second: Part;
  third: Part;
  /** A command of the program, by its words. */
  run: ReturnType<typeof commandsWith>;
}

async function placeIn(): Promise<Place> {
  const scene = await openScene('shares', { TRANSFER_WAIT_MS: '0' });
  const apiPort = await freePort();
  const main = scene.launch(['start']);
  const worker = (n: number) => scene.launch(['worker'], { name: `worker ${n}` });
  return {
    ...scene,
    apiUrl: `http://127.0.0.1:${apiPort}`,
    main,
    api: scene.launch(['api'], { env: { PORT: `${apiPort}` } }),
    ...{ first: worker(1), second: worker(2), third: worker(3) },
    run: commandsWith(scene.env),
  };
}

async function underLoad(
  place: Place,
  cells: readonly string[],
  { seed, seconds, say }: Options,
  figures: SharesFigures,
): Promise<void> {
  const { folder, env, main, api, first, second, third, run, apiUrl: url, simulatorUrl } = place;
  const merchants = [];
  for (const cell of cells) merchants.push(await merchantIn(cell, { run, url, simulatorUrl, charges: 15 }));
  const { call, operations } = loadOf(merchants);
  const database = new pg.Client({ connectionString: (await findEmbedded(env.DATA_DIR ?? '')) ?? '' });
  await database.connect();
  const bounds = boundsOf(cells.length);
  const watch = watchConnections(database.port, [main, api, first, second, third], (name, open) => {
    const bound = name === 'api' ? bounds.api : bounds.worker;
    figures.connections[name] = { most: Math.max(open, figures.connections[name]?.most ?? 0), bound };
  });
  const historyPath = join(folder, 'history.ndjson');
  const clients = startClients({ call, operations, seed, clients: 12, historyPath });
  const happens = async (name: string, limitMs: number, fault: () => Promise<void>) => {
    await pause(3_000);
    const from = Date.now();
    await fault();
    await pause(seconds * 1_000);
    const to = Date.now();
    const waits: number[] = [];
    for (const cell of cells) waits.push(await longestUnsettled(database, cell, from, to));
    const sorted = waits.sort((one, other) => one - other);
    const [most, median] = [sorted.at(-1) ?? 0, sorted[sorted.length >> 1] ?? 0];
    figures.withoutMs[name] = { most, median };
    say(`${name}: no cell without a settled transfer for longer than ${most} ms, half of them ${median} ms`);
    if (most > limitMs + busyMachineMs)
      figures.faults.push(`${name}: a cell had no settled transfer for ${most} ms`);
  };
  try {
    await happens('nothing happens', givenAwayWithinMs, async () => {});
    await happens('a worker dies', takenOverWithinMs, async () => first.signal('SIGKILL'));
    await first.start();
    await happens('a worker stands still', takenOverWithinMs, async () => second.signal('SIGSTOP'));
    second.signal('SIGCONT');
    await happens('a worker ends', givenAwayWithinMs, async () => {
      second.signal('SIGTERM');
      await second.exited();
    });
    await happens('a worker joins', givenAwayWithinMs, () => third.start());
  } finally {
    await clients.stop();
    watch.stop();
    await database.end();
  }
  for (const [name, { most, bound }] of Object.entries(figures.connections))
    if (most > bound) figures.faults.push(`${name} had ${most} connections, and may have ${bound}`);
  await conclude(place, { call, operations, clients }, figures);
}

/** The table of docs/operators/connections.md. */
const boundsOf = (cells: number): { api: number; worker: number } => ({
  api: Math.max(10, cells + 6),
  worker: Math.max(15, 2 * cells + 7),
});

/** The longest time between two instants in which no transfer of a cell was settled, ms. */
async function longestUnsettled(
  database: pg.Client,
  cell: string,
  from: number,
  to: number,
): Promise<number> {
  const { rows } = await database.query<{ ms: number }>(
    `SELECT ceil(extract(epoch FROM max(next - at)) * 1000)::integer AS ms
      FROM (SELECT at, lead(at) OVER (ORDER BY at) AS next FROM (
        SELECT settled_at AS at FROM ${cell}.payment WHERE kind = 'transfer' AND settled_at BETWEEN $1 AND $2
        UNION ALL SELECT unnest(ARRAY[$1, $2]::timestamptz[])) AS times) AS pairs`,
    [new Date(from), new Date(to)],
  );
  return rows[0]?.ms ?? 0;
}

/** Looks twice a second how many connections to PostgreSQL each process has open. */
function watchConnections(port: number, parts: readonly Part[], seen: (name: string, open: number) => void) {
  const look = () => {
    const established = socketsTo(port);
    for (const { name, pid } of parts)
      seen(name, socketsOf(pid).filter((inode) => established.has(inode)).length);
  };
  const timer = setInterval(look, 500);
  return { stop: () => clearInterval(timer) };
}

/** Inodes of the sockets of this machine that are connected to a port. */
function socketsTo(port: number): Set<string> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, 'utf8').split('\n').slice(1),
  );
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return new Set(
    fields.flatMap(([, , remote, state, , , , , , inode]) =>
      remote?.endsWith(`:${hex}`) && state === '01' && inode ? [inode] : [],
    ),
  );
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(folder, name)))?.[1] ?? [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

if (import.meta.main) {
  const figures = await shareCells({
    ...numbersGiven({ seed: 1, cells: 8, seconds: 20 }),
    say: console.log,
  });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
