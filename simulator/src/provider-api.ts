import {
  asEfiHasIt,
  chargeAnswer,
  chargeNotFound,
  chargeView,
  duplicateTxid,
  invalidCharge,
  invalidRefund,
  isTxid,
  type Noun,
  paymentView,
  readCharge,
  readDueCharge,
  readDueRevision,
  readRefund,
  readRevision,
  readWebhookUrl,
  refundAnswer,
  refundNotFound,
  withoutKeys,
} from './api-pix.ts';
import {
  blockedOf,
  cancelCharge,
  changeCharge,
  createCharge,
  defendDispute,
  disputesOf,
  type Fate,
  nextReturnForm,
  type Payment,
  type Payout,
  registerWebhook,
  rememberClient,
  removeWebhook,
  reportMadeAfterMs,
  requestPayout,
  requestRefund,
  requestReport,
  setConfig,
  showKey,
  type Webhook,
} from './bank.ts';
import { behaviourOfMessage } from './behaviour.ts';
import { accountName, type ClientDesk, type Desk, ownAccount, ownOf, type Request } from './desk.ts';
import {
  defenceRefused,
  defenceTaken,
  disputeNotFound,
  disputeView,
  invalidDefence,
  isIdEnvio,
  payoutAnswer,
  payoutNotFound,
  payoutView,
  readDefence,
  readPayout,
  readReportRequest,
  refusal,
  reportNotFound,
  reportText,
  reportView,
} from './efi.ts';
import { readConfig, readResend, resendAll } from './efi-account.ts';
import { isRecord, toReais } from './money.ts';
import { issueToken, readBasic, readToken, tokenLifeSeconds } from './oauth.ts';
import { type ListQuery, pageOf, readListQuery } from './page-of-list.ts';
import { garbage, internalError, json, problem, type Reply } from './reply.ts';

/** How a request ends: with an answer, with a closed connection, or without an answer. */
export type Outcome = Reply | 'drop' | 'hang';

const scopes =
  'cob.read cob.write cobv.read cobv.write pix.read pix.write webhook.read webhook.write pix.send gn.pix.send.read gn.balance.read gn.reports.read gn.reports.write gn.infractions.read gn.infractions.write';

const fullBucket = {
  capacidade: 1000,
  fichasDisponiveis: 1000,
  taxaDeReposicaoFichas: 50,
  periodoReposicaoEmSegundos: 60,
};
/** No look-up of a key costs anything here. */
const fullBuckets = {
  baldeA: { tiposChave: ['cpf', 'cnpj', 'evp'], ...fullBucket },
  baldeB: { tiposChave: ['telefone', 'email'], ...fullBucket },
};

// The CNPJ that the answers about a webhook demand; an example with right check digits.
const ownCnpj = '11222333000181';

