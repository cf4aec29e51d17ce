import { mailsTo, newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A person who confirms a transfer sees whose key it is, where the provider can say it; look-ups are counted, so each draft asks once. */

let service: Service;
let merchant: Merchant;
let other: Merchant;
let bia: Tab;
let viewer: Tab;

const owner = { name: 'Fulano de Tal', taxId: '000.***.***-91', bank: 'Banco do Brasil S.A.' };

beforeAll(async () => {
  service = await openService({ dialect: 'woovi' });
  merchant = await service.newMerchant();
  other = await service.newMerchant();
  await merchant.receive(50_000);
  bia = await person(merchant, 'bia@padaria.example', 'finance');
  viewer = await person(merchant, 'leo@padaria.example', 'viewer');
});
afterAll(() => service?.close());

async function person({ ownerId }: Merchant, email: string, role: 'finance' | 'viewer'): Promise<Tab> {
  await newPerson(service, ownerId, email, role);
  const tab = openTab(service);
  await tab.signIn(email);
  return tab;
}

const path = ({ ownerId }: Merchant, rest: string) => `/accounts/${ownerId}${rest}`;
const look = (rest: string, tab = bia, headers: Record<string, string> = {}) =>
  tab.call('GET', path(merchant, rest), undefined, headers);
/** How often the provider was asked for anything. */
const queries = async (): Promise<number> =>
  (await service.simulator.control('GET', '/control/state')).body.queries;

async function draft(fields: object = {}, tab = bia, of = merchant): Promise<string> {
  const wanted = {
    amountCents: 1_000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL',
    description: '',
    requestKey: crypto.randomUUID(),
  };
  const { status, body } = await tab.call('POST', path(of, '/drafts'), { ...wanted, ...fields });
  expect(status).toBe(201);
  return body.id;
}
const ask = (id: string, tab = bia, of = merchant) =>
  tab.call('POST', path(of, `/drafts/${id}/receiver`), {});

async function confirm(id: string): Promise<void> {
  const mail = (await mailsTo(service, 'bia@padaria.example')).find((one) => one.includes(id));
  const code = /(?:Code|Código): (\d{6})/.exec(mail ?? '')?.[1];
  expect((await bia.call('POST', path(merchant, `/drafts/${id}/confirm`), { code })).status).toBe(200);
}

describe('the owner of a key', () => {
  test('is shown once, and stands in detail, list, search, receipt and export of the transfer', async () => {
    const id = await draft();
    expect((await look(`/records/${id}`)).body.record.receiver).toBeNull();
    expect((await ask(id)).body).toEqual({ answer: 'told', receiver: owner });
    const asked = await queries();
    expect((await ask(id)).body).toEqual({ answer: 'told', receiver: owner });
    expect(await queries()).toBe(asked);

    await confirm(id);
    await until(async () => (await look(`/records/${id}`)).body.record.status === 'completed');
    expect((await look(`/records/${id}`)).body.record).toMatchObject({
      status: 'completed',
      receiver: owner,
    });
    const found = await look('/records?kind=transfer&search=FULANO');
    expect(found.body.records.map((one: { id: string }) => one.id)).toEqual([id]);
    const masked = (await look(`/records/${id}`, viewer)).body.record;
    expect([masked.receiver, masked.pixKey]).toEqual([owner, 'ma***@loja.example']);
    const csv = (await look('/records.csv?kind=transfer', bia, { 'accept-language': 'pt-BR' })).body;
    expect(csv).toContain('Recebedor');
    expect(csv).toContain('Fulano de Tal');
    const receipt = await look(`/records/${id}/receipt.pdf`);
    expect(receipt.status).toBe(200);
  });

  test('no person has the key: the answer says so, and the draft can still be confirmed or given up', async () => {
    const id = await draft({ pixKey: 'pix-key-not-found@simulator.example' });
    expect((await ask(id)).body).toEqual({ answer: 'unknown' });
    expect((await look(`/records/${id}`)).body.record).toMatchObject({ status: 'draft', receiver: null });
  });

  test.each(['hang', 'error-500'])('the provider does not answer (%s): it is not shown', async (query) => {
    const id = await draft();
    await service.simulator.behave({ query });
    const { status, body } = await ask(id);
    await service.simulator.behave({});
    expect({ status, body }).toEqual({ status: 200, body: { answer: 'not_told' } });
    expect((await look(`/records/${id}`)).body.record.status).toBe('draft');
  });
});

describe('is not shown', () => {
  test('while payments may need the look-ups that are left; they go on', async () => {
    for (let unknown = 0; unknown < 13; unknown++)
      expect((await ask(await draft({ pixKey: 'pix-key-not-found@simulator.example' }))).status).toBe(200);
    const asked = await queries();
    expect((await ask(await draft())).body).toEqual({ answer: 'not_told' });
    // The question for what is left, and none for the key.
    expect(await queries()).toBe(asked);
    expect((await merchant.transfer()).status).toBe(201);
  });

  test('to a viewer, nor of another account, nor of what is no draft any more', async () => {
    const id = await draft();
    expect((await ask(id, viewer)).status).toBe(403);
    const stranger = await person(other, 'rui@livraria.example', 'finance');
    expect((await ask(id, stranger, other)).body.code).toBe('payment_not_found');
    await bia.call('POST', path(merchant, `/drafts/${id}/cancel`), {});
    expect((await ask(id)).body.code).toBe('not_a_draft');
  });
});
