import {
  chmodSync,
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '@vintem/testkit/free-port.ts';
import { postmasterOf } from '@vintem/testkit/processes.ts';
import pg from 'pg';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { startEmbedded } from '../server/src/store/database/embedded.ts';
import { type Check, checkAnswered } from './checks.ts';
import { databaseCounts, driveLoad, type Measured, textOf } from './drive.ts';
import { measureGrowth, measureMemory } from './growth.ts';
import type { Latencies, Plan } from './load.ts';
import { memoryOf, startPart, startProgram, stopAll } from './processes.ts';
import { aimsOf, type Cost, markdownOf, median, type Row, tableOf } from './report.ts';
import {
  forgetStatements,
  linesOf,
  paymentsOf,
  readStatements,
  type StatementCost,
  startCounting,
  tableOfStatements,
  textOfStatements,
} from './statements.ts';
import { hasPgbench, prepareTpcb, runPgbench, type TpcbPlan } from './tpcb.ts';
import { createCharged, createMerchant, type Merchant, openWorld, targetsOf, type World } from './world.ts';

/** The figures of the README: see README.md beside this. `--quick`: under a minute; `--json FILE`; `--only ROW,ROW`; `--stored N,N`: growth; `--rate N`: lives at N a second; `--statements`. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    markdown: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string' },
    lives: { type: 'string', default: '1024' },
    stored: { type: 'string' },
    sustain: { type: 'string' },
    profile: { type: 'string' },
    statements: { type: 'boolean', default: false },
    rate: { type: 'string' },
  },
});
/** `--only 'lives at' --rate N`: without the peak, of which the other rates are shares. */
const onlyAtRate = values.only === 'lives at';
const stored = values.stored?.split(',').map(Number);
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const measuredMs = 1000 * Number(values.seconds ?? (values.quick ? 2 : 8));
const warmupMs = values.quick ? 500 : 2_000;
/** Before the first row: until the code is compiled that is run a million times, a fifth of the service's CPU is the compiler's. */
const compileMs = values.quick ? 4_000 : 15_000;
const only = values.only?.split(',');
const wants = (row: string): boolean =>
  stored === undefined && (only?.some((name) => row.startsWith(name) || name.startsWith(row)) ?? true);

const dataDir = mkdtempSync(join(tmpdir(), 'vintem-bench-'));
// As root the server of the database runs as another user, who has to pass through.
chmodSync(dataDir, 0o711);
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const amountCents = 1_000;
const enough = 1_000_000_000_000;

const answeredFile = join(dataDir, 'answered');
const livesFile = join(dataDir, 'answered-lives');

async function main(): Promise<void> {
  const place = await openPlace();
  const statements = values.statements ? countStatements(place.server.url) : null;
  const sheet = createSheet(statements?.around);
  if (wants('start')) await measureStarts(sheet);
  const books = await fillBooks(place);
  const parts = await startParts(place);
  const driver = driverOf(place, books, parts);

  if (stored) await measureStored(stored, sheet, place, books, parts, driver);
  else if (only === undefined || only.some((name) => !'lives'.startsWith(name) && !'start'.startsWith(name)))
    await driver.warmUp(books.hot);
  for (let round = 1; stored === undefined && round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    await measureRound(sheet, books, parts, driver);
  }
  const living = wants('lives') ? await measureLives(sheet, place, books, parts, driver) : [];

  sheet.addMeasured();
  const memory = memoryOf(parts.api.pid);
  await parts.api.stop();
  await parts.direct?.stop();
  const { hot, spread, growing } = books;
  const merchants = [hot, ...spread, ...(growing ? [growing] : [])];
  const { url: databaseUrl } = place.server;
  const checks = [
    ...(await checkAnswered(
      { name: 'accepted', databaseUrl, file: answeredFile, merchants },
      place.settings,
    )),
    ...(await checkAnswered(
      { name: 'lives', databaseUrl: place.livesUrl, file: livesFile, merchants: living },
      place.settings,
    )),
  ];
  const machine = await describeMachine(place, books.fsyncMs, memory);
  await place.admin.end();
  await books.world.close();
  await books.livesWorld.close();
  for (const part of [parts.empty, parts.load, ...parts.tpcbClients]) part.child.disconnect();
  await place.server.stop();
  report(machine, sheet.rows, checks);
  for (const table of statements?.tables() ?? []) process.stdout.write(`${table}\n`);
}

type Place = Awaited<ReturnType<typeof openPlace>>;
type Books = Awaited<ReturnType<typeof fillBooks>>;
type Parts = Awaited<ReturnType<typeof startParts>>;
type Driver = ReturnType<typeof driverOf>;
type Sheet = ReturnType<typeof createSheet>;

// -------------------------------------------------------------------------------------------------------- what is there

/** The rows of the report, and what was measured for them. */
function createSheet(
  around: <Result>(name: string, run: () => Promise<Result>) => Promise<Result> = (_, run) => run(),
) {
  const rows: Row[] = [];
  const runs = new Map<string, Measured[]>();
  const add = (name: string, unit: string, values: readonly number[], more: Partial<Row> = {}): void => {
    rows.push({ name, unit, value: median(values), runs: [...values], ...more });
  };
  return {
    rows,
    add,
    last: (name: string): Measured | undefined => runs.get(name)?.at(-1),
    async measure(name: string, run: () => Promise<Measured>): Promise<void> {
      if (!wants(name)) return;
      const result = await around(name, run);
      runs.set(name, [...(runs.get(name) ?? []), result]);
      say(`  ${name}: ${textOf(result)}`);
    },
    /** A row for each name, over its rounds. */
    addMeasured(): void {
      for (const [name, all] of runs) {
        const costs = all.flatMap(({ cost }) => (cost ? [cost] : []));
        const perSecond = all.map((one) => one.perSecond);
        add(name, '/s', perSecond, {
          ...latenciesOf(all),
          ...(costs.length > 0 ? { cost: costs[costs.length >> 1] as Cost } : {}),
        });
        const parts = all.flatMap((one) => (one.parts ? [one.parts] : []));
        if (parts.length === 0) continue;
        add(`${name}, accepted`, '/s', perSecond, latenciesOf(parts.map(({ accepted }) => accepted)));
        add(`${name}, event`, '/s', perSecond, latenciesOf(parts.map(({ event }) => event)));
      }
    },
  };
}

/** The medians over the rounds. */
function latenciesOf(all: readonly Latencies[]): Pick<Row, 'p50' | 'p95' | 'p99' | 'p999'> {
  const of = (part: keyof Latencies): number => median(all.map((one) => one[part]));
  return { p50: of('p50'), p95: of('p95'), p99: of('p99'), p999: of('p999') };
}

/** The time PostgreSQL needs for each statement, in rows whose flushes carry batches of different sizes. */
function countStatements(url: string) {
  const counted = new Map<string, StatementCost[]>();
  const compared = [
    ['hot 1', 'hot 16', 'hot 64'],
    ['lives 10 %', 'lives 50 %', 'lives'],
    [`lives at ${values.rate}`],
  ];
  return {
    async around<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
      await forgetStatements(url);
      const result = await run();
      counted.set(name, await readStatements(url));
      return result;
    },
    tables: (): string[] => [
      ...[...counted].map(
        ([name, costs]) => `${name}, for one payment\n${textOfStatements(costs, paymentsOf(costs), 40)}\n`,
      ),
      ...compared.flatMap((names) => {
        const there = names.filter((name) => counted.has(name));
        if (there.length === 0) return [];
        return [tableOfStatements(there, linesOf(there.map((name) => counted.get(name) ?? [])))];
      }),
    ],
  };
}

