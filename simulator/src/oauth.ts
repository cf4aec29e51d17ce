import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Access tokens that carry their client and their end and are signed, so that they need no table and survive a
 * restart: `base64url(JSON).base64url(HMAC-SHA256)`.
 */
export const tokenLifeSeconds = 3600;

export function issueToken(secret: string, clientId: string, now: number): string {
  const claims = JSON.stringify({ client: clientId, end: now + tokenLifeSeconds * 1000 });
  const payload = Buffer.from(claims).toString('base64url');
  return `${payload}.${signature(secret, payload)}`;
}

/** The client of a token and when it ends (milliseconds), or undefined when it is not ours. */
export function readToken(secret: string, token: string): { client: string; end: number } | undefined {
  const dot = token.indexOf('.');
  if (dot === -1) return undefined;
  const payload = token.slice(0, dot);
  const given = Buffer.from(token.slice(dot + 1));
  const right = Buffer.from(signature(secret, payload));
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
}

function signature(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('base64url');
}

/** Whose secret is the key itself: the installation's own client. */
const firstClient = 'vintem';

/**
 * The clients that an installation may have made: `vintem` with the key as its secret, and any other id whose secret is
 * the hex HMAC-SHA256 of the id under the key. So the installation can make clients while the provider runs, and strangers cannot: their
 * play money would be booked to the installation.
 * @param key hex; null: every non-empty id and secret is a client, for tests against the provider alone
 */
export function clientRule(key: string | null): (client: { id: string; secret: string }) => boolean {
  if (key === null) return () => true;
  return ({ id, secret }) => {
    const right =
      id === firstClient ? key : createHmac('sha256', Buffer.from(key, 'hex')).update(id).digest('hex');
    return secret.length === right.length && timingSafeEqual(sha256(secret), sha256(right));
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Client id and secret of an HTTP Basic header; undefined unless both are there. */
export function readBasic(header: string | undefined): { id: string; secret: string } | undefined {
  const match = /^basic ([a-z0-9+/=_-]+)$/i.exec(header ?? '');
  if (match === null) return undefined;
  const text = Buffer.from(match[1] as string, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1) return undefined;
  return { id: text.slice(0, colon), secret: text.slice(colon + 1) };
}
