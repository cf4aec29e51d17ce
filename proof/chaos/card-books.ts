import { eventKinds } from '../../server/src/money/journal.ts';
import type { CardBooks } from './card-payers.ts';

/** Reads rows under the name of a statement. */
export type Rows = <Row>(name: string, text: string) => Promise<Row[]>;

/** The books of payments by card over a connection, by the rows of all cells and of the tables that they share. */
export async function cardBooksOf(
  connection: string,
  { cells, shared }: { cells: Rows; shared: Rows },
): Promise<CardBooks> {
  const approvals = await cells<{ id: string; count: number }>(
    `approvals of ${connection}`,
    `SELECT subject AS id, count(*)::int AS count FROM journal
      WHERE event = ${eventKinds.cardApprove} AND connection = '${connection}' GROUP BY 1`,
  );
  const pages = await cells<{ ref: string }>(
    `pages of ${connection}`,
    `SELECT card ->> 'ref' AS ref FROM payment WHERE card ->> 'ref' IS NOT NULL AND connection = '${connection}'`,
  );
  const persons = await cells<{ name: string }>(
    'payments by card before a person',
    `SELECT payment_id::text AS name FROM incident WHERE kind = 'report_mismatch'`,
  );
  const kept = await shared<{ name: string }>(
    `money by card that is kept of ${connection}`,
    `SELECT k.name FROM unread_item u CROSS JOIN LATERAL (VALUES (u.provider_id), (u.end_to_end)) AS k (name)
      WHERE u.connection = '${connection}' AND u.kind = 'charge' AND u.incident_due_at <= now() AND k.name IS NOT NULL`,
  );
  const sums = await cells<{ balance: number; transit: number }>(
    `account of ${connection}`,
    `SELECT coalesce(-sum(clearing) FILTER (WHERE connection = '${connection}'), 0)::bigint AS balance,
      coalesce(sum(suspense) FILTER (WHERE event IN (${eventKinds.cashTransfer}, ${eventKinds.cashArrive})), 0)::bigint AS transit
      FROM journal`,
  );
  const plain = (id: string): string => id.replaceAll('-', '');
  return {
    approvals: new Map(approvals.map(({ id, count }) => [plain(id), count])),
    pages: new Set(pages.map(({ ref }) => ref)),
    inFrontOfPerson: new Set([
      ...persons.map(({ name }) => plain(name)),
      // Ids of ours come without hyphens, and names of an acquirer as they are.
      ...kept.map(({ name }) => name),
    ]),
    balanceCents: sums.reduce((cents, { balance }) => cents + balance, 0),
    transitCents: sums.reduce((cents, { transit }) => cents + transit, 0),
    payouts: await shared<{ reference: string; arrived: boolean }>(
      `payouts of ${connection}`,
      `SELECT reference, arrival IS NOT NULL AS arrived FROM cash_transfer WHERE connection = '${connection}'`,
    ),
  };
}
