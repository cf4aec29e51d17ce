import { freePort } from '@vintem/testkit/free-port.ts';
import pg from 'pg';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { command } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { random } from '../simulation/random.ts';
import { callWith, fund, pause } from './clients.ts';
import { firstMerchant, openScene } from './scene.ts';

/**
 * A till that is frozen between two statements of a batch: an `api` process that works for one operation only is stopped (SIGSTOP) while its
 * transaction holds the lock of that operation's balance row. Another process keeps working on that operation and on another one.
 *
 *   node proof/processes/frozen-till.ts [--seed N] [--rounds N]
 *
 * The moment is not guessed: the process is stopped first, and PostgreSQL says whether one of its transactions is open with a lock
 * on a balance. If not, the process is continued and stopped again.
 *
 * The bounds follow from the limits. PostgreSQL ends an idle transaction after 3 s. A lock wait ends after 2 s, so a command that waited
 * from the start has failed once by then and tries again. One second is left for a busy machine: 6 s until the same operation is
 * served, 8 s (and that second) for any answer. The other operation gets one transfer after the other while the frozen transaction
 * is open. A batch that both operations share waits once for the lock, 2 s, and is then split. So one of its requests per freeze may take
 * that long (counted in the figures), and no other may wait; a second separates the two cases.
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
  await using scene = await openScene('frozen-till');
  const apiPort = await freePort();
  const main = scene.launch(['start']);
  const api = scene.launch(['api'], { env: { PORT: `${apiPort}` } });
  await main.start();
  const { key, call } = firstMerchant(scene, main);
  const viaApi = callWith(`http://127.0.0.1:${apiPort}`, key);
  const [same = '', other = ''] = await fund(call, scene.simulatorUrl);
  const startCents = Number((await call('GET', '/account', undefined, same)).body?.balanceCents);
  await api.start();
  const client = new pg.Client({
    connectionString: (await findEmbedded(scene.env.DATA_DIR as string)) ?? '',
  });
  await client.connect();
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  const orders = new Map<string, string>();
  const transfer = async (through: typeof call, operationId: string) => {
    const requestKey = crypto.randomUUID();
    orders.set(requestKey, operationId);
    const began = performance.now();
    const answer = await through('POST', '/pix/transfers', order(requestKey), operationId).catch(() => null);
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
      // Other processes that had a transaction open have finished it by then.
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
  must(figures.otherAnswered > 0, 'no request of the other operation was answered during a freeze');

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
  const verified = await command(['verify', '--full'], scene.env);
  must(verified.code === 0, `verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
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
