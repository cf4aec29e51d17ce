import { lockAccount } from '../accounts/lock.sql.ts';
import { type Recent, recent } from '../http/recent.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import type { Secrets } from '../secrets.ts';
import { hashOfKey, keyIdOf, makeKey, sameHash } from './key.ts';
import {
  findKey,
  insertKey,
  type ListedKey,
  markRevoked,
  type StoredKey,
  selectKeys,
  touchKey,
} from './keys.sql.ts';
import type { Permission } from './permissions.ts';

/** What keys need of the installation's secrets. A pepper is named, so that it can be changed. */
export type KeyPeppers = Pick<Secrets, 'currentPepper' | 'pepperOf'>;

export const activeKeysPerAccount = 20;

/** A sentence for whoever manages keys: the command line, later the panel. */
export class KeyRefused extends Error {
  override name = 'KeyRefused';
}

/**
 * Makes a key. The answer is the only place where it can ever be read.
 * @throws KeyRefused no such account, a name that is taken or no name, no permission, 20 active keys
 */
export async function createKey(
  house: { sql: Sql; clock: Clock; ids: Ids; secrets: KeyPeppers },
  wanted: { accountId: string; name: string; permissions: readonly Permission[] },
): Promise<{ id: string; key: string }> {
  const name = wanted.name.normalize('NFC').trim();
  if (name.length === 0 || [...name].length > 64 || /[\p{Cc}\p{Cs}]/u.test(name)) {
    throw new KeyRefused('a key has a name of 1 to 64 characters');
  }
  if (wanted.permissions.length === 0) throw new KeyRefused('a key has at least one permission');
  return house.sql.tx(async (tx) => {
    const account = await lockAccount(tx, wanted.accountId);
    if (!account) throw new KeyRefused('there is no such account');
    const now = house.clock.now();
    const active = (await selectKeys(tx, wanted.accountId)).filter((key) => isActive(key, now));
    if (active.length >= activeKeysPerAccount) {
      throw new KeyRefused(`an account has at most ${activeKeysPerAccount} active keys`);
    }
    if (active.some((key) => key.name === name))
      throw new KeyRefused(`an active key is named ${name} already`);
    const made = makeKey(house.ids, account.test);
    const { id: pepperId, pepper } = house.secrets.currentPepper;
    await insertKey(tx, {
      id: made.id,
      accountId: wanted.accountId,
      name,
      permissions: [...new Set(wanted.permissions)],
      hash: hashOfKey(pepper, made.key),
      pepperId,
      createdAt: now,
    });
    return made;
  });
}

/** Every key of the account, oldest first, revoked ones included. */
export const listKeys = (house: { sql: Sql }, accountId: string): Promise<ListedKey[]> =>
  selectKeys(house.sql, accountId);

/**
 * When this has returned, no call that moves money is accepted with the key any more; reads end within a second.
 * Revoking again changes nothing.
 * @throws KeyRefused no such key
 */
export async function revokeKey(house: { sql: Sql; clock: Clock }, id: string): Promise<void> {
  await house.sql.tx(async (tx) => {
    const key = await findKey(tx, id);
    if (!key) throw new KeyRefused('there is no such key');
    await lockAccount(tx, key.accountId);
    await markRevoked(tx, id, house.clock.now());
  });
}

const isActive = (key: { revokedAt: number | null; expiresAt: number | null }, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

/** A key that was presented and fits. */
export interface VerifiedKey {
  id: string;
  accountId: string;
  accountNumber: number;
  test: boolean;
  permissions: ReadonlySet<Permission>;
  expiresAt: number | null;
}

/** How long a process may believe what it read of a key: a revoked key stops everywhere within this time. */
const maxAgeMs = 1000;
const touchEveryMs = 60_000;

/**
 * Looks presented keys up: the whole key to what it stands for, or undefined for whatever is no key in force (unknown,
 * malformed, revoked: nothing tells them apart).
 */
export function keyring(house: {
  sql: Sql;
  clock: Clock;
  secrets: KeyPeppers;
  log: Log;
}): Recent<VerifiedKey> {
  const { sql, clock, secrets, log } = house;

  /** Off the request's path, and at most once a minute for each key and process. */
  function noteUse(key: StoredKey): void {
    const now = clock.now();
    if (key.lastUsedAt !== null && now - key.lastUsedAt < touchEveryMs) return;
    touchKey(sql, key.id, now).catch((err: unknown) => log.warn({ err }, 'the use of a key was not noted'));
  }

  async function verify(presented: string): Promise<VerifiedKey | undefined> {
    const id = keyIdOf(presented);
    if (id === null) return undefined;
    const stored = await findKey(sql, id);
    const pepper = stored && secrets.pepperOf(stored.pepperId);
    // An unknown id costs the same as a known one: the time of the answer says nothing.
    const hash = hashOfKey(pepper ?? secrets.currentPepper.pepper, presented);
    const fits = sameHash(pepper ? stored.hash : Buffer.alloc(32), hash);
    if (!stored || !pepper || !fits || stored.revokedAt !== null) return undefined;
    noteUse(stored);
    return {
      id,
      accountId: stored.accountId,
      accountNumber: stored.accountNumber,
      test: stored.test,
      permissions: new Set(stored.permissions),
      expiresAt: stored.expiresAt,
    };
  }

  return recent({ clock, maxAgeMs, maxEntries: 10_000, read: verify });
}