/** The calls of a client of this provider; undefined when there is no such call. */
export function providerApi(anyone: Desk, request: Request): Outcome | undefined {
  const { method, path } = request;
  if (path[0] === 'oauth' && path[1] === 'token' && path.length === 2) {
    return method === 'POST' ? token(anyone, request) : undefined;
  }
  if (path[0] !== 'v2' && path[0] !== 'v3') return undefined;
  const client = authenticated(anyone, request);
  if (client === undefined) return unauthorized();
  const desk: ClientDesk = { ...anyone, client };

  const [version, first, second, third, fourth, fifth] = path;
  if (version === 'v3') {
    if (method === 'PUT' && first === 'gn' && second === 'pix' && third !== undefined && path.length === 4) {
      return putPayout(desk, third, request.body);
    }
    return undefined;
  }
  switch (first) {
    case 'cob':
    case 'cobv':
      if (path.length === 2 && method === 'GET') return listCharges(desk, first, request.query);
      // The provider chooses the id of a charge without one.
      if (path.length === 2 && method === 'POST' && first === 'cob')
        return putCharge(desk, first, desk.world.letters(32), request.body);
      if (path.length !== 3 || second === undefined) return undefined;
      if (method === 'PUT') return putCharge(desk, first, second, request.body);
      if (method === 'PATCH') return patchCharge(desk, first, second, request.body);
      if (method === 'GET') return getCharge(desk, first, second, request.query);
      return undefined;
    case 'pix':
      if (third === 'devolucao' && second !== undefined && fourth !== undefined && path.length === 5) {
        if (method === 'PUT') return putRefund(desk, second, fourth, request.body);
        return method === 'GET' ? getRefund(desk, second, fourth) : undefined;
      }
      if (method !== 'GET') return undefined;
      if (path.length === 2) return listPayments(desk, request.query);
      return path.length === 3 && second !== undefined ? getPayment(desk, second) : undefined;
    case 'webhook':
      if (path.length === 2 && method === 'GET') return listWebhooks(desk, request.query);
      return path.length === 3 && second !== undefined
        ? webhook(desk, method, second, request.body)
        : undefined;
    case 'gn':
      if (second === 'relatorios' && third !== undefined && path.length === 4) {
        if (method === 'POST' && third === 'extrato-conciliacao') return postReport(desk, request.body);
        return method === 'GET' ? getReport(desk, third) : undefined;
      }
      if (second === 'config' && path.length === 3) return accountConfig(desk, method, request.body);
      if (second === 'webhook' && third === 'reenviar' && path.length === 4)
        return method === 'POST' ? postResend(desk, request.body) : undefined;
      if (second === 'infracoes' && third !== undefined && fourth === 'defesa' && path.length === 5)
        return method === 'POST' ? postDefence(desk, third, request.body) : undefined;
      if (method !== 'GET') return undefined;
      if (second === 'saldo' && path.length === 3) return balance(desk, request.query);
      if (second === 'chaves' && third === 'balde' && path.length === 4) return json(200, fullBuckets);
      if (second === 'infracoes' && path.length === 3) return listDisputes(desk, request.query);
      if (second !== 'pix' || third !== 'enviados') return undefined;
      if (path.length === 4) return listPayouts(desk, request.query);
      if (fourth === 'id-envio' && fifth !== undefined && path.length === 6) {
        return getPayout(desk, ownOf(desk, desk.bank.payouts.get(fifth)));
      }
      return path.length === 5
        ? getPayout(desk, ownOf(desk, desk.bank.payoutsByEndToEnd.get(fourth ?? '')))
        : undefined;
    default:
      return undefined;
  }
}

// --------------------------------------------------------------------------------------- who is calling

function token(desk: Desk, request: Request): Reply {
  const form = isForm(request) ? new URLSearchParams(request.body) : undefined;
  const client = readBasic(request.headers.authorization) ?? (form && clientInForm(form));
  if (client === undefined || !desk.isClient(client)) {
    return json(401, { error: 'invalid_client', error_description: 'Credenciais inválidas ou ausentes' });
  }
  const grant = form
    ? (form.get('grant_type') ?? request.query.get('grant_type'))
    : (parsed(request.body) as { grant_type?: unknown } | undefined)?.grant_type;
  if (grant !== 'client_credentials') {
    return json(400, {
      error: 'unsupported_grant_type',
      error_description: 'grant_type deve ser client_credentials',
    });
  }
  desk.commit(rememberClient(desk.bank, client));
  return json(200, {
    access_token: issueToken(desk.bank.tokenSecret, client.id, desk.world.now()),
    token_type: 'Bearer',
    expires_in: tokenLifeSeconds,
    // Every requested scope is granted.
    scope: form?.get('scope') ?? scopes,
  });
}

/** Some banks ask for id and secret in the form; one knows its clients by their certificate alone. */
function clientInForm(form: URLSearchParams): { id: string; secret: string } | undefined {
  const id = form.get('client_id');
  return id === null || id === '' ? undefined : { id, secret: form.get('client_secret') ?? id };
}

function isForm(request: Request): boolean {
  return request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
}

