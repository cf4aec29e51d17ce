import { type Conditions, conditions, platform, platformKey } from '../../admission/conditions.sql.ts';
import { keyStates } from '../../admission/key-states.sql.ts';
import { answerWithinMs, before } from '../../ground/deadline.ts';
import { refuse } from '../../ground/errors.ts';
import type { Signal } from '../../ground/signal.ts';
import { type Caller, requirePermission } from '../../http/auth.ts';
import { eventKinds } from '../../ledger/journal.ts';
import type { BalanceRow } from '../../ledger/ledger.sql.ts';
import {
  type ChainKey,
  type Posting,
  put,
  type Read,
  read,
  type View,
  type Write,
} from '../../ledger/till.ts';
import { causeOfCall, newPayment, type Payment, type PaymentReason } from '../../payments/payment.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import { next } from '../../payments/state.ts';
import { fingerprintOf, paymentIdFor, sameRequest } from '../../request-keys/idempotency.ts';
import { takenKeys } from '../../request-keys/used-keys.sql.ts';
import { announce } from '../payment-events.ts';
import { type BreakerRow, breakerKey, breakerRows, type CallKind, probeEveryMs } from './breaker.ts';
import { type Intent, leaseMarginMs, sendPriority } from './intent.ts';
import { intents } from './intents.sql.ts';
import type { SendDeps, Sender } from './send.ts';
import { type Attempt, send } from './send.ts';

/** What accepting a payment needs. */
export interface AcceptDeps extends SendDeps {
  /** The installation's identity secret: payment ids and fingerprints. */
  identity: Buffer;
  /** Sends beside the callers in this process, by connection; none without a worker. */
  senders: ReadonlyMap<string, Sender>;
  /** Something became due: the worker of this process listens, if there is one. */
  wake: Signal;
}

/**
 * How a new payment comes to be: payment (`unknown`), reserve and send intent commit together, before the first byte goes out.
 *
 * When the caller waits, the intent commits as `sending`, owned by this process, which then sends at once; otherwise as `ready`
 * for a worker. Everything is decided under the lock, in this order: repeat or conflict of the request key; state of key,
 * account, platform and provider; rules of the business. So a repeat is answered even when the account is blocked by now.
 */
export interface Order {
  kind: Payment['kind'];
  amountCents: number;
  requestKey: string;
  description: string;
  payerName: string | null;
  pixKey: { type: NonNullable<Payment['pixKeyType']>; key: string } | null;
  /** What a repeat must have in common with the first request, besides the operation. */
  asked: Readonly<Record<string, string | number>>;
  /** The account's fee, by its conditions at this moment. @throws ApiError by the rules of the kind */
  feeCents(account: Conditions): number;
  /** Known beforehand to be refused: recorded as cancelled, never sent. */
  refusedAs: PaymentReason | null;
  waitMs: number;
}

export interface Accepted {
  payment: Payment;
  replayed: boolean;
}

/** What of the wait for the provider is kept for reading the state as it stands. */
const lastLookMs = 1_000;

/** How an order goes out. */
export interface Way {
  connection: string;
  call: CallKind;
  /** The lease of a send that this process makes itself; null: a worker sends. */
  leaseMs: number | null;
  waitMs: number;
  /** Monotonic, from before the commit. */
  startedMs: number;
  /** Monotonic; what the till cannot say by then is answered 503. */
  acceptByMs: number;
  /** Monotonic; the caller has the state by then, whatever hangs. */
  answerByMs: number;
  traceparent: string | undefined;
  /** False: nothing new is accepted; a repeat is answered all the same. */
  configured: boolean;
}

export function planDispatch(deps: AcceptDeps, caller: Caller, kind: Payment['kind'], waitMs: number): Way {
  const connection = caller.test ? 'simulator' : 'live';
  const provider = deps.providers.get(connection);
  const can = provider?.capabilities;
  // Who holds a slot commits `sending`, where sends are limited: that is a worker. Charges are never limited.
  const unlimited = kind === 'deposit' || can?.maxParallelSends === null;
  // When nobody waits and this process has a worker, it need not be found in the database first. After a crash `sending` is only
  // asked for, so not where a repeat is not safe: `ready` is sent at once by whoever starts next.
  const handsOver = can?.repeatIsSafe === true && deps.senders.get(connection)?.hasRoom() === true;
  const inline = unlimited && (waitMs > 0 || handsOver);
  const startedMs = deps.clock.monotonicMs();
  const arrivedMs = caller.arrivedMs ?? startedMs;
  return {
    connection,
    call: kind === 'deposit' ? 'charge' : 'payout',
    leaseMs: can && inline ? can.sendTimeoutMs + leaseMarginMs : null,
    waitMs,
    startedMs,
    acceptByMs: arrivedMs + answerWithinMs,
    answerByMs: arrivedMs + Math.max(answerWithinMs, waitMs + lastLookMs),
    traceparent: caller.traceparent,
    configured: can !== undefined,
  };
}

