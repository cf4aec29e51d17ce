import { type FeeRule, feeOf } from '../ground/money.ts';
import type { DueTerms, PaidParts, Part, ShownTerms } from '../provider/due-terms.ts';

/**
 * A charge with a due date, as it is stored with its payment. What comes for it may lawfully be another amount than asked for, and the provider computes
 * which: nothing here says what a payer owes on a day.
 */
export interface DueCharge extends DueTerms {
  /** The payer's document, most of it masked. */
  document: string;
  /** The payer is reminded by mail. */
  reminders?: true;
  /** The account's rule at creation: the fee is of what was received. */
  fee: FeeRule;
  /** The Pix that was its payment; null: there was none. */
  paid: PaidDue | null;
  /** How often a change was asked for; absent: never. */
  changes?: number;
  /** The change that the provider has not shown; absent: there is none. */
  change?: AskedChange;
  /** The provider's number of the terms (`revisao`), as of their last change; absent: no change was carried out, or no number is said. */
  revision?: number;
  /** Its terms before each change that was carried out; absent: it was never changed. */
  earlier?: readonly AskedTerms[];
}

/** The amount and terms of a charge. */
export interface AskedTerms {
  amountCents: number;
  terms: DueTerms;
}

export interface AskedChange extends AskedTerms {
  /** Of its record. */
  id: string;
}

/** Of one charge: each of them is two more terms that a Pix may have been computed from. */
export const changesMost = 20;

export interface PaidDue {
  amountCents: number;
  /** Null: the provider reports no parts, or what came is not what it was asked for and a person credited it. */
  parts: PaidParts | null;
}

/** A received Pix, as the provider reports it. */
interface Reported {
  amountCents: number;
  parts?: PaidParts;
}

interface Asked {
  amountCents: number;
  due: DueCharge | null;
}

export const termsOf = ({
  dueDate,
  validAfterDue,
  fine,
  interest,
  discounts,
  rebate,
}: DueTerms): DueTerms => ({ dueDate, validAfterDue, fine, interest, discounts, rebate });

/** Its terms now, those of its open change and those of earlier ones: a payer's bank that had read the code before a change may pay what it read then. */
const everyTerms = (amountCents: number, due: DueCharge): AskedTerms[] => [
  { amountCents, terms: termsOf(due) },
  ...(due.change ? [due.change] : []),
  ...(due.earlier ?? []),
];

const isWithin = ({ amountCents, terms }: AskedTerms, paidCents: number): boolean => {
  const { least, most } = boundsOf(amountCents, terms);
  return paidCents >= least && paidCents <= most;
};

/**
 * Whether a Pix is the payment that was asked for. Without a due date its amount is the one asked for. With one the terms must be able to lead to its amount
 * on some day. Its parts do not decide: a report without them may come first, and the end may not depend on that. Nor do changes that were carried out: the Pix
 * and the answer to a change come in any order.
 */
export function isPaymentOf({ amountCents: asked, due }: Asked, amountCents: number): boolean {
  if (due === null) return amountCents === asked;
  return everyTerms(asked, due).some((one) => isWithin(one, amountCents));
}

/** It was paid with what a change of it took back, or with what one of its changes was to be. */
export const isPaidOtherwise = ({ amountCents, due }: Asked): boolean =>
  due?.paid != null && !isWithin({ amountCents, terms: termsOf(due) }, due.paid.amountCents);

/**
 * Whether the parts that a provider reports agree with the received amount and the terms: they add up, their original is the amount asked for, and no part
 * is there whose terms are not. Efí reports none.
 */
export function partsFit(
  { amountCents: asked, due }: { amountCents: number; due: DueCharge },
  { amountCents, parts }: Reported,
): boolean {
  return parts === undefined || everyTerms(asked, due).some((one) => partsAgree(one, parts, amountCents));
}

function partsAgree(
  { amountCents: asked, terms }: AskedTerms,
  parts: PaidParts,
  amountCents: number,
): boolean {
  const { originalCents, fineCents, interestCents, discountCents, rebateCents } = parts;
  return (
    originalCents === asked &&
    originalCents + fineCents + interestCents - discountCents - rebateCents === amountCents &&
    (terms.fine !== null || fineCents === 0) &&
    (terms.interest !== null || interestCents === 0) &&
    (terms.discounts.length > 0 || discountCents === 0) &&
    (terms.rebate !== null || rebateCents === 0)
  );
}

/** The amount, fee and terms of a charge after its provider has shown a change. */
export interface Revised {
  amountCents: number;
  feeCents: number;
  due: DueCharge;
}

interface Shown {
  amountCents: number;
  due?: ShownTerms;
  /** It was asked for after the open change was sent, or is the answer to it (`isSinceSent`). */
  isSince: boolean;
}

/**
 * The charge as the provider shows it now, where that is another one than we know: the change that was asked for, or, under a later number, terms that it had
 * before. Null: as it is here. Lists lag and queries overlap changes, so a report of what was before says nothing: nor does it where that is the change that
 * was asked for, unless a later number or the time of the query shows that it is not the past.
 */
