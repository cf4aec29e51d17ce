import type { PixKeyType, ReasonCode, Receiver } from '../provider/provider.ts';
import type { CardPayment } from './card.ts';
import type { DueCharge } from './due.ts';
import type { FiscalDocument } from './fiscal-documents.ts';
import type { Metadata } from './metadata.ts';
import type { RequestCause } from './sent-kinds.ts';

export const paymentKinds = ['deposit', 'transfer'] as const;
export type PaymentKind = (typeof paymentKinds)[number];

export const paymentStatuses = [
  'draft',
  'unknown',
  'pending',
  'paid',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
export type PaymentStatus = (typeof paymentStatuses)[number];

/** Why a state was entered. There is no cause "a caller approved it". */
export type Cause =
  /** A call of a program or a person; `id` is its request id. */
  | ({ by: 'api' } & CallCause)
  /** A rule of the service refused what a call asked for; nothing was sent. `id` is the call's request id. */
  | ({ by: 'rule' } & CallCause)
  /** The answer to a send; `id` is the intent's fence. */
  | { by: 'answer'; id: string }
  /** A stored delivery of the provider; `id` is the row's. */
  | { by: 'webhook'; id: string }
  /** An authenticated query; `id` is the query's. */
  | { by: 'query'; id: string }
  /** An operator, audited; `id` is the incident's. */
  | { by: 'operator'; id: string }
  /** Nothing was sent over the connection `from`, so that the charge is sent over another one. `id` is the command's. */
  | { by: 'route'; id: string; from: string }
  /** A call made a request about the charge, whose state is what it was. `id` is the call's request id. */
  | ({ by: RequestCause } & CallCause)
  /** A draft expired without confirmation; `id` is the draft's own. */
  | { by: 'clock'; id: string };

/** One of the two, or neither: from the command line, or written before it was recorded. */
interface CallCause {
  id: string;
  /** The public part of the API key. */
  keyId?: string;
  /** The person in the panel. */
  userId?: string;
}

type CallBy = 'api' | 'rule' | RequestCause;

/** The call that caused a state, with the key or the person behind it. */
export const causeOfCall = (
  by: CallBy,
  { requestId, keyId, userId }: { requestId: string; keyId: string | null; userId?: string },
): Cause => ({ by, id: requestId, ...(keyId !== null && { keyId }), ...(userId && { userId }) });

const causesElsewhere: Readonly<Record<Exclude<Cause['by'], CallBy>, true>> = {
  answer: true,
  webhook: true,
  query: true,
  operator: true,
  route: true,
  clock: true,
};

/** With the key or the person behind it. */
export const isOfCall = (cause: Cause): cause is Extract<Cause, { by: CallBy }> =>
  !(cause.by in causesElsewhere);

export interface HistoryStep {
  status: PaymentStatus;
  /** ISO 8601, milliseconds. */
  at: string;
  cause: Cause;
}

/** A *payment operation* of the interface. Cents are integers, instants milliseconds since 1970. */
export interface Payment {
  accountId: string;
  id: string;
  operationId: string;
  kind: PaymentKind;
  status: PaymentStatus;
  /** A charge's amount; a transfer's gross, fee included. */
  amountCents: number;
  /** The account's fee at creation. */
  feeCents: number;
  requestKey: string;
  fingerprint: Buffer;
  description: string;
  /** Null: none. */
  metadata: Metadata | null;
  /** The life of a charge's code that was asked for; null: as the setting says. */
  expiresInMinutes: number | null;
  /** Of a charge; null: none. */
  fiscalDocuments: readonly FiscalDocument[] | null;
  payerName: string | null;
  /** Encrypted at rest: `secrets.ts` opens it right before a send. */
  pixKey: Buffer | null;
  pixKeyType: PixKeyType | null;
  /** The receiver of a transfer, as far as the provider reported it. */
  receiver: Receiver | null;
  createdAt: number;
  updatedAt: number;
  settledAt: number | null;
  paidAt: number | null;
  expiresAt: number | null;
  copyPaste: string | null;
  endToEnd: string | null;
  notice: Notice | null;
  reasonCode: PaymentReason | null;
  providerFeeCents: number | null;
  netAmountCents: number | null;
  returnedCents: number;
  /** The amount that refunds of a charge have given back. */
  refundedCents: number;
  /** A dispute of a Pix of this charge is known: what it wants is held with the posting of the Pix. */
  disputed: boolean;
  history: HistoryStep[];
  /** The token of the command that created it. */
  command: string;
  /** The static code that a payer paid: such a charge has no life at the provider but its Pix. Null: it is none of a code. */
  staticCodeId: string | null;
  /** The payment link that it was made by; null: by none. */
  paymentLinkId: string | null;
  /** The page and the card of a payment by card; null: it is none. */
  card: CardPayment | null;
  /** Of a charge with a due date; null: it has none. */
  due: DueCharge | null;
  /** Of such a charge: its payer's document and address, encrypted at rest. */
  payer: Buffer | null;
  /** Of a charge by a link: name and document that its payer gave, encrypted at rest; null: the payer gave no document. */
  linkPayer: Buffer | null;
  /** The same document, most of it masked. */
  payerDocument: string | null;
  /** Over which it is sent and followed; null: older than this field, so the account's first one. */
  connection: string | null;
}

/** The fields that a payment has from its first moment on. */
export type Begun = Pick<
  Payment,
  | 'accountId'
  | 'id'
  | 'operationId'
  | 'kind'
  | 'amountCents'
  | 'feeCents'
  | 'requestKey'
  | 'fingerprint'
  | 'description'
  | 'payerName'
  | 'pixKey'
  | 'pixKeyType'
  | 'command'
  | 'connection'
> &
  Partial<
    Pick<
      Payment,
      | 'metadata'
      | 'expiresInMinutes'
      | 'fiscalDocuments'
      | 'staticCodeId'
      | 'paymentLinkId'
      | 'card'
      | 'due'
      | 'payer'
      | 'linkPayer'
      | 'payerDocument'
    >
  >;

/** A payment in its first state; nothing is known from the provider yet. */
export const newPayment = (
  begun: Begun,
  status: 'draft' | 'unknown',
  now: number,
  cause: Cause,
): Payment => ({
  ...begun,
  metadata: begun.metadata ?? null,
  staticCodeId: begun.staticCodeId ?? null,
  paymentLinkId: begun.paymentLinkId ?? null,
  expiresInMinutes: begun.expiresInMinutes ?? null,
  fiscalDocuments: begun.fiscalDocuments ?? null,
  card: begun.card ?? null,
  due: begun.due ?? null,
  payer: begun.payer ?? null,
  linkPayer: begun.linkPayer ?? null,
  payerDocument: begun.payerDocument ?? null,
  receiver: null,
  status,
  createdAt: now,
  updatedAt: now,
  settledAt: null,
  paidAt: null,
  expiresAt: null,
  copyPaste: null,
  endToEnd: null,
  notice: null,
  reasonCode: null,
  providerFeeCents: null,
  netAmountCents: null,
  returnedCents: 0,
  refundedCents: 0,
  disputed: false,
  history: [{ status, at: new Date(now).toISOString(), cause }],
});

/** A notice to the merchant beside the state; its texts are in `view.ts`, in both languages. */
export type Notice =
  /** A completed transfer came back, in whole or in part. */
  | 'returned'
  /** The provider took a received Pix back. */
  | 'debited'
  /** A charge received another amount than asked; what comes of it is decided by a person. */
  | 'paid_other_amount'
  /** A paid charge was paid again. */
  | 'paid_again'
  /** A failed charge was paid. */
  | 'paid_after_failure'
  /** The static code names an amount, and the payer sent another one. */
  | 'amount_differs_from_code'
  /** The static code was retired before; its paper is still paid. */
  | 'code_retired'
  /** The merchant asked to cancel the charge; shown until it has ended. */
  | 'cancel_requested'
  /** A person has decided about money that a charge received beside what it asked for: to the balance, back to the payer, or to neither. */
  | 'odd_credited'
  | 'odd_returned'
  | 'odd_kept';

export type PaymentReason =
  | ReasonCode
  | 'cancelled_by_merchant'
  | 'cancelled_by_operator'
  | 'draft_expired'
  | 'draft_cancelled'
  /** Five wrong codes. */
  | 'draft_locked';

/** Every reason, for the document. */
export const reasonCodes = [
  'pix_key_not_found',
  'recipient_refused',
  'recipient_account_closed',
  'provider_limit',
  'provider_refused',
  'fraud_suspected',
  'receiver_key_restricted',
  'cancelled_by_merchant',
  'cancelled_by_operator',
  'draft_expired',
  'draft_cancelled',
  'draft_locked',
] as const satisfies readonly PaymentReason[];

const terminal: ReadonlySet<PaymentStatus> = new Set(['paid', 'completed', 'failed', 'expired', 'cancelled']);

export const isTerminal = (status: PaymentStatus): boolean => terminal.has(status);

/** Nothing was sent or received, and no fee was taken. */
export const endedWithoutMoney = (status: PaymentStatus): boolean =>
  status === 'failed' || status === 'expired' || status === 'cancelled';

/** `txid` and `idEnvio`: the payment id without hyphens. */
export const providerIdOf = (paymentId: string): string => paymentId.replaceAll('-', '');

/** The payment id behind a provider's id, or null when it cannot be one of ours. */
export function paymentIdOf(providerId: string): string | null {
  if (!/^[0-9a-fA-F]{32}$/.test(providerId)) return null;
  const hex = providerId.toLowerCase();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
