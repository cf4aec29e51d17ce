import { readFile } from 'node:fs/promises';
import { asvsTable, committedAsvs, countsOf, renderAsvs } from '@vintem/testkit/asvs-table.ts';
import { expect, test } from 'vitest';
import { mutations } from '../../../proof/asvs/mutations.ts';

const root = new URL('../../../', import.meta.url);

test('Every test and every part of a document that a requirement names exists', async () => {
  const missing: string[] = [];
  for (const { id, verdict } of asvsTable) {
    if (!('reviewed' in verdict)) continue;
    expect([id, Object.values(verdict.reviewed).flat().length > 0]).toEqual([id, true]);
    for (const [file, names] of Object.entries(verdict.reviewed)) {
      const text = await readFile(new URL(file, root), 'utf8').catch(() => '');
      expect([id, file, names.length > 0]).toEqual([id, file, true]);
      for (const name of names) if (!holds(file, text, name)) missing.push(`${id} ${file} ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

test('Every mistake that shows a requirement applies to the code, names a test that exists, and shows a row', async () => {
  const wrong: string[] = [];
  const shown = new Set(asvsTable.flatMap(({ id, verdict }) => ('shown' in verdict ? [id] : [])));
  for (const { ids, file, line, with: mistake, test: named, title } of mutations) {
    const code = await readFile(new URL(file, root), 'utf8').catch(() => '');
    const text = await readFile(new URL(named, root), 'utf8').catch(() => '');
    if (!code.includes(line) || line === mistake) wrong.push(`${ids} ${file}: ${line}`);
    if (!holds(named, text, title)) wrong.push(`${ids} ${named}: ${title}`);
    for (const id of ids) if (!shown.has(id)) wrong.push(`${id} is not shown in the table`);
  }
  expect(wrong).toEqual([]);
});

/** Of a file of tests: in a title, and not merely somewhere. */
function holds(file: string, text: string, name: string): boolean {
  if (!file.endsWith('.test.ts')) return text.includes(name);
  return text.split('\n').some((line) => {
    const at = line.indexOf(name);
    return at > 0 && /['"`]/.test(line.slice(0, at));
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
  const { shown, reviewed, notApplicable, notMet } = countsOf(asvsTable);
  expect(shown + reviewed + notApplicable + notMet).toBe(asvsTable.length);
});
