import { conditions, platform, platformKey } from '../../admission/conditions.sql.ts';
import { type Command, put, read, type View } from '../../ledger/till.ts';
import type { Payment, PaymentKind } from '../../payments/payment.ts';
import { paymentKey, payments } from '../../payments/payments.sql.ts';
import type { Capabilities } from '../../provider/provider.ts';
import { breakerKey, breakerRows, type CallKind, probeEveryMs } from './breaker.ts';
import { type Intent, startAttempt, takeOver, wantsRepeat } from './intent.ts';
import { intents } from './intents.sql.ts';

/** The commands of a worker that sends, by the rules of `intent.ts`. Pure. */
export interface SendInput {
  /** As the worker found it; the command reads it again under the lock. */
  intent: Intent;
  /** Becomes the fence. */
  token: string;
  deadlineMs: number;
}

export interface SendStarted {
  /** Null: there is nothing to send now. */
  started: { payment: Payment; fence: string; repeat: boolean } | null;
  breakerOpen: boolean;
}

/** While withdrawals are stopped, a first send is tried again after this time. */
const stoppedWaitMs = 5_000;

export const callOf = ({ kind }: { kind: PaymentKind }): CallKind =>
  kind === 'deposit' ? 'charge' : 'payout';

/**
 * Makes a `ready` intent, or one whose repeat is due, `sending`.
 *
 * A pause or a withdrawal block stops first sends: they wait with their reserve. An open breaker lets one of them through when its probe is due.
 */
export function buildSendStart(input: SendInput & { capabilities: Capabilities }): Command<SendStarted> {
  const { intent, capabilities, token, deadlineMs } = input;
  const { accountId, paymentId } = intent;
  const key = paymentKey(accountId, paymentId);
  const breakerOf = breakerKey(intent.connection, callOf(intent));
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: intent.operationId }],
    reads: [
      read(payments, key),
      read(intents, key),
      read(conditions, accountId),
      read(platform, platformKey),
      read(breakerRows, breakerOf),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      const breaker = view.get(breakerRows, breakerOf);
      const answer = (started: SendStarted['started']) => ({ started, breakerOpen: breaker?.open ?? false });
      if (!payment || !stored) return { answer: answer(null) };
      const repeat = wantsRepeat(stored, capabilities);
      const mine = { payment, fence: token, repeat: repeat || stored.attempt > 1 };
      // The till decides again after a lost answer to COMMIT; here the first commit had arrived.
      if (stored.state === 'sending' && stored.fence === token) return { answer: answer(mine) };
      if (stored.state !== 'ready' && !repeat) return { answer: answer(null) };
      const wait = (dueAt: number) => ({
        answer: answer(null),
        writes: [put(intents, { ...stored, dueAt })],
      });
      if (payment.kind === 'transfer' && !repeat && isStopped(view, stored)) return wait(now + stoppedWaitMs);
      // A repeat ignores the breaker and uses no probe: the provider has just answered two queries about this payment.
      const down = repeat ? undefined : breaker;
      if (down?.open && down.probeAt > now) return wait(down.probeAt);
      const probing = down?.open ? [put(breakerRows, { ...down, probeAt: now + probeEveryMs })] : [];
      const lostAttempts = view.get(platform, platformKey)?.restoredAt === null ? 0 : 1;
      const started = startAttempt(stored, token, now, capabilities, lostAttempts);
      return { answer: answer(mine), writes: [put(intents, started), ...probing] };
    },
  };
}

/** Whether first sends of transfers wait: withdrawals are paused, blocked for the account or frozen for the operation. */
const isStopped = (view: View, { accountId, operationId }: Intent): boolean =>
  view.get(platform, platformKey)?.withdrawalsPausedAt !== null ||
  view.get(conditions, accountId)?.withdrawalsBlocked !== false ||
  view.balance({ accountId, chainId: operationId })?.frozen !== false;

/** Ends the lease of an owner that is gone: `awaiting`, so that the payment may only be queried. */
export function buildTakeOver({ intent, token, deadlineMs }: SendInput): Command<void> {
  const { accountId, paymentId } = intent;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: intent.operationId }],
    reads: [read(payments, key), read(intents, key)],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      if (!payment || stored?.state !== 'sending' || (stored.leaseUntil ?? now) > now)
        return { answer: undefined };
      return { answer: undefined, writes: [put(intents, takeOver(stored, token, payment.status, now))] };
    },
  };
}
