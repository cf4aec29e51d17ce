import { expect, test } from 'vitest';
import { differences, foreign } from './foreign.ts';
import { startEndpoint, startProvider, until } from './provider.ts';

/** The Inter dialect answers with Inter's forms: same field names, same types. */

const sentAs = (name: string, ours: unknown) =>
  expect(differences(foreign(`inter/${name}`), ours), name).toEqual([]);

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are read.
type Json = any;

const key = '123e4567-e89b-12d3-a456-426614174000';

async function inter() {
  const { url } = await startProvider();
  const token = await fetch(`${url}/inter/oauth/v2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'client',
      client_secret: 'secret',
      scope: 'pagamento-pix.write',
    }),
  });
  const { access_token, scope } = (await token.json()) as Json;
  expect(scope).toBe('pagamento-pix.write');
  const call = async (method: string, path: string, body?: unknown, headers = {}): Promise<Json> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/inter${path}`, {
      method,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json', ...headers },
      ...init,
    });
    return { status: answer.status, body: await answer.json() };
  };
  const request = foreign('inter/send-request').body as Json;
  const pay = (chave: string, idempotency: string, valor: unknown = '9.75') =>
    call(
      'POST',
      '/banking/v2/pix',
      { ...request, valor, destinatario: { tipo: 'CHAVE', chave } },
      { 'x-id-idempotente': idempotency },
    );
  return { url, call, pay };
}

test('answers', async () => {
  const { call, pay } = await inter();
  const sent = await pay('alguem@exemplo.example', key);
  sentAs('send-answer', sent.body);
  const code = sent.body.codigoSolicitacao;
  const found = await until(
    () => call('GET', `/banking/v2/pix/${code}`),
    ({ body }) => body.transacaoPix.status === 'PAGO',
  );
  sentAs('sent', found.body);
  const held = await pay('hold-for-approval@simulator.example', key.replace('0', 'a'));
  sentAs('send-answer-approval', held.body);
  expect(held.body.tipoRetorno).toBe('APROVACAO');
  sentAs('send-refused', (await pay('x@exemplo.example', key.replace('1', 'a'), null)).body);
  sentAs('not-found', (await call('GET', `/banking/v2/pix/${key}`)).body);
  sentAs('balance', (await call('GET', '/banking/v2/saldo')).body);
  const failed = await pay('refuse-later@simulator.example', key.replace('2', 'a'));
  const end = await until(
    () => call('GET', `/banking/v2/pix/${failed.body.codigoSolicitacao}`),
    ({ body }) => body.transacaoPix.status === 'FALHA',
  );
  sentAs('sent-failed', end.body);
});

test('the same key gets the first answer again, and one payout; each request without a key is one of its own', async () => {
  const { call, pay } = await inter();
  const first = await pay('alguem@exemplo.example', key);
  expect((await pay('outro@exemplo.example', key, '1.00')).body).toEqual(first.body);
  const refused = await pay('pix-key-not-found@simulator.example', key.replace('1', 'f'));
  expect(refused.status).toBe(400);
  const again = await pay('alguem@exemplo.example', key.replace('1', 'f'));
  expect([again.status, again.body.violacoes]).toEqual([400, refused.body.violacoes]);
  const body = { valor: '1.00', destinatario: { tipo: 'CHAVE', chave: 'alguem@exemplo.example' } };
  const codes = [await call('POST', '/banking/v2/pix', body), await call('POST', '/banking/v2/pix', body)];
  expect(new Set(codes.map((one) => one.body.codigoSolicitacao)).size).toBe(2);
});

test('takes the bodies of Inter’s own clients: nulls, and the txid in the body of a charge', async () => {
  const { call, pay } = await inter();
  const txid = 'c'.repeat(32);
  const cob = {
    txid,
    calendario: { expiracao: 3600 },
    devedor: null,
    loc: null,
    valor: { original: '1.00', modalidadeAlteracao: null, retirada: null },
    chave: 'recebedor@loja.example',
    solicitacaoPagador: null,
    infoAdicionais: null,
  };
  expect((await call('PUT', `/pix/v2/cob/${txid}`, cob)).status).toBe(201);
  const body = {
    valor: 9.75,
    dataPagamento: null,
    descricao: null,
    destinatario: { tipo: 'CHAVE', chave: 'a@b.example' },
  };
  expect((await call('POST', '/banking/v2/pix', body)).status).toBe(200);
  expect((await pay('alguem@exemplo.example', key, null)).status).toBe(400);
});

test('reports received Pix as API Pix does, and payouts not at all', async () => {
  const { call, pay } = await inter();
  const inbox = await startEndpoint();
  await call('PUT', '/pix/v2/webhook/recebedor@loja.example', { webhookUrl: inbox.url });
  const txid = 'a'.repeat(32);
  const cob = {
    calendario: { expiracao: 3600 },
    valor: { original: '1.00' },
    chave: 'recebedor@loja.example',
  };
  await call('PUT', `/pix/v2/cob/${txid}`, cob);
  const sent = await pay('alguem@exemplo.example', key);
  await until(
    () => call('GET', `/banking/v2/pix/${sent.body.codigoSolicitacao}`),
    ({ body }) => body.transacaoPix.status === 'PAGO',
  );
  await call('POST', `/control/charges/${txid}/pay`, {});
  await until(
    () => inbox.deliveries.length,
    (count) => count > 0,
  );
  expect(inbox.items().map(({ txid: told }) => told)).toEqual([txid]);
});
