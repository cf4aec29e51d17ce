import type { Quotas } from '../../ground/quotas.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import type { Role } from './roles.ts';

/** Who a session stands for, in one account of theirs. */
export interface Membership {
  accountId: string;
  accountNumber: number;
  accountName: string;
  /** Of the account. */
  cell: string;
  test: boolean;
  connection: string;
  role: Role;
  /** When the person joined, and what the account asks of its members (`second-factor.ts`). */
  joinedAt: number;
  graceDays: number;
  graceSince: number | null;
  /** The rate limits of the account's own. */
  quotas: Quotas;
  /** When this session was last used in the account, noted at most once a minute. */
  usedAt: number | null;
}

/** Without accounts that have ended what this session could open there. */
const selectMemberships: Statement = {
  name: 'panel_memberships_of_session',
  text: `SELECT m.account_id AS "accountId", a.number AS "accountNumber", a.name AS "accountName", a.cell, a.test, a.connection, m.role,
      m.created_at AS "joinedAt", a.second_factor_grace_days AS "graceDays", a.second_factor_since AS "graceSince", a.rate_quotas AS quotas,
      x.seen_at AS "usedAt"
    FROM panel_member m JOIN account a ON a.id = m.account_id
      LEFT JOIN panel_session_access x ON x.session_id = $2 AND x.account_id = m.account_id
    WHERE m.user_id = $1 AND (m.sessions_since IS NULL OR m.sessions_since <= $3)
    ORDER BY a.created_at, a.id`,
};

export const findMemberships = (
  sql: Queries,
  session: Pick<SessionRow, 'id' | 'userId' | 'createdAt'>,
): Promise<Membership[]> =>
  sql.run<Membership>(selectMemberships, [session.userId, session.id, timestamp(session.createdAt)]);

const noteAccess: Statement = {
  name: 'panel_session_access_note',
  text: `INSERT INTO panel_session_access (session_id, account_id, since, seen_at)
    SELECT id, $2, $3, $3 FROM panel_session WHERE id = $1
    ON CONFLICT (session_id, account_id) DO UPDATE SET seen_at = $3
    RETURNING since = $3 AS first`,
};

/** @returns whether the session was never used in this account before */
export const touchAccess = (
  sql: Sql,
  sessionId: string,
  accountId: string,
  nowMs: number,
): Promise<boolean> =>
  sql.tx(
    async (tx) =>
      (await tx.run<{ first: boolean }>(noteAccess, [sessionId, accountId, timestamp(nowMs)]))[0]?.first ===
      true,
  );

export interface SessionRow {
  id: string;
  userId: string;
  createdAt: number;
  seenAt: number | null;
  authenticatedAt: number | null;
  email: string;
  name: string;
  language: 'pt-BR' | 'en';
  twoFactorEnabled: boolean;
  passkeys: number;
  /** Two factors were shown in this session. That another session set one up changes nothing here. */
  secondFactor: boolean;
  frozenUntil: number | null;
}

const selectSession: Statement = {
  name: 'panel_session_of_token',
  text: `SELECT s.id, s.user_id AS "userId", s.created_at AS "createdAt", s.seen_at AS "seenAt",
      s.authenticated_at AS "authenticatedAt", u.email, u.name, u.language, u.two_factor_enabled AS "twoFactorEnabled",
      (SELECT count(*) FROM panel_passkey p WHERE p.user_id = u.id) AS passkeys, s.second_factor AS "secondFactor", u.frozen_until AS "frozenUntil"
    FROM panel_session s JOIN panel_user u ON u.id = s.user_id WHERE s.token = $1 AND s.expires_at > $2`,
};

/** @param token as the table has it. @returns none of a session that has ended */
export const findSession = async (sql: Queries, token: string, nowMs: number): Promise<SessionRow | null> =>
  (await sql.run<SessionRow>(selectSession, [token, timestamp(nowMs)]))[0] ?? null;

const touch: Statement = {
  name: 'panel_session_touch',
  text: `UPDATE panel_session SET seen_at = $2 WHERE id = $1`,
};

export const touchSession = (sql: Sql, id: string, nowMs: number): Promise<unknown> =>
  sql.tx((tx) => tx.run(touch, [id, timestamp(nowMs)]));

const authenticated: Statement = {
  name: 'panel_session_authenticated',
  text: `UPDATE panel_session SET seen_at = $2, authenticated_at = $2 WHERE id = $1`,
};

