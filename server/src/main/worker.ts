import { stepUsedUpCheckouts } from '../api/checkouts/used-up.ts';
import { stepReminders } from '../api/due-charges/reminders.ts';
import { createUnusedKeys } from '../api/keys/unused.ts';
import { stepLinks, stepSoldLinks } from '../api/links/links.ts';
import { stepTestClocks } from '../api/test-mode/clock.ts';
import { expireDrafts } from '../api/transfers/draft.ts';
import { stepConnectionMovements } from '../flow/connection-movements.ts';
import { createFollowUp, type FollowUp } from '../flow/follow-up.ts';
import { createInbound, type Inbound } from '../flow/inbound.ts';
import { type Bell, createBell, type Loop, type LoopDeps, runLoop } from '../ground/loop.ts';
import { stepDayReport } from '../jobs/day-reports.ts';
import { stepLateQueries } from '../jobs/late-queries.ts';
import { stepDisputes } from '../jobs/poll.ts';
import { stepProviderBalance } from '../jobs/provider-balance.ts';
import { stepLateStatement, stepStatement } from '../jobs/statement.ts';
import { stepStatementLines } from '../jobs/statement-lines.ts';
import { createUnknownTransferAlerts } from '../jobs/unknown-transfer-alerts.ts';
import { createAlerts } from '../operate/accounts/alerts.ts';
import { stepCloses } from '../operate/closes/step.ts';
import { stepExaminations } from '../operate/connections/examination.ts';
import { createHoldNotes, stepHolds } from '../operate/connections/held.ts';
import { stepPayerReturns } from '../operate/incidents/return-rule.ts';
import { stepUnread } from '../operate/unread/unread-items.ts';
import { stepMailChoices } from '../panel/people/mail-choices.ts';
import type { Provider } from '../provider/provider.ts';
import { watchClock } from '../store/database/clock-offset.ts';
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

/** How long a step that found nothing rests, in milliseconds. `wake` cuts it short for the first two: a send or a query is due, and nothing else. */
const restMs = {
  sends: 100,
  queries: 200,
  deliveries: 5_000,
  unknown: 10_000,
  drafts: 5_000,
  links: 5_000,
  soldLinks: 2_000,
  usedUpCheckouts: 2_000,
  retention: 10_000,
  cellRetention: 10_000,
  reminders: 60_000,
  mailChoices: 60_000,
  payerReturns: 10_000,
  statement: 10_000,
  lateStatement: 10_000,
  lateQueries: 10_000,
  statementLines: 10_000,
  dayReports: 10_000,
  unread: 10_000,
  connectionMovements: 10_000,
  disputes: 2_000,
  providerBalance: 10_000,
  unusedKeys: 10_000,
  alerts: 10_000,
  testClocks: 500,
  closes: 10_000,
  connections: 2_000,
  examinations: 2_000,
};

/** How long those rest instead that would make most of an idle installation's transactions, while nothing is due and no event is written. */
const quietRestMs: Partial<Record<keyof typeof restMs, number>> = {
  sends: 1_000,
  queries: 1_000,
  testClocks: 1_000,
  soldLinks: 5_000,
  usedUpCheckouts: 5_000,
};

/**
 * @param publicUrl where people of accounts find their panel
 * @param hearsAll the calls that this worker works for are taken in this process: it rings when one writes something
 */
