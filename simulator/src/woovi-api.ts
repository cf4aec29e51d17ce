import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import {
  type Account,
  approvePayout,
  blockedOf,
  type Charge,
  cancelCharge,
  createCharge,
  createStaticCode,
  type Dispute,
  defendDispute,
  disputesOf,
  type Payment,
  type Payout,
  type PixReturn,
  registerWebhook,
  rememberClient,
  requestPayout,
  requestRefund,
  type StatementLine,
  type StaticCode,
  storeFile,
  type Webhook,
} from './bank.ts';
import { isUnknownKey } from './behaviour.ts';
import { dayAt } from './cobv.ts';
import { type ClientDesk, type Desk, ownAccount, ownOf, type Request } from './desk.ts';
import { readForm } from './form.ts';
import { costOf, lookUpsLeast, lookUpsMost, lookUpsOf, lookUpsPerMinute } from './look-ups.ts';
import { isRecord } from './money.ts';
import { inForm } from './odd-wire.ts';
import { pageOf } from './page-of-list.ts';
import { asBehaved, type Outcome, outcomeOf, parsed, queried } from './provider-api.ts';
import { json, type Reply } from './reply.ts';
import { type Terms, terms } from './terms.ts';
import type { Post, PostsOf } from './webhooks.ts';
import {
  accountIdOf,
  chargeAnswer,
  chargeNotFound,
  chargeView,
  company,
  disputeView,
  disputeWords,
  evidenceNotAllowed,
  failure,
  feeView,
  fileUrl,
  fileView,
  ownerView,
  paymentAnswer,
  paymentEvents,
  paymentNotFound,
  paymentView,
  payoutEvents,
  pixView,
  readCharge,
  readEvidence,
  readFile,
  readPayment,
  readRefund,
  readStaticCode,
  refundAnswer,
  refundNotFound,
  refundView,
  returnView,
  sentView,
  serverError,
  staticCodeView,
  transactionNotFound,
} from './woovi.ts';

/** Woovi's calls on the truth of a desk; undefined when there is no such call. */
export function wooviApi(anyone: Desk, request: Request): Outcome | undefined {
  const { method, path, query, body } = request;
  const [api, version, name, id, action] = path;
  if (api !== 'api' || version !== 'v1' || path.length > 5) return undefined;
  if (name === 'webhook' && id === 'public-keys') return publicKeys(anyone);
  const client = clientOf(anyone, request);
  if (client === undefined) return json(401, { data: null, errors: [{ message: 'appID inválido' }] });
  // The client's id stands for its Pix key: the calls name none.
  const desk: ClientDesk = { ...anyone, client };
  if (method === 'POST' && name === 'dispute' && action === 'evidence')
    return postEvidence(desk, id ?? '', body);
  if (name === 'charge' && action === 'refund') return chargeRefunds(desk, request, id ?? '');
  if (action !== undefined) return undefined;
  // `/account/` ends in a slash.
  const one = id === '' ? undefined : id;
  switch (`${method} ${name}${one === undefined ? '' : '/'}`) {
    case 'POST charge':
      return postCharge(desk, client, query, body);
    case 'GET charge/':
      return getCharge(desk, one ?? '');
    case 'DELETE charge/':
      return deleteCharge(desk, one ?? '');
    case 'GET charge':
      return list(
        desk,
        query,
        'charges',
        // One that was deleted is gone, from lists as from queries.
        chargesOf(ownAccount(desk)),
        (charge) => charge.createdAt,
        (charge, stale) => chargeView(charge, desk.world.now(), stale),
      );
    case 'POST qrcode-static':
      return postStaticCode(desk, client, body);
    case 'GET qrcode-static':
      return list(
        desk,
        query,
        'pixQrCodes',
        [...desk.bank.staticCodes.values()].filter((code) => ownOf(desk, code) !== undefined),
        (code) => code.createdAt,
        staticCodeView,
      );
    case 'GET qrcode-static/':
      return getStaticCode(desk, one ?? '');
    case 'GET transaction':
      return listTransactions(desk, query);
    case 'GET transaction/':
      return getTransaction(desk, one ?? '');
    case 'POST payment':
      return postPayment(desk, client, body);
    case 'POST payment/':
      return one === 'approve' ? approvePayment(desk, body) : undefined;
    case 'GET payment/':
      return getPayment(desk, one ?? '');
    case 'GET payment':
      return list(
        desk,
        query,
        'payments',
        ownAccount(desk).payouts.filter(({ swept, removed }) => swept === undefined && removed === undefined),
        (payout) => payout.createdAt,
        paymentView,
      );
    case 'GET dispute':
      return list(
        desk,
        query,
        'disputes',
        disputesOf(desk.bank, client),
        (dispute) => dispute.openedAt,
        disputeView,
      );
    case 'POST files':
      return postFile(desk, request);
    case 'POST refund':
      return postRefund(desk, body);
    case 'GET refund/':
      return getRefund(desk, one ?? '');
    case 'GET refund':
      return list(desk, query, 'refunds', refundsOf(ownAccount(desk)), (one) => one.at, refundView);
    case 'GET account':
    case 'GET account/':
      return account(desk, one);
    case 'GET limits/':
      return one === accountIdOf(client)
        ? json(200, { limits: limitsOf(desk) })
        : failure('Account not found', 404);
    case 'GET pix-keys/':
      return one === 'tokens' ? json(200, tokensView(desk)) : undefined;
    case 'POST pix-keys/':
      return one === 'check' ? checkKey(desk, body) : undefined;
    case 'POST webhook':
      return postWebhook(desk, client, body);
    case 'GET webhook':
      return webhooks(desk, client, query);
    case 'DELETE webhook/':
      return deleteWebhook(desk, client, one ?? '');
    default:
      return undefined;
  }
}

