import { setTimeout } from 'node:timers/promises';
import type { PaymentStatus, Vintem } from '@vintem/sdk';
import { type Command, needsTestKey, oneOf } from './command.ts';
import { fields } from './output.ts';
import { type Simulator, simulatorOf, simulatorOption } from './simulator.ts';

const amountCents = 1_000;
const waitMs = 60_000;

interface Stage {
  vintem: Vintem;
  simulator: Simulator;
  signal: AbortSignal;
}
type Done = Record<string, string | number>;

const charge = ({ vintem, signal }: Stage) =>
  vintem.charges.create({ amountCents, payerName: 'Maria' }, { signal });

async function reaches({ vintem, signal }: Stage, id: string, status: PaymentStatus): Promise<Done> {
  await vintem.payments.waitFor(id, { until: [status], timeoutMs: waitMs, signal });
  return { paymentId: id };
}

async function chargeThat(
  stage: Stage,
  action: 'pay' | 'expire' | 'remove',
  status: PaymentStatus,
): Promise<Done> {
  const { id } = await charge(stage);
  await stage.simulator.charge(id, action);
  return reaches(stage, id, status);
}

/** Pays into the account first when it has too little. */
async function transferThat(
  stage: Stage,
  fate: string,
  status: PaymentStatus,
): Promise<Done & { paymentId: string }> {
  const { vintem, signal } = stage;
  const { balanceCents } = await vintem.account.get({ signal });
  if (balanceCents < amountCents) await chargeThat(stage, 'pay', 'paid');
  const pixKey = `${fate}@simulator.example`;
  const { id } = await vintem.transfers.create({ amountCents, pixKey, pixKeyType: 'EMAIL' }, { signal });
  await reaches(stage, id, status);
  return { paymentId: id };
}

/** Disputes what a charge received. Known by its id, so by way of the service alone. */
async function disputeThat(stage: Stage, act?: 'defend' | 'accept' | 'reject' | 'cancel'): Promise<Done> {
  const { vintem, signal } = stage;
  const { id } = await charge(stage);
  await stage.simulator.charge(id, 'pay');
  await reaches(stage, id, 'paid');
  await vintem.testMode.dispute(id, {}, { signal });
  const disputeId = await found(stage, async () => {
    for await (const dispute of vintem.disputes.list({ limit: 20 }, { signal }))
      if (dispute.paymentId === id) return dispute.id;
    return undefined;
  });
  if (act) await vintem.testMode.moveDispute(disputeId, act, { signal });
  return { paymentId: id, disputeId };
}

/** Looks twice a second for what follows by itself. */
async function found({ signal }: Stage, look: () => Promise<string | undefined>): Promise<string> {
  for (const end = Date.now() + waitMs; Date.now() < end; await setTimeout(500, undefined, { signal })) {
    const seen = await look();
    if (seen !== undefined) return seen;
  }
  throw new Error('the dispute was not seen within a minute');
}

/** A trigger of operation events leaves no operation behind: an account has ten. */
async function operationThat(
  { vintem, signal }: Stage,
  last: 'created' | 'updated' | 'deleted',
): Promise<Done> {
  const { id } = await vintem.operations.create(
    { name: `Teste ${crypto.randomUUID().slice(0, 6)}` },
    { signal },
  );
  if (last === 'updated') await vintem.operations.update(id, { name: 'Teste com outro nome' }, { signal });
  if (last !== 'created') await vintem.operations.delete(id, { signal });
  return { operationId: id };
}

/** `transfer.unknown` takes a quarter of an hour, and nothing brings it about at once. */
const triggers = {
  'charge.created': async (stage: Stage) => ({ paymentId: (await charge(stage)).id }),
  'charge.paid': (stage: Stage) => chargeThat(stage, 'pay', 'paid'),
  'charge.expired': (stage: Stage) => chargeThat(stage, 'expire', 'expired'),
  'charge.failed': (stage: Stage) => chargeThat(stage, 'remove', 'failed'),
  'transfer.created': (stage: Stage) => transferThat(stage, 'complete', 'completed'),
  'transfer.completed': (stage: Stage) => transferThat(stage, 'complete', 'completed'),
  'transfer.cancelled': (stage: Stage) => transferThat(stage, 'refuse-later', 'cancelled'),
  'transfer.returned': async (stage: Stage) => {
    const done = await transferThat(stage, 'complete', 'completed');
    await stage.simulator.transfer(done.paymentId, 'return');
    return done;
  },
  'refund.completed': async (stage: Stage) => {
    const done = await chargeThat(stage, 'pay', 'paid');
    const { id } = await stage.vintem.refunds.create(String(done.paymentId), {}, { signal: stage.signal });
    return { ...done, refundId: id };
  },
  'dispute.opened': (stage: Stage) => disputeThat(stage),
  'dispute.defending': (stage: Stage) => disputeThat(stage, 'defend'),
  'dispute.accepted': (stage: Stage) => disputeThat(stage, 'accept'),
  'dispute.rejected': (stage: Stage) => disputeThat(stage, 'reject'),
  'dispute.cancelled': (stage: Stage) => disputeThat(stage, 'cancel'),
  'operation.created': (stage: Stage) => operationThat(stage, 'created'),
  'operation.updated': (stage: Stage) => operationThat(stage, 'updated'),
  'operation.deleted': (stage: Stage) => operationThat(stage, 'deleted'),
  'webhook.test': async ({ vintem, signal }: Stage): Promise<Done> => {
    const { webhooks } = await vintem.webhooks.list({ signal });
    const enabled = webhooks.filter((webhook) => webhook.enabled);
    for (const { id } of enabled) await vintem.webhooks.test(id, {}, { signal });
    return { endpoints: enabled.length };
  },
} satisfies Record<string, (stage: Stage) => Promise<Done>>;

const types = Object.keys(triggers) as (keyof typeof triggers)[];

export const triggerCommand: Command = {
  name: 'trigger',
  usage: 'TYPE [--simulator URL]',
  about: 'makes an event happen on a test account, with a key that may simulate',
  more: `TYPE is one of ${types.join(', ')}.`,
  options: simulatorOption,
  operands: ['TYPE'],
  run: async ({ vintem, login, values, operands: [given], out, ending }) => {
    const type = oneOf(given, 'TYPE', types);
    needsTestKey(login, 'trigger');
    const stage = { vintem, simulator: simulatorOf(values.simulator, vintem), signal: ending };
    const done: Done = await out.progress(`bringing about ${type}`, triggers[type](stage));
    const shown = Object.entries(done).map(([name, value]) => [name, String(value)]);
    out.answer({ type, ...done }, fields({ type, ...Object.fromEntries(shown) }));
    return undefined;
  },
};
