import { toReais } from './money.ts';

/**
 * The dynamic BR Code of a charge (EMV merchant-presented mode: two digits of id, two of length, the value).
 *
 * @param location the charge's location without `https://`, at most 77 characters
 * @param amount reais with two decimals, such as `12.34`
 */
export function brCode(location: string, amount: string): string {
  const body =
    field('00', '01') +
    // "12": to be used once. What the payer's bank shows stands behind the location, not in the code.
    field('01', '12') +
    field('26', field('00', 'br.gov.bcb.pix') + field('25', location)) +
    field('52', '0000') +
    field('53', '986') +
    field('54', amount) +
    field('58', 'BR') +
    // Name and city without accents: the length counts bytes in practice, and many bank apps refuse them.
    field('59', 'VINTEM SIMULADOR') +
    field('60', 'BRASILIA') +
    field('62', field('05', '***')) +
    '6304';
  return body + crc16(body);
}

/** A static BR Code: it names the Pix key itself, and the identifier that its payments carry. */
export function staticBrCode(key: string, identifier: string, amountCents: number | undefined): string {
  const body =
    field('00', '01') +
    field('26', field('00', 'br.gov.bcb.pix') + field('01', key)) +
    field('52', '0000') +
    field('53', '986') +
    (amountCents === undefined ? '' : field('54', toReais(amountCents))) +
    field('58', 'BR') +
    field('59', 'VINTEM SIMULADOR') +
    field('60', 'BRASILIA') +
    field('62', field('05', identifier)) +
    '6304';
  return body + crc16(body);
}

function field(id: string, value: string): string {
  return id + String(value.length).padStart(2, '0') + value;
}

/** CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF, nothing reflected) as four upper-case hex digits. */
export function crc16(text: string): string {
  let crc = 0xffff;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}