export const markAuthenticated = (sql: Sql, id: string, nowMs: number): Promise<unknown> =>
  sql.tx((tx) => tx.run(authenticated, [id, timestamp(nowMs)]));

const factorShown: Statement = {
  name: 'panel_session_second_factor',
  text: `UPDATE panel_session SET second_factor = true WHERE id = $1`,
};

export const markSecondFactor = (sql: Sql, id: string): Promise<unknown> =>
  sql.tx((tx) => tx.run(factorShown, [id]));

const insertPlace: Statement = {
  name: 'panel_place_insert',
  text: `WITH before AS (SELECT count(*) AS places FROM panel_place WHERE user_id = $1),
      added AS (INSERT INTO panel_place (user_id, place, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1)
    SELECT (SELECT count(*) FROM added) = 1 AND (SELECT places FROM before) > 0 AS strange`,
};

/** @returns whether the person has signed in before, and never from there */
export const isStrangePlace = (sql: Sql, userId: string, place: Buffer, nowMs: number): Promise<boolean> =>
  sql.tx(
    async (tx) =>
      (await tx.run<{ strange: boolean }>(insertPlace, [userId, place, timestamp(nowMs)]))[0]?.strange ===
      true,
  );

const freeze: Statement = {
  name: 'panel_user_freeze',
  text: `UPDATE panel_user SET frozen_until = greatest(frozen_until, $2) WHERE id = $1`,
};

export const freezeUser = (tx: Queries, userId: string, untilMs: number): Promise<unknown> =>
  tx.run(freeze, [userId, timestamp(untilMs)]);

const setProfile: Statement = {
  name: 'panel_user_profile',
  text: `UPDATE panel_user SET name = $2, language = $3 WHERE id = $1`,
};

export const updateProfile = (sql: Sql, userId: string, name: string, language: string): Promise<unknown> =>
  sql.tx((tx) => tx.run(setProfile, [userId, name, language]));

export interface ListedSession {
  id: string;
  createdAt: number;
  seenAt: number | null;
  ipAddress: string | null;
  userAgent: string | null;
}

const selectSessions: Statement = {
  name: 'panel_session_list',
  text: `SELECT id, created_at AS "createdAt", seen_at AS "seenAt", ip_address AS "ipAddress", user_agent AS "userAgent"
    FROM panel_session WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC`,
};

export const findSessions = (sql: Queries, userId: string, nowMs: number): Promise<ListedSession[]> =>
  sql.run<ListedSession>(selectSessions, [userId, timestamp(nowMs)]);

const selectAccess: Statement = {
  name: 'panel_session_access_list',
  text: `SELECT s.id, coalesce(x.since, s.created_at) AS "createdAt", coalesce(x.seen_at, s.seen_at) AS "seenAt",
      s.ip_address AS "ipAddress", s.user_agent AS "userAgent"
    FROM panel_session s JOIN panel_member m ON m.user_id = s.user_id AND m.account_id = $2
      LEFT JOIN panel_session_access x ON x.session_id = s.id AND x.account_id = $2
    WHERE s.user_id = $1 AND s.expires_at > $3 AND (m.sessions_since IS NULL OR m.sessions_since <= s.created_at)
      AND (x.session_id IS NOT NULL OR NOT EXISTS (SELECT FROM panel_member o WHERE o.user_id = $1 AND o.account_id <> $2))
    ORDER BY 2 DESC`,
};

/**
 * The sessions that were used in this account and still open it, with the times of their use there; of a person who has no other account
 * also those that were not used yet.
 */
export const findAccess = (
  sql: Queries,
  userId: string,
  accountId: string,
  nowMs: number,
): Promise<ListedSession[]> => sql.run<ListedSession>(selectAccess, [userId, accountId, timestamp(nowMs)]);

const endAccess: Statement = {
  name: 'panel_member_end_access',
  text: 'UPDATE panel_member SET sessions_since = $3 WHERE account_id = $2 AND user_id = $1',
};
const isOnly: Statement = {
  name: 'panel_member_is_only',
  text: 'SELECT NOT EXISTS (SELECT FROM panel_member WHERE user_id = $1 AND account_id <> $2) AS only',
};

/**
 * No session that has begun opens this account any more.
 * @returns whether it is the only account of the person, so that nothing is left that the sessions could open
 */
