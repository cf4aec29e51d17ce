import { wholeCentsOf } from '../../ground/money.ts';
import { staticIdentifierOf } from '../br-code.ts';
import type { DisputeReport, DisputeStatus } from '../dispute-report.ts';
import type { Reply } from '../exchange.ts';
import type {
  ChargeReport,
  PayoutReport,
  PixReturn,
  ProviderCost,
  ReasonCode,
  ReceivedPix,
  Receiver,
  RefundReport,
  UnnamedReturn,
} from '../provider.ts';
import { receiverOf } from '../receiver.ts';
import { cut, timeOf } from '../wire.ts';

/**
 * Woovi's bodies, as its documentation and its OpenAPI document give them (github.com/woovibr/woovi-developers, 2026-08-20; copies
 * in `contract/provider-bodies/woovi`). Amounts are integer cents and times are UTC. Fields and values may be added at any time.
 */

/** An amount on the wire; null for anything that is no integer number of cents. */
export const amountOf = wholeCentsOf;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export const recordOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;

// ---------------------------------------------------------------------------------------------- errors

/** The error of an answer: its code, where it has one, and the words of its text. Never logged: a text may hold a Pix key. */
interface WooviError {
  status: number;
  code: string | null;
  text: string;
}

export function errorOf(reply: Reply): WooviError | null {
  if (reply.kind !== 'answer' || reply.status < 400 || reply.status > 499) return null;
  const { error, errorCode } = recordOf(reply.body) ?? {};
  if (typeof error !== 'string') return null;
  const isCode = /^[A-Z][A-Z0-9_]{3,60}$/;
  const code = [errorCode, error].find((one) => typeof one === 'string' && isCode.test(one));
  return { status: reply.status, code: (code as string | undefined) ?? null, text: error };
}

/**
 * The reason of a refused payout: in the answer to its creation, or later (docs/payment/payment-failed-errors.md,
 * docs/flows/error-codes-payment.md, docs/flows/sandbox-error-simulation.md).
 */
const reasons: Readonly<Record<string, ReasonCode>> = {
  PIX_KEY_INFO_NOT_FOUND: 'pix_key_not_found',
  INVALID_PIX_KEY: 'pix_key_not_found',
  ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER: 'receiver_key_restricted',
  REACH_TRANSFER_LIMIT: 'provider_limit',
  ALIAS_LIMIT_ERROR: 'provider_limit',
  ACCOUNT_LIMIT_ERROR: 'provider_limit',
  ACCOUNT_NOT_FOUND: 'recipient_refused',
  PAY_PIX_KEY_ERROR: 'provider_refused',
  PIX_KEY_INFO_ERROR: 'provider_refused',
  NOT_ENOUGH_BALANCE: 'provider_refused',
  AB09: 'recipient_refused',
  AB11: 'recipient_refused',
  AC03: 'recipient_refused',
  AC06: 'recipient_refused',
  AC07: 'recipient_account_closed',
  AC14: 'recipient_refused',
  AG03: 'recipient_refused',
  AM02: 'recipient_refused',
  BE01: 'recipient_refused',
  BE15: 'recipient_refused',
  BE17: 'recipient_refused',
  CH11: 'recipient_refused',
  DS04: 'recipient_refused',
  DS27: 'recipient_refused',
  FRAD: 'fraud_suspected',
  RC10: 'recipient_refused',
  SL02: 'recipient_refused',
  UPAY: 'recipient_refused',
};

/** Codes of the answer to a creation that name a refusal of the instruction itself. */
const refusalCodes = new Set([
  'PIX_KEY_INFO_NOT_FOUND',
  'INVALID_PIX_KEY',
  'ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER',
  'REACH_TRANSFER_LIMIT',
]);

export const reasonOf = (code: unknown): ReasonCode =>
  typeof code === 'string' && Object.hasOwn(reasons, code)
    ? (reasons[code] ?? 'provider_refused')
    : 'provider_refused';

/** A documented refusal of a payout; null: it is none. */
export const refusalOf = ({ status, code }: WooviError): ReasonCode | null =>
  (status === 400 || status === 404) && code !== null && refusalCodes.has(code) ? reasonOf(code) : null;

/** "Já existe um pagamento com o correlationID fornecido" (docs/payment/payment-idempotency.md); the language may change. */
export const isDuplicate = ({ status, text }: WooviError): boolean =>
  status === 400 && /correlationID/i.test(text) && /exist/i.test(text);

