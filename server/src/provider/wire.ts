import { programVersion } from '../ground/program.ts';

/** How times and texts look on the wire of an API Pix provider, and who we say that we are. */

/**
 * On every call. Before providers stand firewalls that refuse a call without an agent first, with a page in HTML that proves nothing of a payment. A report
 * is no JSON, so nothing else is ruled out.
 */
export const callerHeaders = {
  'user-agent': `vintem/${programVersion}`,
  accept: 'application/json, */*;q=0.5',
} as const;

const time = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d):(\d\d)(\.\d{1,12})?(Z|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * A time on the wire, in milliseconds since 1970; null for what is none. Beside RFC 3339 it reads what providers have written: an offset
 * `-0300` or `-03`, and none at all, which is São Paulo's time (bacen/pix-api issue 163; Inter's samples), three hours behind UTC without
 * summer time since 2019. A leap second is the moment after it.
 */
export function timeOf(value: unknown): number | null {
  const [, day, minutes, seconds, fraction = '', offset = '-03:00'] =
    typeof value === 'string' ? (time.exec(value) ?? []) : [];
  if (day === undefined || Number.isNaN(Date.parse(day)) || dayOf(day) !== day) return null;
  const isLeap = seconds === '60';
  const zone =
    offset.toUpperCase() === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '') || '00'}`;
  const at = Date.parse(`${day}T${minutes}:${isLeap ? '59' : seconds}${isLeap ? '' : fraction}${zone}`);
  if (Number.isNaN(at)) return null;
  return isLeap ? at + 1000 : at;
}

/** The day as it is counted: `Date.parse` reads the 30th of February as a day in March. */
const dayOf = (day: string): string => new Date(Date.parse(day)).toISOString().slice(0, 10);

/** A text in at most `max` UTF-16 units (what a Java server counts), without control characters or half a character. */
export function cut(text: string, max: number): string {
  const clean = text
    .normalize('NFC')
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  if (clean.length <= max) return clean;
  const head = clean.slice(0, max);
  return head.isWellFormed() ? head : head.slice(0, -1);
}

/**
 * The same in printable ASCII, as bank statements show it: accents are taken off, what has no likeness becomes `?`.
 * Banks strip or refuse the rest; what the caller wrote is kept and shown on our side.
 */
export function plain(text: string, max: number): string {
  const ascii = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2015]/g, '-')
    .replace(/[^\x20-\x7e\p{Cc}]/gu, '?');
  return cut(ascii, max);
}
