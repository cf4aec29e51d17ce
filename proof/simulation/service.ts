import type { FastifyInstance } from 'fastify';
import { stepLinks, stepSoldLinks } from '../../server/src/api/links/links.ts';
import { operationDirectory } from '../../server/src/api/operations/operations.ts';
import { expireDrafts } from '../../server/src/api/transfers/draft.ts';
import { createPublisher } from '../../server/src/events/publish.ts';
import { createDeliverer } from '../../server/src/events/webhooks/deliver.ts';
import { fanOutTo } from '../../server/src/events/webhooks/fan-out.ts';
import { defencesOf } from '../../server/src/flow/defend.ts';
import { createFollowUp } from '../../server/src/flow/follow-up.ts';
import { createInbound, type Inbound } from '../../server/src/flow/inbound.ts';
import { refreshIfOverdue } from '../../server/src/flow/refresh.ts';
import { type Config, readConfig } from '../../server/src/ground/config.ts';
import { createLog } from '../../server/src/ground/log.ts';
import { createPapers } from '../../server/src/ground/paper/papers.ts';
import { createSecrets, type Secrets } from '../../server/src/ground/secrets.ts';
import { openRuntime, type Runtime } from '../../server/src/main/runtime.ts';
import { buildServer, type PublicCell } from '../../server/src/main/server.ts';
import { ConnectionLost } from '../../server/src/ports/sql.ts';
import type { Database } from './database.ts';
import type { Letters } from './people.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/**
 * The service as one process after the other: its use cases, its till, its follow-up and its inbound side over the ports of
 * a process that may die at any call. The HTTP edge is built once for all runs (it costs more than a whole run) and passes
 * every request to the live process. Its only state is caches of one second, and more time than that passes between two lives.
 */
export interface Life {
  process: Process;
  /** Of the directory and the first cell. */
  home: Runtime;
  /** Of the merchant's cell. */
  runtime: Runtime;
  inbound: Inbound;
  /** A delivery came in: should it not be applied, it is looked at again. */
  delivered(): void;
}

export interface Habits {
  transferWaitMs: number;
  /** Events are published and delivered to the merchant's endpoint. */
  delivers: boolean;
  /** Hands accepted payments to the worker's senders instead of leaving them to its next look. */
  handsOver: boolean;
  /** It works for the acquirer as well. */
  cards: boolean;
  /** Where its mails go; null: nowhere. */
  letters: Letters | null;
}

export interface Service {
  /** The process that takes requests; null between a death and the next birth. */
  current: Life | null;
  start(world: World, name: string, habits?: Partial<Habits>): Promise<Life | null>;
  inject: FastifyInstance['inject'];
  /** The secret that the provider signs with. */
  providerSecret: string;
}

const config: Config = readConfig({
  PORT: '3000',
  SIMULATOR_URL: 'http://provider.example',
  DATA_DIR: '/nowhere',
  RATE_LIMITS: 'off',
  LOG_LEVEL: 'silent',
});

export const secrets = (ids: { uuid(): string; bytes(length: number): Buffer }): Secrets =>
  createSecrets(ids, Buffer.alloc(32, 9), null);

const log = createLog(process.env.PROOF_LOG ?? 'silent');

/** The edge lives on when a process dies: its awaited calls fail then, or it would wait without an end. */
const outlived = <T>({ process, runtime }: Life, work: (sql: Runtime['sql']) => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    process.whenDead(() => reject(new ConnectionLost('the process died')));
    work(runtime.sql).then(resolve, reject);
  });

