import type { DefenceReason } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { eventRow, events } from '../../store/events/event.ts';
import { findDispute } from '../../store/rows/disputes.sql.ts';
import { viewsOf } from './held-views.ts';
import type { DisputeView } from './view.ts';

/** The dispute as it stands, and why its defence failed. */
export const viewOfFailedDefence = (dispute: DisputeView, reason: DefenceReason) => ({
  ...dispute,
  defence: { status: 'failed' as const, reasonCode: reason },
});

const visible: Statement = {
  name: 'defence_visible',
  text: `SELECT FROM operation WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL`,
};

interface FailedDefence extends Pick<Dispute, 'accountId' | 'operationId'> {
  disputeId: string;
  reason: DefenceReason;
  livemode: boolean;
}

/** Writes the event, in the transaction in which the defence failed. A deleted operation is invisible, so its disputes write none. */
export async function writeFailedDefence(
  tx: Queries,
  ids: Ids,
  { disputeId, reason, livemode, ...scope }: FailedDefence,
  at: number,
): Promise<void> {
  const isVisible = (await tx.run(visible, [scope.accountId, scope.operationId])).length > 0;
  const dispute = isVisible && (await findDispute(tx, scope, disputeId));
  const [view] = dispute ? await viewsOf(tx, scope, [dispute]) : [];
  if (!view) return;
  const event = eventRow(ids, {
    ...scope,
    paymentId: view.paymentId,
    type: 'dispute.defence_failed',
    livemode,
    change: { from: view.status, to: view.status },
    data: viewOfFailedDefence(view, reason),
    at,
  });
  await Promise.all(events.write(tx, { inserted: [event], updated: [], deleted: [] }));
}
