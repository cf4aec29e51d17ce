import { readdir, readFile } from 'node:fs/promises';
import { newDraft } from '@vintem/testkit/draft.ts';
import { openReceiver, type Receiver } from '@vintem/testkit/receiver.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { disputeActs } from '../../server/src/api/test-mode/simulate.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import * as sdk from '../src/index.ts';
import * as testing from '../src/testing.ts';

/** Every `@example` of the sources and every code block of the README, run against the real service. */

interface Example {
  where: string;
  code: string;
}

const examples: Example[] = [];
const source = new URL('../src/', import.meta.url);
for (const name of (await readdir(source)).filter((name) => name !== 'contract.ts')) {
  const text = await readFile(new URL(name, source), 'utf8');
  for (const comment of text.match(/\/\*\*.*?\*\//gs) ?? []) {
    const lines = comment.split('\n').map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*) ?/, ''));
    const at = lines.findIndex((line) => line.startsWith('@example'));
    const documented = text.slice(text.indexOf(comment) + comment.length).trim();
    const where = `${name} ${documented.slice(0, documented.search(/[({]/)).trim()}`;
    if (at >= 0) examples.push({ where, code: lines.slice(at + 1).join('\n') });
  }
}
const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
for (const [at, [, code = '']] of [...readme.matchAll(/^```(?:ts|js)\n(.*?)^```$/gms)].entries())
  examples.push({ where: `README ${at + 1}`, code });

let service: Service;
let merchant: Merchant;
let receiver: Receiver;
const paying = new AbortController();
let payer: Promise<void>;

beforeAll(async () => {
  service = await openService({ env: { WEBHOOK_ALLOW_INSECURE_LOCAL: 'true' } });
  merchant = await service.newMerchant();
  await merchant.receive(200_000);
  receiver = await openReceiver();
  payer = payEverything();
});
afterAll(async () => {
  paying.abort();
  await payer;
  await receiver?.stop();
  await service?.close();
});

/** The example takes its charge back: its payer pays nothing meanwhile. */
let isAway = false;
let round = Promise.resolve();

/** A payer who pays every open charge, so that an example can wait for it. */
async function payEverything(): Promise<void> {
  while (!paying.signal.aborted) {
    if (!isAway) {
      round = payOpen();
      await round;
    }
    await new Promise((later) => setTimeout(later, 100));
  }
}

async function payOpen(): Promise<void> {
  const { body } = await service.simulator.control('GET', '/control/state');
  for (const { txid, status } of body.charges as { txid: string; status: string }[])
    if (status === 'open') await service.simulator.control('POST', `/control/charges/${txid}/pay`);
}

/** The variables that the examples take from their surroundings. */
async function surroundings(code: string, vintem: sdk.Vintem, apiKey: string, baseUrl: string) {
  const secret = testing.makeSecret();
  const message = testing.signedWebhook('charge.paid', secret);
  const { id: eventId } = await vintem.events
    .list({ limit: 1 })
    .pages()
    .next()
    .then((page) => page.value?.items[0] ?? { id: crypto.randomUUID() });
  const { webhooks } = await vintem.webhooks.list();
  const endpointId =
    webhooks[0]?.id ?? (await vintem.webhooks.create({ url: receiver.url, events: ['webhook.test'] })).id;
  const stored = new Map<string, unknown>();
  const paid = (await vintem.payments.list({ status: 'paid' }).pages().next()).value?.items ?? [];
  const paidCharge = paid.find(({ amountCents }) => amountCents >= 1_000);
  const refundId = code.includes('refundId')
    ? (await vintem.refunds.create(paidCharge?.id ?? '', { amountCents: 1 })).id
    : '';
  const disputeId = code.includes('disputeId') ? await disputeOf(vintem, paidCharge?.id ?? '') : '';
  const receipt = new Blob([`%PDF-1.7 ${crypto.randomUUID()}`]);
  const recibo = { name: 'recibo.pdf', type: 'application/pdf', contents: receipt } as const;
  if (/addFile|fileId/.test(code)) takeFiles();
  const fileId = code.includes('fileId)') ? (await vintem.disputes.addFile(disputeId, recibo)).id : '';
  const draftId = code.includes('draftId') ? await newDraft(service, merchant) : '';
  const running: unknown[] = [];
  return {
    ...sdk,
    ...testing,
    vintem,
    apiKey,
    baseUrl,
    paidCharge,
    refundId,
    disputeId,
    receipt,
    fileId,
    draftId,
    eventId,
    endpointId,
    cursor: '0',
    webhookUrl: `${receiver.url}/${crypto.randomUUID()}`,
    transfer: { amountCents: 1000, pixKey: 'maria@example.com', pixKeyType: 'EMAIL' },
    keys: { save: async (key: string, what: unknown) => void stored.set(key, what) },
    repeatLater: async () => {},
    tellFinance: async () => {},
    markPaid: async () => {},
    process: { env: { WEBHOOK_SECRET: secret, VINTEM_URL: baseUrl, VINTEM_KEY: apiKey } },
    rawBody: message.body,
    request: message,
    console: { log: () => {} },
    expect,
    test: (_name: string, work: () => unknown) => running.push(work()),
    running,
  };
}

