import type { Caller } from '../ground/caller.ts';
import type { ErrorCode } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { Permission } from '../ground/permissions.ts';
import type { CardPayment } from '../money/card.ts';
import type { AttemptResult, Intent } from '../money/intent.ts';
import type { Payment, PaymentReason, PaymentStatus } from '../money/payment.ts';
import type { RequestCause, SentKind, ShownRequest } from '../money/sent-kinds.ts';
import type { OpenedIncident } from '../money/state.ts';
import type { Clock } from '../ports/clock.ts';
import type { CommandIds, Ids } from '../ports/ids.ts';
import type { Queries, Sql } from '../ports/sql.ts';
import type { Capabilities, Provider, QueryOutcome, SendOutcome, UnreadKind } from '../provider/provider.ts';
import type { Table } from '../store/database/table.ts';
import type { EventType } from '../store/events/event.ts';
import type { SubscribedTypes } from '../store/events/subscribed-types.ts';
import type { EventRef, PixRef } from '../store/ledger.sql.ts';
import type { AccountState } from '../store/rows/conditions.sql.ts';
import type { ChainKey, Posting, Read, View, Write } from '../store/till.ts';

/**
 * Every request to a provider has one life: admitted under the lock and recorded, sent under one identity, reported, queried, ended
 * and posted. `flow/` has this life, once. A kind says what is its own: what a request of it is, when it is admitted, which call sends it and
 * which queries it, and what a report makes of it. Everything that decides is pure.
 */
export interface Kind<Row extends Sent, Order, Report, News> {
  readonly name: SentKind;
  /** The permission that a key needs for it. */
  readonly permission: Permission;
  /** Its name in the breaker. */
  readonly call: CallKind;
  /** Where the rows are; keyed by 36 characters of account and 36 of its own id. */
  readonly table: Table<Row>;
  /** Money leaves an operation: a pause, a block and a freeze stop it. */
  readonly isWithdrawal: boolean;
  /** How long its call may take; absent: as any send of the connection. */
  timeoutMs?(can: Capabilities): number;
  /** A failure of its call says more of what was sent than of the provider: only a success counts for the breaker. */
  readonly failsByItself?: true;
  /** It is taken from a disabled account as well. */
  readonly whileDisabled?: true;
  /** It counts among the sends that an adapter limits (`maxParallelSends`). */
  readonly isLimited: boolean;
  /** Where certainly nothing of it was sent, the next connection of the account's list may take it. */
  readonly mayMove: boolean;
  /** Where a worker sends it, its caller waits for the outcome all the same. */
  readonly isAwaited: boolean;
  /** The event of its first confirmation, where logs may leave that out; null: nothing is written of it. */
  readonly createdEvent: EventType | null;
  /** The error for one that is not there. */
  readonly notFound: ErrorCode;
  /** Unread items of this kind are read once a query has found it. */
  readonly unread: readonly UnreadKind[];
  /** Of a request about a charge; absent: it is none. */
  readonly request?: AboutCharge;
  /** Whether the connection has its call; one that may be on another connection than its account answers in `admit`. */
  offers(can: Capabilities): boolean;
  isOpen(row: Row): boolean;
  /** The payment that an incident of it names, and further details to show. */
  subjectOf(row: Row): { paymentId: string; detail: object };
  /** The incident of one whose end a person has to find out; null: no person can, and its deadline ends it. */
  undecided(row: Row): OpenedIncident | null;
  /** A person looks at it already, so that no answers without an end are an incident. */
  isLookedAt(view: View, row: Row): boolean;

  /** Over which connection it goes; absent: over that of the caller. */
  connectionOf?(sql: Queries, caller: Caller, order: Order): Promise<string>;
  /** The fields that a repeat must share with the first request, besides the operation. */
  asked(order: Order): Readonly<Record<string, string | number | boolean | null>>;
  /** The part of the order that is stored sealed; null: none. */
  secretOf?(order: Order): string | null;
  /** How long the caller waits for the provider, in milliseconds. */
  waitMs(settings: SendSettings): number;
  admissionReads?(accountId: string, order: Order): Read[];
  /** The rules of the kind, after those of key, account, platform and provider. @throws ApiError what refuses the order */
  admit(view: View, admission: Admission<Order>, now: number): Admitted<Row>;
  /** The same row on the connection that has its id already; absent: no list is searched for it. */
  adopted?(row: Row, connection: string): Row;
  /** It ends before anything was sent. */
  refused?(row: Row, context: RefusalContext): { row: Row; postings: Posting[]; writes: Write[] };

