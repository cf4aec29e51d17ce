import type { Queries, Statement } from '../ports/sql.ts';
import { FactsChanged, hashOfShown } from '../store/as-shown.ts';
import { type Operator, OperatorRefused, reasonOf } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';

/**
 * The platform-wide block of withdrawals.
 *
 * It locks no account: a flush that began before may still accept, and every one that begins after refuses. What was accepted
 * and not sent waits with its reserve, since a first send reads the pause when it commits `sending`; queries go on.
 *
 * A restore from a backup begins with one (`pauseAfterRestore`), which only a finished comparison with the provider's lists
 * ends: until then it is not known what had been sent when the backup was not yet written. Where a provider lists no payouts, a person ends it.
 * So does every other loss of time (`pauseForLostTime`): a database that went back, whatever took it back.
 */
export interface PauseView {
  paused: boolean;
  reason: string | null;
  /** ms since 1970. */
  pausedAt: number | null;
}

const select: Statement = {
  name: 'pause_read',
  text: `SELECT withdrawals_paused_at AS "pausedAt", withdrawals_paused_reason AS reason, restored_at AS "restoredAt",
      lost_since AS "lostSince", uncompared_connections AS uncompared
    FROM installation FOR NO KEY UPDATE`,
};

const update: Statement = {
  name: 'pause_write',
  text: `UPDATE installation SET withdrawals_paused_at = $1, withdrawals_paused_reason = $2, restored_at = $3,
    uncompared_connections = $4::text[], lost_since = $5`,
};

/** Both times are the same, which says whose pause it is. It runs before an older copy is migrated on, so it names columns of every version. */
const afterRestore: Statement = {
  name: 'pause_restored',
  text: `UPDATE installation SET withdrawals_paused_at = $1, withdrawals_paused_reason = 'restored from a backup', restored_at = $1`,
};

interface Installation {
  pausedAt: number | null;
  reason: string | null;
  restoredAt: number | null;
  /** Since when something may be lost; null: since the newest payment that there was. */
  lostSince: number | null;
  /** Connections whose payouts of a lost time were never compared. */
  uncompared: readonly string[];
}

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const write = (
  tx: Queries,
  { pausedAt, reason, restoredAt, lostSince, uncompared }: Installation,
): Promise<unknown> =>
  tx.run(update, [time(pausedAt), reason, time(restoredAt), uncompared, time(lostSince)]);

/** A repeat keeps the time of the first and takes the new reason. */
export function pauseWithdrawals(operator: Operator, text: string): Promise<PauseView> {
  const reason = reasonOf(text);
  return change(operator, 'withdrawals.pause', reason, (before) => {
    const { pausedAt, restoredAt } = before;
    const now = operator.clock.now();
    // Not the restore's own any more, also within its millisecond: the comparison that ends that one leaves this one alone.
    if (pausedAt !== null && pausedAt === restoredAt)
      return { ...before, pausedAt: Math.max(now, restoredAt + 1), reason };
    return { ...before, pausedAt: pausedAt ?? now, reason };
  });
}

/** The end of a pause, as two people see it: it posts nothing. @returns null: there is no pause */
export async function shownResume(sql: Queries): Promise<{ pausedAt: number; shown: string } | null> {
  const [row] = await sql.run<{ pausedAt: number | null }>(pausedSince);
  if (!row || row.pausedAt === null) return null;
  const { pausedAt } = row;
  return { pausedAt, shown: hashOfShown(['resumeWithdrawals', String(pausedAt)], []) };
}

const pausedSince: Statement = {
  name: 'pause_since',
  text: 'SELECT withdrawals_paused_at AS "pausedAt" FROM installation',
};

/**
 * @param asShown the pause that a person saw (null: none), and why it ends
 * @throws OperatorRefused after a restore, before the comparison; FactsChanged it is another pause than the one shown
 */
export const resumeWithdrawals = (
  operator: Operator,
  asShown?: { pausedAt: number | null; reason: string | null },
): Promise<PauseView> =>
  change(operator, 'withdrawals.resume', asShown?.reason ?? null, (before) => {
    if (asShown && before.pausedAt !== asShown.pausedAt)
      throw new FactsChanged('the pause is another one than the one that was shown');
    if (before.restoredAt !== null) {
      throw new OperatorRefused(
        'the database has lost a time: run `vintem reconcile`, which ends the pause when it has compared everything',
      );
    }
    return { ...before, pausedAt: null, reason: null };
  });

