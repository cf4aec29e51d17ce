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
  { net, clock, ids }: Triggering,
  { apiUrl, simulatorUrl, key }: TriggerOptions,
  type: Triggered,
): Promise<Record<string, string | number>> {
  const amountCents = 1000;

  async function ask<Answer>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
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
  const api = <Answer = { id: string }>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ) => ask<Answer>(method, apiUrl + path, body);
  const payer = (path: string): Promise<unknown> => ask('POST', `${simulatorUrl}/control${path}`, {});
  const providerId = (id: string): string => id.replaceAll('-', '');

  const charge = (): Promise<{ id: string }> =>
    api('POST', '/pix/charges', { amountCents, payerName: 'Maria', description: '', requestKey: ids.uuid() });

  async function reaches(id: string, status: string): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      const payment = await api<{ status: string }>('GET', `/payments/${id}`);
      if (payment.status === status) return;
      await clock.sleep(200);
    }
    throw new Error(`payment ${id} did not become ${status}`);
  }

  async function paid(): Promise<{ id: string }> {
    const { id } = await charge();
    await payer(`/charges/${providerId(id)}/pay`);
    await reaches(id, 'paid');
    return { id };
  }

  async function transfer(fate: string, status: string): Promise<{ id: string }> {
    const { balanceCents } = await api<{ balanceCents: number }>('GET', '/account');
    if (balanceCents < amountCents) await paid();
    const { id } = await api('POST', '/pix/transfers', {
      amountCents,
      pixKey: `${fate}@simulator.example`,
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: ids.uuid(),
    });
    await reaches(id, status);
    return { id };
  }

  const operation = (): Promise<{ id: string }> =>
    api('POST', '/operations', { name: `Teste ${ids.uuid().slice(-6)}`, requestKey: ids.uuid() });

  async function refund(fate: string, status: string): Promise<Record<string, string>> {
    // A charge of its own fee does not cover its whole refund.
    await paid();
    const { id: paymentId } = await paid();
    const { id: refundId } = await api('POST', `/payments/${paymentId}/refunds`, {
      description: `${fate}@simulator.example`,
      requestKey: ids.uuid(),
    });
    for (let tries = 0; tries < 300; tries++) {
      if ((await api<{ status: string }>('GET', `/refunds/${refundId}`)).status === status)
        return { paymentId, refundId };
      await clock.sleep(200);
    }
    throw new Error(`refund ${refundId} did not become ${status}`);
  }

  switch (type) {
    case 'charge.created':
      return { paymentId: (await charge()).id };
    case 'charge.paid':
      return { paymentId: (await paid()).id };
    case 'charge.expired': {
      const { id } = await charge();
      await payer(`/charges/${providerId(id)}/expire`);
      await reaches(id, 'expired');
      return { paymentId: id };
    }
    case 'charge.failed': {
      const { id } = await charge();
      await payer(`/charges/${providerId(id)}/remove`);
      await reaches(id, 'failed');
      return { paymentId: id };
    }
    case 'charge.unexpected_payment': {
      const { id } = await paid();
      await payer(`/charges/${providerId(id)}/pay`);
      return { paymentId: id };
    }
    case 'transfer.created':
    case 'transfer.completed':
      return { paymentId: (await transfer('complete', 'completed')).id };
    case 'transfer.cancelled':
      return { paymentId: (await transfer('refuse-later', 'cancelled')).id };
    case 'transfer.returned': {
      const { id } = await transfer('complete', 'completed');
      await payer(`/payouts/${providerId(id)}/return`);
      return { paymentId: id };
    }
    case 'charge.refunded':
    case 'refund.completed':
      return refund('complete', 'completed');
    case 'refund.failed':
      return refund('refuse-later', 'failed');
    case 'operation.created':
    case 'operation.updated':
    case 'operation.deleted': {
      const { id } = await operation();
      if (type === 'operation.updated')
        await api('PATCH', `/operations/${id}`, { name: 'Teste com outro nome' });
      // A test account has ten operations: what only tries them out leaves none behind.
      if (type !== 'operation.created') await api('DELETE', `/operations/${id}`, {});
      return { operationId: id };
    }
    case 'webhook.test': {
      const { webhooks } = await api<{ webhooks: { id: string; enabled: boolean }[] }>('GET', '/webhooks');
      const enabled = webhooks.filter((webhook) => webhook.enabled);
      for (const { id } of enabled) await api('POST', `/webhooks/${id}/test`, {});
      return { endpoints: enabled.length };
    }
  }
}
