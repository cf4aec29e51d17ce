import { readFile } from 'node:fs/promises';
import { quoted, tableRows } from '@vintem/testkit/outside.ts';
import { describe, expect, test } from 'vitest';
import { commands } from '../../src/main/cli/commands.ts';

const root = new URL('../../../', import.meta.url);

describe('the page of the outside', () => {
  test('names settings with the defaults that the page of settings has', async () => {
    const settings = await readFile(new URL('docs/operators/settings.md', root), 'utf8');
    const rows = settings.split('\n').filter((line) => line.startsWith('| `'));
    const documented = new Map(
      rows.flatMap((row) => {
        const [, names = '', defaults = ''] = row.split(/(?<!\\)\|/);
        const values = defaults.split(',').map((value) => value.replaceAll('`', '').trim());
        return quoted(names).map((name, at) => [name, values[at] ?? values[0] ?? ''] as const);
      }),
    );
    const listed = tableRows('Name').flatMap(([names = '', defaults = '']) => {
      const values = defaults.split(',').map((value) => value.replaceAll('`', '').trim());
      return quoted(names).map((name, at) => ({ name, standard: values[at] ?? values[0] ?? '' }));
    });
    expect(listed.length).toBeGreaterThan(25);
    for (const { name, standard } of listed) expect([name, documented.get(name)]).toEqual([name, standard]);
  });

  test('names commands that exist, with options that they take', () => {
    const listed = tableRows('Command').flatMap(([cell = '']) =>
      quoted(cell).filter((text) => !text.startsWith('npm ')),
    );
    expect(listed.length).toBeGreaterThan(35);
    let before = '';
    for (const text of listed) {
      const found = commandOf(text) ?? commandOf(`${before} ${text}`);
      expect([text, found?.name]).toEqual([text, expect.any(String)]);
      before = found?.name.split(' ')[0] ?? '';
      const options = [...text.matchAll(/--([a-z-]+)/g)].map(([, name]) => name as string);
      const unknown = options.filter((name) => !(name in (found?.options ?? {})) && name !== 'json');
      expect([text, unknown]).toEqual([text, []]);
    }
  });
});

/** `hold place --operation ID …` begins with the name of the command; `show N` of a row about connections continues the one before. */
const commandOf = (text: string) =>
  commands
    .filter(({ name }) => text === name || text.startsWith(`${name} `))
    .sort((a, b) => b.name.length - a.name.length)[0];
