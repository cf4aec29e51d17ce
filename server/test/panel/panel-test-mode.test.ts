import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Test mode by a person: what a role may is in proof/access; here, what a reset takes along for people. */

let service: Service;
let shop: Merchant;
let owner: Tab;

beforeAll(async () => {
  service = await openService();
  shop = await service.newMerchant();
  await newPerson(service, shop.ownerId, 'ana@padaria.example');
  owner = openTab(service);
  await owner.signIn('ana@padaria.example');
});
afterAll(() => service.close());

const under = (accountId: string, path: string) => `/accounts/${accountId}${path}`;
const reset = (accountId: string) => owner.call('POST', under(accountId, '/test/reset'), {});

test('the clock says whether the account has one', async () => {
  const clock = under(shop.ownerId, '/test/clock');
  expect((await owner.call('GET', clock)).body).toMatchObject({ started: false, status: 'ready', to: null });
  expect((await owner.call('POST', clock, {})).body.started).toBe(true);
  expect((await owner.call('GET', clock)).body.started).toBe(true);
});

test('what is played names the operation of the payment', async () => {
  const branch = (await shop.call('POST', '/operations', { name: 'Filial', requestKey: crypto.randomUUID() }))
    .body;
  const { id } = (await shop.charge({ amountCents: 4200 }, branch.id)).body;
  const pay = (headers: Record<string, string>) =>
    owner.call('POST', under(shop.ownerId, `/test/payments/${id}/pay`), {}, headers);
  expect((await pay({})).body.code).toBe('payment_not_found');
  expect((await pay({ 'x-service-operation': branch.id })).status).toBe(200);
});

test('a reset wants a fresh password', async () => {
  await service.database.admin(`UPDATE panel_session SET created_at = now() - interval '11 minutes',
    authenticated_at = now() - interval '11 minutes'`);
  expect((await reset(shop.ownerId)).body.code).toBe('reauthentication_required');
  await service.database.admin('UPDATE panel_session SET authenticated_at = now()');
});

test('a person continues in the empty account, and reads there who began it', async () => {
  const { status, body: fresh } = await reset(shop.ownerId);
  expect(status).toBe(201);
  const { accounts } = (await owner.call('GET', '/session')).body;
  expect(accounts.map(({ id }: { id: string }) => id)).toEqual([fresh.ownerId]);
  expect((await owner.call('GET', under(shop.ownerId, '/overview'))).status).toBe(404);
  await until(async () => (await owner.call('GET', under(fresh.ownerId, '/overview'))).status === 200);
  expect((await owner.call('GET', under(fresh.ownerId, '/test/clock'))).body.started).toBe(false);
  const { events } = (await owner.call('GET', under(fresh.ownerId, '/security-events'))).body;
  expect(events).toContainEqual(
    expect.objectContaining({ kind: 'account.reset', detail: { before: shop.ownerId } }),
  );
});

test('of two resets at once one begins an account, and the other finds the person gone', async () => {
  const [{ id }] = (await owner.call('GET', '/session')).body.accounts;
  const both = await Promise.all([reset(id), reset(id)]);
  const refused = both.filter(({ status }) => status !== 201);
  expect(both.length - refused.length).toBe(1);
  // Before its turn it was let through as a member; after it there is no such account for the person.
  expect(['account_disabled', 'not_found']).toContain(refused[0]?.body.code);
  expect((await owner.call('GET', '/session')).body.accounts).toHaveLength(1);
});
