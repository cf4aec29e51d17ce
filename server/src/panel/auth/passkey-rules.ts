/**
 * Whether an authenticator's word about itself names no certificates. We ask for none, and browsers then send "none", or "packed" without
 * certificates (WebAuthn 3, 5.1.3: "If the attestation conveyance preference is none"). The library would ask for the revocation list
 * of any other one at an address that stands in the certificate, which its sender chooses.
 * @param object base64url
 */
export async function isPlainAttestation(object: string): Promise<boolean> {
  // Read when the first passkey is made: it brings a library of certificates, and every process starts with this file.
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  try {
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(object, 'base64url')));
    const format = decoded.get('fmt');
    return format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined);
  } catch {
    return false;
  }
}

/** The name that passkeys of a site belong to, never an address (WebAuthn 3, 5.1.2: a valid domain). */
export function passkeyNameOf(siteUrl: string): string {
  const { hostname } = new URL(siteUrl);
  return /^(?:127\.|\[::1\])/.test(hostname) ? 'localhost' : hostname;
}
