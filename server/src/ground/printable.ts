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

/** No control characters, and no lone surrogates. */
export const isPrintable = (text: string, pattern: string = printable): boolean =>
  text.isWellFormed() && expressions.get(pattern)?.test(text) === true;
