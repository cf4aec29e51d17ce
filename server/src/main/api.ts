import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { createInbound } from '../flow/inbound.ts';
import { createQuestions } from '../flow/withdrawal-questions.ts';
import { type Config, reachableHost } from '../ground/config.ts';
import { isLoopbackHost } from '../ground/hosts.ts';
import { createPapers } from '../ground/paper/papers.ts';
import { createHoldNotes } from '../operate/connections/held.ts';
import { recentNotice } from '../operate/notice.ts';
import type { Provider } from '../provider/provider.ts';
import { watchClock } from '../store/database/clock-offset.ts';
import { findWebhookTokens, storeWebhookBase } from '../store/rows/inbound.sql.ts';
import { mountConsole } from './console.ts';
import { mountPanel } from './panel.ts';
import { mountPayer } from './payer.ts';
import { createReadiness, inTime } from './readiness.ts';
import type { Runtime } from './runtime.ts';
import { serveCells } from './served.ts';
import { buildServer } from './server.ts';

/** The HTTP side of the service; `runtime.draining` begins its end. */
export interface Api {
  url: string;
  /** Resolves when every open request is answered and every delivery that was received is applied. */
  stop(): Promise<void>;
}

/** @param besideWorker the worker of this process takes up connections and cells that are made */
export async function runApi(
  runtime: Runtime,
  config: Config,
  { besideWorker = false }: { besideWorker?: boolean } = {},
): Promise<Api> {
  const stopping = new AbortController();
  const clockOffset = runtime.clockOffset ?? watchClock(runtime, stopping.signal);
  const inbound = createInbound(runtime);
  const answered = new AbortController();
  const logging: Promise<void>[] = [];
  const papers = createPapers();
  const servedOf = serveCells(runtime, {
    config,
    clockOffset,
    papers,
    began: ({ requestLog }) => logging.push(requestLog.run(answered.signal)),
  });
  // Beside the directory: a key that this process has not seen may be of any cell.
  const { cell } = runtime;
  const edge = {
    ...runtime,
    config,
    papers,
    notice: recentNotice(runtime),
    mayShare: clockOffset.isTolerable,
    loadOf: (named = cell) => servedOf({ cell: named }).load,
  };
  const server = buildServer({
    ...edge,
    cellOf: servedOf,
    inbound,
    questions: createQuestions(runtime),
    noteRequest: (request, reply) => {
      const { holder } = request;
      if (holder) servedOf(holder).requestLog.note(request, reply);
    },
    readiness: createReadiness(runtime, clockOffset),
  });
  mountPayer(server, edge, servedOf);
  mountPanel(server, edge, servedOf);
  mountConsole(server, edge);
  await clockOffset.measured;
  const port = await listen(server, config);
  const tried: Promise<void>[] = [];
  const endEach = runtime.connections.each((provider) => {
    const told = new Promise<void>(
      (done) => void register(runtime, provider, config.hooksUrl, stopping.signal, done),
    );
    tried.push(told);
  });
  const taking = besideWorker ? undefined : takeUp(runtime, stopping.signal);
  // Registers before "ready", so that payments right after it arrive by webhook. A slow or failed provider delays the start only briefly.
  await inTime(
    runtime.clock,
    startsWithinMs,
    Promise.all(tried).then(() => true),
  );
  return {
    url: `http://${reachableHost(config.host)}:${port}`,
    stop: async () => {
      stopping.abort();
      endEach();
      await taking;
      await server.close();
      answered.abort();
      await Promise.all([...logging, papers.stop()]);
      await inbound.idle();
      await Promise.all(runtime.cells.all().map((cell) => cell.till.idle()));
    },
  };
}

/** Not by Fastify's own `listen`: for 0.0.0.0 that logs every interface, and a sandbox that forbids AF_NETLINK ends it there. */
async function listen(
  server: FastifyInstance,
  { host, port }: Pick<Config, 'host' | 'port'>,
): Promise<number> {
  await server.ready();
  server.server.listen({ host, port });
  await once(server.server, 'listening');
  return (server.server.address() as AddressInfo).port;
}

/** How soon a connection that was made or changed is used here, and a cell that was made. */
const lookMs = 2_000;

async function takeUp(
  {
    connections,
    cells,
    clock,
    log,
    sql,
    ids,
  }: Pick<Runtime, 'connections' | 'cells' | 'clock' | 'log' | 'sql' | 'ids'>,
  stopping: AbortSignal,
): Promise<void> {
  const noteHolds = createHoldNotes({ connections, clock, log, sql, ids });
  for (;;) {
    await clock.sleep(lookMs, stopping);
    if (stopping.aborted) return;
    await Promise.all([connections.refresh().then(noteHolds), cells.refresh()]).catch((error: unknown) =>
      log.warn({ err: error }, 'connections and cells were not compared'),
    );
  }
}

/** No start waits longer for its providers; they are asked again until they answer. */
const startsWithinMs = 2_000;

/** How soon a changed address is registered at a provider. */
const addressLookMs = 30_000;

/**
 * Whether a process without an address of its own (PUBLIC_URL is loopback, as by default) must leave the deliveries where they go: to a
 * public address, or to another port of this machine that still answers. Else a second process would take them over for the minute that it
 * runs, and they would go to a closed port afterwards.
 */
async function isTakenBy({ net }: Runtime, base: string | null, publicUrl: string): Promise<boolean> {
  if (base === null || base === publicUrl || !isLoopbackHost(new URL(publicUrl).hostname)) return false;
  if (!isLoopbackHost(new URL(base).hostname)) return true;
  return net.request({ method: 'GET', url: `${base}/healthz`, timeoutMs: 2_000 }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Registers our address at the provider until it takes it (it may start after us), and again when the address was changed. */
async function register(
  runtime: Runtime,
  provider: Provider,
  publicUrl: string,
  stopping: AbortSignal,
  tried: () => void,
): Promise<void> {
  let [registered, waitMs] = ['', 250];
  while (!stopping.aborted) {
    try {
      if (!(await runtime.isInUse(provider))) {
        tried();
        await runtime.clock.sleep(lookMs, stopping);
        continue;
      }
      const { current: token = '', base = null } =
        (await findWebhookTokens(runtime.sql, provider.connection)) ?? {};
      if (token !== registered && (await isTakenBy(runtime, base, publicUrl))) {
        runtime.log.warn(
          { connection: provider.connection },
          'the provider delivers to another process of this installation: set PUBLIC_URL where this one shall receive',
        );
        tried();
        await runtime.clock.sleep(addressLookMs, stopping);
        continue;
      }
      if (token !== registered) {
        const hooks = `${publicUrl}/hooks/providers/${provider.connection}`;
        await provider.registerWebhook(`${hooks}/${token}`);
        await provider.withdrawals?.enterAddress?.(`${hooks}/withdrawals`);
        await storeWebhookBase(runtime.sql, provider.connection, publicUrl);
      }
      [registered, waitMs] = [token, 250];
      tried();
      await runtime.clock.sleep(addressLookMs, stopping);
    } catch (error) {
      tried();
      if (stopping.aborted) return;
      runtime.log.warn(
        { err: error, connection: provider.connection },
        'our webhook address is not registered yet',
      );
      await runtime.clock.sleep(waitMs, stopping);
      waitMs = Math.min(waitMs * 2, 60_000);
    }
  }
}
