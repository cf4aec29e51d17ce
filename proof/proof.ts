import { mkdir, writeFile } from 'node:fs/promises';
import { tryDefences } from './database/defences.ts';
import { killLoop } from './processes/kill-loop.ts';
import { search } from './search/search.ts';
import { long, quick } from './search/settings.ts';
import { openDatabase } from './simulation/database.ts';
import { openStage } from './simulation/scenario.ts';
import { simulate, summary } from './simulation/simulate.ts';

/**
 * The long run of every rig: `npm run proof -- --minutes 20 [--seed N] [--json FILE]`. The state-space search and the
 * database's own defences take what they take; what is left is shared between the simulation, on seeds that nobody has
 * run yet, and the kill loops. Failing seeds are kept and run for ever.
 */
const given = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? undefined : process.argv[at + 1];
};
const minutes = Number(given('minutes') ?? 20);
const seed = Number(given('seed') ?? Math.floor(Date.now() / 1000) % 1_000_000_000);
const began = Date.now();
const leftMs = (): number => Math.max(0, began + minutes * 60_000 - Date.now());
const failed: string[] = [];
const section = (name: string): void => console.log(`\n== ${name}`);

section('state-space search');
const searched = await search(minutes >= 10 ? [...quick, ...long] : quick, console.log);
failed.push(...searched.failed.map((name) => `search: ${name}`));

section("the database's own defences");
const bare = await openDatabase();
const defences = await tryDefences(bare);
await bare.close();
const undefended = defences.filter(({ fault }) => fault !== null);
for (const { constraint, fault } of undefended) failed.push(`database: ${constraint}: ${fault}`);
console.log(
  `${defences.length - undefended.length} of ${defences.length} constraints refuse, and do so alone`,
);

section('real processes');
const loops = Math.max(2, Math.floor(minutes / 2));
const killed = await killLoop({ seed, loops, clients: 8, say: console.log });
failed.push(...killed.faults.map((fault) => `kill loop: ${fault}`));
console.log(JSON.stringify({ ...killed, faults: killed.faults.length }));

section('simulation');
const stage = await openStage(await openDatabase());
const simulated = await simulate(stage, {
  from: seed,
  seeds: 1_000_000,
  budgetMs: leftMs(),
  mostFailures: 5,
  say: console.log,
  kept: true,
  keepIn: new URL('./seeds/', import.meta.url),
});
await stage.close();
failed.push(...simulated.failures.map(({ run }) => `simulation: seed ${run.seed}`));
console.log(summary(simulated));

const file = given('json');
if (file) {
  await mkdir(new URL('.', `file://${process.cwd()}/${file}`), { recursive: true });
  const figures = {
    seed,
    minutes,
    search: searched,
    defences: { tried: defences.length, failed: undefended },
    killed,
    simulation: { ...simulated, failures: simulated.failures.map(({ run }) => run) },
  };
  await writeFile(file, `${JSON.stringify(figures, null, 2)}\n`);
}
section('all together');
for (const one of failed) console.log(`FAILED ${one}`);
console.log(
  `${failed.length === 0 ? 'nothing failed' : `${failed.length} failed`}, seed ${seed}, ${((Date.now() - began) / 60_000).toFixed(1)} min`,
);
process.exitCode = failed.length > 0 ? 1 : 0;
