import { fetch } from 'undici';

/** One event of a stream of server-sent events (WHATWG HTML, 9.2). */
export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

/** The server answered, and not with a stream. */
export class StreamRefused extends Error {
  override name = 'StreamRefused';
  readonly status: number;
  readonly text: string;
  constructor(status: number, text: string) {
    super(`answered ${status}`);
    this.status = status;
    this.text = text;
  }
}

/**
 * Reads a stream until it ends or breaks; the caller reconnects with the last id that it received.
 * @param onOpen receives the id after which the stream begins
 * @throws StreamRefused, and every error of the connection
 */
export async function* readEvents(
  url: string,
  headers: Record<string, string>,
  ending: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<ServerEvent> {
  const response = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal: ending });
  if (response.status !== 200 || !response.body)
    throw new StreamRefused(response.status, await response.text());
  onOpen();
  const decoder = new TextDecoder();
  let unread = '';
  for await (const chunk of response.body) {
    unread += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = unread.split('\n\n');
    unread = blocks.pop() ?? '';
    for (const block of blocks) yield eventOf(block);
  }
}

/** A comment or a bare id becomes an event without data. */
function eventOf(block: string): ServerEvent {
  const event: ServerEvent = { id: '', type: '', data: '' };
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (name === 'id') event.id = value;
    else if (name === 'event') event.type = value;
    else if (name === 'data') event.data += value;
  }
  return event;
}
