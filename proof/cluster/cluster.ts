import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { command, newFolder, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { callWith, fund, pause, restAndCheck, startClients } from '../processes/clients.ts';
import { type Entry, longestWithout } from '../processes/history.ts';
import { mayHaveNetwork, openNetwork } from './network.ts';
import { type Cluster, type Node, prepareCluster } from './nodes.ts';

/**
 * The service on three nodes of PostgreSQL under Patroni and etcd behind HAProxy, all as in `deploy/examples`, while nodes die and are cut
 * off under load. Each machine is a network namespace of its own, so that a partition is a pulled cable. What was acknowledged must be there
 * at the end; the figures say for how long nothing was.
 *
 *   node proof/cluster/cluster.ts [--seed N] [--rounds N]
 *
 * A round has every fault once and takes some ten minutes. Needs Linux, root, Patroni 4.0.6 or newer on PATH, and the Debian packages `postgresql`,
 * `etcd-server`, `haproxy` and `iproute2`; without them it says so and is not run. Debian 12 has Patroni 3.0.2, so there:
 *
 *   python3 -m venv /opt/patroni && /opt/patroni/bin/pip install 'patroni[etcd3,psycopg3]' && PATH=/opt/patroni/bin:$PATH
 */
export interface ClusterFigures {
  notRun: string | null;
  calls: number;
  acknowledged: number;
  missing: number;
  /** For each fault: the longest time without an acknowledged transfer until the cluster was whole again, ms. */
  withoutWritesMs: Record<string, number[]>;
  faults: string[];
}

/** How long a fault stands before it is mended: longer than the 20 s of Patroni's lease. */
const standsMs = 40_000;
const wholeWithinMs = 240_000;

interface Strike {
  name: string;
  /** Returns what mends it; null: it mends itself. */
  strike(cluster: Cluster): Promise<(() => void) | null>;
}

const again = (node: Node) => () => node.startPatroni();
const strikes: readonly Strike[] = [
  {
    name: 'planned change of the leader',
    async strike(cluster) {
      const [from, to] = [await cluster.leader(), await cluster.syncReplica()];
      const url = `http://${from.machine.address}:8008/switchover`;
      const body = JSON.stringify({ leader: from.name, candidate: to.name });
      const { status } = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(60_000) });
      if (status !== 200) throw new Error(`the change of the leader was answered ${status}`);
      return null;
    },
  },
  {
    name: 'PostgreSQL of the leader dies',
    async strike(cluster) {
      (await cluster.leader()).machine.kill(['postgres']);
      return null;
    },
  },
  {
    name: 'the leader dies',
    async strike(cluster) {
      const node = await cluster.leader();
      node.machine.kill();
      return () => {
        node.startEtcd();
        node.startPatroni();
      };
    },
  },
  {
    name: 'the synchronous replica dies',
    async strike(cluster) {
      const node = await cluster.syncReplica();
      node.machine.kill(['patroni', 'postgres']);
      return again(node);
    },
  },
  {
    name: 'the leader of etcd dies',
    async strike(cluster) {
      const node = await cluster.etcdLeader();
      node.machine.kill(['etcd']);
      return () => node.startEtcd();
    },
  },
  {
    name: 'the leader is cut off',
    async strike(cluster) {
      const { machine } = await cluster.leader();
      machine.cable(false);
      return () => machine.cable(true);
    },
  },
  {
    name: 'the synchronous replica is cut off',
    async strike(cluster) {
      const { machine } = await cluster.syncReplica();
      machine.cable(false);
      return () => machine.cable(true);
    },
  },
];

function missingTools(): string | null {
  if (!mayHaveNetwork()) return 'network namespaces need Linux, root and iproute2';
  const missing = ['patroni', 'etcd', 'haproxy', 'setpriv'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error,
  );
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  const version = spawnSync('patroni', ['--version'], { encoding: 'utf8' }).stdout.trim();
  if (isStale(version))
    return `${version} may keep an old copy of etcd's keys after a partition: 4.0.6 or newer is needed`;
  return binOf() === null ? "PostgreSQL's own programs are not installed" : null;
}

/**
 * Patroni before 4.0.6 may keep an old copy of etcd's keys after a partition. Its leader then names no synchronous replica, and nothing is
 * acknowledged until that Patroni is restarted (its issues 2779 and 3359; seen here with 3.0.2).
 */
function isStale(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = (/\d+\.\d+\.\d+/.exec(version)?.[0] ?? '').split('.').map(Number);
  return major < 4 || (major === 4 && minor === 0 && patch < 6);
}

/** `PG_BIN`, or the newest of the system's. */
function binOf(): string | null {
  const root = '/usr/lib/postgresql';
  const installed = existsSync(root)
    ? readdirSync(root).sort((one, other) => Number(other) - Number(one))
    : [];
  const places = [process.env.PG_BIN ?? '', ...installed.map((version) => join(root, version, 'bin'))];
  return places.find((place) => place && existsSync(join(place, 'pg_rewind'))) ?? null;
}

