import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort, listens } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { systemClock } from '../server/src/ports/clock.ts';
import { type EmbeddedPostgres, startEmbedded } from '../server/src/store/database/embedded.ts';
import { costOf, driveTransfers, type Measured, textOf } from './drive.ts';
import type { Target } from './load.ts';
import { type Running, startPart, startProgram, stopAll } from './processes.ts';
import { median } from './report.ts';
import { createMerchant, openWorld, targetsOf } from './world.ts';

/**
 * The gain of routing by API key: the CPU time of a transfer (`spread 64` of the bench, service and PostgreSQL, without the load balancer's own) over two
 * `api` processes behind HAProxy and behind nginx, each by key and in turn, beside one process. The configurations are those of
 * `docs/operators/scaling.md`, without TLS. Rounds alternate.
 *
 *   node bench/balancer.ts [--rounds 5] [--seconds 8] [--accounts 100]
 *
 * Needs `haproxy` and `nginx`. Takes some five minutes, on a machine that does nothing else.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    accounts: { type: 'string', default: '100' },
  },
});
const rounds = Number(values.rounds);
const measuredMs = 1000 * Number(values.seconds);
const warmupMs = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'vintem-bench-balancer-'));
// As root the database and the workers of nginx run as other users, who have to pass through.
chmodSync(folder, 0o711);
const settings = {
  HOST: '127.0.0.1',
  DATA_DIR: folder,
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
  TRANSFER_WAIT_MS: '0',
  TRUSTED_PROXIES: '127.0.0.1',
};

interface Way {
  name: string;
  origin: string;
  /** Of the `api` processes behind it. */
  pids: readonly number[];
}

/** The block of the page that follows this line. */
function blockAfter(line: string): string {
  const page = readFileSync(new URL('../docs/operators/scaling.md', import.meta.url), 'utf8');
  const block = /```(?:nginx)?\n([\s\S]*?)```/.exec(page.slice(page.indexOf(`\n${line}`)))?.[1];
  if (block === undefined) throw new Error(`scaling.md has no configuration after "${line}"`);
  return block;
}

/** @throws Error when the page no longer has what is to be replaced */
function replaced(config: string, changes: readonly [from: string | RegExp, to: string][]): string {
  return changes.reduce((text, [from, to]) => {
    const after = text.replace(from, to);
    if (after === text) throw new Error(`the configuration has no ${from}`);
    return after;
  }, config);
}

const upstreams = (ports: readonly number[]): [string, string][] => [
  ['10.0.0.11:3000', `127.0.0.1:${ports[0]}`],
  ['10.0.0.12:3000', `127.0.0.1:${ports[1]}`],
];

function haproxyOf(port: number, ports: readonly number[], byKey: boolean): string[] {
  const file = join(folder, `haproxy-${port}.cfg`);
  const inTurn: [RegExp, string] = [
    /balance hdr\(authorization\)\n\s*hash-type consistent/,
    'balance roundrobin',
  ];
  writeFileSync(
    file,
    replaced(blockAfter('HAProxy'), [
      ['bind :443 ssl crt /etc/haproxy/vintem.pem', `bind 127.0.0.1:${port}`],
      ...upstreams(ports),
      ...(byKey ? [] : [inTurn]),
    ]),
  );
  return ['haproxy', '-db', '-f', file];
}

