import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** What people of finance read: who was paid, who decided, and files in their language. */

let service: Service;
let merchant: Merchant;
let finance: Tab;
let viewer: Tab;

const cpf = '52998224725';

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await merchant.receive(50_000);
  await newPerson(service, merchant.ownerId, 'bia@padaria.example', 'finance');
  await newPerson(service, merchant.ownerId, 'leo@padaria.example', 'viewer');
  finance = openTab(service);
  await finance.signIn('bia@padaria.example');
  viewer = openTab(service);
  await viewer.signIn('leo@padaria.example');
}, 120_000);
afterAll(() => service?.close());

const account = (tab: Tab, path: string, headers: Record<string, string> = {}) =>
  tab.call('GET', `/accounts/${merchant.ownerId}${path}`, undefined, headers);
const pt = { 'accept-language': 'pt-BR' };

async function completed(fields: object = {}): Promise<string> {
  const { body } = await merchant.transfer(fields);
  await until(async () => (await merchant.call('GET', `/payments/${body.id}`)).body.status === 'completed');
  return body.id;
}

describe('the history of a payment says who caused each state', () => {
  test('an API key by its name, and the provider', async () => {
    const id = await completed();
    const { history } = (await account(finance, `/records/${id}`)).body;
    const [key] = (await account(finance, '/keys')).body.keys;
    expect(history[0].cause).toMatchObject({ by: 'api', actor: 'key', name: key.name });
    expect(history.at(-1).cause).toMatchObject({ actor: null, name: null });
    expect(['answer', 'webhook', 'query']).toContain(history.at(-1).cause.by);
  });

  test('a rule of the service, where nothing was sent', async () => {
    const { body } = await merchant.transfer({ pixKey: '52998224724', pixKeyType: 'CPF' });
    expect(body.code).toBe('pix_key_not_found');
    const { history } = (await account(finance, `/records/${body.paymentId}`)).body;
    expect(
      history.map(({ status, cause }: { status: string; cause: { by: string } }) => [status, cause.by]),
    ).toEqual([
      ['unknown', 'api'],
      ['cancelled', 'rule'],
    ]);
    expect(history[1].cause.actor).toBe('key');
  });

  test('the provider, when it refused', async () => {
    await service.simulator.behave({ payout: 'refuse-in-answer' });
    const { body } = await merchant.transfer();
    await service.simulator.behave({});
    const { history } = (await account(finance, `/records/${body.paymentId}`)).body;
    expect(history.at(-1)).toMatchObject({ status: 'cancelled', cause: { by: 'answer' } });
  });

  test('a person by name, in the panel', async () => {
    const draft = await finance.call('POST', `/accounts/${merchant.ownerId}/drafts`, {
      amountCents: 1_000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    });
    expect(draft.status).toBe(201);
    await finance.call('POST', `/accounts/${merchant.ownerId}/drafts/${draft.body.id}/cancel`, {});
    const { history } = (await account(finance, `/records/${draft.body.id}`)).body;
    for (const step of history)
      expect(step.cause).toMatchObject({ by: 'api', actor: 'person', name: 'Ana Prado' });
  });
});

