import type { Log } from '../../ground/log.ts';
import { onlyForTest, type Permission } from '../../ground/permissions.ts';
import { isPrintable } from '../../ground/printable.ts';
import type { Quotas } from '../../ground/quotas.ts';
import { recentMap } from '../../ground/recent-map.ts';
import { type RefreshingCache, refreshingCache } from '../../ground/refreshing-cache.ts';
import { rests } from '../../ground/resting-keys.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';
import { addressesPerKey, allowList, networkOf } from './address.ts';
import { hashOfKey, keyIdOf, makeKey, sameHash } from './key.ts';
import {
  findKey,
  insertKey,
  type ListedKey,
  markRevoked,
  markRolled,
  markWoken,
  selectKeys,
  setPermissions,
  touchKey,
} from './keys.sql.ts';

/** The part of the installation's secrets that keys need. A pepper is named, so that it can be changed. */
export type KeyPeppers = Pick<Secrets, 'currentPepper' | 'pepperOf'>;

export const activeKeysPerAccount = 20;

/** A refused change of a key. The message is for the person who manages keys, on the command line or in the panel. */
export class KeyRefused extends Error {
  override name = 'KeyRefused';
}

const hour = 3_600_000;
const day = 24 * hour;

/** How long an old key stays valid beside its replacement. */
export const overlaps = { now: 0, '1h': hour, '24h': day, '7d': 7 * day } as const;

export interface WantedKey {
  accountId: string;
  name: string;
  permissions: readonly Permission[];
  /** 1 to 3650; default: it does not expire. */
  expiresInDays?: number | undefined;
  /** Addresses and networks from which it may be used; default: from everywhere. */
  ips?: readonly string[] | undefined;
  /** The person of the panel who makes it; default: the operator. */
  createdBy?: string;
}

export interface KeyDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: KeyPeppers;
}

/**
 * Makes a key. The answer is the only place where it can ever be read.
 * @throws KeyRefused no such account, a name that is taken or no name, no permission, one that is for test accounts, 20 active keys, no address
 */
export async function createKey(deps: KeyDeps, wanted: WantedKey): Promise<{ id: string; key: string }> {
  const name = wanted.name.normalize('NFC').trim();
  if (name.length === 0 || [...name].length > 64 || !isPrintable(name)) {
    throw new KeyRefused('a key has a name of 1 to 64 characters');
  }
  if (wanted.permissions.length === 0) throw new KeyRefused('a key has at least one permission');
  const ips = networksOf(wanted.ips ?? []);
  const { expiresInDays } = wanted;
  if (
    expiresInDays !== undefined &&
    !(Number.isInteger(expiresInDays) && expiresInDays >= 1 && expiresInDays <= 3650)
  ) {
    throw new KeyRefused('a key lives 1 to 3650 days');
  }
  return deps.sql.tx(async (tx) => {
    const account = await lockAccount(tx, wanted.accountId);
    if (!account) throw new KeyRefused('there is no such account');
    if (!account.test && wanted.permissions.some((permission) => onlyForTest.includes(permission))) {
      throw new KeyRefused(`${onlyForTest.join(', ')} is only for keys of test accounts`);
    }
    const now = deps.clock.now();
    // One that was followed by another only ends its overlap: neither its place nor its name is kept for it.
    const active = (await selectKeys(tx, wanted.accountId)).filter(
      (key) => isActive(key, now) && key.rolledTo === null,
    );
    if (active.length >= activeKeysPerAccount) {
      throw new KeyRefused(`an account has at most ${activeKeysPerAccount} active keys`);
    }
    if (active.some((key) => key.name === name))
      throw new KeyRefused(`an active key is named ${name} already`);
    const made = makeKey(deps.ids, account.test);
    await insertKey(tx, {
      id: made.id,
      ...hashed(deps, made.key),
      accountId: wanted.accountId,
      name,
      permissions: [...new Set(wanted.permissions)],
      ips,
      createdAt: now,
      expiresAt: expiresInDays === undefined ? null : now + expiresInDays * day,
      createdBy: wanted.createdBy ?? null,
    });
    return made;
  });
}

/**
 * Makes a key with the name, permissions, addresses and lifetime of another one, which stays valid for `overlapMs`.
 * The last use of the old key shows its owner when no program uses it any more.
 * @throws KeyRefused no such active key in the account, or it was rolled already
 */
