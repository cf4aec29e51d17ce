import { readdirSync, readFileSync } from 'node:fs';
import { payOut } from '@vintem/testkit/pay-out.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import { createInterProvider } from '../../server/src/provider/inter/inter.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { createWooviProvider } from '../../server/src/provider/woovi/woovi.ts';
import { untilDayIsCertain } from '../../server/src/provider/woovi/woovi-due.ts';
import { faults } from '../../simulator/test/api-pix-schema.ts';
import { interShapes } from './inter-shapes.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { callOf, type Misfit, misfitsOf, type Shapes } from './shapes.ts';

/**
 * The OpenAPI documents of Woovi, of Inter and of the Central Bank judge every body of a merchant's day between adapter and simulator. Of the first two the
 * names and types of members are kept here (`shapes.ts`), of the third the document (`contract/bacen-api-pix.yaml`).
 */
const here = (path: string): URL => new URL(path, import.meta.url);
const wooviShapes: Shapes = JSON.parse(readFileSync(here('woovi-shapes.json'), 'utf8'));

const net = createUndiciNet();
const world = { net, clock: systemClock, log: createLog('silent') };
let recorder: Recorder;

beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(async () => {
  await net.close();
  await recorder?.stop();
});
beforeEach(() => recorder.forget());

async function until<T>(find: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await find();
    if (is(found)) return found;
    await systemClock.sleep(20);
  }
}

const idOf = (letter: string): string => letter.repeat(32);
const window = () => ({ fromMs: Date.now() - 3_600_000, toMs: Date.now() + 60_000 });

/** A day of a merchant: received, given back, paid out and come back, cancelled, and every list of it. */
async function day(provider: Provider, desk: string): Promise<void> {
  const [txid, sent, cancelled] = [idOf('a'), idOf('b'), idOf('d')];
  const asked = { amountCents: 12_345, payerName: 'João', description: 'Pedido nº 1', expirySeconds: 3600 };
  expect(await provider.createCharge({ txid, ...asked })).toMatchObject({ outcome: 'accepted' });
  expect(await provider.queryCharge(txid)).toMatchObject({ report: { status: 'open' } });
  const { endToEnd = '' } = await recorder.control(`${desk}/control/charges/${txid}/pay`);
  expect(await provider.queryCharge(txid)).toMatchObject({ report: { status: 'paid' } });
  const refund = { endToEnd, providerId: idOf('c'), amountCents: 345, description: 'Devolução' };
  expect(await provider.sendRefund(refund)).toMatchObject({ outcome: 'accepted' });
  await until(
    () => provider.queryRefund(endToEnd, refund.providerId),
    (one) => one.outcome === 'found' && one.report.status === 'completed',
  );
  const key = { pixKey: 'fulano@example.com', pixKeyType: 'EMAIL' } as const;
  const payout = { providerId: sent, amountCents: 975, ...key, description: 'Saque' };
  const made = await payOut(provider, payout);
  const ref = made.outcome === 'accepted' ? made.report.providerRef : undefined;
  await until(
    () => provider.queryPayout(sent, ref),
    (one) => one.outcome === 'found' && one.report.status === 'completed',
  );
  await recorder.control(`${desk}/control/payouts/${sent}/return`, { amountCents: 100 });
  await provider.createCharge({ txid: cancelled, ...asked });
  const cancel = { txid: cancelled, amountCents: 12_345, createdAt: Date.now() };
  expect(await provider.cancelCharge?.(cancel)).toMatchObject({ outcome: 'accepted' });
  if (provider.capabilities.dueCharges && untilDayIsCertain(Date.now()) === 0)
    await dueCharge(provider, desk);
  const payouts = provider.capabilities.canListPayouts ? provider.listPayouts : undefined;
  const lists = [provider.listCharges, payouts, provider.listReturns, provider.statement, provider.listCosts];
  for (const list of lists)
    expect((await list?.(window())) ?? { outcome: 'listed' }).toMatchObject({ outcome: 'listed' });
  expect(await provider.findPix(endToEnd)).toMatchObject({ outcome: 'found' });
  await provider.balance();
  await provider.askAccount?.();
  await provider.lookUpReceiver?.(key.pixKey);
  await provider.diagnose({ webhookUrl: `${recorder.simulatorUrl}/nowhere` });
}

