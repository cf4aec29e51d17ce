import { parsePix } from 'pix-utils';
import { describe, expect, test } from 'vitest';
import { crc16 } from '../src/br-code.ts';
import { faults } from './api-pix-schema.ts';
import {
  chargeBody,
  clientOf,
  expectNoAnswer,
  key,
  newId,
  startEndpoint,
  startProvider,
} from './provider.ts';

const full = {
  devedor: { cpf: '12345678909', nome: 'Maria da Silva' },
  solicitacaoPagador: 'Pedido 7',
  infoAdicionais: [{ nome: 'Pagador', valor: 'José Ação' }],
};

describe('a charge that is created', () => {
  test.each([
    ['the least', {}],
    ['all that is offered', full],
    ['a company as debtor', { devedor: { cnpj: '12ABC34501DE35', nome: 'Loja' } }],
    ['no life of its own', { calendario: {} }],
    ['an amount that the payer may change', { valor: { original: '0.01', modalidadeAlteracao: 1 } }],
  ])('answers as API Pix describes it: %s', async (_, change) => {
    const provider = await startProvider();
    const txid = newId();
    const body = chargeBody(change);
    expect(faults('CobSolicitada', body)).toEqual([]);

    const created = await provider.putCharge(txid, body);
    expect(created.status).toBe(201);
    expect(faults('CobGerada', created.body)).toEqual([]);
    expect(created.body).toMatchObject({ txid, status: 'ATIVA', revisao: 0, chave: key, ...change });

    const found = await provider.call('GET', `/v2/cob/${txid}`);
    expect(found.status).toBe(200);
    expect(faults('CobCompleta', found.body)).toEqual([]);
    expect(found.body).toEqual(created.body);
  });

  test('lives a day when nothing else is asked', async () => {
    const provider = await startProvider();
    const before = Date.now();
    const { body } = await provider.putCharge(newId(), chargeBody({ calendario: {} }));
    expect(body.calendario.expiracao).toBe(86_400);
    const createdAt = Date.parse(body.calendario.criacao);
    expect(createdAt).toBeGreaterThan(before - 1_000);
    expect(createdAt).toBeLessThanOrEqual(Date.now());
  });

  test.each(['1.00', '1234567890.99'])('carries a valid dynamic BR Code over %s', async (original) => {
    const provider = await startProvider();
    const txid = 'Z'.repeat(35);
    const { body } = await provider.putCharge(txid, chargeBody({ valor: { original } }));
    const code: string = body.pixCopiaECola;
    expect(code.length).toBeLessThanOrEqual(512);
    expect(body.location.length).toBeLessThanOrEqual(77);
    expect(code.slice(-4)).toBe(crc16(code.slice(0, -4)));
    expect(code).toMatch(/^[\x20-\x7e]+$/);
    const parsed = parsePix(code) as unknown as Record<string, unknown>;
    expect(parsed).toMatchObject({ type: 'DYNAMIC', url: body.location, merchantName: 'VINTEM SIMULADOR' });
    expect(code).toContain(`54${String(original.length).padStart(2, '0')}${original}58`);
  });

  test('is the only one with its txid: a repeat is answered 409, with the same data and with other data', async () => {
    const provider = await startProvider();
    const txid = newId();
    await provider.putCharge(txid);
    for (const behaviour of ['create', 'refuse', 'lose-request', 'error-500', 'hang']) {
      await provider.behave({ charge: behaviour });
      for (const body of [chargeBody(), chargeBody({ valor: { original: '1.00' } })]) {
        const repeated = await provider.putCharge(txid, body);
        expect(repeated.status).toBe(409);
        expect(repeated.type).toBe('application/problem+json');
        expect(faults('Problema', repeated.body)).toEqual([]);
        expect(repeated.body.type).toMatch(/\/CobOperacaoInvalida$/);
        expect(repeated.body.title).toBe('txid_duplicado');
      }
    }
    expect((await provider.state()).charges).toHaveLength(1);
  });
});

