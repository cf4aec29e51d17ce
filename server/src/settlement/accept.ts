import { type Conditions, conditions, platform, platformKey } from '../accounts/conditions.sql.ts';
import type { House } from '../house.ts';
import type { Caller } from '../http/auth.ts';
import { refuse } from '../http/errors.ts';
import { keyStates } from '../keys/key-state.sql.ts';
import { eventKinds } from '../ledger/journal.ts';
import { type Posting, put, read, type View } from '../ledger/till.ts';
import type { Payment, PaymentReason } from '../payments/payment.ts';
import { paymentKey, payments } from '../payments/payments.sql.ts';
import { fingerprintOf, paymentIdFor, sameRequest } from '../request-keys/claim.ts';
import { takenKeys } from '../request-keys/taken.sql.ts';
import { announce } from './announce.ts';
import { breakerKey, breakerRows, type CallKind, probeEveryMs } from './breaker.ts';
import { type Intent, leaseMarginMs, sendPriority } from './intent.ts';
import { intents } from './intents.sql.ts';
import { type Attempt, send } from './send.ts';

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

/** How long a command of a caller may wait for the till. */
const acceptWithinMs = 8_000;

export async function acceptPayment(house: House, caller: Caller, order: Order): Promise<Accepted> {
  const connection = caller.test ? 'simulator' : 'live';
  const provider = house.providers.get(connection);
  if (!provider) throw refuse('provider_not_configured');
  const { maxParallelSends } = provider.capabilities;
  // Who holds a slot commits `sending`, where sends are limited: that is a worker. Charges are never limited.
  const inline = order.waitMs > 0 && (order.kind === 'deposit' || maxParallelSends === null);
  const startedMs = house.clock.monotonicMs();
  const leaseMs = provider.capabilities.callTimeoutMs + leaseMarginMs;
  const accepted = await commit(house, caller, order, connection, inline ? leaseMs : null);
  house.breakers.seen(connection, callKind(order), accepted.breakerOpen);
  const { payment, fence } = accepted;
  if (accepted.replayed || payment.status !== 'unknown') return accepted;
  if (fence === null) {
    house.wake();
    return order.waitMs > 0
      ? { ...accepted, payment: await watched(house, payment, order.waitMs) }
      : accepted;
  }
  const attempt: Attempt = { payment, connection, fence, leaseEndsMs: startedMs + leaseMs };
  return { ...accepted, payment: await answeredWithin(house, send(house, attempt), payment, order.waitMs) };
}

const callKind = (order: Order): CallKind => (order.kind === 'deposit' ? 'charge' : 'payout');

interface Committed extends Accepted {
  /** Ours to send with; null when a worker sends. */
  fence: string | null;
  breakerOpen: boolean;
}

