import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stepCash } from '../../server/src/flow/cash-transfers.ts';
import { bringCostsUpToDate, postMovements } from '../../server/src/flow/connection-movements.ts';
import { setConditions } from '../../server/src/operate/accounts/conditions.ts';
import { createConnection } from '../../server/src/operate/connections/connections.ts';
import { routePayouts } from '../../server/src/operate/connections/payouts.ts';
import { cardDataIn } from './card-data.ts';
import { closeDay, closesOf } from './closing-days.ts';
import { type Merchant, type Service, simulatorAt, until } from './service.ts';
import { verified } from './verified.ts';

/** A day of payments by card, from the page to the cash at the connection for Pix. What each of them does follows from the seed. */

export interface CardDay {
  /** How many payments had each fate. */
  fates: Record<string, number>;
  refunds: number;
  cashCents: number;
  closes: { connection: string | null; differenceCents: string | null }[];
  /** Each rule that does not hold, in words. */
  faults: string[];
}

const fates = [
  'released',
  'refused',
  'expired',
  'refused, then paid',
  'held',
  'refunded while held',
  'refunded in part, released',
  'released, refunded',
  'charged back, won',
  'charged back, lost',
  'released, charged back, lost',
] as const;
type Fate = (typeof fates)[number];
interface Payment {
  id: string;
  fate: Fate;
  amountCents: number;
  merchant: Merchant;
}

const brands = ['visa', 'mastercard', 'elo', 'amex', 'hipercard'];