export function revisedBy(charge: Revised, shown: Shown): Revised | null {
  const { due } = charge;
  const revision = shown.due?.revision ?? null;
  const isNewer = revision !== null && due.revision !== undefined && revision > due.revision;
  const isOlder = revision !== null && due.revision !== undefined && revision <= due.revision;
  if (isSame({ amountCents: charge.amountCents, terms: termsOf(due) }, shown)) return null;
  const wasBefore = due.earlier?.some((one) => isSame(one, shown)) ?? false;
  const isBelieved = !isOlder && (!wasBefore || isNewer || shown.isSince);
  if (due.change && isBelieved && isSame(due.change, shown)) return changedTo(charge, due.change, revision);
  const again = isNewer ? due.earlier?.find((one) => isSame(one, shown)) : undefined;
  return again ? changedTo(charge, again, revision) : null;
}

/** The same by a Pix: its parts name the amount of the change, or its amount fits the change alone. */
export function revisedByPix(charge: Revised, { amountCents, parts }: Reported): Revised | null {
  const { change } = charge.due;
  const current = { amountCents: charge.amountCents, terms: termsOf(charge.due) };
  if (!change) return null;
  const fits = (one: AskedTerms): boolean =>
    parts ? partsAgree(one, parts, amountCents) : isWithin(one, amountCents);
  return !fits(current) && fits(change) ? changedTo(charge, change, null) : null;
}

function changedTo(charge: Revised, to: AskedTerms | AskedChange, revision: number | null): Revised {
  const { change, revision: _, earlier = [], ...due } = charge.due;
  const before = { amountCents: charge.amountCents, terms: termsOf(due) };
  return {
    amountCents: to.amountCents,
    feeCents: feeOf(to.amountCents, due.fee),
    due: {
      ...due,
      ...to.terms,
      earlier: [...earlier, before],
      ...(revision !== null && { revision }),
      ...(change && change !== to && { change }),
    },
  };
}

/** Whether a report shows what the charge asked for before, or is to ask for: it is not the charge as it is now. */
export const isOfOtherTime = ({ amountCents, due }: Asked, shown: Omit<Shown, 'isSince'>): boolean =>
  due !== null &&
  !isSame({ amountCents, terms: termsOf(due) }, shown) &&
  everyTerms(amountCents, due)
    .slice(1)
    .some((one) => isSame(one, shown));

/** Terms that cannot be read are taken for those that their amount leads to. */
const isSame = ({ amountCents, terms }: AskedTerms, shown: Omit<Shown, 'isSince'>): boolean =>
  shown.amountCents === amountCents && (!shown.due || sameTerms(terms, shown.due.terms));

export const sameTerms = (one: DueTerms, other: DueTerms): boolean => textOf(one) === textOf(other);

/** With their members in one order. */
const textOf = ({ dueDate, validAfterDue, fine, interest, discounts, rebate }: DueTerms): string => {
  const part = (given: Part | null) => given && [given.type, given.value];
  return JSON.stringify([
    ...[dueDate, validAfterDue, part(fine), part(rebate)],
    interest && [interest.type, interest.value, interest.days],
    discounts.map(({ until, type, value }) => [until, type, value]),
  ]);
};

/** Weekends and holidays move the last day: the longest row of them and a local one. */
const movedDaysMost = 10;

/**
 * The least and the most that the terms can lead to, whatever the day is and however the provider rounds. It is no amount of any day, and wide on purpose:
 * a Pix outside of it was not computed from these terms.
 */
export function boundsOf(asked: number, due: DueTerms): { least: number; most: number } {
  const upTo = (part: Part | null): number => (part === null ? 0 : centsOfPart(asked, part));
  const discount = Math.max(0, ...due.discounts.map(upTo));
  return {
    least: Math.max(1, asked - discount - upTo(due.rebate)),
    most: asked + upTo(due.fine) + interestMost(asked, due),
  };
}

/** Rounded up. */
const centsOfPart = (asked: number, { type, value }: Part): number =>
  type === 'fixed' ? value : Math.ceil((asked * value) / 10_000);

function interestMost(asked: number, { interest, validAfterDue }: DueTerms): number {
  if (interest === null) return 0;
  const { type, value } = interest;
  const days = validAfterDue + movedDaysMost;
  if (type === 'fixed_day') return value * days;
  // A month of working days has some 20 of them.
  const part = type === 'percent_day' ? 1 : interest.days === 'working' ? 20 : 30;
  // Some round each day.
  return Math.ceil((asked * value * days) / (10_000 * part)) + days;
}

/** The fee of what was received: at most all of it. */
export const feeOfReceived = (
  { due, feeCents }: { due: DueCharge | null; feeCents: number },
  receivedCents: number,
): number => (due === null ? feeCents : Math.min(receivedCents, feeOf(receivedCents, due.fee)));

/** Its stored part, paid with so much; of a charge without a due date nothing. Parts that do not fit are not kept. */
export function paidDue(asked: Asked, reported: Reported): { due?: DueCharge } {
  const { due } = asked;
  if (due === null) return {};
  const { amountCents, parts = null } = reported;
  const fit = partsFit({ ...asked, due }, reported);
  return { due: { ...due, paid: { amountCents, parts: fit ? parts : null } } };
}

export const sameParts = (one: PaidParts, other: PaidParts): boolean =>
  (Object.keys(one) as (keyof PaidParts)[]).every((name) => one[name] === other[name]);
