import { type Balance, decide, emptyBalance, type Movement } from '../../money/decide.ts';
import { type Dispute, wantedCents, withTaken } from '../../money/dispute.ts';
import { type EventKind, eventKinds } from '../../money/journal.ts';
import type { Payment } from '../../money/payment.ts';
import { type KnownReturn, postedReturnsOf, returnedOf } from '../../money/returns.ts';
import { disputesKey, disputesOfPayment } from '../../store/rows/disputes.sql.ts';
import {
  type Hold,
  holds,
  type OpenHolds,
  openHolds,
  openHoldsAfter,
  sharesOf,
} from '../../store/rows/holds.sql.ts';
import { creditedPix } from '../../store/rows/incidents.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import {
  type ChainKey,
  type Posting,
  put,
  type Read,
  read,
  type View,
  type Write,
} from '../../store/till.ts';

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
 * The amount that a Pix brought the merchant and that was not refunded, fee included. Another Pix than the one that paid the charge stands in suspense, where
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

/** The rest of a Pix's amount after every posted return of it. A refund is none: `broughtBy` has those taken off. */
export const leftOf = (broughtCents: number, endToEnd: string, returns: readonly KnownReturn[]): number =>
  broughtCents - returnedOf(endToEnd, returns);

/** Where the holds of a payment stand while a command decides: what one posting changes, the next one finds. */
interface Standing {
  balance: Balance;
  open: OpenHolds;
  /** Of the payment. */
  disputes: readonly Dispute[];
  /** Holds that are to be written. */
  changed: ReadonlyMap<string, Hold>;
}

interface Place {
  chain: ChainKey;
  paymentId: string;
  /** Of the command: also the id of a hold that it places. */
  token: string;
}

const standingIn = (view: View, { chain, paymentId }: Place): Standing => ({
  balance: view.balance(chain) ?? emptyBalance,
  open: openIn(view, chain),
  disputes: disputesIn(view, chain.accountId, paymentId),
  changed: new Map(),
});

const writesOf = ({ open, changed }: Standing): Write[] => [
  ...[...changed.values()].map((hold) => put(holds, hold)),
  ...(changed.size > 0 ? [put(openHolds, open)] : []),
];

const withHold = (standing: Standing, hold: Hold): Standing => ({
  ...standing,
  open: openHoldsAfter(standing.open, hold),
  changed: new Map(standing.changed).set(hold.id, hold),
});

const withPosting = (standing: Standing, movement: Movement): Standing => {
  const decision = decide(standing.balance, movement);
  return 'refused' in decision ? standing : { ...standing, balance: decision.balance };
};

const withDisputes = (standing: Standing, changed: readonly Dispute[]): Standing => {
  const byId = new Map(changed.map((one) => [one.id, one]));
  return { ...standing, disputes: standing.disputes.map((one) => byId.get(one.id) ?? one) };
};

interface Held {
  id: string;
  wantedCents: number;
  capturedCents: number;
}

/** The open hold of a Pix and what it has captured; null: there is none, or an operator has released it. */
function heldBy({ open, balance }: Standing, ofPix: readonly Dispute[]): Held | null {
  const ids = new Set(ofPix.map(({ holdId }) => holdId));
  const found = open.holds.find(({ id }) => ids.has(id));
  return found ? { ...found, capturedCents: sharesOf(open.holds, balance.held).get(found.id) ?? 0 } : null;
}

/** The captured amount of the open hold of a Pix. */
export const capturedFor = (view: View, chain: ChainKey, ofPix: readonly Dispute[]): number =>
  heldBy(standingIn(view, { chain, paymentId: ofPix[0]?.paymentId ?? '', token: '' }), ofPix)
    ?.capturedCents ?? 0;

