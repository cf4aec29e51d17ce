import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, listens } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { createLog } from '../../server/src/ground/log.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { command, commandsWith, endAll } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { callWith, fund, pause, restAndCheck, startClients } from './clients.ts';
import { openScene } from './scene.ts';

/**
 * The service behind PgBouncer, by the statements and settings that docs/operators/connections.md gives: read there, and run as written.
 *
 * 1. PgBouncer as it is installed, and one that drops the start-up options: `vintem check` must say what is wrong.
 * 2. Session mode as documented, under load, with kill -9 of PgBouncer in the middle.
 * 3. Transaction mode, which is not supported: what it does, and that nothing that was acknowledged is lost.
 *
 *   node proof/processes/pgbouncer.ts [--seed N]
 *
 * Needs `pgbouncer` (the Debian package); without it, it says so and is not run.
 */
export interface PgbouncerFigures {
  notRun: string | null;
  version: string;
  /** While the service worked through PgBouncer. */
  modes: Record<string, { calls: number; unanswered: number; acknowledged: number }>;
  missing: number;
  faults: string[];
}

const page = readFileSync(new URL('../../docs/operators/connections.md', import.meta.url), 'utf8');

/** The one code block of the page in this language. @throws Error when there is not exactly one */
function blockOf(language: string): string {
  const [block, ...more] = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]*)\`\`\``, 'g'))];
  if (!block || more.length > 0) throw new Error(`connections.md has not one block of ${language}`);
  return block[1] as string;
}

export async function tryPgbouncer(options: {
  seed: number;
  say(line: string): void;
}): Promise<PgbouncerFigures> {
  const { seed, say } = options;
  const installed = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' });
  const figures: PgbouncerFigures = {
    notRun: installed.status === 0 ? null : 'pgbouncer is not installed',
    version: installed.stdout?.split('\n')[0] ?? '',
    modes: {},
    missing: 0,
    faults: [],
  };
  if (figures.notRun !== null) return figures;
  await using scene = await openScene('pgbouncer', { VINTEM_SECRET: randomBytes(32).toString('base64') });
  const { folder, env, url, simulatorUrl } = scene;
  const dataDir = join(folder, 'database');
  // As root the database runs as another user, who has to pass through.
  await mkdir(dataDir, { mode: 0o711 });
  const database = await startEmbedded({ dataDir, log: createLog('silent'), say: () => {} });
  scene.atEnd(() => database.stop());
  const direct = new URL(database.serviceUrl);
  const bouncerPort = await freePort();
  const bouncer = bouncerIn(folder, bouncerPort, direct);
  scene.atEnd(bouncer.kill);
  const through = new URL(direct);
  through.port = `${bouncerPort}`;
  Object.assign(env, { DATABASE_URL: direct.href, MIGRATION_DATABASE_URL: database.url });
  const pooled = { ...env, DATABASE_URL: through.href };
  const simulator = scene.launch(['simulator']);
  const run = commandsWith(env);
  await run(['migrate']);
  const account = await run<{ ownerId: string }>(['account', 'create', '--name', 'Loja', '--test']);
  const { key } = await run<{ key: string }>([
    ...['key', 'create', '--account', account.ownerId, '--name', 'pgbouncer'],
    ...['--permissions', 'read,charges,transfers,operations'],
  ]);
  const call = callWith(url, key);
  await simulator.start();
  const setup = async (mode: string, settings: string) => {
    await bouncer.start(settings);
    const { code, text } = await command(['check'], pooled);
    await bouncer.kill();
    const told = /has other settings than vintem asks for|unsupported startup parameter/.test(text);
    if (code === 0 || !told) figures.faults.push(`${mode}: check ended with ${code}: ${text}`);
    say(`${mode}: check ends with ${code}`);
  };
  await setup('as installed', 'pool_mode = session');
  await setup('options dropped', 'pool_mode = session\nignore_startup_parameters = options');

  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(blockOf('sql'));
  await owner.end();
  const documented = blockOf('ini');
  /** An api and a worker over `given`, for as long as `work` takes. */
  const serving = async <T>(given: typeof env, work: () => Promise<T>): Promise<T> => {
    const parts = ['api', 'worker'].map((word) => scene.launch([word], { env: given }));
    try {
      await Promise.all(parts.map((one) => one.start()));
      return await work();
    } finally {
      await endAll(parts);
    }
  };
  const operations = await serving(env, () => fund(call, simulatorUrl));
  const load = async (mode: string, during: () => Promise<void>) => {
    const historyPath = join(folder, 'history.ndjson');
    using clients = startClients({ call, operations, seed, clients: 6, historyPath });
    await during();
    const { calls, unanswered, acknowledged } = clients.counts;
    figures.modes[mode] = { calls, unanswered, acknowledged };
    say(`${mode}: ${acknowledged} acknowledged of ${calls} calls, ${unanswered} unanswered`);
    return clients;
  };
  const rest = async (mode: string) => {
    const faults = await restAndCheck(folder, call, simulatorUrl, operations);
    figures.faults.push(...faults.map((fault) => `${mode}: ${fault}`));
  };
  await bouncer.start(documented);
  await serving(pooled, async () => {
    const clients = await load('session', async () => {
      await pause(8_000);
      await bouncer.kill();
      await bouncer.start(documented);
      await pause(8_000);
    });
    await clients.stop();
    await rest('session');
  });
  await bouncer.kill();
  await bouncer.start(documented.replace('pool_mode = session', 'pool_mode = transaction'));
  // Whether a process starts there depends on which statement comes first on which session.
  const clients = await serving(pooled, () => load('transaction', () => pause(8_000))).catch(
    (error: Error) => {
      say(`transaction: ${error.message}`);
      return null;
    },
  );
  await bouncer.kill();
  // Sessions that transaction mode left open are ended without it.
  await serving(env, async () => {
    await clients?.stop();
    await rest('transaction');
  });
  figures.missing = figures.faults.filter((fault) => fault.includes('is gone')).length;
  const verified = await command(['verify', '--full'], env);
  if (verified.code !== 0) figures.faults.push(`verify ended with ${verified.code}: ${verified.text}`);
  return figures;
}

/** PgBouncer before the database, as the user `nobody`: it refuses to work as root. */
function bouncerIn(folder: string, port: number, direct: URL) {
  let child: ChildProcess | null = null;
  const home = join(folder, 'pgbouncer');
  mkdirSync(home, { mode: 0o700 });
  const asRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  const user = asRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  const file = join(home, 'pgbouncer.ini');
  return {
    async start(settings: string): Promise<void> {
      const login = `user=${direct.username} password=${decodeURIComponent(direct.password)}`;
      const lines = [
        '[databases]',
        `vintem = host=127.0.0.1 port=${direct.port} dbname=vintem ${login}`,
        '[pgbouncer]',
        `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any`,
        'max_client_conn = 200\ndefault_pool_size = 60',
        settings,
      ];
      writeFileSync(file, `${lines.join('\n')}\n`);
      if (asRoot) for (const one of [home, file]) chownSync(one, user.uid as number, user.gid as number);
      child = spawn('pgbouncer', ['-q', file], {
        ...user,
        cwd: home,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      while (child.exitCode === null && !(await listens(port))) await pause(50);
      if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    },
    async kill(): Promise<void> {
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((done) => child?.once('exit', done));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

if (import.meta.main) {
  const figures = await tryPgbouncer({ ...numbersGiven({ seed: 1 }), say: console.log });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
