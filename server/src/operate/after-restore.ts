import type { Queries, Statement } from '../ports/sql.ts';
import { unknownIdentity } from '../provider/identity.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { installationId, writeAudit, writeAuditOfCopy } from '../store/rows/audit.sql.ts';
import { noteLostTime } from './lost-time.sql.ts';
import { pauseAfterRestore, pauseForLostTime } from './pause.ts';

/** A copy of an early version keeps no accounts yet. */
const hasIdentities: Statement = {
  name: 'restore_has_identities',
  text: `SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('vintem.intent') AND attname = 'identity') AS present`,
};

const accountsBehind: Statement = {
  name: 'restore_accounts_behind',
  text: 'SELECT id, identity FROM connection WHERE identity IS NOT NULL',
};

/**
 * The account at the provider that a row may have been sent to in the time that was lost: the one that was behind its connection then, since no other may
 * come behind a connection with something unfinished.
 */
const identityOfRow = (row: string, ids: string, identities: string): string =>
  `coalesce(${row}.identity, (SELECT k.identity FROM unnest(${ids}::text[], ${identities}::text[]) AS k (id, identity)
      WHERE k.id = ${row}.connection), '${unknownIdentity}')`;

const unclear: Statement = {
  name: 'restore_intents',
  text: `UPDATE intent i SET state = 'sending', priority = 0, fence = $1, attempt = GREATEST(attempt, 1), lease_until = $2,
      due_at = $2, attempt_ended_at = NULL, failures = 0, absences = 0, absent_at = NULL, identity = ${identityOfRow('i', '$3', '$4')}`,
};

const unclearOfEarly: Statement = {
  name: 'restore_intents_of_early',
  text: `UPDATE intent SET state = 'sending', priority = 0, fence = $1, attempt = GREATEST(attempt, 1), lease_until = $2,
      due_at = $2, attempt_ended_at = NULL, failures = 0, absences = 0, absent_at = NULL`,
};

/** A copy of an early version knows nothing of losses yet. */
const hasLosses: Statement = {
  name: 'restore_has_losses',
  text: `SELECT to_regclass('vintem.lost_time') IS NOT NULL AS present`,
};

/** Two arrays: connections, and the account behind each. */
async function findAccountsBehind(sql: Queries): Promise<[string[], string[]]> {
  const rows = await sql.run<{ id: string; identity: string }>(accountsBehind);
  return [rows.map(({ id }) => id), rows.map(({ identity }) => identity)];
}

const refill: Statement = {
  name: 'restore_query_buckets',
  text: 'UPDATE connection SET query_bucket_at = $1',
};

/** As after a password that was set anew by mail: who was removed since the copy was made must not make keys or invite. */
const frozenMs = 24 * 3_600_000;

/** A copy of an early version has no people yet. */
const hasPeople: Statement = {
  name: 'restore_has_people',
  text: `SELECT to_regclass('vintem.panel_user') IS NOT NULL AS present`,
};

const freezePeople: Statement = {
  name: 'restore_people',
  text: 'UPDATE panel_user SET frozen_until = GREATEST(frozen_until, $1)',
};

const keysInForce: Statement = {
  name: 'restore_keys',
  text: `SELECT id, account_id AS "accountId", name, permissions FROM api_key
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY created_at, id`,
};

const peopleInForce: Statement = {
  name: 'restore_members',
  text: `SELECT m.account_id AS "accountId", u.email, m.role FROM panel_member m JOIN panel_user u ON u.id = m.user_id
    ORDER BY m.created_at, u.email`,
};

/** Who may use the restored installation: what was revoked or removed since the copy was made is in force again. */
export interface InForceAgain {
  keys: { id: string; accountId: string; name: string; permissions: string[] }[];
  people: { accountId: string; email: string; role: string }[];
}

/**
 * Corrects rows of a copy that may no longer be true, in the transaction that brings them back.
 *
 * Withdrawals pause until the provider's lists have been compared. Whatever was unfinished, certainly unsent things included, may
 * have been sent in the time that was lost: it becomes a send whose owner is gone and whose one attempt ended unclear. So it
 * is queried first, repeated only under its own id, and released only when the provider itself says that this id was refused.
 * The addresses that the provider delivers to stay what they were.
 *
 * Keys and people that were revoked or removed since are in force again. No key moves money before the pause ends, no person is
 * signed in, and people are frozen for a day: an operator has the list, and the time to revoke. Rejected: to hold back all keys
 * until each is confirmed, because every merchant would be refused after each restore for the sake of a key that may be one.
 */
