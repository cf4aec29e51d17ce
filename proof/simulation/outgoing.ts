import { type Bank, endDelivery, nextTurnAt, passTime } from '../../simulator/src/bank.ts';
import type { Desk } from '../../simulator/src/desk.ts';
import type { Delivery } from '../../simulator/src/outbox.ts';
import type { Faults } from './network.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** A provider acts by itself: its time passes, and its deliveries go out, some of them lost, late or doubled. */
export interface Outgoing {
  /** Looks at the clock again. */
  wake(): void;
}

export function createOutgoing({
  world,
  random,
  bank,
  desk,
  mark,
  perDelivery,
  faults,
  prepare,
}: {
  world: World;
  random: Random;
  bank: Bank;
  desk: Pick<Desk, 'world'>;
  /** Before the word for what happened to a delivery. */
  mark: string;
  /** As `passTime` takes it. */
  perDelivery?: number;
  faults(): Faults;
  /** Posts what strangers make of a delivery. @returns posts it itself, and resolves with whether the service has it */
  prepare(delivery: Delivery): () => Promise<boolean>;
}): Outgoing {
  let turnAt = Number.POSITIVE_INFINITY;

  function wake(): void {
    const at = nextTurnAt(bank);
    if (at === undefined || at >= turnAt) return;
    turnAt = at;
    world.at(at, () => {
      if (turnAt !== at) return;
      turnAt = Number.POSITIVE_INFINITY;
      for (const delivery of passTime(bank, desk.world, perDelivery).deliveries) deliver(delivery);
      wake();
    });
  }

  function deliver(delivery: Delivery): void {
    const { hookLost, hookLate, hookDoubled } = faults();
    if (random.chance(hookLost)) {
      world.count(`${mark} lost`);
      endDelivery(bank, desk.world, delivery, random.chance(0.5));
      return;
    }
    if (random.chance(hookLate)) {
      world.count(`${mark} late`);
      world.at(world.now() + random.below(3_600_000), () => send(delivery));
      return;
    }
    send(delivery);
    if (random.chance(hookDoubled)) {
      world.count(`${mark} doubled`);
      world.at(world.now() + random.below(600_000), () => send(delivery));
    }
  }

  function send(delivery: Delivery): void {
    const posted = prepare(delivery);
    let ended = false;
    const end = (delivered: boolean) => {
      if (ended) return;
      ended = true;
      endDelivery(bank, desk.world, delivery, delivered);
      wake();
    };
    world.at(world.now() + 10_000, () => end(false));
    void posted().then(end);
  }

  return { wake };
}