async function measureStarts(sheet: Sheet): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vintem-bench-start-'));
  chmodSync(folder, 0o711);
  const first = await timeStart(folder);
  const again = await timeStart(folder);
  rmSync(folder, { recursive: true, force: true });
  sheet.add('start, empty folder', 's', [first]);
  sheet.add('start, existing folder', 's', [again]);
}

/** The database, and the settings of the programs beside it. */
async function openPlace() {
  const open = values.statements ? startCounting : startEmbedded;
  const server = await open({ dataDir, log: createLog('warn'), say });
  const livesUrl = server.url.replace(/[^/]*$/, 'lives');
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('CREATE DATABASE lives');
  const settings = {
    HOST: '127.0.0.1',
    PORT: `${await freePort()}`,
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
  };
  return { server, livesUrl, admin, settings, postmaster: postmasterOf(dataDir) };
}

/** Accounts with money, and the databases of TPC-B. */
async function fillBooks({ server, livesUrl, admin, settings }: Place) {
  const config = readConfig(settings);
  const world = await openWorld(config, server.url);
  const livesWorld = await openWorld(config, livesUrl);
  const hot = await createMerchant(world, 'Hot', 1, enough);
  const spread = await Promise.all(
    Array.from({ length: wants('spread') ? 100 : 1 }, (_, n) =>
      createMerchant(world, `Spread ${n}`, 10, enough),
    ),
  );
  const charged = wants('refunds') ? await createCharged(world, 'Charged', 5_000, 1_000) : null;
  const living = await createMerchant(livesWorld, 'Lives', 10, enough);
  const waiting = wants(slowReceiver)
    ? await createMerchant(livesWorld, 'Lives, slow receiver', 10, enough)
    : null;
  const growing = stored ? await createMerchant(world, 'Growth', 10, enough, 1) : null;
  say('accounts and balances are there');
  const tpcb = new Map<number, string>();
  for (const scale of [1, 50])
    if (wants(`tpcb ${scale}`)) tpcb.set(scale, await prepareTpcb(server.url, scale));
  const fsyncMs = fsyncLatency(dataDir);
  await admin.query('CHECKPOINT');
  say(`prepared; fsync takes ${fsyncMs.toFixed(2)} ms`);
  return { world, livesWorld, hot, spread, charged, living, waiting, growing, tpcb, fsyncMs };
}

