import { answerWithinMs } from '../../ground/deadline.ts';
import type { Caller } from '../../http/auth.ts';
import type { PaymentKind } from '../../payments/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Provider } from '../../provider/provider.ts';
import type { CallKind } from './breaker.ts';
import { leaseMarginMs } from './intent.ts';
import type { Sender } from './send.ts';

/** Time reserved at the end of the wait for a final read of the payment. */
export const lastReadMs = 1_000;

/** How a new payment is sent, and how long its caller waits. It is made before the commit and changes nothing. */
export interface DispatchPlan {
  connection: string;
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
  /** False: the connection has no provider, so nothing new is accepted. A repeat is still answered. */
  configured: boolean;
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
  kind: PaymentKind,
  waitMs: number,
): DispatchPlan {
  const connection = caller.test ? 'simulator' : 'live';
  const can = deps.providers.get(connection)?.capabilities;
  // Where sends are limited, only a worker that holds a slot commits `sending`. Charges are never limited.
  const unlimited = kind === 'deposit' || can?.maxParallelSends === null;
  // Without a waiting caller, a worker in this process gets the payment directly and does not have to find it in the database. After a
  // crash a `sending` payment is only queried, so this is done only where a repeat is safe; otherwise `ready` is sent at once by the next worker.
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
    answerByMs: arrivedMs + Math.max(answerWithinMs, waitMs + lastReadMs),
    traceparent: caller.traceparent,
    configured: can !== undefined,
  };
}
