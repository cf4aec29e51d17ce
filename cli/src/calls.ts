import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, type Context, integer, oneOf, required, text } from './command.ts';
import { fields, reais, table } from './output.ts';

/**
 * Commands that make one call of the SDK and show its answer. What people do with charges, transfers, links and codes has commands of its
 * own beside them.
 */
interface Call {
  name: string;
  usage?: string;
  about: string;
  operands?: string[];
  options?: Command['options'];
  /** Makes the call; a list comes page by page. */
  ask(context: Context): Promise<unknown> | AsyncIterable<unknown>;
  /** Members that a list shows; `--json` has all. The name is that of the list in the API. */
  list?: { name: string; columns: readonly string[] };
}

const word = { type: 'string' } as const;
const keyed = { 'request-key': word };
const period = { from: word, to: word };
const wholeList = { limit: word };

/** The members that were given, under the API's names. */
const given = (values: Context['values'], names: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([option, member]) => {
      const value = text(values, option);
      return value === undefined ? [] : [[member, value]];
    }),
  );
const whole = (values: Context['values'], option: string, member: string): Record<string, number> =>
  values[option] === undefined ? {} : { [member]: integer(values, option) };
const many = (values: Context['values'], option: string, member: string): Record<string, never[]> => {
  const words = text(values, option)?.split(',');
  // The service refuses what is in no list of its own, and says which words it knows.
  return words === undefined ? {} : { [member]: words as never[] };
};
const keyOf = (values: Context['values']) => ({ requestKey: text(values, 'request-key') });
const spanOf = (values: Context['values']) => ({ from: text(values, 'from'), to: text(values, 'to') });
const id = ({ operands: [first = ''] }: Context): string => first;
const second = ({ operands: [, other = ''] }: Context): string => other;
/** Ctrl-C ends the call. */
const until = ({ ending }: Context): { signal: AbortSignal } => ({ signal: ending });

