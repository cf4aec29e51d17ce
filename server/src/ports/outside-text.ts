/**
 * Text from outside: bodies of requests and deliveries, answers, files of settings and credentials. UTF-8, with or without the byte order
 * mark that PowerShell, Notepad and .NET write in front, which JSON.parse and comparisons would take for a character.
 */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .replace(/^\ufeff/, '');

/** Why the bytes of a file are no such text, as a part of a sentence; null: they are. */
export function encodingFault(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  const isUtf16 =
    (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0);
  if (isUtf16) return 'is UTF-16 and not UTF-8, as PowerShell and Notepad may write it: save it as UTF-8';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return null;
  } catch {
    return 'is not UTF-8: save it as UTF-8';
  }
}
