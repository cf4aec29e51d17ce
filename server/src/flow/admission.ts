import { type Caller, requirePermission } from '../ground/caller.ts';
import { refuse } from '../ground/errors.ts';
import { announce } from '../kinds/payment/payment-events.ts';
import { type Intent, type SentKind, sendPriority } from '../money/intent.ts';
import { eventKinds } from '../money/journal.ts';
import { causeOfCall, newPayment, type Payment, type PaymentReason } from '../money/payment.ts';
import { factsOfDecision, next } from '../money/state.ts';
import { idsOf } from '../ports/ids.ts';
import type { BalanceRow } from '../store/ledger.sql.ts';
import {
  type AccountState,
  conditions,
  lostAttempts,
  platform,
  platformKey,
} from '../store/rows/conditions.sql.ts';
import { sameRequest } from '../store/rows/idempotency.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { keyStates } from '../store/rows/key-states.sql.ts';
import { lostPayments } from '../store/rows/lost-payments.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { takenKeys } from '../store/rows/used-keys.sql.ts';
import {
  type ChainKey,
  type Command,
  type Decision,
  type Posting,
  put,
  type Read,
  read,
  remove,
  type View,
  type Write,
} from '../store/till.ts';
import { connectionsToAsk } from './ask-first.ts';
import { type BreakerRow, breakerKey, breakerRows } from './breaker.ts';
import type { DispatchPlan } from './dispatch-plan.ts';
import { adoptedIntent, lostIn, lostReads } from './lost-payments.ts';
import { ProbeDue } from './probe.ts';

/**
 * The admission of a new payment, as a command for the till. Pure.
 *
 * Payment (`unknown`), reserve and send intent commit together, before the first byte goes to the provider. When the caller waits, the
 * intent commits as `sending`, owned by this process, which then sends at once; otherwise it commits as `ready` for a worker. The
 * till decides under the lock, in this order: repeat or conflict of the request key; state of key, account, platform and
 * provider; rules of the business. So a repeat is answered even when the account is blocked by now.
 */
export interface Order {
  kind: Payment['kind'];
  amountCents: number;
  requestKey: string;
  description: string;
  metadata: Payment['metadata'];
  payerName: string | null;
  pixKey: { type: NonNullable<Payment['pixKeyType']>; key: string } | null;
  /** What a repeat must have in common with the first request, besides the operation. */
  asked: Readonly<Record<string, string | number>>;
  /** The fee by the account's conditions, in cents. @throws ApiError by the rules of the kind */
  feeCents(account: AccountState): number;
  /** The refusal is known beforehand: the payment is recorded as cancelled and never sent. */
  refusedAs: PaymentReason | null;
  /** How long the caller waits for the provider, in milliseconds. */
  waitMs: number;
}

export interface AdmissionInput {
  caller: Caller;
  order: Order;
  plan: DispatchPlan;
  /** Also the fence of a send by this process. */
  token: string;
  paymentId: string;
  /** A hash of everything that a repeat must have in common with the first request. */
  fingerprint: Buffer;
  /** The receiver's Pix key, sealed for this payment. */
  sealedKey: Buffer | null;
  /** This run of the command has the probe of an open breaker (`probe.ts`). */
  hasProbe: boolean;
}

export interface Admitted {
  payment: Payment;
  /** An earlier request with this key made the payment. */
  replayed: boolean;
  /** The fence of the send by this process; null: a worker sends. */
  fence: string | null;
  breakerOpen: boolean;
}

/** @throws ApiError from `decide`: what refuses the order */
export function buildAdmission(input: AdmissionInput): Command<Admitted> {
  const { caller, order, plan, token, paymentId, fingerprint, hasProbe } = input;
  const { accountId, operationId } = caller;
  const chain = { accountId, chainId: operationId };
  return {
    token,
    deadlineMs: plan.acceptByMs,
    chains: [chain],
    reads: [
      ...requestKeyReads(accountId, paymentId, order.requestKey),
      ...admissionReads(caller, plan),
      ...lostReads(plan, accountId, paymentId),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const { balance, earlier } = findEarlier(view, chain, paymentId, order.requestKey, fingerprint);
      if (earlier) {
        const breakerOpen = view.get(breakerRows, breakerKey(plan.connection, plan.call))?.open ?? false;
        return { answer: { payment: earlier, replayed: true, fence: null, breakerOpen } };
      }
      const standing = { frozen: balance.frozen, hasProbe };
      const admission = lostIn(view, plan, view.get(conditions, accountId), paymentId)
        ? requireRepeat(view, caller, plan, standing, now)
        : requireAdmission(view, caller, plan, standing, now);
      return admitted(view, input, admission, now);
    },
  };
}

