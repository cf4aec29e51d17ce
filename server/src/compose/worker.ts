import { createAlerts } from '../accounts/alerts.ts';
import { watchClock } from '../db/clock-offset.ts';
import type { House } from './runtime.ts';
import { createUnusedKeys } from '../keys/unused.ts';
import { stepAttemptPruning } from '../panel/auth/attempts.ts';
import { stepSecurityEventPruning } from '../panel/auth/security-events.ts';
import { stepRequestPruning } from '../request-log/request-log.ts';
import { stepDayReport } from '../settlement/tracking/day-reports.ts';
import { createFollowUp } from '../settlement/tracking/follow-up.ts';
import { createInbound } from '../settlement/tracking/inbound.ts';
import { stepRetention } from '../settlement/operator/retention.ts';
import { stepStatement } from '../settlement/tracking/statement.ts';
import { stepStatementLines } from '../settlement/tracking/statement-lines.ts';
import { createStillUnknown } from '../settlement/tracking/unknown-transfer-alerts.ts';
import { expireDrafts } from '../transfers/draft.ts';

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

export function runWorker(house: House): Worker {
  const stopping = new AbortController();
  const clockOffset = watchClock(house, stopping.signal);
  const followUps = [...house.providers.values()].map((provider) => createFollowUp(house, provider));
  for (const { connection, sender } of followUps) house.senders.set(connection, sender);
  const inbound = createInbound(house);
  let rest = new AbortController();
  house.wake.listen(() => {
    rest.abort();
    rest = new AbortController();
  });

  /** Steps until it is told to stop; a step that fails rests longer and goes on. */
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
        house.log.error({ err: error, step: name }, 'a step of the worker failed');
      }
      if (more) continue;
      const waitMs = Math.min(restMs[name] * 2 ** Math.min(failures, 8), 10_000);
      await house.clock.sleep(waitMs, failures > 0 ? stopping.signal : cut);
    }
  }

  const loops = [
    // A loop of its own for each connection: what one provider does delays nobody at another.
    ...followUps.flatMap(({ stepSends, stepQueries }) => [
      loop('sends', stepSends),
      loop('queries', stepQueries),
    ]),
    loop('deliveries', inbound.stepLeft),
    loop('unknown', createStillUnknown(house).step),
    loop('drafts', () => expireDrafts(house)),
    ...[...house.providers.values()].flatMap((provider) => [
      loop('statement', () => stepStatement(house, provider)),
      loop('statementLines', () => stepStatementLines(house, provider)),
      loop('dayReports', () => stepDayReport(house, provider)),
    ]),
    loop('retention', () => stepRetention(house)),
    loop('unusedKeys', createUnusedKeys(house).step),
    loop('alerts', createAlerts(house).step),
    loop('requestLog', () => stepRequestPruning(house)),
    loop('attempts', () => stepAttemptPruning(house)),
    loop('securityEvents', () => stepSecurityEventPruning(house)),
  ];
  return {
    stop: async () => {
      stopping.abort();
      house.senders.clear();
      await Promise.all(loops);
      await Promise.all(followUps.map((followUp) => followUp.idle()));
      await house.till.idle();
    },
  };
}
