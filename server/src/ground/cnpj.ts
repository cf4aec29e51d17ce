import { isValidCnpj } from '@brazilian-utils/brazilian-utils/is-valid-cnpj';

/**
 * The 14 characters of a CNPJ as people write it, in capitals; null: it is none. Since July 2026 its first twelve places may hold letters
 * (Receita Federal, IN RFB 2.229/2024): their value for the check digits is the ASCII code less 48.
 */
export function cnpjOf(text: string): string | null {
  const bare = text.replace(/[.\-/\s]/g, '').toUpperCase();
  return /^[0-9A-Z]{12}[0-9]{2}$/.test(bare) && isValidCnpj(bare, { version: 2 }) ? bare : null;
}

/** `12.ABC.345/01DE-35` */
export const cnpjText = (cnpj: string): string =>
  cnpj.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5');
