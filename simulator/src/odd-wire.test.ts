import { expect, test } from 'vitest';
import { type Behaviour, defaultBehaviour } from './behaviour.ts';
import { oddAnswer } from './odd-wire.ts';

const listed = (lists: Behaviour['lists'], body: object): unknown => {
  const outcome = { status: 200, type: 'application/json', body: JSON.stringify(body) };
  const answer = oddAnswer(outcome, { ...defaultBehaviour, lists });
  return typeof answer === 'string' ? answer : JSON.parse(answer.body as string);
};
const pix = (...amounts: string[]) => amounts.map((valor) => ({ valor }));

test('The items of a page are odd, or stand in the other order, as the behaviour says', () => {
  const page = { parametros: {}, pix: pix('1.00', '2.00', '3.00') };
  const items = (lists: Behaviour['lists']) => (listed(lists, page) as typeof page).pix;
  expect(items('reversed')).toEqual(pix('3.00', '2.00', '1.00'));
  expect(items('odd-item')).toEqual(pix('R$ 1,00', '2.00', '3.00'));
  expect(items('odd-items')).toEqual(pix('R$ 1,00', 'R$ 2,00', 'R$ 3,00'));
  expect(items('other-amount')).toEqual(pix('1.01', '2.01', '3.01'));
  expect(listed('reversed', { pix: page.pix })).toEqual({ pix: page.pix });
});
