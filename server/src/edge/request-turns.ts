import { answerWithinMs, before } from '../ground/deadline.ts';
import { refuse } from '../ground/errors.ts';
import { createLines } from '../ground/lines.ts';
import type { Clock } from '../ports/clock.ts';
import { inNextTurn } from '../ports/event-loop.ts';

/**
 * The order in which requests begin while more come than the process has time for. What has begun continues first: in each turn of the event loop
 * one of those that wait begins, one account after the other; where more than four accounts have some, one for each four. So an account with a thousand requests delays each step of another one's by one
 * request and not by all that its sockets brought at once, and a request of an account with few under way begins at once.
 *
 * A request waits for the event loop alone: on an idle one a turn takes microseconds. An account that has been alone for a while begins all at once, since its requests
 * share the commits of the till. Rejected: places that a request keeps to its end (a slow provider holds hundreds of them at no cost), and a
 * bound of requests under way, which refuses more on a slow machine.
 */
export interface RequestTurns {
  /** Counts a request of an account as under way. */
  begins(accountId: string): void;
  ends(accountId: string): void;
  /** @returns null: it begins at once */
  ofAccount(accountId: string): Promise<void> | null;
  /** Of the payers of one account. */
  ofPayer(accountNumber: number): Promise<void>;
  /** Of a caller without a known key. All of them together have one turn beside each account, and share it by network. */
  ofStranger(network: string): Promise<void>;
}

/**
 * Waits for a turn of a page or of the panel, no longer than any caller waits for an answer. A call of the API that waits so long says `processing_unavailable`, since its
 * caller keeps a request key; a person reads that nothing was written.
 *
 * @throws ApiError `overloaded` with `Retry-After` when the time is over first: nothing of the request has begun
 */
export const turnInTime = (
  clock: Clock,
  { arrivedMs }: { arrivedMs: number },
  turn: Promise<void>,
): Promise<void> =>
  before(clock, arrivedMs + answerWithinMs, turn, () => refuse('overloaded', { retryAfterSeconds: 1 }));

/** Under way of one account beside others that have some: its further ones wait for their turn. */
export const atOnce = 4;
/** So many requests of one account in a row, and it is alone. Counted and not timed: between two requests of a small merchant a flood is no lone account. */
export const aloneAfter = 256;
/** With many accounts a turn of the loop serves more: each alone would make it turn for every request. */
const ownersPerTurn = 4;

export function createRequestTurns(nextTurn = inNextTurn): RequestTurns {
  const underWay = new Map<string, number>();
  let total = 0;
  /** The account of the last request, and how many it has had in a row. */
  let last = '';
  let inARow = 0;
  const lines = createLines<() => void>();
  const strangers = createLines<() => void>();
  let waiting = 0;

  function serve(): void {
    for (let n = Math.ceil(lines.owners() / ownersPerTurn); n > 0; n--, waiting--) lines.take()?.();
    if (waiting > 0) nextTurn(serve);
  }

  function wait(owner: string, begin: () => void): void {
    lines.add(owner, begin);
    if (waiting++ === 0) nextTurn(serve);
  }

  function waitAsOther(owner: string, begin: () => void): void {
    inARow = 0;
    wait(owner, begin);
  }

  return {
    begins(accountId) {
      inARow = accountId === last ? inARow + 1 : 1;
      last = accountId;
      underWay.set(accountId, (underWay.get(accountId) ?? 0) + 1);
      total++;
    },
    ends(accountId) {
      const left = (underWay.get(accountId) ?? 1) - 1;
      if (left === 0) underWay.delete(accountId);
      else underWay.set(accountId, left);
      total--;
    },
    ofAccount(accountId) {
      const own = underWay.get(accountId) ?? 0;
      const isAlone = inARow >= aloneAfter && accountId === last && own === total && waiting === 0;
      if (isAlone || (own < atOnce && lines.waiting(accountId) === 0)) return null;
      return new Promise((begin) => wait(accountId, begin));
    },
    ofPayer: (accountNumber) => new Promise((begin) => waitAsOther(`payers of ${accountNumber}`, begin)),
    ofStranger: (network) =>
      new Promise((begin) => {
        strangers.add(network, begin);
        waitAsOther('strangers', () => strangers.take()?.());
      }),
  };
}
