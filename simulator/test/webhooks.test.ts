import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faults } from './api-pix-schema.ts';
import {
  clientOf,
  expectedSignature,
  key,
  newId,
  secret,
  startEndpoint,
  startProvider,
  until,
} from './provider.ts';

describe('a webhook', () => {
  test('reports a received Pix at the registered address, `/pix` appended, and is signed', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    const txid = newId();
    await provider.putCharge(txid);
    const { endToEnd } = (await provider.control('POST', `/charges/${txid}/pay`)).body;
    const [delivery] = await until(
      () => endpoint.deliveries,
      (all) => all.length > 0,
    );
    expect(delivery?.path).toBe('/hooks/provider/pix');
    expect(delivery?.pix).toEqual([
      { endToEndId: endToEnd, txid, valor: '12.34', chave: key, horario: expect.any(String) },
    ]);
    expect(faults('Pix', delivery?.pix[0])).toEqual([]);
    const header = String(delivery?.headers['x-simulator-signature']);
    expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(header).toBe(expectedSignature(header, delivery?.raw ?? '', secret));
    expect(header).not.toBe(expectedSignature(header, delivery?.raw ?? '', 'another'));
    await until(
      () => provider.state(),
      (state) => state.webhooksSent === 1,
    );
  });

  test('reports a completed, a refused and a returned payout', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    const [good, bad] = [newId(), newId()];
    const { endToEndId } = (await provider.putPayout(good)).body;
    await until(endpoint.items, (items) => items.length === 1);
    await provider.putPayout(bad, 'refuse-later@simulator.example');
    await until(endpoint.items, (items) => items.length === 2);
    const { rtrId } = (await provider.control('POST', `/payouts/${good}/return`, { amountCents: 100 })).body;
    const items = await until(endpoint.items, (all) => all.length === 3);
    expect(items[0]).toEqual({
      tipo: 'SOLICITACAO',
      status: 'REALIZADO',
      endToEndId,
      chave: key,
      valor: '9.75',
      horario: expect.any(String),
      gnExtras: { idEnvio: good },
    });
    expect(items[1]).toMatchObject({
      status: 'NAO_REALIZADO',
      gnExtras: { idEnvio: bad, erro: { codigo: 'AC03', motivo: expect.any(String) } },
    });
    expect(items[2]).toMatchObject({
      status: 'REALIZADO',
      devolucoes: [{ rtrId, valor: '1.00', horario: expect.any(String) }],
    });
  });

  test('a payout that is refused in the answer is not reported again', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.putPayout(newId(), 'refuse-in-answer@simulator.example');
    await provider.putPayout(newId());
    await until(endpoint.items, (items) => items.length === 1);
    expect(endpoint.items()[0].status).toBe('REALIZADO');
  });

  test('carries together what falls due together, at most 100', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.behave({ payout: 'stay-pending' });
    const ids = Array.from({ length: 250 }, newId);
    await Promise.all(ids.map((id) => provider.putPayout(id)));
    await Promise.all(ids.map((id) => provider.control('POST', `/payouts/${id}/complete`)));
    const items = await until(endpoint.items, (all) => all.length === 250);
    expect(new Set(items.map((item) => item.gnExtras.idEnvio))).toEqual(new Set(ids));
    expect(Math.max(...endpoint.deliveries.map((delivery) => delivery.pix.length))).toBeLessThanOrEqual(100);
    expect(endpoint.deliveries.length).toBeLessThan(100);
  });

  test('goes to the last address that was registered for the key, signed with its client’s secret', async () => {
    const provider = await startProvider();
    const [old, current] = [await startEndpoint(), await startEndpoint()];
    await old.register(provider);
    const other = clientOf(provider.url);
    const response = await fetch(`${provider.url}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('other:their-secret')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    other.useToken(((await response.json()) as { access_token: string }).access_token);
    await current.register(other);
    await provider.putPayout(newId());
    const [delivery] = await until(
      () => current.deliveries,
      (all) => all.length > 0,
    );
    const header = String(delivery?.headers['x-simulator-signature']);
    expect(header).toBe(expectedSignature(header, delivery?.raw ?? '', 'their-secret'));
    expect(old.deliveries).toEqual([]);
  });

  test('is sent again, a second later, when it was not taken', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint((count) => (count === 1 ? 503 : 200));
    await endpoint.register(provider);
    await provider.putPayout(newId());
    const deliveries = await until(
      () => endpoint.deliveries,
      (all) => all.length === 2,
    );
    expect(deliveries[1]?.pix).toEqual(deliveries[0]?.pix);
    expect((deliveries[1]?.at ?? 0) - (deliveries[0]?.at ?? 0)).toBeGreaterThanOrEqual(950);
  });

  test('reaches a client that was away', async () => {
    const provider = await startProvider();
    const gone = await startEndpoint();
    await gone.register(provider);
    gone.close();
    const idEnvio = newId();
    await provider.putPayout(idEnvio);
    await until(
      () => provider.payoutState(idEnvio),
      (payout) => payout?.status === 'completed',
    );
    const back = await startEndpoint(undefined, gone.port);
    const items = await until(back.items, (all) => all.length === 1);
    expect(items[0].gnExtras.idEnvio).toBe(idEnvio);
  });
});

describe('the webhook behaviour', () => {
  test('drop: nothing goes out, and what was dropped never does', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.behave({ webhook: 'drop', settleAfterMs: 0 });
    const [dropped, sent] = [newId(), newId()];
    await provider.putPayout(dropped);
    await until(
      () => readFileSync(join(provider.stateDir, 'journal.jsonl'), 'utf8'),
      (journal) => journal.includes('"notified"'),
    );
    await provider.behave({ webhook: 'send' });
    await provider.putPayout(sent);
    const items = await until(endpoint.items, (all) => all.length > 0);
    expect(items.map((item) => item.gnExtras.idEnvio)).toEqual([sent]);
  });

  test('duplicate: the same delivery comes twice', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.behave({ webhook: 'duplicate' });
    await provider.putPayout(newId());
    const deliveries = await until(
      () => endpoint.deliveries,
      (all) => all.length === 2,
    );
    expect(deliveries[1]?.raw).toBe(deliveries[0]?.raw);
    await until(
      () => provider.state(),
      (state) => state.webhooksSent === 2,
    );
  });

  test('delay: it comes delayMs later', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.behave({ webhook: 'delay', delayMs: 300 });
    const idEnvio = newId();
    await provider.putPayout(idEnvio);
    const [delivery] = await until(
      () => endpoint.deliveries,
      (all) => all.length > 0,
    );
    expect((delivery?.at ?? 0) - Date.parse(delivery?.pix[0].horario)).toBeGreaterThanOrEqual(300);
  });

  test('reorder: the last comes first', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await endpoint.register(provider);
    await provider.behave({ webhook: 'reorder', payout: 'stay-pending', delayMs: 500 });
    const idEnvio = newId();
    await provider.putPayout(idEnvio);
    await provider.control('POST', `/payouts/${idEnvio}/complete`);
    await provider.control('POST', `/payouts/${idEnvio}/return`);
    const items = await until(endpoint.items, (all) => all.length === 2);
    expect(items[0].devolucoes).toHaveLength(1);
    expect(items[1]).not.toHaveProperty('devolucoes');
  });
});

test('Deliveries name the fee until the account is set not to have it, and then as it is set', async () => {
  const provider = await startProvider();
  const endpoint = await startEndpoint();
  await endpoint.register(provider);
  await provider.behave({ fees: 'on' });
  const paid = async (n: number) => {
    const txid = newId();
    await provider.putCharge(txid);
    await provider.control('POST', `/charges/${txid}/pay`);
    return (await until(endpoint.items, (items) => items.length === n)).at(-1);
  };
  expect(await paid(1)).toMatchObject({ gnExtras: { tarifa: '0.15' } });
  const received = { txidObrigatorio: false, qrCodeEstatico: { recusarTodos: false } };
  const set = (recebimento: object) =>
    provider.call('PUT', '/v2/gn/config', {
      pix: { receberSemChave: true, chaves: { [key]: { recebimento } } },
    });
  expect((await set(received)).status).toBe(204);
  expect((await paid(2))?.gnExtras).toBeUndefined();
  const notificacao = { tarifa: true, pagador: false };
  await set({ ...received, webhook: { notificacao } });
  expect(await paid(3)).toMatchObject({ gnExtras: { tarifa: '0.15' } });
  expect((await provider.call('GET', '/v2/gn/config')).body.pix.chaves[key].recebimento.webhook).toEqual({
    notificacao,
  });
  expect((await set({ txidObrigatorio: 'no' })).status).toBe(400);
});

test('A client has deliveries of its own Pix made again, and not those of another account', async () => {
  const provider = await startProvider();
  const endpoint = await startEndpoint();
  await endpoint.register(provider);
  const txid = newId();
  await provider.putCharge(txid);
  const { endToEnd } = (await provider.control('POST', `/charges/${txid}/pay`)).body;
  await until(endpoint.items, (items) => items.length === 1);
  const again = { tipo: 'PIX_RECEBIDO', e2eids: [endToEnd] };
  expect((await provider.call('POST', '/v2/gn/webhook/reenviar', again)).status).toBe(202);
  const [first, second] = await until(endpoint.items, (items) => items.length === 2);
  expect(second).toEqual(first);
  const other = clientOf(provider.url, 'other');
  await other.call('PUT', '/v2/webhook/outra@loja.example', { webhookUrl: endpoint.url });
  expect((await other.call('POST', '/v2/gn/webhook/reenviar', again)).status).toBe(404);
  const wrong = { ...again, tipo: 'PIX' };
  expect((await provider.call('POST', '/v2/gn/webhook/reenviar', wrong)).status).toBe(400);
});
