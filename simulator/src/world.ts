import { randomFillSync } from 'node:crypto';

/**
 * The time and the chance of this provider, in one place: everything in bank.ts and outbox.ts is a function of
 * its state and of what comes from here, so that a seeded simulation can drive them by handing in another world.
 */
export type World = {
  /** Milliseconds since 1970. */
  now(): number;
  /** So many characters of [0-9a-z], drawn by chance. */
  letters(count: number): string;
};

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** The clock of the machine, and its random bytes drawn 4 KiB at a time (one call an id costs ten times as much). */
export function realWorld(): World {
  const pool = Buffer.allocUnsafe(4096);
  let used = pool.length;
  return {
    now: () => Date.now(),
    letters(count) {
      let text = '';
      while (text.length < count) {
        if (used === pool.length) {
          randomFillSync(pool);
          used = 0;
        }
        const byte = pool[used++] as number;
        // 252 is the largest multiple of 36 in a byte: what lies above would make the first letters likelier.
        if (byte < 252) text += alphabet[byte % 36];
      }
      return text;
    },
  };
}
