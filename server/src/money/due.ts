import { type FeeRule, feeOf } from '../ground/money.ts';
import type { DueTerms, PaidParts, Part } from '../provider/due-terms.ts';

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
}

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

/**
 * Whether a Pix is the payment that was asked for. Without a due date its amount is the one asked for. With one the terms must be able to lead to its amount
 * on some day. Its parts do not decide: a report without them may come first, and the end may not depend on that.
 */
export function isPaymentOf({ amountCents: asked, due }: Asked, amountCents: number): boolean {
  if (due === null) return amountCents === asked;
  const { least, most } = boundsOf(asked, due);
  return amountCents >= least && amountCents <= most;
}

/**
 * Whether the parts that a provider reports agree with the received amount and the terms: they add up, their original is the amount asked for, and no part
 * is there whose terms are not. Efí reports none.
 */
export function partsFit(
  { amountCents: asked, due }: { amountCents: number; due: DueCharge },
  { amountCents, parts }: Reported,
): boolean {
  if (parts === undefined) return true;
  const { originalCents, fineCents, interestCents, discountCents, rebateCents } = parts;
  return (
    originalCents === asked &&
    originalCents + fineCents + interestCents - discountCents - rebateCents === amountCents &&
    (due.fine !== null || fineCents === 0) &&
    (due.interest !== null || interestCents === 0) &&
    (due.discounts.length > 0 || discountCents === 0) &&
    (due.rebate !== null || rebateCents === 0)
  );
}

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
