import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createCharge } from '../api/charges/create.ts';
import { keyIdOf } from '../api/keys/key.ts';
import { buildServer, type CellOf, type UseCases } from '../api/server.ts';
import { advanceClock, showClock, startClock } from '../api/test-mode/clock.ts';
import { resetAccount } from '../api/test-mode/reset.ts';
import type { TestCalls } from '../api/test-mode/routes.ts';
import { simulate, simulateDispute } from '../api/test-mode/simulate.ts';
import { createTransfer } from '../api/transfers/create.ts';
import { cancelDraft, confirmDraft } from '../api/transfers/draft.ts';
import { createKeyPlaces } from '../api/transfers/key-places.ts';
import { createLoad } from '../edge/load.ts';
import type { RateLimiter } from '../edge/rate-limit.ts';
import { createRequestLog, type RequestLog } from '../edge/request-log/request-log.ts';
import { defencesOf } from '../flow/defend.ts';
import { createInbound, type Inbound } from '../flow/inbound.ts';
import { refreshIfOverdue } from '../flow/refresh.ts';
import { acceptRefund } from '../flow/send-refund.ts';
import { type Config, reachableHost } from '../ground/config.ts';
import { answerWithinMs } from '../ground/deadline.ts';
import { isLoopbackHost } from '../ground/hosts.ts';
import { createPapers, type Papers } from '../ground/paper/papers.ts';
import { createLargeTransfers } from '../operate/accounts/large-transfers.ts';
import { createHoldNotes } from '../operate/connections/held.ts';
import type { Provider } from '../provider/provider.ts';
import { type ClockOffset, watchClock } from '../store/database/clock-offset.ts';
import { paymentIdFor } from '../store/rows/idempotency.ts';
import { findWebhookTokens, storeWebhookBase } from '../store/rows/inbound.sql.ts';
import { emptyCommand } from '../store/till.ts';
import { mountPanel } from './panel.ts';
import { createReadiness, inTime } from './readiness.ts';
import type { Runtime } from './runtime.ts';

/** The HTTP side of the service; `runtime.draining` begins its end. */
export interface Api {
  url: string;
  /** Resolves when every open request is answered and every delivery that was received is applied. */
  stop(): Promise<void>;
}

