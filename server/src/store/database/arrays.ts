/**
 * Arrays as parameters in PostgreSQL's binary format. As text every element is escaped here and parsed there; a transfer has
 * seventy of them, and a date costs the server ten times what eight bytes do.
 *
 * The type is read from the statement's own cast (`$1::uuid[]`). Format: number of dimensions, whether there are nulls, the
 * element's type, length and lower bound (4 bytes each, big-endian), then each element behind its length, -1 for null.
 */
type Writer = {
  oid: number;
  bytes(value: never): number;
  /** @param length as `bytes` gives it */
  write(into: Buffer, at: number, value: never, length: number): void;
};

const writers: Record<string, Writer> = {
  uuid: { oid: 2950, bytes: () => 16, write: writeUuid },
  bigint: { oid: 20, bytes: () => 8, write: writeInteger },
  integer: { oid: 23, bytes: () => 4, write: writeInt32 },
  smallint: { oid: 21, bytes: () => 2, write: writeInt16 },
  int: { oid: 23, bytes: () => 4, write: writeInt32 },
  float8: { oid: 701, bytes: () => 8, write: (into, at, value: number) => into.writeDoubleBE(value, at) },
  boolean: {
    oid: 16,
    bytes: () => 1,
    write: (into, at, value: boolean) => {
      into[at] = value ? 1 : 0;
    },
  },
  text: { oid: 25, bytes: bytesOfText, write: writeText },
  bytea: {
    oid: 17,
    bytes: (value: Buffer) => value.length,
    write: (into, at, value: Buffer) => value.copy(into, at),
  },
  // A version byte, then text.
  jsonb: {
    oid: 3802,
    bytes: (value: string) => 1 + bytesOfText(value),
    write: (into, at, value: string, length) => {
      into[at] = 1;
      writeText(into, at + 1, value, length - 1);
    },
  },
  timestamptz: { oid: 1184, bytes: () => 8, write: writeInstant },
  // Days since 2000-01-01.
  date: {
    oid: 1082,
    bytes: () => 4,
    write: (into, at, value: string) => writeInt32(into, at, Date.parse(value) / 86_400_000 - 10_957),
  },
};

const cast = /\$(\d+)::([a-z0-9]+)\[\]/g;
const headerBytes = 20;

/** By parameter, from 0: how an array that is given for it is written. Only casts to the types above. */
export function arrayWritersOf(text: string): (Writer | undefined)[] {
  const found: (Writer | undefined)[] = [];
  for (const [, number, type] of text.matchAll(cast)) found[Number(number) - 1] = writers[type as string];
  return found;
}

/**
 * @param values null elements allowed; instants are milliseconds since 1970, or text of ISO 8601
 * @throws Error for an element that is not of the type: nothing is coerced
 */
export function binaryArray({ oid, bytes, write }: Writer, values: readonly unknown[]): Buffer {
  let size = headerBytes + 4 * values.length;
  let nulls = 0;
  for (const value of values) {
    if (value === null || value === undefined) nulls = 1;
    else size += bytes(value as never);
  }
  const array = Buffer.allocUnsafe(values.length === 0 ? 12 : size);
  putWord(array, 0, values.length === 0 ? 0 : 1);
  putWord(array, 4, nulls);
  putWord(array, 8, oid);
  if (values.length === 0) return array;
  putWord(array, 12, values.length);
  putWord(array, 16, 1);
  let at = headerBytes;
  for (const value of values) {
    if (value === null || value === undefined) {
      putWord(array, at, -1);
      at += 4;
      continue;
    }
    const length = bytes(value as never);
    putWord(array, at, length);
    write(array, at + 4, value as never, length);
    at += 4 + length;
  }
  return array;
}

/** The low 32 bits, as `writeInt32BE` writes them, without its checks and without a call: a transfer has seventy values, each with its length. */
function putWord(into: Buffer, at: number, value: number): void {
  into[at] = value >>> 24;
  into[at + 1] = value >>> 16;
  into[at + 2] = value >>> 8;
  into[at + 3] = value;
}

function writeInteger(into: Buffer, at: number, value: number): void {
  if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a safe integer`);
  putWord(into, at, Math.floor(value / 0x1_0000_0000));
  putWord(into, at + 4, value >>> 0);
}

function writeInt32(into: Buffer, at: number, value: number): void {
  if ((value | 0) !== value) throw new Error(`${value} is not an integer of 32 bits`);
  putWord(into, at, value);
}

function writeInt16(into: Buffer, at: number, value: number): void {
  if ((value << 16) >> 16 !== value) throw new Error(`${value} is not an integer of 16 bits`);
  into[at] = value >>> 8;
  into[at + 1] = value;
}

/** A longer text is worth the call into Node. */
const shortText = 64;

function bytesOfText(value: string): number {
  if (value.length > shortText) return Buffer.byteLength(value);
  for (let at = 0; at < value.length; at++) if (value.charCodeAt(at) > 0x7f) return Buffer.byteLength(value);
  return value.length;
}

/** A text whose UTF-8 form is as long as itself is ASCII. */
function writeText(into: Buffer, at: number, value: string, length: number): void {
  if (length !== value.length || length > shortText) into.write(value, at);
  else for (let place = 0; place < length; place++) into[at + place] = value.charCodeAt(place);
}

/** Microseconds since 2000. */
function writeInstant(into: Buffer, at: number, value: number | string): void {
  const ms = typeof value === 'string' ? Date.parse(value) : value;
  writeInteger(into, at, (ms - 946_684_800_000) * 1000);
}

/** The value of a hexadecimal digit by its character, 255 for every other one. */
const digitOf = new Uint8Array(0x1_0000).fill(255);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  digitOf[text.charCodeAt(0)] = digit;
  digitOf[text.toUpperCase().charCodeAt(0)] = digit;
}
/** Where the digits of each byte stand between the hyphens. */
const digitsAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

function writeUuid(into: Buffer, at: number, value: string): void {
  let seen = 0;
  for (let byte = 0; byte < 16; byte++) {
    const place = digitsAt[byte] as number;
    const high = digitOf[value.charCodeAt(place)] as number;
    const low = digitOf[value.charCodeAt(place + 1)] as number;
    seen |= high | low;
    into[at + byte] = (high << 4) | low;
  }
  if (seen > 15 || value.length !== 36 || !hasHyphens(value)) throw new Error('not a UUID');
}

const hyphen = 45;

function hasHyphens(value: string): boolean {
  return (
    value.charCodeAt(8) === hyphen &&
    value.charCodeAt(13) === hyphen &&
    value.charCodeAt(18) === hyphen &&
    value.charCodeAt(23) === hyphen
  );
}