export const endAccessTo = async (
  tx: Queries,
  userId: string,
  accountId: string,
  nowMs: number,
): Promise<boolean> => {
  const [, [row]] = await Promise.all([
    tx.run(endAccess, [userId, accountId, timestamp(nowMs)]),
    tx.run<{ only: boolean }>(isOnly, [userId, accountId]),
  ]);
  return row?.only === true;
};

const deleteOne: Statement = {
  name: 'panel_session_end',
  text: `DELETE FROM panel_session WHERE user_id = $1 AND id = $2`,
};

export const endSession = (tx: Queries, userId: string, id: string): Promise<unknown> =>
  tx.run(deleteOne, [userId, id]);

const deleteOthers: Statement = {
  name: 'panel_session_end_others',
  text: `DELETE FROM panel_session WHERE user_id = $1 AND id <> $2`,
};

export const endOtherSessions = (tx: Queries, userId: string, id: string): Promise<unknown> =>
  tx.run(deleteOthers, [userId, id]);

const deleteAll: Statement = {
  name: 'panel_session_end_all',
  text: `DELETE FROM panel_session WHERE user_id = $1`,
};

export const endEverySession = (tx: Queries, userId: string): Promise<unknown> => tx.run(deleteAll, [userId]);

const deleteEverybodys: Statement = {
  name: 'panel_session_end_everybody',
  text: `DELETE FROM panel_session RETURNING id`,
};

/** @returns how many ended */
export const endSessionsOfEverybody = async (tx: Queries): Promise<number> =>
  (await tx.run(deleteEverybodys)).length;

const selectInForce: Statement = {
  name: 'panel_session_in_force',
  text: `SELECT s.id AS "sessionId", m.account_id AS "accountId", m.role
    FROM panel_session s JOIN panel_member m ON m.user_id = s.user_id AND (m.sessions_since IS NULL OR m.sessions_since <= s.created_at)
    WHERE s.id = ANY ($1::uuid[]) AND s.expires_at > $2`,
};

/** The current standing of these sessions, in each account of their persons. */
export const findInForce = (
  sql: Queries,
  sessionIds: readonly string[],
  nowMs: number,
): Promise<{ sessionId: string; accountId: string; role: Role }[]> =>
  sql.run(selectInForce, [sessionIds, timestamp(nowMs)]);

// ---------------------------------------------------------------------------------------------------------------- factors

const useStep: Statement = {
  name: 'panel_totp_step',
  text: `UPDATE panel_two_factor SET last_step = $2 WHERE user_id = $1 AND (last_step IS NULL OR last_step < $2) RETURNING 1 AS used`,
};

/** @returns false when a code of this step or a later one was accepted before */
export const useTotpStep = (sql: Sql, userId: string, step: number): Promise<boolean> =>
  sql.tx(async (tx) => (await tx.run(useStep, [userId, step])).length > 0);

const deleteYoungTotp: Statement = {
  name: 'panel_totp_young_delete',
  text: `WITH gone AS (
      DELETE FROM panel_two_factor WHERE user_id = $1 AND (verified IS NOT TRUE OR verified_at > $2) RETURNING verified)
    UPDATE panel_user SET two_factor_enabled = false WHERE id = $1 AND EXISTS (SELECT FROM gone WHERE verified)`,
};
const deleteYoungPasskeys: Statement = {
  name: 'panel_passkey_young_delete',
  text: `DELETE FROM panel_passkey WHERE user_id = $1 AND created_at > $2`,
};

/** Factors begun or added just before: a thief who had the session may have added it. */
export async function removeYoungFactors(tx: Queries, userId: string, sinceMs: number): Promise<void> {
  await tx.run(deleteYoungTotp, [userId, timestamp(sinceMs)]);
  await tx.run(deleteYoungPasskeys, [userId, timestamp(sinceMs)]);
}

const deleteTotp: Statement = {
  name: 'panel_totp_delete',
  text: `DELETE FROM panel_two_factor WHERE user_id = $1`,
};
const deletePasskeys: Statement = {
  name: 'panel_passkey_delete_all',
  text: `DELETE FROM panel_passkey WHERE user_id = $1`,
};
const disableTotp: Statement = {
  name: 'panel_user_totp_off',
  text: `UPDATE panel_user SET two_factor_enabled = false WHERE id = $1`,
};

