/**
 * BR Code: the text behind a Pix QR, a list of fields of two digits of id, two digits of length and the value
 * (EMV QR Code, merchant presented, with the Central Bank's rules on top). The dynamic form is that of a charge. The static one can be paid
 * many times and never expires; its identifier alone says to whom a payment of it belongs.
 */

/** Two digits of length: no value is longer than 99 characters. */
const field = (id: string, value: string): string => {
  if (value.length > 99) throw new RangeError(`BR Code field ${id} is ${value.length} characters long`);
  return `${id}${String(value.length).padStart(2, '0')}${value}`;
};

export interface DynamicBrCode {
  /** Where the payer's bank reads the charge, with or without `https://`; at most 77 characters without it. */
  location: string;
  /** Reais as text, `12.34`; the payload behind the location wins over it. */
  amount?: string;
  /** ASCII, at most 25 characters. */
  merchantName: string;
  /** ASCII, at most 15 characters. */
  merchantCity: string;
}

/**
 * The copy-and-paste code of a charge of which the provider gave only the location.
 * @throws RangeError when a part does not fit.
 */
export function buildBrCode(code: DynamicBrCode): string {
  const location = code.location.replace(/^https?:\/\//, '');
  if (location.length > 77) throw new RangeError(`the location is ${location.length} characters long`);
  const text =
    field('00', '01') +
    field('01', '12') +
    field('26', field('00', 'br.gov.bcb.pix') + field('25', location)) +
    field('52', '0000') +
    field('53', '986') +
    (code.amount === undefined ? '' : field('54', code.amount)) +
    field('58', 'BR') +
    field('59', code.merchantName.slice(0, 25)) +
    field('60', code.merchantCity.slice(0, 15)) +
    field('62', field('05', '***')) +
    '6304';
  return text + crc16(text);
}

export interface StaticBrCode {
  /** At most 77 characters. */
  pixKey: string;
  /** 1 to 25 letters or digits: field 62-05, the `txid` of every Pix of the code. */
  identifier: string;
  /** Reais as text, `12.34`; absent: the payer types it. */
  amount?: string;
  /** Any text: 25 characters of ASCII are left of it. */
  merchantName: string;
  /** Any text: 15 characters of ASCII are left of it. */
  merchantCity: string;
  /** For the payer; left out where the template of 99 characters has no room for it. */
  description?: string;
}

/**
 * The copy-and-paste text of a static code.
 * @throws RangeError when key or identifier do not fit.
 */
export function buildStaticBrCode(code: StaticBrCode): string {
  const { pixKey, identifier, amount } = code;
  if (pixKey.length === 0 || pixKey.length > 77) throw new RangeError('the Pix key does not fit');
  if (!/^[A-Za-z0-9]{1,25}$/.test(identifier)) throw new RangeError('the identifier does not fit');
  const account = field('00', 'br.gov.bcb.pix') + field('01', pixKey);
  const description = asciiOf(code.description ?? '', 72);
  const isShown = description !== '' && account.length + 4 + description.length <= 99;
  // Both must not be empty; the payer's bank shows the owner of the key.
  const name = asciiOf(code.merchantName, 25) || 'RECEBEDOR';
  const city = asciiOf(code.merchantCity, 15) || 'BRASIL';
  const text =
    field('00', '01') +
    field('26', account + (isShown ? field('02', description) : '')) +
    field('52', '0000') +
    field('53', '986') +
    (amount === undefined ? '' : field('54', amount)) +
    field('58', 'BR') +
    field('59', name) +
    field('60', city) +
    field('62', field('05', identifier)) +
    '6304';
  return text + crc16(text);
}

/** Upper-case ASCII without accents: lengths of a code count bytes, and banks refuse other signs. Signs without a letter below are left out. */
function asciiOf(text: string, most: number): string {
  const plain = text
    .normalize('NFD')
    .toUpperCase()
    .replace(/[^\x20-\x7e]/g, '');
  return plain.trim().slice(0, most).trim();
}

/** The identifier of a static code of ours: S and 120 bits in base32 (RFC 4648). */
export const isStaticIdentifier = (text: string): boolean => /^S[A-Z2-7]{24}$/.test(text);

/** The identifier that a `txid` names, in the form in which we keep it: banks change letters to upper case. Null: it is none of ours. */
export function staticIdentifierOf(txid: string | null): string | null {
  const identifier = txid?.toUpperCase() ?? '';
  return isStaticIdentifier(identifier) ? identifier : null;
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** @param bytes 15 random bytes */
export function newStaticIdentifier(bytes: Uint8Array): string {
  if (bytes.length !== 15) throw new RangeError('an identifier has 120 bits');
  let text = 'S';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += base32[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return text;
}

export interface ParsedBrCode {
  /** Set in a static code. */
  pixKey: string | null;
  /** Set in a dynamic code, without `https://`. */
  location: string | null;
  amount: string | null;
  merchantName: string;
  merchantCity: string;
  /** Field 62-05. In dynamic codes `***` or a shortened txid: never match a payment by it. */
  txid: string | null;
}

/** Null for what is no Pix code: a broken field, a wrong checksum, another GUI. */
export function parseBrCode(text: string): ParsedBrCode | null {
  const crc = text.length - 4;
  if (text.slice(crc - 4, crc) !== '6304' || crc16(text.slice(0, crc)) !== text.slice(crc).toUpperCase())
    return null;
  const fields = readFields(text);
  if (fields === null || fields.get('00') !== '01') return null;
  // The Pix account may stand in any of the merchant account templates, beside those of other schemes.
  for (let id = 26; id <= 51; id++) {
    const account = readFields(fields.get(String(id)) ?? '');
    if (account?.get('00')?.toLowerCase() !== 'br.gov.bcb.pix') continue;
    return {
      pixKey: account.get('01') ?? null,
      location: account.get('25') ?? null,
      amount: fields.get('54') ?? null,
      merchantName: fields.get('59') ?? '',
      merchantCity: fields.get('60') ?? '',
      txid: readFields(fields.get('62') ?? '')?.get('05') ?? null,
    };
  }
  return null;
}

function readFields(text: string): Map<string, string> | null {
  const fields = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const head = text.slice(at, at + 4);
    if (!/^\d{4}$/.test(head)) return null;
    const end = at + 4 + Number(head.slice(2));
    if (end > text.length || fields.has(head.slice(0, 2))) return null;
    fields.set(head.slice(0, 2), text.slice(at + 4, end));
    at = end;
  }
  return fields;
}

/** CRC16-CCITT-FALSE over the UTF-8 bytes, four upper-case hexadecimal digits. `123456789` gives `29B1`. */
export function crc16(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}
