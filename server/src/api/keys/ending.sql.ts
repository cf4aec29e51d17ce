import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { withAccountNames } from './keys.sql.ts';

/** From how long before its end on a key is named: at home and in a mail. */
export const endsSoonMs = 14 * 86_400_000;

export interface EndingKey {
  id: string;
  accountId: string;
  accountName: string;
  name: string;
  expiresAt: number;
}

/** Active, and not replaced. */
const ends = 'k.revoked_at IS NULL AND k.rolled_to IS NULL AND k.expires_at > $1 AND k.expires_at <= $2';

const claim: Statement = {
  name: 'key_claim_ending',
  text: `WITH due AS (
      SELECT k.id FROM api_key k
      WHERE ${ends} AND k.expires_at - k.created_at > $2 - $1 AND k.end_warned_at IS NULL AND (k.warning_until IS NULL OR k.warning_until <= $1)
      ORDER BY k.id LIMIT $4 FOR UPDATE SKIP LOCKED)
    UPDATE api_key k SET warning_until = $3 FROM due WHERE k.id = due.id
    RETURNING k.id, k.account_id AS "accountId", k.name, k.expires_at AS "expiresAt"`,
};

/** Takes the keys that end before then, that were made for longer, and that no mail has named. Hidden from other processes until `until`. */
export const claimEndingKeys = async (
  sql: Queries,
  nowMs: number,
  { before, until, most }: { before: number; until: number; most: number },
): Promise<EndingKey[]> =>
  withAccountNames(
    sql,
    await sql.run<Omit<EndingKey, 'accountName'>>(claim, [
      timestamp(nowMs),
      timestamp(before),
      timestamp(until),
      most,
    ]),
  );

const warned: Statement = {
  name: 'key_end_warned',
  text: `UPDATE api_key SET end_warned_at = $2, warning_until = NULL WHERE id = $1`,
};

export const markEndWarned = (sql: Queries, id: string, nowMs: number): Promise<unknown> =>
  sql.run(warned, [id, timestamp(nowMs)]);

const ofAccount: Statement = {
  name: 'key_ending_of_account',
  text: `SELECT k.id, k.name, k.expires_at AS "expiresAt" FROM api_key k
    WHERE ${ends} AND k.account_id = $3 ORDER BY k.expires_at, k.id LIMIT 20`,
};

/** The keys of an account that end within `endsSoonMs`, the next one first. */
export const findEndingKeys = (
  sql: Queries,
  accountId: string,
  nowMs: number,
): Promise<Pick<EndingKey, 'id' | 'name' | 'expiresAt'>[]> =>
  sql.run(ofAccount, [timestamp(nowMs), timestamp(nowMs + endsSoonMs), accountId]);