/** The row of an endpoint of its own, which answers so late: what is learnt of it must not serve the other rows. */
const slowReceiver = 'lives 100 ms';

const profile: Record<string, string> = values.profile
  ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` }
  : {};

/** The service, what it is compared with, and what asks them. */
async function startParts({ server, settings }: Place) {
  const api = await startProgram(
    ['api'],
    { ...settings, ...profile, TRANSFER_WAIT_MS: '0' },
    'vintem api ready',
  );
  const directPort = await freePort();
  const direct = wants('direct')
    ? await startPart<{ url: string }>('./unbatched.ts', {
        ...settings,
        PORT: `${directPort}`,
        DATABASE_URL: server.url,
        TRANSFER_WAIT_MS: '0',
        LOG_LEVEL: 'error',
      })
    : null;
  const empty = await startPart<{ url: string }>('./empty.ts');
  const load = await startPart<{ url: string }>('./load.ts');
  const tpcbClients = [await startPart('./tpcb.ts'), await startPart('./tpcb.ts')];
  return { api, apiUrl: `http://127.0.0.1:${settings.PORT}`, direct, empty, load, tpcbClients };
}

// ---------------------------------------------------------------------------------------------------------- what is asked

/** Plans of load, and how they are driven. */
function driverOf({ postmaster, admin }: Place, books: Books, { api, apiUrl, direct, empty, load }: Parts) {
  const drive = (plan: Plan, service: number | null, simulator: number | null = null): Promise<Measured> => {
    const postgres = service === null || service === empty.pid ? null : postmaster;
    const database = plan.calls.kind === 'lives' ? 'lives' : 'vintem';
    const count = postgres === null ? null : () => databaseCounts(admin, database);
    return driveLoad(load, plan, { service, postgres, simulator }, count);
  };
  const plan = (calls: Plan['calls'], callers: number, origin = apiUrl): Plan => ({
    origin,
    calls,
    callers,
    connections: callers,
    warmupMs,
    measuredMs,
    answeredFile: calls.kind === 'transfers' && origin !== empty.told.url ? answeredFile : null,
  });
  /** Every kind of request until its code is compiled. What it answers is checked afterwards like everything else. */
  async function warmUp(merchant: Merchant): Promise<void> {
    const targets = targetsOf([merchant]).slice(0, 1);
    const short = { warmupMs: 0, measuredMs: compileMs / 5 };
    await drive({ ...plan(transfers(targets), 64), ...short, measuredMs: (compileMs * 2) / 5 }, api.pid);
    const reads = { kind: 'reads', targets: storedOf(answeredFile, [merchant]) } as const;
    await drive({ ...plan(reads, 64), ...short }, api.pid);
    await drive({ ...plan(transfers(targets), 64, empty.told.url), ...short }, empty.pid);
    await drive({ ...plan(someReads(targets), 64, empty.told.url), ...short }, empty.pid);
    if (direct) await drive({ ...plan(transfers(targets), 64, direct.told.url), ...short }, direct.pid);
    say('warm');
  }
  return { drive, plan, warmUp, hot: targetsOf([books.hot]), spread: targetsOf(books.spread) };
}

