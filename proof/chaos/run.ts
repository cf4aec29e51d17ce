import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { truthIn } from '@vintem/testkit/truth.ts';
import { verifyTogether } from '@vintem/testkit/verified.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { simulatorDeskOf } from '../../server/src/provider/adapter.ts';
import { adapterNames, adapters, isAdapter } from '../../server/src/provider/registry/adapters.ts';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { installationId } from '../../server/src/store/rows/audit.sql.ts';
import { paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import { faultsOn } from '../processes/faults.ts';
import { cardBooksOf } from './card-books.ts';
import { type CardBooks, cardWeather, createCardPayers } from './card-payers.ts';
import { requestWeather } from './due-payers.ts';
import {
  counted,
  createGivingBack,
  heldByOwner,
  type Merchant,
  sayable,
  type Truth,
  type Untold,
} from './giving-back.ts';
import {
  type Answer,
  command,
  http,
  inTurns,
  newFolder,
  type Part,
  part,
  percentile,
  sleep,
} from './processes.ts';
import { createStreet } from './street.ts';

/**
 * A bad day, in full: parallel merchants pay, are paid, by Pix and by card, by payment links, printed codes and charges with a due date, and give back while the provider, the database and every process fail in turn,
 * with a kill -9 every ten seconds. Afterwards the fate of each payment, refund and dispute must agree with what the provider itself holds
 * true, each merchant's money with it to the cent, and `verify` with everything.
 *
 *   node proof/chaos/run.ts [--minutes 10] [--merchants 6] [--cells 1] [--dialect efi] [--seed 1] [--fees] [--keep]
 *
 * With more than one cell the merchants stand in each of them in turn, all behind the same processes. In Efí's protocol every second one is on a connection of its own
 * Pix key. With another dialect they stand on a connection of that adapter, and the provider is the simulator in its protocol, without cards, printed codes and due
 * dates.
 * Prints its figures as JSON; exit code 1 when something does not agree.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    merchants: { type: 'string', default: '6' },
    cells: { type: 'string', default: '1' },
    dialect: { type: 'string', default: 'efi' },
    seed: { type: 'string', default: '1' },
    fees: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
/** The provider charges for each Pix, and the close of the day has to find every cent of it. */
const fees = values.fees ? 'on' : 'off';
const killEveryMs = 10_000;
const dialect = values.dialect;
if (!isAdapter(dialect)) throw new Error(`--dialect takes ${adapterNames.join(', ')}`);

/** See `docs/operators/woovi.md`, `docs/operators/inter.md` and the table in `docs/developers/adapters.md`. */
const isWoovi = dialect === 'woovi';
const isInter = dialect === 'inter';
const untold: Untold = {
  deletedCharge: isWoovi,
  partOfDispute: isWoovi,
  refusedRefund: isWoovi,
  returnedPayout: isInter,
  lostRefusal: isInter,
  disputes: isInter,
};

/** The acquirer pays out to the account for Pix at the root. */
const withCards = dialect === 'efi';
const cardConnection = 'cartoes';
/** Beside the connection that is there without a command: another client and Pix key at the same provider. */
const [firstKey, second] = ['vintem@simulator.example', 'segunda'];
const secondKey = `${second}@simulator.example`;

/** Mulberry32: the faults of a seed come in the same order. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const random = dice(Number(values.seed));
const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;

const dataDir = await newFolder('bad-days');
const logFile = join(dataDir, 'log.jsonl');
const [port, port2, port3, simulatorPort] = [
  await freePort(),
  await freePort(),
  await freePort(),
  await freePort(),
];
const simulatorUrl = `http://127.0.0.1:${simulatorPort}${simulatorDeskOf(adapters[dialect])}`;
const acquirerUrl = `http://127.0.0.1:${simulatorPort}/stripe`;
const shared = {
  DATA_DIR: dataDir,
  SIMULATOR_PORT: String(simulatorPort),
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'warn',
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  // Each payer of a link comes from an address of its own.
  TRUSTED_PROXIES: '127.0.0.1',
};
const launch = (words: string[], ready: string, more: Record<string, string> = {}) => ({
  words,
  ready,
  logFile,
  env: { ...shared, ...more },
});
const main = part('start', launch(['start'], 'vintem ready', { PORT: String(port) }));
const apis = [
  part('api 1', launch(['api'], 'vintem api ready', { PORT: String(port2) })),
  part('api 2', launch(['api'], 'vintem api ready', { PORT: String(port3), TRANSFER_WAIT_MS: '0' })),
];
const workers = [1, 2].map((n) => part(`worker ${n}`, launch(['worker'], 'vintem worker ready')));
const bases = [port, port2, port3].map((one) => `http://127.0.0.1:${one}/api/v1/public`);

await main.start();
await Promise.all([...apis, ...workers].map((one) => one.start()));

// ------------------------------------------------------------------------------------------------------- merchants

interface Asked {
  merchant: Merchant;
  kind: 'charge' | 'transfer';
  path: string;
  body: { requestKey: string; amountCents: number; [name: string]: unknown };
  /** The payment's id, once an answer named it. */
  id: string | null;
  /** The contradiction between a second answer and the first. */
  otherId: string | null;
  attempts: number;
  /** The service refused it for a reason of the merchant's own: nothing was made. */
  refused: string | null;
}