/** The simulator's protocol takes a text alone. */
function takeFiles(): void {
  const providers = service.runtime.providers as Map<string, Provider>;
  const provider = providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  const files = { most: 5, mostBytes: 10_485_760, types: ['application/pdf'] } as const;
  const defence = { textMost: 1_000, files, timeoutMs: 5_000 };
  providers.set('simulator', { ...provider, capabilities: { ...provider.capabilities, defence } });
}

async function disputeOf(vintem: sdk.Vintem, paymentId: string): Promise<string> {
  const newest = async () => (await vintem.disputes.list().pages().next()).value?.items[0]?.id;
  const before = await newest();
  await vintem.testMode.dispute(paymentId, { amountCents: 1 });
  await until(async () => (await newest()) !== before);
  return (await newest()) ?? '';
}

/** The client's request, as `POST /api/v1/public/pix/charges`. */
const asked = new Set<string>();
const recorded: typeof fetch = (input, init) => {
  asked.add(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`);
  return fetch(input, init);
};

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

test.each(examples)('$where', async ({ code }) => {
  // A reset leaves nothing for the examples after it.
  const { key: apiKey } = code.includes('reset(') ? await service.newMerchant() : merchant;
  const baseUrl = service.url;
  const vintem = new sdk.Vintem({ apiKey, baseUrl, fetch: recorded });
  const known = await surroundings(code, vintem, apiKey, baseUrl);
  // A name that the example declares is its own.
  const declared = new Set(
    [...code.matchAll(/(?:const|let) (?:\{([^}]*)\}|(\w+))/g)].flatMap(([, many, one]) =>
      (many ?? one ?? '').split(/[\s,]+/),
    ),
  );
  const names = Object.keys(known).filter((name) => !declared.has(name));
  const body = code.replaceAll(/^import .*$/gm, '');
  isAway = /charges\.cancel\(|dueCharges\.update\(/.test(code);
  await round;
  try {
    await new AsyncFunction(...names, body)(...names.map((name) => (known as Record<string, unknown>)[name]));
    await Promise.all(known.running);
  } finally {
    isAway = false;
  }
});

interface OpenApi {
  paths: Record<string, Record<string, object>>;
}

/** The routes of a document, as forms of what is asked. */
const routesOf = ({ paths }: OpenApi, prefix: string): { name: string; form: RegExp }[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => /^(get|post|patch|put|delete)$/.test(method))
      .map((method) => {
        const name = `${method.toUpperCase()} ${prefix}${path}`;
        const form = name.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[0-9a-f-]{36}');
        return { name, form: new RegExp(`^${form}$`) };
      }),
  );

// After the examples, since it looks at what they asked for.
test('every call of merchants that the service has was made by an example', async () => {
  const vintem = new sdk.Vintem({ apiKey: merchant.key, baseUrl: service.url, fetch: recorded });
  // One function does both by a word, and an example shows one of them.
  const nothing = crypto.randomUUID();
  const acts = [
    vintem.testMode.end(nothing, 'remove'),
    // The example looks first whether the account takes cards, and this one takes none.
    vintem.cardCheckouts.create({ amountCents: 12_500, payerName: 'Maria Silva' }),
    vintem.cardCheckouts.expire(nothing),
    ...disputeActs.map((act) => vintem.testMode.moveDispute(nothing, act)),
    ...(['csv', 'pdf'] as const).map((format) => vintem.account.statementFile(format)),
  ];
  await Promise.allSettled(acts);
  const documentOf = async (prefix: string) =>
    routesOf((await (await fetch(`${service.url}${prefix}/openapi.json`)).json()) as OpenApi, prefix);
  const routes = [...(await documentOf('/api/v1/public')), ...(await documentOf('/api/v1/test'))];
  expect(routes.length).toBeGreaterThan(45);
  expect(routes.filter(({ form }) => ![...asked].some((one) => form.test(one)))).toEqual([]);
  expect([...asked].filter((one) => !routes.some(({ form }) => form.test(one)))).toEqual([]);
});

test('every public call has an example', async () => {
  const text = await readFile(new URL('vintem.ts', source), 'utf8');
  const calls = [...text.matchAll(/^ {2}(\w+)\([^#]*?\): (?:Promise|List|AsyncGenerator)/gms)].map(
    ([, name]) => name,
  );
  expect(calls.length).toBeGreaterThan(25);
  for (const name of calls)
    expect([name, examples.filter(({ where }) => where === `vintem.ts ${name}`).length > 0]).toEqual([
      name,
      true,
    ]);
});

test('every shop in examples/ has fewer than 150 lines', async () => {
  const folder = new URL('../../examples/', import.meta.url);
  for (const shop of (await readdir(folder, { withFileTypes: true })).filter((entry) =>
    entry.isDirectory(),
  )) {
    const names = await readdir(new URL(`${shop.name}/`, folder), { recursive: true });
    const files = names.filter((name) => /\.(js|py|php)$/.test(name) && !name.includes('node_modules'));
    const texts = await Promise.all(
      files.map((name) => readFile(new URL(`${shop.name}/${name}`, folder), 'utf8')),
    );
    const lines = texts.join('').split('\n').length;
    expect([shop.name, lines > 50, lines < 150]).toEqual([shop.name, true, true]);
  }
});
