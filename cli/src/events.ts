import { setTimeout } from 'node:timers/promises';
import type { EventType, FollowedEvent, VintemEvent } from '@vintem/sdk';
import { makeSecret, signedWebhook } from '@vintem/sdk/testing';
import { type Command, type Context, text, UsageFault } from './command.ts';
import { keptSecret } from './login.ts';

const forwardMs = 15_000;
const deliveriesEveryMs = 2_000;

/** An event in one line. */
const described = ({ timestamp, type, data }: VintemEvent): string =>
  `${timestamp}  ${type.padEnd(19)}  ${'id' in data ? data.id : data.operationId}`;

/** Sends an event on as the service would, signed with the secret of this machine. */
async function forward(event: VintemEvent, url: string, secret: string): Promise<string> {
  const { body, headers } = signedWebhook(event, secret);
  const began = performance.now();
  const outcome = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'x-webhook-attempt': '1' },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(forwardMs),
  }).then(
    ({ status }) => String(status),
    (error: Error) => String((error.cause as Error | undefined)?.message ?? error.message),
  );
  return `${outcome} (${Math.round(performance.now() - began)} ms)`;
}

/** `localhost:4000/hook` is what people write. */
function addressOf(given: string): string {
  const url = /^https?:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(url)) throw new UsageFault('--forward-to takes an address');
  return url;
}

async function listen({ vintem, values, out, ending, login, configFile }: Context): Promise<undefined> {
  const to = text(values, 'forward-to');
  const url = to === undefined ? undefined : addressOf(to);
  const secret = url === undefined ? '' : await keptSecret(configFile, login.url, makeSecret);
  if (url !== undefined) out.note(`signing secret: ${secret}`);
  const events = vintem.events.follow(text(values, 'from'), {
    types: text(values, 'events')?.split(',') as EventType[] | undefined,
    signal: ending,
    opened: (cursor) =>
      out.note(
        `listening for events after number ${cursor}${url === undefined ? '' : `, forwarding to ${url}`}; Ctrl-C ends it`,
      ),
  });
  for await (const followed of events) {
    const { cursor, ...event } = followed as FollowedEvent & VintemEvent;
    const outcome = url === undefined ? undefined : await forward(event as VintemEvent, url, secret);
    out.line(
      { ...event, cursor, ...(outcome === undefined ? {} : { forwarded: outcome }) },
      `${described(event as VintemEvent)}${outcome === undefined ? '' : ` → ${outcome}`}`,
    );
  }
  return undefined;
}

/** The attempts at every endpoint that were not shown yet; at the first look only those of this run count. */
async function showAttempts(
  { vintem, out, ending }: Context,
  since: string,
  shown: Set<string>,
): Promise<void> {
  const { webhooks } = await vintem.webhooks.list({ signal: ending });
  for (const { id, url } of webhooks) {
    const { value: page } = await vintem.webhooks.deliveries(id, {}, { signal: ending }).pages().next();
    for (const { id: deliveryId, type, eventId, attempts } of (page?.items ?? []).reverse())
      for (const attempt of attempts) {
        const key = `${deliveryId} ${attempt.n}`;
        if (attempt.at < since || shown.has(key)) continue;
        shown.add(key);
        const outcome = attempt.statusCode ?? attempt.error;
        out.line(
          { kind: 'delivery', deliveryId, eventId, type, url, ...attempt },
          `${attempt.at}  ${type.padEnd(19)}  → ${url} ${outcome} (attempt ${attempt.n}, ${attempt.durationMs} ms)`,
        );
      }
  }
}

async function tail(context: Context): Promise<undefined> {
  const { vintem, out, ending, values } = context;
  const since = new Date().toISOString();
  const shown = new Set<string>();
  const watching = (async () => {
    while (!ending.aborted) {
      await showAttempts(context, since, shown);
      await setTimeout(deliveriesEveryMs, undefined, { signal: ending }).catch(() => {});
    }
  })();
  const following = (async () => {
    const types = text(values, 'events')?.split(',') as EventType[] | undefined;
    const opened = (): void => out.note('following events and deliveries; Ctrl-C ends it');
    for await (const event of vintem.events.follow(undefined, { types, signal: ending, opened }))
      out.line({ kind: 'event', ...event }, described(event));
  })();
  await Promise.all([watching, following]);
  return undefined;
}

export const eventCommands: Command[] = [
  {
    name: 'listen',
    usage: '[--forward-to URL] [--events TYPE,…] [--from CURSOR]',
    about:
      'follows the events of the account, and forwards them, signed, to a server on this machine; Ctrl-C ends it',
    options: { 'forward-to': { type: 'string' }, events: { type: 'string' }, from: { type: 'string' } },
    run: listen,
  },
  {
    name: 'logs tail',
    usage: '[--events TYPE,…]',
    about:
      'events and the attempts to deliver them, as they happen; needs a key with the permission webhooks',
    options: { events: { type: 'string' } },
    run: tail,
  },
];