export async function acceptPayment(deps: AcceptDeps, caller: Caller, order: Order): Promise<Accepted> {
  const way = planDispatch(deps, caller, order.kind, order.waitMs);
  const { payment, replayed, fence, breakerOpen } = await commit(deps, caller, order, way);
  deps.breakers.seen(way.connection, way.call, breakerOpen);
  if (replayed) return { payment, replayed };
  return { payment: await sent(deps, way, payment, fence), replayed };
}

/** Sends what was committed, or lets a worker, and waits for the provider's answer as long as the way says. */
export async function sent(
  deps: AcceptDeps,
  way: Way,
  payment: Payment,
  fence: string | null,
): Promise<Payment> {
  if (payment.status !== 'unknown') {
    deps.eventsWritten();
    return payment;
  }
  const { connection, leaseMs, startedMs, waitMs } = way;
  if (fence === null || leaseMs === null) {
    deps.wake();
    return waitMs > 0 ? watched(deps, payment, way) : payment;
  }
  const attempt: Attempt = { payment, connection, fence, leaseEndsMs: startedMs + leaseMs, repeat: false };
  const sender = waitMs > 0 ? undefined : deps.senders.get(connection);
  if (sender) {
    sender.begin(attempt);
    return payment;
  }
  return answeredWithin(deps, send(deps, { ...attempt, traceparent: way.traceparent }), payment, way);
}

/** What `claimIn` reads. */
export const claimReads = (accountId: string, paymentId: string, requestKey: string): Read[] => [
  read(payments, paymentKey(accountId, paymentId)),
  read(takenKeys, accountId + requestKey),
];

/**
 * The balance of the operation, and the payment that an earlier request with this key has made.
 * @throws ApiError `operation_not_found`; `idempotency_conflict` when the key was used for something else
 */
export function claimIn(
  view: View,
  chain: ChainKey,
  paymentId: string,
  requestKey: string,
  fingerprint: Buffer,
): { balance: Readonly<BalanceRow>; earlier: Payment | undefined } {
  const { accountId } = chain;
  const balance = view.balance(chain);
  if (!balance || balance.deletedAt !== null) throw refuse('operation_not_found');
  const earlier = view.get(payments, paymentKey(accountId, paymentId));
  if (earlier && !sameRequest(earlier.fingerprint, fingerprint))
    throw refuse('idempotency_conflict', { paymentId });
  if (!earlier && view.get(takenKeys, accountId + requestKey)) throw refuse('idempotency_conflict');
  return { balance, earlier };
}

interface Committed extends Accepted {
  /** Ours to send with; null when a worker sends. */
  fence: string | null;
  breakerOpen: boolean;
}

