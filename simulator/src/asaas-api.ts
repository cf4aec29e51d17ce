import {
  cancelledCode,
  creditRefundView,
  creditView,
  dayText,
  debitRefundView,
  debitView,
  failure,
  isDeleted,
  lineView,
  notFound,
  type PaymentRow,
  paymentIdOf,
  paymentView,
  pixIdOf,
  qrView,
  readPayment,
  readRefund,
  readTransfer,
  realOf,
  referenceOf,
  refundView,
  rowsOf,
  serverError,
  timeText,
  transferIdOf,
  transferView,
  unnamed,
} from './asaas.ts';
import { asaasCardApi, cardEventOf, checkoutPage } from './asaas-cards.ts';
import {
  type Bank,
  type Charge,
  cancelCharge,
  createCharge,
  decideWithdrawal,
  isDecided,
  type Payment,
  type Payout,
  registerWebhook,
  rememberClient,
  requestPayout,
  requestRefund,
  type StatementLine,
  type Webhook,
} from './bank.ts';
import { type ClientDesk, type Desk, ownAccount, ownOf, type Request } from './desk.ts';
import { isRecord } from './money.ts';
import { inForm } from './odd-wire.ts';
import { type Outcome, outcomeOf, parsed, queried } from './provider-api.ts';
import { json, type Reply } from './reply.ts';
import type { Post, PostsOf } from './webhooks.ts';

/** Asaas' calls on the truth of a desk; undefined when there is no such call. */
export function asaasApi(anyone: Desk, request: Request): Outcome | undefined {
  const { method, path, query, body } = request;
  const [version, ...parts] = path.at(-1) === '' ? path.slice(0, -1) : path;
  if (version !== 'v3') return checkoutPage(anyone, request);
  // Since 2024 accounts have to name their program, and a GET with a body is refused (docs.asaas.com, 403 of every reference page).
  if (!request.headers['user-agent'])
    return failure('User-Agent não informado', 400, 'user_agent_not_informed');
  if (method === 'GET' && body !== '') return { status: 403, type: 'text/html', body: 'Forbidden' };
  const client = clientOf(anyone, request);
  if (client === undefined)
    return failure('A chave de API fornecida é inválida', 401, 'invalid_access_token');
  const desk: ClientDesk = { ...anyone, client };
  const [, second, third] = parts;
  if (parts.length > 4) return undefined;
  const ofCards = asaasCardApi(desk, request, parts, page);
  if (ofCards !== undefined) return ofCards;
  switch (`${method} ${parts.map((part, at) => (isName(part, at, parts) ? part : '*')).join('/')}`) {
    case 'POST payments':
      return postPayment(desk, body);
    case 'GET payments':
      return listPayments(desk, query);
    case 'GET payments/*':
      return withRow(desk, second, (row, stale) => json(200, viewOf(row, stale)));
    case 'DELETE payments/*':
      return deletePayment(desk, second ?? '');
    case 'GET payments/*/pixQrCode':
      return withRow(desk, second, ({ charge }) =>
        charge.withoutCode || isDeleted(charge) ? notFound() : json(200, qrView(charge, tinyImage)),
      );
    case 'POST payments/*/refund':
      return postRefund(desk, second ?? '', body);
    case 'GET payments/*/refunds':
      return withRow(desk, second, ({ pix }, stale) =>
        page(query, stale ? [] : (pix?.returns ?? []).map(refundView)),
      );
    case 'POST transfers':
      return postTransfer(desk, body);
    case 'GET transfers':
      return listTransfers(desk, query);
    case 'GET transfers/*':
      return getTransfer(desk, second ?? '');
    case 'GET pix/transactions':
      return listPix(desk, query);
    case 'GET pix/transactions/*':
      return getPix(desk, third ?? '');
    case 'GET pix/tokenBucket/addressKey':
      return json(200, { capacity: 300, remaining: 300 });
    case 'GET financialTransactions':
      return listLines(desk, query);
    case 'GET finance/balance':
      return queried(
        desk,
        notFound,
        () => json(200, { balance: realOf(ownAccount(desk).balanceCents) }),
        serverError,
      );
    case 'GET myAccount/accountNumber':
      return json(200, { agency: '0001', account: accountOf(client), accountDigit: '0' });
    case 'POST webhooks':
      return putWebhook(desk, body);
    case 'PUT webhooks/*':
      return putWebhook(desk, body);
    case 'GET webhooks':
      return listWebhooks(desk, query);
    default:
      return undefined;
  }
}

