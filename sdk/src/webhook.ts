import { VintemError } from './error.ts';
import { hmacSha256, joined } from './sha256.ts';
import type { VintemEvent } from './types.ts';

/** The headers of a request: a `Headers`, or an object as Node and frameworks give it; names in any case. */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

export interface VerifyOptions {
  /** How far the message's time may be from this machine's, in seconds. Default 300. */
  toleranceSeconds?: number | undefined;
}

/** Of a secret's bytes; Standard Webhooks allows 24 to 64. */
const shortestSecret = 24;

/**
 * Checks the signature and the time of a webhook (Standard Webhooks 1.0.0, HMAC-SHA-256) and returns its event. It returns at
 * once; `await` in front of it does no harm.
 *
 * A valid message may arrive more than once: handle each `event.id` once.
 *
 * @param rawBody the body exactly as it arrived, before any JSON parser
 * @param secrets `whsec_…`: one, or during a rotation both
 * @throws VintemError `invalid_signature` for a message that is not to be believed; `invalid_secret` for a secret that cannot be one
 *
 * @example
 * const event = verifyWebhook(rawBody, request.headers, [process.env.WEBHOOK_SECRET]);
 * if (event.type === 'charge.paid') await markPaid(event.data.requestKey, event.id);
 */
export function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly (string | undefined)[] | undefined,
  { toleranceSeconds = 300 }: VerifyOptions = {},
): VintemEvent {
  const keys = (Array.isArray(secrets) ? secrets : [secrets]).map(keyOfSecret);
  if (keys.length === 0) throw new VintemError('invalid_secret', 'at least one secret is needed');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('the webhook-timestamp is missing or not a number');
  const body =
    typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : new Uint8Array(rawBody as ArrayBuffer);
  const expected = keys.map((key) => signatureOf(key, id, timestamp, body));
  // Every pair is compared, so that the time taken does not tell which secret fits.
  const fits = signatures.flatMap((given) => expected.map((own) => isEqual(given, own))).includes(true);
  if (id === '' || !fits)
    throw invalid('no signature fits: another secret, or a body that was changed on its way');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw invalid(`the message is older or newer than ${toleranceSeconds} seconds`);
  return JSON.parse(new TextDecoder().decode(body)) as VintemEvent;
}

/** `v1,` and the base64 of the HMAC over `id.timestamp.body`. */
export function signatureOf(key: Uint8Array, id: string, timestamp: string, body: Uint8Array): string {
  const mac = hmacSha256(key, joined(new TextEncoder().encode(`${id}.${timestamp}.`), body));
  return `v1,${btoa(String.fromCharCode(...mac))}`;
}

/** With an empty secret every caller can sign: it is refused, also when it comes from an unset variable. */
export function keyOfSecret(secret: string | undefined): Uint8Array {
  try {
    const key = Uint8Array.from(atob((secret as string).replace(/^whsec_/, '')), (one) => one.charCodeAt(0));
    if (key.length >= shortestSecret) return key;
  } catch {
    // Not base64, or no text at all.
  }
  throw new VintemError('invalid_secret', 'a secret is whsec_ and the base64 of at least 24 bytes');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (typeof (headers as Headers).get === 'function') return (headers as Headers).get(name) ?? '';
  const found = Object.entries(headers).find(([own]) => own.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : (found?.[0] ?? '');
}

/** Takes as long for every text of the same length. */
function isEqual(given: string, own: string): boolean {
  let different = given.length ^ own.length;
  for (let i = 0; i < own.length; i++) different |= given.charCodeAt(i) ^ own.charCodeAt(i);
  return different === 0;
}

const invalid = (message: string): VintemError => new VintemError('invalid_signature', message);
