import { conditions, platform, platformKey } from '../accounts/conditions.sql.ts';
import type { House } from '../house.ts';
import { put, read } from '../ledger/till.ts';
import { type Payment, providerIdOf } from '../payments/payment.ts';
import { paymentKey, payments } from '../payments/payments.sql.ts';
import type { ChargeReport, PayoutReport, Provider, SendOutcome } from '../provider/provider.ts';
import { applyOutcome } from './apply-outcome.ts';
import { breakerKey, breakerRows, type CallKind, type CallResult, probeEveryMs } from './breaker.ts';
import { type Intent, leaseMarginMs, startAttempt, takeOver, wantsRepeat } from './intent.ts';
import { intents } from './intents.sql.ts';

/** What a started attempt may do: write to the provider until its lease ends, and report under its fence. */
export interface Attempt {
  payment: Payment;
  connection: string;
  fence: string;
  /** Monotonic. */
  leaseEndsMs: number;
}

/** How long the outcome of a call may take to be stored. */
export const applyWithinMs = 15_000;

/** While withdrawals are stopped, a first send looks again after this. */
const stoppedWaitMs = 5_000;

/**
 * Sends what was committed as `sending`, and applies the outcome.
 *
 * The lease is checked by monotonic time right before the write: an owner that was frozen past it (a stopped process, a paused
 * machine) sends nothing, since somebody else may own the payment by now.
 *
 * @returns the payment as it is afterwards
 */
export async function send(house: House, attempt: Attempt): Promise<Payment> {
  const { payment, connection, fence } = attempt;
  const provider = house.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const callEndsMs = house.clock.monotonicMs() + provider.capabilities.callTimeoutMs;
  if (callEndsMs + leaseMarginMs / 2 > attempt.leaseEndsMs) return payment;
  const outcome = await instruct(house, provider, payment);
  house.breakers.record(connection, callOf(payment), payment.accountId, resultOf(outcome));
  const { accountId, id: paymentId, operationId } = payment;
  return applyOutcome(
    house,
    { accountId, paymentId, operationId, connection, observation: { from: 'send', fence, outcome } },
    house.clock.monotonicMs() + applyWithinMs,
  );
}

export const callOf = (payment: Payment): CallKind => (payment.kind === 'deposit' ? 'charge' : 'payout');

function instruct(
  house: House,
  provider: Provider,
  payment: Payment,
): Promise<SendOutcome<ChargeReport | PayoutReport>> {
  const { id, amountCents, feeCents, description } = payment;
  if (payment.kind === 'deposit') {
    return provider.createCharge({
      txid: providerIdOf(id),
      amountCents,
      payerName: payment.payerName ?? '',
      description,
      expirySeconds: house.settings.chargeExpirySeconds,
    });
  }
  if (payment.pixKey === null || payment.pixKeyType === null) throw new Error('a transfer without a key');
  return provider.sendPayout({
    providerId: providerIdOf(id),
    amountCents: amountCents - feeCents,
    pixKey: house.secrets.open(payment.pixKey, id).toString(),
    pixKeyType: payment.pixKeyType,
    description,
  });
}

export function resultOf(outcome: { outcome: string; cause?: string }): CallResult {
  if (outcome.outcome === 'notSent') return 'network';
  if (outcome.outcome !== 'unclear') return 'ok';
  if (outcome.cause === 'network') return 'network';
  return outcome.cause === 'server' || outcome.cause === 'unreadable' ? 'server' : 'ok';
}

/**
 * Commits a `ready` payment (or one whose repeat is due) as `sending`, before the first byte.
 *
 * A pause or a withdrawal block stops first sends: they wait with their reserve. An open breaker lets one through when its probe is due.
 * @returns null when there is nothing to send now
 */
export function startSend(house: House, intent: Intent): Promise<Attempt | null> {
  const { accountId, paymentId, connection } = intent;
  const key = paymentKey(accountId, paymentId);
  const chain = { accountId, chainId: intent.operationId };
  const token = house.ids.uuid();
  const startedMs = house.clock.monotonicMs();
  const provider = house.providers.get(connection);
  if (!provider) return Promise.resolve(null);
  const call: CallKind = intent.kind === 'deposit' ? 'charge' : 'payout';
  return house.till.submit<Attempt | null>({
    token,
    deadlineMs: startedMs + applyWithinMs,
    chains: [chain],
    reads: [
      read(payments, key),
      read(intents, key),
      read(conditions, accountId),
      read(platform, platformKey),
      read(breakerRows, breakerKey(connection, call)),
    ],
    eventRefs: [],
    decide: (view) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      if (!payment || !stored) return { answer: null };
      const repeat = wantsRepeat(stored, provider.capabilities);
      if (stored.state !== 'ready' && !repeat) return { answer: null };
      const now = house.clock.now();
      const wait = (dueAt: number) => ({ answer: null, writes: [put(intents, { ...stored, dueAt })] });
      const stopped =
        view.get(platform, platformKey)?.withdrawalsPausedAt !== null ||
        view.get(conditions, accountId)?.withdrawalsBlocked !== false ||
        view.balance(chain)?.frozen !== false;
      if (payment.kind === 'transfer' && !repeat && stopped) return wait(now + stoppedWaitMs);
      const breaker = view.get(breakerRows, breakerKey(connection, call));
      if (breaker?.open && breaker.probeAt > now) return wait(breaker.probeAt);
      const probing = breaker?.open ? [put(breakerRows, { ...breaker, probeAt: now + probeEveryMs })] : [];
      const started = startAttempt(stored, token, now, provider.capabilities);
      // The lease is shorter here than in the row by what the commit takes.
      const leaseEndsMs = startedMs + ((started.leaseUntil as number) - now);
      return {
        answer: { payment, connection, fence: token, leaseEndsMs },
        writes: [put(intents, started), ...probing],
      };
    },
  });
}

/** Ends the lease of an owner that is gone: from now on the payment may only be asked after. */
export function takeOverSend(house: House, intent: Intent): Promise<void> {
  const { accountId, paymentId } = intent;
  const key = paymentKey(accountId, paymentId);
  const token = house.ids.uuid();
  return house.till.submit<void>({
    token,
    deadlineMs: house.clock.monotonicMs() + applyWithinMs,
    chains: [{ accountId, chainId: intent.operationId }],
    reads: [read(payments, key), read(intents, key)],
    eventRefs: [],
    decide: (view) => {
      const payment = view.get(payments, key);
      const stored = view.get(intents, key);
      const now = house.clock.now();
      if (!payment || stored?.state !== 'sending' || (stored.leaseUntil ?? now) > now)
        return { answer: undefined };
      return { answer: undefined, writes: [put(intents, takeOver(stored, token, payment.status, now))] };
    },
  });
}