const words = new Set([
  ...['payments', 'transfers', 'pix', 'webhooks', 'finance', 'financialTransactions', 'myAccount'],
  ...[
    'pixQrCode',
    'refund',
    'refunds',
    'transactions',
    'tokenBucket',
    'addressKey',
    'balance',
    'accountNumber',
  ],
]);
const isName = (part: string, at: number, parts: readonly string[]): boolean =>
  at === 0 || (words.has(part) && !(at === 1 && (parts[0] === 'payments' || parts[0] === 'transfers')));

export const unknownAsaas = (): Outcome => notFound();

/** One pixel. */
const tinyImage =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';

const accountOf = (client: string): string =>
  String([...client].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 900_000, 7) + 100_000);

/** A key is `$aact_hmlg_` and the base64 of `id:secret`. */
function clientOf(desk: Desk, { headers }: Request): string | undefined {
  const key = headers.access_token;
  const [, coded] = /^\$aact_(?:prod|hmlg)_(.+)$/.exec(typeof key === 'string' ? key : '') ?? [];
  const text = Buffer.from(coded ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const client = { id: text.slice(0, colon), secret: text.slice(colon + 1) };
  if (colon < 1 || client.secret === '' || !desk.isClient(client)) return undefined;
  desk.commit(rememberClient(desk.bank, client));
  return client.id;
}

// ----------------------------------------------------------------------------------------------- pages

const mostOfPage = 100;

/** `offset` and `limit`: newest first, as Asaas lists everything. */
function page(query: URLSearchParams, items: readonly unknown[], cap = 0): Reply {
  const offset = Number(query.get('offset') ?? 0);
  const asked = Number(query.get('limit') ?? 10);
  if (!Number.isSafeInteger(offset) || offset < 0 || !(asked >= 1 && asked <= mostOfPage))
    return failure('O limite deve ser de 1 a 100.', 400, 'invalid_limit');
  const limit = cap === 0 ? asked : Math.min(asked, cap);
  const data = items.slice(offset, offset + limit);
  const hasMore = offset + data.length < items.length;
  return json(200, { object: 'list', hasMore, totalCount: items.length, limit, offset, data });
}

/** A list as the behaviour wants it: late, in small pages, empty. */
function list<Item>(
  desk: ClientDesk,
  query: URLSearchParams,
  all: readonly Item[],
  at: (item: Item) => number,
  view: (item: Item, stale: boolean) => unknown,
): Outcome {
  const { listLagMs, pageCap } = desk.bank.behaviour;
  const shown = all.filter((item) => listLagMs === 0 || at(item) <= desk.world.now() - listLagMs);
  return queried(
    desk,
    () => page(query, []),
    (stale) =>
      page(
        query,
        shown.toReversed().map((item) => view(item, stale)),
        pageCap,
      ),
    serverError,
  );
}

/** Days in São Paulo, both ends included. */
const within = (query: URLSearchParams, name: string, at: number | null): boolean => {
  const [from, to] = [query.get(`${name}[ge]`), query.get(`${name}[le]`)];
  if (from === null && to === null) return true;
  const day = at === null ? null : dayText(at);
  return day !== null && (from === null || day >= from) && (to === null || day <= to);
};

// --------------------------------------------------------------------------------------------- charges

function postPayment(desk: ClientDesk, body: string): Outcome {
  const { bank, world, client } = desk;
  const read = readPayment(client, parsed(body), dayText(world.now()));
  const request = 'request' in read ? read.request : undefined;
  // A reference may be used again: the second payment is another one.
  const txid = request === undefined ? '' : freeName(request.txid, (name) => bank.charges.has(name));
  const { writes, ...fated } = createCharge(bank, world, txid, request && { ...request, txid });
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'malformed') return 'refusal' in read ? read.refusal : serverError();
      if (answer === 'unlisted') return failure('Recusa que nenhuma tabela contém', 422, 'odd');
      if (answer === 'refused' || answer === 'duplicate') return failure('Recusada pelo simulador');
      return json(200, paymentView({ charge: answer.created, nth: 0, pix: undefined }));
    },
    serverError,
  );
}

