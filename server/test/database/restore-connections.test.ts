import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, finish } from '@vintem/testkit/command.ts';
import { type Program, programOn } from '@vintem/testkit/program.ts';
import { callWith, type Merchant, merchantOf, simulatorAt, until } from '@vintem/testkit/service.ts';
import { truthOf } from '@vintem/testkit/truth.ts';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { simulatorDeskOf } from '../../src/provider/adapter.ts';
import { adapters } from '../../src/provider/registry/adapters.ts';
import { findEmbedded } from '../../src/store/database/embedded.ts';

/**
 * The real program, restored from a copy that is older than the last payments, with merchants on connections of several protocols: what
 * becomes of the money of the lost time at each connection.
 */

type Connection = 'simulator' | 'efi' | 'woovi' | 'inter';

const vintemSecret = randomBytes(32).toString('base64');
const feeCents = 25;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vintem-connections-'));
});
const opened: Program[] = [];
afterEach(async () => {
  for (const program of opened.splice(0)) await program.remove();
});
afterAll(async () => {
  await endPrograms();
  await rm(folder, { recursive: true, force: true });
});

/** A merchant's request, with the id of its answer. */
interface Asked {
  kind: 'charge' | 'transfer';
  request: { requestKey: string; amountCents: number };
  id: string;
}

interface Shop {
  connection: Connection;
  merchant: Merchant;
  asked: Asked[];
}

// ---------------------------------------------------------------------------------------------------- the program

async function openProgram(story: string): Promise<Program> {
  const env = { VINTEM_SECRET: vintemSecret, SIMULATOR_STATE: join(folder, story) };
  const program = await programOn(env);
  opened.push(program);
  return program;
}

const vintem = ({ dataDir, simulatorUrl }: Program, ...words: string[]) =>
  finish([...words, '--json'], {
    DATA_DIR: dataDir,
    VINTEM_SECRET: vintemSecret,
    LOG_LEVEL: 'error',
    SIMULATOR_URL: simulatorUrl,
  });

/** The answer of a command that must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
async function answerOf(program: Program, ...words: string[]): Promise<any> {
  const { code, stdout, stderr } = await vintem(program, ...words);
  expect({ words, code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout);
}

async function look<Row extends pg.QueryResultRow>(program: Program, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: (await findEmbedded(program.dataDir)) ?? '' });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const deskOf = (connection: Connection): string =>
  simulatorDeskOf(adapters[connection === 'simulator' ? 'efi' : connection]);

const providerAt = (program: Program, connection: Connection) =>
  simulatorAt(program.simulatorUrl + deskOf(connection));

function merchantAt(program: Program, connection: Connection, key: string): Merchant {
  const call = callWith(`${program.url}/api/v1/public`, key);
  return merchantOf({ ownerId: '', operationId: '', key, call }, providerAt(program, connection));
}

async function keyOn(program: Program, connection: Connection): Promise<string> {
  if (connection === 'simulator') return /vintem test key (vtm_test_\S+)/.exec(program.output())?.[1] ?? '';
  await answerOf(
    program,
    ...[
      'connection',
      'create',
      '--name',
      connection,
      '--adapter',
      connection,
      '--mode',
      'own',
      '--simulator',
    ],
  );
  const account = ['account', 'create', '--name', connection, '--connection', connection];
  const { ownerId } = await answerOf(program, ...account);
  const permissions = ['--permissions', 'read,charges,transfers'];
  const key = ['key', 'create', '--account', ownerId, '--name', 'test', ...permissions];
  return (await answerOf(program, ...key)).key;
}

// ------------------------------------------------------------------------------------------------------ the money

const ask = ({ merchant }: Shop, kind: Asked['kind'], request: Asked['request']) =>
  kind === 'charge' ? merchant.charge(request) : merchant.transfer(request);

const statusOf = async ({ merchant }: Shop, id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

const hasEnded = async (shop: Shop, { kind, id }: Asked): Promise<boolean> =>
  (await statusOf(shop, id)) === (kind === 'charge' ? 'paid' : 'completed');

/** A charge that is paid, and a transfer that is completed. */
async function trade(program: Program, shop: Shop, charged: number, sent: number): Promise<void> {
  for (const [kind, amountCents] of [
    ['charge', charged],
    ['transfer', sent],
  ] as const) {
    const request = { requestKey: crypto.randomUUID(), amountCents };
    let id = '';
    // A connection that was just made is taken up by the running service.
    await until(async () => {
      const { status, body } = await ask(shop, kind, request);
      id = body.id;
      return status === 201;
    });
    const one: Asked = { kind, request, id };
    shop.asked.push(one);
    if (kind === 'charge')
      await providerAt(program, shop.connection).control(
        'POST',
        `/control/charges/${id.replaceAll('-', '')}/pay`,
      );
    await until(() => hasEnded(shop, one));
  }
}

