import { isValidCnpj } from '@brazilian-utils/brazilian-utils/is-valid-cnpj';
import { isValidCpf } from '@brazilian-utils/brazilian-utils/is-valid-cpf';
import { cnpjOf } from '../../ground/cnpj.ts';
import type { PixKeyType } from '../../provider/provider.ts';

export type NormalisedPixKey =
  | { ok: true; key: string }
  /** `invalid_length`: not 3 to 150 code points; `invalid_pix_key`: not the format of its type. */
  | { ok: false; code: 'invalid_length' | 'invalid_pix_key' };

/** Their names in Portuguese mails and files; texts in English have the codes of the API. */
export const pixKeyTypeNames: Readonly<Record<PixKeyType, string>> = {
  CPF: 'CPF',
  CNPJ: 'CNPJ',
  EMAIL: 'E-mail',
  PHONE: 'Celular',
  RANDOM: 'Aleatória',
};

/** `CNPJ_LETTERS`: the interface knows digits alone, and since July 2026 there are companies whose CNPJ has letters. */
export interface PixKeyRules {
  cnpjLetters: boolean;
}

/**
 * The format that the interface states for each type, and no more: of a phone, which it says begins with +, what follows is digits.
 * `existsInDict` decides what can be a real key.
 */
const formats: Record<PixKeyType, RegExp> = {
  EMAIL: /^[^@]*@[^@]*$/,
  CPF: /^\d+$/,
  CNPJ: /^\d+$/,
  PHONE: /^\+\d+$/,
  RANDOM: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
};

/**
 * The form of a key in which it is compared, stored and sent: NFC, without outer white space, e-mail and random keys
 * in lower case, the letters of a CNPJ in capitals. Control characters and lone surrogates are refused, and a CNPJ with letters whose
 * check digits are wrong.
 */
export function normalisePixKey(
  type: PixKeyType,
  text: string,
  { cnpjLetters }: PixKeyRules,
): NormalisedPixKey {
  const trimmed = text.normalize('NFC').trim();
  const lettered = cnpjLetters && type === 'CNPJ' && /^[0-9a-z]+$/i.test(trimmed) ? cnpjOf(trimmed) : null;
  if (lettered !== null) return { ok: true, key: lettered };
  const key = type === 'EMAIL' || type === 'RANDOM' ? trimmed.toLowerCase() : trimmed;
  const length = [...key].length;
  if (length < 3 || length > 150) return { ok: false, code: 'invalid_length' };
  if (!key.isWellFormed() || /\p{Cc}/u.test(key) || !formats[type].test(key)) {
    return { ok: false, code: 'invalid_pix_key' };
  }
  return { ok: true, key };
}

/** API Pix and DICT: the local part has no `%`, the domain is made of DNS labels. */
function isDictEmail(key: string): boolean {
  const at = key.indexOf('@');
  const labels = key.slice(at + 1).split('.');
  return (
    /^[a-z0-9.!#$&'*+/=?^_`{|}~-]+$/.test(key.slice(0, Math.max(at, 0))) &&
    labels.every((label) => label.length <= 63 && /^[a-z0-9-]+$/.test(label) && !/^-|-$/.test(label))
  );
}

/**
 * The form of a phone key in the Central Bank's DICT API: ITU-T E.164, at most 15 digits. No area of North America begins with 0 or 1,
 * so `+11987654321` is a number of São Paulo without its 55.
 */
const e164 = /^\+(?!1[01])[1-9]\d{1,14}$/;

/**
 * False for a normalised key that the central directory cannot hold: an e-mail above 77 characters or of another
 * shape, a CPF or CNPJ of another length or with wrong check digits, a phone number that is not E.164. Each query for
 * such a key costs the installation 20 of its 1,000 directory tokens, refilled at 2 a minute, and an empty bucket stops
 * the payouts of all merchants. So such a transfer is refused before the provider is called. True proves nothing.
 */
export function existsInDict(type: PixKeyType, key: string): boolean {
  switch (type) {
    case 'EMAIL':
      return key.length <= 77 && isDictEmail(key);
    case 'CPF':
      return isValidCpf(key);
    case 'CNPJ':
      return key.length === 14 && isValidCnpj(key, { version: 2 });
    case 'PHONE':
      return e164.test(key);
    case 'RANDOM':
      return true;
  }
}

/** Enough of a key for its owner to know it again: `ma***@example.com`, `***8909`. */
export function maskedPixKey(key: string): string {
  const at = key.indexOf('@');
  return at > 0 ? `${key.slice(0, Math.min(2, at - 1))}***${key.slice(at)}` : `***${key.slice(-4)}`;
}
