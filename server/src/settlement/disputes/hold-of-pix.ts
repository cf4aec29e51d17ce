import { type Balance, decide, type Movement } from '../../ledger/decide.ts';
import { type EventKind, eventKinds } from '../../ledger/journal.ts';
import {
  type ChainKey,
  type Posting,
  put,
  type Read,
  read,
  type View,
  type Write,
} from '../../ledger/till.ts';
import type { Payment } from '../../payments/payment.ts';
import { knownReturns, knownReturnsKey } from '../../payments/returns.sql.ts';
import { type KnownReturn, returnedOf } from '../../payments/returns.ts';
import { type Hold, holds, type OpenHolds, openHolds, openHoldsAfter, sharesOf } from '../holds/holds.sql.ts';
import { creditedPix } from '../incidents/incidents.sql.ts';
import { type Dispute, debited, wantedCents } from './dispute.ts';
import { disputesKey, disputesOfPayment } from './disputes.sql.ts';

/** The hold of a disputed Pix: how it follows its disputes, and what the provider takes out of it. Pure. */

/** Who placed it, as the list of holds shows. */
const placedBy = 'dispute';

export const holdReads = (accountId: string, operationId: string, paymentId: string): Read[] => [
  read(disputesOfPayment, disputesKey(accountId, paymentId)),
  read(creditedPix, accountId + paymentId),
  read(openHolds, accountId + operationId),
];

export const disputesIn = (view: View, accountId: string, paymentId: string): readonly Dispute[] =>
  view.get(disputesOfPayment, disputesKey(accountId, paymentId))?.disputes ?? [];

const openIn = (view: View, { accountId, chainId }: ChainKey): OpenHolds =>
  view.get(openHolds, accountId + chainId) ?? { accountId, operationId: chainId, holds: [] };

/**
 * What a Pix brought the merchant and was not refunded, fee included. Another Pix than the one that paid the charge stands in suspense, where
 * no merchant can take it, until a person credits it.
 */
export function broughtBy(
  view: View,
  { accountId, id, endToEnd, netAmountCents, providerFeeCents, refundedCents }: Payment,
  pix: string,
): number {
  if (pix === endToEnd) return (netAmountCents ?? 0) + (providerFeeCents ?? 0) - refundedCents;
  return view.get(creditedPix, accountId + id)?.pix.find((one) => one.endToEnd === pix)?.cents ?? 0;
}

/** What is left of what a Pix brought, after every return of it that was posted. A refund is none: `broughtBy` has those taken off. */
export const leftOf = (broughtCents: number, endToEnd: string, returns: readonly KnownReturn[]): number =>
  broughtCents - returnedOf(endToEnd, returns);

interface Held {
  id: string;
  wantedCents: number;
  capturedCents: number;
}

/** The open hold of a Pix and what it has captured; null: there is none, or an operator has released it. */
function heldBy(open: OpenHolds, ofPix: readonly Dispute[], heldCents: number): Held | null {
  const ids = new Set(ofPix.map(({ holdId }) => holdId));
  const found = open.holds.find(({ id }) => ids.has(id));
  return found ? { ...found, capturedCents: sharesOf(open.holds, heldCents).get(found.id) ?? 0 } : null;
}

export interface Adjusted {
  postings: Posting[];
  writes: Write[];
  /** The hold afterwards; null: nothing is held any more. */
  holdId: string | null;
  /** What it has captured afterwards. */
  capturedCents: number;
}

/** Makes the hold of a Pix want `target`: a new hold, more or less of the one that is there, or its end. */
export function adjusted(
  view: View,
  place: { chain: ChainKey; paymentId: string; ofPix: readonly Dispute[]; token: string },
  target: number,
  now: number,
): Adjusted {
  const { chain, paymentId, ofPix, token } = place;
  const open = openIn(view, chain);
  const { held: heldCents = 0, available = 0 } = view.balance(chain) ?? {};
  const held = heldBy(open, ofPix, heldCents);
  const captured = held?.capturedCents ?? 0;
  const delta = target - (held?.wantedCents ?? 0);
  if (delta === 0) return { postings: [], writes: [], holdId: held?.id ?? null, capturedCents: captured };
  const hold = holdOf(chain, paymentId, held ?? { id: token, wantedCents: target }, target, now);
  const writes = [put(holds, hold), put(openHolds, openHoldsAfter(open, hold))];
  const posting = (event: EventKind, movement: Movement): Posting => ({
    chain,
    subject: hold.id,
    event,
    // A hold may grow and shrink more than once: the token of the command tells these apart.
    reference: held ? token : '',
    movement,
    effectiveAt: now,
  });
  if (held === null || delta > 0) {
    const grown = posting(eventKinds.hold, { kind: 'hold', amountCents: delta });
    const capturedCents = captured + Math.min(available, delta);
    return { postings: [grown], writes, holdId: hold.id, capturedCents };
  }
  // What was not captured yet is given up first.
  const missing = Math.min(held.wantedCents - held.capturedCents, -delta);
  const freedCents = -delta - missing;
  const freed: Movement = { kind: 'unhold', capturedCents: freedCents, wantedCents: missing };
  return {
    postings: [posting(eventKinds.unhold, freed)],
    writes,
    holdId: target === 0 ? null : hold.id,
    capturedCents: captured - freedCents,
  };
}

