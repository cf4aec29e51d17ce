import { createUnusedKeys } from '../api/keys/unused.ts';
import { stepLinks, stepSoldLinks } from '../api/links/links.ts';
import { stepTestClocks } from '../api/test-mode/clock.ts';
import { expireDrafts } from '../api/transfers/draft.ts';
import { stepConnectionMovements } from '../flow/connection-movements.ts';
import { createFollowUp, type FollowUp } from '../flow/follow-up.ts';
import { createInbound, type Inbound } from '../flow/inbound.ts';
import { stepDefences } from '../flow/send-defence.ts';
import { stepDayReport } from '../jobs/day-reports.ts';
import { stepLateQueries } from '../jobs/late-queries.ts';
import { stepDisputes } from '../jobs/poll.ts';
import { stepProviderBalance } from '../jobs/provider-balance.ts';
import { stepLateStatement, stepStatement } from '../jobs/statement.ts';
import { stepStatementLines } from '../jobs/statement-lines.ts';
import { createUnknownTransferAlerts } from '../jobs/unknown-transfer-alerts.ts';
import { createAlerts } from '../operate/accounts/alerts.ts';
import { stepCloses } from '../operate/closes/step.ts';
import { createHoldNotes, stepHolds } from '../operate/connections/held.ts';
import { stepPayerReturns } from '../operate/incidents/return-rule.ts';
import { stepUnread } from '../operate/unread/unread-items.ts';
import type { Provider } from '../provider/provider.ts';
import { type ClockOffset, watchClock } from '../store/database/clock-offset.ts';
import { stepCellRetention, stepDirectoryRetention } from './retention.ts';
import type { Runtime } from './runtime.ts';
import { joinWorkers, type Shares } from './shares.ts';

/** The work of a process with no client active. Every step may be run by any number of processes over one database. */
export interface Worker {
  /** The cells that it works in. */
  shares: Shares;
  /** Resolves when the steps under way have ended; nothing new is begun. */
  stop(): Promise<void>;
}

/** How long a step that found nothing rests. `wake` cuts it short for the first two: a send or a query is due, and nothing else. */
const restMs = {
  sends: 100,
  queries: 200,
  deliveries: 5_000,
  unknown: 10_000,
  drafts: 5_000,
  links: 5_000,
  soldLinks: 2_000,
  retention: 10_000,
  cellRetention: 10_000,
  payerReturns: 10_000,
  statement: 10_000,
  lateStatement: 10_000,
  lateQueries: 10_000,
  statementLines: 10_000,
  dayReports: 10_000,
  unread: 10_000,
  connectionMovements: 10_000,
  disputes: 2_000,
  defences: 2_000,
  providerBalance: 10_000,
  unusedKeys: 10_000,
  alerts: 10_000,
  testClocks: 500,
  closes: 10_000,
  connections: 2_000,
};

/** @param publicUrl where people of accounts find their panel */
export function runWorker(home: Runtime, publicUrl: string): Worker {
  const stopping = new AbortController();
  const clockOffset = watchClock(home, stopping.signal);
  const inbound = createInbound(home);
  const shares = joinWorkers(home, clockOffset, stopping.signal);
  const loops: Promise<void>[] = [];
  const loopDeps: LoopDeps = { home, clockOffset, shares, stopping: stopping.signal };
  const begin: Begin = (name, step, options) => {
    loops.push(repeat(loopDeps, name, step, options));
  };
  const followUps: FollowUp[] = [];
  const ends: (() => void)[] = [];

  directoryLoops(begin, home, inbound);
  ends.push(home.connections.each((provider) => connectionLoops(begin, home, provider)));
  ends.push(
    home.cells.each((cell) => {
      const woken = restUntil(cell.wake);
      cellLoops(begin, cell, publicUrl);
      // Loops of its own for each connection, so that a slow provider does not delay the payments of another.
      const end = cell.connections.each((provider) => {
        followUps.push(paymentLoops(begin, cell, provider, woken));
      });
      ends.push(end);
    }),
  );
  return {
    shares,
    stop: async () => {
      stopping.abort();
      const left = shares.leave();
      for (const end of ends) end();
      for (const cell of home.cells.all()) cell.senders.clear();
      await Promise.all(loops);
      await Promise.all(followUps.map((followUp) => followUp.idle()));
      await Promise.all(home.cells.all().map((cell) => cell.till.idle()));
      await left;
    },
  };
}

interface LoopDeps {
  home: Runtime;
  clockOffset: ClockOffset;
  shares: Shares;
  stopping: AbortSignal;
}

