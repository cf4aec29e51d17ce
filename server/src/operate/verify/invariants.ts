import { requestsAboutCharges } from '../../kinds/registry/kinds.ts';
import type { Taking } from '../../money/card.ts';
import {
  headOf,
  type Moved,
  movedInAll,
  type StoredConnectionClose,
  type StoredDayClose,
} from '../../money/day-closes.ts';
import { accounts as lineAccounts, type Movement } from '../../money/decide.ts';
import { type DueCharge, feeOfReceived, partsFit } from '../../money/due.ts';
import { chainStart, eventKinds, hashOf, type Journal } from '../../money/journal.ts';
import type { RequestCause, SentKind } from '../../money/sent-kinds.ts';
import { homeCell } from '../../store/database/cells.ts';
import { type ChainedAudit, hashOfAudit } from '../../store/rows/audit-chain.ts';

/**
 * The invariants, each under its number, coded once: `verify` examines a running installation with it, and so do the
 * simulation after its steps and every test rig at its end.
 *
 * An invariant speaks of one journal, one chain, one account's operations, one payment, of everything together, or of what the
 * provider itself holds true (which only a rig can see). Functions of rows, without I/O: null where it holds, else a
 * sentence that names the fault and stays the same however often it is looked at. Where rows cannot show it, `notHere`
 * says why, and what shows it.
 *
 * **Exact under load.** What is compared always comes from one statement, or from what never changes: a chain's columns and
 * head are read first, then the immutable journals below that head. So no snapshot is held for longer than a page takes.
 */
export interface Invariant {
  number: number;
  name: string;
  journal?(journal: StoredJournal, before: ChainState, chain: Chain): Fault;
  chain?(chain: Chain, sums: ChainState): Fault;
  account?(account: StoredAccount): Fault;
  payment?(payment: StoredPayment, world: World): Fault;
  /**
   * @param sums up to the close's last journal
   * @param before the close before it
   * @param moved since that one; null where that was not summed
   */
  close?(
    close: StoredDayClose,
    sums: ChainState,
    before: StoredDayClose | undefined,
    moved: number | null,
  ): Fault;
  connectionClose?(close: StoredConnectionClose, before: StoredConnectionClose | undefined): Fault;
  /** One row of the audit log. */
  audit?(row: ChainedAudit, before: AuditState): Fault;
  /** @param last of the rows up to its head */
  auditChain?(chain: StoredAuditChain, last: AuditState): Fault;
  /** @param clearing by connection; of a full pass */
  everything?(total: ChainState, world: World, clearing: ReadonlyMap<string, number>): Fault;
  payout?(truth: PayoutTruth, ours: StoredPayment | undefined): Fault;
  charge?(truth: ChargeTruth, ours: StoredPayment | undefined): Fault;
  notHere?: string;
}

export type Fault = string | null;

type Sums = Record<(typeof lineAccounts)[number], number>;

/** Lines added up to a `seq`; `receivable` is the sum of its lines, so minus the column. */
export interface ChainState extends Sums {
  seq: number;
  head: Buffer;
}

export const emptyChain: Readonly<ChainState> = {
  ...(Object.fromEntries(lineAccounts.map((account) => [account, 0])) as Sums),
  seq: 0,
  head: chainStart,
};

/** A row of `balance`, with the last `seq` of its journals at the same moment. */
export interface Chain {
  accountId: string;
  chainId: string;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  holdWanted: number;
  cardHeld: number;
  seq: number;
  head: Buffer;
  deletedAt: number | null;
  lastSeq: number;
}

/** How far the chain of an account's audit rows was read. */
export interface AuditState {
  seq: number;
  hash: Buffer;
}

/** The head of a chain of audit rows, with the last row at the same moment. */
export interface StoredAuditChain {
  cell: string;
  accountId: string;
  /** With what it begins: the digest of the rows from before the chain. */
  start: Buffer;
  seq: number;
  head: Buffer;
  lastSeq: number;
}

export interface StoredJournal extends Journal {
  /** The operation of the payment that the journal is about; null when it is about none. */
  paymentOperationId: string | null;
  /** Of the payment that the journal is about; null when it is about none. */
  paymentConnection: string | null;
  /** Whose clearing account it moves. */
  clearingOf: string;
  /** The payment that the journal is about; of a refund its charge. Null when it is about none. */
  paymentId: string | null;
  /** For money in suspense: whether its incident exists. */
  hasIncident: boolean;
  /** The sum of its movements of a connection; null: it is about something else. */
  movementCents: number | null;
}

export interface StoredAccount {
  id: string;
  number: number;
  operations: StoredOperation[];
  /** Request keys of operations whose operation is gone. */
  lostKeys: number;
  /** Payments that another connection has than the one that the books have them on, and about which no person has decided. */
  bookedElsewhere: number;
  /** Returns of payouts that another payout has as well. */
  returnedElsewhere: number;
  /** Static codes, of up to 20,000 payments each, that count others than they have. */
  miscountedCodes: number;
  /** The same of payment links, their open charges too. */
  miscountedLinks: number;
  /** Of the installation: cash between connections that is booked otherwise than it moved. */
  miscountedCash: number;
  /** Of the account's own chain, and the returns to payers that are `unknown` or `pending`, at the same moment. */
  own: { reserved: number; openCents: number };
}

export interface StoredOperation {
  id: string;
  slot: number | null;
  main: boolean;
  createdAt: number;
  deletedAt: number | null;
  hasBalance: boolean;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  holdWanted: number;
  cardHeld: number;
  /** Of card payments that are paid and not released. */
  heldCardCents: number;
  frozen: boolean;
  openHoldCents: number;
  /** Of transfers and refunds that are `unknown` or `pending`. */
  openTransferCents: number;
  /** Payments that are followed up. */
  unfinished: number;
  freezingIncidents: number;
}

export interface StoredPayment {
  accountId: string;
  accountNumber: number;
  id: string;
  operationId: string;
  kind: string;
  status: string;
  reasonCode: string | null;
  amountCents: number;
  feeCents: number;
  requestKey: string;
  createdAt: number;
  updatedAt: number;
  endToEnd: string | null;
  providerFeeCents: number | null;
  netAmountCents: number | null;
  returnedCents: number;
  /** The sum of its refunds, as it is stored with the charge. */
  refundedCents: number;
  /** The static code that it was paid by; null: none. */
  staticCodeId: string | null;
  /** The code is one of its account, operation and connection. */
  codeIsOurs: boolean;
  /** It has no payment link, or one of its account and operation that takes its method. */
  linkIsOurs: boolean;
  /** Of a card payment; null: it is none. */
  card: StoredCard | null;
  /** Of a charge with a due date; null: it has none. */
  due: DueCharge | null;
  history: { status: string; at: string; cause?: { by?: string; id?: string } }[];
  command: string;
  operationDeleted: boolean;
  /** An operation or a webhook has its request key. */
  keyTaken: boolean;
  intentState: string | null;
  /** The account at the provider that its intent was first sent to. */
  intentIdentity: string | null;
  leased: boolean;
  expiresAt: number | null;
  /** Since when the provider has answered queries without another state, and the last of these queries. */
  undecidedSince: number | null;
  answeredAt: number | null;
  /** Incidents about it, open or resolved. */
  incidents: number;
  /** Returns of it that are known, posted or not. */
  returns: PaymentReturn[];
  /** Of the kind that reports its state, written when it entered it. */
  events: number;
  journals: PaymentJournal[];
  refunds: StoredRefund[];
  /** Its merchant's requests about it, the first ones first. */
  requests: StoredRequest[];
  disputes: StoredDispute[];
  /** Other Pix than the one that paid it, which stood in suspense and which a person credited to its operation. */
  credited: { endToEnd: string; cents: number }[];
}

/** The part of a card payment's state that its books follow (`money/card.ts`). */
export interface StoredCard {
  settlement: 'held' | 'available' | null;
  /** The acquirer's own name of the approved payment; null: none was approved. */
  approval: string | null;
  costCents: number;
  outCents?: number;
  feeBackCents?: number;
  taken?: Readonly<Record<string, Taking>>;
}

/** A dispute of a Pix that a charge received, with the hold that all disputes of this Pix share. */
export interface StoredDispute {
  id: string;
  endToEnd: string;
  amountCents: number;
  debitedCents: number;
  status: string;
  /** Null: nothing was to be held, or is any more. */
  holdId: string | null;
  /** The amount that the open hold wants; null: there is none, or it was released. */
  wantedCents: number | null;
  /** A person released its hold. */
  released: boolean;
  /** Its merchant's. */
  defences: StoredDefence[];
}

export interface StoredDefence extends Asked {
  reason: string | null;
  /** Those that may have left, once it is over. */
  attempts: number;
  /** Of its files, those that the dispute does not have. */
  lostFiles: number;
}

/** A refund of a charge. */
export interface StoredRefund {
  id: string;
  operationId: string;
  endToEnd: string;
  reason: string;
  status: string;
  amountCents: number;
  feeBackCents: number | null;
  requestKey: string;
  rtrId: string | null;
  command: string;
  history: { status: string; at: string; cause?: { by?: string; id?: string } }[];
  intentState: string | null;
  intentIdentity: string | null;
  journals: PaymentJournal[];
}

/** Anything that was asked for about a payment. */
interface Asked {
  id: string;
  status: string;
  intentState: string | null;
  intentIdentity: string | null;
}

/** A request about a charge. */
export interface StoredRequest extends Asked {
  kind: SentKind;
  /** Null: it is open, has none, or ended before outcomes were stored. */
  outcome: string | null;
}

export interface PaymentReturn {
  reference: string;
  /** The Pix; null where it was not stored. */
  pix: string | null;
  id: string | null;
  rtrId: string | null;
  amountCents: number;
  posted: boolean;
}

export interface PaymentJournal extends Sums {
  chainId: string;
  event: number;
  template: Movement['kind'];
  reference: string;
  command: string;
  /** The received Pix that it books. */
  pix: string | null;
}

export interface World {
  /** The payment id that an account and a request key make. */
  idOf(account: { id: string; number: number }, requestKey: string): string;
  /** Events older than this may have been removed. */
  eventsSince: number;
  /** The balance of the provider's account, where a rig can see it. */
  providerBalanceCents: number | null;
  /** The same by connection, where there are several. */
  providerBalances?: ReadonlyMap<string, number> | undefined;
}

