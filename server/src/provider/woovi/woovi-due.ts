import type { DueAsked, DueTerms, DueTermsOffer, Part } from '../due-terms.ts';
import type { DueInstruction } from '../provider.ts';
import { cut } from '../wire.ts';

/**
 * Charges with a due date at Woovi: `POST /api/v1/charge` with the type OVERDUE (woovi-developers at bb0dddf: src/swaggers/woovi.yml, ChargePayload;
 * docs/charge/how-to-create-cobv-using-api.mdx, docs/charge/discount-simulator.mdx). Nothing of it was tried with an account.
 *
 * Woovi's words leave a part of the terms open, and what they leave open is not offered:
 * - interest: the document and the discount simulator say basis points a day, the page `cobv-simulator` basis points a month. The form without a
 *   contradiction in the document is a percentage a calendar day; the unit of `FIXED` is said nowhere.
 * - discounts: given before the due date and not on it, and the largest counts of those that have not ended. `daysActive` is at least one.
 * - a rebate, working days and a due date of today have no words at all.
 * - the terms of a charge cannot be changed: `PATCH` takes `expiresDate` alone.
 */
export const wooviDueTerms: DueTermsOffer = {
  changes: false,
  refusal({ terms, payer }, now) {
    if (!isExpressible(terms, dayAt(now))) return 'terms';
    // "O cliente sendo cobrado" needs a registered address, or brings one (docs/charge/how-to-create-cobv-using-api.mdx).
    return payer.address === undefined ? 'address' : null;
  },
};

function isExpressible({ dueDate, interest, rebate, discounts }: DueTerms, today: string): boolean {
  const takesInterest =
    interest === null || (interest.type === 'percent_day' && interest.days === 'calendar');
  const isFalling = discounts.every(({ value }, at) => at === 0 || value < (discounts[at - 1]?.value ?? 0));
  const inTime = discounts.every(({ until }) => until > today && until < dueDate);
  return dueDate > today && rebate === null && takesInterest && isFalling && inTime;
}

const dayMs = 86_400_000;
/** Brasília, without summer time since 2019: the days of Woovi's own example end at 02:59:59.999 UTC. */
const dayAt = (ms: number): string => new Date(ms - 3 * 3_600_000).toISOString().slice(0, 10);
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

/** Days count from the day on which the charge is made, and two clocks are never one. */
const nearMidnightMs = 60_000;

/** Near the end of a day it is not certain which day Woovi counts from. @returns how long to wait; zero: not at all */
export function untilDayIsCertain(now: number): number {
  return dayAt(now - nearMidnightMs) === dayAt(now + nearMidnightMs) ? 0 : 2 * nearMidnightMs;
}

/** Null: by now its terms cannot be said any more, since a day that they name has come. */
export function overdueBody(instruction: DueInstruction, now: number): unknown {
  const { txid, amountCents, terms, payer, description } = instruction;
  const today = dayAt(now);
  if (!isExpressible(terms, today)) return null;
  const { dueDate, validAfterDue, fine, interest, discounts } = terms;
  const text = cut(description, 200);
  return {
    correlationID: txid,
    value: amountCents,
    type: 'OVERDUE',
    daysForDueDate: daysBetween(today, dueDate),
    daysAfterDueDate: validAfterDue,
    customer: customerOf(payer),
    ...(fine && { fines: { value: fine.value, type: typeOf(fine) } }),
    ...(interest && { interests: { value: interest.value, type: 'PERCENTAGE' } }),
    ...(discounts[0] && {
      discountSettings: {
        modality: `${discounts[0].type === 'fixed' ? 'FIXED_VALUE' : 'PERCENTAGE'}_UNTIL_SPECIFIED_DATE`,
        discountFixedDate: discounts.map(({ until, value }) => ({
          daysActive: daysBetween(today, until),
          value,
        })),
      },
    }),
    ...(text !== '' && {
      comment: cut(text, 140),
      additionalInfo: [{ key: 'Descrição', value: text }],
    }),
  };
}

/** Cents, or basis points of the amount: as they are kept here. */
const typeOf = ({ type }: Part): string => (type === 'fixed' ? 'FIXED' : 'PERCENTAGE');

/** The number of the house stands behind the last comma of the street, where one stands there. */
const houseNumber = /^(.{1,190}), ?(\d{1,6}[A-Za-z]?|[sS]\/[nN])$/;

function customerOf({ name, document, email, address }: DueAsked['payer']) {
  const [, street = address?.street ?? '', number] = houseNumber.exec(address?.street ?? '') ?? [];
  return {
    name: cut(name, 200),
    taxID: document,
    ...(email !== undefined && { email }),
    ...(address && {
      address: {
        zipcode: address.postalCode,
        street: cut(street, 200),
        ...(number !== undefined && { number }),
        ...(address.neighborhood !== undefined && { neighborhood: cut(address.neighborhood, 200) }),
        city: cut(address.city, 200),
        state: address.state,
        country: 'BR',
      },
    }),
  };
}
