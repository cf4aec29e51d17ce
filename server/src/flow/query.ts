import type { Asked, Located, Observed, Sent } from '../kinds/kind.ts';
import { kindOf } from '../kinds/registry/kinds.ts';
import { providerIdOf } from '../money/payment.ts';
import type { Provider, QueryOutcome } from '../provider/provider.ts';
import { makeDue } from '../store/rows/intents.sql.ts';
import type { PaymentOwner } from '../store/rows/payments.sql.ts';
import { applyOutcome } from './apply.ts';
import { endUnread, keepUnread } from './keep-unread.ts';
import { freedOnFailure, type Slot, takeQuery } from './limit.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** Queries one of what was sent. @returns it with the answer applied; null: there was nothing to query, or the answer was not applied */
export async function queryOne(deps: TrackingDeps, provider: Provider, asked: Asked): Promise<Sent | null> {
  const located = await kindOf(asked.kind).locate(deps.sql, asked);
  if (!located) return null;
  const startedAt = deps.clock.now();
  const outcome = await ask(deps, provider, asked, located);
  const observation = { from: 'query', id: deps.ids.uuid(), startedAt, outcome } as const;
  return applyQuery(deps, located.observed(asked.connection, observation));
}

async function ask<Report>(
  deps: TrackingDeps,
  provider: Provider,
  asked: Asked,
  located: Located<Report>,
): Promise<QueryOutcome<Report>> {
  const { connection } = provider;
  const call = { connection, call: 'query', accountId: asked.accountId } as const;
  const outcome = await deps.breakers.counted(call, () => located.query(provider));
  const { unread } = kindOf(asked.kind);
  if (outcome.outcome === 'unclear' && outcome.unread) await keepUnread(deps, connection, [outcome.unread]);
  if (outcome.outcome === 'found' && unread.length > 0)
    await endUnread(deps, connection, unread, [providerIdOf(asked.paymentId)]);
  return outcome;
}

/**
 * Queries a payout that a person removed at the provider. One that is not there any more stays as it is, with its reserve, and is an incident: that a
 * provider does not find a payout releases nothing, and no later answer will say more.
 * @throws NoQueryLeft, or Error the provider does not answer: the delivery is not applied yet
 */
export async function askForRemoved(
  deps: TrackingDeps,
  provider: Provider,
  owner: PaymentOwner,
  untilMs: number,
): Promise<void> {
  if (!owner.followed) return;
  const slot = await nextQuery(deps, provider, untilMs);
  try {
    await confirmOne(deps, provider, { ...owner, paymentId: owner.id, providerRef: null }, { removed: true });
  } finally {
    await slot.free();
  }
}

/** @throws Error the provider does not answer */
async function confirmOne(
  deps: TrackingDeps,
  provider: Provider,
  asked: Omit<Asked, 'connection'>,
  more: { removed?: true } = {},
): Promise<void> {
  const { connection } = provider;
  const one = { ...asked, connection };
  const startedAt = deps.clock.now();
  const located = await kindOf(asked.kind).locate(deps.sql, one);
  if (!located) return;
  const outcome = await ask(deps, provider, one, located);
  if (outcome.outcome === 'unclear') throw new Error(`the provider does not answer: ${outcome.detail}`);
  if (outcome.outcome === 'notFound' && !more.removed)
    throw new Error('the provider does not know the payment');
  await applyAnswer(deps, { connection, located, startedAt, outcome, ...more });
}

/**
 * Asks for what was paid on a page under the acquirer's own name of it, whichever page its payment has here, and applies what is found. That it is not
 * found says nothing of the payment's own page.
 * @param within makes the call within the shared limit
 */
export async function askForPage(
  deps: TrackingDeps,
  provider: Provider,
  { owner, page }: { owner: PaymentOwner; page: string },
  within: (query: () => Promise<QueryOutcome<unknown>>) => Promise<QueryOutcome<unknown>>,
): Promise<QueryOutcome<unknown>> {
  const { connection } = provider;
  const asked = { ...owner, paymentId: owner.id, connection, providerRef: null, page };
  const located = await kindOf(owner.kind).locate(deps.sql, asked);
  if (!located) return { outcome: 'notFound' };
  const startedAt = deps.clock.now();
  const outcome = await within(() => located.query(provider));
  if (outcome.outcome === 'found') await applyAnswer(deps, { connection, located, startedAt, outcome });
  return outcome;
}

