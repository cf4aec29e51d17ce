import { describe, expect, test } from 'vitest';
import { emptyBank, passTime, requestPayout } from '../src/bank.ts';
import { realWorld } from '../src/world.ts';
import {
  expectNoAnswer,
  key,
  newId,
  type Provider,
  payoutBody,
  startEndpoint,
  startProvider,
  until,
} from './provider.ts';

const settled = (provider: Provider, idEnvio: string) =>
  until(
    () => provider.payoutState(idEnvio),
    (payout) => payout?.status !== undefined && payout.status !== 'pending',
  );

describe('a payout', () => {
  test('left alone is accepted and completes after 50 ms', async () => {
    const provider = await startProvider();
    const idEnvio = newId();
    const accepted = await provider.putPayout(idEnvio);
    expect(accepted.status).toBe(201);
    expect(accepted.body).toMatchObject({ idEnvio, valor: '9.75', status: 'EM_PROCESSAMENTO' });
    expect(accepted.body.endToEndId).toMatch(/^E[0-9A-Z]{8}\d{12}[0-9a-zA-Z]{11}$/);
    expect(accepted.body.horario.solicitacao).toMatch(/Z$/);

    await settled(provider, idEnvio);
    const { body } = await provider.payout(idEnvio);
    expect(body).toMatchObject({
      endToEndId: accepted.body.endToEndId,
      idEnvio,
      valor: '9.75',
      chave: key,
      favorecido: { chave: 'alguem@exemplo.example' },
      status: 'REALIZADO',
    });
    const tookMs = Date.parse(body.horario.liquidacao) - Date.parse(body.horario.solicitacao);
    expect(tookMs).toBeGreaterThanOrEqual(50);
    expect((await provider.call('GET', `/v2/gn/pix/enviados/${accepted.body.endToEndId}`)).body).toEqual(
      body,
    );
    expect((await provider.state()).balanceCents).toBe(-975);
    expect((await provider.call('GET', '/v2/gn/saldo')).body).toEqual({ saldo: '-9.75' });
  });

  test('with an unused id is not found', async () => {
    const provider = await startProvider();
    for (const path of [`id-envio/${newId()}`, 'E00000000202601010000abcdefghijk']) {
      const answer = await provider.call('GET', `/v2/gn/pix/enviados/${path}`);
      expect(answer.status).toBe(404);
      expect(answer.body.type).toMatch(/\/PixEnviadoNaoEncontrado$/);
    }
  });

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'json_invalido'],
    ['a list', [], 'json_invalido'],
    ['a zero amount', payoutBody(undefined, { valor: '0.00' }), 'valor_invalido'],
    ['an amount as number', payoutBody(undefined, { valor: 9.75 }), 'valor_invalido'],
    ['no payer', payoutBody(undefined, { pagador: undefined }), 'json_invalido'],
    ['a payer without key', payoutBody(undefined, { pagador: {} }), 'chave_invalida'],
    [
      'a text of 141',
      payoutBody(undefined, { pagador: { chave: key, infoPagador: 'x'.repeat(141) } }),
      'json_invalido',
    ],
    ['no receiver', payoutBody(undefined, { favorecido: {} }), 'json_invalido'],
    [
      'two documents',
      payoutBody(undefined, { favorecido: { chave: 'a', cpf: '1', cnpj: '2' } }),
      'json_invalido',
    ],
    ['an unknown property', payoutBody(undefined, { txid: 'x' }), 'json_invalido'],
  ])('that does not respect the schema is refused and leaves no row: %s', async (_, body, nome) => {
    const provider = await startProvider();
    const idEnvio = newId();
    const refused = await provider.call('PUT', `/v3/gn/pix/${idEnvio}`, body);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ nome, mensagem: expect.any(String) });
    expect((await provider.payout(idEnvio)).status).toBe(404);
    expect(await provider.payoutState(idEnvio)).toMatchObject({ timesReceived: 1, timesAccepted: 0 });
  });

  test('of a key without an address is refused where addresses are checked, and its id stays free', async () => {
    const provider = await startProvider();
    const endpoint = await startEndpoint();
    await provider.behave({ registration: 'checked' });
    const idEnvio = newId();
    const refused = await provider.putPayout(idEnvio);
    expect([refused.status, refused.body.nome]).toEqual([400, 'webhook_nao_cadastrado']);
    expect(await provider.payoutState(idEnvio)).toMatchObject({ timesReceived: 1, timesAccepted: 0 });
    await endpoint.register(provider);
    expect((await provider.putPayout(idEnvio)).status).toBe(201);
  });

  test('needs an id of 1 to 35 letters or digits', async () => {
    const provider = await startProvider();
    for (const id of ['x'.repeat(36), 'a-b', 'a%20b'])
      expect((await provider.putPayout(id)).status).toBe(400);
    expect((await provider.putPayout('x'.repeat(35))).status).toBe(201);
  });
});

