import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import {
  type Charge,
  createCharge,
  type Fate,
  type Payment,
  type Payout,
  type PayoutAnswer,
  registerWebhook,
  rememberClient,
  removeWebhook,
  requestPayout,
  returnPayment,
} from './bank.ts';
import { isUnknownKey } from './behaviour.ts';
import { type ClientDesk, type Desk, ownAccount, type Request } from './desk.ts';
import { isRecord } from './money.ts';
import { inForm } from './odd-wire.ts';
import { type Outcome, outcomeOf, parsed, queried } from './provider-api.ts';
import { json, type Reply } from './reply.ts';
import {
  codeView,
  depositEvent,
  depositTags,
  depositView,
  entryView,
  failure,
  idInTags,
  isDeposit,
  isTransfer,
  keyView,
  ledgerOf,
  listIn,
  logsOf,
  readCode,
  readTransfer,
  serverError,
  transferEvent,
  transferView,
  uuidOf,
} from './stark.ts';
import type { Post, PostsOf } from './webhooks.ts';

/** Stark Bank's calls on the truth of a desk; undefined when there is no such call. */
export function starkApi(anyone: Desk, request: Request): Outcome | undefined {
  const { method, path, query, body } = request;
  const [version, name, id, part] = path;
  if (version !== 'v2' || part !== undefined) return undefined;
  const client = clientOf(anyone, request);
  if (typeof client === 'object') return client;
  const desk: ClientDesk = { ...anyone, client };
  switch (`${method} ${name}${id === undefined ? '' : '/'}`) {
    case 'POST dynamic-brcode':
      return postCode(desk, body);
    case 'GET dynamic-brcode':
      return listCodes(desk, query);
    case 'GET dynamic-brcode/':
      return getOne(
        desk,
        'brcode',
        codesOf(desk).find(({ txid }) => uuidOf(txid) === id),
        codeView,
      );
    case 'GET deposit':
      return listDeposits(desk, query);
    case 'GET deposit/':
      return getOne(desk, 'deposit', ownAccount(desk).payments.find(isDeposit(id ?? '')), shown(desk));
    case 'PATCH deposit/':
      return patchDeposit(desk, id ?? '', body);
    case 'GET dict-key/':
      return isUnknownKey(id ?? '') || id === '0'
        ? failure('invalidPixKey', 'Pix key not found')
        : json(200, keyView(id ?? ''));
    case 'POST transfer':
      return postTransfers(desk, body);
    case 'GET transfer':
      return listTransfers(desk, query);
    case 'GET transfer/':
      if (id === 'log') return listLogs(desk, query);
      return getOne(desk, 'transfer', taken(desk).find(isTransfer(id ?? '')), transferView);
    case 'GET transaction':
      return listEntries(desk, query);
    case 'GET balance':
      return balance(desk);
    case 'GET public-key':
      return json(200, { cursor: null, publicKeys: [{ content: publicKey(desk) }] });
    case 'POST webhook':
      return postWebhook(desk, body);
    case 'GET webhook':
      return json(200, { cursor: null, webhooks: webhooksOf(desk) });
    case 'DELETE webhook/':
      return deleteWebhook(desk, id ?? '');
    default:
      return undefined;
  }
}

export const unknownStark = (): Reply => failure('invalidRequest', 'This route does not exist', 404);

// ------------------------------------------------------------------------------------------ signed calls

const keysMost = 1_000;
const clientKeys = new Map<string, KeyObject>();

/** The public key of a client: its private one is the SHA-256 of its secret. */
function clientKey(secret: string): KeyObject {
  let key = clientKeys.get(secret);
  if (key === undefined) {
    const pair = createECDH('secp256k1');
    pair.setPrivateKey(createHash('sha256').update(secret).digest());
    const point = pair.getPublicKey();
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
    key = createPublicKey({ key: { kty: 'EC', crv: 'secp256k1', x, y } as never, format: 'jwk' });
    if (clientKeys.size >= keysMost) clientKeys.clear();
    clientKeys.set(secret, key);
  }
  return key;
}

/** The client, or why the call is refused before it is read. Here a project is named by the base64 of a name and its secret. */
function clientOf(desk: Desk, { headers, body }: Request): string | Reply {
  const [accessId, time, signature] = ['access-id', 'access-time', 'access-signature'].map((name) =>
    String(headers[name] ?? ''),
  ) as [string, string, string];
  const client = projectOf(desk, /^project\/([\w-]+)$/.exec(accessId)?.[1] ?? '');
  if (client === undefined) return failure('invalidAccessId', 'The header Access-Id is not valid');
  if (!/^\d+$/.test(time)) return failure('invalidAccessTime', 'The header Access-Time is not valid');
  const bytes = Buffer.from(signature, 'base64');
  if (!verify('SHA256', Buffer.from(`${accessId}:${time}:${body}`), client.key, bytes))
    return failure(
      'invalidSignature',
      'Provided digital signature in the header Access-Signature does not check out',
    );
  const { id, secret } = client;
  desk.commit(rememberClient(desk.bank, { id, secret }));
  return id;
}

