import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { abuse, figuresOf, shapes } from './abuse/abuse.ts';
import { allRounds, tryAlerts } from './alerts/alerts.ts';
import { mutateAll } from './asvs/mutate.ts';
import { backUpCluster } from './citus/backup.ts';
import { tryCitus } from './citus/citus.ts';
import { tryCluster } from './cluster/cluster.ts';
import { tryDefences } from './database/defences.ts';
import { judgePages, tableOf as tableOfPages } from './pages/lighthouse.ts';
import { plantAll } from './planted/plant.ts';
import { copyFolders } from './processes/copies.ts';
import { freezeTill } from './processes/frozen-till.ts';
import { killLoop } from './processes/kill-loop.ts';
import { promoteLagging } from './processes/lagging-standby.ts';
import { tryPgbouncer } from './processes/pgbouncer.ts';
import { restoreRounds } from './processes/restore.ts';
import { rotations } from './processes/rotation.ts';
import { shareCells } from './processes/shares.ts';
import { promoteStandby } from './processes/standby.ts';
import { twoAccounts } from './processes/two-accounts.ts';
import { wentBack } from './processes/went-back.ts';
import { keepPromiseOnProgram } from './sdk/promise.ts';
import { search } from './search/search.ts';
import { long, quick } from './search/settings.ts';
import { openDatabase } from './simulation/database.ts';
import { faultsOfGate, gate, runParts } from './simulation/gate.ts';
import { openStage } from './simulation/scenario.ts';
import { simulate, summary } from './simulation/simulate.ts';
import { tableOf, trySizes } from './size/size.ts';
import { lastTag } from './upgrade/release.ts';
import { tryUpgrade } from './upgrade/upgrade.ts';

/**
 * The long run of the rigs: `npm run proof -- --minutes 40 [--seed N] [--json FILE] [--only TEXT]`; `--only` runs the rigs whose name
 * contains the text. One round of every rig takes its own time, also beyond the minutes where those are few; further rounds and the
 * simulation, on new seeds, share what is left. `--fixed` is a fixed part (`npm run proof:ci`): some rigs,
 * with the same seed and the same work each time. Prints one table; exit code 1 when anything failed, with the line that repeats it.
 */
const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000) % 1_000_000_000) },
    json: { type: 'string' },
    only: { type: 'string' },
    fixed: { type: 'boolean', default: false },
  },
});
/** Rigs that give the same verdict on a busy machine. The gate of the simulation is not among them: it takes some three hours of one core. */
const fixedRigs = [
  'state-space search',
  "the database's own defences",
  'tests of the proof',
  'backup, restore, reconcile',
  'rotation',
  'bad days',
  'bad days over three cells',
];
const minutes = given.fixed ? 1 : Number(given.minutes);
const seed = given.fixed ? 1 : Number(given.seed);
const began = Date.now();
const leftMs = (): number => Math.max(0, began + minutes * 60_000 - Date.now());
const commit = commitOf();

interface Row {
  rig: string;
  result: 'held' | 'FAILED' | 'not run';
  seconds: number;
  figures: string;
  /** Empty when nothing failed. */
  replay: string;
  faults: string[];
  data: unknown;
}
const rows: Row[] = [];

/** One rig: what it throws is a failure as well, and the others still run. */
async function rig<Figures>(
  name: string,
  replay: string,
  work: () => Promise<Figures>,
  told: (figures: Figures) => { figures: string; faults: string[]; notRun?: string | null },
): Promise<void> {
  if (given.only !== undefined && !name.includes(given.only)) return;
  if (given.fixed && !fixedRigs.includes(name)) return;
  console.log(`\n== ${name}`);
  const started = Date.now();
  const row: Row = { rig: name, result: 'held', seconds: 0, figures: '', replay: '', faults: [], data: null };
  try {
    const data = await work();
    const { figures, faults, notRun } = told(data);
    Object.assign(row, { data, figures: notRun ?? figures, faults });
    if (notRun) row.result = 'not run';
  } catch (error) {
    row.faults = [`the rig ended: ${error instanceof Error ? error.message : error}`];
    row.figures = row.faults[0] ?? '';
  }
  if (row.faults.length > 0)
    Object.assign(row, { result: 'FAILED', replay: `git checkout ${commit.split(' ')[0]} && ${replay}` });
  row.seconds = Math.round((Date.now() - started) / 1000);
  rows.push(row);
}

