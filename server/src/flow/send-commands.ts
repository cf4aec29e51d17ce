import type { AnyKind, KindOf, Place, SecondStep, Sent } from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import {
  type Intent,
  isElsewhere,
  mayMove,
  startAttempt,
  startSecondStep,
  takeOver,
  wantsRepeat,
  wantsSecondStep,
} from '../money/intent.ts';
import type { Payment } from '../money/payment.ts';
import type { Capabilities } from '../provider/provider.ts';
import { conditions, lostAttempts, platform, platformKey } from '../store/rows/conditions.sql.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { type Command, put, read, type View } from '../store/till.ts';
import { type Candidates, connectionsToAsk } from './ask-first.ts';
import { breakerKey, breakerRows } from './breaker.ts';
import { ProbeDue } from './probe.ts';

/** The commands of a worker that sends, by the rules of `intent.ts`. Pure. */
export interface SendInput {
  /** As the worker found it; the command reads it again under the lock. */
  intent: Intent;
  /** Becomes the fence. */
  token: string;
  deadlineMs: number;
}

export interface SendStarted<Row> {
  /** Null: there is nothing to send now. */
  started: { row: Row; fence: string; repeat: boolean; second: SecondStep | null } | null;
  breakerOpen: boolean;
  /** Connections to be queried before it may be sent (`ask-first.ts`). */
  ask: readonly string[];
}

/** How long a send of the kind may take, in milliseconds. */
export const timeoutOf = (kind: Pick<AnyKind, 'timeoutMs'>, can: Capabilities): number =>
  kind.timeoutMs?.(can) ?? can.sendTimeoutMs;

/** While withdrawals are stopped, a first send is tried again after this time. */
const stoppedWaitMs = 5_000;
/** Before this time no worker claims a charge that has just moved. */
const moverSendsWithinMs = 1_000;

export type StartInput = SendInput & {
  capabilities: Capabilities;
  /** Of the account that is behind the connection now. */
  identity: string;
  /** This run of the command has the probe of an open breaker (`probe.ts`). */
  hasProbe: boolean;
  /** The connections that the account could have used; null: those that it had to ask do not know the id. */
  candidates: Candidates | null;
};

/**
 * Makes a `ready` intent, or one whose repeat or second step is due, `sending`.
 *
 * A pause or a withdrawal block stops first sends and second steps: they wait with their reserve. An open breaker lets only the command with its probe
 * through.
 */
export function buildSendStart<Row extends Sent>(
  kind: KindOf<Row>,
  input: StartInput,
): Command<SendStarted<Row>> {
  const { table, call, isWithdrawal } = kind;
  const { intent, capabilities, identity, token, deadlineMs, hasProbe, candidates } = input;
  const { accountId, paymentId } = intent;
  const key = paymentKey(accountId, paymentId);
  const breakerOf = breakerKey(intent.connection, call);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: intent.operationId }],
    reads: [
      read(table, key),
      read(intents, key),
      read(conditions, accountId),
      read(platform, platformKey),
      read(breakerRows, breakerOf),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const row = view.get(table, key);
      const stored = view.get(intents, key);
      const breaker = view.get(breakerRows, breakerOf);
      const answer = (started: SendStarted<Row>['started'], ask: readonly string[] = []) => ({
        started,
        breakerOpen: breaker?.open ?? false,
        ask,
      });
      if (!row || !stored) return { answer: answer(null) };
      const repeat = wantsRepeat(stored, capabilities);
      const isSecond = wantsSecondStep(stored, capabilities);
      const second = stored.step === null ? null : { providerRef: stored.providerRef };
      const mine = { row, fence: token, repeat: repeat || stored.attempt > 1, second };
      // The till decides again after a lost answer to COMMIT; here the first commit had arrived.
      if (stored.state === 'sending' && stored.fence === token) return { answer: answer(mine) };
      if (stored.state !== 'ready' && !repeat && !isSecond) return { answer: answer(null) };
      // It has moved since the worker found it: the other connection sends it.
      if (stored.connection !== intent.connection) return { answer: answer(null) };
      if (isElsewhere(stored, { identity })) return { answer: answer(null) };
      const wait = (dueAt: number) => ({
        answer: answer(null),
        writes: [put(intents, { ...stored, dueAt })],
      });
      if (isWithdrawal && !repeat && isStopped(view, stored)) return wait(now + stoppedWaitMs);
      // A repeat ignores the breaker and uses no probe: the provider has just answered two queries about this payment.
      const down = repeat ? undefined : breaker;
      if (down?.open && !hasProbe) {
        if (down.probeAt <= now) throw new ProbeDue();
        return wait(down.probeAt);
      }
      const installation = view.get(platform, platformKey);
      const ask =
        repeat || isSecond || candidates === null ? [] : connectionsToAsk(installation, stored, candidates);
      if (ask.length > 0) return { answer: answer(null, ask) };
      const lost = lostAttempts(installation, stored);
      const limits = { sendTimeoutMs: timeoutOf(kind, capabilities) };
      const started = startAttempt(stored, token, now, { capabilities: limits, identity }, lost);
      return { answer: answer(mine), writes: [put(intents, started)] };
    },
  };
}

