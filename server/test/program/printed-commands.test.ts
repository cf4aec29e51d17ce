import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { findCommand, parseWords } from '../../src/main/cli/words.ts';

/** Every `vintem` command that a page for operators prints, in a block or in a sentence, is one that the program has, with the options that it names. */

const folder = new URL('../../../docs/operators/', import.meta.url);
const pages = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort();

/** The commands of a page: whole lines of blocks, and what stands between backticks. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) =>
    code.replace(/\\\n\s*/g, ' ').split('\n'),
  );
  const inline = [...page.replace(/```.*?```/gs, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return (
    [...blocks.flat(), ...inline]
      .flatMap((line) => line.split(/&&|\||;/))
      .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
      .flatMap((line) => /^(?:[A-Z_]+=\S+ )*(?:npx )?vintem (.+)$/.exec(line)?.[1] ?? [])
      // The program itself.
      .filter((line) => line !== '…' && line !== '--help')
  );
}

/** As a shell takes them; `>` and what follows is the shell's own. */
const wordsOf = (line: string): string[] =>
  [...(line.split(/ >| </)[0] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );

/** Null: it can be typed so. */
function faultOf(line: string): string | null {
  const words = wordsOf(line);
  const command = findCommand(words);
  if (!command) return `${line}: no such command`;
  // A sentence may show how a command is used: `[--since T]`, `…`.
  const args = words
    .slice(command.name.split(' ').length)
    .map((word) => word.replace(/^\[|\]$/g, ''))
    .flatMap((word, at, all) =>
      at === all.length - 1 && word === '…' && !all[at - 1]?.startsWith('--') ? [] : word,
    );
  try {
    parseWords({ ...command, operands: ['any'] }, args);
    return null;
  } catch (error) {
    return `${line}: ${(error as Error).message}`;
  }
}

test.each(pages)('Each command that %s prints can be typed as it stands there', async (name) => {
  const page = await readFile(new URL(name, folder), 'utf8');
  expect(commandsOf(page).flatMap((line) => faultOf(line) ?? [])).toEqual([]);
});

test('The pages print commands, and a command that is none is noticed', async () => {
  const all = await Promise.all(pages.map((name) => readFile(new URL(name, folder), 'utf8')));
  expect(all.flatMap(commandsOf).length).toBeGreaterThan(200);
  expect(faultOf('payment shown ID')).toContain('no such command');
  expect(faultOf('payment show ID --loud')).toContain('--loud');
});

test('The table of what goes wrong first names lines of the log, metrics and alerts that the program has', async () => {
  const root = new URL('../../../', import.meta.url);
  const sources = (await readdir(new URL('server/src/', root), { recursive: true })).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const texts = await Promise.all(
    sources.map((name) => readFile(new URL(`server/src/${name}`, root), 'utf8')),
  );
  const program = texts.join('\n');
  const alerts = await readFile(new URL('deploy/prometheus/alerts.yaml', root), 'utf8');
  const [, table = ''] = (await readFile(new URL('first-week.md', folder), 'utf8')).split(
    '### At each provider',
  );
  const rows = (table.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  const lines = cells.flatMap(([, , , log]) => quoted(log)).filter((text) => text.includes(' '));
  const measured = cells.flatMap(([, , , , metric]) => quoted(metric));
  expect(lines.length).toBeGreaterThan(8);
  expect(lines.filter((text) => !program.includes(text))).toEqual([]);
  expect(measured.length).toBeGreaterThan(6);
  expect(
    measured.filter((name) => !alerts.includes(name) && !program.includes(name.replace(/^vintem_/, ''))),
  ).toEqual([]);
});
