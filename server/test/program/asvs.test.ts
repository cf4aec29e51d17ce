import { readFile } from 'node:fs/promises';
import { asvsTable, committedAsvs, countsOf, renderAsvs } from '@vintem/testkit/asvs-table.ts';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

test('every test and every part of a document that shows a requirement exists', async () => {
  const missing: string[] = [];
  for (const { id, verdict } of asvsTable) {
    if (!('met' in verdict)) continue;
    expect([id, Object.values(verdict.met).flat().length > 0]).toEqual([id, true]);
    for (const [file, names] of Object.entries(verdict.met)) {
      const text = await readFile(new URL(file, root), 'utf8').catch(() => '');
      expect([id, file, names.length > 0]).toEqual([id, file, true]);
      for (const name of names) if (!holds(file, text, name)) missing.push(`${id} ${file} ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

/** Of a file of tests: in a title, and not merely somewhere. */
function holds(file: string, text: string, name: string): boolean {
  if (!file.endsWith('.test.ts')) return text.includes(name);
  return text.split('\n').some((line) => {
    const at = line.indexOf(name);
    return at > 0 && name.length > 8 && /['"`]/.test(line.slice(0, at));
  });
}

/** ASVS 5.0.0: how many requirements of levels 1 and 2 each chapter has. */
const perChapter = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7];

test('every requirement of levels 1 and 2 is there, once and in order', () => {
  expect(new Set(asvsTable.map(({ id }) => id)).size).toBe(asvsTable.length);
  const counted = perChapter.map(
    (_, at) => asvsTable.filter(({ id }) => Number(id.split('.')[0]) === at + 1).length,
  );
  expect(counted).toEqual(perChapter);
  const places = asvsTable.map(({ id }) => id.split('.').map(Number));
  const ordered = places.toSorted(([a = 0, b = 0, c = 0], [x = 0, y = 0, z = 0]) => a - x || b - y || c - z);
  expect(places).toEqual(ordered);
});

test('the page says what the table says', async () => {
  expect(await committedAsvs()).toBe(renderAsvs());
  const { met, notApplicable, notMet } = countsOf(asvsTable);
  expect(met + notApplicable + notMet).toBe(asvsTable.length);
});
