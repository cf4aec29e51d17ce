import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { command, endAll, newFolder, type Part, part } from '../chaos/processes.ts';
import { type Call, type Clients, callWith, fund, restAndCheck, startClients } from './clients.ts';

/**
 * The ground of a rig with real processes: a folder, addresses, and the environment of the program. When it is disposed of, nothing of it is
 * left.
 */
export interface Scene extends AsyncDisposable {
  folder: string;
  /** Of `vintem start`. */
  url: string;
  simulatorUrl: string;
  /** Of every process that is launched from here on. */
  env: Record<string, string>;
  /** A process of the program by its words, not started. It ends with the scene, in the opposite order of these calls. */
  launch(words: readonly string[], more?: More): Part;
  /** Runs once all processes have ended, the last one that was given first. */
  atEnd(close: () => Promise<unknown>): void;
}

interface More {
  /** Settings beside those of the scene. */
  env?: Record<string, string>;
  /** Where there are several of its kind. */
  name?: string;
  /** Another copy of the program than this tree's. */
  entry?: string | undefined;
}

/** Printed by a process that is ready. */
const readyOf: Readonly<Record<string, string>> = {
  start: 'vintem ready',
  api: 'vintem api ready',
  worker: 'vintem worker ready',
  simulator: 'vintem simulator',
};

export async function openScene(title: string, settings: Record<string, string> = {}): Promise<Scene> {
  const folder = await newFolder(title);
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const env: Record<string, string> = {
    DATA_DIR: join(folder, 'data'),
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
    ...settings,
  };
  mkdirSync(join(folder, 'data'), { mode: 0o711 });
  const parts: Part[] = [];
  const closes = [(): Promise<unknown> => rm(folder, { recursive: true, force: true })];
  return {
    folder,
    env,
    url: `http://127.0.0.1:${port}`,
    simulatorUrl: `http://127.0.0.1:${simulatorPort}`,
    launch(words, { env: own = {}, name, entry } = {}) {
      const [command = ''] = words;
      const launched = part(name ?? command, {
        ...{ words: [...words], env: { ...env, ...own }, ready: readyOf[command] ?? '' },
        ...{ logFile: join(folder, 'log.jsonl'), ...(entry && { entry }) },
      });
      parts.unshift(launched);
      return launched;
    },
    atEnd: (close) => void closes.unshift(close),
    async [Symbol.asyncDispose]() {
      await endAll(parts);
      for (const close of closes) await close();
    },
  };
}

/** The merchant whose key the first start of a service prints. */
export function firstMerchant({ url }: Scene, service: Part): { key: string; call: Call } {
  const key = /vintem test key (vtm_test_\S+)/.exec(service.output())?.[1] ?? '';
  return { key, call: callWith(url, key) };
}

export interface Load extends Disposable {
  call: Call;
  operations: readonly string[];
  clients: Clients;
}

/** Clients of a merchant that has got money; what they saw stands in the folder. */
export async function beginLoad(
  { folder, simulatorUrl }: Scene,
  call: Call,
  options: { seed: number; clients: number },
): Promise<Load> {
  const operations = await fund(call, simulatorUrl);
  const historyPath = join(folder, 'history.ndjson');
  const clients = startClients({ ...options, call, operations, historyPath });
  return { call, operations, clients, [Symbol.dispose]: () => clients[Symbol.dispose]() };
}

export interface LoadFigures {
  calls: number;
  unanswered: number;
  acknowledged: number;
  /** Acknowledged, and not there at the end. */
  missing: number;
  faults: string[];
}

export const noLoad = (): LoadFigures => ({
  calls: 0,
  unanswered: 0,
  acknowledged: 0,
  missing: 0,
  faults: [],
});

/**
 * Ends a load, and compares what its clients saw with the provider's truth, the data at the end and the books.
 * @param entry the program that verifies, where it is another than this tree's. @returns the faults, which the figures have as well
 */
export async function conclude(
  { folder, env, simulatorUrl }: Scene,
  { call, operations, clients }: Omit<Load, keyof Disposable>,
  figures: LoadFigures,
  entry?: string,
): Promise<string[]> {
  await clients.stop();
  const faults = await restAndCheck(folder, call, simulatorUrl, operations);
  const verified = await command(['verify', '--full'], env, entry);
  if (verified.code !== 0)
    faults.push(`verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
  figures.calls += clients.counts.calls;
  figures.acknowledged += clients.counts.acknowledged;
  figures.unanswered += clients.counts.unanswered;
  figures.missing += faults.filter((fault) => fault.includes('is gone')).length;
  figures.faults.push(...faults);
  return faults;
}