function nginxOf(port: number, ports: readonly number[], byKey: boolean): string[] {
  const own = join(folder, `nginx-${port}`);
  const server = replaced(blockAfter('nginx:'), [
    ['listen 443 ssl;', `listen 127.0.0.1:${port};`],
    [/ {2}ssl_certificate .*\n/, ''],
    [/ {2}ssl_certificate_key .*\n/, ''],
    ...upstreams(ports),
    ...(byKey ? [] : [[/ *hash \$http_authorization.*\n/, ''] as [RegExp, string]]),
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${own}-${name};`,
  );
  writeFileSync(
    `${own}.conf`,
    `daemon off;\npid ${own}.pid;\nerror_log ${own}.log;\nevents { worker_connections 1024; }\nhttp {\naccess_log off;\n${paths.join('\n')}\n${server}}\n`,
  );
  return ['nginx', '-c', `${own}.conf`];
}

const balancers: ChildProcess[] = [];

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await listens(port)) return;
    await systemClock.sleep(100);
  }
  throw new Error(`nothing listens on port ${port}`);
}

async function behind(
  name: string,
  words: (port: number) => string[],
  pids: readonly number[],
): Promise<Way> {
  const port = await freePort();
  const [program = '', ...rest] = words(port);
  balancers.push(spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit'] }));
  await listening(port);
  return { name, origin: `http://127.0.0.1:${port}`, pids };
}

/** Two `api` processes over one database, and every way to them. */
async function openWays(server: EmbeddedPostgres): Promise<{ ways: Way[]; stop(): Promise<void> }> {
  const ports = [await freePort(), await freePort()];
  const env = { ...settings, DATABASE_URL: server.serviceUrl, MIGRATION_DATABASE_URL: server.url };
  const apis: Running[] = [];
  for (const port of ports)
    apis.push(await startProgram(['api'], { ...env, PORT: `${port}` }, 'vintem api ready'));
  const pids = apis.map(({ pid }) => pid);
  const ways: Way[] = [
    { name: 'one process', origin: `http://127.0.0.1:${ports[0]}`, pids: pids.slice(0, 1) },
  ];
  for (const byKey of [true, false]) {
    const how = byKey ? 'by key' : 'in turn';
    ways.push(await behind(`two behind HAProxy, ${how}`, (port) => haproxyOf(port, ports, byKey), pids));
    ways.push(await behind(`two behind nginx, ${how}`, (port) => nginxOf(port, ports, byKey), pids));
  }
  const stop = async () => {
    for (const api of apis) await api.stop();
  };
  return { ways, stop };
}

async function makeTargets(server: EmbeddedPostgres): Promise<Target[]> {
  const world = await openWorld(readConfig({ ...settings, PORT: '3000' }), server.url);
  const targets: Target[] = [];
  for (let at = 0; at < Number(values.accounts); at++)
    targets.push(...targetsOf([await createMerchant(world, `Loja ${at}`, 10, 1_000_000_000_000)]));
  await world.close();
  return targets;
}

/** Each way under load in turns, whose order alternates. */
async function measureWays(
  ways: readonly Way[],
  drive: (way: Way, forMs: number) => Promise<Measured>,
): Promise<Map<Way, Measured[]>> {
  for (const way of ways) await drive(way, warmupMs);
  const measured = new Map<Way, Measured[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round++)
    for (const way of round % 2 === 0 ? ways : [...ways].reverse()) {
      const one = await drive(way, measuredMs);
      measured.get(way)?.push(one);
      console.log(`round ${round + 1}, ${way.name}: ${textOf(one)}`);
    }
  return measured;
}

function lineOf([{ name }, all]: [Way, Measured[]]): string {
  const of = (pick: (one: Measured) => number) => Math.round(median(all.map(pick)));
  const part = (program: string) => of(({ cost }) => cost?.microsecondsEach[program] ?? Number.NaN);
  return `| ${name} | ${of(costOf)} | ${part('service')} | ${part('postgres')} | ${of(({ perSecond }) => perSecond)} |`;
}

async function main(): Promise<void> {
  const missing = ['haproxy', 'nginx'].filter(
    (program) => spawnSync(program, ['-v'], { stdio: 'ignore' }).error,
  );
  if (missing.length > 0) {
    console.log(`not run: not installed: ${missing.join(', ')}`);
    return;
  }
  const server = await startEmbedded({ dataDir: folder, log: createLog('warn'), say: () => {} });
  const targets = await makeTargets(server);
  const { ways, stop } = await openWays(server);
  const load = await startPart<{ url: string }>('./load.ts');
  const postgres = postmasterOf(folder);
  const measured = await measureWays(ways, ({ origin, pids }, forMs) =>
    driveTransfers(load, { origin, targets, service: pids, postgres }, forMs),
  );
  console.log('| | CPU µs a transfer | service | PostgreSQL | a second |\n|---|---|---|---|---|');
  for (const one of measured) console.log(lineOf(one));
  await load.stop();
  await stop();
  await server.stop();
}

try {
  await main();
} finally {
  for (const balancer of balancers) balancer.kill('SIGTERM');
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