const commandEnv = { ...shared, PORT: String(port) };
const everythingAtOnce = ['--odd-money', 'all', '--after-minutes', '0'];
const cells = ['vintem'];
while (cells.length < Number(values.cells))
  cells.push((await command<{ name: string }>(['cells', 'add'], commandEnv)).json.name);
const further = dialect === 'efi' ? second : dialect;
await command(['connection', 'create', '--name', further, '--adapter', dialect, '--simulator'], commandEnv);
const isOnFirst = (n: number): boolean => dialect === 'efi' && n % 2 === 0;
if (withCards) {
  const acquirer = ['--adapter', 'stripe-checkout', '--simulator'];
  await command(['connection', 'create', '--name', cardConnection, ...acquirer], commandEnv);
  await command(['connection', 'pays-out-to', cardConnection, '--to', 'simulator'], commandEnv);
}
const cardTerms = [
  ...['--card-connection', cardConnection, '--card-fee-cents', '39', '--minimum-card-cents', '500'],
];
async function newMerchant(n: number): Promise<Merchant> {
  const account = await command<{ ownerId: string; operationId: string }>(
    [
      'account',
      'create',
      '--name',
      `Loja ${n}`,
      ...(isOnFirst(n) ? ['--test'] : ['--connection', further]),
      '--cell',
      cells[n % cells.length] ?? 'vintem',
    ],
    commandEnv,
  );
  const { json } = await command<{ key: string }>(
    [
      'key',
      'create',
      '--account',
      account.json.ownerId,
      '--name',
      'run',
      '--permissions',
      'read,charges,transfers,operations,refunds,simulate',
    ],
    commandEnv,
  );
  if (withCards) await command(['account', 'set', account.json.ownerId, ...cardTerms], commandEnv);
  // Of every third merchant all odd money goes back to its payer at once.
  if (n % 3 === 0)
    await command(['account', 'returns', account.json.ownerId, ...everythingAtOnce], commandEnv);
  return { accountId: account.json.ownerId, operationId: account.json.operationId, key: json.key };
}
const merchants = await Promise.all(
  Array.from({ length: Number(values.merchants) }, (_, n) => newMerchant(n)),
);

interface Books {
  clearing: number;
  available: number;
  reserved: number;
  suspense: number;
  payments: number;
  journals: number;
}

const asked: Asked[] = [];
const latencies: number[] = [];
const answers = new Map<string, number>();

const call = (merchant: Merchant, method: string, path: string, body?: unknown): Promise<Answer> =>
  http(method, pick(bases) + path, body, { authorization: `Bearer ${merchant.key}` });

const note = (label: string): void => void answers.set(label, (answers.get(label) ?? 0) + 1);

/** Asks once; a caller without an answer, or with 5xx, knows nothing and asks again with the same key. */
async function ask(one: Asked): Promise<boolean> {
  one.attempts++;
  const wasMade = one.id !== null;
  const began = performance.now();
  const { status, body } = await call(one.merchant, 'POST', one.path, one.body);
  latencies.push(performance.now() - began);
  note(`${one.kind} ${status}${status >= 400 ? ` ${body?.code ?? ''}` : ''}`);
  const id: string | undefined = body?.id ?? body?.paymentId;
  if (id !== undefined && body?.code !== 'idempotency_conflict') {
    if (one.id !== null && one.id !== id) one.otherId = id;
    // Asked for twice at once, it may be refused to the one before money came that let the other make it.
    Object.assign(one, { id, refused: null });
    return true;
  }
  if (one.id === null && (status === 400 || status === 403)) {
    one.refused = body?.code ?? String(status);
    // Of two at once one may be refused for want of money and the other made a moment later. What was made is not refused any more.
    if (wasMade) one.otherId = `refused: ${one.refused}`;
    return true;
  }
  return false;
}

const fates = [
  'complete',
  'complete',
  'complete',
  'stay-pending',
  'refuse-in-answer',
  'refuse-later',
  'lose-answer',
  'lose-request',
  'delay-request',
  'error-500',
  'error-500-after-accepting',
  'hang',
  'garbage',
];

