/** How times and texts look on the wire of an API Pix provider. */

/** RFC 3339 with an offset, in milliseconds since 1970; null for anything else, a local time without offset included. */
export function timeOf(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : at;
}

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
