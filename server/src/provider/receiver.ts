import { getBankByIspb } from '@brazilian-utils/brazilian-utils/get-bank-by-ispb';
import { cnpjText } from '../ground/cnpj.ts';
import { withoutDirection } from '../ground/printable.ts';
import type { Receiver } from './provider.ts';
import { cut } from './wire.ts';

/** The fields in which a provider names a receiver, as they came: each may be anything. */
interface Told {
  name: unknown;
  taxId: unknown;
  /** Its code (ISPB, eight digits) or its name. */
  bank?: unknown;
}

/** @returns null where there is no name */
export function receiverOf({ name, taxId, bank }: Told): Receiver | null {
  const shown = typeof name === 'string' ? cut(withoutDirection(name), 140) : '';
  return shown === '' ? null : { name: shown, taxId: shownTaxId(taxId), bank: bankName(bank) };
}

/**
 * Of a CPF only the middle six digits are kept, as on receipts of Pix; a name and a whole CPF would be more than people need. A CPF that the
 * provider has masked stays as it is: `111.***.***-80` and `***.456.789-**` of one person would together give the whole number.
 */
function shownTaxId(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (value.includes('*')) return cut(value, 18);
  const digits = value.replace(/[.\-/]/g, '');
  if (/^\d{11}$/.test(digits)) return `***.${digits.slice(3, 6)}.${digits.slice(6, 9)}-**`;
  return /^[0-9A-Z]{12}\d\d$/.test(digits) ? cnpjText(digits) : null;
}

/** The library has the Central Bank's list of banks with a clearing code; of any other bank the ISPB code is shown. */
function bankName(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  if (!/^\d{8}$/.test(value)) return cut(value, 140) || null;
  return getBankByIspb(value)?.name ?? `ISPB ${value}`;
}
