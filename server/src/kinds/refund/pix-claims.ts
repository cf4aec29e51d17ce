import type { Dispute } from '../../money/dispute.ts';
import type { Refund } from '../../money/refund.ts';
import type { KnownReturn } from '../../money/returns.ts';
import type { Queries } from '../../ports/sql.ts';
import { disputesKey, disputesOfPayment } from '../../store/rows/disputes.sql.ts';
import { refundsReportedGone } from '../../store/rows/incidents.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { refundsOfPayment } from '../../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import { type Read, read, type View } from '../../store/till.ts';

/** The claims on a Pix in suspense: a claimed Pix must not go back to its payer as well. */
export interface PixClaims {
  refunds: readonly Refund[];
  /** Refunds that failed here and that the provider reports as carried out, by id. */
  reportedGone: readonly string[];
  returns: readonly KnownReturn[];
  disputes: readonly Dispute[];
}

/** Why the Pix must not go back to its payer; null: nothing else claims it. Pure. */
export function claimOn(
  endToEnd: string,
  { refunds, reportedGone, returns, disputes }: PixClaims,
): string | null {
  const ofPix = refunds.filter((one) => one.endToEnd === endToEnd);
  const isGoing = ofPix.some(({ status }) => status !== 'failed');
  const isGone = returns.some(({ posted, pix: of }) => posted && (of === null || of === endToEnd));
  if (isGoing || isGone) return 'the Pix, or a part of it, went back already';
  if (ofPix.some(({ id }) => reportedGone.includes(id)))
    return 'the provider reports an earlier return of the Pix, which failed here, as carried out';
  const isDisputed = disputes.some(
    (one) => one.endToEnd === endToEnd && ongoing.has(one.status) && one.debitedCents < one.amountCents,
  );
  return isDisputed
    ? 'the payer disputes the Pix: the provider may take it, so it would go back twice'
    : null;
}

const ongoing: ReadonlySet<Dispute['status']> = new Set(['open', 'defending', 'accepted']);

/** For a decision under the lock of the charge's operation. */
export const claimReads = (accountId: string, paymentId: string): Read[] => [
  read(refundsOfPayment, paymentKey(accountId, paymentId)),
  read(refundsReportedGone, paymentKey(accountId, paymentId)),
  read(knownReturns, knownReturnsKey(accountId, paymentId)),
  read(disputesOfPayment, disputesKey(accountId, paymentId)),
];

export const claimsIn = (view: View, accountId: string, paymentId: string): PixClaims => ({
  refunds: view.get(refundsOfPayment, paymentKey(accountId, paymentId))?.refunds ?? [],
  reportedGone: view.get(refundsReportedGone, paymentKey(accountId, paymentId))?.ids ?? [],
  returns: view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [],
  disputes: view.get(disputesOfPayment, disputesKey(accountId, paymentId))?.disputes ?? [],
});

/** As they are stored now. */
export async function findClaims(sql: Queries, accountId: string, paymentId: string): Promise<PixClaims> {
  const [[ofPayment], [gone], [known], [disputed]] = await Promise.all([
    refundsOfPayment.read(sql, [paymentKey(accountId, paymentId)]),
    refundsReportedGone.read(sql, [paymentKey(accountId, paymentId)]),
    knownReturns.read(sql, [knownReturnsKey(accountId, paymentId)]),
    disputesOfPayment.read(sql, [disputesKey(accountId, paymentId)]),
  ]);
  return {
    refunds: ofPayment?.refunds ?? [],
    reportedGone: gone?.ids ?? [],
    returns: known?.returns ?? [],
    disputes: disputed?.disputes ?? [],
  };
}
