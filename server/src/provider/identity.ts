import { createHash } from 'node:crypto';

/**
 * Which account of the company at which provider is behind the credentials of a connection, as a digest. An id of ours is unique within one account
 * at a provider and means nothing at another one: so what was sent goes out again only to the same identity.
 *
 * @param baseUrl its production and its sandbox are two providers. The simulator of the installation is one wherever it listens: null
 * @param account as the provider names it: what it says of itself, else the Pix key under which it receives, which the payment
 *   system knows once. Payers see it, so a digest without a secret hides enough
 */
export function identityOf(baseUrl: string | null, account: readonly string[]): string {
  const place = baseUrl === null ? 'simulator' : new URL(baseUrl).origin;
  return createHash('sha256')
    .update(JSON.stringify([place, ...account]))
    .digest('base64url')
    .slice(0, 22);
}

/** Of what may have been sent in a lost time over a connection whose account was not kept then: no account has it, so nothing is sent again, and a person decides. */
export const unknownIdentity = 'unknown';