const calls: Call[] = [
  {
    name: 'account show',
    about: 'balance, fees and limits of the account',
    ask: (context) => context.vintem.account.get(until(context)),
  },
  {
    name: 'statement',
    usage: '[--from DAY] [--to DAY] [--limit N]',
    about: 'lines of the statement, newest first; days are those of São Paulo',
    options: { ...period, ...wholeList },
    ask: (context) => context.vintem.account.statement(spanOf(context.values), until(context)),
    list: { name: 'lines', columns: ['at', 'kind', 'amountCents', 'balanceCents', 'payerName', 'paymentId'] },
  },
  {
    name: 'statement save',
    usage: 'FILE [--from DAY] [--to DAY] [--separator comma|semicolon]',
    about: 'the statement as a file; its ending says the format: .csv, .ofx or .pdf',
    operands: ['FILE'],
    options: { ...period, separator: word },
    ask: saveStatement,
  },
  {
    name: 'operations list',
    about: 'the business operations with their balances',
    ask: async (context) => (await context.vintem.operations.list(until(context))).operations,
    list: { name: 'operations', columns: ['id', 'name', 'balanceCents', 'isDefault', 'createdAt'] },
  },
  {
    name: 'operations create',
    usage: '--name N [--request-key UUID]',
    about: 'another business operation, with a balance of its own',
    options: { ...keyed, name: word },
    ask: (context) =>
      context.vintem.operations.create(
        { name: required(context.values, 'name'), ...keyOf(context.values) },
        until(context),
      ),
  },
  {
    name: 'operations rename',
    usage: 'ID --name N',
    about: 'gives a business operation another name',
    operands: ['ID'],
    options: { name: word },
    ask: (context) =>
      context.vintem.operations.update(
        id(context),
        { name: required(context.values, 'name') },
        until(context),
      ),
  },
  {
    name: 'operations delete',
    about: 'removes a business operation without a balance',
    operands: ['ID'],
    ask: (context) => context.vintem.operations.delete(id(context), until(context)),
  },
  {
    name: 'transfers confirm',
    usage: 'ID --code CODE',
    about: 'confirms a transfer that waits for the code from the mail',
    operands: ['ID'],
    options: { code: word },
    ask: (context) =>
      context.vintem.transfers.confirm(
        id(context),
        { code: required(context.values, 'code') },
        until(context),
      ),
  },
  {
    name: 'transfers cancel',
    about: 'takes back a transfer that waits for its code',
    operands: ['ID'],
    ask: (context) => context.vintem.transfers.cancel(id(context), until(context)),
  },
  {
    name: 'refunds create',
    usage: 'PAYMENT_ID [--amount-cents N] [--description D] [--request-key UUID]',
    about: 'returns a paid charge to its payer; without an amount, all that is left of it',
    operands: ['PAYMENT_ID'],
    options: { ...keyed, 'amount-cents': word, description: word },
    ask: (context) =>
      context.vintem.refunds.create(
        id(context),
        {
          ...whole(context.values, 'amount-cents', 'amountCents'),
          ...given(context.values, { description: 'description' }),
          ...keyOf(context.values),
        },
        until(context),
      ),
  },
  {
    name: 'refunds list',
    usage: 'PAYMENT_ID [--limit N]',
    about: 'the refunds of a payment, newest first',
    operands: ['PAYMENT_ID'],
    options: wholeList,
    ask: (context) => context.vintem.refunds.list(id(context), {}, until(context)),
    list: { name: 'refunds', columns: ['id', 'status', 'amountCents', 'createdAt', 'reasonCode'] },
  },
  {
    name: 'refunds show',
    about: 'one refund as it is now',
    operands: ['ID'],
    ask: (context) => context.vintem.refunds.get(id(context), until(context)),
  },
  {
    name: 'disputes list',
    usage: '[--status S,…] [--limit N]',
    about: 'disputes of received payments, newest first',
    options: { ...wholeList, status: word },
    ask: (context) => context.vintem.disputes.list(many(context.values, 'status', 'status'), until(context)),
    list: {
      name: 'disputes',
      columns: ['id', 'status', 'amountCents', 'heldCents', 'deadlineAt', 'paymentId'],
    },
  },
  {
    name: 'disputes show',
    about: 'one dispute as it is now',
    operands: ['ID'],
    ask: (context) => context.vintem.disputes.get(id(context), until(context)),
  },
  {
    name: 'disputes defence',
    about: 'the defence of a dispute, its files, and what a defence may contain',
    operands: ['ID'],
    ask: (context) => context.vintem.disputes.defence(id(context), until(context)),
  },
  {
    name: 'disputes add-file',
    usage: 'ID FILE',
    about: 'keeps a PDF, JPEG or PNG file for the defence of a dispute',
    operands: ['ID', 'FILE'],
    ask: addFile,
  },
  {
    name: 'disputes remove-file',
    usage: 'ID FILE_ID',
    about: 'removes a file that was kept for a defence',
    operands: ['ID', 'FILE_ID'],
    ask: async (context) => {
      await context.vintem.disputes.removeFile(id(context), second(context), until(context));
      return { ok: true };
    },
  },
  {
    name: 'disputes defend',
    usage: 'ID [--text T] [--files FILE_ID,…]',
    about: 'sends the defence of a dispute; a provider takes one',
    operands: ['ID'],
    options: { text: word, files: word },
    ask: (context) =>
      context.vintem.disputes.defend(
        id(context),
        { ...given(context.values, { text: 'text' }), ...many(context.values, 'files', 'fileIds') },
        until(context),
      ),
  },
  {
    name: 'link payments',
    usage: 'ID [--limit N]',
    about: 'the charges of a payment link, newest first',
    operands: ['ID'],
    options: wholeList,
    ask: (context) => context.vintem.paymentLinks.payments(id(context), {}, until(context)),
    list: { name: 'payments', columns: ['id', 'status', 'amountCents', 'createdAt'] },
  },
  {
    name: 'static-code payments',
    usage: 'ID [--limit N]',
    about: 'the charges of a static code, newest first',
    operands: ['ID'],
    options: wholeList,
    ask: (context) => context.vintem.staticCodes.payments(id(context), {}, until(context)),
    list: { name: 'payments', columns: ['id', 'status', 'amountCents', 'createdAt'] },
  },
  {
    name: 'static-code poster',
    usage: 'ID FILE [--size a4|a6|80mm]',
    about: 'a page with the static code to print, saved as a PDF; a6 unless you say so',
    operands: ['ID', 'FILE'],
    options: { size: word },
    ask: savePoster,
  },
  {
    name: 'webhooks list',
    about: 'the endpoints of the account',
    ask: async (context) => (await context.vintem.webhooks.list(until(context))).webhooks,
    list: { name: 'webhooks', columns: ['id', 'status', 'url', 'events'] },
  },
  {
    name: 'webhooks create',
    usage: '--url URL --events TYPE,… [--description D] [--request-key UUID]',
    about: 'an endpoint for events; its secret is shown once, here',
    options: { ...keyed, url: word, events: word, description: word },
    ask: (context) => {
      const { values } = context;
      const endpoint = {
        url: required(values, 'url'),
        events: required(values, 'events').split(',') as never[],
        ...given(values, { description: 'description' }),
        ...keyOf(values),
      };
      return context.vintem.webhooks.create(endpoint, until(context));
    },
  },
  {
    name: 'webhooks show',
    about: 'one endpoint as it is now',
    operands: ['ID'],
    ask: (context) => context.vintem.webhooks.get(id(context), until(context)),
  },
  {
    name: 'webhooks update',
    usage: 'ID [--url URL] [--events TYPE,…] [--description D] [--enabled yes|no]',
    about: 'changes an endpoint, stops it or starts it again',
    operands: ['ID'],
    options: { url: word, events: word, description: word, enabled: word },
    ask: (context) => {
      const { values } = context;
      const enabled = text(values, 'enabled');
      const changes = {
        ...given(values, { url: 'url', description: 'description' }),
        ...many(values, 'events', 'events'),
        ...(enabled === undefined
          ? {}
          : { enabled: oneOf(enabled, '--enabled', ['yes', 'no'] as const) === 'yes' }),
      };
      return context.vintem.webhooks.update(id(context), changes, until(context));
    },
  },
  {
    name: 'webhooks delete',
    about: 'removes an endpoint',
    operands: ['ID'],
    ask: (context) => context.vintem.webhooks.delete(id(context), until(context)),
  },
  {
    name: 'webhooks rotate-secret',
    usage: 'ID [--overlap-hours N] [--force]',
    about: 'gives an endpoint a new secret, which is shown once; the old one signs too during the overlap',
    operands: ['ID'],
    options: { 'overlap-hours': word, force: { type: 'boolean' } },
    ask: (context) =>
      context.vintem.webhooks.rotateSecret(
        id(context),
        {
          ...whole(context.values, 'overlap-hours', 'overlapHours'),
          ...(context.values.force === true ? { force: true } : {}),
        },
        until(context),
      ),
  },
  {
    name: 'webhooks test',
    usage: 'ID [--type TYPE]',
    about: 'sends a sample to an endpoint',
    operands: ['ID'],
    options: { type: word },
    ask: (context) =>
      context.vintem.webhooks.test(
        id(context),
        given(context.values, { type: 'type' }) as { type?: never },
        until(context),
      ),
  },
  {
    name: 'webhooks event-types',
    about: 'the types of events that an endpoint can receive',
    ask: async (context) => (await context.vintem.webhooks.eventTypes(until(context))).eventTypes,
    list: { name: 'eventTypes', columns: ['type', 'schemaVersion', 'description'] },
  },
  {
    name: 'webhooks deliveries',
    usage: 'ID [--limit N]',
    about: 'what was sent to an endpoint, newest first',
    operands: ['ID'],
    options: wholeList,
    ask: (context) => context.vintem.webhooks.deliveries(id(context), {}, until(context)),
    list: { name: 'deliveries', columns: ['id', 'type', 'status', 'attempts', 'createdAt', 'nextAttemptAt'] },
  },
  {
    name: 'webhooks delivery',
    usage: 'ID DELIVERY_ID',
    about: 'one delivery with its attempts',
    operands: ['ID', 'DELIVERY_ID'],
    ask: (context) => context.vintem.webhooks.delivery(id(context), second(context), until(context)),
  },
  {
    name: 'webhooks retry',
    usage: 'ID DELIVERY_ID',
    about: 'sends a delivery again',
    operands: ['ID', 'DELIVERY_ID'],
    ask: (context) => context.vintem.webhooks.retryDelivery(id(context), second(context), until(context)),
  },
  {
    name: 'webhooks replay',
    usage: 'ID --from TIME [--to TIME] [--types TYPE,…]',
    about: 'sends all events of a period to an endpoint again',
    operands: ['ID'],
    options: { ...period, types: word },
    ask: (context) =>
      context.vintem.webhooks.replay(
        id(context),
        {
          from: required(context.values, 'from'),
          ...given(context.values, { to: 'to' }),
          ...many(context.values, 'types', 'types'),
        },
        until(context),
      ),
  },
  {
    name: 'events list',
    usage: '[--type TYPE] [--from TIME] [--to TIME] [--limit N]',
    about: 'events, newest first',
    options: { ...period, ...wholeList, type: word },
    ask: (context) =>
      context.vintem.events.list(
        { ...spanOf(context.values), ...(given(context.values, { type: 'type' }) as { type?: never }) },
        until(context),
      ),
    list: { name: 'events', columns: ['id', 'type', 'timestamp', 'data.id'] },
  },
  {
    name: 'events show',
    about: 'one event',
    operands: ['ID'],
    ask: (context) => context.vintem.events.get(id(context), until(context)),
  },
  {
    name: 'clock show',
    about: 'the clock of a test account',
    ask: (context) => context.vintem.testMode.clock(until(context)),
  },
  {
    name: 'clock start',
    about: 'gives a test account a clock of its own, which stands until it is moved',
    ask: (context) => context.vintem.testMode.startClock(until(context)),
  },
  {
    name: 'clock advance',
    usage: '--to TIME',
    about: 'moves the clock of a test account; what falls due on the way is carried out',
    options: { to: word },
    ask: (context) => context.vintem.testMode.advance(required(context.values, 'to'), until(context)),
  },
  {
    name: 'test-mode reset',
    about: 'empties a test account: its payments and its balance go, its keys stay',
    ask: (context) => context.vintem.testMode.reset(until(context)),
  },
];

