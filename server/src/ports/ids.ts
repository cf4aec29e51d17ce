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

/** The system's generator. Ids of one millisecond keep their order by a counter (RFC 9562, 6.2, method 1). */
export function systemIds(clock: Clock): Ids {
  let lastMs = 0;
  let counter = 0;
  return {
    uuid: () => {
      const now = clock.now();
      if (now > lastMs) {
        lastMs = now;
        counter = randomBytes(2).readUInt16BE() & 0x7ff;
      } else if (++counter > 0xfff) {
        lastMs += 1;
        counter = 0;
      }
      return formatUuid(lastMs, counter, randomBytes(8));
    },
    bytes: (length) => randomBytes(length),
  };
}

function formatUuid(ms: number, counter: number, tail: Buffer): string {
  const hex = ms.toString(16).padStart(12, '0');
  tail[0] = ((tail[0] as number) & 0x3f) | 0x80;
  const rest = tail.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}
