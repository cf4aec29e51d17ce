import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { findTestAccount } from '../accounts/directory.ts';
import { type Edge, onDatabase } from '../compose/start.ts';
import { type EventType, eventTypes, isEventType } from '../events/event.ts';
import type { Config } from '../ground/config.ts';
import type { Log } from '../ground/log.ts';
import { permissions } from '../ground/permissions.ts';
import { eraseKey } from '../keys/keys.sql.ts';
import { createKey } from '../keys/keys.ts';
import { canTrigger, type Triggered } from '../webhooks/trigger.ts';
import { type Command, type CommandInput, UsageFault } from './command.ts';

const apiUrlOf = (config: Config, given: string | boolean | undefined): string =>
  `${(typeof given === 'string' ? given : config.publicUrl).replace(/\/{1,9}$/, '')}/api/v1/public`;

const triggered = (Object.keys(eventTypes) as EventType[]).filter(canTrigger);

const keyOptions = { key: { type: 'string' }, 'key-file': { type: 'string' } } as const;

/**
 * The key from a file, or from standard input for `-`. Every user of the machine reads the arguments of every process, and shells
 * keep them, so `--key` is taken with a warning.
 */
async function keyOf(values: CommandInput['values'], log: Log): Promise<string | null> {
  const { key, 'key-file': file } = values;
  if (typeof file === 'string') {
    const held = file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8');
    return held.trim();
  }
  if (typeof key !== 'string') return null;
  log.warn('--key shows the key to every user of this machine: use --key-file');
  return key;
}

/** For developers: an account's events on their own machine. */
export const webhookCommands: Command[] = [
  {
    name: 'listen',
    usage: '--key-file FILE|- [--forward-to URL] [--events TYPE,…] [--url SERVICE]',
    about: 'follows the events of an account and forwards them, signed, to a server on this machine',
    options: {
      ...keyOptions,
      'forward-to': { type: 'string' },
      events: { type: 'string' },
      url: { type: 'string' },
    },
    lasts: true,
    run: async ({ config, clock, ids, log, say }, { values }, ending) => {
      const key = await keyOf(values, log);
      if (key === null) throw new UsageFault('--key-file is missing');
      const types = typeof values.events === 'string' ? values.events.split(',') : null;
      const unknown = types?.find((type) => !isEventType(type));
      if (unknown !== undefined) throw new UsageFault(`--events takes ${Object.keys(eventTypes).join(', ')}`);
      const forwardTo = typeof values['forward-to'] === 'string' ? urlOf(values['forward-to']) : null;
      const { createUndiciNet, listen } = await parts();
      const net = createUndiciNet();
      const options = { apiUrl: apiUrlOf(config, values.url), key, forwardTo, types };
      await listen({ net, clock, ids, say }, options, ending);
      await net.close();
      return undefined;
    },
  },
  {
    name: 'trigger',
    usage: 'TYPE [--key-file FILE|-] [--url SERVICE]',
    about: `makes an event happen on a test account: ${triggered.join(', ')}`,
    options: { ...keyOptions, url: { type: 'string' } },
    operands: ['TYPE'],
    run: async (edge, { values, operands: [type = ''] }) => {
      if (!isTriggered(type)) throw new UsageFault(`TYPE is one of ${triggered.join(', ')}`);
      const apiUrl = apiUrlOf(edge.config, values.url);
      const key = await keyOf(values, edge.log);
      const done =
        key !== null
          ? await triggerWith(edge, apiUrl, key, type)
          : await withKey(edge, (key) => triggerWith(edge, apiUrl, key, type));
      const text = Object.entries(done).map(([name, value]) => `${name} ${value}`);
      return { json: { type, ...done }, text: [type, ...text].join('\n') };
    },
  },
];

/** Read when it is wanted: the other commands start without it. */
async function parts() {
  const [net, listening, triggering] = await Promise.all([
    import('../ports/undici-net.ts'),
    import('../webhooks/listen.ts'),
    import('../webhooks/trigger.ts'),
  ]);
  return { ...net, ...listening, ...triggering };
}

const isTriggered = (type: string): type is Triggered => (triggered as string[]).includes(type);

async function triggerWith(
  { config, clock, ids }: Edge,
  apiUrl: string,
  key: string,
  type: Triggered,
): Promise<Record<string, string | number>> {
  const { createUndiciNet, trigger } = await parts();
  const net = createUndiciNet();
  try {
    return await trigger({ net, clock, ids }, { apiUrl, simulatorUrl: config.simulatorUrl, key }, type);
  } finally {
    await net.close();
  }
}

/** With a key of the oldest test account, which lives as long as the call takes. */
function withKey<Done>(edge: Edge, work: (key: string) => Promise<Done>): Promise<Done> {
  return onDatabase(edge, 'trigger', async (context) => {
    const account = await findTestAccount(context.sql);
    if (!account) throw new Error('there is no test account');
    const name = `trigger ${edge.ids.uuid()}`;
    const cell = await context.cells.ofAccount(account.ownerId);
    const { id, key } = await createKey(cell ? { ...context, sql: cell.sql } : context, {
      accountId: account.ownerId,
      name,
      permissions,
    });
    try {
      return await work(key);
    } finally {
      await eraseKey(context.sql, id);
    }
  });
}

/** `localhost:3000/hook` is what people write. */
function urlOf(text: string): string {
  const url = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) throw new UsageFault('--forward-to takes a URL');
  return url;
}