/** The name, or with a number behind it the first that is free. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  for (let n = 2, free = name; ; n++) {
    if (!isTaken(free)) return free;
    free = `${name}~${n}`;
  }
}

const plain = (name: string): string => name.replace(/~\d{1,6}$/, '');

const rowsOfDesk = (desk: ClientDesk, charges: readonly Charge[]): PaymentRow[] =>
  charges.flatMap((charge) => rowsOf(desk.bank, charge));

const viewOf = (row: PaymentRow, stale: boolean) => {
  const view = paymentView(row, stale);
  return { ...view, externalReference: plain(view.externalReference) };
};

function withRow(
  desk: ClientDesk,
  id: string | undefined,
  answer: (row: PaymentRow, stale: boolean) => Reply,
): Outcome {
  return queried(
    desk,
    notFound,
    (stale) => {
      const row = rowNamed(desk, id ?? '');
      return row === undefined ? notFound() : answer(row, stale);
    },
    serverError,
  );
}

const rowNamed = (desk: ClientDesk, id: string): PaymentRow | undefined =>
  rowsOfDesk(desk, ownAccount(desk).charges).find(({ charge, nth }) => paymentIdOf(charge.txid, nth) === id);

/** Those that were deleted are left out, as Asaas leaves them out. */
function listPayments(desk: ClientDesk, query: URLSearchParams): Outcome {
  const reference = query.get('externalReference');
  const rows = rowsOfDesk(desk, ownAccount(desk).charges).filter(
    (row) =>
      !isDeleted(row.charge) &&
      (reference === null || plain(row.charge.txid) === reference) &&
      within(query, 'dateCreated', row.charge.createdAt) &&
      within(query, 'paymentDate', row.pix?.at ?? null),
  );
  return list(
    desk,
    query,
    rows,
    ({ charge, pix, nth }) => (nth === 0 ? charge.createdAt : (pix?.at ?? 0)),
    viewOf,
  );
}

function deletePayment(desk: ClientDesk, id: string): Outcome {
  const row = rowNamed(desk, id);
  if (row === undefined || isDeleted(row.charge)) return notFound();
  const { writes, ...fated } = cancelCharge(desk.bank, desk.world, row.charge);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) =>
      answer === 'removed'
        ? json(200, { deleted: true, id })
        : answer === 'ended'
          ? failure('Somente é possível remover cobranças pendentes ou vencidas.')
          : failure('Recusa que nenhuma tabela contém', 422, 'odd'),
    serverError,
  );
}

// --------------------------------------------------------------------------------------------- refunds

/** Asaas knows no id of a client: each call is a refund of its own. */
function postRefund(desk: ClientDesk, id: string, body: string): Outcome {
  const row = rowNamed(desk, id);
  if (row?.pix === undefined) return row === undefined ? notFound() : failure('A cobrança não foi recebida.');
  const { pix } = row;
  const read = readRefund(parsed(body), pix.amountCents);
  const named = 'id' in read ? read.id : undefined;
  const name = freeName(named ?? desk.world.letters(32), (one) =>
    pix.returns.some((back) => back.id === one),
  );
  const request = 'request' in read ? read.request : undefined;
  const { writes, ...fated } = requestRefund(desk.bank, desk.world, pix.endToEnd, name, request);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      switch (answer) {
        case 'malformed':
          return 'refusal' in read ? read.refusal : serverError();
        case 'unlisted':
          return failure('Recusa que nenhuma tabela contém', 422, 'odd');
        case 'not-found':
        case 'duplicate':
        case 'refused':
          return failure('Recusada pelo simulador');
        case 'too-much':
          return failure('O valor do estorno supera o valor da cobrança.', 400, 'invalid_value');
        default:
          return json(200, viewOf(row, false));
      }
    },
    serverError,
  );
}

// ------------------------------------------------------------------------------------------- transfers

