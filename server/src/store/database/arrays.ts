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
  write(into: Buffer, at: number, value: never): void;
};

const writers: Record<string, Writer> = {
  uuid: { oid: 2950, bytes: () => 16, write: writeUuid },
  bigint: { oid: 20, bytes: () => 8, write: writeInteger },
  integer: { oid: 23, bytes: () => 4, write: (into, at, value: number) => into.writeInt32BE(value, at) },
  smallint: { oid: 21, bytes: () => 2, write: (into, at, value: number) => into.writeInt16BE(value, at) },
  int: { oid: 23, bytes: () => 4, write: (into, at, value: number) => into.writeInt32BE(value, at) },
  float8: { oid: 701, bytes: () => 8, write: (into, at, value: number) => into.writeDoubleBE(value, at) },
  boolean: {
    oid: 16,
    bytes: () => 1,
    write: (into, at, value: boolean) => into.writeUInt8(value ? 1 : 0, at),
  },
  text: {
    oid: 25,
    bytes: (value: string) => Buffer.byteLength(value),
    write: (into, at, value: string) => into.write(value, at),
  },
  bytea: {
    oid: 17,
    bytes: (value: Buffer) => value.length,
    write: (into, at, value: Buffer) => value.copy(into, at),
  },
  // A version byte, then text.
  jsonb: {
    oid: 3802,
    bytes: (value: string) => 1 + Buffer.byteLength(value),
    write: (into, at, value: string) => into.write(value, into.writeUInt8(1, at)),
  },
  timestamptz: { oid: 1184, bytes: () => 8, write: writeInstant },
  // Days since 2000-01-01.
  date: {
    oid: 1082,
    bytes: () => 4,
    write: (into, at, value: string) => into.writeInt32BE(Date.parse(value) / 86_400_000 - 10_957, at),
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
  array.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  array.writeInt32BE(nulls, 4);
  array.writeInt32BE(oid, 8);
  if (values.length === 0) return array;
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16);
  let at = headerBytes;
  for (const value of values) {
    if (value === null || value === undefined) {
      at = array.writeInt32BE(-1, at);
      continue;
    }
    const length = bytes(value as never);
    at = array.writeInt32BE(length, at);
    write(array, at, value as never);
    at += length;
  }
  return array;
}

function writeInteger(into: Buffer, at: number, value: number): void {
  if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a safe integer`);
  into.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
  into.writeUInt32BE(value >>> 0, at + 4);
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
