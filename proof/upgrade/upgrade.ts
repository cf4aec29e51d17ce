import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { command } from '../chaos/processes.ts';
import { type Call, callWith, pause } from '../processes/clients.ts';
import { type Entry, longestWithout } from '../processes/history.ts';
import { beginLoad, conclude, type LoadFigures, noLoad, openScene } from '../processes/scene.ts';
import { addMigration, lastTag, unpackRelease } from './release.ts';

/**
 * An update under load, and back: an earlier program and this one over one database, each as an api and a worker, behind something that
 * balances between those that are up. What is acknowledged by either must be there at the end.
 *
 *   node proof/upgrade/upgrade.ts [--from REVISION] [--seed N]
 *
 * Without a revision, and without a tag in the history, both are the tree of HEAD, and the newer one has a migration that the rig adds.
 *
 * `vintem migrate --plan` says which way it goes. When every pending migration works with the earlier program: migrate beside it, both
 * together, the new one alone, the old one again on the newer schema and alone, and forward again. Otherwise: the migration must refuse
 * while the old processes work and change nothing; then they end, it runs, and an old program must refuse to start.
 */
export interface UpgradeFigures extends LoadFigures {
  from: string;
  /** Migrations that were applied, with their locks. */
  plan: { name: string; locks: string[]; concurrent: boolean; compatibleFrom: string | null }[];
  compatible: boolean;
  migrateMs: number;
  /** For each step, the longest time without an acknowledged transfer, ms. */
  withoutWritesMs: Record<string, number>;
}

const stepMs = 8_000;

export async function tryUpgrade(options: {
  from: string | null;
  seed: number;
  say(line: string): void;
}): Promise<UpgradeFigures> {
  const { from, seed, say } = options;
  const figures: UpgradeFigures = {
    from: from ?? 'HEAD, with a migration of the rig',
    plan: [],
    compatible: false,
    migrateMs: 0,
    withoutWritesMs: {},
    ...noLoad(),
  };
  await using scene = await openScene('upgrade', { VINTEM_SECRET: randomBytes(32).toString('base64') });
  const { folder, env, url: oldUrl } = scene;
  const oldEntry = unpackRelease(from ?? 'HEAD', join(folder, 'before'));
  const nowEntry = from === null ? addMigration(unpackRelease('HEAD', join(folder, 'now'))) : undefined;
  const dataDir = join(folder, 'database');
  // As root the database runs as another user, who has to pass through.
  await mkdir(dataDir, { mode: 0o711 });
  const database = await startEmbedded({ dataDir, log: createLog('silent'), say: () => {} });
  scene.atEnd(() => database.stop());
  // The provider finds the first one, whichever runs: a lost webhook is found by the queries.
  Object.assign(env, { DATABASE_URL: database.url, PUBLIC_URL: oldUrl });
  const simulator = scene.launch(['simulator']);
  const programOf = (port: string, entry?: string) => ({
    api: scene.launch(['api'], { env: { PORT: port }, entry }),
    worker: scene.launch(['worker'], { env: { PORT: port }, entry }),
    url: `http://127.0.0.1:${port}`,
  });
  const before = programOf(env.PORT as string, oldEntry);
  const now = programOf(`${await freePort()}`, nowEntry);

  /** The targets of the balancer. */
  const up: Call[] = [];
  const calls = new Map<string, Call>();
  const begin = async ({ api, worker, url }: typeof now) => {
    await Promise.all([api.start(), worker.start()]);
    up.push(calls.get(url) as Call);
  };
  const end = async ({ api, worker, url }: typeof now) => {
    // A balancer takes a process out before it ends.
    up.splice(up.indexOf(calls.get(url) as Call), 1);
    for (const one of [api, worker]) one.signal('SIGTERM');
    await Promise.all([api.exited(), worker.exited()]);
  };
  let turn = 0;
  const call: Call = async (...asked) => {
    const next = up[turn++ % up.length];
    if (next === undefined) throw new Error('no process is up');
    return next(...asked);
  };
  const run = async <T>(words: string[], entry = nowEntry): Promise<T> => {
    const { code, json, text } = await command<T>(words, env, entry);
    if (code !== 0) throw new Error(`vintem ${words.join(' ')} ended with ${code}: ${text}`);
    return json;
  };
  const marks: { step: string; from: number; to: number }[] = [];
  const step = async (name: string, work: () => Promise<void>) => {
    const began = Date.now();
    await work();
    await pause(stepMs);
    marks.push({ step: name, from: began, to: Date.now() });
    say(`${name}: ${Math.round((Date.now() - began) / 1000)} s`);
  };
  const migrateNow = async () => {
    const began = performance.now();
    await run(['migrate']);
    figures.migrateMs = Math.round(performance.now() - began);
  };

  await run(['migrate'], oldEntry);
  const account = await run<{ ownerId: string }>(['account', 'create', '--name', 'Loja', '--test'], oldEntry);
  const { key } = await run<{ key: string }>(
    [
      ...['key', 'create', '--account', account.ownerId, '--name', 'upgrade'],
      ...['--permissions', 'read,charges,transfers,operations'],
    ],
    oldEntry,
  );
  for (const { url } of [before, now]) calls.set(url, callWith(url, key));
  await simulator.start();
  await begin(before);
  const planned = async () => (await run<{ pending: UpgradeFigures['plan'] }>(['migrate', '--plan'])).pending;
  figures.plan = await planned();
  figures.compatible = figures.plan.every(({ compatibleFrom }) => compatibleFrom !== null);
  using load = await beginLoad(scene, call, { seed, clients: 4 });
  await step('before alone', async () => {});
  if (figures.compatible) {
    await step('migrated beside it', migrateNow);
    await step('both together', () => begin(now));
    await step('now alone', () => end(before));
    await step('back: before beside it, on the newer schema', () => begin(before));
    await step('before alone again', () => end(now));
    await step('forward again', async () => {
      await begin(now);
      await end(before);
    });
  } else {
    await step('refused beside it', async () => {
      const { code, text } = await command(['migrate'], env, nowEntry);
      if (code === 0 || !text.includes('a process of an older vintem works on this database'))
        figures.faults.push(`the migration beside an old process ended with ${code}: ${text}`);
      if ((await planned()).length !== figures.plan.length)
        figures.faults.push('a refused migration changed something');
    });
    await step('stopped, migrated, started', async () => {
      await end(before);
      await migrateNow();
      await begin(now);
    });
    await step('an old program is refused', async () => {
      const { code, text } = await command(['account', 'list'], env, oldEntry);
      if (code === 0 || !text.includes('was migrated by a newer vintem'))
        figures.faults.push(`an old program on the newer schema ended with ${code}: ${text}`);
    });
  }
  await conclude(scene, load, figures, nowEntry);
  const lines = readFileSync(join(folder, 'history.ndjson'), 'utf8').trim().split('\n');
  const history = lines.map((line) => JSON.parse(line) as Entry);
  for (const { step: name, from: began, to } of marks)
    figures.withoutWritesMs[name] = longestWithout(history, began, to);
  const pending = await planned();
  if (pending.length > 0) figures.faults.push(`${pending.length} migrations are still pending`);
  return figures;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { from: { type: 'string' }, seed: { type: 'string', default: '1' } },
  });
  const figures = await tryUpgrade({
    from: values.from ?? lastTag(),
    seed: Number(values.seed),
    say: console.log,
  });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