export function runWorker(
  home: Runtime,
  publicUrl: string,
  { hearsAll }: { hearsAll: boolean } = { hearsAll: true },
): Worker {
  const stopping = new AbortController();
  const clockOffset = watchClock(home, stopping.signal);
  const inbound = createInbound(home);
  const shares = joinWorkers(home, clockOffset, stopping.signal);
  const loops: Promise<void>[] = [];
  const loopDeps: LoopDeps = { clock: home.clock, log: home.log, stopping: stopping.signal };
  const begin: Begin = (name, step, { cell, due, stirred } = {}) => {
    const mayRun = () => clockOffset.isTolerable() && (cell === undefined || shares.has(cell));
    const slow = () => (cell === undefined ? 1 : shares.slowdown());
    const quietMs = quietRestMs[name];
    const loop: Loop = {
      name,
      step: async () => mayRun() && step(),
      restMs: () => restMs[name] * slow(),
      bell: due,
      quiet: hearsAll && stirred && quietMs !== undefined ? { restMs: quietMs, stirred } : undefined,
    };
    loops.push(shares.read.then(() => runLoop(loopDeps, loop)));
  };
  const followUps: FollowUp[] = [];
  const ends: (() => void)[] = [];

  directoryLoops(begin, home, inbound);
  ends.push(home.connections.each((provider) => connectionLoops(begin, home, provider)));
  ends.push(
    home.cells.each((cell) => {
      const bells = bellsOf(cell);
      cellLoops(begin, cell, bells, publicUrl);
      // Loops of its own for each connection, so that a slow provider does not delay the payments of another.
      const end = cell.connections.each((provider) => {
        followUps.push(paymentLoops(begin, cell, provider, bells));
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

/** @returns whether there is more to do at once */
type Step = () => Promise<boolean>;

interface Place {
  /** Runs only while this worker has the cell, and more rarely the more cells it has. */
  cell?: string;
  /** A send or a query is due. */
  due?: Bell;
  /** That, or events were written. */
  stirred?: Bell;
}

type Begin = (name: keyof typeof restMs, step: Step, place?: Place) => void;

type Bells = Required<Pick<Place, 'due' | 'stirred'>>;

function bellsOf({ wake, eventsWritten }: Runtime): Bells {
  const bells = { due: createBell(), stirred: createBell() };
  wake.listen(bells.due.ring);
  wake.listen(bells.stirred.ring);
  eventsWritten.listen(bells.stirred.ring);
  return bells;
}

/** Jobs of the directory: once, whatever the number of cells. */
function directoryLoops(begin: Begin, home: Runtime, inbound: Inbound): void {
  begin('deliveries', inbound.stepLeft);
  begin('retention', () => stepDirectoryRetention(home));
  begin('unusedKeys', createUnusedKeys(home).step);
  begin('closes', () => stepCloses(home));
  begin('examinations', () => stepExaminations(home));
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
function cellLoops(begin: Begin, runtime: Runtime, bells: Bells, publicUrl: string): void {
  const place = { cell: runtime.cell, stirred: bells.stirred };
  begin('unknown', createUnknownTransferAlerts(runtime).step, place);
  begin('drafts', () => expireDrafts(runtime), place);
  begin('links', () => stepLinks(runtime), place);
  begin('usedUpCheckouts', () => stepUsedUpCheckouts(runtime), place);
  begin('soldLinks', () => stepSoldLinks(runtime), place);
  begin('reminders', () => stepReminders(runtime), place);
  begin('mailChoices', () => stepMailChoices(runtime, publicUrl), place);
  begin('payerReturns', () => stepPayerReturns(runtime), place);
  begin('alerts', createAlerts(runtime, publicUrl).step, place);
  begin('cellRetention', () => stepCellRetention(runtime), place);
  begin('testClocks', () => stepTestClocks(runtime), place);
}

/** Jobs of a cell's payments over one connection. */
function paymentLoops(begin: Begin, runtime: Runtime, provider: Provider, bells: Bells): FollowUp {
  const place = { cell: runtime.cell, stirred: bells.stirred };
  const followUp = createFollowUp(runtime, provider);
  runtime.senders.set(followUp.connection, followUp.sender);
  begin('sends', followUp.stepSends, { ...place, due: bells.due });
  begin('queries', followUp.stepQueries, { ...place, due: bells.due });
  begin('lateQueries', () => stepLateQueries(runtime, provider), place);
  return followUp;
}
