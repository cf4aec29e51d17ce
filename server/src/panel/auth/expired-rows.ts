import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { pruneExpired } from './expired-rows.sql.ts';

const rowsPerStep = 500;

/**
 * Removes sessions, challenges and links whose time is over. better-auth would remove all of them in one statement when a person signs
 * in: with two million rows of strangers, no code of an app was accepted within the time that a statement has.
 * @returns whether there is more to remove at once
 */
export const stepExpiredPruning = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneExpired(sql, clock.now(), rowsPerStep)) === rowsPerStep;