let running = true;
/** Whether the comparison has run: until then a charge that expired may have been paid since, by a webhook that was dropped. */
let reconciled = false;
async function shop(merchant: Merchant): Promise<void> {
  while (running) {
    const kind = random() < 0.45 ? 'charge' : 'transfer';
    const requestKey = crypto.randomUUID();
    const body =
      kind === 'charge'
        ? {
            amountCents: 2_000 + Math.floor(random() * 8_000),
            payerName: 'Maria',
            description: 'bad day',
            requestKey,
          }
        : {
            amountCents: 1_000 + Math.floor(random() * 500),
            // Half of them go the way that the setting of the moment says.
            pixKey: random() < 0.5 ? 'maria@loja.example' : `${pick(fates)}@simulator.example`,
            pixKeyType: 'EMAIL',
            description: '',
            requestKey,
          };
    const one: Asked = {
      merchant,
      kind,
      path: kind === 'charge' ? '/pix/charges' : '/pix/transfers',
      body,
      id: null,
      otherId: null,
      attempts: 0,
      refused: null,
    };
    asked.push(one);
    // Some are asked for twice at once.
    const first =
      random() < 0.15 ? Promise.all([ask(one), ask(one)]).then((two) => two.some(Boolean)) : ask(one);
    let known = await first;
    for (let tries = 0; !known && running && tries < 3; tries++) {
      await sleep(500 + random() * 1_000);
      known = await ask(one);
    }
    if (kind === 'charge' && one.id !== null) {
      void payer(one.id, one.body.amountCents);
      givingBack.of(merchant, one.id);
    } else if (one.id !== null && random() < 0.1) void meddle(one.id);
    if (random() < 0.2 && one.id !== null) await call(merchant, 'GET', `/payments/${one.id}`);
    await sleep(random() * 250);
  }
}

const control = (method: string, path: string, body: unknown = {}): Promise<Answer> =>
  http(method, simulatorUrl + path, body, {}, 5_000);
const providerId = (id: string): string => id.replaceAll('-', '');

const cards = createCardPayers({
  merchants: withCards ? merchants : [],
  call,
  control: (method, path, body) =>
    http(method, acquirerUrl + path, method === 'GET' ? undefined : (body ?? {}), {}, 20_000),
  arrives: (amountCents) =>
    http('POST', `${simulatorUrl}/control/static`, {
      ...{ identifier: 'CAIXA00000001', amountCents, key: firstKey },
    }),
  client: `vintem-${cardConnection}`,
  books: () => cardBooks(),
  // The faults of a seed stay those that they were without cards.
  chance: dice(Number(values.seed) + 1_000),
  isRunning: () => running,
  note,
});
const givingBack = createGivingBack({
  merchants,
  call,
  test: (merchant, path, body) =>
    http('POST', pick(bases).replace(/public$/, 'test') + path, body, {
      authorization: `Bearer ${merchant.key}`,
    }),
  control,
  chance: random,
  isRunning: () => running,
  note,
  untold,
  isCard: cards.isCard,
});
const keys = new Map(merchants.map((merchant, n) => [merchant, isOnFirst(n) ? firstKey : secondKey]));
const street = createStreet(
  {
    ...{ merchants, call, control, note, isRunning: () => running, isTold: () => reconciled },
    visit: (method, path, from, body) => {
      const address = new URL(path, pick(bases)).href;
      return http(method, address, body, { 'x-forwarded-for': from });
    },
    // The faults of a seed stay those that they were without it.
    chance: dice(Number(values.seed) + 2_000),
    made: givingBack.of,
  },
  {
    keyOf: (merchant) => keys.get(merchant) ?? firstKey,
    keys: [firstKey, secondKey],
    refund: givingBack.refund,
  },
  dialect === 'efi',
);

/** Charges that a payer paid with another amount. */
const odd = new Set<string>();

/** The acts of a charge's payer. */
async function payer(id: string, amountCents: number): Promise<void> {
  const path = `/control/charges/${providerId(id)}`;
  const fate = random();
  await sleep(random() * 1_500);
  const until = async (call: () => Promise<Answer>) => {
    for (let tries = 0; tries < 20 && running; tries++) {
      if ((await call()).status === 200) return;
      await sleep(1_000);
    }
  };
  if (fate < 0.86) await until(() => control('POST', `${path}/pay`));
  else if (fate < 0.89) {
    odd.add(providerId(id));
    await until(() => control('POST', `${path}/pay`, { amountCents: amountCents - 1 }));
  } else if (fate < 0.92) {
    await until(() => control('POST', `${path}/pay`));
    await control('POST', `${path}/pay`);
  } else if (fate < 0.96) {
    await until(() => control('POST', `${path}/expire`));
    if (random() < 0.5) {
      await sleep(random() * 10_000);
      await control('POST', `${path}/pay`);
    }
  } else if (fate < 0.98) await until(() => control('POST', `${path}/remove`));
}

/** The provider decides or returns a payout. */
async function meddle(id: string): Promise<void> {
  await sleep(2_000 + random() * 5_000);
  const path = `/control/payouts/${providerId(id)}`;
  await control('POST', `${path}/${pick(['complete', 'refuse'])}`);
  if (random() < 0.5) await control('POST', `${path}/return`, { amountCents: 100 });
}

// ----------------------------------------------------------------------------------------------------------- faults

