import { signedWholeCentsOf, wholeCentsOf } from '../../ground/money.ts';
import type { Paging } from '../exchange.ts';
import { paymentSystemCodes } from '../payment-system-codes.ts';
import type {
  ChargeReport,
  PayoutReport,
  PixReturn,
  ProviderBalance,
  ProviderCost,
  ReasonCode,
} from '../provider.ts';
import { receiverOf } from '../receiver.ts';
import { starkTag } from '../unread.ts';
import { timeOf } from '../wire.ts';

/** Stark Bank's answers and deliveries; its bodies are in `contract/provider-bodies/stark`. Amounts are integer cents, times UTC. */

export type Wire = Record<string, unknown>;
export const recordOf = (value: unknown): Wire | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : null;
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];

export const itemsOf =
  (name: string) =>
  (body: unknown): unknown[] | null => {
    const items = recordOf(body)?.[name];
    return Array.isArray(items) ? items : null;
  };

/** Lists name no size: a cursor, as long as another page follows. */
export const pagingOf = (body: unknown): Paging => ({
  pages: null,
  total: null,
  more: textOf(recordOf(body)?.cursor) !== null,
});

// ------------------------------------------------------------------------------------------------ tags

/**
 * Tags are how Stark finds things and joins them: those of a code stand in the deposit that pays it, and every list takes them as a filter. Stark writes
 * them in small letters. Ours has a name before it, so that no other tag can look like it.
 */
export const tagOf = (providerId: string): string => `${starkTag}${providerId}`.toLowerCase();

const ownTag = (item: Wire): string | null =>
  textsOf(item.tags)
    .find((tag) => tag.startsWith(starkTag))
    ?.slice(starkTag.length) ?? null;

const endToEndTag = /^e\d{20}[0-9a-z]{11}$/;

/** The end-to-end id stands among the tags, its letters small. Null: it is not there. */
const endToEndOf = (item: Wire): string | null => {
  const tag = textsOf(item.tags).find((one) => endToEndTag.test(one));
  return tag === undefined ? null : `E${tag.slice(1)}`;
};

/** Entries of Stark's ledger that belong to it. Old deliveries have a word in the place of one (`invalid…`). Null: one of them cannot be read. */
function ledgerIdsOf({ transactionIds }: Wire): string[] | null {
  const entries = Array.isArray(transactionIds) ? transactionIds : [];
  const ids = entries.filter((id) => !(typeof id === 'string' && /^invalid[A-Za-z]+$/.test(id)));
  return ids.every((id) => typeof id === 'string' && /^\d+$/.test(id)) ? ids : null;
}

// --------------------------------------------------------------------------------------------- payouts

export interface Transfer {
  /** As far as the transfer alone says it: `returns` stand in the ledger. */
  report: PayoutReport;
  /** Stark's own id. */
  id: string;
  ledgerIds: string[];
  /** It has failed or was cancelled, or it has come back: the ledger says whether the money is there. */
  needsLedger: boolean;
  /** A status that Stark's documents do not name; null: it is known. */
  unknownStatus: string | null;
}

const statuses: Readonly<Record<string, PayoutReport['status']>> = {
  created: 'pending',
  processing: 'pending',
  success: 'completed',
  failed: 'refused',
  canceled: 'refused',
};

/** Null: it cannot be read. `foreign`: it was not made here. */
export function readTransfer(value: unknown): Transfer | 'foreign' | null {
  const transfer = recordOf(value);
  if (transfer === null) return null;
  const tag = ownTag(transfer);
  if (tag === null) return 'foreign';
  const externalId = textOf(transfer.externalId);
  const id = textOf(transfer.id);
  const amountCents = wholeCentsOf(transfer.amount);
  const wire = textOf(transfer.status);
  // An externalId that is not the tag's contradicts it: which payment that is cannot be said.
  if (externalId !== null && externalId.toLowerCase() !== tag) return null;
  if (id === null || amountCents === null || amountCents === 0 || wire === null) return null;
  const known = Object.hasOwn(statuses, wire) ? statuses[wire] : undefined;
  const status = known ?? 'pending';
  const ledgerIds = ledgerIdsOf(transfer);
  if (ledgerIds === null) return null;
  return {
    report: {
      providerId: externalId ?? tag,
      amountCents,
      pixKey: null,
      status,
      endToEnd: endToEndOf(transfer),
      settledAt: status === 'completed' ? (timeOf(transfer.updated) ?? timeOf(transfer.created)) : null,
      reason: status === 'refused' ? 'provider_refused' : null,
      returns: [],
      receiver: receiverOf({ name: transfer.name, taxId: transfer.taxId, bank: transfer.bankCode }),
    },
    id,
    ledgerIds,
    needsLedger: status === 'refused' || ledgerIds.length > 1,
    unknownStatus: known === undefined ? wire : null,
  };
}