export function createService(db: Database): Service {
  let server: FastifyInstance | null = null;
  const service: Service = {
    current: null,
    providerSecret: '',
    start,
    inject: ((...given: Parameters<FastifyInstance['inject']>) => {
      if (!server) throw new Error('the edge is not built');
      return server.inject(...given);
    }) as FastifyInstance['inject'],
  };

  const living = (): Life => {
    if (!service.current) throw new Error('no process is alive');
    return service.current;
  };

  async function start(
    world: World,
    name: string,
    {
      transferWaitMs = 6_000,
      delivers = true,
      handsOver = false,
      cards = false,
      letters = null,
    }: Partial<Habits> = {},
  ): Promise<Life | null> {
    const process = world.spawn(name);
    const { sql, openCell, clock, ids, net } = process;
    const own = secrets(ids);
    const opening = openRuntime(
      { config, sql, openCell, clock, ids, net, secrets: own, log },
      new AbortController().signal,
    );
    let runtime: Runtime | null = null;
    let failed: unknown;
    opening.then(
      (opened) => {
        runtime = opened;
      },
      (error: unknown) => {
        failed = error;
      },
    );
    await world.run(() => runtime !== null || failed !== undefined || !process.alive, world.now() + 60_000);
    const opened = runtime as Runtime | null;
    if (!opened || !process.alive) return null;
    const cells = opened.cells.all();
    const merchants = cells.find(({ cell }) => cell === db.cell) ?? opened;
    const inbound = createInbound(opened);
    const life: Life = { process, home: opened, runtime: merchants, inbound, delivered: () => {} };
    for (const one of cells) {
      one.settings = { ...one.settings, transferWaitMs, chargeExpirySeconds: 1_800 };
      if (letters) one.mail = letters.mailOf(life);
    }
    service.current = life;
    service.providerSecret = own.derive('simulator client').toString('hex');
    server ??= edge(own);
    void work(world, life, { delivers, handsOver, cards });
    return life;
  }

  function edge(own: Secrets): FastifyInstance {
    const cell = cellOfLiving(own);
    const { sql, clock, ids } = cell;
    return buildServer({
      config,
      sql,
      clock,
      ids,
      secrets: own,
      log,
      cellOf: () => cell,
      questions: { isAuthentic: () => false, answer: async () => ({}) },
      inbound: {
        isOurAddress: (connection, token) => living().inbound.isOurAddress(connection, token),
        receive: (delivery) => living().inbound.receive(delivery),
      },
      mayShare: () => true,
      draining: new AbortController().signal,
      readiness: () => Promise.resolve([]),
    });
  }

  /** The merchant's cell in whatever process lives when a call reads from it. */
  function cellOfLiving(own: Secrets): PublicCell {
    const cell = {} as Runtime;
    for (const name of Object.keys(living().runtime) as (keyof Runtime)[])
      Object.defineProperty(cell, name, {
        enumerable: true,
        configurable: true,
        get: () => living().runtime[name],
      });
    const ports = {
      sql: {
        run: (...given: Parameters<Runtime['sql']['run']>) => outlived(living(), (sql) => sql.run(...given)),
        begin: () => outlived(living(), (sql) => sql.begin()),
        tx: (work) => outlived(living(), (sql) => sql.tx(work)),
      } as Runtime['sql'],
      clock: {
        now: () => living().runtime.clock.now(),
        monotonicMs: () => living().runtime.clock.monotonicMs(),
        machineMs: () => living().runtime.clock.machineMs(),
        sleep: (ms, signal) => living().runtime.clock.sleep(ms, signal),
      } as Runtime['clock'],
      ids: {
        uuid: () => living().runtime.ids.uuid(),
        bytes: (length: number) => living().runtime.ids.bytes(length),
      },
    };
    const beside: Omit<PublicCell, keyof Runtime> = {
      directory: operationDirectory(ports),
      keyPlaces: { send: (_payment, send) => send(), lookUp: (_account, _id, look) => look() },
      largeTransfers: { note: () => {} },
      papers: createPapers(),
      cursorKey: own.derive('cursors'),
      defences: {
        of: (scope, id) => defencesOf(living().runtime).of(scope, id),
        defend: (scope, id, given) => defencesOf(living().runtime).defend(scope, id, given),
        keepFile: (scope, id, given) => defencesOf(living().runtime).keepFile(scope, id, given),
        removeFile: (scope, id, fileId) => defencesOf(living().runtime).removeFile(scope, id, fileId),
      },
      refreshIfOverdue: (payment) => refreshIfOverdue(living().runtime, payment),
    };
    for (const [name, value] of Object.entries({ ...ports, ...beside }))
      Object.defineProperty(cell, name, { enumerable: true, value });
    return cell as Runtime & typeof beside;
  }

  /** The worker's loops without their polling: it sleeps until something in the database falls due. */
  async function work(
    world: World,
    life: Life,
    { delivers, handsOver, cards }: Pick<Habits, 'delivers' | 'handsOver' | 'cards'>,
  ): Promise<void> {
    const { process, runtime, inbound } = life;
    const provider = runtime.providers.get('simulator');
    if (!provider) throw new Error('no provider');
    const followUp = createFollowUp(runtime, provider);
    const acquirer = cards ? runtime.providers.get('cartoes') : undefined;
    const followCards = acquirer && createFollowUp(runtime, acquirer);
    let bell = new AbortController();
    const ring = () => {
      bell.abort();
      bell = new AbortController();
    };
    runtime.wake.listen(ring);
    if (handsOver) runtime.senders.set(followUp.connection, followUp.sender);
    if (handsOver && followCards) runtime.senders.set(followCards.connection, followCards.sender);
    runtime.eventsWritten.listen(ring);
    const publisher = createPublisher(runtime, fanOutTo(runtime));
    const deliverer = createDeliverer(runtime);
    deliverer.onWork(ring);
    life.delivered = () => world.at(world.now() + 25_000, ring);
    // Work that a step started continues and changes what is due, so the service looks again after these waits.
    // A cancel that its provider has not answered leaves the charge among what is to be cancelled.
    let soldAgainAt = 0;
    const stepSold = () => {
      soldAgainAt = runtime.clock.now() + soldEveryMs;
      return stepSoldLinks(runtime);
    };
    const looks = [50, 500, 1_500, 7_000];
    let look = 0;
    const steps: [keyof Due, () => Promise<boolean>][] = [
      ['sends', followUp.stepSends],
      ['queries', followUp.stepQueries],
      ...(followCards
        ? ([
            ['sends', followCards.stepSends],
            ['queries', followCards.stepQueries],
          ] as [keyof Due, () => Promise<boolean>][])
        : []),
      ['left', inbound.stepLeft],
      ['drafts', () => expireDrafts(runtime)],
      ['links', () => stepLinks(runtime)],
      ['soldLinks', stepSold],
      ['fresh', async () => (await publisher.step()) > 0],
      ['lanes', deliverer.step],
    ];
    if (!delivers) steps.splice(-2);
    let due = dueTimes(db);
    let dueAsOf = db.changes();
    while (process.alive) {
      const rung = bell.signal;
      if (db.changes() !== dueAsOf) {
        dueAsOf = db.changes();
        due = dueTimes(db);
      }
      due.soldLinks = Math.max(due.soldLinks, soldAgainAt);
      const now = runtime.clock.now();
      let worked = false;
      for (const [name, step] of steps) {
        if (due[name] > now) continue;
        worked = (await step().catch(() => false)) || worked;
      }
      if (worked) look = 0;
      const next = Math.min(...steps.map(([name]) => due[name]));
      const wait = next > now ? next - now : worked ? 0 : 1_000;
      await runtime.clock.sleep(Math.min(wait, looks[look++] ?? 86_400_000), rung);
    }
  }

  return service;
}