export async function removeEveryFactor(tx: Queries, userId: string): Promise<void> {
  await tx.run(deleteTotp, [userId]);
  await tx.run(deletePasskeys, [userId]);
  await tx.run(disableTotp, [userId]);
}

// ---------------------------------------------------------------------------------------------------------------- people

export interface User {
  id: string;
  email: string;
  name: string;
}

const selectUser: Statement = {
  name: 'panel_user_by_email',
  text: `SELECT id, email, name FROM panel_user WHERE email = $1`,
};

export const findUser = async (sql: Queries, email: string): Promise<User | undefined> =>
  (await sql.run<User>(selectUser, [email]))[0];

const selectEmail: Statement = {
  name: 'panel_email_of_reset',
  text: `SELECT u.email FROM panel_verification v JOIN panel_user u ON u.id::text = v.value WHERE v.identifier = $1`,
};

/** Whose password a mailed secret would reset. */
export const findEmail = async (sql: Queries, identifier: string): Promise<string | null> =>
  (await sql.run<{ email: string }>(selectEmail, [identifier]))[0]?.email ?? null;

const upsertNewEmail: Statement = {
  name: 'panel_new_email_put',
  text: `INSERT INTO panel_new_email (user_id, email, token_hash, cancel_hash, expires_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (user_id) DO UPDATE SET email = $2, token_hash = $3, cancel_hash = $4, expires_at = $5`,
};

/** The link before, if there was one, is void. */
export const replaceNewEmail = (
  tx: Queries,
  wanted: { userId: string; email: string; tokenHash: Buffer; cancelHash: Buffer; expiresAt: number },
): Promise<unknown> =>
  tx.run(upsertNewEmail, [
    wanted.userId,
    wanted.email,
    wanted.tokenHash,
    wanted.cancelHash,
    timestamp(wanted.expiresAt),
  ]);

const dropNewEmail: Statement = {
  name: 'panel_new_email_drop',
  text: `DELETE FROM panel_new_email WHERE user_id = $1`,
};

/** A change that waits for its link ends: the password, a factor or the sessions changed. */
export const deleteNewEmailOf = (tx: Queries, userId: string): Promise<unknown> =>
  tx.run(dropNewEmail, [userId]);

const cancelRow: Statement = {
  name: 'panel_new_email_cancel',
  text: `DELETE FROM panel_new_email WHERE cancel_hash = $1 RETURNING user_id AS "userId"`,
};

/** @returns whose change ended; undefined: no such link */
export const cancelNewEmail = async (tx: Queries, cancelHash: Buffer): Promise<string | undefined> =>
  (await tx.run<{ userId: string }>(cancelRow, [cancelHash]))[0]?.userId;

const deleteNewEmail: Statement = {
  name: 'panel_new_email_take',
  text: `DELETE FROM panel_new_email n USING panel_user u
    WHERE n.token_hash = $1 AND n.expires_at > $2 AND u.id = n.user_id
    RETURNING n.user_id AS "userId", n.email, u.email AS "oldEmail"`,
};

export const takeNewEmail = async (
  tx: Queries,
  tokenHash: Buffer,
  nowMs: number,
): Promise<{ userId: string; email: string; oldEmail: string } | undefined> =>
  (
    await tx.run<{ userId: string; email: string; oldEmail: string }>(deleteNewEmail, [
      tokenHash,
      timestamp(nowMs),
    ])
  )[0];

const setEmail: Statement = {
  name: 'panel_user_email',
  text: `UPDATE panel_user SET email = $2, frozen_until = greatest(frozen_until, $3), updated_at = $4 WHERE id = $1`,
};

/** Every session ends with it. */
export async function updateEmail(
  tx: Queries,
  userId: string,
  email: string,
  frozenUntilMs: number,
  nowMs: number,
): Promise<void> {
  await tx.run(setEmail, [userId, email, timestamp(frozenUntilMs), timestamp(nowMs)]);
  await tx.run(deleteAll, [userId]);
}

const selectPassword: Statement = {
  name: 'panel_user_password',
  text: `SELECT password FROM panel_credential WHERE user_id = $1 AND provider_id = 'credential'`,
};

export const findPassword = async (sql: Queries, userId: string): Promise<string | null> =>
  (await sql.run<{ password: string | null }>(selectPassword, [userId]))[0]?.password ?? null;

const insertUserRow: Statement = {
  name: 'panel_user_insert',
  text: `INSERT INTO panel_user (id, name, email, email_verified, created_at, updated_at) VALUES ($1, $2, $3, true, $4, $4)
    ON CONFLICT (email) DO NOTHING RETURNING id`,
};