/** An entry of the ledger, which never changes. */
export interface LedgerEntry {
  id: string;
  /** Signed. */
  amountCents: number;
  feeCents: number;
  at: number;
  /** `transfer/5678`, `deposit/5678/chargeback`. */
  source: string;
}

export function readEntry(value: unknown): LedgerEntry | null {
  const entry = recordOf(value);
  const id = textOf(entry?.id);
  const amountCents = signedWholeCentsOf(entry?.amount);
  const feeCents = signedWholeCentsOf(entry?.fee ?? 0);
  const at = timeOf(entry?.created);
  if (entry === null || id === null || amountCents === null || feeCents === null || at === null) return null;
  return { id, amountCents, feeCents, at, source: textOf(entry.source) ?? '' };
}

/**
 * A transfer by its entries in the ledger. One that failed is refused only when its money is there: nothing was debited, or all of it came back.
 * Null: the entries say more than was sent.
 */
export function withEntries(
  { report, ledgerIds }: Transfer,
  entries: readonly LedgerEntry[],
): PayoutReport | null {
  const back = entries.filter(({ amountCents }) => amountCents > 0);
  const backCents = back.reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (report.status === 'refused') {
    const isThere = ledgerIds.length === 0 || backCents >= report.amountCents;
    return isThere ? report : { ...report, status: 'pending', reason: null };
  }
  if (backCents > report.amountCents) return null;
  return { ...report, returns: report.status === 'completed' ? back.map(returnOf) : [] };
}

const returnOf = ({ id, amountCents, at }: LedgerEntry): PixReturn => ({
  id,
  rtrId: null,
  amountCents: Math.abs(amountCents),
  at,
  status: 'settled',
});

/** The reason of a failure: a code of the payment system where one stands in the words of the log. Stark's own words are not published. */
export function reasonOf(logs: readonly unknown[]): ReasonCode {
  for (const log of logs)
    for (const words of textsOf(recordOf(log)?.errors))
      for (const [code] of words.matchAll(/\b[A-Z]{2}\d{2}\b|\b(?:AGNT|DUPL|FRAD|UPAY)\b/g))
        if (Object.hasOwn(paymentSystemCodes, code)) return paymentSystemCodes[code] ?? 'provider_refused';
  return 'provider_refused';
}

/** Whose a Pix key is: what a transfer to it takes. */
export interface KeyOwner {
  name: string;
  taxId: string;
  bankCode: string;
  branchCode: string;
  accountNumber: string;
  accountType: string;
}

/** Null: it cannot be read. A bank code of three digits would make a TED of the transfer, so it is the ISPB with eight or none. */
export function readKeyOwner(body: unknown): KeyOwner | null {
  const key = recordOf(recordOf(body)?.key);
  const [name, taxId, bankCode, branchCode, accountNumber, accountType] = [
    key?.name,
    key?.taxId,
    key?.ispb,
    key?.branchCode,
    key?.accountNumber,
    key?.accountType,
  ].map(textOf);
  if (!name || !taxId || !bankCode || !branchCode || !accountNumber || !accountType) return null;
  return /^\d{8}$/.test(bankCode) ? { name, taxId, bankCode, branchCode, accountNumber, accountType } : null;
}

// --------------------------------------------------------------------------------------------- charges

/** A code, without what was received for it. Null: it cannot be read. `foreign`: it was not made here. */
export function readCode(value: unknown): ChargeReport | 'foreign' | null {
  const code = recordOf(value);
  if (code === null) return null;
  const txid = ownTag(code);
  if (txid === null) return 'foreign';
  const amountCents = wholeCentsOf(code.amount);
  const createdAt = timeOf(code.created);
  const copyPaste = textOf(code.id);
  if (amountCents === null || createdAt === null || copyPaste === null) return null;
  const seconds = code.expiration;
  const expiresAt = Number.isSafeInteger(seconds) ? createdAt + (seconds as number) * 1000 : null;
  return { txid, amountCents, status: 'open', createdAt, expiresAt, copyPaste, received: [] };
}

