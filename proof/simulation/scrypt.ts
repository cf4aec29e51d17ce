import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/**
 * While a stage is open scrypt answers at once and with its least work: on its thread it would end at a moment that no seed
 * chooses, after 50 ms of a core.
 * @returns puts the real one back
 */
export function scryptAtOnce(): () => void {
  const real = crypto.scrypt;
  const least = { N: 2, r: 1, p: 1 };
  const atOnce = (
    secret: crypto.BinaryLike,
    salt: crypto.BinaryLike,
    length: number,
    _options: crypto.ScryptOptions,
    done: (error: Error | null, key: Buffer) => void,
  ): void => done(null, crypto.scryptSync(secret, salt, length, least));
  crypto.scrypt = atOnce as typeof crypto.scrypt;
  syncBuiltinESMExports();
  return () => {
    crypto.scrypt = real;
    syncBuiltinESMExports();
  };
}