interface Answered<Report> {
  connection: string;
  located: Located<Report>;
  startedAt: number;
  outcome: QueryOutcome<Report>;
  removed?: true;
}

/** Applies the provider's answer to a query of what was located. */
export async function applyAnswer<Report>(
  deps: TrackingDeps,
  { connection, located, ...answer }: Answered<Report>,
): Promise<void> {
  const observed = located.observed(connection, { from: 'query', id: deps.ids.uuid(), ...answer });
  await applyOutcome(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
}

/** Applies the answer to a query. @returns null: it was not applied, and the row is due again when its claim has run out */
export async function applyQuery(deps: TrackingDeps, observed: Observed): Promise<Sent | null> {
  try {
    return await applyOutcome<Sent>(deps, observed, deps.clock.monotonicMs() + applyWithinMs);
  } catch (error) {
    const { kind, paymentId } = observed;
    deps.log.warn({ err: error, kind, paymentId }, 'a query was not applied');
    return null;
  }
}

/** A query of the shared limit, or null when none is left at this moment or the breaker is open. */
export async function takeAllowedQuery(deps: TrackingDeps, provider: Provider): Promise<Slot | null> {
  const { connection, capabilities } = provider;
  const slot = await takeQuery(deps, connection, capabilities.callTimeoutMs * 2);
  if (!slot || (await freedOnFailure(slot, deps.breakers.allows(connection, 'query')))) return slot;
  await slot.free();
  return null;
}

/** The limit that all processes share had no query left in time; nothing is known of the payment by this. */
export class NoQueryLeft extends Error {
  override name = 'NoQueryLeft';
  constructor() {
    super('no query of the shared limit was left');
  }
}

/** A delivery waits this long for queries of the shared limit, then it is left for later. */
export const queryWaitMs = 10_000;

/** A query of the shared limit, as soon as it allows one. @throws NoQueryLeft by `untilMs`, monotonic */
export async function nextQuery(deps: TrackingDeps, provider: Provider, untilMs: number): Promise<Slot> {
  for (;;) {
    const slot = await takeAllowedQuery(deps, provider);
    if (slot) return slot;
    if (deps.clock.monotonicMs() >= untilMs || deps.draining.aborted) throw new NoQueryLeft();
    await deps.clock.sleep(200, deps.draining);
  }
}

/**
 * A query for work that comes again after minutes: as soon as the shared limit allows one. Rejected: to leave the turn at once, which put off a dispute
 * by two minutes, and a balance by its whole interval, because payments had just spent the limit. An open breaker is not waited for: its next probe is
 * for the payments.
 * @param untilMs monotonic
 * @returns null: none was allowed in time, or the breaker is open
 */
export async function waitForQuery(
  deps: TrackingDeps,
  provider: Provider,
  untilMs: number = deps.clock.monotonicMs() + queryWaitMs,
): Promise<Slot | null> {
  const { connection, capabilities } = provider;
  for (;;) {
    const slot = await takeQuery(deps, connection, capabilities.callTimeoutMs * 2);
    if (slot) {
      if (await freedOnFailure(slot, deps.breakers.allows(connection, 'query'))) return slot;
      await slot.free();
      return null;
    }
    if (deps.clock.monotonicMs() >= untilMs || deps.draining.aborted) return null;
    await deps.clock.sleep(200, deps.draining);
  }
}

/**
 * Confirms a delivery that is not believed by itself: its payments are queried, as soon as the limit allows. A payment that is
 * followed is only made due, so that a listing may answer for many; one that has ended is queried here.
 * @param providerRef the provider's own name of the one that is confirmed, where it is known
 * @throws NoQueryLeft, or Error when one could not be queried: the delivery is not applied yet
 */
export async function confirm(
  deps: TrackingDeps,
  provider: Provider,
  owners: readonly PaymentOwner[],
  providerRef: string | null = null,
): Promise<void> {
  const { connection } = provider;
  const asked = (owner: PaymentOwner): Asked => ({ ...owner, paymentId: owner.id, connection, providerRef });
  const followed = owners.filter((owner) => owner.followed).map(asked);
  if (followed.length > 0) {
    await makeDue(deps.sql, followed, deps.clock.now());
    deps.wake();
  }
  const untilMs = deps.clock.monotonicMs() + queryWaitMs;
  for (const owner of owners.filter((one) => !one.followed)) {
    const slot = await nextQuery(deps, provider, untilMs);
    try {
      await confirmOne(deps, provider, asked(owner));
    } finally {
      await slot.free();
    }
  }
}
