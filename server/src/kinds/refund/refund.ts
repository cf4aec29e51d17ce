import { providerIdOf } from '../../money/payment.ts';
import { isRefundOpen, type Refund } from '../../money/refund.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import type { RefundReport } from '../../provider/provider.ts';
import { findConnectionOf } from '../../store/rows/payments.sql.ts';
import { refundKey, refunds } from '../../store/rows/refunds.sql.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { observedRefund, type RefundNews } from '../payment/refund-lines.ts';
import { admitRefund, type RefundOrder, refundReads } from './admission.ts';
import { hearRefund, undecidedRefund } from './outcome.ts';
import { claimOn, findClaims } from './pix-claims.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    refund: true;
  }
}

/**
 * A received Pix, or a payment by card, goes back to its payer: what a merchant asks for, out of its balance; or a Pix in suspense, whole, by a person's decision or the
 * account's rule (`operate/incidents/return-to-payer.ts`), out of suspense on the account's own chain.
 */
export const refund: Kind<Refund, RefundOrder, RefundReport, RefundNews> = {
  name: 'refund',
  permission: 'refunds',
  call: 'refund',
  table: refunds,
  isWithdrawal: true,
  isLimited: false,
  mayMove: false,
  isAwaited: false,
  createdEvent: null,
  notFound: 'refund_not_found',
  unread: ['refund'],
  // The charge decides: it may be on another connection than its account.
  offers: () => true,
  isOpen: isRefundOpen,
  subjectOf: ({ id, paymentId }) => ({ paymentId, detail: { refundId: id } }),
  undecided: undecidedRefund,
  isLookedAt: () => false,

  /** It goes back over the connection that it came in over. */
  connectionOf: async (sql, { accountId, connection }, { paymentId }) =>
    (await findConnectionOf(sql, accountId, paymentId)) ?? connection,
  asked: ({ requestKey: _, ...asked }) => asked,
  waitMs: ({ transferWaitMs }) => transferWaitMs,
  admissionReads: refundReads,
  admit: admitRefund,
  prepare: prepareRefund,
  async locate(sql: Sql, { accountId, paymentId: id }) {
    const [found] = await refunds.read(sql, [refundKey(accountId, id)]);
    if (!found || !isRefundOpen(found)) return null;
    return {
      query: (provider) => provider.queryRefund(found.endToEnd, providerIdOf(id)),
      observed: (connection, observation) => observedRefund(found, connection, observation),
    };
  },
  observed: observedRefund,
  hear: hearRefund,
};

async function prepareRefund(
  { sql, log }: PrepareDeps,
  row: Refund,
  { can, repeat, traceparent }: Sending,
): Promise<Prepared<RefundReport>> {
  const claim = await claimSince(sql, row);
  if (claim !== null) {
    log.warn({ refundId: row.id, claim }, 'a return to the payer is not sent');
    return { outcome: 'refused', reason: 'provider_refused', detail: claim };
  }
  // A return to the payer may be decided by a process that does not know what the connection can do.
  if (!can.canRefund)
    return { outcome: 'refused', reason: 'provider_refused', detail: 'the connection cannot refund' };
  const { endToEnd, id, paymentId, amountCents, description, createdAt } = row;
  const instruction = {
    ...{
      endToEnd,
      providerId: providerIdOf(id),
      chargeId: providerIdOf(paymentId),
      amountCents,
      description,
    },
    ...(repeat && { repeatOf: createdAt }),
    traceparent,
  };
  return (provider) => provider.sendRefund(instruction);
}

/**
 * The claim on the Pix of a return to the payer that came after its decision. The return may wait for hours while withdrawals are paused
 * or the provider is down, and the provider may have taken the money back in the meantime. @returns null when nothing has
 */
async function claimSince(
  sql: Queries,
  { accountId, id, paymentId, endToEnd, reason }: Refund,
): Promise<string | null> {
  if (reason !== 'odd_money') return null;
  const claims = await findClaims(sql, accountId, paymentId);
  return claimOn(endToEnd, { ...claims, refunds: claims.refunds.filter((one) => one.id !== id) });
}