export interface PayoutTruth {
  providerId: string;
  amountCents: number;
  pixKey: string | null;
  /** `removed`: a person removed it there before it was sent, and no call finds it. */
  status: 'pending' | 'completed' | 'refused' | 'returned' | 'removed';
  timesAccepted: number;
  /** Amounts of its returns, in cents. */
  returns: readonly number[];
}

export interface ChargeTruth {
  txid: string;
  amountCents: number;
  status: string;
  paid: boolean;
  /** Each Pix that it received, with the amounts of its returns in cents. */
  received: readonly { endToEnd: string; returns: readonly number[] }[];
}

/** How far the clocks of two processes may differ, with room to spare. */
const clockSkewMs = 5_000;

const open = (payment: StoredPayment): boolean =>
  payment.status === 'unknown' || payment.status === 'pending';

/** The provider is queried about it: it has not ended, or its acquirer has not released it. */
const isFollowed = (payment: StoredPayment): boolean => open(payment) || payment.card?.settlement === 'held';

const of = (payment: StoredPayment, event: number): PaymentJournal[] =>
  payment.journals.filter((journal) => journal.event === event);

/** The journal that credited the operation as the payment of this charge; of a card, that approved it. */
const settlements = (payment: StoredPayment): PaymentJournal[] =>
  payment.journals.filter(
    ({ event, template }) =>
      event === eventKinds.credit || event === eventKinds.cardApprove || template === 'creditFromSuspense',
  );

const differs = (what: string, is: number, should: number): Fault =>
  is === should ? null : `${what} differs by ${is - should}`;

const first = (...faults: Fault[]): Fault => faults.find((fault) => fault !== null) ?? null;

/** The parts of a connection's close; null: of the first cell alone, and another one is examined. */
const movedAt = ({ cell, moved, shares }: StoredConnectionClose): Moved | null =>
  shares.length > 0 ? movedInAll(shares) : cell === homeCell ? moved : null;

/** Whether the close of a connection has of the examined cell what its chains moved. */
function shareFault({ day, connection, cell, moved, shares }: StoredConnectionClose): Fault {
  if (shares.length === 0 && cell === homeCell) return null;
  const share = shares.find((one) => one.cell === cell);
  const figure = (name: keyof Omit<Moved, 'chains'>): Fault =>
    differs(`the ${name} of ${cell} at ${connection} on ${day}`, share?.[name] ?? 0, moved[name]);
  return first(
    figure('openingCents'),
    figure('inCents'),
    figure('outCents'),
    figure('refundCents'),
    figure('feeCents'),
    share === undefined || share.chains === moved.chains
      ? null
      : `the close of ${connection} on ${day} names other journals of ${cell}`,
  );
}

const nextStates: Readonly<Record<string, readonly string[]>> = {
  draft: ['unknown', 'cancelled'],
  unknown: ['pending', 'paid', 'completed', 'failed', 'expired', 'cancelled'],
  pending: ['paid', 'completed', 'failed', 'expired', 'cancelled'],
  expired: ['paid'],
};

const statesOf: Readonly<Record<string, readonly string[]>> = {
  deposit: ['unknown', 'pending', 'paid', 'failed', 'expired'],
  transfer: ['draft', 'unknown', 'pending', 'completed', 'cancelled'],
};

const requestCauses: readonly string[] = requestsAboutCharges.map(({ request }) => request.cause);

const causes: ReadonlySet<string> = new Set([
  'api',
  'rule',
  'answer',
  'webhook',
  'query',
  'operator',
  'route',
  'clock',
  ...requestCauses,
]);

