import { expect, test } from 'vitest';
import { createTurns, waitingMost } from './turns.ts';

const order = (turns: ReturnType<typeof createTurns<string>>): string[] => {
  const taken: string[] = [];
  for (let call = turns.first(); call !== undefined; call = turns.first()) {
    expect(turns.take()).toBe(call);
    taken.push(call);
  }
  expect(turns.count()).toBe(0);
  return taken;
};

test('Callers take turns, and the calls of each are served in their order', () => {
  const turns = createTurns<string>();
  for (const call of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) turns.add(call[0] as string, call);
  expect(turns.count()).toBe(7);
  expect(order(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4']);
});

test('A caller that comes back waits behind all others once', () => {
  const turns = createTurns<string>();
  for (const call of ['a1', 'a2', 'b1']) turns.add(call[0] as string, call);
  expect(turns.take()).toBe('a1');
  turns.add('c', 'c1');
  turns.add('a', 'a3');
  expect(order(turns)).toEqual(['b1', 'a2', 'c1', 'a3']);
});

test('What is done for everybody has every second turn, and all of them when no caller waits', () => {
  const turns = createTurns<string>();
  for (const call of ['a1', 'a2', 'b1']) turns.add(call[0] as string, call);
  for (const call of ['till', 'poll', 'hook', 'late']) turns.add(null, call);
  expect(order(turns)).toEqual(['till', 'a1', 'poll', 'b1', 'hook', 'a2', 'late']);
});

test('One caller has at most 512 calls waiting, which keeps no other from waiting', () => {
  const turns = createTurns<number>();
  const added = Array.from({ length: waitingMost + 1 }, (_, n) => turns.add('a', n));
  expect(added.indexOf(false)).toBe(waitingMost);
  expect([turns.add('b', 0), turns.add(null, 0), turns.count()]).toEqual([true, true, waitingMost + 2]);
});

test('Calls that are late leave every line, and the turns of the others stay', () => {
  const turns = createTurns<string>();
  for (const call of ['a1', 'a2', 'b1', 'c1']) turns.add(call[0] as string, call);
  for (const call of ['x1', 'x2']) turns.add(null, call);
  expect(turns.takeLate((call) => ['a1', 'b1', 'x1'].includes(call)).sort()).toEqual(['a1', 'b1', 'x1']);
  expect(turns.count()).toBe(3);
  expect(order(turns)).toEqual(['x2', 'a2', 'c1']);
});
