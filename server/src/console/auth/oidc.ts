import type { Configuration, CustomFetch } from 'openid-client';
import type { OidcSettings } from '../../ground/config.ts';
import { type Net, NetFailure, NotSent } from '../../ports/net.ts';

/** The OpenID provider of the installation, as far as the console asks it: the code flow with PKCE (OpenID Connect Core 1.0, 3.1; RFC 7636). */
export interface OpenIdProvider {
  settings: OidcSettings;
  /** Where the browser goes. @throws IssuerFailed */
  addressFor(secrets: FlowSecrets): Promise<string>;
  /** Exchanges the code of an answer. @throws IssuerFailed */
  whoIs(answer: FlowAnswer, secrets: FlowSecrets): Promise<Named>;
}

/** Of one sign-in; the browser that began it has what they are made of. */
export interface FlowSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

/** The query of the address that the browser came back with. */
export type FlowAnswer = Readonly<Partial<Record<'code' | 'state' | 'iss' | 'error', string>>>;

/** The person whom the provider names. */
export interface Named {
  subject: string;
  /** Its word that a second factor was shown. */
  secondFactor: boolean;
  groups: readonly string[];
}

/** The provider cannot be asked, or its answer does not hold. */
export class IssuerFailed extends Error {
  override name = 'IssuerFailed';
  readonly unreachable: boolean;
  /** The library's name for it; no word of the provider, which may hold a token or a name. */
  readonly code: string;
  constructor(error: unknown) {
    const { code } = error as { code?: unknown };
    super('the OpenID provider did not answer as it should');
    this.code = typeof code === 'string' ? code : 'unknown';
    this.unreachable = causesOf(error).some((one) => one instanceof NotSent || one instanceof NetFailure);
  }
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one instanceof Error && causes.length < 8; one = one.cause) causes.push(one);
  return causes;
}

/** Of each exchange. A document of keys has a few KB. */
const timeoutMs = 5000;
const maxBytes = 256 * 1024;

/** Read when the first one is asked for. */
const library = () => import('openid-client');

export function openIdProvider(
  net: Pick<Net, 'request'>,
  settings: OidcSettings,
  redirectUri: string,
): OpenIdProvider {
  const { issuer, clientId, clientSecret } = settings;

  /** Over our own port: no redirect is followed, and a long answer or a slow one ends it. */
  const fetchOverNet: CustomFetch = async (url, { method, headers, body }) => {
    const {
      status,
      headers: given,
      text,
    } = await net.request({
      ...{ url, method: method as 'GET' | 'POST', headers, timeoutMs, maxBytes },
      ...(body !== undefined && body !== null && { body: String(body) }),
    });
    return new Response([204, 205, 304].includes(status) ? null : text, { status, headers: given });
  };

  /** Read anew for each sign-in, with the keys: they are few, and a key that was changed counts at once. */
  async function configuration(): Promise<Configuration> {
    const client = await library();
    const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    const options = { [client.customFetch]: fetchOverNet, timeout: timeoutMs / 1000, execute };
    const found = await client.discovery(new URL(issuer), clientId, undefined, undefined, options);
    const metadata = found.serverMetadata();
    // To the letter: the library takes a slash more or less, and a template of one provider.
    if (metadata.issuer !== issuer)
      throw Object.assign(new Error('another issuer'), { code: 'other_issuer' });
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const shown = methods.includes('client_secret_basic')
      ? client.ClientSecretBasic(clientSecret)
      : client.ClientSecretPost(clientSecret);
    const config = new client.Configuration(metadata, clientId, undefined, shown);
    config[client.customFetch] = fetchOverNet;
    config.timeout = timeoutMs / 1000;
    for (const extension of execute) extension(config);
    // The signature of the ID token too, though it comes straight from the provider (OpenID Connect Core 1.0, 3.1.3.7).
    client.enableNonRepudiationChecks(config);
    return config;
  }

  return {
    settings,
    async addressFor({ state, nonce, verifier }) {
      const client = await library();
      try {
        const acr = settings.secondFactor.filter(({ claim }) => claim === 'acr').map(({ value }) => value);
        const address = client.buildAuthorizationUrl(await configuration(), {
          ...{ redirect_uri: redirectUri, scope: settings.scope, state, nonce },
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(acr.length > 0 && { acr_values: acr.join(' ') }),
        });
        return address.href;
      } catch (error) {
        throw new IssuerFailed(error);
      }
    },
    async whoIs(answer, { state, nonce, verifier }) {
      const client = await library();
      const address = new URL(redirectUri);
      for (const [name, value] of Object.entries(answer)) address.searchParams.set(name, value);
      try {
        const tokens = await client.authorizationCodeGrant(await configuration(), address, {
          ...{
            pkceCodeVerifier: verifier,
            expectedState: state,
            expectedNonce: nonce,
            idTokenExpected: true,
          },
        });
        const claims: Readonly<Record<string, unknown>> = tokens.claims() ?? {};
        return {
          subject: subjectOf(claims),
          secondFactor: settings.secondFactor.some(({ claim, value }) =>
            textsOf(claims[claim]).includes(value),
          ),
          groups: textsOf(claims.groups),
        };
      } catch (error) {
        throw new IssuerFailed(error);
      }
    },
  };
}

function subjectOf({ sub }: { sub?: unknown }): string {
  // OpenID Connect Core 1.0, 2: at most 255 ASCII characters.
  if (typeof sub !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(sub))
    throw Object.assign(new Error('no subject'), { code: 'no_subject' });
  return sub;
}

const textsOf = (claim: unknown): string[] =>
  [claim].flat().filter((one): one is string => typeof one === 'string');
