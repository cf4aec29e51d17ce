import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * pgbench's TPC-B-like transaction (`pgbench -M prepared`), its tables and its five statements, over the driver that the service
 * uses; `runPgbench` is the real one, where it is installed. Both on the same PostgreSQL as the service.
 */
export async function prepareTpcb(serverUrl: string, scale: number): Promise<string> {
  const name = `tpcb${scale}`;
  const server = await connect(serverUrl);
  await server.query(`CREATE DATABASE ${name}`);
  await server.end();
  const url = serverUrl.replace(/[^/]*$/, name);
  const client = await connect(url);
  await client.query(`
    CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor = 100);
    CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
    INSERT INTO pgbench_branches SELECT n, 0, '' FROM generate_series(1, ${scale}) n;
    INSERT INTO pgbench_tellers SELECT n, (n - 1) / 10 + 1, 0, '' FROM generate_series(1, ${10 * scale}) n;
    INSERT INTO pgbench_accounts SELECT n, (n - 1) / 100000 + 1, 0, '' FROM generate_series(1, ${100_000 * scale}) n;
    ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
    ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
    ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)`);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  return url;
}

export const hasPgbench = (): boolean => spawnSync('pgbench', ['--version']).status === 0;

/** @returns transactions per second */
export async function runPgbench(url: string, clients: number, seconds: number): Promise<number> {
  const args = ['-n', '-M', 'prepared', '-c', `${clients}`, '-j', '2', '-T', `${seconds}`, url];
  const { stdout } = await promisify(execFile)('pgbench', args);
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
}

export interface TpcbPlan {
  url: string;
  scale: number;
  clients: number;
  warmupMs: number;
  measuredMs: number;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const random = (most: number): number => 1 + Math.floor(Math.random() * most);

/** @returns transactions in the measured stretch */
async function run({ url, scale, clients, warmupMs, measuredMs }: TpcbPlan): Promise<number> {
  let count = 0;
  let over = false;
  async function one(): Promise<void> {
    const client = await connect(url);
    while (!over) {
      const [aid, bid, tid] = [random(100_000 * scale), random(scale), random(10 * scale)];
      const delta = random(10_001) - 5_001;
      await client.query({ name: 'begin', text: 'BEGIN' });
      await client.query({
        name: 'accounts',
        text: 'UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2',
        values: [delta, aid],
      });
      await client.query({
        name: 'select',
        text: 'SELECT abalance FROM pgbench_accounts WHERE aid = $1',
        values: [aid],
      });
      await client.query({
        name: 'tellers',
        text: 'UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2',
        values: [delta, tid],
      });
      await client.query({
        name: 'branches',
        text: 'UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2',
        values: [delta, bid],
      });
      await client.query({
        name: 'history',
        text: 'INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)',
        values: [tid, bid, aid, delta],
      });
      await client.query({ name: 'end', text: 'END' });
      count++;
    }
    await client.end();
  }
  const all = Promise.all(Array.from({ length: clients }, one));
  await sleep(warmupMs);
  const before = count;
  await sleep(measuredMs);
  const measured = count - before;
  over = true;
  await all;
  return measured;
}

if (import.meta.main) {
  process.on('message', (plan: TpcbPlan) => {
    void run(plan).then((count) => process.send?.({ count }));
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({});
}
