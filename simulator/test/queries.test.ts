import { describe, expect, test } from 'vitest';
import { faults } from './api-pix-schema.ts';
import { chargeBody, clientOf, key, newId, type Provider, startProvider, until } from './provider.ts';

const span = 'inicio=2020-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z';

async function filled(provider: Provider) {
  await provider.behave({ settleAfterMs: 0 });
  const [txid, idEnvio] = [newId(), newId()];
  await provider.putCharge(txid);
  const { endToEnd } = (await provider.control('POST', `/charges/${txid}/pay`)).body;
  const { endToEndId } = (await provider.putPayout(idEnvio)).body;
  await until(
    () => provider.payoutState(idEnvio),
    (payout) => payout?.status === 'completed',
  );
  return {
    txid,
    idEnvio,
    endToEnd,
    single: [
      `/v2/cob/${txid}`,
      `/v2/pix/${endToEnd}`,
      `/v2/gn/pix/enviados/id-envio/${idEnvio}`,
      `/v2/gn/pix/enviados/${endToEndId}`,
    ],
    lists: [`/v2/cob?${span}`, `/v2/pix?${span}`, `/v2/gn/pix/enviados?${span}`],
  };
}

const itemsOf = (body: { cobs?: unknown[]; pix?: unknown[] }) => body.cobs ?? body.pix;

describe('a list', () => {
  test('answers as API Pix describes it', async () => {
    const provider = await startProvider();
    await filled(provider);
    await provider.putCharge(newId());
    const cobs = await provider.call('GET', `/v2/cob?${span}`);
    expect(cobs.status).toBe(200);
    expect(faults('CobsConsultadas', cobs.body)).toEqual([]);
    expect(cobs.body.cobs).toHaveLength(2);
    const pix = await provider.call('GET', `/v2/pix?${span}`);
    expect(faults('PixConsultados', pix.body)).toEqual([]);
    expect(pix.body.pix).toHaveLength(1);
    const sent = await provider.call('GET', `/v2/gn/pix/enviados?${span}`);
    expect(sent.body.parametros).toEqual({
      inicio: '2020-01-01T00:00:00Z',
      fim: '2100-01-01T00:00:00Z',
      paginacao: { paginaAtual: 0, itensPorPagina: 100, quantidadeDePaginas: 1, quantidadeTotalDeItens: 1 },
    });
  });

  test('shows what was created within its time, both ends included, in order and by pages', async () => {
    const provider = await startProvider();
    const ids = Array.from({ length: 25 }, newId);
    const at: string[] = [];
    for (const id of ids) at.push((await provider.putPayout(id)).body.horario.solicitacao);
    const list = async (query: string) =>
      (await provider.call('GET', `/v2/gn/pix/enviados?${query}`)).body as {
        parametros: { paginacao: Record<string, number> };
        pix: { idEnvio: string }[];
      };
    const ofPage = async (page: number) =>
      (await list(`${span}&paginacao.paginaAtual=${page}&paginacao.itensPorPagina=10`)).pix.map(
        (one) => one.idEnvio,
      );
    expect([...(await ofPage(0)), ...(await ofPage(1)), ...(await ofPage(2))]).toEqual(ids);
    expect(await ofPage(3)).toEqual([]);

    const middle = await list(`inicio=${at[5]}&fim=${at[9]}`);
    const within = ids.filter(
      (_, index) => (at[index] as string) >= (at[5] as string) && (at[index] as string) <= (at[9] as string),
    );
    expect(middle.pix.map((one) => one.idEnvio)).toEqual(within);
    expect(middle.parametros.paginacao.quantidadeTotalDeItens).toBe(within.length);
  });

  test('filters by status and counts what remains', async () => {
    const provider = await startProvider();
    for (let n = 0; n < 6; n++) {
      await provider.putPayout(
        newId(),
        n % 3 === 0 ? 'refuse-in-answer@simulator.example' : 'stay-pending@simulator.example',
      );
      const txid = newId();
      await provider.putCharge(txid);
      if (n % 3 === 0) await provider.control('POST', `/charges/${txid}/pay`);
    }
    const count = async (path: string) => {
      const { body } = await provider.call(
        'GET',
        `${path}&paginacao.itensPorPagina=1&paginacao.paginaAtual=1`,
      );
      return [
        itemsOf(body)?.length,
        body.parametros.paginacao.quantidadeTotalDeItens,
        body.parametros.status,
      ];
    };
    expect(await count(`/v2/gn/pix/enviados?${span}&status=NAO_REALIZADO`)).toEqual([1, 2, 'NAO_REALIZADO']);
    expect(await count(`/v2/gn/pix/enviados?${span}&status=EM_PROCESSAMENTO`)).toEqual([
      1,
      4,
      'EM_PROCESSAMENTO',
    ]);
    expect(await count(`/v2/cob?${span}&status=CONCLUIDA`)).toEqual([1, 2, 'CONCLUIDA']);
    expect(await count(`/v2/cob?${span}&status=ATIVA`)).toEqual([1, 4, 'ATIVA']);
  });

  test.each([
    '',
    'inicio=2020-01-01T00:00:00Z',
    'inicio=2020-01-01&fim=2021-01-01',
    'inicio=2021-01-01T00:00:00Z&fim=2020-01-01T00:00:00Z',
    'inicio=2020-13-01T00:00:00Z&fim=2021-01-01T00:00:00Z',
    `${span}&paginacao.itensPorPagina=1001`,
    `${span}&paginacao.itensPorPagina=0`,
    `${span}&paginacao.paginaAtual=-1`,
  ])('is refused when it is asked wrongly: %s', async (query) => {
    const provider = await startProvider();
    for (const path of ['/v2/cob', '/v2/pix', '/v2/gn/pix/enviados']) {
      const answer = await provider.call('GET', `${path}?${query}`);
      expect(answer.status).toBe(400);
      expect(faults('Problema', answer.body)).toEqual([]);
    }
  });
});

