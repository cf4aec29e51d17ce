import {
  accountNameFor,
  type Bank,
  blockedOf,
  type Payment,
  type Payout,
  type PayoutRequest,
  payCharge,
  requestPayout,
  resend,
} from './bank.ts';
import { accountName, type ClientDesk, type Desk, ownAccount, ownOf, type Request } from './desk.ts';
import {
  answerOfPayout,
  codeOf,
  idOfCode,
  notFound,
  payoutView,
  readPayout,
  statementLine,
  violation,
} from './inter.ts';
import { fromReais, isRecord, toReais } from './money.ts';
import {
  authenticated,
  type Outcome,
  outcomeOf,
  parsed,
  providerApi,
  queried,
  unauthorized,
} from './provider-api.ts';
import { json, type Reply } from './reply.ts';
import { efiPosts, type PostsOf } from './webhooks.ts';

/** Banco Inter's calls: API Pix below `/pix/v2`, its own below `/banking/v2`; undefined when there is no such call. */
export function interApi(anyone: Desk, asked: Request): Outcome | undefined {
  const request = { ...asked, body: asTaken(asked) };
  const [api, version, ...rest] = request.path;
  if (version !== 'v2') return undefined;
  if (api === 'oauth') return providerApi(anyone, { ...request, path: [api, ...rest] });
  if (api !== 'pix' && api !== 'banking') return undefined;
  const client = authenticated(anyone, request);
  if (client === undefined) return unauthorized();
  const desk: ClientDesk = { ...anyone, client };
  if (api === 'banking') return bankingApi(desk, { ...request, path: rest });
  const [noun, second, third] = rest;
  if (noun === 'webhook' && second === 'callbacks')
    return callbacks(desk, { ...request, path: rest.slice(2) });
  if (noun === 'cob' && second === 'pagar' && third !== undefined && rest.length === 3)
    return request.method === 'POST' ? pay(desk, third, request.body) : undefined;
  return ['cob', 'cobv', 'pix', 'webhook'].includes(noun ?? '')
    ? providerApi(anyone, { ...request, path: [version, ...rest] })
    : undefined;
}

/** Inter's sandbox has a call in the place of the payer. Its answer is ours. */
function pay(desk: ClientDesk, txid: string, body: string): Outcome {
  const { valor } = (parsed(body) ?? {}) as { valor?: unknown };
  const cents = fromReais(typeof valor === 'number' ? valor.toFixed(2) : valor);
  if (!cents) return violation('valor', 'O valor não pode ser nulo');
  if (ownOf(desk, desk.bank.charges.get(txid)) === undefined) return notFound();
  const { answer, writes } = payCharge(desk.bank, desk.world, txid, cents);
  desk.commit(writes);
  return typeof answer === 'string'
    ? violation('txid', 'A cobrança não está ativa')
    : json(201, { e2e: answer.endToEnd });
}

/** The deliveries that were not taken yet, and the call that makes those of up to fifty charges again. */
function callbacks(desk: ClientDesk, { method, path, query, body }: Request): Outcome | undefined {
  const { bank } = desk;
  if (method === 'POST' && path.length === 1 && path[0] === 'retry') {
    const txids = (parsed(body) as { txid?: unknown } | undefined)?.txid;
    if (!Array.isArray(txids) || txids.length < 1 || txids.length > 50)
      return violation('txid', 'Deve ter de 1 a 50 itens');
    const payments = txids.flatMap((txid) => ownOf(desk, bank.charges.get(String(txid)))?.payments ?? []);
    desk.commit(payments.flatMap((id) => resend(bank, desk.world, bank.payments.get(id) as Payment)));
    return { status: 202, type: '', body: '' };
  }
  if (method !== 'GET' || path.length > 0) return undefined;
  const [from, to] = ['dataHoraInicio', 'dataHoraFim'].map((name) => Date.parse(query.get(name) ?? ''));
  if (from === undefined || to === undefined || Number.isNaN(from + to))
    return violation('dataHoraInicio', 'Deve ser uma data e hora');
  const page = readPage(query);
  if (page === undefined) return violation('pagina', 'Página inválida');
  const waiting = [...bank.outbox.waiting.values()].flatMap(({ kind, id, createdAt: at, failures }) => {
    const payment = kind === 'payment' ? ownOf(desk, bank.payments.get(id)) : undefined;
    return payment && at >= from && at <= to ? [callbackView(bank, payment, at, failures)] : [];
  });
  const of = query.get('txid');
  const all = of === null ? waiting : waiting.filter(({ payload }) => payload[0]?.txid === of);
  const answer = (items: unknown[]) => json(200, pageOf(items, page, 'data'));
  return queried(
    desk,
    () => answer([]),
    () => answer(all),
  );
}

