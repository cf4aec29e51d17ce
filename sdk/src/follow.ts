import { VintemError } from './error.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { EventType, FollowedEvent, VintemEvent } from './types.ts';

export interface FollowOptions extends Pick<CallOptions, 'signal' | 'operation'> {
  /** Only these types; without it all. */
  types?: readonly EventType[] | undefined;
  /** Called whenever a connection is open, with the cursor that it begins behind. */
  opened?: ((cursor: string) => void) | undefined;
}

const shortestWaitMs = 1_000;
const longestWaitMs = 30_000;
/** The service writes a comment every 15 s: a connection that is silent for three of them is dead. */
const silentMostMs = 45_000;
/** Characters; an event has some thousand. */
const longestMessage = 1_000_000;

export async function* follow(
  transport: Transport,
  cursor: string | undefined,
  { types, signal, operation, opened }: FollowOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const query = types ? { types: types.join(',') } : {};
  let last = cursor;
  let waitMs = shortestWaitMs;
  while (!signal?.aborted) {
    const connection = openUntilSilent(signal);
    let retryAfterMs = 0;
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(last === undefined ? {} : { 'last-event-id': last }),
      };
      const call = { method: 'GET', path: '/events/stream', query, operation } as const;
      const response = await transport.open(call, headers, connection.signal);
      for await (const { id, data } of messagesOf(
        response.body as ReadableStream<Uint8Array>,
        connection.heard,
      )) {
        waitMs = shortestWaitMs;
        if (data === '' && id !== '') opened?.(id);
        if (data !== '') yield { ...(JSON.parse(data) as VintemEvent), cursor: id };
        // Only now: an event whose handling failed comes again.
        if (id !== '') last = id;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof VintemError) {
        const { statusCode } = error;
        if (statusCode >= 300 && statusCode < 500 && statusCode !== 429) throw error;
        retryAfterMs = error.retryAfterMs ?? 0;
      }
    } finally {
      connection.close();
    }
    await transport.pause(Math.max(waitMs, retryAfterMs), signal).catch(() => {});
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

/** A signal that ends with the caller's, or when nothing was heard for too long. */
function openUntilSilent(signal: AbortSignal | undefined) {
  const ending = new AbortController();
  const abort = (): void => ending.abort();
  signal?.addEventListener('abort', abort);
  let timer = setTimeout(abort, silentMostMs);
  return {
    signal: ending.signal,
    heard: (): void => {
      clearTimeout(timer);
      timer = setTimeout(abort, silentMostMs);
    },
    close: (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      abort();
    },
  };
}

/** Server-sent events (WHATWG HTML, 9.2) as the service writes them; a comment or a bare id comes without data. */
async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<{ id: string; data: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unread = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    unread += decoder.decode(value, { stream: true });
    // A proxy may write other line ends. Of a CR at the end it is not known yet whether an LF follows.
    const held = unread.endsWith('\r') ? '\r' : '';
    const blocks = unread
      .slice(0, unread.length - held.length)
      .replace(/\r\n?/g, '\n')
      .split('\n\n');
    unread = (blocks.pop() ?? '') + held;
    if (unread.length > longestMessage) throw new Error('a message without an end');
    // Bytes that never make a message are silence.
    if (blocks.length > 0) heard();
    for (const block of blocks) {
      const lines = block.split('\n');
      const field = (name: string): string =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .replace(/^ /, '') ?? '';
      yield { id: field('id'), data: field('data') };
    }
  }
}