describe('a charge that does not respect the schema', () => {
  test.each<[string, unknown]>([
    ['no body', undefined],
    ['no JSON', '{'],
    ['a list', []],
    ['no calendar', chargeBody({ calendario: undefined })],
    ['no amount', chargeBody({ valor: undefined })],
    ['no key', chargeBody({ chave: undefined })],
    ['a life of zero', chargeBody({ calendario: { expiracao: 0 } })],
    ['a life as text', chargeBody({ calendario: { expiracao: '3600' } })],
    ['a zero amount', chargeBody({ valor: { original: '0.00' } })],
    ['an amount as number', chargeBody({ valor: { original: 12.34 } })],
    ['an amount with one decimal', chargeBody({ valor: { original: '12.3' } })],
    ['an amount with a comma', chargeBody({ valor: { original: '12,34' } })],
    ['a key of 78', chargeBody({ chave: 'a'.repeat(78) })],
    ['a debtor without document', chargeBody({ devedor: { nome: 'Maria' } })],
    [
      'a debtor with both documents',
      chargeBody({ devedor: { cpf: '12345678909', cnpj: '11222333000181', nome: 'M' } }),
    ],
    ['a debtor without name', chargeBody({ devedor: { cpf: '12345678909' } })],
    ['a message of 141', chargeBody({ solicitacaoPagador: 'x'.repeat(141) })],
    ['an info with a value of 201', chargeBody({ infoAdicionais: [{ nome: 'a', valor: 'x'.repeat(201) }] })],
    ['an info without name', chargeBody({ infoAdicionais: [{ valor: 'x' }] })],
    ['51 infos', chargeBody({ infoAdicionais: Array(51).fill({ nome: 'a', valor: 'b' }) })],
    ['an unknown property', chargeBody({ notification_url: 'https://x.example' })],
    ['an unknown property inside', chargeBody({ valor: { original: '1.00', moeda: 'BRL' } })],
    ['a location that does not exist', chargeBody({ loc: { id: 7 } })],
    ['a withdrawal', chargeBody({ valor: { original: '1.00', retirada: {} } })],
  ])('is refused: %s', async (_, body) => {
    const provider = await startProvider();
    const txid = newId();
    const answer = await provider.call('PUT', `/v2/cob/${txid}`, body);
    expect(answer.status).toBe(400);
    expect(faults('Problema', answer.body)).toEqual([]);
    expect(answer.body.violacoes.length).toBeGreaterThan(0);
    expect((await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(404);
  });

  test.each(['short', 'x'.repeat(36), 'with-hyphens-0123456789-0123456789'])(
    'is refused: txid %s',
    async (txid) => {
      const provider = await startProvider();
      expect((await provider.putCharge(txid)).status).toBe(400);
    },
  );

  test('is refused by the schema too, where the schema says so', () => {
    expect(faults('CobSolicitada', chargeBody({ devedor: { nome: 'Maria' } }))).not.toEqual([]);
    expect(faults('CobSolicitada', chargeBody({ valor: { original: '12.3' } }))).not.toEqual([]);
  });
});

describe('the charge behaviour', () => {
  test('refuse: 400, and the charge does not exist', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'refuse' });
    const txid = newId();
    const refused = await provider.putCharge(txid);
    expect(refused.status).toBe(400);
    expect(faults('Problema', refused.body)).toEqual([]);
    expect((await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(404);
  });

  test('lose-answer: the connection ends and the charge exists', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'lose-answer' });
    const txid = newId();
    await expect(provider.putCharge(txid)).rejects.toThrow();
    expect((await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(200);
  });

  test('lose-request: the connection ends and the charge does not exist', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'lose-request' });
    const txid = newId();
    await expect(provider.putCharge(txid)).rejects.toThrow();
    expect((await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(404);
    await provider.behave({ charge: 'create' });
    expect((await provider.putCharge(txid)).status).toBe(201);
  });

  test('error-500: a problem, and the charge does not exist', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'error-500' });
    const txid = newId();
    const failed = await provider.putCharge(txid);
    expect(failed.status).toBe(500);
    expect(faults('Problema', failed.body)).toEqual([]);
    expect((await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(404);
  });

  test('hang: nothing comes and the charge exists', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'hang' });
    const txid = newId();
    await expectNoAnswer(
      (givenUp) => provider.call('PUT', `/v2/cob/${txid}`, chargeBody(), givenUp),
      () => expect.poll(async () => (await provider.call('GET', `/v2/cob/${txid}`)).status).toBe(200),
    );
  });

  test('no-code: the charge comes without code and location, and stays so', async () => {
    const provider = await startProvider();
    await provider.behave({ charge: 'no-code' });
    const txid = newId();
    const created = await provider.putCharge(txid);
    expect(created.status).toBe(201);
    await provider.control('DELETE', '/behaviour');
    const found = await provider.call('GET', `/v2/cob/${txid}`);
    for (const body of [created.body, found.body]) {
      expect(faults('CobGerada', body)).toEqual([]);
      for (const name of ['pixCopiaECola', 'loc', 'location']) expect(body).not.toHaveProperty(name);
    }
  });
});

