import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import { type Adapter, CredentialFault } from '../adapter.ts';
import { balanceFinding, clockFindings, tokenFindings, unasked } from '../diagnosis.ts';
import {
  createExchange,
  failureOf,
  isSuccess,
  notSentAfter,
  type Reply,
  traceOf,
  unclear,
  unreadAnswer,
  wordsIn,
} from '../exchange.ts';
import { identityOf } from '../identity.ts';
import type {
  Capabilities,
  ChargeInstruction,
  ChargeReport,
  Finding,
  ListOutcome,
  ListWindow,
  PayoutInstruction,
  PayoutReport,
  PixOwner,
  Provider,
  QueryOutcome,
  ReceivedPix,
  SendOutcome,
  Unclear,
} from '../provider.ts';
import { createSigningKeys } from '../signing-keys.ts';
import { unreadItem } from '../unread.ts';
import { plain } from '../wire.ts';
import {
  codesOf,
  type Deposit,
  isAtTheDoor,
  isRefusal,
  itemsOf,
  type KeyOwner,
  readBalance,
  readCode,
  readDeposit,
  readKeyOwner,
  readTransfer,
  recordOf,
  type Transfer,
  tagOf,
} from './stark-bodies.ts';
import {
  listCosts,
  listLines,
  listOf,
  listWindow,
  type StarkDeps,
  wholeDeposits,
  wholePayouts,
} from './stark-ledger.ts';
import { eventOf, readEvent, subscriptions } from './stark-webhooks.ts';

/**
 * Stark Bank: each call signed with a key of ours, integer cents, our own id as the `externalId` of a transfer and as a tag of everything. A transfer takes no
 * Pix key: the account behind it is looked up right before. Refunds are not offered: a reversal names the amount that shall remain of a deposit and no id of
 * ours, so that a repeat could give back twice.
 */
export interface StarkOptions {
  connection: string;
  /** No money moves. */
  test: boolean;
  /** It is the simulator of this installation. */
  simulated?: boolean;
  /** Of the account, as Stark said it when the connection was made; null: it was not asked. */
  identity?: string | null;
  /** `https://api.starkbank.com`, `https://sandbox.api.starkbank.com`. */
  baseUrl: string;
  projectId: string;
  /** PEM, secp256k1. */
  privateKey: KeyObject;
  /** The number of the account, which its deliveries name. */
  workspaceId: string;
  net: Net;
  clock: Clock;
  log: Log;
  limits?: { pageSize?: number; maxPages?: number; maxParallelSends?: number | null };
}

const callTimeoutMs = 5_000;
/** A look-up, the transfer, and a query after an error. Stark's clients wait 15 s for one call. */
const sendTimeoutMs = 20_000;
/** No limit is published: four sends at once are our choice. */
const sendsAtOnce = 4;
const hintEveryMs = 3_600_000;

export const starkAdapter: Adapter = {
  members: {
    projectId: {
      required: true,
      secret: false,
      about: 'id of the project in web banking (Integrations): digits alone',
    },
    privateKey: {
      required: true,
      secret: true,
      about: 'private key of the project as PEM (secp256k1), whose public key the project has',
    },
    workspaceId: { required: true, secret: false, about: 'number of the account, as web banking shows it' },
  },
  certificate: 'none',
  defaultUrl: 'https://api.starkbank.com',
  testUrl: 'https://sandbox.api.starkbank.com',
  simulatorPath: '/stark',
  create({ name, test, simulated, url, credentials, identity }, world) {
    const { projectId = '', privateKey = '', workspaceId = '' } = credentials;
    return createStarkProvider({
      ...world,
      ...{ connection: name, test, simulated, baseUrl: url, projectId, workspaceId },
      identity: identity ?? null,
      privateKey: keyOf(privateKey),
      ...(simulated ? { limits: { maxParallelSends: null } } : {}),
    });
  },
};

/** @throws CredentialFault */
function keyOf(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new CredentialFault('privateKey: is no private key as PEM');
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'secp256k1')
    throw new CredentialFault('privateKey: must be of the curve secp256k1 (openssl ecparam -name secp256k1)');
  return key;
}

/** A status of a transfer that no document names. */
type Hint = (transfer: Transfer) => void;

