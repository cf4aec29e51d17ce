import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { freezePostgres, killIfAlive, postmasterIn } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { command, newFolder, part, percentile } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, fund, pause, restAndCheck, startClients } from './clients.ts';
import { openRelay } from './relay.ts';

/**
 * A streaming standby with synchronous commit, promoted in the middle of load: the primary dies by kill -9, with every backend, and
 * its data is never looked at again. Each request that was answered must be there. Each round makes its own pair of servers.
 *
 *   node proof/processes/standby.ts [--seed N] [--rounds N]
 *
 * Needs PostgreSQL's own tools (initdb, pg_basebackup, pg_ctl: the Debian package `postgresql`), which the embedded server lacks:
 * PG_BIN, or the newest of /usr/lib/postgresql. Without them it says so and is not run.
 */
export interface StandbyFigures {
  notRun: string | null;
  promotions: number;
  calls: number;
  unanswered: number;
  acknowledged: number;
  missing: number;
  /** From the primary's death to the first 201, ms. */
  servingAfterMs: number[];
  faults: string[];
}

function toolsOf(): string | null {
  const installed = existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql').sort((one, other) => Number(other) - Number(one))
    : [];
  const places = [
    process.env.PG_BIN ?? '',
    ...installed.map((version) => `/usr/lib/postgresql/${version}/bin`),
  ];
  const tools = ['initdb', 'pg_basebackup', 'pg_ctl', 'postgres'];
  return places.find((place) => place && tools.every((tool) => existsSync(join(place, tool)))) ?? null;
}

export async function promoteStandby(options: {
  seed: number;
  rounds: number;
  clients: number;
  say(line: string): void;
}): Promise<StandbyFigures> {
  const figures: StandbyFigures = {
    notRun: null,
    promotions: 0,
    calls: 0,
    unanswered: 0,
    acknowledged: 0,
    missing: 0,
    servingAfterMs: [],
    faults: [],
  };
  const tools = toolsOf();
  if (tools === null) {
    figures.notRun = "PostgreSQL's own tools (initdb, pg_basebackup, pg_ctl) are not installed";
    options.say(`not run: ${figures.notRun}`);
    return figures;
  }
  const chance = random(options.seed);
  for (let round = 0; round < options.rounds; round++)
    await promoteOnce(tools, options, chance.below(2_000), round, figures);
  return figures;
}