/**
 * The hold of a Pix after a refund of it: it wants no more than what is left, and what it does not want any more is free. One that an
 * operator released stays released. @returns null: nothing changes
 */
export function shrunk(
  view: View,
  {
    chain,
    paymentId,
    endToEnd,
    token,
  }: { chain: ChainKey; paymentId: string; endToEnd: string; token: string },
  leftCents: number,
  now: number,
): Adjusted | null {
  const ofPix = disputesIn(view, chain.accountId, paymentId).filter((one) => one.endToEnd === endToEnd);
  const held = heldBy(openIn(view, chain), ofPix, view.balance(chain)?.held ?? 0);
  const target = wantedCents(ofPix, leftCents);
  if (held === null || target >= held.wantedCents) return null;
  return adjusted(view, { chain, paymentId, ofPix, token }, target, now);
}

/**
 * A disputed Pix stood in suspense and a person credits it: what its disputes want is held from this moment on.
 * @returns null: nobody contests it, or nothing is left of it
 */
export function heldFromNowOn(
  view: View,
  credited: { chain: ChainKey; paymentId: string; endToEnd: string; cents: number; token: string },
  now: number,
): Adjusted | null {
  const { chain, paymentId, endToEnd, cents, token } = credited;
  const { accountId } = chain;
  const isOfPix = (one: Dispute): boolean => one.endToEnd === endToEnd;
  const all = disputesIn(view, accountId, paymentId);
  const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
  const ofPix = all.filter(isOfPix);
  const target = wantedCents(ofPix, leftOf(cents, endToEnd, returns));
  if (target === 0) return null;
  const hold = adjusted(view, { chain, paymentId, ofPix, token }, target, now);
  const disputes = all.map((one) => (isOfPix(one) ? { ...one, holdId: hold.holdId } : one));
  return { ...hold, writes: [...hold.writes, put(disputesOfPayment, { accountId, paymentId, disputes })] };
}

/** The row of a hold that wants so much now; zero ends it, and it keeps what it wanted last. */
const holdOf = (
  { accountId, chainId }: ChainKey,
  paymentId: string,
  before: { id: string; wantedCents: number },
  target: number,
  now: number,
): Hold => ({
  accountId,
  id: before.id,
  operationId: chainId,
  wantedCents: target > 0 ? target : before.wantedCents,
  reason: `dispute of payment ${paymentId}`,
  placedBy,
  placedAt: now,
  releasedAt: target > 0 ? null : now,
});

interface Debits {
  chain: ChainKey;
  paymentId: string;
  /** What each Pix of the payment brought and was not refunded (`broughtBy`). */
  broughtBy: (pix: string | null) => number;
  postings: readonly Posting[];
  /** Every return that the observation reports: it says of which Pix a debit is. */
  reported: readonly KnownReturn[];
  /** The returns that were known before. */
  known: readonly KnownReturn[];
}

/** The postings of an observation, in which debits of a disputed Pix come out of its hold, and what becomes of hold and disputes. */
export function seized(view: View, debits: Debits, now: number): { postings: Posting[]; writes: Write[] } {
  const { chain, paymentId, postings, reported, known } = debits;
  const { accountId } = chain;
  let disputes = disputesIn(view, accountId, paymentId);
  const start = view.balance(chain);
  if (disputes.length === 0 || !start) return { postings: [...postings], writes: [] };
  let balance: Balance = start;
  let open = openIn(view, chain);
  const taken = new Map<string | null, number>();
  const changed = new Map<string, Hold>();
  const turned = postings.map((posting): Posting => {
    let { movement } = posting;
    const back = reported.find(({ reference }) => reference === posting.reference);
    if (posting.event === eventKinds.debit && movement.kind === 'debit' && back) {
      const { amountCents } = movement;
      taken.set(back.pix, (taken.get(back.pix) ?? 0) + amountCents);
      const ofPix = disputes.filter(({ endToEnd }) => back.pix === null || back.pix === endToEnd);
      const after = new Map(debited(ofPix, amountCents, now).map((one) => [one.id, one]));
      disputes = disputes.map((one) => after.get(one.id) ?? one);
      const held = heldBy(open, ofPix, balance.held);
      if (held) {
        const left = leftOf(debits.broughtBy(back.pix), back.pix ?? '', known) - (taken.get(back.pix) ?? 0);
        const target = Math.min(held.wantedCents, wantedCents([...after.values()], left));
        const less = held.wantedCents - target;
        const capturedCents = Math.min(held.capturedCents, less, amountCents);
        movement = { kind: 'seize', amountCents, capturedCents, wantedCents: less - capturedCents };
        const hold = holdOf(chain, paymentId, held, target, now);
        changed.set(hold.id, hold);
        open = openHoldsAfter(open, hold);
      }
    }
    const decision = decide(balance, movement);
    if (!('refused' in decision)) balance = decision.balance;
    return { ...posting, movement };
  });
  return {
    postings: turned,
    writes: [
      ...[...changed.values()].map((hold) => put(holds, hold)),
      ...(changed.size > 0 ? [put(openHolds, open)] : []),
      put(disputesOfPayment, { accountId, paymentId, disputes }),
    ],
  };
}