export function createStarkProvider(options: StarkOptions): Provider {
  const { connection, net, clock, log, projectId, privateKey, workspaceId, limits = {} } = options;
  const baseUrl = options.baseUrl.replace(/\/{1,9}$/, '');
  const exchange = createExchange({
    baseUrl,
    credentials: { type: 'signed', headersOf: signer(projectId, privateKey, clock) },
    callTimeoutMs,
    net,
    clock,
  });
  const deps: StarkDeps = {
    exchange,
    clock,
    pages: { size: limits.pageSize ?? 100, most: limits.maxPages ?? 100 },
  };
  const hint = hints({ connection, clock, log });
  const keys = createSigningKeys({
    header: 'digital-signature',
    algorithm: 'SHA256',
    read: () => readPublicKeys(deps),
    clock,
    log,
  });
  const capabilities: Capabilities = {
    movesMoney: !options.test,
    charges: true,
    payouts: true,
    queryPayoutByOwnId: true,
    cancelsCharges: false,
    cards: false,
    dueCharges: false,
    staticCodes: null,
    canListCharges: true,
    canListPayouts: true,
    canRefund: false,
    canDispute: false,
    defence: null,
    hasBalance: true,
    // "Duplicated externalIds will cause failures."
    repeatIsSafe: true,
    refusalIsFinal: true,
    maxParallelSends: limits.maxParallelSends === undefined ? sendsAtOnce : limits.maxParallelSends,
    webhookTrust: 'signed',
    callTimeoutMs,
    sendTimeoutMs,
    statement: { lists: true, dayReports: null },
  };
  const notOffered = (what: string) => async (): Promise<never> => {
    throw new Error(`Stark Bank has no ${what}`);
  };
  return {
    connection,
    // The simulator may start later than the connection is made: there a workspace is an account.
    identity: options.simulated ? identityOf(null, [workspaceId]) : (options.identity ?? null),
    capabilities,
    async askAccount() {
      const reply = await exchange(balanceCall);
      const found = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
      if (found === null) return unclear(reply, clock);
      const account = options.simulated ? [workspaceId] : [found.id, workspaceId];
      return { outcome: 'found', identity: identityOf(options.simulated ? null : baseUrl, account) };
    },
    createCharge: (instruction) => createCharge(deps, instruction),
    queryCharge: (txid) => queryCharge(deps, txid),
    listCharges: (window) => listCharges(deps, window),
    sendPayout: (instruction) => sendPayout(deps, instruction),
    queryPayout: (providerId) => queryPayout(deps, hint, providerId),
    listPayouts: (window) => listPayouts(deps, window),
    sendRefund: notOffered('refund under an id of ours'),
    queryRefund: notOffered('refund under an id of ours'),
    async parseWebhook(delivery) {
      const event = eventOf(delivery.rawBody);
      if (event === null) return { authentic: false, reason: 'the body is no event' };
      const fault = await keys.faultOf(delivery);
      return fault === null
        ? { authentic: true, ...readEvent(event, workspaceId) }
        : { authentic: false, reason: fault };
    },
    readWebhook(rawBody) {
      const event = eventOf(rawBody);
      return event && readEvent(event, workspaceId);
    },
    registerWebhook: (url) => registerWebhook(deps, url),
    diagnose: ({ webhookUrl }) => diagnose(deps, webhookUrl),
    async balance() {
      const reply = await exchange(balanceCall);
      const found = reply.kind === 'answer' && isSuccess(reply.status) ? readBalance(reply.body) : null;
      if (found === null) throw failureOf('no balance', reply, clock);
      return found.balance;
    },
    statement: (window) => listLines(deps, window),
    listCosts: (window) => listCosts(deps, window),
    requestDayReport: notOffered('reports of days'),
    readDayReport: notOffered('reports of days'),
    findPix: (endToEnd) => findPix(deps, endToEnd),
  };
}

/** The signature is over the project, the second and the exact bytes of the body. */
const signer = (projectId: string, key: KeyObject, clock: Clock) => (body: string | Buffer) => {
  const accessId = `project/${projectId}`;
  const time = String(Math.floor(clock.now() / 1000));
  const signed = Buffer.concat([Buffer.from(`${accessId}:${time}:`), Buffer.from(body)]);
  return {
    'access-id': accessId,
    'access-time': time,
    'access-signature': sign('SHA256', signed, key).toString('base64'),
    'accept-language': 'en-US',
  };
};