export function authenticated(desk: Desk, request: Request): string | undefined {
  const header = request.headers.authorization ?? '';
  if (header === desk.lastToken?.header && desk.lastToken.end > desk.world.now())
    return desk.lastToken.client;
  const match = /^bearer (\S+)$/i.exec(header);
  if (match === null) return undefined;
  const claims = readToken(desk.bank.tokenSecret, match[1] as string);
  if (claims === undefined || claims.end <= desk.world.now()) return undefined;
  desk.lastToken = { header, ...claims };
  return claims.client;
}

export function unauthorized(): Reply {
  const reply = problem(
    401,
    'AcessoNegado',
    'Acesso negado',
    'Token de acesso ausente, inválido ou vencido.',
  );
  return { ...reply, headers: { 'www-authenticate': 'Bearer' } };
}

export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function outcomeOf<A>(
  fated: Fate<A>,
  answer: (a: A) => Reply,
  failed: () => Reply = internalError,
): Outcome {
  switch (fated.fate) {
    case 'answer':
      return answer(fated.answer);
    case 'garbage':
      return garbage();
    case 'error-500':
      return failed();
    default:
      return fated.fate;
  }
}

// ----------------------------------------------------------------------------------------------- queries

/** A query as the set behaviour lets it end. Each counts, whatever it brings. */
export function queried(
  desk: Desk,
  notFound: () => Reply,
  answer: (stale: boolean) => Reply,
  failed: () => Reply = internalError,
): Outcome {
  const { counts, behaviour } = desk.bank;
  counts.queries++;
  desk.commit([['counts', counts]]);
  switch (behaviour.query) {
    case 'hang':
      return 'hang';
    case 'error-500':
      return failed();
    case 'not-found':
      return notFound();
    default:
      return answer(behaviour.query === 'stale');
  }
}

function queriedList<T>(
  desk: Desk,
  query: URLSearchParams,
  kind: string,
  answer: (list: ListQuery, stale: boolean, nothing: boolean) => { parametros: unknown } & T,
): Outcome {
  const read = readListQuery(query, kind);
  if ('refusal' in read) return read.refusal;
  const list = asBehaved(desk, read.list);
  return queried(
    desk,
    () => json(200, answer(list, false, true)),
    (stale) => json(200, answer(list, stale, false)),
  );
}

/** The page of a list whose read side lags, or whose pages are smaller than requested. */
export function asBehaved({ bank, world }: Pick<Desk, 'bank' | 'world'>, list: ListQuery): ListQuery {
  const { listLagMs, pageCap } = bank.behaviour;
  return {
    ...list,
    to: listLagMs === 0 ? list.to : Math.min(list.to, world.now() - listLagMs),
    size: pageCap === 0 ? list.size : Math.min(list.size, pageCap),
  };
}

// ----------------------------------------------------------------------------------------------- charges

function putCharge(desk: ClientDesk, noun: Noun, txid: string, body: string): Outcome {
  const read =
    noun === 'cob' ? readCharge(txid, parsed(body)) : readDueCharge(txid, parsed(body), desk.world.now());
  if ('request' in read) desk.commit(showKey(desk.bank, desk.client, read.request.key));
  const { writes, ...fated } = createCharge(
    desk.bank,
    desk.world,
    txid,
    'request' in read ? read.request : undefined,
  );
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    if (answer === 'duplicate') return duplicateTxid(txid);
    if (answer === 'malformed') return invalidCharge('violations' in read ? read.violations : [], noun);
    if (answer === 'unlisted')
      return problem(422, 'CobRecusaNaoDocumentada', 'Recusada', 'Recusa que nenhuma tabela contém');
    if (answer === 'refused') {
      return invalidCharge([{ razao: 'Recusada pelo simulador', propriedade: noun }], noun);
    }
    return json(201, chargeAnswer(answer.created));
  });
}

/** A charge under its own call alone: `GET /cob/{txid}` does not know one with a due date. */
function chargeAt(desk: ClientDesk, noun: Noun, txid: string) {
  const charge = isTxid(txid) ? ownOf(desk, desk.bank.charges.get(txid)) : undefined;
  return charge && nounOf(charge) === noun ? charge : undefined;
}

const nounOf = ({ due }: { due?: object }): Noun => (due === undefined ? 'cob' : 'cobv');

