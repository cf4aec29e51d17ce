import { readFileSync } from 'node:fs';
import { type Call, control, pause, pixKeyOf } from './clients.ts';
import type { Entry, Truth } from './history.ts';

/** Transfers of a load that a restore may have lost: asked for again with the same keys, none may be paid twice. */

/** A transfer as its client asked for it. */
export interface Asked {
  requestKey: string;
  operationId: string;
  /** Null: no answer named one. */
  paymentId: string | null;
}

/** One for each request key of a history. */
export function transfersAsked(historyPath: string): Asked[] {
  const asked = new Map<string, Asked>();
  for (const line of readFileSync(historyPath, 'utf8').split('\n').filter(Boolean)) {
    const { call, requestKey, operationId, paymentId } = JSON.parse(line) as Entry;
    if (call !== 'transfer' || requestKey === null) continue;
    if (!asked.get(requestKey)?.paymentId) asked.set(requestKey, { requestKey, operationId, paymentId });
  }
  return [...asked.values()];
}

/** How many of those that were acknowledged the service does not know. @returns besides by status, for the message */
export async function countLost(
  call: Call,
  asked: readonly Asked[],
): Promise<{ lost: number; looked: Record<number, number> }> {
  const looked: Record<number, number> = {};
  for (const { paymentId, operationId } of asked) {
    if (paymentId === null) continue;
    const { status } = await call('GET', `/payments/${paymentId}`, undefined, operationId);
    looked[status] = (looked[status] ?? 0) + 1;
  }
  return { lost: looked[404] ?? 0, looked };
}

const repeat = (call: Call, { requestKey, operationId }: Asked) =>
  call(
    'POST',
    '/pix/transfers',
    {
      ...{ amountCents: 1_000, pixKey: pixKeyOf(requestKey), pixKeyType: 'EMAIL', description: '' },
      requestKey,
    },
    operationId,
  );

type Must = (holds: boolean, what: string) => void;

/** Before `reconcile` each is known already or refused as paused. @returns how many were refused */
export async function askWhilePaused(call: Call, asked: readonly Asked[], must: Must): Promise<number> {
  let paused = 0;
  for (const one of asked) {
    const { status, body } = await repeat(call, one);
    const already = (body?.id ?? body?.paymentId) !== undefined;
    must(
      already || (status === 503 && body?.code === 'withdrawals_paused'),
      `before reconcile a transfer was answered ${status} ${body?.code}`,
    );
    if (!already) paused++;
  }
  return paused;
}

export async function completePending(simulatorUrl: string): Promise<void> {
  const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
  for (const { idEnvio, status } of truth.payouts)
    if (status === 'pending')
      await control(simulatorUrl, 'POST', `/control/payouts/${idEnvio}/complete`).catch(() => {});
}

interface Place {
  call: Call;
  operations: readonly string[];
  simulatorUrl: string;
  must: Must;
}

/** Sends every request once more and waits until nothing is reserved. @returns how many payouts the provider accepted twice */
export async function repeatAll(
  { call, operations, simulatorUrl, must }: Place,
  asked: readonly Asked[],
): Promise<number> {
  for (const one of asked) {
    const { status, body } = await repeat(call, one);
    const id = (body?.id ?? body?.paymentId) as string | undefined;
    must(
      one.paymentId === null || id === undefined || id === one.paymentId,
      `${one.requestKey} was ${one.paymentId} and is ${id}`,
    );
    must(status < 500, `a repeat was answered ${status} ${body?.code}`);
  }
  const deadline = Date.now() + 90_000;
  for (;;) {
    await completePending(simulatorUrl);
    const accounts = await Promise.all(operations.map((id) => call('GET', '/account', undefined, id)));
    if (accounts.every(({ body }) => body?.reservedWithdrawalCents === 0)) break;
    if (Date.now() > deadline) {
      must(false, 'reserves were left after 90 s');
      break;
    }
    await pause(1_000);
  }
  const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
  const twice = truth.payouts.filter(({ timesAccepted }) => timesAccepted > 1);
  for (const { idEnvio, timesAccepted } of twice) must(false, `${idEnvio} was paid ${timesAccepted} times`);
  const ids = new Set(asked.map(({ paymentId }) => paymentId?.replaceAll('-', '')));
  const strangers = truth.payouts.filter(({ idEnvio }) => !ids.has(idEnvio)).length;
  const unnamed = asked.filter(({ paymentId }) => paymentId === null).length;
  must(strangers <= unnamed, `${strangers} payouts belong to no request key`);
  return twice.length;
}
