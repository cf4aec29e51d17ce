import { mailPeople } from '../../events/mail-people.ts';
import type { Log } from '../../ground/log.ts';
import type { Letter, Mail } from '../../ground/mail.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql } from '../../ports/sql.ts';

const claimMs = 600_000;
const lookAgainMs = 3_600_000;
const keysAtOnce = 100;

export interface WarningDeps {
  sql: Sql;
  clock: Clock;
  mail: Mail;
  log: Log;
}

interface Warning<Key> {
  kind: 'ending' | 'unused';
  /** Takes keys that no mail has named; other processes do not see them until then. */
  claim(sql: Queries, now: number, untilMs: number, most: number): Promise<Key[]>;
  letterOf(key: Key): Omit<Letter, 'to'>;
  note(sql: Queries, id: string, now: number): Promise<unknown>;
}

/**
 * Mails the people who manage an account's keys about each key that is claimed. A mail is recorded after it was sent: a process that dies in between sends it
 * twice, and never loses it.
 */
export function createKeyWarnings<Key extends { id: string; accountId: string }>(
  { sql, clock, mail, log }: WarningDeps,
  { kind, claim, letterOf, note }: Warning<Key>,
): { step(): Promise<boolean> } {
  let lookAtMs = Number.NEGATIVE_INFINITY;

  async function warn(key: Key): Promise<void> {
    await mailPeople({ sql, mail }, key.accountId, 'integrations', letterOf(key));
    await note(sql, key.id, clock.now());
  }

  return {
    /** One round; true when there may be more at once. Days are nothing to hurry for: it looks once an hour. */
    step: async () => {
      if (clock.monotonicMs() < lookAtMs) return false;
      const now = clock.now();
      const keys = await claim(sql, now, now + claimMs, keysAtOnce);
      for (const key of keys) {
        await warn(key).catch((error: unknown) =>
          log.error({ err: error, keyId: key.id, kind }, 'failed to send the warning of a key'),
        );
      }
      const more = keys.length === keysAtOnce;
      if (!more) lookAtMs = clock.monotonicMs() + lookAgainMs;
      return more;
    },
  };
}
