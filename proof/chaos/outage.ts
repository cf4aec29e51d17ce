import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { createKey } from '../../server/src/api/keys/keys.ts';
import { accept } from '../../server/src/flow/accept.ts';
import { readConfig } from '../../server/src/ground/config.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { permissions } from '../../server/src/ground/permissions.ts';
import { loadSecrets } from '../../server/src/ground/secrets.ts';
import { transfer } from '../../server/src/kinds/transfer/transfer.ts';
import { openRuntime } from '../../server/src/main/runtime.ts';
import { eventKinds } from '../../server/src/money/journal.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { systemClock as clock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { migrate, prepareInstallation } from '../../server/src/store/database/migrate.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { numbersGiven } from '../flags.ts';
import { http, newFolder, part, sleep } from './processes.ts';

/**
 * For an hour the provider took transfers and reported no outcome, so all of them are open when it recovers.
 * Measures how long it takes until each outcome is known, within the query limit that all workers share.
 *
 *   node proof/chaos/outage.ts [--payments 100000] [--minutes 15]
 *
 * The transfers are accepted by the service itself; that they were sent during the hour, and how the provider decided, is
 * written into both sides' stores. Exit code 1 when one is not known in time.
 */
const { payments: count, minutes } = numbersGiven({ payments: 100_000, minutes: 15 });
const dataDir = await newFolder('outage');
const [simulatorPort, ids, log] = [await freePort(), systemIds(clock), createLog('silent')];
const env = {
  DATA_DIR: dataDir,
  SIMULATOR_PORT: String(simulatorPort),
  TRANSFER_WAIT_MS: '0',
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'error',
};
const config = readConfig(env);
const server = await startEmbedded({ dataDir, log, say: () => {} });
await migrate({ url: server.url, clock, log });
const sql = openPool({ url: server.url, log, name: 'outage' });
await prepareInstallation({ sql, clock, ids }, { live: false });
const net = createUndiciNet();
const ground = { config, sql, clock, ids, net, secrets: await loadSecrets(ids, config), log };
const runtime = await openRuntime(ground, new AbortController().signal);

const accounts = await Promise.all(
  Array.from({ length: 20 }, () =>
    createAccount(runtime, { name: 'Loja', test: true, connection: 'simulator' }),
  ),
);
for (const { ownerId: accountId, operationId } of accounts) {
  await createKey(runtime, { accountId, name: 'outage', permissions });
  const chain = { accountId, chainId: operationId };
  const ref = { accountId, subject: ids.uuid(), event: eventKinds.credit, reference: '' };
  await runtime.till.submit<void>({
    token: ids.uuid(),
    chains: [chain],
    reads: [],
    eventRefs: [ref],
    deadlineMs: clock.monotonicMs() + 10_000,
    decide: () => ({
      answer: undefined,
      postings: [
        {
          ...ref,
          chain,
          movement: { kind: 'credit', amountCents: count * 1000, feeCents: 0 },
          effectiveAt: clock.now(),
          connection: 'simulator',
        },
      ],
    }),
  });
}
const callers = await Promise.all(
  accounts.map(async ({ ownerId, operationId }) => {
    const [row] = await sql.run<{ number: number; key: string }>(
      {
        name: 'caller',
        text: 'SELECT a.number, k.id AS key FROM account a JOIN api_key k ON k.account_id = a.id WHERE a.id = $1',
      },
      [ownerId],
    );
    return {
      accountId: ownerId,
      accountNumber: row?.number,
      keyId: row?.key,
      operationId,
      operationNamed: true,
      permissions: new Set(permissions),
      test: true,
      requestId: 'outage',
    };
  }),
);
const accepting = performance.now();
const made: string[] = [];
for (let at = 0; at < count; at += 500) {
  const batch = Array.from({ length: Math.min(500, count - at) }, (_, n) =>
    accept(runtime, transfer, callers[(at + n) % callers.length] as never, {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    }),
  );
  for (const { row: payment } of await Promise.all(batch)) made.push(payment.id);
}
console.error(`${count} accepted in ${Math.round(performance.now() - accepting)} ms`);