/** Two transfers of one value to one key within this are one too many (docs.asaas.com, transfers-1). */
const sameWithinMs = 15 * 60_000;

function postTransfer(desk: ClientDesk, body: string): Outcome {
  const { bank, world, client } = desk;
  const read = readTransfer(client, parsed(body));
  const request = 'request' in read ? read.request : undefined;
  const given = request?.idEnvio || unnamed + world.letters(32);
  const id = freeName(given, (name) => {
    const payout = bank.payouts.get(name);
    return payout !== undefined && isDecided(payout);
  });
  if (request !== undefined && bank.behaviour.sameTransfer === 'refuse' && isRepeat(desk, request)) {
    return failure(
      'Já existe uma transferência idêntica nos últimos 15 minutos.',
      409,
      'duplicated_transfer',
    );
  }
  const { writes, ...fated } = requestPayout(bank, world, id, request && { ...request, idEnvio: id });
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'malformed') return 'refusal' in read ? read.refusal : serverError();
      if (answer === 'unlisted') return failure('Recusa que nenhuma tabela contém', 422, 'odd');
      if (answer === 'duplicate') return serverError();
      if ('refused' in answer) return refusedTransfer(answer.refused.code);
      return json(200, transferView(answer.accepted));
    },
    serverError,
  );
}

const isRepeat = (
  desk: ClientDesk,
  { pixKey, amountCents }: Pick<Payout, 'pixKey' | 'amountCents'>,
): boolean =>
  ownAccount(desk).payouts.some(
    (one) =>
      one.accepted &&
      one.pixKey === pixKey &&
      one.amountCents === amountCents &&
      desk.world.now() - one.createdAt < sameWithinMs,
  );

const refusedTransfer = (code: string): Reply =>
  code === 'chave_favorecido_nao_encontrada'
    ? failure('A chave Pix informada não foi encontrada.', 400, 'invalid_pixAddressKey')
    : code === 'SALDO'
      ? failure('Saldo insuficiente para realizar a transferência.')
      : failure('A transferência não foi aceita.');

/** Those that Asaas has: a request that it refused made none. */
const transfersOf = (desk: ClientDesk): Payout[] =>
  ownAccount(desk).payouts.filter(({ accepted }) => accepted);

function listTransfers(desk: ClientDesk, query: URLSearchParams): Outcome {
  const reference = query.get('externalReference');
  const wanted = transfersOf(desk).filter(
    (one) =>
      (reference === null || referenceOf(one) === reference) &&
      within(query, 'dateCreated', one.createdAt) &&
      within(query, 'transferDate', one.settledAt ?? null),
  );
  return list(desk, query, wanted, ({ createdAt }) => createdAt, transferView);
}

function getTransfer(desk: ClientDesk, id: string): Outcome {
  return queried(
    desk,
    notFound,
    (stale) => {
      const one = transfersOf(desk).find(({ idEnvio }) => transferIdOf(idEnvio) === id);
      return one === undefined ? notFound() : json(200, transferView(one, stale));
    },
    serverError,
  );
}

// ----------------------------------------------------------------------------------------- what moved

interface Moved {
  id: string;
  endToEnd: string;
  at: number;
  view: () => { id: string; type: string; endToEndIdentifier: string };
}

/** Every Pix of the account, in order of time. */
function movedOf(desk: ClientDesk): Moved[] {
  const { payments, payouts } = ownAccount(desk);
  const credits = payments.flatMap((payment) => {
    const { charge, nth } = placeOf(desk.bank, payment);
    const paymentId = charge === undefined ? null : paymentIdOf(charge.txid, nth);
    return [
      movedBy(payment.endToEnd, payment.at, () => {
        const view = creditView(payment, charge, nth);
        return { ...view, externalReference: view.externalReference && plain(view.externalReference) };
      }),
      ...payment.returns
        .filter(({ state }) => state === undefined)
        .map((back) => movedBy(back.rtrId, back.at, () => creditRefundView(payment, back, paymentId))),
    ];
  });
  const debits = payouts
    .filter(({ line }) => line !== undefined)
    .flatMap((payout) => [
      movedBy(payout.endToEnd, payout.settledAt ?? payout.createdAt, () => debitView(payout)),
      ...payout.returns.map((back) => movedBy(back.rtrId, back.at, () => debitRefundView(payout, back))),
    ]);
  return [...credits, ...debits].sort((one, other) => one.at - other.at);
}

