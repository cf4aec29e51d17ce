import { createHash } from 'node:crypto';
import { copyPasteOf } from './api-pix.ts';
import type { Account, Charge, ChargeRequest, Payment, Payout, PayoutRequest, PixReturn } from './bank.ts';
import { isRecord } from './money.ts';
import { json, type Reply } from './reply.ts';

/**
 * Stark Bank's API: how its requests are read and its answers and deliveries written. The forms are those of `contract/provider-bodies/stark`, which a test
 * compares. Amounts are integer cents; an error is 400 or 500 with a list of codes.
 */

export const failure = (code: string, message: string, status = 400): Reply =>
  json(status, { errors: [{ code, message }] });

export const serverError = (): Reply => failure('internalServerError', 'Houston, we have a problem.', 500);

/** `2020-04-03T13:20:33.485644+00:00` */
export const stamp = (at: number): string => `${new Date(at).toISOString().slice(0, -1)}000+00:00`;

/** Our side's tag: its rest is our id, which the control calls take. */
const ownTag = /^vintem\/([\w-]{1,80})$/;
export const idInTags = (tags: readonly string[]): string | undefined =>
  tags.map((tag) => ownTag.exec(tag)?.[1]).find((id) => id !== undefined);

// --------------------------------------------------------------------------------------------- requests

const isCents = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isTags = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');
const lowered = (tags: readonly string[]): string[] => tags.map((tag) => tag.toLowerCase());

/** The one list of a body, with at most a hundred objects; undefined: it has another form. */
export function listIn(body: unknown, name: string): Record<string, unknown>[] | undefined {
  const list = isRecord(body) && Object.keys(body).length === 1 ? body[name] : undefined;
  if (!Array.isArray(list) || list.length === 0 || list.length > 100) return undefined;
  return list.every(isRecord) ? list : undefined;
}

const codeMembers = ['amount', 'expiration', 'tags', 'displayDescription', 'rules'];

/** An item of POST /dynamic-brcode. */
export function readCode(
  key: string,
  txid: string,
  given: Record<string, unknown>,
): { request: ChargeRequest } | { refusal: Reply } {
  const { amount, expiration = 3600, tags = [], displayDescription } = given;
  if (Object.keys(given).some((name) => !codeMembers.includes(name)) || !isTags(tags))
    return { refusal: failure('invalidJson', 'Unknown parameters in the brcode') };
  if (amount !== 0 && !isCents(amount))
    return { refusal: failure('invalidAmount', 'Element amount must be a non-negative integer') };
  if (!isCents(expiration))
    return { refusal: failure('invalidExpiration', 'Element expiration must be a positive integer') };
  return {
    request: {
      ...{ txid, key, amountCents: amount, lifeSeconds: expiration },
      details: {
        tags: lowered(tags),
        ...(typeof displayDescription === 'string' ? { solicitacaoPagador: displayDescription } : {}),
      },
    },
  };
}

const required = ['accountNumber', 'amount', 'bankCode', 'branchCode', 'name', 'taxId'];
const optional = [
  'accountType',
  'description',
  'displayDescription',
  'externalId',
  'rules',
  'scheduled',
  'tags',
];

/** An item of POST /transfer. A document may be masked, as a look-up gives that of a person. */
export function readTransfer(
  payerKey: string,
  idEnvio: string,
  given: Record<string, unknown>,
): { request: PayoutRequest } | { refusal: Reply } {
  const missing = required.find((name) => given[name] === undefined || given[name] === null);
  const unknown = Object.keys(given).find((name) => !required.includes(name) && !optional.includes(name));
  const { amount, taxId, tags = [], displayDescription } = given;
  if (missing !== undefined || unknown !== undefined || !isTags(tags))
    return { refusal: failure('invalidJson', `Check the parameter ${missing ?? unknown ?? 'tags'}`) };
  if (!isCents(amount))
    return { refusal: failure('invalidAmount', 'Element amount must be a positive integer') };
  if (typeof taxId !== 'string' || !/^[\d*A-Z./-]{11,18}$/.test(taxId))
    return { refusal: failure('invalidTaxId', 'Element taxId is invalid') };
  const { name, bankCode, branchCode, accountNumber, accountType = 'checking' } = given;
  return {
    request: {
      ...{ idEnvio, amountCents: amount, payerKey, pixKey: keyOf(String(accountNumber)) },
      ...(typeof displayDescription === 'string' ? { payerInfo: displayDescription } : {}),
      details: { name, taxId, bankCode, branchCode, accountNumber, accountType, tags: lowered(tags) },
    },
  };
}

// ---------------------------------------------------------------------------------------------- answers

