import type { ActName, OperatorRole } from '../../operate/acts.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import type { PlannedPosting } from '../../store/rehearsal.ts';

export const requestLivesMs = 24 * 3600 * 1000;

/** `alone`: done by one person at the shell, and seen by no operator yet; then it is `seen`. */
type RequestState = 'open' | 'agreed' | 'done' | 'stale' | 'refused' | 'withdrawn' | 'alone' | 'seen';

/** An act that waits for a second person, or waited. */
export interface OperatorRequest {
  id: string;
  act: ActName;
  subject: string;
  body: Readonly<Record<string, string>>;
  postings: PlannedPosting[];
  movedCents: number;
  shown: string;
  reason: string;
  /** Null: at the shell, and no operator has taken it up. */
  requestedBy: string | null;
  /** The e-mail address, the system's user at the shell, or both. */
  requestedByName: string;
  requestedAt: number;
  expiresAt: number;
  state: RequestState;
  decidedByEmail: string | null;
  decidedAt: number | null;
}

const columns = `r.id, r.act, r.subject, r.body, r.postings, r.moved_cents AS "movedCents", r.shown, r.reason, r.requested_by AS "requestedBy",
  concat_ws(' + ', r.requested_user, asked.email) AS "requestedByName", r.requested_at AS "requestedAt", r.expires_at AS "expiresAt", r.state,
  decided.email AS "decidedByEmail", r.decided_at AS "decidedAt"`;
const from = `FROM operator_request r LEFT JOIN operator_person asked ON asked.id = r.requested_by
  LEFT JOIN operator_person decided ON decided.id = r.decided_by`;

const insert: Statement = {
  name: 'operator_request_insert',
  text: `INSERT INTO operator_request (id, act, subject, body, postings, moved_cents, shown, reason, requested_by, requested_user, requested_at, expires_at, state)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open')`,
};

/** An act as its person saw it and asks for it. */
export type Wanted = Pick<
  OperatorRequest,
  'act' | 'subject' | 'body' | 'postings' | 'movedCents' | 'shown' | 'reason'
>;

export type NewRequest = Wanted &
  Pick<OperatorRequest, 'id' | 'requestedBy' | 'requestedAt' | 'expiresAt'> & {
    /** The system's, at the shell. */
    user: string | null;
  };

export const insertRequest = (tx: Queries, one: NewRequest): Promise<unknown> =>
  tx.run(insert, [
    one.id,
    one.act,
    one.subject,
    JSON.stringify(one.body),
    JSON.stringify(one.postings),
    one.movedCents,
    one.shown,
    one.reason,
    one.requestedBy,
    one.user,
    timestamp(one.requestedAt),
    timestamp(one.expiresAt),
  ]);

const insertAlone: Statement = {
  name: 'operator_request_alone',
  text: `INSERT INTO operator_request (id, act, subject, body, postings, moved_cents, shown, reason, requested_user, requested_at, expires_at, state)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, 'alone')`,
};

/** @param one.user the system's, at the shell */
export const insertAloneRequest = (
  tx: Queries,
  one: Wanted & { id: string; user: string; at: number },
): Promise<unknown> =>
  tx.run(insertAlone, [
    ...[one.id, one.act, one.subject, JSON.stringify(one.body), JSON.stringify(one.postings)],
    ...[one.movedCents, one.shown, one.reason, one.user, timestamp(one.at)],
  ]);

const unseen: Statement = {
  name: 'operator_request_unseen',
  text: `SELECT ${columns} ${from} WHERE r.state = 'alone' ORDER BY r.requested_at LIMIT $1`,
};

/** Done at the shell by one person, and seen by no operator; the oldest first. */
export const findUnseenRequests = (sql: Queries, most: number): Promise<OperatorRequest[]> =>
  sql.run<OperatorRequest>(unseen, [most]);

// Not one whom the act itself concerns, nor one who was made since: the act may have made them.
const see: Statement = {
  name: 'operator_request_see',
  text: `UPDATE operator_request r SET state = 'seen', decided_by = $2, decided_at = $3 FROM operator_person seeing
    WHERE r.id = $1 AND r.state = 'alone' AND r.shown = $4
      AND seeing.id = $2 AND seeing.suspended_at IS NULL AND seeing.enrolled_at IS NOT NULL AND seeing.role = ANY ($5::text[])
      AND seeing.created_at < r.requested_at AND (r.act <> 'changeOperators' OR seeing.email <> r.subject)
    RETURNING r.id`,
};

/** @param roles those of the act @returns whether this person is the one who has seen it */
export const seeRequest = async (
  tx: Queries,
  one: { id: string; shown: string; by: string; roles: readonly OperatorRole[]; now: number },
): Promise<boolean> =>
  (await tx.run(see, [one.id, one.by, timestamp(one.now), one.shown, one.roles])).length > 0;

