import type { AcceptDeps } from '../../server/src/flow/accept.ts';
import { ApiError } from '../../server/src/ground/errors.ts';
import { createLog } from '../../server/src/ground/log.ts';
import type { Secrets } from '../../server/src/ground/secrets.ts';
import { createSignal } from '../../server/src/ground/signal.ts';
import type { ChargeRequest } from '../../server/src/kinds/charge-request/charge-request.ts';
import type { ChangeRequest } from '../../server/src/kinds/due-change/changes.sql.ts';
import { accounts, type Balance, decide } from '../../server/src/money/decide.ts';
import type { Dispute } from '../../server/src/money/dispute.ts';
import type { Intent } from '../../server/src/money/intent.ts';
import { eventKinds } from '../../server/src/money/journal.ts';
import type { Payment } from '../../server/src/money/payment.ts';
import type { Refund } from '../../server/src/money/refund.ts';
import type { KnownReturn } from '../../server/src/money/returns.ts';
import type { PaymentJournal } from '../../server/src/operate/verify/invariants.ts';
import type { Sql, Statement } from '../../server/src/ports/sql.ts';
import type { Capabilities, Provider } from '../../server/src/provider/provider.ts';
import type { EventRow } from '../../server/src/store/events/event.ts';
import type { BalanceRow, EventRef } from '../../server/src/store/ledger.sql.ts';
import type { Conditions } from '../../server/src/store/rows/conditions.sql.ts';
import type { PaymentDisputes } from '../../server/src/store/rows/disputes.sql.ts';
import type { Hold } from '../../server/src/store/rows/holds.sql.ts';
import {
  type CreditedPix,
  type Incident,
  type IncidentCase,
  isOddMoney,
  ruleActor,
} from '../../server/src/store/rows/incidents.sql.ts';
import type { PaymentLink } from '../../server/src/store/rows/payment-links.sql.ts';
import type { RefundSum } from '../../server/src/store/rows/refunds.sql.ts';
import type { KnownReturns } from '../../server/src/store/rows/returns.sql.ts';
import type { Command, Till, View } from '../../server/src/store/till.ts';

/**
 * A runtime of one payment and its refunds without a database: the production commands (accept, start, take over, apply an
 * outcome, resolve an incident) hand their reads, their decision and their writes to the till, and this till is a few maps. So what the search explores is
 * the code that runs, down to the last `if`; only the transaction itself is replaced by "all or nothing".
 */
export interface Columns extends Balance {
  frozen: boolean;
  deleted: boolean;
}

/** The stored rows of one payment. */
export interface Stored {
  payment: Payment | null;
  intent: Intent | null;
  refunds: readonly Refund[];
  /** Of its refunds. */
  refundIntents: readonly Intent[];
  incidents: readonly Incident[];
  /** References of incidents that a person has resolved, with what was decided. */
  resolved: ReadonlyMap<string, string>;
  /** Returns that are known of it. */
  returns: readonly KnownReturn[];
  /** Of its Pix, in the order in which they were read. */
  disputes: readonly Dispute[];
  /** Of the operation, ended ones included, the oldest first. */
  holds: readonly Hold[];
  /** `subject/event/reference` of every journal about it. */
  posted: ReadonlySet<string>;
  /** Sums of its lines on the platform's accounts. */
  clearing: number;
  suspense: number;
  /** The amount that a person's decisions credited out of suspense to the operation, and their cost for it. */
  credited: number;
  borne: number;
  feeRevenue: number;
  /** The amount of the account's own chain that is reserved for returns to payers. */
  ownReserved: number;
  /** Sum of its lines on the operation's own columns after the operation was deleted: must stay zero. */
  afterDeletion: number;
  /** Kinds of movement that were posted, in order. */
  movements: readonly string[];
  /** Of a payment by card and its refunds, and of a charge with a due date, each journal with what it is about: the laws of stored data read them. */
  journals: readonly (PaymentJournal & { subject: string })[];
  /** That a merchant asked to cancel it, and the open work for that. */
  cancel: ChargeRequest | null;
  cancelIntent: Intent | null;
  /** That a merchant asked to change its terms, the first ones first, and the open work for the last one. */
  changes: readonly ChangeRequest[];
  changeIntent: Intent | null;
  /** By which the charge is made, and what was reported of it. */
  link: PaymentLink | null;
  linkEvents: readonly string[];
}