async function measureRound(
  { measure, last }: Sheet,
  { hot, spread, charged, tpcb }: Books,
  { api, direct, empty, tpcbClients }: Parts,
  { drive, plan, ...targets }: Driver,
): Promise<void> {
  const onHot = (callers: number) => drive(plan(transfers(targets.hot), callers), api.pid);
  const onSpread = (callers: number) => drive(plan(transfers(targets.spread), callers), api.pid);
  const onDirect = (of: Driver['hot'], callers: number) =>
    drive(plan(transfers(of), callers, direct?.told.url ?? ''), direct?.pid ?? 0);
  await measure('empty POST', () => drive(plan(transfers(targets.hot), 64, empty.told.url), empty.pid));
  await measure('hot 64', () => onHot(64));
  if (charged) {
    const refunds = { kind: 'refunds', targets: charged.targets } as const;
    await measure('refunds 64', () => drive({ ...plan(refunds, 64), answeredFile: null }, api.pid));
  }
  await measure('tpcb 1', () => runTpcb(tpcb, 1, tpcbClients));
  await measure('spread 64', () => onSpread(64));
  if (tpcb.has(50)) await measure('tpcb 50', () => runTpcb(tpcb, 50, tpcbClients));
  await measure('direct 1', () => onDirect(targets.hot, 1));
  await measure('hot 1', () => onHot(1));
  if (!values.quick) {
    await measure('direct 64', () => onDirect(targets.spread, 64));
    await measure('hot 16', () => onHot(16));
    await measure('hot 256', () => onHot(256));
    await measure('spread 256', () => onSpread(256));
  }
  const peak = last('hot 64')?.perSecond;
  if (peak !== undefined) {
    const open = { connections: 256, ratePerSecond: Math.round(peak * 0.7) };
    await measure('open loop 70 %', () => drive({ ...plan(transfers(targets.hot), 64), ...open }, api.pid));
  }
  await measure('empty GET', () => drive(plan(someReads(targets.hot), 64, empty.told.url), empty.pid));
  const statements = { kind: 'statements', targets: targets.hot } as const;
  await measure('statement', () => drive({ ...plan(statements, 64), answeredFile: null }, api.pid));
  await measure('GET payment', () =>
    drive(plan({ kind: 'reads', targets: storedOf(answeredFile, [hot, ...spread]) }, 64), api.pid),
  );
}

/** `--stored`: the same with more and more payments stored. */
async function measureStored(
  counts: readonly number[],
  { rows }: Sheet,
  { server, admin, settings }: Place,
  { world, growing }: Books,
  { api, apiUrl }: Parts,
  { drive, plan, warmUp }: Driver,
): Promise<void> {
  if (!growing) return;
  const needs = {
    world,
    merchant: growing,
    admin,
    databaseUrl: server.url,
    apiUrl,
    servicePid: api.pid,
    settings: { ...settings, DATABASE_URL: server.url },
    drive: (calls: Plan['calls'], measuredMs: number) => drive({ ...plan(calls, 64), measuredMs }, api.pid),
    say,
  };
  await warmUp(growing);
  rows.push(...(await measureGrowth(needs, counts)));
  const sustained = transfers(targetsOf([growing]).slice(0, 1));
  const seconds = Number(values.sustain ?? 60);
  const memory = await measureMemory('transfers', seconds, api.pid, (ms) => needs.drive(sustained, ms), say);
  rows.push(...memory);
}

