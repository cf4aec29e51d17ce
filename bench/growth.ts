import { finish } from '@vintem/testkit/command.ts';
import type pg from 'pg';
import { claimDue, countDue } from '../server/src/store/rows/intents.sql.ts';
import { type Measured, textOf } from './drive.ts';
import type { Plan } from './load.ts';
import { memoryOf } from './processes.ts';
import type { Row } from './report.ts';
import { storeTransfers } from './store.ts';
import type { Merchant, World } from './world.ts';

interface Needs {
  world: World;
  merchant: Merchant;
  /** The superuser's. */
  admin: pg.Client;
  databaseUrl: string;
  apiUrl: string;
  servicePid: number;
  /** Of the program, for `verify`. */
  settings: Record<string, string>;
  drive(calls: Plan['calls'], measuredMs: number): Promise<Measured>;
  say(text: string): void;
}

const amountCents = 1_000;

/**
 * The cost of calls with so many payments stored, in one database that grows: transfers, a list, lookups all over, the claim of the
 * follow-up, the deletion of an operation with its share of the payments, and `verify`. The shares of the operations are equal.
 */
export async function measureGrowth(needs: Needs, stored: readonly number[]): Promise<Row[]> {
  const { world, merchant, admin, databaseUrl, drive, say } = needs;
  const { accountId, accountNumber, key } = merchant;
  const operationIds = [...merchant.operationIds];
  const rows: Row[] = [];
  const known: { paymentId: string; operationId: string }[] = [];
  let there = 0;
  for (const wanted of stored) {
    const began = performance.now();
    const missing = wanted - there;
    if (missing > 0) {
      const share = Math.floor(missing / operationIds.length);
      for (const [at, operationId] of operationIds.entries()) {
        const count = at === 0 ? missing - share * (operationIds.length - 1) : share;
        const ids = await storeTransfers(
          world,
          databaseUrl,
          { accountId, accountNumber, operationId },
          count,
        );
        const step = Math.max(1, Math.floor((ids.length * operationIds.length) / 10_000));
        for (let one = 0; one < ids.length; one += step) {
          known.push({ paymentId: ids[one] as string, operationId });
        }
      }
      there = wanted;
      // Autovacuum would have done this in the time that so many payments take to come in.
      await admin.query('VACUUM (ANALYZE) vintem.payment, vintem.journal, vintem.event, vintem.balance');
      await admin.query('CHECKPOINT');
    }
    const seconds = (performance.now() - began) / 1000;
    say(`${there} payments are stored (${seconds.toFixed(0)} s)`);
    const name = (what: string): string => `${what}, ${there} stored`;
    const add = (what: string, run: Measured): void => {
      rows.push(rowOf(name(what), run));
      say(`  ${what}: ${textOf(run)}`);
    };
    const addTime = (what: string, ms: number): void => {
      rows.push({ name: name(what), unit: 'ms', value: ms, runs: [ms] });
      say(`  ${what}: ${ms.toFixed(2)} ms`);
    };
    const [first] = operationIds;
    if (first === undefined) throw new Error('no operation is left');
    const targets = [{ key, operationId: first }];
    // After a checkpoint the first change of every page is written with the whole of it: a debt that is paid once in half an hour,
    // and that lasts longer the more pages the two random indexes have (minutes with ten million payments).
    if (missing > 0) await drive({ kind: 'transfers', targets, amountCents }, 10_000 + there / 100);
    add('hot 64', await drive({ kind: 'transfers', targets, amountCents }, 8_000));
    add('list of 100', await drive({ kind: 'lists', targets }, 4_000));
    if (known.length > 0) {
      const everywhere = shuffled(known.filter(({ operationId }) => operationIds.includes(operationId)));
      const reads = everywhere.map((one) => ({ ...one, key }));
      add('GET payment', await drive({ kind: 'reads', targets: reads }, 4_000));
    }
    addTime('follow-up: look and claim', await timeClaim(world));
    const gone = operationIds.pop();
    if (gone !== undefined) addTime('deletion of an operation', await timeDeletion(needs, gone));
    const verifyBegan = performance.now();
    const verified = await finish(['verify', '--json'], needs.settings);
    if (verified.code !== 0) throw new Error(`verify: ${(verified.stdout + verified.stderr).slice(0, 400)}`);
    addTime('verify of all since the last', performance.now() - verifyBegan);
    const sizes = await admin.query<{ size: string }>(
      `SELECT pg_size_pretty(pg_database_size(current_database())) AS size`,
    );
    say(`  the database has ${sizes.rows[0]?.size}`);
  }
  return rows;
}

/**
 * One and the same load in four quarters: what it costs in each, and the resident memory of the service at the beginning and at the
 * end of each.
 */
export async function measureMemory(
  what: 'transfers' | 'lives',
  seconds: number,
  servicePid: number,
  drive: (measuredMs: number) => Promise<Measured>,
  say: (text: string) => void,
): Promise<Row[]> {
  const megabytes = (): number => memoryOf(servicePid) / 1e6;
  const rss = [megabytes()];
  const rows: Row[] = [];
  let count = 0;
  for (let quarter = 1; quarter <= 4; quarter++) {
    const run = await drive((seconds * 1000) / 4);
    count += run.count;
    rss.push(megabytes());
    rows.push(rowOf(`${what}, quarter ${quarter} of ${seconds} s`, run));
    say(`  ${count} ${what}, ${rss.at(-1)?.toFixed(0)} MB, ${textOf(run)}`);
  }
  const name = `service memory over ${count} ${what} in ${seconds} s`;
  return [...rows, { name, unit: 'MB', value: rss.at(-1) as number, runs: rss }];
}

function rowOf(name: string, { perSecond, p50, p95, p99, cost }: Measured): Row {
  return {
    name,
    unit: '/s',
    value: perSecond,
    runs: [perSecond],
    p50,
    p95,
    p99,
    ...(cost ? { cost } : {}),
  };
}

async function timeClaim({ runtime }: World): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 50; turn++) {
    const began = performance.now();
    const now = runtime.clock.now();
    await countDue(runtime.sql, 'simulator', now, 4);
    await claimDue(runtime.sql, 'simulator', 1, now, now, 100);
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other)[times.length >> 1] as number;
}

async function timeDeletion({ apiUrl, merchant }: Needs, operationId: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(`${apiUrl}/api/v1/public/operations/${operationId}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${merchant.key}`, 'content-type': 'application/json' },
    body: '{}',
  });
  if (answer.status !== 200) throw new Error(`the operation was not deleted: ${await answer.text()}`);
  return performance.now() - began;
}

function shuffled<One>(list: readonly One[]): One[] {
  return list
    .map((one) => ({ one, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ one }) => one);
}