/** Mulberry32: the same numbers from the same seed on every machine. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** On some at once: each waits for answers of the other side. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

type Acquirer = 'stripe-checkout' | 'asaas-checkout';

export async function cardDay(
  service: Service,
  { adapter, payments: count, seed }: { adapter: Acquirer; payments: number; seed: number },
): Promise<CardDay> {
  const below = numbersFrom(seed);
  const merchants = await openShops(service, adapter);
  const payments: Payment[] = [];
  for (let at = 0; at < count; at++) {
    const merchant = merchants[at % merchants.length] as Merchant;
    // Every fate is there, however few payments are.
    const fate = fates[at < fates.length ? at : below(fates.length)] as Fate;
    payments.push({ id: '', fate, merchant, amountCents: 1_000 + below(199_000) });
  }
  const told = payments.map((payment) => ({ payment, brand: brands[below(brands.length)] }));
  await each(told, ({ payment, brand }) => open(service, payment, brand));
  const paid = payments.filter(({ fate }) => fate !== 'refused' && fate !== 'expired');
  const statesOf = statesIn(service);
  // Each payment is queried, and a connection has a bounded number of queries in a second.
  const withinMs = 120_000 + 2_000 * count;
  await until(async () => (await statesOf("status = 'paid'")) === paid.length, withinMs);
  const refunds = await moveOn(service, paid, statesOf, withinMs);
  // The connection to Asaas reads no payouts.
  const cashCents = adapter === 'stripe-checkout' ? await moveCash(service) : 0;
  await closeDay(service, 0);
  const closes = (await closesOf(service)).map(({ connection = null, difference_cents = null }) => ({
    connection,
    differenceCents: difference_cents,
  }));
  const { checks } = await verified(service);
  return {
    fates: Object.fromEntries(
      fates.map((fate) => [fate, payments.filter((one) => one.fate === fate).length]),
    ),
    refunds,
    cashCents,
    closes,
    faults: [
      ...checks.filter(({ ok }) => !ok).map((check) => JSON.stringify(check)),
      ...closes
        .filter(({ differenceCents }) => differenceCents !== '0')
        .map(({ connection, differenceCents }) => `the close of ${connection} differs by ${differenceCents}`),
      ...(await differences(service)),
    ],
  };
}

async function openShops(service: Service, adapter: Acquirer): Promise<Merchant[]> {
  const config = { simulatorUrl: service.simulator.url, hooksUrl: service.url, provider: null };
  const operator = { ...service.runtime, actor: 'tester' };
  await createConnection(
    { ...operator, config },
    {
      name: 'cartoes',
      adapter,
      mode: 'shared',
      url: null,
      credentials: null,
      simulated: true,
    },
  );
  await until(async () => service.runtime.providers.has('cartoes'));
  await routePayouts(operator, 'cartoes', 'simulator');
  await acquirerOf(service, adapter).behave({ fees: 'on' });
  const merchants: Merchant[] = [];
  for (let at = 0; at < 4; at++) {
    const merchant = await service.newMerchant();
    const terms = { cardConnection: 'cartoes', cardFeeCents: 39, cardFeeBps: 499, minimumCardCents: 500 };
    await setConditions({ ...service.cellOf(merchant), actor: 'tester' }, merchant.ownerId, terms);
    // A refund after the release is paid from it.
    await merchant.receive(200_000);
    merchants.push(merchant);
  }
  return merchants;
}

const acquirerOf = ({ simulator }: Service, adapter: Acquirer) =>
  simulatorAt(`${simulator.url}/${adapter.split('-')[0]}`);

async function act({ simulator }: Service, id: string, action: string, fields: object = {}): Promise<void> {
  const { status, body } = await simulator.control(
    'POST',
    `/control/cards/${id.replaceAll('-', '')}/${action}`,
    fields,
  );
  if (status !== 200) throw new Error(`${action}: ${JSON.stringify(body)}`);
}

async function open(service: Service, payment: Payment, brand: string | undefined): Promise<void> {
  const { status, body } = await payment.merchant.call('POST', '/card/checkouts', {
    ...{ amountCents: payment.amountCents, payerName: 'Maria Silva', description: 'Pedido' },
    ...{ requestKey: crypto.randomUUID(), payer: { email: 'maria@example.com' } },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  payment.id = body.id;
  if (payment.fate.startsWith('refused')) await act(service, body.id, 'refuse', { reason: 'do_not_honor' });
  if (payment.fate === 'refused') return;
  if (payment.fate === 'expired') await act(service, body.id, 'expire');
  else await act(service, body.id, 'approve', { brand, last4: '4242' });
}

/** Counts payments by card in all cells. */
const statesIn =
  ({ runtime, database }: Service) =>
  async (where: string): Promise<number> => {
    let sum = 0;
    for (const { cell } of runtime.cells.all()) {
      const [row] = await database.admin<{ n: string }>(
        `SELECT count(*) AS n FROM ${cell}.payment WHERE card IS NOT NULL AND ${where}`,
      );
      sum += Number(row?.n);
    }
    return sum;
  };

async function refund({ merchant, id }: Payment, amountCents: number): Promise<void> {
  const { status, body } = await merchant.call('POST', `/payments/${id}/refunds`, {
    requestKey: crypto.randomUUID(),
    amountCents,
  });
  if (status !== 201) throw new Error(`refund: ${JSON.stringify(body)}`);
  await until(async () => (await merchant.call('GET', `/refunds/${body.id}`)).body.status === 'completed');
}

async function moveOn(
  service: Service,
  paid: readonly Payment[],
  statesOf: (where: string) => Promise<number>,
  withinMs: number,
): Promise<number> {
  const of = (...wanted: Fate[]) => paid.filter(({ fate }) => wanted.includes(fate));
  const [whole, part, after] = [
    of('refunded while held'),
    of('refunded in part, released'),
    of('released, refunded'),
  ];
  await each(whole, (one) => refund(one, one.amountCents));
  await each(part, (one) => refund(one, Math.floor(one.amountCents / 3)));
  const disputed = of('charged back, won', 'charged back, lost');
  await each(disputed, ({ id }) => act(service, id, 'chargeback'));
  const released = of(
    ...(['released', 'refused, then paid', 'refunded in part, released'] as const),
    ...(['released, refunded', 'released, charged back, lost'] as const),
  );
  await each(released, ({ id }) => act(service, id, 'release'));
  await until(async () => (await statesOf('settled_at IS NOT NULL')) === released.length, withinMs);
  await each(after, (one) => refund(one, Math.floor(one.amountCents / 2)));
  const late = of('released, charged back, lost');
  await each(late, ({ id }) => act(service, id, 'chargeback'));
  await until(async () => (await disputes(service, 'true')) === disputed.length + late.length, withinMs);
  await each(of('charged back, won'), ({ id }) => act(service, id, 'win'));
  await each([...of('charged back, lost'), ...late], ({ id }) => act(service, id, 'lose'));
  await until(async () => (await disputes(service, 'ended_at IS NULL')) === 0, withinMs);
  return whole.length + part.length + after.length;
}

