import { type Edge, openEdge } from '@vintem/testkit/edge.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let edge: Edge;

beforeAll(async () => {
  edge = await openEdge();
});
afterAll(() => edge.close());

async function newAccount() {
  const account = await edge.newAccount();
  const { key } = await edge.newKey(account.ownerId);
  const summary = async (headers = {}) => edge.call(key, { url: '/account', headers });
  return { ...account, key, summary };
}

test('a new account has the conditions of the interface [2.3a]', async () => {
  const { summary, operationId } = await newAccount();
  expect(await summary()).toMatchObject({
    status: 200,
    body: {
      operationId,
      enabled: true,
      balanceCents: 0,
      feeCents: 25,
      cardFeeCents: 0,
      minimumCardCents: 0,
      maximumCardCents: 0,
      minimumDepositCents: 200,
      maximumDepositCents: 200000,
      minimumWithdrawalCents: 1000,
      maximumWithdrawalCents: 1000000,
      reservedWithdrawalCents: 0,
    },
  });
});

test('the balance is what is available less what is owed, the reserve stands apart [2.3b]', async () => {
  const { summary, ownerId, operationId } = await newAccount();
  await edge.database.admin(
    `UPDATE balance SET available = 5000, reserved = 1000, held = 700 WHERE account_id = $1 AND operation_id = $2`,
    [ownerId, operationId],
  );
  expect((await summary()).body).toMatchObject({ balanceCents: 5000, reservedWithdrawalCents: 1000 });
  await edge.database.admin(
    `UPDATE balance SET available = 0, receivable = 300 WHERE account_id = $1 AND operation_id = $2`,
    [ownerId, operationId],
  );
  expect((await summary()).body.balanceCents).toBe(-300);
});

test('balances are the operation’s, conditions the account’s [1.2c, 4.5]', async () => {
  const { summary, ownerId, key } = await newAccount();
  const created = await edge.call(key, {
    method: 'POST',
    url: '/operations',
    payload: { name: 'Filial', requestKey: '1b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11' },
  });
  await edge.database.admin('UPDATE account SET withdrawal_fee_cents = 90 WHERE id = $1', [ownerId]);
  await edge.database.admin('UPDATE balance SET available = 77 WHERE account_id = $1 AND operation_id = $2', [
    ownerId,
    created.body.id,
  ]);
  const main = await summary();
  const other = await summary({ 'x-service-operation': created.body.id.toUpperCase() });
  expect(main.body).toMatchObject({ balanceCents: 0, feeCents: 90 });
  expect(other.body).toMatchObject({ operationId: created.body.id, balanceCents: 77, feeCents: 90 });
});

test('an account is not enabled when it was disabled or its provider is out', async () => {
  const { summary, ownerId } = await newAccount();
  const set = (enabled: boolean) =>
    edge.database.admin('UPDATE account SET enabled = $2 WHERE id = $1', [ownerId, enabled]);
  await set(false);
  expect((await summary()).body.enabled).toBe(false);
  await set(true);
  await edge.database.admin(
    `INSERT INTO breaker (connection, call, open, probe_at, changed_at) VALUES ('simulator', 'x', true, now(), now())`,
  );
  expect((await summary()).body.enabled).toBe(false);
  await edge.database.admin('DELETE FROM breaker');
  expect((await summary()).body.enabled).toBe(true);
});

test('the header names an operation of the account, or nothing is shown [5.7]', async () => {
  const { summary } = await newAccount();
  const other = await newAccount();
  for (const id of [other.operationId, '00000000-0000-0000-0000-000000000000', other.ownerId]) {
    const answer = await summary({ 'x-service-operation': id });
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe('operation_not_found');
  }
  const malformed = ['', 'x', '{7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11}', '7b3c2a100a644a579a2e1f0c9e5d7a11'];
  for (const id of [...malformed, `${other.operationId}, ${other.operationId}`]) {
    const answer = await summary({ 'x-service-operation': id });
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('invalid_operation_header');
  }
});

test('an account’s own id is no operation', async () => {
  const { summary, ownerId } = await newAccount();
  expect((await summary({ 'x-service-operation': ownerId })).status).toBe(404);
});