/** @returns whether there is more to do at once */
type Step = () => Promise<boolean>;

interface LoopOptions {
  /** The signals that wake a resting loop. */
  rest?: Rest;
  /** Runs only while this worker has the cell, and more rarely the more cells it has. */
  cell?: string;
}

type Begin = (name: keyof typeof restMs, step: Step, options?: LoopOptions) => void;

/** Runs steps until `stopping`; after a failed step it rests longer and continues. */
async function repeat(
  { home, clockOffset, shares, stopping }: LoopDeps,
  name: keyof typeof restMs,
  step: Step,
  { rest, cell }: LoopOptions = {},
): Promise<void> {
  let failures = 0;
  await shares.read;
  while (!stopping.aborted) {
    let more = false;
    // Before the step: what wakes it while it runs cuts the rest behind it.
    const cut = rest ? AbortSignal.any([rest.now(), stopping]) : stopping;
    try {
      const mayRun = clockOffset.isTolerable() && (cell === undefined || shares.has(cell));
      more = mayRun && (await step());
      failures = 0;
    } catch (error) {
      failures++;
      home.log.error({ err: error, step: name }, 'a step of the worker failed');
    }
    if (more) continue;
    const pauseMs = cell === undefined ? restMs[name] : restMs[name] * shares.slowdown();
    const waitMs = Math.min(pauseMs * 2 ** Math.min(failures, 8), 10_000);
    await home.clock.sleep(waitMs, failures > 0 ? stopping : cut);
  }
}

/** Jobs of the directory: once, whatever the number of cells. */
function directoryLoops(begin: Begin, home: Runtime, inbound: Inbound): void {
  begin('deliveries', inbound.stepLeft);
  begin('retention', () => stepDirectoryRetention(home));
  begin('unusedKeys', createUnusedKeys(home).step);
  begin('closes', () => stepCloses(home));
  const noteHolds = createHoldNotes(home);
  begin('connections', async () => {
    await home.connections.refresh();
    await noteHolds();
    await stepHolds(home);
    await home.cells.refresh();
    return false;
  });
}

/** Jobs of a connection with all of its accounts: once, whatever the number of cells. */
function connectionLoops(begin: Begin, home: Runtime, provider: Provider): void {
  const reading = (step: (runtime: Runtime, from: Provider) => Promise<boolean>) => async () =>
    (await home.isInUse(provider)) && step(home, provider);
  begin('statement', reading(stepStatement));
  begin('lateStatement', reading(stepLateStatement));
  begin('statementLines', reading(stepStatementLines));
  begin('dayReports', reading(stepDayReport));
  begin('unread', reading(stepUnread));
  begin('connectionMovements', reading(stepConnectionMovements));
  begin('disputes', reading(stepDisputes));
  begin('providerBalance', reading(stepProviderBalance));
}

/** Jobs of a cell's payments, whatever their connections. */
function cellLoops(begin: Begin, runtime: Runtime, publicUrl: string): void {
  const { cell } = runtime;
  begin('unknown', createUnknownTransferAlerts(runtime).step, { cell });
  begin('drafts', () => expireDrafts(runtime), { cell });
  begin('links', () => stepLinks(runtime), { cell });
  begin('soldLinks', () => stepSoldLinks(runtime), { cell });
  begin('payerReturns', () => stepPayerReturns(runtime), { cell });
  begin('alerts', createAlerts(runtime, publicUrl).step, { cell });
  begin('cellRetention', () => stepCellRetention(runtime), { cell });
  begin('testClocks', () => stepTestClocks(runtime), { cell });
}

/** Jobs of a cell's payments over one connection. */
function paymentLoops(begin: Begin, runtime: Runtime, provider: Provider, rest: Rest): FollowUp {
  const { cell } = runtime;
  const followUp = createFollowUp(runtime, provider);
  runtime.senders.set(followUp.connection, followUp.sender);
  begin('sends', followUp.stepSends, { cell, rest });
  begin('queries', followUp.stepQueries, { cell, rest });
  begin('lateQueries', () => stepLateQueries(runtime, provider), { cell });
  begin('defences', () => stepDefences(runtime, provider), { cell });
  return followUp;
}

interface Rest {
  /** Aborted when something became due since this call. */
  now(): AbortSignal;
}

function restUntil(wake: Runtime['wake']): Rest {
  let rest = new AbortController();
  wake.listen(() => {
    rest.abort(null);
    rest = new AbortController();
  });
  return { now: () => rest.signal };
}
