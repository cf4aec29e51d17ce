import {
  chmodSync,
  closeSync,
  createReadStream,
  existsSync,
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
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { finish } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { startEmbedded } from '../server/src/db/embedded.ts';
import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { driveLoad, type Measured, textOf } from './drive.ts';
import { measureGrowth, measureMemory } from './growth.ts';
import type { Plan } from './load.ts';
import { memoryOf, startPart, startProgram, stopAll } from './processes.ts';
import { aimsOf, type Cost, markdownOf, type Row, tableOf } from './report.ts';
import { hasPgbench, prepareTpcb, runPgbench, type TpcbPlan } from './tpcb.ts';
import { createCharged, createMerchant, type Merchant, openWorld, targetsOf } from './world.ts';

/** The figures of the README: see README.md beside this. `--quick`: under a minute; `--json FILE`; `--only ROW,ROW`; `--stored N,N`: growth. */
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
  },
});
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

async function main(): Promise<void> {
  const log = createLog('warn');
  const rows: Row[] = [];
  const add = (name: string, unit: string, runs: readonly number[], more: Partial<Row> = {}): void => {
    rows.push({ name, unit, value: median(runs), runs: [...runs], ...more });
  };

  if (wants('start')) {
    const folder = mkdtempSync(join(tmpdir(), 'vintem-bench-start-'));
    chmodSync(folder, 0o711);
    const first = await timeStart(folder);
    const again = await timeStart(folder);
    rmSync(folder, { recursive: true, force: true });
    add('start, empty folder', 's', [first]);
    add('start, existing folder', 's', [again]);
  }

  const server = await startEmbedded({ dataDir, log, say });
  const livesUrl = server.url.replace(/[^/]*$/, 'lives');
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('CREATE DATABASE lives');
  const port = await freePort();
  const settings = {
    HOST: '127.0.0.1',
    PORT: `${port}`,
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_INSECURE_LOCAL: 'true',
  };
  const config = readConfig({ ...settings, LOG_LEVEL: 'warn' });
  const postmaster = postmasterOf(dataDir);

  // ------------------------------------------------------------------------------------------------------ what is there

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
  const growing = stored ? await createMerchant(world, 'Growth', 10, enough, 1) : null;
  say('accounts and balances are there');
  const tpcb = new Map<number, string>();
  for (const scale of [1, 50])
    if (wants(`tpcb ${scale}`)) tpcb.set(scale, await prepareTpcb(server.url, scale));
  const fsyncMs = fsyncLatency(dataDir);
  await admin.query('CHECKPOINT');
  say(`prepared; fsync takes ${fsyncMs.toFixed(2)} ms`);

  // ------------------------------------------------------------------------------------------------------------- parts

  const profile: Record<string, string> = values.profile
    ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` }
    : {};
  const api = await startProgram(
    ['api'],
    { ...settings, ...profile, TRANSFER_WAIT_MS: '0' },
    'vintem api ready',
  );
  const apiUrl = `http://127.0.0.1:${port}`;
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

  const drive = (plan: Plan, service: number | null, simulator: number | null = null): Promise<Measured> =>
    driveLoad(load, plan, {
      service,
      postgres: service === null || service === empty.pid ? null : postmaster,
      simulator,
    });

  const answeredFile = join(dataDir, 'answered');
  const livesFile = join(dataDir, 'answered-lives');
  const plan = (calls: Plan['calls'], callers: number, origin = apiUrl): Plan => ({
    origin,
    calls,
    callers,
    connections: callers,
    warmupMs,
    measuredMs,
    answeredFile: calls.kind === 'transfers' && origin !== empty.told.url ? answeredFile : null,
  });
  const hotTargets = targetsOf([hot]);
  const spreadTargets = targetsOf(spread);
  const transfers = (targets: typeof hotTargets): Plan['calls'] => ({
    kind: 'transfers',
    targets,
    amountCents,
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

  // ------------------------------------------------------------------------------------------------------------- rounds

  const runs = new Map<string, Measured[]>();
  async function measure(name: string, run: () => Promise<Measured>): Promise<void> {
    if (!wants(name)) return;
    const result = await run();
    runs.set(name, [...(runs.get(name) ?? []), result]);
    say(`  ${name}: ${textOf(result)}`);
  }

  if (growing && stored) {
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
    rows.push(...(await measureGrowth(needs, stored)));
    const sustained = transfers(targetsOf([growing]).slice(0, 1));
    rows.push(
      ...(await measureMemory(
        'transfers',
        Number(values.sustain ?? 60),
        api.pid,
        (ms) => needs.drive(sustained, ms),
        say,
      )),
    );
  } else if (
    only === undefined ||
    only.some((name) => !'lives'.startsWith(name) && !'start'.startsWith(name))
  ) {
    await warmUp(hot);
  }

  for (let round = 1; stored === undefined && round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    await measure('empty POST', () => drive(plan(transfers(hotTargets), 64, empty.told.url), empty.pid));
    await measure('hot 64', () => drive(plan(transfers(hotTargets), 64), api.pid));
    if (charged) {
      const refunds = { kind: 'refunds', targets: charged.targets } as const;
      await measure('refunds 64', () => drive({ ...plan(refunds, 64), answeredFile: null }, api.pid));
    }
    await measure('tpcb 1', () => runTpcb(tpcb, 1, tpcbClients));
    await measure('spread 64', () => drive(plan(transfers(spreadTargets), 64), api.pid));
    if (tpcb.has(50)) await measure('tpcb 50', () => runTpcb(tpcb, 50, tpcbClients));
    await measure('direct 1', () =>
      drive(plan(transfers(hotTargets), 1, direct?.told.url ?? ''), direct?.pid ?? 0),
    );
    await measure('hot 1', () => drive(plan(transfers(hotTargets), 1), api.pid));
    if (!values.quick) {
      await measure('direct 64', () =>
        drive(plan(transfers(spreadTargets), 64, direct?.told.url ?? ''), direct?.pid ?? 0),
      );
      await measure('hot 16', () => drive(plan(transfers(hotTargets), 16), api.pid));
      await measure('hot 256', () => drive(plan(transfers(hotTargets), 256), api.pid));
      await measure('spread 256', () => drive(plan(transfers(spreadTargets), 256), api.pid));
    }
    const peak = runs.get('hot 64')?.at(-1)?.perSecond;
    if (peak !== undefined) {
      await measure('open loop 70 %', () =>
        drive(
          { ...plan(transfers(hotTargets), 64), connections: 256, ratePerSecond: Math.round(peak * 0.7) },
          api.pid,
        ),
      );
    }
    await measure('empty GET', () => drive(plan(someReads(hotTargets), 64, empty.told.url), empty.pid));
    const statements = { kind: 'statements', targets: hotTargets } as const;
    await measure('statement', () => drive({ ...plan(statements, 64), answeredFile: null }, api.pid));
    await measure('GET payment', () =>
      drive(plan({ kind: 'reads', targets: storedOf(answeredFile, [hot, ...spread]) }, 64), api.pid),
    );
  }

  if (wants('lives')) {
    const simulatorPort = await freePort();
    const livesPort = await freePort();
    const whole = await startProgram(
      ['start'],
      {
        ...settings,
        ...profile,
        PORT: `${livesPort}`,
        SIMULATOR_PORT: `${simulatorPort}`,
        DATABASE_URL: livesUrl,
        TRANSFER_WAIT_MS: '0',
      },
      'vintem ready',
    );
    const url = `http://127.0.0.1:${livesPort}`;
    await register(url, living.key, load.told.url);
    const simulator = childOf(whole.pid);
    const lives = (warmupMs: number, forMs = measuredMs): Promise<Measured> =>
      drive(
        {
          ...plan({ kind: 'lives', targets: targetsOf([living]), amountCents }, Number(values.lives), url),
          connections: 64,
          warmupMs,
          measuredMs: forMs,
          answeredFile: livesFile,
        },
        whole.pid,
        simulator,
      );
    for (let round = 1; round <= rounds; round++)
      await measure('lives', () => lives(round === 1 ? compileMs : 2_000));
    if (values.sustain) {
      const seconds = Number(values.sustain);
      rows.push(...(await measureMemory('lives', seconds, whole.pid, (ms) => lives(0, ms), say)));
    }
    await whole.stop();
  }

  for (const [name, all] of runs) {
    const costs = all.flatMap(({ cost }) => (cost ? [cost] : []));
    add(
      name,
      '/s',
      all.map(({ perSecond }) => perSecond),
      {
        p50: median(all.map(({ p50 }) => p50)),
        p95: median(all.map(({ p95 }) => p95)),
        p99: median(all.map(({ p99 }) => p99)),
        ...(costs.length > 0 ? { cost: costs[costs.length >> 1] as Cost } : {}),
      },
    );
  }
  const memory = memoryOf(api.pid);
  await api.stop();
  await direct?.stop();

  // -------------------------------------------------------------------------------------------------------------- check

  const checks: { name: string; ok: boolean; detail: string }[] = [];
  for (const [name, url, file, merchants] of [
    ['accepted', server.url, answeredFile, [hot, ...spread, ...(growing ? [growing] : [])]],
    ['lives', livesUrl, livesFile, [living]],
  ] as const) {
    if (!existsSync(file)) continue;
    const client = new pg.Client({ connectionString: url, options: '-c search_path=vintem' });
    await client.connect();
    const { answered, different, missing } = await comparedWith(client, file);
    checks.push({
      name: `${name}: every answered request is stored`,
      ok: missing === 0 && different === answered,
      detail: `${answered} answered, ${missing} missing`,
    });
    const wrong = await wrongBalances(
      client,
      merchants.flatMap(({ operationIds }) => operationIds),
    );
    checks.push({
      name: `${name}: balances are right`,
      ok: wrong === 0,
      detail: `${wrong} operations wrong`,
    });
    await client.end();
    const verified = await finish(['verify', '--json'], { ...settings, DATABASE_URL: url });
    checks.push({
      name: `${name}: vintem verify`,
      ok: verified.code === 0,
      detail: `exit code ${verified.code}${verified.code === 0 ? '' : ` ${(verified.stdout + verified.stderr).slice(0, 400)}`}`,
    });
  }
  const versions = (
    await admin.query<{ version: string; fsync: string; commit: string }>(
      `SELECT split_part(version(), ' on ', 1) AS version, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
    )
  ).rows[0];
  await admin.end();
  await world.close();
  await livesWorld.close();
  for (const part of [empty, load, ...tpcbClients]) part.child.disconnect();
  await server.stop();

  const machine = {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? '',
    memoryGb: Math.round(totalmem() / 1e9),
    node: process.version,
    postgres: versions?.version ?? '',
    fsync: versions?.fsync ?? '',
    synchronousCommit: versions?.commit ?? '',
    fsyncMs,
    tpcb: hasPgbench() ? 'pgbench' : 'node, two processes',
    serviceMemoryMb: Math.round(memory / 1e6),
    rounds,
    measuredSeconds: measuredMs / 1000,
  };
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
    most: Number.NaN,
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

function postmasterOf(folder: string): number {
  const { cluster } = JSON.parse(readFileSync(join(folder, 'postgres.json'), 'utf8')) as { cluster: string };
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** The simulator of a `start`: its only child, when the database is not its own. */
function childOf(pid: number): number | null {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? null : Number(children.split(' ')[0]);
}

/** What was answered, by a file of payments and their operations, beside what is stored. */
async function comparedWith(
  client: pg.Client,
  file: string,
): Promise<{ answered: number; different: number; missing: number }> {
  // In the database: after an hour there are more of them than fit into a string.
  await client.query('CREATE TEMPORARY TABLE answered (id uuid, operation_id uuid)');
  await pipeline(createReadStream(file), client.query(copyFrom("COPY answered FROM STDIN (DELIMITER ' ')")));
  const { rows } = await client.query<Record<'answered' | 'different' | 'missing', string>>(
    `SELECT count(*) AS answered, count(DISTINCT a.id) AS different, count(*) FILTER (WHERE p.id IS NULL) AS missing
      FROM answered a LEFT JOIN payment p ON p.id = a.id AND p.operation_id = a.operation_id`,
  );
  const [row] = rows;
  if (!row) throw new Error('a count has one row');
  return {
    answered: Number(row.answered),
    different: Number(row.different),
    missing: Number(row.missing),
  };
}

/** Operations whose columns are not what their payments make them. */
async function wrongBalances(client: pg.Client, operationIds: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*) FROM balance b CROSS JOIN LATERAL (SELECT
        coalesce(sum(amount_cents) FILTER (WHERE kind = 'deposit' AND status = 'paid'), 0)
          - coalesce(sum(amount_cents) FILTER (WHERE kind = 'transfer' AND status <> 'cancelled'), 0) AS available,
        coalesce(sum(amount_cents) FILTER (WHERE kind = 'transfer' AND status IN ('unknown', 'pending')), 0) AS reserved
      FROM payment p WHERE p.account_id = b.account_id AND p.operation_id = b.operation_id) s
    WHERE b.operation_id = ANY ($1::uuid[]) AND (b.available <> s.available OR b.reserved <> s.reserved)`,
    [operationIds],
  );
  return Number(rows[0]?.count);
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

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

try {
  await main();
} finally {
  await stopAll();
  rmSync(dataDir, { recursive: true, force: true });
}
