import { randomBytes } from 'node:crypto';
import { type Entry, emptyBank, endDelivery, nextTurnAt, passTime } from './bank.ts';
import type { Desk } from './desk.ts';
import type { Dialect } from './dialects.ts';
import { type Journal, openJournal } from './journal.ts';
import { type Sender, startSender } from './webhooks.ts';
import { realWorld } from './world.ts';

/** A provider at work: one truth on disk, spoken of in one protocol. */
export interface OpenDesk {
  desk: Desk;
  dialect: Dialect;
  whenWritten(callback: () => void): void;
  stop(): Promise<void>;
  /** Writes what is waiting; after every answer has ended. */
  close(): void;
}

export interface DeskOptions {
  stateDir: string;
  dialect: Dialect;
  isClient: Desk['isClient'];
  log?: ((message: string) => void) | undefined;
}

export function openDesk({ stateDir, dialect, isClient, log }: DeskOptions): OpenDesk {
  const world = realWorld();
  const bank = emptyBank(dialect.terms);
  const journal: Journal = openJournal(stateDir, bank);
  let turn: NodeJS.Timeout | undefined;
  let turnAt = Number.POSITIVE_INFINITY;
  let stopped = false;
  let failing = false;

  const append = (writes: Entry[]) => journal.append(writes);
  const desk: Desk = {
    bank,
    world,
    isClient,
    commit(writes) {
      append(writes);
      wake();
    },
  };

  /** Sets the one timer to the moment at which time alone brings something. */
  const wake = () => {
    const at = nextTurnAt(bank);
    if (at === undefined || at >= turnAt || stopped) return;
    clearTimeout(turn);
    turnAt = at;
    // setTimeout counts in 32 bits: what is further away is looked at again every day.
    turn = setTimeout(takeTurn, Math.min(Math.max(0, at - world.now()), 86_400_000));
  };

  const takeTurn = () => {
    turnAt = Number.POSITIVE_INFINITY;
    const { deliveries, writes } = passTime(bank, world, dialect.perDelivery);
    append(writes);
    if (deliveries.length > 0) {
      // The content of a webhook must be in the journal first, as with an answer.
      journal.whenWritten(() => {
        for (const delivery of deliveries) sender.send(delivery);
      });
    }
    wake();
  };

  if (bank.tokenSecret === '') {
    bank.tokenSecret = randomBytes(32).toString('base64url');
    append([['token-secret', bank.tokenSecret]]);
  }
  const sender: Sender = startSender(bank, world.now, dialect.posts(desk), (delivery, delivered, answers) => {
    bank.counts.webhooksSent += answers;
    desk.commit([['counts', bank.counts], ...endDelivery(bank, world, delivery, delivered)]);
    if (delivered === failing) {
      failing = !delivered;
      log?.(failing ? 'webhooks are not taken; they are sent again' : 'webhooks are taken again');
    }
  });
  wake();

  return {
    desk,
    dialect,
    whenWritten: (callback) => journal.whenWritten(callback),
    async stop() {
      stopped = true;
      clearTimeout(turn);
      await sender.stop();
    },
    close: () => journal.close(),
  };
}
