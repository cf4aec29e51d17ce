import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDraft } from '../../src/api/transfers/draft.ts';
import { catalogue, fieldCodes } from '../../src/ground/errors.ts';
import { defaultQuotas } from '../../src/ground/quotas.ts';
import { reasonCodes } from '../../src/money/payment.ts';

/** The merchants' guide: its requests are sent to the real service, in order, and its answers are what comes back. */

const folder = new URL('../../../docs/merchants/', import.meta.url);
let guide: string;
let pages: string;
let service: Service;
let dataDir: string;

beforeAll(async () => {
  guide = await readFile(new URL('guide.md', folder), 'utf8');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
  pages = (await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))).join('\n');
  dataDir = await mkdtemp(join(tmpdir(), 'vintem-guide-'));
  service = await openService({ env: { DATA_DIR: dataDir } });
});
afterAll(async () => {
  await service?.close();
  await rm(dataDir, { recursive: true, force: true });
});

type Step =
  | { what: 'request'; method: string; path: string; operationId: string | null; body: object | undefined }
  | { what: 'answer'; status: number; body: unknown }
  | { what: 'action'; name: string; id: string };

/** Requests, answers, and what happens in between (HTML comments), as they stand on the page. */
function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  const blocks = text.matchAll(/^```(http|json \d+)\n(.*?)^```$|^<!-- test: (\S+) ?(\S*) -->$/gms);
  for (const [, kind, content = '', name, id = ''] of blocks) {
    if (name !== undefined) {
      steps.push({ what: 'action', name, id });
    } else if (kind === 'http') {
      const [head = '', body = ''] = content.split('\n\n');
      const [first = '', ...headers] = head.trim().split('\n');
      const [method = '', path = ''] = first.split(' ');
      const operationId = /^X-Service-Operation: (\S+)$/.exec(headers[0] ?? '')?.[1] ?? null;
      steps.push({
        what: 'request',
        method,
        path,
        operationId,
        body: body === '' ? undefined : JSON.parse(body),
      });
    } else {
      steps.push({ what: 'answer', status: Number(kind?.slice(5)), body: JSON.parse(content) });
    }
  }
  return steps;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Values that differ each time: equal forms count as the same. */
const changing = [
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  /^req_[0-9a-f]{32}$/,
  /^E[0-9A-Za-z]{31}$/,
  /^000201/,
  /^data:image\/png;base64,/,
  /^AQ[A-Za-z0-9_-]+$/,
  /^https?:\/\/[^/]+\/pay\/A[A-Za-z0-9_-]+…?$/,
];

/** The page's ids, each standing for the real one that came in its place first. */
const real = new Map<string, string>();

