import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/**
 * The only source of randomness. Every id is made before the row that carries it is written, so that a lost
 * COMMIT answer can be looked up.
 */
export interface Ids {
  /** A UUIDv7 (RFC 9562), lower case: ordered by the time it was made. */
  uuid(): string;
  /** `length` bytes from a cryptographic generator. */
  bytes(length: number): Buffer;
}

/** The ids of one command: its own, and those of the rows that it makes. */
export interface CommandIds {
  token: string;
  uuid(): string;
}

/**
 * The ids of the rows that one command makes. They differ from its token in the last byte only, so a decision needs no
 * generator, and the till gets the same ids when it runs the decision again. In the order of their use; at most 255.
 * @param token the command's own id
 */
export function idsOf(token: string): CommandIds {
  const prefix = token.slice(0, -2);
  let made = 0;
  return {
    token,
    uuid: () => {
      if (++made > 0xff) throw new Error('a command makes at most 255 ids');
      return prefix + made.toString(16).padStart(2, '0');
    },
  };
}

/** Random bytes fetched at once: a call for eight costs as much as one for two thousand. */
const poolBytes = 2048;

/** The system's generator. Ids of one millisecond keep their order by a counter (RFC 9562, 6.2, method 1). */
export function systemIds(clock: Clock): Ids {
  let lastMs = 0;
  let counter = 0;
  let pool = Buffer.alloc(0);
  const take = (length: number): Buffer => {
    if (pool.length < length) pool = randomBytes(poolBytes);
    const bytes = pool.subarray(0, length);
    pool = pool.subarray(length);
    return bytes;
  };
  return {
    uuid: () => {
      const now = clock.now();
      if (now > lastMs) {
        lastMs = now;
        counter = take(2).readUInt16BE() & 0x7ff;
      } else if (++counter > 0xfff) {
        lastMs += 1;
        counter = 0;
      }
      return formatUuid(lastMs, counter, take(8));
    },
    // Nonces and the like; what is kept as a secret has its own memory.
    bytes: (length) => (length <= 16 ? take(length) : randomBytes(length)),
  };
}

function formatUuid(ms: number, counter: number, tail: Buffer): string {
  const hex = ms.toString(16).padStart(12, '0');
  tail[0] = ((tail[0] as number) & 0x3f) | 0x80;
  const rest = tail.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}

/** The lowest id that a row of `ms` or later can have: a UUIDv7 begins with 48 bits of milliseconds since 1970. */
export const lowestIdAt = (ms: number): string => {
  const hex = Math.max(0, Math.min(ms, 0xffff_ffff_ffff)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
};
