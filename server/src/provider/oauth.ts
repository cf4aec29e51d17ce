import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate, Net } from '../ports/net.ts';
import { callerHeaders } from './wire.ts';

export interface TokenOptions {
  /** The whole address of the token call. */
  url: string;
  clientId: string;
  clientSecret: string;
  /** Default: Efí's, JSON and HTTP Basic. */
  form?: TokenForm;
  certificate?: ClientCertificate;
  extraHeaders?: () => Record<string, string>;
  /** For one token call, in milliseconds. */
  timeoutMs: number;
  /** Called with the scopes of every new token, where the answer names them. */
  onScopes?: (granted: readonly string[]) => void;
  net: Net;
  clock: Clock;
}

/** How a provider wants to be asked for a token: RFC 6749, 4.4 says a form with HTTP Basic, and hardly two banks do the same. */
export interface TokenForm {
  /** Where `grant_type` and the rest stand. */
  body: 'json' | 'form' | 'query';
  /** `none`: the client certificate alone proves who asks, and the id stands in the body. */
  client: 'basic' | 'body' | 'none';
  /** Asked for, separated by spaces. */
  scope?: string;
}

const efiForm: TokenForm = { body: 'json', client: 'basic' };

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
  const asked = requestOf(options);
  let token: { value: string; refreshAt: number; expiresAt: number } | null = null;
  let underWay: Promise<string> | null = null;
  /** After a failure the old token serves this long before the next try: not every call asks again. */
  const pauseMs = 1000;

  async function fetchToken(): Promise<string> {
    const askedAt = clock.monotonicMs();
    const answer = await net.request({
      method: 'POST',
      ...asked,
      headers: { ...callerHeaders, ...asked.headers, ...options.extraHeaders?.() },
      timeoutMs: options.timeoutMs,
      maxBytes: 64 * 1024,
      ...(options.certificate === undefined ? {} : { certificate: options.certificate }),
    });
    if (answer.status !== 200 && answer.status !== 201)
      throw new Error(`status ${answer.status}${errorOf(answer.text)}`);
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

function requestOf({ url, clientId, clientSecret, form = efiForm }: TokenOptions) {
  const client = {
    basic: {},
    body: { client_id: clientId, client_secret: clientSecret },
    none: { client_id: clientId },
  }[form.client];
  const grant = { grant_type: 'client_credentials' };
  const fields = { ...client, ...(form.scope === undefined ? {} : { scope: form.scope }) };
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const headers = {
    'content-type': form.body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    ...(form.client === 'basic' ? { authorization: `Basic ${basic}` } : {}),
  };
  switch (form.body) {
    case 'json':
      return { url, headers, body: JSON.stringify({ ...grant, ...fields }) };
    case 'form':
      return { url, headers, body: new URLSearchParams({ ...grant, ...fields }).toString() };
    case 'query': {
      // Secrets stay out of the address, which logs keep.
      return {
        url: `${url}?${new URLSearchParams(grant)}`,
        headers,
        body: new URLSearchParams(fields).toString(),
      };
    }
  }
}

/** The code of RFC 6749, 5.2, such as `invalid_scope`. */
function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : '';
  } catch {
    return '';
  }
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
  // A token that is no header value (RFC 6750: b64token) would fail every call that carries it.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) return null;
  const life = Number(body?.expires_in ?? defaultLifeSeconds);
  const scopes = typeof body?.scope === 'string' ? body.scope.split(' ').filter(Boolean) : null;
  return { value, lifeSeconds: life > 0 ? life : defaultLifeSeconds, scopes };
}
