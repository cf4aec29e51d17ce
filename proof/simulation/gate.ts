import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { invariants } from '../../server/src/operate/verify/invariants.ts';
import type { SimulationFigures } from './simulate.ts';

/** The output of one process of the simulation, with the catches that it never entered. */
export interface Part extends SimulationFigures {
  missed: string[];
}

interface Seeds {
  from: number;
  seeds: number;
  /** Over which the service spreads its accounts; the merchant's is not the first. */
  cells?: number;
}

/** Fixed work, the same on every machine: a quarter of what one cell has in each of four processes, and three cells in a fifth; some 2 GB each. */
export const gate: readonly Seeds[] = [
  { from: 1, seeds: 13 },
  { from: 14, seeds: 12 },
  { from: 26, seeds: 12 },
  { from: 38, seeds: 13 },
  { from: 51, seeds: 6, cells: 3 },
];

/**
 * Runs seeds, one process for each part, each with a death at every call of its short stories. Processes of their own, since V8
 * counts catches by offsets that a test runner's transformations move. They end with this process, however it ends.
 */
export const runParts = (parts: readonly Seeds[]): Promise<Part[]> => Promise.all(parts.map(runPart));

async function runPart({ from, seeds, cells = 1 }: Seeds): Promise<Part> {
  const program = fileURLToPath(new URL('simulate.ts', import.meta.url));
  const words = [
    program,
    '--from',
    String(from),
    '--seeds',
    String(seeds),
    '--cells',
    String(cells),
    '--json',
  ];
  // The channel carries nothing: its end shows the process that this one is gone.
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await new Promise((ended) => child.once('close', ended));
  const lines = printed.trimEnd().split('\n');
  process.stderr.write(
    `${lines.filter((line) => /^(simulation|catches|FAILED|invariant|came out)/.test(line)).join('\n')}\n`,
  );
  return JSON.parse(lines.at(-1) ?? '') as Part;
}

/** The marks that a part must show by itself, whatever its seeds are. */
export function faultsOfPart(part: Part): string[] {
  return [
    ...part.failures.map(({ run }) => `seed ${run.seed}: ${JSON.stringify(run)}`),
    ...(part.swept === part.seeds ? [] : [`${part.swept} of ${part.seeds} seeds had a death at every call`]),
    ...(part.undetermined === 0 ? [] : [`${part.undetermined} runs came out differently the second time`]),
  ];
}

/** The marks that the whole gate must show: every fault and transition seen, every invariant examined, every catch entered. */
export function faultsOfGate(parts: readonly Part[]): string[] {
  const [first] = parts;
  const lacking = (of: (part: Part) => readonly string[]): string[] =>
    first ? of(first).filter((one) => parts.every((part) => of(part).includes(one))) : [];
  const unseen = invariants.filter(
    ({ number, notHere }) => notHere === undefined && !parts.some(({ examined }) => examined[number]),
  );
  return [
    ...parts.flatMap(faultsOfPart),
    ...lacking(({ never }) => never).map((what) => `never seen: ${what}`),
    ...lacking(({ missed }) => missed).map((where) => `no story enters the catch at ${where}`),
    ...unseen.map(({ number }) => `invariant ${number} is not examined`),
  ];
}
