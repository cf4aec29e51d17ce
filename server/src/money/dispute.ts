import type { DisputeReport, DisputeStatus } from '../provider/dispute-report.ts';
import type { KnownReturn } from './returns.ts';

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
 * **A debit consumes the hold** (`debitHeld` in `money/decide.ts`): what the provider takes of a disputed Pix comes out of what is held for it,
 * then out of the balance. A debit without a dispute is taken from the balance, as ever.
 *
 * **Order does not matter.** What a hold wants and what was taken of each dispute are functions of what is known (the Pix, its returns, its
 * disputes), computed again with each news of any of them. A dispute that is read before its Pix holds with the posting of the Pix.
 *
 * **A person's release stands.** Disputes whose hold a person released want nothing, whatever the provider then says of them, until another
 * dispute of the Pix holds.
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
  /** When a person released its hold; null: none did, or another dispute of the Pix has come since. */
  releasedAt: number | null;
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

/** The dispute after a report; null: nothing new. `known` is undefined for one that is not known yet. */
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
      releasedAt: null,
      createdAt: now,
      updatedAt: now,
      mailDueAt: now,
    };
    return { dispute, event: eventOf(status) };
  }
  const { amountCents } = report;
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

/** The amount that the hold of a Pix wants: `leftCents` is the rest of the Pix after all returns. */
export function wantedCents(ofPix: readonly Dispute[], leftCents: number): number {
  const disputed = ofPix
    .filter((one) => isHolding(one) && one.releasedAt === null)
    .reduce((sum, { amountCents, debitedCents }) => sum + amountCents - debitedCents, 0);
  return Math.max(0, Math.min(disputed, leftCents));
}

/** A release was decided without knowledge of another dispute: one that holds ends it for all disputes of the Pix. */
export function withRelease(ofPix: readonly Dispute[]): Dispute[] {
  const isCovered = ofPix.filter(isHolding).every(({ releasedAt }) => releasedAt !== null);
  return isCovered ? [...ofPix] : ofPix.map((one) => ({ ...one, releasedAt: null }));
}

/** Statements may give the day of a return alone. */
const sameDayMs = 24 * 3_600_000;

/**
 * Whether a return of its Pix may be what the provider took for a dispute: nothing is taken before a dispute is opened. Of one that is not
 * accepted yet only what came surely later counts, since what is counted is not held any more.
 */
const mayBeOf = ({ openedAt, status }: Dispute, at: number): boolean =>
  at >= openedAt - (status === 'accepted' ? sameDayMs : 0);

/**
 * The disputes of a Pix with what the provider has taken of each. A return counts for the accepted ones first, then for the oldest that
 * still hold. Computed anew from all of them, so that it does not matter which was known first.
 * @param returns those of the Pix that were posted
 */
export function withTaken(
  ofPix: readonly Dispute[],
  returns: readonly Pick<KnownReturn, 'amountCents' | 'at'>[],
  now: number,
): Dispute[] {
  const order = ofPix.filter(isHolding).toSorted(byTurn);
  const taken = new Map(order.map((one) => [one, 0]));
  for (const { amountCents, at } of returns.toSorted((one, other) => one.at - other.at)) {
    let left = amountCents;
    for (const one of order.filter((dispute) => mayBeOf(dispute, at))) {
      const before = taken.get(one) ?? 0;
      const share = Math.min(left, one.amountCents - before);
      taken.set(one, before + share);
      left -= share;
    }
  }
  return ofPix.map((one) => {
    const debitedCents = taken.get(one) ?? 0;
    if (debitedCents === one.debitedCents) return one;
    return { ...one, debitedCents, updatedAt: Math.max(now, one.updatedAt + 1) };
  });
}

/**
 * The debits that accepted disputes explain to the cent, by their references: each dispute one debit of its Pix, with its amount. Computed anew from all of
 * them, so that it does not matter which was known first.
 */
export function explainedDebits(
  disputes: readonly Dispute[],
  returns: readonly KnownReturn[],
): ReadonlySet<string> {
  const free = new Set(disputes.filter(({ status }) => status === 'accepted').toSorted(byTurn));
  const explained = new Set<string>();
  for (const debit of returns.filter(({ posted }) => posted).toSorted(byTime)) {
    const { pix, amountCents, at, reference } = debit;
    const dispute = [...free].find(
      (one) => one.endToEnd === pix && one.amountCents === amountCents && mayBeOf(one, at),
    );
    if (dispute === undefined) continue;
    free.delete(dispute);
    explained.add(reference);
  }
  return explained;
}

const byTime = (one: KnownReturn, other: KnownReturn): number =>
  one.at - other.at || (one.reference < other.reference ? -1 : 1);

/** The accepted ones first, then the oldest. By the provider's id where nothing else distinguishes two: not by the order of reading. */
function byTurn(one: Dispute, other: Dispute): number {
  const rank = ({ status }: Dispute): number => (status === 'accepted' ? 0 : 1);
  return (
    rank(one) - rank(other) || one.openedAt - other.openedAt || (one.providerId < other.providerId ? -1 : 1)
  );
}

/** How much of what the hold of a Pix has captured stands behind each of its disputes. */
export function heldOf(ofPix: readonly Dispute[], capturedCents: number): Map<string, number> {
  let left = capturedCents;
  return new Map(
    ofPix
      .filter(isHolding)
      .toSorted(byTurn)
      .map((one) => {
        const share = Math.min(left, one.amountCents - one.debitedCents);
        left -= share;
        return [one.id, share];
      }),
  );
}