describe('a payer', () => {
  test('pays the amount: the charge is CONCLUIDA and shows the Pix', async () => {
    const provider = await startProvider();
    const txid = newId();
    await provider.putCharge(txid);
    const paid = await provider.control('POST', `/charges/${txid}/pay`);
    expect(paid.status).toBe(200);
    expect(paid.body.endToEnd).toMatch(/^E\d{8}\d{12}[0-9a-zA-Z]{11}$/);

    const found = await provider.call('GET', `/v2/cob/${txid}`);
    expect(faults('CobCompleta', found.body)).toEqual([]);
    expect(found.body).toMatchObject({ status: 'CONCLUIDA', revisao: 0 });
    expect(found.body.pix).toMatchObject([{ endToEndId: paid.body.endToEnd, txid, valor: '12.34' }]);
    // As Efí's own client reads one charge.
    expect(found.body.pix[0]).not.toHaveProperty('chave');

    const pix = await provider.call('GET', `/v2/pix/${paid.body.endToEnd}`);
    expect(faults('Pix', pix.body)).toEqual([]);
    expect(pix.body).toEqual({ ...found.body.pix[0], chave: key });

    const state = await provider.state(`?txid=${txid}`);
    expect(state.charges).toMatchObject([
      { txid, amountCents: 1234, status: 'paid', endToEnd: paid.body.endToEnd },
    ]);
    expect(state.charges[0].paidAt).toBe(pix.body.horario);
    expect(state.balanceCents).toBe(1234);
  });

  test('pays another amount, and once more', async () => {
    const provider = await startProvider();
    const txid = newId();
    await provider.putCharge(txid);
    const first = await provider.control('POST', `/charges/${txid}/pay`, { amountCents: 1 });
    const second = await provider.control('POST', `/charges/${txid}/pay`, {});
    expect(second.body.endToEnd).not.toBe(first.body.endToEnd);
    const { body } = await provider.call('GET', `/v2/cob/${txid}`);
    expect(body.pix.map((pix: { valor: string }) => pix.valor)).toEqual(['0.01', '12.34']);
    expect((await provider.state()).balanceCents).toBe(1235);
  });

  test('pays late; a removed charge cannot be paid', async () => {
    const provider = await startProvider();
    const late = newId();
    await provider.putCharge(late);
    await provider.control('POST', `/charges/${late}/expire`);
    expect((await provider.control('POST', `/charges/${late}/pay`)).status).toBe(200);

    const removed = newId();
    await provider.putCharge(removed);
    await provider.control('POST', `/charges/${removed}/remove`);
    const refused = await provider.control('POST', `/charges/${removed}/pay`);
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatch(/removed/);
    expect((await provider.call('GET', `/v2/cob/${removed}`)).body).not.toHaveProperty('pix');
  });
});

