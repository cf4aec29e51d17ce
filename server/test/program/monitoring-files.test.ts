import { readdir, readFile } from 'node:fs/promises';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/main/metrics.ts';

/** The alert rules, their pages and the dashboards speak of metrics that a running service has. */

const file = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');

let service: Service;
let known: Set<string>;

beforeAll(async () => {
  service = await openService({ worker: false });
  const { runtime, database } = service;
  const registry = await createMetrics({
    ...runtime,
    readiness: async () => [],
    clockOffset: { offsetMs: () => 0 },
    pool: database.sql.load,
    databaseStandbys: null,
  });
  const types = [...(await registry.metrics()).matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  known = new Set(
    types.flatMap(([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name as string],
    ),
  );
});
afterAll(() => service?.close());

const namesIn = (query: string): string[] => [...query.matchAll(/\bvintem_\w+/g)].map(([name]) => name);

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
const rules = async (): Promise<Rule[]> =>
  parse(await file('deploy/prometheus/alerts.yaml')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules);

describe('alert rules', () => {
  test('ask for metrics that the service has, and each has its page, which shows the rule', async () => {
    for (const { alert, expr, labels, annotations } of await rules()) {
      expect(namesIn(expr).filter((name) => !known.has(name))).toEqual([]);
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.runbook).toBe(`docs/operators/runbooks/${alert}.md`);
      const page = await file(annotations.runbook);
      expect(page).toContain(`Rule: \`${expr}\``);
      expect(page).toMatch(
        /## What it means\n\n.+\n\n## What to look at\n\n```sh\n[^`]+```\n\n## What to do\n\n.+/s,
      );
    }
  });

  test('have no page without a rule, and each is tested to fire and to be quiet', async () => {
    const names = (await rules()).map(({ alert }) => alert);
    const pages = await readdir(new URL('../../../docs/operators/runbooks', import.meta.url));
    expect(pages.sort()).toEqual(names.map((name) => `${name}.md`).sort());
    const { tests } = parse(await file('deploy/prometheus/alerts.test.yaml')) as {
      tests: { name: string }[];
    };
    expect(tests.map(({ name }) => name).sort()).toEqual(
      names.flatMap((name) => [`${name} fires`, `${name} is quiet`]).sort(),
    );
  });

  test('of the installation take the greatest value: every process reports the same', async () => {
    const page = await file('docs/operators/metrics.md');
    const shared = [...page.matchAll(/^\| `(vintem_\w+)[^|]*\| installation \|/gm)].map(([, name]) => name);
    for (const { expr } of await rules()) {
      for (const name of namesIn(expr).filter((each) => shared.includes(each))) {
        expect(expr).not.toMatch(new RegExp(`sum[^(]*\\([^)]*${name}\\b`));
      }
    }
  });
});

describe('dashboards', () => {
  test('ask for metrics that the service has', async () => {
    for (const name of ['service', 'payments']) {
      const { uid, panels } = JSON.parse(await file(`deploy/grafana/${name}.json`)) as {
        uid: string;
        panels: { title: string; targets: { expr: string }[] }[];
      };
      expect(uid).toBe(`vintem-${name}`);
      const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
      expect(queries.length).toBeGreaterThan(10);
      expect(queries.flatMap(namesIn).filter((metric) => !known.has(metric))).toEqual([]);
    }
  });
});
