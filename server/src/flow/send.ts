import { type Intent, leaseMarginMs } from '../money/intent.ts';
import { type Payment, providerIdOf } from '../money/payment.ts';
import type { ChargeReport, PayoutReport, Provider, SendOutcome } from '../provider/provider.ts';
import { subscribedBy } from '../store/events/subscribed-types.ts';
import { chargeListOf } from '../store/rows/charge-list.sql.ts';
import { openOrReport, unreadableKeyOf } from '../store/rows/unreadable.ts';
import type { Command } from '../store/till.ts';
import { applyOutcome } from './apply-outcome.ts';
import { askFirst, buildAsked, type Candidates, candidatesFor } from './ask-first.ts';
import type { Breakers, CallKind, CountedCall } from './breaker.ts';
import type { Observed } from './outcome-command.ts';
import type { OutcomeDeps } from './outcome-deps.ts';
import { ProbeDue, withProbe } from './probe.ts';
import { keepWords } from './provider-words.sql.ts';
import {
  buildMove,
  buildSendStart,
  buildTakeOver,
  callOf,
  type Moving,
  type SendStarted,
  type StartInput,
} from './send-commands.ts';

/** What a send needs, its outcome included. */
export interface SendDeps extends OutcomeDeps {
  breakers: Breakers;
  /** Aborted when the process drains: waits are cut, nothing new is begun. */
  draining: AbortSignal;
  settings: PaymentSettings;
}

export interface PaymentSettings {
  /** How long `POST /pix/transfers` waits for the provider; 0 leaves the sending to the workers. */
  transferWaitMs: number;
  /** Charges always wait: a charge is of use only with its code. */
  chargeWaitMs: number;
  /** The life that is asked of the provider for a charge. */
  chargeExpirySeconds: number;
}

/** What a started attempt may do: write to the provider until its lease ends, and report under its fence. */
export interface Attempt {
  payment: Payment;
  connection: string;
  /** The account at the provider that it was begun for. */
  identity: string | null;
  fence: string;
  /** Monotonic. */
  leaseEndsMs: number;
  /** An earlier attempt was made. */
  repeat: boolean;
  /** The trace of the request that waits for it. */
  traceparent?: string | undefined;
}

/** Sends for callers that do not wait: the worker of this process, for one connection. */
export interface Sender {
  hasRoom(): boolean;
  /** Continues an attempt that was committed as `sending`; no caller waits for it. */
  begin(attempt: Attempt): void;
}

/** How long the outcome of a call may take to be stored. */
export const applyWithinMs = 15_000;

/**
 * Sends what was committed as `sending`, and applies the outcome. A charge of which nothing was sent goes on over the next connection of its
 * account's list. @returns the payment as it is afterwards
 */