describe('a charge that ends otherwise', () => {
  test.each([60, 86_400])(
    'expires two minutes ago, as its calendar says (asked for %i s)',
    async (expiracao) => {
      const provider = await startProvider();
      const txid = newId();
      const created = await provider.putCharge(txid, chargeBody({ calendario: { expiracao } }));
      const before = Date.now();
      expect((await provider.control('POST', `/charges/${txid}/expire`)).status).toBe(200);
      const after = Date.now();
      const { body } = await provider.call('GET', `/v2/cob/${txid}`);
      expect(faults('CobCompleta', body)).toEqual([]);
      expect(body.status).toBe('ATIVA');
      const deadline = Date.parse(body.calendario.criacao) + body.calendario.expiracao * 1000;
      expect(after - deadline).toBeGreaterThanOrEqual(119_000);
      expect(before - deadline).toBeLessThanOrEqual(121_000);
      expect((await provider.state(`?txid=${txid}`)).charges[0].status).toBe('expired');
      const listed = await provider.call(
        'GET',
        `/v2/cob?inicio=${created.body.calendario.criacao}&fim=${created.body.calendario.criacao}`,
      );
      expect(listed.body.cobs).toHaveLength(1);
    },
  );

  test('is removed by the provider, once', async () => {
    const provider = await startProvider();
    const txid = newId();
    await provider.putCharge(txid);
    expect((await provider.control('POST', `/charges/${txid}/remove`)).status).toBe(200);
    expect((await provider.call('GET', `/v2/cob/${txid}`)).body.status).toBe('REMOVIDA_PELO_PSP');
    expect((await provider.state()).charges[0].status).toBe('removed');
    expect((await provider.control('POST', `/charges/${txid}/remove`)).status).toBe(409);
    expect((await provider.control('POST', `/charges/${txid}/expire`)).status).toBe(409);
  });

  test('is removed or changed by its receiver while it is active', async () => {
    const provider = await startProvider();
    const txid = newId();
    await provider.putCharge(txid);
    const changed = await provider.call('PATCH', `/v2/cob/${txid}`, { valor: { original: '5.00' } });
    expect(changed.status).toBe(200);
    expect(faults('CobGerada', changed.body)).toEqual([]);
    expect(changed.body).toMatchObject({ revisao: 1, valor: { original: '5.00' } });

    const status = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
    const both = await provider.call('PATCH', `/v2/cob/${txid}`, { status, valor: { original: '6.00' } });
    expect(both.status).toBe(400);
    const removed = await provider.call('PATCH', `/v2/cob/${txid}`, { status });
    expect(removed.body).toMatchObject({ revisao: 2, status });
    expect((await provider.call('PATCH', `/v2/cob/${txid}`, { status })).status).toBe(400);
    expect((await provider.call('PATCH', `/v2/cob/${newId()}`, { status })).status).toBe(404);
  });
});

test('A charge without an id gets one of the provider, under which it is found', async () => {
  const provider = await startProvider();
  const created = await provider.call('POST', '/v2/cob', chargeBody());
  expect(created.status).toBe(201);
  expect(faults('CobGerada', created.body)).toEqual([]);
  const { txid } = created.body;
  expect((await provider.call('GET', `/v2/cob/${txid}`)).body).toMatchObject({ txid, status: 'ATIVA' });
  expect((await provider.call('POST', '/v2/cob', chargeBody())).body.txid).not.toBe(txid);
  expect((await provider.call('POST', '/v2/cob', chargeBody({ chave: 7 }))).status).toBe(400);
});

test('The addresses of the keys of an account are listed, and those of another account are not', async () => {
  const provider = await startProvider();
  const endpoint = await startEndpoint();
  await endpoint.register(provider);
  const other = clientOf(provider.url, 'other');
  await other.call('PUT', '/v2/webhook/outra@loja.example', { webhookUrl: endpoint.url });
  const window = 'inicio=2020-01-01T00:00:00Z&fim=2099-01-01T00:00:00Z';
  const { body } = await provider.call('GET', `/v2/webhook?${window}`);
  expect(faults('WebhooksConsultados', body)).toEqual([]);
  expect(body.webhooks).toMatchObject([{ chave: key, webhookUrl: endpoint.url }]);
  expect((await provider.call('GET', '/v2/webhook')).status).toBe(400);
});

test('a webhook registration is kept, shown and removed', async () => {
  const provider = await startProvider();
  const endpoint = await startEndpoint();
  expect((await provider.call('GET', `/v2/webhook/${key}`)).status).toBe(404);
  expect((await endpoint.register(provider)).status).toBe(200);
  const shown = await provider.call('GET', `/v2/webhook/${encodeURIComponent(key)}`);
  expect(faults('WebhookCompleto', shown.body)).toEqual([]);
  expect(shown.body.webhookUrl).toBe(endpoint.url);
  expect((await provider.call('DELETE', `/v2/webhook/${key}`)).status).toBe(204);
  expect((await provider.call('DELETE', `/v2/webhook/${key}`)).status).toBe(404);
  for (const webhookUrl of ['ftp://x.example', 'nowhere', 7]) {
    expect((await provider.call('PUT', `/v2/webhook/${key}`, { webhookUrl })).status).toBe(400);
  }
});
