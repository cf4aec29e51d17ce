/**
 * Text that people gave and others read holds no control characters (C0, DEL, C1), as a pattern for JSON Schema: in the one spelling that the
 * regular expressions of every language read (`\p{Cc}` is none that Python's do). It cannot name the halves of a surrogate pair.
 */
export const printable = '^[^\\x00-\\x1f\\x7f-\\x9f]*$';

const withoutControls = new RegExp(printable, 'u');

/** No control characters, and no lone surrogates. */
export const isPrintable = (text: string): boolean => text.isWellFormed() && withoutControls.test(text);
