import type { components } from './contract.ts';

type Schemas = components['schemas'];

/** A charge (`kind: 'deposit'`) or a transfer. Amounts are integers in cents, times RFC 3339 in UTC. */
export type Payment = Schemas['Payment'];
/** The result of a creation: the payment as it is now, and the key that names the creation. */
export type CreatedPayment = Payment & { requestKey: string };
export type PaymentStatus = Payment['status'];
/** Balance and conditions of a business operation; amounts in cents, `…Bps` in hundredths of a percent. */
export type AccountSummary = Schemas['AccountSummary'];
export type Operation = Schemas['Operation'];
/** The answer to a creation or a rename: a key without `read` gets no balance. */
export type SavedOperation = Schemas['SavedOperation'];
export type OperationList = Schemas['GetOperationsAnswer'];
export type Webhook = Schemas['Webhook'];
/** `secret` is missing when the first answer was lost and the creation was repeated: rotate the secret then. */
export type CreatedWebhook = Schemas['CreatedWebhook'] & { requestKey: string };
export type Delivery = Schemas['Delivery'];

/** The caller's own key for a creation. The client makes one when it is left out. */
interface Keyed {
  /** A UUID. Give the same one again to repeat a creation whose outcome is not known. */
  requestKey?: string | undefined;
}

/** The body of `cardCheckouts.create`. */
export type NewCardCheckout = Omit<Schemas['PostCardCheckoutsBody'], 'requestKey'> & Keyed;
/** The body of `dueCharges.create`. */
export type NewDueCharge = Omit<Schemas['PostPixDuechargesBody'], 'requestKey'> & Keyed;
export type DueChargeChanges = Schemas['PatchPixDuechargesByIdBody'];
export type NewCharge = Omit<Schemas['PostPixChargesBody'], 'requestKey'> & Keyed;
export type NewTransfer = Omit<Schemas['PostPixTransfersBody'], 'requestKey' | 'description'> &
  Keyed & {
    /** Up to 80 characters; empty when it is left out. */
    description?: string | undefined;
  };
export type NewOperation = Omit<Schemas['PostOperationsBody'], 'requestKey'> & Keyed;
export type NewEndpoint = Omit<Schemas['PostWebhooksBody'], 'requestKey'> & Keyed;
export type EndpointChanges = Schemas['PatchWebhooksByIdBody'];
export type SecretRotation = Partial<Schemas['PostWebhooksByIdRotatesecretBody']>;
export type NewSecret = Schemas['PostWebhooksByIdRotatesecretAnswer'];
export type Replay = Pick<Schemas['PostWebhooksByIdReplayBody'], 'from'> &
  Partial<Schemas['PostWebhooksByIdReplayBody']>;

/** A time: a `Date`, or RFC 3339 with an offset or `Z`. */
export type Time = Date | string;

/** Filters of a list are combined. `limit` is the size of a page (1 to 100), not of the list. */
type Filter<Query> = Omit<Query, 'cursor' | 'createdFrom' | 'createdTo' | 'status'> & {
  /** Created at or after. */
  from?: Time | undefined;
  /** Created before. */
  to?: Time | undefined;
};
export type PaymentFilter = Filter<Schemas['GetPaymentsQuery']> & {
  status?: PaymentStatus | readonly PaymentStatus[] | undefined;
};
export type EventFilter = Filter<Schemas['GetEventsQuery']>;

/** One line of the statement. `amountCents` is what the balance changed by (negative: out), `balanceCents` the balance after it. */
export type StatementLine = Schemas['StatementLine'];
/** Without `from` and `to` the whole history. */
export interface StatementPeriod {
  /** First day in São Paulo (`2026-11-01`), or the time from which on. */
  from?: Time | undefined;
  /** Last day, which is included, or the time before which. */
  to?: Time | undefined;
}
/** Totals of the whole period, in cents: every page of a statement has them. */
export type StatementTotals = Pick<
  Schemas['GetStatementAnswer'],
  'openingBalanceCents' | 'closingBalanceCents'
