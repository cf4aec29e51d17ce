import { type Intent, sendPriority } from '../../money/intent.ts';
import type { PaymentKind } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import {
  boolean,
  defineTable,
  integer,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../database/define-table.ts';

/** Keyed like payments: 36 characters of account, 36 of payment. */
export const intents = defineTable<Intent>({
  name: 'intent',
  alias: 'i',
  key: ['accountId', 'paymentId'],
  // The fence of an owner is the token of the command that began its attempt.
  tokenOf: (intent) => intent.fence,
  verbs: ['read', 'insert', 'update', 'delete'],
  columns: {
    accountId: uuid,
    paymentId: uuid,
    operationId: uuid,
    connection: text.changes,
    kind: text,
    priority: smallint.changes,
    state: text.changes,
    fence: uuid.changes,
    attempt: integer.changes,
    leaseUntil: timestamptz.orNull.changes,
    dueAt: timestamptz.changes,
    newsAt: timestamptz.changes,
    attemptEndedAt: timestamptz.rare.changes,
    failures: integer.changes,
    absences: integer.changes,
    absentAt: timestamptz.rare.changes,
    undecidedSince: timestamptz.rare.changes.named('absent_since'),
    known: boolean.changes,
    refused: boolean.changes,
    createdAt: timestamptz,
    answeredAt: timestamptz.rare.changes,
    step: text.rare.changes,
    providerRef: text.rare.changes,
    identity: text.orNull.changes,
  },
});

const { columns } = intents;

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/**
 * Rows to claim are chosen in a WITH, here and everywhere. A subquery of FROM may be read again for each row that it is joined to, and
 * then locks rows beyond its LIMIT, since it skips those that the statement has changed already: two were claimed where one was asked for.
 */
const claim: Statement = {
  name: 'intent_claim',
  text: `WITH due AS (
      SELECT account_id, payment_id FROM intent
      WHERE connection = $1 AND priority = $2 AND due_at <= $3
      ORDER BY due_at LIMIT $5 FOR UPDATE SKIP LOCKED)
    UPDATE intent i SET due_at = $4
    FROM due
    WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
    RETURNING ${columns}`,
};

/**
 * Takes due rows of one priority by moving their time on to `untilMs`, so that no other process works on them meanwhile. It
 * never waits for a lock (SKIP LOCKED) and touches nothing but the time, which is a hint: the till decides again under its lock.
 */
export const claimDue = (
  sql: Queries,
  connection: string,
  priority: number,
  now: number,
  untilMs: number,
  most: number,
): Promise<Intent[]> => sql.run<Intent>(claim, [connection, priority, time(now), time(untilMs), most]);

/**
 * The sends that an adapter's limit of parallel sends covers, and those that it does not. **abandoned**: transfers whose lease has ended. Taking one over
 * sends nothing, so it waits for no slot: one may rest for an hour when the provider asked for that.
 */
export type SendClass = 'unlimited' | 'abandoned' | 'limited';

const claimSendsOf: Record<SendClass, Statement> = {
  // An index of its own: behind a slow slot a hundred thousand transfers may be due, and nothing else is ever limited.
  unlimited: {
    name: 'intent_claim_unlimited_sends',
    text: `WITH due AS (
        SELECT account_id, payment_id FROM intent
        WHERE connection = $1 AND priority = ${sendPriority} AND kind <> 'transfer' AND due_at <= $2
        ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
      UPDATE intent i SET due_at = $3
      FROM due
      WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
      RETURNING ${columns}`,
  },
  abandoned: {
    name: 'intent_claim_abandoned_sends',
    text: `WITH due AS (
        SELECT account_id, payment_id FROM intent
        WHERE connection = $1 AND state = 'sending' AND kind = 'transfer' AND due_at <= $2
        ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
      UPDATE intent i SET due_at = $3
      FROM due
      WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
      RETURNING ${columns}`,
  },
  // Reads past what never waits for a slot and is claimed before.
  limited: {
    name: 'intent_claim_transfer_sends',
    text: `WITH due AS (
        SELECT account_id, payment_id FROM intent
        WHERE connection = $1 AND priority = ${sendPriority} AND kind = 'transfer' AND due_at <= $2
        ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
      UPDATE intent i SET due_at = $3
      FROM due
      WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
      RETURNING ${columns}`,
  },
};

/** Claims due sends of one class as `claimDue` does, where the adapter limits parallel sends. */
export const claimDueSends = (
  sql: Queries,
  connection: string,
  of: SendClass,
  now: number,
  untilMs: number,
  most: number,
): Promise<Intent[]> => sql.run<Intent>(claimSendsOf[of], [connection, time(now), time(untilMs), most]);

const claimNeighbours: Statement = {
  name: 'intent_claim_neighbours',
  text: `WITH taken AS (
      SELECT i.account_id, i.payment_id
      FROM (SELECT account_id, payment_id FROM (SELECT account_id, payment_id, created_at FROM intent
          WHERE connection = $1 AND priority = $2 AND due_at <= $3 ORDER BY due_at LIMIT $6) AS due
        ORDER BY created_at LIMIT $5) AS oldest
      JOIN intent i USING (account_id, payment_id)
      WHERE i.due_at <= $3 FOR UPDATE OF i SKIP LOCKED)
    UPDATE intent i SET due_at = $4
    FROM taken
    WHERE i.account_id = taken.account_id AND i.payment_id = taken.payment_id
    RETURNING ${columns}`,
};

/** Among how many due rows neighbours are looked for: 50,000 are sorted in some 20 ms. */
const neighboursAmong = 50_000;

/**
 * Claims as `claimDue` does, for one listing: of what is due, the payments that were created one after the other. After an outage jittered
 * waits have shuffled what is due, and a thousand taken in that order would lie in a window that no adapter reads to its end.
 */
export const claimDueNeighbours = (
  sql: Queries,
  connection: string,
  priority: number,
  now: number,
  untilMs: number,
  most: number,
): Promise<Intent[]> =>
  sql.run<Intent>(claimNeighbours, [connection, priority, time(now), time(untilMs), most, neighboursAmong]);

const claimThese: Statement = {
  name: 'intent_claim_mentioned',
  text: `WITH mentioned AS (
      SELECT i.account_id, i.payment_id
      FROM unnest($5::uuid[], $6::uuid[]) AS k (account_id, payment_id) JOIN intent i USING (account_id, payment_id)
      WHERE i.connection = $1 AND i.kind = $2 AND i.state = 'awaiting' AND (i.due_at <= $3 OR i.due_at > $4)
        AND (i.known OR i.kind = 'transfer')
      LIMIT $7 FOR UPDATE OF i SKIP LOCKED)
    UPDATE intent i SET due_at = $4
    FROM mentioned
    WHERE i.account_id = mentioned.account_id AND i.payment_id = mentioned.payment_id
    RETURNING ${columns}`,
};

/**
 * Claims as `claimDue` does, for payments that a listing mentions and that were not among those it was made for. It leaves out payments that
 * are due between now and `untilMs`, since another process has claimed them or queries them soon, and charges that the provider has not
 * confirmed to know, since a listing reads deadlines rightly only for the charges that it was made for.
 */
export const claimMentioned = (
  sql: Queries,
  connection: string,
  kind: PaymentKind,
  now: number,
  untilMs: number,
  payments: readonly { accountId: string; id: string }[],
  most: number,
): Promise<Intent[]> =>
  sql.run<Intent>(claimThese, [
    connection,
    kind,
    time(now),
    time(untilMs),
    payments.map(({ accountId }) => accountId),
    payments.map(({ id }) => id),
    most,
  ]);

const claimOne: Statement = {
  name: 'intent_claim_one',
  text: `UPDATE intent i SET due_at = $4
    FROM (SELECT account_id, payment_id FROM intent
      WHERE account_id = $1 AND payment_id = $2 AND due_at <= $3 AND state = 'awaiting' FOR UPDATE SKIP LOCKED) AS due
    WHERE i.account_id = due.account_id AND i.payment_id = due.payment_id
    RETURNING ${columns}`,
};

/** Claims as `claimDue` does, for one awaiting payment whose query is due. */
export const claimOverdue = async (
  sql: Queries,
  accountId: string,
  paymentId: string,
  now: number,
  untilMs: number,
): Promise<Intent | undefined> =>
  (await sql.run<Intent>(claimOne, [accountId, paymentId, time(now), time(untilMs)]))[0];

const giveBack: Statement = {
  name: 'intent_give_back',
  text: `UPDATE intent i SET due_at = $3
    FROM (SELECT i.account_id, i.payment_id FROM intent i
      JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id) FOR UPDATE OF i SKIP LOCKED) AS mine
    WHERE i.account_id = mine.account_id AND i.payment_id = mine.payment_id`,
};

/** Sets when rows are due: those that were claimed and not worked on, or that have become urgent. */
export const makeDue = (
  sql: Queries,
  rows: readonly { accountId: string; paymentId: string }[],
  dueAt: number,
): Promise<unknown> =>
  sql.run(giveBack, [rows.map((row) => row.accountId), rows.map((row) => row.paymentId), time(dueAt)]);

const urgeOne: Statement = {
  name: 'intent_urge',
  text: `UPDATE intent SET due_at = $3
    WHERE account_id = $1 AND payment_id = $2 AND state = 'awaiting' AND failures = 0 AND due_at > $4 RETURNING payment_id`,
};

/**
 * Makes a query due that would come after `untilMs`: one that is claimed now is under way, and after a failure the wait that the provider asked for holds.
 * @returns whether it is due now
 */
export const urge = async (
  sql: Queries,
  accountId: string,
  paymentId: string,
  now: number,
  untilMs: number,
): Promise<boolean> => (await sql.run(urgeOne, [accountId, paymentId, time(now), time(untilMs)])).length > 0;

const renew: Statement = {
  name: 'intent_renew_claim',
  text: `UPDATE intent i SET due_at = $4
    FROM (SELECT i.account_id, i.payment_id FROM intent i
      JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
      WHERE i.due_at = $3 FOR UPDATE OF i SKIP LOCKED) AS mine
    WHERE i.account_id = mine.account_id AND i.payment_id = mine.payment_id`,
};

/** Moves the time of claimed rows on, of those alone that still have the time of the claim. */
export const renewClaims = (
  sql: Queries,
  rows: readonly { accountId: string; paymentId: string }[],
  claimedUntilMs: number,
  untilMs: number,
): Promise<unknown> =>
  sql.run(renew, [
    rows.map((row) => row.accountId),
    rows.map((row) => row.paymentId),
    time(claimedUntilMs),
    time(untilMs),
  ]);

const count: Statement = {
  name: 'intent_count_due',
  text: `SELECT priority, count(*)::integer AS due FROM (
      SELECT priority FROM intent WHERE connection = $1 AND priority = 1 AND due_at <= $2 LIMIT $3) AS a GROUP BY priority
    UNION ALL SELECT priority, count(*)::integer FROM (
      SELECT priority FROM intent WHERE connection = $1 AND priority = 2 AND due_at <= $2 LIMIT $3) AS b GROUP BY priority
    UNION ALL SELECT priority, count(*)::integer FROM (
      SELECT priority FROM intent WHERE connection = $1 AND priority = 3 AND due_at <= $2 LIMIT $3) AS r GROUP BY priority
    UNION ALL SELECT priority, count(*)::integer FROM (
      SELECT priority FROM intent WHERE connection = $1 AND priority = 4 AND due_at <= $2 LIMIT $3) AS c GROUP BY priority
    UNION ALL SELECT priority, count(*)::integer FROM (
      SELECT priority FROM intent WHERE connection = $1 AND priority = 5 AND due_at <= $2 LIMIT $3) AS d GROUP BY priority`,
};

/** How many queries are due of each priority, the most urgent first; counts no further than `most`. */
export const countDue = (
  sql: Queries,
  connection: string,
  now: number,
  most: number,
): Promise<{ priority: number; due: number }[]> => sql.run(count, [connection, time(now), most]);
