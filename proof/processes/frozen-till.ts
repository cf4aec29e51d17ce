import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { findEmbedded } from '../../server/src/db/embedded.ts';
import { command, freePort, newFolder, part } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, fund, pause } from './clients.ts';

/**
 * A till that is frozen between two statements of a flush: an `api` process that works for one operation alone is stopped (SIGSTOP) while its
 * transaction holds the lock of that operation's balance row. Another process goes on meanwhile with that operation and with another one.
 *
 *   node proof/processes/frozen-till.ts [--seed N] [--rounds N]
 *
 * The moment is not guessed: the process is stopped first, and PostgreSQL is asked whether a transaction of its stands open with a lock
 * on a balance; if not, it goes on and is stopped again.
 *
 * The bounds are the limits. PostgreSQL ends an idle transaction after 3 s; a lock is waited for 2 s, so who began to wait at
 * the beginning has given up once by then and tries again; a second is left for a busy machine: 6 s until the same operation is
 * served, 8 s (and that second) for any answer. The other operation is asked for one transfer after the other while the frozen transaction
 * stands. A flush that both operations share waits for the lock once, 2 s, and is then split: so one of its requests a freeze may take
 * that long (counted in the figures), and no other may wait at all, which is told apart by a second.
 */
export interface FrozenFigures {
  freezes: number;
  stops: number;
  /** From the stop to the first 201 of the same operation, ms. */
  sameServedAfterMs: number[];
  /** The slowest answer to anybody, ms. */
  slowestMs: number;
  /** Answers for the other operation while the frozen transaction stood. */
  otherAnswered: number;
  otherSlowestMs: number;
  /** Of those, how many shared the one flush that waited for the lock. */
  otherInSharedFlush: number;
  faults: string[];
}

const IDLE_LIMIT_MS = 3_000;
const LOCK_LIMIT_MS = 2_000;
const REQUEST_LIMIT_MS = 8_000;
const BUSY_MACHINE_MS = 1_000;

