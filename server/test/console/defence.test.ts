import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit, sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { operatorRoles } from '../../src/operate/acts.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** Operators with the role `risk` answer a dispute for its merchant, by the calls with which the merchant does. */

let service: Service;
let risk: Desk;
beforeAll(async () => {
  service = await openService({ worker: false });
  risk = await newOperator(service, 'risk');
});
afterAll(() => service?.close());

const simulator = () => service.runtime.providers.get('simulator') as Provider;
const text = 'O produto foi entregue em 20/11.\nO cliente assinou o recibo.';
const reason = 'a loja pediu ao suporte';

interface Disputed {
  merchant: Merchant;
  id: string;
  providerId: string;
  /** Of the console. */
  path: string;
}

async function disputed(): Promise<Disputed> {
  const merchant = await service.newMerchant();
  const { body } = await merchant.charge({ amountCents: 1_000, description: 'Bolo de fubá' });
  const charge = `/control/charges/${body.id.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${charge}/pay`);
  await until(async () => (await statusOf(service, body.id)) === 'paid');
  const { body: opened } = await service.simulator.control('POST', `${charge}/dispute`, {});
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, simulator());
  const [{ id }] = (await merchant.call('GET', '/disputes')).body.disputes;
  const path = `/operations/${merchant.operationId}/disputes/${id}`;
  return { merchant, id, providerId: opened.id, path };
}

const look = (desk: Desk, { path }: Disputed, said: object = { text }) =>
  desk.call('POST', `${path}/defence/acts`, said);
const send = (desk: Desk, { path }: Disputed, body: object) => desk.call('POST', `${path}/defence`, body);
const seen = async ({ merchant, id }: Disputed) =>
  (await merchant.call('GET', `/disputes/${id}/defence`)).body;
const auditOf = ({ merchant, id }: Disputed) =>
  service.database.admin<{ actor: string; action: string; reason: string | null; detail: object }>(
    'SELECT actor, action, reason, detail FROM audit WHERE account_id = $1 AND subject = $2 ORDER BY id',
    [merchant.ownerId, id],
  );

test('A defence is shown first, sent once as the merchant would send it, and stands in the audit log of the account', async () => {
  const one = await disputed();
  expect((await risk.call('GET', `${one.path}/defence`)).body).toMatchObject({ files: [], defence: null });
  const { body: shown } = await look(risk, one);
  expect(shown).toEqual({ text, files: [], shown: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(await auditOf(one)).toEqual([]);
  expect((await seen(one)).defence).toBe(null);

  // Other words than those shown.
  const swapped = await send(risk, one, { text: 'Outro texto.', reason, shown: shown.shown });
  expect([swapped.status, swapped.body.code]).toEqual([409, 'facts_changed']);
  const other = await disputed();
  expect((await send(risk, other, { text, reason, shown: shown.shown })).body.code).toBe('facts_changed');

  const sent = await send(risk, one, { text, reason, shown: shown.shown });
  expect([sent.status, sent.body.defence]).toMatchObject([200, { status: 'pending', files: 0 }]);
  await sendDefences(service, simulator());
  // The merchant has it as one of its own, and cannot send another one.
  expect((await seen(one)).defence).toMatchObject({ text, status: 'sent' });
  const late = await one.merchant.call('POST', `/disputes/${one.id}/defence`, { text: 'Outro texto.' });
  expect(late.body.code).toBe('dispute_defended');
  const { body: state } = await service.simulator.control('GET', '/control/state');
  const kept = state.disputes.find(({ id }: { id: string }) => id === one.providerId);
  expect(kept.defence.text).toBe(text);
  expect((await send(risk, one, { text, reason, shown: shown.shown })).body.code).toBe('act_refused');
  expect(await auditOf(one)).toEqual([
    {
      ...{ actor: risk.email, action: 'dispute.defend', reason },
      detail: { operationId: one.merchant.operationId, shown: shown.shown, files: [] },
    },
  ]);
});

test('The texts of a merchant are not shown, nor kept in the audit log', async () => {
  const one = await disputed();
  await one.merchant.call('POST', `/disputes/${one.id}/defence`, { text });
  const { status, body } = await risk.call('GET', `${one.path}/defence`);
  expect([status, body]).toEqual([
    200,
    {
      ...{ offer: null, files: [] },
      defence: {
        ...{ status: 'pending', files: 0, createdAt: expect.any(String), sentAt: null, reasonCode: null },
      },
    },
  ]);
  const other = await disputed();
  const { shown } = (await look(risk, other)).body;
  await send(risk, other, { text, reason, shown });
  expect(JSON.stringify(await auditOf(other))).not.toContain('entregue');
});

test('No other role answers for a merchant, and no operation answers a dispute of another', async () => {
  const one = await disputed();
  for (const role of operatorRoles.filter((name) => name !== 'risk')) {
    const desk = await newOperator(service, role);
    const calls = [
      await desk.call('GET', `${one.path}/defence`),
      await look(desk, one),
      await send(desk, one, { text, reason, shown: '0'.repeat(64) }),
      await desk.call('POST', `${one.path}/files?name=a.pdf`, {}),
      await desk.call('POST', `${one.path}/files/${crypto.randomUUID()}/removal`, {}),
    ];
    expect(calls.map(({ body }) => body.code)).toEqual(calls.map(() => 'operator_role_denied'));
  }
  const other = await service.newMerchant();
  const foreign = { ...one, path: `/operations/${other.operationId}/disputes/${one.id}` };
  expect((await look(risk, foreign)).body.code).toBe('dispute_not_found');
  expect((await send(risk, one, { text, shown: '0'.repeat(64) })).status).toBe(400);
  expect((await look(risk, one, {})).status).toBe(400);
  expect((await look(risk, one, { text: 'a'.repeat(1_001) })).status).toBe(400);
  expect(
    (await risk.call('GET', `/operations/${crypto.randomUUID()}/disputes/${one.id}/defence`)).status,
  ).toBe(404);
});