async function promoteOnce(
  tools: string,
  options: { seed: number; clients: number; say(line: string): void },
  extraMs: number,
  round: number,
  figures: StandbyFigures,
): Promise<void> {
  const folder = await newFolder('standby');
  const servers = join(folder, 'servers');
  mkdirSync(servers, { mode: 0o700 });
  // PostgreSQL refuses to work as root.
  const asRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  const user = asRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (asRoot) chownSync(servers, user.uid as number, user.gid as number);
  const run = (tool: string, args: string[]): void => {
    const done = spawnSync(join(tools, tool), args, {
      ...user,
      cwd: servers,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (done.status !== 0) throw new Error(`${tool} ended with ${done.status}: ${done.stderr}`);
  };
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const [primary, standby] = [join(servers, 'primary'), join(servers, 'standby')];
  const begin = (data: string, port: number): void =>
    run('pg_ctl', [
      '-D',
      data,
      '-w',
      '-t',
      '60',
      '-l',
      `${data}.log`,
      '-o',
      `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`,
      'start',
    ]);
  const killServer = async (data: string): Promise<void> => {
    const postmaster = postmasterIn(data);
    if (postmaster !== null) for (const pid of await freezePostgres(postmaster)) killIfAlive(pid, 'SIGKILL');
  };
  const ask = async (port: number, text: string, database = 'postgres') => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };

  // The service's one address of the database, which is switched over when the standby has been promoted.
  const relay = await openRelay(primaryPort);
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const env = {
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: `postgresql://postgres@127.0.0.1:${relay.port}/vintem`,
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const service = part('start', {
    words: ['start'],
    env,
    ready: 'vintem ready',
    logFile: join(folder, 'log.jsonl'),
  });
  try {
    run('initdb', [
      '-D',
      primary,
      '-U',
      'postgres',
      '-A',
      'trust',
      '--data-checksums',
      '-E',
      'UTF8',
      '--locale',
      'C',
    ]);
    appendFileSync(join(primary, 'postgresql.conf'), 'restart_after_crash = off\nwal_level = replica\n');
    begin(primary, primaryPort);
    await ask(primaryPort, 'CREATE DATABASE vintem');
    const source = `host=127.0.0.1 port=${primaryPort} user=postgres application_name=standby`;
    run('pg_basebackup', ['-D', standby, '-d', source, '-R', '-X', 'stream', '-c', 'fast']);
    begin(standby, standbyPort);
    // From here on COMMIT is answered when the standby has it on disk. Only the primary's settings say so: the copy was made before.
    await ask(primaryPort, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await ask(primaryPort, 'SELECT pg_reload_conf()');
    for (let tries = 0; ; tries++) {
      const rows = await ask(primaryPort, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
      if (rows.length === 1) break;
      if (tries > 300) throw new Error('the standby did not become synchronous within 30 s');
      await pause(100);
    }
    await service.start().catch((error: Error) => {
      throw new Error(`${error.message}: ${readFileSync(join(folder, 'log.jsonl'), 'utf8').slice(-1_000)}`);
    });
    const key = /vintem test key (vtm_test_\S+)/.exec(service.output())?.[1] ?? '';
    const call = callWith(`http://127.0.0.1:${port}`, key);
    const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
    const operations = await fund(call, simulatorUrl);
    using clients = startClients({
      call,
      operations,
      seed: options.seed + round,
      clients: options.clients,
      historyPath: join(folder, 'history.ndjson'),
    });
    await pause(2_000 + extraMs);

    const before = clients.counts.acknowledged;
    await killServer(primary);
    const died = performance.now();
    run('pg_ctl', ['-D', standby, '-w', '-t', '60', 'promote']);
    relay.switchTo(standbyPort);
    // Answers over the old connections are no sign of the new ones.
    const atSwitch = clients.counts.acknowledged;
    while (clients.counts.acknowledged === atSwitch) {
      if (performance.now() - died > 60_000)
        throw new Error('nothing was acknowledged for 60 s after the promotion');
      await pause(20);
    }
    figures.servingAfterMs.push(Math.round(performance.now() - died));
    figures.promotions++;
    await pause(2_000);
    await clients.stop();
    figures.calls += clients.counts.calls;
    figures.unanswered += clients.counts.unanswered;
    figures.acknowledged += clients.counts.acknowledged;
    const faults = await restAndCheck(folder, call, simulatorUrl, operations);
    figures.missing += faults.filter((fault) => fault.includes('is gone')).length;
    const verified = await command(['verify', '--full'], env);
    if (verified.code !== 0)
      faults.push(`verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
    figures.faults.push(...faults.map((fault) => `round ${round + 1}: ${fault}`));
    options.say(
      `promotion ${round + 1}: ${before} acknowledged before, ${clients.counts.acknowledged} in all, ${faults.length} faults, serving after ${figures.servingAfterMs.at(-1)} ms`,
    );
  } finally {
    if (service.isRunning()) {
      service.signal('SIGTERM');
      await Promise.race([service.exited(), pause(10_000)]);
      service.signal('SIGKILL');
    }
    relay.close();
    await killServer(standby);
    await killServer(primary);
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const figures = await promoteStandby({
    ...numbersGiven({ seed: 1, rounds: 2, clients: 8 }),
    say: console.log,
  });
  console.log(JSON.stringify({ ...figures, medianMs: percentile(figures.servingAfterMs, 0.5) }));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
