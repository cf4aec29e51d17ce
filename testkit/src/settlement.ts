import { createHmac } from 'node:crypto';
import { accept } from '../../server/src/flow/accept.ts';
import { createFollowUp } from '../../server/src/flow/follow-up.ts';
import type { Caller } from '../../server/src/ground/caller.ts';
import { permissions } from '../../server/src/ground/permissions.ts';
import type { Secrets } from '../../server/src/ground/secrets.ts';
import { transfer } from '../../server/src/kinds/transfer/transfer.ts';
import type { Runtime } from '../../server/src/main/runtime.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import type { Till } from '../../server/src/store/till.ts';
import type { Merchant, Service } from './service.ts';
import { withParts } from './with-parts.ts';

/** The provider's id of a payment. */
export const providerIdOf = (id: string): string => id.replaceAll('-', '');

/** The same process at another time: its wall clock and that of its till are ahead, and no caller waits. */
export function later(runtime: Runtime, aheadMs: number): Runtime {
  const ahead = () => runtime.clock.now() + aheadMs;
  const clock = { ...runtime.clock, now: ahead, machineMs: ahead };
  // Ids begin with the time, and some are found by it.
  const ids = systemIds(clock);
  return withParts(runtime, ({ till }) => ({ till: tillAt(till, ahead), clock, ids }));
}

/** The same till, which decides at the time of another clock. */
export const tillAt = (till: Till, now: () => number): Till => ({
  ...till,
  submit: (command) => till.submit({ ...command, decide: (view) => command.decide(view, now()) }),
});

/** Another process over the same database and provider, that leaves its sends to the workers unless asked otherwise. */
export const beside = (runtime: Runtime, more: Partial<Runtime> = {}): Runtime => ({
  ...runtime,
  settings: { ...runtime.settings, transferWaitMs: 0 },
  ...more,
});

export async function callerOf(service: Service, merchant: Merchant): Promise<Caller> {
  const [row] = await service.database.admin<{ number: string; key: string }>(
    'SELECT a.number, k.id AS key FROM vintem.account a JOIN vintem.api_key k ON k.account_id = a.id WHERE a.id = $1',
    [merchant.ownerId],
  );
  return {
    accountId: merchant.ownerId,
    accountNumber: Number(row?.number),
    operationId: merchant.operationId,
    operationNamed: true,
    keyId: row?.key ?? '',
    permissions: new Set(permissions),
    test: true,
    connection: 'simulator',
    requestId: 'test',
  };
}

export const orderTo = (behaviour: string, requestKey: string = crypto.randomUUID()) => ({
  amountCents: 1000,
  pixKey: behaviour.includes('@') ? behaviour : `${behaviour}@simulator.example`,
  pixKeyType: 'EMAIL' as const,
  description: '',
  requestKey,
});

/** A transfer that is committed and left to the workers. */
export async function leave(service: Service, merchant: Merchant, behaviour: string): Promise<string> {
  const { row: payment } = await accept(
    beside(service.cellOf(merchant)),
    transfer,
    await callerOf(service, merchant),
    orderTo(behaviour),
  );
  return payment.id;
}

export const statusOf = async (service: Service, id: string): Promise<string> =>
  (await service.database.admin<{ status: string }>('SELECT status FROM payment WHERE id = $1', [id]))[0]
    ?.status ?? 'none';

export async function intentOf(service: Service, id: string) {
  const [row] = await service.database.admin<{
    state: string;
    attempt: number;
    known: boolean;
    due_at: Date;
    lease_until: Date | null;
    failures: number;
  }>('SELECT state, attempt, known, due_at, lease_until, failures FROM intent WHERE payment_id = $1', [id]);
  return row;
}

export const incidentsOf = (service: Service, id: string) =>
  service.database.admin<{ kind: string; amount_cents: string; state: string }>(
    'SELECT kind, amount_cents, state FROM incident WHERE payment_id = $1 ORDER BY opened_at, id',
    [id],
  );

/** Templates of the journals about a subject, in the order in which they were posted. */
export const journalsOf = async (service: Service, subject: string): Promise<string[]> =>
  (
    await service.database.admin<{ template: string }>(
      'SELECT template FROM journal WHERE subject = $1 ORDER BY posted_at, chain_id, seq',
      [subject],
    )
  ).map(({ template }) => template);

export const reservedCents = async (merchant: Merchant): Promise<number> =>
  (await merchant.call('GET', '/account')).body.reservedWithdrawalCents;