function patchCharge(desk: ClientDesk, noun: Noun, txid: string, body: string): Outcome {
  const charge = chargeAt(desk, noun, txid);
  if (charge === undefined) return chargeNotFound(noun);
  const read =
    charge.due === undefined
      ? readRevision(parsed(body))
      : readDueRevision(parsed(body), { ...charge, due: charge.due });
  if ('violations' in read) return invalidCharge(read.violations, noun);
  const notActive = () =>
    invalidCharge(
      [{ razao: 'A cobrança não está ATIVA', propriedade: 'cob.status', valor: charge.status }],
      noun,
    );
  if (read.revision === 'remove') {
    const { writes, ...fated } = cancelCharge(desk.bank, desk.world, charge);
    desk.commit(writes);
    return outcomeOf(fated, (answer) => {
      if (answer === 'refused')
        return problem(422, 'CobRecusaNaoDocumentada', 'Recusada', 'Recusa que nenhuma tabela contém');
      return answer === 'ended' ? notActive() : json(200, chargeAnswer(charge));
    });
  }
  const { writes, ...fated } = changeCharge(desk.bank, desk.world, charge, read.revision);
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    if (answer === 'refused')
      return invalidCharge([{ razao: 'Recusada pelo simulador', propriedade: noun }], noun);
    return answer === 'ended' ? notActive() : json(200, chargeAnswer(charge));
  });
}

function getCharge(desk: ClientDesk, noun: Noun, txid: string, query: URLSearchParams): Outcome {
  const revision = query.get('revisao');
  return queried(
    desk,
    () => chargeNotFound(noun),
    (stale) => {
      const charge = chargeAt(desk, noun, txid);
      if (charge === undefined) return chargeNotFound(noun);
      if (revision !== null && revision !== String(charge.revision)) {
        return problem(400, 'CobConsultaInvalida', 'Consulta inválida', 'Só a última revisão é guardada.');
      }
      const view = chargeView(desk.bank, charge, stale);
      return json(200, desk.bank.terms === 'efi' ? asEfiHasIt(withoutKeys(view), false) : view);
    },
  );
}

function listCharges(desk: ClientDesk, noun: Noun, query: URLSearchParams): Outcome {
  const status = query.get('status');
  const { charges, dueCharges } = ownAccount(desk);
  const all = noun === 'cob' ? charges : dueCharges;
  return queriedList(desk, query, 'CobConsultaInvalida', (list, stale, nothing) => {
    const withStatus = (charge: { status: string }) => (stale ? 'ATIVA' : charge.status) === status;
    const { parametros, items } = pageOf(
      nothing ? [] : all,
      (charge) => charge.createdAt,
      list,
      status === null ? undefined : withStatus,
    );
    if (status !== null) parametros.status = status;
    const views = items.map((charge) => chargeView(desk.bank, charge, stale));
    return {
      parametros,
      cobs: desk.bank.terms === 'efi' ? views.map((one) => asEfiHasIt(one, true)) : views,
    };
  });
}

// ------------------------------------------------------------------------------------- received payments

function paymentNotFound(): Reply {
  return problem(404, 'PixNaoEncontrado', 'Pix não encontrado', 'Não há Pix para o e2eid informado.');
}

function getPayment(desk: ClientDesk, endToEnd: string): Outcome {
  return queried(desk, paymentNotFound, (stale) => {
    const payment = ownOf(desk, desk.bank.payments.get(endToEnd));
    // A stale answer shows the charge as it was created: unpaid.
    return payment === undefined || stale ? paymentNotFound() : json(200, wholePayment(desk, payment));
  });
}

