import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { explore, type Found, type Setting } from './explore.ts';
import { long, planted, quick } from './settings.ts';

/** The result of one exploration, in a line; a counterexample step by step below it. */
export function told(setting: Setting, found: Found): string {
  const faults = Number.isFinite(setting.faults)
    ? `at most ${setting.faults} faults`
    : 'any number of faults';
  const lines = [
    `${setting.name} (${setting.rules.name}; ${faults}): ${found.states.toLocaleString('en')} states, ` +
      `${found.transitions.toLocaleString('en')} steps, depth ${found.depth}, ${found.actions.size} kinds of step, ` +
      `${(found.ms / 1000).toFixed(1)} s, ${found.complete ? 'exhaustive' : 'not complete'}`,
  ];
  if (found.violation) lines.push(`  VIOLATION: ${found.violation.what}`, ...numbered(found.violation.trace));
  if (found.stuck) lines.push(`  NO END from: ${found.stuck.state}`, ...numbered(found.stuck.trace));
  return lines.join('\n');
}

const numbered = (trace: readonly string[]): string[] => trace.map((step, at) => `  ${at + 1}. ${step}`);

export interface SearchFigures {
  explored: number;
  states: number;
  transitions: number;
  failed: string[];
  plantedFound: number;
  planted: number;
}

/** Seven million states, the most of a setting, need 3 GB. */
const memoryMb = 6_144;

/** Explores every setting and the planted mistakes, as many at once as there are processors; calls `say` with each line, in the order of their ends. */
export async function search(
  settings: readonly Setting[],
  say: (line: string) => void,
): Promise<SearchFigures> {
  const figures = {
    explored: 0,
    states: 0,
    transitions: 0,
    failed: [] as string[],
    plantedFound: 0,
    planted: planted.length,
  };
  const left = [...settings, ...planted];
  const exploreInTurn = async (): Promise<void> => {
    const thread = new Worker(new URL('./explore-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    try {
      for (let setting = left.shift(); setting; setting = left.shift()) {
        thread.postMessage(setting.name);
        const [found] = (await once(thread, 'message')) as [Found];
        note(setting, found);
      }
    } finally {
      await thread.terminate();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, exploreInTurn));
  return figures;

  function note(setting: Setting, found: Found): void {
    if (planted.includes(setting)) {
      say(`planted: ${told(setting, found)}`);
      if (found.violation) figures.plantedFound++;
      else figures.failed.push(`planted: ${setting.name}`);
      return;
    }
    say(told(setting, found));
    figures.explored++;
    figures.states += found.states;
    figures.transitions += found.transitions;
    if (found.violation || found.stuck || !found.complete) figures.failed.push(setting.name);
  }
}

if (import.meta.main) {
  const { values: given } = parseArgs({
    options: { long: { type: 'boolean', default: false }, first: { type: 'boolean', default: false } },
  });
  const settings = given.long ? [...quick, ...long] : quick;
  if (given.first) {
    for (const setting of settings) {
      const found = await explore(setting);
      if (!found.violation && !found.stuck) continue;
      console.log(told(setting, found));
      process.exit(1);
    }
    process.exit(0);
  }
  const { failed, ...figures } = await search(settings, console.log);
  console.log(JSON.stringify({ ...figures, failed }));
  process.exitCode = failed.length > 0 ? 1 : 0;
}
