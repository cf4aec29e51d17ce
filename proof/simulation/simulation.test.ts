import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { invariants } from '../../server/src/ledger/invariants.ts';
import type { SimulationFigures } from './simulate.ts';

type Told = SimulationFigures & { missed: string[] };

/** Half of the work on each of two cores. */
const halves = [
  { from: 1, seeds: 21 },
  { from: 22, seeds: 29 },
];

describe('the service in a world that goes wrong', () => {
  let told: Told[];
  /** What no half has seen. */
  const lacking = (of: (half: Told) => readonly string[]): string[] =>
    of(told[0] as Told).filter((one) => told.every((half) => of(half).includes(one)));

  beforeAll(async () => {
    told = await Promise.all(halves.map(run));
  }, 900_000);

  it('keeps every invariant at every death, in every storm and when the sky clears', () => {
    expect(told.flatMap(({ failures }) => failures)).toEqual([]);
    expect(told.map(({ swept }) => swept)).toEqual(halves.map(({ seeds }) => seeds));
  });

  it('does the same again for the same seed', () => {
    expect(told.map(({ undetermined }) => undetermined)).toEqual([0, 0]);
  });

  it('examines every invariant that rows can show, and the others say what shows them', () => {
    expect(invariants.map(({ number }) => number)).toEqual(Array.from({ length: 48 }, (_, at) => at + 1));
    const coded = invariants.filter(({ notHere }) => notHere === undefined);
    const unseen = coded.filter(({ number }) => !told.some(({ examined }) => examined[number]));
    expect(unseen.map(({ number }) => number)).toEqual([]);
  });

  it('sees every kind of fault, death and transition', () => {
    expect(lacking(({ never }) => never)).toEqual([]);
  });

  it('enters every catch of the money path, but those that are known to be too rare', () => {
    expect(lacking(({ missed }) => missed)).toEqual([]);
  });
});

/** A process of its own: which catches were entered is read from V8, by offsets that a test runner's transformations move. */
async function run({ from, seeds }: { from: number; seeds: number }): Promise<Told> {
  const program = fileURLToPath(new URL('simulate.ts', import.meta.url));
  const words = [program, '--from', String(from), '--seeds', String(seeds), '--json'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await new Promise((ended) => child.once('close', ended));
  const lines = printed.trimEnd().split('\n');
  process.stderr.write(
    `${lines.filter((line) => /^(simulation|catches|FAILED|invariant)/.test(line)).join('\n')}\n`,
  );
  return JSON.parse(lines.at(-1) ?? '') as Told;
}