function admitted(
  view: View,
  { caller, order, plan, token, paymentId, fingerprint, sealedKey }: AdmissionInput,
  admission: Admission,
  now: number,
): Decision<Admitted> {
  const { accountId, operationId } = caller;
  const { kind, amountCents, refusedAs } = order;
  const chain = { accountId, chainId: operationId };
  const content = {
    accountId,
    id: paymentId,
    operationId,
    kind,
    amountCents,
    feeCents: order.feeCents(admission.account),
    requestKey: order.requestKey,
    fingerprint,
    description: order.description,
    metadata: order.metadata,
    payerName: order.payerName,
    pixKey: sealedKey,
    pixKeyType: order.pixKey?.type ?? null,
    command: token,
    connection: plan.connection,
  };
  const payment = newPayment(content, 'unknown', now, causeOfCall('api', caller));
  const reserve: Posting = {
    chain,
    subject: paymentId,
    event: eventKinds.reserve,
    reference: '',
    effectiveAt: now,
    movement: { kind: 'reserve', grossCents: amountCents },
  };
  const begun = createSendIntent(view, plan, { payment, refusedAs, token, now, caller });
  const breakerOpen = admission.breaker?.open ?? false;
  return {
    answer: { payment: begun.payment, replayed: false, fence: begun.fence, breakerOpen },
    postings: [...(kind === 'deposit' ? [] : [reserve]), ...begun.postings],
    writes: begun.writes,
  };
}

/** What `findEarlier` reads. */
export const requestKeyReads = (accountId: string, paymentId: string, requestKey: string): Read[] => [
  read(payments, paymentKey(accountId, paymentId)),
  read(takenKeys, accountId + requestKey),
];

/**
 * The balance of the operation, and the payment that an earlier request with this key made.
 * @throws ApiError `operation_not_found`; `idempotency_conflict` when the key was used for something else
 */
