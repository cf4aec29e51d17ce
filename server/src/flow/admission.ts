import { type Caller, requirePermission } from '../ground/caller.ts';
import { refuse } from '../ground/errors.ts';
import type { AnyKind, KindOf, Sent } from '../kinds/kind.ts';
import { type Intent, newIntent } from '../money/intent.ts';
import type { PaymentReason } from '../money/payment.ts';
import type { Table } from '../store/database/table.ts';
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
import { adoptedIntent, lostIn } from './lost-payments.ts';
import { ProbeDue } from './probe.ts';

/**
 * The admission of what is to be sent, as a command for the till, for every kind. Pure.
 *
 * Its row (`unknown`), reserve and send intent commit together, before the first byte goes to the provider. When the caller waits, the
 * intent commits as `sending`, owned by this process, which then sends at once; otherwise it commits as `ready` for a worker. The
 * till decides under the lock, in this order: repeat or conflict of the request key; state of key, account, platform and
 * provider; rules of the kind. So a repeat is answered even when the account is blocked by now.
 */
export interface AdmissionInput<Order> {
  caller: Caller;
  order: Order;
  plan: DispatchPlan;
  /** Also the fence of a send by this process. */
  token: string;
  id: string;
  /** A hash of everything that a repeat must have in common with the first request. */
  fingerprint: Buffer;
  /** The secret of the order, sealed for this id. */
  sealed: Buffer | null;
  /** This run of the command has the probe of an open breaker (`probe.ts`). */
  hasProbe: boolean;
}

/** The row that the order made, or an earlier one with its key. */
export interface Begun<Row> {
  row: Row;
  /** An earlier request with this key made it. */
  replayed: boolean;
  /** The fence of the send by this process; null: a worker sends. */
  fence: string | null;
  breakerOpen: boolean;
}

/** @throws ApiError from `decide`: what refuses the order */
export function buildAdmission<Row extends Sent, Order extends { requestKey: string }>(
  kind: KindOf<Row, Order>,
  input: AdmissionInput<Order>,
): Command<Begun<Row>> {
  const { caller, order, plan, token, id, fingerprint, sealed, hasProbe } = input;
  const { accountId, operationId } = caller;
  const chain = { accountId, chainId: operationId };
  return {
    token,
    deadlineMs: plan.acceptByMs,
    chains: [chain],
    reads: [
      read(kind.table, accountId + id),
      ...requestKeyReads(accountId, id, order.requestKey),
      ...(kind.admissionReads?.(accountId, order) ?? []),
      ...admissionReads(caller, plan),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const { frozen } = liveBalance(view, chain);
      const earlier = findEarlier(
        view,
        kind.table,
        { accountId, id, requestKey: order.requestKey },
        fingerprint,
      );
      if (earlier) {
        const breakerOpen = view.get(breakerRows, breakerKey(plan.connection, plan.call))?.open ?? false;
        return { answer: { row: earlier, replayed: true, fence: null, breakerOpen } };
      }
      const { account, breaker } = requireBeginning(view, kind, { caller, plan, id, frozen, hasProbe }, now);
      const { connection, can } = plan;
      const admission = { caller, order, account, connection, can, id, fingerprint, sealed, token };
      const { row, refusedAs, postings, writes } = kind.admit(view, admission, now);
      const begun = createSendIntent(view, kind, plan, { row, refusedAs, token, now, caller });
      const breakerOpen = breaker?.open ?? false;
      return {
        answer: { row: begun.row, replayed: false, fence: begun.fence, breakerOpen },
        postings: [...postings, ...begun.postings],
        writes: [...begun.writes, ...writes],
      };
    },
  };
}

/** @throws ApiError `operation_not_found` */
export function liveBalance(view: View, chain: ChainKey): Readonly<BalanceRow> {
  const balance = view.balance(chain);
  if (!balance || balance.deletedAt !== null) throw refuse('operation_not_found');
  return balance;
}

/** The reads of `findEarlier`, besides the row itself. */
export const requestKeyReads = (accountId: string, id: string, requestKey: string): Read[] => [
  read(payments, paymentKey(accountId, id)),
  read(takenKeys, accountId + requestKey),
];

/**
 * The row that an earlier request with this key made.
 * @throws ApiError `idempotency_conflict` when the key was used for something else
 */
export function findEarlier<Row extends Sent>(
  view: View,
  table: Table<Row>,
  { accountId, id, requestKey }: { accountId: string; id: string; requestKey: string },
  fingerprint: Buffer,
): Row | undefined {
  const earlier = view.get(table, accountId + id);
  if (earlier && sameRequest(earlier.fingerprint, fingerprint)) return earlier;
  const payment = view.get(payments, paymentKey(accountId, id));
  if (payment) throw refuse('idempotency_conflict', { paymentId: payment.id });
  if (earlier || view.get(takenKeys, accountId + requestKey)) throw refuse('idempotency_conflict');
  return undefined;
}