  /** Makes the call, or the outcome of a call that must not be made. */
  prepare(deps: PrepareDeps, row: Row, sending: Sending): Promise<Prepared<Report>>;

  /** The row as read before a query; null: there is nothing to query. */
  locate(sql: Sql, asked: Asked): Promise<Located<Report> | null>;

  /** An observation, with the facts that its kind needs before the lock. */
  observed(row: Row, connection: string, observation: Answered<Report>): Observed<Observation<Report, News>>;
  /** The locks, reads and decision of the command for an observation. */
  hear(observed: Observed<Observation<Report, News>>): Hearing<Row>;
}

/** A kind as `flow/` sees it, which hands orders and reports from one of its functions to the next: `Kind` binds the types of each. */
// biome-ignore lint/suspicious/noExplicitAny: what stands here is known inside of the kind alone.
export type KindOf<Row extends Sent, Order = any> = Kind<Row, Order, any, any>;

// biome-ignore lint/suspicious/noExplicitAny: the same for rows, where kinds of all rows stand together.
export type AnyKind = KindOf<any>;

/** The part that the charge of a request needs of it, and those who show the request. */
export interface AboutCharge {
  /** It stands in the charge's history. */
  cause: RequestCause;
  /** Its name for people; null: no page and no answer shows its id. */
  shownAs: ShownRequest | null;
  /** The column that says how it ended; null: its charge says it alone. */
  outcome: string | null;
  /** The id of the one of this charge, where there is one. */
  openOf(view: View, charge: Payment): string | undefined;
  /** The writes with which it ends by this step of its charge; none: it stays open, or is over already. */
  endedWith(view: View, id: string, charge: ChangedCharge, announced: Announced, now: number): Write[];
}

/** A charge before and after a step. */
export interface ChangedCharge {
  before: Payment;
  after: Payment;
}

/** How its events are written. */
export interface Announced {
  ids: Pick<Ids, 'uuid'>;
  livemode: boolean;
  /** Of a deleted operation no event is written. */
  silent: boolean;
}

export type CallKind = 'charge' | 'payout' | 'refund' | 'cancel' | 'defence' | 'query';

/** A row of what was sent. */
export interface Sent {
  accountId: string;
  id: string;
  operationId: string;
  status: PaymentStatus;
  amountCents: number;
  fingerprint: Buffer;
  createdAt: number;
  expiresAt?: number | null;
  /** Of a card payment. */
  card?: Pick<CardPayment, 'releaseAt'> | null;
}

export interface SendSettings {
  /** How long `POST /pix/transfers` waits for the provider; 0 leaves the sending to the workers. */
  transferWaitMs: number;
  /** Charges always wait: a charge is of use only with its code. */
  chargeWaitMs: number;
  /** The life that is asked of the provider for a charge. */
  chargeExpirySeconds: number;
  /** The public page of a charge: acquirers send the payer back to it. */
  pageOf(accountNumber: number, paymentId: string): string;
}

// ---------------------------------------------------------------------------------------------------------------- accept

export interface Admission<Order> {
  caller: Caller;
  order: Order;
  account: AccountState;
  connection: string;
  /** Undefined: this process does not know the connection. */
  can: Capabilities | undefined;
  id: string;
  fingerprint: Buffer;
  /** The secret of the order, sealed for this id. */
  sealed: Buffer | null;
  /** Of the command. */
  token: string;
}

export interface Admitted<Row> {
  row: Row;
  /** The refusal is known beforehand: it is recorded as ended and never sent. */
  refusedAs: PaymentReason | null;
  postings: Posting[];
  /** Besides the row and its intent. */
  writes: Write[];
}

export interface RefusalContext {
  reason: PaymentReason;
  caller: Caller;
  connection: string;
  token: string;
  now: number;
}

// ------------------------------------------------------------------------------------------------------------------ send

export interface PrepareDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  settings: SendSettings;
}

export interface Sending {
  /** Over which it goes. */
  connection: string;
  can: Capabilities;
  /** An earlier attempt was made. */
  repeat: boolean;
  /** The first step is done, and the second alone goes out; null: it begins with the first. */
  second: SecondStep | null;
  /** W3C Trace Context of the waiting caller. */
  traceparent: string | undefined;
}

/** Names what the provider has prepared. */
export interface SecondStep {
  /** The provider's own name of it, where it gave one. */
  providerRef: string | null;
}

