import type { Mail } from '../../ground/mail.ts';
import { createPruning } from '../log.ts';
import { createPublisher } from '../publish.ts';
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

/** How long a step that found nothing rests, unless it is woken. */
const restMs = { publish: 100, deliver: 100, unwell: 2_000, prune: 3600_000 };

/** Attempts under way get this long when the process ends. */
const drainMs = 3_000;

/**
 * @param mayRun false: nothing should be done here right now, and its queues are free for others
 * @param slowdown by how much longer to rest
 */
export function runDeliveries(
  deps: DeliveryDeps & { mail: Mail },
  mayRun: () => boolean,
  slowdown: () => number = () => 1,
): Outgoing {
  const stopping = new AbortController();
  const publishing = bell();
  const delivering = bell();
  const deliverer = createDeliverer(deps);
  deliverer.onWork(delivering.ring);
  const publisher = createPublisher(deps, fanOutTo(deps));

  /** Runs steps until `stop`; after a failed step it rests longer and continues. */
  async function loop(
    name: keyof typeof restMs,
    step: () => Promise<boolean>,
    own = bell(),
    unless?: () => Promise<void>,
  ): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      // Before the step: what rings while it runs cuts the rest behind it.
      const rung = own.listen();
      try {
        const more = mayRun() ? await step() : await unless?.();
        failures = 0;
        if (more) continue;
      } catch (error) {
        failures++;
        deps.log.error({ err: error, step: name }, 'a step of the worker failed');
      }
      const pauseMs = restMs[name] * slowdown();
      const waitMs = failures === 0 ? pauseMs : Math.min(pauseMs * 2 ** Math.min(failures, 8), 10_000);
      const cut = failures > 0 ? stopping.signal : AbortSignal.any([rung, stopping.signal]);
      await deps.clock.sleep(waitMs, cut);
    }
  }

  const publish = async (): Promise<boolean> => {
    const published = await publisher.step();
    if (published) delivering.ring();
    return published;
  };
  const loops = [
    loop('publish', publish, publishing),
    loop('deliver', deliverer.step, delivering, deliverer.release),
    loop('unwell', createEndpointHealth(deps).step),
    loop('prune', createPruning(deps, pruneDeliveries).step),
  ];
  return {
    written: publishing.ring,
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
      await deliverer.stop(drainMs);
    },
  };
}

/** Wakes the loop early. Repeated calls before the next sleep have no effect. */
function bell(): { ring(): void; listen(): AbortSignal } {
  let controller = new AbortController();
  return {
    ring: () => {
      if (!controller.signal.aborted) controller.abort(null);
    },
    listen: () => {
      if (controller.signal.aborted) controller = new AbortController();
      return controller.signal;
    },
  };
}