/** Makes the hold of a Pix want `target`: a new hold, more or less of the one that is there, or its end. */
function aimed(
  standing: Standing,
  { chain, paymentId, token }: Place,
  ofPix: readonly Dispute[],
  target: number,
  now: number,
): { standing: Standing; postings: Posting[]; holdId: string | null; capturedCents: number } {
  const held = heldBy(standing, ofPix);
  const captured = held?.capturedCents ?? 0;
  const delta = target - (held?.wantedCents ?? 0);
  if (delta === 0) return { standing, postings: [], holdId: held?.id ?? null, capturedCents: captured };
  const hold = holdOf(chain, paymentId, held ?? { id: token, wantedCents: target }, target, now);
  const holdId = target === 0 ? null : hold.id;
  const posted = (event: EventKind, movement: Movement, capturedCents: number) => ({
    standing: withHold(withPosting(standing, movement), hold),
    // A hold may grow and shrink more than once: the token of the command distinguishes these.
    postings: [{ chain, subject: hold.id, event, reference: held ? token : '', movement, effectiveAt: now }],
    holdId,
    capturedCents,
  });
  if (held === null || delta > 0) {
    const capturedCents = captured + Math.min(standing.balance.available, delta);
    return posted(eventKinds.hold, { kind: 'hold', amountCents: delta }, capturedCents);
  }
  // The part that was not captured yet is released first.
  const missing = Math.min(held.wantedCents - captured, -delta);
  const freedCents = -delta - missing;
  const freed: Movement = { kind: 'releaseHold', capturedCents: freedCents, wantedCents: missing };
  return posted(eventKinds.releaseHold, freed, captured - freedCents);
}

export interface Adjusted {
  postings: Posting[];
  writes: Write[];
  /** The hold afterwards; null: nothing is held any more. */
  holdId: string | null;
  /** Its captured amount afterwards. */
  capturedCents: number;
}

/** Makes the hold of a Pix want `target`, in a command that changes nothing else of the payment's holds. */
export function adjusted(
  view: View,
  { ofPix, ...place }: Place & { ofPix: readonly Dispute[] },
  target: number,
  now: number,
): Adjusted {
  const { standing, ...rest } = aimed(standingIn(view, place), place, ofPix, target, now);
  return { ...rest, writes: writesOf(standing) };
}

/**
 * The hold of a Pix after a refund of it: it wants no more than what is left, and what it does not want any more is free.
 * @returns null: nothing changes
 */
export function shrunk(
  view: View,
  { endToEnd, ...place }: Place & { endToEnd: string },
  leftCents: number,
  now: number,
): Adjusted | null {
  const standing = standingIn(view, place);
  const ofPix = standing.disputes.filter((one) => one.endToEnd === endToEnd);
  const held = heldBy(standing, ofPix);
  const target = wantedCents(ofPix, leftCents);
  if (held === null || target >= held.wantedCents) return null;
  return adjusted(view, { ...place, ofPix }, target, now);
}

/**
 * A disputed Pix becomes the merchant's: what its disputes want is held from this moment on.
 * @param credited `cents`: what it brings, before any return of it
 * @returns null: no payer contests it, or nothing is left of it
 */
function heldWith(
  standing: Standing,
  place: Place,
  { endToEnd, cents, returns }: { endToEnd: string; cents: number; returns: readonly KnownReturn[] },
  now: number,
): { standing: Standing; postings: Posting[] } | null {
  const ofPix = standing.disputes.filter((one) => one.endToEnd === endToEnd);
  const target = wantedCents(ofPix, leftOf(cents, endToEnd, returns));
  if (target === 0) return null;
  const { standing: after, postings, holdId } = aimed(standing, place, ofPix, target, now);
  const disputes = ofPix.map((one) => ({ ...one, holdId }));
  return { standing: withDisputes(after, disputes), postings };
}

/** A disputed Pix stood in suspense and a person credits it. @returns as `heldWith` */
export function heldFromNowOn(
  view: View,
  { endToEnd, cents, ...place }: Place & { endToEnd: string; cents: number },
  now: number,
): Pick<Adjusted, 'postings' | 'writes'> | null {
  const { accountId } = place.chain;
  const { paymentId } = place;
  const returns = view.get(knownReturns, knownReturnsKey(accountId, paymentId))?.returns ?? [];
  const held = heldWith(standingIn(view, place), place, { endToEnd, cents, returns }, now);
  if (held === null) return null;
  const { standing, postings } = held;
  const { disputes } = standing;
  return {
    postings,
    writes: [...writesOf(standing), put(disputesOfPayment, { accountId, paymentId, disputes })],
  };
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
  paymentId,
  reason: `dispute of payment ${paymentId}`,
  placedBy,
  placedAt: now,
  releasedAt: target > 0 ? null : now,
  releasedBy: null,
});