export async function rollKey(
  deps: KeyDeps,
  accountId: string,
  id: string,
  overlapMs: number,
  createdBy: string | null = null,
): Promise<{ id: string; key: string }> {
  return deps.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    const now = deps.clock.now();
    const old = (await selectKeys(tx, accountId)).find((key) => key.id === id && isActive(key, now));
    if (!account || !old) throw new KeyRefused('there is no such active key');
    if (old.rolledTo !== null) throw new KeyRefused(`the key was rolled already, to ${old.rolledTo}`);
    const made = makeKey(deps.ids, account.test);
    await markRolled(tx, id, made.id, now + overlapMs);
    const { name, permissions, ips } = old;
    await insertKey(tx, {
      id: made.id,
      ...hashed(deps, made.key),
      accountId,
      name,
      permissions,
      ips,
      createdAt: now,
      expiresAt: old.expiresAt === null ? null : now + (old.expiresAt - old.createdAt),
      createdBy,
    });
    return made;
  });
}

/**
 * Takes permissions away from a key; adding one needs another key.
 * @throws KeyRefused no such active key in the account, none left, or one that it has not
 */
export async function narrowKey(
  deps: KeyDeps,
  accountId: string,
  id: string,
  left: readonly Permission[],
): Promise<void> {
  await deps.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const now = deps.clock.now();
    const key = (await selectKeys(tx, accountId)).find((one) => one.id === id && isActive(one, now));
    if (!key) throw new KeyRefused('there is no such active key');
    if (left.length === 0 || !left.every((permission) => key.permissions.includes(permission))) {
      throw new KeyRefused('a key keeps at least one of its permissions and gets no other');
    }
    await setPermissions(tx, id, [...new Set(left)]);
  });
}

/**
 * A key named by its id alone is rolled.
 * @throws KeyRefused as `rollKey`
 */
export async function rollKeyById(
  deps: KeyDeps,
  id: string,
  overlapMs: number,
): Promise<{ id: string; key: string }> {
  const key = await findKey(deps.sql, id);
  if (!key) throw new KeyRefused('there is no such key');
  return rollKey(deps, key.accountId, id, overlapMs);
}

/**
 * Reactivates a key that was suspended after half a year without use.
 * @throws KeyRefused no such active key
 */
export async function wakeKey(deps: { sql: Sql; clock: Clock }, id: string): Promise<void> {
  await deps.sql.tx(async (tx) => {
    const key = await findKey(tx, id);
    if (!key || !isActive(key, deps.clock.now())) throw new KeyRefused('there is no such active key');
    await lockAccount(tx, key.accountId);
    await markWoken(tx, id, deps.clock.now());
  });
}

function hashed(deps: KeyDeps, key: string): { hash: Buffer; pepperId: string } {
  const { id: pepperId, pepper } = deps.secrets.currentPepper;
  return { hash: hashOfKey(pepper, key), pepperId };
}

/** @throws KeyRefused */
function networksOf(texts: readonly string[]): string[] {
  if (texts.length > addressesPerKey) {
    throw new KeyRefused(`a key has at most ${addressesPerKey} addresses and networks`);
  }
  const networks = texts.map((text) => {
    const network = networkOf(text);
    if (network === null) {
      throw new KeyRefused(`${text} is no address, nor a network of IPv4 /16 or IPv6 /32 or narrower`);
    }
    return network;
  });
  return [...new Set(networks)];
}

/** Every key of the account, oldest first, revoked ones included. */
export const listKeys = (deps: { sql: Sql }, accountId: string): Promise<ListedKey[]> =>
  selectKeys(deps.sql, accountId);

/**
 * When this has returned, no call that moves money is accepted with the key any more; reads end within a second.
 * Revoking again changes nothing.
 * @throws KeyRefused no such key
 */
export async function revokeKey(deps: { sql: Sql; clock: Clock }, id: string): Promise<void> {
  await deps.sql.tx(async (tx) => {
    const key = await findKey(tx, id);
    if (!key) throw new KeyRefused('there is no such key');
    await lockAccount(tx, key.accountId);
    await markRevoked(tx, id, deps.clock.now());
  });
}

/** The name of the key that a first start prints, in both languages: it does not know yet who reads it. */
export const firstKeyName = 'Primeira chave · First key';