export async function runApi(runtime: Runtime, config: Config): Promise<Api> {
  const stopping = new AbortController();
  const clockOffset = watchClock(runtime, stopping.signal);
  const inbound = createInbound(runtime);
  const answered = new AbortController();
  const logging: Promise<void>[] = [];
  const served = new Map<string, FastifyInstance>();
  const papers = createPapers();
  const serve = (cell: Runtime): FastifyInstance => {
    const known = served.get(cell.cell);
    if (known) return known;
    const { server, requestLog } = serveCell(cell, config, {
      clockOffset,
      inbound,
      papers,
      ...(cell === runtime && { cellOf: cellServers(runtime, serve) }),
    });
    served.set(cell.cell, server);
    logging.push(requestLog.run(answered.signal));
    return server;
  };
  const server = serve(runtime);
  await clockOffset.measured;
  const port = await listen(server, config);
  const tried: Promise<void>[] = [];
  const endEach = runtime.connections.each((provider) => {
    const told = new Promise<void>(
      (done) => void register(runtime, provider, config.hooksUrl, stopping.signal, done),
    );
    tried.push(told);
  });
  const taking = takeUp(runtime, stopping.signal);
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
      for (const one of served.values()) if (one !== server) await one.close();
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

interface ServedCell {
  server: FastifyInstance;
  requestLog: RequestLog;
}

interface Serving {
  clockOffset: ClockOffset;
  inbound: Inbound;
  papers: Papers;
  /** Of the server that listens: which one answers a request. */
  cellOf?: CellOf;
}

/** The calls of one cell's accounts. */
function serveCell(
  runtime: Runtime,
  config: Config,
  { clockOffset, inbound, papers, cellOf }: Serving,
): ServedCell {
  const largeTransfers = createLargeTransfers(runtime);
  const keyPlaces = createKeyPlaces({
    ...runtime,
    enabled: config.rateLimits,
    quotas: config.rateQuotas,
  });
  const useCases: UseCases = {
    createCharge: (caller, request) => createCharge(runtime, caller, request),
    createTransfer: async (caller, request) => {
      const { accountId, accountNumber } = caller;
      const id = paymentIdFor(runtime.identity, { id: accountId, number: accountNumber }, request.requestKey);
      const accepted = await keyPlaces.send(
        { accountId, id, key: request.pixKey },
        () => createTransfer(runtime, caller, request),
        ({ payment }) => payment,
      );
      if (!accepted.replayed) largeTransfers.note(accepted.payment);
      return accepted;
    },
    createRefund: (caller, order) => acceptRefund(runtime, caller, order),
    defences: defencesOf(runtime),
    confirmDraft: (caller, id, code) =>
      keyPlaces.send(
        { accountId: caller.accountId, id, key: null },
        () => confirmDraft(runtime, caller, id, code),
        (payment) => payment,
      ),
    cancelDraft: (caller, id) => cancelDraft(runtime, caller, id),
    // A query takes from limits that all processes share: not on a machine whose clock is wrong.
    refreshIfOverdue: async (payment) =>
      clockOffset.isTolerable() ? refreshIfOverdue(runtime, payment) : payment,
    receiveWebhook: inbound,
  };
  const testCalls: TestCalls = {
    simulate: (caller, id, act, given) => simulate(runtime, caller, id, act, given),
    simulateDispute: (caller, id, act) => simulateDispute(runtime, caller, id, act),
    showClock: (holder) => showClock(runtime, holder),
    startClock: (holder) => startClock(runtime, holder),
    advanceClock: (holder, to) => advanceClock(runtime, holder, to),
    reset: (holder) => resetAccount(runtime, holder),
  };
  const requestLog = createRequestLog({
    ...runtime,
    paymentIdOf: (account, requestKey) => paymentIdFor(runtime.identity, account, requestKey),
  });
  const edge = {
    ...runtime,
    config,
    papers,
    mayShare: clockOffset.isTolerable,
    load: createLoad(runtime.clock, () => waitForTurn(runtime), answerWithinMs),
  };
  const server = buildServer({
    ...edge,
    ...(cellOf && { cellOf }),
    useCases,
    testCalls,
    requestLog,
    readiness: createReadiness(runtime, clockOffset),
  });
  mountPanel(server, { ...edge, keyPlaces }, { ...useCases, testCalls });
  return { server, requestLog };
}

/**
 * Which server serves a request: that of its account's cell, by its key or by the account in the panel's address. Everything else, as
 * sign-in and what providers deliver, belongs to the directory and is served beside the first cell.
 *
 * With one cell nothing is looked up. With several, a key or account that this process has not met costs one statement, inside the limit of
 * the caller's address: it is counted before, and given back behind, since the server that answers counts what is no key itself.
 */
function cellServers(
  { cells, log }: Pick<Runtime, 'cells' | 'log'>,
  serverOf: (cell: Runtime) => FastifyInstance,
): CellOf {
  const answering = (cell: Runtime | undefined): FastifyInstance | null =>
    cell === undefined || cell === cells.all()[0] ? null : serverOf(cell);

  function lookFor({ kind, id }: Named, request: FastifyRequest, limiter: RateLimiter) {
    if (kind === 'key') {
      const giveBack = limiter.tryAuthentication(request);
      return { look: cells.ofKey(id), giveBack };
    }
    limiter.takeVisit(request);
    return { look: cells.ofAccount(id), giveBack: () => {} };
  }

  return (request, limiter) => {
    if (cells.isAlone()) return null;
    const named = namedBy(request.raw);
    if (named === null) return null;
    const known = cells.known(named.kind, named.id);
    if (known) return answering(known);
    const { look, giveBack } = lookFor(named, request, limiter);
    return look
      .then(answering)
      .catch((error: unknown) => {
        // The first cell's server answers: it refuses for accounts that are not its own.
        log.warn({ err: error }, 'the cell of a request was not found');
        return null;
      })
      .finally(giveBack);
  };
}

interface Named {
  kind: 'account' | 'key';
  id: string;
}

function namedBy({ headers, url = '' }: IncomingMessage): Named | null {
  // What a provider delivers names payments of any cell.
  if (url.startsWith('/hooks/')) return null;
  const account = /^\/panel\/api\/accounts\/([0-9a-f-]{36})(?:[/?]|$)/.exec(url)?.[1];
  // Without a cookie nobody is signed in, whatever the account.
  if (account !== undefined) return headers.cookie === undefined ? null : { kind: 'account', id: account };
  const key = /^bearer +([^\s]+)\s*$/i.exec(headers.authorization ?? '')?.[1];
  const id = key === undefined ? null : keyIdOf(key);
  return id === null ? null : { kind: 'key', id };
}

/** Resolves when a command submitted now would be decided by the till. */
export const waitForTurn = ({ till, ids, clock }: Pick<Runtime, 'till' | 'ids' | 'clock'>): Promise<void> =>
  till.submit(emptyCommand(ids.uuid(), clock.monotonicMs() + answerWithinMs));

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

/** How soon a provider hears of an address that was changed. */
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

/** Tells the provider where to deliver, until it has heard (it may start after us), and again when the address was changed. */
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
        await provider.registerWebhook(`${publicUrl}/hooks/providers/${provider.connection}/${token}`);
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
