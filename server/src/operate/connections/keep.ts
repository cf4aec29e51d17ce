import { prepareLimits } from '../../flow/limit.ts';
import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import type { Sql } from '../../ports/sql.ts';
import { heldProvider } from '../../provider/held.ts';
import type { Provider } from '../../provider/provider.ts';
import { findConnectionRow, keepAccount, readVersions } from './connections.sql.ts';
import { providerOfRow } from './credentials.ts';
import { anotherAnswers } from './held.ts';
import { takeIdentity } from './identity.ts';

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
  /** The same before its time, where this connection is not known: an account's first request may come sooner than the next look. */
  takeUp(connection: string): Promise<void>;
  /** Those behind which another account stands than before, by name, with the reason: nothing is sent and nothing is asked for over them. */
  held: ReadonlyMap<string, string>;
}

export interface KeepDeps {
  sql: Sql;
  clock: Clock;
  net: Net;
  log: Log;
  secrets: Pick<Secrets, 'open'>;
  config: { simulatorUrl: string };
  /** Around every provider that is made. */
  wrap(provider: Provider): Provider;
}

/** One that cannot be used is asked for by each request of its accounts: so often at most it costs a look. */
const unknownLookMs = 200;

/** How often a provider that names the account is asked for it. */
const askAgainMs = 10 * 60_000;

export function keepConnections(deps: KeepDeps, ofEnvironment: ReadonlyMap<string, Provider>): Connections {
  const providers = new Map<string, Provider>();
  const listeners = new Set<(provider: Provider) => void>();
  const known = new Map<string, { version: number; change(next: Provider): void }>();
  const held = new Map<string, string>();
  /** Of the environment: puts the provider that waits in the place of the one that is held. */
  const waiting = new Map<string, (next: Provider) => void>();
  /** When each is asked again which account it is, monotonic. */
  const askedAgainAt = new Map<string, number>();

  async function add(provider: Provider): Promise<void> {
    await prepareLimits(deps.sql, provider.connection, provider.capabilities.maxParallelSends);
    providers.set(provider.connection, provider);
    for (const begin of listeners) begin(provider);
  }

  /** One of the environment, unless another account is behind it than before while something depends on that one. */
  async function addOfEnvironment(name: string, provider: Provider): Promise<void> {
    const reason = await takeIdentity(deps.sql, name, provider.identity);
    const release = waiting.get(name);
    if (release) {
      if (reason !== null) return;
      held.delete(name);
      waiting.delete(name);
      release(provider);
      deps.log.info({ connection: name }, 'the connection is no longer held');
      return;
    }
    if (providers.has(name)) return;
    if (reason === null) return add(provider);
    hold(name, reason);
    const { provider: one, change } = changeable(asHeld(provider));
    waiting.set(name, change);
    await add(one);
  }

  /** The account behind a connection can be changed at the provider, without a word to us. */
  async function compareAccount(name: string): Promise<void> {
    const row = await findConnectionRow(deps.sql, name);
    if (!row || row.simulated) return;
    const said = await providerOfRow(deps, row).askAccount?.();
    if (said?.outcome !== 'found') return;
    if (row.identity === null) return void (await keepAccount(deps.sql, { ...row, identity: said.identity }));
    const isHeld = held.has(name);
    if ((said.identity !== row.identity) === isHeld) return;
    if (isHeld) {
      held.delete(name);
      deps.log.info({ connection: name }, 'the connection is no longer held');
    } else hold(name, anotherAnswers);
    known.get(name)?.change(asHeld(deps.wrap(providerOfRow(deps, row))));
  }

  function hold(connection: string, reason: string): void {
    held.set(connection, reason);
    deps.log.error({ connection, reason }, 'a connection is held: nothing is sent and nothing is asked for');
  }

  const asHeld = (provider: Provider): Provider =>
    held.has(provider.connection) ? heldProvider(provider) : provider;

  async function takeUp(name: string, version: number): Promise<void> {
    const row = await findConnectionRow(deps.sql, name);
    if (!row) return;
    // One that was held may not be used until it was compared again, by whichever process and with whatever it was changed to.
    if (row.heldSince !== null && !held.has(name)) hold(name, row.heldReason ?? anotherAnswers);
    if (held.has(name)) askedAgainAt.delete(name);
    const made = asHeld(deps.wrap(providerOfRow(deps, row)));
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
    for (const [name, provider] of ofEnvironment)
      if (!providers.has(name) || waiting.has(name)) await addOfEnvironment(name, provider);
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
    const now = deps.clock.monotonicMs();
    for (const [name, provider] of providers) {
      if (!provider.askAccount || !known.has(name) || now < (askedAgainAt.get(name) ?? 0)) continue;
      askedAgainAt.set(name, now + askAgainMs);
      // Beside everything else: a provider that does not answer holds nothing up.
      void compareAccount(name).catch((error: unknown) =>
        deps.log.warn({ err: error, connection: name }, 'the account of a connection was not compared'),
      );
    }
  }

  const refreshOnce = (): Promise<void> => {
    underWay ??= refresh().finally(() => {
      underWay = null;
    });
    return underWay;
  };

  let lookedForUnknownAt = Number.NEGATIVE_INFINITY;

  return {
    providers,
    held,
    each(begin) {
      listeners.add(begin);
      for (const provider of providers.values()) begin(provider);
      return () => listeners.delete(begin);
    },
    refresh: refreshOnce,
    async takeUp(connection) {
      if (providers.has(connection)) return;
      // A look that is under way may have begun before the connection was made.
      await underWay?.catch(() => undefined);
      if (deps.clock.monotonicMs() - lookedForUnknownAt < unknownLookMs) return;
      lookedForUnknownAt = deps.clock.monotonicMs();
      await refreshOnce();
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
