import { appendFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Dispatcher, Pool } from 'undici';

/**
 * The load generator, in its own process. Closed loop: each caller has one request under way. Open loop: requests start at fixed
 * instants, and latencies count from those instants, whenever the answer comes, so that a stall is measured too. Bodies differ, so no request is
 * a repeat.
 *
 * Plans arrive over the process's channel. It sends `begin` and `end` of the measured interval, then the result.
 */
export interface Plan {
  origin: string;
  calls:
    | { kind: 'transfers'; targets: readonly Target[]; amountCents: number }
    | { kind: 'reads'; targets: readonly (Target & { paymentId: string })[] }
    /** The first page of an operation's payments, or of its statement. */
    | { kind: 'lists'; targets: readonly Target[] }
    | { kind: 'statements'; targets: readonly Target[] }
    /** One cent of a paid charge back to its payer. */
    | { kind: 'refunds'; targets: readonly (Target & { paymentId: string })[] }
    /** A transfer until its `transfer.completed` has arrived at the endpoint that this process listens on. */
    | { kind: 'lives'; targets: readonly Target[]; amountCents: number };
  callers: number;
  /** Open loop when it is set. */
  ratePerSecond?: number;
  connections: number;
  warmupMs: number;
  measuredMs: number;
  /** Where every answered payment is noted, one a line. */
  answeredFile: string | null;
}

export interface Target {
  key: string;
  operationId: string;
}

/** Milliseconds. */
export interface Latencies {
  p50: number;
  p95: number;
  p99: number;
  p999: number;
  most: number;
}

export interface LoadResult extends Latencies {
  perSecond: number;
  count: number;
  /** Of a life: its request until it is answered, and its event from its own time until it arrives. */
  parts: { accepted: Latencies; event: Latencies } | null;
  /** Answers that were no success, by status, over the whole run. */
  failures: Record<string, number>;
}

export type LoadMessage =
  | { type: 'listening'; url: string }
  | { type: 'begin' }
  | { type: 'end' }
  | { type: 'result'; result: LoadResult };

const base = '/api/v1/public';

/** One answer: undici's lowest level, so that the load costs as little as it can (40 µs a call instead of 340 with `fetch`). */
class Call implements Dispatcher.DispatchHandler {
  status = 0;
  text = '';
  readonly #done: (call: Call) => void;
  constructor(done: (call: Call) => void) {
    this.#done = done;
  }
  onRequestStart(): void {}
  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.status = status;
  }
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.text += chunk.toString('latin1');
  }
  onResponseEnd(): void {
    this.#done(this);
  }
  onResponseError(): void {
    this.status = 0;
    this.#done(this);
  }
}

/** By payment: what waits for its event, or how old an event was that came before the answer. */
const arrived = new Map<string, ((ageMs: number) => void) | number>();

function latenciesOf(ms: readonly number[]): Latencies {
  const sorted = ms.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), p999: at(0.999), most: at(1) };
}