function commit(
  house: House,
  caller: Caller,
  order: Order,
  connection: string,
  leaseMs: number | null,
): Promise<Committed> {
  const { accountId, operationId } = caller;
  const id = paymentIdFor(house.identity, { id: accountId, number: caller.accountNumber }, order.requestKey);
  const fingerprint = fingerprintOf(house.identity, { ...order.asked, kind: order.kind, operationId });
  const key = paymentKey(accountId, id);
  const taken = accountId + order.requestKey;
  const breaker = breakerKey(connection, callKind(order));
  const chain = { accountId, chainId: operationId };
  const token = house.ids.uuid();
  const sealedKey = order.pixKey === null ? null : house.secrets.seal(order.pixKey.key, id);
  return house.till.submit<Committed>({
    token,
    deadlineMs: house.clock.monotonicMs() + acceptWithinMs,
    chains: [chain],
    reads: [
      read(payments, key),
      read(takenKeys, taken),
      read(keyStates, caller.keyId),
      read(conditions, accountId),
      read(platform, platformKey),
      read(breakerRows, breaker),
    ],
    eventRefs: [],
    decide: (view) => {
      const balance = view.balance(chain);
      if (!balance || balance.deletedAt !== null) throw refuse('operation_not_found');
      const breakerRow = view.get(breakerRows, breaker);
      const breakerOpen = breakerRow?.open ?? false;
      const earlier = view.get(payments, key);
      if (earlier) {
        if (!sameRequest(earlier.fingerprint, fingerprint))
          throw refuse('idempotency_conflict', { paymentId: id });
        return { answer: { payment: earlier, replayed: true, fence: null, breakerOpen } };
      }
      if (view.get(takenKeys, taken)) throw refuse('idempotency_conflict');

      const now = house.clock.now();
      const account = stateAllows(view, caller, order, balance.frozen, now);
      if (breakerRow?.open && breakerRow.probeAt > now) {
        const retryAfterSeconds = Math.ceil((breakerRow.probeAt - now) / 1000);
        throw refuse('provider_unavailable', { retryAfterSeconds });
      }
      const feeCents = order.feeCents(account);

      const createdAt = now;
      const at = new Date(createdAt).toISOString();
      const cause = { by: 'api', id: caller.requestId } as const;
      const payment: Payment = {
        accountId,
        id,
        operationId,
        kind: order.kind,
        status: 'unknown',
        amountCents: order.amountCents,
        feeCents,
        requestKey: order.requestKey,
        fingerprint,
        description: order.description,
        payerName: order.payerName,
        pixKey: sealedKey,
        pixKeyType: order.pixKey?.type ?? null,
        createdAt,
        updatedAt: createdAt,
        settledAt: null,
        paidAt: null,
        expiresAt: null,
        copyPaste: null,
        endToEnd: null,
        notice: null,
        reasonCode: null,
        providerFeeCents: null,
        netAmountCents: null,
        returnedCents: 0,
        history: [{ status: 'unknown', at, cause }],
        command: token,
      };
      const grossCents = order.amountCents;
      const posting = { chain, subject: id, reference: '', effectiveAt: now };
      const postings: Posting[] =
        order.kind === 'deposit'
          ? []
          : [{ ...posting, event: eventKinds.reserve, movement: { kind: 'reserve', grossCents } }];
      if (order.refusedAs !== null) {
        postings.push({ ...posting, event: eventKinds.release, movement: { kind: 'release', grossCents } });
        const cancelled: Payment = {
          ...payment,
          status: 'cancelled',
          reasonCode: order.refusedAs,
          history: [...payment.history, { status: 'cancelled', at, cause }],
        };
        const answer = { payment: cancelled, replayed: false, fence: null, breakerOpen };
        const told = announce(house, connection, cancelled, 'unknown', ['transfer.cancelled']);
        return { answer, postings, writes: [put(payments, cancelled), ...told] };
      }
      // After a restore the same id may have gone out in the time that was lost: the send that begins now is not the first.
      const earlierAttempts = view.get(platform, platformKey)?.restoredAt === null ? 0 : 1;
      const intent: Intent = {
        accountId,
        paymentId: id,
        operationId,
        connection,
        kind: order.kind,
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
        absentSince: null,
        known: false,
        refused: false,
        createdAt: now,
      };
      const probing = breakerRow?.open
        ? [put(breakerRows, { ...breakerRow, probeAt: now + probeEveryMs })]
        : [];
      return {
        answer: { payment, replayed: false, fence: leaseMs === null ? null : token, breakerOpen },
        postings,
        writes: [put(payments, payment), put(intents, intent), ...probing],
      };
    },
  });
}

/** Key, account and platform, in the order in which a refusal is named. */
function stateAllows(view: View, caller: Caller, order: Order, frozen: boolean, now: number): Conditions {
  const keyState = view.get(keyStates, caller.keyId);
  if (!keyState || keyState.revokedAt !== null) throw refuse('api_key_invalid');
  if (keyState.expiresAt !== null && keyState.expiresAt <= now) throw refuse('api_key_expired');
  const account = view.get(conditions, caller.accountId);
  if (!account?.enabled) throw refuse('account_disabled');
  if (order.kind === 'transfer') {
    if (account.withdrawalsBlocked || frozen) throw refuse('withdrawals_blocked');
    if (view.get(platform, platformKey)?.withdrawalsPausedAt !== null) {
      throw refuse('withdrawals_paused', { retryAfterSeconds: 60 });
    }
  }
  return account;
}

/** The outcome when it comes in time, else the state as it stands; the sending goes on either way. */
async function answeredWithin(
  house: House,
  sending: Promise<Payment>,
  asCommitted: Payment,
  waitMs: number,
): Promise<Payment> {
  const answered = sending.catch((error: unknown) => {
    // The outcome could not be stored: its lease runs out and the follow-up asks.
    house.log.error({ err: error, paymentId: asCommitted.id }, 'the outcome of a send was not applied');
    return asCommitted;
  });
  const cut = new AbortController();
  const waited = house.clock.sleep(waitMs, AbortSignal.any([cut.signal, house.draining])).then(() => null);
  const payment = await Promise.race([answered, waited]);
  cut.abort();
  return payment ?? (await stored(house, asCommitted));
}

/** A worker sends, perhaps in another process: looks at the stored state until it moves or the wait is over. */
async function watched(house: House, payment: Payment, waitMs: number): Promise<Payment> {
  const untilMs = house.clock.monotonicMs() + waitMs;
  let latest = payment;
  while (latest.status === 'unknown' && house.clock.monotonicMs() < untilMs && !house.draining.aborted) {
    await house.clock.sleep(100, house.draining);
    latest = await stored(house, latest);
  }
  return latest;
}

/** As it is in the database now; as we knew it when that cannot be read: an accepted payment never becomes an error. */
async function stored(house: House, payment: Payment): Promise<Payment> {
  try {
    const [row] = await payments.read(house.sql, [paymentKey(payment.accountId, payment.id)]);
    return row ?? payment;
  } catch (error) {
    house.log.warn({ err: error, paymentId: payment.id }, 'the latest state could not be read');
    return payment;
  }
}
