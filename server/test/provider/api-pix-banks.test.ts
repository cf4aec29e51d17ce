import { describe, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { Net, NetRequest } from '../../src/ports/net.ts';
import { apiPixAdapters } from '../../src/provider/api-pix/api-pix.ts';
import { banks } from '../../src/provider/api-pix/api-pix-banks.ts';

/** How each bank of the table is asked: its own addresses, form of tokens, headers and texts of the QR. */

type Name = keyof typeof banks;
const names = Object.keys(banks) as Name[];
const txid = 'a'.repeat(32);

function created(
  name: Name,
  url: string,
  request: (request: NetRequest) => Promise<unknown>,
  more: Record<string, string> = {},
) {
  return apiPixAdapters[name].create(
    {
      name: 'bank',
      test: false,
      simulated: false,
      url,
      credentials: {
        clientId: 'an id',
        clientSecret: 's&=',
        pixKey: 'chave',
        appKey: 'app key',
        accountNumber: '123',
        ...more,
      },
      certificate: null,
    },
    { net: { request } as unknown as Net, clock: systemClock, log: createLog('silent') },
  );
}

async function asked(name: Name, url: string, answer: object = {}, more: Record<string, string> = {}) {
  const calls: NetRequest[] = [];
  const provider = created(
    name,
    url,
    async (request) => {
      calls.push(request);
      const isToken =
        request.headers?.['content-type'] !== 'application/json' || request.url.includes('oauth');
      const token = { access_token: 'token', expires_in: 300 };
      const body = isToken && request.method === 'POST' ? token : answer;
      return { status: 200, headers: {}, text: JSON.stringify(body) };
    },
    more,
  );
  const charge = await provider.createCharge({
    txid,
    amountCents: 100,
    payerName: 'Maria',
    description: '',
    expirySeconds: 3600,
  });
  await provider.statement({ fromMs: 1_500, toMs: 2_500 });
  await provider.cancelCharge?.({ txid, amountCents: 100, createdAt: Date.now() });
  const [token, create, list, cancel] = calls;
  if (!token || !create || !list || !cancel) throw new Error('calls are missing');
  return { charge, token, create, list, cancel };
}

const cob = (more: object) => ({
  txid,
  status: 'ATIVA',
  valor: { original: '1.00' },
  calendario: { criacao: new Date().toISOString(), expiracao: 3600 },
  ...more,
});

test.each(names)('%s: every value of the table says where it is from', (name) => {
  const { live, token, ...rest } = banks[name];
  const said = [live.url, live.tokenUrl, token, ...Object.values(rest)].filter(
    (one): one is { source: string; sure: string; value: unknown } =>
      typeof one === 'object' && one !== null && 'sure' in one,
  );
  expect(said.length).toBeGreaterThanOrEqual(3);
  for (const { source, sure } of said) {
    expect(source).toMatch(/^github\.com\//);
    expect(['client', 'differs']).toContain(sure);
  }
});

test.each(names)('%s: is asked at its own addresses', async (name) => {
  const { live } = banks[name];
  const { token, create } = await asked(name, live.url.value);
  expect(token.url.split('?')[0]).toBe(live.tokenUrl.value);
  expect(create.url.split('?')[0]).toBe(`${live.url.value}/cob/${txid}`);
  expect(create).toMatchObject({ method: 'PUT', headers: { authorization: 'Bearer token' } });
  // Secrets never stand in an address.
  expect(`${token.url} ${create.url}`).not.toContain('s%26%3D');
});

describe('the forms of tokens', () => {
  const fieldsOf = (body: unknown) => Object.fromEntries(new URLSearchParams(String(body)));

  test('a form with HTTP Basic', async () => {
    const { token } = await asked('sicredi', banks.sicredi.live.url.value);
    expect(fieldsOf(token.body)).toMatchObject({ grant_type: 'client_credentials' });
    expect(fieldsOf(token.body).scope).toContain('cob.write');
    expect(token.headers?.authorization).toBe(`Basic ${btoa('an id:s&=')}`);
  });

  test('a form with id and secret in it', async () => {
    const { token } = await asked('itau', banks.itau.live.url.value);
    expect(fieldsOf(token.body)).toEqual({
      grant_type: 'client_credentials',
      client_id: 'an id',
      client_secret: 's&=',
    });
    expect(token.headers).not.toHaveProperty('authorization');
  });

  test('a form without a secret, where the certificate proves the client', async () => {
    const { token, create } = await asked('sicoob', banks.sicoob.live.url.value);
    expect(fieldsOf(token.body)).not.toHaveProperty('client_secret');
    expect(create.headers?.client_id).toBe('an id');
  });

  test('the permissions that the application has: a bank refuses a token for others', async () => {
    const create = (scopes?: string) =>
      apiPixAdapters.sicredi.create(
        {
          name: 'bank',
          test: false,
          simulated: false,
          url: banks.sicredi.live.url.value,
          credentials: { clientId: 'an id', clientSecret: 's', pixKey: 'chave', ...(scopes && { scopes }) },
          certificate: null,
        },
        { net, clock: systemClock, log: createLog('silent') },
      );
    const tokens: string[] = [];
    const net = {
      async request({ body }: NetRequest) {
        tokens.push(String(body));
        return { status: 400, headers: {}, text: JSON.stringify({ error: 'invalid_scope' }) };
      },
    } as unknown as Net;
    expect(create().capabilities.canRefund).toBe(true);
    const receives = create('cob.read  cob.write pix.read webhook.read webhook.write');
    expect(receives.capabilities.canRefund).toBe(false);
    const findings = await receives.diagnose({ webhookUrl: 'https://loja.example/hooks' });
    expect(fieldsOf(tokens[0]).scope).toBe('cob.read cob.write pix.read webhook.read webhook.write');
    expect(findings).toMatchObject([
      { check: 'scopes', ok: false, message: expect.stringContaining('invalid_scope') },
    ]);
    expect(() => create('cob.read pix.write')).toThrow('scopes: must name cob.write, pix.read');
  });

  test('the grant in the address, and the client in the body', async () => {
    const { token } = await asked('santander', banks.santander.live.url.value);
    expect(token.url).toMatch(/\?grant_type=client_credentials$/);
    expect(fieldsOf(token.body)).toEqual({ client_id: 'an id', client_secret: 's&=' });
  });
});

describe('what banks want beside', () => {
  test('a key in the query of every call', async () => {
    const { create, list } = await asked('bb', banks.bb.live.url.value);
    expect(create.url).toMatch(/\?gw-dev-app-key=app%20key$/);
    expect(list.url).toMatch(/&gw-dev-app-key=app%20key$/);
  });

  test('an id of its own on every call', async () => {
    const { create, list } = await asked('itau', banks.itau.live.url.value);
    const ids = [create, list].map(({ headers }) => headers?.['x-correlationID']);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('times without milliseconds, and no moment of the window left out', async () => {
    const { list } = await asked('santander', banks.santander.live.url.value);
    const { searchParams } = new URL(list.url);
    expect([searchParams.get('inicio'), searchParams.get('fim')]).toEqual([
      '1970-01-01T00:00:01Z',
      '1970-01-01T00:00:03Z',
    ]);
  });

  test.each<[Name, object]>([
    ['sicoob', { brcode: 'a code' }],
    ['bb', { textoImagemQRcode: 'a code' }],
    ['c6', { pixCopiaECola: 'a code' }],
  ])('%s: the text of the QR in its own field', async (name, more) => {
    const { charge } = await asked(name, banks[name].live.url.value, cob(more));
    expect(charge).toMatchObject({ outcome: 'accepted', report: { copyPaste: 'a code' } });
  });

  test.each<[string, string]>([
    ['https://api-pix.bb.com.br/pix/v2', 'https://oauth.bb.com.br/oauth/token'],
    ['https://api-pix.hm.bb.com.br/pix/v2', 'https://oauth.hm.bb.com.br/oauth/token'],
    ['https://api-pix.hm.bb.com.br/pix/v3', 'https://oauth.hm.bb.com.br/oauth/token'],
    ['https://another.example/pix', 'https://oauth.bb.com.br/oauth/token'],
  ])('Banco do Brasil at %s gives its tokens at %s', async (url, tokenUrl) => {
    const { token, create } = await asked('bb', url);
    expect(token.url).toBe(tokenUrl);
    expect(create.url).toContain(`${url}/cob/`);
  });

  test('Sicredi has one charge under the version that the credentials name, and lists under that of its address', async () => {
    const { create, list, cancel } = await asked(
      'sicredi',
      banks.sicredi.live.url.value,
      {},
      { chargeVersion: 'v3' },
    );
    expect(create.url).toBe(`https://api-pix.sicredi.com.br/api/v3/cob/${txid}`);
    // As the client of the table's source: PUT, GET and PATCH of a charge.
    expect([cancel.method, cancel.url]).toEqual(['PATCH', create.url]);
    expect(list.url).toMatch(/^https:\/\/api-pix\.sicredi\.com\.br\/api\/v2\/pix\?/);
    await expect(asked('sicredi', banks.sicredi.live.url.value, {}, { chargeVersion: '3' })).rejects.toThrow(
      /^chargeVersion: must be such as v3/,
    );
  });
});

describe('Banco do Brasil', () => {
  test('lists no charges, and its received Pix are asked for in windows of four days at most', async () => {
    const calls: string[] = [];
    const provider = created('bb', banks.bb.live.url.value, async ({ url }) => {
      calls.push(url);
      return { status: 200, headers: {}, text: '{"pix":[],"access_token":"t"}' };
    });
    expect(provider.capabilities.canListCharges).toBe(false);
    const day = 86_400_000;
    expect(await provider.statement({ fromMs: 0, toMs: 9 * day })).toMatchObject({
      complete: false,
      parts: 3,
    });
    expect(calls).toEqual([]);
    expect(await provider.statement({ fromMs: 0, toMs: 4 * day })).toMatchObject({ complete: true });
  });

  test.each([
    [
      { erros: [{ codigo: '4874915', mensagem: 'Chave Pix não pertence ao recebedor', ocorrencia: 'AB12' }] },
      { name: '400 4874915', message: 'Chave Pix não pertence ao recebedor' },
    ],
    [
      { statusCode: 400, error: 'Bad Request', message: 'Parâmetros de entrada inválidos' },
      { name: '400 BadRequest', message: 'Parâmetros de entrada inválidos' },
    ],
  ])('names its errors in the form %j', async (body, words) => {
    const provider = created('bb', banks.bb.live.url.value, async ({ url }) =>
      url.includes('oauth')
        ? { status: 200, headers: {}, text: '{"access_token":"t"}' }
        : { status: 400, headers: {}, text: JSON.stringify(body) },
    );
    expect(await provider.queryCharge(txid)).toMatchObject({ outcome: 'unclear', words });
  });
});

test.each(names)('%s: each call says who calls', async (name) => {
  const { token, create, list } = await asked(name, banks[name].live.url.value);
  for (const { headers } of [token, create, list])
    expect(headers).toMatchObject({ 'user-agent': expect.stringMatching(/^vintem\/\d+\.\d+\.\d+$/) });
});