async function disputes({ runtime, database }: Service, where: string): Promise<number> {
  let sum = 0;
  for (const { cell } of runtime.cells.all()) {
    const [row] = await database.admin<{ n: string }>(
      `SELECT count(*) AS n FROM ${cell}.dispute WHERE ${where}`,
    );
    sum += Number(row?.n);
  }
  return sum;
}

/** The acquirer pays out half of what it may, and the account for Pix receives it. */
async function moveCash(service: Service): Promise<number> {
  const { runtime, simulator } = service;
  const [acquirer, pix] = [runtime.providers.get('cartoes'), runtime.providers.get('simulator')];
  if (!acquirer || !pix) throw new Error('a connection is missing');
  const { availableCents } = await acquirer.balance();
  const amountCents = Math.floor((availableCents ?? 0) / 2);
  const { status, body } = await acquirerOf(service, 'stripe-checkout').control(
    'POST',
    '/control/card-cash/vintem-cartoes/payout',
    {
      amountCents,
    },
  );
  if (status !== 200) throw new Error(JSON.stringify(body));
  await until(() => bringCostsUpToDate(runtime, acquirer));
  const txid = `CAIXA${'0'.repeat(23)}`;
  const way = { payerName: 'Adquirente', description: 'repasse', expirySeconds: 3_600 };
  await pix.createCharge({ txid, amountCents, ...way });
  await simulator.control('POST', `/control/charges/${txid}/pay`);
  await until(async () => {
    await postMovements(runtime, 'simulator');
    await stepCash(runtime, 'cartoes');
    const [row] = await service.database.admin<{ sum: string }>(
      'SELECT coalesce(sum(suspense), 0) AS sum FROM journal WHERE event IN (20, 21)',
    );
    const [arrived] = await service.database.admin<{ n: string }>(
      'SELECT count(*) AS n FROM journal WHERE event = 21',
    );
    return Number(row?.sum) === 0 && Number(arrived?.n) > 0;
  });
  return amountCents;
}

/** Between the books of each connection and its provider. */
async function differences({ runtime, database }: Service): Promise<string[]> {
  const found: string[] = [];
  for (const name of ['cartoes', 'simulator']) {
    let books = 0;
    for (const { cell } of runtime.cells.all()) {
      const [row] = await database.admin<{ sum: string }>(
        `SELECT coalesce(-sum(clearing), 0) AS sum FROM ${cell}.journal WHERE connection = $1`,
        [name],
      );
      books += Number(row?.sum);
    }
    const there = (await runtime.providers.get(name)?.balance())?.totalCents;
    if (there !== books) found.push(`${name} has ${there}, its books ${books}`);
  }
  return found;
}

/** Where card data stands: in a cell of any table, in a mail or in a line of the log. */
export async function findCardData(service: Service, logLines: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const look = (where: string, text: string) => {
    for (const one of cardDataIn(text)) found.push(`${where}: ${one}`);
  };
  const tables = await service.database.admin<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')`,
  );
  for (const { name } of tables)
    for (const { row } of await service.database.admin<{ row: string }>(
      `SELECT to_jsonb(t)::text AS row FROM ${name} t`,
    ))
      look(name, row);
  const folder = join(service.dataDir, 'mail');
  for (const file of await readdir(folder).catch(() => []))
    look('a mail', await readFile(join(folder, file), 'utf8'));
  for (const line of logLines) look('a line of the log', line);
  return found;
}