/** The evidence of a comparison that ends a pause. */
export interface Compared {
  /** Of the restore that it compared for: a loss that was noted since stays. */
  restoredAt: number;
  /** Connections that pay out and list no payouts: what they paid in the time that was lost is in no list, so the pause stays until a person has looked and resumes. */
  unlisted: readonly string[];
  /** Connections whose lists left something open that a person accepted: first sends are queried first there from now on. */
  doubtful: readonly string[];
  /** Why a person accepted it. */
  reason: string | null;
}

/**
 * The providers' lists have been compared: ends the restore's own pause, and no other.
 * @returns whether there was a restore to end
 */
export async function endRestore(
  operator: Operator,
  { restoredAt, unlisted, doubtful, reason }: Compared,
): Promise<boolean> {
  let ended = false;
  await change(operator, 'restore.end', reason, (before) => {
    ended = before.restoredAt === restoredAt;
    if (!ended) return before;
    const own = before.pausedAt === before.restoredAt;
    const uncompared = [...new Set([...before.uncompared, ...unlisted, ...doubtful])].sort();
    const after = { ...before, restoredAt: null, lostSince: null, uncompared };
    if (!own) return after;
    if (unlisted.length === 0) return { ...after, pausedAt: null, reason: null };
    return {
      ...after,
      reason: `a time was lost: no list says what was paid out at ${unlisted.join(', ')}`,
    };
  });
  return ended;
}

/** The row that a restore writes. */
export const pauseAfterRestore = (tx: Queries, now: number): Promise<unknown> =>
  tx.run(afterRestore, [time(now)]);

/** A pause that a person placed stays theirs. Of two losses the earlier time counts, and the later comparison. */
const forLostTime: Statement = {
  name: 'pause_lost_time',
  text: `UPDATE installation SET restored_at = $1, lost_since = LEAST(lost_since, $2::timestamptz),
      withdrawals_paused_at = CASE WHEN withdrawals_paused_at IS NULL OR withdrawals_paused_at = restored_at THEN $1
        ELSE withdrawals_paused_at END,
      withdrawals_paused_reason = CASE WHEN withdrawals_paused_at IS NULL OR withdrawals_paused_at = restored_at THEN $3
        ELSE withdrawals_paused_reason END`,
};

/** The database may have lost what happened since `since`: as after a restore. */
export const pauseForLostTime = (tx: Queries, now: number, since: number): Promise<unknown> =>
  tx.run(forLostTime, [
    time(now),
    time(since),
    `the database may have lost what happened since ${new Date(since).toISOString()}`,
  ]);

/** For so long after a loss a connection that is made may be one that was lost with it. */
const askedForMs = 30 * 86_400_000;

const askAt: Statement = {
  name: 'pause_ask_at',
  text: `UPDATE installation SET uncompared_connections = array_append(uncompared_connections, $1::text)
    WHERE restored_at IS NULL AND NOT uncompared_connections @> ARRAY[$1::text]
      AND EXISTS (SELECT FROM lost_time WHERE noted_at > $2)`,
};

/**
 * A connection that is made after the comparison of a loss may have been there in the lost time, and its lists were not compared: first payouts are
 * queried there before they are sent, until a person says that it was compared. One that is made before the comparison takes part in it.
 */
export const askAtNewConnection = (tx: Queries, connection: string, now: number): Promise<unknown> =>
  tx.run(askAt, [connection, time(now - askedForMs)]);

/**
 * A person has compared the provider's own statement of the lost time with the books, and nothing of that time will be asked for again: a refusal of
 * a first send is final again on this connection. @throws OperatorRefused when it is not among those that were never compared
 */
export const markCompared = (operator: Operator, connection: string, text: string): Promise<PauseView> =>
  change(operator, 'provider.compared', reasonOf(text), (before) => {
    if (!before.uncompared.includes(connection))
      throw new OperatorRefused(`no restore left payouts of ${connection} to be compared`);
    return { ...before, uncompared: before.uncompared.filter((one) => one !== connection) };
  });

async function change(
  operator: Operator,
  action: string,
  reason: string | null,
  apply: (before: Installation) => Installation,
): Promise<PauseView> {
  return operator.sql.tx(async (tx) => {
    const [before] = await tx.run<Installation>(select);
    if (!before) throw new Error('the installation has no row');
    const after = apply(before);
    const audit = {
      accountId: installationId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action,
      subject: 'installation',
      reason,
      detail: { before, after },
    };
    await Promise.all([write(tx, after), writeAudit(tx, audit)]);
    return { paused: after.pausedAt !== null, reason: after.reason, pausedAt: after.pausedAt };
  });
}