const behaviours = [
  {},
  { webhook: 'drop' },
  { webhook: 'duplicate' },
  { webhook: 'reorder', delayMs: 1_500 },
  { webhook: 'delay', delayMs: 4_000 },
  { query: 'not-found' },
  { query: 'error-500' },
  { query: 'stale' },
  { query: 'hang' },
  { payout: 'lose-answer' },
  { payout: 'lose-request' },
  { confirm: 'lose-answer' },
  { confirm: 'lose-request' },
  { confirm: 'error-500' },
  { payout: 'delay-request', delayMs: 6_000 },
  { payout: 'error-500-after-accepting' },
  { payout: 'error-500' },
  { payout: 'garbage' },
  { payout: 'hang' },
  { payout: 'refuse-later', webhook: 'duplicate' },
  { payout: 'refuse-in-answer' },
  { charge: 'lose-answer', payout: 'lose-answer' },
  { charge: 'lose-request' },
  { charge: 'error-500' },
  { charge: 'hang' },
  { charge: 'refuse' },
  { charge: 'no-code', webhook: 'reorder' },
  { payout: 'lose-answer', query: 'not-found', webhook: 'drop' },
  { lists: 'odd-item', webhook: 'drop' },
  { lists: 'odd-items' },
  { listLagMs: 4_000, webhook: 'drop' },
  { pageCap: 3, webhook: 'drop' },
  { pageCap: 3, lists: 'reversed', webhook: 'drop' },
  { pageCap: 2, listLagMs: 2_000, lists: 'odd-item' },
  { amounts: 'short', webhook: 'duplicate' },
  { amounts: 'other-type' },
  { amounts: 'unreadable' },
];

/** Beside those, in turns of their own: each meets each of the others. */
const refundBehaviours = [
  {},
  { refund: 'complete-in-answer' },
  { refund: 'lose-answer', returnForm: 'id' },
  { refund: 'lose-request' },
  { refund: 'error-500-after-accepting', returnForm: 'rtrId' },
  { refund: 'error-500' },
  { refund: 'hang', returnForm: 'changing' },
  { refund: 'garbage' },
  { refund: 'stay-pending' },
  { refund: 'refuse-later', returnForm: 'id' },
  { refund: 'refuse-in-answer' },
  { refund: 'refuse-unknown', returnForm: 'changing' },
  { returnForm: 'rtrId' },
];

async function behaveAtAcquirer(behaviour: object): Promise<void> {
  await http('DELETE', `${acquirerUrl}/control/behaviour`, {}, {}, 5_000);
  await http('PUT', `${acquirerUrl}/control/behaviour`, behaviour, {}, 5_000);
}

async function weather(): Promise<void> {
  for (let n = 0; running; n++) {
    await control('DELETE', '/control/behaviour');
    const next = {
      ...behaviours[n % behaviours.length],
      ...refundBehaviours[n % refundBehaviours.length],
      ...requestWeather(n),
    };
    await control('PUT', '/control/behaviour', { settleAfterMs: 50, delayMs: 500, fees, ...next });
    await behaveAtAcquirer({ settleAfterMs: 50, delayMs: 500, ...cardWeather(n) });
    await sleep(n % 2 === 0 ? 3_000 : 6_000);
  }
}

const done: string[] = [];
const all = faultsOn({ dataDir, main, others: [...apis, ...workers] });

/** Each ends with everything running again. */
const faults: [string, () => Promise<void>][] = [
  ['kill api', () => all.kill(apis[0] as Part)],
  ['kill worker', () => all.kill(workers[0] as Part)],
  ['kill start', () => all.kill(main)],
  ['kill simulator', () => all.killSimulator()],
  ['kill database', () => all.killDatabase()],
  ['kill both workers and an api', () => all.kill(...workers, apis[1] as Part)],
  ['freeze a worker for longer than its lease', () => all.freeze(workers[1] as Part, 18_000)],
  ['kill some backends of the database', () => all.killBackend()],
  ['freeze the database', () => all.freezeDatabase(6_000)],
  ['kill everything', () => all.killEverything()],
  [
    'two of everything started at once',
    async () => {
      const twin = part('twin', launch(['start'], 'vintem ready', { PORT: String(port) }));
      await twin.start().then(
        () => Promise.reject(new Error('a second start ran on a folder that is in use')),
        () => {},
      );
    },
  ],
];

let fault = '';
const recoveries: { name: string; ms: number }[] = [];
async function disaster(): Promise<void> {
  for (let n = 0; running; n++) {
    const began = performance.now();
    const [name, strike] = faults[n % faults.length] as (typeof faults)[number];
    fault = name;
    await strike();
    const struckMs = performance.now() - began;
    await serves();
    recoveries.push({ name, ms: performance.now() - began - (/^freeze/.test(name) ? struckMs : 0) });
    done.push(name);
    fault = '';
    await sleep(Math.max(500, killEveryMs - (performance.now() - began)));
  }
}