export const nothingStored: Stored = {
  payment: null,
  intent: null,
  refunds: [],
  refundIntents: [],
  incidents: [],
  resolved: new Map(),
  returns: [],
  disputes: [],
  holds: [],
  posted: new Set(),
  clearing: 0,
  suspense: 0,
  credited: 0,
  borne: 0,
  feeRevenue: 0,
  ownReserved: 0,
  afterDeletion: 0,
  movements: [],
  journals: [],
  cancel: null,
  cancelIntent: null,
  changes: [],
  changeIntent: null,
  link: null,
  linkEvents: [],
};

/** How a followed intent stands, for the keys of the models: no times, only the answers that rules take from them. */
export function factsOfIntent(
  intent: Intent,
  now: number,
  overdueAt: number,
): readonly (string | number | boolean)[] {
  const isSending = intent.state === 'sending';
  return [
    intent.state,
    // Rules ask for the first attempt and for none before: what counts is how many ended, up to two.
    Math.min(intent.attempt, isSending ? 3 : 2),
    isSending && (intent.leaseUntil ?? 0) <= now,
    intent.attemptEndedAt !== null,
    intent.absences,
    intent.absentAt !== null && (intent.absences >= 2 || now >= intent.absentAt + 10_000),
    intent.undecidedSince !== null,
    now >= overdueAt,
    (intent.answeredAt ?? 0) >= overdueAt,
    intent.known,
    intent.refused,
  ];
}

export const accountId = '0190a000-0000-7000-8000-000000000001';
export const operationId = '0190a000-0000-7000-8000-00000000000a';
export const connection = 'simulator';
export const identity = Buffer.alloc(32, 7);
export const receiver = 'maria@loja.example';

/** The error of a wrong ledger or a wrong rule. */
export class Violation extends Error {
  override name = 'Violation';
}

const log = createLog('silent');

export class Memory {
  stored: Stored;
  columns: Columns;
  now: number;
  /** A provider call that was begun and has no answer yet. */
  called: string | null = null;
  #ids = 0;
  readonly #conditions: Conditions;

  constructor(stored: Stored, columns: Columns, now: number, fees: Partial<Conditions> = {}) {
    this.stored = stored;
    this.columns = columns;
    this.now = now;
    this.#conditions = { ...conditions, ...fees };
  }

