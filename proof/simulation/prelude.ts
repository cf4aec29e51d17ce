import { createKey } from '../../server/src/api/keys/keys.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { permissions } from '../../server/src/ground/permissions.ts';
import { setConditions } from '../../server/src/operate/accounts/conditions.ts';
import { createConnection } from '../../server/src/operate/connections/connections.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { routePayouts } from '../../server/src/operate/connections/payouts.ts';
import { stripeEvents } from '../../server/src/provider/stripe/stripe.ts';
import { prepareInstallation } from '../../server/src/store/database/migrate.ts';
import {
  type Bank,
  emptyBank,
  payCharge,
  registerWebhook,
  rememberClient,
} from '../../simulator/src/bank.ts';
import { cardClient, cards, createAcquirer } from './acquirer.ts';
import { bankWorldOf, caller, post, type Reply, uuidOf } from './calls.ts';
import { checkEnd, readRows } from './checks.ts';
import type { Database } from './database.ts';
import { createProvider } from './provider.ts';
import { random } from './random.ts';
import { receiverUrl } from './receiver.ts';
import { type Service, secrets } from './service.ts';
import { createWorld } from './world.ts';

/** Long past: some rules ask the database for the time as well, and its clock is the real one. */
const startMs = Date.UTC(2026, 9, 20, 12);
const hour = 3_600_000;
/** The company's receiving key. */
export const pixKey = 'vintem@simulator.example';

/** The start of every run. */
export interface Base {
  bank: Bank;
  /** The acquirer's. */
  cardBank: Bank;
  key: string;
  operations: readonly string[];
  token: string;
  /** Of the acquirer's deliveries. */
  cardToken: string;
  /** Of the merchant's endpoint. */
  webhookSecret: string;
  at: number;
}

/** An account with two operations that have some money, as the service itself makes them on a good day. */
export async function prelude(db: Database, service: Service): Promise<Base> {
  db.clear();
  const world = createWorld(db, random(1), startMs);
  const founder = world.spawn('founder');
  const { sql, clock, ids } = founder;
  const finished = async <T>(work: Promise<T>): Promise<T> => {
    let result: { value: T } | { error: unknown } | null = null;
    work.then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        result = { error };
      },
    );
    await world.run(() => result !== null, world.now() + hour);
    const ended = result as { value: T } | { error: unknown } | null;
    if (!ended) throw new Error('the prelude does not end');
    if ('error' in ended) throw ended.error;
    return ended.value;
  };
  await finished(db.admin(() => prepareInstallation({ sql, clock, ids }, { live: false })));
  const cell = founder.openCell(db.cell);
  const { ownerId, operationId } = await finished(
    createAccount({ sql: cell, clock, ids }, { name: 'Loja', test: true, connection: 'simulator' }),
  );
  const own = secrets(ids);
  const { key } = await finished(
    createKey({ sql: cell, clock, ids, secrets: own }, { accountId: ownerId, name: 'all', permissions }),
  );
  const bank = emptyBank();
  bank.tokenSecret = 'token secret';
  const token = tokenOf(db, 'simulator');
  const bankWorld = bankWorldOf(world, random(4));
  registerWebhook(bank, bankWorld, { key: pixKey, url: 'http://service.example/', clientId: 'vintem' });
  const provider = createProvider(world, random(2), bank, (body, signature) =>
    post(service, `simulator/${token}/pix`, body, { 'x-simulator-signature': signature }),
  );
  const life = await service.start(world, 'first', { delivers: false });
  if (!life) throw new Error('the service does not start');
  rememberClient(bank, { id: 'vintem', secret: service.providerSecret });
  const call = caller(service, key);
  const made = await finished(
    call('POST', '/operations', { name: 'Segunda', requestKey: uuidOf(random(3)) }),
  );
  const second = idOf(made);
  // Empty, so that it can be deleted under a charge of it.
  const empty = await finished(
    call('POST', '/operations', { name: 'Terceira', requestKey: uuidOf(random(5)) }),
  );
  const third = idOf(empty);
  const endpoint = await finished(
    call('POST', '/webhooks', { url: receiverUrl, events: ['*'], requestKey: uuidOf(random(6)) }),
  );
  idOf(endpoint);
  for (const [operation, amountCents] of [
    [operationId, 5_000],
    [second, 1_500],
  ] as const) {
    const body = {
      amountCents,
      payerName: 'Maria',
      description: '',
      requestKey: uuidOf(random(amountCents)),
    };
    const charge = await finished(call('POST', '/pix/charges', body, operation));
    payCharge(bank, bankWorld, idOf(charge).replaceAll('-', ''));
    provider.wake();
    await world.run(() => false, world.now() + 30_000);
  }
  life.process.kill();
  const cardBank = emptyBank();
  const acquirer = createAcquirer(world, random(7), cardBank, () => Promise.resolve(null));
  world.outside = acquirer.handle;
  const net = founder.net;
  const operator = { sql, clock, ids, actor: 'operator', log: createLog('silent') };
  const config = {
    simulatorUrl: 'http://provider.example',
    hooksUrl: 'http://service.example',
    provider: null,
  };
  const wanted = { name: cards, adapter: 'stripe-checkout', mode: 'shared', url: null } as const;
  await finished(
    createConnection(
      { ...operator, secrets: own, net, config },
      { ...wanted, credentials: null, simulated: true },
    ),
  );
  await finished(routePayouts(operator, cards, 'simulator'));
  const conditions = { cardConnection: cards, cardFeeCents: 39, cardFeeBps: 400, minimumCardCents: 500 };
  await finished(setConditions({ ...operator, sql: cell }, ownerId, conditions));
  const events = [...stripeEvents];
  registerWebhook(cardBank, bankWorld, {
    key: cardClient,
    url: 'http://service.example/',
    clientId: cardClient,
    events,
  });
  const rows = readRows(db);
  const findings = checkEnd(rows, bank);
  if (findings.length > 0 || rows.payments.some(({ status }) => status !== 'paid'))
    throw new Error(
      `a good day goes wrong: ${JSON.stringify(findings)} ${rows.payments.map(({ status }) => status)}`,
    );
  db.keep();
  return {
    bank,
    cardBank,
    key,
    operations: [operationId, second, third],
    token,
    cardToken: tokenOf(db, cards),
    webhookSecret: (endpoint as unknown as { body: { secret: string } }).body.secret,
    at: world.now() + hour,
  };
}

const tokenOf = (db: Database, name: string): string =>
  db.run<{ token: string }>('SELECT webhook_token AS token FROM connection WHERE id = $1', [name])[0]
    ?.token ?? '';

function idOf(reply: Reply | null): string {
  if (reply?.status !== 201) throw new Error(`no answer for a good day: ${JSON.stringify(reply)}`);
  return (reply.body as { id: string }).id;
}