/** Until a charge-less call is answered by every api. */
async function serves(): Promise<void> {
  for (let n = 0; n < 300; n++) {
    const ready = await Promise.all(
      [port, port2, port3].map((one) => http('GET', `http://127.0.0.1:${one}/readyz`, undefined, {}, 3_000)),
    );
    if (ready.every(({ status }) => status === 200)) return;
    await sleep(200);
  }
  throw new Error(`not ready within a minute after: ${fault}`);
}

// -------------------------------------------------------------------------------------------------------------- run

console.error(`bad days in ${dataDir} for ${minutes} min`);
const began = performance.now();
const shops = merchants.flatMap((merchant) => [shop(merchant), shop(merchant)]);
const otherShops = [...cards.begin(), ...street.begin()];
const sky = weather();
const disasters = disaster();
disasters.catch((error: unknown) => console.error(String(error)));
while (performance.now() - began < minutes * 60_000) {
  await sleep(Math.min(30_000, Math.max(100, minutes * 60_000 - (performance.now() - began))));
  console.error(
    `${Math.round((performance.now() - began) / 1000)} s: ${asked.length} asked, ${done.length} faults, now ${fault || 'calm'}`,
  );
}
running = false;
await Promise.all([...shops, ...otherShops, sky, street.ended(), cards.ended()]);
await givingBack.ended();
await disasters;
await control('DELETE', '/control/behaviour');
await control('PUT', '/control/behaviour', { fees });
await behaveAtAcquirer({});
await serves();
console.error('calm again: what was not answered is asked for again, what is undecided is decided');

const unanswered = asked.filter((one) => one.id === null && one.refused === null);
for (
  let tries = 0;
  tries < 30 && unanswered.some((one) => one.id === null && one.refused === null);
  tries++
) {
  await Promise.all(unanswered.filter((one) => one.id === null && one.refused === null).map(ask));
  await sleep(3_000);
}
await Promise.all([
  givingBack.repeat(),
  cards.repeatPages().then(() => cards.repeatRefunds()),
  cards.arrive(),
  street.repeat(),
]);
// Every one is asked for once more: the same id must come back.
await inTurns(
  asked.filter((one) => one.id !== null),
  ask,
);

const url = (await findEmbedded(dataDir)) as string;
const log = createLog('silent');
const pools = cells.map((cell) => ({ cell, sql: openPool({ url, log, name: 'bad days', size: 3, cell }) }));
const sql = (pools[0] as (typeof pools)[number]).sql;
/** Rows of every cell. */
const ofCells = async <Row>(name: string, text: string, given: unknown[] = []): Promise<Row[]> =>
  (await Promise.all(pools.map((cell) => cell.sql.run<Row>({ name, text }, given)))).flat();

/** Lists that are read every ten minutes, for a dispute as for a payout of the acquirer: now. */
const listsDue = () =>
  sql.run({
    name: 'lists due',
    text: `UPDATE job SET due_at = 'epoch' WHERE what IN ('costs', 'statement', 'disputes') AND due_at > now()`,
  });
/** A list or a query that was under way when something became due is due again in minutes: not waited for. */
const dueAgainMs = 30_000;
let listsWereDue = performance.now();

const queriesDue = (paymentIds: readonly string[]) =>
  ofCells(
    'queries due',
    `UPDATE intent SET due_at = now() WHERE state = 'awaiting' AND due_at > now() AND payment_id IN (
      SELECT unnest($1::uuid[]) UNION SELECT id FROM refund WHERE payment_id = ANY ($1))`,
    [paymentIds],
  );
const cardsSettled = cards.settle(queriesDue);

const truthNow = async (): Promise<Truth> =>
  street.withCodes(sayable((await http('GET', `${simulatorUrl}/control/state`)).body, untold));
