import type { FastifyReply, FastifyRequest } from 'fastify';
import { eventStreamHeaders } from '../../edge/event-stream.ts';
import type { StreamDeps } from '../../events/stream.ts';
import { findEventsBetween, type ToldEvent } from '../views/records.sql.ts';

/**
 * Updates for open pages of the panel, as server-sent events: which payment entered which state. They carry no data: the page
 * then loads what it shows.
 *
 * An event's id is made before its commit, so ids are no cursor: each read covers the last ten seconds and sends what was
 * not sent yet. One loop per account for all its pages, and none without an open page.
 */
const lookEveryMs = 500;
const overlapMs = 10_000;
const eventsPerLook = 2_000;
const heartbeatMs = 15_000;
const listenersPerAccount = 100;
/** A browser that leaves more than this unread is dropped: an update is some 150 bytes. */
const unreadMost = 64 * 1024;

type Listener = (event: ToldEvent) => void;

export interface Updates {
  /** Answers with a stream that lasts until the browser leaves or reads too slowly, the session ends or the service drains. */
  stream(request: FastifyRequest, reply: FastifyReply): void;
}

export function createUpdates({ sql, clock, log, draining }: StreamDeps): Updates {
  const accounts = new Map<string, Set<Listener>>();

  async function watch(accountId: string, listeners: Set<Listener>): Promise<void> {
    const told = new Map<string, number>();
    let sinceMs = clock.now();
    while (listeners.size > 0 && !draining.aborted) {
      await clock.sleep(lookEveryMs, draining);
      const now = clock.now();
      try {
        const found = await findEventsBetween(
          sql,
          accountId,
          sinceMs - overlapMs,
          now + overlapMs,
          eventsPerLook,
        );
        for (const event of found) {
          if (told.has(event.id)) continue;
          told.set(event.id, now);
          // The first look also reads what was there before anybody listened.
          if (event.createdAt < sinceMs - overlapMs) continue;
          for (const listener of listeners) listener(event);
        }
        sinceMs = now;
        for (const [id, at] of told) if (now - at > 3 * overlapMs) told.delete(id);
      } catch (error) {
        log.warn({ err: error }, 'news for the panel could not be read');
        await clock.sleep(5_000, draining);
      }
    }
    accounts.delete(accountId);
  }

  function listen(accountId: string, listener: Listener): () => void {
    let listeners = accounts.get(accountId);
    if (listeners === undefined) {
      listeners = new Set();
      accounts.set(accountId, listeners);
      listeners.add(listener);
      void watch(accountId, listeners);
    } else listeners.add(listener);
    const joined = listeners;
    return () => joined.delete(listener);
  }

  return {
    stream: (request, reply) => {
      const { accountId } = request.member;
      if ((accounts.get(accountId)?.size ?? 0) >= listenersPerAccount) {
        void reply.code(204).send();
        return;
      }
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream',
        ...eventStreamHeaders,
        'cache-control': 'no-store',
      });
      raw.write('retry: 2000\n\n');
      const left = new AbortController();
      const stop = listen(accountId, ({ id, type, paymentId, operationId }) => {
        raw.write(`id: ${id}\ndata: ${JSON.stringify({ type, paymentId, operationId })}\n\n`);
        if (raw.writableLength > unreadMost) cut();
      });
      const end = (): void => {
        stop();
        unwatch();
        left.abort();
        raw.end();
      };
      const cut = (): void => {
        end();
        raw.destroy();
      };
      const unwatch = request.caller.watch?.(cut) ?? (() => {});
      raw.once('close', end);
      draining.addEventListener('abort', end, { once: true, signal: left.signal });
      void (async () => {
        while (!left.signal.aborted) {
          await clock.sleep(heartbeatMs, left.signal);
          if (left.signal.aborted) return;
          raw.write(': \n\n');
        }
      })();
    },
  };
}
