import { hash, timingSafeEqual } from 'node:crypto';
import { gather } from '../ground/gather.ts';
import { inTurn } from '../ground/lines.ts';
import type { Measures } from '../ground/measures.ts';
import { isConnectionName, type Provider, type WebhookNews } from '../provider/provider.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import {
  findLeft,
  findWebhookTokens,
  insertDeliveries,
  leaveDelivery,
  markApplied,
  postponeDelivery,
  type StoredDelivery,
  type WebhookTokens,
} from '../store/rows/inbound.sql.ts';
import { openOrReport } from '../store/rows/unreadable.ts';
import { createDeliveryTurns, createFairClaim } from './account-turns.ts';
import { createShares, lineOf } from './delivery-lines.ts';
import { applyNews, gatherOwners, PageNotKnown } from './inbound-news.ts';
import { NoQueryLeft, queryWaitMs } from './query.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** A provider's delivery, as it came. */
export interface HookDelivery {
  connection: string;
  headers: Record<string, string | string[] | undefined>;
  rawBody: Buffer;
  /** A trusted proxy has verified the peer's TLS certificate. */
  clientVerified: boolean;
}

/**
 * The deliveries of a provider at our address.
 *
 * A delivery is stored, sealed, before anything else is done with it, and then answered; many deliveries share one insert. What it reports
 * is applied afterwards: when its process dies in between, another process finds the delivery. Duplicates, other
 * orders, early arrivals and unknown ids change nothing wrongly, because the state machine and the event references decide, not the
 * delivery.
 *
 * The adapter declares how far a delivery is believed: signed or from a verified peer, it applies directly; protected by its
 * secret address alone, it only causes a query.
 */
export interface Inbound {
  /** Whether an address of ours with this connection and secret exists. */
  isOurAddress(connection: string, token: string): Promise<boolean>;
  /** Only what came to an address of ours. */
  receive(delivery: HookDelivery): Promise<{ status: number }>;
  /** Applies what was stored and left; true when there was something. */
  stepLeft(): Promise<boolean>;
  /** Resolves when everything received so far is applied. */
  idle(): Promise<void>;
}

/** A stored delivery that is not marked after this long belongs to a process that has ended. */
const leftAfterMs = 20_000;

/** No caller waits for a mark: all marks of this time share a write. */
const markEveryMs = 100;

/** How long a delivery that could not be applied waits, by the tries that failed: one that can never be applied delays no other. */
const retryAfterMs = (tries: number): number => Math.min(3_600_000, 5_000 * 2 ** Math.min(tries, 10));

/** How long a delivery waits that found no query of the shared limit left: that is no failed try, so the wait does not grow. */
const busyMs = 5_000;

/** The creation of a page is answered, or found by a query, within this time. */
const pageKnownWithinMs = 10 * 60_000;

/**
 * Between two reads of addresses, and between two writes. A provider that sends a delivery for each payment (Woovi) costs statements for many
 * together then, as one does that sends a delivery for many (Efí). One delivery after the other never waits.
 */
const paceMs = 20;
/** Deliveries in one insert: at a few kB each it stays below a MB. */
const storesMost = 256;

/**
 * The number of deliveries applied at once in a process, of which an account has as many as it leaves free. A flood beyond that is stored and applied by the
 * worker, in turn by account.
 */
const appliesMost = 1_000;
const leftAtOnce = 100;

export interface InboundDeps extends TrackingDeps {
  measures: Pick<Measures, 'notOurs'>;
}

/** Strangers can call any address: one line says that there was one. */
const unknownLoggedEveryMs = 60_000;

