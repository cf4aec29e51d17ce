import type {
  CardPayout,
  CheckoutInstruction,
  CheckoutName,
  CheckoutReport,
  NamedPage,
  RefusedAttempt,
} from './cards.ts';
import type { DisputeReport } from './dispute-report.ts';
import type { DuePayer, DueTerms, DueTermsOffer, PaidParts, ShownTerms } from './due-terms.ts';

/**
 * The port to a settlement provider: an instruction goes out, an outcome comes back. Adapters translate; they
 * decide nothing about money and keep no state but connections and tokens. All amounts are integer cents, all
 * instants milliseconds since 1970.
 *
 * The three endings of a send (and why there is no fourth): *accepted* carries what the provider said of the id;
 * *refused* is an explicit refusal that the provider documents; everything else is *unclear* and proves nothing.
 * `notSent` is the one exception that is certain: no byte was handed to a connection.
 */
export interface Provider {
  /** Its name: the key under which limits, breaker and webhooks of this connection are kept. */
  readonly connection: string;
  /**
   * Which account at the provider is behind it (`identity.ts`). Null: that is not known, or it is another one than before while something is
   * unfinished; then nothing is sent and nothing is asked for.
   */
  readonly identity: string | null;
  readonly capabilities: Capabilities;
  /** Asks which account the credentials are of; only where the provider says that. Everywhere else the credentials themselves do. */
  askAccount?(): Promise<AccountOutcome>;
  createCharge(instruction: ChargeInstruction): Promise<SendOutcome<ChargeReport>>;
  /**
   * `requestedAt`, when our request to create it went out (the payment's creation will do), corrects the deadline of
   * a provider that labels local time as UTC.
   */
  queryCharge(txid: string, requestedAt?: number): Promise<QueryOutcome<ChargeReport>>;
  /**
   * Charges created in the window, oldest first; `requestedAts`, by txid, correct deadlines as above. Where it is given only its charges are asked for, and
   * others may be left out.
   */
  listCharges(
    window: ListWindow,
    requestedAts?: ReadonlyMap<string, number>,
  ): Promise<ListOutcome<ChargeReport>>;
  /**
   * Takes an unpaid charge back, so that its code cannot be paid any more; only where `capabilities.cancelsCharges`. `accepted` reports the charge as it
   * is now; `refused`: the provider does not take it back, and it may have been paid. A repeat is safe: nothing but the charge's end comes of it.
   */
  cancelCharge?(instruction: CancelInstruction): Promise<SendOutcome<ChargeReport>>;
  /**
   * Makes a static code; only where `capabilities.staticCodes` says how. `local`: from the connection's own Pix key, and nothing is asked of the
   * provider. `provider`: by a call, which is safe to repeat under the same identifier.
   */
  createStaticCode?(instruction: StaticCodeInstruction): Promise<SendOutcome<StaticCodeReport>>;
  sendPayout(instruction: PayoutInstruction): Promise<SendOutcome<PayoutReport>>;
  /**
   * The second step of a payout that the provider has and has not sent (`PayoutReport.status` is `prepared`): it sends it. Only where
   * `capabilities.confirmsPayouts`. `accepted` with `prepared` again: the provider did not take the step, and nothing was sent.
   */
  confirmPayout?(confirmation: PayoutConfirmation): Promise<SendOutcome<PayoutReport>>;
  /** `providerRef`: what the provider's first answer named it (`PayoutReport.providerRef`), where there was one. */
  queryPayout(providerId: string, providerRef?: string | null): Promise<QueryOutcome<PayoutReport>>;
  listPayouts(window: ListWindow): Promise<ListOutcome<PayoutReport>>;
  /** Gives a received Pix back to its payer, in whole or in part; only where `capabilities.canRefund`. */
  sendRefund(instruction: RefundInstruction): Promise<SendOutcome<RefundReport>>;
  queryRefund(endToEnd: string, providerId: string): Promise<QueryOutcome<RefundReport>>;
  /** The content of a delivery at our webhook address, or why it is not believed; it may have to ask for keys first. Never throws. */
  parseWebhook(delivery: WebhookDelivery): WebhookContent | Promise<WebhookContent>;
  /** The content of a stored delivery that was believed when it came; null when it cannot be read. Never throws. */
  readWebhook(rawBody: Buffer, receivedAt: number): WebhookNews | null;
  /** A delivery as it may be stored; only where the provider sends more of a card than its brand and last digits. Never throws. */
  redactDelivery?(rawBody: Buffer): Buffer;
  /** Registers our address for deliveries. @throws Error when it does not take the address. */
  registerWebhook(url: string): Promise<void>;
  /** The questions of `vintem doctor` and `vintem connection test`: moves nothing and changes nothing. Never throws. */
  diagnose(expected: { webhookUrl: string }): Promise<Finding[]>;
  /** @throws Error when the provider does not answer with a balance. */
  balance(): Promise<ProviderBalance>;
  /** Money that moved, as it can be listed now; only where `capabilities.statement.lists`. See `StatementLine`. */
  statement(window: ListWindow): Promise<ListOutcome<StatementLine>>;
  /**
   * Returns that moved in the window, whichever way; only where the provider lists them without the Pix that they give back, so that
   * `statement` cannot name it either.
   */
  listReturns?(window: ListWindow): Promise<ListOutcome<UnnamedReturn>>;
  /** The provider's charges in the window, each with a name of its own; only where the provider lists it. */
  listCosts?(window: ListWindow): Promise<ListOutcome<ProviderCost>>;
  /** Orders the report of a day that is over (`2026-11-21`); only where `capabilities.statement.dayReports`. */
  requestDayReport(day: string): Promise<{ outcome: 'requested'; reportId: string } | Unclear>;
  readDayReport(reportId: string): Promise<DayReportOutcome>;
  /** Disputes of received Pix; only where `capabilities.canDispute`. */
  readonly disputes?: {
    /** Those that were opened in the window, as they are now. */
    list(window: ListWindow): Promise<ListOutcome<DisputeReport>>;
    /** Sends the merchant's defence of one; only where `capabilities.defence` is given. */
    defend?(defence: DefenceInstruction): Promise<DefenceOutcome>;
  };
  /**
   * Asks the central directory (DICT) who owns a Pix key, for a person who is about to send money to it; only where the provider offers
   * this. It moves no money, but the directory counts each look-up (`ReceiverOutcome`).
   */
  lookUpReceiver?(pixKey: string): Promise<ReceiverOutcome>;
  /** Only where the provider asks before a payout leaves. */
  readonly withdrawals?: WithdrawalQuestion;
  /** Only where `capabilities.cards`. */
  readonly cards?: CardPages;
  /** Only where `capabilities.dueCharges`. */
  readonly dueCharges?: DueCharges;
  /** Which payment an end-to-end id belongs to, as far as the provider knows it. */
  findPix(endToEnd: string): Promise<QueryOutcome<PixOwner>>;
}