async function run(plan: Plan): Promise<LoadResult> {
  const pool = new Pool(plan.origin, {
    connections: plan.connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const latencies: number[] = [];
  const accepted: number[] = [];
  const ages: number[] = [];
  const answered: string[] = [];
  const failures: Record<string, number> = {};
  /** The measured interval: what ends in it counts, in an open loop what should have begun in it. */
  const measured = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
  const isMeasured = (startedMs: number): boolean => {
    const atMs = plan.ratePerSecond === undefined ? performance.now() : startedMs;
    return atMs >= measured.fromMs && atMs < measured.toMs;
  };
  let over = false;
  let underWay = 0;
  let turn = 0;
  const note = (call: Call, startedMs: number): void => {
    if (call.status !== 200 && call.status !== 201) {
      const name =
        call.status === 0 ? 'connection' : `${call.status} ${/"code":"([^"]*)/.exec(call.text)?.[1]}`;
      failures[name] = (failures[name] ?? 0) + 1;
      return;
    }
    if (isMeasured(startedMs)) latencies.push(performance.now() - startedMs);
  };

  const { calls } = plan;
  function start(startedMs: number, done: () => void): void {
    const target = calls.targets[turn++ % calls.targets.length] as Target & { paymentId?: string };
    const headers = { authorization: `Bearer ${target.key}`, 'x-service-operation': target.operationId };
    if (calls.kind === 'reads' || calls.kind === 'lists' || calls.kind === 'statements') {
      const call = new Call(() => {
        note(call, startedMs);
        done();
      });
      const path = {
        lists: `${base}/payments`,
        statements: `${base}/statement`,
        reads: `${base}/payments/${target.paymentId}`,
      }[calls.kind];
      pool.dispatch({ path, method: 'GET', headers }, call);
      return;
    }
    if (calls.kind === 'refunds') {
      const call = new Call(() => {
        note(call, startedMs);
        done();
      });
      const path = `${base}/payments/${target.paymentId}/refunds`;
      const body = `{"amountCents":1,"description":"Item ${turn}","requestKey":"${crypto.randomUUID()}"}`;
      pool.dispatch(
        { path, method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body },
        call,
      );
      return;
    }
    const call = new Call(() => {
      const id = call.status === 201 ? idOf(call.text) : null;
      if (id !== null && plan.answeredFile !== null) answered.push(`${id} ${target.operationId}`);
      if (calls.kind === 'transfers' || id === null) {
        note(call, startedMs);
        done();
        return;
      }
      if (isMeasured(startedMs)) accepted.push(performance.now() - startedMs);
      const settled = (ageMs: number): void => {
        arrived.delete(id);
        if (isMeasured(startedMs)) ages.push(ageMs);
        note(call, startedMs);
        done();
      };
      const early = arrived.get(id);
      if (typeof early === 'number') settled(early);
      else arrived.set(id, settled);
    });
    const requestKey = crypto.randomUUID();
    const body = `{"amountCents":${calls.amountCents},"pixKey":"maria${turn % 1000}@loja.example","pixKeyType":"EMAIL","description":"Repasse ${turn}","requestKey":"${requestKey}"}`;
    pool.dispatch(
      {
        path: `${base}/pix/transfers`,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      },
      call,
    );
  }

  const ended = new Promise<void>((resolve) => {
    function finish(): void {
      underWay--;
      if (over && underWay === 0) resolve();
    }
    if (plan.ratePerSecond === undefined) {
      const again = (): void => {
        if (over) finish();
        else start(performance.now(), again);
      };
      for (let caller = 0; caller < plan.callers; caller++) {
        underWay++;
        again();
      }
    } else {
      const everyMs = 1000 / plan.ratePerSecond;
      let nextMs = performance.now();
      const tick = (): void => {
        for (const now = performance.now(); nextMs <= now && !over; nextMs += everyMs) {
          underWay++;
          start(nextMs, finish);
        }
        if (!over) setTimeout(tick, 1);
        else if (underWay === 0) resolve();
      };
      tick();
    }
  });

  await sleep(plan.warmupMs);
  tell({ type: 'begin' });
  measured.fromMs = performance.now();
  await sleep(plan.measuredMs);
  measured.toMs = performance.now();
  const seconds = (measured.toMs - measured.fromMs) / 1000;
  tell({ type: 'end' });
  over = true;
  // Calls under way are still answered, so that their payments can be looked for; a life that never ends must not hold up the rest.
  await Promise.race([ended, sleep(15_000)]);
  await pool.destroy();
  if (plan.answeredFile !== null)
    appendFileSync(plan.answeredFile, answered.map((line) => `${line}\n`).join(''));
  if (underWay > 0) failures['no end'] = underWay;
  const count = latencies.length;
  return {
    perSecond: count / seconds,
    count,
    ...latenciesOf(latencies),
    parts: calls.kind === 'lives' ? { accepted: latenciesOf(accepted), event: latenciesOf(ages) } : null,
    failures,
  };
}

interface EventBody {
  type: string;
  timestamp: string;
  data: { id: string };
}

function idOf(text: string): string | null {
  const at = text.indexOf('"id":"');
  return at === -1 ? null : text.slice(at + 6, at + 42);
}

/** A merchant's server: reads each event and says 200, at `/events/100` after 100 ms. */
function listen(): Promise<string> {
  const server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const { type, timestamp, data } = JSON.parse(text) as EventBody;
      if (type === 'transfer.completed') {
        const ageMs = Date.now() - Date.parse(timestamp);
        const waiting = arrived.get(data.id);
        if (typeof waiting === 'function') waiting(ageMs);
        else arrived.set(data.id, ageMs);
      }
      const answer = (): void => void response.writeHead(200, { 'content-length': 0 }).end();
      const afterMs = Number(request.url?.split('/')[2] ?? 0);
      if (afterMs > 0) setTimeout(answer, afterMs);
      else answer();
    });
  });
  server.keepAliveTimeout = 120_000;
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/events`),
    ),
  );
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const tell = (message: LoadMessage): void => void process.send?.(message);

process.on('message', (plan: Plan) => {
  void run(plan).then((result) => tell({ type: 'result', result }));
});
process.on('disconnect', () => process.exit(0));
tell({ type: 'listening', url: await listen() });