/** At most once an hour. */
function hints({ connection, clock, log }: { connection: string; clock: Clock; log: Log }): Hint {
  let hintedAt = Number.NEGATIVE_INFINITY;
  return ({ unknownStatus, report }) => {
    if (unknownStatus === null || clock.monotonicMs() - hintedAt < hintEveryMs) return;
    hintedAt = clock.monotonicMs();
    log.warn(
      { connection, paymentId: report.providerId, status: unknownStatus },
      'the provider names a status of a payout that ends nothing: look at it in web banking',
    );
  };
}

/** An error at the door proves that the request was not read. Null for every other answer. */
const notRead = (reply: Reply): { outcome: 'notSent'; detail: string } | null => {
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  return reply.kind === 'answer' && isAtTheDoor(codesOf(reply.body))
    ? { outcome: 'notSent', detail: 'the provider refused the project or its signature' }
    : null;
};

/** Codes of an error of the request. A 5xx proves nothing, whatever it names. */
const refusedCodes = (reply: Reply): string[] =>
  reply.kind === 'answer' && reply.status === 400 ? codesOf(reply.body) : [];

// --------------------------------------------------------------------------------------------- charges

/** The creation of a code takes no id of ours, so one with our tag is looked for first: it was made by a request whose answer was lost. */
async function createCharge(
  deps: StarkDeps,
  instruction: ChargeInstruction,
): Promise<SendOutcome<ChargeReport>> {
  const { exchange, clock } = deps;
  const { txid, amountCents, expirySeconds, description } = instruction;
  const there = await findCode(deps, txid);
  if (there.outcome === 'found') return { outcome: 'duplicate' };
  if (there.outcome === 'unclear') return notSentAfter(there);
  const text = plain(description, 140);
  const reply = await exchange({
    method: 'POST',
    path: '/v2/dynamic-brcode',
    body: {
      brcodes: [
        {
          amount: amountCents,
          expiration: expirySeconds,
          tags: [tagOf(txid)],
          ...(text === '' ? {} : { displayDescription: text }),
        },
      ],
    },
    timeoutMs: sendTimeoutMs - callTimeoutMs,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const [made] = itemsOf('brcodes')(reply.body) ?? [];
    const report = readCode(made);
    return report !== null &&
      report !== 'foreign' &&
      report.txid === txid &&
      report.amountCents === amountCents
      ? { outcome: 'accepted', report }
      : unclear(reply, clock);
  }
  const codes = refusedCodes(reply);
  if (isRefusal(codes))
    return { outcome: 'refused', reason: 'provider_refused', detail: `400 ${codes[0]}`, ...wordsIn(reply) };
  return unclear(reply, clock);
}

/** By our tag. Where a late request made a second code, the first one counts: payments of both carry the tag. */
async function findCode(deps: StarkDeps, txid: string): Promise<QueryOutcome<ChargeReport>> {
  const { exchange, clock } = deps;
  const path = `/v2/dynamic-brcode?tags=${encodeURIComponent(tagOf(txid))}&limit=100`;
  const reply = await exchange({ method: 'GET', path });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? itemsOf('brcodes')(reply.body) : null;
  if (items === null) return unclear(reply, clock);
  const codes = items.map(readCode);
  const own = codes.flatMap((code) =>
    code !== null && code !== 'foreign' && code.txid === txid ? [code] : [],
  );
  if (codes.includes(null)) return unreadAnswer(reply, clock, 'charge', txid);
  const [first] = own.sort((a, b) => a.createdAt - b.createdAt);
  return first === undefined ? { outcome: 'notFound' } : { outcome: 'found', report: first };
}

async function queryCharge(deps: StarkDeps, txid: string): Promise<QueryOutcome<ChargeReport>> {
  const found = await findCode(deps, txid);
  if (found.outcome !== 'found') return found;
  const listed = await listOf(deps, {
    kind: 'received',
    path: `/v2/deposit?tags=${encodeURIComponent(tagOf(txid))}`,
    name: 'deposits',
    read: readDeposit,
  });
  if (listed.outcome !== 'listed') return listed;
  const pix = await receivedFor(
    deps,
    listed.reports.filter((one) => one.txid === txid),
  );
  if ('outcome' in pix) return pix;
  // A sum is never guessed.
  if (!listed.complete || listed.unread.length > 0 || pix.unread.length > 0)
    return {
      ...{
        outcome: 'unclear',
        cause: 'unreadable',
        detail: 'a deposit of it cannot be read',
        retryAfterMs: null,
      },
      unread: {
        ...{ kind: 'charge', name: txid, providerId: txid, endToEnd: null },
        body: [...listed.unread.map(({ body }) => body), ...pix.unread],
      },
    };
  return { outcome: 'found', report: withReceived(found.report, pix.received) };
}

const withReceived = (code: ChargeReport, received: ReceivedPix[]): ChargeReport => ({
  ...code,
  status: received.length > 0 ? 'paid' : 'open',
  // Lists begin with the newest: of two in one millisecond the later one stands first there.
  received: received.toReversed().sort((a, b) => a.paidAt - b.paidAt),
});

async function receivedFor(
  deps: StarkDeps,
  deposits: readonly Deposit[],
): Promise<{ received: ReceivedPix[]; unread: Deposit[] } | Unclear> {
  const whole = await wholeDeposits(deps, deposits);
  if (!Array.isArray(whole)) return whole;
  return {
    received: whole.flatMap((pix) => pix ?? []),
    unread: deposits.filter((_, at) => whole[at] === null),
  };
}

async function listCharges(deps: StarkDeps, window: ListWindow): Promise<ListOutcome<ChargeReport>> {
  const codes = { kind: 'charge', path: '/v2/dynamic-brcode', name: 'brcodes', read: readCode } as const;
  const listed = await listWindow(deps, window, codes, ({ createdAt }) => createdAt);
  if (listed.outcome !== 'listed') return listed;
  const received = { kind: 'received', path: '/v2/deposit', name: 'deposits', read: readDeposit } as const;
  const since = { ...window, toMs: deps.clock.now() };
  const moved = await listWindow(deps, since, received, ({ paidAt }) => paidAt);
  if (moved.outcome !== 'listed') return moved;
  const pix = await receivedFor(deps, moved.reports);
  if ('outcome' in pix) return pix;
  // Of these it is not known what came in: their charges are queried one by one.
  const unseen = [
    ...moved.unread,
    ...pix.unread.map(({ txid, endToEnd }) => unreadItem('received', { txid, endToEnd })),
  ].map((item) =>
    item.providerId === null ? item : ({ ...item, kind: 'charge', name: item.providerId } as const),
  );
  const odd = new Set(unseen.map(({ providerId }) => providerId));
  const byCode = Map.groupBy(pix.received, ({ txid }) => txid);
  const reports = firstOfEach(listed.reports)
    .filter(({ txid }) => !odd.has(txid) && (moved.complete || byCode.has(txid)))
    .map((code) => withReceived(code, byCode.get(code.txid) ?? []));
  const unread = [...listed.unread, ...unseen];
  if (listed.complete && moved.complete) return { outcome: 'listed', reports, unread, complete: true };
  const parts = Math.max(listed.complete ? 0 : listed.parts, moved.complete ? 0 : moved.parts);
  return { outcome: 'listed', reports, unread, complete: false, parts };
}

/** Oldest first, and one code for each charge. */
const firstOfEach = (codes: readonly ChargeReport[]): ChargeReport[] => {
  const sorted = codes.toSorted((a, b) => a.createdAt - b.createdAt);
  return [...new Map(sorted.toReversed().map((code) => [code.txid, code])).values()].reverse();
};

// --------------------------------------------------------------------------------------------- payouts

/**
 * The look-up is right before the transfer: a key may have got another owner since. Until the transfer goes out nothing was sent, whatever the look-up
 * says; a key that no bank has ends the payout there.
 */
async function sendPayout(
  deps: StarkDeps,
  instruction: PayoutInstruction,
): Promise<SendOutcome<PayoutReport>> {
  const { exchange, clock } = deps;
  const looked = await exchange({
    method: 'GET',
    path: `/v2/dict-key/${encodeURIComponent(instruction.pixKey)}`,
  });
  const owner = looked.kind === 'answer' && isSuccess(looked.status) ? readKeyOwner(looked.body) : null;
  if (owner === null) {
    if (refusedCodes(looked).includes('invalidPixKey'))
      return {
        outcome: 'refused',
        reason: 'pix_key_not_found',
        detail: '400 invalidPixKey',
        ...wordsIn(looked),
      };
    return notRead(looked) ?? notSentAfter(unclear(looked, clock));
  }
  const reply = await exchange({
    method: 'POST',
    path: '/v2/transfer',
    // One alone: an error of a list says that nothing of it was made.
    body: { transfers: [transferOf(instruction, owner)] },
    timeoutMs: sendTimeoutMs - 2 * callTimeoutMs,
    ...traceOf(instruction),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  if (reply.kind === 'answer' && isSuccess(reply.status)) {
    const [made] = itemsOf('transfers')(reply.body) ?? [];
    const transfer = readTransfer(made);
    if (transfer === null || transfer === 'foreign' || !isOf(transfer, instruction))
      return unclear(reply, clock);
    // Whatever came of it: its queries compare it with the ledger.
    return {
      outcome: 'accepted',
      report: { ...transfer.report, status: 'pending', settledAt: null, reason: null },
    };
  }
  return afterError(deps, instruction, reply);
}

const isOf = ({ report }: Transfer, { providerId, amountCents }: PayoutInstruction): boolean =>
  report.providerId === providerId && report.amountCents === amountCents;

function transferOf({ providerId, amountCents, description }: PayoutInstruction, owner: KeyOwner): unknown {
  const text = plain(description, 140);
  return {
    amount: amountCents,
    ...owner,
    externalId: providerId,
    tags: [tagOf(providerId)],
    ...(text === '' ? {} : { displayDescription: text }),
  };
}

/**
 * The code of an `externalId` that was used is not published, so every error is followed by a query: what is there under our id is a duplicate. Only the first
 * request can be refused; an error of a repeat says nothing of the request before it. Where that query fails, the next one is it.
 */
async function afterError(
  deps: StarkDeps,
  { providerId, repeatOf }: PayoutInstruction,
  reply: Reply,
): Promise<SendOutcome<PayoutReport>> {
  const codes = refusedCodes(reply);
  if (codes.length === 0) return unclear(reply, deps.clock);
  const found = await findTransfer(deps, providerId);
  if (found.outcome === 'found') return { outcome: 'duplicate' };
  if (!isRefusal(codes) || repeatOf !== undefined) return unclear(reply, deps.clock);
  return found.outcome === 'notFound'
    ? { outcome: 'refused', reason: 'provider_refused', detail: `400 ${codes[0]}`, ...wordsIn(reply) }
    : { ...unclear(reply, deps.clock), refused: true };
}

/** By our tag, and only under our `externalId`. */
async function findTransfer(deps: StarkDeps, providerId: string): Promise<QueryOutcome<Transfer>> {
  const { exchange, clock } = deps;
  const path = `/v2/transfer?tags=${encodeURIComponent(tagOf(providerId))}&limit=100`;
  const reply = await exchange({ method: 'GET', path });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? itemsOf('transfers')(reply.body) : null;
  if (items === null) return unclear(reply, clock);
  const transfers = items.map(readTransfer);
  const [own, second] = transfers.flatMap((one) =>
    one !== null && one !== 'foreign' && one.report.providerId === providerId ? [one] : [],
  );
  if (transfers.includes(null) || second !== undefined)
    return unreadAnswer(reply, clock, 'payout', providerId);
  return own === undefined ? { outcome: 'notFound' } : { outcome: 'found', report: own };
}

async function queryPayout(
  deps: StarkDeps,
  hint: Hint,
  providerId: string,
): Promise<QueryOutcome<PayoutReport>> {
  const found = await findTransfer(deps, providerId);
  if (found.outcome !== 'found') return found;
  hint(found.report);
  const whole = await wholePayouts(deps, [found.report]);
  if (!Array.isArray(whole)) return whole;
  const [report] = whole;
  if (report) return { outcome: 'found', report };
  return {
    ...{ outcome: 'unclear', cause: 'unreadable', retryAfterMs: null },
    detail: 'the ledger says something else than the transfer',
    unread: { kind: 'payout', name: providerId, providerId, endToEnd: null, body: found.report },
  };
}

async function listPayouts(deps: StarkDeps, window: ListWindow): Promise<ListOutcome<PayoutReport>> {
  const listed = await listWindow<Transfer & { at: number }>(
    deps,
    window,
    {
      ...{ kind: 'payout', path: '/v2/transfer', name: 'transfers' },
      read: (item) => {
        const transfer = readTransfer(item);
        const at = Date.parse(String(recordOf(item)?.created));
        if (transfer === null || transfer === 'foreign') return transfer;
        return Number.isNaN(at) ? null : { ...transfer, at };
      },
    },
    ({ at }) => at,
  );
  if (listed.outcome !== 'listed') return listed;
  const whole = await wholePayouts(deps, listed.reports);
  if (!Array.isArray(whole)) return whole;
  const odd = listed.reports.filter((_, at) => whole[at] === null);
  return {
    ...listed,
    reports: whole.flatMap((report) => report ?? []),
    unread: [...listed.unread, ...odd.map(({ report }) => unreadItem('payout', { txid: report.providerId }))],
  };
}

// --------------------------------------------------------------------------------------------- account

const balanceCall = { method: 'GET', path: '/v2/balance' } as const;

/** Of what came in: a transfer names no end-to-end id. */
async function findPix({ exchange, clock }: StarkDeps, endToEnd: string): Promise<QueryOutcome<PixOwner>> {
  const path = `/v2/deposit?tags=${encodeURIComponent(endToEnd.toLowerCase())}&limit=100`;
  const reply = await exchange({ method: 'GET', path });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? itemsOf('deposits')(reply.body) : null;
  if (items === null) return unclear(reply, clock);
  for (const deposit of items.map(readDeposit))
    if (
      deposit !== null &&
      deposit !== 'foreign' &&
      deposit.endToEnd.toLowerCase() === endToEnd.toLowerCase()
    )
      return { outcome: 'found', report: { direction: 'received', providerId: deposit.txid } };
  return { outcome: 'notFound' };
}

/** The newest key signs; one before it is good until then, since it was read then. @throws Error */
async function readPublicKeys({ exchange, clock }: StarkDeps): Promise<string[]> {
  const reply = await exchange({ method: 'GET', path: '/v2/public-key?limit=1' });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? itemsOf('publicKeys')(reply.body) : null;
  if (items === null) throw failureOf('no public key', reply, clock);
  return items.map((item) => String(recordOf(item)?.content));
}

const webhooksCall = { method: 'GET', path: '/v2/webhook?limit=100' } as const;

/** The subscriptions that the address lacks. */
function missingAt(body: unknown, url: string): string[] {
  const there = (itemsOf('webhooks')(body) ?? []).map(recordOf).filter((one) => one?.url === url);
  const has = new Set(there.flatMap((one) => (Array.isArray(one?.subscriptions) ? one.subscriptions : [])));
  return subscriptions.filter((one) => !has.has(one));
}

async function registerWebhook({ exchange, clock }: StarkDeps, url: string): Promise<void> {
  const failed = (reply: Reply): Error =>
    failureOf('the provider did not take our webhook address', reply, clock);
  const there = await exchange(webhooksCall);
  if (there.kind !== 'answer' || !isSuccess(there.status)) throw failed(there);
  const missing = missingAt(there.body, url);
  if (missing.length === 0) return;
  const reply = await exchange({
    method: 'POST',
    path: '/v2/webhook',
    body: { url, subscriptions: missing },
  });
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) throw failed(reply);
}

async function diagnose({ exchange, clock }: StarkDeps, webhookUrl: string): Promise<Finding[]> {
  const reply = await exchange(webhooksCall);
  if (reply.kind === 'answer' && isAtTheDoor(codesOf(reply.body)))
    return [
      {
        ...{ check: 'token', ok: false },
        message: `the provider refuses the credentials: ${reply.status} ${codesOf(reply.body)[0]}`,
        action:
          'compare project, private key and the environment of this address with web banking: the project must have the public key of this private key',
      },
    ];
  const findings = tokenFindings(reply, { needed: [], granted: null });
  if (reply.kind !== 'answer') return findings;
  const missing = isSuccess(reply.status) ? missingAt(reply.body, webhookUrl) : subscriptions;
  const webhook: Finding =
    missing.length === 0
      ? { check: 'webhook', ok: true, message: 'our address is registered for transfers and deposits' }
      : {
          ...{ check: 'webhook', ok: false },
          message: `our address is not registered for ${missing.join(', ')}`,
          action:
            'start the service: it registers its address; PUBLIC_URL must be how the provider reaches it',
        };
  const balance = await exchange(balanceCall);
  return [
    ...findings,
    ...clockFindings(reply, clock),
    webhook,
    balanceFinding(balance, clock, (body) => readBalance(body)?.balance.availableCents ?? null),
    unasked('payout limit', 'Stark Bank names none by a call: web banking shows it'),
    unasked('fees', 'read from the ledger, and booked'),
  ];
}
