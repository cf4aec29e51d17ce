import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { http, sleep } from '../chaos/processes.ts';

/** A real Prometheus that scrapes the processes of the rig and evaluates the rules. */
export interface Prometheus {
  /** Names of the alerts that fire now. */
  firing(): Promise<Set<string>>;
  /** How many series a query has anywhere between two instants (Unix seconds) in which it has a value. */
  seriesOf(query: string, from: number, to: number): Promise<number>;
  stop(): Promise<void>;
}

export const hasPrometheus = (): boolean =>
  spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * A scrape may take as long as its interval. Where the database does not answer, `/metrics` waits five seconds for it, which the ten of
 * Prometheus' own default allow as well.
 */
const scrapeSeconds = 6;

export async function startPrometheus(options: {
  folder: string;
  port: number;
  rules: object;
  /** Job to the ports that it scrapes. */
  jobs: Record<string, number[]>;
}): Promise<Prometheus> {
  const { folder, port, rules, jobs } = options;
  writeFileSync(join(folder, 'rules.yaml'), stringify(rules));
  const config = {
    global: {
      scrape_interval: `${scrapeSeconds}s`,
      scrape_timeout: `${scrapeSeconds}s`,
      evaluation_interval: '2s',
    },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: Object.entries(jobs).map(([job_name, ports]) => ({
      job_name,
      static_configs: [{ targets: ports.map((one) => `127.0.0.1:${one}`) }],
    })),
  };
  const configFile = join(folder, 'prometheus.yaml');
  writeFileSync(configFile, stringify(config));
  const child: ChildProcess = spawn(
    'prometheus',
    [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(folder, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; (await http('GET', `${url}/api/v1/status/runtimeinfo`)).status !== 200; tries++) {
    if (child.exitCode !== null || tries > 300) throw new Error('Prometheus does not start');
    await sleep(100);
  }
  const ask = async (path: string, query: Record<string, string>) => {
    const { status, body } = await http('GET', `${url}/api/v1/${path}?${new URLSearchParams(query)}`);
    if (status !== 200) throw new Error(`Prometheus answers ${status} to ${query.query}: ${body?.error}`);
    return body.data.result as { metric: Record<string, string>; values?: [number, string][] }[];
  };
  return {
    firing: async () =>
      new Set(
        (await ask('query', { query: 'ALERTS{alertstate="firing"}' })).map(
          ({ metric }) => metric.alertname as string,
        ),
      ),
    seriesOf: async (query, from, to) =>
      (await ask('query_range', { query, start: `${from}`, end: `${to}`, step: '6' })).filter(({ values }) =>
        values?.some(([, value]) => value !== 'NaN'),
      ).length,
    stop: async () => {
      if (child.exitCode !== null) return;
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await ended;
    },
  };
}
