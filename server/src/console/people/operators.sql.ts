import type { OperatorRole } from '../../operate/acts.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

export interface OperatorPerson {
  id: string;
  email: string;
  name: string;
  role: OperatorRole;
  createdAt: number;
  /** When the invitation was accepted; null: it was not, or the factors were taken away. */
  enrolledAt: number | null;
  suspendedAt: number | null;
}

const columns = `id, email, name, role, created_at AS "createdAt", enrolled_at AS "enrolledAt", suspended_at AS "suspendedAt"`;

const list: Statement = {
  name: 'operator_list',
  text: `SELECT ${columns} FROM operator_person ORDER BY created_at, id LIMIT 1000`,
};

export const listOperators = (sql: Queries): Promise<OperatorPerson[]> => sql.run<OperatorPerson>(list);

const byEmail: Statement = {
  name: 'operator_by_email',
  text: `SELECT ${columns} FROM operator_person WHERE email = $1`,
};

export const findOperator = async (sql: Queries, email: string): Promise<OperatorPerson | undefined> =>
  (await sql.run<OperatorPerson>(byEmail, [email]))[0];

const insert: Statement = {
  name: 'operator_insert',
  text: `INSERT INTO operator_person (id, email, name, role, created_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (email) DO NOTHING RETURNING id`,
};

/** @returns false: an operator has that address */
export const insertOperator = async (
  tx: Queries,
  { id, email, name, role, createdAt }: Omit<OperatorPerson, 'enrolledAt' | 'suspendedAt'>,
): Promise<boolean> => (await tx.run(insert, [id, email, name, role, timestamp(createdAt)])).length > 0;

/** Two changes of operators at once: the later one sees the earlier, so that an administrator is left. */
const lock: Statement = {
  name: 'operator_lock',
  text: 'SELECT id FROM operator_person ORDER BY id FOR NO KEY UPDATE',
};

export const lockOperators = (tx: Queries): Promise<unknown> => tx.run(lock);

const invite: Statement = {
  name: 'operator_invite',
  text: `UPDATE operator_person SET invitation_hash = $2, invitation_expires_at = $3, password = NULL, app_secret = NULL, app_step = NULL,
      enrolled_at = NULL WHERE id = $1`,
};

/** With it the password and the app are gone. */
export const inviteOperator = (
  tx: Queries,
  id: string,
  invitation: { hash: Buffer; expiresAt: number },
): Promise<unknown> => tx.run(invite, [id, invitation.hash, timestamp(invitation.expiresAt)]);

const suspend: Statement = {
  name: 'operator_suspend',
  text: `UPDATE operator_person SET suspended_at = $2, invitation_hash = NULL, invitation_expires_at = NULL WHERE id = $1`,
};

export const suspendOperatorRow = (tx: Queries, id: string, nowMs: number): Promise<unknown> =>
  tx.run(suspend, [id, timestamp(nowMs)]);

const grant: Statement = {
  name: 'operator_grant',
  text: `UPDATE operator_person SET role = $2, suspended_at = NULL WHERE id = $1`,
};

export const grantRole = (tx: Queries, id: string, role: OperatorRole): Promise<unknown> =>
  tx.run(grant, [id, role]);

const otherAdministrators: Statement = {
  name: 'operator_other_administrators',
  text: `SELECT id FROM operator_person WHERE role = 'administrator' AND suspended_at IS NULL AND enrolled_at IS NOT NULL AND id <> $1 LIMIT 1`,
};

export const hasOtherAdministrator = async (tx: Queries, id: string): Promise<boolean> =>
  (await tx.run(otherAdministrators, [id])).length > 0;

const able: Statement = {
  name: 'operator_still_able',
  text: `SELECT id FROM operator_person
    WHERE id = ANY ($1::uuid[]) AND suspended_at IS NULL AND enrolled_at IS NOT NULL AND role = ANY ($2::text[])`,
};

