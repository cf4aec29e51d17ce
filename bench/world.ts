import { createKey } from '../server/src/api/keys/keys.ts';
import { createOperation, operationDirectory } from '../server/src/api/operations/operations.ts';
import type { Config } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { permissions } from '../server/src/ground/permissions.ts';
import { loadSecrets } from '../server/src/ground/secrets.ts';
import { announce } from '../server/src/kinds/payment/payment-events.ts';
import { openRuntime, type Runtime } from '../server/src/main/runtime.ts';
import { newPayment, type Payment } from '../server/src/money/payment.ts';
import { next } from '../server/src/money/state.ts';
import { createAccount } from '../server/src/operate/connections/directory.ts';
import { systemClock } from '../server/src/ports/clock.ts';
import { systemIds } from '../server/src/ports/ids.ts';
import { createUndiciNet } from '../server/src/ports/undici-net.ts';
import { migrate, prepareInstallation } from '../server/src/store/database/migrate.ts';
import { openPool, type Pool, serviceBudget } from '../server/src/store/database/pool.ts';
import { fingerprintOf, paymentIdFor } from '../server/src/store/rows/idempotency.ts';
import { payments } from '../server/src/store/rows/payments.sql.ts';
import { put } from '../server/src/store/till.ts';
import type { Target } from './load.ts';

/** A database of the service, reached as the service reaches it, to put accounts and balances into. */
export interface World {
  runtime: Runtime;
  sql: Pool;
  close(): Promise<void>;
}

export async function openWorld(config: Config, url: string): Promise<World> {
  const log = createLog('warn');
  await migrate({ url, clock: systemClock, log });
  const budget = serviceBudget();
  const sql = openPool({ url, log, name: 'vintem bench', budget });
  const openCell = (cell: string) => openPool({ url, log, name: 'vintem bench', size: 5, cell, budget });
  const ids = systemIds(systemClock);
  await prepareInstallation({ sql, clock: systemClock, ids }, { live: false });
  const secrets = await loadSecrets(ids, config);
  const net = createUndiciNet();
  const runtime = await openRuntime(
    { config, sql, clock: systemClock, ids, net, secrets, log, openCell },
    new AbortController().signal,
  );
  return {
    runtime,
    sql,
    close: async () => {
      await net.close();
      await runtime.cells.close();
      await sql.close();
    },
  };
}

export interface Merchant {
  accountId: string;
  accountNumber: number;
  key: string;
  operationIds: string[];
}

/**
 * An account with a key of every permission and `operations` operations, of which the first `credited` hold `eachCents`, wherever it is bound:
 * what stands at its provider is not compared.
 */
export async function createMerchant(
  { runtime, sql }: World,
  name: string,
  operations: number,
  eachCents: number,
  credited: number = operations,
  connection = 'simulator',
): Promise<Merchant> {
  const { ownerId: accountId, operationId } = await createAccount(runtime, {
    name,
    test: true,
    connection,
  });
  const { key } = await createKey(runtime, { accountId, name: 'bench', permissions });
  const [row] = await sql.run<{ number: number }>(
    { name: 'bench_account', text: 'SELECT number FROM account WHERE id = $1' },
    [accountId],
  );
  const accountNumber = row?.number ?? 0;
  const holder = {
    accountId,
    accountNumber,
    test: true,
    connection,
    keyId: null,
    permissions: new Set(permissions),
    requestId: 'bench',
  };
  const operationIds = [operationId];
  while (operationIds.length < operations) {
    const wanted = { name: `Loja ${operationIds.length}`, requestKey: crypto.randomUUID() };
    const created = await createOperation(
      { ...runtime, directory: operationDirectory(runtime) },
      holder,
      wanted,
    );
    operationIds.push(created.operation.id);
  }
  await Promise.all(
    operationIds
      .slice(0, credited)
      .map((operationId) => credit(runtime, { accountId, accountNumber, operationId }, eachCents)),
  );
  return { accountId, accountNumber, key, operationIds };
}