/** With everything that its terms may say, paid after its due date. */
async function dueCharge({ dueCharges }: Provider, desk: string): Promise<void> {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const txid = idOf('e');
  const terms = {
    ...{ dueDate: inDays(10), validAfterDue: 30, rebate: null },
    fine: { type: 'fixed', value: 200 },
    interest: { type: 'percent_day', value: 10, days: 'calendar' },
    discounts: [
      { until: inDays(3), type: 'percent', value: 500 },
      { until: inDays(6), type: 'percent', value: 200 },
    ],
  } as const;
  const address = { street: 'Rua A, 12', city: 'Recife', state: 'PE', postalCode: '50030000' };
  const payer = {
    ...{ name: 'Maria Silva', document: '11144477735', email: 'maria@loja.example' },
    address: { ...address, neighborhood: 'Boa Vista' },
  };
  const asked = { txid, amountCents: 10_000, terms, payer, description: 'Mensalidade' };
  expect(await dueCharges?.create(asked)).toMatchObject({ outcome: 'accepted' });
  await recorder.control(`${desk}/control/charges/${txid}/pay`, { on: inDays(20) });
  expect(await dueCharges?.query(txid)).toMatchObject({ report: { status: 'paid' } });
}

/**
 * A document contradicts the examples that the same provider publishes, and leaves members out of its schemas. What a sample shows (`contract/provider-bodies`)
 * of the same part is no misfit: the name of a member, its type, its value.
 */
function shownBySamples(provider: string): (part: string, misfit: Misfit) => boolean {
  const folder = here(`../../contract/provider-bodies/${provider}/`);
  const known = new Set<string>();
  for (const file of readdirSync(folder)) {
    const { part, body } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
    JSON.parse(JSON.stringify(body ?? null), (name, value) => {
      const of = part === 'request' ? 'body' : 'answer';
      known
        .add(`${of} ${name}`)
        .add(`${of} ${name}: ${typeof value}`)
        .add(`${of} ${name} = ${value}`);
      return value;
    });
  }
  return (part, { name, value, kind }) =>
    (kind === 'unnamed' && known.has(`${part} ${name}`)) ||
    (kind === 'type' && known.has(`${part} ${name}: ${typeof value}`)) ||
    (kind === 'value' && known.has(`${part} ${name} = ${value}`));
}

interface Report {
  bodies: number;
  misfits: string[];
  /** Where a sample of the provider contradicts its document. */
  contradictions: string[];
  /** Calls of the shapes that the day did not make. */
  unused: string[];
}

function judged(shapes: Shapes, prefix: string, isShown: ReturnType<typeof shownBySamples>): Report {
  const used = new Set<string>();
  const [misfits, contradictions] = [new Set<string>(), new Set<string>()];
  let bodies = 0;
  for (const { method, path, body, status, answer } of recorder.calls()) {
    if (!path.startsWith(prefix) || status >= 300) continue;
    const call = callOf(shapes, method, path.slice(prefix.length));
    if (call === undefined) {
      misfits.add(`${method} ${path}: no document names this call`);
      continue;
    }
    used.add(call);
    const { body: asked, answer: told } = shapes[call] ?? {};
    for (const [part, shape, value] of [
      ['body', asked, body],
      ['answer', told, answer],
    ] as const) {
      if (shape === undefined) continue;
      bodies++;
      for (const one of misfitsOf(shape, value)) {
        const line = `${call} ${part} ${one.at} ${one.kind} ${JSON.stringify(one.value)}`;
        (isShown(part, one) ? contradictions : misfits).add(line);
      }
    }
  }
  return {
    bodies,
    misfits: [...misfits].sort(),
    contradictions: [...contradictions].sort(),
    unused: Object.keys(shapes).filter((call) => !used.has(call)),
  };
}

const say = (name: string, { bodies, misfits, contradictions }: Omit<Report, 'unused'>): void => {
  const by = contradictions.length === 0 ? '' : `; ${contradictions.length} by samples against the document`;
  console.log(`${name}: ${bodies} bodies compared, misfits ${misfits.length}${by}`);
};

