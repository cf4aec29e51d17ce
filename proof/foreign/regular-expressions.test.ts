import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import { checkSync } from 'recheck';
import { expect, test } from 'vitest';
import { printable } from '../../server/src/ground/printable.ts';
import { documentOfConsole } from '../../server/src/main/console-contract.ts';
import { panelDocument } from '../../server/src/main/panel-contract.ts';

/**
 * A regular expression that backtracks lets one request stop the process: 7.5 kB took 12 s in a password once. So every expression of the
 * service and the simulator, and every pattern of the two API documents, needs a number of steps that grows no faster than its
 * input. recheck decides this on the automaton of the expression: it measures no time. What it cannot decide (a back-reference) fails too.
 */
const root = new URL('../../', import.meta.url);

interface Found {
  source: string;
  flags: string;
  at: string;
}

/** Built from text at run time; each of these is checked by its source. */
const builtAtRunTime: readonly string[] = [
  // The patterns of the schemas, which stand in the API documents.
  'server/src/edge/validation.ts',
  // A pattern of the API document.
  'server/src/money/metadata.ts',
  // `printable`.
  'server/src/ground/printable.ts',
];

const isLinear = (source: string, flags: string): boolean => {
  // `safe`: at most linear.
  return checkSync(source, flags, { checker: 'automaton', timeout: null }).status === 'safe';
};

async function expressionsOf(folder: string): Promise<{ literals: Found[]; built: string[] }> {
  const literals: Found[] = [];
  const built: string[] = [];
  const names = await readdir(new URL(folder, root), { recursive: true });
  for (const name of names.sort()) {
    if (!/\.[jt]s$/.test(name) || name.endsWith('.test.ts')) continue;
    const file = folder + name;
    const text = await readFile(new URL(file, root), 'utf8');
    const script = name.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    const tree = parse(script, { ecmaVersion: 'latest', sourceType: 'module', locations: true });
    visit(tree, (node) => {
      if (node.regex) {
        const { pattern, flags } = node.regex;
        literals.push({ source: pattern, flags, at: `${file}:${node.loc?.start.line}` });
      }
      if (/^(?:New|Call)Expression$/.test(node.type) && node.callee?.name === 'RegExp') built.push(file);
    });
  }
  return { literals, built };
}

type Visited = Node & { regex?: { pattern: string; flags: string }; callee?: { name?: string } };

function visit(value: unknown, see: (node: Visited) => void): void {
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return;
  if (!Array.isArray(value) && typeof (value as Visited).type === 'string') see(value as Visited);
  for (const inner of Object.values(value)) visit(inner, see);
}

function patternsOf(value: unknown, at: string): Found[] {
  if (typeof value !== 'object' || value === null) return [];
  const { pattern } = value as { pattern?: unknown };
  const own = typeof pattern === 'string' ? [{ source: pattern, flags: 'u', at }] : [];
  return [...own, ...Object.values(value).flatMap((inner) => patternsOf(inner, at))];
}

test('the check finds what backtracks', () => {
  for (const [source, flags] of [
    ['[\\d\\W_]+$', 'u'],
    ['^(a+)+$', ''],
    ['^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$', ''],
    ['^(.{1,4})\\1+.{0,3}$', 'su'],
  ] as const) {
    expect([source, isLinear(source, flags)]).toEqual([source, false]);
  }
});

test.for(['server/src/', 'simulator/src/'])(
  'no regular expression of %s needs more than linear steps',
  async (folder) => {
    const { literals, built } = await expressionsOf(folder);
    expect(literals.length).toBeGreaterThan(10);
    expect(literals.filter(({ source, flags }) => !isLinear(source, flags))).toEqual([]);
    expect(built.filter((file) => !builtAtRunTime.includes(file))).toEqual([]);
  },
);

test('no pattern of the API documents needs more than linear steps', async () => {
  const found: Found[] = [{ source: printable, flags: 'u', at: 'printable' }];
  const documents = {
    'contract/openapi.json': await readFile(new URL('contract/openapi.json', root), 'utf8'),
    'the panel’s document': await panelDocument(),
    'the console’s document': await documentOfConsole(),
  };
  for (const [name, text] of Object.entries(documents)) found.push(...patternsOf(JSON.parse(text), name));
  const different = new Map(found.map((one) => [one.source, one]));
  expect([...different.values()].filter(({ source, flags }) => !isLinear(source, flags))).toEqual([]);
});