export const invariants: readonly Invariant[] = [
  {
    number: 1,
    name: 'every journal sums to zero and has at least two lines',
    journal: ({ lines }) => {
      const used = lineAccounts.filter((account) => lines[account] !== 0).length;
      const sum = lineAccounts.reduce((total, account) => total + lines[account], 0);
      return first(sum === 0 ? null : `sums to ${sum}`, used >= 2 ? null : `has ${used} lines`);
    },
  },
  {
    number: 2,
    name: 'all lines together sum to zero',
    everything: (total) =>
      differs(
        'the sum of all lines',
        lineAccounts.reduce((sum, account) => sum + total[account], 0),
        0,
      ),
  },
  {
    number: 3,
    name: "a balance row's columns are the sums of its journals",
    chain: (chain, sums) =>
      first(
        differs('available', chain.available, sums.available),
        differs('reserved', chain.reserved, sums.reserved),
        differs('held', chain.held, sums.held),
        differs('receivable', chain.receivable, -sums.receivable),
        differs('card held', chain.cardHeld, sums.cardHeld),
      ),
  },
  {
    number: 4,
    name: 'no journal was changed or removed',
    journal: (journal, before) =>
      first(
        journal.previous.equals(before.head) ? null : `journal ${journal.seq} does not continue the chain`,
        hashOf(journal).equals(journal.hash) ? null : `journal ${journal.seq} is not what was hashed`,
      ),
    chain: (chain, sums) =>
      first(
        differs('the number of journals', chain.lastSeq, chain.seq),
        chain.head.equals(sums.head) ? null : 'the head is not the last journal',
      ),
  },
  {
    number: 5,
    name: 'each journal carries the balance of the one before on, without gaps',
    journal: (journal, before) =>
      first(
        journal.seq === before.seq + 1 ? null : `journal ${before.seq + 1} is missing`,
        differs(
          `available after ${journal.seq}`,
          journal.after.available,
          before.available + journal.lines.available,
        ),
        differs(
          `reserved after ${journal.seq}`,
          journal.after.reserved,
          before.reserved + journal.lines.reserved,
        ),
        differs(`held after ${journal.seq}`, journal.after.held, before.held + journal.lines.held),
        differs(
          `receivable after ${journal.seq}`,
          journal.after.receivable,
          -before.receivable - journal.lines.receivable,
        ),
        differs(
          `card held after ${journal.seq}`,
          journal.after.cardHeld,
          before.cardHeld + journal.lines.cardHeld,
        ),
      ),
    chain: (chain, sums) => differs('seq', chain.seq, sums.seq),
  },
  {
    number: 6,
    name: 'no column is below zero, and holds have what there is',
    chain: (chain) =>
      first(
        Math.min(
          ...[
            chain.available,
            chain.reserved,
            chain.held,
            chain.receivable,
            chain.holdWanted,
            chain.cardHeld,
          ],
        ) >= 0
          ? null
          : 'a column is below zero',
        chain.available > 0 && chain.receivable > 0 ? 'available although it owes' : null,
        chain.available > 0 && chain.holdWanted > 0 ? 'available although a hold wants it' : null,
      ),
    account: ({ operations }) =>
      first(
        ...operations.map((one) =>
          differs(`held and wanted of ${one.id}`, one.held + one.holdWanted, one.openHoldCents),
        ),
      ),
  },
  {
    number: 7,
    name: 'no operation covers another',
    // A journal stands on one chain, so two operations cannot meet in it. What belongs to a payment stands on its own
    // operation's chain or on the account's; only a person gives money of a deleted operation to the main one.
    journal: ({ chainId, accountId, paymentOperationId, event, seq }) =>
      paymentOperationId === null ||
      chainId === paymentOperationId ||
      chainId === accountId ||
      event === eventKinds.resolution
        ? null
        : `journal ${seq} is about a payment of another operation`,
  },
  {
    number: 8,
    name: 'the reserve is the sum of the unfinished transfers and refunds',
    account: ({ operations, own }) =>
      first(
        ...operations.map((one) => differs(`the reserve of ${one.id}`, one.reserved, one.openTransferCents)),
        differs('the reserve for payers', own.reserved, own.openCents),
      ),
    payment: (payment) => {
      if (payment.kind === 'deposit') return null;
      const reserved = payment.journals.reduce((sum, journal) => sum + journal.reserved, 0);
      return differs('its reserve', reserved, open(payment) ? payment.amountCents : 0);
    },
  },
  {
    number: 9,
    name: 'every amount is a safe integer',
    journal: ({ lines, after, seq }) =>
      [...Object.values(lines), ...Object.values(after)].every(Number.isSafeInteger)
        ? null
        : `journal ${seq} has an amount that is none`,
    payment: ({ amountCents, feeCents }) =>
      Number.isSafeInteger(amountCents) && Number.isSafeInteger(feeCents) ? null : 'an amount that is none',
  },
  {
    number: 10,
    name: 'one request key makes one payment, always',
    payment: (payment, world) => {
      const account = { id: payment.accountId, number: payment.accountNumber };
      return first(
        world.idOf(account, payment.requestKey) === payment.id ? null : 'its id is not its request key’s',
        payment.keyTaken ? 'its request key made an operation or a webhook as well' : null,
      );
    },
  },
  {
    number: 11,
    name: 'payment, reserve and send id are written together',
    payment: (payment) => {
      if (payment.kind === 'deposit' || payment.status === 'draft') return null;
      const reserves = of(payment, eventKinds.reserve);
      const drafted = payment.history[0]?.status === 'draft';
      if (drafted && payment.status === 'cancelled' && reserves.length === 0) return null;
      if (reserves.length !== 1) return `${reserves.length} reserves`;
      return drafted || reserves[0]?.command === payment.command ? null : 'reserved by another command';
    },
  },
  {
    number: 12,
    name: 'the provider accepted each send id at most once, with our amount',
    payout: (truth, ours) =>
      first(
        truth.timesAccepted <= 1 ? null : `accepted ${truth.timesAccepted} times`,
        ours === undefined
          ? null
          : differs('the amount', truth.amountCents, ours.amountCents - ours.feeCents),
      ),
  },
  {
    number: 13,
    name: 'the provider sent nothing that we do not know',
    payout: (truth, ours) =>
      truth.timesAccepted === 0 || ours !== undefined ? null : 'no payment of ours has this id',
  },
  {
    number: 14,
    name: 'nothing that the provider has was released',
    payout: (truth, ours) =>
      truth.timesAccepted > 0 && truth.status !== 'refused' && ours?.status === 'cancelled'
        ? `${truth.status} at the provider, cancelled here`
        : null,
  },
  {
    number: 15,
    name: 'a transfer has one send id',
    payout: (_truth, ours) =>
      ours === undefined || (ours.kind === 'transfer' && ours.status !== 'draft')
        ? null
        : 'sent without having left draft',
  },
  {
    number: 16,
    name: 'nothing is sent without a committed reserve',
    payout: (_truth, ours) =>
      ours === undefined || of(ours, eventKinds.reserve).length === 1 ? null : 'it has no reserve',
  },
  {
    number: 17,
    name: 'a repeat answers with the same payment and changes nothing',
    notHere: 'speaks of answers: the behaviour tests and the history checker compare them',
  },
  {
    number: 18,
    name: 'a refused request changes no money row',
    notHere: 'speaks of answers: the behaviour tests and the history checker compare them',
  },
  {
    number: 19,
    name: 'a report that does not match settles nothing and freezes withdrawals',
    account: ({ operations }) =>
      first(
        ...operations
          .filter((one) => one.deletedAt === null)
          .map((one) =>
            one.frozen === one.freezingIncidents > 0
              ? null
              : one.frozen
                ? `${one.id} is frozen without an incident`
                : `${one.id} is not frozen although an incident says so`,
          ),
      ),
  },
  {
    number: 20,
    name: 'only allowed transitions, and no way out of a terminal state but expired to paid',
    payment: ({ history, status, staticCodeId }) => {
      const moved = history.find(({ cause, status: at }) => cause?.by === 'route' && at !== 'unknown');
      if (moved) return `moved to another connection while ${moved.status}`;
      const late = history.find((step, at) => isRequest(step) && step.status !== history[at - 1]?.status);
      if (late) return `became ${late.status} by a request about it`;
      const states = history.filter((step) => !isRoute(step) && !isRequest(step)).map((step) => step.status);
      const start = states[0];
      // The Pix of a static code makes its payment: nothing was known of it before it was paid.
      const isBornPaid = staticCodeId !== null && start === 'paid';
      if (start !== 'unknown' && start !== 'draft' && !isBornPaid) return `begins as ${start}`;
      if (states.at(-1) !== status) return `is ${status}, and its history ends as ${states.at(-1)}`;
      for (const [index, state] of states.slice(1).entries()) {
        const before = states[index] as string;
        if (!nextStates[before]?.includes(state)) return `went from ${before} to ${state}`;
      }
      return null;
    },
  },
  {
    number: 21,
    name: 'charges and transfers have their own states',
    payment: ({ kind, history }) => {
      const foreign = history.find((step) => !statesOf[kind]?.includes(step.status));
      return foreign ? `a ${kind} was ${foreign.status}` : null;
    },
  },
  {
    number: 22,
    name: 'each ending has its one journal',
    payment: (payment) => {
      const { kind, status } = payment;
      if (kind === 'deposit') {
        const credits = settlements(payment).length;
        const suspended = payment.journals.some(
          (one) => one.event === eventKinds.suspense && one.reference === payment.endToEnd,
        );
        if (status !== 'paid') return credits === 0 ? null : `${credits} credits while ${status}`;
        // A payment for a deleted operation is in suspense.
        return credits === 1 || (credits === 0 && suspended) ? null : `${credits} credits`;
      }
      const completions = of(payment, eventKinds.complete).length;
      const releases = of(payment, eventKinds.release);
      const drafted = payment.history[0]?.status === 'draft';
      const neverReserved = drafted && of(payment, eventKinds.reserve).length === 0;
      return first(
        differs('the number of completions', completions, status === 'completed' ? 1 : 0),
        differs('the number of releases', releases.length, status === 'cancelled' && !neverReserved ? 1 : 0),
        releases.every((one) => one.feeRevenue === 0) ? null : 'released with a fee',
        differs(
          'what came back',
          of(payment, eventKinds.return).reduce((sum, one) => sum - one.clearing, 0),
          payment.returnedCents,
        ),
      );
    },
  },
  {
    number: 23,
    name: 'no transition without a cause, and nobody approves a payment',
    payment: ({ kind, history }) => {
      for (const { status, cause } of history) {
        if (!cause?.id || !causes.has(cause.by ?? '')) return `${status} without a cause`;
        if (cause.by === 'api' && !['draft', 'unknown', 'cancelled'].includes(status))
          return `${status} by a call`;
        if (cause.by === 'rule' && status !== 'cancelled') return `${status} by a rule`;
        if (cause.by === 'route' && kind !== 'deposit') return `a ${kind} moved to another connection`;
        if (isRequest({ cause }) && (kind !== 'deposit' || !['unknown', 'pending'].includes(status)))
          return `a ${status} ${kind} had a ${cause.by}`;
        // Only a draft ends by itself.
        if (cause.by === 'clock' && (status !== 'cancelled' || history[0]?.status !== 'draft'))
          return `${status} by the clock`;
      }
      return null;
    },
  },
  {
    number: 24,
    name: 'every cent that the provider confirmed is in an operation or in suspense with an incident',
    journal: ({ event, hasIncident, seq }) =>
      event !== eventKinds.suspense || hasIncident
        ? null
        : `journal ${seq} is in suspense without an incident`,
    everything: (total, { providerBalanceCents }) =>
      providerBalanceCents === null
        ? null
        : differs("the provider's account", -total.clearing, providerBalanceCents),
  },
  {
    number: 25,
    name: 'a deadline is the provider’s',
    notHere:
      'the provider’s answers are not kept beside what was read from them: the adapter’s tests compare',
  },
  {
    number: 26,
    name: 'a payment’s time never goes back',
    payment: ({ createdAt, updatedAt, history }) => {
      const times = [createdAt, ...history.map((step) => Date.parse(step.at)), updatedAt];
      return times.every((time, index) => index === 0 || time >= (times[index - 1] as number))
        ? null
        : 'a time goes back';
    },
  },
  {
    number: 27,
    name: 'amount, fee and operation of a payment never change',
    payment: (payment) => {
      const [reserve] = of(payment, eventKinds.reserve);
      const [complete] = of(payment, eventKinds.complete);
      const [credit] = of(payment, eventKinds.credit);
      return first(
        reserve === undefined ? null : differs('the amount', payment.amountCents, reserve.reserved),
        complete === undefined ? null : differs('the fee', payment.feeCents, complete.feeRevenue),
        // A charge with a due date is paid with another amount (73).
        credit === undefined || payment.due
          ? null
          : first(
              differs('the amount', payment.amountCents, -credit.clearing),
              differs('the fee', payment.feeCents, credit.feeRevenue),
            ),
        [reserve, complete, credit].every((one) => one === undefined || one.chainId === payment.operationId)
          ? null
          : 'posted to another operation',
      );
    },
  },
  {
    number: 28,
    name: 'a transfer debits its amount: what left and the fee, once',
    payment: (payment) => {
      if (payment.kind !== 'transfer') return null;
      const net = payment.amountCents - payment.feeCents;
      const [complete] = of(payment, eventKinds.complete);
      return first(
        net >= 1 ? null : 'nothing is left of it',
        complete === undefined ? null : differs('what left', complete.clearing, net),
        payment.netAmountCents === null ? null : differs('the net', payment.netAmountCents, net),
        payment.providerFeeCents === null
          ? null
          : differs('the fee', payment.providerFeeCents, payment.feeCents),
      );
    },
  },
  {
    number: 29,
    name: 'each observer sees a state move only forward',
    notHere: 'speaks of what callers read one after another: the history checker compares',
  },
  {
    number: 30,
    name: 'an account has one to ten live operations',
    account: ({ number, operations }) => {
      const live = operations.filter((one) => one.deletedAt === null).length;
      return number === 0 || (live >= 1 && live <= 10) ? null : `${live} live operations`;
    },
  },
  {
    number: 31,
    name: 'exactly one live operation is the main one',
    account: ({ number, operations }) => {
      const main = operations.filter((one) => one.main);
      if (number === 0) return null;
      return main.length === 1 && main[0]?.deletedAt === null ? null : `${main.length} main operations`;
    },
  },
  {
    number: 32,
    name: 'the main operation is the oldest live one',
    account: ({ operations }) => {
      const live = operations.filter((one) => one.deletedAt === null);
      const main = live.find((one) => one.main);
      // Operations that two processes made at the same time may stand in either order.
      return main && live.some((one) => one.createdAt < main.createdAt - clockSkewMs)
        ? 'an older operation lives'
        : null;
    },
  },
  {
    number: 33,
    name: 'a deleted operation has nothing and gets nothing',
    account: ({ operations }) =>
      first(
        ...operations
          .filter((one) => one.deletedAt !== null)
          .map((one) =>
            one.available === 0 &&
            one.reserved === 0 &&
            one.held === 0 &&
            one.receivable === 0 &&
            one.holdWanted === 0 &&
            one.cardHeld === 0 &&
            one.unfinished === 0
              ? null
              : `${one.id} is deleted and not empty`,
          ),
      ),
    journal: ({ postedAt, seq }, _before, { deletedAt }) =>
      deletedAt === null || postedAt <= deletedAt + clockSkewMs
        ? null
        : `journal ${seq} came after the deletion`,
  },
  {
    number: 34,
    name: 'the records of deleted operations are kept',
    account: ({ operations }) =>
      first(...operations.map((one) => (one.hasBalance ? null : `${one.id} has no balance row`))),
  },
  {
    number: 35,
    name: 'the request key of an operation is never free again',
    account: ({ lostKeys }) =>
      lostKeys === 0 ? null : `${lostKeys} request keys of operations that are gone`,
  },
  {
    number: 36,
    name: 'an account stays who it is',
    payment: ({ id, accountNumber }) =>
      Number.parseInt(id.slice(0, 8), 16) === accountNumber ? null : 'its id names another account',
  },
  {
    number: 37,
    name: 'no answer contains an id of another account',
    notHere: 'speaks of answers: the authorization matrix scans them',
  },
  {
    number: 38,
    name: 'a revoked key is refused',
    notHere: 'speaks of answers: the tests of keys revoke under load',
  },
  {
    number: 39,
    name: 'no secret stands where it does not belong',
    notHere: 'needs planted values to look for: the canary tests scan tables and logs',
  },
  {
    number: 40,
    name: 'the permissions of a key never grow',
    notHere: 'needs an earlier copy to compare with; no statement of the program changes them',
  },
  {
    number: 41,
    name: 'each announced transition wrote its one event',
    payment: (payment, { eventsSince }) => {
      const entered = Date.parse(payment.history.at(-1)?.at ?? '');
      const announced = !open(payment) && payment.status !== 'draft';
      // A deleted operation has no events, and events are removed after their time.
      if (!announced || payment.operationDeleted || entered < eventsSince) return null;
      return differs('the number of events', payment.events, 1);
    },
  },
  {
    number: 42,
    name: 'each event reached each endpoint, or is marked exhausted',
    notHere: 'speaks of the end, and of the receivers: the rigs count what theirs got',
  },
  {
    number: 43,
    name: 'an event names its operation and its signature verifies',
    notHere: 'speaks of what is on the wire: the webhook tests verify with a library of others',
  },
  {
    number: 44,
    name: 'a delivery of the provider changes a state at most once',
    notHere:
      'follows here from 4, 20 and 22; that a bad signature changes nothing is shown by the webhook tests',
  },
  {
    number: 45,
    name: 'every unfinished payment is followed up',
    payment: (payment) =>
      (payment.intentState !== null) === isFollowed(payment)
        ? null
        : isFollowed(payment)
          ? 'nobody follows it up'
          : `${payment.status} and still followed up`,
  },
  {
    number: 46,
    name: 'what the provider has decided is decided here',
    // Of one that was removed a person decides, and until then its reserve stays.
    payout: (truth, ours) =>
      truth.status !== 'pending' && truth.status !== 'removed' && ours !== undefined && open(ours)
        ? `${truth.status} at the provider`
        : null,
    // Another amount than asked stands in suspense, and a person decides.
    charge: (truth, ours) =>
      truth.paid && ours !== undefined && open(ours) && of(ours, eventKinds.suspense).length === 0
        ? 'paid at the provider'
        : null,
  },
  {
    number: 47,
    name: 'a lease belongs to a send under way',
    payment: ({ intentState, leased }) =>
      leased === (intentState === 'sending') ? null : 'a lease without a send, or a send without a lease',
  },
  {
    number: 48,
    name: 'two restores of one backup are the same',
    notHere: 'needs two restores: the restore rig compares them',
  },
  {
    number: 49,
    name: 'a return is posted once, whatever it is called',
    // Of one cell. Those of several are compared by what their journals book (76).
    account: ({ returnedElsewhere }) =>
      returnedElsewhere === 0 ? null : `${returnedElsewhere} returns that another payout has as well`,
    payment: (payment) =>
      first(
        ...payment.returns.map((one) => {
          const journals = payment.journals.filter(
            ({ event, reference }) => returnEvents.has(event) && reference === one.reference,
          );
          if (journals.length !== (one.posted ? 1 : 0))
            return `the return ${one.reference} has ${journals.length} journals`;
          const cents = journals.reduce((sum, { clearing }) => sum + Math.abs(clearing), 0);
          return cents === (one.posted ? one.amountCents : 0)
            ? null
            : `the return ${one.reference} was posted with another amount`;
        }),
        sharedName(payment.returns),
      ),
    payout: ({ returns }, ours) => moreThan(returns, ours, ''),
    charge: ({ received }, ours) =>
      first(...received.map(({ endToEnd, returns }) => moreThan(returns, ours, endToEnd))),
  },
  {
    number: 50,
    name: 'a payment that a day of answered queries did not end has an incident',
    payment: (payment) => {
      const { kind, status, undecidedSince, answeredAt, createdAt, expiresAt, incidents } = payment;
      if (!open(payment) || undecidedSince === null || answeredAt === null) return null;
      const waits = kind === 'deposit' && status === 'pending';
      const from = waits ? Math.max(expiresAt ?? createdAt, undecidedSince) : undecidedSince;
      return answeredAt - from <= dayMs || incidents > 0 ? null : 'it is overdue without an incident';
    },
  },
  {
    number: 51,
    name: 'every return of the provider is known here, each exactly once',
    payout: ({ returns }, ours) => unlike(returns, ours, ''),
    charge: ({ received }, ours) =>
      first(...received.map(({ endToEnd, returns }) => unlike(returns, ours, endToEnd))),
  },
  {
    number: 52,
    name: 'money moves on the connection of its payment',
    journal: ({ seq, connection, lines, paymentConnection }) => {
      const names = lines.clearing !== 0;
      if ((connection !== null) !== names)
        return names
          ? `journal ${seq} names no connection`
          : `journal ${seq} names a connection without moving it`;
      return connection === null || paymentConnection === null || connection === paymentConnection
        ? null
        : `journal ${seq} moves ${connection}, its payment is on ${paymentConnection}`;
    },
    everything: (_total, { providerBalances }, clearing) => {
      if (!providerBalances) return null;
      const names = new Set([...clearing.keys(), ...providerBalances.keys()]);
      return first(
        ...[...names].map((name) =>
          differs(`the account at ${name}`, -(clearing.get(name) ?? 0), providerBalances.get(name) ?? 0),
        ),
      );
    },
  },
  {
    number: 53,
    name: 'a refund is reserved with its creation, and each of its endings has its one journal',
    payment: ({ accountId, refunds }) => first(...refunds.map((one) => faultOfRefund(one, accountId))),
  },
  {
    number: 54,
    name: 'a charge gives back no more than it received, and says how much',
    payment: (payment) => {
      const { kind, status, card, amountCents, netAmountCents, providerFeeCents } = payment;
      const { refunds, refundedCents } = payment;
      const sum = (of: readonly StoredRefund[]) => of.reduce((cents, one) => cents + one.amountCents, 0);
      const asked = refunds.filter(({ reason }) => reason !== 'odd_money');
      const alive = sum(asked.filter((one) => one.status !== 'failed'));
      const received =
        kind !== 'deposit' || status !== 'paid'
          ? 0
          : card === null
            ? (netAmountCents ?? 0) + (providerFeeCents ?? 0)
            : amountCents;
      return first(
        alive <= received ? null : `${alive} of ${received} are refunded`,
        differs('what it gave back', refundedCents, sum(asked.filter((one) => one.status === 'completed'))),
      );
    },
  },
  {
    number: 55,
    name: 'every unfinished refund is followed up, and only those',
    payment: ({ refunds }) =>
      first(
        ...refunds.map((one) =>
          (one.intentState !== null) === isOpenRefund(one)
            ? null
            : `the refund ${one.id} is ${one.status}, its intent ${one.intentState ?? 'gone'}`,
        ),
      ),
  },
  {
    number: 56,
    name: 'no return of the provider is posted as a refund and as a debit',
    payment: ({ refunds, returns }) => {
      const names = new Set(
        refunds.flatMap(({ id, endToEnd, rtrId }) => [
          `${endToEnd}/${id.replaceAll('-', '')}`,
          ...(rtrId === null ? [] : [rtrId]),
        ]),
      );
      const twice = returns.find(
        ({ id, rtrId, pix, posted }) =>
          posted && (names.has(`${pix}/${id}`) || (rtrId !== null && names.has(rtrId))),
      );
      return twice ? `${twice.reference} is a refund and a debit` : null;
    },
  },
  {
    number: 57,
    name: 'a closed day is what the journals up to its end say, and begins where the day before ended',
    close: (close, sums, before, moved) =>
      first(
        close.head.equals(sums.head) ? null : `the close of ${close.day} names another journal`,
        differs(`available at the end of ${close.day}`, close.available, sums.available),
        differs(`reserved at the end of ${close.day}`, close.reserved, sums.reserved),
        differs(`held at the end of ${close.day}`, close.held, sums.held),
        differs(`receivable at the end of ${close.day}`, close.receivable, -sums.receivable),
        differs(`the closing of ${close.day}`, close.closingCents, sums.available + sums.receivable),
        differs(
          `what led to the closing of ${close.day}`,
          close.inCents - close.outCents - close.feeCents - close.refundCents - close.holdCents,
          close.closingCents - close.openingCents,
        ),
        (before?.day ?? null) === close.previousDay
          ? null
          : `the close of ${close.day} does not follow ${before?.day ?? 'the beginning'}`,
        before === undefined
          ? null
          : first(
              differs(`the opening of ${close.day}`, close.openingCents, before.closingCents),
              differs(`the first journal of ${close.day}`, close.openingSeq, before.closingSeq),
            ),
        moved === null ? null : differs(`what moved on ${close.day}`, close.movedCents, moved),
      ),
  },
  {
    number: 58,
    name: 'a closed day of a connection is what its chains moved, and no new difference is without an incident',
    connectionClose: (close, before) => {
      const { day, connection, differenceCents, incidentId } = close;
      const moved = movedAt(close);
      const own = shareFault(close);
      // Of closes from before there were cells, the first one speaks.
      if (own !== null || moved === null) return own;
      const carried = before?.differenceCents ?? 0;
      const isNew = differenceCents !== null && differenceCents !== 0 && differenceCents !== carried;
      return first(
        close.head.equals(headOf(close, moved.chains, before?.head ?? null))
          ? null
          : `the close of ${connection} on ${day} is not what was hashed`,
        differs(
          `the opening of ${connection} on ${day}`,
          close.openingCents,
          (before?.closingCents ?? 0) + moved.openingCents,
        ),
        differs(`what came in at ${connection} on ${day}`, close.inCents, moved.inCents),
        differs(`what left ${connection} on ${day}`, close.outCents, moved.outCents),
        differs(`what was given back at ${connection} on ${day}`, close.refundCents, moved.refundCents),
        differs(`the fees at ${connection} on ${day}`, close.feeCents, moved.feeCents),
        close.costCents === null ? null : faultOfOwn(close, moved),
        isNew === (incidentId !== null) && (isNew === close.hasIncident || close.cell !== homeCell)
          ? null
          : isNew
            ? `the difference of ${connection} on ${day} has no incident`
            : `the close of ${connection} on ${day} has an incident without a new difference`,
      );
    },
  },
  {
    number: 59,
    name: 'a Pix in suspense goes back to its payer whole and once, and no more leaves suspense than came in',
    payment: ({ journals, refunds }) => {
      const returned = refunds.filter(({ reason }) => reason === 'odd_money');
      if (returned.length === 0) return null;
      const cameIn = (one: PaymentJournal): number =>
        one.template === 'bookToSuspense' ? Math.max(0, one.suspense) : 0;
      const left = [...journals, ...returned.flatMap((one) => one.journals)]
        .filter((one) => one.event !== eventKinds.suspense && one.template !== 'bookToSuspense')
        .filter((one) => one.suspense < 0 || one.template === 'suspenseRelease')
        .reduce((sum, one) => sum - one.suspense, 0);
      const stood = journals.reduce((sum, one) => sum + cameIn(one), 0);
      return first(
        ...returned.map((one) => faultOfReturn(one, returned, journals)),
        left <= stood ? null : `${left} of ${stood} left suspense`,
      );
    },
  },
  {
    number: 60,
    name: 'a refund brings its part of the fee back with its completion and nothing else, and all together no more than the fee',
    payment: ({ card, amountCents, netAmountCents, refunds, ...charge }) => {
      const feeCents = card === null ? (charge.providerFeeCents ?? 0) : charge.feeCents;
      const received = card === null ? (netAmountCents ?? 0) + feeCents : amountCents;
      const alive = refunds.filter((one) => one.status !== 'failed' && one.feeBackCents !== null);
      const basis = alive.reduce((sum, { amountCents }) => sum + amountCents, 0);
      const back = alive.reduce((sum, { feeBackCents }) => sum + (feeBackCents ?? 0), 0);
      const isWhole = basis > 0 && basis === received;
      return first(
        card === null ? first(...refunds.map(faultOfFeeBack)) : faultOfCardFee(card, refunds),
        back <= feeCents ? null : `${back} of a fee of ${feeCents} come back`,
        isWhole ? differs('the fee of what was given back whole', back, feeCents) : null,
      );
    },
  },
  {
    number: 61,
    name: 'the disputes of a Pix hold what is disputed, at most what is left of the Pix, and nothing once they have ended or a person released it',
    payment: (payment) =>
      first(
        ...[...Map.groupBy(payment.disputes, ({ endToEnd }) => endToEnd)].map(([endToEnd, ofPix]) =>
          faultOfDisputes(payment, endToEnd, ofPix),
        ),
      ),
  },
  {
    number: 62,
    name: 'a defence that may have arrived never counts as failed, is followed while it is open, is one for each dispute, and goes out with files of that',
    payment: ({ disputes }) => first(...disputes.map(faultOfDefences)),
  },
  {
    number: 63,
    name: 'a Pix is booked once, under the charge that received it or the payout that it gives back',
    payment: (payment) => first(...payment.journals.map((one) => faultOfBooking(one, payment))),
    // That no other payment has booked it as well is a unique index.
    charge: ({ received }, ours) => {
      const truth = new Set(received.map(({ endToEnd }) => endToEnd));
      const foreign = ours?.journals.find(({ pix }) => pix !== null && !truth.has(pix));
      return foreign ? `books ${foreign.pix}, which the provider received for another charge` : null;
    },
  },
  {
    number: 64,
    name: 'a journal of costs, of own money or of cash is the sum of the movements that it holds, each in one journal',
    journal: ({ seq, event, template, chainId, accountId, lines, movementCents }) => {
      const expected = ofConnections[event];
      if (expected === undefined)
        return Object.values(ofConnections).includes(template) ||
          (lines.providerCost !== 0 && !ofAcquirer.has(event))
          ? `journal ${seq} is a cost without a movement`
          : null;
      return first(
        template === expected ? null : `journal ${seq} is a ${template}`,
        chainId === accountId ? null : `journal ${seq} charges an operation`,
        differs(`what journal ${seq} moved`, 0 - lines.clearing, movementCents ?? 0),
      );
    },
  },
  {
    // A code without a payment and a refused payout moved nothing, so there is nothing to decide: money that comes for the code later counts.
    number: 65,
    name: 'money that a provider moved in a lost time is in the books on its connection, or not at all, or a person has decided',
    account: ({ bookedElsewhere }) =>
      bookedElsewhere === 0 ? null : `${bookedElsewhere} payments that another connection has as well`,
  },
  {
    number: 66,
    name: 'what may have been sent names the account at the provider that it went to, and what was not names none',
    // That a repeat goes to the same account is shown by the rigs that ask each account what it has.
    payment: (payment) =>
      first(
        faultOfIdentity('it', payment),
        ...payment.refunds.map((one) => faultOfIdentity(`the refund ${one.id}`, one)),
        ...payment.requests.map((one) => faultOfIdentity(`its ${one.kind} ${one.id}`, one)),
        ...payment.disputes
          .flatMap(({ defences }) => defences)
          .map((one) => faultOfIdentity(`the defence ${one.id}`, one)),
      ),
  },
  {
    number: 67,
    name: 'a payment of a static code is paid from its beginning, by a code of its account, operation and connection that counts it',
    account: ({ miscountedCodes }) =>
      miscountedCodes === 0 ? null : `${miscountedCodes} static codes count other payments than they have`,
    payment: ({ staticCodeId, codeIsOurs, kind, status, history, intentState }) =>
      staticCodeId === null
        ? null
        : first(
            codeIsOurs ? null : 'its static code is none of its account, operation and connection',
            kind === 'deposit' && status === 'paid' && history.length === 1 ? null : `is a ${status} ${kind}`,
            intentState === null ? null : 'something of it is to be sent',
          ),
  },
  {
    number: 68,
    name: 'a payment link counts its charges that wait and that were paid, and no other',
    account: ({ miscountedLinks }) =>
      miscountedLinks === 0 ? null : `${miscountedLinks} payment links count other charges than they have`,
    payment: ({ linkIsOurs }) =>
      linkIsOurs
        ? null
        : 'its payment link is none of its account and operation, or does not take its method',
  },
  {
    number: 69,
    name: 'a request about a charge was made and is followed until it ends; a cancel ends with its charge, and no charge that it ended was credited',
    payment: (payment) => {
      const { reasonCode, requests } = payment;
      const [cancel, another] = requests.filter(({ kind }) => kind === 'cancel');
      const isCancelled = reasonCode === 'cancelled_by_merchant';
      return first(
        ...requestsAboutCharges.map(({ name, request }) => faultOfRequests(payment, name, request.cause)),
        another ? 'has two cancels' : null,
        isCancelled && !cancel ? 'is cancelled, and no merchant asked' : null,
        isCancelled && settlements(payment).length > 0 ? 'is cancelled and credited' : null,
        cancel && (cancel.status === 'unknown') !== open(payment)
          ? `is ${payment.status}, and its cancel ${cancel.status}`
          : null,
      );
    },
  },
  {
    number: 70,
    name: 'what acquirers have approved and not released is the sum of the card payments that stand so',
    account: ({ operations }) =>
      first(
        ...operations.map((one) => differs(`the held cards of ${one.id}`, one.cardHeld, one.heldCardCents)),
      ),
  },
  {
    number: 71,
    name: 'a card payment is approved once, released once and not before, what is left of it and by the word of its acquirer',
    payment: (payment) => faultOfCard(payment),
  },
  {
    number: 72,
    name: 'what an acquirer took of a card payment by its own word is posted once, and so is what of it came back',
    payment: (payment) => faultOfTakings(payment),
  },
  {
    number: 73,
    name: 'a due-date charge is credited with what the provider reports, whose parts add up to it from the amount asked for, less the fee of what was received',
    payment: (payment) => faultOfDue(payment),
  },
  {
    number: 74,
    name: 'cash that an acquirer paid out is in transit, has arrived once as money of the other connection, or came back, and nothing else is',
    account: ({ miscountedCash }) =>
      miscountedCash === 0 ? null : `${miscountedCash} payouts of acquirers are booked otherwise`,
  },
  {
    number: 75,
    name: 'no row of the audit log was changed, removed or added behind its chain',
    audit: (row, before) =>
      first(
        row.seq === before.seq + 1 ? null : `audit row ${before.seq + 1} is gone`,
        hashOfAudit(row, before.hash).equals(row.hash) ? null : `audit row ${row.seq} is not what was hashed`,
      ),
    auditChain: (chain, last) =>
      first(
        last.seq === chain.seq ? null : `audit row ${last.seq + 1} is gone`,
        last.hash.equals(chain.head) ? null : `the head of the audit is not its row ${last.seq}`,
        chain.lastSeq <= chain.seq ? null : `audit row ${chain.lastSeq} is behind the head`,
      ),
  },
  {
    number: 77,
    name: 'a due-date charge has one open change at most, as long as the charge waits for it',
    payment: (payment) => faultOfChanges(payment),
  },
  {
    number: 78,
    name: 'a change of a due-date charge that was carried out left the terms before it with the charge, and one that its end ended is of one that has ended',
    payment: (payment) => faultOfOutcomes(payment),
  },
];

