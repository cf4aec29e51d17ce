import { readFile } from 'node:fs/promises';
import { committedCoverage, interfaceTable, renderCoverage } from '@vintem/testkit/interface-table.ts';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

test('every test that shows a sentence of the interface exists', async () => {
  const missing: string[] = [];
  for (const { part, shownBy } of interfaceTable) {
    for (const [file, names] of Object.entries(shownBy)) {
      const text = await readFile(new URL(file, root), 'utf8');
      for (const name of names) if (!text.includes(name)) missing.push(`${part} ${file} ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

test('every part of the interface from 1 to 9 is there, and each sentence is shown by a test', () => {
  const parts = new Set(interfaceTable.map(({ part }) => part.split('.')[0]));
  expect([...parts].sort()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
  for (const { part, shownBy } of interfaceTable) {
    expect([part, Object.values(shownBy).flat().length > 0]).toEqual([part, true]);
  }
});

test('the page says what the table says', async () => {
  expect(await committedCoverage()).toBe(renderCoverage());
});
