import { expect, test } from 'vitest';
import { differences, foreign } from './foreign.ts';
import { newId, type Provider, startEndpoint, startProvider, until } from './provider.ts';

/**
 * The simulator answers with the forms of the provider it stands for: same field names, same types. An adapter that is only
 * tried against the simulator would otherwise be tried against our own picture of the provider.
 */

const span = `inicio=2020-01-01T00:00:00Z&fim=2099-01-01T00:00:00Z`;
const sentAs = (name: string, ours: unknown) => expect(differences(foreign(name), ours), name).toEqual([]);

async function completed(provider: Provider): Promise<string> {
  const idEnvio = newId();
  await provider.putPayout(idEnvio, 'stay-pending@simulator.example');
  await provider.control('POST', `/payouts/${idEnvio}/complete`);
  return idEnvio;
}

test('the comparison sees a missing field, a strange one and another type', () => {
  const sent = foreign('efi/send-answer');
  expect(differences(sent, sent.body)).toEqual([]);
  const { endToEndId: _, ...rest } = sent.body as Record<string, unknown>;
  expect(differences(sent, { ...rest, e2eId: 'E1', valor: 1 })).toEqual([
    'endToEndId is missing',
    'valor is number, not amount',
    'e2eId is not theirs',
  ]);
});

test('a token', async () => {
  const provider = await startProvider();
  const answer = await fetch(`${provider.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('id:secret')}`, 'content-type': 'application/json' },
    body: JSON.stringify(foreign('efi/token-request').body),
  });
  sentAs('efi/token-answer', await answer.json());
});

test('a send and its refusals', async () => {
  const provider = await startProvider();
  const idEnvio = newId();
  const said = async (name: string, pixKey?: string, id = newId()) => {
    const answer = await provider.putPayout(id, pixKey);
    expect(answer.status, name).toBe(foreign(name).status);
    sentAs(name, answer.body);
    return answer.body;
  };
  await said('efi/send-answer', undefined, idEnvio);
  expect((await said('efi/send-duplicate', undefined, idEnvio)).nome).toBe('id_envio_duplicado');
  const unknown = await said('efi/send-refused-key-not-found', 'pix-key-not-found@simulator.example');
  expect(unknown.nome).toBe('chave_favorecido_nao_encontrada');
  await said('efi/send-refused-denied', 'refuse-in-answer@simulator.example');
});

test('the request of the documentation is taken', async () => {
  const provider = await startProvider();
  const answer = await provider.call('PUT', `/v3/gn/pix/${newId()}`, foreign('efi/send-request').body);
  expect(answer.status).toBe(201);
});

test('a sent Pix: by id, returned, refused, in the list, and none', async () => {
  const provider = await startProvider();
  const [good, back, refused] = [await completed(provider), await completed(provider), newId()];
  await provider.control('POST', `/payouts/${back}/return`, { amountCents: 100 });
  await provider.putPayout(refused, 'refuse-in-answer@simulator.example');
  sentAs('efi/sent', (await provider.payout(good)).body);
  await provider.behave({ returnForm: 'rtrId' });
  sentAs('efi/sent-returned', (await provider.payout(back)).body);
  sentAs('efi/sent-refused', (await provider.payout(refused)).body);
  const list = foreign('efi/sent-list');
  const optional = [...(list.optional ?? []), 'pix[].devolucoes', 'pix[].gnExtras'];
  const ours = (await provider.call('GET', `/v2/gn/pix/enviados?${span}`)).body;
  expect(differences({ ...list, optional }, ours)).toEqual([]);
  const none = await provider.payout(newId());
  expect(none.status).toBe(404);
  sentAs('efi/sent-not-found', none.body);
});

test('a received Pix, by id and in the list', async () => {
  const provider = await startProvider();
  const txid = newId();
  await provider.putCharge(txid);
  const { endToEnd } = (await provider.control('POST', `/charges/${txid}/pay`)).body;
  sentAs('efi/received', (await provider.call('GET', `/v2/pix/${endToEnd}`)).body);
  sentAs('efi/received-list', (await provider.call('GET', `/v2/pix?${span}`)).body);
});

test('a charge', async () => {
  const provider = await startProvider();
  sentAs('api-pix/charge', (await provider.putCharge(newId())).body);
});

test('the disputes of received Pix', async () => {
  const provider = await startProvider();
  const txid = newId();
  await provider.putCharge(txid);
  await provider.control('POST', `/charges/${txid}/pay`);
  await provider.control('POST', `/charges/${txid}/dispute`, { amountCents: 100 });
  sentAs('efi/disputes', (await provider.call('GET', `/v2/gn/infracoes?${span}`)).body);
});