/** An AppID is the base64 of `id:secret`. */
function clientOf(desk: Desk, { headers }: Request): string | undefined {
  const text = Buffer.from(headers.authorization ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const client = { id: text.slice(0, colon), secret: text.slice(colon + 1) };
  if (colon < 1 || client.secret === '' || !desk.isClient(client)) return undefined;
  desk.commit(rememberClient(desk.bank, client));
  return client.id;
}

// --------------------------------------------------------------------------------------------- charges

function postCharge(desk: Desk, client: string, query: URLSearchParams, body: string): Outcome {
  const given = parsed(body);
  const read = readCharge(client, given, dayAt(desk.world.now()));
  const txid = isRecord(given) && typeof given.correlationID === 'string' ? given.correlationID : '';
  const { bank, world } = desk;
  const { writes, ...fated } = createCharge(bank, world, txid, 'request' in read ? read.request : undefined);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'duplicate') {
        const there = bank.charges.get(txid);
        return query.get('return_existing') === 'true' && there !== undefined
          ? json(200, chargeAnswer(there, world.now()))
          : failure('Já existe uma cobrança com o correlationID fornecido');
      }
      if (answer === 'malformed') return 'refusal' in read ? read.refusal : serverError();
      if (answer === 'unlisted') return failure('Recusa que nenhuma tabela contém', 422);
      return answer === 'refused'
        ? failure('Recusada pelo simulador')
        : json(200, chargeAnswer(answer.created, world.now()));
    },
    serverError,
  );
}

function postStaticCode(desk: ClientDesk, client: string, body: string): Outcome {
  const read = readStaticCode(client, parsed(body));
  if ('refusal' in read) return read.refusal;
  if (desk.bank.behaviour.charge === 'refuse-unknown')
    return failure('Recusa que nenhuma tabela contém', 422);
  const created = createStaticCode(desk.bank, desk.world, read.request);
  if (created === undefined) return failure('Já existe um QR Code com o identifier fornecido');
  desk.commit(created.writes);
  return json(200, { pixQrCode: staticCodeView(created.made) });
}

/** By identifier or `correlationID`. */
function getStaticCode(desk: ClientDesk, id: string): Outcome {
  const { staticCodes } = desk.bank;
  const code = staticCodes.get(id) ?? [...staticCodes.values()].find((one) => one.correlationID === id);
  const own = ownOf(desk, code);
  return own === undefined ? failure('QR Code not found') : json(200, { pixQrCode: staticCodeView(own) });
}

/** In order of creation. */
const chargesOf = ({ charges, dueCharges }: Account): Charge[] =>
  (dueCharges.length === 0
    ? charges
    : [...charges, ...dueCharges].sort((one, other) => one.n - other.n)
  ).filter(isThere);

const isThere = (charge: Charge | undefined): charge is Charge =>
  charge !== undefined && (charge.status === 'ATIVA' || charge.status === 'CONCLUIDA');

