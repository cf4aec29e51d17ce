import { centsOf, signedCentsOf } from '../../ground/money.ts';
import type { Reply } from '../exchange.ts';
import type {
  AskedPayout,
  ChargeReport,
  PayoutReport,
  PixKeyType,
  PixReturn,
  ProviderCost,
  ReasonCode,
  Receiver,
  RefundReport,
} from '../provider.ts';
import { receiverOf } from '../receiver.ts';
import { cut, timeOf } from '../wire.ts';

/**
 * Asaas' bodies, as its own Java client describes them (github.com/asaasdev/asaas-api-sdk-java at 0641522, 2025-07-22, `documentation/models`) and
 * docs.asaas.com shows them; copies in `contract/provider-bodies/asaas`. Amounts are reais as JSON numbers. Most times are days, or a day and a time without
 * a zone: São Paulo's.
 */

export const recordOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;

export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

const brasiliaMs = 3 * 3_600_000;

/** A moment as the day in São Paulo that filters take. */
export const dayAt = (ms: number): string => new Date(ms - brasiliaMs).toISOString().slice(0, 10);

/**
 * A time on the wire. `2026-11-27 10:45:03`, the same as `27/11/2026 10:45:03` (the question before a refund has that), or a day alone, which is its first
 * moment in São Paulo.
 */
export function momentOf(value: unknown): number | null {
  const [, d, m, y, rest = ''] =
    typeof value === 'string' ? (/^(\d\d)\/(\d\d)\/(\d{4})( \d\d:\d\d:\d\d)?$/.exec(value) ?? []) : [];
  const text = y === undefined ? value : `${y}-${m}-${d}${rest}`;
  return timeOf(text) ?? (isDay(text) ? timeOf(`${text} 00:00:00`) : null);
}

export const isDay = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);

/**
 * `{errors: [{code, description}]}`. Asaas publishes the form and no table of codes, so a code alone decides nothing. The texts are only read for the reason
 * that is shown to people; they may hold a Pix key, and are never logged as they are.
 */
export function isRefusal(reply: Reply): boolean {
  if (reply.kind !== 'answer' || reply.status !== 400) return false;
  const errors = recordOf(reply.body)?.errors;
  return (
    Array.isArray(errors) && errors.length > 0 && errors.every((one) => textOf(recordOf(one)?.code) !== null)
  );
}

export const errorTextOf = (reply: Reply): string => {
  const errors = reply.kind === 'answer' ? recordOf(reply.body)?.errors : null;
  return Array.isArray(errors) ? String(recordOf(errors[0])?.description ?? '') : '';
};

/** A reason for people, from Asaas' sentence: it has no codes. What decides is the status. */
export function reasonOf(text: string): ReasonCode {
  if (/chave.{0,60}n[ãa]o (foi |existe|encontrad)/i.test(text)) return 'pix_key_not_found';
  if (/fraude/i.test(text)) return 'fraud_suspected';
  if (/limite/i.test(text)) return 'provider_limit';
  if (/encerrad/i.test(text)) return 'recipient_account_closed';
  if (/recebedor|favorecid|destinat|destino/i.test(text)) return 'recipient_refused';
  return 'provider_refused';
}

// --------------------------------------------------------------------------------------------- charges

/**
 * Asaas takes a due date and no hour, and its codes may be paid until a year after it. So the deadline stands at the end of the description, which payers read
 * and which comes back in every query: it is the provider's own answer that names it, as with a provider that has deadlines.
 */
export function descriptionOf(description: string, payerName: string, deadlineMs: number): string {
  const parts = [
    cut(description, 200),
    `Pagador: ${cut(payerName, 120)}`,
    `Pagar até ${deadlineText(deadlineMs)}`,
  ];
  return parts.filter((part) => part !== '').join('. ');
}

/** `27/11/2026 14:35:20`, in São Paulo, without a part of a second. */
function deadlineText(ms: number): string {
  const [day = '', time = ''] = new Date(ms - brasiliaMs).toISOString().slice(0, 19).split('T');
  return `${day.split('-').reverse().join('/')} ${time}`;
}

const deadline = /Pagar até (\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d)$/;

const deadlineIn = (description: unknown): number | null =>
  typeof description === 'string' ? momentOf(deadline.exec(description)?.[1]) : null;

/** A payment of Asaas: a charge of ours, or one that it made for a Pix that came without one. */
export interface AsaasPayment {
  id: string;
  /** Our txid, where it was made by us. */
  reference: string | null;
  amountCents: number;
  /** The first moment of the day on which it was made. */
  createdAt: number;
  /** Null: it is not one that we made. */
  expiresAt: number | null;
  status: ChargeReport['status'];
  /** The Pix that it received; null: none. */
  pix: string | null;
  returns: PixReturn[];
}

