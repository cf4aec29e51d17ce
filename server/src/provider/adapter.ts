import { certificateProblem } from '../ground/certificate.ts';
import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate, Net } from '../ports/net.ts';
import type { Provider } from './provider.ts';

/** The code of one protocol, as a connection names it. Every adapter is listed in `adapters.ts`. */
export interface Adapter {
  /**
   * The members of the credentials file that this adapter reads, beside those of the certificate. Each is a text. `about` says
   * where it is found in the provider's panel.
   */
  members: Readonly<Record<string, CredentialMember>>;
  /** Whether the provider asks for a client certificate on its calls. */
  certificate: 'required' | 'none';
  /** Where its API is, where the provider has one address for all: `--url` may be left out. */
  defaultUrl: string | null;
  /** The same of its own test environment, which moves no money; null: it has none that is known. */
  testUrl: string | null;
  /** Further hosts that the provider has, or had: what stands at one of them is known, and no address is made of it. */
  otherHosts?: { live?: readonly string[]; test?: readonly string[] };
  /** Below `SIMULATOR_URL`: where the simulator speaks this protocol. */
  simulatorPath: string;
  /** Opens no connection before the first call. @throws CredentialFault for a member that it cannot use */
  create(settings: ConnectionSettings, world: AdapterWorld): Provider;
}

export interface CredentialMember {
  required: boolean;
  /** Never shown again. */
  secret: boolean;
  about: string;
}

/** Whether an address is of the provider's test environment, or of the one that moves money; null: it is none that is known. */
export function placeOf(
  { defaultUrl, testUrl, otherHosts = {} }: Pick<Adapter, 'defaultUrl' | 'testUrl' | 'otherHosts'>,
  url: string,
): 'live' | 'test' | null {
  const host = new URL(url).hostname;
  // The key alone says it, and the adapter reads that.
  if (testUrl !== null && testUrl === defaultUrl) return null;
  const isAt = (known: string | null, others: readonly string[] = []): boolean =>
    (known !== null && new URL(known).hostname === host) || others.includes(host);
  if (isAt(testUrl, otherHosts.test)) return 'test';
  return isAt(defaultUrl, otherHosts.live) ? 'live' : null;
}

/** Where the simulator keeps what this adapter's calls make, and is controlled: the version of a protocol is no part of it. */
export const simulatorDeskOf = ({ simulatorPath }: Pick<Adapter, 'simulatorPath'>): string =>
  simulatorPath.replace(/\/v2$/, '');

/** The credentials of a connection, opened. */
export interface ConnectionSettings {
  /** The connection's name. */
  name: string;
  /** Of the simulator or a sandbox: no money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated: boolean;
  /** Without a slash at its end. */
  url: string;
  credentials: Readonly<Record<string, string>>;
  certificate: ClientCertificate | null;
  /** Of the account behind it, where the provider has said it (`Provider.askAccount`); absent: it was not asked yet. */
  identity?: string | null;
}

export interface AdapterWorld {
  net: Net;
  clock: Clock;
  log: Log;
}

/** Credentials that cannot be used; the message names the member and says what to do. */
export class CredentialFault extends Error {
  override name = 'CredentialFault';
}

/** Members that every adapter with a certificate takes: PKCS #12 in base64, or a PEM pair. */
export const certificateMembers: Readonly<Record<string, CredentialMember>> = {
  certificate: { required: false, secret: true, about: 'PKCS #12 in base64, or the certificate as PEM' },
  certificateKey: { required: false, secret: true, about: 'the private key as PEM, for a PEM certificate' },
  certificatePassphrase: { required: false, secret: true, about: 'of the PKCS #12 file or of the key' },
};

/**
 * The client certificate among credentials; null: there is none.
 * @throws CredentialFault it does not open, or the key is another certificate's
 */
export function certificateOf(credentials: Readonly<Record<string, string>>): ClientCertificate | null {
  const { certificate, certificateKey, certificatePassphrase } = credentials;
  if (certificate === undefined) {
    if (certificateKey !== undefined)
      throw new CredentialFault('certificate: is missing, and certificateKey is given');
    return null;
  }
  const passphrase = certificatePassphrase === undefined ? {} : { passphrase: certificatePassphrase };
  const isPem = certificate.includes('-----BEGIN');
  if (isPem && certificateKey === undefined)
    throw new CredentialFault('certificateKey: is missing, and a PEM certificate needs it');
  if (!isPem && certificateKey !== undefined)
    throw new CredentialFault('certificateKey: is of no use with PKCS #12, which holds its own key');
  const given: ClientCertificate = isPem
    ? { cert: Buffer.from(certificate), key: Buffer.from(certificateKey ?? ''), ...passphrase }
    : { pfx: Buffer.from(certificate, 'base64'), ...passphrase };
  const problem = certificateProblem(given);
  if (problem !== null) throw new CredentialFault(`${memberOf[problem.part]}: ${problem.text}`);
  return given;
}

const memberOf = {
  certificate: 'certificate',
  key: 'certificateKey',
  passphrase: 'certificatePassphrase',
} as const;

/**
 * Reads what a credentials file holds.
 * @throws CredentialFault for a member that is missing, unknown or no text
 */
export function readCredentials(adapter: Adapter, file: unknown): Record<string, string> {
  if (typeof file !== 'object' || file === null || Array.isArray(file))
    throw new CredentialFault('the credentials must be one JSON object');
  const known = { ...adapter.members, ...(adapter.certificate === 'none' ? {} : certificateMembers) };
  const credentials: Record<string, string> = {};
  for (const [name, value] of Object.entries(file)) {
    if (!Object.hasOwn(known, name))
      throw new CredentialFault(
        `${name}: is no member of these credentials (${Object.keys(known).join(', ')})`,
      );
    if (typeof value !== 'string' || value === '') throw new CredentialFault(`${name}: must be a text`);
    credentials[name] = value;
  }
  for (const [name, { required, about }] of Object.entries(known)) {
    if (required && credentials[name] === undefined)
      throw new CredentialFault(`${name}: is missing (${about})`);
  }
  return credentials;
}
