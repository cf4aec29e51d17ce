import { Type } from 'typebox';
import { printable } from '../ground/printable.ts';

/** Pairs that a merchant gives a payment of his: kept and shown, and never read by the service. */
export type Metadata = Readonly<Record<string, string>>;

/**
 * Begins with a letter: `__proto__` is no name, and neither is a number, which JavaScript would put in front of the others. No colon,
 * which stands between name and value in the filter of the list. Dot and underscore are in the one spelling that the regular expressions
 * of every language read.
 */
const name = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9\\x2e\\x5f-]*$', maxLength: 40 } as const;

const pairs = {
  type: 'object',
  maxProperties: 20,
  propertyNames: name,
  additionalProperties: { type: 'string', minLength: 1, maxLength: 200, pattern: printable },
} as const;

const example = { orderId: '1042', store: 'centro' };

/** Of a request. */
export const MetadataBody = Type.Unsafe<Metadata>({
  ...pairs,
  description:
    'Up to 20 pairs of your own, kept with the payment. Names: a letter, then letters, digits, `_`, `.` or `-`, at most 40 characters',
  examples: [example],
});

/** Of an answer. */
export const MetadataShown = Type.Unsafe<Metadata>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'As the request that created it gave them; absent when there are none',
  examples: [example],
});

/** In the order of their names, so that a repeat may give them in another; null: none. */
export function metadataOf(given: Metadata | undefined): Metadata | null {
  const sorted = Object.entries(given ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.length === 0 ? null : Object.fromEntries(sorted);
}

/**
 * The part of a repeat that must be equal besides the other fields. Without pairs there is no such field: so the fingerprints of requests
 * from before pairs existed stay what they were.
 */
export const askedMetadata = (metadata: Metadata | null): { metadata?: string } =>
  metadata === null ? {} : { metadata: JSON.stringify(Object.entries(metadata)) };

/** The filter of a list: `name:value`, the value whole. Null: it is no pair. */
export function pairOf(text: string): { name: string; value: string } | null {
  const colon = text.indexOf(':');
  const [of, value] = [text.slice(0, colon), text.slice(colon + 1)];
  if (colon < 0 || value === '') return null;
  return new RegExp(name.pattern, 'u').test(of) ? { name: of, value } : null;
}