function commit(deps: AcceptDeps, caller: Caller, order: Order, way: Way): Promise<Committed> {
  const { accountId, operationId } = caller;
  const id = paymentIdFor(deps.identity, { id: accountId, number: caller.accountNumber }, order.requestKey);
  const fingerprint = fingerprintOf(deps.identity, { ...order.asked, kind: order.kind, operationId });
  const chain = { accountId, chainId: operationId };
  const token = deps.ids.uuid();
  const sealedKey = order.pixKey === null ? null : deps.secrets.seal(order.pixKey.key, id);
  return deps.till.submit<Committed>({
    token,
    deadlineMs: way.acceptByMs,
    chains: [chain],
    reads: [...claimReads(accountId, id, order.requestKey), ...admissionReads(caller, way)],
    eventRefs: [],
    decide: (view) => {
      const { balance, earlier } = claimIn(view, chain, id, order.requestKey, fingerprint);
      if (earlier) {
        const breakerOpen = view.get(breakerRows, breakerKey(way.connection, way.call))?.open ?? false;
        return { answer: { payment: earlier, replayed: true, fence: null, breakerOpen } };
      }
      const now = deps.clock.now();
      const admission = admit(view, caller, way, balance.frozen, now);
      const cause = causeOfCall('api', caller);
      const payment = newPayment(
        {
          accountId,
          id,
          operationId,
          kind: order.kind,
          amountCents: order.amountCents,
          feeCents: order.feeCents(admission.account),
          requestKey: order.requestKey,
          fingerprint,
          description: order.description,
          payerName: order.payerName,
          pixKey: sealedKey,
          pixKeyType: order.pixKey?.type ?? null,
          command: token,
        },
        'unknown',
        now,
        cause,
      );
      const reserve = { kind: 'reserve', grossCents: order.amountCents } as const;
      const postings: Posting[] =
        order.kind === 'deposit'
          ? []
          : [
              {
                chain,
                subject: id,
                event: eventKinds.reserve,
                reference: '',
                effectiveAt: now,
                movement: reserve,
              },
            ];
      const { refusedAs } = order;
      const begun = begin(deps, view, way, admission, { payment, refusedAs, token, now, caller });
      return {
        answer: {
          payment: begun.payment,
          replayed: false,
          fence: begun.fence,
          breakerOpen: admission.breaker?.open ?? false,
        },
        postings: [...postings, ...begun.postings],
        writes: begun.writes,
      };
    },
  });
}

/** What `admit` and `begin` look at, under the lock. */
export const admissionReads = (caller: Caller, way: Way): Read[] => [
  ...stateReads(caller),
  read(breakerRows, breakerKey(way.connection, way.call)),
];

/** What `stateAllows` looks at. */
export const stateReads = (caller: Caller): Read[] => [
  ...(caller.keyId === null ? [] : [read(keyStates, caller.keyId)]),
  read(conditions, caller.accountId),
  read(platform, platformKey),
];

export interface Admission {
  account: Conditions;
  breaker: BreakerRow | undefined;
}

/**
 * Key, account, platform and provider, in the order in which a refusal is named.
 * @throws ApiError 401, 403 or 503
 */
export function admit(view: View, caller: Caller, way: Way, frozen: boolean, now: number): Admission {
  const account = stateAllows(view, caller, way.call === 'charge' ? 'deposit' : 'transfer', frozen, now);
  if (!way.configured) throw refuse('provider_not_configured');
  const breaker = view.get(breakerRows, breakerKey(way.connection, way.call));
  if (breaker?.open && breaker.probeAt > now) {
    throw refuse('provider_unavailable', { retryAfterSeconds: Math.ceil((breaker.probeAt - now) / 1000) });
  }
  return { account, breaker };
}

/** @throws ApiError 401, 403 or 503 */
export function stateAllows(
  view: View,
  caller: Caller,
  kind: Payment['kind'],
  frozen: boolean,
  now: number,
): Conditions {
  if (caller.keyId !== null) {
    const keyState = view.get(keyStates, caller.keyId);
    if (!keyState || keyState.revokedAt !== null) throw refuse('api_key_invalid');
    if (keyState.expiresAt !== null && keyState.expiresAt <= now) throw refuse('api_key_expired');
    requirePermission(new Set(keyState.permissions), [kind === 'deposit' ? 'charges' : 'transfers']);
  }
  const account = view.get(conditions, caller.accountId);
  if (!account?.enabled) throw refuse('account_disabled');
  if (kind === 'transfer') {
    if (account.withdrawalsBlocked || frozen) throw refuse('withdrawals_blocked');
    if (view.get(platform, platformKey)?.withdrawalsPausedAt !== null) {
      throw refuse('withdrawals_paused', { retryAfterSeconds: 60 });
    }
  }
  return account;
}

export interface Begun {
  payment: Payment;
  fence: string | null;
  postings: Posting[];
  writes: Write[];
}

/**
 * What is written with a payment that became `unknown` in this flush: the intent to send it. What is known beforehand to be
 * refused is cancelled in the same flush, and the provider never hears of it.
 */