/** The reads of `requireAdmission` and `createSendIntent`. */
export const admissionReads = (caller: Caller, plan: DispatchPlan): Read[] => [
  ...stateReads(caller),
  read(breakerRows, breakerKey(plan.connection, plan.call)),
];

/** The reads of `requireAllowed`. */
export const stateReads = (caller: Caller): Read[] => [
  ...(caller.keyId === null ? [] : [read(keyStates, caller.keyId)]),
  read(conditions, caller.accountId),
  read(platform, platformKey),
];

export interface Allowed {
  account: AccountState;
  breaker: BreakerRow | undefined;
}

interface Beginning {
  caller: Caller;
  plan: DispatchPlan;
  id: string;
  frozen: boolean;
  hasProbe: boolean;
}

/**
 * Of a payment that a provider already has, which is only queried there, less is required: what was found of the account stops its other
 * withdrawals, and not the repeat that brings it back.
 */
function requireBeginning(
  view: View,
  kind: AnyKind,
  { caller, plan, id, frozen, hasProbe }: Beginning,
  now: number,
): Allowed {
  const isLost = kind.adopted && lostIn(view, view.get(conditions, caller.accountId), id);
  if (!isLost) return requireAdmission(view, kind, { caller, plan, frozen, hasProbe }, now);
  return {
    account: requireAllowed(view, kind, caller, { frozen, repeatsLost: true }, now),
    breaker: undefined,
  };
}

/**
 * The states of key, account, platform and provider, checked in this order.
 * @throws ApiError 401, 403 or 503; ProbeDue
 */
export function requireAdmission(
  view: View,
  kind: AnyKind,
  { caller, plan, frozen, hasProbe }: Omit<Beginning, 'id'>,
  now: number,
): Allowed {
  const account = requireAllowed(view, kind, caller, { frozen }, now);
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
  { permission, isWithdrawal, whileDisabled }: Pick<AnyKind, 'permission' | 'isWithdrawal' | 'whileDisabled'>,
  caller: Caller,
  { frozen, repeatsLost = false }: { frozen: boolean; repeatsLost?: boolean },
  now: number,
): AccountState {
  if (caller.keyId !== null) {
    const keyState = view.get(keyStates, caller.keyId);
    if (!keyState || keyState.revokedAt !== null) throw refuse('api_key_invalid');
    if (keyState.expiresAt !== null && keyState.expiresAt <= now) throw refuse('api_key_expired');
    requirePermission(new Set(keyState.permissions), [permission]);
  }
  const account = view.get(conditions, caller.accountId);
  if (!account || !(account.enabled || whileDisabled)) throw refuse('account_disabled');
  if (isWithdrawal) {
    if (account.withdrawalsBlocked || frozen) throw refuse('withdrawals_blocked');
    if (view.get(platform, platformKey)?.withdrawalsPausedAt !== null) {
      throw refuse('withdrawals_paused', { retryAfterSeconds: 60 });
    }
    if (account.lostPayouts && !repeatsLost) throw refuse('withdrawals_blocked');
  }
  return account;
}

export interface CreatedIntent<Row> {
  row: Row;
  fence: string | null;
  postings: Posting[];
  writes: Write[];
}

/**
 * The writes for a row that becomes `unknown`: the row and the intent to send it. A payment that a provider has already is queried there and never
 * sent; what is known to be refused ends in the same transaction.
 */
export function createSendIntent<Row extends Sent>(
  view: View,
  kind: KindOf<Row>,
  plan: DispatchPlan,
  order: { row: Row; refusedAs: PaymentReason | null; token: string; now: number; caller: Caller },
): CreatedIntent<Row> {
  const { row, refusedAs: reason, token, now, caller } = order;
  const { accountId, id, operationId } = row;
  const intent = firstIntent(view, plan, { accountId, id, operationId, kind: kind.name }, token, now);
  const lost = kind.adopted && lostIn(view, view.get(conditions, accountId), id);
  if (kind.adopted && lost) {
    const adopted = kind.adopted(row, lost.connection);
    return {
      row: adopted,
      fence: null,
      postings: [],
      writes: [
        put(kind.table, adopted),
        put(intents, adoptedIntent(intent, row, lost, now)),
        remove(lostPayments, paymentKey(accountId, id)),
      ],
    };
  }
  if (kind.refused && reason !== null)
    return { ...kind.refused(row, { reason, caller, connection: plan.connection, token, now }), fence: null };
  return {
    row,
    fence: intent.state === 'sending' ? token : null,
    postings: [],
    writes: [put(kind.table, row), put(intents, intent)],
  };
}

/** The intent to send it. */
function firstIntent(
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
  const { connection, identity } = plan;
  const ready = newIntent({ accountId, paymentId, operationId, connection, kind, fence: token }, now);
  if (leaseMs === null) return ready;
  const leaseUntil = now + leaseMs;
  return {
    ...ready,
    ...{ state: 'sending', attempt: 1 + earlierAttempts, leaseUntil, dueAt: leaseUntil, identity },
  };
}
