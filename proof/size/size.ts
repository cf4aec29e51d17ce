import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Desk, newOperator } from '@vintem/testkit/console.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Run, recordedBy, visited } from '@vintem/testkit/rows-visited.ts';
import { createKey } from '../../server/src/api/keys/keys.ts';
import { stepRequestPruning } from '../../server/src/edge/request-log/request-log.ts';
import { createPruning } from '../../server/src/events/log.ts';
import { pruneDeliveries } from '../../server/src/events/webhooks/deliveries.sql.ts';
import { runDeliveries } from '../../server/src/events/webhooks/delivery-loop.ts';
import { readConfig } from '../../server/src/ground/config.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { permissions } from '../../server/src/ground/permissions.ts';
import { loadSecrets } from '../../server/src/ground/secrets.ts';
import { runApi } from '../../server/src/main/api.ts';
import { openRuntime, type Runtime } from '../../server/src/main/runtime.ts';
import { runWorker } from '../../server/src/main/worker.ts';
import { markRestored } from '../../server/src/operate/after-restore.ts';
import { identityBehind } from '../../server/src/operate/connections/identity.ts';
import { pauseAfterRestore } from '../../server/src/operate/pause.ts';
import { reconcile } from '../../server/src/operate/reconcile.ts';
import { stepRetention } from '../../server/src/operate/retention.ts';
import { verify } from '../../server/src/operate/verify/verify.ts';
import { systemClock as clock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { createUndiciNet } from '../../server/src/ports/undici-net.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { backup } from '../../server/src/store/database/backup.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';
import { migrate, prepareInstallation } from '../../server/src/store/database/migrate.ts';
import { openPool } from '../../server/src/store/database/pool.ts';
import { restore } from '../../server/src/store/database/restore.ts';
import { paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import { startSimulator } from '../../simulator/src/main.ts';
import { newFolder } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { closeAll } from './closes.ts';
import { type FileRead, judged, readFile } from './files.ts';
import { mostOf, usualMost } from './limits.ts';
import {
  callFiles,
  callsOf,
  consoleFiles,
  consolePages,
  type Known,
  panelFiles,
  panelPages,
} from './pages.ts';
import { type Stored, seed } from './seed.ts';
import { createWorld, type Sizes, withSeeded } from './world.ts';

/**
 * Every operation at size. Stores settled payments, open charges and operations. Then, while merchants keep working, it runs `verify`, the
 * deletion of an operation, the daily close of all, every list, page and file, retention, the follow-up, `reconcile` to its end, a backup and its restore. Each
 * statement runs once more under EXPLAIN (ANALYZE, BUFFERS), with the plan that the service gets, and is compared with a limit of rows
 * (`limits.ts`): a plan that reads in proportion to history fails the rig and names the statement.
 *
 *   node proof/size/size.ts [--settled 2000000] [--open 2000000] [--operations 10000]
 */
export interface SizeFigures {
  sizes: Sizes;
  steps: Step[];
  statements: StatementFigures[];
  faults: string[];
}

interface Step {
  name: string;
  seconds: number;
  figures: string;
}

interface StatementFigures {
  name: string;
  /** The most that one run read: with nothing stored, and with everything. */
  rowsAtNothing: number | null;
  rows: number;
  pages: number;
  most: number;
  /** The slowest run. */
  msAtNothing: number | null;
  ms: number;
}

export async function trySizes(options: { sizes: Sizes; say(line: string): void }): Promise<SizeFigures> {
  const { sizes, say } = options;
  const faults: string[] = [];
  say('with nothing stored');
  const nothing = await onStage({ settled: 0, open: 0, operations: 10 }, say, faults);
  say(`with ${sizes.settled} settled payments, ${sizes.open} open charges, ${sizes.operations} operations`);
  const full = await onStage(sizes, say, faults);
  const statements = [...full.statements].map(([name, seen]) => {
    const before = nothing.statements.get(name);
    return {
      name,
      rowsAtNothing: before?.rows ?? null,
      msAtNothing: before?.ms ?? null,
      most: mostOf[name] ?? usualMost,
      ...seen,
    };
  });
  for (const { name, rows, most } of statements)
    if (rows > most) faults.push(`${name} reads ${rows} rows, and ${most} at most are allowed`);
  statements.sort((a, b) => b.rows - a.rows);
  return { sizes, steps: full.steps, statements, faults };
}

/** The restored copy is read with the same one. */
const secret = Buffer.alloc(32, 7).toString('base64');

type Seen = Map<string, { rows: number; pages: number; ms: number }>;

async function onStage(
  sizes: Sizes,
  say: (line: string) => void,
  faults: string[],
): Promise<{ steps: Step[]; statements: Seen }> {
  const stage = await openStage(sizes, say);
  const steps: Step[] = [];
  const statements: Seen = new Map();
  const step = async (name: string, work: () => Promise<string>): Promise<void> => {
    const began = performance.now();
    let figures = '';
    try {
      figures = await work();
    } catch (error) {
      figures = `failed: ${error instanceof Error ? error.message : error}${slowestOf(stage)}`;
      faults.push(`${name}: ${figures}`);
    }
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    steps.push({ name, seconds, figures });
    say(`  ${name}: ${seconds} s, ${figures}`);
    await measure(stage, statements, faults);
  };
  const load = startLoad(stage);
  try {
    await step('deletion without checkpoints', () => deleted(stage, 2));
    await step('verify, from the beginning', () => verified(stage));
    await step('verify, from the checkpoints', () => verified(stage));
    await step('deletion from the checkpoints', () => deleted(stage, 3));
    await step('daily close', () =>
      closeAll(stage.runtime, clock.now(), (name) => stage.counts.get(name) ?? 0),
    );
    await step('lists and pages', () => visitPages(stage));
    await step('files', () => readFiles(stage));
    await step('verify, with closes', () => verified(stage));
    await step('retention', () => pruned(stage));
    await step('follow-up', () => followed(stage));
    await step('reconcile after a restore', () => reconciled(stage));
    const { answered, refused } = await load.stop();
    say(
      `  beside it: ${answered} calls answered, ${refused.size} kinds of refusal ${[...refused].join(', ')}`,
    );
    for (const [code, times] of refused)
      if (!code.includes('withdrawals_paused')) faults.push(`beside it ${times} calls were answered ${code}`);
    await step('backup and restore', () => copied(stage));
    return { steps, statements };
  } finally {
    await load.stop();
    await stage.close();
  }
}

/** A statement that is cancelled for its time does not say which one it was. */
function slowestOf({ runs }: Stage): string {
  const [slowest] = [...runs.values()].flat().sort((one, other) => other.ms - one.ms);
  return slowest ? `; the slowest statement was ${slowest.statement.name}, ${Math.round(slowest.ms)} ms` : '';
}

// ------------------------------------------------------------------------------------------------------------ the stage

export interface Stage {
  sizes: Sizes;
  runtime: Runtime;
  /** The superuser's: for EXPLAIN. */
  adminUrl: string;
  dataDir: string;
  url: string;
  stored: Stored;
  key: string;
  tab: Tab;
  /** An operator of each role that reads. */
  desks: Desk[];
  /** Statements since the last look, by name. */
  runs: Map<string, Run[]>;
  /** How often each ran. */
  counts: Map<string, number>;
  close(): Promise<void>;
}

export async function openStage(sizes: Sizes, say: (line: string) => void): Promise<Stage> {
  const dataDir = await newFolder('size');
  const [log, ids] = [createLog('silent'), systemIds(clock)];
  const bank = await startSimulator({ host: '127.0.0.1', port: 0, stateDir: dataDir });
  const env = {
    PORT: String(await freePort()),
    DATA_DIR: dataDir,
    VINTEM_SECRET: secret,
    SIMULATOR_URL: bank.url,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'silent',
  };
  const config = readConfig(env);
  const server = await startEmbedded({ dataDir, log, say: () => {} });
  await migrate({ url: server.serviceUrl, migrationUrl: server.url, clock, log });
  const pool = openPool({ url: server.serviceUrl, log, name: 'size' });
  const runs = new Map<string, Run[]>();
  const counts = new Map<string, number>();
  const sql = recordedBy(pool, (run) => {
    keep(runs, run);
    counts.set(run.statement.name, (counts.get(run.statement.name) ?? 0) + 1);
  });
  await prepareInstallation({ sql, clock, ids }, { live: false });
  const net = createUndiciNet();
  const draining = new AbortController();
  const ground = { config, sql, clock, ids, net, log, secrets: await loadSecrets(ids, config) };
  const runtime = await openRuntime(ground, draining.signal);
  const began = performance.now();
  const world = createWorld(sizes, clock.now());
  const providers = runtime.providers as Map<string, Provider>;
  const sentTo = await identityBehind(providers.get('simulator') as Provider);
  const stored = await seed(server.url, world, runtime.identity, ids, sentTo);
  say(`  stored in ${Math.round((performance.now() - began) / 1000)} s`);
  for (const [connection, provider] of providers) providers.set(connection, withSeeded(provider, world));
  const api = await runApi(runtime, config);
  const { key } = await createKey(runtime, { accountId: stored.bigAccountId, name: 'size', permissions });
  const person = { url: api.url, runtime } as never;
  await newPerson(person, stored.bigAccountId, 'ana@loja.example');
  const tab = openTab(person);
  await tab.signIn('ana@loja.example');
  const desks = [
    await newOperator(person, 'risk'),
    await newOperator(person, 'administrator'),
    await newOperator(person, 'auditor'),
  ];
  runs.clear();
  return {
    sizes,
    runtime,
    adminUrl: server.url,
    dataDir,
    url: api.url,
    stored,
    key,
    tab,
    desks,
    runs,
    counts,
    close: async () => {
      draining.abort();
      await api.stop();
      await runtime.till.idle();
      await net.close();
      await pool.close();
      await bank.stop();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Of each statement the first, the last, the slowest and the one with most values are looked at. */
function keep(runs: Map<string, Run[]>, run: Run): void {
  const of = runs.get(run.statement.name) ?? [];
  const [first = run, slowest = run, largest = run] = of;
  const kept = [
    first,
    (of[3]?.ms ?? 0) > slowest.ms ? (of[3] as Run) : slowest,
    valuesOf(run) > valuesOf(largest) ? run : largest,
    run,
  ];
  runs.set(run.statement.name, kept);
}

const valuesOf = ({ values }: Run): number =>
  values.reduce((sum: number, value) => sum + (Array.isArray(value) ? value.length : 1), 0);

const readable = /^\s*(SELECT|WITH|UPDATE|DELETE)\b/i;

async function measure(stage: Stage, statements: Seen, faults: string[]): Promise<void> {
  const taken = [...stage.runs];
  stage.runs.clear();
  for (const [name, kept] of taken) {
    const seen = statements.get(name) ?? { rows: 0, pages: 0, ms: 0 };
    statements.set(name, seen);
    for (const run of new Set(kept)) {
      seen.ms = Math.max(seen.ms, Math.round(run.ms));
      if (!readable.test(run.statement.text) || run.statement.text.includes('INSERT INTO')) continue;
      try {
        const { rows, pages } = await visited(stage.adminUrl, run);
        seen.rows = Math.max(seen.rows, rows);
        seen.pages = Math.max(seen.pages, pages);
      } catch (error) {
        // A write that was done cannot always be done again: its constraint says so before the plan is known.
        if (error instanceof Error && 'code' in error && String(error.code).startsWith('23')) continue;
        faults.push(`${name} could not be explained: ${error instanceof Error ? error.message : error}`);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ the load

interface Load {
  stop(): Promise<{ answered: number; refused: Map<string, number> }>;
}

/** Two callers beside everything: charges, transfers and look-ups of the big account. */
function startLoad(stage: Stage): Load {
  const result = { answered: 0, refused: new Map<string, number>() };
  let going = true;
  const operationId = stage.stored.bigOperationIds[0];
  async function caller(transfers: boolean): Promise<void> {
    while (going) {
      const requestKey = crypto.randomUUID();
      const made = transfers
        ? await call(
            stage,
            'POST',
            '/pix/transfers',
            {
              amountCents: 1_000,
              pixKey: 'maria@loja.example',
              pixKeyType: 'EMAIL',
              description: '',
              requestKey,
            },
            operationId,
          )
        : await call(
            stage,
            'POST',
            '/pix/charges',
            { amountCents: 1_000, payerName: 'Maria', requestKey },
            operationId,
          );
      const looked = await call(stage, 'GET', `/payments?requestKey=${requestKey}`, undefined, operationId);
      for (const { status, body } of [made, looked]) {
        // Nothing is in the account while nothing is stored.
        if (status < 300 || body.code === 'insufficient_balance') result.answered++;
        else {
          const kind = `${status} ${body.code} ${JSON.stringify(body.details ?? '')}`;
          result.refused.set(kind, (result.refused.get(kind) ?? 0) + 1);
        }
      }
      await clock.sleep(200);
    }
  }
  const callers = Promise.all([caller(false), caller(true)]);
  return {
    stop: async () => {
      going = false;
      await callers;
      return result;
    },
  };
}

async function call(
  stage: Stage,
  method: string,
  path: string,
  body?: object,
  operationId?: string,
  // biome-ignore lint/suspicious/noExplicitAny: answers of any route
): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${stage.url}/api/v1/public${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stage.key}`,
      ...(operationId && { 'x-service-operation': operationId }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : {} };
}

// ----------------------------------------------------------------------------------------------------------- the steps

async function verified({ runtime }: Stage): Promise<string> {
  const idOf = (account: { id: string; number: number }, requestKey: string): string =>
    paymentIdFor(runtime.identity, account, requestKey);
  const { ok, checks } = await verify(runtime, { accountId: null, full: false, idOf });
  const broken = checks.filter((check) => !check.ok);
  if (!ok)
    throw new Error(broken.map(({ number, violations }) => `${number}: ${violations[0]?.fault}`).join('; '));
  return `${checks.length} invariants hold`;
}

/** One that holds the open charges, one with all the journals, and an empty one beside them. */
async function deleted(stage: Stage, empty: number): Promise<string> {
  const [full, open] = stage.stored.bigOperationIds;
  const answers: string[] = [];
  const refused = stage.sizes.settled > 0 ? [full, open] : [];
  for (const id of [...refused, stage.stored.bigOperationIds[empty]]) {
    const began = performance.now();
    const { status, body } = await call(stage, 'DELETE', `/operations/${id}`);
    if (status >= 500) throw new Error(`${status} ${body.code}`);
    answers.push(
      `${status}${body.code ? ` ${body.code}` : ''} in ${Math.round(performance.now() - began)} ms`,
    );
  }
  return answers.join(', ');
}

/** A paid charge of the first list, by every identifier of it; where nothing is stored, identifiers of nothing. */
export async function knownOf(stage: Stage): Promise<Known> {
  const { bigAccountId: accountId, bigOperationIds: operationIds } = stage.stored;
  const [payments, events] = await Promise.all(
    ['/payments?limit=1&status=paid', '/events?limit=1'].map((path) =>
      call(stage, 'GET', path, undefined, operationIds[0]),
    ),
  );
  const payment = payments?.body.payments?.[0];
  const at = clock.now() - 3_600_000;
  return {
    accountId,
    operationIds,
    paymentId: payment?.id ?? crypto.randomUUID(),
    requestKey: payment?.requestKey ?? crypto.randomUUID(),
    endToEnd: payment?.endToEnd ?? `E${'1'.repeat(31)}`,
    amountCents: payment?.amountCents ?? 1,
    paidAt: Date.parse(payment?.settledAt ?? new Date(at).toISOString()),
    day: new Date(at).toISOString().slice(0, 10),
    eventId: events?.body.events?.[0]?.id ?? crypto.randomUUID(),
    refundedId: stage.stored.refundedId ?? crypto.randomUUID(),
    disputedId: stage.stored.disputedId ?? crypto.randomUUID(),
  };
}

async function visitPages(stage: Stage): Promise<string> {
  const known = await knownOf(stage);
  let slowest = { path: '', ms: 0 };
  let pages = 0;
  const failed: string[] = [];
  const visit = async (path: string, open: () => Promise<{ status: number }>): Promise<void> => {
    const began = performance.now();
    const { status } = await open();
    const ms = Math.round(performance.now() - began);
    pages++;
    if (ms > slowest.ms) slowest = { path, ms };
    if (status >= 400 && status !== 404) failed.push(`${path} ${status}`);
  };
  for (const path of callsOf(known))
    for (const one of known.operationIds.slice(0, 2))
      await visit(path, () => call(stage, 'GET', path, undefined, one));
  for (const path of panelPages(known))
    await visit(path, () => stage.tab.call('GET', `/accounts/${known.accountId}${path}`));
  // Each page of the console by the first role that has it.
  for (const path of consolePages(known))
    await visit(path, async () => {
      for (const desk of stage.desks) {
        const answer = await desk.call('GET', path);
        if (answer.status !== 403) return answer;
      }
      return { status: 403 };
    });
  if (failed.length > 0) throw new Error(failed.join(', '));
  return `${pages} pages, the slowest ${slowest.path} in ${slowest.ms} ms`;
}

/** Every file to its end, one after the other. Of the public API and the panel those of the big account, of the console by the first role that has it. */
async function readFiles(stage: Stage): Promise<string> {
  const { url, key, tab, desks, stored } = stage;
  const known = await knownOf(stage);
  const files: FileRead[] = [];
  const read = async (path: string, headers: Record<string, string>): Promise<void> => {
    files.push(await readFile(path, () => fetch(`${url}${path}`, { headers })));
  };
  for (const path of callFiles(known))
    await read(`/api/v1/public${path}`, {
      authorization: `Bearer ${key}`,
      'x-service-operation': known.operationIds[0] ?? '',
    });
  for (const path of panelFiles(known))
    await read(`/panel/api/accounts/${stored.bigAccountId}${path}`, { cookie: tab.cookie() });
  for (const path of consoleFiles(known)) {
    for (const desk of desks) {
      await read(`/operator/api${path}`, { cookie: desk.cookie });
      if (files.at(-1)?.status !== 403) break;
      files.pop();
    }
  }
  return judged(stage.sizes.settled > 0 ? files : files.filter(({ status }) => status !== 404));
}

/** Rows that are kept for 90 days, seen from a clock a hundred days ahead: everything is old, and a few batches of it go. */
async function pruned({ runtime }: Stage): Promise<string> {
  const later = { ...runtime, clock: { ...clock, now: () => clock.now() + 100 * 86_400_000 } };
  const pruning = createPruning(later, pruneDeliveries);
  let batches = 0;
  for (let more = true; more && batches < 20; batches++) more = await pruning.step();
  await stepRetention(later);
  await stepRequestPruning(later);
  return `${batches} batches`;
}

/** The work of a worker within half a minute. */
async function followed({ runtime }: Stage): Promise<string> {
  const due = async (): Promise<number> => {
    const [row] = await runtime.sql.run<{ due: number }>({
      name: 'size_due',
      text: `SELECT count(*) AS due FROM (SELECT FROM intent WHERE connection = 'simulator' AND priority = 5 AND due_at <= now() LIMIT 900000) d`,
    });
    return row?.due ?? 0;
  };
  const before = await due();
  const worker = runWorker(runtime, 'http://127.0.0.1:3000');
  const outgoing = runDeliveries(runtime, () => true);
  runtime.eventsWritten.listen(outgoing.written);
  const began = performance.now();
  while (performance.now() - began < 30_000 && (await due()) > 0) await clock.sleep(1_000);
  await Promise.all([worker.stop(), outgoing.stop()]);
  return `${before} due charges before, ${await due()} after ${Math.round((performance.now() - began) / 1000)} s`;
}

async function reconciled({ runtime }: Stage): Promise<string> {
  await runtime.sql.tx((tx) => pauseAfterRestore(tx, clock.now()));
  const { compared, missing, unexpected, different, restoreEnded } = await reconcile(
    runtime,
    { ...runtime, actor: 'size' },
    { accountId: null, sinceMs: null },
  );
  if (!restoreEnded) throw new Error('the pause did not end');
  return `${compared} compared, ${missing} missing, ${unexpected} unexpected, ${different} different`;
}

async function copied({ runtime, dataDir }: Stage): Promise<string> {
  const file = join(dataDir, 'copy.backup');
  const needs = (folder: string) => ({
    config: readConfig({ DATA_DIR: folder, VINTEM_SECRET: secret, LOG_LEVEL: 'silent' }),
    clock,
    ids: runtime.ids,
    log: runtime.log,
    say: () => {},
  });
  const began = performance.now();
  const { bytes } = await backup(needs(dataDir), file);
  const wrote = Math.round((performance.now() - began) / 1000);
  const other = await newFolder('size-restore');
  try {
    const into = needs(other);
    const again = performance.now();
    const operator = { clock, ids: runtime.ids, actor: 'size' };
    const { rows } = await restore(into, file, (tx, copy) => markRestored(tx, operator, copy));
    return `${Math.round(bytes / 1e6)} MB in ${wrote} s, ${rows} rows restored in ${Math.round((performance.now() - again) / 1000)} s`;
  } finally {
    await rm(other, { recursive: true, force: true });
    await rm(file, { force: true });
  }
}

/** One line for each statement, those that read most first. */
export function tableOf({ statements, steps }: SizeFigures): string {
  const lines = statements.map(
    ({ name, rowsAtNothing, rows, pages, most, msAtNothing, ms }) =>
      `| ${name} | ${rowsAtNothing ?? '-'} | ${rows} | ${most} | ${pages} | ${msAtNothing ?? '-'} | ${ms} |`,
  );
  return [
    '| Step | Seconds | |\n|---|---|---|',
    ...steps.map(({ name, seconds, figures }) => `| ${name} | ${seconds} | ${figures} |`),
    '\n| Statement | Rows at 0 | Rows | At most | Pages | ms at 0 | ms |\n|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

if (import.meta.main) {
  const sizes = numbersGiven({ settled: 2_000_000, open: 2_000_000, operations: 10_000 });
  const figures = await trySizes({ sizes, say: console.log });
  console.log(`\n${tableOf(figures)}`);
  for (const fault of figures.faults) console.log(`FAILED ${fault}`);
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
