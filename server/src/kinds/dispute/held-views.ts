import { type Dispute, heldOf } from '../../money/dispute.ts';
import type { Queries } from '../../ports/sql.ts';
import { findDisputesOf, findOpenHolds, type Scope } from '../../store/rows/disputes.sql.ts';
import { sharesOf } from '../../store/rows/holds.sql.ts';
import { type DisputeView, viewOfDispute } from './view.ts';

/** Disputes of an operation with what is held for each at this moment. */
export async function viewsOf(
  sql: Queries,
  scope: Scope,
  disputes: readonly Dispute[],
): Promise<DisputeView[]> {
  if (disputes.length === 0) return [];
  const [siblings, open] = await Promise.all([
    findDisputesOf(sql, scope.accountId, [...new Set(disputes.map(({ paymentId }) => paymentId))]),
    findOpenHolds(sql, scope),
  ]);
  const shares = sharesOf(open, open[0]?.held ?? 0);
  return disputes.map((dispute) => {
    const ofPix = siblings.filter(
      ({ paymentId, endToEnd }) => paymentId === dispute.paymentId && endToEnd === dispute.endToEnd,
    );
    const captured = dispute.holdId === null ? 0 : (shares.get(dispute.holdId) ?? 0);
    return viewOfDispute(dispute, heldOf(ofPix, captured).get(dispute.id) ?? 0);
  });
}
