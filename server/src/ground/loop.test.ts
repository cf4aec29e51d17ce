import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../ports/clock.ts';
import { createLog } from './log.ts';
import { createBell, type Loop, quietAfterMs, runLoop, untilTogether } from './loop.ts';

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

test('An idle loop asks whether there is work in place of its step, and makes it once there is or something rang', async () => {
  const bell = createBell();
  const idle = quietAfterMs / 100;
  let asked = 0;
  const steps: number[] = [];
  const rests = await restsOf(
    idle + 5,
    async ({ length }) => {
      steps.push(length);
      return false;
    },
    {
      bell,
      mayHaveWork: async () => {
        asked++;
        // Its second look finds something; during the third one it is woken.
        if (asked === 3) bell.ring();
        return asked === 2;
      },
    },
  );
  expect(rests.slice(0, idle + 2)).toEqual(Array(idle + 2).fill(100));
  // Every rest until it is idle, then what the second look found, then what rang.
  expect(steps).toEqual([...Array(idle).keys(), idle + 1, idle + 3, idle + 4]);
  expect(asked).toBe(3);
});

test('Idle loops with rests of one, two and five seconds end them together, and none rests longer', () => {
  for (const now of [0, 1, 999, 12_345.678]) {
    const ends = [1_000, 2_000, 5_000].map((rest) => now + untilTogether(now, rest));
    for (const [at, rest] of [1_000, 2_000, 5_000].entries()) {
      expect((ends[at] as number) % rest).toBe(0);
      expect((ends[at] as number) - now).toBeLessThanOrEqual(rest + 5);
    }
  }
  // A timer that was early by a fraction of a millisecond is not followed by another one at once.
  expect(untilTogether(1_999.6, 1_000)).toBeCloseTo(1_000.4);
});