/** The payout exists and was not approved: a person may still approve it (docs/payment/payment-how-to-auto-approve.md). */
export const isWithoutBalance = ({ status, code, text }: WooviError): boolean =>
  status === 400 &&
  (code === 'NOT_ENOUGH_BALANCE' ||
    /not have enough balance|saldo (o )?suficiente|saldo insuficiente/i.test(text));

/**
 * The OpenAPI document gives every call one error, 400 with a text. What is said of our credentials or account is said at the door
 * and says nothing of the requested object.
 */
export const saysNotFound = ({ status, text }: WooviError): boolean =>
  (status === 400 || status === 404) &&
  /not found|n[ãa]o (foi )?encontrad/i.test(text) &&
  !/account|conta\b|company|empresa|authorization|appid/i.test(text);

/** 401 and a missing scope (docs/apis/api-scopes.md): refused at the door, before the request was read. */
export const isAtTheDoor = (reply: Reply): boolean =>
  reply.kind === 'answer' &&
  (reply.status === 401 || (reply.status === 403 && /scope/i.test(errorOf(reply)?.text ?? '')));

// --------------------------------------------------------------------------------------------- charges

/** A charge without what it received: that stands in the list of transactions. Null when it cannot be read. */
export function readCharge(value: unknown): ChargeReport | null {
  const charge = recordOf(value);
  const txid = textOf(charge?.correlationID);
  const amountCents = amountOf(charge?.value);
  const createdAt = timeOf(charge?.createdAt);
  if (charge === null || txid === null || amountCents === null || createdAt === null) return null;
  if (typeof charge.status !== 'string') return null;
  return {
    txid,
    amountCents,
    // ACTIVE, COMPLETED or EXPIRED (docs/flows/charge-flow-state-machine; src/clients/charge/commonTypes.ts of its SDK): OVERDUE is a type. A charge
    // that expired is not paid and not removed. A new word changes nothing.
    status: charge.status === 'COMPLETED' ? 'paid' : 'open',
    createdAt,
    // Of a charge with a due date no document says whether `expiresDate` is its due date or its last day.
    expiresAt: charge.type === 'OVERDUE' ? null : timeOf(charge.expiresDate),
    copyPaste: textOf(charge.brCode),
    received: [],
  };
}

export type Moved = { kind: 'received'; pix: ReceivedPix } | { kind: 'other' };

/**
 * A transaction of a list or a delivery. Only what is confirmed has moved; one that was given back in whole or in part came in first.
 * The OpenAPI document has the values of `type` and `status` in each other's place; its own examples have them right.
 */
export function readTransaction(value: unknown, txid: string | null): Moved | null {
  const pix = recordOf(value);
  if (pix === null) return null;
  const { type = 'PAYMENT', status = 'CONFIRMED' } = pix;
  if (type !== 'PAYMENT') return { kind: 'other' };
  if (!hasMoved(status)) return { kind: 'other' };
  const endToEnd = textOf(pix.endToEndId);
  const amountCents = amountOf(pix.value);
  const paidAt = timeOf(pix.time) ?? timeOf(pix.createdAt);
  if (endToEnd === null || amountCents === null || paidAt === null) return null;
  const charge = textOf(recordOf(pix.charge)?.correlationID) ?? staticCodeOf(pix);
  // An answer about one charge may hold the Pix of another: a filter that a server does not know is left out of account.
  if (txid !== null && charge !== null && charge !== txid) return { kind: 'other' };
  return { kind: 'received', pix: { endToEnd, amountCents, paidAt, txid: txid ?? charge, returns: [] } };
}

/** A Pix that left: it names no payment, so one of ours is known by its end-to-end id alone. */
export interface Withdrawal {
  endToEnd: string;
  amountCents: number;
  at: number;
}

/** A transaction of the type WITHDRAW. `foreign`: nothing has left. Null: it cannot be read. */
export function readWithdrawal(value: unknown): Withdrawal | 'foreign' | null {
  const pix = recordOf(value);
  if (pix === null) return null;
  if (pix.type !== 'WITHDRAW' || !hasMoved(pix.status ?? 'CONFIRMED')) return 'foreign';
  const endToEnd = textOf(pix.endToEndId);
  const amountCents = amountOf(pix.value);
  const at = timeOf(pix.time) ?? timeOf(pix.createdAt);
  return endToEnd === null || amountCents === null || at === null ? null : { endToEnd, amountCents, at };
}

const hasMoved = (status: unknown): boolean =>
  status === 'CONFIRMED' || status === 'REFUNDED' || status === 'PARTIAL_REFUND';