/** Money came in for these, and may have gone back since. */
const received: ReadonlySet<unknown> = new Set([
  'RECEIVED',
  'CONFIRMED',
  'REFUNDED',
  'REFUND_REQUESTED',
  'REFUND_IN_PROGRESS',
]);

/** Null: it cannot be read. A status that is new leaves the charge open. */
export function readPayment(value: unknown): AsaasPayment | null {
  const payment = recordOf(value);
  const id = textOf(payment?.id);
  const amountCents = centsOf(payment?.value);
  const createdAt = momentOf(payment?.dateCreated);
  if (payment === null || id === null || amountCents === null || createdAt === null) return null;
  if (typeof payment.status !== 'string') return null;
  const isReceived = received.has(payment.status);
  const pix = isReceived ? textOf(payment.pixTransaction) : null;
  // A person marked it in the panel as paid in cash: nothing came, and its code cannot be paid any more.
  const isGone = payment.deleted === true || payment.status === 'RECEIVED_IN_CASH';
  return {
    id,
    reference: textOf(payment.externalReference),
    amountCents,
    createdAt,
    expiresAt: deadlineIn(payment.description),
    status: isReceived ? 'paid' : isGone ? 'removed' : 'open',
    pix,
    returns: returnsIn(payment.refunds),
  };
}

function returnsIn(refunds: unknown): PixReturn[] {
  return (Array.isArray(refunds) ? refunds : []).flatMap((one) => {
    const refund = readRefund(one);
    if (refund === null || (refund.id === null && refund.rtrId === null)) return [];
    const { id, rtrId, amountCents, at, status } = refund;
    return [{ id, rtrId, amountCents, at, status }];
  });
}

// --------------------------------------------------------------------------------------------- refunds

/** The last word of a refund's description: Asaas keeps no id of ours for a refund, and gives its description back. */
export const ownName = /(?:^| )([0-9a-f]{32})$/;

export const refundDescription = (text: string, providerId: string): string =>
  [cut(text, 140), providerId].filter((part) => part !== '').join(' ');

/** An item of `GET /v3/payments/{id}/refunds`; null: it cannot be read. */
export function readRefund(value: unknown): PixReturn | null {
  const refund = recordOf(value);
  const amountCents = centsOf(refund?.value);
  const createdAt = momentOf(refund?.dateCreated);
  if (refund === null || amountCents === null || createdAt === null) return null;
  const { status, description } = refund;
  return {
    id: typeof description === 'string' ? (ownName.exec(description)?.[1] ?? null) : null,
    rtrId: textOf(refund.endToEndIdentifier),
    amountCents,
    at: momentOf(refund.effectiveDate) ?? createdAt,
    status: status === 'DONE' ? 'settled' : status === 'CANCELLED' ? 'failed' : 'pending',
  };
}

/**
 * The refund of ours among those of a payment; null: it is not there. One that is done and does not name its return yet is pending: without the name the
 * same return in a list would be taken for another one.
 */
export function ownRefundIn(items: readonly unknown[], providerId: string): RefundReport | null {
  const own = items.map(readRefund).find((one) => one?.id === providerId);
  if (!own) return null;
  const isDone = own.status === 'settled' && own.rtrId !== null;
  return {
    providerId,
    rtrId: own.rtrId,
    amountCents: own.amountCents,
    status: isDone ? 'completed' : own.status === 'failed' ? 'refused' : 'pending',
    settledAt: isDone ? own.at : null,
    reason: own.status === 'failed' ? 'provider_refused' : null,
  };
}

// ------------------------------------------------------------------------------------------- transfers

export const keyTypeOf = (type: PixKeyType): string => (type === 'RANDOM' ? 'EVP' : type);

/** A transfer; 'foreign': it carries no reference, so it was made in the panel. Null: it cannot be read. */
export function readTransfer(value: unknown): PayoutReport | 'foreign' | null {
  const transfer = readAnyTransfer(value);
  if (transfer === null) return null;
  const { providerId } = transfer;
  return providerId === null ? 'foreign' : { ...transfer, providerId };
}

export type AnyTransfer = Omit<PayoutReport, 'providerId'> & { providerId: string | null };

/** The same of every transfer: the statement has the company's own as well. */
export function readAnyTransfer(value: unknown): AnyTransfer | null {
  const transfer = recordOf(value);
  const providerRef = textOf(transfer?.id);
  const amountCents = centsOf(transfer?.value);
  if (transfer === null || providerRef === null || amountCents === null) return null;
  if (typeof transfer.status !== 'string') return null;
  const providerId = textOf(transfer.externalReference);
  const status = transferStatusOf(transfer.status);
  const account = recordOf(transfer.bankAccount);
  return {
    providerId,
    providerRef,
    amountCents,
    pixKey: textOf(account?.pixAddressKey),
    status,
    endToEnd: textOf(transfer.endToEndIdentifier),
    settledAt: status === 'completed' ? momentOf(transfer.effectiveDate) : null,
    reason: status === 'refused' ? reasonOf(String(transfer.failReason ?? '')) : null,
    returns: [],
    receiver: receiverIn(account),
  };
}

