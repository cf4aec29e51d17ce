import { manualClock } from '@vintem/testkit/manual-clock.ts';
import { expect, test } from 'vitest';
import { createStandstills } from './standstill.ts';

/** Lets everything that was woken run on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A call that ends when the test says so. */
function callOver(standstills: ReturnType<typeof createStandstills>) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const call = standstills.during(() => promise);
  return { call, end: () => resolve('answered') };
}

const wall = { offsetMs: 0 };
function setUp() {
  const clock = manualClock();
  wall.offsetMs = 0;
  const standstills = createStandstills({
    ...clock,
    machineMs: () => clock.monotonicMs() + wall.offsetMs,
  });
  const pass = async (ms: number, stepMs = 500) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await settle();
    }
  };
  return { clock, standstills, pass };
}

test('a long call of a process that runs is no standstill', async () => {
  const { standstills, pass } = setUp();
  const { call, end } = callOver(standstills);
  await pass(30_000);
  end();
  expect(await call).toEqual({ outcome: 'answered', stoodStill: false });
});

test('a check that is late by less than a second is no standstill', async () => {
  const { standstills, pass } = setUp();
  const { call, end } = callOver(standstills);
  await pass(15_000, 1_500);
  end();
  expect((await call).stoodStill).toBe(false);
});

test('a standstill is reported for every call that it interrupted, and for no call that began after it', async () => {
  const { clock, standstills, pass } = setUp();
  const first = callOver(standstills);
  await pass(1_000);
  const second = callOver(standstills);
  // Both end in the same moment as all other timers do, before a check has run.
  clock.advance(1_600);
  first.end();
  expect((await first.call).stoodStill).toBe(true);
  const third = callOver(standstills);
  await pass(1_000);
  second.end();
  third.end();
  expect((await second.call).stoodStill).toBe(true);
  expect((await third.call).stoodStill).toBe(false);
});

test('a machine that was suspended shows by its wall clock, and a clock that is set back shows nothing', async () => {
  const { standstills, pass } = setUp();
  const suspended = callOver(standstills);
  wall.offsetMs = 60_000;
  await pass(500);
  suspended.end();
  expect((await suspended.call).stoodStill).toBe(true);
  const setBack = callOver(standstills);
  wall.offsetMs = 0;
  await pass(1_000);
  setBack.end();
  expect((await setBack.call).stoodStill).toBe(false);
});

test('time in which no call was under way does not count, and nothing is checked then', async () => {
  const { clock, standstills, pass } = setUp();
  const first = callOver(standstills);
  first.end();
  await first.call;
  expect(clock.sleepers()).toBe(1);
  await pass(500);
  expect(clock.sleepers()).toBe(0);
  clock.advance(60_000);
  const second = callOver(standstills);
  await pass(1_000);
  second.end();
  expect((await second.call).stoodStill).toBe(false);
});

test('a call that throws ends the checks', async () => {
  const { clock, standstills, pass } = setUp();
  const failing = standstills.during(() => {
    throw new Error('not offered');
  });
  await expect(failing).rejects.toThrow('not offered');
  await pass(500);
  expect(clock.sleepers()).toBe(0);
});
