import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, journalsOf, later, providerIdOf, statusOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import { createInbound } from '../../src/flow/inbound.ts';
import { stepStatement } from '../../src/jobs/statement.ts';
import { listOpenLines, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import type { Provider } from '../../src/provider/provider.ts';

/**
 * A provider that lists returns without the Pix that went back (Woovi): the delivery alone says whose money it is. Where it was lost, the
 * list shows that money moved, an operator learns of it, and the delivery that is sent again brings it. No worker asks meanwhile.
 */

let service: Service;
let merchant: Merchant;
beforeAll(async () => {
  service = await openService({ worker: false, dialect: 'woovi' });
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await turn();
});
afterAll(() => service?.close());
beforeEach(() => service.simulator.behave({}));

const woovi = (): Provider => {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  return provider;
};
const control = async (path: string, body: object = {}) => {
  const answer = await service.simulator.control('POST', `/control/${path}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
};
/** One reading of the provider's lists now, whenever the last one was, with the whole of the shared limit. */
async function turn(): Promise<void> {
  await service.runtime.sql.run({
    name: 'due',
    text: `UPDATE job SET due_at = 'epoch' WHERE what = 'statement'`,
  });
  await fillQueryLimit(service);
  await stepStatement(service.runtime, woovi());
}
async function lookUp(): Promise<void> {
  // Due for this process as well, whose clock may be behind the database's.
  await service.runtime.sql.run({
    name: 'lines due',
    text: `UPDATE statement_line SET next_at = now() - interval '1 minute'`,
  });
  await fillQueryLimit(service);
  await stepStatementLines(service.runtime, woovi());
}
const lines = () =>
  service.runtime.sql.run<{ rtrId: string; tries: number }>({
    name: 'all lines',
    text: 'SELECT rtr_id AS "rtrId", tries FROM statement_line',
  });

async function completed(): Promise<string> {
  const { body } = await merchant.transfer({ amountCents: 1000 });
  // A delivery about a payout does not name our account: the payout is queried.
  await until(async () => {
    const followUp = createFollowUp(later(service.runtime, 1_000), woovi());
    while (await followUp.stepQueries());
    await followUp.idle();
    return (await statusOf(service, body.id)) === 'completed';
  });
  return body.id;
}
async function returnedUnheard(cents: number): Promise<{ id: string; rtrId: string }> {
  const id = await completed();
  await service.simulator.behave({ webhook: 'drop' });
  const { rtrId } = await control(`payouts/${providerIdOf(id)}/return`, { amountCents: cents });
  return { id, rtrId };
}
const returnsPosted = async (id: string): Promise<number> =>
  (await journalsOf(service, id)).filter((kind) => kind === 'return').length;

test('a returned payout whose delivery was lost is shown to operators, and the delivery that is sent again credits it', async () => {
  const { id, rtrId } = await returnedUnheard(300);
  const before = await merchant.balanceCents();
  await turn();
  // The delivery may still come: no person is called yet.
  expect(await lines()).toEqual([{ rtrId, tries: 0 }]);
  expect(await listOpenLines(service.runtime)).toEqual([]);
  await lookUp();
  expect(await listOpenLines(service.runtime)).toMatchObject([
    {
      kind: 'reported',
      id: rtrId,
      amountCents: 300,
      problem: 'the provider names no Pix: have it send the delivery of this return again',
    },
  ]);
  expect(await merchant.balanceCents()).toBe(before);
  await service.simulator.behave({});
  await control(`payouts/${providerIdOf(id)}/resend`);
  await until(async () => (await returnsPosted(id)) === 1);
  expect(await merchant.balanceCents()).toBe(before + 300);
  await lookUp();
  expect(await lines()).toEqual([]);
  expect(await violations(service)).toEqual([]);
});

test('money that was taken back of a charge, its delivery lost, is shown in the same way', async () => {
  const { body } = await merchant.charge({ amountCents: 2000 });
  await control(`charges/${providerIdOf(body.id)}/pay`);
  await until(async () => (await statusOf(service, body.id)) === 'paid');
  await service.simulator.behave({ webhook: 'drop' });
  const { rtrId } = await control(`charges/${providerIdOf(body.id)}/return`, { amountCents: 500 });
  await turn();
  expect(await lines()).toEqual([{ rtrId, tries: 0 }]);
  await service.simulator.behave({});
  await control(`charges/${providerIdOf(body.id)}/resend`);
  await until(async () => (await journalsOf(service, body.id)).includes('debit'));
  await lookUp();
  expect(await lines()).toEqual([]);
  expect(await violations(service)).toEqual([]);
});

test('what the books have is no line: a return that was heard of, and a refund of ours', async () => {
  const id = await completed();
  await control(`payouts/${providerIdOf(id)}/return`, { amountCents: 200 });
  await until(async () => (await returnsPosted(id)) === 1);
  const { body: charge } = await merchant.charge({ amountCents: 2000 });
  await control(`charges/${providerIdOf(charge.id)}/pay`);
  await until(async () => (await statusOf(service, charge.id)) === 'paid');
  const refund = await merchant.call('POST', `/payments/${charge.id}/refunds`, {
    requestKey: crypto.randomUUID(),
    amountCents: 400,
    description: 'complete-in-answer@simulator.example',
  });
  // The answer to it names no `rtrId`; the query does.
  await until(async () => {
    const followUp = createFollowUp(later(service.runtime, 1_000), woovi());
    while (await followUp.stepQueries());
    await followUp.idle();
    return (await merchant.call('GET', `/refunds/${refund.body.id}`)).body.status === 'completed';
  });
  await turn();
  expect(await lines()).toEqual([]);
  expect(await violations(service)).toEqual([]);
});

test('a comparison counts what it cannot name', async () => {
  const { id } = await returnedUnheard(100);
  const operator = { ...service.runtime, actor: 'tester' };
  const options = { accountId: null, sinceMs: null };
  await fillQueryLimit(service);
  expect(await reconcile(service.runtime, operator, options)).toMatchObject({ setAside: 1, unexpected: 0 });
  await service.simulator.behave({});
  await control(`payouts/${providerIdOf(id)}/resend`);
  await until(async () => (await returnsPosted(id)) === 1);
  await fillQueryLimit(service);
  expect(await reconcile(service.runtime, operator, options)).toMatchObject({ setAside: 0, unexpected: 0 });
  await lookUp();
});

test('a delivery that found no query of the shared limit was not tried: its turn comes again soon', async () => {
  const { id, rtrId } = await returnedUnheard(150);
  const { body: state } = await service.simulator.control(
    'GET',
    `/control/state?idEnvio=${providerIdOf(id)}`,
  );
  const time = new Date().toISOString();
  const event = {
    event: 'PIX_TRANSACTION_REFUND_RECEIVED_CONFIRMED',
    refundTransaction: { value: 150, time, endToEndId: rtrId, status: 'CONFIRMED', type: 'REFUND' },
    originalTransaction: { value: 1000, time, endToEndId: state.payouts[0].endToEnd, type: 'WITHDRAW' },
    company: { taxID: '11222333000181' },
    account: { environment: 'TESTING' },
  };
  const { runtime } = service;
  const stored = runtime.ids.uuid();
  await service.database.admin(
    `INSERT INTO inbound (id, connection, received_at, body, authentic, next_at)
     VALUES ($1, 'simulator', now() - interval '1 minute', $2, true, now() - interval '30 seconds')`,
    [stored, runtime.secrets.seal(Buffer.from(JSON.stringify(event)), stored)],
  );
  const due = () =>
    service.database.admin(`UPDATE inbound SET next_at = now() - interval '1 minute' WHERE id = $1`, [
      stored,
    ]);
  await service.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at)
     VALUES ('simulator', 'query', true, now() + interval '1 h', now())`,
  );
  const inbound = createInbound(runtime);
  for (let n = 0; n < 9; n++) {
    await due();
    await inbound.stepLeft();
  }
  const [row] = await service.database.admin<{ tries: number; soon: boolean }>(
    `SELECT tries, next_at < now() + interval '10 s' AS soon FROM inbound WHERE id = $1`,
    [stored],
  );
  expect(row).toEqual({ tries: 0, soon: true });
  await service.database.admin('DELETE FROM breaker');
  await due();
  await fillQueryLimit(service);
  await inbound.stepLeft();
  expect(await returnsPosted(id)).toBe(1);
  expect(await violations(service)).toEqual([]);
});