const movedBy = (asked: readonly Asked[]): number =>
  asked.reduce(
    (sum, { kind, request }) =>
      sum + (kind === 'charge' ? request.amountCents : feeCents - request.amountCents),
    0,
  );

/** The books' amount at each connection, and its part in suspense. */
async function booksOf(program: Program): Promise<Record<string, { cents: number; suspense: number }>> {
  const rows = await look<{ connection: string; cents: number; suspense: number }>(
    program,
    `SELECT connection, -sum(clearing)::int AS cents, sum(suspense)::int AS suspense FROM vintem.journal
      WHERE clearing <> 0 GROUP BY connection ORDER BY connection`,
  );
  return Object.fromEntries(rows.map(({ connection, ...of }) => [connection, of]));
}

/** The provider has accepted each payout once, and its balances are what the merchants of each have traded there. */
async function expectTruth(program: Program, shops: readonly Shop[]): Promise<void> {
  const desks = Map.groupBy(shops, ({ connection }) => deskOf(connection));
  for (const [desk, some] of desks) {
    const { payouts, charges, balanceCents } = await truthOf(simulatorAt(program.simulatorUrl + desk));
    const asked = some.flatMap((shop) => shop.asked);
    const idsOf = (kind: Asked['kind']) =>
      asked
        .filter((one) => one.kind === kind)
        .map(({ id }) => id.replaceAll('-', ''))
        .sort();
    expect(payouts.map(({ providerId }) => providerId).sort()).toEqual(idsOf('transfer'));
    expect(
      charges
        .filter(({ paid }) => paid)
        .map(({ txid }) => txid)
        .sort(),
    ).toEqual(idsOf('charge'));
    expect(payouts.map(({ timesAccepted }) => timesAccepted)).toEqual(payouts.map(() => 1));
    expect(balanceCents).toBe(movedBy(asked));
  }
}

// ------------------------------------------------------------------------------------------------------- the story

/** Each merchant trades, a copy is made, each trades again, and the copy alone is left. */
async function afterLostTime(
  story: string,
  connections: readonly Connection[],
): Promise<{ program: Program; shops: Shop[] }> {
  const before = await openProgram(story);
  await before.start();
  const shops: Shop[] = [];
  for (const connection of connections) {
    const key = await keyOn(before, connection);
    shops.push({ connection, merchant: merchantAt(before, connection, key), asked: [] });
  }
  // No two amounts are the same: one that is posted to another connection shows.
  for (const [n, shop] of shops.entries()) await trade(before, shop, 50_000 + n, 1_000 + 10 * n);
  const copy = join(folder, `${story}-copy`);
  await answerOf(before, 'backup', copy);
  for (const [n, shop] of shops.entries()) await trade(before, shop, 20_000 + 100 * n, 3_000 + 1_000 * n);
  await before.stop();

  const program = await openProgram(story);
  await answerOf(program, 'restore', copy);
  await program.start();
  for (const shop of shops) shop.merchant = merchantAt(program, shop.connection, shop.merchant.key);
  await expectTruth(program, shops);
  return { program, shops };
}

const lostOf = ({ asked }: Shop): Asked[] => asked.slice(2);
const knownOf = ({ asked }: Shop): Asked[] => asked.slice(0, 2);

/** Nothing new goes out at any connection, and no person can end that before the comparison. */
async function expectPaused(program: Program, shops: readonly Shop[]): Promise<void> {
  for (const shop of shops) {
    const { status, body } = await shop.merchant.transfer();
    expect([status, body.code]).toEqual([503, 'withdrawals_paused']);
  }
  expect((await vintem(program, 'withdrawals', 'resume')).code).toBe(1);
}