function callbackView(bank: Bank, payment: Payment, at: number, failures: number) {
  return {
    webhookUrl: bank.webhooks.get(payment.key)?.url ?? '',
    numeroTentativa: failures,
    dataHoraDisparo: new Date(at).toISOString(),
    sucesso: false,
    payload: [
      {
        endToEndId: payment.endToEnd,
        txid: payment.txid,
        valor: toReais(payment.amountCents),
        chave: payment.key,
      },
    ],
  };
}

type Page = { page: number; size: number };

/** `pagina` from 0 and `tamanhoPagina`; undefined: they cannot be. */
function readPage(query: URLSearchParams): Page | undefined {
  const [page, size] = [Number(query.get('pagina') ?? 0), Number(query.get('tamanhoPagina') ?? 50)];
  return Number.isInteger(page) && page >= 0 && size >= 1 && size <= 10_000 ? { page, size } : undefined;
}

function pageOf(all: unknown[], { page, size }: Page, name: string) {
  const pages = Math.ceil(all.length / size);
  const items = all.slice(page * size, (page + 1) * size);
  return {
    ...{ totalPaginas: pages, totalElementos: all.length },
    ...{ ultimaPagina: page >= pages - 1, primeiraPagina: page === 0 },
    ...{ tamanhoPagina: size, numeroDeElementos: items.length },
    [name]: items,
  };
}

function bankingApi(desk: ClientDesk, { method, path, query, headers, body }: Request): Outcome | undefined {
  const [first, second] = path;
  if (first === 'extrato' && second === 'completo' && path.length === 2 && method === 'GET')
    return statement(desk, query);
  if (first === 'extrato' && path.length === 1 && method === 'GET') return plainStatement(desk, query);
  if (first === 'saldo' && path.length === 1 && method === 'GET') return balance(desk);
  if (first !== 'pix') return undefined;
  if (method === 'POST' && path.length === 1) return postPayout(desk, headers['x-id-idempotente'], body);
  if (method === 'GET' && path.length === 2) return getPayout(desk, second ?? '');
  return undefined;
}

/** Inter's own clients write each member that they know, also where it is null, and the `txid` of a charge in its body: Inter takes both. */
function asTaken({ path, body }: Request): string {
  const given = path[0] === 'oauth' ? undefined : parsed(body);
  if (!isRecord(given)) return body;
  const { txid: _, ...ofCharge } = given;
  return JSON.stringify(path[2] === 'cob' || path[2] === 'cobv' ? ofCharge : given, (_name, value) =>
    value === null ? undefined : value,
  );
}

/** The idempotency key names the payout here; without one each request is a payout of its own. */
function postPayout(desk: ClientDesk, key: string | string[] | undefined, body: string): Outcome {
  if (key !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(key)))
    return violation('x-id-idempotente', 'O valor deve seguir o padrão da RFC 4122');
  const { bank, world } = desk;
  const idEnvio = key === undefined ? world.letters(32) : String(key).replaceAll('-', '');
  const read = readPayout(parsed(body));
  const request: PayoutRequest | undefined =
    'request' in read ? { ...read.request, idEnvio, payerKey: accountNameFor(bank, desk.client) } : undefined;
  const { writes, ...fated } = requestPayout(bank, world, idEnvio, request);
  desk.commit(writes);
  return outcomeOf(fated, (answer) => {
    // The first answer again, whatever is asked for now.
    if (answer === 'duplicate') return firstAnswer(bank.payouts.get(idEnvio));
    if (answer === 'malformed') return 'refusal' in read ? read.refusal : notFound();
    if (answer === 'unlisted') return unlisted();
    return 'refused' in answer ? refusalOf(answer.refused.code) : answerOfPayout(answer.accepted);
  });
}