const streetSettled = street.settle(truthNow, queriesDue, () => listsDue());
const settled = new Set(['completed', 'cancelled', 'paid', 'failed', 'expired']);
const states = new Map<string, { status: string; amountCents: number; feeCents: number; notice?: string }>();
async function look(ones: Asked[]): Promise<void> {
  await inTurns(ones, async (one) => {
    const { status, body } = await call(one.merchant, 'GET', `/payments/${one.id}`);
    if (status === 200) states.set(one.id as string, body);
  });
}
/** Also what a call beside the one that made it was refused. */
const made = asked.filter((one) => one.id !== null);
const recoveryBegan = performance.now();
/** Whether the service says of it what the provider holds true. */
function disagreement(
  one: Asked,
  truth: { charges: Map<string, Truth['charges'][number]>; payouts: Map<string, Truth['payouts'][number]> },
): string | null {
  const id = one.id as string;
  const state = states.get(id);
  if (!state) return 'cannot be read';
  if (one.otherId !== null) return `one request key, two payments: ${one.otherId}`;
  if (one.kind === 'transfer') {
    const row = truth.payouts.get(providerId(id));
    if ((row?.timesAccepted ?? 0) > 1) return `accepted ${row?.timesAccepted} times`;
    const expected =
      row?.status === 'completed' || row?.status === 'returned'
        ? ['completed']
        : row?.status === 'refused'
          ? ['cancelled', ...(isLostRefusal(row) ? ['unknown'] : [])]
          : ['unknown', 'pending'];
    return expected.includes(state.status)
      ? null
      : `is ${state.status}, the provider says ${row?.status ?? 'nothing'}`;
  }
  const row = truth.charges.get(providerId(id));
  if (row?.status === 'paid') {
    const expected = odd.has(row.txid)
      ? ['pending', 'expired', 'unknown']
      : reconciled
        ? ['paid']
        : ['paid', 'expired'];
    return expected.includes(state.status) ? null : `is ${state.status}, the provider says paid`;
  }
  if (row === undefined || row.status === 'removed')
    return ['failed', 'unknown', ...(row && untold.deletedCharge ? ['pending'] : [])].includes(state.status)
      ? null
      : `is ${state.status}, the provider says ${row?.status ?? 'nothing'}`;
  return ['pending', 'expired', 'unknown'].includes(state.status)
    ? null
    : `is ${state.status}, the provider says ${row.status}`;
}
/** Refused to a repeat as well: a person decides. */
const isLostRefusal = (row: Truth['payouts'][number] | undefined): boolean =>
  untold.lostRefusal && row?.status === 'refused' && row.timesAccepted === 0 && row.timesReceived > 1;
/** To these keys the provider never accepts anything: their reserve stays, without an end. */
const never = /^(lose-request|error-500)@/;
let wrong: [Asked, string][] = [];
let truth = await truthNow();
const disagreements = (): [Asked, string][] => {
  const maps = {
    charges: new Map(truth.charges.map((row) => [row.txid, row])),
    payouts: new Map(truth.payouts.map((row) => [row.idEnvio, row])),
  };
  return made.flatMap((one): [Asked, string][] => {
    const why = disagreement(one, maps);
    return why === null ? [] : [[one, why]];
  });
};
for (;;) {
  truth = await truthNow();
  for (const { idEnvio, status } of truth.payouts) {
    if (status === 'pending')
      await control('POST', `/control/payouts/${idEnvio}/${random() < 0.5 ? 'complete' : 'refuse'}`);
  }
  await givingBack.settle(truth);
  const deleted = new Set(
    truth.charges
      .filter(({ status }) => untold.deletedCharge && status === 'removed')
      .map(({ txid }) => txid),
  );
  const lostRefusals = new Set(truth.payouts.filter(isLostRefusal).map(({ idEnvio }) => idEnvio));
  const left = made.filter((one) => !settled.has(states.get(one.id as string)?.status ?? ''));
  await Promise.all([look(left), givingBack.look()]);
  wrong = disagreements();
  const undecided = made.filter((one) => {
    const status = states.get(one.id as string)?.status ?? '';
    return one.kind === 'transfer'
      ? !settled.has(status) &&
          !never.test(String(one.body.pixKey)) &&
          !lostRefusals.has(providerId(one.id as string))
      : status === 'unknown' &&
          !odd.has(providerId(one.id as string)) &&
          !deleted.has(providerId(one.id as string));
  });
  if (wrong.length === 0 && undecided.length === 0 && givingBack.undecided(truth) === 0) break;
  if (performance.now() - recoveryBegan > 10 * 60_000) break;
  if (performance.now() - listsWereDue > dueAgainMs) {
    await listsDue();
    // Where no delivery says it, a query does: of a transfer that waited for minutes it is due in as many.
    await queriesDue([...wrong.map(([one]) => one), ...undecided].map(({ id }) => id as string));
    listsWereDue = performance.now();
  }
  await sleep(3_000);
}
await Promise.all([cardsSettled, streetSettled]);
const recoveryMs = performance.now() - recoveryBegan;
// The follow-up does not query payments that have ended, so a change in a dropped webhook is found only by the comparison.
let compared = await command<Record<string, unknown>>(['reconcile'], commandEnv);
truth = await truthNow();
/** Returns that the provider lists without their Pix, and the books lack: by these lines alone an operator knows of them. */
const unnamed = await sql.run<{ rtrId: string }>({
  name: 'unnamed returns',
  text: `SELECT rtr_id AS "rtrId" FROM statement_line WHERE kind = 'reported' AND end_to_end IS NULL AND rtr_id IS NOT NULL`,
});
const named = (of: { returns?: { rtrId: string }[] }): boolean =>
  of.returns?.some((back) => unnamed.some(({ rtrId }) => rtrId === back.rtrId)) ?? false;
for (const { txid } of truth.charges.filter(named)) await control('POST', `/control/charges/${txid}/resend`);
for (const { identifier } of truth.codes.filter(named))
  await control('POST', `/control/charges/${identifier}/resend`);
for (const { idEnvio } of truth.payouts.filter(named))
  await control('POST', `/control/payouts/${idEnvio}/resend`);
