import { getBankByIspb } from '@brazilian-utils/brazilian-utils/get-bank-by-ispb';
import type { Receiver } from './provider.ts';
import { cut } from './wire.ts';

/** What the wire of a provider says of a receiver; each may be anything. */
interface Told {
  name: unknown;
  taxId: unknown;
  /** Its code (ISPB, eight digits) or its name. */
  bank?: unknown;
}

/** Null: it does not name the receiver. */
export function receiverOf({ name, taxId, bank }: Told): Receiver | null {
  const shown = typeof name === 'string' ? cut(name, 140) : '';
  return shown === '' ? null : { name: shown, taxId: shownTaxId(taxId), bank: bankName(bank) };
}

/**
 * Who is paid is known by the name, so no more of a CPF is kept than receipts of Pix show: its middle six digits. What the provider has
 * masked in its own way stays so: 111.***.***-80 and ***.456.789-** of one person would together be the whole.
 */
function shownTaxId(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (value.includes('*')) return cut(value, 18);
  const digits = value.replace(/[.\-/]/g, '');
  if (/^\d{11}$/.test(digits)) return `***.${digits.slice(3, 6)}.${digits.slice(6, 9)}-**`;
  const cnpj = /^([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d\d)$/.exec(digits);
  return cnpj && `${cnpj[1]}.${cnpj[2]}.${cnpj[3]}/${cnpj[4]}-${cnpj[5]}`;
}

/** Banks without a clearing code are not in the library's list, which is the Central Bank's: their code itself is shown. */
function bankName(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  if (!/^\d{8}$/.test(value)) return cut(value, 140) || null;
  return getBankByIspb(value)?.name ?? `ISPB ${value}`;
}
