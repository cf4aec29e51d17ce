import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../ports/clock.ts';
import { createPlaceLines, type Place } from './place-lines.ts';

/** Sleeping ends when the test says so, or by its signal. */
function handClock(): Clock & { pass(ms: number): void } {
  let at = 0;
  const sleepers = new Set<{ untilMs: number; wake(): void }>();
  return {
    now: () => at,
    machineMs: () => at,
    monotonicMs: () => at,
    sleep: (ms, signal) =>
      new Promise((wake) => {
        const one = { untilMs: at + ms, wake };
        sleepers.add(one);
        signal?.addEventListener('abort', () => wake());
        if (signal?.aborted) wake();
      }),
    pass: (ms) => {
      at += ms;
      for (const one of sleepers) if (one.untilMs <= at) one.wake();
    },
  };
}

/** All that was set off is done. */
const settled = () => systemClock.sleep(0);

/** Places as the database keeps them. */
function linesOver(most: number) {
  const clock = handClock();
  const held = new Set<string>();
  const looks: number[] = [];
  let mayFree = true;
  const lines = createPlaceLines(clock, async (_account, ids) => {
    const asked = new Set(ids.slice(0, most));
    looks.push(asked.size);
    for (const id of asked) if (held.size < most) held.add(id);
    return { asked, taken: new Set([...asked].filter((id) => held.has(id))), mayFree };
  });
  const answers: [string, Place][] = [];
  const come = (id: string, untilMs = 6_000) =>
    lines.place('account', id, untilMs).then((place) => answers.push([id, place]));
  return {
    ...{ clock, held, looks, lines, answers, come },
    allMissed: () => {
      mayFree = false;
    },
  };
}

test('Callers that wait get places in the order in which they came, at once when this process gives one back', async () => {
  const { held, lines, answers, come } = linesOver(2);
  for (const id of ['a', 'b', 'c', 'd', 'e']) void come(id);
  await settled();
  expect(answers.map(([id]) => id)).toEqual(['a', 'b']);
  held.delete('b');
  lines.changed('account');
  await settled();
  expect(answers.map(([id]) => id)).toEqual(['a', 'b', 'c']);
});

test('A place that another process gives back is found within 100 ms, by one look for all that wait', async () => {
  const { clock, held, looks, answers, come } = linesOver(2);
  for (const id of ['a', 'b', 'c', 'd']) void come(id);
  await settled();
  held.clear();
  const before = looks.length;
  clock.pass(99);
  await settled();
  expect(looks.length).toBe(before);
  clock.pass(1);
  await settled();
  expect(looks.slice(before)).toEqual([2]);
  expect(answers.map(([, place]) => place)).toEqual(['taken', 'taken', 'taken', 'taken']);
});

test('A caller waits no longer than the time that it has', async () => {
  const { clock, answers, come } = linesOver(1);
  void come('a');
  await settled();
  void come('b', 150);
  await settled();
  for (const ms of [100, 100]) {
    clock.pass(ms);
    await settled();
  }
  expect(answers).toEqual([
    ['a', 'taken'],
    ['b', 'late'],
  ]);
});

test('Once all places are of keys that do not exist, each caller that waits is refused at once', async () => {
  const { lines, answers, come, allMissed } = linesOver(2);
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) void come(id);
  await settled();
  allMissed();
  lines.changed('account');
  await settled();
  expect(answers.slice(2)).toEqual(['c', 'd', 'e', 'f', 'g'].map((id) => [id, 'full']));
});
