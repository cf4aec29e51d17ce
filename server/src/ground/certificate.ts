import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClientCertificate } from '../ports/net.ts';

/** Client certificates, as operators hand them in: PKCS #12, or a PEM pair. */

export interface CertificateProblem {
  part: 'certificate' | 'key' | 'passphrase';
  text: string;
}

/**
 * Why a client certificate cannot be used; null: it can. Without this look a wrong file shows only at the first call, where it
 * passes for a provider that is down.
 */
export const certificateProblem = (given: ClientCertificate): CertificateProblem | null =>
  'pfx' in given ? pfxProblem(given) : pairProblem(given);

function pfxProblem(given: ClientCertificate): CertificateProblem | null {
  try {
    createSecureContext(given);
    return null;
  } catch (error) {
    const { message } = error as Error;
    if (/mac verify failure/i.test(message))
      return { part: 'passphrase', text: 'is not the passphrase of the certificate' };
    const text = /unsupported/i.test(message)
      ? // OpenSSL 3 reads RC2-40, which Windows and OpenSSL 1 write, with its legacy provider only.
        'is encrypted in an old way: openssl pkcs12 -legacy -in OLD -nodes -out left.pem && openssl pkcs12 -export -in left.pem -out NEW && rm left.pem'
      : 'is not a PKCS #12 file with a certificate and its key';
    return { part: 'certificate', text };
  }
}

function pairProblem({
  cert,
  key,
  passphrase,
}: {
  cert: Buffer;
  key: Buffer;
  passphrase?: string;
}): CertificateProblem | null {
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(cert);
  } catch {
    return { part: 'certificate', text: 'is no certificate in PEM' };
  }
  let own: KeyObject;
  try {
    own = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    return { part: 'key', text: 'is no private key in PEM, or the passphrase does not open it' };
  }
  return leaf.checkPrivateKey(own) ? null : { part: 'key', text: 'belongs to another certificate' };
}

/** From when until when the certificate of a usable pair is valid, ms since 1970. */
export function validityOf(given: ClientCertificate): { fromMs: number; untilMs: number } {
  const der = 'pfx' in given ? leafOf(given) : given.cert;
  const { validFrom, validTo } = new X509Certificate(der);
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
}

/** Node reads PKCS #12 for TLS alone; the context that it makes gives the certificate back. */
function leafOf(given: ClientCertificate): Buffer {
  const { context } = createSecureContext(given) as unknown as { context: { getCertificate(): Buffer } };
  return context.getCertificate();
}

/**
 * Why the chain of a usable PEM certificate does not hang together; null: it does, or it is PKCS #12, of which Node shows the first
 * certificate alone.
 */
export function chainProblem(given: ClientCertificate, now: number): string | null {
  if ('pfx' in given) return null;
  const texts = given.cert.toString().match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  const chain = (texts ?? []).map((text) => new X509Certificate(text));
  for (const [at, { validTo }] of chain.entries()) {
    if (at > 0 && Date.parse(validTo) <= now) return `certificate ${at + 1} of its chain has expired`;
    const issuer = chain[at + 1];
    if (issuer && !chain[at]?.checkIssued(issuer))
      return `certificate ${at + 2} of its chain has not issued the one before it`;
  }
  return null;
}
