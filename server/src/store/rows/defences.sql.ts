import type { Defence } from '../../money/defence.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { Scope } from './disputes.sql.ts';

/** As merchants see them. The till's own rows of them are in `kinds/defence/defences.sql.ts`. */
const shown = `f.account_id AS "accountId", f.id, f.dispute_id AS "disputeId", f.operation_id AS "operationId", f.reason, f.body,
  f.file_ids AS "fileIds", f.created_at AS "createdAt", f.sent_at AS "sentAt", f.updated_at AS "updatedAt",
  CASE f.status WHEN 'completed' THEN 'sent' WHEN 'failed' THEN 'failed' ELSE CASE (SELECT i.state FROM intent i
      WHERE i.account_id = f.account_id AND i.payment_id = f.id) WHEN 'ready' THEN 'pending' ELSE 'unknown' END END AS status`;

const ofDispute: Statement = {
  name: 'defences_of_dispute',
  text: `SELECT ${shown} FROM dispute_defence f WHERE f.account_id = $1 AND f.operation_id = $2 AND f.dispute_id = $3
    ORDER BY f.created_at DESC, f.id`,
};

/** Of a dispute, the newest first: those behind it were refused for what they say. */
export const findDefencesOf = (
  sql: Queries,
  { accountId, operationId }: Scope,
  disputeId: string,
): Promise<Defence[]> => sql.run<Defence>(ofDispute, [accountId, operationId, disputeId]);

const several: Statement = {
  name: 'defence_several',
  text: `SELECT DISTINCT ON (f.dispute_id) ${shown} FROM dispute_defence f
    WHERE f.account_id = $1 AND f.operation_id = $2 AND f.dispute_id = ANY ($3::uuid[])
    ORDER BY f.dispute_id, f.created_at DESC, f.id`,
};

/** The newest of each of some disputes. */
export const findDefences = (
  sql: Queries,
  { accountId, operationId }: Scope,
  disputeIds: readonly string[],
): Promise<Defence[]> => sql.run<Defence>(several, [accountId, operationId, disputeIds]);
