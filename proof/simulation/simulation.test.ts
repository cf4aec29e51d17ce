import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { invariants } from '../../server/src/ledger/invariants.ts';
import type { SimulationFigures } from './simulate.ts';

/** How long sweeps may take; what is left of the seeds is then run without deaths. */
const budgetSeconds = 100;

describe('the service in a world that goes wrong', () => {
  let figures: SimulationFigures & { missed: string[] };

  beforeAll(async () => {
    // A process of its own: which catches were entered is read from V8, by offsets that a test runner's transformations move.
    const program = fileURLToPath(new URL('simulate.ts', import.meta.url));
    const words = [program, '--seeds', '50', '--seconds', String(budgetSeconds), '--json'];
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
    figures = JSON.parse(lines.at(-1) ?? '');
  }, 400_000);

  it('keeps every invariant at every death, in every storm and when the sky clears', () => {
    expect(figures.failures).toEqual([]);
  });

  it('does the same again for the same seed', () => {
    expect(figures.undetermined).toBe(0);
  });

  it('examines every invariant that rows can show, and the others say what shows them', () => {
    expect(invariants.map(({ number }) => number)).toEqual(Array.from({ length: 48 }, (_, at) => at + 1));
    const coded = invariants.filter(({ notHere }) => notHere === undefined);
    expect(coded.filter(({ number }) => !figures.examined[number]).map(({ number }) => number)).toEqual([]);
  });

  it('sees every kind of fault, death and transition', () => {
    expect(figures.never).toEqual([]);
  });

  it('enters every catch of the money path, but those that are known to be too rare', () => {
    expect(figures.missed).toEqual([]);
  });
});
