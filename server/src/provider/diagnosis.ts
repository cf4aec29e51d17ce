import { chainProblem, validityOf } from '../ground/certificate.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClientCertificate } from '../ports/net.ts';
import { saysNotFound } from './bacen.ts';
import { errorNameOf, isSuccess, lacksScope, type Reply, unclear } from './exchange.ts';
import type { Finding } from './provider.ts';

/** Findings that adapters over OAuth and HTTP have in common. Pure: each reads an answer that the adapter got. */

const dayMs = 86_400_000;
/** Inter's own client warns this long before; a new certificate may take days of a bank's desk. */
const certificateNoticeDays = 30;

const aboutRenewal =
  "get a new certificate in the provider's panel, then `vintem connection rotate`; the old one serves until then";

/** The client certificate that we show: from when until when it is valid, and whether its chain hangs together. */
export function certificateFindings(given: ClientCertificate, now: number): Finding[] {
  const { fromMs, untilMs } = validityOf(given);
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const finding = (ok: boolean, message: string, action: string): Finding[] => [
    { check: 'certificate', ok, message, ...(ok ? {} : { action }) },
  ];
  if (untilMs <= now) return finding(false, `it has expired on ${day(untilMs)}`, aboutRenewal);
  if (fromMs > now)
    return finding(false, `it is valid from ${day(fromMs)} on`, 'compare the clock of this machine');
  const chain = chainProblem(given, now);
  if (chain !== null)
    return finding(false, chain, 'put the certificates that the provider gave into the file, ours first');
  const days = Math.floor((untilMs - now) / dayMs);
  return finding(
    days >= certificateNoticeDays,
    `it is valid until ${day(untilMs)}, ${days} days`,
    aboutRenewal,
  );
}

/** How far the clocks may differ before signatures, deadlines and windows of lists go wrong. */
const clockToleranceMs = 30_000;

/**
 * Whether the provider gives a token for the credentials, by the first call that needed one.
 * @param granted scopes of the last token; null: the provider does not name them
 */
export function tokenFindings(
  reply: Reply,
  scopes: { needed: readonly string[]; granted: readonly string[] | null },
): Finding[] {
  if (reply.kind === 'notSent') return [notReached(reply.detail)];
  if (reply.kind === 'failed')
    return [
      {
        check: 'token',
        ok: false,
        message: `the provider does not answer: ${reply.detail}`,
        action: 'look at the way to the provider: address, firewall, proxy',
      },
    ];
  if (reply.status === 401)
    return [
      {
        check: 'token',
        ok: false,
        message: 'the provider gives a token and then refuses it',
        action: 'create new credentials in its panel, for the environment of this address',
      },
    ];
  const token: Finding = { check: 'token', ok: true, message: 'the provider accepts the credentials' };
  const { needed, granted } = scopes;
  if (granted === null) return [token];
  const missing = needed.filter((scope) => !granted.includes(scope));
  return [
    token,
    missing.length === 0
      ? { check: 'scopes', ok: true, message: `all ${needed.length} permissions are granted` }
      : {
          check: 'scopes',
          ok: false,
          message: `permissions are missing: ${missing.join(', ')}`,
          action: "tick them in the application, in the provider's panel; no restart is needed",
        },
  ];
}

/** Node's errors for a server whose chain or name is not good (`X509_V_ERR_*` of OpenSSL). */
const serverCertificate =
  /SELF_SIGNED|CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|UNABLE_TO_(VERIFY|GET_ISSUER)|ALTNAME|CERT_(REVOKED|UNTRUSTED)/;

function notReached(detail: string): Finding {
  if (/invalid_scope/.test(detail))
    return {
      check: 'scopes',
      ok: false,
      message: `the provider does not grant the permissions that are asked for: ${detail}`,
      action:
        "tick them in the application, in the provider's panel, or name those that it grants as `scopes` in the credentials",
    };
  const refused = /status (400|401|403)/.test(detail);
  if (serverCertificate.test(detail))
    return {
      check: 'certificate',
      ok: false,
      message: `the provider's own certificate is not accepted: ${detail}`,
      action:
        'compare the address; a proxy in between may open TLS; update the authorities of this machine (ca-certificates)',
    };
  const certificate = /certificate|handshake|alert|EPROTO|ECONNRESET|UND_ERR_SOCKET/i.test(detail);
  return {
    check: 'token',
    ok: false,
    message: refused
      ? `the provider refuses the credentials: ${detail}`
      : `the provider is not reached: ${detail}`,
    action: refused
      ? 'compare id, secret and certificate with the panel: all three must be of one application and of the environment of this address'
      : certificate
        ? 'the provider wants another client certificate, or the address is of another environment'
        : 'look at the address and at the way to the provider: DNS, firewall, proxy',
  };
}