export type SendCall<Report> = (provider: Provider) => Promise<SendOutcome<Report>>;

export type Prepared<Report> = SendOutcome<Report> | SendCall<Report> | TwoSteps<Report>;

/** A provider that first takes what is to be sent, and sends it by a second call (`money/intent.ts`, `step`). */
export interface TwoSteps<Report> {
  first: SendCall<Report>;
  /** The second call after such an answer to the first; null: it has no second, or the answer is about something else. */
  second(answered: Report): (SecondStep & { call: SendCall<Report> }) | null;
}

// ------------------------------------------------------------------------------------------------------------------- ask

/** The part of an intent that a query needs. */
export type Asked = Place &
  Pick<Intent, 'createdAt' | 'providerRef'> & {
    /** The acquirer's own name of a page or of what was paid on it, which may be another page than the payment has here; absent: its own. */
    page?: string;
  };

export interface Located<Report> {
  query(provider: Provider): Promise<QueryOutcome<Report>>;
  /** An observation, with the facts that its kind needs before the lock. */
  observed(connection: string, observation: Answered<Report>): Observed;
}

// ------------------------------------------------------------------------------------------------------------------ hear

/** The sent row, as its intent names it: `paymentId` is its own id. */
export type Place = Pick<Intent, 'accountId' | 'paymentId' | 'operationId' | 'connection' | 'kind'>;

/** An observation of the provider, and what it concerns. */
// biome-ignore lint/suspicious/noExplicitAny: what was seen is known inside of the kind alone.
export type Observed<Seen = any> = Place & {
  observation: Seen;
  /** The row that it makes where there is none; absent: an observation of what is not there is refused. */
  birth?: Birth<Sent>;
};

/** A row that an observation itself makes: nothing of it was ever sent. */
export interface Birth<Row extends Sent> {
  /** Besides those of the observation. */
  reads: Read[];
  /** As it is before the observation; null: it cannot be made. */
  row(view: View, now: number, token: string): Row | null;
  /** Written with it, once it has ended. */
  writes(view: View, after: Row): Write[];
}

export type Observation<Report, News> = Answered<Report> | News;

/** An answer of the provider to a call of ours. */
export type Answered<Report> =
  | { from: 'send'; fence: string; outcome: SendOutcome<Report> }
  | {
      from: 'query';
      id: string;
      startedAt: number;
      outcome: QueryOutcome<Report>;
      /** It comes from a list, whose silence about an id proves less than the answer to a query for it: a list has a window and may lag. */
      isList?: true;
      /** The provider has said that a person removed it there: where it does not find it, no later answer will end it. */
      removed?: true;
    };

export interface Hearing<Row> {
  /** The operation's is among them. */
  chains: ChainKey[];
  /** Besides the row and its intent. */
  reads: Read[];
  eventRefs: EventRef[];
  pix: PixRef[];
  /** @returns null: the observation says nothing of it */
  decide(view: View, stored: OnRecord<Row>, now: number): Heard<Row> | null;
}

/** Its stored row, and further facts that an answer depends on. */
export interface OnRecord<Row> {
  row: Row;
  intent: Intent | undefined;
  /** Of its connection. */
  capabilities: Capabilities;
  /** The event types that this account's log keeps. */
  subscribed: SubscribedTypes;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  ids: CommandIds;
  /** The ends of requests about a charge, and what goes out with its confirmation. */
  requestsEndedWith(view: View, before: Payment, after: Payment, announced: Announced, now: number): Write[];
}

export interface Heard<Row> {
  /** Itself when nothing changes. */
  row: Row;
  /** The change of the intent; null when the intent stays as it is. */
  ending: AttemptResult | null;
  /** It reports a refusal that does not count: a person has to decide. */
  undecided: boolean;
  /** How the provider names it, where its queries need that. */
  providerRef: string | null;
  /** Where it goes from now on, in as far as nothing of it was sent; absent: where it is. */
  connection?: string;
  /** Those that are wanted, also where they were opened before. */
  incidents: readonly OpenedIncident[];
  postings: Posting[];
  /** Besides the row and its intent. */
  writes: Write[];
  /** The report's news of others, which is applied to them afterwards. */
  others: readonly Observed[];
  /** The payments that the report may be about: they are queried, and the report is applied again later. */
  unclear: readonly Pick<Place, 'accountId' | 'paymentId'>[];
}