const sealed = (text: string): string => Buffer.from(text).toString('base64');
/** A look-up gives the account as an unreadable text: here it is the key itself. */
const keyOf = (accountNumber: string): string => {
  const key = Buffer.from(accountNumber, 'base64').toString('utf8');
  return sealed(key) === accountNumber ? key : accountNumber;
};

export const keyView = (pixKey: string) => ({
  key: {
    id: pixKey,
    type: pixKey.includes('@') ? 'email' : pixKey.startsWith('+') ? 'phone' : 'evp',
    name: 'Fulano de Tal',
    taxId: '***.456.789-**',
    ownerType: 'naturalPerson',
    bankName: 'Banco Exemplo',
    ispb: '99999999',
    branchCode: sealed('0001'),
    accountNumber: sealed(pixKey),
    accountType: 'checking',
    status: 'registered',
    accountCreated: '2020-11-05T21:00:00.000000+00:00',
  },
});

export const uuidOf = (txid: string): string => createHash('md5').update(txid).digest('hex');

export const codeView = (charge: Charge) => ({
  id: copyPasteOf(charge),
  uuid: uuidOf(charge.txid),
  amount: charge.amountCents,
  expiration: charge.lifeSeconds,
  displayDescription: charge.details.solicitacaoPagador ?? '',
  rules: [],
  tags: charge.details.tags ?? [],
  pictureUrl: `https://stark.simulator.example/v2/dynamic-brcode/${uuidOf(charge.txid)}.png`,
  created: stamp(charge.createdAt),
  updated: stamp(charge.createdAt),
});

// Ids of sixteen digits: what each kind has, counted.
const depositId = ({ n }: Payment): string => String(6_000_000_000_000_000 + n);
const transferId = ({ n }: Payout): string => String(5_000_000_000_000_000 + n);
const entryId = (line: number): string => String(7_000_000_000_000_000 + line);
const failedId = (n: number, part: 0 | 1): string => String(8_000_000_000_000_000 + 2 * n + part);

export const isDeposit = (id: string) => (payment: Payment) => depositId(payment) === id;
export const isTransfer = (id: string) => (payout: Payout) => transferId(payout) === id;

/** The end-to-end id and the tags of the code, all in small letters. */
export const depositTags = (payment: Payment, charge: Charge | undefined): string[] => [
  payment.endToEnd.toLowerCase(),
  ...(charge === undefined ? [] : [`dynamic-brcode/${uuidOf(charge.txid)}`, ...(charge.details.tags ?? [])]),
];

const moved = ({ returns }: { returns: readonly PixReturn[] }) =>
  returns.flatMap((one) => (one.line === undefined ? [] : [{ ...one, line: one.line }]));

export function depositView(payment: Payment, charge: Charge | undefined) {
  const back = moved(payment);
  return {
    accountNumber: '10000-0',
    accountType: 'payment',
    // The rest of it.
    amount: payment.amountCents - back.reduce((sum, one) => sum + one.amountCents, 0),
    bankCode: '99999999',
    branchCode: '0001',
    created: stamp(payment.at),
    displayDescription: '',
    fee: payment.feeCents ?? 0,
    id: depositId(payment),
    name: 'Fulano de Tal',
    status: 'created',
    tags: depositTags(payment, charge),
    taxId: '012.345.678-90',
    transactionIds: [entryId(payment.line), ...back.map(({ line }) => entryId(line))],
    type: 'pix',
    updated: stamp(back.at(-1)?.at ?? payment.at),
  };
}

const statusOf = (payout: Payout, stale: boolean): string => {
  if (payout.status === 'pending' || stale) return payout.held ? 'created' : 'processing';
  return payout.status === 'refused' ? 'failed' : 'success';
};

export function transferView(payout: Payout, stale: boolean) {
  const status = statusOf(payout, stale);
  const details = payout.details ?? {};
  const ended = status === 'success' || status === 'failed';
  const { n, line } = payout;
  const ids =
    status === 'failed'
      ? [failedId(n, 0), failedId(n, 1)]
      : [...(line === undefined ? [] : [line]), ...moved(payout).map((one) => one.line)].map(entryId);
  return {
    accountNumber: details.accountNumber,
    accountType: details.accountType,
    amount: payout.amountCents,
    bankCode: details.bankCode,
    branchCode: details.branchCode,
    created: stamp(payout.createdAt),
    description: '',
    displayDescription: payout.payerInfo ?? '',
    externalId: payout.idEnvio,
    fee: payout.feeCents ?? 0,
    id: transferId(payout),
    metadata: {},
    name: details.name,
    rules: [],
    scheduled: stamp(payout.createdAt),
    status,
    tags: details.tags ?? [],
    taxId: details.taxId,
    transactionIds: ended ? ids : [],
    updated: stamp((ended && (moved(payout).at(-1)?.at ?? payout.settledAt)) || payout.createdAt),
  };
}

