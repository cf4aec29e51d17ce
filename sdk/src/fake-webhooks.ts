import { sampleEventTypes } from './fake-event-types.ts';
import {
  type Answer,
  accountNow,
  dayMs,
  type Endpoint,
  hourMs,
  invalid,
  isoNow,
  known,
  one,
  pageOf,
  type Received,
  Refusal,
  type State,
  type StoredDelivery,
  secondMs,
  textOf,
  timeOf,
} from './fake-state.ts';
import { makeSecret, sampleEvent } from './samples.ts';
import type { Delivery, EventType, VintemEvent, Webhook } from './types.ts';
import { keyOfSecret, signatureOf } from './webhook.ts';

/** What stands at the addresses of the endpoints: takes a signed event as a request and answers it. */
export type Receive = (request: Request) => Response | Promise<Response>;

const hintOf = (secret: string): string => `whsec_…${secret.replace(/={1,2}$/, '').slice(-4)}`;

const viewOf = (endpoint: Endpoint): Webhook => {
  const { secret, previous, failedAttempts, failedDeliveries, ...shown } = endpoint;
  const isFailing = failedAttempts >= 20 || failedDeliveries >= 5;
  return { ...shown, status: !shown.enabled ? 'disabled' : isFailing ? 'failing' : 'active' };
};

const endpointOf = (state: State, id: string | undefined): Endpoint =>
  one(state.endpoints, id, 'webhook_not_found');

/** @throws Refusal `webhook_disabled` */
function enabledOf(state: State, id: string | undefined): Endpoint {
  const endpoint = endpointOf(state, id);
  if (!endpoint.enabled) throw new Refusal(400, 'webhook_disabled');
  return endpoint;
}

// ---------------------------------------------------------------------------------------------------------------- endpoints

export const listEndpoints = (state: State): Answer => ({
  status: 200,
  body: { webhooks: state.endpoints.map(viewOf), limit: 10 },
});

export const showEndpoint = (state: State, { ids }: Received): Answer => ({
  status: 200,
  body: viewOf(endpointOf(state, ids[0])),
});

export const listEventTypes = (): Answer => ({
  status: 200,
  body: {
    eventTypes: Object.entries(sampleEventTypes).map(([type, description]) => ({
      type,
      description,
      schemaVersion: 1,
    })),
  },
});

/** The members of a creation or a change, as they are kept; what is not given stays away. */
function wantedOf(state: State, body: Record<string, unknown>): Partial<Endpoint> {
  const wanted: Partial<Endpoint> = {};
  if (body.url !== undefined) wanted.url = urlOf(textOf(body, 'url', 1, 2048));
  if (body.events !== undefined) wanted.events = eventsOf(body.events);
  if (body.description !== undefined)
    wanted.description =
      body.description === null ? null : textOf(body, 'description', 0, 200).trim() || null;
  if (body.operationIds !== undefined) wanted.operationIds = operationsOf(state, body.operationIds);
  return wanted;
}

function urlOf(url: string): string {
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new Refusal(400, 'webhook_url_not_allowed');
  return url;
}

function eventsOf(given: unknown): string[] {
  if (!Array.isArray(given) || given.length === 0) throw invalid('events', 'required');
  for (const type of given)
    if (type !== '*' && !(type in sampleEventTypes)) throw invalid('events', 'not_one_of');
  return given.includes('*') ? ['*'] : [...new Set(given as string[])].sort();
}

function operationsOf(state: State, given: unknown): string[] | null {
  if (given === null) return null;
  if (!Array.isArray(given)) throw invalid('operationIds', 'not_an_array');
  for (const id of given)
    one(
      state.operations.filter(({ deleted }) => !deleted),
      String(id),
      'operation_not_found',
    );
  return [...new Set(given as string[])].sort();
}

