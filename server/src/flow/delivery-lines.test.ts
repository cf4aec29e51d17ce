import { expect, test } from 'vitest';
import type { WebhookNews } from '../provider/provider.ts';
import { createShares, lineOf } from './delivery-lines.ts';

const idOf = (account: number, n = 0): string =>
  `${account.toString(16).padStart(8, '0')}${n.toString(16).padStart(24, '0')}`;
const at = 0;
const received = (...txids: (string | null)[]): Pick<WebhookNews, 'received'> => ({
  received: txids.map((txid) => ({ endToEnd: 'E1', amountCents: 1, paidAt: at, txid, returns: [] })),
});
const news = (more: Partial<WebhookNews>): WebhookNews => ({
  ...{ addressed: true, received: [], payouts: [] },
  ...more,
});

test('A delivery stands in the line of the one account that it names, and in the common one where it names none or several', () => {
  expect(lineOf(news(received(idOf(7), idOf(7, 1))))).toBe(7);
  expect(lineOf(news({ ...received(idOf(7)), named: [idOf(7, 2)] }))).toBe(7);
  expect(lineOf(news({ removed: [idOf(0xffffffff)] }))).toBe(0xffffffff);
  expect(lineOf(news({ ...received(idOf(7)), named: [idOf(8)] }))).toBe(0);
  expect(lineOf(news(received(null, 'another program')))).toBe(0);
  expect(lineOf(news({}))).toBe(0);
});

test('An account alone has half of the places, and there is one for each other account', () => {
  const shares = createShares(8);
  const taken = Array.from({ length: 8 }, () => shares.take(1));
  expect(taken.filter((one) => one !== null)).toHaveLength(4);
  expect(Array.from({ length: 3 }, () => shares.take(2)).filter((one) => one !== null)).toHaveLength(2);
  const others = [3, 4].map((owner) => shares.take(owner));
  expect(others).not.toContain(null);
  expect(shares.take(5)).toBeNull();
  for (const leave of [...taken, ...others]) leave?.();
  expect(shares.take(5)).not.toBeNull();
});