const leftOfInbound = async () =>
  (
    await sql.run<{ stored: number; left: number }>({
      name: 'inbound',
      text: 'SELECT count(*) AS stored, count(*) FILTER (WHERE applied_at IS NULL AND authentic) AS left FROM inbound',
    })
  )[0] as { stored: number; left: number };
const resentBy = performance.now() + 3 * 60_000;
while (unnamed.length > 0 && performance.now() < resentBy) {
  await sleep(1_000);
  if ((await leftOfInbound()).left === 0) break;
}
if (unnamed.length > 0) compared = await command<Record<string, unknown>>(['reconcile'], commandEnv);
truth = await truthNow();
reconciled = true;
await Promise.all([look(made), givingBack.look()]);
wrong = disagreements();

// ------------------------------------------------------------------------------------------------------------- cards

function cardBooks(): Promise<CardBooks> {
  return cardBooksOf(cardConnection, { cells: ofCells, shared: (name, text) => sql.run({ name, text }) });
}
/** Chargebacks, payouts and what a person gave back are in lists, which are read every ten minutes: now. */
let [cardTruth, booksOfCards] = [await cards.truth(), await cardBooks()];
for (const by = performance.now() + 90_000; withCards && performance.now() < by; await sleep(2_000)) {
  await cards.look();
  [cardTruth, booksOfCards] = [await cards.truth(), await cardBooks()];
  if (cards.faults(cardTruth, booksOfCards).length === 0) break;
  await listsDue();
}
/** The acquirer's own record of what the books have of it. */
const acquirerCents = withCards ? cards.expectedCents(cardTruth, booksOfCards) : 0;
const cardFaults = withCards ? cards.faults(cardTruth, booksOfCards) : [];
// ------------------------------------------------------------------------------------------------------------ street

let streetFaults: string[] = [];
for (const by = performance.now() + 90_000; ; await sleep(2_000)) {
  await street.look();
  truth = await truthNow();
  streetFaults = await street.faults(truth);
  if (streetFaults.length === 0 || performance.now() > by) break;
  await listsDue();
}
for (const id of street.odd(truth)) odd.add(id);

// ------------------------------------------------------------------------------------------------------------- costs

/** The provider's charges, by its own word. */
const chargedCents = [...truth.charges, ...truth.payouts].reduce(
  (sum, one) => sum + ((one as { feeCents?: number }).feeCents ?? 0),
  0,
);
const bookedCosts = async (): Promise<number> =>
  (
    await sql.run<{ cents: number }>({
      name: 'booked costs',
      text: 'SELECT coalesce(-sum(provider_cost), 0)::bigint AS cents FROM journal',
    })
  )[0]?.cents ?? 0;
/** Efí names in the report of the day what a dropped delivery did not tell, and no day ends here. */
const isToldLater = dialect === 'efi';
if (values.fees && !isToldLater) {
  await sql.run({ name: 'costs due', text: `UPDATE job SET due_at = now() WHERE what = 'costs'` });
  for (const by = performance.now() + 60_000; performance.now() < by; await sleep(1_000))
    if ((await bookedCosts()) === chargedCents) break;
}
const costCents = await bookedCosts();
const untoldCents = isToldLater ? chargedCents - costCents : 0;
const costsAgree =
  values.fees === chargedCents > 0 && (isToldLater ? costCents <= chargedCents : costCents === chargedCents);

// ------------------------------------------------------------------------------------------------------------ verify

const [installation] = await sql.run<{ identity: Buffer }>({
  name: 'identity',
  text: 'SELECT identity_secret AS identity FROM installation',
});
const held = truthIn(truth);
const verified = await verifyTogether(pools, systemClock, {
  accountId: null,
  full: true,
  idOf: (account, requestKey) =>
    paymentIdFor((installation as { identity: Buffer }).identity, account, requestKey),
  provider: {
    ...held,
    balanceCents: held.balanceCents + untoldCents + acquirerCents,
    charges: held.charges.map((one) => ({ ...one, paid: one.paid && !odd.has(one.txid) })),
  },
});
const incidents = await ofCells<{ kind: string; state: string; count: number }>(
  'incidents',
  'SELECT kind, state, count(*)::int AS count FROM incident GROUP BY 1, 2 ORDER BY 1',
);
const booksOfCells = await ofCells<Books>(
  'books',
  `SELECT coalesce(sum(clearing), 0) AS clearing, coalesce(sum(available), 0) AS available, coalesce(sum(reserved), 0) AS reserved,
    coalesce(sum(suspense), 0) AS suspense, (SELECT count(*) FROM payment) AS payments, count(*) AS journals FROM journal`,
);
const books: Books = { clearing: 0, available: 0, reserved: 0, suspense: 0, payments: 0, journals: 0 };
for (const ofCell of booksOfCells)
  for (const name of Object.keys(books) as (keyof Books)[]) books[name] += ofCell[name];
