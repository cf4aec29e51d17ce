import { timingSafeEqual } from 'node:crypto';
import { refuse } from '../../ground/errors.ts';
import { hmacSha256 } from '../../ground/hmac.ts';

/**
 * The meaning of a repeated request is decided here, once, for every kind of resource.
 *
 * A payment's id is a function of its account and request key under a secret of the installation that never changes.
 * So one request key can reach the provider under one id only, whatever was lost in between (a restore, a failover that
 * lost commits), the payments' primary key is the uniqueness of the request key, and an id that arrives from outside
 * leads to its account without a search. Rejected: random ids beside a table of request keys, which forgets with its
 * backup what was already sent, and costs a second random index.
 */

/**
 * A UUIDv8 (RFC 9562, 5.8): the account's 32-bit number, then 86 bits of an HMAC-SHA-256 of account and request key.
 *
 * @param identity the installation's identity secret
 */
export function paymentIdFor(
  identity: Buffer,
  account: { id: string; number: number },
  requestKey: string,
): string {
  const digest = macOf(identity)(`payment\0${account.id}\0${requestKey}`);
  digest.writeUInt32BE(account.number, 0);
  return uuidOf(digest);
}

/** A UUIDv8 of its first 16 bytes, in which version and variant are set. */
export function uuidOf(digest: Buffer): string {
  digest[6] = ((digest[6] as number) & 0x0f) | 0x80;
  digest[8] = ((digest[8] as number) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A request key that no caller can know beforehand: of what a Pix makes, and no request. A UUIDv8 of 122 bits of the HMAC. */
export function requestKeyFor(identity: Buffer, accountId: string, of: string): string {
  const digest = macOf(identity)(`request key\0${accountId}\0${of}`);
  return uuidOf(digest);
}

/**
 * The id of a payment link or a static code, which people send and print: of account and request key as a payment's, so that a repeat after a restore that lost
 * it makes the same one again. A UUIDv8 of 122 bits of the HMAC.
 */
export const sharedIdFor = (
  identity: Buffer,
  accountId: string,
  resource: 'static_code' | 'payment_link',
  requestKey: string,
): string => uuidOf(macOf(identity)(`${resource}\0${accountId}\0${requestKey}`));

/** 120 bits for what is printed in a static code, of the same. */
export const printedBitsFor = (identity: Buffer, accountId: string, requestKey: string): Buffer =>
  macOf(identity)(`static identifier\0${accountId}\0${requestKey}`).subarray(0, 15);

/** The number of the account that a payment id belongs to, if it is one of ours at all. */
export const accountNumberOf = (paymentId: string): number => Number.parseInt(paymentId.slice(0, 8), 16);

/**
 * The content of a request, as 33 bytes: a version byte and an HMAC-SHA-256 over its normalised fields, so that a short
 * Pix key or a name cannot be guessed from a copy of the database.
 *
 * @param fields every field after normalisation, with the endpoint and the resolved operation, without the request key
 */
export function fingerprintOf(
  identity: Buffer,
  fields: Readonly<Record<string, string | number | boolean | null>>,
): Buffer {
  const canonical = JSON.stringify(
    Object.keys(fields)
      .sort()
      .map((name) => [name, fields[name]]),
  );
  const digest = macOf(identity)(`fingerprint\0${canonical}`);
  return Buffer.concat([Buffer.of(1), digest]);
}

/** Whether a repeat asks for the same thing as the request that took the key. */
export const sameRequest = (taken: Buffer, repeated: Buffer): boolean =>
  taken.length === repeated.length && timingSafeEqual(taken, repeated);

/** The use of a request key. */
export interface KeyUse {
  resource: 'payment' | 'operation' | 'webhook' | 'refund' | 'static_code' | 'payment_link';
  resourceId: string;
  fingerprint: Buffer;
}

/**
 * The resource that an earlier request with this key has made; undefined: the key is free.
 *
 * @throws ApiError `idempotency_conflict` when it was used for something else
 */
export function madeEarlier(
  use: KeyUse | undefined,
  resource: KeyUse['resource'],
  fingerprint: Buffer,
): string | undefined {
  if (use === undefined) return undefined;
  if (use.resource === resource && sameRequest(use.fingerprint, fingerprint)) return use.resourceId;
  throw refuse('idempotency_conflict', use.resource === 'payment' ? { paymentId: use.resourceId } : {});
}

const macs = new WeakMap<Buffer, ReturnType<typeof hmacSha256>>();

function macOf(identity: Buffer): ReturnType<typeof hmacSha256> {
  let mac = macs.get(identity);
  if (!mac) {
    mac = hmacSha256(identity);
    macs.set(identity, mac);
  }
  return mac;
}
