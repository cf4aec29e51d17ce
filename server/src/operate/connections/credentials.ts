import { createECDH, createHash, createPrivateKey } from 'node:crypto';
import { validityOf } from '../../ground/certificate.ts';
import { hmacSha256 } from '../../ground/hmac.ts';
import { isLoopbackHost } from '../../ground/hosts.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { ClientCertificate } from '../../ports/net.ts';
import {
  type Adapter,
  type AdapterWorld,
  type ConnectionSettings,
  CredentialFault,
  certificateOf,
  readCredentials,
  simulatorDeskOf,
} from '../../provider/adapter.ts';
import type { Provider } from '../../provider/provider.ts';
import { adapters, isAdapter } from '../../provider/registry/adapters.ts';
import type { ConnectionRow } from './connections.sql.ts';

/** The credentials of a connection, as they are sealed: the current credentials, and those before them. */
export interface Kept {
  current: Readonly<Record<string, string>>;
  previous: Readonly<Record<string, string>> | null;
}

export const sealKept = (secrets: Secrets, name: string, kept: Kept): Buffer =>
  secrets.seal(JSON.stringify(kept), name);

/** @throws Error when the installation's secret does not open it */
export const openKept = (secrets: Pick<Secrets, 'open'>, { name, credentials }: ConnectionRow): Kept =>
  JSON.parse(secrets.open(credentials ?? Buffer.alloc(0), name).toString()) as Kept;

/** @throws CredentialFault */
export function adapterNamed(name: string): Adapter {
  if (!isAdapter(name))
    throw new CredentialFault(`adapter: must be one of ${Object.keys(adapters).join(', ')}`);
  return adapters[name];
}

/** @throws CredentialFault */
export function requireSafeUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isSafe =
    parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackHost(parsed.hostname));
  if (!isSafe) throw new CredentialFault('url: must be an https URL (http only on this machine)');
  return url.replace(/\/{1,9}$/, '');
}

/**
 * Reads and checks credentials for an adapter, without asking the provider.
 * @throws CredentialFault that names the member
 */
export function checkedCredentials(
  adapter: Adapter,
  file: unknown,
  { simulated, now }: { simulated: boolean; now: number },
): { credentials: Record<string, string>; certificateExpiresAt: number | null } {
  const credentials = readCredentials(adapter, file);
  const certificate = certificateOf(credentials);
  if (certificate === null) {
    if (adapter.certificate === 'required' && !simulated)
      throw new CredentialFault('certificate: is missing, and the provider asks for one on every call');
    return { credentials, certificateExpiresAt: null };
  }
  return { credentials, certificateExpiresAt: requireValid(certificate, now) };
}

function requireValid(certificate: ClientCertificate, now: number): number {
  const { fromMs, untilMs } = validityOf(certificate);
  if (untilMs <= now)
    throw new CredentialFault(`certificate: has expired on ${new Date(untilMs).toISOString().slice(0, 10)}`);
  if (fromMs > now)
    throw new CredentialFault(`certificate: is valid from ${new Date(fromMs).toISOString().slice(0, 10)} on`);
  return untilMs;
}

/** The credentials of a client that the installation's simulator serves (`simulator/src/oauth.ts`). */
export function simulatorCredentials(
  adapter: Adapter,
  secrets: Pick<Secrets, 'derive'>,
  name: string,
): Record<string, string> {
  const clientId = `vintem-${name}`;
  const clientSecret = hmacSha256(secrets.derive('simulator client'))(clientId).toString('hex');
  const made: Record<string, string> = {
    clientId,
    clientSecret,
    pixKey: `${name}@simulator.example`,
    appKey: clientId,
    secretKey: `sk_test_${Buffer.from(`${clientId}:${clientSecret}`).toString('base64url')}`,
    webhookSecret: `whsec_${clientSecret}`,
    apiKey: `$aact_hmlg_${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    customer: 'cus_000000000001',
    email: `${name}@simulator.example`,
    webhookToken: clientSecret,
    withdrawalToken: hmacSha256(secrets.derive('simulator client'))(`${clientId} withdrawals`).toString(
      'hex',
    ),
    // Where one text stands for both, it is the user and password of Basic authentication.
    appId: Buffer.from(`${clientId}:${clientSecret}`).toString('base64'),
    projectId: Buffer.from(`${clientId}:${clientSecret}`).toString('base64url'),
    privateKey: simulatorKey(clientSecret),
    workspaceId: clientId,
  };
  return Object.fromEntries(
    Object.entries(made).filter(([member]) => Object.hasOwn(adapter.members, member)),
  );
}

/** The key with which a client of the simulator signs its calls: the simulator makes the same one from the same secret. */
export function simulatorKey(clientSecret: string): string {
  const d = createHash('sha256').update(clientSecret).digest();
  const pair = createECDH('secp256k1');
  pair.setPrivateKey(d);
  const [x, y] = [pair.getPublicKey().subarray(1, 33), pair.getPublicKey().subarray(33)];
  const text = (bytes: Buffer) => bytes.toString('base64url');
  const jwk = { kty: 'EC', crv: 'secp256k1', d: text(d), x: text(x), y: text(y) };
  return createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'sec1', format: 'pem' }).toString();
}

/** The provider of a row. @throws CredentialFault, or Error when its credentials cannot be opened */
export function providerOfRow(
  deps: AdapterWorld & { secrets: Pick<Secrets, 'open'>; config: { simulatorUrl: string } },
  row: ConnectionRow,
): Provider {
  const adapter = adapterNamed(row.adapter ?? '');
  const settings = settingsOf(deps, adapter, row, openKept(deps.secrets, row).current);
  return adapter.create({ ...settings, identity: row.identity }, deps);
}

export function settingsOf(
  { config }: { config: { simulatorUrl: string } },
  adapter: Adapter,
  { name, test, simulated, url }: Pick<ConnectionRow, 'name' | 'test' | 'simulated' | 'url'>,
  credentials: Readonly<Record<string, string>>,
): ConnectionSettings {
  return {
    name,
    test,
    simulated,
    url: simulated ? config.simulatorUrl + adapter.simulatorPath : (url ?? ''),
    credentials,
    certificate: certificateOf(credentials),
  };
}

/** Where the simulator is controlled for a connection; null: it is not the simulator's. */
export function simulatorOf(
  { simulatorUrl }: { simulatorUrl: string },
  { name, adapter, simulated }: Pick<ConnectionRow, 'name' | 'adapter' | 'simulated'>,
): string | null {
  if (name === 'simulator') return simulatorUrl;
  return simulated ? simulatorUrl + simulatorDeskOf(adapterNamed(adapter ?? '')) : null;
}