/**
 * The capabilities of a connection. Everything above the port asks this and never the adapter's name. A call that is not offered is not
 * made: its method may throw.
 */
export interface Capabilities {
  /** Money moves. False: the simulator, or a sandbox of the provider. */
  movesMoney: boolean;
  /** `createCharge` and `queryCharge`. */
  charges: boolean;
  /** `sendPayout` and `queryPayout`. */
  payouts: boolean;
  /** `sendPayout` only prepares one, and `confirmPayout` sends it. Absent: one call does both. */
  confirmsPayouts?: true;
  /** A payout is found under our own id. False: only under what the provider's first answer named it. */
  queryPayoutByOwnId: boolean;
  /** A payout of ours may stand in the statement without an id of ours, although it is found under that. Absent: false. */
  statementLacksOwnIds?: boolean;
  /**
   * No answer about a payout names that its receiver gave it back: only the statement has it. Elsewhere the two may name one return differently, and the
   * statement is no evidence against the answer. Absent: false.
   */
  returnsInStatementAlone?: boolean;
  /** `cancelCharge`; where `cards`, `cards.expire`. */
  cancelsCharges: boolean;
  /** Payments by card (`cards`). */
  cards: boolean;
  /** Charges with a due date (`dueCharges`). */
  dueCharges: boolean;
  /** The limits of their terms; absent: there are none. */
  dueTerms?: DueTermsOffer;
  /** How `createStaticCode` makes static codes; null: there are none. */
  staticCodes: 'local' | 'provider' | null;
  /** One listing may answer for many charges. */
  canListCharges: boolean;
  /** The same for payouts. */
  canListPayouts: boolean;
  /** `sendRefund` and `queryRefund`. */
  canRefund: boolean;
  /** Disputes (MED) can be listed. */
  canDispute: boolean;
  /** The allowed content of a dispute's defence; null: none can be sent by a call. */
  defence: DefenceOffer | null;
  /** `balance`. */
  hasBalance: boolean;
  /** A repeat under the same id can never move money twice. */
  repeatIsSafe: boolean;
  /** A refusal reported for an id is final for that id. */
  refusalIsFinal: boolean;
  /** How many sends may be under way at once over the whole installation; null: no limit. */
  maxParallelSends: number | null;
  /**
   * `signed`: deliveries carry a signature over the body; `mtls`: the peer's certificate is pinned; both apply directly.
   * `path`: only the secret address protects them; they wake a query.
   */
  webhookTrust: 'signed' | 'mtls' | 'path';
  /** How long a single query may take, tokens included, in milliseconds; each page of a listing is one. */
  callTimeoutMs: number;
  /** The same for the creation of a charge, a payout and a refund: leases of sends outlive it. */
  sendTimeoutMs: number;
  statement: StatementOffer;
}

