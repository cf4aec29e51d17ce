import type { Schemas } from './api/client.ts';
import { addDays, dayMs } from './format.ts';

type Body = Schemas['Payment'];
export type DueTerms = Pick<
  NonNullable<Body['dueTerms']>,
  'validAfterDue' | 'fine' | 'interest' | 'discounts' | 'rebate'
> & {
  amountCents: number;
  dueDate: string;
};
type Part = { type: 'fixed' | 'percent'; value: number };

/**
 * The amount that a bank probably asks for on a day, for the form alone: it knows no holidays and moves no weekend. No amount of the service comes from it.
 */
export function estimateOn(day: string, terms: DueTerms): number {
  const { amountCents, dueDate, fine, interest, discounts, rebate } = terms;
  const base = amountCents - partOf(amountCents, rebate);
  if (day > dueDate) return base + partOf(base, fine) + interestOf(base, interest, dueDate, day);
  const discount = discounts
    .toSorted((one, other) => (one.until < other.until ? -1 : 1))
    .find(({ until }) => day <= until);
  return base - partOf(amountCents, discount ?? null);
}

const partOf = (cents: number, part: Part | null): number =>
  part === null ? 0 : part.type === 'fixed' ? part.value : Math.round((cents * part.value) / 10_000);

function interestOf(base: number, interest: DueTerms['interest'], dueDate: string, day: string): number {
  if (interest === null) return 0;
  const { type, value, days } = interest;
  const isWorking = days === 'working';
  const count = isWorking ? workingDays(dueDate, day) : (Date.parse(day) - Date.parse(dueDate)) / dayMs;
  if (type === 'fixed_day') return value * count;
  const parts = type === 'percent_day' ? 1 : isWorking ? 21 : 30;
  return Math.round((base * value * count) / (10_000 * parts));
}

function workingDays(from: string, to: string): number {
  let days = 0;
  for (let at = addDays(from, 1); at <= to; at = addDays(at, 1)) {
    const weekday = new Date(at).getUTCDay();
    if (weekday !== 0 && weekday !== 6) days++;
  }
  return days;
}

/** The days on which the amount changes, and some of those after the due date. */
export function estimates(terms: DueTerms): { day: string; cents: number }[] {
  const { dueDate, discounts, validAfterDue } = terms;
  const late = [1, 10, validAfterDue].filter((days) => days > 0 && days <= validAfterDue);
  const days = new Set([
    ...discounts.map(({ until }) => until),
    dueDate,
    ...late.map((one) => addDays(dueDate, one)),
  ]);
  return [...days].sort().map((day) => ({ day, cents: estimateOn(day, terms) }));
}