const movedBy = (endToEnd: string, at: number, view: Moved['view']): Moved => ({
  id: pixIdOf(endToEnd),
  endToEnd,
  at,
  view,
});

function placeOf(bank: Bank, { txid, endToEnd }: Payment): { charge: Charge | undefined; nth: number } {
  const charge = bank.charges.get(txid);
  return { charge, nth: Math.max(0, charge?.payments.indexOf(endToEnd) ?? 0) };
}

function listPix(desk: ClientDesk, query: URLSearchParams): Outcome {
  const [type, status, endToEnd] = ['type', 'status', 'endToEndIdentifier'].map((name) => query.get(name));
  const wanted = movedOf(desk).filter(
    (one) =>
      (endToEnd == null || one.endToEnd === endToEnd) &&
      (type == null || one.view().type === type) &&
      (status == null || status === 'DONE'),
  );
  return list(
    desk,
    query,
    wanted,
    ({ at }) => at,
    ({ view }) => view(),
  );
}

function getPix(desk: ClientDesk, id: string): Outcome {
  return queried(
    desk,
    notFound,
    () => {
      const one = movedOf(desk).find((moved) => moved.id === id);
      return one === undefined ? notFound() : json(200, one.view());
    },
    serverError,
  );
}

function listLines(desk: ClientDesk, query: URLSearchParams): Outcome {
  const [from, to] = [query.get('startDate'), query.get('finishDate')];
  let balanceCents = 0;
  const all = desk.bank.statement
    .filter((line) => ownOf(desk, line) !== undefined)
    .map((line): { line: StatementLine; balanceCents: number } => {
      balanceCents += Math.round(lineView(line, 0).value * 100);
      return { line, balanceCents };
    })
    .filter(
      ({ line }) => (from === null || dayText(line.at) >= from) && (to === null || dayText(line.at) <= to),
    );
  return list(
    desk,
    query,
    all,
    ({ line }) => line.at,
    (one) => lineView(one.line, one.balanceCents),
  );
}

// -------------------------------------------------------------------------------------------- webhooks

const tokenLeast = 32;

/** One address for each client: another takes the place of the one before. */
function putWebhook(desk: ClientDesk, body: string): Reply {
  const given = parsed(body);
  const { url, email, events, authToken } = isRecord(given) ? given : {};
  if (typeof url !== 'string' || !URL.canParse(url)) return failure('URL inválida', 400, 'invalid_url');
  if (typeof email !== 'string' || !email.includes('@'))
    return failure('E-mail inválido', 400, 'invalid_email');
  if (typeof authToken !== 'string' || authToken.length < tokenLeast)
    return failure('O token deve ter ao menos 32 caracteres.', 400, 'invalid_authToken');
  if (!Array.isArray(events) || !events.every((event) => typeof event === 'string'))
    return failure('Eventos inválidos', 400, 'invalid_events');
  const { bank, world, client } = desk;
  desk.commit(registerWebhook(bank, world, { key: client, url, clientId: client, events, token: authToken }));
  return json(200, webhookView(bank.webhooks.get(client) as Webhook, email));
}

const webhookView = ({ key, url, events = [] }: Webhook, email: string) => ({
  id: pixIdOf(key),
  name: 'vintem',
  url,
  email,
  enabled: true,
  interrupted: false,
  apiVersion: 3,
  hasAuthToken: true,
  sendType: 'NON_SEQUENTIALLY',
  events,
});

function listWebhooks(desk: ClientDesk, query: URLSearchParams): Reply {
  const there = desk.bank.webhooks.get(desk.client);
  return page(query, there === undefined ? [] : [webhookView(there, 'operador@vintem.example')]);
}

/** After so many failures a transfer that was asked for is cancelled (docs.asaas.com, mecanismo-para-validacao-de-saque-via-webhooks). */
const asksMost = 3;