export function createInbound(deps: InboundDeps): Inbound {
  let unknownLoggedAt = Number.NEGATIVE_INFINITY;
  const tokensOf = tokenReader(deps);
  const ownersOf = gatherOwners(deps);
  const store = gather<StoredDelivery, void>(
    { clock: deps.clock, most: storesMost, paceMs },
    async (rows) => {
      await insertDeliveries(deps.sql, rows);
      return rows.map(() => undefined);
    },
  );
  const shares = createShares(appliesMost);
  const underWay = new Set<Promise<void>>();
  const leftOf = leftReader(deps);
  let applied: string[] = [];
  let marking = false;

  /** Marks many at a time, behind the answers: an unmarked one is only applied again, which changes nothing. */
  async function mark(id: string): Promise<void> {
    applied.push(id);
    if (marking) return;
    marking = true;
    while (applied.length > 0) {
      await deps.clock.sleep(markEveryMs, deps.draining);
      const batch = applied;
      applied = [];
      try {
        await markApplied(deps.sql, batch, deps.clock.now());
      } catch (error) {
        deps.log.warn({ err: error, deliveries: batch.length }, 'deliveries were not marked');
      }
    }
    marking = false;
  }

  /** The delivery was authentic when it came; its signature may have expired since, so only the content is read again. */
  async function applyLeft(row: StoredDelivery, provider: Provider): Promise<boolean> {
    const { id, connection, receivedAt, tries } = row;
    const accountId = installationId;
    const unreadable = { accountId, paymentId: null, operationId: null, amountCents: 0 };
    try {
      const body = await openOrReport(deps, row.body, id, { ...unreadable, need: `delivery:${id}` });
      if (body === null) throw new Error('it cannot be opened');
      const news = provider.readWebhook(body, receivedAt);
      // Deliveries are applied here one after the other: one that waits for a query would delay the others.
      if (news) await applyNews(deps, ownersOf, { id, connection, news }, deps.clock.monotonicMs());
      await markApplied(deps.sql, [id], deps.clock.now());
      return true;
    } catch (error) {
      if (error instanceof NoQueryLeft) {
        await leaveDelivery(deps.sql, id, deps.clock.now() + busyMs);
        return false;
      }
      if (error instanceof PageNotKnown) return leavePage(row);
      deps.log.error({ err: error, delivery: id, tries }, 'a delivery that was left cannot be applied');
      await postponeDelivery(deps.sql, id, deps.clock.now() + retryAfterMs(tries));
      return false;
    }
  }

  /** A refused attempt of a page that never becomes known is one of another program of the account: nothing is to be done. */
  async function leavePage({ id, receivedAt, tries }: StoredDelivery): Promise<boolean> {
    const now = deps.clock.now();
    const isOver = now >= receivedAt + pageKnownWithinMs;
    await (isOver
      ? markApplied(deps.sql, [id], now)
      : postponeDelivery(deps.sql, id, now + retryAfterMs(tries)));
    return isOver;
  }

  function apply(id: string, connection: string, news: WebhookNews, leave: () => void): void {
    const untilMs = deps.clock.monotonicMs() + queryWaitMs;
    const work = applyNews(deps, ownersOf, { id, connection, news }, untilMs).then(
      () => mark(id),
      (error: unknown) => {
        if (!(error instanceof PageNotKnown))
          deps.log.error({ err: error, delivery: id }, 'a delivery was not applied');
      },
    );
    underWay.add(work);
    void work.finally(() => {
      underWay.delete(work);
      leave();
    });
  }

  return {
    async isOurAddress(connection, token) {
      if (!deps.providers.has(connection)) {
        deps.measures.notOurs.unknownConnection++;
        const now = deps.clock.monotonicMs();
        if (now - unknownLoggedAt < unknownLoggedEveryMs) return false;
        unknownLoggedAt = now;
        const named = isConnectionName(connection) ? connection : null;
        deps.log.warn(
          { connection: named },
          'a delivery came to the address of a connection that is not here',
        );
        return false;
      }
      const tokens = await tokensOf(connection);
      return tokens !== undefined && isGood(tokens, token);
    },

    async receive({ connection, headers, rawBody, clientVerified }) {
      const provider = deps.providers.get(connection);
      if (!provider) return { status: 404 };
      const receivedAt = deps.clock.now();
      const content = await provider.parseWebhook({ headers, rawBody, receivedAt, clientVerified });
      const id = deps.ids.uuid();
      const body = deps.secrets.seal(provider.redactDelivery?.(rawBody) ?? rawBody, id);
      const line = content.authentic ? lineOf(content) : null;
      await store({
        id,
        connection,
        receivedAt,
        body,
        authentic: content.authentic,
        tries: 0,
        nextAt: receivedAt + leftAfterMs,
        line,
      });
      if (!content.authentic) {
        deps.log.warn({ delivery: id, connection, reason: content.reason }, 'a delivery is not authentic');
        return { status: 401 };
      }
      if (!content.addressed) {
        deps.measures.notOurs.notAddressed++;
        deps.log.warn(
          { delivery: id, connection },
          'a delivery does not name our account: what it names is queried',
        );
      }
      const leave = shares.take(line ?? 0);
      if (leave) apply(id, connection, content, leave);
      return { status: 200 };
    },

    async stepLeft() {
      let done = false;
      for (const provider of deps.providers.values())
        for (const row of await leftOf(provider.connection)) done = (await applyLeft(row, provider)) || done;
      return done;
    },

    async idle() {
      while (underWay.size > 0 || marking) await Promise.all([...underWay, Promise.resolve()]);
    },
  };
}

/** The next deliveries of a connection that are due: in the order of time, and half of them in turn by account while there are more. */
function leftReader({ sql, clock }: TrackingDeps): (connection: string) => Promise<StoredDelivery[]> {
  const claims = new Map<string, ReturnType<typeof createFairClaim<StoredDelivery>>>();
  return async (connection) => {
    const claim =
      claims.get(connection) ??
      createFairClaim(createDeliveryTurns(sql, connection), (now, most) =>
        findLeft(sql, connection, now, most),
      );
    claims.set(connection, claim);
    const found = await claim(clock.now(), leftAtOnce);
    // Some wait for a query of the shared limit: the first one of each account is tried first.
    return inTurn(new Map(found.map((row) => [row.id, row])).values(), ({ line }) => String(line));
  };
}

/**
 * The tokens of a connection, read after they were asked for: an address that was changed is wrong from then on. A flood of strangers costs one
 * statement at a time, and a crowd of deliveries one for each pace.
 */
function tokenReader({
  sql,
  clock,
}: TrackingDeps): (connection: string) => Promise<WebhookTokens | undefined> {
  return gather<string, WebhookTokens | undefined>(
    { clock, most: Number.POSITIVE_INFINITY, paceMs },
    async (asked) => {
      const names = [...new Set(asked)];
      const read = await Promise.all(names.map((name) => findWebhookTokens(sql, name)));
      const tokens = new Map(names.map((name, at) => [name, read[at]]));
      return asked.map((name) => tokens.get(name));
    },
  );
}

const sameSecret = (expected: string, given: string): boolean =>
  timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer'));

const isGood = ({ current, previous }: WebhookTokens, given: string): boolean =>
  sameSecret(current, given) || (previous !== null && sameSecret(previous, given));
