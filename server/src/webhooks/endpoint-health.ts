import { findPeople } from '../accounts/people.sql.ts';
import type { Log } from '../ground/log.ts';
import type { Mail } from '../ground/mail.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import { claimUnwellEndpoints, disableEndpoint, markEndpointTold, type Unwell } from './endpoints.sql.ts';
import { isHopeless, mailFor } from './schedule.ts';

/**
 * Looks after endpoints that fail: tells people once it counts as failing, after one and three days, and when it was disabled; and
 * disables what has had no success for five days even where no attempt is made any more.
 *
 * A mail is noted after it was sent: a process that dies in between sends it twice rather than never.
 */
const lookAgainMs = 60_000;

export function createEndpointHealth(deps: { sql: Sql; clock: Clock; mail: Mail; log: Log }): {
  step(): Promise<boolean>;
} {
  const { sql, clock, mail, log } = deps;

  async function lookAfter(endpoint: Unwell): Promise<void> {
    const { accountId, id, told } = endpoint;
    const now = clock.now();
    if (endpoint.disabledReason === null && isHopeless(endpoint, now)) {
      await sql.tx((tx) => disableEndpoint(tx, accountId, id, 'failing', now));
      endpoint.disabledReason = 'failing';
    }
    const wanted = mailFor(endpoint, endpoint.disabledReason, now);
    if (wanted <= told) return;
    const people = await findPeople(sql, accountId, 'integrations');
    // An account that nobody has signed in to: whoever runs the installation knows whom to call.
    for (const to of people.length > 0 ? people : [null]) {
      await mail.send({ to, ...letterOf(endpoint, wanted) });
    }
    await markEndpointTold(sql, accountId, id, wanted);
  }

  return {
    /** One round; true when there may be more at once. */
    step: async () => {
      const now = clock.now();
      const unwell = await claimUnwellEndpoints(sql, now, now + lookAgainMs);
      for (const endpoint of unwell) {
        await lookAfter(endpoint).catch((error: unknown) =>
          log.error({ err: error, endpoint: endpoint.id }, 'nobody could be told of a failing endpoint'),
        );
      }
      return unwell.length === 100;
    },
  };
}

function letterOf(endpoint: Unwell, wanted: number): { subject: string; text: string } {
  const { accountName, url, failedAttempts, failedDeliveries, failingSince, disabledReason } = endpoint;
  const subject = [
    '',
    'A webhook endpoint is failing',
    'A webhook endpoint has been failing for a day',
    'A webhook endpoint has been failing for three days',
    'A webhook endpoint was disabled',
  ][wanted] as string;
  const lines = [
    `Account: ${accountName} (${endpoint.accountId})`,
    `Endpoint: ${endpoint.id}`,
    `Address: ${url}`,
    `No success since: ${new Date(failingSince).toISOString()}`,
    `Failed attempts: ${failedAttempts}; deliveries given up: ${failedDeliveries}`,
    '',
    ...(wanted === 4
      ? [
          disabledReason === 'gone'
            ? 'It answered 410 Gone, so it was disabled at once.'
            : 'It had no success for five days, so it was disabled.',
          'Events are recorded as skipped from now on. Enable it again, then replay since it was disabled: nothing is lost for 90 days.',
        ]
      : ['Events are tried again for three days. Without one success for five days it is disabled.']),
  ];
  return { subject, text: lines.join('\r\n') };
}