interface Observed extends Place {
  /** The Pix that pays the charge, where this observation brings it. */
  endToEnd: string | null;
  /** The amount that each Pix of the payment brought and that was not refunded (`broughtBy`). */
  broughtBy: (pix: string | null) => number;
  postings: readonly Posting[];
  /** Every return that the observation reports: it says of which Pix a debit is. */
  reported: readonly KnownReturn[];
  /** The returns that were known before. */
  known: readonly KnownReturn[];
}

/**
 * The postings of an observation with what the disputes of the payment make of them: a disputed Pix is held with its credit, and what the
 * provider takes of one comes out of its hold.
 */
export function withHolds(
  view: View,
  observed: Observed,
  now: number,
): { postings: Posting[]; writes: Write[] } {
  const { chain, paymentId, postings, reported } = observed;
  const { accountId } = chain;
  let standing = standingIn(view, observed);
  let known = observed.known;
  if (standing.disputes.length === 0) return { postings: [...postings], writes: [] };
  const all = postings.flatMap((posting): Posting[] => {
    const back = reported.find(({ reference }) => reference === posting.reference);
    if (back) known = [...known, { ...back, posted: true }];
    const turned = turnedOf(standing, observed, { posting, back, known }, now);
    standing = withPosting(turned.standing, turned.posting.movement);
    return [...turned.holds, turned.posting];
  });
  const { disputes } = standing;
  return {
    postings: all,
    writes: [...writesOf(standing), put(disputesOfPayment, { accountId, paymentId, disputes })],
  };
}

interface Turned {
  standing: Standing;
  /** The postings in front of this one. */
  holds: Posting[];
  posting: Posting;
}

interface Part {
  posting: Posting;
  /** The return that it posts. */
  back: KnownReturn | undefined;
  /** With this one. */
  known: readonly KnownReturn[];
}

function turnedOf(
  standing: Standing,
  observed: Observed,
  { posting, back, known }: Part,
  now: number,
): Turned {
  const { endToEnd, broughtBy: brought } = observed;
  if (posting.event === eventKinds.credit && endToEnd !== null) {
    const pix = { endToEnd, cents: brought(endToEnd), returns: known };
    // The hold comes first: it was counted as it stands before the money that fills it.
    const held = heldWith(standing, observed, pix, now);
    return { standing: held?.standing ?? standing, holds: held?.postings ?? [], posting };
  }
  if (!back) return { standing, holds: [], posting };
  const of = standing.disputes.filter(({ endToEnd: pix }) => back.pix === null || back.pix === pix);
  const counted = withDisputes(standing, withTaken(of, postedReturnsOf(back.pix ?? '', known), now));
  return posting.event === eventKinds.debit
    ? seized(counted, observed, { posting, back, known }, now)
    : { standing: counted, holds: [], posting };
}

/** A debit of a disputed Pix comes out of its hold. */
function seized(
  standing: Standing,
  { chain, paymentId, broughtBy: brought }: Observed,
  { posting, back, known }: Part & { back: KnownReturn },
  now: number,
): Turned {
  const ofPix = standing.disputes.filter(({ endToEnd }) => back.pix === null || back.pix === endToEnd);
  const held = heldBy(standing, ofPix);
  if (held === null) return { standing, holds: [], posting };
  const { amountCents } = back;
  const left = leftOf(brought(back.pix), back.pix ?? '', known);
  const target = Math.min(held.wantedCents, wantedCents(ofPix, left));
  const less = held.wantedCents - target;
  const capturedCents = Math.min(held.capturedCents, less, amountCents);
  const movement: Movement = {
    kind: 'debitHeld',
    amountCents,
    capturedCents,
    wantedCents: less - capturedCents,
  };
  const hold = holdOf(chain, paymentId, held, target, now);
  return { standing: withHold(standing, hold), holds: [], posting: { ...posting, movement } };
}
