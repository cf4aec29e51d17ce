import type { Clock } from '../ports/clock.ts';
import { readEvents, StreamRefused } from '../ports/event-source.ts';
import type { Ids } from '../ports/ids.ts';
import type { Net } from '../ports/net.ts';
import { keyOfSecret, makeSecret, signatureHeaders } from './sign.ts';

/**
 * `vintem listen`: an account's events, followed from a developer's machine and forwarded to a server there, signed with a secret
 * of this run. It needs no public address, and loses nothing while the connection is away: it comes back behind the last
 * event that it saw.
 */
export interface Listening {
  net: Net;
  clock: Clock;
  ids: Ids;
  /** One line for the person who watches. */
  say(line: string): void;
}

export interface ListenOptions {
  /** `…/api/v1/public` */
  apiUrl: string;
  /** With the permission `webhooks` or `read`. */
  key: string;
  /** Null: events are only shown. */
  forwardTo: string | null;
  /** Null: every type. */
  types: readonly string[] | null;
}

const forwardMs = 15_000;
const reconnectMs = 1_000;
const reconnectMostMs = 10_000;

/** Runs until `ending`. @throws Error when the key is refused */
export async function listen(
  { net, clock, ids, say }: Listening,
  { apiUrl, key, forwardTo, types }: ListenOptions,
  ending: AbortSignal,
): Promise<void> {
  const secret = makeSecret(ids);
  if (forwardTo !== null) say(`signing secret of this run: ${secret}`);
  const query = types === null ? '' : `?types=${types.join(',')}`;
  let lastId: string | null = null;
  let waitMs = reconnectMs;
  while (!ending.aborted) {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (lastId !== null) headers['last-event-id'] = lastId;
    const opened = () => {
      say(`listening to ${apiUrl}/events/stream${forwardTo === null ? '' : `, forwarding to ${forwardTo}`}`);
      waitMs = reconnectMs;
    };
    try {
      for await (const { id, type, data } of readEvents(
        `${apiUrl}/events/stream${query}`,
        headers,
        ending,
        opened,
      )) {
        if (data !== '') await show(type, data);
        if (id !== '') lastId = id;
      }
    } catch (error) {
      if (ending.aborted) return;
      if (error instanceof StreamRefused && error.status < 500 && error.status !== 429) {
        throw new Error(`the service refused: ${messageOf(error.text)}`);
      }
    }
    if (ending.aborted) return;
    say(`the connection is away; trying again in ${waitMs / 1000} s`);
    await clock.sleep(waitMs, ending);
    waitMs = Math.min(waitMs * 2, reconnectMostMs);
  }

  async function show(type: string, body: string): Promise<void> {
    const { id } = JSON.parse(body) as { id: string };
    if (forwardTo === null) return say(`${type} ${body}`);
    const began = clock.monotonicMs();
    const atSeconds = Math.floor(clock.now() / 1000);
    const outcome = await net
      .request({
        method: 'POST',
        url: forwardTo,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'vintem-Webhooks/1',
          ...signatureHeaders([keyOfSecret(secret)], id, atSeconds, body),
          'x-webhook-attempt': '1',
        },
        body,
        timeoutMs: forwardMs,
      })
      .then(
        ({ status }) => String(status),
        (error: Error) => error.message,
      );
    say(`${type} ${id} → ${outcome} (${Math.round(clock.monotonicMs() - began)} ms)`);
  }
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message: unknown }).message);
  } catch {
    return text.slice(0, 200);
  }
}
