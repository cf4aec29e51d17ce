import { createDatabase } from '@vintem/testkit/database.ts';
import { expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { systemClock as clock } from '../../src/ports/clock.ts';
import { migrate, readMigrations } from '../../src/store/database/migrate.ts';

/** Defences that an earlier build has stored come into the pipeline as they stand: nothing that may have left is sent as the first. */

const account = '0190a000-0000-7000-8000-000000000001';
const ids = [1, 2, 3, 4, 5].map((n) => `0190a000-0000-7000-8000-00000000001${n}`);

test('A stored defence is sent, queried or over afterwards as it was before', async () => {
  const db = await createDatabase({ empty: true });
  try {
    const files = await readMigrations();
    const upTo = (name: string) => files.filter((one) => one.name < name);
    const log = createLog('silent');
    await migrate({ url: db.url, clock, log, migrations: upTo('0097') });
    const settle = "SET session_replication_role = 'replica'; SET search_path TO vintem;";
    const row = (n: number, status: string, more: string) =>
      `INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status, opened_at,
          debited_cents, created_at, updated_at)
        VALUES ('${account}', '${ids[n]}', '${ids[n]}', '${account}', 'bank', 'p${n}', 'E${n}', 700, 'open', now(), 0, now(), now());
      INSERT INTO dispute_defence (account_id, dispute_id, operation_id, connection, status, file_ids, created_at, updated_at, ${more.split('=')[0]})
        VALUES ('${account}', '${ids[n]}', '${account}', 'bank', '${status}', ARRAY['${account}'::uuid], now(), now(), ${more.split('=')[1]});`;
    await db.admin(
      [
        settle,
        row(0, 'pending', 'attempts, due_at = 0, now()'),
        row(1, 'unknown', `attempts, due_at, identity = 2, now(), 'theirs'`),
        row(2, 'unknown', 'attempts, due_at = 1, NULL'),
        row(3, 'sent', 'attempts, sent_at = 1, now()'),
        row(4, 'failed', `attempts, reason = 1, 'provider_refused'`),
      ].join('\n'),
    );
    await migrate({ url: db.url, clock, log, migrations: files });
    const rows = await db.admin(
      `SELECT f.status, f.attempts, f.amount_cents::int AS cents, f.id = f.dispute_id AS same, f.file_ids, i.state, i.attempt, i.identity
        FROM vintem.dispute_defence f LEFT JOIN vintem.intent i ON i.account_id = f.account_id AND i.payment_id = f.id ORDER BY f.id`,
    );
    const known = { cents: 700, same: true, file_ids: [account] };
    const over = { ...known, state: null, attempt: null, identity: null };
    expect(rows).toEqual([
      { ...known, status: 'unknown', attempts: 0, state: 'ready', attempt: 0, identity: null },
      { ...known, status: 'unknown', attempts: 0, state: 'awaiting', attempt: 2, identity: 'theirs' },
      { ...over, status: 'expired', attempts: 1 },
      { ...over, status: 'completed', attempts: 1 },
      { ...over, status: 'failed', attempts: 1 },
    ]);
  } finally {
    await db.drop();
  }
});
