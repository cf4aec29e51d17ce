import { accountNameFor, blockedOf, type Payout, type PayoutRequest, requestPayout } from './bank.ts';
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
import { isRecord } from './money.ts';
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
  if (api === 'pix' && ['cob', 'cobv', 'pix', 'webhook'].includes(rest[0] ?? ''))
    return providerApi(anyone, { ...request, path: [version, ...rest] });
  if (api !== 'banking') return undefined;
  const client = authenticated(anyone, request);
  return client === undefined
    ? unauthorized()
    : bankingApi({ ...anyone, client }, { ...request, path: rest });
}

function bankingApi(desk: ClientDesk, { method, path, query, headers, body }: Request): Outcome | undefined {
  const [first, second] = path;
  if (first === 'extrato' && second === 'completo' && path.length === 2 && method === 'GET')
    return statement(desk, query);
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

/**
 * The enriched statement: days of São Paulo, both included; pages from 0. `tipoTransacao` and `tipoOperacao` narrow it.
 */
function statement(desk: ClientDesk, query: URLSearchParams): Outcome {
  const day = /^\d{4}-\d\d-\d\d$/;
  const [from, to] = [query.get('dataInicio') ?? '', query.get('dataFim') ?? ''];
  const [page, size] = [Number(query.get('pagina') ?? 0), Number(query.get('tamanhoPagina') ?? 50)];
  if (!day.test(from)) return violation('dataInicio', 'Deve ter o formato AAAA-MM-DD');
  if (!day.test(to) || to < from) return violation('dataFim', 'Deve ter o formato AAAA-MM-DD');
  if (!Number.isInteger(page) || page < 0 || !(size >= 1 && size <= 10_000))
    return violation('pagina', 'Página inválida');
  const [type, operation] = [query.get('tipoTransacao'), query.get('tipoOperacao')];
  const answer = (nothing: boolean) => {
    const all = (nothing ? [] : desk.bank.statement)
      .filter((line) => ownOf(desk, line) !== undefined)
      .map((line) => statementLine(line, desk.bank.payouts.get(line.idEnvio ?? '')))
      .filter(({ dataTransacao }) => dataTransacao >= from && dataTransacao <= to)
      .filter((one) => type === null || one.tipoTransacao === type)
      .filter((one) => operation === null || one.tipoOperacao === operation);
    const pages = Math.ceil(all.length / size);
    const transacoes = all.slice(page * size, (page + 1) * size);
    return json(200, {
      totalPaginas: pages,
      totalElementos: all.length,
      ultimaPagina: page >= pages - 1,
      primeiraPagina: page === 0,
      tamanhoPagina: size,
      numeroDeElementos: transacoes.length,
      transacoes,
    });
  };
  return queried(
    desk,
    () => answer(true),
    () => answer(false),
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
