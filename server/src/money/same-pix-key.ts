import type { PixKeyType } from '../provider/provider.ts';

/**
 * Whether two texts are one key. Providers write keys their own way: a phone without its country (Asaas), a document with points, another case. A phone that
 * names no country is of Brazil; behind a + its country stands already, or a number of Denmark would be one of Paraná.
 */
export const isSamePixKey = (type: PixKeyType, one: string, other: string): boolean =>
  comparable(type, one) === comparable(type, other);

function comparable(type: PixKeyType, key: string): string {
  const text = key.trim();
  if (type === 'EMAIL') return text.toLowerCase();
  if (type !== 'PHONE') return text.replace(/[^0-9A-Za-z]/g, '').toLowerCase();
  const digits = text.replace(/\D/g, '');
  return !text.startsWith('+') && /^\d{10,11}$/.test(digits) ? `55${digits}` : digits;
}