/** The movements of the ledger by which those of connections are posted. */
const ofConnections: Readonly<Partial<Record<number, string>>> = {
  [eventKinds.providerCost]: 'providerCost',
  [eventKinds.ownMoney]: 'ownMoney',
  [eventKinds.cashTransfer]: 'cashTransfer',
};

function faultOfDue({ due, amountCents, netAmountCents, providerFeeCents, journals }: StoredPayment): Fault {
  if (due === null) return null;
  const { paid } = due;
  const credit = journals.find(({ event }) => event === eventKinds.credit);
  const received = (netAmountCents ?? 0) + (providerFeeCents ?? 0);
  if (paid === null)
    return received === 0 && credit === undefined ? null : 'is credited, and what was received is not kept';
  const { parts } = paid;
  return first(
    differs('what was received', received, paid.amountCents),
    credit === undefined ? null : differs('what was credited', -credit.clearing, paid.amountCents),
    credit === undefined ? null : differs('the fee', credit.feeRevenue, providerFeeCents ?? 0),
    credit === undefined
      ? null
      : differs(
          'the fee of what was received',
          credit.feeRevenue,
          feeOfReceived({ due, feeCents: 0 }, paid.amountCents),
        ),
    parts && !partsFit({ amountCents, due }, { amountCents: paid.amountCents, parts })
      ? 'its parts do not add up to what was received'
      : null,
  );
}

