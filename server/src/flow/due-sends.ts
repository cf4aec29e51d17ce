import { type Intent, isElsewhere, leaseMarginMs, patience, sendPriority } from '../money/intent.ts';
import type { Provider } from '../provider/provider.ts';
import type { TurnsOf } from '../store/rows/intent-turns.sql.ts';
import { claimDue, claimDueSends, type SendClass } from '../store/rows/intents.sql.ts';
import { createAccountTurns, createFairClaim } from './account-turns.ts';
import { holding, intentClaimMs } from './claims.ts';
import { leaveElsewhere } from './elsewhere.ts';
import { freedOnFailure, takeSend } from './limit.ts';
import {
  type Attempt,
  applyDeferred,
  applyWithinMs,
  callProvider,
  type SendDeps,
  type Sender,
  startSend,
  takeOverSend,
} from './send.ts';
import { createUnderWay } from './under-way.ts';

/** Sends that are under way at once in one process. */
const sendsMost = 256;

/** The sends that are due on a connection. The process that claims one begins it. */
export interface DueSends {
  /** Begins due sends; true when there may be more at once. */
  step(): Promise<boolean>;
  /** Sends what callers of this process committed as `sending` and do not wait for. */
  sender: Sender;
  /** Resolves when everything begun has ended; nothing may be begun meanwhile. */
  idle(): Promise<void>;
}

export function createDueSends(deps: SendDeps, provider: Provider): DueSends {
  const { connection } = provider;
  const sending = createUnderWay(deps, connection);
  const applying = createUnderWay(deps, connection);
  const claimOf = (of: SendClass) => (now: number, most: number) =>
    claimDueSends(deps.sql, connection, of, now, now + intentClaimMs, most);
  const claimAll = (now: number, most: number) =>
    claimDue(deps.sql, connection, sendPriority, now, now + intentClaimMs, most);
  const turnsOf = (of: TurnsOf) => createAccountTurns(deps.sql, connection, of);
  const claims = {
    sends: createFairClaim(turnsOf('sends'), claimAll),
    unlimited: createFairClaim(turnsOf('unlimited'), claimOf('unlimited')),
    limited: createFairClaim(turnsOf('limited'), claimOf('limited')),
    abandoned: claimOf('abandoned'),
  };

  /** @returns how long the provider asks sends to rest afterwards, in milliseconds */
  async function sendOne(intent: Intent): Promise<number> {
    if (intent.state === 'sending') {
      await takeOverSend(deps, intent);
      return 0;
    }
    if (isElsewhere(intent, provider)) {
      await leaveElsewhere(deps, intent);
      return 0;
    }
    const attempt = await startSend(deps, intent);
    return attempt ? sendDeferred(attempt) : 0;
  }

  /** Ends with the provider's answer; the outcome is applied beside it, so that the next send can begin. @returns as `sendOne` */
  async function sendDeferred(attempt: Attempt): Promise<number> {
    const observed = await callProvider(deps, attempt);
    applying.begin('the outcome of a send', applyDeferred(deps, observed));
    return restAfter(observed);
  }

  async function step(): Promise<boolean> {
    const { capabilities } = provider;
    const room = sendsMost - sending.size;
    if (room <= 0) {
      await sending.oneEnded();
      return true;
    }
    const now = deps.clock.now();
    const limit = capabilities.maxParallelSends;
    const due =
      limit === null
        ? await claims.sends(now, room)
        : (await Promise.all([claims.unlimited(now, room), claims.abandoned(now, room)])).flat();
    for (const intent of due) sending.begin('a send', holding(deps, [intent], now, sendOne(intent)));
    if (limit === null) return due.length === room;
    return (await beginLimited(limit)) || due.length >= room;
  }

  /** Begins one transfer where the adapter limits parallel sends: the slot is taken before a transfer is claimed. */
  async function beginLimited(limit: number): Promise<boolean> {
    // The slot outlives everything that its holder may still do: commit, call, and the outcome.
    const slotMs = 2 * applyWithinMs + provider.capabilities.sendTimeoutMs + leaseMarginMs;
    const slot = await takeSend(deps, connection, limit, slotMs);
    if (!slot) return false;
    const now = deps.clock.now();
    const [intent] = await freedOnFailure(slot, claims.limited(now, 1));
    const work = intent ? holding(deps, [intent], now, sendOne(intent)) : Promise.resolve(0);
    sending.begin(
      'a send',
      freedOnFailure(slot, work).then((restMs) => slot.free(restMs)),
    );
    return intent !== undefined;
  }

  return {
    step,
    sender: {
      hasRoom: () => sending.size < sendsMost,
      begin: (attempt) => sending.begin('a send', sendDeferred(attempt)),
    },
    async idle() {
      while (sending.size + applying.size > 0) await Promise.all([sending.ended(), applying.ended()]);
    },
  };
}

/**
 * How long the slot stays taken after a send, in milliseconds. A slot that rests holds back the sends of all processes: the next one would
 * only be answered 429, and then queried.
 */
function restAfter({ observation: { outcome } }: Awaited<ReturnType<typeof callProvider>>): number {
  if (outcome.outcome === 'accepted') return patience(outcome.restMs ?? null);
  return outcome.outcome === 'unclear' && outcome.cause === 'rateLimited'
    ? patience(outcome.retryAfterMs)
    : 0;
}