/** So that what waits for the till stays small. */
const creditsAtOnce = 10_000;

/** An account with one operation and `count` paid charges, to be refunded cent by cent. */
export async function createCharged(
  world: World,
  name: string,
  count: number,
  eachCents: number,
): Promise<{ merchant: Merchant; targets: (Target & { paymentId: string })[] }> {
  const merchant = await createMerchant(world, name, 1, eachCents);
  const { accountId, accountNumber, key, operationIds } = merchant;
  const operationId = operationIds[0] as string;
  const of = { accountId, accountNumber, operationId };
  const ids: string[] = [];
  while (ids.length < count) {
    const credits = Array.from({ length: Math.min(creditsAtOnce, count - ids.length) }, () =>
      credit(world.runtime, of, eachCents),
    );
    ids.push(...(await Promise.all(credits)));
  }
  return { merchant, targets: ids.map((paymentId) => ({ key, operationId, paymentId })) };
}

export const targetsOf = (merchants: readonly Merchant[]): Target[] =>
  merchants.flatMap(({ key, operationIds }) => operationIds.map((operationId) => ({ key, operationId })));

export interface Owner {
  accountId: string;
  accountNumber: number;
  operationId: string;
}

/** A payment as it is when it comes to be, before anything happened to it. */
export function benchPayment(
  runtime: Runtime,
  of: Owner,
  own: Pick<Payment, 'kind' | 'amountCents' | 'feeCents'>,
  now: number,
  pixKey: Buffer | null,
): Payment {
  const { accountId, accountNumber, operationId } = of;
  const requestKey = crypto.randomUUID();
  const id = paymentIdFor(runtime.identity, { id: accountId, number: accountNumber }, requestKey);
  return newPayment(
    {
      ...own,
      accountId,
      id,
      operationId,
      requestKey,
      fingerprint: fingerprintOf(runtime.identity, { amountCents: own.amountCents, operationId }),
      description: 'bench',
      payerName: pixKey ? null : 'bench',
      pixKey,
      pixKeyType: pixKey ? 'EMAIL' : null,
      command: runtime.ids.uuid(),
      connection: 'simulator',
    },
    'unknown',
    now,
    { by: 'api', id: 'bench' },
  );
}

/**
 * A balance, as the service itself would come by it: a charge that was paid, through the state machine, the till, the journal and
 * its chain. Only the provider is left out, and the limit of a single charge: what it holds would be thousands of them.
 * @returns the charge
 */
export async function credit(runtime: Runtime, of: Owner, amountCents: number): Promise<string> {
  const now = runtime.clock.now();
  const charge = benchPayment(runtime, of, { kind: 'deposit', amountCents, feeCents: 0 }, now, null);
  const { accountId, operationId, id, command: token } = charge;
  const chain = { accountId, chainId: operationId };
  await runtime.till.submit({
    token,
    chains: [chain],
    reads: [{ table: payments, key: accountId + id }],
    eventRefs: [],
    deadlineMs: runtime.clock.monotonicMs() + 30_000,
    decide: () => {
      const step = next(
        charge,
        { type: 'chargePaid', endToEnd: `E${id.replaceAll('-', '').slice(0, 31)}`, amountCents, paidAt: now },
        {
          now,
          cause: { by: 'webhook', id: 'bench' },
          operationDeleted: false,
          incidentOpen: () => false,
          posted: () => false,
          bookedUnder: () => null,
          knowsReturn: () => false,
          isCreditedAndDisputed: () => false,
          isPixKey: () => false,
        },
      );
      if (step === null) throw new Error('a charge could not be paid');
      return {
        answer: undefined,
        postings: step.postings.map((posting) => ({
          ...posting,
          chain,
          subject: id,
          connection: 'simulator',
        })),
        writes: [
          put(payments, step.payment),
          ...announce(runtime.ids, false, step.payment, 'unknown', step.events),
        ],
      };
    },
  });
  return id;
}