/** Each left its step in the history, and its intent stands as long as it is open. */
function faultOfRequests({ history, requests }: StoredPayment, kind: SentKind, by: RequestCause): Fault {
  const made = requests.filter((one) => one.kind === kind);
  const asked = history.filter(({ cause }) => cause?.by === by).length;
  return first(
    differs(`the number of requests (${kind})`, made.length, asked),
    ...made.map(({ id, status, intentState }) =>
      (status === 'unknown') === (intentState !== null)
        ? null
        : `its ${kind} ${id} is ${status}, and its intent ${intentState ?? 'gone'}`,
    ),
  );
}

function faultOfChanges(payment: StoredPayment): Fault {
  const { due, requests } = payment;
  const changes = requests.filter(({ kind }) => kind === 'due_change');
  return first(
    differs('the changes that it counts', changes.length, due?.changes ?? 0),
    ...changes.map(({ id, status }) =>
      (status === 'unknown') === (open(payment) && due?.change?.id === id)
        ? null
        : `its change ${id} is ${status} while it is ${payment.status}`,
    ),
  );
}

function faultOfOutcomes(payment: StoredPayment): Fault {
  const { due, requests } = payment;
  const carriedOut = requests.filter(({ outcome }) => outcome === 'carried_out').length;
  const isEarly = requests.some(({ outcome }) => outcome === 'charge_ended') && open(payment);
  const earlier = due?.earlier?.length ?? 0;
  return first(
    carriedOut <= earlier
      ? null
      : `${carriedOut} of its changes were carried out, and it knows ${earlier} earlier terms`,
    isEarly ? `a change ended with it, and it is ${payment.status}` : null,
  );
}