function getCharge(desk: ClientDesk, txid: string): Outcome {
  return queried(
    desk,
    chargeNotFound,
    (stale) => {
      const charge = ownOf(desk, desk.bank.charges.get(txid));
      if (!isThere(charge)) return chargeNotFound();
      return json(200, { charge: chargeView(charge, desk.world.now(), stale) });
    },
    serverError,
  );
}

function deleteCharge(desk: ClientDesk, txid: string): Outcome {
  const charge = ownOf(desk, desk.bank.charges.get(txid));
  if (!isThere(charge)) return chargeNotFound();
  const { writes, ...fated } = cancelCharge(desk.bank, desk.world, charge);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) =>
      // Its answer for a charge that is paid is not documented.
      answer === 'removed'
        ? json(200, { status: 'OK', id: txid })
        : answer === 'ended'
          ? failure('Não é possível remover a cobrança')
          : failure('Recusa que nenhuma tabela contém', 422),
    serverError,
  );
}

function listTransactions(desk: ClientDesk, query: URLSearchParams): Outcome {
  const of = query.get('charge');
  const view = (payment: Payment) => pixView(payment, desk.bank.charges.get(payment.txid), desk.world.now());
  const type = query.get('type') ?? 'PAYMENT';
  if (type !== 'PAYMENT' && type !== 'REFUND' && type !== 'FEE' && type !== 'WITHDRAW')
    return failure('Only PAYMENT, WITHDRAW, REFUND and FEE are offered');
  if (type === 'FEE') {
    const fees = desk.bank.statement.filter((one) => isFee(one) && ownOf(desk, one) !== undefined);
    return list(desk, query, 'transactions', fees, (one) => one.at, feeView);
  }
  if (type === 'WITHDRAW') {
    const sent = ownAccount(desk).payouts.filter(({ settledAt, line }) => settledAt && line !== undefined);
    return list(desk, query, 'transactions', sent, (one) => one.settledAt ?? one.createdAt, sentView);
  }
  if (type === 'REFUND')
    return list(desk, query, 'transactions', returnsOf(ownAccount(desk)), (one) => one.at, returnView);
  if (of === null)
    return list(desk, query, 'transactions', ownAccount(desk).payments, (payment) => payment.at, view);
  const payments = (ownOf(desk, desk.bank.charges.get(of))?.payments ?? []).flatMap(
    (id) => desk.bank.payments.get(id) ?? [],
  );
  return list(desk, query, 'transactions', payments, (payment) => payment.at, view);
}

const isFee = ({ kind }: StatementLine): boolean => kind === 'TARIFA_RECEBIDO' || kind === 'TARIFA_ENVIADO';

/** Returns in either direction, in order of time. */
const returnsOf = ({ payments, payouts }: Account): PixReturn[] =>
  [...payments, ...payouts]
    .flatMap(({ returns }) => returns.filter(({ state }) => state === undefined))
    .sort((one, other) => one.at - other.at);

/** Those that the receiver has asked for, in order of time. */
const refundsOf = ({ payments }: Pick<Account, 'payments'>): PixReturn[] =>
  payments
    .flatMap(({ asked = {}, returns }) => returns.filter(({ id }) => id in asked))
    .sort((one, other) => one.at - other.at);

function getTransaction(desk: ClientDesk, endToEnd: string): Outcome {
  return queried(
    desk,
    transactionNotFound,
    () => {
      const { payments, payoutsByEndToEnd, charges } = desk.bank;
      const payment = ownOf(desk, payments.get(endToEnd));
      if (payment !== undefined)
        return json(200, { transaction: pixView(payment, charges.get(payment.txid), desk.world.now()) });
      const payout = ownOf(desk, payoutsByEndToEnd.get(endToEnd));
      if (payout?.line === undefined) return transactionNotFound();
      return json(200, { transaction: sentView(payout) });
    },
    serverError,
  );
}

// --------------------------------------------------------------------------------------------- payouts