const unlisted = (): Reply => json(422, { title: 'Recusa que nenhuma tabela contém', detail: '' });

function firstAnswer(payout: Payout | undefined): Reply {
  if (payout?.unlisted) return unlisted();
  return payout?.accepted ? answerOfPayout(payout) : refusalOf(payout?.refusal?.code ?? '');
}

const refusalOf = (code: string): Reply =>
  code === 'chave_favorecido_nao_encontrada'
    ? violation('destinatario.chave', 'Chave Pix não encontrada')
    : violation('valor', 'Recusada pelo simulador');

function getPayout(desk: ClientDesk, code: string): Outcome {
  return queried(desk, notFound, (stale) => {
    const payout = ownOf(desk, desk.bank.payouts.get(idOfCode(code)));
    // One that was refused in the answer to its creation has no code.
    return payout?.accepted && codeOf(payout) === code ? json(200, payoutView(payout, stale)) : notFound();
  });
}

const dayForm = /^\d{4}-\d\d-\d\d$/;

/** Days of São Paulo, both included. */
function daysOf(query: URLSearchParams): { from: string; to: string } | { refusal: Reply } {
  const [from, to] = [query.get('dataInicio') ?? '', query.get('dataFim') ?? ''];
  if (!dayForm.test(from)) return { refusal: violation('dataInicio', 'Deve ter o formato AAAA-MM-DD') };
  if (!dayForm.test(to) || to < from)
    return { refusal: violation('dataFim', 'Deve ter o formato AAAA-MM-DD') };
  return { from, to };
}

function linesWithin(desk: ClientDesk, { from, to }: { from: string; to: string }) {
  return desk.bank.statement
    .filter((line) => ownOf(desk, line) !== undefined)
    .map((line) => statementLine(line, desk.bank.payouts.get(line.idEnvio ?? '')))
    .filter(({ dataTransacao }) => dataTransacao >= from && dataTransacao <= to);
}

/** The enriched statement: pages from 0. `tipoTransacao` and `tipoOperacao` narrow it. */
function statement(desk: ClientDesk, query: URLSearchParams): Outcome {
  const days = daysOf(query);
  if ('refusal' in days) return days.refusal;
  const page = readPage(query);
  if (page === undefined) return violation('pagina', 'Página inválida');
  const [type, operation] = [query.get('tipoTransacao'), query.get('tipoOperacao')];
  const all = () =>
    linesWithin(desk, days)
      .filter((one) => type === null || one.tipoTransacao === type)
      .filter((one) => operation === null || one.tipoOperacao === operation);
  const answer = (lines: unknown[]) => json(200, pageOf(lines, page, 'transacoes'));
  return queried(
    desk,
    () => answer([]),
    () => answer(all()),
  );
}

/** The statement without details and without pages. */
function plainStatement(desk: ClientDesk, query: URLSearchParams): Outcome {
  const days = daysOf(query);
  if ('refusal' in days) return days.refusal;
  const answer = (transacoes: unknown[]) => json(200, { transacoes });
  return queried(
    desk,
    () => answer([]),
    () =>
      answer(
        linesWithin(desk, days).map(
          ({ dataTransacao: dataEntrada, tipoTransacao, tipoOperacao, valor, titulo, descricao }) => ({
            ...{ dataEntrada, tipoTransacao, tipoOperacao, valor, titulo, descricao },
          }),
        ),
      ),
  );
}

function balance(desk: ClientDesk): Outcome {
  const { judicialCents, medCents, cautionCents, totalCents } = blockedOf(desk.bank, accountName(desk));
  const answer = () =>
    json(200, {
      disponivel: (ownAccount(desk).balanceCents - totalCents) / 100,
      bloqueadoCheque: 0,
      bloqueadoJudicialmente: judicialCents / 100,
      bloqueadoAdministrativo: (medCents + cautionCents) / 100,
      limite: 0,
    });
  return queried(desk, answer, answer);
}

/** Those of API Pix; what became of a payout is asked for. */
export const interPosts: PostsOf = (bank, delivery, now) => {
  const notifications = delivery.notifications.filter(({ kind }) => kind === 'payment');
  return notifications.length === 0 ? [] : efiPosts(bank, { ...delivery, notifications }, now);
};