>;
/** Paper of a poster. */
export type PosterSize = NonNullable<Schemas['GetStaticcodesByIdPosterPdfQuery']['size']>;
export type StatementFormat = 'csv' | 'ofx' | 'pdf';
/** `separator` and `bom` are for `csv`: `semicolon` and `yes` as Brazilian spreadsheets like it. */
export type StatementFile = StatementPeriod & Pick<Schemas['GetStatementCsvQuery'], 'separator' | 'bom'>;
export type DeliveryFilter = Omit<Schemas['GetWebhooksByIdDeliveriesQuery'], 'cursor'>;

/** The return of a received payment to its payer, in whole or in part. Amounts in cents. */
export type Refund = Schemas['Refund'];
export type CreatedRefund = Refund & { requestKey: string };
/** A dispute (MED) of a received Pix. Amounts in cents. */
export type Dispute = Schemas['Dispute'];
export type DisputeStatus = Dispute['status'];
/** The merchant's answer to a dispute; the provider takes one. */
export type Defence = Schemas['Defence'];
/** A file that is kept for the defence of a dispute; its size in bytes. */
export type DisputeFile = Schemas['DisputeFile'];
/** A file as it is given: up to 10 MiB. */
export interface NewDisputeFile {
  /** Without a path. */
  name: string;
  type: DisputeFile['type'];
  contents: Blob | Uint8Array<ArrayBuffer>;
}
/** A text, files that were given before, or both: what the provider takes. */
export type NewDefence = Schemas['PostDisputesByIdDefenceBody'];
/** The defence of a dispute, and what a defence may contain at this moment. */
export type DefenceOfDispute = Schemas['GetDisputesByIdDefenceAnswer'];
export interface DisputeFilter {
  /** Size of a page, 1 to 100. */
  limit?: number | undefined;
  status?: DisputeStatus | readonly DisputeStatus[] | undefined;
}
/** All that is left of the payment when the amount is left out. */
export type NewRefund = Omit<Schemas['PostPaymentsByIdRefundsBody'], 'requestKey'> & Keyed;

/**
 * An event; `data` is the payment or the business operation as it was then. `id` is the same in every delivery, stream and
 * list: handle each once. `livemode` is false for test accounts and samples. Types may be added: ignore those that you do not know.
 */
export type VintemEvent = Schemas['Event'];
export type EventType = VintemEvent['type'];
/** An event of a stream; with `cursor` a later `events.follow` continues behind it. */
export type FollowedEvent = VintemEvent & { cursor: string };

/** How far the time of a test account was moved. */
export interface TestClock {
  /** The account's time. */
  now: string;
  /** False: the account has no clock of its own yet, and its time is the real one. */
  started: boolean;
  /** `advancing`: what falls due on the way is being carried out. */
  status: 'ready' | 'advancing';
  /** Where it is being moved to; null while it stands. */
  to: string | null;
}

/** The account that begins after a reset of a test account. */
export interface TestReset {
  ownerId: string;
  /** Its main operation. */
  operationId: string;
}

/** A code to print: each Pix of it becomes a paid charge with `staticCodeId`. */
export type StaticCode = Schemas['StaticCode'];
export type CreatedStaticCode = StaticCode & { requestKey: string };
export type NewStaticCode = Omit<Schemas['PostStaticcodesBody'], 'requestKey'> & Keyed;
export type StaticCodeChanges = Schemas['PatchStaticcodesByIdBody'];

/** A page on which payers make charges of their own, with `paymentLinkId`. */
export type PaymentLink = Schemas['PaymentLink'];
export type CreatedPaymentLink = PaymentLink & { requestKey: string };
export type NewPaymentLink = Omit<Schemas['PostPaymentlinksBody'], 'requestKey'> & Keyed;
export type PaymentLinkChanges = Schemas['PatchPaymentlinksByIdBody'];
