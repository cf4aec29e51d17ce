import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rounds } from './faults.ts';
import { fasterRules, fasterWindows, queriesOf, rulesIn } from './rules.ts';

const deploy = (name: string): string =>
  readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');
const yaml = deploy('prometheus/alerts.yaml');

test('every alert has the fault that fires it', () => {
  const fired = rounds.flat().flatMap(({ fires }) => fires);
  expect([...fired].sort()).toEqual(
    rulesIn(yaml)
      .map(({ alert }) => alert)
      .sort(),
  );
});

test('the rules of the rig are those of production, but for their times', () => {
  const faster = fasterRules(yaml).groups.flatMap(({ rules }) => rules);
  const timeless = ({ expr, for: _, ...rest }: (typeof faster)[number]) => ({
    ...rest,
    expr: expr.replaceAll(/\[\w+\]/g, ''),
  });
  expect(faster.map(timeless)).toEqual(rulesIn(yaml).map(timeless));
  expect(faster.find(({ alert }) => alert === 'VintemDown')?.for).toBe('6s');
  expect(fasterWindows('rate(a_total[1h]) > 3600 and rate(a_total[5m]) > 1')).toBe(
    'rate(a_total[180s]) > 3600 and rate(a_total[15s]) > 1',
  );
  expect(() => fasterWindows('rate(a_total[1h30m])')).toThrow('1h30m is no duration');
});

test('every panel with a query is read', () => {
  const queries = ['payments', 'service'].flatMap((name) => queriesOf(deploy(`grafana/${name}.json`)));
  expect(queries.length).toBeGreaterThan(30);
});
