import { expect, test } from 'vitest';
import { aloneAfter, atOnce, createRequestTurns } from './request-turns.ts';

/** Turns of the event loop that the test makes. */
function openTurns() {
  const loop: (() => void)[] = [];
  const turns = createRequestTurns((work) => void loop.push(work));
  const begun: string[] = [];
  const note = async (name: string, turn: Promise<void> | null) => {
    await turn;
    begun.push(name);
  };
  return {
    turns,
    begun,
    loop,
    /** Begins and stays under way. */
    ask: (account: string, name: string) => {
      const turn = turns.ofAccount(account);
      if (turn === null) {
        turns.begins(account);
        begun.push(name);
      } else void note(name, turn).then(() => turns.begins(account));
    },
    stranger: (network: string, name: string) => void note(name, turns.ofStranger(network)),
    payer: (account: number, name: string) => void note(name, turns.ofPayer(account)),
    async next() {
      loop.shift()?.();
      for (let n = 0; n < 4; n++) await Promise.resolve();
    },
  };
}

/** One after the other. */
function askInARow(
  { ask, turns, begun }: ReturnType<typeof openTurns>,
  account: string,
  times: number,
): void {
  for (let n = 0; n < times; n++) {
    ask(account, '');
    turns.ends(account);
  }
  begun.length = 0;
}

test('An account that has been alone begins all its requests at once and asks for no turn', () => {
  const opened = openTurns();
  const { ask, begun, loop } = opened;
  askInARow(opened, 'a', aloneAfter);
  for (let n = 0; n < 64; n++) ask('a', `a${n}`);
  expect(begun).toHaveLength(64);
  expect(loop).toHaveLength(0);
});

test.each([
  [
    'of another account',
    ({ ask, turns }: ReturnType<typeof openTurns>) => {
      ask('b', 'b');
      turns.ends('b');
    },
  ],
  ['of a payer', ({ payer }: ReturnType<typeof openTurns>) => payer(7, 'p')],
  ['of a stranger', ({ stranger }: ReturnType<typeof openTurns>) => stranger('192.0.2.1', 's')],
])('It is not alone for a while after a request %s has ended', async (_whose, other) => {
  const opened = openTurns();
  const { ask, begun, loop, next } = opened;
  askInARow(opened, 'a', aloneAfter);
  other(opened);
  while (loop.length > 0) await next();
  begun.length = 0;
  for (let n = 0; n < 64; n++) ask('a', `a${n}`);
  expect(begun).toHaveLength(atOnce);
  expect(loop).toHaveLength(1);
});

test('Many accounts with a few requests each begin them all at once', () => {
  const { ask, begun, loop } = openTurns();
  for (let n = 0; n < 64 * atOnce; n++) ask(`account ${n % 64}`, `${n}`);
  expect(begun).toHaveLength(64 * atOnce);
  expect(loop).toHaveLength(0);
});

test('Beside another account those beyond four begin one in a turn of the loop, accounts one after the other', async () => {
  const { ask, begun, next, loop } = openTurns();
  ask('b', 'b0');
  for (let n = 0; n < 8; n++) ask('a', `a${n}`);
  expect(begun).toEqual(['b0', 'a0', 'a1', 'a2', 'a3']);
  for (let n = 1; n < 6; n++) ask('b', `b${n}`);
  // Three had room; what follows waits behind one of the other account's.
  expect(begun.splice(0)).toEqual(['b0', 'a0', 'a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  await next();
  expect(begun).toEqual(['a4']);
  for (let n = 0; n < 5; n++) await next();
  expect(begun).toEqual(['a4', 'b4', 'a5', 'b5', 'a6', 'a7']);
  expect(loop).toHaveLength(0);
});

test('Requests that have ended make room for the next', () => {
  const { ask, begun, turns } = openTurns();
  ask('b', 'b0');
  for (let n = 0; n < 4; n++) ask('a', `a${n}`);
  for (let n = 0; n < 4; n++) turns.ends('a');
  ask('a', 'a4');
  expect(begun).toEqual(['b0', 'a0', 'a1', 'a2', 'a3', 'a4']);
});

test('An account whose requests wait lets none of them pass the others', async () => {
  const { ask, begun, turns, next } = openTurns();
  ask('b', 'b0');
  for (let n = 0; n < 5; n++) ask('a', `a${n}`);
  turns.ends('a');
  ask('a', 'a5');
  expect(begun.splice(0)).toEqual(['b0', 'a0', 'a1', 'a2', 'a3']);
  await next();
  await next();
  expect(begun).toEqual(['a4', 'a5']);
});

test('Strangers have one turn beside each account and the payers of each, and share it by network', async () => {
  const { ask, stranger, payer, begun, next, loop } = openTurns();
  ask('b', 'b0');
  for (let n = 0; n < 6; n++) ask('a', `a${n}`);
  begun.length = 0;
  for (let n = 0; n < 3; n++) stranger('192.0.2.1', `s${n}`);
  stranger('192.0.2.2', 'other');
  for (let n = 0; n < 3; n++) payer(7, `p${n}`);
  for (let n = 0; n < 9; n++) await next();
  expect(begun).toEqual(['a4', 's0', 'p0', 'a5', 'other', 'p1', 's1', 'p2', 's2']);
  expect(loop).toHaveLength(0);
});

test('Where many accounts have some waiting a turn of the loop begins one for each four of them', async () => {
  const { ask, begun, next, loop } = openTurns();
  for (let n = 0; n < atOnce * 9; n++) ask(`account ${n % 9}`, `${n}`);
  begun.length = 0;
  for (let n = 0; n < 9; n++) ask(`account ${n}`, `w${n}`);
  await next();
  expect(begun.splice(0)).toEqual(['w0', 'w1', 'w2']);
  await next();
  expect(begun.splice(0)).toEqual(['w3', 'w4']);
  for (let n = 0; n < 4; n++) await next();
  expect(begun).toEqual(['w5', 'w6', 'w7', 'w8']);
  expect(loop).toHaveLength(0);
});