function putRefund(desk: ClientDesk, endToEnd: string, id: string, body: string): Outcome {
  if (ownOf(desk, desk.bank.payments.get(endToEnd)) === undefined) return paymentNotFound();
  const given = parsed(body);
  if (desk.bank.terms === 'efi' && isRecord(given)) {
    const unknown = Object.keys(given).find((name) => name !== 'valor' && !steersRefund(name, given[name]));
    if (unknown !== undefined) return refusal(400, 'json_invalido', `propriedade desconhecida: ${unknown}`);
  }
  const read = readRefund(id, given);
  const { writes, ...fated } = requestRefund(
    desk.bank,
    desk.world,
    endToEnd,
    id,
    'request' in read ? read.request : undefined,
  );
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    switch (answer) {
      case 'not-found':
        return paymentNotFound();
      case 'malformed':
        return invalidRefund('violations' in read ? read.violations : []);
      case 'duplicate':
        return invalidRefund([
          { razao: 'O id já foi utilizado por outra devolução deste Pix', propriedade: 'id', valor: id },
        ]);
      case 'too-much':
        return invalidRefund([
          { razao: 'A soma das devoluções excede o valor do Pix', propriedade: 'devolucao.valor' },
        ]);
      case 'refused':
        return invalidRefund([{ razao: 'Recusada pelo simulador', propriedade: 'devolucao.valor' }]);
      case 'unlisted':
        return problem(422, 'DevolucaoRecusaNaoDocumentada', 'Recusada', 'Recusa que nenhuma tabela contém');
      default:
        return json(201, refundAnswer(answer.accepted));
    }
  });
}

/** Efí's body of a return is `{valor}` alone (its SDK 2.0.1). What says how the simulator shall behave is not Efí's. */
const steersRefund = (name: string, value: unknown): boolean =>
  name === 'descricao' && typeof value === 'string' && behaviourOfMessage(value) !== undefined;

function getRefund(desk: ClientDesk, endToEnd: string, id: string): Outcome {
  return queried(desk, refundNotFound, (stale) => {
    const refund = ownOf(desk, desk.bank.payments.get(endToEnd))?.returns.find((one) => one.id === id);
    return refund === undefined || stale ? refundNotFound() : json(200, refundAnswer(refund));
  });
}

function listPayments(desk: ClientDesk, query: URLSearchParams): Outcome {
  const txid = query.get('txid');
  const all = ownAccount(desk).payments;
  return queriedList(desk, query, 'PixConsultaInvalida', (list, stale, nothing) => {
    const withTxid = (payment: Payment) => payment.txid === txid;
    const { parametros, items } = pageOf(
      nothing || stale ? [] : all,
      (payment) => payment.at,
      list,
      txid === null ? undefined : withTxid,
    );
    if (txid !== null) parametros.txid = txid;
    return { parametros, pix: items.map((payment) => wholePayment(desk, payment)) };
  });
}

const wholePayment = (desk: Desk, payment: Payment) =>
  paymentView(payment, payment.returns.length, nextReturnForm(desk.bank));

// ----------------------------------------------------------------------------------------------- payouts

function putPayout(desk: ClientDesk, idEnvio: string, body: string): Outcome {
  if (!isIdEnvio(idEnvio))
    return refusal(400, 'id_envio_invalido', 'O idEnvio deve ter de 1 a 35 letras ou dígitos');
  const read = payoutAsTaken(desk, readPayout(idEnvio, parsed(body)));
  const { writes, ...fated } = requestPayout(
    desk.bank,
    desk.world,
    idEnvio,
    'request' in read ? read.request : undefined,
  );
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    if (answer === 'duplicate') {
      return refusal(409, 'id_envio_duplicado', 'O idEnvio informado já foi utilizado');
    }
    if (answer === 'malformed') return 'refusal' in read ? read.refusal : internalError();
    if (answer === 'unlisted')
      return refusal(422, 'recusa_nao_documentada', 'Recusa que nenhuma tabela contém');
    if ('accepted' in answer) return json(201, payoutAnswer(answer.accepted));
    const { code, reason } = answer.refused;
    return code === 'chave_favorecido_nao_encontrada'
      ? refusal(404, code, reason)
      : refusal(422, 'pagamento_negado', reason);
  });
}

