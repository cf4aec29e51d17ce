import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** OpenID providers for tests: the one of npm as it is, and one that says what a test wants. */

export const oidcClient = { id: 'vintem', secret: 'a-secret-of-the-client-for-tests' };

interface Listening {
  url: string;
  close(): Promise<void>;
}

async function listen(server: Server): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

// ------------------------------------------------------------------------------------------------------- the one of npm

/** The used part of `oidc-provider`, which has no types of its own. */
interface Provider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionDetails(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ prompt: { name: string } }>;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
}

/** `oidc-provider` with one client. Each visitor is the person of `who`, who agrees to everything. */
export async function openRealProvider(redirectUri: string, who: { subject: string }): Promise<Listening> {
  const { default: Made } = (await import('oidc-provider' as string)) as {
    default: { new (issuer: string, options: object): Provider };
  };
  const holder: { provider: Provider | null } = { provider: null };
  const server = createServer((request, response) => {
    const provider = holder.provider as Provider;
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: who.subject } });
  });
  const listening = await listen(server);
  const granted = async (ctx: { oidc: Record<string, never> }) => {
    const { provider, client, session } = ctx.oidc as unknown as {
      provider: {
        Grant: { new (fields: object): { addOIDCScope(scope: string): void; save(): Promise<string> } };
      };
      client: { clientId: string };
      session: { accountId: string };
    };
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope('openid');
    await grant.save();
    return grant;
  };
  holder.provider = new Made(listening.url, {
    clients: [{ client_id: oidcClient.id, client_secret: oidcClient.secret, redirect_uris: [redirectUri] }],
    pkce: { required: () => true },
    ttl: {
      Interaction: 600,
      Grant: 600,
      Session: 600,
      AccessToken: 600,
      IdToken: 600,
      AuthorizationCode: 60,
    },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    loadExistingGrant: granted,
  });
  return listening;
}

/** Goes where a browser would be led, with its cookies, until it is led back. @returns the query that it comes back with */
export async function visit(address: string, redirectUri: string): Promise<Record<string, string>> {
  const cookies = new Map<string, string>();
  let at = address;
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const one of answer.headers.getSetCookie()) {
      const [pair = ''] = one.split(';');
      const cut = pair.indexOf('=');
      cookies.set(pair.slice(0, cut), pair.slice(cut + 1));
    }
    const next = answer.headers.get('location');
    if (next === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
    at = new URL(next, at).href;
    if (at.startsWith(redirectUri)) return Object.fromEntries(new URL(at).searchParams);
  }
  throw new Error('the provider leads in a circle');
}

// ------------------------------------------------------------------------------------------- one that says what is wanted

interface SigningKey {
  id: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

const newKey = (): SigningKey => ({
  id: randomBytes(4).toString('hex'),
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
});

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export interface FakeProvider extends Listening {
  /** Claims of the next token, over those that are right. */
  claims: Record<string, unknown>;
  /** Over what its documents say. */
  metadata: Record<string, unknown>;
  /** Answers the token call itself. */
  answer: ((response: ServerResponse) => void) | null;
  /** The algorithm that the token names. */
  algorithm: string;
  /** Bodies of the token calls. */
  asked: URLSearchParams[];
  /** From now on it signs with another key, which it publishes if `told`. */
  rotate(told: boolean): void;
  /** The query that its page would lead back with, for the address that the console gave. */
  lead(address: string): Record<string, string>;
}

/** A provider of a page: what it was asked at its authorization endpoint is read from the address. */
export async function openFakeProvider(): Promise<FakeProvider> {
  let key = newKey();
  let published = key;
  let wanted = new URLSearchParams();
  const fake = {} as FakeProvider;
  const issuer = (): string => fake.url;
  const token = (): string => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      ...{ iss: issuer(), aud: oidcClient.id, sub: 'ana', nonce: wanted.get('nonce') },
      ...{ iat: now, exp: now + 300, ...fake.claims },
    };
    const text = `${part({ alg: fake.algorithm, kid: key.id, typ: 'JWT' })}.${part(claims)}`;
    if (fake.algorithm === 'none') return `${text}.`;
    return `${text}.${sign('sha256', Buffer.from(text), key.privateKey).toString('base64url')}`;
  };
  const json = (response: ServerResponse, body: object): void => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  };
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    if (path === '/.well-known/openid-configuration')
      return json(response, {
        issuer: issuer(),
        authorization_endpoint: `${fake.url}/auth`,
        token_endpoint: `${fake.url}/token`,
        jwks_uri: `${fake.url}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...fake.metadata,
      });
    if (path === '/keys') {
      const jwk = published.publicKey.export({ format: 'jwk' });
      return json(response, { keys: [{ ...jwk, kid: published.id, use: 'sig', alg: 'RS256' }] });
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    const given = new URLSearchParams(body);
    fake.asked.push(given);
    if (fake.answer) return fake.answer(response);
    const challenge = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url');
    if (challenge !== wanted.get('code_challenge')) {
      response.statusCode = 400;
      return json(response, { error: 'invalid_grant' });
    }
    json(response, { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token: token() });
  });
  Object.assign(fake, await listen(server), {
    ...{ claims: {}, metadata: {}, answer: null, algorithm: 'RS256', asked: [] },
    rotate: (told: boolean) => {
      key = newKey();
      if (told) published = key;
    },
    lead: (address: string) => {
      wanted = new URL(address).searchParams;
      return { code: randomBytes(8).toString('hex'), state: wanted.get('state') ?? '' };
    },
  });
  return fake;
}