/** One that a person made with its public key, or one whose id is the base64 of a name and its secret. */
function projectOf(desk: Desk, given: string): { id: string; secret: string; key: KeyObject } | undefined {
  const made = desk.bank.projects.get(given);
  if (made !== undefined)
    return { id: made.account, secret: made.publicKey, key: createPublicKey(made.publicKey) };
  const named = Buffer.from(given, 'base64url').toString();
  const colon = named.indexOf(':');
  const client = { id: named.slice(0, colon), secret: named.slice(colon + 1) };
  return colon < 1 || client.secret === '' || !desk.isClient(client)
    ? undefined
    : { ...client, key: clientKey(client.secret) };
}

// ----------------------------------------------------------------------------------------------- lists

const mostOfPage = 100;

interface Kind<Item> {
  name: string;
  all: readonly Item[];
  at(item: Item): number;
  id(item: Item): string;
  tags(item: Item): readonly string[];
  view(item: Item, stale: boolean): unknown;
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The newest first, in pages that a cursor follows: how many items are left, so that new ones in between move no page. */
function list<Item>(desk: Desk, query: URLSearchParams, kind: Kind<Item>): Outcome {
  const { behaviour } = desk.bank;
  const limit = Number(query.get('limit') ?? mostOfPage);
  const asked = query.get('cursor');
  if (!Number.isInteger(limit) || limit < 1 || limit > mostOfPage || (asked && !/^\d+$/.test(asked)))
    return failure('invalidQuery', 'Check the parameters limit and cursor');
  const of = (name: string) => query.get(name)?.split(',');
  const [tags, ids, after, before] = [
    of('tags'),
    of('ids') ?? of('uuids'),
    query.get('after'),
    query.get('before'),
  ];
  const fresh = desk.world.now() - behaviour.listLagMs;
  const fits = (item: Item): boolean =>
    (tags === undefined || tags.every((tag) => kind.tags(item).includes(tag))) &&
    (ids === undefined || ids.includes(kind.id(item))) &&
    (after === null || dayOf(kind.at(item)) >= after) &&
    (before === null || dayOf(kind.at(item)) <= before) &&
    (behaviour.listLagMs === 0 || kind.at(item) <= fresh);
  const size = behaviour.pageCap === 0 ? limit : Math.min(limit, behaviour.pageCap);
  const answer = (items: readonly Item[], stale: boolean) => {
    const found = items.filter(fits);
    const end = asked ? Math.min(Number(asked), found.length) : found.length;
    const start = Math.max(0, end - size);
    const page = found.slice(start, end).reverse();
    const cursor = start === 0 ? null : String(start);
    return json(200, { cursor, [kind.name]: page.map((item) => kind.view(item, stale)) });
  };
  return queried(
    desk,
    () => answer([], false),
    (stale) => answer(kind.all, stale),
    serverError,
  );
}

function getOne<Item>(
  desk: Desk,
  name: string,
  item: Item | undefined,
  view: (item: Item, stale: boolean) => unknown,
): Outcome {
  const missing = () => failure(`invalid${name[0]?.toUpperCase()}${name.slice(1)}`, `No such ${name}`);
  return queried(
    desk,
    missing,
    (stale) => (item === undefined ? missing() : json(200, { [name]: view(item, stale) })),
    serverError,
  );
}

// --------------------------------------------------------------------------------------------- charges

const codesOf = (desk: ClientDesk): Charge[] => ownAccount(desk).charges;

/** The creation knows no id of the client: each makes another code. The first with our id is the one that control calls pay. */
function postCode(desk: ClientDesk, body: string): Outcome {
  const { bank, world } = desk;
  const given = listIn(parsed(body), 'brcodes');
  if (given === undefined) return failure('invalidJson', 'The body must be a list of brcodes');
  const made: Charge[] = [];
  for (const one of given) {
    const named = Array.isArray(one.tags) ? idInTags(one.tags) : undefined;
    const txid = named === undefined || bank.charges.has(named) ? world.letters(32) : named;
    const read = readCode(desk.client, txid, one);
    const { writes, ...fated } = createCharge(
      bank,
      world,
      txid,
      'request' in read ? read.request : undefined,
    );
    desk.commit(writes);
    if (fated.fate === 'answer' && typeof fated.answer === 'object') made.push(fated.answer.created);
    else return outcomeOf(fated, (answer) => refusedCode(answer, read), serverError);
  }
  return json(200, { message: 'Brcode(s) successfully created', brcodes: made.map(codeView) });
}

const refusedCode = (answer: unknown, read: object): Reply => {
  if (answer === 'unlisted') return failure('aCodeOfNoTable', 'Recusa que nenhuma tabela contém');
  return 'refusal' in read ? (read.refusal as Reply) : failure('invalidAmount', 'Recusada pelo simulador');
};

function listCodes(desk: ClientDesk, query: URLSearchParams): Outcome {
  return list(desk, query, {
    ...{ name: 'brcodes', all: codesOf(desk), view: codeView },
    at: ({ createdAt }) => createdAt,
    id: ({ txid }) => uuidOf(txid),
    tags: ({ details }) => details.tags ?? [],
  });
}

const shown =
  ({ bank }: Desk) =>
  (payment: Payment) =>
    depositView(payment, bank.charges.get(payment.txid));

function listDeposits(desk: ClientDesk, query: URLSearchParams): Outcome {
  const { payments } = ownAccount(desk);
  return list(desk, query, {
    name: 'deposits',
    all: desk.bank.behaviour.query === 'stale' ? [] : payments,
    view: shown(desk),
    at: ({ at }) => at,
    id: (payment) => shown(desk)(payment).id,
    tags: (payment) => depositTags(payment, desk.bank.charges.get(payment.txid)),
  });
}

/** Its amount becomes what shall remain. */
function patchDeposit(desk: ClientDesk, id: string, body: string): Outcome {
  const payment = ownAccount(desk).payments.find(isDeposit(id));
  if (payment === undefined) return failure('invalidDeposit', 'No such deposit');
  const given = parsed(body);
  const amount = isRecord(given) ? given.amount : undefined;
  const now = shown(desk)(payment).amount;
  if (!Number.isSafeInteger(amount) || (amount as number) < 0 || (amount as number) > now)
    return failure('invalidAmount', 'Element amount must be from 0 to the amount of the deposit');
  if ((amount as number) < now)
    desk.commit(returnPayment(desk.bank, desk.world, payment.endToEnd, now - (amount as number)).writes);
  return json(200, { message: 'Deposit successfully updated', deposit: shown(desk)(payment) });
}

// --------------------------------------------------------------------------------------------- payouts

/** A transfer that was refused in the answer was not made. */
const taken = (desk: ClientDesk): Payout[] => ownAccount(desk).payouts.filter(({ accepted }) => accepted);

function postTransfers(desk: ClientDesk, body: string): Outcome {
  const { bank, world } = desk;
  const given = listIn(parsed(body), 'transfers');
  if (given === undefined) return failure('invalidJson', 'The body must be a list of transfers');
  const made: Payout[] = [];
  for (const one of given) {
    const id =
      typeof one.externalId === 'string' && one.externalId !== '' ? one.externalId : world.letters(32);
    const read = readTransfer(desk.client, id, one);
    const { writes, ...fated } = requestPayout(bank, world, id, 'request' in read ? read.request : undefined);
    desk.commit(writes);
    const payout = acceptedIn(fated);
    if (payout === undefined) return outcomeOf(fated, (answer) => refusedTransfer(answer, read), serverError);
    made.push(payout);
  }
  return json(200, {
    message: 'Transfer(s) successfully created',
    transfers: made.map((payout) => ({ ...transferView(payout, true), status: 'created' })),
  });
}

const acceptedIn = (fated: Fate<PayoutAnswer>): Payout | undefined =>
  fated.fate === 'answer' && typeof fated.answer === 'object' && 'accepted' in fated.answer
    ? fated.answer.accepted
    : undefined;

/** The code of a used `externalId` is not published: this one is ours. */
function refusedTransfer(answer: PayoutAnswer, read: object): Reply {
  if (answer === 'duplicate') return failure('duplicatedExternalId', 'externalId must be unique');
  if (answer === 'unlisted') return failure('aCodeOfNoTable', 'Recusa que nenhuma tabela contém');
  return 'refusal' in read ? (read.refusal as Reply) : failure('invalidTaxId', 'Element taxId is invalid');
}

function listTransfers(desk: ClientDesk, query: URLSearchParams): Outcome {
  return list(desk, query, {
    ...{ name: 'transfers', all: taken(desk), view: transferView },
    at: ({ createdAt }) => createdAt,
    id: (payout) => transferView(payout, false).id,
    tags: ({ details }) => (details?.tags as string[] | undefined) ?? [],
  });
}

function listLogs(desk: ClientDesk, query: URLSearchParams): Outcome {
  const wanted = query.get('transferIds')?.split(',');
  const all = taken(desk)
    .filter((payout) => wanted === undefined || wanted.includes(transferView(payout, false).id))
    .flatMap(logsOf);
  return list(desk, query, {
    ...{ name: 'logs', all, view: (log) => log },
    at: ({ created }) => Date.parse(created),
    id: ({ id }) => id,
    tags: () => [],
  });
}

// --------------------------------------------------------------------------------------------- account

function listEntries(desk: ClientDesk, query: URLSearchParams): Outcome {
  const entries = ledgerOf(ownAccount(desk), (txid) => desk.bank.charges.get(txid));
  let sum = 0;
  const all = entries.map((entry) => {
    sum += entry.amountCents - entry.feeCents;
    return { entry, balanceCents: sum };
  });
  return list(desk, query, {
    ...{ name: 'transactions', all },
    at: ({ entry }) => entry.at,
    id: ({ entry }) => entry.id,
    tags: ({ entry }) => entry.tags,
    view: ({ entry, balanceCents }) => entryView(entry, balanceCents),
  });
}

function balance(desk: ClientDesk): Outcome {
  const answer = () =>
    json(200, {
      cursor: null,
      balances: [
        {
          amount: ownAccount(desk).balanceCents,
          currency: 'BRL',
          id: desk.client,
          updated: new Date(desk.world.now()).toISOString().replace('Z', '000+00:00'),
        },
      ],
    });
  return queried(desk, answer, answer, serverError);
}

// -------------------------------------------------------------------------------------------- webhooks

const offered = [
  'transfer',
  'deposit',
  'invoice',
  'boleto',
  'boleto-payment',
  'utility-payment',
  'brcode-payment',
  'boleto-holmes',
  'darf-payment',
  'payment-request',
];

const webhookId = (url: string): string => uuidOf(url).replace(/\D/g, '').padEnd(16, '0').slice(0, 16);

/** One address of a client: another one takes the place of that before. */
function postWebhook(desk: ClientDesk, body: string): Reply {
  const given = parsed(body);
  const { url, subscriptions } = isRecord(given) ? given : {};
  if (typeof url !== 'string' || !URL.canParse(url)) return failure('invalidUrl', 'Element url is invalid');
  if (!Array.isArray(subscriptions) || !subscriptions.every((one) => offered.includes(one)))
    return failure('invalidSubscription', 'Element subscriptions is invalid');
  const { bank, world, client } = desk;
  const there = bank.webhooks.get(client);
  const events = [...new Set([...(there?.url === url ? (there.events ?? []) : []), ...subscriptions])];
  desk.commit(registerWebhook(bank, world, { key: client, url, clientId: client, events }));
  return json(200, {
    message: 'Webhook successfully created',
    webhook: { id: webhookId(url), url, subscriptions: events },
  });
}

const webhooksOf = ({ bank, client }: ClientDesk) => {
  const there = bank.webhooks.get(client);
  return there === undefined
    ? []
    : [{ id: webhookId(there.url), url: there.url, subscriptions: there.events ?? [] }];
};

function deleteWebhook(desk: ClientDesk, id: string): Reply {
  const [there] = webhooksOf(desk);
  if (there?.id !== id) return failure('invalidWebhook', 'No such webhook');
  desk.commit(removeWebhook(desk.bank, desk.client));
  return json(200, { message: 'Webhook successfully deleted', webhook: there });
}

function signingKey(desk: Pick<Desk, 'bank' | 'commit'>): string {
  if (desk.bank.signingKey === '') {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
    desk.bank.signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    desk.commit([['signing-key', desk.bank.signingKey]]);
  }
  return desk.bank.signingKey;
}

const publicKey = (desk: Desk): string =>
  createPublicKey(createPrivateKey(signingKey(desk)))
    .export({ type: 'spki', format: 'pem' })
    .toString();

/** One request an event, signed over the raw body with the key of the provider. */
export const starkPosts =
  (desk: Pick<Desk, 'bank' | 'commit'>): PostsOf =>
  (bank, { key, notifications }) => {
    const webhook = bank.webhooks.get(key);
    if (webhook === undefined) return [];
    const events = notifications.flatMap(({ kind, id, returns, about = returns }) => {
      const payment = kind === 'payment' ? bank.payments.get(id) : undefined;
      if (payment !== undefined)
        return depositEvent(payment, bank.charges.get(payment.txid), about, webhook.clientId) ?? [];
      const payout = kind === 'payout' ? bank.payouts.get(id) : undefined;
      return payout === undefined ? [] : transferEvent(payout, about, webhook.clientId);
    });
    return events
      .filter(({ event }) => webhook.events?.includes(event.subscription))
      .map((event): Post => {
        const body = JSON.stringify(inForm(event, bank.behaviour.amounts));
        const signature = sign('SHA256', Buffer.from(body), createPrivateKey(signingKey(desk)));
        const headers = { 'digital-signature': signature.toString('base64') };
        return { address: new URL(webhook.url), headers, body };
      });
  };