export async function markRestored(
  tx: Queries & { inEveryCell(work: (cell: Queries) => Promise<unknown>): Promise<void> },
  { clock, ids, actor }: Pick<Operator, 'clock' | 'ids' | 'actor'>,
  copy: { createdAt: string; sha256: string },
): Promise<InForceAgain> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  await pauseAfterRestore(tx, now);
  const fence = ids.uuid();
  const [identities] = await tx.run<{ present: boolean }>(hasIdentities);
  if (identities?.present) {
    const behind = await findAccountsBehind(tx);
    await tx.inEveryCell((cell) => cell.run(unclear, [fence, at, ...behind]));
  } else await tx.inEveryCell((cell) => cell.run(unclearOfEarly, [fence, at]));
  await tx.run(refill, [at]);
  const [losses] = await tx.run<{ present: boolean }>(hasLosses);
  if (losses?.present)
    await noteLostTime(tx, { since: Date.parse(copy.createdAt), notedAt: now, notedBy: actor });
  const [panel] = await tx.run<{ present: boolean }>(hasPeople);
  if (panel?.present) await tx.run(freezePeople, [new Date(now + frozenMs).toISOString()]);
  const audit = {
    accountId: installationId,
    id: ids.uuid(),
    at: now,
    actor,
    action: 'restore',
    subject: 'installation',
    reason: null,
    detail: copy,
  };
  await writeAuditOfCopy(tx, audit);
  return {
    keys: await tx.run<InForceAgain['keys'][number]>(keysInForce, [at]),
    people: panel?.present ? await tx.run<InForceAgain['people'][number]>(peopleInForce) : [],
  };
}

const beforeAll = '00000000-0000-0000-0000-000000000000';
const intentsPerPage = 1_000;

/** The page is cut before it is filtered: no statement takes longer for more that waits. */
const unclearPage: Statement = {
  name: 'lost_time_intents',
  text: `WITH page AS MATERIALIZED (SELECT account_id, payment_id, state FROM intent
      WHERE (account_id, payment_id) > ($3, $4) ORDER BY account_id, payment_id LIMIT $5),
    changed AS (UPDATE intent i SET state = 'sending', priority = 0, fence = $1, attempt = GREATEST(attempt, 1), lease_until = $2,
        due_at = $2, attempt_ended_at = NULL, failures = 0, absences = 0, absent_at = NULL, identity = ${identityOfRow('i', '$6', '$7')}
      FROM page p WHERE i.account_id = p.account_id AND i.payment_id = p.payment_id AND i.state <> 'awaiting' AND p.state <> 'awaiting')
    SELECT account_id AS "accountId", payment_id AS "paymentId" FROM page ORDER BY account_id DESC, payment_id DESC LIMIT 1`,
};

/**
 * The same as `markRestored`, on a live database that went back to an earlier moment by other means.
 *
 * The pause comes first and by itself, so that nothing is sent while the rest is changed. What waits for an answer has been sent by these books as well, and
 * stays as it is. Everything may be repeated: a process that ends before `lost_time` has its row leaves the loss to be noted again.
 * @param since ms since 1970: too early rather than too late
 * @throws OperatorRefused a time that has not come yet
 */
export async function markLostTime(
  operator: Operator,
  since: number,
  reason: string | null,
): Promise<InForceAgain> {
  const { sql, everyCell = [sql], clock, ids, actor } = operator;
  const now = clock.now();
  if (since > now) throw new OperatorRefused('the time is in the future');
  const at = new Date(now).toISOString();
  await sql.tx((tx) => pauseForLostTime(tx, now, since));
  const fence = ids.uuid();
  const behind = await findAccountsBehind(sql);
  for (const cell of everyCell) {
    let after: { accountId: string; paymentId: string } | undefined = {
      ...{ accountId: beforeAll, paymentId: beforeAll },
    };
    while (after) {
      const { accountId, paymentId }: { accountId: string; paymentId: string } = after;
      [after] = await cell.run<{ accountId: string; paymentId: string }>(unclearPage, [
        ...[fence, at, accountId, paymentId, intentsPerPage, ...behind],
      ]);
    }
  }
  const audit = {
    accountId: installationId,
    id: ids.uuid(),
    at: now,
    actor,
    action: 'withdrawals.lost_time',
    subject: 'installation',
    reason,
    detail: { since: new Date(since).toISOString() },
  };
  return sql.tx(async (tx) => {
    await tx.run(refill, [at]);
    await tx.run(freezePeople, [new Date(now + frozenMs).toISOString()]);
    await noteLostTime(tx, { since, notedAt: now, notedBy: actor });
    await writeAudit(tx, audit);
    return {
      keys: await tx.run<InForceAgain['keys'][number]>(keysInForce, [at]),
      people: await tx.run<InForceAgain['people'][number]>(peopleInForce),
    };
  });
}
