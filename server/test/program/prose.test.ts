import { findingsIn } from '@vintem/testkit/prose.ts';
import { describe, expect, test } from 'vitest';

/** The rules of language (`npm run prose`), on sentences that break them and sentences that do not. */

const rulesOf = (path: string, text: string) => findingsIn(path, text).map(({ line, rule }) => [line, rule]);

describe('a page', () => {
  test('with an empty word, a doubled word or unfinished work is found, with its line', () => {
    expect(rulesOf('docs/a.md', 'One.\n\nWe do this in order to pay.')).toEqual([
      [3, 'plain words: "in order to", write "to"'],
    ]);
    expect(rulesOf('docs/a.md', 'It stands in the\nthe table.')).toEqual([]);
    expect(rulesOf('docs/a.md', 'It stands in the the table.')).toEqual([[1, 'a word twice']]);
    expect(rulesOf('docs/a.md', 'TODO: say more')).toEqual([[1, 'unfinished work']]);
  });

  test('is not judged by its code', () => {
    expect(rulesOf('docs/a.md', 'Run `utilize`:\n\n```sh\nleverage the the\n```\n')).toEqual([]);
  });
});

describe('code', () => {
  test('is judged by its comments', () => {
    expect(rulesOf('a.ts', "const utilize = 'obviously';\n/** Obviously right. */")).toEqual([
      [2, 'plain words: "obviously", leave it out'],
    ]);
    expect(rulesOf('a.ts', "call(); // FIXME later\nconst url = 'http://a';")).toEqual([
      [1, 'unfinished work'],
    ]);
  });

  test('has no comment that begins with a clause about its thing', () => {
    const opening = 'a comment that begins with "What" or "Whoever": begin with a noun or a verb';
    expect(rulesOf('a.ts', '/** What a key may do. */')).toEqual([[1, opening]]);
    expect(rulesOf('a.ts', '/**\n * What a key may do.\n */')).toEqual([[2, opening]]);
    expect(rulesOf('a.ts', 'a();\n// What was left.\nb(); // Whatever')).toEqual([[2, opening]]);
    expect(rulesOf('a.ts', '// The rest of a line\n// What stands here continues it.')).toEqual([]);
    expect(rulesOf('a.ts', '/** Somebody is told. */').map(([, rule]) => rule)).toEqual([
      'plain words: "somebody", name who does: "a person", "another process"',
      'plain words: "told", write "reported", "notified" or "shown"',
    ]);
    expect(rulesOf('a.ts', '/** The user `nobody`. */')).toEqual([]);
  });

  test('is judged by the titles of its tests, and SQL by its comments', () => {
    const title = "test('a person is told', () => {});";
    const told = 'plain words: "told", write "reported", "notified" or "shown"';
    expect(rulesOf('a.test.ts', `const a = 1;\n${title}`)).toEqual([[2, told]]);
    expect(rulesOf('a.ts', title)).toEqual([]);
    expect(rulesOf('server/sql/a.sql', 'CREATE TABLE told (\n  -- A person is told.\n);')).toEqual([
      [2, told],
    ]);
  });

  test('has constant log messages, with what changes as fields', () => {
    const text =
      "log.warn({ err }, 'it failed');\nlog.error(\n  { err, name },\n  `${" + 'name} failed`,\n);';
    expect(rulesOf('a.ts', text)).toEqual([[2, 'a log message that is no constant']]);
  });
});

test('Portuguese words have their accents, in the files that are Portuguese', () => {
  expect(rulesOf('panel/src/text/pt.ts', "const a = 'A cobranca não existe';")).toEqual([
    [1, 'an accent is missing: "cobranca", cobrança'],
  ]);
  expect(rulesOf('panel/src/text/pt.ts', "const a = 'A cobrança não existe';")).toEqual([]);
});
