import type { Caller } from '../ground/caller.ts';
import { answerWithinMs } from '../ground/deadline.ts';
import type { AnyKind, CallKind } from '../kinds/kind.ts';
import { leaseMarginMs } from '../money/intent.ts';
import type { Clock } from '../ports/clock.ts';
import type { Capabilities, Provider } from '../provider/provider.ts';
import { type Candidates, candidatesFor } from './ask-first.ts';
import type { Sender } from './send.ts';
import { timeoutOf } from './send-commands.ts';

/** Time reserved at the end of the wait for a final read of the payment or refund. */
const lastReadMs = 1_000;

/** How a new payment is sent, and how long its caller waits. The plan is made before the commit; making it changes nothing. */
export interface DispatchPlan {
  connection: string;
  /** Of the account behind it now; null: that is not known, and nothing new is accepted. */
  identity: string | null;
  call: CallKind;
  /** The lease of a send by this process, in milliseconds; null: a worker sends. */
  leaseMs: number | null;
  /** How long the caller waits for the provider, in milliseconds. */
  waitMs: number;
  /** Monotonic, taken before the commit. */
  startedMs: number;
  /** Monotonic. The till answers 503 after it. */
  acceptByMs: number;
  /** Monotonic. The caller gets the stored state by then, even when the provider or the database hangs. */
  answerByMs: number;
  traceparent: string | undefined;
  /** False: the connection has no provider, or not the one that it had, so nothing new is accepted. A repeat is still answered. */
  configured: boolean;
  /** False: the provider has no such call. */
  offered: boolean;
  /** Undefined: the connection has no provider. */
  can: Capabilities | undefined;
  /** The connections that the account could have used (`ask-first.ts`). */
  candidates: Candidates;
}

export interface DispatchPlanDeps {
  clock: Clock;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  /** Senders of this process, by connection; empty without a worker. */
  senders: ReadonlyMap<string, Sender>;
}

export function planDispatch(
  deps: DispatchPlanDeps,
  caller: Caller,
  kind: AnyKind,
  waitMs: number,
): DispatchPlan {
  const { connection } = caller;
  const provider = deps.providers.get(connection);
  const can = provider?.capabilities;
  const identity = provider?.identity ?? null;
  // Where sends are limited, only a worker that holds a slot commits `sending`. Charges and refunds are never limited.
  const unlimited = !kind.isLimited || can?.maxParallelSends === null;
  // Without a waiting caller, a worker in this process gets the payment directly and does not have to find it in the database. After a
  // crash a `sending` payment is only queried, so this is done only where a repeat is safe; otherwise `ready` is sent at once by the next worker.
  const handsOver = can?.repeatIsSafe === true && deps.senders.get(connection)?.hasRoom() === true;
  const inline = unlimited && (waitMs > 0 || handsOver);
  const startedMs = deps.clock.monotonicMs();
  const arrivedMs = caller.arrivedMs ?? startedMs;
  return {
    connection,
    identity,
    call: kind.call,
    leaseMs: can && inline ? timeoutOf(kind, can) + leaseMarginMs : null,
    waitMs,
    startedMs,
    acceptByMs: arrivedMs + answerWithinMs,
    answerByMs: arrivedMs + Math.max(answerWithinMs, waitMs + lastReadMs),
    traceparent: caller.traceparent,
    configured: identity !== null,
    offered: can === undefined || kind.offers(can),
    can,
    candidates: candidatesFor(deps.providers, { kind: kind.name, connection }),
  };
}

/** The time left to wait for the provider: shorter than planned when the commit took long. */
export const waitLeftMs = (
  { clock }: { clock: Clock },
  { waitMs, answerByMs }: Pick<DispatchPlan, 'waitMs' | 'answerByMs'>,
): number => Math.max(0, Math.min(waitMs, answerByMs - lastReadMs - clock.monotonicMs()));

/** The probe that the plan's command may need (`withProbe`). */
export const probeOf = ({ connection, call, acceptByMs }: DispatchPlan) => ({
  connection,
  call,
  deadlineMs: acceptByMs,
});
