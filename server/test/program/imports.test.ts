import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** `import()`: when it is called, not when the module is loaded. */
  late: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.(ts|js)$/.test(file) && !file.endsWith('.test.ts'),
);
const imports = files.flatMap(importsOf);

/** Every import of a file of ours, by the lines that import, export from, or import() it. */
function importsOf(from: string): Import[] {
  const text = readFileSync(join(src, from), 'utf8');
  const lines = text.matchAll(
    /^(?:import|export)\s(type\s)?[^;']*?\sfrom\s'(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  );
  return [...lines].map(([, typeOnly, named, dynamic]) => ({
    from,
    to: normalize(join(dirname(from), (named ?? dynamic) as string)),
    typeOnly: typeOnly !== undefined,
    late: dynamic !== undefined,
  }));
}

/** The rooms from the bottom up: an import goes down or stays on its floor. */
const floors: readonly (readonly string[])[] = [
  ['ports', 'money.ts', 'signal.ts', 'printable.ts', 'hmac.ts', 'hosts.ts', 'log.ts', 'config.ts', 'mail.ts'],
  ['http', 'db', 'request-log', 'secrets.ts'],
  ['ledger', 'events', 'provider'],
  ['payments', 'request-keys', 'settlement'],
  ['charges', 'transfers', 'operations', 'accounts', 'keys', 'webhooks', 'panel'],
];
const routes = floors.length;
const composition = routes + 1;

const roomOf = (file: string): string => file.split('/')[0] as string;

/** The two servers' lists of routes, and the document that is made from them. */
const registersRoutes = new Set(['http/server.ts', 'http/openapi.ts', 'panel/panel.ts']);

function floorOf(file: string): number {
  if (file.endsWith('/routes.ts') || registersRoutes.has(file)) return routes;
  const floor = floors.findIndex((rooms) => rooms.includes(roomOf(file)));
  if (floor >= 0) return floor;
  // What puts the parts together by hand stands above all of them, at the top of the tree.
  return file.includes('/') ? Number.NaN : composition;
}

/**
 * Where the code departs from the order, each with its reason. Nothing is added here without one, and what is mended is
 * taken out.
 */
const departures: readonly (readonly [from: string, to: string, why: string])[] = [
  ['*', 'runtime.ts', 'the type of what a use case is handed; its values are put together above'],
  ['events/*', 'ledger/till.ts', 'the type of a table that the till writes'],
  ['settlement/*', 'admission/conditions.sql.ts', 'read under the lock of the till, with the payment'],
  ['settlement/*', 'admission/key-states.sql.ts', 'read under the lock of the till, with the payment'],
  ['config.ts', 'ground/quotas.ts', 'the form of a setting, which the limiter owns'],
  ['http/*', 'ground/permissions.ts', 'the names of the permissions, as types'],
  ['charges/create.ts', 'charges/routes.ts', 'the type of a request, taken from its schema'],
  ['transfers/*', 'transfers/routes.ts', 'the type of a request, taken from its schema'],
];

/** These are departures as types alone: nothing of them is run. */
const typesOnly = new Set([
  'runtime.ts',
  'ledger/till.ts',
  'ground/permissions.ts',
  'charges/routes.ts',
  'transfers/routes.ts',
]);

const matches = (pattern: string, file: string): boolean =>
  pattern === '*' || (pattern.endsWith('/*') ? roomOf(file) === roomOf(pattern) : file === pattern);

const departs = ({ from, to, typeOnly }: Import): boolean =>
  departures.some(
    ([here, there]) => matches(here, from) && matches(there, to) && (typeOnly || !typesOnly.has(there)),
  );

const named = (list: readonly Import[]): string[] => list.map(({ from, to }) => `${from} → ${to}`);

describe('imports', () => {
  it('are read from every room', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(files.filter((file) => Number.isNaN(floorOf(file)))).toEqual([]);
    const known = new Set(files);
    expect(named(imports.filter(({ to }) => !known.has(to)))).toEqual([]);
  });

  it('run downwards', () => {
    const upwards = imports.filter(({ from, to }) => floorOf(to) > floorOf(from));
    expect(named(upwards.filter((one) => !departs(one)))).toEqual([]);
  });

  it('never go between ledger, events and provider', () => {
    const trio = floors[2] ?? [];
    const across = imports.filter(
      ({ from, to }) =>
        trio.includes(roomOf(from)) && trio.includes(roomOf(to)) && roomOf(from) !== roomOf(to),
    );
    expect(named(across.filter((one) => !departs(one)))).toEqual([]);
  });

  it('of the provider know nothing of payments, the ledger or the database', () => {
    const allowed = ['provider', 'ports', 'log.ts', 'money.ts'];
    const more = imports.filter(
      ({ from, to }) => roomOf(from) === 'provider' && !allowed.includes(roomOf(to)),
    );
    expect(named(more)).toEqual([]);
  });

  it('of the ports stay in the ports', () => {
    const out = imports.filter(({ from, to }) => roomOf(from) === 'ports' && roomOf(to) !== 'ports');
    expect(named(out)).toEqual([]);
  });

  it('of the pure core reach nothing that touches the world', () => {
    const pure = [
      'ledger/decide.ts',
      'ledger/journal.ts',
      'payments/state.ts',
      'settlement/dispatch/intent.ts',
    ];
    const values = imports.filter(({ from, typeOnly }) => pure.includes(from) && !typeOnly);
    expect(named(values.filter(({ to }) => !pure.includes(to)))).toEqual([]);
  });

  it('never go in a circle', () => {
    const below = Map.groupBy(
      imports.filter(({ typeOnly, late }) => !typeOnly && !late),
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

  it('depart from the order only where it is written down, and what is written down is still so', () => {
    const stale = departures.filter(
      ([here, there]) => !imports.some(({ from, to }) => matches(here, from) && matches(there, to)),
    );
    expect(stale).toEqual([]);
  });
});
