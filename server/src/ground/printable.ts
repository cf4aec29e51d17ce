/**
 * Text that people gave and others read holds no control characters (C0, DEL, C1), as a pattern for JSON Schema: in the one spelling that the
 * regular expressions of every language read (`\p{Cc}` is none that Python's do). It cannot name the halves of a surrogate pair.
 */
export const printable = '^[^\\x00-\\x1f\\x7f-\\x9f]*$';

/** The same with line breaks. */
export const printableLines = '^[^\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]*$';

const expressions = new Map(
  [printable, printableLines].map((pattern) => [pattern, new RegExp(pattern, 'u')]),
);

/** Whether a pattern is one of these, of which `isPrintable` says the whole. */
export const isOfText = (pattern: string | undefined): pattern is string =>
  pattern !== undefined && expressions.has(pattern);

/**
 * Marks that turn the direction of text (Unicode, UAX 9): with them a name reads otherwise than it is stored, and what stands behind it too.
 * Names in Hebrew and Arabic need none. No pattern names them: the escapes for them differ between languages.
 */
const directionMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** For text that comes from others than our callers: a provider's names, files that are read elsewhere. */
export const withoutDirection = (text: string): string => text.replace(directionMarks, '');

/** The rules of text that no pattern can state: no lone surrogates, no marks of direction. */
export const isReadable = (text: string): boolean => text.isWellFormed() && text.search(directionMarks) < 0;

/** No control characters, and what `isReadable` says. */
export const isPrintable = (text: string, pattern: string = printable): boolean =>
  isReadable(text) && expressions.get(pattern)?.test(text) === true;

/** Without what is not seen at its ends: blanks, and signs without a width. */
export function trimmed(text: string): string {
  const first = text.search(visible);
  if (first < 0) return '';
  // By hand from the end: an expression that ends in `+$` needs steps in proportion to the square of the blanks.
  let end = text.length;
  while (!visible.test(text[end - 1] as string)) end -= 1;
  return text.slice(first, end);
}

const visible = /[^\s\u200b-\u200d\u2060\ufeff]/;