  runtime(capabilities: Capabilities, settings: { transferWaitMs: number }): AcceptDeps {
    const never = new Promise<never>(() => {});
    const call = (name: string) => () => {
      this.called = name;
      return never;
    };
    const provider = {
      connection,
      identity: 'the account',
      capabilities,
      createCharge: call('createCharge'),
      sendPayout: call('sendPayout'),
      confirmPayout: call('confirmPayout'),
      sendRefund: call('sendRefund'),
      cards: { create: call('cards.create'), expire: call('cards.expire') },
      dueCharges: { create: call('dueCharges.create'), change: call('dueCharges.change') },
    } as unknown as Provider;
    const silent = () => {};
    const till: Till = {
      submit: async <Answer>(command: Command<Answer>) => this.submit(command),
      idle: () => Promise.resolve(),
      close: () => {},
    };
    const secrets: Pick<Secrets, 'seal' | 'open'> = {
      seal: (text) => Buffer.from(text),
      open: (sealed) => sealed,
    };
    return {
      sql: { run: (statement: Statement) => Promise.resolve(this.#rows(statement.name)) } as unknown as Sql,
      till,
      clock: {
        now: () => this.now,
        monotonicMs: () => this.now,
        machineMs: () => this.now,
        sleep: () => never,
      },
      ids: { uuid: () => this.#uuid(), bytes: (length: number) => Buffer.alloc(length) },
      secrets: secrets as Secrets,
      log,
      identity,
      providers: new Map([[connection, provider]]),
      connections: { takeUp: () => Promise.resolve() },
      breakers: {
        counted: (_, make) => make(),
        seen: silent,
        allows: () => Promise.resolve(true),
        takeProbe: () => Promise.resolve(null),
        returnProbe: () => Promise.resolve(),
      },
      settings: {
        chargeWaitMs: 6_000,
        chargeExpirySeconds: 3_600,
        pageOf: () => 'https://pay.example.com/pay/1',
        ...settings,
      },
      draining: new AbortController().signal,
      senders: new Map(),
      deferredPending: new Set(),
      outcomes: { outcomeOf: () => Promise.resolve(null), committed: silent },
      wake: createSignal(),
      subscribed: { get: () => undefined, forget: silent },
      eventsWritten: createSignal(),
    };
  }

  /** Reads beside the till: before a return to a payer is sent, other claims on its Pix. */
  #rows(statement: string): unknown[] {
    const { payment, refunds, returns } = this.stored;
    if (statement === 'payment_read') return payment ? [payment] : [];
    if (statement === 'refund_of_payment') return [...refunds];
    if (statement === 'known_return_read')
      return returns.map((one) => ({ ...one, accountId, payment: payment?.id }));
    return [];
  }

  /** No two commands of one path have the same: their times differ, or else the incidents that there are. */
  #uuid(): string {
    const time = this.now.toString(16).padStart(12, '0');
    const there = this.stored.incidents.length.toString(16).padStart(4, '0');
    const count = (++this.#ids).toString(16).padStart(8, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${there}${count}`;
  }

  /** @throws ApiError, OperatorRefused: what refuses the command */
  submit<Answer>(command: Command<Answer>): Answer {
    const { payment, intent, refunds, refundIntents, incidents, resolved, returns, posted } = this.stored;
    const { disputes, holds, cancel, cancelIntent, changes, changeIntent } = this.stored;
    const isOpen = ({ reference }: Incident): boolean => !resolved.has(reference);
    const view: View = {
      balance: (chain) => this.#row(chain.chainId),
      get: <Row>(table: { name: string }, key: string): Row | undefined => {
        switch (table.name) {
          case 'payment':
            return (payment?.id === key.slice(36) ? payment : undefined) as Row | undefined;
          case 'intent':
            return [
              ...(intent ? [intent] : []),
              ...refundIntents,
              ...(cancelIntent ? [cancelIntent] : []),
              ...(changeIntent ? [changeIntent] : []),
            ].find(({ paymentId }) => paymentId === key.slice(36)) as Row | undefined;
          case 'payment_link':
            return (this.stored.link ?? undefined) as Row | undefined;
          case 'refund':
            return refunds.find(({ id }) => id === key.slice(36)) as Row | undefined;
          case 'charge_cancel':
            return (cancel?.id === key.slice(36) ? cancel : undefined) as Row | undefined;
          case 'due_change':
            return changes.find(({ id }) => id === key.slice(36)) as Row | undefined;
          case 'charge_cancel_of_charge':
            return (cancel ?? undefined) as Row | undefined;
          case 'refund_sum':
            return this.#refundSum() as Row;
          case 'refund_of_payment':
            return { accountId, paymentId: payment?.id, refunds } as Row;
          case 'incident_debits':
            return {
              ...{ accountId, paymentId: payment?.id },
              incidents: incidents
                .filter(({ kind, reference }) => kind === 'debit' && reference.startsWith('debit:'))
                .map((one) => caseOf(one, resolved)),
            } as Row;
          case 'incident_reported_gone':
            return { accountId, paymentId: payment?.id, ids: reportedGone(incidents, resolved) } as Row;
          case 'incident_odd':
            return {
              accountId,
              paymentId: payment?.id,
              ids: incidents.filter((one) => isOddMoney(one.kind) && isOpen(one)).map(({ id }) => id),
            } as Row;
          case 'incident_credited':
            return { accountId, paymentId: payment?.id, pix: credited(this.stored) } as Row;
          case 'incident':
            return incidents.find((one) => one.accountId + one.reference === key) as Row | undefined;
          case 'incident_open':
            return (incidents.some(isOpen) ? { accountId, paymentId: payment?.id } : undefined) as
              | Row
              | undefined;
          case 'incident_case':
            return caseOf(
              incidents.find((one) => one.accountId + one.id === key),
              resolved,
            ) as Row | undefined;
          case 'incident_freezing':
            return {
              ids: incidents.filter((one) => one.freezes && isOpen(one)).map(({ id }) => id),
            } as Row;
          case 'suspense_of_pix':
            // One Pix stands in suspense.
            return { leftCents: this.stored.suspense, creditedCents: this.stored.credited } as Row;
          case 'borne_by_operation':
            return { accountId, paymentId: payment?.id, cents: this.stored.borne } as Row;
          case 'known_return':
            return { accountId, payment: payment?.id, returns } as Row;
          case 'conditions':
            return this.#conditions as Row;
          case 'platform':
            return {
              withdrawalsPausedAt: null,
              restoredAt: null,
              uncompared: [] as string[],
              recorded: [] as string[],
            } as Row;
          case 'key_state':
            return {
              accountId,
              id: 'key',
              expiresAt: null,
              revokedAt: null,
              permissions: ['charges', 'transfers', 'refunds'],
            } as Row;
          case 'breaker':
          case 'request_key':
          // The search moves no test clock, and no merchant defends a dispute in it.
          case 'test_clock':
          case 'defence_of_dispute':
            return undefined;
          case 'dispute':
            return { accountId, paymentId: payment?.id, disputes } as Row;
          case 'hold':
            return holds.find(({ id }) => id === key.slice(36)) as Row | undefined;
          case 'hold_open':
            return {
              accountId,
              operationId,
              holds: holds.filter(({ releasedAt }) => releasedAt === null),
            } as Row;
          default:
            throw new Error(`the search knows no table ${table.name}`);
        }
      },
      booked: () => undefined,
      posted: (ref: EventRef) => posted.has(`${ref.subject}/${ref.event}/${ref.reference}`),
    };
    const decision = command.decide(view, this.now);
    this.#apply(decision, command.token);
    return decision.answer;
  }

  /** As `refund_sum` adds it up. */
  #refundSum(): RefundSum | undefined {
    const { payment, refunds } = this.stored;
    if (!payment) return undefined;
    const asked = refunds.filter((one) => one.reason === 'requested' && one.status !== 'failed');
    const takenCents = asked.reduce((sum, one) => sum + one.amountCents, 0);
    const bringBack = asked.filter(({ feeBackCents }) => feeBackCents !== null);
    const feeBasisCents = bringBack.reduce((sum, one) => sum + one.amountCents, 0);
    const feeBackCents = bringBack.reduce((sum, one) => sum + (one.feeBackCents ?? 0), 0);
    const requests = refunds.filter((one) => one.reason === 'requested').length;
    const sums = { takenCents, feeBasisCents, feeBackCents, parts: asked.length, requests };
    return { accountId, paymentId: payment.id, ...sums, connection };
  }

  #apply(decision: ReturnType<Command<unknown>['decide']>, token: string): void {
    let columns = this.columns;
    const stored: { -readonly [K in keyof Stored]: Stored[K] } = { ...this.stored };
    const posted = new Set(stored.posted);
    const movements = [...stored.movements];
    const journals = [...stored.journals];
    for (const { chain, subject, event, reference, movement } of decision.postings ?? []) {
      const own = chain.chainId === operationId;
      const before = own ? columns : { ...emptyAccountChain, reserved: stored.ownReserved };
      const outcome = decide(before, movement);
      if ('refused' in outcome) throw new ApiError(outcome.refused);
      const { lines, balance } = outcome;
      let sum = 0;
      for (const account of accounts) sum += lines[account];
      if (sum !== 0) throw new Violation(`a journal of ${movement.kind} sums to ${sum}`);
      const key = `${subject}/${event}/${reference}`;
      if (posted.has(key)) throw new Violation(`the event reference ${key} was posted twice`);
      posted.add(key);
      movements.push(movement.kind);
      if (stored.payment?.card || stored.payment?.due)
        journals.push({
          ...lines,
          ...{ subject, chainId: chain.chainId, event, template: movement.kind, reference },
          ...{ command: token, pix: null },
        });
      stored.clearing += lines.clearing;
      stored.suspense += lines.suspense;
      stored.feeRevenue += lines.feeRevenue;
      if (own) {
        if (columns.deleted)
          stored.afterDeletion += Math.abs(lines.available) + Math.abs(lines.reserved) + Math.abs(lines.held);
        if (event === eventKinds.resolution) {
          stored.credited -= lines.suspense;
          stored.borne -= lines.available + lines.reserved + lines.held + lines.receivable;
        }
        columns = { ...columns, ...balance };
        continue;
      }
      stored.ownReserved = balance.reserved;
      if (stored.ownReserved < 0)
        throw new Violation(`${movement.kind} took more than was reserved for returns`);
      if (lines.available !== 0 || lines.held !== 0 || lines.receivable !== 0)
        throw new Violation(`${movement.kind} moved columns on the account's own chain`);
    }
    if ((decision.freeze ?? []).length > 0) columns = { ...columns, frozen: true };
    if ((decision.thaw ?? []).length > 0) columns = { ...columns, frozen: false };
    for (const write of decision.writes ?? []) {
      const { name } = write.table;
      if (write.remove !== undefined) {
        if (name !== 'intent') throw new Violation(`a row of ${name} was removed`);
        const id = write.remove.slice(36);
        if (stored.intent?.paymentId === id) stored.intent = null;
        if (stored.cancelIntent?.paymentId === id) stored.cancelIntent = null;
        if (stored.changeIntent?.paymentId === id) stored.changeIntent = null;
        stored.refundIntents = stored.refundIntents.filter(({ paymentId }) => paymentId !== id);
      } else if (name === 'payment') stored.payment = write.put as Payment;
      else if (name === 'refund') stored.refunds = replaced(stored.refunds, write.put as Refund, 'id');
      else if (name === 'intent') {
        const intent = write.put as Intent;
        if (intent.kind === 'refund')
          stored.refundIntents = replaced(stored.refundIntents, intent, 'paymentId');
        else if (intent.kind === 'cancel') stored.cancelIntent = intent;
        else if (intent.kind === 'due_change') stored.changeIntent = intent;
        else stored.intent = intent;
      } else if (name === 'incident_case') {
        stored.resolved = resolvedWith(stored.resolved, write.put as IncidentCase);
      } else if (name === 'incident_ended') {
        stored.incidents = [...stored.incidents, write.put as Incident];
        stored.resolved = resolvedWith(stored.resolved, write.put as IncidentCase);
      } else if (name === 'known_return') stored.returns = (write.put as KnownReturns).returns;
      else if (name === 'dispute') stored.disputes = (write.put as PaymentDisputes).disputes;
      else if (name === 'hold') stored.holds = replaced(stored.holds, write.put as Hold, 'id');
      else if (name === 'payment_link') stored.link = write.put as PaymentLink;
      else if (name === 'event')
        stored.linkEvents = [...stored.linkEvents, ...linkEventsIn(write.put as EventRow)];
      else if (name === 'charge_cancel') stored.cancel = write.put as ChargeRequest;
      else if (name === 'due_change')
        stored.changes = replaced(stored.changes, write.put as ChangeRequest, 'id');
      else if (name === 'incident') stored.incidents = [...stored.incidents, write.put as Incident];
      else if (!unkept.has(name)) throw new Error(`the search knows no table ${name}`);
    }
    for (const column of balanceColumns)
      if (columns[column] < 0) throw new Violation(`${column} fell to ${columns[column]}`);
    this.columns = columns;
    this.stored = { ...stored, posted, movements, journals };
  }

