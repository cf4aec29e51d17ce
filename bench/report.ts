/** The measurements as a table for people, and against the aims. */
export interface Row {
  name: string;
  unit: string;
  /** The median of `runs`. */
  value: number;
  runs: number[];
  p50?: number;
  p95?: number;
  p99?: number;
  p999?: number;
  cost?: Cost;
}

export interface Cost {
  /** CPU time for one answer, by process. */
  microsecondsEach: Record<string, number>;
  databaseEach?: DatabaseEach;
}

/** The database's work for one answer. */
export interface DatabaseEach {
  transactions: number;
  walBytes: number;
  /** Pages that were written whole, as they were changed for the first time after a checkpoint (`wal_fpi`). */
  fullPages: number;
}

export interface Aim {
  name: string;
  is: number;
  aim: number;
  /** `least`: at least; `most`: at most. */
  kind: 'least' | 'most';
  unit: string;
  reached: boolean;
}

/**
 * The cost of a life to the load generator and the receiver on the machine for which the aims were set, in µs. Their work for a life is the same everywhere,
 * so CPU times times this by their own are what that machine would show.
 */
const loadOfLife = 75;

export function aimsOf(rows: readonly Row[]): Aim[] {
  const value = (name: string): number | undefined => rows.find((row) => row.name === name)?.value;
  const aims: Aim[] = [];
  const add = (name: string, is: number | undefined, kind: Aim['kind'], aim: number, unit = '×'): void => {
    if (is === undefined || !Number.isFinite(is)) return;
    aims.push({ name, is, aim, kind, unit, reached: kind === 'least' ? is >= aim : is <= aim });
  };
  const ratio = (one: string, other: string): number | undefined => {
    const [above, below] = [value(one), value(other)];
    return above === undefined || below === undefined ? undefined : above / below;
  };
  const cpuOf = (name: string): Record<string, number> =>
    rows.find((row) => row.name === name)?.cost?.microsecondsEach ?? {};
  const serviceOf = (name: string): number => cpuOf(name).service ?? Number.NaN;
  const ofLife = (name: string): Row | undefined => rows.find((row) => row.name === name);
  const speed = loadOfLife / (cpuOf('lives').load ?? Number.NaN);
  const lifeOf = (name: string): number => speed * (serviceOf(name) + (cpuOf(name).postgres ?? Number.NaN));
  add('hot 64 / TPC-B scale 1', ratio('hot 64', 'tpcb 1'), 'least', 3);
  add('spread 64 / TPC-B scale 50', ratio('spread 64', 'tpcb 50'), 'least', 1.2);
  add('a life at the peak, normalised', lifeOf('lives'), 'most', 530, 'µs');
  add('a life at 50 % of the peak, normalised', lifeOf('lives 50 %'), 'most', 1_500, 'µs');
  add('a life at 10 % of the peak, normalised', lifeOf('lives 10 %'), 'most', 1_500, 'µs');
  add('event delivered at 10 %, p50', ofLife('lives 10 %, event')?.p50, 'most', 15, 'ms');
  add('event delivered at 10 %, p99', ofLife('lives 10 %, event')?.p99, 'most', 60, 'ms');
  add('log of a life', ofLife('lives')?.cost?.databaseEach?.walBytes, 'most', 3_000, 'B');
  add('events to a receiver that takes 100 ms', value('lives 100 ms'), 'least', 500, '/s');
  add("the service's CPU, lives woovi / lives", serviceOf('lives woovi') / serviceOf('lives'), 'most', 1.5);
  add('one caller / direct path', ratio('hot 1', 'direct 1'), 'least', 0.9);
  add('GET payment / empty GET', ratio('GET payment', 'empty GET'), 'least', 0.45);
  add('start, empty folder', value('start, empty folder'), 'most', 2, 's');
  add('start, existing folder', value('start, existing folder'), 'most', 1, 's');
  const empty = rows.find(({ name }) => name === 'hot 64, 0 stored');
  for (const row of rows) {
    const stored = /^hot 64, ([1-9]\d*) stored$/.exec(row.name)?.[1];
    if (!empty || stored === undefined) continue;
    add(`hot 64 with ${stored} stored / with none`, row.value / empty.value, 'least', 1);
    add(`its p99 / with none`, (row.p99 ?? Number.NaN) / (empty.p99 ?? Number.NaN), 'most', 1.2);
  }
  return aims;
}

