import { expect, it } from 'vitest';
import { openDatabase } from '../simulation/database.ts';
import { tryDefences } from './defences.ts';

it('every constraint of the money tables refuses what it is there to refuse, and does so alone', async () => {
  const db = await openDatabase();
  const defences = await tryDefences(db);
  await db.close();
  expect(defences.filter(({ fault }) => fault !== null)).toEqual([]);
  expect(defences.length).toBeGreaterThanOrEqual(60);
});
