import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import type { ProviderWords, SendOutcome } from '../provider/provider.ts';

const insert: Statement = {
  name: 'provider_word_insert',
  text: `INSERT INTO provider_word (account_id, payment_id, fence, at, name, message) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING`,
};

const time = (ms: number): string => new Date(ms).toISOString();

/**
 * Keeps what the provider said to an attempt that it did not accept, and logs its name: an answer that is in no table ends nothing, and would
 * otherwise show nowhere before its payment is overdue. Nothing rests on it, so a failure to write it is logged and the outcome is applied.
 */
export async function keepWords(
  { sql, clock, log }: { sql: Queries; clock: Clock; log: Log },
  {
    accountId,
    paymentId,
    connection,
    fence,
  }: Record<'accountId' | 'paymentId' | 'connection' | 'fence', string>,
  outcome: SendOutcome<unknown>,
): Promise<void> {
  const words = 'words' in outcome ? outcome.words : undefined;
  if (words === undefined) return;
  // The text may name a person or a key in words that no mask knows, so it stays in the database: `vintem payment show`.
  const said = { connection, paymentId, error: words.name };
  if (outcome.outcome === 'refused') log.info(said, 'the provider refused an attempt');
  else
    log.warn(said, 'the provider did not accept an attempt, and why is in no table: see vintem payment show');
  try {
    await sql.run(insert, [accountId, paymentId, fence, time(clock.now()), words.name, words.message]);
  } catch (error) {
    log.warn({ err: error, paymentId }, 'the words of the provider are not kept');
  }
}

const select: Statement = {
  name: 'provider_word_find',
  text: `SELECT at, name, message FROM provider_word WHERE account_id = $1 AND payment_id = ANY ($2::uuid[]) ORDER BY at DESC LIMIT 50`,
};

/** Of a payment and its refunds, the newest first. */
export const findWords = (
  sql: Queries,
  accountId: string,
  ids: readonly string[],
): Promise<(ProviderWords & { at: number })[]> =>
  sql.run<ProviderWords & { at: number }>(select, [accountId, ids]);

const keptMs = 90 * 86_400_000;
const rowsPerStep = 500;

const prune: Statement = {
  name: 'provider_word_prune',
  text: `WITH old AS (SELECT account_id, payment_id, fence FROM provider_word WHERE at < $1 ORDER BY at LIMIT $2)
    DELETE FROM provider_word w USING old
    WHERE w.account_id = old.account_id AND w.payment_id = old.payment_id AND w.fence = old.fence RETURNING w.fence`,
};

/** Removes them after 90 days. @returns whether there is more to remove at once */
export async function stepWordRetention({ sql, clock }: { sql: Queries; clock: Clock }): Promise<boolean> {
  return (await sql.run(prune, [time(clock.now() - keptMs), rowsPerStep])).length === rowsPerStep;
}
