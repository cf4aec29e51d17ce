import type { Log } from '../ground/log.ts';
import type { Payment } from '../money/payment.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';

/**
 * Callers of this process that wait for an outcome that a worker applies.
 *
 * An outcome that this process applies wakes them at once. One that another process applies is found by a read of all awaited payments
 * together, ten times a second: as many statements for a thousand callers as for two. Rejected: LISTEN and NOTIFY, which would add a lock on
 * the whole database to every commit.
 */
export interface OutcomeWatch {
  /** Resolves with the payment once its status is not `unknown`, with null when the signal is aborted. */
  outcomeOf(payment: Pick<Payment, 'accountId' | 'id'>, signal: AbortSignal): Promise<Payment | null>;
  /** A payment as this process has just committed it. */
  committed(payment: Payment): void;
}

interface Deps {
  sql: Queries;
  clock: Clock;
  log: Log;
}

const pollMs = 100;
const paymentsPerRead = 500;

export function createOutcomeWatch({ sql, clock, log }: Deps): OutcomeWatch {
  const waiting = new Map<string, Set<(payment: Payment) => void>>();
  let polling = false;

  function committed(payment: Payment): void {
    if (payment.status === 'unknown') return;
    const key = paymentKey(payment.accountId, payment.id);
    for (const resolve of waiting.get(key) ?? []) resolve(payment);
    waiting.delete(key);
  }

  async function poll(): Promise<void> {
    polling = true;
    for (;;) {
      await clock.sleep(pollMs);
      const keys = [...waiting.keys()];
      if (keys.length === 0) break;
      try {
        for (let at = 0; at < keys.length; at += paymentsPerRead)
          for (const payment of await payments.read(sql, keys.slice(at, at + paymentsPerRead)))
            committed(payment);
      } catch (error) {
        log.warn({ err: error, payments: keys.length }, 'awaited outcomes could not be read');
      }
    }
    polling = false;
  }

  return {
    committed,
    outcomeOf: ({ accountId, id }, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(null);
        const key = paymentKey(accountId, id);
        const waiters = waiting.get(key) ?? new Set();
        waiting.set(key, waiters.add(resolve));
        const stop = (): void => {
          waiters.delete(resolve);
          if (waiters.size === 0 && waiting.get(key) === waiters) waiting.delete(key);
          resolve(null);
        };
        signal.addEventListener('abort', stop, { once: true });
        if (!polling) void poll();
      }),
  };
}