describe('the payout behaviour', () => {
  test('stay-pending: waits for a decision', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'stay-pending', settleAfterMs: 0 });
    const [first, second] = [newId(), newId()];
    await provider.putPayout(first);
    await provider.behave({ payout: 'complete' });
    await provider.putPayout(second);
    await settled(provider, second);
    expect((await provider.payoutState(first))?.status).toBe('pending');
    expect((await provider.payout(first)).body.status).toBe('EM_PROCESSAMENTO');
  });

  test('refuse-in-answer: 422, and a row that says so', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'refuse-in-answer' });
    const idEnvio = newId();
    const refused = await provider.putPayout(idEnvio);
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ nome: 'pagamento_negado', mensagem: expect.any(String) });
    const { status, body } = await provider.payout(idEnvio);
    expect(status).toBe(200);
    expect(body.status).toBe('NAO_REALIZADO');
    expect(body.gnExtras.erro).toMatchObject({ codigo: expect.any(String), motivo: expect.any(String) });
    expect(await provider.payoutState(idEnvio)).toMatchObject({
      status: 'refused',
      timesReceived: 1,
      timesAccepted: 0,
    });
  });

  test('refuse-later: accepted, then refused', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'refuse-later', settleAfterMs: 0 });
    const idEnvio = newId();
    expect((await provider.putPayout(idEnvio)).status).toBe(201);
    expect(await settled(provider, idEnvio)).toMatchObject({ status: 'refused', timesAccepted: 1 });
    const { body } = await provider.payout(idEnvio);
    expect(body).toMatchObject({ status: 'NAO_REALIZADO', gnExtras: { erro: { codigo: 'AC03' } } });
    expect(body.horario).not.toHaveProperty('liquidacao');
    expect((await provider.state()).balanceCents).toBe(0);
  });

  test('lose-answer: the connection ends and the payout is on its way', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'lose-answer' });
    const idEnvio = newId();
    await expect(provider.putPayout(idEnvio)).rejects.toThrow();
    expect(await settled(provider, idEnvio)).toMatchObject({
      status: 'completed',
      timesReceived: 1,
      timesAccepted: 1,
    });
  });

  test('lose-request: the connection ends, nothing is accepted, and the request is counted', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'lose-request' });
    const idEnvio = newId();
    await expect(provider.putPayout(idEnvio)).rejects.toThrow();
    await expect(provider.putPayout(idEnvio)).rejects.toThrow();
    expect((await provider.payout(idEnvio)).status).toBe(404);
    expect(await provider.payoutState(idEnvio)).toMatchObject({
      timesReceived: 2,
      timesAccepted: 0,
      amountCents: 975,
    });
    expect(await provider.payoutState(idEnvio)).not.toHaveProperty('status');

    await provider.behave({ payout: 'complete' });
    expect((await provider.putPayout(idEnvio)).status).toBe(201);
    expect(await provider.payoutState(idEnvio)).toMatchObject({ timesReceived: 3, timesAccepted: 1 });
  });

  test('delay-request: the connection ends and the request arrives later, once', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'delay-request', delayMs: 150, settleAfterMs: 0 });
    const idEnvio = newId();
    const before = Date.now();
    await expect(provider.putPayout(idEnvio)).rejects.toThrow();
    await settled(provider, idEnvio);
    const { body } = await provider.payout(idEnvio);
    expect(Date.parse(body.horario.solicitacao) - before).toBeGreaterThanOrEqual(149);
    expect(await provider.payoutState(idEnvio)).toMatchObject({
      status: 'completed',
      timesReceived: 1,
      timesAccepted: 1,
    });
    expect((await provider.state()).balanceCents).toBe(-975);
  });

  describe('delay-request, by a clock that is moved', () => {
    const request = {
      idEnvio: 'a',
      amountCents: 975,
      payerKey: key,
      pixKey: 'alguem@exemplo.example',
    };
    function delayed() {
      const bank = emptyBank();
      const world = { ...realWorld(), now: () => nowMs };
      let nowMs = 1_800_000_000_000;
      bank.behaviour.payout = 'delay-request';
      bank.behaviour.delayMs = 100;
      const ask = () => requestPayout(bank, world, request.idEnvio, request);
      const pass = (ms: number) => {
        nowMs += ms;
        passTime(bank, world);
      };
      return { bank, ask, pass, payout: () => bank.payouts.get(request.idEnvio) };
    }

    test('nothing is there before the request arrives, and two of them are one payout', () => {
      const { ask, pass, payout } = delayed();
      expect([ask().fate, ask().fate]).toEqual(['drop', 'drop']);
      pass(99);
      expect(payout()).toMatchObject({ status: 'seen', accepted: false });
      pass(1);
      expect(payout()).toMatchObject({ status: 'pending', accepted: true, timesReceived: 2 });
    });

    test('an id that was decided in the meantime is not decided anew', () => {
      const { bank, ask, pass, payout } = delayed();
      expect(ask().fate).toBe('drop');
      bank.behaviour.payout = 'refuse-in-answer';
      expect(ask()).toMatchObject({ answer: { refused: expect.anything() } });
      pass(100);
      expect(bank.arrivals.size).toBe(0);
      expect(payout()).toMatchObject({ status: 'refused', accepted: false });
    });
  });

  test('error-500: nothing is accepted', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'error-500' });
    const idEnvio = newId();
    expect((await provider.putPayout(idEnvio)).status).toBe(500);
    expect((await provider.payout(idEnvio)).status).toBe(404);
  });

  test('error-500-after-accepting: the payout is on its way', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'error-500-after-accepting' });
    const idEnvio = newId();
    expect((await provider.putPayout(idEnvio)).status).toBe(500);
    expect(await settled(provider, idEnvio)).toMatchObject({ status: 'completed', timesAccepted: 1 });
  });

  test('hang: nothing comes and the payout is on its way', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'hang' });
    const idEnvio = newId();
    await expectNoAnswer(
      (givenUp) => provider.putPayout(idEnvio, undefined, givenUp),
      () => settled(provider, idEnvio),
    );
    expect(await settled(provider, idEnvio)).toMatchObject({ status: 'completed', timesAccepted: 1 });
  });

  test('garbage: an answer that cannot be read, and the payout is on its way', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'garbage' });
    const idEnvio = newId();
    const answer = await provider.putPayout(idEnvio);
    expect(answer.status).toBe(200);
    expect(() => JSON.parse(answer.body)).toThrow();
    expect(await settled(provider, idEnvio)).toMatchObject({ status: 'completed', timesAccepted: 1 });
  });

  test.each(['complete', 'refuse-in-answer', 'stay-pending'])(
    'an id that has a row (%s) gets the duplicate answer, whatever is set',
    async (fate) => {
      const provider = await startProvider();
      await provider.behave({ payout: fate });
      const idEnvio = newId();
      await provider.putPayout(idEnvio);
      const before = (await provider.payout(idEnvio)).body.endToEndId;
      const others = [
        'complete',
        'refuse-in-answer',
        'lose-answer',
        'lose-request',
        'delay-request',
        'error-500',
        'hang',
      ];
      for (const payout of others) {
        await provider.behave({ payout });
        const repeated = await provider.putPayout(idEnvio, `${payout}@simulator.example`);
        expect(repeated.status).toBe(409);
        expect(repeated.body).toMatchObject({ nome: 'id_envio_duplicado', mensagem: expect.any(String) });
      }
      const state = await provider.payoutState(idEnvio);
      expect(state).toMatchObject({ timesReceived: others.length + 1, pixKey: 'alguem@exemplo.example' });
      expect((await provider.payout(idEnvio)).body.endToEndId).toBe(before);
    },
  );

  test('a key steers a single payout, whatever the setting is', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'hang', settleAfterMs: 0 });
    const status = async (value: string) =>
      (await provider.putPayout(newId(), `${value}@simulator.example`)).status;
    expect(await status('complete')).toBe(201);
    expect(await status('refuse-in-answer')).toBe(422);
    expect(await status('error-500')).toBe(500);
    await expect(status('lose-request')).rejects.toThrow();

    await provider.behave({ payout: 'complete' });
    const idEnvio = newId();
    const unknown = await provider.putPayout(idEnvio, 'pix-key-not-found@simulator.example');
    expect(unknown.status).toBe(404);
    expect(unknown.body.nome).toBe('chave_favorecido_nao_encontrada');
    expect((await provider.payoutState(idEnvio))?.status).toBe('refused');
    // A key that names no behaviour steers nothing.
    expect(await status('toString')).toBe(201);
    expect(await status('send')).toBe(201);
  });
});

