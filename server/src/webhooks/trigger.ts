import type { EventType } from '../events/event.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Net } from '../ports/net.ts';

/**
 * `vintem trigger`: makes an event happen on a test account, through the public API and the simulator's payer. What arrives is a real
 * event of a real payment.
 */
export interface Triggering {
  net: Net;
  clock: Clock;
  ids: Ids;
}

export interface TriggerOptions {
  /** `…/api/v1/public` */
  apiUrl: string;
  simulatorUrl: string;
  /** Of a test account, with the permissions of what it does. */
  key: string;
}

/**
 * A quarter of an hour passes before `transfer.unknown`, up to ten minutes before a dispute is read, and a day before a close: nothing
 * brings these about at once.
 */
export type Triggered = Exclude<EventType, 'transfer.unknown' | 'close.completed' | `dispute.${string}`>;

export const canTrigger = (type: EventType): type is Triggered =>
  type !== 'transfer.unknown' && type !== 'close.completed' && !type.startsWith('dispute.');

/** @returns what was done, by id */
export async function trigger(
  triggering: Triggering,
  options: TriggerOptions,
  type: Triggered,
): Promise<Record<string, string | number>> {
  const deps: ActDeps = { ...triggering, ...options };
  switch (type) {
    case 'charge.created':
      return { paymentId: (await createCharge(deps)).id };
    case 'charge.paid':
      return { paymentId: (await paidCharge(deps)).id };
    case 'charge.expired': {
      const { id } = await createCharge(deps);
      await control(deps, `/charges/${providerId(id)}/expire`);
      await reaches(deps, 'payment', id, 'expired');
      return { paymentId: id };
    }
    case 'charge.failed': {
      const { id } = await createCharge(deps);
      await control(deps, `/charges/${providerId(id)}/remove`);
      await reaches(deps, 'payment', id, 'failed');
      return { paymentId: id };
    }
    case 'charge.unexpected_payment': {
      const { id } = await paidCharge(deps);
      await control(deps, `/charges/${providerId(id)}/pay`);
      return { paymentId: id };
    }
    case 'transfer.created':
    case 'transfer.completed':
      return { paymentId: (await transfer(deps, 'complete', 'completed')).id };
    case 'transfer.cancelled':
      return { paymentId: (await transfer(deps, 'refuse-later', 'cancelled')).id };
    case 'transfer.returned': {
      const { id } = await transfer(deps, 'complete', 'completed');
      await control(deps, `/payouts/${providerId(id)}/return`);
      return { paymentId: id };
    }
    case 'charge.refunded':
    case 'refund.completed':
      return refund(deps, 'complete', 'completed');
    case 'refund.failed':
      return refund(deps, 'refuse-later', 'failed');
    case 'operation.created':
    case 'operation.updated':
    case 'operation.deleted':
      return operation(deps, type);
    case 'webhook.test':
      return testEndpoints(deps);
  }
}

type ActDeps = Triggering & TriggerOptions;
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

interface Made {
  id: string;
}

const amountCents = 1000;

const createCharge = (deps: ActDeps): Promise<Made> =>
  api(deps, 'POST', '/pix/charges', {
    amountCents,
    payerName: 'Maria',
    description: '',
    requestKey: deps.ids.uuid(),
  });

async function paidCharge(deps: ActDeps): Promise<Made> {
  const { id } = await createCharge(deps);
  await control(deps, `/charges/${providerId(id)}/pay`);
  await reaches(deps, 'payment', id, 'paid');
  return { id };
}

/** @param fate what the simulator does with it: the first part of its Pix key */
async function transfer(deps: ActDeps, fate: string, status: string): Promise<Made> {
  const { balanceCents } = await api<{ balanceCents: number }>(deps, 'GET', '/account');
  if (balanceCents < amountCents) await paidCharge(deps);
  const { id } = await api(deps, 'POST', '/pix/transfers', {
    amountCents,
    pixKey: `${fate}@simulator.example`,
    pixKeyType: 'EMAIL',
    description: '',
    requestKey: deps.ids.uuid(),
  });
  await reaches(deps, 'payment', id, status);
  return { id };
}

/** @param fate what the simulator does with it: the first part of its description */
async function refund(deps: ActDeps, fate: string, status: string): Promise<Record<string, string>> {
  // A charge of its own fee does not cover its whole refund.
  await paidCharge(deps);
  const { id: paymentId } = await paidCharge(deps);
  const { id: refundId } = await api(deps, 'POST', `/payments/${paymentId}/refunds`, {
    description: `${fate}@simulator.example`,
    requestKey: deps.ids.uuid(),
  });
  await reaches(deps, 'refund', refundId, status);
  return { paymentId, refundId };
}

async function operation(
  deps: ActDeps,
  type: Extract<Triggered, `operation.${string}`>,
): Promise<Record<string, string>> {
  const name = `Teste ${deps.ids.uuid().slice(-6)}`;
  const { id } = await api(deps, 'POST', '/operations', { name, requestKey: deps.ids.uuid() });
  if (type === 'operation.updated')
    await api(deps, 'PATCH', `/operations/${id}`, { name: 'Teste com outro nome' });
  // A test account has ten operations: what only tries them out leaves none behind.
  if (type !== 'operation.created') await api(deps, 'DELETE', `/operations/${id}`, {});
  return { operationId: id };
}

async function testEndpoints(deps: ActDeps): Promise<Record<string, number>> {
  const { webhooks } = await api<{ webhooks: { id: string; enabled: boolean }[] }>(deps, 'GET', '/webhooks');
  const enabled = webhooks.filter((webhook) => webhook.enabled);
  for (const { id } of enabled) await api(deps, 'POST', `/webhooks/${id}/test`, {});
  return { endpoints: enabled.length };
}

/** @throws Error when it is in another state after a minute of asking */
async function reaches(deps: ActDeps, what: 'payment' | 'refund', id: string, status: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const found = await api<{ status: string }>(deps, 'GET', `/${what}s/${id}`);
    if (found.status === status) return;
    await deps.clock.sleep(200);
  }
  throw new Error(`${what} ${id} did not become ${status}`);
}

/** What the payer, or the other side of a payout, does in the simulator. */
const control = (deps: ActDeps, path: string): Promise<unknown> =>
  ask(deps, 'POST', `${deps.simulatorUrl}/control${path}`, {});

const providerId = (id: string): string => id.replaceAll('-', '');

const api = <Answer = Made>(deps: ActDeps, method: Method, path: string, body?: object): Promise<Answer> =>
  ask<Answer>(deps, method, deps.apiUrl + path, body);

/** @throws Error without an answer, and for one that is no success */
async function ask<Answer>(
  { net, apiUrl, key }: ActDeps,
  method: Method,
  url: string,
  body?: object,
): Promise<Answer> {
  const { status, text } = await net
    .request({
      method,
      url,
      headers: {
        ...(url.startsWith(apiUrl) ? { authorization: `Bearer ${key}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      timeoutMs: 20_000,
    })
    .catch((error: unknown) => {
      const option = url.startsWith(apiUrl) ? '--url' : 'SIMULATOR_URL';
      throw new Error(
        `no answer from ${new URL(url).origin} (${(error as Error).message}): is it running there? See ${option}`,
      );
    });
  const answer = JSON.parse(text) as Answer & { message?: unknown };
  if (status >= 300)
    throw new Error(`${method} ${url} answered ${status}: ${String(answer.message ?? text)}`);
  return answer;
}
