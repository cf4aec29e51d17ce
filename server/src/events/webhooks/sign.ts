import { createHmac } from 'node:crypto';
import type { Ids } from '../../ports/ids.ts';

/**
 * Standard Webhooks 1.0.0, symmetric: `v1,` and the base64 of an HMAC-SHA-256 over `id.timestamp.body`, where the key is what
 * the base64 behind `whsec_` decodes to.
 */
export const secretPrefix = 'whsec_';

/** 32 bytes, as they are shown. */
export const makeSecret = (ids: Ids): string => secretPrefix + ids.bytes(32).toString('base64');

/** The part of a secret that is shown later on. */
export const hintOf = (secret: string): string =>
  `${secretPrefix}…${secret.replace(/={1,2}$/, '').slice(-4)}`;

/**
 * The three headers of a message.
 * @param keys of every secret in force, the newest first: each of them signs
 * @param atSeconds of this attempt, since 1970
 */
export function signatureHeaders(
  keys: readonly Buffer[],
  id: string,
  atSeconds: number,
  body: string,
): Record<string, string> {
  const signed = keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${atSeconds}.${body}`).digest('base64');
    return `v1,${hmac}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(atSeconds),
    'webhook-signature': signed.join(' '),
  };
}

export const keyOfSecret = (secret: string): Buffer =>
  Buffer.from(secret.slice(secretPrefix.length), 'base64');
