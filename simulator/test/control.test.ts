import { describe, expect, test } from 'vitest';
import { defaultBehaviour } from '../src/behaviour.ts';
import { clientOf, key, newId, startEndpoint, startProvider } from './provider.ts';

describe('the behaviour', () => {
  test('is shown, merged and reset', async () => {
    const provider = await startProvider();
    expect((await provider.control('GET', '/behaviour')).body).toEqual(defaultBehaviour);
    const first = await provider.behave({ payout: 'hang', delayMs: 7 });
    expect(first.body).toEqual({ ...defaultBehaviour, payout: 'hang', delayMs: 7 });
    const second = await provider.behave({ query: 'stale' });
    expect(second.body).toEqual({ ...defaultBehaviour, payout: 'hang', delayMs: 7, query: 'stale' });
    expect((await provider.control('PUT', '/behaviour')).body).toEqual(second.body);
    expect((await provider.control('DELETE', '/behaviour')).body).toEqual(defaultBehaviour);
    expect((await provider.control('GET', '/behaviour')).body).toEqual(defaultBehaviour);
  });

  test.each<[string, unknown]>([
    ['an unknown value', { payout: 'explode' }],
    ['a value of another key', { charge: 'complete' }],
    ['an unknown key', { payouts: 'complete' }],
    ['a key of every object', { toString: 'complete' }],
    ['a time below zero', { delayMs: -1 }],
    ['a time as text', { settleAfterMs: '50' }],
    ['a broken time', { settleAfterMs: 1.5 }],
    ['a good key beside a bad one', { query: 'stale', webhook: 'lose' }],
    ['a list', []],
    ['no JSON', '{'],
  ])('stays as it is when it is asked for %s', async (_, body) => {
    const provider = await startProvider();
    const refused = await provider.control('PUT', '/behaviour', body);
    expect(refused.status).toBe(400);
    expect(refused.body.error).toEqual(expect.any(String));
    expect((await provider.control('GET', '/behaviour')).body).toEqual(defaultBehaviour);
  });
});

describe('a control call', () => {
  test('for what does not exist is answered 404', async () => {
    const provider = await startProvider();
    for (const action of ['pay', 'expire', 'remove']) {
      const answer = await provider.control('POST', `/charges/${newId()}/${action}`);
      expect([answer.status, typeof answer.body.error]).toEqual([404, 'string']);
    }
    for (const action of ['complete', 'refuse', 'return']) {
      const answer = await provider.control('POST', `/payouts/${newId()}/${action}`);
      expect([answer.status, typeof answer.body.error]).toEqual([404, 'string']);
    }
    for (const path of [
      '/nothing',
      '/charges',
      `/charges/${newId()}/explode`,
      `/payouts/${newId()}/constructor`,
    ]) {
      expect((await provider.control('POST', path)).status).toBe(404);
    }
  });

  test('with a bad body is answered 400 and does nothing', async () => {
    const provider = await startProvider();
    const [txid, idEnvio] = [newId(), newId()];
    await provider.putCharge(txid);
    await provider.putPayout(idEnvio, 'stay-pending@simulator.example');
    for (const body of [
      { amountCents: 0 },
      { amountCents: '5' },
      { amountCents: 1.5 },
      { cents: 5 },
      '{',
      [],
    ]) {
      expect((await provider.control('POST', `/charges/${txid}/pay`, body)).status).toBe(400);
    }
    expect((await provider.control('POST', `/payouts/${idEnvio}/refuse`, { reason: 7 })).status).toBe(400);
    expect((await provider.control('POST', `/payouts/${idEnvio}/complete`, { amountCents: 1 })).status).toBe(
      400,
    );
    const state = await provider.state();
    expect([state.charges[0].status, state.payouts[0].status]).toEqual(['open', 'pending']);
  });

  test('takes an empty body for {} and an id with hyphens', async () => {
    const provider = await startProvider();
    const txid = '0123456789abcdef0123456789abcdef';
    await provider.putCharge(txid);
    const uuid = '01234567-89ab-cdef-0123-456789abcdef';
    expect((await provider.control('POST', `/charges/${uuid}/pay`, '')).status).toBe(200);
    expect((await provider.state(`?txid=${uuid}`)).charges).toMatchObject([{ txid }]);
  });

  test('pays a static code into the account of its key, else into the one that is notified first, else into the first', async () => {
    const provider = await startProvider();
    const pay = (fields: object) =>
      provider.control('POST', '/static', { identifier: 'MESA7', amountCents: 500, ...fields });
    expect((await pay({})).status).toBe(404);
    const received = async () => {
      const window = 'inicio=2020-01-01T00:00:00Z&fim=2099-01-01T00:00:00Z';
      return (await provider.call('GET', `/v2/pix?${window}&txid=MESA7`)).body.pix.length;
    };
    await provider.putCharge(newId());
    expect((await pay({})).status).toBe(200);
    expect(await received()).toBe(1);
    const endpoint = await startEndpoint();
    const other = clientOf(provider.url, 'other');
    await other.call('PUT', '/v2/webhook/outra@loja.example', { webhookUrl: endpoint.url });
    await pay({});
    expect(await received()).toBe(1);
    await pay({ key });
    expect(await received()).toBe(2);
  });

  test('is refused to a page from elsewhere', async () => {
    const provider = await startProvider();
    const call = (origin: string) =>
      fetch(`${provider.url}/control/behaviour`, { method: 'DELETE', headers: { origin } });
    expect((await call('https://evil.example')).status).toBe(403);
    expect((await call('null')).status).toBe(403);
    expect((await call(provider.url)).status).toBe(200);
  });
});

