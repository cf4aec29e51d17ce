import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/**
 * A browser in which a person signed in keeps a cookie that says so. It is no factor and opens nothing: its sign-ins are counted apart,
 * so that strangers who use up the attempts of an e-mail do not lock its owner out (OWASP, "Device Cookies").
 *
 * Form: `<nonce>.<HMAC-SHA256 over nonce and e-mail>`, both base64url.
 */
export interface KnownDevices {
  /** For the browser in which this person has just signed in. */
  cookieFor(email: string, nonce: Buffer): string;
  /** @returns what the browser is counted by; null: this person never signed in there */
  deviceOf(cookie: string | undefined, email: string): string | null;
}

const lifeSeconds = 365 * 24 * 3600;

export function knownDevices({ key, overTls }: { key: Buffer; overTls: boolean }): KnownDevices {
  // Browsers take `__Host-` over TLS only.
  const name = overTls ? '__Host-vintem.device' : 'vintem.device';
  const sign = (nonce: string, email: string): Buffer =>
    createHmac('sha256', key).update(`${nonce}\n${email}`).digest();
  return {
    cookieFor(email, bytes) {
      const nonce = bytes.toString('base64url');
      const value = `${nonce}.${sign(nonce, email).toString('base64url')}`;
      return `${name}=${value}; Max-Age=${lifeSeconds}; Path=/; HttpOnly; SameSite=Lax${overTls ? '; Secure' : ''}`;
    },
    deviceOf(cookie, email) {
      const value = cookie
        ?.split('; ')
        .find((one) => one.startsWith(`${name}=`))
        ?.slice(name.length + 1);
      const [nonce, mac] = value?.split('.') ?? [];
      if (!nonce || !mac || nonce.length > 64) return null;
      const given = Buffer.from(mac, 'base64url');
      const expected = sign(nonce, email);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
      return hash('sha256', nonce, 'base64url');
    },
  };
}