export interface Deposit {
  /** Stark's own id. */
  id: string;
  endToEnd: string;
  /** As it is now: what was reversed may be taken off. */
  amountCents: number;
  paidAt: number;
  /** Null: it pays no code of ours. */
  txid: string | null;
  ledgerIds: string[];
}

/**
 * Money that came in. Null: it cannot be read. `foreign`: not in the ledger yet, or no Pix. One without an end-to-end id cannot be read, since nothing
 * else names it the same everywhere.
 */
export function readDeposit(value: unknown): Deposit | 'foreign' | null {
  const deposit = recordOf(value);
  if (deposit === null) return null;
  const ledgerIds = ledgerIdsOf(deposit);
  if (ledgerIds === null) return null;
  if (ledgerIds.length === 0 || (typeof deposit.type === 'string' && deposit.type !== 'pix'))
    return 'foreign';
  const id = textOf(deposit.id);
  const endToEnd = endToEndOf(deposit);
  const amountCents = wholeCentsOf(deposit.amount);
  const paidAt = timeOf(deposit.created);
  if (id === null || endToEnd === null || amountCents === null || paidAt === null) return null;
  return { id, endToEnd, amountCents, paidAt, txid: ownTag(deposit), ledgerIds };
}

/**
 * The Pix of a deposit, with what was reversed by the ledger. Whether the amount of a deposit still has what was reversed is not documented: the first entry
 * says what came in. Null: the entries contradict the deposit.
 */
export function receivedOf({ id: _, ledgerIds, ...deposit }: Deposit, entries: readonly LedgerEntry[]) {
  const returns = entries.filter(({ amountCents }) => amountCents < 0).map(returnOf);
  const backCents = returns.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const first = entries.find(({ id }) => id === ledgerIds[0]);
  if (first === undefined || backCents > first.amountCents + first.feeCents) return null;
  const amountCents = [deposit.amountCents, deposit.amountCents + backCents].find(
    (cents) => cents === first.amountCents || cents === first.amountCents + first.feeCents,
  );
  return amountCents === undefined ? null : { ...deposit, amountCents, returns };
}

// --------------------------------------------------------------------------------------------- account

/** The fee of an entry, which Stark takes beside its amount. */
export const costOf = ({ id, feeCents, at }: LedgerEntry): ProviderCost | 'foreign' =>
  feeCents === 0 ? 'foreign' : { reference: `line:${id}`, amountCents: feeCents, at };

export interface Balance {
  /** Stark's own id of it: each account has one. */
  id: string;
  balance: ProviderBalance;
}

export function readBalance(body: unknown): Balance | null {
  const [first] = itemsOf('balances')(body) ?? [];
  const id = textOf(recordOf(first)?.id);
  const cents = signedWholeCentsOf(recordOf(first)?.amount);
  if (id === null || cents === null) return null;
  // It names nothing that is blocked.
  return { id, balance: { availableCents: cents, totalCents: cents, blocked: null } };
}

// ---------------------------------------------------------------------------------------------- errors

/** The codes of `errors`; empty: it is no error of Stark's. */
export const codesOf = (body: unknown): string[] =>
  (itemsOf('errors')(body) ?? []).map((one) => textOf(recordOf(one)?.code) ?? '');

/** Refused before the request is read: the names say it (the client's own text of `invalidCredentials` speaks of the signature). */
const atTheDoor: ReadonlySet<string> = new Set([
  'invalidCredentials',
  'invalidSignature',
  'invalidAccessId',
  'invalidAccessTime',
]);

export const isAtTheDoor = (codes: readonly string[]): boolean => codes.some((code) => atTheDoor.has(code));

/**
 * Codes of a request that cannot be taken as it is, by the tests of Stark's Python client (tests/api/testTransfer.py, testInvoice.py): nothing of it was
 * made. The code of an `externalId` that was used before is not published.
 */
const refusals: ReadonlySet<string> = new Set([
  'invalidJson',
  'invalidAmount',
  'invalidTaxId',
  'invalidDate',
  'invalidDateTime',
  'invalidExpiration',
]);

export const isRefusal = (codes: readonly string[]): boolean =>
  codes.length > 0 && codes.every((code) => refusals.has(code));
