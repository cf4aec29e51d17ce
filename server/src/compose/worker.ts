import { createAlerts } from '../accounts/alerts.ts';
import { watchClock } from '../db/clock-offset.ts';
import { createUnusedKeys } from '../keys/unused.ts';
import { stepAttemptPruning } from '../panel/auth/attempts.ts';
import { stepSecurityEventPruning } from '../panel/auth/security-events.ts';
import { stepRequestPruning } from '../request-log/request-log.ts';
import { stepRetention } from '../settlement/operator/retention.ts';
import { stepDayReport } from '../settlement/tracking/day-reports.ts';
import { createFollowUp } from '../settlement/tracking/follow-up.ts';
import { createInbound } from '../settlement/tracking/inbound.ts';
import { stepStatement } from '../settlement/tracking/statement.ts';
import { stepStatementLines } from '../settlement/tracking/statement-lines.ts';
import { createUnknownTransferAlerts } from '../settlement/tracking/unknown-transfer-alerts.ts';
import { expireDrafts } from '../transfers/draft.ts';
import type { Runtime } from './runtime.ts';

/** What runs with no client active. Every step may be run by any number of processes over one database. */
export interface Worker {
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
  retention: 10_000,
  statement: 10_000,
  statementLines: 10_000,
  dayReports: 10_000,
  unusedKeys: 10_000,
  alerts: 10_000,
  requestLog: 10_000,
  attempts: 10_000,
  securityEvents: 10_000,
};

export function runWorker(runtime: Runtime): Worker {
  const stopping = new AbortController();
  const clockOffset = watchClock(runtime, stopping.signal);
  const followUps = [...runtime.providers.values()].map((provider) => createFollowUp(runtime, provider));
  for (const { connection, sender } of followUps) runtime.senders.set(connection, sender);
  const inbound = createInbound(runtime);
  let rest = new AbortController();
  runtime.wake.listen(() => {
    rest.abort();
    rest = new AbortController();
  });

  /** Runs steps until `stop`; after a failed step it rests longer and continues. */
  async function loop(name: keyof typeof restMs, step: () => Promise<boolean>): Promise<void> {
    let failures = 0;
    const isWoken = name === 'sends' || name === 'queries';
    await clockOffset.measured;
    while (!stopping.signal.aborted) {
      let more = false;
      // Before the step: what wakes it while it runs cuts the rest behind it.
      const cut = isWoken ? AbortSignal.any([rest.signal, stopping.signal]) : stopping.signal;
      try {
        more = clockOffset.isTolerable() && (await step());
        failures = 0;
      } catch (error) {
        failures++;
        runtime.log.error({ err: error, step: name }, 'a step of the worker failed');
      }
      if (more) continue;
      const waitMs = Math.min(restMs[name] * 2 ** Math.min(failures, 8), 10_000);
      await runtime.clock.sleep(waitMs, failures > 0 ? stopping.signal : cut);
    }
  }

  const loops = [
    // One loop per connection, so that a slow provider does not delay the payments of another.
    ...followUps.flatMap(({ stepSends, stepQueries }) => [
      loop('sends', stepSends),
      loop('queries', stepQueries),
    ]),
    loop('deliveries', inbound.stepLeft),
    loop('unknown', createUnknownTransferAlerts(runtime).step),
    loop('drafts', () => expireDrafts(runtime)),
    ...[...runtime.providers.values()].flatMap((provider) => [
      loop('statement', () => stepStatement(runtime, provider)),
      loop('statementLines', () => stepStatementLines(runtime, provider)),
      loop('dayReports', () => stepDayReport(runtime, provider)),
    ]),
    loop('retention', () => stepRetention(runtime)),
    loop('unusedKeys', createUnusedKeys(runtime).step),
    loop('alerts', createAlerts(runtime).step),
    loop('requestLog', () => stepRequestPruning(runtime)),
    loop('attempts', () => stepAttemptPruning(runtime)),
    loop('securityEvents', () => stepSecurityEventPruning(runtime)),
  ];
  return {
    stop: async () => {
      stopping.abort();
      runtime.senders.clear();
      await Promise.all(loops);
      await Promise.all(followUps.map((followUp) => followUp.idle()));
      await runtime.till.idle();
    },
  };
}
