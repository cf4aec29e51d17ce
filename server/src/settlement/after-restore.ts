import type { Queries, Statement } from '../ports/sql.ts';
import { audits, installationId } from './audit.sql.ts';
import type { Operator } from './operator.ts';
import { pauseAfterRestore } from './pause.ts';

const unclear: Statement = {
  name: 'restore_intents',
  text: `UPDATE intent SET state = 'sending', priority = 0, fence = $1, attempt = GREATEST(attempt, 1), lease_until = $2,
      due_at = $2, attempt_ended_at = NULL, failures = 0, absences = 0, absent_at = NULL`,
};

const refill: Statement = {
  name: 'restore_query_buckets',
  text: 'UPDATE connection SET query_bucket_at = $1',
};

/**
 * What the rows of a copy may no longer say, changed in the transaction that brings them back.
 *
 * Withdrawals pause until the provider's lists have been compared. Whatever was unfinished, certainly unsent things included, may
 * have been sent in the time that was lost: it becomes a send whose owner is gone and whose one attempt ended unclear. So it
 * is asked after first, repeated only under its own id, and released only when the provider itself says that this id was refused.
 * The addresses that the provider delivers to stay what they were.
 */
export async function markRestored(
  tx: Queries,
  { clock, ids, actor }: Pick<Operator, 'clock' | 'ids' | 'actor'>,
  copy: { createdAt: string; sha256: string },
): Promise<void> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  await pauseAfterRestore(tx, now);
  await tx.run(unclear, [ids.uuid(), at]);
  await tx.run(refill, [at]);
  const audit = {
    accountId: installationId,
    id: ids.uuid(),
    at: now,
    actor,
    action: 'restore',
    subject: 'installation',
    reason: null,
    detail: copy,
  };
  await Promise.all(audits.write(tx, { inserted: [audit], updated: [], deleted: [] }));
}
