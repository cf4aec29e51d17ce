import { expect, it } from 'vitest';
import { type Database, openDatabase } from '../simulation/database.ts';
import { prelude } from '../simulation/prelude.ts';
import { scryptAtOnce } from '../simulation/scrypt.ts';
import { createService } from '../simulation/service.ts';
import { type CashSetting, searchCash } from './cash.ts';

const withDatabase = async (settings: readonly CashSetting[]) => {
  const scryptBack = scryptAtOnce();
  const db: Database = await openDatabase();
  try {
    await prelude(db, createService(db));
    const found = [];
    for (const setting of settings) found.push(await searchCash(db, setting));
    return found;
  } finally {
    scryptBack();
    await db.close();
  }
};

it('cash of an acquirer ends once in every order of both lists, and the books of both connections are what their accounts hold', async () => {
  const found = await withDatabase([
    { payouts: [500] },
    { payouts: [500, 500], short: true },
    { payouts: [500, 700], short: true },
  ]);
  for (const { violation } of found) expect(violation).toBeNull();
  // So many that a change which leaves steps out is noticed.
  expect(found.map(({ states }) => states)).toEqual([163, 217, 196]);
}, 600_000);

it.each<[string, CashSetting]>([
  [
    'a return that is taken for the payout itself',
    { payouts: [500], planted: { ofAcquirer: (line) => ({ ...line, isReturn: false }) } },
  ],
  [
    'a line of the statement that has another name when it is read again',
    {
      payouts: [500],
      planted: { ofPix: (line, readings) => ({ ...line, reference: `${line.reference}/${readings}` }) },
    },
  ],
  [
    'a payout that is taken for its return',
    { payouts: [500], planted: { ofAcquirer: (line) => ({ ...line, isReturn: true }) } },
  ],
])(
  'finds a planted mistake: %s',
  async (_, setting) => {
    const [found] = await withDatabase([setting]);
    expect(found?.violation).not.toBeNull();
  },
  600_000,
);