export function createEndpoint(state: State, { body }: Received): Answer {
  known(body, ['url', 'events', 'description', 'operationIds', 'requestKey']);
  textOf(body, 'url', 1, 2048);
  if (body.events === undefined) throw invalid('events', 'required');
  const wanted = wantedOf(state, body);
  if (state.endpoints.length >= 10) throw new Refusal(400, 'webhook_limit_reached');
  const at = isoNow();
  const secret = makeSecret();
  const endpoint: Endpoint = {
    id: crypto.randomUUID(),
    url: '',
    events: [],
    description: null,
    operationIds: null,
    enabled: true,
    disabledReason: null,
    disabledAt: null,
    secretHint: hintOf(secret),
    schemaVersion: 1,
    createdAt: at,
    updatedAt: at,
    ...wanted,
    secret,
    previous: null,
    failedAttempts: 0,
    failedDeliveries: 0,
  };
  state.endpoints.push(endpoint);
  // The secret is shown once, not to a repeat.
  return { status: 201, body: { ...viewOf(endpoint), secret }, again: () => viewOf(endpoint) };
}

export function changeEndpoint(state: State, { ids, body, server }: Received): Answer {
  known(body, ['url', 'events', 'description', 'operationIds', 'enabled']);
  const endpoint = endpointOf(state, ids[0]);
  const wanted = wantedOf(state, body);
  const enabled = body.enabled === undefined ? endpoint.enabled : body.enabled === true;
  if (enabled && !endpoint.enabled) Object.assign(endpoint, { failedAttempts: 0, failedDeliveries: 0 });
  Object.assign(endpoint, wanted, { updatedAt: isoNow() });
  if (enabled) Object.assign(endpoint, { enabled, disabledReason: null, disabledAt: null });
  else if (endpoint.enabled) disable(endpoint, 'by_request');
  deliverDue(state, server.receive);
  return { status: 200, body: viewOf(endpoint) };
}

const disable = (endpoint: Endpoint, disabledReason: string): void =>
  void Object.assign(endpoint, { enabled: false, disabledReason, disabledAt: isoNow() });

export function removeEndpoint(state: State, { ids }: Received): Answer {
  const endpoint = endpointOf(state, ids[0]);
  state.endpoints = state.endpoints.filter((each) => each !== endpoint);
  return { status: 200, body: { ok: true } };
}

export function rotateSecret(state: State, { ids, body }: Received): Answer {
  known(body, ['overlapHours', 'force']);
  const endpoint = endpointOf(state, ids[0]);
  const overlapHours = Number(body.overlapHours ?? 24);
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > 168)
    throw invalid('overlapHours', 'out_of_range');
  if (body.force !== true && endpoint.previous !== null && endpoint.previous.until > Date.now())
    throw new Refusal(400, 'rotation_in_progress');
  const until = Date.now() + overlapHours * hourMs;
  const secret = makeSecret();
  Object.assign(endpoint, {
    secret,
    secretHint: hintOf(secret),
    previous: overlapHours === 0 ? null : { secret: endpoint.secret, until },
    updatedAt: isoNow(),
  });
  return { status: 200, body: { secret, previousSecretExpiresAt: new Date(until).toISOString() } };
}

// --------------------------------------------------------------------------------------------------------------- deliveries

/** After the failure before it: those of an account with a test clock; without one there are four attempts. */
const waitsMs = [0, 5, 30, 120, 600, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
  (seconds) => seconds * secondMs,
);
const attemptsOf = ({ clock }: State): number => (clock.started ? waitsMs.length : 4);
const attemptMs = 15_000;

/** Assigns an event to the endpoints that want it. */
export function fanOut(state: State, event: VintemEvent): void {
  const place = state.events.indexOf(event);
  for (const endpoint of state.endpoints) {
    if (!hears(endpoint, event)) continue;
    const delivery = newDelivery(state, endpoint, event, { place, triesLeft: attemptsOf(state) });
    if (!endpoint.enabled) delivery.status = 'skipped';
  }
}

function hears({ events, operationIds }: Endpoint, { type, data }: VintemEvent): boolean {
  if (!events.includes('*') && !events.includes(type)) return false;
  return operationIds === null || operationIds.includes((data as { operationId: string }).operationId);
}