function postPayment(desk: Desk, client: string, body: string): Outcome {
  const given = parsed(body);
  const read = readPayment(client, given);
  const id = isRecord(given) && typeof given.correlationID === 'string' ? given.correlationID : '';
  if (id === '') return failure('correlationID is required');
  if (lookUpsOf(desk.bank, client, desk.world.now()).left < lookUpsLeast) return noLookUpsLeft();
  const request = 'request' in read ? read.request : undefined;
  const { writes, ...fated } = requestPayout(desk.bank, desk.world, id, request);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'duplicate') return failure('Já existe um pagamento com o correlationID fornecido');
      if (answer === 'malformed') return 'refusal' in read ? read.refusal : serverError();
      if (answer === 'unlisted') return failure('Recusa que nenhuma tabela contém', 422);
      if ('refused' in answer) return refusedAnswer(answer.refused.code);
      return answer.accepted.held && !answer.accepted.needsApproval
        ? withoutMoney()
        : json(200, paymentAnswer(answer.accepted));
    },
    serverError,
  );
}

function approvePayment(desk: ClientDesk, body: string): Outcome {
  const given = parsed(body);
  const id = isRecord(given) && typeof given.correlationID === 'string' ? given.correlationID : '';
  const payout = ownOf(desk, desk.bank.payouts.get(id));
  if (payout === undefined || payout.removed) return paymentNotFound();
  const { writes, ...fated } = approvePayout(desk.bank, desk.world, payout);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'beyond') return withoutMoney();
      if (answer === 'not-waiting') return failure('Payment cannot be approved');
      return answer === 'unlisted'
        ? failure('Recusa que nenhuma tabela contém', 422)
        : json(200, paymentView(payout, false));
    },
    serverError,
  );
}

const withoutMoney = (): Reply => failure('You do not have enough balance to make this payment');

const refusedAnswer = (code: string): Reply =>
  code === 'chave_favorecido_nao_encontrada'
    ? failure('Chave Pix informada não encontrada', 400, 'PIX_KEY_INFO_NOT_FOUND')
    : code === 'chave_restrita'
      ? failure(
          'Chave Pix associada a conta ou usuário com restrição',
          400,
          'ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER',
        )
      : failure('Limite de transferência atingido', 400, 'REACH_TRANSFER_LIMIT');

function getPayment(desk: ClientDesk, id: string): Outcome {
  return queried(
    desk,
    paymentNotFound,
    (stale) => {
      const payout = ownOf(desk, desk.bank.payouts.get(id));
      if (payout === undefined || payout.status === 'seen' || payout.removed) return paymentNotFound();
      return json(200, paymentView(payout, stale));
    },
    serverError,
  );
}

// --------------------------------------------------------------------------------------------- refunds

function postRefund(desk: ClientDesk, body: string): Outcome {
  const read = readRefund(parsed(body));
  if ('refusal' in read) return read.refusal;
  const { endToEnd, id, request } = read;
  if (ownOf(desk, desk.bank.payments.get(endToEnd)) === undefined) return transactionNotFound();
  // The id is unique among all refunds, not within one Pix alone.
  const taken = refundOf(desk, id);
  if (taken && taken.payment.endToEnd !== endToEnd)
    return failure('Já existe um reembolso com o correlationID fornecido');
  const { writes, ...fated } = requestRefund(desk.bank, desk.world, endToEnd, id, request);
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      switch (answer) {
        case 'not-found':
          return transactionNotFound();
        case 'duplicate':
          return failure('Já existe um reembolso com o correlationID fornecido');
        case 'too-much':
          return failure('O valor do reembolso excede o valor da transação');
        case 'unlisted':
          return failure('Recusa que nenhuma tabela contém', 422);
        case 'malformed':
        case 'refused':
          return failure('Recusada pelo simulador');
        default:
          return json(200, { refund: refundAnswer(answer.accepted) });
      }
    },
    serverError,
  );
}

/** The refunds of a charge's last Pix. */
function chargeRefunds(
  desk: ClientDesk,
  { method, query, body }: Request,
  txid: string,
): Outcome | undefined {
  const payments = ownOf(desk, desk.bank.charges.get(txid))?.payments ?? [];
  const payment = desk.bank.payments.get(payments.at(-1) ?? '');
  if (payment === undefined) return chargeNotFound();
  if (method === 'POST') {
    const given = parsed(body);
    const named = isRecord(given) ? { ...given, transactionEndToEndId: payment.endToEnd } : given;
    return postRefund(desk, JSON.stringify(named));
  }
  const all = refundsOf({ payments: [payment] });
  return method === 'GET' ? list(desk, query, 'refunds', all, (one) => one.at, refundView) : undefined;
}