const insertCredential: Statement = {
  name: 'panel_credential_insert',
  text: `INSERT INTO panel_credential (id, user_id, account_id, provider_id, password, created_at, updated_at)
    VALUES ($1, $2, $5, 'credential', $3, $4, $4)`,
};

/** In better-auth's form: the credential's account is the user. @returns false when another person took that address meanwhile */
export async function insertUser(
  tx: Queries,
  user: User & { credentialId: string; passwordHash: string; createdAt: number },
): Promise<boolean> {
  const at = timestamp(user.createdAt);
  if ((await tx.run(insertUserRow, [user.id, user.name, user.email, at])).length === 0) return false;
  await tx.run(insertCredential, [user.credentialId, user.id, user.passwordHash, at, user.id]);
  return true;
}

const insertMemberRow: Statement = {
  name: 'panel_member_insert',
  text: `INSERT INTO panel_member (account_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, user_id) DO NOTHING RETURNING role`,
};

/** @returns false when the user belongs to the account already */
export const insertMember = async (
  tx: Queries,
  member: { accountId: string; userId: string; role: Role; createdAt: number },
): Promise<boolean> =>
  (await tx.run(insertMemberRow, [member.accountId, member.userId, member.role, timestamp(member.createdAt)]))
    .length > 0;

export interface ListedMember {
  userId: string;
  email: string;
  name: string;
  role: Role;
  createdAt: number;
  twoFactorEnabled: boolean;
  passkeys: number;
}

const selectMembers: Statement = {
  name: 'panel_member_list',
  text: `SELECT m.user_id AS "userId", u.email, u.name, m.role, m.created_at AS "createdAt",
      u.two_factor_enabled AS "twoFactorEnabled", (SELECT count(*) FROM panel_passkey p WHERE p.user_id = u.id) AS passkeys
    FROM panel_member m JOIN panel_user u ON u.id = m.user_id WHERE m.account_id = $1 ORDER BY m.created_at, u.email`,
};

export const findMembers = (sql: Queries, accountId: string): Promise<ListedMember[]> =>
  sql.run<ListedMember>(selectMembers, [accountId]);

const setRole: Statement = {
  name: 'panel_member_role',
  text: `UPDATE panel_member SET role = $3 WHERE account_id = $1 AND user_id = $2`,
};

export const updateRole = (tx: Queries, accountId: string, userId: string, role: Role): Promise<unknown> =>
  tx.run(setRole, [accountId, userId, role]);

const removeRow: Statement = {
  name: 'panel_member_remove',
  text: `DELETE FROM panel_member WHERE account_id = $1 AND user_id = $2`,
};

export const removeMember = (tx: Queries, accountId: string, userId: string): Promise<unknown> =>
  tx.run(removeRow, [accountId, userId]);

// ------------------------------------------------------------------------------------------------------------ invitations

export interface Invitation {
  accountId: string;
  id: string;
  email: string;
  role: Role;
  createdAt: number;
  expiresAt: number;
}

