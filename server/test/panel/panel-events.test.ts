import { newPerson, openTab } from '@vintem/testkit/panel.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service.close());

test('events that a call of the panel commits wake a publisher that was started after the panel', async () => {
  const shop = await service.newMerchant();
  await shop.receive(5_000);
  await newPerson(service, shop.ownerId, 'ana@padaria.example');
  const tab = openTab(service);
  await tab.signIn('ana@padaria.example');
  const path = `/accounts/${shop.ownerId}/drafts`;
  const draft = await tab.call('POST', path, {
    amountCents: 1000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL',
    description: '',
    requestKey: crypto.randomUUID(),
  });
  expect(draft.status).toBe(201);

  let raised = 0;
  service.runtime.eventsWritten.listen(() => raised++);
  expect((await tab.call('POST', `${path}/${draft.body.id}/cancel`, {})).status).toBe(200);
  expect(raised).toBe(1);
});
