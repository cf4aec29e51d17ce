import { before } from '../ground/deadline.ts';
import type { Signal } from '../ground/signal.ts';
import type { KindOf, Sent } from '../kinds/kind.ts';
import { type DispatchPlan, waitLeftMs } from './dispatch-plan.ts';
import { type Attempt, type SendDeps, type Sender, send } from './send.ts';

/** The dependencies of sending a committed row and waiting for its outcome. */
export interface AwaitDeps extends SendDeps {
  /** Senders of this process, by connection; empty without a worker. */
  senders: ReadonlyMap<string, Sender>;
  /** Raised when something became due; the worker of this process listens. */
  wake: Signal;
}

/**
 * Sends what was committed, or leaves it to a worker, and waits for the provider's answer as long as the plan allows.
 * @param fence of the attempt that was committed as `sending`; null: a worker sends
 * @returns it with its outcome, or as it is stored when the wait is over; sending continues in both cases
 */
export async function awaitOutcome<Row extends Sent>(
  deps: AwaitDeps,
  kind: KindOf<Row>,
  plan: DispatchPlan,
  row: Row,
  fence: string | null,
): Promise<Row> {
  if (row.status !== 'unknown') {
    deps.eventsWritten();
    return row;
  }
  const { connection, identity, leaseMs, startedMs, waitMs } = plan;
  if (fence === null || leaseMs === null) {
    deps.wake();
    return waitMs > 0 && kind.isAwaited ? watched(deps, kind, row, plan) : row;
  }
  const leaseEndsMs = startedMs + leaseMs;
  const attempt: Attempt<Row> = {
    ...{ kind, row, connection, identity, fence, leaseEndsMs },
    ...{ repeat: false, second: null },
  };
  const sender = waitMs > 0 ? undefined : deps.senders.get(connection);
  if (sender) {
    sender.begin(attempt);
    return row;
  }
  return answered(deps, { kind, row, plan }, send(deps, { ...attempt, traceparent: plan.traceparent }));
}

/** The committed row, and how its caller waits. */
interface Waiting<Row extends Sent> {
  kind: KindOf<Row>;
  row: Row;
  plan: DispatchPlan;
}

/** This process sends: the outcome when it comes in time, else the stored state. */
async function answered<Row extends Sent>(
  deps: AwaitDeps,
  { kind, row, plan }: Waiting<Row>,
  sending: Promise<Row>,
): Promise<Row> {
  const outcome = sending.catch((error: unknown) => {
    // The outcome could not be stored: the lease runs out and the follow-up queries the provider.
    deps.log.error({ err: error, kind: kind.name, id: row.id }, 'the outcome of a send was not applied');
    return row;
  });
  const cut = new AbortController();
  const waited = deps.clock
    .sleep(waitLeftMs(deps, plan), AbortSignal.any([cut.signal, deps.draining]))
    .then(() => null);
  const after = await Promise.race([outcome, waited]);
  cut.abort(null);
  return after ?? (await stored(deps, { kind, row, plan }));
}

/** A worker sends, perhaps in another process: the outcome when it comes in time, else the stored state. */
async function watched<Row extends Sent>(
  deps: AwaitDeps,
  kind: KindOf<Row>,
  row: Row,
  plan: DispatchPlan,
): Promise<Row> {
  const over = new AbortController();
  const ended = AbortSignal.any([over.signal, deps.draining]);
  const outcome = deps.outcomes.outcomeOf(kind.table, row, ended);
  void deps.clock.sleep(waitLeftMs(deps, plan), ended).then(() => over.abort(null));
  const known = await outcome;
  over.abort(null);
  return known ?? (await stored(deps, { kind, row, plan }));
}

/** The row as stored now, or as committed when it cannot be read in time: an accepted request never becomes an error. */
async function stored<Row extends Sent>(
  { sql, clock, log }: Pick<AwaitDeps, 'sql' | 'clock' | 'log'>,
  { kind, row, plan }: Waiting<Row>,
): Promise<Row> {
  try {
    const [found] = await before(clock, plan.answerByMs, kind.table.read(sql, [row.accountId + row.id]));
    return found ?? row;
  } catch (error) {
    log.warn({ err: error, id: row.id }, 'the latest state could not be read');
    return row;
  }
}
