import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../simulation/database.ts';
import { prelude } from '../simulation/prelude.ts';
import { scryptAtOnce } from '../simulation/scrypt.ts';
import { createService } from '../simulation/service.ts';
import { type CashSetting, searchCash } from './cash.ts';

let db: Database;
beforeAll(async () => {
  const scryptBack = scryptAtOnce();
  db = await openDatabase();
  await prelude(db, createService(db));
  scryptBack();
}, 600_000);
afterAll(() => db.close());

it('cash of an acquirer ends once in every order of both lists, and the books of both connections are what their accounts hold', async () => {
  const settings: CashSetting[] = [
    { payouts: [500] },
    { payouts: [500, 500], short: true },
    { payouts: [500, 700], short: true },
  ];
  const states: number[] = [];
  for (const setting of settings) {
    const found = await searchCash(db, setting);
    expect(found.violation).toBeNull();
    states.push(found.states);
  }
  // So many that a change which leaves steps out is noticed.
  expect(states).toEqual([163, 217, 196]);
}, 600_000);

it.each<[string, NonNullable<CashSetting['planted']>]>([
  ['a return that is taken for the payout itself', { ofAcquirer: (line) => ({ ...line, isReturn: false }) }],
  ['a payout that is taken for its return', { ofAcquirer: (line) => ({ ...line, isReturn: true }) }],
  [
    'a line of the statement that has another name when it is read again',
    { ofPix: (line, readings) => ({ ...line, reference: `${line.reference}/${readings}` }) },
  ],
])(
  'finds a planted mistake: %s',
  async (_, planted) => {
    expect((await searchCash(db, { payouts: [500], planted })).violation).not.toBeNull();
  },
  600_000,
);
