/** The kept part of a body: these values, and of every other field that a schema knows its name and kind. */
const shown = new Set(['amountCents', 'requestKey', 'pixKeyType', 'onlyFailed']);

export interface Redacted {
  values: Record<string, string | number | boolean>;
  /** Kinds by name: `string`, `number`, `array` … */
  fields: Record<string, string>;
}

/**
 * Pix keys, names, descriptions, codes and addresses are personal or secret, and so may be the name of a field that no schema
 * knows: it is the client's own text.
 *
 * @param known the fields of the route's schema
 */
export function redact(body: unknown, known: readonly string[]): Redacted | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  const redacted: Redacted = { values: {}, fields: {} };
  for (const name of known) {
    if (!Object.hasOwn(body, name)) continue;
    const value = (body as Record<string, unknown>)[name];
    if (shown.has(name) && isShort(value)) redacted.values[name] = value;
    else redacted.fields[name] = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  }
  return redacted;
}

const isShort = (value: unknown): value is string | number | boolean =>
  typeof value === 'number' ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && /^[A-Za-z0-9-]{1,40}$/.test(value));
