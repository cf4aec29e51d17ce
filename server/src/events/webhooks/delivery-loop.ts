import { createBell, type Loop, runLoop } from '../../ground/loop.ts';
import type { Mail } from '../../ground/mail.ts';
import { glanceStatement, glanceWith } from '../../store/database/glance.ts';
import { timestamp } from '../../store/database/pool.ts';
import { createPruning } from '../log.ts';
import { createPublisher, publishedMost } from '../publish.ts';
import { createDeliverer, type DeliveryDeps } from './deliver.ts';
import { pruneDeliveries } from './deliveries.sql.ts';
import { createEndpointHealth } from './endpoint-health.ts';
import { fanOutTo } from './fan-out.ts';

/** Events on their way out. Any number of threads and processes run this over one database. */
export interface Outgoing {
  /** Events were committed: they are looked for at once. Without it they are found a moment later. */
  written(): void;
  /** Nothing new is begun; resolves when what is under way has ended, or after a while. */
  stop(): Promise<void>;
}

/** Each as the statement of its loop finds it. */
export const outgoingLook = glanceStatement('glance_outgoing', {
  publish: ['event_fresh'],
  deliver: [
    'webhook_lane WHERE due_at <= $1::timestamptz AND (lease_until IS NULL OR lease_until <= $1::timestamptz)',
  ],
  unwell: ['webhook_endpoint WHERE failing_since IS NOT NULL'],
});

/** How long a step that found nothing rests, unless it is woken. */
const restMs = { publish: 100, deliver: 100, unwell: 2_000, prune: 3600_000 };
/** The same for what is found otherwise within 100 ms, while nothing happens: 20 transactions a second become two. */
const quietRestMs = 1_000;

/** Attempts under way get this long when the process ends. */
const drainMs = 3_000;

export interface DeliveryPace {
  /** `written` is called for every event that is to go out here: while nothing is written, the loops look once a second. */
  hearsAll: boolean;
  /** By how much longer to rest. */
  slowdown(): number;
}

/** @param mayRun false: nothing should be done here right now, and its queues are free for others */
export function runDeliveries(
  deps: DeliveryDeps & { mail: Mail },
  mayRun: () => boolean,
  { hearsAll, slowdown }: DeliveryPace = { hearsAll: true, slowdown: () => 1 },
): Outgoing {
  const stopping = new AbortController();
  const publishing = createBell();
  const delivering = createBell();
  const deliverer = createDeliverer(deps, { hearsAll });
  deliverer.onWork(delivering.ring);
  const publisher = createPublisher(deps, fanOutTo(deps));

  const quiet = hearsAll ? { restMs: quietRestMs, stirred: publishing } : undefined;
  const begin = (name: keyof typeof restMs, step: () => Promise<boolean>, more: Partial<Loop> = {}) =>
    runLoop(
      { clock: deps.clock, log: deps.log, stopping: stopping.signal },
      { name, step, restMs: () => restMs[name] * slowdown(), ...more },
    );

  const publish = async (): Promise<boolean> => {
    const published = await publisher.step();
    if (published > 0) {
      deliverer.announce();
      delivering.ring();
    }
    // The next event is announced: without that, the next round would take its lock for nothing behind every lone event.
    return hearsAll ? published >= publishedMost : published > 0;
  };
  const deliver = async (): Promise<boolean> => {
    if (mayRun()) return deliverer.step();
    await deliverer.release();
    return false;
  };
  const whileAllowed = (step: () => Promise<boolean>) => async () => mayRun() && step();
  const seen = glanceWith(deps, outgoingLook, () => [timestamp(deps.clock.now())]);
  const sees = (work: string) => whileAllowed(async () => (await seen()).includes(work));
  const mayDeliver = async (): Promise<boolean> => deliverer.isHolding() || sees('deliver')();
  const loops = [
    begin('publish', whileAllowed(publish), { bell: publishing, quiet, mayHaveWork: sees('publish') }),
    begin('deliver', deliver, { bell: delivering, quiet, mayHaveWork: mayDeliver }),
    begin('unwell', whileAllowed(createEndpointHealth(deps).step), { mayHaveWork: sees('unwell') }),
    begin('prune', whileAllowed(createPruning(deps, pruneDeliveries).step)),
  ];
  return {
    written: () => {
      publisher.announce();
      publishing.ring();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      await deliverer.stop(drainMs);
    },
  };
}
