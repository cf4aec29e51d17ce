import { dayAfter, startsAt } from '../../operate/closes/day.ts';
import { dayOf } from '../../operate/statement/period.ts';

export const paces = ['off', 'hour', 'day'] as const;
export type Pace = (typeof paces)[number];

/** One for each offset of Brazil's time. */
export const zones = [
  'America/Noronha',
  'America/Sao_Paulo',
  'America/Manaus',
  'America/Rio_Branco',
] as const;
export type Zone = (typeof zones)[number];

export interface QuietHours {
  /** Hours of the day, 0 to 23. From the first one on, before the other one; equal: there are none. */
  quietFrom: number;
  quietTo: number;
  zone: Zone;
}

const hourMs = 3_600_000;

/** At which hour a mail of the day goes out, where it is not quiet. */
const hourOfDay = 8;

const hours = new Map(
  zones.map((zone) => [
    zone,
    new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', hour: 'numeric' }),
  ]),
);

/** Every zone of Brazil is whole hours from UTC. */
const hourAt = (ms: number, zone: Zone): number => Number(hours.get(zone)?.format(ms));

const isQuiet = (hour: number, { quietFrom, quietTo }: QuietHours): boolean =>
  quietFrom <= quietTo ? hour >= quietFrom && hour < quietTo : hour >= quietFrom || hour < quietTo;

/** When the next mail about what was received goes out: on a full hour that is not quiet, of the day at eight or at the end of the silence. Pure. */
export function nextReceivedAt(now: number, pace: 'hour' | 'day', quiet: QuietHours): number {
  const first = (Math.floor(now / hourMs) + 1) * hourMs;
  const fits = (at: number): boolean => {
    const hour = hourAt(at, quiet.zone);
    if (pace === 'hour') return !isQuiet(hour, quiet);
    return hour === (isQuiet(hourOfDay, quiet) ? quiet.quietTo : hourOfDay);
  };
  for (let at = first; at < first + 24 * hourMs; at += hourMs) if (fits(at)) return at;
  return first + 23 * hourMs;
}

const monthOf = (day: string): string => day.slice(0, 7);

/** The month that is under way in São Paulo, `YYYY-MM`. */
export const monthAt = (ms: number): string => monthOf(dayOf(ms));

/** Its first and its last day. */
export function daysOfMonth(month: string): { first: string; last: string } {
  const first = `${month}-01`;
  let last = first;
  while (monthOf(dayAfter(last)) === month) last = dayAfter(last);
  return { first, last };
}

export const monthAfter = (month: string): string => monthOf(dayAfter(daysOfMonth(month).last));

/** When a month is announced: on the second day of the next one, at eight, when its last day is closed. Pure. */
export const monthDueAt = (month: string): number =>
  startsAt(dayAfter(`${monthAfter(month)}-01`)) + hourOfDay * hourMs;