export function tableOf(report: {
  machine: Record<string, string | number>;
  rows: readonly Row[];
  aims: readonly Aim[];
  checks: readonly { name: string; ok: boolean; detail: string }[];
}): string {
  const { machine, rows, aims, checks } = report;
  const parts = ['service', 'postgres', 'simulator', 'load'];
  return [
    '',
    ...Object.entries(machine).map(([name, value]) => `${name}: ${value}`),
    '',
    ...columns([
      [
        'row',
        'median',
        'runs',
        'p50 ms',
        'p95 ms',
        'p99 ms',
        'p99.9 ms',
        'CPU µs each',
        ...parts.map((part) => `${part} %`),
        'transactions each',
        'log B each',
        'full pages each',
      ],
      ...rows.map((row) => {
        const each = row.cost?.microsecondsEach ?? {};
        const total = Object.values(each).reduce((sum, one) => sum + one, 0);
        return [
          row.name,
          `${figure(row.value)} ${row.unit}`,
          row.runs.map(figure).join(' '),
          figure(row.p50),
          figure(row.p95),
          figure(row.p99),
          figure(row.p999),
          total > 0 ? figure(total) : '',
          ...parts.map((part) => (each[part] === undefined ? '' : figure((100 * each[part]) / total))),
          ...databaseFigures(row.cost?.databaseEach),
        ];
      }),
    ]),
    '',
    ...columns([
      ['aim', 'is', 'should be', ''],
      ...aims.map(({ name, is, aim, kind, unit, reached }) => [
        name,
        `${figure(is)} ${unit}`,
        `${kind === 'least' ? '≥' : '≤'} ${aim} ${unit}`,
        reached ? 'reached' : 'not reached',
      ]),
    ]),
    '',
    ...checks.map(({ name, ok, detail }) => `${ok ? 'ok    ' : 'WRONG '} ${name} (${detail})`),
    '',
    '',
  ].join('\n');
}

/** The two tables as README.md beside this has them. */
export function markdownOf(rows: readonly Row[], aims: readonly Aim[]): string {
  const parts = ['service', 'postgres', 'simulator', 'load'];
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    row([
      'Row',
      'Median',
      'p50 / p95 / p99 / p99.9 ms',
      'CPU µs each',
      'service / postgres / simulator / load %',
      'Transactions / log B / full pages each',
    ]),
    row(Array.from({ length: 6 }, () => '---')),
    ...rows.map(({ name, value, unit, p50, p95, p99, p999, cost }) => {
      const each = cost?.microsecondsEach ?? {};
      const total = Object.values(each).reduce((sum, one) => sum + one, 0);
      const share = (part: string): string =>
        each[part] === undefined ? '–' : String(Math.round((100 * each[part]) / total));
      const latencies = [p50, p95, p99, p999].map(figure);
      const database = databaseFigures(cost?.databaseEach);
      return row([
        name,
        `${figure(value)} ${unit}`,
        latencies[0] === '' ? '' : latencies.join(' / '),
        total > 0 ? figure(total) : '',
        total > 0 ? parts.map(share).join(' / ') : '',
        database.join(' / '),
      ]);
    }),
    '',
    row(['Aim', 'Is', 'Should be', '']),
    row(Array.from({ length: 4 }, () => '---')),
    ...aims.map(({ name, is, aim, kind, unit, reached }) =>
      row([
        name,
        `${figure(is)} ${unit}`,
        `${kind === 'least' ? '≥' : '≤'} ${aim} ${unit}`,
        reached ? 'reached' : 'not reached',
      ]),
    ),
    '',
  ].join('\n');
}

const databaseFigures = (each: DatabaseEach | undefined): string[] =>
  each === undefined ? [] : [each.transactions, each.walBytes, each.fullPages].map(figure);

function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '';
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}