function newDelivery(
  state: State,
  endpoint: Endpoint,
  event: VintemEvent,
  { place, triesLeft }: { place: number; triesLeft: number },
): StoredDelivery {
  const delivery: StoredDelivery = {
    id: crypto.randomUUID(),
    endpointId: endpoint.id,
    eventId: event.id,
    type: event.type,
    status: 'pending',
    attempts: [],
    createdAt: isoNow(),
    body: JSON.stringify(event),
    place,
    dueAt: accountNow(state),
    triesLeft,
    made: 0,
  };
  state.deliveries.push(delivery);
  return delivery;
}

/** Makes the attempts that are due by the account's time, one after the other. No timer waits for later ones: the next request looks again. */
export function deliverDue(state: State, receive: Receive): Promise<void> {
  state.delivering = state.delivering.then(async () => {
    for (;;) {
      const [next] = state.deliveries
        .filter(({ status, dueAt }) => status === 'pending' && dueAt <= accountNow(state))
        .filter(({ endpointId }) => state.endpoints.find(({ id }) => id === endpointId)?.enabled)
        .sort((before, after) => before.dueAt - after.dueAt);
      if (!next) return;
      await attempt(state, endpointOf(state, next.endpointId), next, receive);
    }
  });
  return state.delivering;
}

async function attempt(
  state: State,
  endpoint: Endpoint,
  delivery: StoredDelivery,
  receive: Receive,
): Promise<void> {
  const at = isoNow();
  const began = Date.now();
  const answer = await ask(receive, requestOf(state, endpoint, delivery));
  delivery.made++;
  const { retryAfterMs, ...told } = answer;
  const made = { n: delivery.made, at, ...told, durationMs: Date.now() - began };
  delivery.attempts = [...delivery.attempts, made].slice(-50);
  const { statusCode } = answer;
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) {
    delivery.status = 'delivered';
    Object.assign(endpoint, { failedAttempts: 0, failedDeliveries: 0 });
    return;
  }
  endpoint.failedAttempts++;
  const triedMost = delivery.triesLeft <= 1 || statusCode === 410;
  const done = attemptsOf(state) - delivery.triesLeft + 1;
  const waitMs = Math.max(waitsMs[Math.max(1, done)] ?? dayMs, Math.min(retryAfterMs, dayMs));
  delivery.triesLeft--;
  if (triedMost) {
    delivery.status = 'failed';
    endpoint.failedDeliveries++;
  } else delivery.dueAt += waitMs;
  if (statusCode === 410) disable(endpoint, 'gone');
}

function requestOf(state: State, { url, secret, previous }: Endpoint, delivery: StoredDelivery): Request {
  const { eventId, body, made, dueAt } = delivery;
  const timestamp = String(Math.floor(Date.now() / 1000));
  const secrets = previous !== null && previous.until > Date.now() ? [secret, previous.secret] : [secret];
  const bytes = new TextEncoder().encode(body);
  const signatures = secrets.map((each) => signatureOf(keyOfSecret(each), eventId, timestamp, bytes));
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'vintem-Webhooks/1',
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
    'x-webhook-attempt': String(made + 1),
    ...(state.clock.started && { 'x-webhook-test-time': new Date(dueAt).toISOString() }),
  };
  return new Request(url, { method: 'POST', headers, body });
}

interface Asked {
  statusCode: number | null;
  error: string | null;
  responseSnippet: string | null;
  retryAfterMs: number;
}

/** A failure or a time-out is reported in the same way as a lost connection. */
async function ask(receive: Receive, request: Request): Promise<Asked> {
  const lost = { statusCode: null, responseSnippet: null, retryAfterMs: 0 };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<'late'>((end) => {
    timer = setTimeout(() => end('late'), attemptMs);
  });
  try {
    const answer = await Promise.race([late, receive(request)]);
    if (answer === 'late') return { ...lost, error: 'timed out' };
    const { status: statusCode, headers } = answer;
    const asked = Number(headers.get('retry-after') ?? 0) * secondMs;
    const retryAfterMs = (statusCode === 429 || statusCode === 503) && asked > 0 ? asked : 0;
    const responseSnippet = (await answer.text()).slice(0, 1024);
    return { statusCode, error: null, responseSnippet, retryAfterMs };
  } catch {
    return { ...lost, error: 'connection failed' };
  } finally {
    clearTimeout(timer);
  }
}

