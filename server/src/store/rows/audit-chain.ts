import { createHash } from 'node:crypto';

/**
 * An act of an operator, of a person of an account or of a rule. Never changed. It is written with its effects in one transaction; that of a person of
 * an account right behind them.
 */
export interface AuditRow {
  /** The installation's own for what concerns all accounts. */
  accountId: string;
  id: string;
  at: number;
  actor: string;
  action: string;
  /** The id of what was changed. */
  subject: string;
  reason: string | null;
  detail: object;
}

/**
 * The chain of an account's audit rows. Each row has a number without gaps and SHA-256 over the hash of the row before it, its number, the
 * database's time and its own form. So a row that is changed, removed or put in between shows in every row behind it.
 *
 * The hash is made in the database, under the lock of the chain's head and from the form that the program sends: the writer waits for no answer,
 * and the till's COMMIT still travels behind its writes. `verify` makes the form again from the stored row and hashes it itself.
 */

/** The bytes of a row that are hashed: the same for the row that is written and the one that is stored. */
export function formOfAudit({ accountId, id, at, actor, action, subject, reason, detail }: AuditRow): Buffer {
  // As `jsonb` keeps it: without what JSON leaves out, and in an order of its own.
  const kept: unknown = JSON.parse(JSON.stringify(detail));
  return Buffer.from(
    JSON.stringify(
      [1, accountId.toLowerCase(), id.toLowerCase(), at, actor, action, subject, reason, sorted(kept)].map(
        wellFormed,
      ),
    ),
  );
}

/** The keys of every object in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return wellFormed(value);
  const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
  // Pairs, since an object would put keys that are numbers in front.
  return { pairs: entries.sort(([one], [other]) => (one < other ? -1 : 1)) };
}

/** The driver writes half a surrogate pair as U+FFFD. */
const wellFormed = (value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);

/** A row with its place in the chain. */
export interface ChainedAudit extends AuditRow {
  seq: number;
  /** By the database's clock, ms since 1970. */
  chainedMs: number;
  /** SHA-256. */
  hash: Buffer;
}

/** @param before the hash of the row before it */
export function hashOfAudit(row: ChainedAudit, before: Buffer): Buffer {
  const numbers = Buffer.alloc(16);
  numbers.writeBigInt64BE(BigInt(row.seq), 0);
  numbers.writeBigInt64BE(BigInt(row.chainedMs), 8);
  return createHash('sha256').update(before).update(numbers).update(formOfAudit(row)).digest();
}
