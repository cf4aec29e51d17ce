import type { Outgoing } from '../events/webhooks/delivery-loop.ts';
import { startThread } from '../ground/thread.ts';

/** Messages to the thread. */
export type DeliveryMessage = 'written' | 'stop' | { cells: readonly string[] };

export interface DeliveryThreadOptions {
  databaseUrl: string;
  /** Where it counts its deliveries (`ground/measures.ts`). */
  memory: SharedArrayBuffer;
  /** As of `DeliveryPace`. */
  hearsAll: boolean;
}

export interface DeliveryThread extends Outgoing {
  /** Delivers what is written in these cells, and in no other any more. */
  take(cells: readonly string[]): void;
}

/**
 * Events on their way out (`events/webhooks/delivery-loop.ts`) on a thread of their own, over connections of its own: it shares nothing with the service but
 * the database. A signature and a call for each event, and whatever a receiver answers, take nothing from the thread that accepts payments:
 * half as many whole lives again a second on two cores (bench/README.md), for 56 MB of memory.
 *
 * A thread and no process: it ends with us, however we end. A bug in it ends us, as one of our own does; while it stops, `stop` rejects.
 */
export function startDeliveryThread(options: DeliveryThreadOptions): DeliveryThread {
  const thread = startThread(new URL('./delivery-worker.ts', import.meta.url), options);
  let stopping = false;
  const ended = new Promise<void>((resolve, reject) => {
    // Decided when it has ended: what is thrown at `error` is thrown a moment later by Node, which may be after `exit`, without the cause.
    let broken: unknown;
    thread.once('error', (error) => {
      broken = error;
    });
    thread.once('exit', (code) => {
      if (!stopping) throw broken ?? new Error(`the thread of the deliveries ended with ${code}`);
      if (broken) reject(broken);
      else resolve();
    });
  });
  const tell = (message: DeliveryMessage): void => thread.postMessage(message);
  return {
    take: (cells) => tell({ cells }),
    written: () => tell('written'),
    stop: () => {
      stopping = true;
      tell('stop');
      return ended;
    },
  };
}