function faultOfCard(payment: StoredPayment): Fault {
  const { card, status, amountCents, feeCents } = payment;
  const approvals = of(payment, eventKinds.cardApprove);
  const releases = of(payment, eventKinds.cardRelease);
  if (card === null) return approvals.length + releases.length === 0 ? null : 'is no card payment';
  const [approval] = approvals;
  const [release] = releases;
  const held = [...payment.journals, ...payment.refunds.flatMap(({ journals }) => journals)].reduce(
    (cents, one) => cents + one.cardHeld,
    0,
  );
  const feeTaken = feeCents - (card.feeBackCents ?? 0);
  // Of a payment that went back whole, and whose fee came back, nothing is left to release.
  const isNothing = release === undefined && feeTaken === 0 && held === 0;
  return first(
    differs('the number of approvals', approvals.length, status === 'paid' ? 1 : 0),
    card.settlement === 'available' && isNothing
      ? null
      : differs('the number of releases', releases.length, card.settlement === 'available' ? 1 : 0),
    differs('what is held', held, card.settlement === 'held' ? amountCents - (card.outCents ?? 0) : 0),
    (card.approval === null) === (status === 'paid')
      ? 'is paid without an approval, or not paid with one'
      : null,
    approval === undefined
      ? null
      : first(
          differs('what was approved', approval.cardHeld, amountCents),
          differs(
            'the cost of the acquirer',
            -(approval.providerCost + (release?.providerCost ?? 0)),
            card.costCents,
          ),
        ),
    release === undefined ? null : differs('the fee', release.feeRevenue, feeTaken),
    [...approvals, ...releases].every((one) => one.chainId === payment.operationId)
      ? null
      : 'posted to another operation',
  );
}

/** The takings of an acquirer against their journals, by the acquirer's names. */
function faultOfTakings(payment: StoredPayment): Fault {
  const { card, operationDeleted } = payment;
  const seized = of(payment, eventKinds.cardSeize);
  const back = of(payment, eventKinds.cardGiveBack);
  if (card === null) return seized.length + back.length === 0 ? null : 'is no card payment';
  // Those of a deleted operation stand in suspense.
  if (operationDeleted) return null;
  const taken = Object.entries(card.taken ?? {});
  const isOf = (name: string) => (one: PaymentJournal) => one.reference.startsWith(`${name}:`);
  const sum = (journals: readonly PaymentJournal[]): number =>
    journals.reduce((cents, one) => cents + one.clearing, 0);
  return first(
    ...taken.map(([name, { outCents, backCents, costCents, costBackCents }]) =>
      first(
        differs(`what was taken for ${name}`, sum(seized.filter(isOf(name))), outCents + costCents),
        differs(`what came back of ${name}`, -sum(back.filter(isOf(name))), backCents + costBackCents),
        backCents <= outCents ? null : `more came back of ${name} than was taken`,
      ),
    ),
    [...seized, ...back].every((one) => taken.some(([name]) => isOf(name)(one)))
      ? null
      : 'something was taken for nothing that its acquirer named',
  );
}

/** The fee of a held payment is not taken yet, so what refunds give back of it makes it smaller. */
function faultOfCardFee({ feeBackCents = 0 }: StoredCard, refunds: readonly StoredRefund[]): Fault {
  const posted = refunds.flatMap(({ journals }) => journals).reduce((sum, one) => sum - one.feeRevenue, 0);
  const back = refunds
    .filter(({ status }) => status === 'completed')
    .reduce((sum, one) => sum + (one.feeBackCents ?? 0), 0);
  return differs('the fee that refunds gave back', posted + feeBackCents, back);
}

/** Movements that post an acquirer's cost with what it is for. */
const ofAcquirer: ReadonlySet<number> = new Set([
  eventKinds.cardApprove,
  eventKinds.cardRelease,
  eventKinds.cardSeize,
  eventKinds.cardGiveBack,
]);

type Step = StoredPayment['history'][number];

/** Steps that change no state: a charge moved to another connection, or its merchant made a request about it. */
const isRoute = ({ cause }: Step): boolean => cause?.by === 'route';
const isRequest = ({ cause }: Pick<Step, 'cause'>): boolean => requestCauses.some((by) => by === cause?.by);

function faultOfIdentity(
  what: string,
  { intentState, intentIdentity }: Pick<StoredPayment, 'intentState' | 'intentIdentity'>,
): Fault {
  const wasSent = intentState === 'sending' || intentState === 'awaiting';
  if (wasSent === (intentIdentity !== null)) return null;
  return wasSent
    ? `${what} is ${intentState}, and to whom is not known`
    : `${what} was not sent to ${intentIdentity}`;
}

/** Where a received Pix is booked: as the payment of its charge, or in suspense under its own name. */
function faultOfBooking({ event, reference, pix }: PaymentJournal, { endToEnd }: StoredPayment): Fault {
  if (pix === null) return null;
  if (event === eventKinds.credit)
    return pix === endToEnd ? null : `${pix} is credited, it is paid by ${endToEnd}`;
  const isNamed = reference === pix && (event === eventKinds.suspense || event === eventKinds.return);
  return isNamed ? null : `${pix} is booked by event ${event}`;
}

/** The costs and the company's own money in a close. */
const faultOfOwn = (close: StoredConnectionClose, moved: Moved): Fault =>
  first(
    ...(['costCents', 'ownInCents', 'ownOutCents'] as const).map((figure) =>
      differs(`${figure} at ${close.connection} on ${close.day}`, close[figure] ?? 0, moved[figure]),
    ),
  );

/** Another takes the place of one that was refused for what it says. */
function faultOfDefences({ id, defences }: StoredDispute): Fault {
  const standing = defences.filter(({ reason }) => reason !== 'provider_refused').length;
  const fault = first(
    standing > 1 ? `${standing} of them stand` : null,
    ...defences.map((one) => faultOfDefence(one)),
  );
  return fault && `the defence of ${id}: ${fault}`;
}

/** A refusal is certain in the answer to the only attempt. */
function faultOfDefence({ status, reason, attempts, lostFiles, intentState }: StoredDefence): Fault {
  return first(
    (status === 'unknown') === (intentState !== null)
      ? null
      : `is ${status}, and its intent ${intentState ?? 'gone'}`,
    status === 'failed' && attempts > 1 ? `failed by ${reason} after ${attempts} attempts` : null,
    reason === 'provider_refused' && attempts === 0 ? 'refused without an attempt' : null,
    lostFiles > 0 ? `${lostFiles} of its files are not there` : null,
  );
}

function faultOfFeeBack({ id, reason, status, feeBackCents, journals }: StoredRefund): Fault {
  const posted = journals.reduce((sum, one) => sum + one.feeRevenue, 0);
  return first(
    differs(`the fee of the refund ${id}`, -posted, status === 'completed' ? (feeBackCents ?? 0) : 0),
    reason === 'odd_money' && feeBackCents !== null ? `the return ${id} brings a fee back` : null,
  );
}

function faultOfDisputes(payment: StoredPayment, endToEnd: string, ofPix: readonly StoredDispute[]): Fault {
  // A chargeback holds nothing: its acquirer takes it at once, which law 72 follows.
  if (payment.card !== null)
    return ofPix.every(({ holdId }) => holdId === null) ? null : 'a chargeback holds something';
  const { netAmountCents, providerFeeCents, refundedCents, returns, operationDeleted } = payment;
  const isOwn = payment.status === 'paid' && payment.endToEnd === endToEnd;
  const brought = isOwn
    ? (netAmountCents ?? 0) + (providerFeeCents ?? 0) - refundedCents
    : (payment.credited.find((one) => one.endToEnd === endToEnd)?.cents ?? 0);
  const received = operationDeleted ? 0 : brought;
  const back = returns.filter(({ posted, pix }) => posted && (pix === null || pix === endToEnd));
  const sum = (of: readonly { amountCents: number }[]): number =>
    of.reduce((cents, { amountCents }) => cents + amountCents, 0);
  const holding = ofPix.filter(
    ({ status, released }) => status !== 'rejected' && status !== 'cancelled' && !released,
  );
  const debited = ofPix.reduce((cents, one) => cents + one.debitedCents, 0);
  const disputed = holding.reduce((cents, one) => cents + one.amountCents - one.debitedCents, 0);
  const law = Math.max(0, Math.min(disputed, received - sum(back)));
  const open = new Map(
    ofPix.flatMap(({ holdId, wantedCents }) =>
      wantedCents === null ? [] : [[holdId, wantedCents] as const],
    ),
  );
  const wanted = [...open.values()].reduce((cents, one) => cents + one, 0);
  const fault = first(
    open.size <= 1 ? null : `${open.size} holds`,
    differs('what is held', wanted, law),
    ofPix.every((one) => one.debitedCents <= one.amountCents) ? null : 'more was taken than is disputed',
    debited <= sum(back) ? null : `${debited} were taken, ${sum(back)} went back`,
  );
  return fault === null ? null : `the disputes of ${endToEnd}: ${fault}`;
}