/** The example, with the addresses of here. */
function startProxy(folder: string, port: number, nodes: readonly Node[]): ChildProcess {
  let config = readFileSync(new URL('../../deploy/examples/haproxy.cfg', import.meta.url), 'utf8');
  config = config.replace('127.0.0.1:5432', `127.0.0.1:${port}`);
  nodes.forEach(({ machine }, n) => {
    config = config.replaceAll(`10.0.0.${11 + n}`, machine.address);
  });
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, config);
  const log = openSync(join(folder, 'haproxy.log'), 'a');
  return spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', log, log] });
}

export async function tryCluster(options: {
  seed: number;
  rounds: number;
  say(line: string): void;
}): Promise<ClusterFigures> {
  const { seed, rounds, say } = options;
  const figures: ClusterFigures = {
    notRun: missingTools(),
    calls: 0,
    acknowledged: 0,
    missing: 0,
    withoutWritesMs: {},
    faults: [],
  };
  if (figures.notRun !== null) {
    say(`not run: ${figures.notRun}`);
    return figures;
  }
  const folder = await newFolder('cluster');
  const servers = join(folder, 'servers');
  mkdirSync(servers, { mode: 0o711 });
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  const user = { uid: idOf('-u'), gid: idOf('-g') };
  chownSync(servers, user.uid, user.gid);
  const network = openNetwork(3);
  const cluster = prepareCluster({
    folder: servers,
    machines: network.machines,
    bin: binOf() as string,
    user,
  });
  const [proxyPort, port, simulatorPort] = [await freePort(), await freePort(), await freePort()];
  const proxy = startProxy(folder, proxyPort, cluster.nodes);
  const historyPath = join(folder, 'history.ndjson');
  const env = {
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: `postgresql://postgres:proof@127.0.0.1:${proxyPort}/vintem`,
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const logFile = join(folder, 'log.jsonl');
  const service = part('start', { words: ['start'], env, ready: 'vintem ready', logFile });
  try {
    for (const node of cluster.nodes) node.startEtcd();
    for (const node of cluster.nodes) node.startPatroni();
    await cluster.whole(wholeWithinMs);
    await createDatabase((await cluster.leader()).machine.address);
    await service.start();
    const key = /vintem test key (vtm_test_\S+)/.exec(service.output())?.[1] ?? '';
    const call = callWith(`http://127.0.0.1:${port}`, key);
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const operations = await fund(call, simulatorUrl);
    using clients = startClients({ call, operations, seed, clients: 4, historyPath });
    const seen: { name: string; from: number; to: number }[] = [];
    for (let round = 0; round < rounds; round++)
      for (const { name, strike } of strikes) {
        await pause(3_000);
        const from = Date.now();
        const mend = await strike(cluster);
        await pause(standsMs);
        mend?.();
        await cluster.whole(wholeWithinMs);
        seen.push({ name, from, to: Date.now() });
        say(`${name}: whole after ${Math.round((Date.now() - from) / 1000)} s`);
      }
    await pause(5_000);
    await clients.stop();
    const history = readFileSync(historyPath, 'utf8').trim().split('\n');
    const entries = history.map((line) => JSON.parse(line) as Entry);
    for (const { name, from, to } of seen) {
      figures.withoutWritesMs[name] ??= [];
      figures.withoutWritesMs[name].push(longestWithout(entries, from, to));
    }
    Object.assign(figures, { calls: clients.counts.calls, acknowledged: clients.counts.acknowledged });
    figures.faults = await restAndCheck(folder, call, simulatorUrl, operations);
    figures.missing = figures.faults.filter((fault) => fault.includes('is gone')).length;
    const verified = await command(['verify', '--full'], env);
    if (verified.code !== 0) figures.faults.push(`verify ended with ${verified.code}: ${verified.text}`);
  } finally {
    if (service.isRunning()) {
      service.signal('SIGTERM');
      await Promise.race([service.exited(), pause(10_000)]);
      service.signal('SIGKILL');
    }
    proxy.kill('SIGKILL');
    network.close();
    await rm(folder, { recursive: true, force: true });
  }
  return figures;
}

async function createDatabase(host: string): Promise<void> {
  const client = new pg.Client({ host, user: 'postgres', password: 'proof', database: 'postgres' });
  await client.connect();
  await client.query('CREATE DATABASE vintem');
  await client.end();
}

if (import.meta.main) {
  // A signal alone would end the process without its `exit` event, which takes the network down.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const figures = await tryCluster({ ...numbersGiven({ seed: 1, rounds: 1 }), say: console.log });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