/** Whether each of them may sign in and has one of the roles. */
export const areAble = async (
  tx: Queries,
  ids: readonly string[],
  roles: readonly OperatorRole[],
): Promise<boolean> => (await tx.run(able, [ids, roles])).length === new Set(ids).size;

// -------------------------------------------------------------------------------------------------------------- enrolment

const invited: Statement = {
  name: 'operator_invited',
  text: `SELECT ${columns}, app_secret AS "appSecret" FROM operator_person
    WHERE invitation_hash = $1 AND invitation_expires_at > $2 AND suspended_at IS NULL`,
};

export const findInvited = async (
  sql: Queries,
  hash: Buffer,
  nowMs: number,
): Promise<(OperatorPerson & { appSecret: Buffer | null }) | undefined> =>
  (await sql.run<OperatorPerson & { appSecret: Buffer | null }>(invited, [hash, timestamp(nowMs)]))[0];

const offerApp: Statement = {
  name: 'operator_offer_app',
  text: `UPDATE operator_person SET app_secret = $2 WHERE invitation_hash = $1 AND enrolled_at IS NULL RETURNING id`,
};

/** @returns false: the invitation was accepted meanwhile */
export const offerAppSecret = async (sql: Sql, hash: Buffer, sealed: Buffer): Promise<boolean> =>
  (await sql.tx((tx) => tx.run(offerApp, [hash, sealed]))).length > 0;

const enrol: Statement = {
  name: 'operator_enrol',
  text: `UPDATE operator_person SET password = $2, app_step = $3, enrolled_at = $4, invitation_hash = NULL, invitation_expires_at = NULL
    WHERE invitation_hash = $1 AND app_secret = $5 AND suspended_at IS NULL RETURNING id`,
};

/** @returns false: the invitation was accepted meanwhile, or another secret was shown since */
export const enrolOperator = async (
  tx: Queries,
  hash: Buffer,
  { password, step, nowMs, appSecret }: { password: string; step: number; nowMs: number; appSecret: Buffer },
): Promise<boolean> => (await tx.run(enrol, [hash, password, step, timestamp(nowMs), appSecret])).length > 0;

// ---------------------------------------------------------------------------------------------------------------- sign-in

export interface Credentials {
  id: string;
  password: string;
  appSecret: Buffer;
}

const credentials: Statement = {
  name: 'operator_credentials',
  text: `SELECT id, password, app_secret AS "appSecret" FROM operator_person
    WHERE email = $1 AND enrolled_at IS NOT NULL AND suspended_at IS NULL`,
};

export const findCredentials = async (sql: Queries, email: string): Promise<Credentials | undefined> =>
  (await sql.run<Credentials>(credentials, [email]))[0];

const takeStep: Statement = {
  name: 'operator_app_step',
  text: `UPDATE operator_person SET app_step = $2 WHERE id = $1 AND (app_step IS NULL OR app_step < $2) AND suspended_at IS NULL
    AND enrolled_at IS NOT NULL RETURNING id`,
};

/** @returns false: a code of this step or a later one was accepted before, or the person may not sign in any more */
export const useAppStep = async (tx: Queries, id: string, step: number): Promise<boolean> =>
  (await tx.run(takeStep, [id, step])).length > 0;

const present: Statement = {
  name: 'operator_present',
  text: `SELECT email FROM operator_person WHERE id = $1 AND suspended_at IS NULL AND enrolled_at IS NOT NULL FOR NO KEY UPDATE`,
};

/**
 * Holds an operator who may sign in until the transaction ends: a suspension or a reset comes before or after it.
 * @returns the e-mail address; undefined: there is no such operator now
 */
export const holdOperator = async (tx: Queries, id: string): Promise<string | undefined> =>
  (await tx.run<{ email: string }>(present, [id]))[0]?.email;

const appOf: Statement = {
  name: 'operator_app_secret',
  text: 'SELECT app_secret AS "appSecret" FROM operator_person WHERE id = $1 AND enrolled_at IS NOT NULL',
};