export function findEarlier(
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

/** What `requireAdmission` and `createSendIntent` read. */
export const admissionReads = (caller: Caller, plan: DispatchPlan): Read[] => [
  ...stateReads(caller),
  read(breakerRows, breakerKey(plan.connection, plan.call)),
];

/** What `requireAllowed` reads. */
export const stateReads = (caller: Caller): Read[] => [
  ...(caller.keyId === null ? [] : [read(keyStates, caller.keyId)]),
  read(conditions, caller.accountId),
  read(platform, platformKey),
];

export interface Admission {
  account: AccountState;
  breaker: BreakerRow | undefined;
}

/**
 * The same of a payment that a provider already has: it is only queried, there. What was found of the account stops its other withdrawals, and
 * not the repeat that brings it back.
 */
const requireRepeat = (
  view: View,
  caller: Caller,
  plan: DispatchPlan,
  { frozen }: { frozen: boolean },
  now: number,
): Admission => ({
  account: requireAllowed(view, caller, kindOf(plan), { frozen, repeatsLost: true }, now),
  breaker: undefined,
});

/**
 * The states of key, account, platform and provider, checked in this order.
 * @throws ApiError 401, 403 or 503; ProbeDue
 */
export function requireAdmission(
  view: View,
  caller: Caller,
  plan: DispatchPlan,
  { frozen, hasProbe }: { frozen: boolean; hasProbe: boolean },
  now: number,
): Admission {
  const account = requireAllowed(view, caller, kindOf(plan), { frozen }, now);
  if (!plan.configured) throw refuse('provider_not_configured');
  if (!plan.offered) throw refuse('not_offered_by_provider');
  const breaker = view.get(breakerRows, breakerKey(plan.connection, plan.call));
  if (breaker?.open && !hasProbe) {
    if (breaker.probeAt <= now) throw new ProbeDue();
    throw refuse('provider_unavailable', { retryAfterSeconds: Math.ceil((breaker.probeAt - now) / 1000) });
  }
  return { account, breaker };
}

/**
 * The states of key, account and platform. @returns the account's conditions
 * @throws ApiError 401, 403 or 503
 */
export function requireAllowed(
  view: View,
  caller: Caller,
  kind: SentKind,
  { frozen, repeatsLost = false }: { frozen: boolean; repeatsLost?: boolean },
  now: number,
): AccountState {
  if (caller.keyId !== null) {
    const keyState = view.get(keyStates, caller.keyId);
    if (!keyState || keyState.revokedAt !== null) throw refuse('api_key_invalid');
    if (keyState.expiresAt !== null && keyState.expiresAt <= now) throw refuse('api_key_expired');
    requirePermission(new Set(keyState.permissions), [permissionFor[kind]]);
  }
  const account = view.get(conditions, caller.accountId);
  if (!account?.enabled) throw refuse('account_disabled');
  if (kind !== 'deposit') {
    if (account.withdrawalsBlocked || frozen) throw refuse('withdrawals_blocked');
    if (view.get(platform, platformKey)?.withdrawalsPausedAt !== null) {
      throw refuse('withdrawals_paused', { retryAfterSeconds: 60 });
    }
    if (account.lostPayouts && !repeatsLost) throw refuse('withdrawals_blocked');
  }
  return account;
}

const permissionFor = { deposit: 'charges', transfer: 'transfers', refund: 'refunds' } as const;

const kindOf = ({ call }: DispatchPlan): SentKind =>
  call === 'charge' ? 'deposit' : call === 'refund' ? 'refund' : 'transfer';

export interface CreatedIntent {
  payment: Payment;
  fence: string | null;
  postings: Posting[];
  writes: Write[];
}

/**
 * What the command writes for a payment that becomes `unknown`: the payment and the intent to send it. A payment whose refusal is known
 * beforehand is cancelled in the same transaction, and nothing is sent to the provider.
 */
export function createSendIntent(
  view: View,
  plan: DispatchPlan,
  order: { payment: Payment; refusedAs: PaymentReason | null; token: string; now: number; caller: Caller },
): CreatedIntent {
  const { payment, refusedAs, token, now } = order;
  const { accountId, id } = payment;
  const intent = newIntent(view, plan, payment, token, now);
  const lost = lostIn(view, plan, view.get(conditions, accountId), id);
  if (lost) {
    const adopted = { ...payment, connection: lost.connection };
    return {
      payment: adopted,
      fence: null,
      postings: [],
      writes: [
        put(payments, adopted),
        put(intents, adoptedIntent(intent, payment, lost, now)),
        remove(lostPayments, paymentKey(accountId, id)),
      ],
    };
  }
  if (refusedAs !== null) return refusedBeforehand(payment, refusedAs, plan.connection, order);
  return {
    payment,
    fence: intent.state === 'sending' ? token : null,
    postings: [],
    writes: [put(payments, payment), put(intents, intent)],
  };
}

/** The intent to send a payment or a refund. */
export function newIntent(
  view: View,
  plan: DispatchPlan,
  {
    accountId,
    id: paymentId,
    operationId,
    kind,
  }: Pick<Intent, 'accountId' | 'operationId' | 'kind'> & { id: string },
  token: string,
  now: number,
): Intent {
  const installation = view.get(platform, platformKey);
  const asksFirst = connectionsToAsk(installation, { kind, connection: plan.connection }, plan.candidates);
  // A worker asks before it sends.
  const leaseMs = asksFirst.length > 0 ? null : plan.leaseMs;
  // After a restore the same id may have been sent in the time that was lost: this send then does not count as the first.
  const earlierAttempts = lostAttempts(installation, { kind, connection: plan.connection });
  return {
    accountId,
    paymentId,
    operationId,
    connection: plan.connection,
    kind,
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
    providerRef: null,
    identity: leaseMs === null ? null : plan.identity,
  };
}

function refusedBeforehand(
  payment: Payment,
  reason: PaymentReason,
  connection: string,
  { token, now, caller }: { token: string; now: number; caller: Caller },
): CreatedIntent {
  const step = next(payment, { type: 'refused', reason }, factsOfDecision(now, causeOfCall('rule', caller)));
  if (!step) throw new Error('a new payment could not be refused');
  const chain: ChainKey = { accountId: payment.accountId, chainId: payment.operationId };
  return {
    payment: step.payment,
    fence: null,
    postings: step.postings.map((posting) => ({ ...posting, chain, subject: payment.id, connection })),
    writes: [
      put(payments, step.payment),
      ...announce(idsOf(token), !caller.test, step.payment, payment.status, step.events),
    ],
  };
}
