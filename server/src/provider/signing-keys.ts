import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { WebhookDelivery } from './provider.ts';

/** The keys that a provider publishes, with which it signs the raw bodies of its deliveries. */

const keysLiveMs = 3_600_000;
/** A delivery under a key that is not known asks for the keys again, but a flood of forged ones does not. */
const keysAgainMs = 10_000;
const keysMost = 10;

export interface SigningKeys {
  /** Null when one of the published keys signed the body. */
  faultOf(delivery: WebhookDelivery): Promise<string | null>;
}

export interface SigningKeysOptions {
  /** Holds the signature in base64; small letters. */
  header: string;
  algorithm: 'RSA-SHA256' | 'SHA256';
  /** Asks for the keys, as PEM. @throws Error when the provider does not answer with any; its message has no secret */
  read(): Promise<string[]>;
  clock: Clock;
  log: Log;
}

/**
 * Any of the keys is good, since during a change both the old and the new one sign; keys that were read once serve on when they cannot be
 * read again.
 */
export function createSigningKeys({ header, algorithm, read, clock, log }: SigningKeysOptions): SigningKeys {
  let keys: KeyObject[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | null = null;

  async function readKeys(): Promise<void> {
    triedAt = clock.monotonicMs();
    try {
      // Read once: a delivery verified with the text of a key cost 85 µs of CPU, 27 with the key.
      const found = (await read()).slice(0, keysMost).flatMap((pem) => keyOf(pem) ?? []);
      if (found.length === 0) throw new Error('no keys');
      keys = found;
      readAt = clock.monotonicMs();
    } catch (error) {
      log.warn({ err: error }, "the provider's public keys cannot be read");
    }
  }

  const refresh = (): Promise<void> => {
    underWay ??= readKeys().finally(() => {
      underWay = null;
    });
    return underWay;
  };

  return {
    async faultOf({ headers, rawBody }) {
      const signature = headers[header];
      if (typeof signature !== 'string') return `no header ${header}`;
      const bytes = Buffer.from(signature, 'base64');
      const isSigned = () => keys.some((key) => verify(algorithm, rawBody, key, bytes));
      if (clock.monotonicMs() - readAt < keysLiveMs && isSigned()) return null;
      if (clock.monotonicMs() - triedAt >= keysAgainMs || underWay !== null) await refresh();
      return isSigned() ? null : "the signature is not the provider's";
    },
  };
}

/** Null: it is no key. */
function keyOf(pem: string): KeyObject | null {
  try {
    return pem.startsWith('-----BEGIN PUBLIC KEY-----') ? createPublicKey(pem) : null;
  } catch {
    return null;
  }
}