/** Efí sends nothing from a key whose deliveries have no address. It publishes no name of this refusal: the one here is ours. */
function payoutAsTaken(desk: ClientDesk, read: ReturnType<typeof readPayout>): typeof read {
  if ('refusal' in read) return read;
  const { payerKey } = read.request;
  desk.commit(showKey(desk.bank, desk.client, payerKey));
  const { registration } = desk.bank.behaviour;
  if (registration !== 'checked' || desk.bank.webhooks.has(payerKey)) return read;
  return { refusal: refusal(400, 'webhook_nao_cadastrado', 'A chave do pagador não tem webhook') };
}

function getPayout(desk: Desk, payout: Payout | undefined): Outcome {
  return queried(desk, payoutNotFound, (stale) =>
    payout === undefined || payout.status === 'seen'
      ? payoutNotFound()
      : json(200, payoutView(payout, stale, nextReturnForm(desk.bank))),
  );
}

function listPayouts(desk: ClientDesk, query: URLSearchParams): Outcome {
  const status = query.get('status');
  const all = ownAccount(desk).payouts;
  return queriedList(desk, query, 'PixConsultaInvalida', (list, stale, nothing) => {
    const withStatus = (payout: Payout) => payoutView(payout, stale, 'both').status === status;
    const { parametros, items } = pageOf(
      nothing ? [] : all,
      (payout) => payout.createdAt,
      list,
      status === null ? undefined : withStatus,
    );
    if (status !== null) parametros.status = status;
    return { parametros, pix: items.map((payout) => payoutView(payout, stale, nextReturnForm(desk.bank))) };
  });
}

function balance(desk: ClientDesk, query: URLSearchParams): Outcome {
  const { judicialCents, medCents, totalCents } = blockedOf(desk.bank, accountName(desk));
  const blocked = { judicial: toReais(judicialCents), med: toReais(medCents), total: toReais(totalCents) };
  const answer = () =>
    json(200, {
      saldo: toReais(ownAccount(desk).balanceCents),
      ...(query.get('bloqueios') === 'true' ? { bloqueios: blocked } : {}),
    });
  return queried(desk, answer, answer);
}

function listDisputes(desk: ClientDesk, query: URLSearchParams): Outcome {
  return queriedList(desk, query, 'InfracaoConsultaInvalida', (list, _stale, nothing) => {
    const all = nothing ? [] : disputesOf(desk.bank, accountName(desk));
    const { parametros, items } = pageOf(all, (dispute) => dispute.openedAt, list);
    return {
      parametros,
      infracoes: items.map((one) =>
        disputeView(one, desk.bank.payments.get(one.endToEnd)?.at ?? one.openedAt),
      ),
    };
  });
}

function postDefence(desk: ClientDesk, id: string, body: string): Outcome {
  const read = readDefence(parsed(body));
  if ('refusal' in read) return read.refusal;
  const dispute = disputesOf(desk.bank, accountName(desk)).find((one) => one.id === id);
  if (dispute === undefined) return disputeNotFound();
  const { writes, ...fated } = defendDispute(desk.bank, desk.world, dispute, read);
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    if (answer === 'taken') return defenceTaken();
    return answer === 'refused' ? invalidDefence('justificativa') : defenceRefused(answer);
  });
}

// ----------------------------------------------------------------------------------------------- reports

function postReport(desk: Desk, body: string): Outcome {
  const read = readReportRequest(parsed(body), desk.world.now());
  if ('refusal' in read) return read.refusal;
  const report = requestReport(desk.bank, desk.world, read);
  const ready = desk.world.now() >= report.requestedAt + reportMadeAfterMs;
  return json(202, reportView(report, ready ? 'CONCLUIDO' : 'AGUARDANDO_PROCESSAMENTO'));
}

function getReport(desk: ClientDesk, id: string): Outcome {
  return queried(desk, reportNotFound, () => {
    const report = desk.bank.reports.get(id);
    if (report === undefined) return reportNotFound();
    if (desk.world.now() < report.requestedAt + reportMadeAfterMs)
      return json(202, reportView(report, 'AGUARDANDO_PROCESSAMENTO'));
    return {
      status: 200,
      type: 'text/csv; charset=utf-8',
      body: reportText(
        report,
        desk.bank.statement.filter((line) => ownOf(desk, line) !== undefined),
      ),
    };
  });
}