const insertInvitationRow: Statement = {
  name: 'panel_invitation_insert',
  text: `INSERT INTO panel_invitation (account_id, id, email, role, token_hash, created_at, expires_at, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** @param createdBy the member who invites; null: the operator */
export const insertInvitation = (
  tx: Queries,
  invitation: Invitation,
  tokenHash: Buffer,
  createdBy: string | null,
): Promise<unknown> =>
  tx.run(insertInvitationRow, [
    invitation.accountId,
    invitation.id,
    invitation.email,
    invitation.role,
    tokenHash,
    timestamp(invitation.createdAt),
    timestamp(invitation.expiresAt),
    createdBy,
  ]);

const endBeyond: Statement = {
  name: 'panel_invitation_end_beyond',
  text: `DELETE FROM panel_invitation
    WHERE account_id = $1 AND accepted_at IS NULL AND created_by = $2 AND role <> ALL ($3::text[])`,
};

/** Open invitations of this person for other roles than these. */
export const endInvitationsBeyond = (
  tx: Queries,
  accountId: string,
  userId: string,
  within: readonly Role[],
): Promise<unknown> => tx.run(endBeyond, [accountId, userId, within]);

const invitationColumns = `i.account_id AS "accountId", i.id, i.email, i.role, i.created_at AS "createdAt", i.expires_at AS "expiresAt"`;

export interface OpenInvitation extends Invitation {
  accountName: string;
  /** Of the account. */
  cell: string;
  /** Null: the operator invites. */
  createdBy: string | null;
  /** Null: the one who invites is no member any more. */
  inviterRole: Role | null;
}

const selectInvitation: Statement = {
  name: 'panel_invitation_by_token',
  text: `SELECT ${invitationColumns}, a.name AS "accountName", a.cell, i.created_by AS "createdBy", m.role AS "inviterRole"
    FROM panel_invitation i JOIN account a ON a.id = i.account_id
      LEFT JOIN panel_member m ON m.account_id = i.account_id AND m.user_id = i.created_by
    WHERE i.token_hash = $1 AND i.accepted_at IS NULL AND i.expires_at > $2`,
};

export const findInvitation = async (
  sql: Queries,
  tokenHash: Buffer,
  nowMs: number,
): Promise<OpenInvitation | undefined> =>
  (await sql.run<OpenInvitation>(selectInvitation, [tokenHash, timestamp(nowMs)]))[0];

const acceptRow: Statement = {
  name: 'panel_invitation_accept',
  text: `UPDATE panel_invitation SET accepted_at = $3 WHERE account_id = $1 AND id = $2 AND accepted_at IS NULL RETURNING id`,
};

/** @returns false when another person accepted it first */
export const markAccepted = async (tx: Queries, invitation: Invitation, nowMs: number): Promise<boolean> =>
  (await tx.run(acceptRow, [invitation.accountId, invitation.id, timestamp(nowMs)])).length > 0;

const selectInvitations: Statement = {
  name: 'panel_invitation_list',
  text: `SELECT ${invitationColumns} FROM panel_invitation i
    WHERE i.account_id = $1 AND i.accepted_at IS NULL AND i.expires_at > $2 ORDER BY i.created_at DESC`,
};

export const findInvitations = (sql: Queries, accountId: string, nowMs: number): Promise<Invitation[]> =>
  sql.run<Invitation>(selectInvitations, [accountId, timestamp(nowMs)]);

const deleteInvitationRow: Statement = {
  name: 'panel_invitation_delete',
  text: `DELETE FROM panel_invitation WHERE account_id = $1 AND id = $2`,
};

export const deleteInvitation = (sql: Sql, accountId: string, id: string): Promise<unknown> =>
  sql.tx((tx) => tx.run(deleteInvitationRow, [accountId, id]));

const endInvitations: Statement = {
  name: 'panel_invitation_end',
  text: `DELETE FROM panel_invitation WHERE account_id = $1 AND accepted_at IS NULL AND (created_by = $2 OR email = $3)`,
};

/** Open invitations that this person made, and those to them. */
export const endInvitationsOf = (
  tx: Queries,
  accountId: string,
  person: { userId: string; email: string },
): Promise<unknown> => tx.run(endInvitations, [accountId, person.userId, person.email]);

// ------------------------------------------------------------------------------------------------------------ second factor

const selectGrace: Statement = {
  name: 'panel_account_grace_read',
  text: `SELECT second_factor_grace_days AS days FROM account WHERE id = $1`,
};

export const findGraceDays = async (sql: Queries, accountId: string): Promise<number> =>
  (await sql.run<{ days: number }>(selectGrace, [accountId]))[0]?.days ?? 0;

const setGrace: Statement = {
  name: 'panel_account_grace',
  text: `UPDATE account SET second_factor_grace_days = $2 WHERE id = $1`,
};

export const updateGraceDays = (tx: Queries, accountId: string, days: number): Promise<unknown> =>
  tx.run(setGrace, [accountId, days]);

const dropCredentials: Statement = {
  name: 'panel_credentials_delete',
  text: `WITH person AS (SELECT id FROM panel_user WHERE email = $1),
      sessions AS (DELETE FROM panel_session s USING person p WHERE s.user_id = p.id),
      passkeys AS (DELETE FROM panel_passkey k USING person p WHERE k.user_id = p.id)
    DELETE FROM panel_credential c USING person p WHERE c.user_id = p.id RETURNING c.id`,
};

/** Sessions, passkeys and the password of a person. @returns whether there was a password */
export const removeCredentials = async (tx: Queries, email: string): Promise<boolean> =>
  (await tx.run(dropCredentials, [email])).length > 0;