/** The whole of the shared limit of queries: on a fast machine nothing has come back yet of what was asked before. */
export const fillQueryLimit = ({ database }: Pick<Service, 'database'>): Promise<unknown> =>
  database.admin(`UPDATE connection SET query_bucket_at = '-infinity'`);

/** Nothing of the shared limit of queries for the next two seconds, as where payments have just spent it. */
export const spendQueryLimit = ({ database }: Pick<Service, 'database'>): Promise<unknown> =>
  database.admin(`UPDATE connection SET query_bucket_at = now() + interval '2 seconds'`);

/**
 * One attempt of each defence that waits, behind the two queries that a repeat needs. What is due later is due now: a query counts when it begins ten
 * seconds behind the one before.
 */
export async function sendDefences(
  service: Pick<Service, 'database' | 'runtime'>,
  provider: Provider,
): Promise<void> {
  const runtime = withParts(service.runtime, ({ providers }) => ({
    providers: new Map(providers).set(provider.connection, provider),
  }));
  const followUp = createFollowUp(runtime, provider);
  const hurry = () =>
    service.database.admin(
      `UPDATE intent SET due_at = now() - interval '1 minute', attempt_ended_at = attempt_ended_at - interval '1 minute',
        absent_at = absent_at - interval '1 minute' WHERE kind = 'defence' AND state <> 'sending'`,
    );
  for (const step of [followUp.stepQueries, followUp.stepQueries, followUp.stepSends]) {
    await hurry();
    await fillQueryLimit(service);
    while (await step()) await fillQueryLimit(service);
    await followUp.idle();
  }
}

// --------------------------------------------------------------------------------- what the simulator could deliver

/** The credentials that pass for the simulator. */
export interface Receiver {
  url: string;
  secrets: Secrets;
  database: Pick<Service['database'], 'admin'>;
}

export const webhookTokenOf = async (
  { database }: Pick<Receiver, 'database'>,
  connection = 'simulator',
): Promise<string> =>
  (
    await database.admin<{ webhook_token: string }>(
      'SELECT webhook_token FROM vintem.connection WHERE id = $1',
      [connection],
    )
  )[0]?.webhook_token ?? '';

export const signatureOf = (secrets: Secrets, rawBody: string | Buffer, seconds: number): string => {
  const secret = secrets.derive('simulator client').toString('hex');
  const v1 = createHmac('sha256', secret).update(`${seconds}.`).update(rawBody).digest('hex');
  return `t=${seconds},v1=${v1}`;
};

interface DeliveryOptions {
  token?: string;
  ageSeconds?: number;
  signature?: string;
}

/** Delivers over HTTP, signed as the provider signs. @returns the status of the answer */
export const deliver = (service: Service, items: object[], options: DeliveryOptions = {}): Promise<number> =>
  deliverRaw({ ...service, secrets: service.runtime.secrets }, JSON.stringify({ pix: items }), options);

export async function deliverRaw(
  to: Receiver,
  rawBody: string | Buffer,
  { token, ageSeconds = 0, signature }: DeliveryOptions = {},
): Promise<number> {
  const seconds = Math.floor(Date.now() / 1000) - ageSeconds;
  const answer = await fetch(
    `${to.url}/hooks/providers/simulator/${token ?? (await webhookTokenOf(to))}/pix`,
    {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-simulator-signature': signature ?? signatureOf(to.secrets, rawBody, seconds),
      },
      body: rawBody,
    },
  );
  await answer.arrayBuffer();
  return answer.status;
}

export const receivedItem = (id: string | null, cents: number, endToEndId: string, more: object = {}) => ({
  endToEndId,
  ...(id === null ? {} : { txid: providerIdOf(id) }),
  valor: (cents / 100).toFixed(2),
  chave: 'vintem@simulator.example',
  horario: new Date().toISOString(),
  ...more,
});

export const payoutItem = (id: string, pixKey: string, more: object = {}) => ({
  endToEndId: `E${providerIdOf(id).slice(0, 31)}`,
  chave: 'vintem@simulator.example',
  favorecido: { chave: pixKey },
  valor: '9.75',
  horario: new Date().toISOString(),
  tipo: 'SOLICITACAO',
  status: 'REALIZADO',
  gnExtras: { idEnvio: providerIdOf(id) },
  ...more,
});

export const returnItem = (id: string, cents: number) => ({
  id,
  rtrId: `D${id}`,
  valor: (cents / 100).toFixed(2),
  horario: { solicitacao: new Date().toISOString(), liquidacao: new Date().toISOString() },
  status: 'DEVOLVIDO',
});
