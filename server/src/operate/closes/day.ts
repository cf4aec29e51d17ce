import { dayOf, startOfDay } from '../statement/period.ts';

/**
 * The days of the daily close. Pure.
 *
 * **A day is São Paulo's.** A close holds the journals after the last close's `closing_seq` up to the last one that was posted before the
 * day's end. What is posted later, whatever it is about, is in the next day: a closed day never changes. Its figures are those of the
 * statement (`statement/figures.ts`).
 */
export const startsAt = (day: string): number => startOfDay(day);
export const endsAt = (day: string): number => startOfDay(day, 1);
export const dayAfter = (day: string): string => dayOf(endsAt(day));
export const dayBefore = (day: string): string => dayOf(startsAt(day) - 1);
