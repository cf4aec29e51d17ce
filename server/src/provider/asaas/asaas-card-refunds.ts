import { reaisOf } from '../../ground/money.ts';
import type { CardRefund } from '../cards.ts';
import type { DisputeReport } from '../dispute-report.ts';
import { isSuccess, notSentAfter, readList, traceOf, unclear, wordsIn } from '../exchange.ts';
import type {
  ListOutcome,
  ListWindow,
  QueryOutcome,
  RefundInstruction,
  RefundReport,
  SendOutcome,
  Unclear,
} from '../provider.ts';
import { notRead } from './asaas-account.ts';
import { dayAt, isRefusal, recordOf, refundDescription } from './asaas-bodies.ts';
import { cardRefundsIn, readChargeback } from './asaas-card-bodies.ts';
import { type AsaasDeps, pages } from './asaas-lists.ts';

/** Refunds and chargebacks of card payments. */

/** All refunds of a payment. Unclear: one cannot be read, or there are more than one page has. */
async function refundsOf(
  { exchange, clock }: AsaasDeps,
  paymentId: string,
): Promise<CardRefund[] | { outcome: 'notFound' } | Unclear> {
  const path = `/v3/payments/${encodeURIComponent(paymentId)}/refunds?limit=100`;
  const reply = await exchange({ method: 'GET', path });
  if (reply.kind === 'answer' && reply.status === 404) return { outcome: 'notFound' };
  const body = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  const refunds = body === null || body.hasMore === true ? null : cardRefundsIn(paymentId, body.data);
  return refunds ?? unclear(reply, clock);
}

const reportOf = ({ reference, amountCents, status, at }: CardRefund, providerId: string): RefundReport => ({
  ...{ providerId, rtrId: reference, amountCents },
  status: status === 'settled' ? 'completed' : status === 'failed' ? 'refused' : 'pending',
  settledAt: status === 'settled' ? at : null,
  reason: status === 'failed' ? 'provider_refused' : null,
});

const ownIn = (refunds: readonly CardRefund[], id: string): RefundReport | undefined => {
  const own = refunds.find(({ providerId }) => providerId === id);
  return own && reportOf(own, id);
};

/**
 * Asaas keeps no id of ours for a refund and has no key against repeats: the id stands at the end of the description, and is looked for before each refund is
 * made, a first one too, since a restore loses the record of an earlier one. One that may have gone out before is never made again.
 */
export async function sendRefund(
  deps: AsaasDeps,
  instruction: RefundInstruction,
  timeoutMs: number,
): Promise<SendOutcome<RefundReport>> {
  const { exchange, clock } = deps;
  const { endToEnd: paymentId, providerId, amountCents, description, repeatOf } = instruction;
  const there = await refundsOf(deps, paymentId);
  if (!Array.isArray(there))
    return there.outcome === 'notFound'
      ? { outcome: 'notSent', detail: 'its payment is not there', answered: true }
      : notSentAfter(there);
  const earlier = ownIn(there, providerId);
  if (earlier) return { outcome: 'accepted', report: earlier };
  if (repeatOf !== undefined)
    return {
      ...{ outcome: 'unclear', cause: 'unknownRefusal', retryAfterMs: null },
      detail: 'it may have been made, and is not there: a refund is not made again',
    };
  const reply = await exchange({
    ...{ method: 'POST', path: `/v3/payments/${encodeURIComponent(paymentId)}/refund`, timeoutMs },
    body: { value: Number(reaisOf(amountCents)), description: refundDescription(description, providerId) },
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const report = ownIn(cardRefundsIn(paymentId, recordOf(reply.body)?.refunds) ?? [], providerId);
    return report?.amountCents === amountCents ? { outcome: 'accepted', report } : unclear(reply, clock);
  }
  if (!isRefusal(reply)) return unclear(reply, clock);
  // No table of Asaas says which errors leave nothing behind: a refusal counts where no refund is there. Where that look fails, the next query is it.
  const after = await refundsOf(deps, paymentId);
  if (!Array.isArray(after)) return { ...unclear(reply, clock), ...wordsIn(reply), refused: true };
  const made = ownIn(after, providerId);
  return made
    ? { outcome: 'accepted', report: made }
    : { outcome: 'refused', reason: 'provider_refused', detail: 'refused, and not there', ...wordsIn(reply) };
}

export async function queryRefund(
  deps: AsaasDeps,
  paymentId: string,
  providerId: string,
): Promise<QueryOutcome<RefundReport>> {
  const there = await refundsOf(deps, paymentId);
  if (!Array.isArray(there))
    // It was there when the refund was sent, so this answer says nothing of its refunds.
    return there.outcome === 'notFound'
      ? { outcome: 'unclear', cause: 'unreadable', detail: 'its payment is not there', retryAfterMs: null }
      : there;
  const report = ownIn(there, providerId);
  return report ? { outcome: 'found', report } : { outcome: 'notFound' };
}

/** https://docs.asaas.com/reference/listar-chargebacks: those that were opened on the days of the window. */
export function listChargebacks(
  deps: AsaasDeps,
  { fromMs, toMs, wholeOnly }: ListWindow,
): Promise<ListOutcome<DisputeReport>> {
  const days = `originDisputeDate[ge]=${dayAt(fromMs)}&originDisputeDate[le]=${dayAt(toMs)}`;
  return readList(deps.exchange, deps.clock, {
    ...pages(deps, 'dispute', () => `/v3/chargebacks/?${days}`),
    read: readChargeback,
    wholeOnly,
  });
}