describe('a decision by hand', () => {
  test('completes or refuses a pending payout, once', async () => {
    const provider = await startProvider();
    await provider.behave({ payout: 'stay-pending' });
    const [completed, refused] = [newId(), newId()];
    await provider.putPayout(completed);
    await provider.putPayout(refused);
    expect((await provider.control('POST', `/payouts/${completed}/complete`)).status).toBe(200);
    expect(
      (await provider.control('POST', `/payouts/${refused}/refuse`, { reason: 'Conta encerrada' })).status,
    ).toBe(200);
    expect((await provider.payout(completed)).body.status).toBe('REALIZADO');
    expect((await provider.payout(refused)).body.gnExtras.erro.motivo).toBe('Conta encerrada');
    for (const idEnvio of [completed, refused]) {
      for (const action of ['complete', 'refuse']) {
        expect((await provider.control('POST', `/payouts/${idEnvio}/${action}`)).status).toBe(409);
      }
    }
    expect((await provider.control('POST', `/payouts/${refused}/return`)).status).toBe(409);
  });

  test('wins over the settlement that was to come', async () => {
    const provider = await startProvider();
    await provider.behave({ settleAfterMs: 100 });
    const [first, marker] = [newId(), newId()];
    await provider.putPayout(first);
    expect((await provider.control('POST', `/payouts/${first}/refuse`)).status).toBe(200);
    await provider.putPayout(marker);
    await settled(provider, marker);
    expect((await provider.payoutState(first))?.status).toBe('refused');
    expect((await provider.state()).balanceCents).toBe(-975);
  });

  test('returns a completed payout, in parts, and never more than was sent', async () => {
    const provider = await startProvider();
    await provider.behave({ settleAfterMs: 0 });
    const idEnvio = newId();
    await provider.putPayout(idEnvio);
    await settled(provider, idEnvio);
    expect((await provider.control('POST', `/payouts/${idEnvio}/return`, { amountCents: 75 })).status).toBe(
      200,
    );
    expect((await provider.payoutState(idEnvio))?.status).toBe('completed');
    expect((await provider.control('POST', `/payouts/${idEnvio}/return`, { amountCents: 901 })).status).toBe(
      409,
    );
    const rest = await provider.control('POST', `/payouts/${idEnvio}/return`);
    expect(rest.body).toMatchObject({ amountCents: 900 });
    expect((await provider.payoutState(idEnvio))?.status).toBe('returned');
    expect((await provider.control('POST', `/payouts/${idEnvio}/return`)).status).toBe(409);

    const { body } = await provider.payout(idEnvio);
    expect(body.status).toBe('REALIZADO');
    expect(body.devolucoes).toEqual([
      { valor: '0.75', rtrId: expect.any(String), horario: expect.any(String) },
      { valor: '9.00', rtrId: rest.body.rtrId, horario: expect.any(String) },
    ]);
    expect(rest.body.rtrId).toMatch(/^D[0-9A-Z]{8}\d{12}[0-9a-zA-Z]{11}$/);
    expect((await provider.state()).balanceCents).toBe(0);
  });
});
