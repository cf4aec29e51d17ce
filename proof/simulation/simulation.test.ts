import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invariants } from '../../server/src/ledger/invariants.ts';
import { openDatabase } from './database.ts';
import { openStage, type Stage } from './scenario.ts';
import { type SimulationFigures, simulate, summary } from './simulate.ts';

/** How long sweeps may take; what is left of the seeds is then run without deaths. */
const budgetMs = 100_000;

describe('the service in a world that goes wrong', () => {
  let stage: Stage;
  let figures: SimulationFigures;

  beforeAll(async () => {
    stage = await openStage(await openDatabase());
    figures = await simulate(stage, {
      from: 1,
      seeds: 50,
      budgetMs,
      say: (line) => process.stderr.write(`${line}\n`),
      mostFailures: 5,
      kept: true,
      keepIn: null,
    });
    process.stderr.write(`${summary(figures)}\n`);
  }, 400_000);

  afterAll(() => stage?.close());

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
});