describe('the state', () => {
  test('shows everything, or what it is narrowed to', async () => {
    const provider = await startProvider();
    const [txid, idEnvio] = [newId(), newId()];
    await provider.putCharge(txid);
    await provider.putCharge(newId());
    await provider.putPayout(idEnvio, 'stay-pending@simulator.example');
    const all = await provider.state();
    expect(all.charges).toHaveLength(2);
    expect(all.charges[0]).toMatchObject({ txid, amountCents: 1234, status: 'open' });
    expect(all.payouts).toMatchObject([
      {
        idEnvio,
        amountCents: 975,
        pixKey: 'stay-pending@simulator.example',
        status: 'pending',
        timesReceived: 1,
        timesAccepted: 1,
        endToEnd: expect.any(String),
      },
    ]);
    expect(all).toMatchObject({ balanceCents: 0, queries: 0, webhooksSent: 0 });
    const charge = await provider.state(`?txid=${txid}`);
    expect([charge.charges.length, charge.payouts.length]).toEqual([1, 0]);
    const payout = await provider.state(`?idEnvio=${idEnvio}`);
    expect([payout.charges.length, payout.payouts.length]).toEqual([0, 1]);
    const none = await provider.state(`?idEnvio=${newId()}&txid=${newId()}`);
    expect([none.charges.length, none.payouts.length]).toEqual([0, 0]);
  });

  test('shows what a charge received where that is not what it asked for, and who contests it', async () => {
    const provider = await startProvider();
    const [asked, other] = [newId(), newId()];
    for (const txid of [asked, other]) await provider.putCharge(txid);
    await provider.control('POST', `/charges/${asked}/pay`);
    await provider.control('POST', `/charges/${other}/pay`, { amountCents: 1000 });
    const { body: dispute } = await provider.control('POST', `/charges/${other}/dispute`, {
      amountCents: 400,
    });
    const { charges } = await provider.state();
    expect(charges[0]).not.toHaveProperty('payments');
    expect(charges[0]).not.toHaveProperty('disputes');
    expect(charges[1]).toMatchObject({
      amountCents: 1234,
      payments: [{ amountCents: 1000 }],
      disputes: [dispute],
    });
    expect(dispute).toMatchObject({ amountCents: 400, status: 'ABERTA' });
  });

  test('is whole JSON however long it is', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'stay-pending' });
    for (let round = 0; round < 25; round++) {
      await Promise.all(Array.from({ length: 100 }, () => provider.putPayout(newId())));
    }
    expect((await provider.state()).payouts).toHaveLength(2500);
  });
});

test('the page comes with its two files and a strict policy', async () => {
  const provider = await startProvider();
  const page = await fetch(`${provider.url}/`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const html = await page.text();
  expect(html).toContain('Simulador');
  expect(html).not.toMatch(/<script(?! src=)|\son\w+=|\sstyle=/);
  for (const [, path] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    expect((await fetch(provider.url + path)).status).toBe(200);
  }
  const txid = newId();
  await provider.putCharge(txid);
  expect(await (await fetch(`${provider.url}/page/data`)).json()).toMatchObject({
    charges: [{ txid, status: 'open', copyPaste: expect.stringContaining(txid) }],
    behaviour: defaultBehaviour,
  });
});