// They went out over an hour that has just ended, and the provider has decided each of them.
const endedAt = clock.now() - 60_000;
const sentAt = (index: number): number => Math.round(endedAt - 3_600_000 + (3_600_000 * index) / count);
const lines = [
  `${JSON.stringify([['behaviour', { payout: 'complete', charge: 'create', webhook: 'send', query: 'error-500', settleAfterMs: 50, delayMs: 0 }]])}\n`,
];
for (const [index, id] of made.entries()) {
  const idEnvio = id.replaceAll('-', '');
  const at = sentAt(index);
  const refused = index % 10 === 9;
  lines.push(
    `${JSON.stringify([
      [
        'payout',
        {
          idEnvio,
          amountCents: 975,
          payerKey: 'vintem@simulator.example',
          pixKey: 'maria@loja.example',
          n: index,
          status: refused ? 'refused' : 'completed',
          timesReceived: 1,
          accepted: true,
          endToEnd: `E${idEnvio.slice(0, 31)}`,
          createdAt: at,
          settledAt: at + 50,
          ...(refused ? { refusal: { code: 'AC03', reason: 'refused' } } : { line: index }),
          returns: [],
        },
      ],
    ])}\n`,
  );
}
await mkdir(join(dataDir, 'simulator'), { recursive: true });
await writeFile(join(dataDir, 'simulator', 'journal.jsonl'), lines.join(''));
for (let at = 0; at < made.length; at += 2_000) {
  const some = made.slice(at, at + 2_000);
  const times = some.map((_, n) => new Date(sentAt(at + n)).toISOString());
  await sql.tx(async (tx) => {
    await tx.run(
      {
        name: 'age_payments',
        text: `UPDATE payment SET status = 'pending' FROM unnest($1::uuid[]) AS k (id) WHERE payment.id = k.id`,
      },
      [some],
    );
    await tx.run(
      {
        name: 'age_intents',
        text: `UPDATE intent SET state = 'awaiting', attempt = 1, priority = 2, created_at = k.at, news_at = k.at, attempt_ended_at = k.at,
            due_at = k.at + interval '5 s', failures = 3
          FROM unnest($1::uuid[], $2::timestamptz[]) AS k (id, at) WHERE payment_id = k.id`,
      },
      [some, times],
    );
  });
}

const logFile = join(dataDir, 'log.jsonl');
const simulator = part('simulator', { words: ['simulator'], env, ready: 'vintem simulator ready', logFile });
await simulator.start();
const workers = [1, 2].map((n) =>
  part(`worker ${n}`, {
    words: ['worker'],
    env: { ...env, DATABASE_URL: server.url },
    ready: 'vintem worker ready',
    logFile,
  }),
);
await Promise.all(workers.map((one) => one.start()));
const control = (method: string, path: string, body?: unknown) =>
  http(method, `http://127.0.0.1:${simulatorPort}${path}`, body);
const openOnes = async (): Promise<number> =>
  (await sql.run<{ n: number }>({ name: 'open', text: 'SELECT count(*) AS n FROM intent' }))[0]?.n ?? -1;
// The end of the hour: it still answers every query with an error, and the breaker keeps the workers from asking.
await sleep(15_000);
const duringOutage = (await control('GET', '/control/state?idEnvio=0')).body?.queries ?? 0;
await control('DELETE', '/control/behaviour');
const began = performance.now();
const firstCount = await openOnes();
let half = 0;
let left = firstCount;
while (left > 0 && performance.now() - began < minutes * 60_000) {
  await sleep(1_000);
  left = await openOnes();
  if (half === 0 && left < firstCount / 2) half = performance.now() - began;
  if (Math.round((performance.now() - began) / 1000) % 10 === 0) {
    console.error(`${Math.round((performance.now() - began) / 1000)} s: ${left} open`);
  }
}
const tookMs = performance.now() - began;
const queries = ((await control('GET', '/control/state?idEnvio=0')).body?.queries ?? 0) - duringOutage;
const states = await sql.run<{ status: string; count: number }>({
  name: 'states',
  text: 'SELECT status, count(*) AS count FROM payment GROUP BY 1 ORDER BY 1',
});
const [reserved] = await sql.run<{ cents: number }>({
  name: 'reserved',
  text: 'SELECT sum(reserved) AS cents FROM balance',
});
const refusedCount = Math.floor(count / 10);
const agrees =
  left === 0 &&
  reserved?.cents === 0 &&
  states.find(({ status }) => status === 'completed')?.count === count - refusedCount;
console.log(
  JSON.stringify(
    {
      agrees,
      payments: count,
      openLeft: left,
      tookMs: Math.round(tookMs),
      halfAfterMs: Math.round(half),
      perSecond: Math.round((firstCount - left) / (tookMs / 1000)),
      queriesDuringTheLast15sOfTheOutage: duringOutage,
      queriesAndPagesSinceThen: queries,
      reservedCents: reserved?.cents,
      states,
    },
    null,
    2,
  ),
);
for (const one of workers) one.signal('SIGTERM');
await Promise.all(workers.map((one) => one.exited()));
simulator.signal('SIGTERM');
await simulator.exited();
await net.close();
await sql.close();
await server.stop();
if (agrees) await rm(dataDir, { recursive: true, force: true });
else console.error(`kept: ${dataDir}`);
process.exit(agrees ? 0 : 1);