  #row(chainId: string): BalanceRow {
    const own = chainId === operationId;
    const columns = own ? this.columns : emptyAccountChain;
    return {
      ...columns,
      accountId,
      chainId,
      seq: 0,
      head: Buffer.alloc(32),
      updatedAt: 0,
      deletedAt: columns.deleted ? 1 : null,
    };
  }
}

const balanceColumns = ['available', 'reserved', 'held', 'receivable', 'holdWanted', 'cardHeld'] as const;

const linkEventsIn = ({ type }: EventRow): string[] => (type.startsWith('payment_link.') ? [type] : []);

/** In the order of their beginnings. */
function replaced<Row>(rows: readonly Row[], row: Row, id: keyof Row): Row[] {
  const at = rows.findIndex((one) => one[id] === row[id]);
  return at < 0 ? [...rows, row] : rows.with(at, row);
}

/** With the decision about an incident, or without one that a rule takes back. */
function resolvedWith(
  resolved: ReadonlyMap<string, string>,
  { reference, state, resolution }: IncidentCase,
): Map<string, string> {
  const after = new Map(resolved);
  after.delete(reference);
  if (state === 'resolved')
    after.set(reference, resolution?.actor === ruleActor ? byRule : (resolution?.action ?? ''));
  return after;
}

const byRule = 'none by rule';