const viewOfDelivery = (state: State, delivery: StoredDelivery): Delivery => {
  const { id, eventId, type, status, attempts, createdAt, dueAt } = delivery;
  const nextAttemptAt = status === 'pending' ? new Date(dueAt - state.clock.aheadMs).toISOString() : null;
  return { id, eventId, type, status, attempts, nextAttemptAt, createdAt };
};

/** Those of the newest events first. */
export function listDeliveries(state: State, { ids, query }: Received): Answer {
  endpointOf(state, ids[0]);
  const is = (name: string, value: string) => !query.has(name) || query.get(name) === value;
  const fits = state.deliveries
    .filter(
      ({ endpointId, status, eventId }) =>
        endpointId === ids[0] && is('status', status) && is('eventId', eventId),
    )
    .sort((before, after) => after.place - before.place);
  const { items, ...rest } = pageOf(fits, query);
  return { status: 200, body: { deliveries: items.map((each) => viewOfDelivery(state, each)), ...rest } };
}

function deliveryOf(state: State, [endpointId, id]: string[]): StoredDelivery {
  endpointOf(state, endpointId);
  const own = state.deliveries.filter((each) => each.endpointId === endpointId);
  return one(own, id, 'delivery_not_found');
}

export const showDelivery = (state: State, { ids }: Received): Answer => ({
  status: 200,
  body: viewOfDelivery(state, deliveryOf(state, ids)),
});

/** One attempt more, now; where attempts are still to come, this one is the next of them. */
export function retryDelivery(state: State, { ids, server }: Received): Answer {
  const delivery = deliveryOf(state, ids);
  enabledOf(state, ids[0]);
  if (delivery.status !== 'pending') delivery.triesLeft = 1;
  Object.assign(delivery, { status: 'pending', dueAt: accountNow(state) });
  deliverDue(state, server.receive);
  return { status: 202, body: { deliveryId: delivery.id } };
}

/** A sample to one endpoint alone: one attempt, and neither in the log nor in the stream. */
export function sendTest(state: State, { ids, body, server }: Received): Answer {
  known(body, ['type']);
  const type = body.type ?? 'webhook.test';
  if (!(String(type) in sampleEventTypes)) throw invalid('type', 'not_one_of');
  const endpoint = enabledOf(state, ids[0]);
  const main = state.operations.find(({ isDefault, deleted }) => isDefault && !deleted);
  const event = sampleEvent(type as EventType, { operationId: main?.id }) as VintemEvent;
  const place = state.events.length - 0.5;
  const { id: deliveryId } = newDelivery(state, endpoint, event, { place, triesLeft: 1 });
  deliverDue(state, server.receive);
  return { status: 202, body: { deliveryId } };
}

/** Sends the events of a stretch of time again. */
export function replay(state: State, { ids, body, server }: Received): Answer {
  known(body, ['from', 'to', 'types', 'onlyFailed']);
  const endpoint = enabledOf(state, ids[0]);
  const [from, to] = [timeOf(body, 'from'), body.to === undefined ? Date.now() + 1 : timeOf(body, 'to')];
  if (to <= from) throw invalid('to', 'not_after_from');
  if (to - from > 7 * dayMs) throw new Refusal(400, 'replay_window_too_long');
  const types = body.types as string[] | undefined;
  const again: StoredDelivery[] = [];
  for (const [place, event] of state.events.entries()) {
    const at = Date.parse(event.timestamp);
    if (at < from || at >= to || (types && !types.includes(event.type))) continue;
    const before = state.deliveries.find(
      ({ endpointId, eventId }) => endpointId === endpoint.id && eventId === event.id,
    );
    if (before) {
      const isLeft = before.status === 'failed' || before.status === 'skipped';
      if (isLeft || (body.onlyFailed === false && before.status === 'delivered')) again.push(before);
    } else if (body.onlyFailed === false && hears(endpoint, event))
      again.push(newDelivery(state, endpoint, event, { place, triesLeft: 0 }));
  }
  for (const delivery of again)
    Object.assign(delivery, { status: 'pending', dueAt: accountNow(state), triesLeft: attemptsOf(state) });
  deliverDue(state, server.receive);
  return { status: 202, body: { scheduled: again.length } };
}
