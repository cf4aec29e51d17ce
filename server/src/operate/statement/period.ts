import { refuseFields } from '../../ground/errors.ts';

/** From `fromMs` on and before `toMs`, in ms since 1970; null: from the first line, or up to the last one. */
export interface Period {
  fromMs: number | null;
  toMs: number | null;
}

/** Brasília time, the legal time of Brazil's payment system. Its offset was -02:00 in the summers until February 2019. */
export const zone = 'America/Sao_Paulo';

/** Nothing happens here before 1970, and PostgreSQL and Date agree on every time up to here. */
const earliest = 0;
const latest = Date.UTC(9999, 11, 31);

const dayForm = /^(\d{4})-(\d\d)-(\d\d)$/;
const timeForm = /^(\d{4}-\d\d-\d\d)[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * A day stands for the whole of it in São Paulo: `from` begins with it, `to` ends with it. A time is RFC 3339; `to` is before it.
 * @throws ApiError `validation_failed`: `not_a_day_or_time`, `not_after_from`
 */
export function periodOf({ from, to }: { from?: string; to?: string }): Period {
  const fromMs = from === undefined ? null : instantOf('from', from, 0);
  const toMs = to === undefined ? null : instantOf('to', to, 1);
  if (fromMs !== null && toMs !== null && toMs <= fromMs)
    throw refuseFields([{ field: 'to', code: 'not_after_from' }]);
  return { fromMs, toMs };
}

/** The month in São Paulo that holds the last moment of the period, up to that moment. */
export function withinMonth(period: Period, nowMs: number): Period & { fromMs: number } {
  if (period.fromMs !== null) return { ...period, fromMs: period.fromMs };
  const lastMs = period.toMs === null ? nowMs : period.toMs - 1;
  return { fromMs: startOfDay(`${dayOf(lastMs).slice(0, 8)}01`), toMs: period.toMs };
}

function instantOf(field: string, text: string, daysLater: number): number {
  const ms = dayForm.test(text)
    ? startOfDay(text, daysLater)
    : timeForm.test(text)
      ? timeOf(text)
      : Number.NaN;
  if (Number.isNaN(ms)) throw refuseFields([{ field, code: 'not_a_day_or_time' }]);
  return Math.max(earliest, Math.min(ms, latest));
}

/** Date.parse takes 30 February for 2 March. */
const isDay = (day: string): boolean => {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
};

const timeOf = (text: string): number => (isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN);

/**
 * The first instant of a calendar day in São Paulo. Where summer time began at midnight the day began at 01:00, and where it ended the
 * hour before midnight came twice: what counts is the first instant whose local date is that day.
 * @returns NaN for what is no day
 */
export function startOfDay(day: string, daysLater = 0): number {
  if (!isDay(day)) return Number.NaN;
  const midnight = Date.parse(`${day}T00:00:00Z`) + daysLater * dayMs;
  const wanted = new Date(midnight).toISOString().slice(0, 10);
  const [before, after] = [offsetAt(midnight - dayMs), offsetAt(midnight + dayMs)];
  const first = midnight - Math.max(before, after);
  const second = midnight - Math.min(before, after);
  return dayOf(first) === wanted ? first : second;
}

const dayMs = 24 * 3600_000;

const calendar = new Intl.DateTimeFormat('en-US', {
  timeZone: zone,
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
});

/** The wall clock of São Paulo at an instant, written as if it were UTC. */
function wallClockAt(ms: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of calendar.formatToParts(ms)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (ms - Math.floor(ms / 1000) * 1000);
}

/** The offset of São Paulo's clock from UTC, in ms; negative. */
export const offsetAt = (ms: number): number => wallClockAt(ms) - ms;

/** The calendar day in São Paulo, `YYYY-MM-DD`. */
export const dayOf = (ms: number): string => new Date(wallClockAt(ms)).toISOString().slice(0, 10);

/** `2026-11-21T23:15:00.123-03:00`. */
export function localTimeOf(ms: number): string {
  const offset = offsetAt(ms);
  const hours = String(Math.abs(Math.trunc(offset / 3600_000))).padStart(2, '0');
  return `${new Date(ms + offset).toISOString().slice(0, -1)}${offset < 0 ? '-' : '+'}${hours}:00`;
}