/** Refunds that failed here and that the provider reports as carried out, or with another amount. */
const reportedGone = (incidents: readonly Incident[], resolved: ReadonlyMap<string, string>): string[] =>
  incidents.flatMap(({ kind, reference }) => {
    const [, id = '', reported] = reference.split(':');
    const isGone = kind === 'refund_contradiction' && reported === 'completed';
    return isGone || (kind === 'refund_mismatch' && !resolved.has(reference)) ? [id] : [];
  });

/** Pix that stood in suspense and that a person credited, beside the one that paid the charge. */
const credited = ({ payment, incidents, refunds, resolved }: Stored): CreditedPix['pix'] =>
  incidents
    .filter(({ reference }) => resolved.get(reference) === 'credit')
    .filter(({ kind }) => creditedKinds.has(kind))
    .map(({ kind, reference, amountCents: cents }) => {
      const [, id, pix = ''] = reference.split(':');
      const refund = kind === 'return_refused' ? refunds.find((one) => one.id === id) : undefined;
      return { endToEnd: refund?.endToEnd ?? pix, cents };
    })
    .filter(({ endToEnd }) => endToEnd !== payment?.endToEnd);

const creditedKinds: ReadonlySet<Incident['kind']> = new Set([
  'amount_mismatch',
  'second_payment',
  'failed_charge_paid',
  'return_refused',
]);

