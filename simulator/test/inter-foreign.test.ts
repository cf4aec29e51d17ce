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
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
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

const cob = {
  calendario: { expiracao: 3600 },
  valor: { original: '50.00' },
  chave: 'recebedor@loja.example',
};

test('The call of Inter’s sandbox pays a charge once it is there, and the plain statement has the Pix', async () => {
  const { call } = await inter();
  const txid = 'd'.repeat(32);
  const pay = (valor: unknown) => call('POST', `/pix/v2/cob/pagar/${txid}`, { valor });
  expect((await pay('50.00')).status).toBe(404);
  await call('PUT', `/pix/v2/cob/${txid}`, cob);
  expect((await pay('R$ 50')).status).toBe(400);
  expect((await pay(50)).status).toBe(201);
  expect((await call('GET', `/pix/v2/cob/${txid}`)).body.status).toBe('CONCLUIDA');
  const { body } = await call('GET', '/banking/v2/extrato?dataInicio=2020-01-01&dataFim=2099-12-31');
  expect(body.transacoes).toEqual([
    {
      ...{ dataEntrada: expect.any(String), tipoTransacao: 'PIX', tipoOperacao: 'C', valor: '50.00' },
      ...{ titulo: 'Pix recebido', descricao: 'Pix recebido' },
    },
  ]);
  expect((await call('GET', '/banking/v2/extrato?dataInicio=2020-01-01')).status).toBe(400);
});

test('Deliveries that were not taken are listed, and made again on request', async () => {
  const { call } = await inter();
  let answers = 500;
  const inbox = await startEndpoint(() => answers);
  await call('PUT', '/pix/v2/webhook/recebedor@loja.example', { webhookUrl: inbox.url });
  const txid = 'e'.repeat(32);
  await call('PUT', `/pix/v2/cob/${txid}`, cob);
  await call('POST', `/pix/v2/cob/pagar/${txid}`, { valor: '50.00' });
  const window = 'dataHoraInicio=2020-01-01T00:00:00Z&dataHoraFim=2099-01-01T00:00:00Z&pagina=0';
  const listed = await until(
    () => call('GET', `/pix/v2/webhook/callbacks?${window}&txid=${txid}`),
    ({ body }) => body.data[0]?.numeroTentativa > 0,
  );
  expect(listed.body).toMatchObject({ totalElementos: 1, data: [{ webhookUrl: inbox.url, sucesso: false }] });
  expect((await call('GET', `/pix/v2/webhook/callbacks?${window}&txid=outro`)).body.data).toEqual([]);
  answers = 200;
  const before = inbox.deliveries.length;
  const retry = (ids: string[]) => call('POST', '/pix/v2/webhook/callbacks/retry', { txid: ids });
  expect((await retry([txid])).status).toBe(202);
  await until(
    () => inbox.deliveries.length,
    (count) => count > before,
  );
  expect((await retry([])).status).toBe(400);
});