function faultOfReturn(
  { id, endToEnd, amountCents, status }: StoredRefund,
  all: readonly StoredRefund[],
  journals: readonly PaymentJournal[],
): Fault {
  const suspended = journals.find(
    ({ event, reference }) => event === eventKinds.suspense && reference === endToEnd,
  );
  const alive = all.filter((one) => one.endToEnd === endToEnd && one.status !== 'failed').length;
  const fault = first(
    differs('what stood in suspense', suspended?.suspense ?? 0, amountCents),
    status === 'failed' || alive === 1 ? null : `one of ${alive} returns of its Pix`,
  );
  return fault === null ? null : `the return ${id}: ${fault}`;
}

const isOpenRefund = ({ status }: StoredRefund): boolean => status === 'unknown' || status === 'pending';

const nextRefundStates: Readonly<Record<string, readonly string[]>> = {
  unknown: ['pending', 'completed', 'failed'],
  pending: ['completed', 'failed'],
};

function faultOfRefund(refund: StoredRefund, accountId: string): Fault {
  const { id, reason, status, amountCents, operationId, command, history, journals } = refund;
  // Money in suspense stands under the account, and its return comes out of it and nowhere else.
  const isReturn = reason === 'odd_money';
  const chainId = isReturn ? accountId : operationId;
  const suspense = journals.reduce((sum, one) => sum + one.suspense, 0);
  const of = (event: number) => journals.filter((one) => one.event === event);
  const [reserves, completions, releases] = [
    of(eventKinds.refundReserve),
    of(eventKinds.refundComplete),
    of(eventKinds.refundRelease),
  ];
  const states = history.map((step) => step.status);
  const wrongStep = states
    .slice(1)
    .find((state, at) => !nextRefundStates[states[at] as string]?.includes(state));
  const uncaused = history.find(
    ({ status: entered, cause }) =>
      !cause?.id || !causes.has(cause.by ?? '') || (cause.by === 'api' && entered !== 'unknown'),
  );
  const reserved = journals.reduce((sum, one) => sum + one.reserved, 0);
  const fault = first(
    differs('the number of reserves', reserves.length, 1),
    reserves.every((one) => one.command === command) ? null : 'reserved by another command',
    differs('what was reserved', reserves[0]?.reserved ?? 0, amountCents),
    differs('its reserve', reserved, isOpenRefund(refund) ? amountCents : 0),
    differs('the number of completions', completions.length, status === 'completed' ? 1 : 0),
    differs('the number of releases', releases.length, status === 'failed' ? 1 : 0),
    completions.every((one) => one.clearing === amountCents) ? null : 'completed with another amount',
    journals.every((one) => one.chainId === chainId) ? null : 'posted to another chain',
    differs('what it took out of suspense', -suspense, isReturn && status !== 'failed' ? amountCents : 0),
    journals.every((one) => !isReturn || one.available === 0) ? null : 'posted to a balance',
    states[0] === 'unknown' && states.at(-1) === status
      ? null
      : `is ${status}, its history is ${states.join()}`,
    wrongStep === undefined ? null : `became ${wrongStep}`,
    uncaused === undefined ? null : `${uncaused.status} without a cause`,
  );
  return fault === null ? null : `the refund ${id}: ${fault}`;
}

const dayMs = 24 * 3_600_000;

/** Where the money of a return can stand. */
const returnEvents: ReadonlySet<number> = new Set([eventKinds.return, eventKinds.debit, eventKinds.suspense]);

/** Two known returns under one name are one return that was posted twice. */
function sharedName(returns: readonly PaymentReturn[]): Fault {
  const names = returns.flatMap(({ pix, id, rtrId }) => [
    ...(rtrId === null ? [] : [rtrId]),
    ...(id === null || pix === null ? [] : [`${pix}/${id}`]),
  ]);
  const shared = names.find((name, at) => names.indexOf(name) !== at);
  return shared === undefined ? null : `two returns are named ${shared}`;
}

/** Returns of a Pix that are known, completed refunds included. */
const knownOf = (ours: StoredPayment, pix: string): number[] => [
  ...ours.returns.filter((one) => one.pix === pix).map(({ amountCents }) => amountCents),
  ...ours.refunds
    .filter(({ endToEnd, status }) => endToEnd === pix && status === 'completed')
    .map(({ amountCents }) => amountCents),
];

/** More returns of an amount are known than the provider made. */
function moreThan(truth: readonly number[], ours: StoredPayment | undefined, pix: string): Fault {
  const known = ours ? knownOf(ours, pix) : [];
  const count = (all: readonly number[], cents: number): number => all.filter((one) => one === cents).length;
  const more = known.find((cents) => count(known, cents) > count(truth, cents));
  return more === undefined
    ? null
    : `${count(known, more)} returns of ${more} are known, the provider made ${count(truth, more)}`;
}

/** Other returns are known than the provider made. Nothing is read of them while the payment is unfinished. */
function unlike(truth: readonly number[], ours: StoredPayment | undefined, pix: string): Fault {
  if (!ours || open(ours)) return null;
  const sorted = (cents: readonly number[]): string => [...cents].sort((one, other) => one - other).join();
  const [made, known] = [sorted(truth), sorted(knownOf(ours, pix))];
  return made === known ? null : `the provider returned ${made || 'nothing'}, known is ${known || 'nothing'}`;
}

// ---------------------------------------------------------------------------------------------------------------- examining

/** Where rows come from: a database here, what a rig keeps elsewhere. */
export interface Evidence {
  world: World;
  accounts(): AsyncIterable<StoredAccount>;
  chains(): AsyncIterable<Chain>;
  /**
   * Where the summing of a chain begins: at a checkpoint, or at its beginning. `kept`: checkpoints further on, which must agree.
   */
  start(chain: Chain): Promise<{ from: Readonly<ChainState>; kept: readonly ChainState[] }>;
  /** In order, those after `seq` up to the chain's. */
  journals(chain: Chain, seq: number): AsyncIterable<StoredJournal[]>;
  /** Of a chain, in order: those that end at `seq` or later, and the one before them. */
  closes(chain: Chain, seq: number): Promise<readonly StoredDayClose[]>;
  /** Of all connections, each in order; none where one account is examined, since they speak of all. */
  connectionCloses(): AsyncIterable<StoredConnectionClose>;
  /** All of them, page by page; null: those that the journals named, and the unfinished ones. */
  payments: (() => AsyncIterable<StoredPayment[]>) | null;
  openPayments(): AsyncIterable<StoredPayment[]>;
  paymentsById(accountId: string, ids: readonly string[]): Promise<StoredPayment[]>;
  /** One account after the other. */
  auditChains(): AsyncIterable<StoredAuditChain>;
  /**
   * Where the reading of a chain begins. `earlier`: the digest of the rows from before the chain, as they are now; null where they are not read.
   */
  auditStart(chain: StoredAuditChain): Promise<{ from: AuditState | null; earlier: Buffer | null }>;
  /** In order, those after `seq` up to the chain's. */
  auditRows(chain: StoredAuditChain, seq: number): AsyncIterable<ChainedAudit[]>;
  /** Accounts with audit rows and no chain. */
  strayAudits(): AsyncIterable<string>;
  /** Journals of chains that have no balance row, and chains and rows outside the cell of their account. */
  strayRows(): AsyncIterable<{ accountId: string; chainId: string | null; fault: string }>;
  /** Columns of the schema that are no whole numbers and could hold money. */
  floatColumns(): Promise<string[]>;
  /** The provider's own truth. */
  provider?: { payouts: readonly PayoutTruth[]; charges: readonly ChargeTruth[] };
}

export interface Violation {
  accountId: string | null;
  operationId: string | null;
  paymentId: string | null;
  fault: string;
}

export interface Check {
  number: number;
  name: string;
  ok: boolean;
  examined: number;
  /** The first hundred. */
  violations: Violation[];
}

/** A chain that was summed to its head and in which nothing was wrong. */
export interface Summed {
  chain: Chain;
  sums: ChainState;
  /** How many journals were summed for it. */
  journals: number;
}

const violationsMost = 100;
const paymentsPerPage = 500;

/**
 * Examines every invariant that these rows can show.
 * @returns one check per invariant, the chains that may be relied on, and those of the audit in which nothing was wrong
 */
export async function examine(
  evidence: Evidence,
): Promise<{ checks: Check[]; summed: Summed[]; audited: StoredAuditChain[] }> {
  const { world, provider } = evidence;
  const checks = checksFor(evidence);
  const pass = passOver(evidence, checks);
  const accountIds = await examineAccounts(pass);
  const { total, clearing, summed } = await examineChains(pass);
  await examineStrays(pass);
  await examineConnectionCloses(pass);
  const audited = await examineAudit(pass);
  for (const one of pass.all)
    if (one.everything) pass.report(one, one.everything(total, world, clearing), nowhere);
  for await (const page of (evidence.payments ?? evidence.openPayments)()) examinePayments(pass, page);
  if (provider) await examineProvider(pass, provider, accountIds);
  return { checks: [...checks.values()], summed, audited };
}

/** The invariants that these rows, or the provider's truth, can show. */
function checksFor(evidence: Evidence): Map<Invariant, Check> {
  const checks = new Map<Invariant, Check>();
  for (const one of invariants) {
    if (one.notHere !== undefined) continue;
    const ofRows =
      one.journal ??
      one.chain ??
      one.account ??
      one.payment ??
      one.everything ??
      one.close ??
      one.connectionClose ??
      one.audit;
    if (!ofRows && !evidence.provider) continue;
    checks.set(one, { number: one.number, name: one.name, ok: true, examined: 0, violations: [] });
  }
  return checks;
}

type Where = Omit<Violation, 'fault'>;