const formats = ['csv', 'ofx', 'pdf'] as const;

async function saveStatement(context: Context): Promise<unknown> {
  const { values, vintem } = context;
  const file = id(context);
  const format = oneOf(file.split('.').at(-1)?.toLowerCase(), 'the ending of FILE', formats);
  const separator = text(values, 'separator');
  const form =
    separator === undefined
      ? {}
      : { separator: oneOf(separator, '--separator', ['comma', 'semicolon'] as const) };
  const saved = await vintem.account.statementFile(format, { ...spanOf(values), ...form }, until(context));
  return save(file, saved);
}

const posterSizes = ['a4', 'a6', '80mm'] as const;

async function savePoster(context: Context): Promise<unknown> {
  const size = text(context.values, 'size');
  const paper = size === undefined ? {} : { size: oneOf(size, '--size', posterSizes) };
  return save(second(context), await context.vintem.staticCodes.poster(id(context), paper, until(context)));
}

/** A file that is there already is not overwritten. */
async function save(file: string, content: Blob): Promise<{ file: string; bytes: number }> {
  const bytes = Buffer.from(await content.arrayBuffer());
  await writeFile(file, bytes, { flag: 'wx', mode: 0o600 });
  return { file, bytes: bytes.length };
}

const types = { pdf: 'application/pdf', jpg: 'image/jpeg', jpeg: 'image/jpeg', png: 'image/png' } as const;