/** The difference of the clocks by the `Date` of an answer; none where it has none. */
export function clockFindings(reply: Reply, clock: Pick<Clock, 'now'>): Finding[] {
  const at = reply.kind === 'answer' ? Date.parse(reply.headers.date ?? '') : Number.NaN;
  if (Number.isNaN(at)) return [];
  const seconds = Math.round((clock.now() - at) / 1000);
  const ok = Math.abs(seconds) * 1000 <= clockToleranceMs;
  const message = `our clock is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the provider's`;
  return [{ check: 'clock', ok, message, ...(ok ? {} : { action: 'run a time service on every machine' }) }];
}

/** Facts that no call of the provider names: only its panel or its desk shows them. */
export const unasked = (
  check: 'payout limit' | 'automatic withdrawal' | 'fees',
  message: string,
): Finding => ({
  ...{ check, ok: true, message },
});

/** @param read cents of the balance; null: it is none */
export function balanceFinding(reply: Reply, clock: Clock, read: (body: unknown) => number | null): Finding {
  const cents = reply.kind === 'answer' && isSuccess(reply.status) ? read(reply.body) : null;
  if (cents !== null) return { check: 'balance', ok: true, message: `${cents} cents are available` };
  return {
    check: 'balance',
    ok: false,
    message: `no balance: ${unclear(reply, clock).detail}`,
    action: lacksScope(reply)
      ? 'grant the permission to read the balance; payments work without it'
      : 'ask again; payments work without it',
  };
}

/** Compares the address that is registered with ours. The secret part is never shown. */
export function webhookFinding(registered: string | null, expected: string): Finding {
  const action =
    'start the service: it registers its address; PUBLIC_URL must be how the provider reaches it';
  if (registered === null)
    return { check: 'webhook', ok: false, message: 'no address is registered', action };
  if (registered === expected) return { check: 'webhook', ok: true, message: 'our address is registered' };
  const host = URL.canParse(registered) ? new URL(registered).host : 'what is no address';
  const ours = new URL(expected).host;
  const message =
    host === ours
      ? 'an older secret address of ours is registered'
      : `another address is registered, at ${host}`;
  return { check: 'webhook', ok: false, message, action };
}

/**
 * `GET /webhook/{chave}` of API Pix says both whether the key is the account's and which address is registered for it.
 * @returns none where the answer says neither
 */
export function keyFindings(reply: Reply, webhookUrl: string): Finding[] {
  if (reply.kind !== 'answer' || lacksScope(reply)) return [];
  const own: Finding = { check: 'pix key', ok: true, message: 'the Pix key is known to the account' };
  if (isSuccess(reply.status)) {
    const registered = (reply.body as { webhookUrl?: unknown } | null | undefined)?.webhookUrl;
    return [own, webhookFinding(typeof registered === 'string' ? registered : null, webhookUrl)];
  }
  // API Pix does not say whether the key is looked at first: this proves nothing of whose it is.
  if (saysNotFound(reply.status, reply.body))
    return [
      {
        check: 'pix key',
        ok: true,
        message: 'no address is registered for the Pix key yet: whether it is of the account shows then',
      },
      webhookFinding(null, webhookUrl),
    ];
  // Anything else speaks of the provider and not of the key.
  if (![400, 403, 422].includes(reply.status)) return [];
  return [
    {
      check: 'pix key',
      ok: false,
      message: `the provider refuses the Pix key: ${reply.status} ${errorNameOf(reply.body)}`,
      action:
        "set pixKey to a key that is registered for this account, exactly as the provider's panel shows it, and grant webhook.read",
    },
  ];
}

/** Look-ups of keys that are left; each payout to a key takes one, and a key that does not exist takes twenty. */
export interface Bucket {
  name: string;
  left: number;
  capacity: number;
  /** With less than this every payout is answered 429. */
  least: number;
  perMinute: number;
}

/** @param read null: the answer names no bucket */
export function limitsFinding(reply: Reply, read: (body: unknown) => Bucket[] | null): Finding {
  const buckets = reply.kind === 'answer' && isSuccess(reply.status) ? read(reply.body) : null;
  if (buckets === null)
    return { check: 'limits', ok: true, message: 'the provider does not say what is left' };
  const said = buckets.map(({ name, left, capacity }) => `${left} of ${capacity}${name && ` (${name})`}`);
  const message = `look-ups of keys that are left: ${said.join(', ')}`;
  const empty = buckets.find(({ left, least }) => left < least);
  if (!empty) return { check: 'limits', ok: true, message };
  const minutes = Math.ceil((empty.least - empty.left) / Math.max(empty.perMinute, 1e-9));
  return {
    check: 'limits',
    ok: false,
    message,
    action: `payouts are answered 429 for about ${minutes} min; look for payouts to keys that do not exist: each costs twenty`,
  };
}