/** @returns the ids of the keys that were in force */
export const revokeFirstKey = (deps: { sql: Sql; clock: Clock }, accountId: string): Promise<string[]> =>
  deps.sql.tx(async (tx) => {
    const printed = (await selectKeys(tx, accountId)).filter(
      (key) => key.name === firstKeyName && isActive(key, deps.clock.now()),
    );
    if (printed.length === 0) return [];
    await lockAccount(tx, accountId);
    for (const { id } of printed) await markRevoked(tx, id, deps.clock.now());
    return printed.map(({ id }) => id);
  });

const isActive = (key: { revokedAt: number | null; expiresAt: number | null }, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

/** A key that was presented and fits. */
export interface VerifiedKey {
  id: string;
  accountId: string;
  accountNumber: number;
  cell: string;
  test: boolean;
  connection: string;
  chargeFallback: readonly string[];
  permissions: ReadonlySet<Permission>;
  expiresAt: number | null;
  lastUsedAt: number | null;
  /** Whether it may be used from this address. */
  allows(address: string): boolean;
  /** The rate limits of the account's own. */
  quotas: Quotas;
}

/** How long a process may believe what it read of a key: a revoked key stops everywhere within this time. */
const maxAgeMs = 1000;
const touchEveryMs = 60_000;
const keysAtHand = 10_000;

export interface Keyring {
  /**
   * The whole key to what it stands for, or undefined for whatever is no key in force (unknown, malformed, revoked, resting: nothing
   * distinguishes them).
   */
  get: RefreshingCache<VerifiedKey>['get'];
  /**
   * The cell of a whole key that this process has seen valid; undefined: it has not. The key may have been revoked since: only `get` admits.
   */
  cellOf(presented: string): string | undefined;
  /** Notes that a key was used: off the request's path, and at most once a minute for each key and process. */
  noteUse(key: VerifiedKey, ip: string, userAgent: string | undefined): void;
}

export function keyring(deps: { sql: Sql; clock: Clock; secrets: KeyPeppers; log: Log }): Keyring {
  const { sql, clock, secrets, log } = deps;
  /** When each was noted by this process, monotonic, since what was read of a key may be a second old. */
  const notedAt = new Map<string, number>();

  /** The cell of each whole key that was valid. */
  const seenValid = recentMap<string>(keysAtHand);

  async function verify(presented: string): Promise<VerifiedKey | undefined> {
    const id = keyIdOf(presented);
    if (id === null) return undefined;
    const stored = await findKey(sql, id);
    const pepper = stored && secrets.pepperOf(stored.pepperId);
    // An unknown id costs the same as a known one: the time of the answer says nothing.
    const hash = hashOfKey(pepper ?? secrets.currentPepper.pepper, presented);
    const fits = sameHash(pepper ? stored.hash : Buffer.alloc(32), hash);
    if (!stored || !pepper || !fits || stored.revokedAt !== null || rests(stored, clock.now())) {
      seenValid.delete(presented);
      return undefined;
    }
    seenValid.set(presented, stored.cell);
    return {
      id,
      accountId: stored.accountId,
      accountNumber: stored.accountNumber,
      cell: stored.cell,
      test: stored.test,
      connection: stored.connection,
      chargeFallback: stored.chargeFallback,
      permissions: new Set(stored.permissions),
      expiresAt: stored.expiresAt,
      lastUsedAt: stored.lastUsedAt,
      allows: allowList(stored.ips),
      quotas: stored.quotas,
    };
  }

  const known = refreshingCache({ clock, maxAgeMs, maxEntries: keysAtHand, read: verify });
  return {
    get: known.get,
    cellOf: (presented) => seenValid.get(presented),
    noteUse(key, ip, userAgent) {
      const now = clock.now();
      const elapsed = clock.monotonicMs();
      if (now - (key.lastUsedAt ?? 0) < touchEveryMs) return;
      if (elapsed - (notedAt.get(key.id) ?? Number.NEGATIVE_INFINITY) < touchEveryMs) return;
      if (notedAt.size >= keysAtHand) notedAt.clear();
      notedAt.set(key.id, elapsed);
      const agent = /^[A-Za-z0-9._-]{1,40}/.exec(userAgent ?? '')?.[0] ?? null;
      touchKey(sql, key.id, { at: now, ip, agent }).catch((err: unknown) => {
        log.warn({ err }, 'the use of a key was not noted');
      });
    },
  };
}