export function begin(
  deps: AcceptDeps,
  view: View,
  way: Way,
  { breaker }: Admission,
  order: { payment: Payment; refusedAs: PaymentReason | null; token: string; now: number; caller: Caller },
): Begun {
  const { payment, refusedAs, token, now, caller } = order;
  const { accountId, id: paymentId, operationId } = payment;
  if (refusedAs !== null) {
    const step = next(
      payment,
      { type: 'refused', reason: refusedAs },
      {
        now,
        cause: causeOfCall('rule', caller),
        operationDeleted: false,
        incidentOpen: false,
        posted: () => false,
        knowsReturn: () => false,
        isPixKey: () => false,
      },
    );
    if (!step) throw new Error('a new payment could not be refused');
    const chain = { accountId, chainId: operationId };
    return {
      payment: step.payment,
      fence: null,
      postings: step.postings.map((posting) => ({ ...posting, chain, subject: paymentId })),
      writes: [
        put(payments, step.payment),
        ...announce(deps, way.connection, step.payment, payment.status, step.events),
      ],
    };
  }
  const { leaseMs } = way;
  // After a restore the same id may have gone out in the time that was lost: the send that begins now is not the first.
  const earlierAttempts = view.get(platform, platformKey)?.restoredAt === null ? 0 : 1;
  const intent: Intent = {
    accountId,
    paymentId,
    operationId,
    connection: way.connection,
    kind: payment.kind,
    priority: sendPriority,
    state: leaseMs === null ? 'ready' : 'sending',
    fence: token,
    attempt: leaseMs === null ? 0 : 1 + earlierAttempts,
    leaseUntil: leaseMs === null ? null : now + leaseMs,
    dueAt: leaseMs === null ? now : now + leaseMs,
    newsAt: now,
    attemptEndedAt: null,
    failures: 0,
    absences: 0,
    absentAt: null,
    undecidedSince: null,
    answeredAt: null,
    known: false,
    refused: false,
    createdAt: now,
  };
  const probing = breaker?.open ? [put(breakerRows, { ...breaker, probeAt: now + probeEveryMs })] : [];
  return {
    payment,
    fence: leaseMs === null ? null : token,
    postings: [],
    writes: [put(payments, payment), put(intents, intent), ...probing],
  };
}

/** The outcome when it comes in time, else the state as it stands; the sending goes on either way. */
async function answeredWithin(
  deps: AcceptDeps,
  sending: Promise<Payment>,
  asCommitted: Payment,
  way: Way,
): Promise<Payment> {
  const answered = sending.catch((error: unknown) => {
    // The outcome could not be stored: its lease runs out and the follow-up asks.
    deps.log.error({ err: error, paymentId: asCommitted.id }, 'the outcome of a send was not applied');
    return asCommitted;
  });
  const cut = new AbortController();
  const waited = deps.clock
    .sleep(waitLeftMs(deps, way), AbortSignal.any([cut.signal, deps.draining]))
    .then(() => null);
  const payment = await Promise.race([answered, waited]);
  cut.abort();
  return payment ?? (await stored(deps, asCommitted, way));
}

/** How long there is to wait for the provider: all of it, unless the commit took its time. */
const waitLeftMs = (deps: AcceptDeps, { waitMs, answerByMs }: Way): number =>
  Math.max(0, Math.min(waitMs, answerByMs - lastLookMs - deps.clock.monotonicMs()));

/** A worker sends, perhaps in another process: waits for the outcome, and reads the state as it stands when the wait is over. */
async function watched(deps: AcceptDeps, payment: Payment, way: Way): Promise<Payment> {
  const over = new AbortController();
  const ended = AbortSignal.any([over.signal, deps.draining]);
  const outcome = deps.outcomes.outcomeOf(payment, ended);
  void deps.clock.sleep(waitLeftMs(deps, way), ended).then(() => over.abort());
  const known = await outcome;
  over.abort();
  return known ?? (await stored(deps, payment, way));
}

/** As it is in the database now; as we knew it when that cannot be read: an accepted payment never becomes an error. */
async function stored(deps: AcceptDeps, payment: Payment, way: Way): Promise<Payment> {
  try {
    const look = payments.read(deps.sql, [paymentKey(payment.accountId, payment.id)]);
    const [row] = await before(deps.clock, way.answerByMs, look);
    return row ?? payment;
  } catch (error) {
    deps.log.warn({ err: error, paymentId: payment.id }, 'the latest state could not be read');
    return payment;
  }
}