/** Lives of transfers, from the request to the event that is delivered, in one `vintem start`. @returns whose they were */
async function measureLives(
  { rows, measure, last }: Sheet,
  { livesUrl, settings }: Place,
  { living, waiting, livesWorld }: Books,
  { load }: Parts,
  { drive, plan }: Driver,
): Promise<Merchant[]> {
  const simulatorPort = await freePort();
  const livesPort = await freePort();
  const started = {
    ...settings,
    PORT: `${livesPort}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    DATABASE_URL: livesUrl,
    TRANSFER_WAIT_MS: '0',
  };
  const service = await startProgram(['start'], { ...started, ...profile }, 'vintem ready');
  const url = `http://127.0.0.1:${livesPort}`;
  await register(url, living.key, load.told.url);
  const simulator = childOf(service.pid);
  const lives = (
    warmupMs: number,
    forMs = measuredMs,
    of = living,
    open: Pick<Plan, 'ratePerSecond' | 'connections'> = { connections: 64 },
  ): Promise<Measured> => {
    const calls = { kind: 'lives', targets: targetsOf([of]), amountCents } as const;
    const own = { ...open, warmupMs, measuredMs: forMs, answeredFile: livesFile };
    return drive({ ...plan(calls, Number(values.lives), url), ...own }, service.pid, simulator);
  };
  const inWoovi = values.sustain || !wants('lives woovi') ? null : await livingInWoovi(livesWorld, started);
  if (inWoovi) await register(url, inWoovi.key, load.told.url);
  if (waiting) await register(url, waiting.key, `${load.told.url}/100`);
  for (let round = 1; round <= rounds; round++) {
    const firstMs = round === 1 ? compileMs : 2_000;
    if (!onlyAtRate) await measure('lives', () => lives(firstMs));
    const peak = last('lives')?.perSecond ?? Number.NaN;
    const at = (name: string, ratePerSecond: number): Promise<void> =>
      measure(name, () =>
        lives(onlyAtRate ? firstMs : warmupMs, measuredMs, living, { connections: 256, ratePerSecond }),
      );
    if (!values.sustain && !onlyAtRate) {
      await at('lives 10 %', peak * 0.1);
      await at('lives 50 %', peak * 0.5);
    }
    // Where it is the only row, the program has just started.
    if (values.rate) await at(`lives at ${values.rate}`, Number(values.rate));
    if (waiting) await measure(slowReceiver, () => lives(warmupMs, measuredMs, waiting));
    if (inWoovi) await measure('lives woovi', () => lives(firstMs, measuredMs, inWoovi));
  }
  if (values.sustain) {
    const seconds = Number(values.sustain);
    rows.push(...(await measureMemory('lives', seconds, service.pid, (ms) => lives(0, ms), say)));
  }
  await service.stop();
  return [living, waiting, inWoovi].filter((one) => one !== null);
}

// ------------------------------------------------------------------------------------------------------------- report

async function describeMachine({ admin }: Place, fsyncMs: number, serviceMemoryBytes: number) {
  const versions = (
    await admin.query<{ version: string; fsync: string; commit: string }>(
      `SELECT split_part(version(), ' on ', 1) AS version, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
    )
  ).rows[0];
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? '',
    memoryGb: Math.round(totalmem() / 1e9),
    node: process.version,
    postgres: versions?.version ?? '',
    fsync: versions?.fsync ?? '',
    synchronousCommit: versions?.commit ?? '',
    fsyncMs,
    tpcb: hasPgbench() ? 'pgbench' : 'node, two processes',
    serviceMemoryMb: Math.round(serviceMemoryBytes / 1e6),
    rounds,
    measuredSeconds: measuredMs / 1000,
  };
}

function report(machine: Awaited<ReturnType<typeof describeMachine>>, rows: Row[], checks: Check[]): void {
  const aims = aimsOf(rows);
  process.stdout.write(tableOf({ machine, rows, aims, checks }));
  if (values.markdown) writeFileSync(values.markdown, markdownOf(rows, aims));
  if (values.json)
    writeFileSync(
      values.json,
      `${JSON.stringify({ at: new Date().toISOString(), machine, rows, aims, checks }, null, 2)}\n`,
    );
  if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
}

// -------------------------------------------------------------------------------------------------------------- pieces

const transfers = (targets: ReturnType<typeof targetsOf>): Plan['calls'] => ({
  kind: 'transfers',
  targets,
  amountCents,
});

const someReads = (targets: ReturnType<typeof targetsOf>): Plan['calls'] => ({
  kind: 'reads',
  targets: targets.map((target) => ({ ...target, paymentId: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42' })),
});

/** Payments that were answered before, at most 2,000 of them. */
function storedOf(file: string, merchants: readonly Merchant[]) {
  const keys = new Map(
    merchants.flatMap(({ key, operationIds }) => operationIds.map((id) => [id, key] as const)),
  );
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const step = Math.max(1, Math.floor(lines.length / 2_000));
  return lines
    .filter((_, at) => at % step === 0)
    .map((line) => line.split(' ') as [string, string])
    .map(([paymentId, operationId]) => ({ paymentId, operationId, key: keys.get(operationId) ?? '' }));
}

async function runTpcb(
  databases: ReadonlyMap<number, string>,
  scale: number,
  clients: Awaited<ReturnType<typeof startPart>>[],
): Promise<Measured> {
  const url = databases.get(scale) ?? '';
  const none = {
    count: 0,
    p50: Number.NaN,
    p95: Number.NaN,
    p99: Number.NaN,
    p999: Number.NaN,
    most: Number.NaN,
    parts: null,
    failures: {},
    cost: null,
  };
  if (hasPgbench())
    return { ...none, perSecond: await runPgbench(url, 32, Math.ceil((warmupMs + measuredMs) / 1000)) };
  const counts = await Promise.all(
    clients.map(
      ({ child }) =>
        new Promise<number>((resolve) => {
          child.once('message', (message) => resolve((message as { count: number }).count));
          const plan: TpcbPlan = { url, scale, clients: 32 / clients.length, warmupMs, measuredMs };
          child.send(plan);
        }),
    ),
  );
  return { ...none, perSecond: counts.reduce((sum, count) => sum + count, 0) / (measuredMs / 1000) };
}

async function timeStart(folder: string): Promise<number> {
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const began = performance.now();
  const program = await startProgram(
    ['start'],
    { PORT: `${port}`, SIMULATOR_PORT: `${simulatorPort}`, DATA_DIR: folder, LOG_LEVEL: 'warn' },
    'vintem ready',
  );
  const seconds = (performance.now() - began) / 1000;
  await program.stop();
  return seconds;
}

/** The same merchant in the protocol of another provider. Of those that deliver what became of payouts there is one beside the simulator's own. */
async function livingInWoovi(world: World, env: Record<string, string>): Promise<Merchant> {
  const words = ['connection', 'create', '--name', 'woovi', '--adapter', 'woovi', '--simulator'];
  await (await startProgram(words, env, 'name')).stop();
  return createMerchant(world, 'Lives in Woovi', 10, enough, 10, 'woovi');
}

async function register(url: string, key: string, endpoint: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/public/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: endpoint, events: ['transfer.completed'], requestKey: registration }),
  });
  if (answer.status !== 201) throw new Error(`the endpoint was not registered: ${await answer.text()}`);
}
/** The same in every round: one endpoint. */
const registration = crypto.randomUUID();

/** The simulator of a `start`: its only child, when the database is not its own. */
function childOf(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? null : Number(children.split(' ')[0]);
}

/** The median time of writing 8 kB and having it on disk, in milliseconds. */
function fsyncLatency(folder: string): number {
  const path = join(folder, 'fsync');
  const file = openSync(path, 'w');
  const page = Buffer.alloc(8192, 1);
  const times: number[] = [];
  for (let turn = 0; turn < 200; turn++) {
    const began = performance.now();
    writeSync(file, page, 0, page.length, 0);
    fdatasyncSync(file);
    times.push(performance.now() - began);
  }
  closeSync(file);
  rmSync(path);
  return median(times);
}

try {
  await main();
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
