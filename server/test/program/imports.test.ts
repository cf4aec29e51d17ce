import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));
const panel = fileURLToPath(new URL('../../../panel/src/', import.meta.url));

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** `import()`: when it is called, not when the module is loaded. */
  late: boolean;
}

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.(tsx?|js)$/.test(file) && !file.endsWith('.test.ts'));
const files = filesOf(src);
const imports = files.flatMap((from) => importsOf(src, from));

/** Every import of a file of ours, by the lines that import, export from, or import() it. */
function importsOf(folder: string, from: string): Import[] {
  const text = readFileSync(join(folder, from), 'utf8');
  const lines = text.matchAll(
    /^(?:import|export)\s(type\s)?[^;']*?\sfrom\s'(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  );
  return [...lines].map(([, typeOnly, named, dynamic]) => ({
    from,
    to: normalize(join(dirname(from), (named ?? dynamic) as string)).replaceAll('\\', '/'),
    typeOnly: typeOnly !== undefined,
    late: dynamic !== undefined,
  }));
}

/**
 * The folders of `server/src` from the bottom up. An import goes to a lower folder, or stays in its own: there are no exceptions. Folders
 * inside of one of them never need each other in a circle.
 */
const layers = [
  'ports',
  'ground',
  'provider',
  'money',
  'store',
  'kinds',
  'flow',
  'events',
  'jobs',
  'operate',
  'edge',
  'api',
  'panel',
  'payer',
  'console',
  'main',
];

const layerOf = (file: string): number => layers.indexOf(file.split('/')[0] as string);

const named = (list: readonly Import[]): string[] => list.map(({ from, to }) => `${from} → ${to}`);

/** How often a folder imports from another, by `from → to`. */
const arrows = new Map<string, number>();
for (const { from, to } of imports) {
  const arrow = `${dirname(from)} → ${dirname(to)}`;
  if (dirname(from) !== dirname(to)) arrows.set(arrow, (arrows.get(arrow) ?? 0) + 1);
}

/** The circles of a graph, each with the place where it closes. */
function circlesOf(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (at: string, path: readonly string[]): void => {
    if (path.includes(at)) circles.push([...path.slice(path.indexOf(at)), at].join(' → '));
    if (done.has(at) || path.includes(at)) return;
    for (const to of targets.get(at) ?? []) visit(to, [...path, at]);
    done.add(at);
  };
  for (const at of targets.keys()) visit(at, []);
  return circles;
}

describe('imports', () => {
  it('are read from every folder', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
    const known = new Set(files);
    expect(named(imports.filter(({ to }) => !known.has(to)))).toEqual([]);
  });

  it('run downwards, folder by folder', () => {
    expect(named(imports.filter(({ from, to }) => layerOf(to) > layerOf(from)))).toEqual([]);
  });

  it('tie no folders into a knot', () => {
    const targets = new Map<string, string[]>();
    for (const arrow of arrows.keys()) {
      const [from, to] = arrow.split(' → ') as [string, string];
      targets.set(from, [...(targets.get(from) ?? []), to]);
    }
    const graph = [...arrows].sort().map(([arrow, times]) => `${arrow} ${times}`);
    expect(circlesOf(targets), graph.join('\n')).toEqual([]);
  });

  it('of the panel run in no circle, not even one that an import() closes', () => {
    const targets = new Map<string, string[]>();
    for (const { from, to, typeOnly } of filesOf(panel).flatMap((one) => importsOf(panel, one)))
      if (!typeOnly) targets.set(from, [...(targets.get(from) ?? []), to]);
    expect(targets.size).toBeGreaterThan(50);
    expect(circlesOf(targets)).toEqual([]);
  });

  it('of the folder of money reach nothing that touches the world', () => {
    const values = imports.filter(({ from, typeOnly }) => from.startsWith('money/') && !typeOnly);
    const world = ['ports/clock.ts', 'ports/sql.ts', 'ports/net.ts', 'ground/log.ts', 'ground/signal.ts'];
    expect(named(values.filter(({ to }) => world.includes(to)))).toEqual([]);
  });

  it('of the pure core reach nothing that touches the world', () => {
    const pure = [
      ...['money/decide.ts', 'money/journal.ts', 'money/state.ts', 'money/intent.ts', 'money/due.ts'],
      'ground/money.ts',
    ];
    const values = imports.filter(({ from, typeOnly }) => pure.includes(from) && !typeOnly);
    expect(named(values.filter(({ to }) => !pure.includes(to)))).toEqual([]);
  });

  it('of the command builders reach no clock, no log and no connection', () => {
    const builders = [
      'operate/closes/close-chain.ts',
      'operate/closes/close-connection.ts',
      'flow/admission.ts',
      'flow/send-commands.ts',
      'operate/incidents/endings.ts',
      'operate/incidents/resolution.ts',
      'flow/outcome.ts',
      'kinds/reading.ts',
      'kinds/payment/outcome.ts',
      'kinds/cancel/admission.ts',
      'kinds/cancel/end.ts',
      'kinds/cancel/outcome.ts',
      'kinds/refund/admission.ts',
      'kinds/refund/outcome.ts',
      'api/transfers/draft-transitions.ts',
    ];
    expect(builders.filter((file) => !files.includes(file))).toEqual([]);
    const effects = ['ports/clock.ts', 'ports/sql.ts', 'ports/net.ts', 'ground/log.ts', 'ground/signal.ts'];
    expect(named(imports.filter(({ from, to }) => builders.includes(from) && effects.includes(to)))).toEqual(
      [],
    );
  });

  it("leave a till's commands to their builders: no call assembles one", () => {
    const assembled = files.filter((file) =>
      /submit(<[^(]*>)?\(\{/.test(readFileSync(join(src, file), 'utf8')),
    );
    expect(assembled).toEqual([]);
  });

  it("leave a caller's address to one function: nothing else reads `request.ip`", () => {
    const reading = files.filter((file) => {
      const text = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      return /\b(?:request|req)\.ips?\b|\.remoteAddress\b|x-forwarded-for'\]/.test(text);
    });
    // Two read no address: the limiter sees that a header came and warns, the mailbox refuses connections from other machines.
    expect(reading).toEqual(['edge/caller-address.ts', 'edge/rate-limit.ts', 'panel/site/mailbox.ts']);
  });

  it('never go in a circle, types included', () => {
    const targets = new Map<string, string[]>();
    for (const { from, to, late } of imports) {
      if (!late) targets.set(from, [...(targets.get(from) ?? []), to]);
    }
    expect(circlesOf(targets)).toEqual([]);
  });
});

test('the life of a transfer in ARCHITECTURE.md goes through functions that stand where it says', () => {
  const text = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');
  const life = text.slice(text.indexOf('## The life of a transfer'), text.indexOf('To add a provider'));
  const steps = life
    .split('\n')
    .map((line) => line.split('|').slice(2, 4))
    .filter(([, files]) => files?.includes('.ts`'))
    .map(([names = '', files = '']) => ({
      names: [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
      text: [...files.matchAll(/`([\w/.-]+\.ts)`/g)]
        .map(([, file]) => readFileSync(join(src, file as string), 'utf8'))
        .join('\n'),
    }));
  expect(steps.length).toBeGreaterThan(6);
  const gone = steps.flatMap(({ names, text }) =>
    names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)),
  );
  expect(gone).toEqual([]);
});

test('ARCHITECTURE.md is two pages, and names every folder in their order', () => {
  const text = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(1200);
  const table = text.slice(text.indexOf('## The folders'));
  expect([...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)).toEqual(layers);
});
