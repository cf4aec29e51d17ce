import { answerWithinMs, before } from '../../ground/deadline.ts';
import { ApiError, refuse } from '../../ground/errors.ts';
import { gather } from '../../ground/gather.ts';
import { defaultQuotas, type Quotas } from '../../ground/quotas.ts';
import { refreshingCache } from '../../ground/refreshing-cache.ts';
import type { Payment } from '../../money/payment.ts';
import { ratesOf } from '../../operate/accounts/rates.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { givePlace, keepMiss, lookAtPlaces, oldestMiss, type Taken, takePlaces } from './key-places.sql.ts';
import { createPlaceLines, type Looked, type Place } from './place-lines.ts';

/**
 * The look-ups at the central directory that an account may miss in an hour: each miss costs the provider account, which all merchants
 * share, twenty of its thousand tokens. A place is taken in the database before the send, and is free again once what is stored of the
 * payment says that the key exists. So thirty are thirty: over all requests at once, all processes and keys, whether a caller, a person or a worker
 * sends, and also where the miss is reported later. What an unclear answer counts is in `key-places.sql.ts`.
 *
 * A burst to keys that exist is slowed, never refused while it has time: a caller that finds no place free, while one of them may still become
 * free, waits for it until six seconds after its request arrived. That leaves a second for the provider and one for the last read of the eight that
 * a request has; a provider that takes longer is answered 201 `unknown`, as always. With TRANSFER_WAIT_MS=0 the caller waits
 * for its place just so, since a worker sends whatever was recorded. Rejected: recording a payment without a place and
 * having the worker wait for one (its reserve would be held, perhaps for an hour, for a payment that nothing was tried for).
 *
 * A payment to a key that this process has seen exist within ten minutes takes no place, but for a few of an account at once: a
 * merchant that pays many to the same few pays for no statement, and a key that was removed after a success brings no more than these. What many
 * callers ask for at once shares a transaction: with 400 transfers of 20 accounts under way, 0.14 for a transfer instead of one.
 *
 * Rejected: counting the refusals when they are known (120 at once were 120 look-ups), and counting under the till's lock (a statement more in
 * every transfer's transaction).
 */
export interface KeyPlaces {
  /**
   * Sends a payment in a place of its account.
   * @param key whom it goes to; null: not known before it is sent
   * @param arrivedMs when the request came, monotonic; undefined: now
   * @throws ApiError `rate_limited` when there is none left, or none became free in time, and what `send` throws
   */
  send<Sent>(
    payment: { accountId: string; id: string; key: string | null; arrivedMs: number | undefined },
    send: () => Promise<Sent>,
    sent: (answer: Sent) => Payment,
  ): Promise<Sent>;
  /** Looks a key up without a payment. @returns null: there is no place left */
  lookUp<Answer>(
    accountId: string,
    id: string,
    look: () => Promise<Answer>,
    isMiss: (answer: Answer) => boolean,
  ): Promise<Answer | null>;
}

const knownMs = 10 * 60_000;
const knownMost = 50_000;
const refusedMs = 1_000;
/** Of an account, to known keys, at once in this process without a place. */
const freeAtOnce = 10;

/** From the arrival of its request, how long a caller waits for a place. */
const placeWithinMs = answerWithinMs - 2_000;

/** When a caller that waited in vain may come again: nothing shows when the next place becomes free, so it is most of a wait. */
const lateRetrySeconds = 5;

interface Asking {
  accountId: string;
  ids: readonly string[];
}

/** Accounts in one transaction, which holds their rows. */
const accountsMost = 256;

