import type { DueTerms } from '../../provider/due-terms.ts';

/** Days from the due date on which a payer is reminded. */
const days = [-3, 0, 3];
const dayMs = 24 * 3_600_000;
/** Nine in the morning of Brasília. */
const hourUtc = '12:00:00Z';

/**
 * The time of the next reminder behind a moment, in ms; null: there is none. None comes when the charge cannot be paid any more. Pure.
 */
export function nextReminder(
  { dueDate, validAfterDue }: Pick<DueTerms, 'dueDate' | 'validAfterDue'>,
  after: number,
): number | null {
  const times = days
    .filter((one) => one <= validAfterDue)
    .map((one) => Date.parse(`${dueDate}T${hourUtc}`) + one * dayMs);
  return times.find((at) => at > after) ?? null;
}
