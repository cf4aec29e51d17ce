import type { Secrets } from '../../ground/secrets.ts';
import { maskedPixKey } from '../../kinds/transfer/pix-key.ts';
import type { Payment } from '../../money/payment.ts';
import type { Receiver } from '../../provider/provider.ts';
import { may, type Role } from '../people/roles.ts';

/**
 * A key names a person (CPF, phone, e-mail): those who move the account's money see it whole, developers and viewers enough of it to
 * know it again.
 */
export const seesWholeKeys = (role: Role): boolean => may(role, 'transfers');

/** A payment's receiver as a role may see it; null: a charge, or a key whose secret is lost. */
export type ReceiverOf = (payment: Pick<Payment, 'id' | 'pixKey'>) => string | null;

export const receiversFor =
  (secrets: Pick<Secrets, 'open'>, role: Role): ReceiverOf =>
  (payment) => {
    return maskedFor(role, openedKey(secrets, payment));
  };

export const maskedFor = (role: Role, key: string | null): string | null =>
  key === null || seesWholeKeys(role) ? key : maskedPixKey(key);

/** A Pix key in the form that people know: 529.982.247-25, (11) 99999-8888. */
export function pixKeyText(type: string | null, key: string): string {
  if (type === 'CPF') return key.replace(/^(\d{3})(\d{3})(\d{3})(\d{2})$/, '$1.$2.$3-$4');
  if (type === 'CNPJ')
    return key.replace(/^([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d{2})$/, '$1.$2.$3/$4-$5');
  if (type === 'PHONE') return key.replace(/^\+55(\d{2})(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3');
  return key;
}

/** The receiver of a transfer in one line: the name, where the provider gave it, and the key. Null: neither is known. */
export const receiverText = (
  receiver: Receiver | null,
  type: string | null,
  key: string | null,
): string | null =>
  [receiver?.name, key === null ? null : pixKeyText(type, key)].filter(Boolean).join(' · ') || null;

/** One key that cannot be opened must not hide a whole list; the page of its payment reports it. */
export function openedKey(
  secrets: Pick<Secrets, 'open'>,
  { id, pixKey }: Pick<Payment, 'id' | 'pixKey'>,
): string | null {
  if (pixKey === null) return null;
  try {
    return secrets.open(pixKey, id).toString();
  } catch {
    return null;
  }
}

/**
 * The forms in which a typed key may be stored: `529.982.247-25`, `(11) 99999-8888`, an e-mail, a random key. Empty: not
 * a whole key. Eleven digits may be a CPF or a mobile number.
 */
export function keysTyped(text: string): string[] {
  const typed = text.trim().toLowerCase();
  if (/^[^\s@]+@[^\s@]+$/.test(typed)) return [typed];
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(typed)) return [typed];
  const digits = typed.replace(/[\s().\-/]/g, '');
  if (/^\+\d{8,15}$/.test(digits)) return [digits];
  if (/^\d{10,11}$/.test(digits)) return [digits, `+55${digits}`];
  if (/^\d{12,14}$/.test(digits)) return [digits, `+${digits}`];
  return [];
}
