import { hash, timingSafeEqual } from 'node:crypto';
import { arrayIn } from '../bacen.ts';
import { failureOf, isSuccess, type Reply, readList, unclear } from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  AccountOutcome,
  Finding,
  ListOutcome,
  ListWindow,
  ProviderCost,
  UnreadItem,
  WebhookContent,
  WebhookDelivery,
  WebhookNews,
} from '../provider.ts';
import { dayAt, recordOf, textOf } from './asaas-bodies.ts';
import { type AsaasDeps, pages } from './asaas-lists.ts';

/** The calls of an account of Asaas, whatever it is used for. */

/** docs.asaas.com/docs/webhooks: at least 32 characters. */
export const tokenLeast = 32;

export function jsonOf(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    return null;
  }
}

export const isToken = (given: unknown, wanted: string): boolean =>
  typeof given === 'string' &&
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', wanted, 'buffer'));

/** Refused at the door: the request was not read. */
export const notRead = (reply: Reply): { outcome: 'notSent'; detail: string } | null => {
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  const isRefused = reply.kind === 'answer' && reply.status === 401;
  return isRefused ? { outcome: 'notSent', detail: 'the provider refused our API key' } : null;
};

// ------------------------------------------------------------------------------------------ deliveries

/** The token proves that Asaas sent it, and nothing of what it says: that is asked for. */
export function contentOf(
  { headers, rawBody }: Pick<WebhookDelivery, 'headers' | 'rawBody'>,
  token: string,
  read: (rawBody: Buffer) => WebhookNews | null,
): WebhookContent {
  if (!isToken(headers['asaas-access-token'], token))
    return { authentic: false, reason: 'the token is not ours' };
  const news = read(rawBody);
  return news === null ? { authentic: false, reason: 'the body is no JSON' } : { authentic: true, ...news };
}

/**
 * docs.asaas.com/docs/api-key-events: Asaas disables a key that is not used, and later lets it expire. A new key that no person of the company has made is a stranger's.
 */
export const keyEvents = [
  ...['ACCESS_TOKEN_CREATED', 'ACCESS_TOKEN_ENABLED', 'ACCESS_TOKEN_DISABLED', 'ACCESS_TOKEN_DELETED'],
  ...['ACCESS_TOKEN_EXPIRING_SOON', 'ACCESS_TOKEN_EXPIRED'],
] as const;

/** The news of an API key, for a person; null: the delivery is about something else. */
export function keyNewsIn(body: Record<string, unknown>): UnreadItem | null {
  const event = textOf(body.event);
  if (event === null || !(keyEvents as readonly string[]).includes(event)) return null;
  const id = textOf(recordOf(body.accessToken)?.id) ?? textOf(body.id);
  return { kind: 'key', name: `${event} ${id}`, providerId: null, endToEnd: null, body };
}

const webhooksPath = '/v3/webhooks?limit=100';
export const webhooksCall = { method: 'GET', path: webhooksPath } as const;

interface Registered {
  id: string;
  works: boolean;
  interrupted: boolean;
}

function registeredIn(body: unknown, url: string, wanted: readonly string[]): Registered | null {
  const own = (arrayIn(body, 'data') ?? []).map(recordOf).find((one) => one?.url === url);
  const id = textOf(own?.id);
  if (!own || id === null) return null;
  const events = arrayIn(own, 'events') ?? [];
  const works = own.enabled === true && wanted.every((event) => events.includes(event));
  return { id, works, interrupted: own.interrupted === true };
}

/** Asaas stops a queue after fifteen failures in a row; the start of the service starts it again. */
export async function registerWebhook(
  { exchange, clock }: AsaasDeps,
  { email, webhookToken, events }: { email: string; webhookToken: string; events: readonly string[] },
  url: string,
): Promise<void> {
  const failed = (reply: Reply): Error =>
    failureOf('the provider did not take our webhook address', reply, clock);
  const there = await exchange(webhooksCall);
  if (there.kind !== 'answer' || !isSuccess(there.status)) throw failed(there);
  const own = registeredIn(there.body, url, events);
  const reply = await exchange({
    method: own === null ? 'POST' : 'PUT',
    path: own === null ? '/v3/webhooks' : `/v3/webhooks/${encodeURIComponent(own.id)}`,
    body: {
      ...{ name: 'vintem', url, email, enabled: true, interrupted: false, apiVersion: 3 },
      ...{ authToken: webhookToken, sendType: 'NON_SEQUENTIALLY', events },
    },
  });
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) throw failed(reply);
}

/** @param body of `webhooksCall` */
export function webhookFindingOf(body: unknown, url: string, events: readonly string[]): Finding {
  const own = registeredIn(body, url, events);
  const action =
    'start the service: it registers its address and starts a stopped queue; PUBLIC_URL must be how the provider reaches it';
  if (own === null) return { check: 'webhook', ok: false, message: 'our address is not registered', action };
  if (own.interrupted)
    return { check: 'webhook', ok: false, message: 'its queue was stopped after failures', action };
  if (!own.works)
    return { check: 'webhook', ok: false, message: 'our address lacks events, or is switched off', action };
  return { check: 'webhook', ok: true, message: `our address is registered for all ${events.length} events` };
}

// --------------------------------------------------------------------------------------------- account

/** @param baseUrl part of the identity; null: of the simulator */
export async function askAccount(
  { exchange, clock }: AsaasDeps,
  baseUrl: string | null,
): Promise<AccountOutcome> {
  const reply = await exchange({ method: 'GET', path: '/v3/myAccount/accountNumber' });
  const body = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  const [agency, account, digit] = [body?.agency, body?.account, body?.accountDigit].map(textOf);
  if (agency == null || account == null) return unclear(reply, clock);
  return { outcome: 'found', identity: identityOf(baseUrl, [agency, account, digit ?? '']) };
}

export const balanceCall = { method: 'GET', path: '/v3/finance/balance' } as const;

export const balanceIn = (body: unknown): number | null => {
  const value = recordOf(body)?.balance;
  return typeof value === 'number' ? centsOfBalance(value) : null;
};

const centsOfBalance = (value: number): number | null => {
  const cents = Math.round(value * 100);
  return Number.isSafeInteger(cents) && Math.abs(cents / 100 - value) < 1e-6 ? cents : null;
};

/** The free balance in cents. @throws Error Asaas does not say it */
export async function askFreeBalance({ exchange, clock }: AsaasDeps): Promise<number> {
  const reply = await exchange(balanceCall);
  const cents = reply.kind === 'answer' && isSuccess(reply.status) ? balanceIn(reply.body) : null;
  if (cents === null) throw failureOf('no balance', reply, clock);
  return cents;
}

/** Until 2024 the API stood below `asaas.com/api` and `sandbox.asaas.com/api` (docs.asaas.com, changelog of 2024-07-19). */
export const olderHosts = { live: ['asaas.com', 'www.asaas.com'], test: ['sandbox.asaas.com'] } as const;

/** Each fee is a line of its own, of a day: it is read by whole days. */
export const listCosts = (
  deps: AsaasDeps,
  { fromMs, toMs, wholeOnly }: ListWindow,
  read: (line: unknown) => ProviderCost | 'foreign' | null,
): Promise<ListOutcome<ProviderCost>> =>
  readList(deps.exchange, deps.clock, {
    ...pages(
      deps,
      'cost',
      () => `/v3/financialTransactions?startDate=${dayAt(fromMs)}&finishDate=${dayAt(toMs)}`,
    ),
    read,
    wholeOnly,
  });