/** `transactionID` is the `txid` of the Pix: of a static code its identifier. Of a charge it is Woovi's own name, which is none of ours. */
export const staticCodeOf = (pix: Record<string, unknown>): string | null =>
  staticIdentifierOf(textOf(recordOf(pix.pixQrCode)?.identifier)) ??
  staticIdentifierOf(textOf(pix.transactionID));

/** `{pixQrCode}` of a creation or a query: the text of the code. Null: it is another code, or cannot be read. */
export function staticCodeIn(value: unknown, identifier: string): string | null {
  const code = recordOf(recordOf(value)?.pixQrCode);
  return staticIdentifierOf(textOf(code?.identifier)) === identifier ? textOf(code?.brCode) : null;
}

// --------------------------------------------------------------------------------------------- payouts

/**
 * `{payment, transaction?}` of a query, a list or a delivery; null when it cannot be read.
 *
 * FAILED is final (docs/payment/payment-state-machine.md) and so is REJECTED (payment-idempotency.md). CREATED waits for its approval. DENIED
 * stands in the OpenAPI document without a word about it, so it ends nothing.
 */
export function readPayout(value: unknown): PayoutReport | null {
  const body = recordOf(value);
  const payment = recordOf(body?.payment);
  const providerId = textOf(payment?.correlationID);
  const amountCents = amountOf(payment?.value);
  if (payment === null || providerId === null || amountCents === null) return null;
  if (typeof payment.status !== 'string') return null;
  const transaction = recordOf(body?.transaction);
  const status = payoutStatusOf(payment.status);
  return {
    providerId,
    amountCents,
    pixKey: textOf(payment.destinationAlias),
    status,
    endToEnd: textOf(transaction?.endToEndId),
    settledAt: status === 'completed' ? timeOf(transaction?.time) : null,
    reason: status === 'refused' ? reasonOf(failureOf(body, transaction)) : null,
    returns: [],
    receiver: receiverIn(body?.destination),
  };
}

function receiverIn(value: unknown): Receiver | null {
  const { name, taxID, bank } = recordOf(value) ?? {};
  return receiverOf({ name, taxId: taxID, bank });
}

/** `{owner}` of a look-up (docs/payment/check-pix-key.md): a whole name, a masked CPF or a CNPJ, and the code of the bank. */
export function readOwner(value: unknown): Receiver | null {
  const { name, taxID, psp } = recordOf(recordOf(value)?.owner) ?? {};
  return receiverOf({ name, taxId: taxID, bank: psp });
}

function payoutStatusOf(status: string): PayoutReport['status'] {
  if (status === 'CREATED') return 'prepared';
  if (status === 'CONFIRMED') return 'completed';
  return status === 'FAILED' || status === 'REJECTED' ? 'refused' : 'pending';
}

/** `error.code`, or the payment system's code in `providerErrorCode` or at the head of `providerRejectedReason`. */
function failureOf(
  body: Record<string, unknown> | null,
  transaction: Record<string, unknown> | null,
): unknown {
  const code = recordOf(body?.error)?.code;
  const rejected = transaction?.providerRejectedReason;
  const leading = typeof rejected === 'string' ? /^[A-Z]{2}[A-Z0-9]{2}(?= )/.exec(rejected)?.[0] : undefined;
  return [transaction?.providerErrorCode, leading, code].find(
    (one) => typeof one === 'string' && Object.hasOwn(reasons, one),
  );
}

// --------------------------------------------------------------------------------------------- refunds

/**
 * `{refund}` of a creation or `{pixTransactionRefund}` of a query; null when it cannot be read. The OpenAPI document names REFUNDED and
 * NOT_ACCOMPLISHED for these two, CONFIRMED and REJECTED for the refunds of a charge. No status, and any other, ends nothing.
 */
export function readRefund(value: unknown): RefundReport | null {
  const body = recordOf(value);
  const refund = recordOf(body?.refund) ?? recordOf(body?.pixTransactionRefund);
  const providerId = textOf(refund?.correlationID);
  const amountCents = amountOf(refund?.value);
  if (refund === null || providerId === null || amountCents === null) return null;
  const status = refundStatusOf(refund.status);
  return {
    providerId,
    rtrId: textOf(refund.returnIdentification),
    amountCents,
    status,
    settledAt: status === 'completed' ? timeOf(refund.time) : null,
    reason: status === 'refused' ? 'provider_refused' : null,
  };
}

