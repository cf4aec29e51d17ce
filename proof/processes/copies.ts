import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { findPostmaster } from '@vintem/testkit/processes.ts';
import { command, newFolder, type Part, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';

/**
 * Data folders that are copied, moved and renamed beside a running original. In each round the seed chooses: the copy is made while
 * the original works or after it was killed; the copy is started, a command works on it, or both; then the original is renamed and a new
 * folder takes its name. An operation that is made in one folder must never be seen in another, the original never stops answering,
 * and at every moment two services that run have two servers.
 *
 *   node proof/processes/copies.ts [--seed N] [--rounds N]
 */
export interface CopyFigures {
  rounds: number;
  copies: number;
  commands: number;
  faults: string[];
}

export async function copyFolders(options: {
  seed: number;
  rounds: number;
  say(line: string): void;
}): Promise<CopyFigures> {
  const figures: CopyFigures = { rounds: 0, copies: 0, commands: 0, faults: [] };
  for (let round = 0; round < options.rounds; round++) {
    await copyOnce(options.seed + round, figures, (what) =>
      figures.faults.push(`seed ${options.seed + round}: ${what}`),
    );
    figures.rounds++;
    options.say(`round ${round + 1} of ${options.rounds}: ${figures.faults.length} faults`);
  }
  return figures;
}

interface Service {
  env: Record<string, string>;
  part: Part;
}

async function copyOnce(seed: number, figures: CopyFigures, fault: (what: string) => void): Promise<void> {
  const chance = random(seed);
  const folder = await newFolder('copies');
  const services: Service[] = [];
  const serviceOn = async (name: string): Promise<Service> => {
    const dataDir = join(folder, name);
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    const env = {
      DATA_DIR: dataDir,
      PORT: `${await freePort()}`,
      SIMULATOR_PORT: `${await freePort()}`,
      LOG_LEVEL: 'error',
    };
    const launched = part(name, {
      words: ['start'],
      env,
      ready: 'vintem ready',
      logFile: join(folder, `${name}.log`),
    });
    const service = { env, part: launched };
    services.push(service);
    return service;
  };
  const namesAt = async ({ env }: Service): Promise<string> => {
    const listed = await command<{ accounts: { name: string }[] }>(['account', 'list'], env);
    if (listed.code !== 0) fault(`account list on ${env.DATA_DIR} ended with ${listed.code}: ${listed.text}`);
    figures.commands++;
    return (listed.json?.accounts ?? [])
      .map(({ name }) => name)
      .sort()
      .join(', ');
  };
  const makeAccount = async ({ env }: Service, name: string): Promise<void> => {
    const made = await command(['account', 'create', '--test', '--name', name], env);
    figures.commands++;
    if (made.code !== 0) fault(`account create on ${env.DATA_DIR} ended with ${made.code}: ${made.text}`);
  };
  const expectNames = async (service: Service, expected: string): Promise<void> => {
    const found = await namesAt(service);
    if (found !== expected) fault(`${service.env.DATA_DIR} holds "${found}" and not "${expected}"`);
  };
  try {
    const original = await serviceOn('data');
    await original.part.start();
    const killed = chance.below(3) === 0;
    if (killed) {
      original.part.signal('SIGKILL');
      await original.part.exited();
    }
    const copy = await serviceOn('rehearsal');
    rmSync(copy.env.DATA_DIR as string, { recursive: true });
    // The cluster rests, so its copy is what a crash would leave.
    execFileSync('cp', ['-a', original.env.DATA_DIR as string, copy.env.DATA_DIR as string]);
    figures.copies++;
    if (killed) await original.part.start();
    const starts = chance.below(2) === 0;
    if (starts) await copy.part.start();
    await makeAccount(copy, 'In the copy');
    await makeAccount(original, 'In the original');
    await expectNames(copy, 'In the copy, Loja de teste');
    await expectNames(original, 'In the original, Loja de teste');
    const servers = [original, copy].map(({ env }) => findPostmaster(env.DATA_DIR as string));
    if (servers[0] === null || servers[0] === servers[1]) fault(`the servers are ${servers.join(' and ')}`);
    await end(copy);

    // The old folder under another name, and a new one under the old name.
    await end(original);
    const renamed = await serviceOn('data.bad');
    rmSync(renamed.env.DATA_DIR as string, { recursive: true });
    renameSync(original.env.DATA_DIR as string, renamed.env.DATA_DIR as string);
    const fresh = await serviceOn('data');
    await fresh.part.start();
    await expectNames(fresh, 'Loja de teste');
    if (chance.below(2) === 0) await renamed.part.start();
    await expectNames(renamed, 'In the original, Loja de teste');
    await expectNames(copy, 'In the copy, Loja de teste');
  } finally {
    for (const { part } of services) part.signal('SIGKILL');
    for (const { env, part } of services) {
      await part.exited();
      const postmaster = findPostmaster(env.DATA_DIR as string);
      if (postmaster !== null) process.kill(postmaster, 'SIGINT');
      await removeOutside(env.DATA_DIR as string);
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function end({ part }: Service): Promise<void> {
  if (!part.isRunning()) return;
  part.signal('SIGTERM');
  await part.exited();
}

async function removeOutside(dataDir: string): Promise<void> {
  try {
    const { cluster } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as {
      cluster: string;
    };
    if (resolve('/', cluster) === cluster) await rm(join(cluster, '..'), { recursive: true, force: true });
  } catch {
    // It never had a cluster.
  }
}

if (import.meta.main) {
  const figures = await copyFolders({ ...numbersGiven({ seed: 1, rounds: 3 }), say: console.log });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