export async function freezeTill(options: {
  seed: number;
  rounds: number;
  say(line: string): void;
}): Promise<FrozenFigures> {
  const figures: FrozenFigures = {
    freezes: 0,
    stops: 0,
    sameServedAfterMs: [],
    slowestMs: 0,
    otherAnswered: 0,
    otherSlowestMs: 0,
    otherInSharedFlush: 0,
    faults: [],
  };
  const must = (holds: boolean, what: string) => {
    if (!holds) figures.faults.push(what);
  };
  const chance = random(options.seed);
  const folder = await newFolder('frozen-till');
  const logFile = join(folder, 'log.jsonl');
  const [port, apiPort, simulatorPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    DATA_DIR: join(folder, 'data'),
    PORT: `${port}`,
    SIMULATOR_PORT: `${simulatorPort}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  };
  const main = part('start', { words: ['start'], env, ready: 'vintem ready', logFile });
  const api = part('api', {
    words: ['api'],
    env: { ...env, PORT: `${apiPort}` },
    ready: 'vintem api ready',
    logFile,
  });
  const watch: pg.Client[] = [];
  try {
    await main.start();
    const key = /vintem test key (vtm_test_\S+)/.exec(main.output())?.[1] ?? '';
    const call = callWith(`http://127.0.0.1:${port}`, key);
    const viaApi = callWith(`http://127.0.0.1:${apiPort}`, key);
    const [same = '', other = ''] = await fund(call, `http://127.0.0.1:${simulatorPort}`);
    const startCents = Number((await call('GET', '/account', undefined, same)).body?.balanceCents);
    await api.start();
    const client = new pg.Client({ connectionString: (await findEmbedded(env.DATA_DIR)) ?? '' });
    await client.connect();
    watch.push(client);
    const orders = new Map<string, string>();
    const transfer = async (through: typeof call, operationId: string) => {
      const requestKey = crypto.randomUUID();
      orders.set(requestKey, operationId);
      const began = performance.now();
      const answer = await through('POST', '/pix/transfers', order(requestKey), operationId).catch(
        () => null,
      );
      return { status: answer?.status ?? 0, began, tookMs: performance.now() - began };
    };
    const frozenSession = async (): Promise<number | null> => {
      const { rows } = await client.query<{ pid: number }>(
        `SELECT a.pid FROM pg_stat_activity a
          WHERE a.state = 'idle in transaction' AND clock_timestamp() - a.state_change > interval '100 ms'
            AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'vintem.balance'::regclass AND l.mode = 'RowShareLock')`,
      );
      return rows[0]?.pid ?? null;
    };

    for (let round = 0; round < options.rounds; round++) {
      let loaded = true;
      const load = Array.from({ length: 8 }, async () => {
        while (loaded) {
          await transfer(viaApi, same);
          await pause(20);
        }
      });
      let frozen: number | null = null;
      let stopped = 0;
      for (let tries = 0; frozen === null && tries < 400; tries++) {
        await pause(chance.below(30));
        api.signal('SIGSTOP');
        stopped = performance.now();
        figures.stops++;
        // Whoever else had a transaction open has gone on by then.
        await pause(130);
        frozen = await frozenSession();
        if (frozen === null) api.signal('SIGCONT');
      }
      loaded = false;
      if (frozen === null) {
        api.signal('SIGCONT');
        await Promise.all(load);
        must(false, `round ${round + 1}: no stop out of 400 met an open flush`);
        continue;
      }
      figures.freezes++;
      // Both operations through the process that lives, until the same one is served.
      let served = false;
      let stands = true;
      let shared = 0;
      const watching = (async () => {
        while (stands) {
          const { rows } = await client.query<{ stands: boolean }>(
            'SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1) AS stands',
            [frozen],
          );
          stands = rows[0]?.stands === true;
          await pause(20);
        }
      })();
      const others = (async () => {
        while (stands) {
          const { status, tookMs } = await transfer(call, other);
          must(status === 201, `round ${round + 1}: the other operation was answered ${status}`);
          figures.otherSlowestMs = Math.max(figures.otherSlowestMs, Math.round(tookMs));
          if (stands) figures.otherAnswered++;
          if (tookMs >= BUSY_MACHINE_MS) shared++;
          must(
            tookMs < LOCK_LIMIT_MS + BUSY_MACHINE_MS,
            `round ${round + 1}: the other operation waited ${Math.round(tookMs)} ms`,
          );
        }
      })();
      while (!served) {
        const { status, tookMs } = await transfer(call, same);
        figures.slowestMs = Math.max(figures.slowestMs, Math.round(tookMs));
        must(
          tookMs <= REQUEST_LIMIT_MS + BUSY_MACHINE_MS,
          `round ${round + 1}: an answer took ${Math.round(tookMs)} ms`,
        );
        served = status === 201;
        if (performance.now() - stopped > 30_000) break;
      }
      const afterMs = Math.round(performance.now() - stopped);
      figures.sameServedAfterMs.push(afterMs);
      must(
        served && afterMs <= IDLE_LIMIT_MS + LOCK_LIMIT_MS + BUSY_MACHINE_MS,
        `round ${round + 1}: the same operation was served after ${afterMs} ms`,
      );
      await Promise.all([watching, others]);
      figures.otherInSharedFlush += shared;
      must(shared <= 1, `round ${round + 1}: the other operation waited ${shared} times`);
      api.signal('SIGCONT');
      await Promise.all(load);
      options.say(`freeze ${round + 1}: same operation served after ${afterMs} ms`);
    }
    must(figures.otherAnswered > 0, 'nobody of the other operation was answered during a freeze');

    // Each key, asked for again, is one payment; and the money says the same.
    const ids = new Set<string>();
    for (const [requestKey, operationId] of orders) {
      const { status, body } = await call('POST', '/pix/transfers', order(requestKey), operationId);
      must(status === 201, `a repeat was answered ${status}`);
      ids.add(String(body?.id));
    }
    must(ids.size === orders.size, `${orders.size} request keys are ${ids.size} payments`);
    for (const operationId of [same, other]) {
      const sentCents = [...orders.values()].filter((one) => one === operationId).length * 1_000;
      for (let tries = 0; tries < 300; tries++) {
        const { body } = await call('GET', '/account', undefined, operationId);
        if (body?.reservedWithdrawalCents === 0) break;
        await pause(100);
      }
      const { body } = await call('GET', '/account', undefined, operationId);
      must(
        body?.balanceCents === startCents - sentCents && body?.reservedWithdrawalCents === 0,
        `${operationId} has ${body?.balanceCents} (${body?.reservedWithdrawalCents} reserved), its transfers say ${startCents - sentCents}`,
      );
    }
    const verified = await command(['verify', '--full'], env);
    must(verified.code === 0, `verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
  } finally {
    for (const client of watch) await client.end();
    for (const one of [api, main]) {
      one.signal('SIGCONT');
      one.signal('SIGTERM');
      await Promise.race([one.exited(), pause(10_000)]);
      if (one.isRunning()) one.signal('SIGKILL');
    }
    await rm(folder, { recursive: true, force: true });
  }
  return figures;
}

const order = (requestKey: string) => ({
  amountCents: 1_000,
  pixKey: 'complete@simulator.example',
  pixKeyType: 'EMAIL',
  description: '',
  requestKey,
});

if (import.meta.main) {
  const figures = await freezeTill({ ...numbersGiven({ seed: 1, rounds: 2 }), say: console.log });
  console.log(JSON.stringify(figures));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