function refundStatusOf(status: unknown): RefundReport['status'] {
  if (status === 'REFUNDED' || status === 'CONFIRMED') return 'completed';
  return status === 'NOT_ACCOMPLISHED' || status === 'REJECTED' ? 'refused' : 'pending';
}

// --------------------------------------------------------------------------------------------- returns

/** A return of a Pix that a delivery names by its end-to-end id alone. */
export function readReturn(body: Record<string, unknown>, status: PixReturn['status']) {
  const refund = recordOf(body.refundTransaction);
  const original = recordOf(body.originalTransaction);
  const rtrId = textOf(refund?.endToEndId);
  const endToEnd = textOf(original?.endToEndId);
  const amountCents = amountOf(refund?.value);
  const at = timeOf(refund?.time) ?? timeOf(refund?.createdAt);
  if (rtrId === null || endToEnd === null || amountCents === null || at === null) return null;
  return { endToEnd, back: { id: null, rtrId, amountCents, at, status } };
}

/** A transaction of type REFUND in a list; 'foreign': another one, or one that has not moved. Null when it cannot be read. */
export function readListedReturn(value: unknown): UnnamedReturn | 'foreign' | null {
  const refund = recordOf(value);
  if (refund === null) return null;
  if (refund.type !== 'REFUND') return 'foreign';
  if (['CREATED', 'IN_PROCESSING', 'REJECTED'].includes(String(refund.status))) return 'foreign';
  const rtrId = textOf(refund.endToEndId);
  const amountCents = amountOf(refund.value);
  const at = timeOf(refund.time) ?? timeOf(refund.createdAt);
  return rtrId === null || amountCents === null || at === null ? null : { rtrId, amountCents, at };
}

/** A transaction that is a cost; null: it cannot be read. */
export function readCost(value: unknown): ProviderCost | 'foreign' | null {
  const cost = recordOf(value);
  if (cost === null) return null;
  if (cost.type !== 'FEE' || String(cost.status) === 'REJECTED') return 'foreign';
  const id = textOf(cost.globalID) ?? textOf(cost.endToEndId) ?? textOf(cost.transactionID);
  const amountCents = amountOf(cost.value);
  const at = timeOf(cost.time) ?? timeOf(cost.createdAt);
  return id === null || amountCents === null || at === null
    ? null
    : { reference: `line:${id}`, amountCents, at };
}

// -------------------------------------------------------------------------------------------- disputes

/** The words of the OpenAPI document, of its deliveries (OPENED) and of its page about disputes. A new one is not guessed. */
const disputeStatuses: Readonly<Record<string, DisputeStatus>> = {
  IN_REVIEW: 'open',
  CREATED: 'open',
  OPENED: 'open',
  ACCEPTED: 'accepted',
  REJECTED: 'rejected',
  CANCELED: 'cancelled',
};

/**
 * A dispute of the list; null when it cannot be read. A MED carries no amount: its Pix has to be asked for (`amountCents` null). Where it
 * has no `id`, it is known by its Pix, under which Woovi answers for it. No deadline is named.
 * @param at stands in for a time that is not given
 */
export function readDispute(
  value: unknown,
  at: number,
): (Omit<DisputeReport, 'amountCents'> & { amountCents: number | null }) | null {
  const dispute = recordOf(value);
  const endToEnd = textOf(dispute?.endToEndId);
  const status = disputeStatuses[String(dispute?.status)];
  if (dispute === null || endToEnd === null || status === undefined) return null;
  const amountCents = amountOf(dispute.value);
  const reason = textOf(dispute.disputeReason);
  return {
    providerId: textOf(dispute.id) ?? endToEnd,
    endToEnd,
    amountCents: amountCents === 0 ? null : amountCents,
    status,
    reason: reason === null ? null : cut(reason, 200),
    openedAt: timeOf(dispute.createdAt) ?? at,
    deadlineAt: null,
  };
}

const evidenceNotAllowed = 'DISPUTE_EVIDENCE_FILE_ID_NOT_ALLOWED';

/**
 * The documented refusals of evidence; null: it is none of them. A dispute that is decided takes none (the OpenAPI
 * document's example; other sentences of a 400 are not known and prove nothing), and by a file's id only who has the feature gives it.
 */
export function evidenceRefusalOf(error: WooviError | null): 'ended' | 'not allowed' | null {
  if (error?.status === 403 && error.code === evidenceNotAllowed) return 'not allowed';
  return error?.status === 400 && /cannot send a evidence for a \w+ dispute/i.test(error.text)
    ? 'ended'
    : null;
}