function getRefund(desk: ClientDesk, id: string): Outcome {
  return queried(
    desk,
    refundNotFound,
    (stale) => {
      const found = stale ? undefined : refundOf(desk, id);
      return found ? json(200, { pixTransactionRefund: refundView(found.refund) }) : refundNotFound();
    },
    serverError,
  );
}

function refundOf(desk: ClientDesk, id: string): { payment: Payment; refund: PixReturn } | undefined {
  for (const payment of ownAccount(desk).payments) {
    const refund = payment.returns.find((one) => one.id === id);
    if (refund) return { payment, refund };
  }
  return undefined;
}

// -------------------------------------------------------------------------------------------- evidence

/** A repeat under the same `correlationID` answers 200 with what is stored. */
function postFile(desk: ClientDesk, { headers, body }: Request): Outcome {
  const read = readFile(readForm(headers, body));
  if ('refusal' in read) return read.refusal;
  const correlationID = read.given.correlationID ?? desk.world.letters(32);
  const given = { ...read.given, correlationID, account: desk.client };
  const { file, isNew, writes } = storeFile(desk.bank, desk.world, given);
  desk.commit(writes);
  return json(isNew ? 201 : 200, { file: fileView(file) });
}

function postEvidence(desk: ClientDesk, id: string, body: string): Outcome {
  const { bank, client } = desk;
  const dispute = disputesOf(bank, client).find((one) => one.id === id || one.endToEnd === id);
  if (dispute === undefined) return failure('Dispute not found');
  const given = readEvidence(parsed(body));
  const mine = [...bank.files.values()].filter(({ account }) => account === client);
  const files = given?.flatMap(({ fileId }) => mine.find((one) => one.id === fileId) ?? []);
  if (given === undefined || files?.length !== given.length) return failure('Invalid documents');
  const { writes, ...fated } = defendDispute(bank, desk.world, dispute, { files });
  desk.commit(writes);
  return outcomeOf(
    fated,
    (answer) => {
      if (answer === 'refused') return evidenceNotAllowed();
      if (answer !== 'taken')
        return failure(
          `You cannot send a evidence for a ${disputeWords[dispute.status].toLowerCase()} dispute`,
        );
      const createdAt = new Date(desk.world.now()).toISOString();
      return json(200, {
        documents: given.map((one) => ({ url: fileUrl(one.fileId), ...one, createdAt })),
      });
    },
    serverError,
  );
}

// ----------------------------------------------------------------------------------------------- lists

const mostOfPage = 100;

/** `start`, `end`, `skip`, `limit`: both ends of the time are inclusive. */
function list<T extends Charge | Payment | Payout | Dispute | PixReturn | StatementLine | StaticCode>(
  desk: Desk,
  query: URLSearchParams,
  name: string,
  all: readonly T[],
  at: (item: T) => number,
  view: (item: T, stale: boolean) => unknown,
): Outcome {
  const time = (text: string | null, usual: number) => (text === null ? usual : Date.parse(text));
  const count = (text: string | null, usual: number) => (text === null ? usual : Number(text));
  const from = time(query.get('start'), 0);
  const to = time(query.get('end'), Number.MAX_SAFE_INTEGER);
  const skip = count(query.get('skip'), 0);
  const wanted = Math.min(count(query.get('limit'), mostOfPage), mostOfPage);
  if (Number.isNaN(from + to) || !(Number.isSafeInteger(skip) && skip >= 0 && wanted >= 1))
    return failure('Invalid query');
  const asked = asBehaved(desk, { from, to, page: 0, skip, size: wanted, parameters: {} });
  const limit = asked.size;
  const answer = (items: readonly T[], stale: boolean) => {
    const page = pageOf(items, at, asked);
    const { quantidadeTotalDeItens: total } = page.parametros.paginacao as { quantidadeTotalDeItens: number };
    const hasNextPage = skip + limit < total;
    const pageInfo = { skip, limit, totalCount: total, hasPreviousPage: skip > 0, hasNextPage };
    return json(200, { pageInfo, status: 'OK', [name]: page.items.map((item) => view(item, stale)) });
  };
  return queried(
    desk,
    () => answer([], false),
    (stale) => answer(stale && name === 'transactions' ? [] : all, stale),
    serverError,
  );
}

