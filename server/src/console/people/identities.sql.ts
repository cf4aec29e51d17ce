import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/** Who a person is at an OpenID provider. */
export interface Identity {
  issuer: string;
  subject: string;
}

const insert: Statement = {
  name: 'operator_identity_insert',
  text: `INSERT INTO operator_identity (operator_id, issuer, subject, bound_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING RETURNING operator_id`,
};

/** @returns false: the operator has an identity, or this one belongs to another operator */
export const insertIdentity = async (
  tx: Queries,
  operatorId: string,
  { issuer, subject }: Identity,
  nowMs: number,
): Promise<boolean> => (await tx.run(insert, [operatorId, issuer, subject, timestamp(nowMs)])).length > 0;

const ofOperator: Statement = {
  name: 'operator_identity_of',
  text: `SELECT issuer, subject, bound_at AS "boundAt" FROM operator_identity WHERE operator_id = $1`,
};

export const findIdentityOf = async (
  sql: Queries,
  operatorId: string,
): Promise<(Identity & { boundAt: number }) | undefined> =>
  (await sql.run<Identity & { boundAt: number }>(ofOperator, [operatorId]))[0];

const bound: Statement = {
  name: 'operator_identity_bound',
  text: `SELECT p.id, p.email, p.role FROM operator_identity i JOIN operator_person p ON p.id = i.operator_id
    WHERE i.issuer = $1 AND i.subject = $2 AND p.suspended_at IS NULL AND p.enrolled_at IS NOT NULL`,
};

/** The operator who may sign in under it. */
export const findBound = async (
  sql: Queries,
  { issuer, subject }: Identity,
): Promise<{ id: string; email: string; role: string } | undefined> =>
  (await sql.run<{ id: string; email: string; role: string }>(bound, [issuer, subject]))[0];

const remove: Statement = {
  name: 'operator_identity_remove',
  text: 'DELETE FROM operator_identity WHERE operator_id = $1 RETURNING issuer, subject',
};
const endFlows: Statement = {
  name: 'operator_oidc_flow_end_of',
  text: 'DELETE FROM operator_oidc_flow WHERE operator_id = $1',
};

/** With it end the sign-ins that it has begun. @returns undefined: there was none */
export async function removeIdentity(tx: Queries, operatorId: string): Promise<Identity | undefined> {
  await tx.run(endFlows, [operatorId]);
  return (await tx.run<Identity>(remove, [operatorId]))[0];
}

// ---------------------------------------------------------------------------------------------------- sign-ins under way

/** The browser's cookie, its network, and the session that binds; null: a sign-in. */
export interface FlowPlace {
  tokenHash: Buffer;
  network: string;
  sessionId: string | null;
}

const begin: Statement = {
  name: 'operator_oidc_flow_begin',
  text: 'INSERT INTO operator_oidc_flow (token_hash, network, session_id, expires_at) VALUES ($1, $2, $3, $4)',
};

export const insertFlow = (
  sql: Sql,
  { tokenHash, network, sessionId }: FlowPlace,
  expiresAt: number,
): Promise<unknown> => sql.tx((tx) => tx.run(begin, [tokenHash, network, sessionId, timestamp(expiresAt)]));

const answer: Statement = {
  name: 'operator_oidc_flow_answer',
  text: `UPDATE operator_oidc_flow SET answered_at = $4
    WHERE token_hash = $1 AND network = $2 AND session_id IS NOT DISTINCT FROM $3::uuid AND answered_at IS NULL AND expires_at > $4
    RETURNING 1 AS answered`,
};

/** @returns false: it did not begin here, its time is over, or its answer came before */
export const answerFlow = async (
  sql: Sql,
  { tokenHash, network, sessionId }: FlowPlace,
  nowMs: number,
): Promise<boolean> =>
  (await sql.tx((tx) => tx.run(answer, [tokenHash, network, sessionId, timestamp(nowMs)]))).length > 0;

const nameOperator: Statement = {
  name: 'operator_oidc_flow_name',
  text: 'UPDATE operator_oidc_flow SET operator_id = $2 WHERE token_hash = $1',
};

export const nameOperatorOf = (sql: Sql, tokenHash: Buffer, operatorId: string): Promise<unknown> =>
  sql.tx((tx) => tx.run(nameOperator, [tokenHash, operatorId]));

const named: Statement = {
  name: 'operator_oidc_flow_named',
  text: `SELECT operator_id AS "operatorId" FROM operator_oidc_flow
    WHERE token_hash = $1 AND network = $2 AND operator_id IS NOT NULL AND expires_at > $3`,
};

/** @returns the operator whose second factor is missing */
export const findNamed = async (
  sql: Queries,
  { tokenHash, network }: FlowPlace,
  nowMs: number,
): Promise<string | undefined> =>
  (await sql.run<{ operatorId: string }>(named, [tokenHash, network, timestamp(nowMs)]))[0]?.operatorId;

const end: Statement = {
  name: 'operator_oidc_flow_end',
  text: 'DELETE FROM operator_oidc_flow WHERE token_hash = $1 RETURNING 1 AS ended',
};

/** @returns false: another call has ended it */
export const endFlow = async (tx: Queries, tokenHash: Buffer): Promise<boolean> =>
  (await tx.run(end, [tokenHash])).length > 0;

const prune: Statement = {
  name: 'operator_oidc_flow_prune',
  text: `DELETE FROM operator_oidc_flow WHERE token_hash IN (
      SELECT token_hash FROM operator_oidc_flow WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneFlows = (sql: Sql, beforeMs: number, most: number): Promise<number> =>
  sql.tx(async (tx) => (await tx.run(prune, [timestamp(beforeMs), most])).length);