/**
 * The transfer in the question before it leaves. Null: it cannot be read, or it goes otherwise than ours do: `ASAAS_ACCOUNT` is a transfer to a wallet, and
 * `TED` and `INTERNAL` take no key.
 */
export function readAsked(value: unknown): AskedPayout | null {
  const transfer = readAnyTransfer(value);
  const { type, operationType } = recordOf(value) ?? {};
  if (transfer === null || type !== 'BANK_ACCOUNT' || operationType !== 'PIX') return null;
  const { providerId, providerRef = '', amountCents, pixKey } = transfer;
  return { providerId, providerRef, amountCents, pixKey };
}

/** The two ends of docs.asaas.com/docs/transfer-events; a status that is new ends nothing. */
function transferStatusOf(status: string): PayoutReport['status'] {
  if (status === 'DONE') return 'completed';
  return status === 'FAILED' || status === 'CANCELLED' ? 'refused' : 'pending';
}

const receiverIn = (account: Record<string, unknown> | null): Receiver | null =>
  receiverOf({ name: account?.ownerName, taxId: account?.cpfCnpj, bank: recordOf(account?.bank)?.name });

/**
 * The end of a reference with several transfers under it: a repeat makes another one. What left counts before what may leave, and that
 * before what was refused: none of them is refused while another one lives.
 */
export const decisiveOf = (transfers: readonly PayoutReport[]): PayoutReport | undefined =>
  (['completed', 'pending', 'refused'] as const)
    .map((status) => transfers.find((one) => one.status === status))
    .find((one) => one !== undefined);

// ----------------------------------------------------------------------------------------- what moved

/** A Pix of `GET /v3/pix/transactions`. */
export interface AsaasPix {
  id: string;
  endToEnd: string;
  kind: 'received' | 'sent' | 'returned' | 'debited';
  amountCents: number;
  createdAt: number;
  at: number;
  /** The payment or the transfer that it belongs to. */
  paymentId: string | null;
  transferId: string | null;
  reference: string | null;
  /** Of money that went back: the Pix that it gives back. */
  original: string | null;
}

const kinds: Readonly<Record<string, AsaasPix['kind']>> = {
  CREDIT: 'received',
  DEBIT: 'sent',
  DEBIT_REFUND: 'returned',
  CREDIT_REFUND: 'debited',
};

/** 'foreign': it has not moved, or is of a kind that moves no Pix. Null: it cannot be read. */
export function readPix(value: unknown): AsaasPix | 'foreign' | null {
  const pix = recordOf(value);
  if (pix === null || typeof pix.type !== 'string' || typeof pix.status !== 'string') return null;
  const kind = Object.hasOwn(kinds, pix.type) ? kinds[pix.type] : undefined;
  if (kind === undefined || pix.status !== 'DONE') return 'foreign';
  const id = textOf(pix.id);
  const endToEnd = textOf(pix.endToEndIdentifier);
  const amountCents = centsOf(pix.value);
  const at = momentOf(pix.effectiveDate) ?? momentOf(pix.dateCreated);
  if (id === null || endToEnd === null || amountCents === null || at === null) return null;
  return {
    id,
    endToEnd,
    kind,
    amountCents,
    createdAt: momentOf(pix.dateCreated) ?? at,
    at,
    paymentId: textOf(pix.payment),
    transferId: textOf(pix.transferId),
    reference: textOf(pix.externalReference),
    original: textOf(recordOf(pix.originalTransaction)?.endToEndIdentifier),
  };
}

/** Fees of `GET /v3/financialTransactions` end so, and what Asaas gives back of them. */
const feeTypes = /^[A-Z_]{2,60}_FEE(?:_REVERSAL|_REFUND|_CANCELLED)?$/;

/** A line of the statement that is a cost; 'foreign': it is none. Null: it cannot be read. */
export function readCost(value: unknown): ProviderCost | 'foreign' | null {
  const line = recordOf(value);
  if (line === null || typeof line.type !== 'string') return null;
  if (!feeTypes.test(line.type)) return 'foreign';
  const id = textOf(line.id);
  const cents = signedCentsOf(line.value);
  const at = momentOf(line.date);
  return id === null || cents === null || at === null
    ? null
    : { reference: `line:${id}`, amountCents: -cents, at };
}
