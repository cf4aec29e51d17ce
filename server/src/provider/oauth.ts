import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate, Net } from '../ports/net.ts';

export interface TokenOptions {
  /** The whole address of the token call. */
  url: string;
  clientId: string;
  clientSecret: string;
  certificate?: ClientCertificate;
  /** For one token call, in milliseconds. */
  timeoutMs: number;
  /** Called with the scopes of every new token, where the answer names them. */
  onScopes?: (granted: readonly string[]) => void;
  net: Net;
  clock: Clock;
}

export interface Tokens {
  /** @throws Error when there is no token that is still valid and none can be had; its message holds no secret. */
  get(): Promise<string>;
  /** A token that the provider refused is not used again. */
  drop(token: string): void;
}

/** Used when the answer does not say how long a token lives (RFC 6749 only recommends it). */
const defaultLifeSeconds = 300;

/**
 * OAuth 2 client credentials. All callers share one token: one request fetches it, however many callers wait, and another renews it
 * at 90 % of its life. The old token still works then, so a failed renewal delays no caller.
 */
export function createTokens(options: TokenOptions): Tokens {
  const { net, clock } = options;
  const basic = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString('base64');
  let token: { value: string; refreshAt: number; expiresAt: number } | null = null;
  let underWay: Promise<string> | null = null;
  /** After a failure the old token serves this long before the next try: not every call asks again. */
  const pauseMs = 1000;

  async function fetchToken(): Promise<string> {
    const askedAt = clock.monotonicMs();
    const answer = await net.request({
      method: 'POST',
      url: options.url,
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
      body: '{"grant_type":"client_credentials"}',
      timeoutMs: options.timeoutMs,
      maxBytes: 64 * 1024,
      ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    });
    if (answer.status !== 200 && answer.status !== 201) throw new Error(`status ${answer.status}`);
    const fetched = readToken(answer.text);
    if (fetched === null) throw new Error('an answer that cannot be read');
    if (fetched.scopes !== null) options.onScopes?.(fetched.scopes);
    const lifeMs = fetched.lifeSeconds * 1000;
    token = { value: fetched.value, refreshAt: askedAt + lifeMs * 0.9, expiresAt: askedAt + lifeMs };
    return fetched.value;
  }

  function refresh(): Promise<string> {
    underWay ??= fetchToken()
      .catch((cause: unknown) => {
        if (token !== null) token.refreshAt = clock.monotonicMs() + pauseMs;
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`no access token: ${reason}`, { cause });
      })
      .finally(() => {
        underWay = null;
      });
    return underWay;
  }

  return {
    async get() {
      const now = clock.monotonicMs();
      if (token === null || now >= token.expiresAt) return refresh();
      if (now >= token.refreshAt) refresh().catch(() => {});
      return token.value;
    },
    drop(refused) {
      if (token?.value === refused) token = null;
    },
  };
}

interface Fetched {
  value: string;
  lifeSeconds: number;
  /** RFC 6749, 3.3: separated by spaces. Null when the answer names none. */
  scopes: string[] | null;
}

function readToken(text: string): Fetched | null {
  let body: { access_token?: unknown; expires_in?: unknown; scope?: unknown } | null;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  const value = body?.access_token;
  // What is no header value (RFC 6750: b64token) would fail every call that carries it.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) return null;
  const life = Number(body?.expires_in ?? defaultLifeSeconds);
  const scopes = typeof body?.scope === 'string' ? body.scope.split(' ').filter(Boolean) : null;
  return { value, lifeSeconds: life > 0 ? life : defaultLifeSeconds, scopes };
}
