import { ApiError, refuse } from '../../ground/errors.ts';
import { gather } from '../../ground/gather.ts';
import { defaultQuotas, type Quotas } from '../../ground/quotas.ts';
import { refreshingCache } from '../../ground/refreshing-cache.ts';
import type { Payment } from '../../money/payment.ts';
import { ratesOf } from '../../operate/accounts/rates.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { givePlace, keepMiss, oldestPlace, takePlaces } from './key-places.sql.ts';

/**
 * The look-ups at the central directory that an account may miss in an hour: each miss costs the provider account, which all merchants
 * share, twenty of its thousand tokens. A place is taken in the database before the send, and is free again once what is stored of the
 * payment says that the key exists. So thirty are thirty: over all requests at once, all processes and keys, whether a caller, a person or a worker
 * sends, and also where the miss is reported later.
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
   * @throws ApiError `rate_limited` when there is none left, and what `send` throws
   */
  send<Sent>(
    payment: { accountId: string; id: string; key: string | null },
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
/** Of an account, to known keys, at once in this process without a place. */
const freeAtOnce = 10;

interface Asking {
  accountId: string;
  id: string;
}

/** In one transaction, which holds the rows of their accounts. */
const asksMost = 256;

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

  /** Of all that ask while others are decided, in one transaction. */
  const take = gather<Asking, boolean>({ clock, most: asksMost }, async (asks) => {
    const ofAccounts = [...Map.groupBy(asks, ({ accountId }) => accountId)];
    const wanted = await Promise.all(
      ofAccounts.map(async ([accountId, of]) => ({
        ...(await limitOf(accountId)),
        accountId,
        ids: [...new Set(of.map(({ id }) => id))],
      })),
    );
    // In the order of the key: two processes that lock the rows of the same accounts wait for each other in one direction alone.
    wanted.sort((one, other) => (one.accountId < other.accountId ? -1 : 1));
    const nowMs = clock.now();
    const taken = await sql.tx((tx) => Promise.all(wanted.map((of) => takePlaces(tx, { ...of, nowMs }))));
    const have = new Map(wanted.map(({ accountId }, at) => [accountId, new Set(taken[at])]));
    return asks.map(({ accountId, id }) => have.get(accountId)?.has(id) ?? false);
  });

  async function refusal(accountId: string): Promise<ApiError> {
    const { windowMs } = await limitOf(accountId);
    const at = await oldestPlace(sql, accountId);
    const waitMs = at === null ? 0 : at + windowMs - clock.now();
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
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
        await takePlaces(sql, { accountId, ids: [id], nowMs: clock.now(), windowMs, most: null });
      }
      return answer;
    } finally {
      const left = (free.get(accountId) ?? 1) - 1;
      if (left === 0) free.delete(accountId);
      else free.set(accountId, left);
    }
  }

  return {
    async send({ accountId, id, key }, send, sent) {
      if (!enabled) return send();
      const name = key === null ? null : `${accountId} ${key}`;
      const isKnown = name !== null && (known.get(name) ?? 0) > clock.monotonicMs();
      if (isKnown && (free.get(accountId) ?? 0) < freeAtOnce)
        return sendFree({ accountId, id, name }, send, sent);
      if (!(await take({ accountId, id }))) throw await refusal(accountId);
      try {
        const answer = await send();
        note(name, sent(answer));
        return answer;
      } catch (error) {
        // Refused before anything was sent. After any other error a payment may be stored: its state decides.
        if (error instanceof ApiError && error.status < 500 && error.options.paymentId === undefined)
          await givePlace(sql, accountId, id);
        throw error;
      }
    },
    async lookUp(accountId, id, look, isMiss) {
      if (!enabled) return look();
      if (!(await take({ accountId, id }))) return null;
      const answer = await look();
      if (isMiss(answer)) await keepMiss(sql, accountId, id, clock.now());
      else await givePlace(sql, accountId, id);
      return answer;
    },
  };
}