/** The means of a connection to find money that moved after its payment had ended, when its webhook was lost. */
export interface StatementOffer {
  /** `statement` can be read. */
  lists: boolean;
  /** Reports of closed days (`requestDayReport`), and where their days begin; null: there are none. */
  dayReports: { utcOffsetMs: number } | null;
}

export interface ChargeInstruction {
  /** The payment id without hyphens. */
  txid: string;
  amountCents: number;
  payerName: string;
  /** A CPF of 11 digits or a CNPJ of 14 characters, where the payer gave one; it goes to the provider where that takes it. */
  payerDocument?: string;
  description: string;
  expirySeconds: number;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

/** Card payments by the page of an acquirer: the payer types the card there, and no number and no token of it comes here. */
export interface CardPages {
  /** Makes the page. A repeat under the same id gives the same page, or is refused, or gives another one, where no payer has the address of the first. No money moves by it. */
  create(instruction: CheckoutInstruction): Promise<SendOutcome<CheckoutReport>>;
  query(checkout: CheckoutName): Promise<QueryOutcome<CheckoutReport>>;
  /**
   * Closes a page that was not paid. `accepted` reports the page as it is now; `refused`: the acquirer does not close it, and it may have been paid. A
   * repeat is safe: nothing but the page's end comes of it.
   */
  expire(page: NamedPage): Promise<SendOutcome<CheckoutReport>>;
  /** Its payouts to the company's own bank, and those that came back, each under the time at which its account changed. */
  listPayouts?(window: ListWindow): Promise<ListOutcome<CardPayout>>;
  /** Approvals and refunds of pages of ours, each under its own time: after a loss of time no delivery names them again. */
  listMoved?(window: ListWindow): Promise<ListOutcome<MovedPage>>;
}

/** The provider's question whether a payout may leave. It comes to an address of its own, under a token of its own. */
export interface WithdrawalQuestion {
  isAuthentic(headers: WebhookDelivery['headers']): boolean;
  /** Null: it cannot be read, or is about something else that would leave the account. Never throws. */
  read(rawBody: Buffer): AskedPayout | null;
  /** The body of the answer. */
  answerOf(approved: boolean): unknown;
  /** Only at the simulator: at the provider a person enters the address of the questions in its panel. @throws Error */
  enterAddress?(url: string): Promise<void>;
}

/** A payout that waits for our word. */
export interface AskedPayout {
  /** Our id; null: it carries none. */
  providerId: string | null;
  /** The provider's own name of it. */
  providerRef: string;
  amountCents: number;
  pixKey: string | null;
}

/** Charges with a due date (`cobv` of API Pix). What a payer owes on a day is computed by the provider, and never here. */
export interface DueCharges {
  create(instruction: DueInstruction): Promise<SendOutcome<ChargeReport>>;
  /** As `Provider.queryCharge`. */
  query(txid: string, requestedAt?: number): Promise<QueryOutcome<ChargeReport>>;
  /** Those created in the window; only where the provider lists them, and not among the others (`Provider.listCharges`). */
  list?(window: ListWindow): Promise<ListOutcome<ChargeReport>>;
  /** As `Provider.cancelCharge`. */
  cancel(instruction: CancelInstruction): Promise<SendOutcome<ChargeReport>>;
  /**
   * Gives an open charge other terms. `accepted` reports the charge with the terms that it has now; `refused`: it has those that it had, or is open no more. A
   * repeat is safe: all terms are named, and no money moves. Absent: `capabilities.dueTerms` denies it.
   */
  change?(instruction: DueChange): Promise<SendOutcome<ChargeReport>>;
}

export interface DueChange {
  /** Of the charge. */
  txid: string;
  amountCents: number;
  terms: DueTerms;
  /** Before the change: a part that it takes away is named with nothing. */
  before: DueTerms;
  /** When our request to create the charge went out: see `queryCharge`. */
  createdAt: number;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

export interface DueInstruction {
  /** The payment id without hyphens. */
  txid: string;
  amountCents: number;
  terms: DueTerms;
  payer: DuePayer;
  /** May be empty. */
  description: string;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

export interface StaticCodeInstruction {
  /** S and 24 letters or digits: the `txid` of every Pix of the code. */
  identifier: string;
  /** As the merchant names it; the payer may read it. */
  name: string;
  /** Null: the payer types it. */
  amountCents: number | null;
  merchantName: string;
  merchantCity: string;
}

export interface StaticCodeReport {
  copyPaste: string;
}

export interface CancelInstruction {
  /** Of the charge. */
  txid: string;
  /** Of the charge, for a provider that does not repeat it. */
  amountCents: number;
  /** When our request to create it went out: see `queryCharge`. */
  createdAt: number;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

export interface PayoutInstruction {
  /** The payment id without hyphens (`idEnvio`). */
  providerId: string;
  /** The amount that the receiver gets: gross minus the account's fee. */
  amountCents: number;
  pixKey: string;
  pixKeyType: PixKeyType;
  description: string;
  /** Of a repeat: when the first request for it may have gone out. Absent: this is the first. */
  repeatOf?: number;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

/** Names the payout that is to be sent now. */
export interface PayoutConfirmation {
  /** As in its `PayoutInstruction`. */
  providerId: string;
  /** The provider's own name of the one that was prepared, where it gave one. */
  providerRef: string | null;
  amountCents: number;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

export interface RefundInstruction {
  /** The received Pix; of a card payment the acquirer's name of the approval. */
  endToEnd: string;
  /** The refund id without hyphens: `id` of the return, ours alone within this Pix. */
  providerId: string;
  /** The id of the charge without hyphens. */
  chargeId?: string;
  /** Of a repeat: when the first request for it may have gone out. Absent: this is the first. */
  repeatOf?: number;
  amountCents: number;
  /** The payer reads it; may be empty. */
  description: string;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

export type PixKeyType = 'EMAIL' | 'CPF' | 'CNPJ' | 'PHONE' | 'RANDOM';

/** The provider's report of a charge. */
export interface ChargeReport {
  txid: string;
  amountCents: number;
  /** `open`: registered and not paid; it stays open after its deadline. */
  status: 'open' | 'paid' | 'removed';
  createdAt: number;
  /** The deadline in the provider's own answer; null when it gives none. */
  expiresAt: number | null;
  copyPaste: string | null;
  /** Every Pix received for it. */
  received: ReceivedPix[];
  /** Of a charge with a due date, where they can be read. */
  due?: ShownTerms;
}

export interface ReceivedPix {
  endToEnd: string;
  amountCents: number;
  paidAt: number;
  /** Null when it names none of ours. */
  txid: string | null;
  /** Money taken back or returned: MED, refunds. */
  returns: PixReturn[];
  /** Of a charge with a due date, where the provider says it. */
  parts?: PaidParts;
}

/** The provider's report of a payout. */
export interface PayoutReport {
  providerId: string;
  /** The provider's own name of it, where queries need one (`Capabilities.queryPayoutByOwnId`). */
  providerRef?: string;
  amountCents: number;
  /** Null where an answer does not repeat it. */
  pixKey: string | null;
  /** `prepared`: the provider has it, and no money of it was sent: that takes a second step, of ours or of a person in the provider's panel. */
  status: 'prepared' | 'pending' | 'completed' | 'refused';
  endToEnd: string | null;
  settledAt: number | null;
  reason: ReasonCode | null;
  returns: PixReturn[];
  /** Absent or null: it does not say who receives it. */
  receiver?: Receiver | null;
}

/** The receiver of a payout, as the provider reports it. */
export interface Receiver {
  name: string;
  /** A CPF with most digits masked, or a CNPJ; null: not reported. */
  taxId: string | null;
  /** Name of the bank, or else its code (ISPB); null: not reported. */
  bank: string | null;
}

/**
 * Look-ups come out of a limit that payments need as well, and an unknown key costs many times more than a known one. So an adapter asks
 * only while enough of that limit is left.
 */
export type ReceiverOutcome =
  | { outcome: 'found'; receiver: Receiver }
  /** No bank has this key. */
  | { outcome: 'notFound' }
  /** Too little of the limit is left, or the provider has not enabled look-ups for this account. */
  | { outcome: 'notAsked'; detail: string }
  | Unclear
  | { outcome: 'notSent'; detail: string };

/** The provider's report of a refund. */
export interface RefundReport {
  providerId: string;
  rtrId: string | null;
  amountCents: number;
  status: 'pending' | 'completed' | 'refused';
  settledAt: number | null;
  reason: ReasonCode | null;
}

/** A return under the names of API Pix; at least one is given. `money/returns.ts` says how they identify it. */
export interface NamedReturn {
  /** Chosen by the party that returns the Pix, unique only within one Pix. */
  id: string | null;
  /** Of the payment system, unique. */
  rtrId: string | null;
  amountCents: number;
  at: number;
}

export interface PixReturn extends NamedReturn {
  /** Only `settled` moves money. */
  status: 'pending' | 'settled' | 'failed';
}

export type ReasonCode =
  | 'pix_key_not_found'
  | 'recipient_refused'
  | 'recipient_account_closed'
  | 'provider_limit'
  | 'provider_refused'
  | 'fraud_suspected'
  /** Rules of the Central Bank forbid payments to this key or its owner (Res. BCB 501/2025). */
  | 'receiver_key_restricted';

export type SendOutcome<Report> =
  /** `restMs`: the provider asks for no further send before this long. */
  | { outcome: 'accepted'; report: Report; restMs?: number }
  /** `defence`: why a defence was refused. */
  | {
      outcome: 'refused';
      reason: ReasonCode;
      detail: string;
      words?: ProviderWords;
      defence?: DefenceRefusal;
    }
  /** The provider knows this id already: it proves that and nothing more. */
  | { outcome: 'duplicate' }
  | Unclear
  /**
   * Without more: the provider was not reached, or refuses our credentials, which ten times in a row stops its calls (`breaker.ts`).
   * `answered`: it is up and no failure of it counts, since it refuses the moment and not the instruction, or the reason is not the provider.
   * `cause`: of the look before the send, which counts as that of any call.
   * `retryAfterMs`: it is not to be tried before.
   * `waits`: its own time has not come, since its charge is not confirmed. It is tried ever more rarely, and its charge's confirmation brings it forward.
   */
  | {
      outcome: 'notSent';
      detail: string;
      answered?: true;
      cause?: UnclearCause;
      retryAfterMs?: number;
      waits?: true;
    };

/** The provider's words in an answer that accepts nothing, for operators: nothing is decided by it. */
export interface ProviderWords {
  /** The status, and the provider's name of the error: `422 pagamento_negado`. */
  name: string;
  /** Its text with ids, keys, documents and names masked; null: it gives none. */
  message: string | null;
}

export interface Unclear {
  outcome: 'unclear';
  cause: UnclearCause;
  detail: string;
  retryAfterMs: number | null;
  /** Of an error that was answered. */
  words?: ProviderWords;
  /** Of a send: a documented refusal was answered, and whether nothing is there could not be looked at. The next query that does not find it decides. */
  refused?: true;
  /** Of a query: what was answered in the place of what was asked for. */
  unread?: UnreadItem;
}

/** `network`: timeout or broken connection (counts for the breaker by itself); the others count as a rate. */
export type UnclearCause = 'network' | 'server' | 'unreadable' | 'rateLimited' | 'unknownRefusal';

export type QueryOutcome<Report> =
  | { outcome: 'found'; report: Report }
  /** Never proof of absence: the first request may still be on its way. */
  | { outcome: 'notFound' }
  | Unclear;

/** Creation times at the provider, both ends included. */
export interface ListWindow {
  fromMs: number;
  toMs: number;
  /** A part of the list would be of no use: where it shows that it is longer than is read, the rest of it is not asked for. */
  wholeOnly?: boolean;
}

/**
 * Three answers that differ: nothing is there (`complete`, empty), more is there than was read (`complete` false), and an item is there
 * that cannot be read (`unread`). An unread item is never a reason to ask for a smaller window, and never counts as absent.
 */
export type ListOutcome<Report> =
  /** All pages of the window were read: every item is a report, an unread item, or none of ours. */
  | { outcome: 'listed'; reports: Report[]; unread: UnreadItem[]; complete: true }
  /** `parts`: into how many windows of equal length this one should be divided for each to be read whole; at least 2. */
  | { outcome: 'listed'; reports: Report[]; unread: UnreadItem[]; complete: false; parts: number }
  | Unclear;

/**
 * The kind that an unread item would have had. `span`: a second of the statement that holds more than can be read. `key`: it can be read, and only a person
 * can act on it: something happened to an API key of the account.
 */
export type UnreadKind =
  | 'charge'
  | 'payout'
  | 'received'
  | 'sent'
  | 'refund'
  | 'return'
  | 'cost'
  | 'dispute'
  | 'report'
  | 'delivery'
  | 'key'
  | 'span';

/** Something that a provider sent and that cannot be read, with what it can be known by. */
export interface UnreadItem {
  kind: UnreadKind;
  /** Of a dispute its id; else the end-to-end id, `txid` or `idEnvio`; null: it names none. */
  name: string | null;
  /** `txid` or `idEnvio`; null: it names none. */
  providerId: string | null;
  /** Of the Pix; of a payment by card the acquirer's own name of the page, or of what was paid on it. Null: it names none. */
  endToEnd: string | null;
  /** As it came: it may hold names, documents and Pix keys, so it is stored sealed and never logged. */
  body: unknown;
}

export interface WebhookDelivery {
  headers: Record<string, string | string[] | undefined>;
  rawBody: Buffer;
  receivedAt: number;
  /** A proxy of ours has verified the peer's certificate; absent: it has not. */
  clientVerified?: boolean;
}

export type WebhookContent =
  /** `authentic` false: stored, but never used. */
  { authentic: false; reason: string } | ({ authentic: true } & WebhookNews);

export interface WebhookNews extends Moves {
  /**
   * Every part of it names our account. A provider signs for all of its customers, and each of them can point its deliveries at our
   * address: what does not say that it is for us is not believed, and what it names is queried.
   */
  addressed: boolean;
  /** Of an acquirer: one of a page that the books do not know is kept for a person. */
  paidPages?: PaidPage[];
  /** Of an acquirer: each is counted once, however often it is delivered. */
  refusedAttempts?: RefusedAttempt[];
  /** Ids of payouts that a person has removed at the provider. Each is queried, and one that is not there any more is a person's to decide. */
  removed?: string[];
}

/** Money that a payer gave, or may have given, on an acquirer's page. */
export interface PaidPage {
  /** The acquirer's own name of it. */
  page: string;
  /** Ours; null: the report does not name it. */
  providerId: string | null;
  /** As it is kept where neither is known here: by the acquirer's own name of the payment. */
  item: UnreadItem;
}

/** Money of a page that moved, as a list of the acquirer says it. */
export interface MovedPage extends Omit<PaidPage, 'page'> {
  /** The acquirer's own name of the page; null: the list does not name it, and it is known by our id. */
  page: string | null;
  /** The acquirer's own name of the approval (`CardApproval.reference`). */
  approval: string;
  /** The names of a refund that was carried out: the acquirer's own, and ours where it repeats it. Null: it is the approval itself. */
  refund: string[] | null;
}

/** Money that moved, as a delivery or a list says it. */
export interface Moves {
  received: ReceivedPix[];
  payouts: PayoutReport[];
  /** Returns of Pix that the delivery names by their end-to-end ids alone. */
  returned?: ReturnOf[];
  /** Ids of ours that it names and says nothing of by itself: each is queried. */
  named?: string[];
  /** The same under the provider's own names: whose these are is asked first (`findPix`). */
  namedAs?: string[];
  /** The parts that cannot be read. */
  unread?: UnreadItem[];
  /** The provider's costs of these. */
  costs?: ProviderCost[];
}

/** A charge of the provider for a service. */
export interface ProviderCost {
  /**
   * Its name at this connection, the same from every source that names it: the Pix and its direction (`costOfPix`), or the
   * provider's own id of the line.
   */
  reference: string;
  /** Above zero: kept by the provider; below: given back. */
  amountCents: number;
  at: number;
}

/** The cost of one Pix: a delivery and the report of the day name it alike. */
export const costOfPix = (
  of: 'received' | 'sent' | 'received back' | 'sent back',
  endToEnd: string,
): string => `${of}:${endToEnd}`;

/** The provider's answer about the account behind credentials. */
export type AccountOutcome = { outcome: 'found'; identity: string } | Unclear;

export interface ReturnOf {
  /** Of the Pix that was given back. */
  endToEnd: string;
  back: PixReturn;
}

/**
 * One movement of the provider's account. In `statement` a return stands under the time of the Pix that it gives back, so one
 * that comes later than the window is not listed; a day report names it on the day it moved.
 */
export interface StatementLine {
  /** Of a return `PixReturn.id`, or else its `rtrId`; else the end-to-end id. */
  id: string;
  /** Of a return that has one. */
  rtrId: string | null;
  at: number;
  /** `returned`: a payout came back. `debited`: a received Pix was given back or taken back. */
  kind: 'received' | 'sent' | 'returned' | 'debited';
  amountCents: number;
  endToEnd: string | null;
  /** `txid` or `idEnvio`; null when the line names none of ours. */
  providerId: string | null;
  /** Of a payout that is found under the provider's own name alone (`PayoutReport.providerRef`). */
  providerRef?: string | null;
}

/** That money went back, and not of which Pix: its delivery alone names that. */
export interface UnnamedReturn {
  rtrId: string;
  amountCents: number;
  at: number;
}

/** A return that a day report names. It proves nothing by itself: the Pix it belongs to is queried. */
export interface ReportedReturn {
  /** `rtrId`, else the end-to-end id of the Pix. */
  id: string;
  rtrId: string | null;
  /** Of the Pix that was given back; null when the report does not name it. */
  endToEnd: string | null;
  /** Null when the report does not say it in a known form. */
  amountCents: number | null;
}

export type DayReportOutcome =
  | { outcome: 'ready'; returns: ReportedReturn[]; unreadable: number; costs?: ProviderCost[] }
  | { outcome: 'pending' }
  /** The provider no longer knows the report: it has to be requested again. */
  | { outcome: 'notFound' }
  | Unclear;

export interface PixOwner {
  direction: 'received' | 'sent';
  /** `txid` or `idEnvio`; null when the provider has none for this Pix. */
  providerId: string | null;
  /** Of a card payment: the acquirer's own name of its page, where the payment names it. */
  page?: string;
}

/** The connections that settings of the environment make; every other one is a row that `vintem connection` made. */
export const environmentConnections = ['simulator', 'live'] as const;

export const isOfEnvironment = (connection: string): boolean =>
  (environmentConnections as readonly string[]).includes(connection);

/** The form of a connection's name: it stands in the address that the provider delivers to, and in references before a colon. */
export const isConnectionName = (text: string): boolean => /^[a-z][a-z0-9-]{1,39}$/.test(text);

/** One thing that `vintem doctor` or `vintem connection test` looked at. */
export interface Finding {
  check: FindingCheck;
  ok: boolean;
  /** The finding in words; holds no secret and no Pix key. */
  message: string;
  /** The remedy; absent where nothing is to be done. */
  action?: string;
}

export type FindingCheck =
  | 'certificate'
  /** Where money does not move though the provider is a real one. */
  | 'environment'
  | 'token'
  /** Whether the account behind the credentials is the one that was there before. */
  | 'account'
  | 'scopes'
  | 'clock'
  | 'pix key'
  /** Whether printed codes name the key of the connection. */
  | 'static codes'
  | 'balance'
  /** Whether the provider asks this service before a payout leaves. */
  | 'approval'
  /** How many look-ups of keys, and so how many payouts, the provider still takes. */
  | 'limits'
  /** How much a day the account may pay out. */
  | 'payout limit'
  /** Whether the provider empties the account by itself. */
  | 'automatic withdrawal'
  /** Whether charges with a due date are made, and from which day on. */
  | 'due-date charges'
  /** Where the provider's costs are read. */
  | 'fees'
  /** Which address is registered for deliveries. */
  | 'webhook'
  /** Whether that address is reached from outside. */
  | 'way in'
  /** Whether a stranger's delivery is refused there. */
  | 'refusal'
  /** Whether accounts of another company than the holder's use it. */
  | 'holder'
  /** Whether the account may take cards. */
  | 'cards';

/** The defence of a dispute that a connection takes. */
export interface DefenceOffer {
  /** The longest text, in UTF-16 code units: no way to count characters gives more. 0: it takes none. */
  textMost: number;
  /** Null: it takes no files. */
  files: { most: number; mostBytes: number; types: readonly FileType[] } | null;
  /** How long `defend` may take, files included, in milliseconds. */
  timeoutMs: number;
}

/** The allowed types of a file, as media types. */
export type FileType = 'application/pdf' | 'image/png' | 'image/jpeg';

/** The merchant contests what the payer claims. */
export interface DefenceInstruction {
  /** The provider's id of the dispute: it takes one defence for each. */
  disputeId: string;
  /** Null where the connection takes files alone. */
  text: string | null;
  /** Empty where the connection takes none. */
  files: readonly DefenceFile[];
}

export interface DefenceFile {
  /** The same in every attempt. */
  id: string;
  name: string;
  type: FileType;
  /** The contents; null when they cannot be had. One after the other: each is up to 10 MiB. */
  read(): Promise<Buffer | null>;
}

/** `deadline_over`, `already_defended`: as the provider says it; `provider_refused`: any other documented refusal. */
export type DefenceRefusal = 'deadline_over' | 'already_defended' | 'provider_refused';

/** As with a send: refused is only what the provider documents, and everything else that is no answer proves nothing. */
export type DefenceOutcome =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; reason: DefenceRefusal; detail: string }
  | Unclear
  /** Not a byte of the defence went out; files that lie at the provider for it are none. */
  | { outcome: 'notSent'; detail: string; retryAfterMs?: number };

export interface ProviderBalance {
  /** As the provider names it. */
  availableCents: number;
  /** All that is in the account, blocked money included. */
  totalCents: number;
  /** In the account and not to be paid out; null when the provider does not say it. */
  blocked: { judicialCents: number; medCents: number; totalCents: number } | null;
}