const nowhere: Where = { accountId: null, operationId: null, paymentId: null };

/** One pass over the rows. */
interface Pass {
  evidence: Evidence;
  /** The examined invariants, in their order. */
  all: readonly Invariant[];
  /** Those of a journal, chosen once: there are far more journals than anything else. */
  ofJournals: readonly (Invariant & { journal: NonNullable<Invariant['journal']> })[];
  /** @returns whether it holds there */
  report(one: Invariant, fault: Fault, where: Where): boolean;
  numbered(number: number): Invariant;
}

/** @param checks where it writes what it finds */
function passOver(evidence: Evidence, checks: ReadonlyMap<Invariant, Check>): Pass {
  const all = [...checks.keys()];
  return {
    evidence,
    all,
    ofJournals: all.filter((one): one is Pass['ofJournals'][number] => Boolean(one.journal)),
    report(one, fault, where) {
      const check = checks.get(one) as Check;
      check.examined++;
      if (fault === null) return true;
      check.ok = false;
      if (check.violations.length < violationsMost) check.violations.push({ ...where, fault });
      return false;
    },
    numbered: (number) => all.find((one) => one.number === number) as Invariant,
  };
}

/** @returns the ids of the accounts by their numbers */
async function examineAccounts({ evidence, all, report }: Pass): Promise<ReadonlyMap<number, string>> {
  const accountIds = new Map<number, string>();
  for await (const account of evidence.accounts()) {
    accountIds.set(account.number, account.id);
    const where = { ...nowhere, accountId: account.id };
    for (const one of all) if (one.account) report(one, one.account(account), where);
  }
  return accountIds;
}

function examinePayments({ evidence, all, report }: Pass, page: readonly StoredPayment[]): void {
  for (const payment of page) {
    const { accountId, operationId, id: paymentId } = payment;
    for (const one of all) {
      if (one.payment)
        report(one, one.payment(payment, evidence.world), { accountId, operationId, paymentId });
    }
  }
}

/** The sums of the journals of all chains. */
interface Totals {
  total: ChainState;
  /** By connection, what was summed of its clearing account. */
  clearing: Map<string, number>;
  summed: Summed[];
}

async function examineChains(pass: Pass): Promise<Totals> {
  const totals: Totals = { total: { ...emptyChain }, clearing: new Map(), summed: [] };
  const named = namedPayments(pass);
  for await (const chain of pass.evidence.chains()) await examineChain(pass, chain, named, totals);
  await named.examine(0);
  return totals;
}

interface NamedPayments {
  add(accountId: string, journal: StoredJournal): void;
  /** Of the accounts with so many of them at least, which are then forgotten. */
  examine(least: number): Promise<void>;
}

/** The payments that journals named, by account: they are examined where not all payments are. */
function namedPayments(pass: Pass): NamedPayments {
  const { evidence } = pass;
  const named = new Map<string, Set<string>>();
  return {
    add(accountId, { paymentId }) {
      if (evidence.payments !== null || paymentId === null) return;
      const ids = named.get(accountId) ?? new Set();
      named.set(accountId, ids.add(paymentId));
    },
    async examine(least) {
      for (const [accountId, ids] of named) {
        if (ids.size < least) continue;
        named.delete(accountId);
        const wanted = [...ids];
        for (let at = 0; at < wanted.length; at += paymentsPerPage) {
          const page = await evidence.paymentsById(accountId, wanted.slice(at, at + paymentsPerPage));
          examinePayments(pass, page);
        }
      }
    },
  };
}

/** A chain that is being summed. */
interface Summing {
  /** Up to the last journal that was read. */
  sums: ChainState;
  journals: number;
  /** Nothing was wrong in it so far. */
  sound: boolean;
  where: Where;
}

async function examineChain(pass: Pass, chain: Chain, named: NamedPayments, totals: Totals): Promise<void> {
  const { evidence, all, ofJournals } = pass;
  const { accountId, chainId } = chain;
  const { from, kept } = await evidence.start(chain);
  const sums: ChainState = { ...from };
  const where = { ...nowhere, accountId, operationId: chainId === accountId ? null : chainId };
  const summing: Summing = { sums, journals: 0, sound: true, where };
  const checkpoints = [...kept];
  const examineCloses = closesAlong(pass, summing, await evidence.closes(chain, from.seq));
  examineCloses();
  for await (const page of evidence.journals(chain, from.seq)) {
    for (const journal of page) {
      for (const one of ofJournals) {
        if (!pass.report(one, one.journal(journal, sums, chain), where)) summing.sound = false;
      }
      addJournal(summing, totals, journal);
      examineCloses();
      const checkpoint = checkpoints[0]?.seq === journal.seq ? checkpoints.shift() : undefined;
      if (checkpoint && !sameState(checkpoint, sums)) {
        const fault = `the checkpoint at ${journal.seq} is not what the journals say`;
        pass.report(pass.numbered(4), fault, where);
        summing.sound = false;
      }
      named.add(accountId, journal);
    }
    await named.examine(paymentsPerPage);
  }
  for (const one of all) {
    if (one.chain && !pass.report(one, one.chain(chain, sums), where)) summing.sound = false;
  }
  for (const account of lineAccounts) totals.total[account] += sums[account];
  if (summing.sound) totals.summed.push({ chain, sums, journals: summing.journals });
}

function addJournal(summing: Summing, { clearing }: Totals, journal: StoredJournal): void {
  const { sums } = summing;
  for (const account of lineAccounts) sums[account] += journal.lines[account];
  if (journal.lines.clearing !== 0)
    clearing.set(journal.clearingOf, (clearing.get(journal.clearingOf) ?? 0) + journal.lines.clearing);
  sums.seq = journal.seq;
  sums.head = journal.hash;
  summing.journals++;
}

/** @returns what examines the closes up to the journal that was read last, to be called after each one */
function closesAlong({ all, report }: Pass, summing: Summing, closes: readonly StoredDayClose[]): () => void {
  const { sums, where } = summing;
  let closed = 0;
  /** The movements up to the close before. */
  let movedBefore: number | null = closes[0]?.previousDay === null ? 0 : null;
  return () => {
    for (let close = closes[closed]; close && close.closingSeq <= sums.seq; close = closes[++closed]) {
      // One from before the checkpoint is only compared with.
      if (close.closingSeq < sums.seq) continue;
      const before = closes[closed - 1];
      const moved = movedBefore === null ? null : -sums.clearing - movedBefore;
      movedBefore = -sums.clearing;
      for (const one of all) {
        if (one.close && !report(one, one.close(close, sums, before, moved), where)) summing.sound = false;
      }
    }
  };
}

/** Rows without a chain, and columns that hold no whole numbers. */
async function examineStrays({ evidence, report, numbered }: Pass): Promise<void> {
  for await (const { accountId, chainId, fault } of evidence.strayRows()) {
    report(numbered(3), fault, { ...nowhere, accountId, operationId: chainId });
  }
  for (const column of await evidence.floatColumns()) {
    report(numbered(9), `the column ${column} is no whole number`, nowhere);
  }
}

async function examineConnectionCloses({ evidence, all, report }: Pass): Promise<void> {
  let lastClose: StoredConnectionClose | undefined;
  for await (const close of evidence.connectionCloses()) {
    const before = lastClose?.connection === close.connection ? lastClose : undefined;
    for (const one of all) {
      if (one.connectionClose) report(one, one.connectionClose(close, before), nowhere);
    }
    lastClose = close;
  }
}

async function examineAudit(pass: Pass): Promise<StoredAuditChain[]> {
  const sound: StoredAuditChain[] = [];
  for await (const chain of pass.evidence.auditChains())
    if (await examineAuditChain(pass, chain)) sound.push(chain);
  for await (const accountId of pass.evidence.strayAudits())
    pass.report(pass.numbered(75), 'audit rows without a chain', { ...nowhere, accountId });
  return sound;
}

/** @returns whether nothing was wrong in it */
async function examineAuditChain(
  { evidence, all, report, numbered }: Pass,
  chain: StoredAuditChain,
): Promise<boolean> {
  const where = { ...nowhere, accountId: chain.accountId };
  const { from, earlier } = await evidence.auditStart(chain);
  const fault = from === null ? 'an audit row is gone' : 'the audit rows from before the chain are others';
  let sound = true;
  if (from === null || (earlier !== null && !earlier.equals(chain.start)))
    sound = report(numbered(75), fault, where);
  if (from === null) return false;
  let last = from;
  for await (const page of evidence.auditRows(chain, from.seq)) {
    for (const row of page) {
      for (const one of all) if (one.audit && !report(one, one.audit(row, last), where)) sound = false;
      last = { seq: row.seq, hash: row.hash };
    }
  }
  for (const one of all)
    if (one.auditChain && !report(one, one.auditChain(chain, last), where)) sound = false;
  return sound;
}

/** Compares what the provider itself holds true with our payments. */
async function examineProvider(
  { evidence, all, report }: Pass,
  { payouts, charges }: NonNullable<Evidence['provider']>,
  accountIds: ReadonlyMap<number, string>,
): Promise<void> {
  const oursOf = async (providerId: string): Promise<StoredPayment | undefined> => {
    const id = providerId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const accountId = accountIds.get(Number.parseInt(id.slice(0, 8), 16));
    return accountId === undefined ? undefined : (await evidence.paymentsById(accountId, [id]))[0];
  };
  const whereIs = (ours: StoredPayment | undefined, providerId: string): Where => ({
    ...nowhere,
    accountId: ours?.accountId ?? null,
    paymentId: ours?.id ?? providerId,
  });
  for (const truth of payouts) {
    const ours = await oursOf(truth.providerId);
    const where = whereIs(ours, truth.providerId);
    for (const one of all) if (one.payout) report(one, one.payout(truth, ours), where);
  }
  for (const truth of charges) {
    const ours = await oursOf(truth.txid);
    const where = whereIs(ours, truth.txid);
    for (const one of all) if (one.charge) report(one, one.charge(truth, ours), where);
  }
}

const sameState = (one: ChainState, other: ChainState): boolean =>
  one.seq === other.seq &&
  one.head.equals(other.head) &&
  lineAccounts.every((account) => one[account] === other[account]);