const inbound = await leftOfInbound();
const returnIds = await ofCells<{ id: string }>(
  'returns to payers',
  "SELECT id FROM refund WHERE reason = 'odd_money'",
);
const clearings = await ofCells<{ accountId: string; cents: number }>(
  'clearing by account',
  `SELECT account_id AS "accountId", sum(clearing)::bigint AS cents FROM journal
    WHERE template <> 'providerCost' AND connection IS DISTINCT FROM '${cardConnection}' GROUP BY 1`,
);
await Promise.all(pools.map((cell) => cell.sql.close()));
const refundFaults = givingBack.faults(truth, new Set(returnIds.map(({ id }) => providerId(id))));
/** By the provider's records of each payment. */
const owners = new Map([
  ...made.map(({ id, merchant }) => [providerId(id as string), merchant.accountId] as const),
  ...street.owners(),
]);
/** Payouts of the acquirer to the account for Pix, and Pix under unknown identifiers, belong to no merchant. */
const heldByProvider = heldByOwner(
  truth,
  (id) => owners.get(id) ?? (id.startsWith('pix ') ? installationId : ''),
);
const merchantsApart = [
  ...new Set([...heldByProvider.keys(), ...clearings.map(({ accountId }) => accountId)]),
]
  .map((owner) => {
    const ours = -(clearings.find(({ accountId }) => accountId === owner)?.cents ?? 0);
    return { owner, ours, provider: heldByProvider.get(owner) ?? 0 };
  })
  .filter(({ ours, provider }) => ours !== provider);
const cli = await command<{ ok: boolean }>(['verify', '--full'], commandEnv);
// The ledger's balance at the provider equals the provider's own.
const clearingAgrees = -books.clearing === truth.balanceCents + untoldCents + acquirerCents;

const agrees =
  wrong.length === 0 &&
  refundFaults.length === 0 &&
  cardFaults.length === 0 &&
  streetFaults.length === 0 &&
  merchantsApart.length === 0 &&
  verified.ok &&
  clearingAgrees &&
  costsAgree &&
  compared.json?.setAside === 0 &&
  made.every((one) => one.otherId === null);
console.log(
  JSON.stringify(
    {
      agrees,
      minutes,
      dialect,
      seed: Number(values.seed),
      merchants: merchants.length,
      faults: counted(done, (name) => name),
      starts: Object.fromEntries([main, ...apis, ...workers].map((one) => [one.name, one.starts])),
      readyAgainMs: Object.fromEntries(
        Object.keys(counted(recoveries, ({ name }) => name)).map((name) => {
          const all = recoveries.filter((one) => one.name === name).map(({ ms }) => ms);
          return [name, { median: Math.round(percentile(all, 0.5)), worst: Math.round(Math.max(...all)) }];
        }),
      ),
      asked: asked.length,
      repeats: asked.reduce((sum, one) => sum + one.attempts - 1, 0),
      answers: Object.fromEntries([...answers].sort()),
      latencyMs: {
        median: Math.round(percentile(latencies, 0.5)),
        p99: Math.round(percentile(latencies, 0.99)),
      },
      states: counted(made, (one) => `${one.kind} ${states.get(one.id as string)?.status}`),
      refused: counted(
        asked.filter((one) => one.refused !== null && one.id === null),
        (one) => `${one.kind} ${one.refused}`,
      ),
      settledAfterMs: Math.round(recoveryMs),
      provider: {
        payouts: counted(truth.payouts, ({ status }) => status ?? 'seen'),
        sentTwice: truth.payouts.filter(({ timesReceived }) => timesReceived > 1).length,
        acceptedTwice: truth.payouts.filter(({ timesAccepted }) => timesAccepted > 1).length,
        balanceCents: truth.balanceCents,
      },
      refunds: { ...givingBack.figures(truth), toPayers: returnIds.length },
      books,
      clearingAgrees,
      costs: { agree: costsAgree, chargedCents, bookedCents: costCents },
      merchantsApart,
      inbound,
      deliveriesSentAgain: unnamed.length,
      incidents,
      reconcile: compared.json ?? compared.text,
      verify: { ok: verified.ok, wrong: verified.checks.filter((check) => !check.ok), cli: cli.code },
      ...(withCards && { cards: cards.figures(cardTruth, booksOfCards) }),
      street: street.figures(truth),
      refundFaults: refundFaults.slice(0, 20),
      cardFaults: cardFaults.slice(0, 20),
      streetFaults: streetFaults.slice(0, 40),
      wrong: wrong.slice(0, 20).map(([one, why]) => `${one.kind} ${one.id} ${one.body.pixKey ?? ''}: ${why}`),
    },
    null,
    2,
  ),
);
for (const one of [...apis, ...workers, main]) one.signal('SIGTERM');
await Promise.all([main, ...apis, ...workers].map((one) => one.exited()));
if (values.keep || !agrees) console.error(`kept: ${dataDir}`);
else await rm(dataDir, { recursive: true, force: true });
process.exit(agrees ? 0 : 1);