// ---------------------------------------------------------------------------------------------- webhooks

/** The text is ours. */
export const addressNotReached = (): Reply =>
  problem(
    422,
    'WebhookOperacaoInvalida',
    'Webhook inválido',
    'A URL informada não respondeu à chamada de teste com 2xx.',
  );

/** Those of the keys of the client's account. */
function listWebhooks(desk: ClientDesk, query: URLSearchParams): Outcome {
  const own = [...desk.bank.webhooks.values()].filter((one) => ownOf(desk, one) !== undefined);
  const all = own.sort((one, other) => one.createdAt - other.createdAt);
  return queriedList(desk, query, 'WebhookConsultaInvalida', (list, _stale, nothing) => {
    const { parametros, items } = pageOf(nothing ? [] : all, ({ createdAt }) => createdAt, list);
    return { parametros, webhooks: items.map(webhookView) };
  });
}

const webhookView = ({ key, url, createdAt }: Webhook) => ({
  webhookUrl: url,
  chave: key,
  cnpj: ownCnpj,
  criacao: new Date(createdAt).toISOString(),
});

function accountConfig(desk: ClientDesk, method: string, body: string): Outcome | undefined {
  const account = accountName(desk);
  if (method === 'GET') {
    const asMade = { pix: { receberSemChave: true, chaves: {} } };
    return queried(
      desk,
      () => json(200, asMade),
      () => json(200, desk.bank.configs.get(account)?.said ?? asMade),
    );
  }
  if (method !== 'PUT') return undefined;
  const read = readConfig(account, parsed(body));
  if ('refusal' in read) return read.refusal;
  desk.commit(setConfig(desk.bank, read.config));
  return { status: 204, type: '', body: '' };
}

function postResend(desk: ClientDesk, body: string): Outcome {
  const read = readResend(parsed(body));
  if ('refusal' in read) return read.refusal;
  const { payments, payoutsByEndToEnd } = desk.bank;
  const found = read.endToEnds.map((id) =>
    read.sent ? ownOf(desk, payoutsByEndToEnd.get(id)) : ownOf(desk, payments.get(id)),
  );
  if (found.includes(undefined)) return paymentNotFound();
  desk.commit(
    resendAll(
      desk.bank,
      desk.world,
      found.filter((one) => one !== undefined),
    ),
  );
  return { status: 202, type: '', body: '' };
}

function webhook(desk: ClientDesk, method: string, key: string, body: string): Outcome | undefined {
  if (key.length > 77) {
    return problem(400, 'WebhookOperacaoInvalida', 'Webhook inválido', 'A chave tem mais de 77 caracteres.');
  }
  desk.commit(showKey(desk.bank, desk.client, key));
  const registered = desk.bank.webhooks.get(key);
  if (method === 'PUT') {
    const read = readWebhookUrl(parsed(body));
    if ('violations' in read) {
      return problem(
        400,
        'WebhookOperacaoInvalida',
        'Webhook inválido',
        'A requisição é inválida.',
        read.violations,
      );
    }
    desk.commit(registerWebhook(desk.bank, desk.world, { key, url: read.url, clientId: desk.client }));
    return json(200, { webhookUrl: read.url });
  }
  if (registered === undefined && (method === 'GET' || method === 'DELETE')) {
    return problem(
      404,
      'WebhookNaoEncontrado',
      'Webhook não encontrado',
      'Não há webhook para a chave informada.',
    );
  }
  if (method === 'GET' && registered !== undefined) {
    return json(200, webhookView(registered));
  }
  if (method === 'DELETE') {
    desk.commit(removeWebhook(desk.bank, key));
    return { status: 204, type: '', body: '' };
  }
  return undefined;
}

export function unknownCall(): Reply {
  return problem(404, 'NaoEncontrado', 'Não encontrado', 'Não há tal operação.');
}

export function unreadable(detail: string, status = 400): Reply {
  return problem(status, 'RequisicaoInvalida', 'Requisição inválida', detail);
}