/** `actual` with what changes each time put as the page has it. */
function asShown(shown: unknown, actual: unknown): unknown {
  if (typeof shown === 'string' && typeof actual === 'string') {
    if (uuid.test(shown) && uuid.test(actual)) {
      if (!real.has(shown)) real.set(shown, actual);
      return real.get(shown) === actual ? shown : actual;
    }
    return changing.some((form) => form.test(shown) && form.test(actual)) ? shown : actual;
  }
  if (Array.isArray(shown) && Array.isArray(actual)) {
    return actual.map((item, at) => asShown(shown[at], item));
  }
  if (isObject(shown) && isObject(actual)) {
    return Object.fromEntries(
      Object.entries(actual).map(([name, value]) => [name, asShown(shown[name], value)]),
    );
  }
  return actual;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const withReal = (text: string): string =>
  [...real].reduce((so, [shown, actual]) => so.replaceAll(shown, actual), text);

async function act(merchant: Merchant, name: string, id: string): Promise<void> {
  if (name === 'pay') {
    const paymentId = real.get(id) ?? '';
    await service.simulator.control('POST', `/control/charges/${paymentId.replaceAll('-', '')}/pay`);
    await until(async () => (await merchant.call('GET', `/payments/${paymentId}`)).body.status === 'paid');
  } else if (name === 'draft') {
    const [account] = await service.database.admin<{ number: string }>(
      'SELECT number FROM account WHERE id = $1',
      [merchant.ownerId],
    );
    const request = {
      amountCents: 1000,
      pixKey: 'maria@example.com',
      pixKeyType: 'EMAIL' as const,
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const caller = {
      accountId: merchant.ownerId,
      accountNumber: Number(account?.number),
      test: true,
      connection: 'simulator',
      keyId: null,
      permissions: new Set<never>(),
      requestId: 'the guide',
      operationId: merchant.operationId,
      operationNamed: true,
    };
    real.set(id, (await createDraft(service.runtime, caller, request, 'ana@empresa.example')).id);
  } else throw new Error(`the guide asks for ${name}`);
}

test('every request on the page gets the answer that stands below it [2.1a]', async () => {
  let merchant: Merchant | undefined;
  let answer: Answer | undefined;
  let asked = '';
  let answered = 0;
  for (const step of stepsOf(guide)) {
    if (step.what === 'action') {
      if (step.name === 'merchant') merchant = await service.newMerchant();
      else await act(merchant as Merchant, step.name, step.id);
    } else if (step.what === 'request') {
      asked = `${step.method} ${step.path}`;
      const body = step.body && (JSON.parse(withReal(JSON.stringify(step.body))) as object);
      const operationId = step.operationId === null ? undefined : withReal(step.operationId);
      // Until the provider's word on the transfer before has come, its amount is still reserved.
      if (step.path === '/account') {
        await until(
          async () => (await merchant?.call('GET', '/account'))?.body.reservedWithdrawalCents === 0,
        );
      }
      answer = await merchant?.call(step.method, withReal(step.path), body, operationId);
    } else {
      const shown = step.body as Record<string, unknown>;
      const actual = answer?.body;
      // A transfer's 201 is any of three, and which one is the provider's haste.
      if (step.status === 201 && shown.kind === 'transfer') {
        expect(['pending', 'unknown', 'completed']).toContain(actual.status);
        for (const name of ['settledAt', 'status']) actual[name] = shown[name];
        for (const name of ['endToEnd', 'providerFeeCents', 'netAmountCents']) delete actual[name];
      }
      expect([asked, answer?.status, asShown(shown, actual)]).toEqual([asked, step.status, shown]);
      answered++;
    }
  }
  expect(answered).toBeGreaterThan(15);
});

test('every call of the document stands on the page [9.3]', async () => {
  const document = JSON.parse(
    await readFile(new URL('../../../contract/openapi.json', import.meta.url), 'utf8'),
  );
  for (const [path, methods] of Object.entries<object>(document.paths)) {
    for (const method of Object.keys(methods)) {
      const sample = path.replaceAll(/\{\w+\}/g, 'X');
      const found = pages
        .replaceAll(/\{\w+\}|[0-9a-f]{8}-[0-9a-f-]{27}|:\w+/g, 'X')
        .split('\n')
        .some((line) => line.includes(method.toUpperCase()) && line.includes(sample));
      expect([method, path, found]).toEqual([method, path, true]);
    }
  }
});

test.each(['guide.md', 'pt/guide.md'])(
  'every error, field error, reason, state and field stands in %s [2.1i, 3a]',
  async (name) => {
    const page = await readFile(new URL(name, folder), 'utf8');
    const document = JSON.parse(
      await readFile(new URL('../../../contract/openapi.json', import.meta.url), 'utf8'),
    );
    const { properties } = document.components.schemas.Payment;
    const names = [
      ...Object.keys(catalogue),
      ...fieldCodes,
      ...reasonCodes,
      ...properties.status.enum,
      ...Object.keys(properties),
      ...Object.keys(document.components.schemas.AccountSummary.properties),
    ];
    const missing = names.filter((one) => !page.includes(`\`${one}\``) && !page.includes(`"${one}"`));
    expect(missing).toEqual([]);
  },
);

test('every code of the catalogue stands beside its status [7h]', () => {
  const rows = guide.split('\n').filter((line) => line.startsWith('| ') && /^\| (\d{3})/.test(line));
  for (const [code, { status }] of Object.entries(catalogue)) {
    const row = rows.find((line) => line.includes(`\`${code}\``));
    expect([code, row?.split('|')[1]]).toEqual([code, expect.stringContaining(String(status))]);
  }
});

test.each(['guide.md', 'pt/guide.md'])('the limits of %s are the ones that hold', async (file) => {
  const page = await readFile(new URL(file, folder), 'utf8');
  for (const name of [
    'reads',
    'files',
    'charges',
    'transfers',
    'operations',
    'webhooks',
    'account',
  ] as const) {
    const { perSecond, burst } = defaultQuotas[name];
    expect(page).toContain(`| \`${name}\` | ${perSecond} | ${burst} |`);
  }
});