const soldEveryMs = 60_000;

interface Due {
  sends: number;
  queries: number;
  left: number;
  drafts: number;
  links: number;
  soldLinks: number;
  fresh: number;
  lanes: number;
}

/** A look at what falls due, beside the ports: it spares the polling of the worker's loops and decides nothing. */
function dueTimes(db: Database): Due {
  const never = Number.POSITIVE_INFINITY;
  try {
    const [row] = db.run<{ [Name in keyof Due]: number | null }>(
      `SELECT min(due_at) FILTER (WHERE priority = 0) AS sends, min(due_at) FILTER (WHERE priority > 0) AS queries,
        (SELECT min(next_at) FROM inbound WHERE applied_at IS NULL AND authentic) AS left,
        (SELECT min(expires_at) FROM draft) AS drafts,
        (SELECT min(expires_at) FROM payment_link WHERE status = 'active') AS links,
        (SELECT min(created_at) FROM payment_link WHERE status = 'completed' AND max_payments = 1 AND open_count > 0) AS "soldLinks",
        (SELECT min(created_at) FROM event_fresh) AS fresh, (SELECT min(due_at) FROM webhook_lane) AS lanes FROM intent`,
      [],
    );
    return {
      sends: row?.sends ?? never,
      queries: row?.queries ?? never,
      left: row?.left ?? never,
      drafts: row?.drafts ?? never,
      links: row?.links ?? never,
      soldLinks: row?.soldLinks ?? never,
      fresh: row?.fresh ?? never,
      lanes: row?.lanes ?? never,
    };
  } catch {
    // Somebody's transaction has failed and is not rolled back yet.
    return {
      ...{ sends: 0, queries: 0, left: never, drafts: never, links: never, soldLinks: never },
      ...{ fresh: never, lanes: never },
    };
  }
}