function account(desk: ClientDesk, id: string | undefined): Outcome {
  const total = ownAccount(desk).balanceCents;
  const { judicialCents, medCents, cautionCents, totalCents } = blockedOf(desk.bank, desk.client);
  const listed = { total, blocked: totalCents, available: total - totalCents };
  const whole = {
    ...listed,
    blockedBySecurity: medCents + judicialCents,
    blockedByWithdrawSafety: cautionCents,
  };
  const accountId = accountIdOf(desk.client);
  const own = { accountId, isDefault: true };
  const { name: officialName, taxID: taxId } = company;
  const owner = {
    taxId,
    officialName,
    tradeName: officialName,
    branch: '0001',
    account: '123456',
    accountName: 'Conta',
  };
  const pageInfo = { skip: 0, limit: mostOfPage, totalCount: 1, hasPreviousPage: false, hasNextPage: false };
  const answer = () => {
    if (id === undefined) return json(200, { pageInfo, accounts: [{ ...own, balance: listed }] });
    return id === accountId
      ? json(200, { account: { ...own, balance: whole, ...owner } })
      : failure('Account not found');
  };
  return queried(desk, answer, answer, serverError);
}

const wooviTerms: Terms = terms.woovi;

const limitsOf = ({ bank }: Desk) => ({
  ...limits,
  ...(bank.behaviour.account === 'new' && {
    pixOutDifferentHolderDayLimit: wooviTerms.newAccount?.dayCents,
    pixOutDifferentHolderNightLimit: wooviTerms.newAccount?.dayCents,
  }),
});

/** The figures of Woovi's own example, in cents. */
const limits = {
  ...{ pixDayLimit: 4_000_000, pixNightLimit: 100_000 },
  ...{ pixOutSameHolderDayLimit: 4_000_000, pixOutDifferentHolderDayLimit: 4_000_000 },
  ...{ pixOutSameHolderNightLimit: 100_000, pixOutDifferentHolderNightLimit: 100_000 },
  ...{ pixInSameHolderDayLimit: 100_000_000, pixInDifferentHolderDayLimit: 100_000_000 },
  ...{ pixInSameHolderNightLimit: 100_000_000, pixInDifferentHolderNightLimit: 100_000_000 },
  ...{ dayStartAt: '06:00', nightStartAt: '20:00' },
  ...{ boletoEmissionLimit: 200, boletoMaximumValueLimit: 1_000_000 },
};

function tokensView(desk: ClientDesk) {
  const { left, at } = lookUpsOf(desk.bank, desk.client, desk.world.now());
  return {
    tokens: left,
    nextRefresh: new Date(at + 60_000).toISOString(),
    maxTokens: lookUpsMost,
    tokensAfterRefresh: Math.min(lookUpsMost, left + lookUpsPerMinute),
    refreshRate: lookUpsPerMinute,
  };
}

const noLookUpsLeft = (): Reply =>
  failure('You tried to consult many Pix keys that do not exist.', 429, 'TOO_MANY_REQUESTS');

/** Payouts cost none here: Woovi gives back what a look-up before them took. */
function checkKey(desk: ClientDesk, body: string): Outcome {
  const given = parsed(body);
  const pixKey = isRecord(given) ? given.pixKey : undefined;
  if (typeof pixKey !== 'string' || pixKey === '') return failure('Invalid Pix key format');
  const lookUps = lookUpsOf(desk.bank, desk.client, desk.world.now());
  if (lookUps.left < lookUpsLeast) return noLookUpsLeft();
  const unknown = () => {
    lookUps.left -= costOf.unknown;
    return failure('Chave Pix informada não encontrada', 404);
  };
  const found = () => {
    lookUps.left -= costOf.found;
    return json(200, ownerView(pixKey));
  };
  return queried(desk, unknown, () => (isUnknownKey(pixKey) ? unknown() : found()), serverError);
}

// -------------------------------------------------------------------------------------------- webhooks

/** One event each; another address of the same client takes the place of the one before. */
function postWebhook(desk: Desk, client: string, body: string): Reply {
  const given = parsed(body);
  const { event, url } = isRecord(given) && isRecord(given.webhook) ? given.webhook : {};
  if (typeof event !== 'string' || typeof url !== 'string' || !URL.canParse(url))
    return failure('Invalid webhook');
  const there = desk.bank.webhooks.get(client);
  const events = there?.url === url ? [...new Set([...(there.events ?? []), event])] : [event];
  desk.commit(registerWebhook(desk.bank, desk.world, { key: client, url, clientId: client, events }));
  return json(200, { webhook: webhookView({ url, createdAt: desk.world.now() }, event) });
}

