import type { Balance } from '../money/decide.ts';
import type { EventKind, Journal } from '../money/journal.ts';
import type { Queries, Statement } from '../ports/sql.ts';

/** A row of `balance`: the columns of an operation (or of an account's own chain), its chain's head, and its freeze. */
export interface BalanceRow extends Balance {
  accountId: string;
  /** The operation's id, or the account's own. */
  chainId: string;
  frozen: boolean;
  seq: number;
  head: Buffer;
  updatedAt: number;
  deletedAt: number | null;
}

export interface EventRef {
  accountId: string;
  subject: string;
  event: EventKind;
  reference: string;
}

const balanceColumns = `b.account_id AS "accountId", b.operation_id AS "chainId", b.available, b.reserved, b.held, b.receivable,
  b.hold_wanted AS "holdWanted", b.frozen, b.seq, b.head, b.updated_at AS "updatedAt", b.deleted_at AS "deletedAt"`;

/**
 * FOR NO KEY UPDATE and not FOR UPDATE: the latter also blocks the foreign-key checks of other tables' inserts, which closes
 * a cycle between a till and the creation of an operation.
 */
const lock: Statement = {
  name: 'balance_lock',
  text: `SELECT ${balanceColumns}
    FROM balance b JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, operation_id) USING (account_id, operation_id)
    ORDER BY b.account_id, b.operation_id
    FOR NO KEY UPDATE OF b`,
};

/** Locks the chains in key order, whatever order they are given in. */
export const lockBalances = (
  tx: Queries,
  chains: readonly { accountId: string; chainId: string }[],
): Promise<BalanceRow[]> =>
  tx.run<BalanceRow>(lock, [chains.map((chain) => chain.accountId), chains.map((chain) => chain.chainId)]);

const findPosted: Statement = {
  name: 'journal_posted',
  text: `SELECT j.account_id AS "accountId", j.subject, j.event, j.reference, j.command, NULL AS connection, NULL AS pix
    FROM journal j JOIN unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[]) AS k (account_id, subject, event, reference)
      USING (account_id, subject, event, reference)`,
};

/** Which of these events are in the journal, each with the token of the command that posted it. */
export const readPosted = (
  tx: Queries,
  refs: readonly EventRef[],
): Promise<(EventRef & { command: string })[]> =>
  tx.run(findPosted, [
    refs.map((ref) => ref.accountId),
    refs.map((ref) => ref.subject),
    refs.map((ref) => ref.event),
    refs.map((ref) => ref.reference),
  ]);

/** A Pix that a connection received. */
export interface PixRef {
  connection: string;
  endToEnd: string;
}

/** Where a Pix is booked. */
export interface BookedPix extends PixRef {
  accountId: string;
  /** The payment. */
  subject: string;
}

const findPostedOrBooked: Statement = {
  name: 'journal_posted_or_booked',
  text: `${findPosted.text}
    UNION ALL SELECT j.account_id, j.subject, j.event, j.reference, j.command, j.connection, j.pix
    FROM journal j JOIN unnest($5::text[], $6::text[]) AS p (connection, pix) USING (connection, pix)`,
};

/** The same, and which of these Pix are booked, whatever their account, in one statement. */
export const readPostedOrBooked = (
  tx: Queries,
  refs: readonly EventRef[],
  pix: readonly PixRef[],
): Promise<(EventRef & { connection: string | null; pix: string | null })[]> =>
  tx.run(findPostedOrBooked, [
    refs.map((ref) => ref.accountId),
    refs.map((ref) => ref.subject),
    refs.map((ref) => ref.event),
    refs.map((ref) => ref.reference),
    pix.map((one) => one.connection),
    pix.map((one) => one.endToEnd),
  ]);

const insert: Statement = {
  name: 'journal_insert',
  text: `INSERT INTO journal (account_id, chain_id, seq, template, subject, event, reference,
      available, reserved, held, receivable, clearing, fee_revenue, provider_cost, suspense, adjustments,
      available_after, reserved_after, held_after, receivable_after, effective_at, posted_at, command, version, previous, hash,
      connection, pix)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::uuid[]),
      unnest($6::smallint[]), unnest($7::text[]), unnest($8::bigint[]), unnest($9::bigint[]),
      unnest($10::bigint[]), unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::bigint[]),
      unnest($14::bigint[]), unnest($15::bigint[]), unnest($16::bigint[]), unnest($17::bigint[]),
      unnest($18::bigint[]), unnest($19::bigint[]), unnest($20::bigint[]), unnest($21::timestamptz[]),
      unnest($22::timestamptz[]), unnest($23::uuid[]), unnest($24::smallint[]), unnest($25::bytea[]),
      unnest($26::bytea[]), unnest($27::text[]), unnest($28::text[]))`,
};

export const insertJournals = (tx: Queries, journals: readonly Journal[]): Promise<unknown> =>
  tx.run(insert, [
    journals.map((journal) => journal.accountId),
    journals.map((journal) => journal.chainId),
    journals.map((journal) => journal.seq),
    journals.map((journal) => journal.template),
    journals.map((journal) => journal.subject),
    journals.map((journal) => journal.event),
    journals.map((journal) => journal.reference),
    journals.map((journal) => journal.lines.available),
    journals.map((journal) => journal.lines.reserved),
    journals.map((journal) => journal.lines.held),
    journals.map((journal) => journal.lines.receivable),
    journals.map((journal) => journal.lines.clearing),
    journals.map((journal) => journal.lines.feeRevenue),
    journals.map((journal) => journal.lines.providerCost),
    journals.map((journal) => journal.lines.suspense),
    journals.map((journal) => journal.lines.adjustments),
    journals.map((journal) => journal.after.available),
    journals.map((journal) => journal.after.reserved),
    journals.map((journal) => journal.after.held),
    journals.map((journal) => journal.after.receivable),
    journals.map((journal) => journal.effectiveAt),
    journals.map((journal) => journal.postedAt),
    journals.map((journal) => journal.command),
    journals.map((journal) => journal.version),
    journals.map((journal) => journal.previous),
    journals.map((journal) => journal.hash),
    journals.map((journal) => journal.connection),
    journals.map((journal) => journal.pix),
  ]);

const update: Statement = {
  name: 'balance_update',
  text: `UPDATE balance b SET available = k.available, reserved = k.reserved, held = k.held, receivable = k.receivable,
      hold_wanted = k.hold_wanted, frozen = k.frozen, seq = k.seq, head = k.head, updated_at = k.updated_at
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[],
      $9::bigint[], $10::bytea[], $11::timestamptz[])
      AS k (account_id, operation_id, available, reserved, held, receivable, hold_wanted, frozen, seq, head, updated_at)
    WHERE b.account_id = k.account_id AND b.operation_id = k.operation_id`,
};

export const updateBalances = (tx: Queries, rows: readonly BalanceRow[]): Promise<unknown> =>
  tx.run(update, [
    rows.map((row) => row.accountId),
    rows.map((row) => row.chainId),
    rows.map((row) => row.available),
    rows.map((row) => row.reserved),
    rows.map((row) => row.held),
    rows.map((row) => row.receivable),
    rows.map((row) => row.holdWanted),
    rows.map((row) => row.frozen),
    rows.map((row) => row.seq),
    rows.map((row) => row.head),
    rows.map((row) => row.updatedAt),
  ]);