const able: Statement = {
  name: 'operator_request_able',
  text: `SELECT id FROM operator_person WHERE suspended_at IS NULL AND enrolled_at IS NOT NULL AND role = ANY ($1::text[]) LIMIT 2`,
};

/** Whether there are two operators who could ask for it and agree. */
export const hasTwoPeople = async (sql: Queries, roles: readonly OperatorRole[]): Promise<boolean> =>
  (await sql.run(able, [roles])).length === 2;

const byId: Statement = { name: 'operator_request_read', text: `SELECT ${columns} ${from} WHERE r.id = $1` };

export const findRequest = async (sql: Queries, id: string): Promise<OperatorRequest | undefined> =>
  (await sql.run<OperatorRequest>(byId, [id]))[0];

const open: Statement = {
  name: 'operator_request_open',
  text: `SELECT ${columns} ${from} WHERE r.state = 'open' AND r.requested_at > $1 AND r.expires_at > $2 ORDER BY r.requested_at LIMIT $3`,
};

/** Those that can still be agreed to, the oldest first. */
export const findOpenRequests = (sql: Queries, now: number, most: number): Promise<OperatorRequest[]> =>
  sql.run<OperatorRequest>(open, [timestamp(now - requestLivesMs), timestamp(now), most]);

const decided: Statement = {
  name: 'operator_request_decided',
  text: `SELECT ${columns} ${from} WHERE r.state <> 'open' AND r.decided_at IS NOT NULL ORDER BY r.decided_at DESC LIMIT $1`,
};

/** The newest first. */
export const findDecidedRequests = (sql: Queries, most: number): Promise<OperatorRequest[]> =>
  sql.run<OperatorRequest>(decided, [most]);

// One statement is the whole rule: of two who agree at once one gets the row, and a suspension or another role since ends the request with its person.
const agree: Statement = {
  name: 'operator_request_agree',
  text: `UPDATE operator_request r SET state = 'agreed', decided_by = $2, decided_at = $3
    FROM operator_person asked, operator_person agreeing
    WHERE r.id = $1 AND r.state = 'open' AND r.expires_at > $3 AND r.shown = $4 AND r.requested_by <> $2
      AND asked.id = r.requested_by AND asked.suspended_at IS NULL AND asked.enrolled_at IS NOT NULL AND asked.role = ANY ($5::text[])
      AND agreeing.id = $2 AND agreeing.suspended_at IS NULL AND agreeing.enrolled_at IS NOT NULL AND agreeing.role = ANY ($5::text[])
    RETURNING r.id`,
};

/** @param roles those of the act @returns whether this person has agreed, which each request allows once */
export const claimRequest = async (
  tx: Queries,
  one: { id: string; shown: string; by: string; roles: readonly OperatorRole[]; now: number },
): Promise<boolean> =>
  (await tx.run(agree, [one.id, one.by, timestamp(one.now), one.shown, one.roles])).length > 0;

// From here on the row is as if that operator had asked, so the rules of a request hold for it: another one agrees.
const takeUp: Statement = {
  name: 'operator_request_take_up',
  text: `UPDATE operator_request r SET requested_by = $2 FROM operator_person taking
    WHERE r.id = $1 AND r.state = 'open' AND r.requested_by IS NULL AND r.expires_at > $3 AND r.shown = $4
      AND taking.id = $2 AND taking.suspended_at IS NULL AND taking.enrolled_at IS NOT NULL AND taking.role = ANY ($5::text[])
    RETURNING r.id`,
};

/** @param roles those of the act @returns whether this person is the one whose request it is now */
export const takeUpRequest = async (
  tx: Queries,
  one: { id: string; shown: string; by: string; roles: readonly OperatorRole[]; now: number },
): Promise<boolean> =>
  (await tx.run(takeUp, [one.id, one.by, timestamp(one.now), one.shown, one.roles])).length > 0;

const end: Statement = {
  name: 'operator_request_end',
  text: `UPDATE operator_request SET state = $2 WHERE id = $1 AND state = 'agreed'`,
};

export const endRequest = (tx: Queries, id: string, state: 'done' | 'stale'): Promise<unknown> =>
  tx.run(end, [id, state]);

const refuse: Statement = {
  name: 'operator_request_refuse',
  text: `UPDATE operator_request SET state = CASE WHEN requested_by = $2 THEN 'withdrawn' ELSE 'refused' END, decided_by = $2, decided_at = $3
    WHERE id = $1 AND state = 'open' RETURNING state`,
};

/** @returns undefined: it was decided before */
export const refuseRequest = async (
  tx: Queries,
  { id, by, now }: { id: string; by: string; now: number },
): Promise<'withdrawn' | 'refused' | undefined> =>
  (await tx.run<{ state: 'withdrawn' | 'refused' }>(refuse, [id, by, timestamp(now)]))[0]?.state;
