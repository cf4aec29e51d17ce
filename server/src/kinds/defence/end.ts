import { type DefenceEnd, endedBy } from '../../money/defence.ts';
import { type Dispute, heldOf } from '../../money/dispute.ts';
import type { Ids } from '../../ports/ids.ts';
import { eventRow, events } from '../../store/events/event.ts';
import { lostAttempts, platform, platformKey } from '../../store/rows/conditions.sql.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { put, remove, type View, type Write } from '../../store/till.ts';
import { viewOfDispute } from '../dispute/view.ts';
import { capturedFor, disputesIn } from '../payment/hold-of-pix.ts';
import { defencesOfDisputes, isDefenceOpen, type SentDefence, sentDefences } from './defences.sql.ts';
import { viewOfFailedDefence } from './failed-view.ts';

/** @param left attempts that may have left */
export function ended(row: SentDefence, end: DefenceEnd, left: number, now: number): SentDefence {
  const updatedAt = Math.max(now, row.updatedAt);
  const attempts = end.status === 'failed' ? Math.min(left, 1) : Math.max(left, row.attempts, 1);
  const { status } = end;
  if (status === 'failed')
    return { ...row, status, reason: end.reason, attempts, updatedAt, mailDueAt: updatedAt };
  return { ...row, status, attempts, updatedAt, sentAt: status === 'completed' ? updatedAt : null };
}

interface Teller {
  livemode: boolean;
  ids: Pick<Ids, 'uuid'>;
}

/** The dispute of a defence, with what is held for it. */
export interface HeldDispute {
  dispute: Dispute;
  heldCents: number;
}

/** The dispute of a defence as it is stored; undefined: it is not there. */
export function disputeOf(
  view: View,
  { accountId, operationId, paymentId, disputeId }: SentDefence,
): HeldDispute | undefined {
  const all = disputesIn(view, accountId, paymentId);
  const dispute = all.find(({ id }) => id === disputeId);
  if (!dispute) return undefined;
  const ofPix = all.filter(({ endToEnd }) => endToEnd === dispute.endToEnd);
  const captured = capturedFor(view, { accountId, chainId: operationId }, ofPix);
  return { dispute, heldCents: heldOf(ofPix, captured).get(disputeId) ?? 0 };
}

/** The event of one that failed; nothing of another, nor of one whose operation is deleted, and so invisible. */
export function eventOfFailed(
  view: View,
  { accountId, operationId, paymentId, status, reason, updatedAt }: SentDefence,
  { dispute, heldCents }: HeldDispute,
  { livemode, ids }: Teller,
): Write[] {
  const isVisible = view.balance({ accountId, chainId: operationId })?.deletedAt === null;
  if (status !== 'failed' || reason === null || !isVisible) return [];
  const event = eventRow(ids, {
    ...{ accountId, operationId, paymentId, livemode },
    type: 'dispute.defence_failed',
    change: { from: dispute.status, to: dispute.status },
    data: viewOfFailedDefence(viewOfDispute(dispute, heldCents), reason),
    at: updatedAt,
  });
  return [put(events, event)];
}

/**
 * The end of a dispute's defence, in the commit in which the provider's word about the dispute decides it: from then on it is neither sent nor asked for. One
 * whose attempt is under way ends with the outcome of that. It reads one row for a dispute without a defence.
 */
export function defenceEndedWith(view: View, held: HeldDispute, teller: Teller, now: number): Write[] {
  const { accountId, id } = held.dispute;
  const known = view.get(defencesOfDisputes, accountId + id);
  const row = known && view.get(sentDefences, accountId + known.id);
  const intent = row && isDefenceOpen(row) ? view.get(intents, accountId + row.id) : undefined;
  if (!row || !intent || intent.state === 'sending') return [];
  // After a restore one that seems to wait may have left.
  const lost = intent.state === 'ready' ? lostAttempts(view.get(platform, platformKey), intent) : 0;
  const left = intent.attempt + lost;
  const end = endedBy(left > 0, held.dispute, now);
  if (end === null) return [];
  const after = ended(row, end, left, now);
  return [
    put(sentDefences, after),
    remove(intents, accountId + row.id),
    ...eventOfFailed(view, after, held, teller),
  ];
}
