import { readFileSync } from 'node:fs';
import { freePort } from '@vintem/testkit/free-port.ts';
import { sleep } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { rounds } from './faults.ts';
import { hasPrometheus, startPrometheus } from './prometheus.ts';
import { fasterRules, fasterWindows, queriesOf } from './rules.ts';
import { openTown, trade } from './town.ts';

/**
 * Every alert of `deploy/prometheus/alerts.yaml` in a real Prometheus: quiet while the service works, fired by a planted fault, and quiet
 * again after the repair. At the end every query of the dashboards in `deploy/grafana` must return a value.
 *
 *   node proof/alerts/alerts.ts [--from N] [--to N]
 *
 * The rules are those of production but for time (`rules.ts`): `for` and windows are twenty times shorter, thresholds are as they are.
 * `--from` and `--to` take some of the rounds, and leave the dashboards out: their queries want all. Takes some 20 minutes. Needs `prometheus` (the
 * Debian package); without it, it says so and is not run.
 */
export interface AlertFigures {
  notRun: string | null;
  /** Seconds from the fault to the alert. */
  firedAfter: Record<string, number>;
  queries: number;
  faults: string[];
}

export const allRounds = { from: 0, to: rounds.length - 1 };

const deploy = new URL('../../deploy/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, deploy), 'utf8');
const dashboards = ['grafana/payments.json', 'grafana/service.json'];
const quietMs = 60_000;
/** The longest `for` is 180 s, the longest window that delays an end 90 s; a busy machine has the rest. */
const withinMs = 400_000;

export async function tryAlerts({
  from,
  to,
  say,
}: {
  /** The first round and the last one, from 0. */
  from: number;
  to: number;
  say(line: string): void;
}): Promise<AlertFigures> {
  const figures: AlertFigures = { notRun: null, firedAfter: {}, queries: 0, faults: [] };
  if (!hasPrometheus()) {
    figures.notRun = 'prometheus is not installed';
    say(`not run: ${figures.notRun}`);
    return figures;
  }
  const struck = rounds.slice(from, to + 1);
  const yaml = read('prometheus/alerts.yaml');
  const town = await openTown(await freePort());
  const prometheus = await startPrometheus({
    folder: town.folder,
    port: await freePort(),
    rules: fasterRules(yaml),
    jobs: town.jobs,
  });
  const began = Date.now() / 1000;
  const trading = trade(town);
  const expect = async (holds: (firing: Set<string>) => boolean, allowed: ReadonlySet<string>) => {
    for (const until = Date.now() + withinMs; Date.now() < until; await sleep(1_000)) {
      const firing = await prometheus.firing();
      for (const name of firing)
        if (!allowed.has(name)) figures.faults.push(`${name} fires without its fault`);
      if (holds(firing)) return true;
    }
    return false;
  };
  try {
    const none = new Set<string>();
    for (const until = Date.now() + quietMs; Date.now() < until; await sleep(1_000))
      await expect(() => true, none);
    say(`quiet for ${quietMs / 1000} s`);
    for (const round of struck) {
      const wanted = round.flatMap(({ fires }) => fires);
      const allowed = new Set([...wanted, ...round.flatMap(({ mayFire = [] }) => mayFire)]);
      const struckAt = Date.now();
      const mends = [];
      for (const fault of round) mends.push(await fault.strike(town));
      await expect((firing) => {
        for (const name of wanted)
          if (firing.has(name)) figures.firedAfter[name] ??= Math.round((Date.now() - struckAt) / 1000);
        return wanted.every((name) => figures.firedAfter[name] !== undefined);
      }, allowed);
      for (const mend of mends) await mend();
      const isSilent = await expect((firing) => firing.size === 0, allowed);
      if (!isSilent) figures.faults.push(`${[...(await prometheus.firing())].join(', ')} did not end`);
      for (const { name, fires } of round)
        say(`${name}: ${fires.map((alert) => `${alert} after ${figures.firedAfter[alert]} s`).join(', ')}`);
    }
    for (const name of struck.flat().flatMap(({ fires }) => fires))
      if (figures.firedAfter[name] === undefined) figures.faults.push(`${name} was not fired by its fault`);
    const queries = struck.length < rounds.length ? [] : dashboards.flatMap((name) => queriesOf(read(name)));
    for (const { title, expr } of queries) {
      figures.queries++;
      if ((await prometheus.seriesOf(fasterWindows(expr), began, Date.now() / 1000)) === 0)
        figures.faults.push(`the panel "${title}" has no value: ${expr}`);
    }
  } finally {
    await trading.stop();
    await prometheus.stop();
    await town.close();
  }
  figures.faults = [...new Set(figures.faults)];
  return figures;
}

if (import.meta.main) {
  const figures = await tryAlerts({ ...numbersGiven(allRounds), say: console.log });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