async function addFile(context: Context): Promise<unknown> {
  const path = second(context);
  const endings = Object.keys(types) as (keyof typeof types)[];
  const ending = oneOf(path.split('.').at(-1)?.toLowerCase(), 'the ending of FILE', endings);
  const contents = new Uint8Array(await readFile(path));
  const file = { name: basename(path), type: types[ending], contents };
  return context.vintem.disputes.addFile(id(context), file, until(context));
}

/** `data.id` of an event is the member `id` of its member `data`. */
const memberOf = (item: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], item);

const nameOf = (member: string): string => (member.endsWith('Cents') ? member.slice(0, -5) : member);

function cell(member: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (member.endsWith('Cents') && typeof value === 'number') return (reais(value) ?? '').padStart(13);
  // How often, of a list of objects; its texts, of a list of texts.
  if (Array.isArray(value))
    return value.every((each) => typeof each === 'string') ? value.join(',') : `${value.length}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const shownObject = (answer: object): string =>
  fields(
    Object.fromEntries(
      Object.entries(answer).map(([member, value]) => {
        const text = Array.isArray(value) ? JSON.stringify(value) : cell(member, value).trim();
        return [nameOf(member), text === '' ? undefined : text];
      }),
    ),
  );

/** The first items of a list that comes page by page, or all of one that the API answers whole. */
async function itemsOf(call: Call, context: Context, most: number): Promise<unknown[]> {
  const asked = call.ask(context);
  if (!(Symbol.asyncIterator in asked)) return (await asked) as unknown[];
  const items: unknown[] = [];
  for await (const item of asked) {
    if (items.length >= most) break;
    items.push(item);
  }
  return items;
}

async function show(call: Call, context: Context): Promise<undefined> {
  const { out, values } = context;
  if (call.list === undefined) {
    const answer = await out.progress('asking the service', call.ask(context) as Promise<object>);
    out.answer(answer, shownObject(answer));
    return undefined;
  }
  const { name, columns } = call.list;
  const most = values.limit === undefined ? 50 : integer(values, 'limit');
  const items = await out.progress('asking the service', itemsOf(call, context, most));
  const rows = items.map((item) => columns.map((column) => cell(column, memberOf(item, column))));
  out.answer({ [name]: items }, table(columns.map(nameOf), rows));
  return undefined;
}

export const callCommands: Command[] = calls.map((call) => ({
  name: call.name,
  usage: call.usage ?? call.operands?.join(' ') ?? '',
  about: call.about,
  options: call.options ?? {},
  ...(call.operands ? { operands: call.operands } : {}),
  run: (context) => show(call, context),
}));
