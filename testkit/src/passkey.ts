import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * An authenticator in software: ES256, attestation "none" (WebAuthn 3, 6.1 and 6.5). It says whether it verified its user, which a
 * browser's virtual authenticator cannot deny once the page demands it.
 */
export interface Authenticator {
  /** The answer to the options of a registration. */
  register(options: { challenge: string }, userVerified: boolean): object;
  /** The answer to the options of a sign-in. */
  authenticate(options: { challenge: string }, userVerified: boolean): object;
  /** The same key in another device, which continues to count from here. */
  copy(): Authenticator;
  /** The same key, as a page of another origin would make it sign. */
  at(origin: string): Authenticator;
}

interface Key {
  privateKey: KeyObject;
  publicKey: KeyObject;
  id: Buffer;
  counter: number;
}

export const authenticator = (site: { origin: string; rpId: string }): Authenticator =>
  withKey(site, { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }), id: randomBytes(16), counter: 0 });

function withKey({ origin, rpId }: { origin: string; rpId: string }, key: Key): Authenticator {
  const { privateKey, publicKey, id } = key;
  const jwk = publicKey.export({ format: 'jwk' });
  // COSE_Key: kty 2 (EC2), alg -7 (ES256), crv 1 (P-256), x, y.
  const coseKey = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(jwk.x as string, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(jwk.y as string, 'base64url'),
  ]);

  /** Hash of the party, flags (1: present, 4: verified, 64: with a key), counter. */
  function dataOf(userVerified: boolean, attested: Buffer = Buffer.alloc(0)): Buffer {
    const flags = 1 | (userVerified ? 4 : 0) | (attested.length > 0 ? 64 : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(++key.counter);
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), count, attested]);
  }
  const clientDataOf = (type: string, challenge: string): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const named = (response: object) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });

  return {
    copy: () => withKey({ origin, rpId }, { ...key }),
    at: (other) => withKey({ origin: other, rpId }, key),
    register({ challenge }, userVerified) {
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey]);
      const data = dataOf(userVerified, attested);
      // {"fmt": "none", "attStmt": {}, "authData": bytes}
      const object = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex'),
        Buffer.from([data.length]),
        data,
      ]);
      return named({
        clientDataJSON: clientDataOf('webauthn.create', challenge).toString('base64url'),
        attestationObject: object.toString('base64url'),
        transports: ['usb'],
      });
    },
    authenticate({ challenge }, userVerified) {
      const client = clientDataOf('webauthn.get', challenge);
      const data = dataOf(userVerified);
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      return named({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
      });
    },
  };
}