test('Every body between our adapter and the simulator is one that Woovi’s OpenAPI document describes', async () => {
  const appId = Buffer.from('vintem:a secret').toString('base64');
  const provider = createWooviProvider({
    ...{
      ...world,
      connection: 'judged',
      test: true,
      simulated: true,
      appId,
      baseUrl: `${recorder.url}/woovi`,
    },
  });
  await provider.registerWebhook(`${recorder.simulatorUrl}/nowhere`);
  await day(provider, '/woovi');
  const code = { identifier: `S${'A'.repeat(24)}`, name: 'Loja', amountCents: 1_000 };
  const merchant = { merchantName: 'Loja', merchantCity: 'Recife' };
  expect(await provider.createStaticCode?.({ ...code, ...merchant })).toMatchObject({ outcome: 'accepted' });
  // A repeat is refused, and the code is asked for.
  expect(await provider.createStaticCode?.({ ...code, ...merchant })).toMatchObject({ outcome: 'accepted' });
  const { id = '' } = await recorder.control(`/woovi/control/charges/${idOf('a')}/dispute`);
  await provider.disputes?.list(window());
  const file = { id: idOf('e'), name: 'nota.pdf', type: 'application/pdf' } as const;
  const read = async () => Buffer.from('%PDF-1.4');
  const defence = { disputeId: id, text: null, files: [{ ...file, read }] };
  expect(await provider.disputes?.defend?.(defence)).toMatchObject({ outcome: 'accepted' });
  const rawBody = Buffer.from('{"event":"OPENPIX:CHARGE_COMPLETED"}');
  await provider.parseWebhook({ headers: { 'x-webhook-signature': 'AAAA' }, rawBody } as never);
  // A page of Woovi's documentation alone has it (docs/arquivos/upload-de-arquivo.md).
  const calls = { ...wooviShapes, 'POST /api/v1/files': {} };
  const report = judged(calls, '/woovi', shownBySamples('woovi'));
  say('Woovi', report);
  expect(report.misfits).toEqual([]);
  expect(report.unused).toEqual([]);
  // An application with the permissions of the page alone can do all that was done.
  const page = readFileSync(here('../../docs/operators/woovi.md'), 'utf8');
  const scopes = Object.values(wooviShapes).flatMap(({ scope }) => scope ?? []);
  expect(scopes.filter((scope) => !page.includes(`\`${scope}\``))).toEqual([]);
});

/** The schema of API Pix for each call: of its body, and of its answer. */
const ofApiPix: readonly { call: RegExp; body?: string; answer?: string }[] = [
  { call: /^PUT \/cob\/\w+$/, body: 'CobSolicitada', answer: 'CobGerada' },
  { call: /^PATCH \/cob\/\w+$/, body: 'CobRevisada', answer: 'CobCompleta' },
  { call: /^GET \/cob\/\w+$/, answer: 'CobCompleta' },
  { call: /^GET \/cob\?/, answer: 'CobsConsultadas' },
  { call: /^PUT \/pix\/\w+\/devolucao\/\w+$/, body: 'DevolucaoSolicitada', answer: 'Devolucao' },
  { call: /^GET \/pix\/\w+\/devolucao\/\w+$/, answer: 'Devolucao' },
  { call: /^GET \/pix\?/, answer: 'PixConsultados' },
  { call: /^GET \/pix\/\w+$/, answer: 'Pix' },
  // The document describes no answer to it.
  { call: /^PUT \/webhook\//, body: 'WebhookSolicitado' },
  { call: /^GET \/webhook\//, answer: 'WebhookCompleto' },
];

function judgedByApiPix(prefix: string): Report {
  const misfits = new Set<string>();
  const used = new Set<string>();
  let bodies = 0;
  for (const { method, path, body, status, answer } of recorder.calls()) {
    if (!path.startsWith(prefix) || status >= 300) continue;
    const asked = `${method} ${path.slice(prefix.length)}`;
    const known = ofApiPix.find(({ call }) => call.test(asked));
    if (!known) {
      misfits.add(`${asked}: no schema is named for this call`);
      continue;
    }
    used.add(known.call.source);
    for (const [name, value] of [
      [known.body, body],
      [known.answer, answer],
    ] as const) {
      if (name === undefined || value === undefined) continue;
      bodies++;
      for (const fault of faults(name, value)) misfits.add(`${known.call.source} ${name} ${fault}`);
    }
  }
  const unused = ofApiPix.map(({ call }) => call.source).filter((one) => !used.has(one));
  return { bodies, misfits: [...misfits].sort(), contradictions: [], unused };
}

test('Every body between our adapter and the simulator is one that Inter’s and the Central Bank’s documents describe', async () => {
  const provider = createInterProvider({
    ...{ ...world, connection: 'judged', test: true, simulated: true, baseUrl: `${recorder.url}/inter` },
    ...{ clientId: 'vintem', clientSecret: 'a secret', pixKey: 'inter@simulator.example', trust: 'path' },
  });
  await provider.registerWebhook(`${recorder.simulatorUrl}/nowhere`);
  await day(provider, '/inter');
  const banking = judged(interShapes, '/inter', shownBySamples('inter'));
  // `judged` names every call that is none of API Banking.
  const own = { ...banking, misfits: banking.misfits.filter((one) => !/ \/inter\/(pix|oauth)\//.test(one)) };
  const receipts = judgedByApiPix('/inter/pix/v2');
  say('Inter', own);
  say('Inter, API Pix', receipts);
  expect(own.misfits).toEqual([]);
  expect(own.unused).toEqual([]);
  expect(receipts.misfits).toEqual([]);
  expect(receipts.unused).toEqual([]);
});