export interface SecondStepInput {
  place: Place;
  /** Of the attempt whose first step was answered. */
  fence: string;
  step: SecondStep;
  capabilities: Pick<Capabilities, 'sendTimeoutMs'>;
  token: string;
  deadlineMs: number;
}

/**
 * Records that the owner of an attempt begins its second step; from then on it may have been sent. What stops first sends stops it.
 * @returns whether it begins
 */
export function buildSecondStep(input: SecondStepInput): Command<boolean> {
  const { place, fence, step, capabilities, token, deadlineMs } = input;
  const { accountId, paymentId, operationId } = place;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(intents, key), read(conditions, accountId), read(platform, platformKey)],
    eventRefs: [],
    decide: (view, now) => {
      const stored = view.get(intents, key);
      if (stored?.state !== 'sending' || stored.fence !== fence) return { answer: false };
      // The till decides again after a lost answer to COMMIT; here the first commit had arrived.
      if (stored.step === 'confirmed') return { answer: true };
      if (isStopped(view, stored)) return { answer: false };
      const started = startSecondStep(stored, step.providerRef, now, capabilities);
      return { answer: true, writes: [put(intents, started)] };
    },
  };
}

/**
 * Whether first sends of transfers and refunds wait: withdrawals are paused, blocked for the account or frozen for the operation. What
 * goes back to a payer out of suspense is not the merchant's money, and only a pause stops it.
 */
const isStopped = (view: View, { accountId, operationId }: Intent): boolean => {
  if (view.get(platform, platformKey)?.withdrawalsPausedAt !== null) return true;
  if (operationId === accountId) return false;
  const account = view.get(conditions, accountId);
  return (
    account?.withdrawalsBlocked !== false ||
    account.lostPayouts ||
    view.balance({ accountId, chainId: operationId })?.frozen !== false
  );
};

/** Ends the lease of an owner that is gone: `awaiting`, so that the payment may only be queried. */
export function buildTakeOver({ intent, token, deadlineMs }: SendInput): Command<void> {
  const { accountId, paymentId } = intent;
  const key = paymentKey(accountId, paymentId);
  const { table } = kindOf(intent.kind);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: intent.operationId }],
    reads: [read(table, key), read(intents, key)],
    eventRefs: [],
    decide: (view, now) => {
      const sent: Sent | undefined = view.get(table, key);
      const stored = view.get(intents, key);
      if (!sent || stored?.state !== 'sending' || (stored.leaseUntil ?? now) > now)
        return { answer: undefined };
      return { answer: undefined, writes: [put(intents, takeOver(stored, token, sent.status, now))] };
    },
  };
}

export interface MoveInput {
  /** Of which nothing was sent, as last read; the command reads it again under the lock. */
  moving: Place;
  /** Connections that may take the charge, in the order of the account's list. */
  candidates: readonly string[];
  token: string;
  deadlineMs: number;
}

/**
 * Moves a charge whose creation was certainly not sent to the first candidate whose breaker is closed. Nothing else of it changes, and nothing is
 * posted: a charge posts only when it is paid. After a restore nothing is certain, since the id may have gone out in the time that was lost.
 * @returns the intent with its new connection; null: the charge stays where it is
 */
export function buildMove({ moving, candidates, token, deadlineMs }: MoveInput): Command<Intent | null> {
  const { accountId, paymentId } = moving;
  const key = paymentKey(accountId, paymentId);
  const breakerOf = (connection: string) => breakerKey(connection, 'charge');
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: moving.operationId }],
    reads: [
      read(payments, key),
      read(intents, key),
      read(platform, platformKey),
      ...candidates.map((connection) => read(breakerRows, breakerOf(connection))),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      // The till decides again after a lost answer to COMMIT; here the first commit had arrived.
      if (stored?.state === 'ready' && stored.fence === token) return { answer: stored };
      const connection = candidates.find((one) => view.get(breakerRows, breakerOf(one))?.open !== true);
      const isCertain = view.get(platform, platformKey)?.restoredAt === null;
      if (payment?.status !== 'unknown' || !stored || connection === undefined) return { answer: null };
      if (!isCertain || !mayMove(stored) || stored.connection !== moving.connection) return { answer: null };
      // The process that moves it sends it at once. A worker does if that process has ended.
      const moved: Intent = {
        ...stored,
        connection,
        fence: token,
        failures: 0,
        dueAt: now + moverSendsWithinMs,
      };
      return {
        answer: moved,
        writes: [put(payments, routed(payment, stored.connection, moved, now)), put(intents, moved)],
      };
    },
  };
}

/** The timeline says that it moved; its state is what it was. */
function routed(payment: Payment, from: string, { connection, fence }: Intent, now: number): Payment {
  const at = Math.max(now, payment.updatedAt);
  const cause = { by: 'route', id: fence, from } as const;
  const step = { status: payment.status, at: new Date(at).toISOString(), cause };
  return { ...payment, connection, updatedAt: at, history: [...payment.history, step] };
}
