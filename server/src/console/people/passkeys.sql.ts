import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/** A passkey as its operator sees it. */
export interface ListedPasskey {
  id: string;
  name: string;
  synced: boolean;
  addedAt: number;
  usedAt: number | null;
}

/** Of one operator. */
export const passkeysMost = 10;

const list: Statement = {
  name: 'operator_passkeys',
  text: `SELECT id, name, synced, added_at AS "addedAt", used_at AS "usedAt", credential_id AS "credentialId"
    FROM operator_passkey WHERE operator_id = $1 ORDER BY added_at, id`,
};

export const listPasskeys = (
  sql: Queries,
  operatorId: string,
): Promise<(ListedPasskey & { credentialId: string })[]> => sql.run(list, [operatorId]);

/** A passkey against which a signature is checked. */
export interface KnownPasskey {
  id: string;
  operatorId: string;
  email: string;
  credentialId: string;
  publicKey: Buffer;
}

const byCredential: Statement = {
  name: 'operator_passkey_by_credential',
  text: `SELECT k.id, k.operator_id AS "operatorId", p.email, k.credential_id AS "credentialId", k.public_key AS "publicKey"
    FROM operator_passkey k JOIN operator_person p ON p.id = k.operator_id
    WHERE k.credential_id = $1 AND p.suspended_at IS NULL AND p.enrolled_at IS NOT NULL`,
};

/** Of an operator who may sign in. */
export const findPasskey = async (sql: Queries, credentialId: string): Promise<KnownPasskey | undefined> =>
  (await sql.run<KnownPasskey>(byCredential, [credentialId]))[0];

const insert: Statement = {
  name: 'operator_passkey_insert',
  text: `INSERT INTO operator_passkey (id, operator_id, credential_id, public_key, counter, name, synced, added_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8
    WHERE (SELECT count(*) FROM operator_passkey WHERE operator_id = $2) < $9
    ON CONFLICT (credential_id) DO NOTHING RETURNING id`,
};

export interface NewPasskey {
  id: string;
  operatorId: string;
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
  name: string;
  synced: boolean;
  addedAt: number;
}

/** Under the lock of its operator, so that the bound holds. @returns false: it is known already, or the operator has as many as there may be */
export const insertPasskey = async (tx: Queries, one: NewPasskey): Promise<boolean> => {
  const values = [one.id, one.operatorId, one.credentialId, Buffer.from(one.publicKey), one.counter];
  const rows = await tx.run(insert, [
    ...values,
    ...[one.name, one.synced, timestamp(one.addedAt), passkeysMost],
  ]);
  return rows.length > 0;
};

const use: Statement = {
  name: 'operator_passkey_use',
  text: `UPDATE operator_passkey SET counter = $2, used_at = $3
    WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0)) RETURNING id`,
};

/** @returns false: the authenticator counted so far before, so a copy of it signs as well; or the passkey was removed */
export const countPasskey = async (
  tx: Queries,
  id: string,
  counter: number,
  nowMs: number,
): Promise<boolean> => (await tx.run(use, [id, counter, timestamp(nowMs)])).length > 0;

const remove: Statement = {
  name: 'operator_passkey_remove',
  text: 'DELETE FROM operator_passkey WHERE operator_id = $1 AND id = $2 RETURNING name',
};

/** @returns its name; undefined: the operator has no such passkey */
export const removePasskey = async (
  tx: Queries,
  operatorId: string,
  id: string,
): Promise<string | undefined> => (await tx.run<{ name: string }>(remove, [operatorId, id]))[0]?.name;

const removeAll: Statement = {
  name: 'operator_passkey_remove_all',
  text: 'DELETE FROM operator_passkey WHERE operator_id = $1 RETURNING id',
};

/** @returns how many there were */
export const removePasskeysOf = async (tx: Queries, operatorId: string): Promise<number> =>
  (await tx.run(removeAll, [operatorId])).length;

// -------------------------------------------------------------------------------------------------------------- challenges

export type ChallengePurpose = 'sign_in' | 'proof' | 'passkey';

/** The purpose, the session and the network of a challenge: an answer counts for nothing else. */
export interface Asked {
  purpose: ChallengePurpose;
  /** Null: a sign-in. */
  sessionId: string | null;
  network: string;
}

const insertAsked: Statement = {
  name: 'operator_challenge_insert',
  text: `INSERT INTO operator_challenge (hash, purpose, session_id, network, expires_at) VALUES ($1, $2, $3, $4, $5)`,
};

export const insertChallenge = (
  sql: Sql,
  hash: Buffer,
  { purpose, sessionId, network }: Asked,
  expiresAt: number,
): Promise<unknown> =>
  sql.tx((tx) => tx.run(insertAsked, [hash, purpose, sessionId, network, timestamp(expiresAt)]));

const takeAsked: Statement = {
  name: 'operator_challenge_take',
  text: `DELETE FROM operator_challenge WHERE hash = $1
    RETURNING purpose = $2 AND session_id IS NOT DISTINCT FROM $3::uuid AND network = $4 AND expires_at > $5 AS "isOurs"`,
};

/** @returns false: it was not asked for like this, was answered already, or its time is over. It is gone in any case */
export const takeChallenge = async (
  sql: Sql,
  hash: Buffer,
  { purpose, sessionId, network }: Asked,
  nowMs: number,
): Promise<boolean> => {
  const rows = await sql.tx((tx) =>
    tx.run<{ isOurs: boolean }>(takeAsked, [hash, purpose, sessionId, network, timestamp(nowMs)]),
  );
  return rows[0]?.isOurs ?? false;
};

const prune: Statement = {
  name: 'operator_challenge_prune',
  text: `DELETE FROM operator_challenge WHERE hash IN (
      SELECT hash FROM operator_challenge WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneChallenges = (sql: Sql, beforeMs: number, most: number): Promise<number> =>
  sql.tx(async (tx) => (await tx.run(prune, [timestamp(beforeMs), most])).length);