describe('what a client is shown', () => {
  test('is what its account has, and nothing of another one', async () => {
    const one = await startProvider();
    const other = clientOf(one.url, 'other');
    const [txid, idEnvio] = [newId(), newId()];
    const otherTxid = newId();
    await one.putCharge(txid);
    await one.putPayout(idEnvio);
    await one.control('POST', `/charges/${txid}/pay`, { amountCents: 500 });
    await other.putCharge(otherTxid, chargeBody({ chave: 'outra@loja.example' }));
    await until(
      () => one.payoutState(idEnvio),
      (payout) => payout?.status === 'completed',
    );
    const idsOf = async (client: Provider) => [
      (await client.call('GET', `/v2/cob?${span}`)).body.cobs.map((item: { txid: string }) => item.txid),
      (await client.call('GET', `/v2/pix?${span}`)).body.pix.length,
      (await client.call('GET', `/v2/gn/pix/enviados?${span}`)).body.pix.length,
      (await client.call('GET', '/v2/gn/saldo')).body.saldo,
    ];
    expect(await idsOf(one)).toEqual([[txid], 1, 1, '-4.75']);
    expect(await idsOf(other)).toEqual([[otherTxid], 0, 0, '0.00']);
    for (const path of [`/v2/cob/${txid}`, `/v2/gn/pix/enviados/id-envio/${idEnvio}`])
      expect((await other.call('GET', path)).status).toBe(404);
  });

  test('is the same for another client that shows a key of the account, also after a restart', async () => {
    const one = await startProvider();
    const txid = newId();
    await one.putCharge(txid);
    const listed = async (client: Provider) => (await client.call('GET', `/v2/cob?${span}`)).body.cobs.length;
    const second = clientOf(one.url, 'second');
    expect(await listed(second)).toBe(0);
    await second.call('GET', `/v2/webhook/${key}`);
    expect(await listed(second)).toBe(1);
    await one.stop();
    const again = clientOf((await startProvider(one.stateDir)).url, 'second');
    expect(await listed(again)).toBe(1);
  });
});