const settings = minutes >= 60 ? [...quick, ...long] : quick;
await rig(
  'state-space search',
  `node proof/search/search.ts${minutes >= 60 ? ' --long' : ''}`,
  () => search(settings, console.log),
  (found) => ({
    figures: `${found.explored} settings, ${found.states} states, ${found.transitions} steps, ${found.plantedFound} of ${found.planted} wrong readings found`,
    faults: found.failed,
  }),
);

await rig(
  "the database's own defences",
  'node proof/database/defences.ts',
  async () => {
    const bare = await openDatabase();
    try {
      return await tryDefences(bare);
    } finally {
      await bare.close();
    }
  },
  (tried) => {
    const undefended = tried.filter(({ fault }) => fault !== null);
    return {
      figures: `${tried.length - undefended.length} of ${tried.length} constraints refuse, and do so alone`,
      faults: undefended.map(({ constraint, fault }) => `${constraint}: ${fault}`),
    };
  },
);

// It takes three hours. Shorter runs have the simulation on new seeds instead, at the end.
const withGate = minutes >= 180 || given.only !== undefined;
await rig(
  'simulation gate',
  'npm run proof -- --only "simulation gate"',
  async () => (withGate ? runParts(gate) : null),
  (parts) =>
    parts === null
      ? { figures: '', faults: [], notRun: 'from 180 minutes on, or by its name' }
      : {
          figures: parts.map((part) => summary(part).replaceAll('\n', '; ')).join('; '),
          faults: faultsOfGate(parts),
        },
);

// All tests of this folder: `npm run test:all` leaves the long ones to this rig. CI has run the others, and the search above is a rig.
const cases = given.fixed
  ? { PROPERTY_RUNS: '5', FUZZ_RUNS: '200' }
  : { PROPERTY_RUNS: '12', FUZZ_RUNS: '500' };
const drawn = { ...cases, PROPERTY_SEED: String(seed) };
const mode = given.fixed ? 'long' : 'proof';
await script(
  'tests of the proof',
  ['node_modules/vitest/vitest.mjs', 'run', 'proof', '--mode', mode],
  null,
  drawn,
);

await script(
  'dialects',
  ['node_modules/vitest/vitest.mjs', 'run', 'proof/dialects'],
  given.only === undefined ? 'among the tests of the proof, or by its name' : null,
);

await script(
  'cards',
  ['node_modules/vitest/vitest.mjs', 'run', 'proof/cards'],
  given.only === undefined ? 'by its name alone: a day takes many minutes' : null,
);

