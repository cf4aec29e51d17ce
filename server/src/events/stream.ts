import type { ServerResponse } from 'node:http';
import type { KeyHolder } from '../ground/caller.ts';
import { refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import { rests } from '../ground/resting-keys.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import { findBehind, findKeysInForce, findStanding, findStart } from './log.sql.ts';

/**
 * Events as they are published, over server-sent events. The id of each is its place in the account's log, without gaps: a client that
 * reconnects with `Last-Event-ID` continues after it and misses nothing.
 *
 * All streams of a process share one read of the log, four times a second, so many listeners cost the database no more than one.
 * A stream outlives the request that was checked. So it ends when its key or its session is no longer valid, when its account is disabled, enabled
 * or moved, when the client reads too slowly, and when the process drains; the client then reconnects by itself, and the door decides anew.
 */
export interface Streams {
  /** @throws ApiError `too_many_concurrent_requests`, `invalid_cursor` */
  open(
    holder: KeyHolder,
    wanted: { lastEventId: string | undefined; types: readonly string[] | null },
  ): Promise<Opened>;
}

/** Allowed to begin: `attach` writes to the response until either side ends it. */
export interface Opened {
  attach(response: ServerResponse): void;
}

const streamsPerAccount = 5;
/** Of one person in the panel: a viewer does not take the owner's. */
const streamsPerPerson = 2;
const lookEveryMs = 250;
const heartbeatMs = 15_000;
const checkEveryMs = 1_000;
const eventsPerLook = 100;
/** A client that leaves more than this unread is let go. */
const unreadMost = 1024 * 1024;

interface Stream {
  accountId: string;
  /** Null: a session of the panel. */
  keyId: string | null;
  /** The person in the panel; null: a key. */
  userId: string | null;
  /** How its account stood as it began. */
  standing: string;
  after: number;
  types: readonly string[] | null;
  response: ServerResponse | null;
  ended: boolean;
  /** Ends the watch over the session behind it. */
  unwatch: () => void;
}

export interface StreamDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  /** Aborted when the process drains. */
  draining: AbortSignal;
}

export function createStreams({ sql, clock, log, draining }: StreamDeps): Streams {
  const streams = new Set<Stream>();
  let following = false;

  function end(stream: Stream): void {
    if (stream.ended) return;
    stream.ended = true;
    streams.delete(stream);
    stream.unwatch();
    stream.response?.end();
  }

  /** At once, with what was not read yet: the client reads too slowly, or may see nothing more. */
  function cut(stream: Stream): void {
    end(stream);
    stream.response?.destroy();
  }

  /** Checks again, once a second for all streams together, the rights that the call began with. */
  async function endWhatMayNotListen(): Promise<void> {
    const now = clock.now();
    const all = [...streams].filter(({ response }) => response !== null);
    const keyIds = [...new Set(all.flatMap(({ keyId }) => keyId ?? []))];
    const [keys, standing] = await Promise.all([
      findKeysInForce(sql, keyIds, now),
      findStanding(sql, [...new Set(all.map(({ accountId }) => accountId))]),
    ]);
    const inForce = new Set(keys.filter((key) => !rests(key, now)).map(({ id }) => id));
    for (const stream of all) {
      const mayListen = stream.keyId === null || inForce.has(stream.keyId);
      if (!mayListen || standing.get(stream.accountId) !== stream.standing) end(stream);
    }
  }

  /** Runs while a client listens. */
  async function follow(): Promise<void> {
    following = true;
    let heartbeatAt = clock.monotonicMs();
    let checkedAt = clock.monotonicMs();
    while (streams.size > 0 && !draining.aborted) {
      let more = false;
      try {
        if (clock.monotonicMs() - checkedAt >= checkEveryMs) {
          checkedAt = clock.monotonicMs();
          await endWhatMayNotListen();
        }
        more = await look();
      } catch (error) {
        log.warn({ err: error, streams: streams.size }, 'the event log cannot be followed right now');
      }
      if (clock.monotonicMs() - heartbeatAt >= heartbeatMs) {
        heartbeatAt = clock.monotonicMs();
        for (const stream of streams) stream.response?.write(': \n\n');
      }
      if (!more) await clock.sleep(lookEveryMs, draining);
    }
    for (const stream of [...streams]) end(stream);
    following = false;
  }

  async function look(): Promise<boolean> {
    const all = [...streams].filter(({ response }) => response !== null);
    const places = all.map(({ accountId, after }, stream) => ({ stream, accountId, after }));
    if (places.length === 0) return false;
    const found = await findBehind(sql, places, eventsPerLook);
    for (const { stream: at, seq, type, body } of found) {
      const stream = all[at];
      if (!stream || stream.ended) continue;
      stream.after = seq;
      if (stream.types !== null && !stream.types.includes(type)) continue;
      stream.response?.write(`id: ${seq}\nevent: ${type}\ndata: ${body}\n\n`);
    }
    for (const stream of all) {
      if ((stream.response?.writableLength ?? 0) > unreadMost) cut(stream);
    }
    return found.length >= eventsPerLook;
  }

  return {
    async open(holder, { lastEventId, types }) {
      if (lastEventId !== undefined && !/^\d{1,15}$/.test(lastEventId)) throw refuse('invalid_cursor');
      const { accountId, keyId, userId = null } = holder;
      const own = [...streams].filter((stream) => stream.accountId === accountId);
      const ofPerson = userId === null ? [] : own.filter((stream) => stream.userId === userId);
      if (own.length >= streamsPerAccount || ofPerson.length >= streamsPerPerson)
        throw refuse('too_many_concurrent_requests', { retryAfterSeconds: 5 });
      const stream: Stream = {
        accountId,
        keyId,
        userId,
        standing: '',
        after: 0,
        types,
        response: null,
        ended: false,
        unwatch: () => {},
      };
      // Counted from here on: the look at the log takes a moment.
      streams.add(stream);
      try {
        const { lastSeq, standing } = await findStart(sql, accountId);
        stream.standing = standing;
        // A place that does not exist yet is one from before a restore: waiting for it would miss what comes until then.
        stream.after = lastEventId === undefined ? lastSeq : Math.min(Number(lastEventId), lastSeq);
      } catch (error) {
        streams.delete(stream);
        throw error;
      }
      return {
        attach: (response) => {
          response.on('close', () => end(stream));
          response.on('error', () => end(stream));
          // The first bytes show the client that it is connected, and from which id it would continue.
          response.write(`retry: 2000\nid: ${stream.after}\n: listening\n\n`);
          stream.response = response;
          stream.unwatch = holder.watch?.(() => cut(stream)) ?? stream.unwatch;
          if (!following) void follow();
        },
      };
    },
  };
}
