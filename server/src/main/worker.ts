import { stepUsedUpCheckouts } from '../api/checkouts/used-up.ts';
import { stepReminders } from '../api/due-charges/reminders.ts';
import { createEndingKeys } from '../api/keys/ending.ts';
import { createUnusedKeys } from '../api/keys/unused.ts';
import { stepLinks, stepSoldLinks } from '../api/links/links.ts';
import { stepTestClocks } from '../api/test-mode/clock.ts';
import { expireDrafts } from '../api/transfers/draft.ts';
import { hasLists, stepConnectionMovements } from '../flow/connection-movements.ts';
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
import { createAuditForward } from '../operate/audit/forward.ts';
import { createCloses } from '../operate/closes/step.ts';
import { stepExaminations } from '../operate/connections/examination.ts';
import { createHoldNotes, stepHolds } from '../operate/connections/held.ts';
import { stepOwedCredits } from '../operate/incidents/owed-credits.ts';
import { stepPayerReturns } from '../operate/incidents/return-rule.ts';
import { stepUnread } from '../operate/unread/unread-items.ts';
import { stepMailChoices } from '../panel/people/mail-choices.ts';
import type { Provider } from '../provider/provider.ts';
import { watchClock } from '../store/database/clock-offset.ts';
import type { Job } from '../store/rows/jobs.sql.ts';
import { type CellGlance, type DirectoryGlance, glanceAtDirectory, glanceInCell } from './glance.ts';
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
  retention: 60_000,
  cellRetention: 60_000,
  reminders: 60_000,
  mailChoices: 60_000,
  payerReturns: 10_000,
  owedCredits: 2_000,
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
  endingKeys: 10_000,
  alerts: 10_000,
  auditForward: 5_000,
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
  const clockOffset = home.clockOffset ?? watchClock(home, stopping.signal);
  const inbound = createInbound(home);
  const shares = joinWorkers(home, clockOffset, stopping.signal);
  const loops: Promise<void>[] = [];
  const loopDeps: LoopDeps = { clock: home.clock, log: home.log, stopping: stopping.signal };
  const begin: Begin = (name, step, { cell, due, stirred, sees } = {}) => {
    const mayRun = () => clockOffset.isTolerable() && (cell === undefined || shares.has(cell));
    const slow = () => (cell === undefined ? 1 : shares.slowdown());
    const quietMs = quietRestMs[name];
    const loop: Loop = {
      name,
      step: async () => mayRun() && step(),
      restMs: () => restMs[name] * slow(),
      bell: due,
      mayHaveWork: sees && (async () => mayRun() && sees()),
      quiet: hearsAll && stirred && quietMs !== undefined ? { restMs: quietMs, stirred } : undefined,
    };
    loops.push(shares.read.then(() => runLoop(loopDeps, loop)));
  };
  const followUps: FollowUp[] = [];
  const ends: (() => void)[] = [];

  const directory = glanceAtDirectory(home);
  directoryLoops(begin, home, { inbound, glance: directory, publicUrl });
  ends.push(home.connections.each((provider) => connectionLoops(begin, home, provider, directory)));
  ends.push(
    home.cells.each((cell) => {
      const bells = bellsOf(cell);
      const glance = glanceInCell(cell);
      cellLoops(begin, cell, bells, { publicUrl, glance });
      // Loops of its own for each connection, so that a slow provider does not delay the payments of another.
      const end = cell.connections.each((provider) => {
        followUps.push(paymentLoops(begin, cell, provider, { bells, glance }));
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
  /** Whether there may be something to do. */
  sees?: () => Promise<boolean>;
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
function directoryLoops(
  begin: Begin,
  home: Runtime,
  { inbound, glance, publicUrl }: { inbound: Inbound; glance: DirectoryGlance; publicUrl: string },
): void {
  const sees = (work: Parameters<DirectoryGlance['sees']>[0]) => ({ sees: () => glance.sees(work) });
  begin('deliveries', inbound.stepLeft, sees('deliveries'));
  begin('retention', () => stepDirectoryRetention(home));
  begin('unusedKeys', createUnusedKeys(home, publicUrl).step);
  begin('endingKeys', createEndingKeys(home, publicUrl).step);
  begin('closes', createCloses(home), { sees: () => glance.isDue('closes', '') });
  begin('examinations', () => stepExaminations(home), sees('examinations'));
  begin('owedCredits', () => stepOwedCredits(home), sees('owedCredits'));
  const noteHolds = createHoldNotes(home);
  const compare = async (): Promise<boolean> => {
    await home.connections.refresh();
    await noteHolds();
    await stepHolds(home);
    await home.cells.refresh();
    return false;
  };
  begin('connections', compare, { sees: glance.mayDiffer });
}

/** Jobs of a connection with all of its accounts: once, whatever the number of cells. */
function connectionLoops(begin: Begin, home: Runtime, provider: Provider, glance: DirectoryGlance): void {
  const reading = (step: (runtime: Runtime, from: Provider) => Promise<boolean>) => async () =>
    (await home.isInUse(provider)) && step(home, provider);
  const isDue = (job: Job['what']) => () => glance.isDue(job, provider.connection);
  begin('statement', reading(stepStatement), { sees: isDue('statement') });
  begin('lateStatement', reading(stepLateStatement), { sees: isDue('late_statement') });
  begin('statementLines', reading(stepStatementLines), { sees: () => glance.sees('statementLines') });
  begin('dayReports', reading(stepDayReport), { sees: isDue('day_report') });
  begin('unread', reading(stepUnread), { sees: () => glance.sees('unread') });
  begin('connectionMovements', reading(stepConnectionMovements), {
    sees: async () =>
      provider.cards !== undefined ||
      (await glance.sees('connectionMovements')) ||
      (hasLists(provider) && (await glance.isDue('costs', provider.connection))),
  });
  begin('disputes', reading(stepDisputes), { sees: isDue('disputes') });
  begin('providerBalance', reading(stepProviderBalance), { sees: isDue('balance') });
}

/** Jobs of a cell's payments, whatever their connections. */
function cellLoops(
  begin: Begin,
  runtime: Runtime,
  bells: Bells,
  { publicUrl, glance }: { publicUrl: string; glance: CellGlance },
): void {
  const place = { cell: runtime.cell, stirred: bells.stirred };
  const seeing = (work: Parameters<CellGlance['sees']>[0]) => ({ ...place, sees: () => glance.sees(work) });
  begin('unknown', createUnknownTransferAlerts(runtime).step, seeing('unknown'));
  begin('drafts', () => expireDrafts(runtime), seeing('drafts'));
  begin('links', () => stepLinks(runtime), seeing('links'));
  begin('usedUpCheckouts', () => stepUsedUpCheckouts(runtime), seeing('usedUpCheckouts'));
  begin('soldLinks', () => stepSoldLinks(runtime), seeing('soldLinks'));
  begin('reminders', () => stepReminders(runtime), place);
  begin('mailChoices', () => stepMailChoices(runtime, publicUrl), place);
  begin('payerReturns', () => stepPayerReturns(runtime), seeing('payerReturns'));
  begin('alerts', createAlerts(runtime, publicUrl).step, seeing('alerts'));
  if (runtime.auditForward !== null)
    begin('auditForward', createAuditForward(runtime).step, seeing('auditForward'));
  begin('cellRetention', () => stepCellRetention(runtime), place);
  begin('testClocks', () => stepTestClocks(runtime), seeing('testClocks'));
}

/** Jobs of a cell's payments over one connection. */
function paymentLoops(
  begin: Begin,
  runtime: Runtime,
  provider: Provider,
  { bells, glance }: { bells: Bells; glance: CellGlance },
): FollowUp {
  const place = { cell: runtime.cell, stirred: bells.stirred };
  const seeing = (work: Parameters<CellGlance['sees']>[0]) => ({ ...place, sees: () => glance.sees(work) });
  const followUp = createFollowUp(runtime, provider);
  runtime.senders.set(followUp.connection, followUp.sender);
  begin('sends', followUp.stepSends, { ...seeing('sends'), due: bells.due });
  begin('queries', followUp.stepQueries, { ...seeing('queries'), due: bells.due });
  begin('lateQueries', () => stepLateQueries(runtime, provider), seeing('lateQueries'));
  return followUp;
}