/** Woovi calls a new address before it answers (docs/webhook/webhook-timeout.md), with a body of its own and no event. */
export function wooviTrial(_desk: Desk, { method, path, body }: Request): Post | undefined {
  if (method !== 'POST' || path.join('/') !== 'api/v1/webhook') return undefined;
  const given = parsed(body);
  const url = isRecord(given) && isRecord(given.webhook) ? given.webhook.url : undefined;
  return typeof url === 'string' && URL.canParse(url)
    ? { address: new URL(url), headers: {}, body: '{"evento":"teste_webhook"}' }
    : undefined;
}

const webhookId = (event: string): string => Buffer.from(`Webhook:${event}`).toString('base64');

const webhookView = ({ url, createdAt }: Pick<Webhook, 'url' | 'createdAt'>, event: string) => ({
  id: webhookId(event),
  name: event,
  event,
  url,
  isActive: true,
  authorization: '',
  createdAt: new Date(createdAt).toISOString(),
  updatedAt: new Date(createdAt).toISOString(),
});

function webhooks(desk: Desk, client: string, query: URLSearchParams): Reply {
  const there = desk.bank.webhooks.get(client);
  const asked = query.get('url');
  const shown = there !== undefined && (asked === null || asked === there.url) ? (there.events ?? []) : [];
  return json(200, { webhooks: there === undefined ? [] : shown.map((event) => webhookView(there, event)) });
}

function deleteWebhook(desk: Desk, client: string, id: string): Reply {
  const there = desk.bank.webhooks.get(client);
  const left = there?.events?.filter((event) => webhookId(event) !== id);
  if (there === undefined || left?.length === there.events?.length) return failure('Webhook not found');
  const { url } = there;
  desk.commit(
    registerWebhook(desk.bank, desk.world, { key: client, url, clientId: client, events: left ?? [] }),
  );
  return json(200, { status: 'OK' });
}

/** As short as Woovi's own key; made when it is first needed. */
const keyBits = 1024;

function signingKey(desk: Pick<Desk, 'bank' | 'commit'>): string {
  if (desk.bank.signingKey === '') {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: keyBits });
    desk.bank.signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    desk.commit([['signing-key', desk.bank.signingKey]]);
  }
  return desk.bank.signingKey;
}

function publicKeys(desk: Desk): Reply {
  const own = createPublicKey(createPrivateKey(signingKey(desk)));
  const key = own.export({ type: 'spki', format: 'pem' }).toString();
  const identifier = createHash('sha256')
    .update(own.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  const keys = { public_keys: [{ key_identifier: identifier, is_current: true, key }] };
  return { ...json(200, keys), headers: { 'cache-control': 'public, max-age=3600' } };
}

/** One request an event, to the address as it was registered, signed over the raw body. */
export const wooviPosts = (desk: Pick<Desk, 'bank' | 'commit'>): PostsOf => {
  let pem = '';
  let signer: KeyObject | undefined;
  // Reading the key takes twice as long as signing with it (340 and 170 µs).
  const ownKey = (): KeyObject => {
    const current = signingKey(desk);
    if (signer === undefined || current !== pem) signer = createPrivateKey(current);
    pem = current;
    return signer;
  };
  return (bank, { key, notifications }, now) => {
    const webhook = bank.webhooks.get(key);
    if (webhook === undefined) return [];
    const told = notifications.flatMap(({ kind, id, returns, about = returns }) => {
      const payment = kind === 'payment' ? bank.payments.get(id) : undefined;
      if (payment !== undefined) return paymentEvents(bank, payment, about, now);
      const payout = kind === 'payout' ? bank.payouts.get(id) : undefined;
      return payout === undefined ? [] : payoutEvents(payout, about);
    });
    return told
      .filter(({ event }) => webhook.events?.includes(String(event)))
      .map((event): Post => {
        const body = JSON.stringify(inForm(event, bank.behaviour.amounts));
        const signature = createSign('RSA-SHA256').update(body).sign(ownKey(), 'base64');
        return { address: new URL(webhook.url), headers: { 'x-webhook-signature': signature }, body };
      });
  };
};