test('the defence of a dispute: taken once, in time, and shown in the list', async () => {
  const provider = await startProvider();
  const open = async () => {
    const txid = newId();
    await provider.putCharge(txid);
    await provider.control('POST', `/charges/${txid}/pay`);
    return (await provider.control('POST', `/charges/${txid}/dispute`, {})).body.id;
  };
  const id = await open();
  const given = foreign('efi/defence-request').body;
  const says = async (name: string, of: string, body: unknown = given) => {
    const answer = await provider.call('POST', `/v2/gn/infracoes/${of}/defesa`, body);
    expect(answer.status, name).toBe(foreign(name).status);
    if ('text' in foreign(name)) expect(answer.body, name).toBe(foreign(name).text);
    else sentAs(name, answer.body);
  };
  await says('efi/defence-refused-not-found', crypto.randomUUID());
  await says('efi/defence-refused-invalid', id, { analise: 'rejeitado', justificativa: 'x'.repeat(1001) });
  await says('efi/defence-answer', id);
  await says('efi/defence-refused-defended', id);
  const { infracoes } = (await provider.call('GET', `/v2/gn/infracoes?${span}`)).body;
  expect(infracoes).toMatchObject([{ status: 'EM_DEFESA', defesa: 'Justificativa' }]);
  const ended = await open();
  await provider.control('POST', `/disputes/${ended}/reject`);
  await says('efi/defence-refused-late', ended);
});

test('the balance with what is blocked', async () => {
  const provider = await startProvider();
  sentAs('efi/balance', (await provider.call('GET', '/v2/gn/saldo?bloqueios=true')).body);
  sentAs('efi/buckets', (await provider.call('GET', '/v2/gn/chaves/balde')).body);
  expect((await provider.call('GET', '/v2/gn/saldo')).body).toEqual({ saldo: '0.00' });
});

test('a report of a closed day: requested, made, and read as CSV', async () => {
  const provider = await startProvider();
  const path = '/v2/gn/relatorios/extrato-conciliacao';
  const requested = await provider.call('POST', path, foreign('efi/report-request').body);
  expect(requested.status).toBe(202);
  sentAs('efi/report-requested', requested.body);
  const read = () => provider.call('GET', `/v2/gn/relatorios/${requested.body.id}`);
  const pending = await read();
  expect(pending.status).toBe(202);
  sentAs('efi/report-pending', pending.body);
  const ready = await until(read, ({ status }) => status === 200);
  const record = (text: string) => text.split('\n').map((line) => line.split(';').length);
  expect(record(ready.body)).toEqual(record(foreign('efi/report-empty').text ?? ''));
  expect((await provider.call('POST', path, foreign('efi/report-request').body)).body).toMatchObject({
    id: requested.body.id,
    status: 'CONCLUIDO',
  });
  const unknown = await provider.call('GET', '/v2/gn/relatorios/unknown');
  expect(unknown.status).toBe(404);
  sentAs('efi/report-not-found', unknown.body);
  const today = { dataMovimento: new Date().toISOString().slice(0, 10), tipoRegistros: {} };
  const early = await provider.call('POST', path, today);
  expect(early.status).toBe(400);
  sentAs('efi/report-day-not-over', early.body);
});

test('deliveries', async () => {
  const provider = await startProvider();
  const endpoint = await startEndpoint();
  await endpoint.register(provider);
  const txid = newId();
  await provider.putCharge(txid);
  await provider.control('POST', `/charges/${txid}/pay`);
  await until(endpoint.items, (items) => items.length === 1);
  const good = await completed(provider);
  await until(endpoint.items, (items) => items.length === 2);
  await provider.putPayout(newId(), 'refuse-later@simulator.example');
  await until(endpoint.items, (items) => items.length === 3);
  await provider.behave({ returnForm: 'rtrId' });
  await provider.control('POST', `/payouts/${good}/return`);
  const items = await until(endpoint.items, (all) => all.length === 4);
  const names = ['delivery-received', 'delivery-sent', 'delivery-sent-refused', 'delivery-sent-returned'];
  for (const [at, name] of names.entries()) sentAs(`efi/${name}`, { pix: [items[at]] });
});

test('a call that the provider does not have is answered 404', async () => {
  const provider = await startProvider();
  for (const [method, path] of [
    ['GET', `/v2/gn/extrato?${span}`],
    ['GET', '/v2/gn/relatorios'],
    ['GET', '/v2/gn/relatorios/a/b'],
    ['POST', '/v2/gn/relatorios/other'],
    ['POST', '/v2/gn/saldo'],
  ] as const)
    expect((await provider.call(method, path)).status, path).toBe(404);
});
