import { authenticator } from '@vintem/testkit/passkey.ts';
import { expect, test } from 'vitest';
import { isPlainAttestation, passkeyNameOf } from './passkey-rules.ts';

/** CBOR of `{"fmt": format, "attStmt": statement, "authData": h'00'}`; the statement is CBOR already. */
const attestation = (format: string, statement: string): string =>
  Buffer.concat([
    Buffer.from('a363666d74', 'hex'),
    Buffer.from([0x60 + format.length]),
    Buffer.from(format),
    Buffer.from('6761747453746d74', 'hex'),
    Buffer.from(statement, 'hex'),
    Buffer.from('686175746844617461', 'hex'),
    Buffer.from('4100', 'hex'),
  ]).toString('base64url');
/** `{"x5c": [h'00']}` */
const withCertificates = 'a163783563814100';

test('An authenticator that names certificates is refused before any address in them could be asked', async () => {
  const made = authenticator({ origin: 'https://a.example', rpId: 'a.example' });
  const { response } = made.register({ challenge: 'AAAA' }, true) as {
    response: { attestationObject: string };
  };
  expect(await isPlainAttestation(response.attestationObject)).toBe(true);
  expect(await isPlainAttestation(attestation('none', 'a0'))).toBe(true);
  expect(await isPlainAttestation(attestation('packed', 'a0'))).toBe(true);
  expect(await isPlainAttestation(attestation('packed', withCertificates))).toBe(false);
  for (const format of ['apple', 'android-key', 'tpm', 'fido-u2f'])
    expect(await isPlainAttestation(attestation(format, withCertificates))).toBe(false);
  for (const unreadable of ['', 'AAAA', 'oA', '!'.repeat(40)])
    expect(await isPlainAttestation(unreadable)).toBe(false);
});

test('A passkey belongs to the name of its site, and on this machine to `localhost`', () => {
  expect(passkeyNameOf('https://console.example.com:8443')).toBe('console.example.com');
  expect(passkeyNameOf('http://127.0.0.1:3000')).toBe('localhost');
  expect(passkeyNameOf('http://[::1]:3000')).toBe('localhost');
});