describe('the query behaviour', () => {
  test('not-found: 404 for one, nothing for a list', async () => {
    const provider = await startProvider();
    const { single, lists } = await filled(provider);
    await provider.behave({ query: 'not-found' });
    for (const path of single) expect((await provider.call('GET', path)).status).toBe(404);
    for (const path of lists) {
      const { status, body } = await provider.call('GET', path);
      expect(status).toBe(200);
      expect(itemsOf(body)).toEqual([]);
      expect(body.parametros.paginacao.quantidadeTotalDeItens).toBe(0);
    }
    await provider.control('DELETE', '/behaviour');
    for (const path of [...single, ...lists]) expect((await provider.call('GET', path)).status).toBe(200);
  });

  test('error-500: for one and for a list', async () => {
    const provider = await startProvider();
    const { single, lists } = await filled(provider);
    await provider.behave({ query: 'error-500' });
    for (const path of [...single, ...lists, '/v2/gn/saldo']) {
      expect((await provider.call('GET', path)).status).toBe(500);
    }
  });

  test('hang: nothing comes, for one and for a list', async () => {
    const provider = await startProvider();
    const { single, lists } = await filled(provider);
    await provider.behave({ query: 'hang' });
    const asked = [...single, ...lists].map((path) =>
      provider.call('GET', path, undefined, AbortSignal.timeout(300)),
    );
    for (const answer of await Promise.allSettled(asked)) expect(answer.status).toBe('rejected');
  });

  test('stale: the state as it was at the creation', async () => {
    const provider = await startProvider();
    const { txid, idEnvio, endToEnd } = await filled(provider);
    await provider.control('POST', `/payouts/${idEnvio}/return`);
    const refused = newId();
    await provider.putPayout(refused, 'refuse-in-answer@simulator.example');
    await provider.behave({ query: 'stale' });

    const cob = await provider.call('GET', `/v2/cob/${txid}`);
    expect(faults('CobCompleta', cob.body)).toEqual([]);
    expect(cob.body.status).toBe('ATIVA');
    expect(cob.body).not.toHaveProperty('pix');
    expect((await provider.call('GET', `/v2/cob?${span}`)).body.cobs).toEqual([cob.body]);
    expect((await provider.call('GET', `/v2/cob?${span}&status=CONCLUIDA`)).body.cobs).toEqual([]);
    expect((await provider.call('GET', `/v2/pix/${endToEnd}`)).status).toBe(404);

    const sent = await provider.payout(idEnvio);
    expect(sent.body.status).toBe('EM_PROCESSAMENTO');
    expect(sent.body).not.toHaveProperty('devolucoes');
    expect(sent.body.horario).not.toHaveProperty('liquidacao');
    expect((await provider.payout(refused)).body.status).toBe('NAO_REALIZADO');
    const listed = (await provider.call('GET', `/v2/gn/pix/enviados?${span}`)).body.pix;
    expect(listed.map((one: { status: string }) => one.status)).toEqual([
      'EM_PROCESSAMENTO',
      'NAO_REALIZADO',
    ]);
  });

  test('every query counts', async () => {
    const provider = await startProvider();
    const { single, lists } = await filled(provider);
    const before = (await provider.state()).queries;
    for (const path of [...single, ...lists]) await provider.call('GET', path);
    expect((await provider.state()).queries - before).toBe(single.length + lists.length);
  });
});

describe('access', () => {
  const ask = (provider: Provider, headers: Record<string, string>, body: string) =>
    fetch(`${provider.url}/oauth/token`, { method: 'POST', headers, body });

  test('a token is given for credentials as JSON or as a form', async () => {
    const provider = await startProvider();
    const authorization = `Basic ${btoa('id:secret')}`;
    const json = await ask(
      provider,
      { authorization, 'content-type': 'application/json' },
      '{"grant_type":"client_credentials"}',
    );
    const form = await ask(
      provider,
      { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      'grant_type=client_credentials',
    );
    for (const answer of [json, form]) {
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({
        token_type: 'Bearer',
        expires_in: 3600,
        access_token: expect.any(String),
        scope: expect.stringContaining('cob.write'),
      });
    }
  });

  test('no token without credentials or with another grant', async () => {
    const provider = await startProvider();
    const body = '{"grant_type":"client_credentials"}';
    expect((await ask(provider, {}, body)).status).toBe(401);
    for (const empty of [':', 'id:', ':secret', 'id']) {
      expect((await ask(provider, { authorization: `Basic ${btoa(empty)}` }, body)).status).toBe(401);
    }
    const wrong = await ask(
      provider,
      { authorization: `Basic ${btoa('id:secret')}` },
      '{"grant_type":"password"}',
    );
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({ error: 'unsupported_grant_type' });
  });

  test('a missing, wrong or foreign token is refused, and nothing happens', async () => {
    const provider = await startProvider();
    const elsewhere = await startProvider();
    const idEnvio = newId();
    const good = await provider.token();
    for (const token of ['x', 'x.y', `${good}x`, `x${good}`, await elsewhere.token()]) {
      const stranger = clientOf(provider.url);
      stranger.useToken(token);
      const refused = await stranger.putPayout(idEnvio);
      expect(refused.status).toBe(401);
      expect(faults('Problema', refused.body)).toEqual([]);
    }
    expect((await fetch(`${provider.url}/v2/gn/saldo`)).status).toBe(401);
    expect(await provider.payoutState(idEnvio)).toBeUndefined();
  });

  test('an unknown call is answered 404', async () => {
    const provider = await startProvider();
    for (const [method, path] of [
      ['GET', '/v2/nothing'],
      ['DELETE', `/v2/cob/${newId()}`],
      ['POST', '/v3/gn/pix/abc'],
      ['GET', '/nothing'],
      ['GET', '/__proto__'],
    ] as const) {
      expect((await provider.call(method, path)).status).toBe(404);
    }
    expect((await provider.call('GET', '/%E0%A4%A')).status).toBe(400);
    expect((await provider.call('PUT', '/v3/gn/pix/abc', 'x'.repeat(70_000))).status).toBe(413);
  });
});
