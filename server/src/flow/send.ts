import type {
  KindOf,
  Observed,
  Place,
  Prepared,
  SecondStep,
  SendCall,
  SendSettings,
  Sent,
  TwoSteps,
} from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import { type Intent, leaseMarginMs } from '../money/intent.ts';
import type { Provider, SendOutcome } from '../provider/provider.ts';
import { subscribedBy } from '../store/events/subscribed-types.ts';
import { chargeListOf } from '../store/rows/charge-list.sql.ts';
import { type ApplyDeps, applyOutcome } from './apply.ts';
import { askFirst, buildAsked, type Candidates, candidatesFor } from './ask-first.ts';
import type { Breakers, CountedCall } from './breaker.ts';
import { ProbeDue, withProbe } from './probe.ts';
import { keepWords } from './provider-words.sql.ts';
import {
  buildMove,
  buildSecondStep,
  buildSendStart,
  buildTakeOver,
  type SendStarted,
  type StartInput,
  timeoutOf,
} from './send-commands.ts';

/** The dependencies of a send, its outcome included. */
export interface SendDeps extends ApplyDeps {
  breakers: Breakers;
  /** Aborted when the process drains: waits are cut, nothing new is begun. */
  draining: AbortSignal;
  settings: SendSettings;
}

/** A started attempt: it may write to the provider until its lease ends, and report under its fence. */
export interface Attempt<Row extends Sent = Sent> {
  kind: KindOf<Row>;
  row: Row;
  connection: string;
  /** The account at the provider that it was begun for. */
  identity: string | null;
  fence: string;
  /** Monotonic. */
  leaseEndsMs: number;
  /** An earlier attempt was made. */
  repeat: boolean;
  /** Its first step is done; null: it begins with it. */
  second: SecondStep | null;
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
 * Sends a row committed as `sending`, and applies the outcome. A charge of which nothing was sent moves to the next connection of its
 * account's list. @returns it as it is afterwards
 */
export async function send<Row extends Sent>(deps: SendDeps, attempt: Attempt<Row>): Promise<Row> {
  const observed = await callProvider(deps, attempt);
  const row = await applyOutcome<Row>(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
  const moved = wasNotSent(observed) ? await moveOn(deps, observed) : null;
  const next = moved && (await startSend<Row>(deps, moved));
  return next ? send(deps, { ...next, traceparent: attempt.traceparent }) : row;
}

const wasNotSent = ({ observation }: Observed<SendObservation>): boolean =>
  observation.outcome.outcome === 'notSent';

/**
 * Moves a charge of which nothing was sent to a connection that comes after its own in the account's list and takes charges. A payout stays.
 * @returns its intent there; null: it is tried again where it is
 */
async function moveOn(deps: SendDeps, unsent: Place): Promise<Intent | null> {
  const { accountId, paymentId, connection: from } = unsent;
  const kind = kindOf(unsent.kind);
  if (!kind.mayMove) return null;
  const list = await chargeListOf(deps.sql, accountId);
  const place = list.indexOf(from);
  const takes = (connection: string): boolean => {
    const can = deps.providers.get(connection)?.capabilities;
    return can !== undefined && kind.offers(can);
  };
  const candidates = list.slice(place + 1).filter(takes);
  if (place < 0 || candidates.length === 0) return null;
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const moved = await deps.till.submit(
    buildMove({ moving: unsent, candidates, token: deps.ids.uuid(), deadlineMs }),
  );
  if (moved)
    deps.log.warn({ paymentId, from, to: moved.connection }, 'a charge that was not sent has moved on');
  return moved;
}

type SendObservation = { from: 'send'; fence: string; outcome: SendOutcome<unknown> };

/**
 * Makes the call of an attempt.
 *
 * The lease is checked by monotonic time right before the write: an owner that was frozen past it (a stopped process, a paused
 * machine) sends nothing, since another process may own it by now. It is stored under this attempt's fence: where another process owns it,
 * that changes nothing.
 */
export async function callProvider<Row extends Sent>(
  deps: SendDeps,
  attempt: Attempt<Row>,
): Promise<Observed<SendObservation>> {
  const { kind, row, connection, fence, repeat, second, traceparent } = attempt;
  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  const can = provider.capabilities;
  const call = await kind.prepare(deps, row, { connection, can, repeat, second, traceparent });
  const outcome = await made(deps, attempt, provider, call);
  return kind.observed(row, connection, { from: 'send', fence, outcome });
}

async function made<Report>(
  deps: SendDeps,
  attempt: Attempt,
  provider: Provider,
  prepared: Prepared<Report>,
): Promise<SendOutcome<Report>> {
  if (typeof prepared === 'function') return callOnce(deps, attempt, provider, prepared);
  if ('first' in prepared) return callTwice(deps, attempt, provider, prepared);
  return tooLate(deps, attempt, provider) ? lateForLease : prepared;
}

const lateForLease = { outcome: 'notSent', detail: 'too late for its lease' } as const;

const tooLate = (
  { clock }: Pick<SendDeps, 'clock'>,
  { kind, leaseEndsMs }: Pick<Attempt, 'kind' | 'leaseEndsMs'>,
  { capabilities }: Provider,
): boolean => clock.monotonicMs() + timeoutOf(kind, capabilities) + leaseMarginMs / 2 > leaseEndsMs;

async function callOnce<Report>(
  deps: SendDeps,
  attempt: Attempt,
  provider: Provider,
  call: SendCall<Report>,
): Promise<SendOutcome<Report>> {
  if (tooLate(deps, attempt, provider)) return lateForLease;
  const { row, connection, identity, fence } = attempt;
  const { accountId, id: paymentId } = row;
  const outcome = await deps.breakers.counted(countedSend(attempt), () =>
    provider.identity === identity ? call(provider) : (anotherAccount() as ReturnType<typeof call>),
  );
  await keepWords(deps, { accountId, paymentId, connection, fence }, outcome);
  return outcome;
}

/** The second call goes out once it is recorded that it begins: a process that ends between them leaves it to the next one, which begins nothing anew. */
async function callTwice<Report>(
  deps: SendDeps,
  attempt: Attempt,
  provider: Provider,
  steps: TwoSteps<Report>,
): Promise<SendOutcome<Report>> {
  const prepared = await callOnce(deps, attempt, provider, steps.first);
  const second = prepared.outcome === 'accepted' ? steps.second(prepared.report) : null;
  if (!second) return prepared;
  const { row, kind, connection, fence } = attempt;
  const { accountId, id: paymentId, operationId } = row;
  const { capabilities } = provider;
  const startedMs = deps.clock.monotonicMs();
  const begins = await deps.till.submit(
    buildSecondStep({
      ...{ place: { accountId, paymentId, operationId, connection, kind: kind.name } },
      ...{ fence, step: second, capabilities },
      ...{ token: deps.ids.uuid(), deadlineMs: startedMs + applyWithinMs },
    }),
  );
  const leaseEndsMs = startedMs + capabilities.sendTimeoutMs + leaseMarginMs;
  return begins ? callOnce(deps, { ...attempt, leaseEndsMs }, provider, second.call) : prepared;
}

/**
 * A repeat goes out only after two queries were answered, so the provider is up: what fails again says more of the payment than of the
 * provider, and a dozen that never go through would stop all other payments. A repeat that succeeds counts.
 */
const countedSend = ({ kind, row, connection, repeat }: Attempt): CountedCall => ({
  connection,
  call: kind.call,
  accountId: row.accountId,
  counts: (result) => result === 'ok' || !(repeat || kind.failsByItself),
});

/** How long `pending` in the answer is deferred, since the final state may follow soon. */
const settlesWithinMs = 200;

/**
 * Applies what an attempt ended with when no caller waits for it. Most payouts and refunds end within a moment of their answer, so `pending` is
 * deferred that long, unless an endpoint of the account subscribes to the event that it would write: that saves a quarter of all that is written for
 * a transfer. When the process ends meanwhile the lease runs out, as if the answer had been lost.
 */
export async function applyDeferred(deps: SendDeps, observed: Observed<SendObservation>): Promise<void> {
  const { accountId, paymentId, kind } = observed;
  const { createdEvent } = kindOf(kind);
  const isWanted = async () =>
    createdEvent !== null && (await subscribedBy(deps, accountId)).has(createdEvent);
  if (saysPending(observed) && !(await isWanted())) {
    deps.deferredPending.add(paymentId);
    await deps.clock.sleep(settlesWithinMs, deps.draining);
    if (!deps.deferredPending.delete(paymentId)) return;
  }
  await applyOutcome(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
  // The sender of the other connection finds it there.
  if (wasNotSent(observed)) await moveOn(deps, observed);
}

const saysPending = ({ observation: { outcome } }: Observed<SendObservation>): boolean =>
  outcome.outcome === 'accepted' && (outcome.report as { status: string }).status === 'pending';

/** The connection has been changed since the attempt was committed; asked in the moment of the call. */
export const anotherAccount = async () =>
  ({ outcome: 'notSent', detail: 'another account is behind the connection now' }) as const;

/**
 * Commits a `ready` payment (or one whose repeat is due) as `sending`, before the first byte is sent. In a time that may be lost the id is queried first.
 * @param candidates null: it was queried, and no connection has the id
 * @returns null when there is nothing to send now
 */
export async function startSend<Row extends Sent>(
  deps: SendDeps,
  intent: Intent,
  candidates: Candidates | null = candidatesFor(deps.providers, intent),
): Promise<Attempt<Row> | null> {
  const kind = kindOf(intent.kind);
  const provider = deps.providers.get(intent.connection);
  if (!provider || provider.identity === null) return null;
  const { capabilities, identity } = provider;
  const startedMs = deps.clock.monotonicMs();
  const deadlineMs = startedMs + applyWithinMs;
  const { started, breakerOpen, ask } = await startWithProbe<Row>(deps, kind, {
    intent,
    capabilities,
    identity,
    deadlineMs,
    candidates,
  });
  if (ask.length > 0) {
    const asked = await askFirst(deps, intent, ask);
    if (asked.at === 'nowhere') return startSend(deps, intent, null);
    await deps.till.submit(buildAsked({ intent, asked, token: deps.ids.uuid(), deadlineMs }));
    return null;
  }
  deps.breakers.seen(intent.connection, kind.call, breakerOpen);
  if (!started) {
    if (breakerOpen) await moveOn(deps, intent);
    return null;
  }
  // Counted from before the commit, so the lease is shorter here than in the row.
  const leaseEndsMs = startedMs + timeoutOf(kind, capabilities) + leaseMarginMs;
  return { kind, ...started, connection: intent.connection, identity, leaseEndsMs };
}

/** Submits the start of a send; where another call has the probe of an open breaker, there is nothing to send now. */
async function startWithProbe<Row extends Sent>(
  deps: Pick<SendDeps, 'breakers' | 'clock' | 'ids' | 'till'>,
  kind: KindOf<Row>,
  input: Omit<StartInput, 'token' | 'hasProbe'>,
): Promise<SendStarted<Row>> {
  const { connection } = input.intent;
  try {
    return await withProbe(
      deps,
      { connection, call: kind.call, deadlineMs: input.deadlineMs },
      (hasProbe) => deps.till.submit(buildSendStart(kind, { ...input, token: deps.ids.uuid(), hasProbe })),
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
