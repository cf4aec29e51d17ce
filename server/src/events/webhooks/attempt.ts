import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { type Net, NetFailure, type NetRequest, NotSent } from '../../ports/net.ts';
import type { Sql } from '../../ports/sql.ts';
import { reportUnreadable } from '../../store/rows/unreadable.ts';
import { type Addresses, AddressRefused } from './address.ts';
import type { DueDelivery, QueueEndpoint } from './deliveries.sql.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import { type Result, retryAfterMsOf } from './schedule.ts';
import { keyOfSecret, signatureHeaders } from './sign.ts';

export interface AttemptDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  net: Net;
  secrets: Pick<Secrets, 'open'>;
  log: Log;
  addresses: Addresses;
}

/** How one attempt ended, and when it began. */
export interface Attempted {
  result: Result;
  at: number;
}

const attemptMs = 15_000;
const answerMost = 64 * 1024;
const snippetMost = 1024;
const userAgent = 'vintem-Webhooks/1';

/** Sends the event to the endpoint, whatever comes of it. */
export async function attempt(
  deps: AttemptDeps,
  queue: EndpointQueue,
  endpoint: QueueEndpoint,
  delivery: DueDelivery,
): Promise<Attempted> {
  const { addresses, clock, net } = deps;
  const at = clock.now();
  const began = clock.monotonicMs();
  const end = (result: Omit<Result, 'durationMs'>) => ({
    at,
    result: { ...result, durationMs: Math.round(clock.monotonicMs() - began) },
  });
  try {
    addresses.checkUrl(endpoint.url, endpoint);
    const keys = keysOf(deps, queue, endpoint, at);
    const { status, headers, text } = await net.request({
      ...requestOf(endpoint, delivery, keys, at),
      route: addresses.routeOf(endpoint),
    });
    const retryAfterMs = retryAfterMsOf(headers['retry-after'], clock.now());
    return end({ statusCode: status, error: null, retryAfterMs, responseSnippet: snippetOf(text) });
  } catch (error) {
    if (!(error instanceof AddressRefused || error instanceof NotSent || error instanceof NetFailure)) {
      deps.log.error({ err: error, endpoint: endpoint.endpointId }, 'an attempt could not be made');
    }
    return end({ statusCode: null, error: failureOf(error), retryAfterMs: null, responseSnippet: null });
  }
}

const requestOf = (
  { url, aheadMs }: QueueEndpoint,
  { eventId, body, made }: DueDelivery,
  keys: Buffer[],
  at: number,
): NetRequest => ({
  method: 'POST',
  url,
  headers: {
    'content-type': 'application/json',
    'user-agent': userAgent,
    ...signatureHeaders(keys, eventId, Math.floor(at / 1000), body),
    'x-webhook-attempt': String(made + 1),
    // Beside the signature, which carries the real time: a receiver's check of its age stays as strict as it is.
    ...(aheadMs !== null && { 'x-webhook-test-time': new Date(at + aheadMs).toISOString() }),
  },
  body,
  timeoutMs: attemptMs,
  maxBytes: answerMost,
  cutsLongAnswers: true,
});

/** The exact failure is not named: the log of deliveries is no scanner of ports. */
function failureOf(error: unknown): Result['error'] {
  if (error instanceof AddressRefused) return 'address not allowed';
  return error instanceof NetFailure && error.timedOut ? 'timed out' : 'connection failed';
}

/** PostgreSQL's JSON cannot hold the null character. */
const snippetOf = (text: string): string =>
  Buffer.from(text.slice(0, snippetMost)).subarray(0, snippetMost).toString('utf8').replaceAll('\0', '�');

/** Whether the endpoint's secrets can be opened. Where they cannot, an incident says so. */
export function canSign(deps: AttemptDeps, queue: EndpointQueue, endpoint: QueueEndpoint): boolean {
  try {
    keysOf(deps, queue, endpoint, deps.clock.now());
    return true;
  } catch {
    if (!queue.reported) {
      queue.reported = true;
      const { accountId, endpointId } = endpoint;
      const value = { accountId, paymentId: null, operationId: null, amountCents: 0 };
      void reportUnreadable(deps, { ...value, need: `webhook:${endpointId}` });
    }
    return false;
  }
}

function keysOf(
  { secrets }: AttemptDeps,
  queue: EndpointQueue,
  { endpointId, secret, previousSecret, previousSecretUntil }: QueueEndpoint,
  now: number,
): Buffer[] {
  const both = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now;
  const sealed = both ? [secret, previousSecret] : [secret];
  const of = sealed.map((one) => one.toString('base64')).join();
  if (queue.keys?.of !== of) {
    queue.keys = { of, keys: sealed.map((one) => keyOfSecret(secrets.open(one, endpointId).toString())) };
  }
  return queue.keys.keys;
}