export async function send(deps: SendDeps, attempt: Attempt): Promise<Payment> {
  const observed = await callProvider(deps, attempt);
  const payment = await applyOutcome(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
  const moved = wasNotSent(observed) ? await moveOn(deps, { ...observed, kind: payment.kind }) : null;
  const next = moved && (await startSend(deps, moved));
  return next ? send(deps, { ...next, traceparent: attempt.traceparent }) : payment;
}

const wasNotSent = ({ observation }: Observed): boolean =>
  observation.from === 'send' && observation.outcome.outcome === 'notSent';

/**
 * Moves a charge of which nothing was sent to a connection that comes after its own in the account's list and takes charges. A payout stays.
 * @returns its intent there; null: it is tried again where it is
 */
async function moveOn(deps: SendDeps, unsent: Moving): Promise<Intent | null> {
  const { accountId, paymentId, connection: from } = unsent;
  if (unsent.kind !== 'deposit') return null;
  const list = await chargeListOf(deps.sql, accountId);
  const place = list.indexOf(from);
  const candidates = list.slice(place + 1).filter((one) => deps.providers.get(one)?.capabilities.charges);
  if (place < 0 || candidates.length === 0) return null;
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const moved = await deps.till.submit(
    buildMove({ moving: unsent, candidates, token: deps.ids.uuid(), deadlineMs }),
  );
  if (moved)
    deps.log.warn({ paymentId, from, to: moved.connection }, 'a charge that was not sent has moved on');
  return moved;
}

/**
 * Makes the call of an attempt.
 *
 * The lease is checked by monotonic time right before the write: an owner that was frozen past it (a stopped process, a paused
 * machine) sends nothing, since another process may own the payment by now.
 */
export async function callProvider(deps: SendDeps, attempt: Attempt): Promise<Observed> {
  const { payment, connection, fence } = attempt;
  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const callEndsMs = deps.clock.monotonicMs() + provider.capabilities.sendTimeoutMs;
  let outcome: SendOutcome<ChargeReport | PayoutReport>;
  if (callEndsMs + leaseMarginMs / 2 > attempt.leaseEndsMs) {
    // It is stored under this attempt's fence: where another process owns the payment by now, it changes nothing.
    outcome = { outcome: 'notSent', detail: 'too late for its lease' };
  } else {
    const pixKey = await pixKeyOf(deps, payment);
    if (pixKey === unopened) {
      // Certainly not sent, and not the provider's fault: it is tried again when the key can be opened.
      const { accountId, id: paymentId, operationId } = payment;
      outcome = { outcome: 'notSent', detail: 'its key cannot be opened' };
      return { accountId, paymentId, operationId, connection, observation: { from: 'send', fence, outcome } };
    }
    const call = countedSend(attempt, callOf(payment), payment.accountId);
    outcome = await deps.breakers.counted(call, () => instruct(deps, provider, attempt, pixKey));
    await keepWords(deps, { accountId: payment.accountId, paymentId: payment.id, fence }, outcome);
  }
  const { accountId, id: paymentId, operationId } = payment;
  return { accountId, paymentId, operationId, connection, observation: { from: 'send', fence, outcome } };
}

/**
 * A repeat goes out only after two queries were answered, so the provider is up: what fails again says more of the payment than of the
 * provider, and a dozen that never go through would stop all other payments. A repeat that succeeds counts.
 */
export const countedSend = (
  { connection, repeat }: Pick<Attempt, 'connection' | 'repeat'>,
  call: CallKind,
  accountId: string,
): CountedCall => ({ connection, call, accountId, counts: (result) => result === 'ok' || !repeat });

/** How long `pending` in the answer is deferred, since the final state may follow soon. */
const settlesWithinMs = 200;

/**
 * Applies what an attempt ended with when no caller waits for it. Most payouts end within a moment of their answer, so `pending` is
 * deferred that long, unless an endpoint of the account subscribes to `transfer.created`: that saves a quarter of all that is written for a
 * transfer. When the process ends meanwhile the lease runs out, as if the answer had been lost.
 */
export async function applyDeferred(deps: SendDeps, observed: Observed): Promise<void> {
  const { accountId, paymentId } = observed;
  if (saysPending(observed) && !(await subscribedBy(deps, accountId)).has('transfer.created')) {
    deps.deferredPending.add(paymentId);
    await deps.clock.sleep(settlesWithinMs, deps.draining);
    if (!deps.deferredPending.delete(paymentId)) return;
  }
  const { kind } = await applyOutcome(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
  // The sender of the other connection finds it there.
  if (wasNotSent(observed)) await moveOn(deps, { ...observed, kind });
}

function saysPending({ observation }: Observed): boolean {
  if (observation.from !== 'send' || observation.outcome.outcome !== 'accepted') return false;
  const { report } = observation.outcome;
  return 'providerId' in report && report.status === 'pending';
}

/** The connection has been changed since the attempt was committed; asked in the moment of the call. */
export const anotherAccount = async () =>
  ({ outcome: 'notSent', detail: 'another account is behind the connection now' }) as const;

const unopened = Symbol('a key that cannot be opened');

/** @returns null for a charge, which has no key */
async function pixKeyOf(deps: SendDeps, payment: Payment): Promise<string | null | typeof unopened> {
  if (payment.pixKey === null) return null;
  const opened = await openOrReport(deps, payment.pixKey, payment.id, unreadableKeyOf(payment, 'send'));
  return opened?.toString() ?? unopened;
}

function instruct(
  deps: SendDeps,
  provider: Provider,
  { payment, identity, repeat, traceparent }: Attempt,
  pixKey: string | null,
): Promise<SendOutcome<ChargeReport | PayoutReport>> {
  if (provider.identity !== identity) return anotherAccount();
  const { id, amountCents, feeCents, description, createdAt } = payment;
  if (payment.kind === 'deposit') {
    return provider.createCharge({
      txid: providerIdOf(id),
      amountCents,
      payerName: payment.payerName ?? '',
      description,
      expirySeconds: deps.settings.chargeExpirySeconds,
      traceparent,
    });
  }
  if (pixKey === null || payment.pixKeyType === null) throw new Error('a transfer without a key');
  return provider.sendPayout({
    providerId: providerIdOf(id),
    amountCents: amountCents - feeCents,
    pixKey,
    pixKeyType: payment.pixKeyType,
    description,
    ...(repeat ? { repeatOf: createdAt } : {}),
    traceparent,
  });
}

/**
 * Commits a `ready` payment (or one whose repeat is due) as `sending`, before the first byte is sent. In a time that may be lost the id is queried first.
 * @param candidates null: it was queried, and no connection has the id
 * @returns null when there is nothing to send now
 */
export async function startSend(
  deps: SendDeps,
  intent: Intent,
  candidates: Candidates | null = candidatesFor(deps.providers, intent),
): Promise<Attempt | null> {
  const provider = deps.providers.get(intent.connection);
  if (!provider || provider.identity === null) return null;
  const { capabilities, identity } = provider;
  const startedMs = deps.clock.monotonicMs();
  const deadlineMs = startedMs + applyWithinMs;
  const { started, breakerOpen, ask } = await startWithProbe(
    deps,
    { intent, capabilities, identity, deadlineMs, candidates },
    buildSendStart,
  );
  if (ask.length > 0) {
    const asked = await askFirst(deps, intent, ask);
    if (asked.at === 'nowhere') return startSend(deps, intent, null);
    await deps.till.submit(buildAsked({ intent, asked, token: deps.ids.uuid(), deadlineMs }));
    return null;
  }
  deps.breakers.seen(intent.connection, callOf(intent), breakerOpen);
  if (!started) {
    if (breakerOpen) await moveOn(deps, intent);
    return null;
  }
  // Counted from before the commit, so the lease is shorter here than in the row.
  const leaseEndsMs = startedMs + capabilities.sendTimeoutMs + leaseMarginMs;
  const { row: payment, fence, repeat } = started;
  return { payment, fence, repeat, connection: intent.connection, identity, leaseEndsMs };
}

/** Submits the start of a send; where another call has the probe of an open breaker, there is nothing to send now. */
export async function startWithProbe<Row>(
  deps: Pick<SendDeps, 'breakers' | 'clock' | 'ids' | 'till'>,
  input: Omit<StartInput, 'token' | 'hasProbe'>,
  build: (input: StartInput) => Command<SendStarted<Row>>,
): Promise<SendStarted<Row>> {
  const { connection } = input.intent;
  try {
    return await withProbe(
      deps,
      { connection, call: callOf(input.intent), deadlineMs: input.deadlineMs },
      (hasProbe) => deps.till.submit(build({ ...input, token: deps.ids.uuid(), hasProbe })),
      ({ started }) => started !== null,
    );
  } catch (error) {
    if (error instanceof ProbeDue) return { started: null, breakerOpen: true, ask: [] };
    throw error;
  }
}

/** Ends the lease of an owner that is gone. From now on the payment may only be queried. */
export const takeOverSend = (deps: Pick<SendDeps, 'till' | 'clock' | 'ids'>, intent: Intent): Promise<void> =>
  deps.till.submit(
    buildTakeOver({
      intent,
      token: deps.ids.uuid(),
      deadlineMs: deps.clock.monotonicMs() + applyWithinMs,
    }),
  );
