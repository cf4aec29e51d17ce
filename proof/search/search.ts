import { parseArgs } from 'node:util';
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

/** Explores every setting, then the planted mistakes; calls `say` with each line. */
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
  for (const setting of settings) {
    const found = await explore(setting);
    say(told(setting, found));
    figures.explored++;
    figures.states += found.states;
    figures.transitions += found.transitions;
    if (found.violation || found.stuck || !found.complete) figures.failed.push(setting.name);
  }
  for (const setting of planted) {
    const found = await explore(setting);
    say(`planted: ${told(setting, found)}`);
    if (found.violation) figures.plantedFound++;
    else figures.failed.push(`planted: ${setting.name}`);
  }
  return figures;
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
