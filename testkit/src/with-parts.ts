import type { Runtime } from '../../server/src/main/runtime.ts';

/** The same process with other parts in each of its cells. */
export function withParts(runtime: Runtime, partsOf: (cell: Runtime) => Partial<Runtime>): Runtime {
  const { cells } = runtime;
  const made = new Map<Runtime, Runtime>();
  const of = (cell: Runtime): Runtime => {
    const known = made.get(cell) ?? { ...cell, ...partsOf(cell), cells: replaced };
    made.set(cell, known);
    return known;
  };
  const replaced: Runtime['cells'] = {
    ...cells,
    all: () => cells.all().map(of),
    named: (name) => of(cells.named(name)),
    each: (use) => cells.each((cell) => use(of(cell))),
    ofNumbers: async (numbers) =>
      new Map([...(await cells.ofNumbers(numbers))].map(([number, cell]) => [number, of(cell)])),
  };
  return of(runtime);
}