/** One request an event, to the address as it was registered, with its token; and the question before a transfer leaves. */
export const asaasPosts =
  (desk: Pick<Desk, 'bank' | 'commit' | 'world'>): PostsOf =>
  (bank, { key, notifications }) => {
    const webhook = bank.webhooks.get(key);
    return notifications.flatMap((one): Post[] => {
      if (one.kind === 'question') return questionOf(desk, key, one);
      if (webhook === undefined) return [];
      return eventsOf(bank, one)
        .filter(({ event }) => webhook.events?.includes(event))
        .map((event) => ({
          address: new URL(webhook.url),
          headers: { 'asaas-access-token': webhook.token ?? '' },
          body: JSON.stringify(inForm(event, bank.behaviour.amounts)),
        }));
    });
  };

function eventsOf(
  bank: Bank,
  { n, kind, id, createdAt, returns, about = returns }: Parameters<PostsOf>[1]['notifications'][number],
) {
  const head = {
    id: `evt_${pixIdOf(String(n)).replaceAll('-', '')}&${n}`,
    dateCreated: timeText(createdAt),
  };
  const account = { id: pixIdOf('account'), ownerId: null };
  if (kind === 'key') return [{ ...head, event: id, account, accessToken: keyView(createdAt) }];
  if (kind === 'card') {
    const event = cardEventOf(bank, id, returns, createdAt);
    // One event has one id, however often it is reported (docs.asaas.com/docs/sobre-os-webhooks).
    const own = `evt_${pixIdOf(`${id}/${returns}`).replaceAll('-', '')}&${returns}`;
    return event === undefined ? [] : [{ ...head, id: own, account, ...event }];
  }
  const payment = kind === 'payment' ? bank.payments.get(id) : undefined;
  const charge = payment && bank.charges.get(payment.txid);
  if (payment !== undefined && charge !== undefined) {
    const nth = Math.max(0, charge.payments.indexOf(payment.endToEnd));
    const view = viewOf({ charge, nth, pix: payment }, false);
    const back = payment.returns[about - 1];
    const event =
      back === undefined
        ? 'PAYMENT_RECEIVED'
        : back.state === 'failed'
          ? 'PAYMENT_REFUND_DENIED'
          : view.status === 'REFUNDED'
            ? 'PAYMENT_REFUNDED'
            : 'PAYMENT_PARTIALLY_REFUNDED';
    return [{ ...head, event, account, payment: view }];
  }
  const payout = kind === 'payout' ? bank.payouts.get(id) : undefined;
  if (payout === undefined) return [];
  const event =
    payout.refusal?.code === cancelledCode
      ? 'TRANSFER_CANCELLED'
      : payout.status === 'refused'
        ? 'TRANSFER_FAILED'
        : 'TRANSFER_DONE';
  return [{ ...head, event, account, transfer: transferView(payout) }];
}

/** docs.asaas.com/docs/api-key-events. */
const keyView = (at: number) => ({
  ...{ id: pixIdOf('key'), name: 'Chave da loja', enabled: true, dateCreated: `${dayText(at)} 12:00:00` },
  ...{ disableReason: null, expirationDate: null, projectedExpirationDateByLackOfUse: null },
});

function questionOf(
  desk: Pick<Desk, 'bank' | 'commit' | 'world'>,
  key: string,
  { id, failures }: { id: string; failures: number },
): Post[] {
  const asked = desk.bank.questions.get(key);
  const payout = desk.bank.payouts.get(id);
  if (asked === undefined || payout?.asks === undefined) return [];
  const decide = (answer: 'approved' | 'refused' | 'unanswered') =>
    desk.commit(decideWithdrawal(desk.bank, desk.world, payout, answer));
  if (failures >= asksMost) {
    decide('unanswered');
    return [];
  }
  return [
    {
      address: new URL(asked.url),
      headers: { 'asaas-access-token': asked.token },
      body: JSON.stringify({ type: 'TRANSFER', transfer: transferView(payout) }),
      answered: (text) => {
        const answer = parsed(text);
        const status = isRecord(answer) ? answer.status : undefined;
        if (status === 'APPROVED') decide('approved');
        else if (status === 'REFUSED') decide('refused');
        return status === 'APPROVED' || status === 'REFUSED';
      },
    },
  ];
}