// In proportion: a fifth of the minutes in kill loops (20 s each), a round of each other rig for every ten minutes.
const rounds = Math.max(1, Math.floor(minutes / 10));
const loops = Math.max(3, Math.floor((minutes * 60) / 5 / 20));
await rig(
  'kill loops',
  `node proof/processes/kill-loop.ts --seed ${seed} --loops ${loops} --clients 8`,
  () => killLoop({ seed, loops, clients: 8, say: console.log }),
  (done) => ({
    figures: `${done.loops} faults (${Object.entries(done.kills)
      .map(([how, times]) => `${how} ${times}`)
      .join(
        ', ',
      )}), ${done.calls} calls, ${done.unanswered} unanswered, ${done.acknowledged} acknowledged, ${done.missing} missing`,
    faults: done.faults,
  }),
);
await rig(
  'frozen till',
  `node proof/processes/frozen-till.ts --seed ${seed} --rounds ${rounds}`,
  () => freezeTill({ seed, rounds, say: console.log }),
  (done) => ({
    figures: `${done.freezes} freezes, same operation served after ${done.sameServedAfterMs.join(', ')} ms, ${done.otherAnswered} answers for the other, ${done.otherInSharedFlush} of them in a shared flush, slowest ${done.otherSlowestMs} ms`,
    faults: done.faults,
  }),
);
await rig(
  'standby promoted',
  `node proof/processes/standby.ts --seed ${seed} --rounds ${rounds}`,
  () => promoteStandby({ seed, rounds, clients: 8, say: console.log }),
  (done) => ({
    figures: `${done.promotions} promotions, ${done.acknowledged} acknowledged, ${done.missing} missing, serving after ${done.servingAfterMs.join(', ')} ms`,
    faults: done.faults,
    notRun: done.notRun,
  }),
);
await rig(
  'a standby that lags is promoted',
  `node proof/processes/lagging-standby.ts --seed ${seed} --rounds ${rounds}`,
  () => promoteLagging({ seed, rounds, say: console.log }),
  (done) => ({
    figures: `${done.rounds} promotions, paused after ${done.noticedAfterMs.join(', ')} ms, ${done.lost} payouts lost, ${done.underWay} of them under way, ${done.repeated} repeated, ${done.paidTwice} paid twice`,
    faults: done.faults,
    notRun: done.notRun,
  }),
);
await rig(
  'backup, restore, reconcile',
  `node proof/processes/restore.ts --seed ${seed} --rounds ${rounds}`,
  () => restoreRounds({ seed, rounds, clients: 6, say: console.log }),
  (done) => ({
    figures: `${done.rounds} restores, ${done.acknowledged} acknowledged, ${done.lostInterval} lost with the database, ${done.postedByReconcile} posted by reconcile, ${done.repeated} keys repeated, ${done.paidTwice} paid twice; by card ${done.cards.pages} pages, ${done.cards.lost} of them lost, ${done.cards.approved} approved, ${done.cards.refunds} refunds, ${done.cards.chargebacks} chargebacks, ${done.cards.beforePerson} before a person`,
    faults: done.faults,
  }),
);
await rig(
  'a database that goes back',
  `node proof/processes/went-back.ts --seed ${seed} --rounds ${rounds}`,
  () => wentBack({ seed, rounds, say: console.log }),
  (done) => ({
    figures: `${done.rounds} times back, ${done.lost} payouts lost, ${done.underWay} of them under way, ${done.repeated} repeated, ${done.paidTwice} paid twice`,
    faults: done.faults,
  }),
);
await rig(
  'two accounts at a bank',
  `node proof/processes/two-accounts.ts --seed ${seed} --rounds ${rounds}`,
  () => twoAccounts({ seed, rounds, acts: 40, say: console.log }),
  (done) => ({
    figures: `${done.rounds} rounds, ${Object.values(done.acts).reduce((sum, times) => sum + times, 0)} acts, ${done.restores} restores, ${done.accounts} accounts at banks, ${done.requests} requests, ${done.repeats} repeats, ${done.paidTwice} paid twice`,
    faults: done.faults,
  }),
);
await rig(
  'copied data folders',
  `node proof/processes/copies.ts --seed ${seed} --rounds ${rounds}`,
  () => copyFolders({ seed, rounds, say: console.log }),
  (done) => ({
    figures: `${done.rounds} rounds, ${done.copies} copies, ${done.commands} commands`,
    faults: done.faults,
  }),
);
// Rigs that need more programs than a developer has, and a long time: in long runs, or by their names.
const isLong = minutes >= 60 || given.only !== undefined;
const leftOut = 'from 60 minutes on, or by its name';
await rig(
  'upgrade',
  `node proof/upgrade/upgrade.ts --seed ${seed}`,
  async () => (isLong ? tryUpgrade({ from: lastTag(), seed, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    const waits = Object.entries(done.withoutWritesMs).map(([step, ms]) => `${step} ${ms} ms`);
    return {
      figures: `from ${done.from}, ${done.plan.length} migrations in ${done.migrateMs} ms, ${done.acknowledged} acknowledged, ${done.missing} missing; without writes: ${waits.join('; ')}`,
      faults: done.faults,
    };
  },
);
await rig(
  'pages',
  'node proof/pages/lighthouse.ts',
  async () => (isLong ? judgePages({ rounds: 3, only: '', withTime: false, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    console.log(tableOfPages(done));
    const scores = done.pages.map(
      ({ page, scores: { performance, accessibility, bestPractices }, bytes }) =>
        `${page} ${performance}, ${accessibility}, ${bestPractices}, ${Math.round(bytes / 1024)} KiB`,
    );
    return { figures: scores.join('; '), faults: done.faults, notRun: done.notRun };
  },
);
await script(
  'codes of pages',
  ['node_modules/vitest/vitest.mjs', 'run', 'proof/pages'],
  given.only === undefined ? 'among the tests of the proof, or by its name' : null,
);
await rig(
  'pgbouncer',
  `node proof/processes/pgbouncer.ts --seed ${seed}`,
  async () => (isLong ? tryPgbouncer({ seed, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    const modes = Object.entries(done.modes).map(
      ([mode, { calls, unanswered, acknowledged }]) =>
        `${mode}: ${acknowledged} acknowledged of ${calls} calls, ${unanswered} unanswered`,
    );
    return {
      figures: `${done.version}; ${modes.join('; ')}; ${done.missing} missing`,
      faults: done.faults,
      notRun: done.notRun,
    };
  },
);
await rig(
  'shares',
  `node proof/processes/shares.ts --seed ${seed}`,
  async () => (isLong ? shareCells({ seed, cells: 8, seconds: 20, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    const waits = Object.entries(done.withoutMs).map(([fault, { most }]) => `${fault} ${most} ms`);
    const open = Object.entries(done.connections).map(
      ([name, { most, bound }]) => `${name} ${most} of ${bound}`,
    );
    return {
      figures: `${done.cells} cells, ${done.acknowledged} acknowledged, ${done.missing} missing; a cell without a settled transfer: ${waits.join(', ')}; connections: ${open.join(', ')}`,
      faults: done.faults,
      notRun: done.notRun,
    };
  },
);
await rig(
  'cluster',
  `node proof/cluster/cluster.ts --seed ${seed}`,
  async () => (isLong ? tryCluster({ seed, rounds: 1, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    const waits = Object.entries(done.withoutWritesMs).map(([fault, ms]) => `${fault} ${ms.join(', ')} ms`);
    return {
      figures: `${done.acknowledged} acknowledged, ${done.missing} missing; without writes: ${waits.join('; ')}`,
      faults: done.faults,
      notRun: done.notRun,
    };
  },
);
await rig(
  'citus',
  `node proof/citus/citus.ts --seed ${seed}`,
  () => tryCitus({ seed, seconds: 20, say: console.log }),
  (done) => {
    const costs = Object.entries(done.cost).flatMap(([where, cost]) =>
      cost ? [`${where} ${cost.transferMs.toFixed(2)} ms of CPU a transfer`] : [],
    );
    return {
      figures: `${done.version.split(' on ')[0]}; ${done.acknowledged} acknowledged, ${done.missing} missing; two-phase commits in ${done.transfers} transfers: ${Object.values(done.prepared).join(', ')}; ${costs.join(', ')}; without writes: ${JSON.stringify(done.withoutWritesMs)}`,
      faults: done.faults,
      notRun: done.notRun,
    };
  },
);
await rig(
  'backup of a cluster',
  `node proof/citus/backup.ts --seed ${seed}`,
  () => backUpCluster({ seed, clients: 8, say: console.log }),
  (done) => ({
    figures: `${done.acknowledged} acknowledged, ${done.lost} lost behind the restore point; ${done.posted} posted by reconcile, ${done.paidTwice} paid twice; away for ${done.awaySeconds} s`,
    faults: done.faults,
    notRun: done.notRun,
  }),
);
await script(
  'behaviours on citus',
  ['node_modules/vitest/vitest.mjs', 'run', '--no-file-parallelism', ...behavioursInCells()],
  process.env.CITUS_URL ? null : 'CITUS_URL names no coordinator',
  { TEST_CITUS_URL: process.env.CITUS_URL ?? '', TEST_CELLS: '2' },
);
await rig(
  'alerts',
  'node proof/alerts/alerts.ts',
  async () => (isLong ? tryAlerts({ ...allRounds, say: console.log }) : null),
  (done) => {
    if (done === null) return { figures: '', faults: [], notRun: leftOut };
    const seconds = Object.values(done.firedAfter);
    return {
      figures: `${seconds.length} alerts fired by their faults, after ${Math.min(...seconds)} to ${Math.max(...seconds)} s, and quiet without; ${done.queries} queries of the dashboards have a value`,
      faults: done.faults,
      notRun: done.notRun,
    };
  },
);
const rotationsOfRun = given.fixed ? 1 : rounds + 1;
await rig(
  'rotation',
  `node proof/processes/rotation.ts --seed ${seed} --rotations ${rotationsOfRun}`,
  () => rotations({ seed, rotations: rotationsOfRun, kills: 4, clients: 6, say: console.log }),
  (done) => ({
    figures: `${done.rotations} rotations, ${done.kills} kills, ${done.sealed.join(', ')} values sealed again, ${done.keys} keys work, ${done.calls} calls, ${done.unanswered} unanswered, ${done.acknowledged} acknowledged`,
    faults: done.faults,
  }),
);
await rig(
  'sdk',
  `node proof/sdk/promise.ts --seed ${seed} --transfers 10000`,
  () => keepPromiseOnProgram({ seed, transfers: 10_000, say: console.log }),
  (done) => ({
    figures: `${done.transfers} transfers, ${done.calls} calls, ${done.requests} requests, ${done.requests - done.faulty.none} spoilt, cut at ${done.cut.requests} of ${done.cut.ofRequest} and ${done.cut.answers} of ${done.cut.ofAnswer} bytes, ${done.open} open outcomes repeated, ${done.made} made, ${done.refused} refused, ${done.paidTwice} paid twice`,
    faults: done.faults,
  }),
);
// With the others it takes its two minutes; alone, all that there are.
const abuseMinutes = given.only === undefined ? 2 : minutes;
for (const shape of shapes)
  await rig(
    shape === 'one' ? 'abuse' : 'abuse of the parts behind a proxy',
    `node proof/abuse/abuse.ts --shape ${shape} --minutes ${abuseMinutes}`,
    async () =>
      process.platform === 'linux' ? abuse({ shape, minutes: abuseMinutes, say: console.log }) : null,
    (done) =>
      done === null
        ? { figures: '', faults: [], notRun: 'memory and descriptors are read from Linux' }
        : { figures: figuresOf(done), faults: done.faults },
  );
const mayMount = process.platform === 'linux' && process.getuid?.() === 0;
await script(
  'disk full',
  ['proof/chaos/disk-full.ts'],
  mayMount ? null : 'mounting a small disk needs Linux and root',
);
for (const [name, cells] of [
  ['bad days', '1'],
  ['bad days over three cells', '3'],
] as const)
  await script(
    name,
    [
      'proof/chaos/run.ts',
      '--minutes',
      given.fixed ? '1' : '2',
      '--merchants',
      '3',
      '--cells',
      cells,
      '--seed',
      String(seed),
    ],
    null,
  );
await script('clocks', ['proof/chaos/clocks.ts'], null);
for (const dialect of ['woovi', 'inter'])
  await script(
    `bad days in another protocol: ${dialect}`,
    ['proof/chaos/run.ts', '--minutes', '2', '--dialect', dialect, '--fees', '--seed', String(seed)],
    isLong ? null : leftOut,
  );

// By itself at full size; among the others with the rows that distinguish a plan that reads history from one that reads a page.
const sizes =
  given.only === 'size'
    ? { settled: 2_000_000, open: 2_000_000, operations: 10_000 }
    : { settled: 250_000, open: 100_000, operations: 1_000 };
await rig(
  'size',
  `node proof/size/size.ts --settled ${sizes.settled} --open ${sizes.open} --operations ${sizes.operations}`,
  () => trySizes({ sizes, say: console.log }),
  (done) => {
    console.log(tableOf(done));
    return {
      figures: `${done.statements.length} statements within their limits of rows; ${done.steps.map(({ name, seconds }) => `${name} ${seconds} s`).join(', ')}`,
      faults: done.faults,
    };
  },
);

const asvsMinutes = 20;
await rig(
  'asvs',
  `node proof/asvs/mutate.ts --minutes ${asvsMinutes}`,
  async () =>
    minutes >= 60 || given.only !== undefined
      ? mutateAll({ say: console.log, only: '', withinMs: asvsMinutes * 60_000 })
      : null,
  (mutated) => {
    if (mutated === null) return { figures: '', faults: [], notRun: 'from 60 minutes on, or by its name' };
    const left = mutated.filter(({ verdict }) => verdict !== 'killed');
    return {
      figures: `${mutated.length - left.length} of ${mutated.length} mutations killed`,
      faults: left.map(
        ({ mutation, verdict }) => `${verdict}: ${mutation.ids.join(', ')} in ${mutation.file}`,
      ),
    };
  },
);

const plantedMinutes = 20;
await rig(
  'planted bugs',
  `node proof/planted/plant.ts --minutes ${plantedMinutes}`,
  async () =>
    minutes >= 30 || given.only !== undefined
      ? plantAll({ say: console.log, only: '', from: 0, withinMs: plantedMinutes * 60_000 })
      : null,
  (planted) => {
    if (planted === null) return { figures: '', faults: [], notRun: 'from 30 minutes on, or by its name' };
    const survived = planted.filter(({ found }) => found === null);
    return {
      figures: `${planted.length - survived.length} of ${planted.length} killed`,
      faults: survived.map(({ bug }) => `not killed: ${bug.name}`),
    };
  },
);

await rig(
  'simulation',
  `node proof/simulation/simulate.ts --from ${seed}`,
  async () => {
    const stage = await openStage(await openDatabase());
    try {
      return await simulate(stage, {
        from: seed,
        seeds: 1_000_000,
        cells: 1,
        // The kept seeds and a few new ones in any case.
        budgetMs: Math.max(30_000, leftMs()),
        mostFailures: 5,
        say: console.log,
        kept: true,
        keepIn: new URL('./seeds/', import.meta.url),
        always: {},
      });
    } finally {
      await stage.close();
    }
  },
  (done) => ({
    figures: summary(done).replaceAll('\n', '; '),
    faults: done.failures.map(({ run }) => `seed ${run.seed}: ${JSON.stringify(run)}`),
  }),
);

if (rows.length === 0) throw new Error(`no rig has the name ${given.only}`);
const failed = rows.filter(({ result }) => result === 'FAILED');
console.log(`\n| Rig | Result | Seconds | Figures |\n|---|---|---|---|`);
for (const { rig, result, seconds, figures } of rows)
  console.log(`| ${rig} | ${result} | ${seconds} | ${figures.replaceAll('|', '/')} |`);
console.log(
  `\n${failed.length === 0 ? 'nothing failed' : `${failed.length} rigs failed`}; commit ${commit}, seed ${seed}, ${((Date.now() - began) / 60_000).toFixed(1)} of ${minutes} minutes`,
);
for (const { rig, faults, replay } of failed) {
  for (const fault of faults) console.log(`FAILED ${rig}: ${fault}`);
  console.log(`again: ${replay}`);
}
if (given.json) {
  await mkdir(dirname(resolve(given.json)), { recursive: true });
  await writeFile(given.json, `${JSON.stringify({ commit, seed, minutes, rigs: rows }, null, 2)}\n`);
}
process.exitCode = failed.length > 0 ? 1 : 0;

/** A rig that is a program of its own: exit code 1 when something does not agree. */
async function script(
  name: string,
  words: readonly string[],
  notRun: string | null,
  env: Record<string, string> = {},
): Promise<void> {
  const settings = Object.entries(env).map(([key, value]) => `${key}=${value} `);
  await rig(
    name,
    `${settings.join('')}node ${words.join(' ')}`,
    () =>
      notRun
        ? Promise.resolve({ code: 0, printed: '' })
        : new Promise<{ code: number | null; printed: string }>((done) => {
            const child = spawn(process.execPath, words, {
              cwd: fileURLToPath(new URL('..', import.meta.url)),
              env: { ...process.env, ...env },
              stdio: ['ignore', 'pipe', 'inherit'],
            });
            let printed = '';
            child.stdout.setEncoding('utf8').on('data', (text: string) => {
              printed += text;
              if (given.only !== undefined) process.stdout.write(text);
            });
            child.once('close', (code) => done({ code, printed }));
          }),
    ({ code, printed }) => {
      const lines = stripVTControlCharacters(printed);
      // The lines of vitest that name a failed test: the end of a long output names the last tests only.
      const failed = lines.match(/^\s*×.*$/gm) ?? [];
      return {
        figures: lines.replaceAll(/\s+/g, ' ').slice(-600),
        faults: code === 0 ? [] : [`ended with ${code}`, ...failed.map((line) => line.trim())],
        notRun,
      };
    },
  );
}

/** The files of `npm run test:cells`. */
function behavioursInCells(): string[] {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return scripts['test:cells'].split(' ').filter((word: string) => word.startsWith('server/test/'));
}

function commitOf(): string {
  try {
    const git = (words: string[]) =>
      execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return (
      git(['rev-parse', '--short', 'HEAD']) + (git(['status', '--porcelain']) === '' ? '' : ' (changed)')
    );
  } catch {
    return 'unknown';
  }
}