export function createKeyPlaces(deps: {
  sql: Sql;
  clock: Clock;
  /** RATE_LIMITS. */
  enabled: boolean;
  /** The installation's. */
  quotas: Quotas;
}): KeyPlaces {
  const { sql, clock, enabled } = deps;
  const installation = { ...defaultQuotas, ...deps.quotas }['refused-keys'];
  const quotas = refreshingCache<Quotas>({
    clock,
    maxAgeMs: 1000,
    maxEntries: 10_000,
    read: (accountId) => ratesOf({ sql }, accountId),
  });
  /** Until when each account's key is taken for one that exists, monotonic. */
  const known = new Map<string, number>();
  const free = new Map<string, number>();

  async function limitOf(accountId: string): Promise<{ most: number; windowMs: number }> {
    const { burst, perSecond } = (await quotas.get(accountId))?.['refused-keys'] ?? installation;
    return { most: burst, windowMs: Math.round((burst / perSecond) * 1000) };
  }

  /**
   * Accounts of which none got a place, until when the next one is looked at before anything is written. Of a flood to keys that do not exist
   * each refused call was a commit that everybody's payments waited for.
   */
  const refused = new Map<string, number>();

  function noteRefused(answers: ReadonlyMap<string, Taken>): void {
    const nowMs = clock.monotonicMs();
    for (const [accountId, { taken }] of answers) {
      refused.delete(accountId);
      if (taken.length === 0) refused.set(accountId, nowMs + refusedMs);
    }
    for (const [accountId, untilMs] of refused) {
      if (untilMs > nowMs) break;
      refused.delete(accountId);
    }
  }

  /** Of all accounts that ask while others are decided, in one transaction. */
  const take = gather<Asking, Looked>({ clock, most: accountsMost }, async (asks) => {
    const wanted = await Promise.all(
      asks.map(async ({ accountId, ids }) => {
        const { most, windowMs } = await limitOf(accountId);
        return { accountId, most, windowMs, ids: [...new Set(ids)].slice(0, most) };
      }),
    );
    // In the order of the key: two processes that lock the rows of the same accounts wait for each other in one direction alone.
    const inOrder = wanted.toSorted((one, other) => (one.accountId < other.accountId ? -1 : 1));
    const nowMs = clock.now();
    const answers = new Map<string, Taken>();
    const isRefused = (accountId: string) => (refused.get(accountId) ?? 0) > clock.monotonicMs();
    const looked = await Promise.all(
      inOrder.map((of) => (isRefused(of.accountId) ? lookAtPlaces(sql, { ...of, nowMs }) : null)),
    );
    const open = inOrder.filter((_, at) => looked[at] === null);
    for (const [at, { accountId }] of inOrder.entries()) if (looked[at]) answers.set(accountId, looked[at]);
    if (open.length > 0) {
      const taken = await sql.tx((tx) => Promise.all(open.map((of) => takePlaces(tx, { ...of, nowMs }))));
      for (const [at, { accountId }] of open.entries()) answers.set(accountId, taken[at] as Taken);
    }
    noteRefused(answers);
    return wanted.map(({ accountId, ids }) => {
      const answer = answers.get(accountId);
      return {
        asked: new Set(ids),
        taken: new Set(answer?.taken),
        mayFree: answer?.mayFree ?? false,
      };
    });
  });

  const lines = createPlaceLines(clock, (accountId, ids) => take({ accountId, ids }));

  const placeOf = (accountId: string, id: string, arrivedMs: number): Promise<Place> =>
    before(clock, arrivedMs + answerWithinMs, lines.place(accountId, id, arrivedMs + placeWithinMs));

  async function refusal(accountId: string, place: Place): Promise<ApiError> {
    const { windowMs } = await limitOf(accountId);
    const nowMs = clock.now();
    const at = place === 'late' ? null : await oldestMiss(sql, { accountId, nowMs, windowMs });
    const retryAfterSeconds =
      at === null ? lateRetrySeconds : Math.max(1, Math.ceil((at + windowMs - nowMs) / 1000));
    return refuse('rate_limited', { details: [{ policy: 'refused-keys' }], retryAfterSeconds });
  }

  function note(name: string | null, { status, reasonCode }: Payment): void {
    if (name === null) return;
    if (reasonCode === 'pix_key_not_found') known.delete(name);
    if (status !== 'completed') return;
    if (known.size >= knownMost) known.clear();
    known.set(name, clock.monotonicMs() + knownMs);
  }

  /** To a known key, without a place. A miss takes one all the same, and makes the key unknown. */
  async function sendFree<Sent>(
    { accountId, id, name }: { accountId: string; id: string; name: string },
    send: () => Promise<Sent>,
    sent: (answer: Sent) => Payment,
  ): Promise<Sent> {
    free.set(accountId, (free.get(accountId) ?? 0) + 1);
    try {
      const answer = await send();
      const payment = sent(answer);
      note(name, payment);
      if (payment.status === 'unknown' || payment.reasonCode === 'pix_key_not_found') {
        const { windowMs } = await limitOf(accountId);
        await sql.tx((tx) =>
          takePlaces(tx, { accountId, ids: [id], nowMs: clock.now(), windowMs, most: null }),
        );
      }
      return answer;
    } finally {
      const left = (free.get(accountId) ?? 1) - 1;
      if (left === 0) free.delete(accountId);
      else free.set(accountId, left);
    }
  }

  return {
    async send({ accountId, id, key, arrivedMs = clock.monotonicMs() }, send, sent) {
      if (!enabled) return send();
      const name = key === null ? null : `${accountId} ${key}`;
      const isKnown = name !== null && (known.get(name) ?? 0) > clock.monotonicMs();
      if (isKnown && (free.get(accountId) ?? 0) < freeAtOnce)
        return sendFree({ accountId, id, name }, send, sent);
      const place = await placeOf(accountId, id, arrivedMs);
      if (place !== 'taken') throw await refusal(accountId, place);
      try {
        const answer = await send();
        note(name, sent(answer));
        return answer;
      } catch (error) {
        // Refused before anything was sent. After any other error a payment may be stored: its state decides.
        if (error instanceof ApiError && error.status < 500 && error.options.paymentId === undefined)
          await givePlace(sql, accountId, id);
        throw error;
      } finally {
        lines.changed(accountId);
      }
    },
    async lookUp(accountId, id, look, isMiss) {
      if (!enabled) return look();
      if ((await placeOf(accountId, id, clock.monotonicMs())) !== 'taken') return null;
      try {
        const answer = await look();
        if (isMiss(answer)) await keepMiss(sql, accountId, id, clock.now());
        else await givePlace(sql, accountId, id);
        return answer;
      } finally {
        lines.changed(accountId);
      }
    },
  };
}