function caseOf(
  incident: Incident | undefined,
  resolved: ReadonlyMap<string, string>,
): IncidentCase | undefined {
  if (!incident) return undefined;
  const action = resolved.get(incident.reference);
  const state = action === undefined ? 'open' : 'resolved';
  const decided =
    action === byRule ? { action: 'none', actor: ruleActor } : { action: action ?? '', actor: 'operator' };
  const resolution = action === undefined ? null : { ...decided, reason: '', command: '-' };
  return { ...incident, state, resolvedAt: null, resolution, keptAt: null };
}

const emptyAccountChain: Columns = {
  available: 0,
  reserved: 0,
  held: 0,
  receivable: 0,
  holdWanted: 0,
  cardHeld: 0,
  frozen: false,
  deleted: false,
};

const conditions: Conditions = {
  accountId,
  enabled: true,
  withdrawalsBlocked: false,
  withdrawalFeeCents: 25,
  withdrawalFeeBps: 0,
  depositFeeCents: 0,
  depositFeeBps: 0,
  minimumDepositCents: 200,
  maximumDepositCents: 200_000,
  minimumWithdrawalCents: 1_000,
  maximumWithdrawalCents: 1_000_000,
  refundFees: 'kept',
  cardConnection: null,
  cardFeeCents: 0,
  cardFeeBps: 0,
  minimumCardCents: 500,
  maximumCardCents: 200_000,
  returnHosts: [],
};

/** Tables of the till that no rule of a payment reads back. */
const unkept: ReadonlySet<string> = new Set([
  'incident_open',
  'refund_sum',
  'request_key',
  'audit',
  'hold_open',
  'late_query',
  'charge_cancel_of_charge',
]);