/** The errors in the log of a failure; the words are ours, but for the one of a balance that is too small. */
const errorsOf = ({ refusal }: Payout): string[] =>
  refusal === undefined
    ? []
    : [refusal.code === 'SALDO' ? 'invalidbalance' : `${refusal.code} ${refusal.reason}`];

export function logsOf(payout: Payout) {
  const log = (type: string, at: number, part: number, errors: string[] = []) => ({
    id: String(4_000_000_000_000_000 + 4 * payout.n + part),
    ...{ type, errors, created: stamp(at), transfer: transferView(payout, false) },
  });
  const logs = [log('created', payout.createdAt, 0)];
  if (payout.status === 'refused') logs.push(log('failed', payout.settledAt ?? 0, 1, errorsOf(payout)));
  else if (payout.settledAt !== undefined) logs.push(log('success', payout.settledAt, 1));
  return logs;
}

// ----------------------------------------------------------------------------------------------- ledger

export interface Entry {
  id: string;
  at: number;
  amountCents: number;
  feeCents: number;
  source: string;
  tags: string[];
  externalId: string;
}

/** The entries of an account, oldest first. A transfer that failed took its amount and gave it back. */
export function ledgerOf(account: Account, chargeOf: (txid: string) => Charge | undefined): Entry[] {
  const entries: Entry[] = [];
  for (const payment of account.payments) {
    const source = `deposit/${depositId(payment)}`;
    const tags = depositTags(payment, chargeOf(payment.txid));
    const of = { source, tags, externalId: source, feeCents: 0 };
    const { line, at, amountCents, feeCents = 0 } = payment;
    entries.push({ ...of, id: entryId(line), at, amountCents, feeCents });
    for (const back of moved(payment))
      entries.push({
        ...of,
        ...{ id: entryId(back.line), at: back.at, amountCents: -back.amountCents },
        source: `${source}/chargeback`,
      });
  }
  for (const payout of account.payouts) {
    const source = `transfer/${transferId(payout)}`;
    const tags = (payout.details?.tags as string[] | undefined) ?? [];
    const of = { source, tags, externalId: payout.idEnvio, feeCents: 0 };
    const { line, settledAt: at = 0, amountCents, feeCents = 0 } = payout;
    const isBack = { source: `${source}/chargeback` };
    if (line !== undefined)
      entries.push({ ...of, id: entryId(line), at, amountCents: -amountCents, feeCents });
    for (const back of moved(payout))
      entries.push({ ...of, ...isBack, id: entryId(back.line), at: back.at, amountCents: back.amountCents });
    if (payout.status !== 'refused' || !payout.accepted) continue;
    entries.push({ ...of, id: failedId(payout.n, 0), at, amountCents: -amountCents });
    entries.push({ ...of, ...isBack, id: failedId(payout.n, 1), at, amountCents });
  }
  return entries.sort((a, b) => a.at - b.at || Number(a.id) - Number(b.id));
}

export const entryView = ({ id, at, amountCents, feeCents, ...of }: Entry, balanceCents: number) => ({
  amount: amountCents,
  balance: balanceCents,
  created: stamp(at),
  description: of.source,
  fee: feeCents,
  id,
  receiverId: '',
  senderId: '',
  ...of,
});

// ------------------------------------------------------------------------------------------- deliveries

const eventId = (text: string): string =>
  String(BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 12)}`)).padStart(16, '1');

/** `about` counts the returns of a deposit from 1. */
export function depositEvent(
  payment: Payment,
  charge: Charge | undefined,
  about: number,
  workspaceId: string,
) {
  const returned = payment.returns[about - 1];
  if (returned?.state !== undefined) return null;
  const at = returned?.at ?? payment.at;
  const id = eventId(`${payment.endToEnd}/${about}`);
  const type = returned === undefined ? 'credited' : 'reversed';
  const log = { id, created: stamp(at), deposit: depositView(payment, charge), errors: [], type };
  return {
    event: { ...{ id, created: stamp(at), isDelivered: false, log }, subscription: 'deposit', workspaceId },
  };
}

export function transferEvent(payout: Payout, about: number, workspaceId: string) {
  const returned = payout.returns[about - 1];
  const at = returned?.at ?? payout.settledAt ?? payout.createdAt;
  const id = eventId(`${payout.idEnvio}/${about}`);
  const failed = payout.status === 'refused';
  const type = failed ? 'failed' : 'success';
  const errors = failed ? errorsOf(payout) : [];
  const log = { id, created: stamp(at), errors, transfer: transferView(payout, false), type };
  return {
    event: { ...{ id, created: stamp(at), isDelivered: false, log }, subscription: 'transfer', workspaceId },
  };
}