/** @returns sealed; undefined: there is no such operator */
export const findAppSecret = async (sql: Queries, id: string): Promise<Buffer | undefined> =>
  (await sql.run<{ appSecret: Buffer }>(appOf, [id]))[0]?.appSecret;

export interface ConsoleSession {
  id: string;
  operatorId: string;
  network: string;
  createdAt: number;
  seenAt: number;
  /** When a factor was shown again; null: not since the sign-in. */
  provedAt: number | null;
  email: string;
  name: string;
  /** As it stands now: a changed role counts from the next request on. */
  role: string;
}

const insertSessionRow: Statement = {
  name: 'operator_session_insert',
  text: `INSERT INTO operator_session (id, operator_id, token_hash, network, created_at, expires_at, seen_at) VALUES ($1, $2, $3, $4, $5, $6, $5)`,
};

export const insertSession = (
  tx: Queries,
  session: {
    id: string;
    operatorId: string;
    tokenHash: Buffer;
    network: string;
    nowMs: number;
    expiresAt: number;
  },
): Promise<unknown> =>
  tx.run(insertSessionRow, [
    session.id,
    session.operatorId,
    session.tokenHash,
    session.network,
    timestamp(session.nowMs),
    timestamp(session.expiresAt),
  ]);

const readSession: Statement = {
  name: 'operator_session_read',
  text: `SELECT s.id, s.operator_id AS "operatorId", s.network, s.created_at AS "createdAt", s.seen_at AS "seenAt",
      s.proved_at AS "provedAt", p.email, p.name, p.role
    FROM operator_session s JOIN operator_person p ON p.id = s.operator_id
    WHERE s.token_hash = $1 AND s.expires_at > $2 AND p.suspended_at IS NULL AND p.enrolled_at IS NOT NULL`,
};

export const findSession = async (
  sql: Queries,
  tokenHash: Buffer,
  nowMs: number,
): Promise<ConsoleSession | undefined> =>
  (await sql.run<ConsoleSession>(readSession, [tokenHash, timestamp(nowMs)]))[0];

const touch: Statement = {
  name: 'operator_session_touch',
  text: 'UPDATE operator_session SET seen_at = $2 WHERE id = $1',
};

export const touchSession = (sql: Sql, id: string, nowMs: number): Promise<unknown> =>
  sql.tx((tx) => tx.run(touch, [id, timestamp(nowMs)]));

const prove: Statement = {
  name: 'operator_session_prove',
  text: 'UPDATE operator_session SET proved_at = $2 WHERE id = $1',
};

export const proveSession = (tx: Queries, id: string, nowMs: number): Promise<unknown> =>
  tx.run(prove, [id, timestamp(nowMs)]);

const end: Statement = { name: 'operator_session_end', text: 'DELETE FROM operator_session WHERE id = $1' };

export const endSession = (sql: Sql, id: string): Promise<unknown> => sql.tx((tx) => tx.run(end, [id]));

const endAll: Statement = {
  name: 'operator_session_end_all',
  text: 'DELETE FROM operator_session WHERE operator_id = $1',
};

export const endSessionsOf = (tx: Queries, operatorId: string): Promise<unknown> =>
  tx.run(endAll, [operatorId]);

const endOthers: Statement = {
  name: 'operator_session_end_others',
  text: 'DELETE FROM operator_session WHERE operator_id = $1 AND id <> $2',
};

export const endOtherSessionsOf = (tx: Queries, operatorId: string, id: string): Promise<unknown> =>
  tx.run(endOthers, [operatorId, id]);

const prune: Statement = {
  name: 'operator_session_prune',
  text: `DELETE FROM operator_session WHERE id IN (
      SELECT id FROM operator_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneSessions = (sql: Sql, beforeMs: number, most: number): Promise<number> =>
  sql.tx(async (tx) => (await tx.run(prune, [timestamp(beforeMs), most])).length);