/** Every cent that a list shows stands at its own connection, in suspense, each with an incident. */
async function expectInSuspense(program: Program, shops: readonly Shop[]): Promise<void> {
  expect(await booksOf(program)).toEqual(
    Object.fromEntries(
      shops.map((shop) => {
        const suspense = movedBy(lostOf(shop));
        return [shop.connection, { cents: movedBy(knownOf(shop)) + suspense, suspense }];
      }),
    ),
  );
  const { incidents } = await answerOf(program, 'incident', 'list');
  const amounts = incidents.map(({ kind, amountCents }: { kind: string; amountCents: number }) => [
    kind,
    amountCents,
  ]);
  const expected = shops.flatMap((shop) =>
    lostOf(shop).flatMap((one) => {
      const cents = Math.abs(movedBy([one]));
      // A payout stops its account besides.
      return [['unmatched', cents], ...(one.kind === 'transfer' ? [['lost_payout', cents]] : [])];
    }),
  );
  expect(amounts.toSorted()).toEqual(expected.toSorted());
}

/** Every merchant asks again for all that it ever asked for, with the same keys, and a person ends the incidents. */
async function repeatAll(program: Program, shops: readonly Shop[]): Promise<void> {
  for (const shop of shops) {
    const answers = await Promise.all(shop.asked.map(({ kind, request }) => ask(shop, kind, request)));
    expect(answers.map(({ body }) => body.id ?? body.paymentId)).toEqual(shop.asked.map(({ id }) => id));
    for (const one of shop.asked) await until(() => hasEnded(shop, one));
  }
  const { incidents } = await answerOf(program, 'incident', 'list');
  for (const { id, kind } of incidents) {
    const action = kind === 'lost_payout' ? 'none' : 'credit';
    await answerOf(
      program,
      ...['incident', 'resolve', id, '--action', action, '--reason', 'asked for again'],
    );
  }
}

/** Books and providers agree to the cent at every connection, and every merchant has what it traded. */
async function expectAgreement(program: Program, shops: readonly Shop[]): Promise<void> {
  await expectTruth(program, shops);
  expect(await booksOf(program)).toEqual(
    Object.fromEntries(
      shops.map(({ connection, asked }) => [connection, { cents: movedBy(asked), suspense: 0 }]),
    ),
  );
  for (const { merchant, asked } of shops) {
    const fees = asked.filter(({ kind }) => kind === 'transfer').length * feeCents;
    expect(await merchant.balanceCents()).toBe(movedBy(asked) - fees);
  }
  const verified = await answerOf(program, 'verify', '--full');
  expect(verified.checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  expect(await answerOf(program, 'reconcile')).toMatchObject({
    ...{ missing: 0, unexpected: 0, different: 0, setAside: 0, restoreEnded: false },
  });
}

test('laws 2, 3 and 9: after a restore each cent of the lost time stands at its own connection, the pause ends when all are compared, and nothing is paid twice', async () => {
  const { program, shops } = await afterLostTime('listed', ['simulator', 'efi', 'woovi']);
  await expectPaused(program, shops);

  // One provider of three does not answer: the comparison has not ended, whatever the others have shown.
  await providerAt(program, 'woovi').behave({ query: 'error-500' });
  const failed = await vintem(program, 'reconcile');
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('the provider does not answer')]);
  await expectPaused(program, shops);

  await providerAt(program, 'woovi').behave({});
  const compared = await answerOf(program, 'reconcile');
  expect(compared).toMatchObject({
    ...{ compared: 6, unexpected: 6, missing: 0, different: 0, setAside: 0 },
    ...{ restoreEnded: true, unlisted: [] },
  });
  await expectInSuspense(program, shops);
  await repeatAll(program, shops);
  await expectAgreement(program, shops);
});

test('laws 2, 3 and 9: where a provider lists only the payouts that have left, the statement names those of the lost time, and a person ends the pause for those that may be under way', async () => {
  const { program, shops } = await afterLostTime('unlisted', ['efi', 'woovi', 'inter']);
  await expectPaused(program, shops);

  const compared = await answerOf(program, 'reconcile');
  expect(compared).toMatchObject({
    ...{ compared: 6, unexpected: 6, missing: 0, different: 0, setAside: 0 },
    ...{ restoreEnded: true, unlisted: ['inter'] },
  });
  await expectInSuspense(program, shops);
  for (const { merchant } of shops) expect((await merchant.transfer()).body.code).toBe('withdrawals_paused');
  await answerOf(program, 'withdrawals', 'resume');

  await repeatAll(program, shops);
  await expectAgreement(program, shops);
});
