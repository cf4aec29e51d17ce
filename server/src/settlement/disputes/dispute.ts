import type { DisputeReport, DisputeStatus } from '../../provider/provider.ts';

/**
 * A dispute of a Pix that a charge received (MED), and its rules. Pure.
 *
 * **The state is the provider's word.** A dispute is `open` until the merchant defends itself (`defending`) and ends `accepted`, `rejected`
 * or `cancelled`. Only a report of the provider moves it, in any direction: what was rejected may be opened again under the same id.
 *
 * **What is disputed is held.** All disputes of one Pix share one hold. It wants what their amounts are together, less what was taken of
 * them, and at most what is left of the Pix. So two disputes of one Pix never hold more than the Pix, and one of a Pix that was given back
 * holds nothing. An accepted dispute keeps its hold until the provider has taken the money: between its word and the debit nothing may
 * leave. A rejected or cancelled one holds nothing more.
 *
 * **A debit consumes the hold** (`seize` in `ledger/decide.ts`): what the provider takes of a disputed Pix comes out of what is held for it,
 * then out of the balance. A debit without a dispute is taken from the balance, as ever.
 */
export interface Dispute {
  accountId: string;
  id: string;
  paymentId: string;
  operationId: string;
  connection: string;
  providerId: string;
  endToEnd: string;
  amountCents: number;
  status: DisputeStatus;
  reason: string | null;
  openedAt: number;
  deadlineAt: number | null;
  endedAt: number | null;
  debitedCents: number;
  holdId: string | null;
  createdAt: number;
  updatedAt: number;
  mailDueAt: number | null;
}

export type DisputeEventType =
  | 'dispute.opened'
  | 'dispute.defending'
  | 'dispute.accepted'
  | 'dispute.rejected'
  | 'dispute.cancelled';

const ended: ReadonlySet<DisputeStatus> = new Set(['accepted', 'rejected', 'cancelled']);

/** The provider has decided. */
export const hasEnded = (status: DisputeStatus): boolean => ended.has(status);

/** The provider may still take what is disputed. */
export const isHolding = ({ status }: Pick<Dispute, 'status'>): boolean =>
  status !== 'rejected' && status !== 'cancelled';

export interface DisputeStep {
  dispute: Dispute;
  event: DisputeEventType | null;
}

type Place = Pick<Dispute, 'accountId' | 'id' | 'paymentId' | 'operationId' | 'connection'>;

/** What a report makes of a dispute; null: it says nothing new. `known` is undefined for one that is not known yet. */
export function reported(
  known: Dispute | undefined,
  report: DisputeReport,
  place: Place,
  now: number,
): DisputeStep | null {
  const { status, deadlineAt, reason } = report;
  if (known === undefined) {
    const { providerId, endToEnd, amountCents, openedAt } = report;
    const dispute: Dispute = {
      ...place,
      providerId,
      endToEnd,
      amountCents,
      status,
      reason,
      openedAt,
      deadlineAt,
      endedAt: hasEnded(status) ? now : null,
      debitedCents: 0,
      holdId: null,
      createdAt: now,
      updatedAt: now,
      mailDueAt: now,
    };
    return { dispute, event: eventOf(status) };
  }
  const amountCents = Math.max(report.amountCents, known.debitedCents);
  const moved = status !== known.status;
  if (!moved && amountCents === known.amountCents && deadlineAt === known.deadlineAt) return null;
  const dispute: Dispute = {
    ...known,
    amountCents,
    status,
    reason,
    deadlineAt,
    endedAt: hasEnded(status) ? (moved ? now : known.endedAt) : null,
    updatedAt: Math.max(now, known.updatedAt + 1),
    mailDueAt: moved ? now : known.mailDueAt,
  };
  return { dispute, event: moved ? eventOf(status) : null };
}

const eventOf = (status: DisputeStatus): DisputeEventType =>
  status === 'open' ? 'dispute.opened' : `dispute.${status}`;

/** What the hold of a Pix wants: `leftCents` is what is left of the Pix after all that was returned. */
export function wantedCents(ofPix: readonly Dispute[], leftCents: number): number {
  const disputed = ofPix
    .filter(isHolding)
    .reduce((sum, { amountCents, debitedCents }) => sum + amountCents - debitedCents, 0);
  return Math.max(0, Math.min(disputed, leftCents));
}

/** What was taken of a Pix counts for its accepted disputes first, then for the oldest that still hold. */
export function debited(ofPix: readonly Dispute[], cents: number, now: number): Dispute[] {
  let left = cents;
  const order = ofPix.filter(isHolding).toSorted((one, other) => rankOf(one) - rankOf(other));
  const taken = new Map<Dispute, number>();
  for (const one of order) {
    const share = Math.min(left, one.amountCents - one.debitedCents);
    if (share > 0) taken.set(one, share);
    left -= share;
  }
  return ofPix.map((one) => {
    const share = taken.get(one);
    if (share === undefined) return one;
    return {
      ...one,
      debitedCents: one.debitedCents + share,
      updatedAt: Math.max(now, one.updatedAt + 1),
    };
  });
}

const rankOf = ({ status, openedAt }: Dispute): number => (status === 'accepted' ? 0 : 1 + openedAt);

/** How much of what the hold of a Pix has captured stands behind each of its disputes. */
export function heldOf(ofPix: readonly Dispute[], capturedCents: number): Map<string, number> {
  let left = capturedCents;
  return new Map(
    ofPix
      .filter(isHolding)
      .toSorted((one, other) => rankOf(one) - rankOf(other))
      .map((one) => {
        const share = Math.min(left, one.amountCents - one.debitedCents);
        left -= share;
        return [one.id, share];
      }),
  );
}
