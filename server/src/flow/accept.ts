import type { Caller } from '../ground/caller.ts';
import { ApiError } from '../ground/errors.ts';
import type { KindOf, Sent } from '../kinds/kind.ts';
import { fingerprintOf, paymentIdFor } from '../store/rows/idempotency.ts';
import { buildAdmission } from './admission.ts';
import { type AwaitDeps, awaitOutcome } from './await-outcome.ts';
import { planDispatch, probeOf } from './dispatch-plan.ts';
import { withProbe } from './probe.ts';

/** The dependencies of an acceptance. */
export interface AcceptDeps extends AwaitDeps {
  /** The installation's identity secret: ids and fingerprints. */
  identity: Buffer;
  connections: TakesUp;
}

/** Where a process learns of connections that were made while it runs. */
export interface TakesUp {
  takeUp(connection: string): Promise<void>;
}

export interface Accepted<Row> {
  row: Row;
  /** An earlier request with this key made it. */
  replayed: boolean;
}

/**
 * Accepts what is to be sent, over the account's connection or that of its kind. A charge goes to the next connection of the account's list where
 * this one's breaker is open: it was refused before anything was committed, so its creation was certainly not sent. A committed charge moves on only
 * while nothing of it was sent (`send.ts`), and a repeat of its request key finds it on the connection that it is on. A payout has one connection.
 * @throws ApiError as `acceptOn` does; where no connection takes it, the error of the first one
 */
export async function accept<Row extends Sent, Order extends { requestKey: string }>(
  deps: AcceptDeps,
  kind: KindOf<Row, Order>,
  caller: Caller,
  order: Order,
): Promise<Accepted<Row>> {
  const first = kind.connectionOf ? await kind.connectionOf(deps.sql, caller, order) : caller.connection;
  const fallback = kind.mayMove ? (caller.chargeFallback ?? []) : [];
  let refused: unknown;
  for (const connection of [first, ...fallback]) {
    try {
      return await acceptOn(deps, kind, { ...caller, connection }, order);
    } catch (error) {
      refused ??= error;
      const tries = connection === first ? breakerIsOpen(error) : takesNoCharge(error);
      if (!tries) throw error;
    }
  }
  throw refused;
}

const breakerIsOpen = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'provider_unavailable';

/** Of a fallback: its own breaker is open, or it cannot receive. */
const takesNoCharge = (error: unknown): boolean =>
  breakerIsOpen(error) ||
  (error instanceof ApiError &&
    (error.code === 'provider_not_configured' || error.code === 'not_offered_by_provider'));

/**
 * Commits it, sends it or leaves it to a worker, and waits for its outcome as long as its kind says.
 * @throws ApiError what refuses the order (`admission.ts`), or 503 when nothing is known to be committed
 */
async function acceptOn<Row extends Sent, Order extends { requestKey: string }>(
  deps: AcceptDeps,
  kind: KindOf<Row, Order>,
  caller: Caller,
  order: Order,
): Promise<Accepted<Row>> {
  const { accountId, operationId, accountNumber } = caller;
  await deps.connections.takeUp(caller.connection);
  const plan = planDispatch(deps, caller, kind, kind.waitMs(deps.settings));
  const id = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, order.requestKey);
  const secret = kind.secretOf?.(order) ?? null;
  const input = {
    caller,
    order,
    plan,
    id,
    fingerprint: fingerprintOf(deps.identity, { ...kind.asked(order), kind: kind.name, operationId }),
    sealed: secret === null ? null : deps.secrets.seal(secret, id),
  };
  const { row, replayed, fence, breakerOpen } = await withProbe(
    deps,
    probeOf(plan),
    (hasProbe) => deps.till.submit(buildAdmission(kind, { ...input, token: deps.ids.uuid(), hasProbe })),
    (begun) => !begun.replayed && begun.row.status === 'unknown',
  );
  deps.breakers.seen(plan.connection, plan.call, breakerOpen);
  if (replayed) return { row, replayed };
  return { row: await awaitOutcome(deps, kind, plan, row, fence), replayed };
}
