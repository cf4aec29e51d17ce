import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** `import()`: when it is called, not when the module is loaded. */
  late: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.(ts|js)$/.test(file) && !file.endsWith('.test.ts'));
const imports = files.flatMap(importsOf);

/** Every import of a file of ours, by the lines that import, export from, or import() it. */
function importsOf(from: string): Import[] {
  const text = readFileSync(join(src, from), 'utf8');
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

/** The layers from the bottom up: an import goes down or stays in its layer. There are no exceptions. */
const layers: readonly (readonly string[])[] = [
  ['ports', 'ground'],
  ['db', 'http'],
  ['ledger', 'events', 'provider'],
  ['request-log', 'payments', 'request-keys', 'admission', 'settlement'],
  [
    'charges',
    'transfers',
    'refunds',
    'operations',
    'accounts',
    'connections',
    'keys',
    'webhooks',
    'disputes',
    'statement',
    'closes',
    'test-mode',
    'panel',
  ],
  ['routes'],
  ['compose'],
  ['cli'],
];

/** Files that mount the routes of every module stand above all modules. */
const mountsRoutes = new Set(['api/server.ts', 'api/public-api.ts', 'api/openapi.ts', 'main/panel.ts']);

const moduleOf = (file: string): string => file.split('/')[0] as string;

function layerOf(file: string): number {
  const module = file.endsWith('/routes.ts') || mountsRoutes.has(file) ? 'routes' : moduleOf(file);
  const layer = layers.findIndex((modules) => modules.includes(module));
  return layer < 0 ? Number.NaN : layer;
}

const named = (list: readonly Import[]): string[] => list.map(({ from, to }) => `${from} → ${to}`);

describe('imports', () => {
  it('are read from every module', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(files.filter((file) => Number.isNaN(layerOf(file)))).toEqual([]);
    const known = new Set(files);
    expect(named(imports.filter(({ to }) => !known.has(to)))).toEqual([]);
  });

  it('run downwards', () => {
    expect(named(imports.filter(({ from, to }) => layerOf(to) > layerOf(from)))).toEqual([]);
  });

  it('never go between ledger, events and provider', () => {
    const trio = ['ledger', 'events', 'provider'];
    const across = imports.filter(
      ({ from, to }) =>
        trio.includes(moduleOf(from)) && trio.includes(moduleOf(to)) && moduleOf(from) !== moduleOf(to),
    );
    expect(named(across)).toEqual([]);
  });

  it('of the ledger know nothing of HTTP', () => {
    const toHttp = imports.filter(
      ({ from, to }) =>
        moduleOf(from) === 'ledger' && !['ledger', 'db', 'ground', 'ports'].includes(moduleOf(to)),
    );
    expect(named(toHttp)).toEqual([]);
  });

  it('of the provider know nothing of payments, the ledger or the database', () => {
    const allowed = ['provider', 'ports', 'ground'];
    const more = imports.filter(
      ({ from, to }) => moduleOf(from) === 'provider' && !allowed.includes(moduleOf(to)),
    );
    expect(named(more)).toEqual([]);
  });

  it('of the ports stay in the ports', () => {
    const out = imports.filter(({ from, to }) => moduleOf(from) === 'ports' && moduleOf(to) !== 'ports');
    expect(named(out)).toEqual([]);
  });

  it('of the pure core reach nothing that touches the world', () => {
    const pure = ['money/decide.ts', 'money/journal.ts', 'money/state.ts', 'money/intent.ts'];
    const values = imports.filter(({ from, typeOnly }) => pure.includes(from) && !typeOnly);
    expect(named(values.filter(({ to }) => !pure.includes(to)))).toEqual([]);
  });

  it('of the command builders reach no clock, no log and no connection', () => {
    const builders = [
      'operate/closes/close-chain.ts',
      'operate/closes/close-connection.ts',
      'flow/admission.ts',
      'flow/refund-admission.ts',
      'flow/send-commands.ts',
      'operate/incidents/endings.ts',
      'operate/incidents/resolution.ts',
      'flow/outcome-command.ts',
      'flow/refund-outcome.ts',
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
    const below = Map.groupBy(
      imports.filter(({ late }) => !late),
      ({ from }) => from,
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (done.has(file) || path.includes(file)) return;
      for (const { to } of below.get(file) ?? []) visit(to, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });
});

test('the walks of ARCHITECTURE.md go through functions that stand where it says', () => {
  const text = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');
  const walks = text.slice(text.indexOf('### Four walks'), text.indexOf('`simulator/` is a provider'));
  const steps = [...walks.matchAll(/((?:`\w+`(?:, then )?)+) in `([\w/.-]+\.ts)`/g)];
  const named = steps.flatMap(([, names = '', file = '']) =>
    [...names.matchAll(/\w+(?=`)/g)].map(([name]) => ({ name, file })),
  );
  expect(named.length).toBeGreaterThan(20);
  const gone = named.filter(
    ({ name, file }) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(src, file), 'utf8')),
  );
  expect(gone).toEqual([]);
});
