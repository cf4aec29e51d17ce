import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../ports/clock.ts';
import { createLog } from './log.ts';
import { createBell, type Loop, quietAfterMs, runLoop } from './loop.ts';

const log = createLog('silent');

/** Runs a loop whose clock moves by each rest at once. @returns its rests in milliseconds, as many as `most` */
async function restsOf(
  most: number,
  step: (rests: readonly number[]) => Promise<boolean>,
  given: Partial<Loop> = {},
): Promise<number[]> {
  const stopping = new AbortController();
  const rests: number[] = [];
  let nowMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    sleep: async (ms, signal) => {
      // A ring before the rest cuts it.
      const restedMs = signal?.aborted ? 0 : ms;
      nowMs += restedMs;
      rests.push(restedMs);
      if (rests.length >= most) stopping.abort();
    },
  };
  const loop = { name: 'test', restMs: () => 100, ...given, step: () => step(rests) };
  await runLoop({ clock, log, stopping: stopping.signal }, loop);
  return rests;
}

test('A loop that found something looks again at once, and one that found nothing rests', async () => {
  let found = 3;
  expect(await restsOf(2, async () => found-- > 0)).toEqual([100, 100]);
  expect(found).toBe(-2);
});

test('A loop becomes quiet only after nothing happened for ten seconds, and what stirs it ends that', async () => {
  const stirred = createBell();
  const quiet = { restMs: 1_000, stirred };
  const idle = quietAfterMs / 100;
  const rests = await restsOf(
    idle + 4,
    async ({ length }) => {
      if (length === idle + 2) stirred.ring();
      return false;
    },
    { quiet },
  );
  expect(rests.slice(0, idle)).toEqual(Array(idle).fill(100));
  // Two quiet rests; then it stirs during a step, and the loop looks as often as before.
  expect(rests.slice(idle)).toEqual([1_000, 1_000, 100, 100]);
});

test('What stirs a loop that is not quiet does not cut its rests: only its own bell does', async () => {
  const [stirred, bell] = [createBell(), createBell()];
  const rests = await restsOf(
    4,
    async ({ length }) => {
      stirred.ring();
      if (length === 2) bell.ring();
      return false;
    },
    { bell, quiet: { restMs: 1_000, stirred } },
  );
  expect(rests).toEqual([100, 100, 0, 100]);
});

test('A loop whose steps fail rests longer each time up to ten seconds, whatever rings, and then as before', async () => {
  const bell = createBell();
  let steps = 0;
  const rests = await restsOf(
    10,
    async () => {
      bell.ring();
      if (++steps <= 8) throw new Error('no database');
      return false;
    },
    { bell },
  );
  expect(rests).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 0, 0]);
});