describe("the receiver's key", () => {
  test('stands in lists, whole for who moves money and masked for the others', async () => {
    const id = await completed({ pixKey: cpf, pixKeyType: 'CPF', description: 'Farinha' });
    const of = async (tab: Tab) =>
      (await account(tab, '/records?kind=transfer')).body.records.find((one: { id: string }) => one.id === id)
        .pixKey;
    expect([await of(finance), await of(viewer)]).toEqual([cpf, '***4725']);
    const detail = (tab: Tab) => account(tab, `/records/${id}`).then(({ body }) => body.record.pixKey);
    expect([await detail(finance), await detail(viewer)]).toEqual([cpf, '***4725']);
  });

  test.each(['529.982.247-25', cpf])('is searched for as people write it: %s', async (typed) => {
    const search = encodeURIComponent(typed);
    const { records, searchedTo } = (await account(finance, `/records?kind=transfer&search=${search}`)).body;
    expect(records.map((one: { pixKey: string }) => one.pixKey)).toEqual([cpf]);
    expect(searchedTo).toBeNull();
    // A masked key must not be guessed by searching.
    expect((await account(viewer, `/records?kind=transfer&search=${search}`)).body.records).toEqual([]);
  });

  test('the statement names payer or receiver and description on each line', async () => {
    const { lines } = (await account(finance, `/statement?operationId=${merchant.operationId}&limit=100`))
      .body;
    const paid = lines.filter((line: { payment: { pixKey: string } }) => line.payment.pixKey === cpf);
    expect(paid.map((line: { template: string }) => line.template)).toEqual(['complete', 'reserve']);
    expect(paid[0].payment.description).toBe('Farinha');
    expect(lines.at(-1).payment).toMatchObject({ kind: 'deposit', payerName: 'Maria', pixKey: null });
  });

  test('a payment to be confirmed is named at home and in the reconciliation', async () => {
    await service.simulator.behave({ payout: 'lose-answer', webhook: 'drop', query: 'error-500' });
    const { body } = await merchant.transfer({ pixKey: cpf, pixKeyType: 'CPF', description: 'Frete' });
    for (const path of ['/overview', '/reconciliation']) {
      const { unknown } = (await account(finance, path)).body;
      const one = unknown.find((row: { id: string }) => row.id === body.id);
      expect(one.payment, path).toMatchObject({ kind: 'transfer', pixKey: cpf, description: 'Frete' });
    }
    await service.simulator.behave({});
    await service.database.admin('DELETE FROM breaker');
  });
});

describe('files', () => {
  const cells = (text: string, header: string): string[] => {
    const [head = '', ...rows] = text.replace('\ufeff', '').trimEnd().split('\r\n');
    const at = head.split(/[;,]/).indexOf(header);
    expect(at, `${header} in ${head}`).toBeGreaterThanOrEqual(0);
    return rows.map((row) => row.split(';')[at] ?? '');
  };

  test('in Portuguese have Portuguese headers, words, the time of Brasília and Brazilian numbers', async () => {
    const { body } = await account(finance, '/records.csv?kind=transfer', pt);
    expect(cells(body, 'Situação')).toContain('Concluída');
    expect(cells(body, 'Chave do recebedor')).toContain(cpf);
    expect(cells(body, 'Tipo da chave')).toContain('CPF');
    for (const at of cells(body, 'Criado em')) expect(at).toMatch(/^\d{2}\/\d{2}\/\d{4} \d{2}:\d{2}:\d{2}$/);
    for (const amount of cells(body, 'Valor (R$)')) expect(amount).toMatch(/^\d+,\d{2}$/);
    // Of what was refused: no fee, no net, and the reason in words.
    const refused = cells(body, 'Motivo').indexOf('Chave Pix não existe');
    expect(refused).toBeGreaterThanOrEqual(0);
    expect([cells(body, 'Tarifa (R$)')[refused], cells(body, 'Líquido (R$)')[refused]]).toEqual(['', '']);
    expect(body).not.toMatch(/completed|cancelled|pix_key_not_found/);
  });

  test('the panel names the language: a browser of another one changes nothing', async () => {
    const { body } = await account(
      finance,
      `/statement.csv?language=en&operationId=${merchant.operationId}`,
      pt,
    );
    expect(body).toMatch(/^seq,postedAt,kind,payer,receiverKey,/);
    expect(body).toContain(',complete,,52998224725,CPF,Farinha,');
  });

  test('keys in a file are masked for viewers', async () => {
    expect((await account(viewer, '/records.csv?kind=transfer', pt)).body).not.toContain(cpf);
  });

  test('charges and transfers have names with account, kind and period', async () => {
    const nameOf = async (query: string) =>
      /filename="([^"]+)"/.exec(
        (await account(finance, `/records.csv?${query}`, pt)).headers.get('content-disposition') ?? '',
      )?.[1];
    const from = '2026-11-01T03:00:00.000Z';
    const to = '2026-11-11T03:00:00.000Z';
    expect(await nameOf(`kind=deposit&from=${from}&to=${to}`)).toMatch(
      /-cobrancas-2026-11-01-a-2026-11-10\.csv$/,
    );
    expect(await nameOf('kind=transfer')).toMatch(/-transferencias-ate-\d{4}-\d{2}-\d{2}\.csv$/);
  });
});
