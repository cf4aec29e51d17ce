import type { Log } from '../ground/log.ts';
import type { Secrets } from '../ground/secrets.ts';
import type { Sql } from '../ports/sql.ts';
import type { AdapterWorld } from '../provider/adapter.ts';
import type { Provider } from '../provider/provider.ts';
import { prepareLimits } from '../settlement/dispatch/limit.ts';
import { findConnectionRow, readVersions } from './connections.sql.ts';
import { providerOfRow } from './credentials.ts';

/**
 * The providers of a process: those of the environment's settings, and one for each row. Rows that are made or changed are taken up
 * without a restart: `refresh` compares one small number for each of them.
 */
export interface Connections {
  providers: ReadonlyMap<string, Provider>;
  /** Calls for every provider of this moment, and for each that comes later. @returns ends the calls */
  each(begin: (provider: Provider) => void): () => void;
  /** Takes up what was made or changed. */
  refresh(): Promise<void>;
}

export interface KeepDeps extends AdapterWorld {
  sql: Sql;
  log: Log;
  secrets: Pick<Secrets, 'open'>;
  config: { simulatorUrl: string };
  /** Around every provider that is made. */
  wrap(provider: Provider): Provider;
}

export function keepConnections(deps: KeepDeps, ofEnvironment: ReadonlyMap<string, Provider>): Connections {
  const providers = new Map<string, Provider>();
  const listeners = new Set<(provider: Provider) => void>();
  const known = new Map<string, { version: number; change(next: Provider): void }>();

  async function add(provider: Provider): Promise<void> {
    await prepareLimits(deps.sql, provider.connection, provider.capabilities.maxParallelSends);
    providers.set(provider.connection, provider);
    for (const begin of listeners) begin(provider);
  }

  async function takeUp(name: string, version: number): Promise<void> {
    const row = await findConnectionRow(deps.sql, name);
    if (!row) return;
    const made = deps.wrap(providerOfRow(deps, row));
    const before = known.get(name);
    if (before) {
      before.change(made);
      before.version = version;
      return;
    }
    const { provider, change } = changeable(made);
    known.set(name, { version, change });
    await add(provider);
  }

  let underWay: Promise<void> | null = null;
  const failed = new Map<string, number>();
  async function refresh(): Promise<void> {
    for (const [name, provider] of ofEnvironment) if (!providers.has(name)) await add(provider);
    for (const { name, version } of await readVersions(deps.sql)) {
      if (known.get(name)?.version === version) continue;
      try {
        await takeUp(name, version);
        failed.delete(name);
      } catch (error) {
        // Its payments wait; those of the other connections do not.
        if (failed.get(name) !== version)
          deps.log.error({ err: error, connection: name }, 'a connection cannot be used');
        failed.set(name, version);
      }
    }
  }

  return {
    providers,
    each(begin) {
      listeners.add(begin);
      for (const provider of providers.values()) begin(provider);
      return () => listeners.delete(begin);
    },
    refresh: () => {
      underWay ??= refresh().finally(() => {
        underWay = null;
      });
      return underWay;
    },
  };
}

/** The same object for as long as the connection lives, whatever its credentials become: loops and maps hold it. */
function changeable(first: Provider): { provider: Provider; change(next: Provider): void } {
  let current = first;
  const provider = new Proxy(first, { get: (_, name) => Reflect.get(current, name) });
  return {
    provider,
    change: (next) => {
      current = next;
    },
  };
}
