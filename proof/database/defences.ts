import { type Database, openDatabase } from '../simulation/database.ts';
import { openStage } from '../simulation/scenario.ts';
import { DatabaseError } from '../simulation/wire.ts';

/**
 * The refusals of the database itself. For every CHECK, primary key and unique key of the tables that hold money, a statement
 * that only it stands against: it must be refused under its name, and go through when it is dropped (else something
 * else refuses, and this one is not shown to work). A constraint without a statement here fails the rig.
 */
const tables = [
  'installation',
  'account',
  'operation',
  'request_key',
  'balance',
  'journal',
  'payment',
  'known_return',
  'refund',
  'charge_cancel',
  'due_change',
  'statement_line',
  'connection_movement',
  'cash_transfer',
  'intent',
  'incident',
  'hold',
  'dispute',
  'dispute_defence',
  'checkpoint',
];

/** The columns to set in one row so that nothing but the named constraint is broken. */
const breaks: Record<string, string> = {
  account_check: 'minimum_deposit_cents = 300, maximum_deposit_cents = 250',
  account_check1: 'minimum_withdrawal_cents = 3000, maximum_withdrawal_cents = 2000',
  account_refund_fees_check: "refund_fees = 'some'",
  account_return_odd_money_check: "return_odd_money = 'some'",
  account_return_odd_money_after_minutes_check: 'return_odd_money_after_minutes = -1',
  account_merchant_odd_kinds: "merchant_odd_kinds = '{undecided}', merchant_odd_most_cents = 1",
  account_merchant_odd_most: 'merchant_odd_most_cents = 1',
  account_deposit_fee_bps_check: 'deposit_fee_bps = -1',
  account_deposit_fee_cents_check: 'deposit_fee_cents = -1',
  account_maximum_deposit_cents_check: 'maximum_deposit_cents = 200001',
  account_maximum_withdrawal_cents_check: 'maximum_withdrawal_cents = 1000001',
  account_minimum_deposit_cents_check: 'minimum_deposit_cents = 199',
  account_minimum_withdrawal_cents_check: 'minimum_withdrawal_cents = 999',
  account_number_check: 'number = 4294967296',
  account_second_factor_grace_days_check: 'second_factor_grace_days = 31',
  account_withdrawal_fee_bps_check: 'withdrawal_fee_bps = 10001',
  account_withdrawal_fee_cents_check: 'withdrawal_fee_cents = -1',
  account_card_bounds: 'minimum_card_cents = 300000',
  account_card_fee_bps_check: 'card_fee_bps = 10001',
  account_card_fee_cents_check: 'card_fee_cents = -1',
  account_minimum_card_cents_check: 'minimum_card_cents = 99',
  balance_available_check: 'available = -1',
  balance_card_held_check: 'card_held = -1',
  balance_held_check: 'held = -1',
  balance_hold_wanted_check: 'hold_wanted = -1',
  balance_receivable_check: 'receivable = -1',
  balance_reserved_check: 'reserved = -1',
  charge_cancel_amount_cents_check: 'amount_cents = 0',
  charge_cancel_check: "updated_at = created_at - interval '1 ms'",
  charge_cancel_status_check: "status = 'lost'",
  checkpoint_seq_check: 'seq = 0',
  due_change_amount_cents_check: 'amount_cents = 0',
  due_change_check: "updated_at = created_at - interval '1 ms'",
  due_change_outcome_check: "outcome = 'refused'",
  due_change_status_check: "status = 'lost'",
  dispute_amount_cents_check: 'amount_cents = 0',
  dispute_check: 'debited_cents = amount_cents + 1',
  dispute_status_check: "status = 'lost'",
  dispute_defence_amount_cents_check: 'amount_cents = 0',
  dispute_defence_attempts_check: "attempts = -1, status = 'failed', reason = 'dispute_ended'",
  dispute_defence_left: 'attempts = 1',
  dispute_defence_reason: "reason = 'provider_refused'",
  dispute_defence_reason_check: "status = 'failed', reason = 'bored'",
  dispute_defence_sent: 'sent_at = now()',
  dispute_defence_status_check: "status = 'lost', attempts = 1",
  hold_wanted_cents_check: 'wanted_cents = 0',
  incident_amount_cents_check: 'amount_cents = -1',
  incident_state_check: "state = 'forgotten'",
  installation_id_check: 'id = 2',
  installation_verified: 'verified_at = now(), verified_ok = NULL',
  intent_attempt_check: "attempt = -1, state = 'awaiting'",
  intent_check: 'lease_until = due_at',
  intent_check1: "state = 'ready', attempt = 1",
  intent_check2: "state = 'awaiting', attempt = 0",
  intent_kind_check: "kind = 'gift'",
  intent_state_check: "state = 'lost', attempt = 1",
  intent_step_check: "step = 'prepared'",
  known_return_amount_cents_check: 'amount_cents = 0',
  journal_available_after_check: 'available_after = -1',
  journal_connection: 'connection = NULL',
  journal_balanced: 'available = available + 1',
  journal_two_lines:
    'available = 0, clearing = 0, reserved = 0, held = 0, receivable = 0, fee_revenue = 0, provider_cost = 0, suspense = 0, adjustments = 0, card_held = 0',
  journal_card_held_after_check: 'card_held_after = -1',
  journal_held_after_check: 'held_after = -1',
  journal_receivable_after_check: 'receivable_after = -1',
  journal_reserved_after_check: 'reserved_after = -1',
  journal_seq_check: 'seq = 0',
  operation_check: 'slot = NULL, main = NULL',
  operation_check1: 'slot = NULL, deleted_at = now()',
  operation_main_check: 'main = false',
  operation_name_check: "name = 'x'",
  operation_slot_check: 'slot = 11',
  payment_amount_cents_check: 'amount_cents = 0',
  payment_metadata_check: "metadata = '[]'",
  payment_fiscal_documents_check: "fiscal_documents = '{}'",
  payment_expires_in_minutes_check: 'expires_in_minutes = 0',
  payment_check: "updated_at = created_at - interval '1 ms'",
  payment_check1: "status = 'completed'",
  payment_settled: 'settled_at = NULL',
  payment_card: `card = '{"settlement": "held"}', status = 'pending', settled_at = NULL`,
  payment_card_check: "card = '[]'",
  payment_due: "due = '{}'",
  payment_link_payer: "payer_document = '***'",
  payment_check3: 'returned_cents = 1',
  payment_fee_cents_check: 'fee_cents = -1',
  payment_net_amount_cents_check: 'net_amount_cents = -1',
  payment_provider_fee_cents_check: 'provider_fee_cents = -1',
  payment_refunded_cents_check: 'refunded_cents = -1',
  payment_returned_cents_check: 'returned_cents = -1',
  refund_amount_cents_check: 'amount_cents = 0',
  refund_fee_back: 'fee_back_cents = -1',
  refund_check: "updated_at = created_at - interval '1 ms'",
  refund_check1: "status = 'completed'",
  refund_reason_check: "reason = 'gift'",
  refund_status_check: "status = 'lost'",
  connection_movement_amount_cents_check: 'amount_cents = 0',
  connection_movement_kind_check: "kind = 'gift'",
  connection_movement_source_check: "source = 'rumour'",
  statement_line_kind_check: "kind = 'gift'",
  cash_transfer_amount_cents_check: 'amount_cents = 0',
  cash_transfer_check: "arrival = 'own', own_at = now()",
  cash_transfer_check1: "to_connection = NULL, arrival = 'own'",
};

/** Where the row that is broken must be a certain one. */
const rowOf: Record<string, string> = {
  operation_check1: 'main',
  operation_main_check: 'main IS NULL',
  operation_check: 'main IS NULL',
  account_number_check: 'number > 0',
};

/** Columns that make a copy of a row another row, but for the key in question. */
const others: Record<string, string> = {
  account_id_test: '',
  account_number_key: `"id": "0190a000-0000-7000-8000-0000000000ff"`,
  operation_account_id_main_key: `"id": "0190a000-0000-7000-8000-0000000000ff", "slot": 9`,
  operation_account_id_slot_key: `"id": "0190a000-0000-7000-8000-0000000000ff", "main": null`,
  journal_pkey: `"pix": null`,
  journal_account_id_subject_event_reference_key: `"seq": 999, "pix": null`,
  dispute_connection_provider_id_key: `"id": "0190a000-0000-7000-8000-0000000000ff"`,
  incident_account_id_reference_key: `"id": "0190a000-0000-7000-8000-0000000000ff"`,
  refund_account_id_request_key_key: `"id": "0190a000-0000-7000-8000-0000000000ff"`,
  charge_cancel_account_id_payment_id_key: `"id": "0190a000-0000-7000-8000-0000000000ff"`,
  due_change_pkey: `"status": "completed"`,
  dispute_defence_pkey: `"status": "failed", "reason": "provider_refused"`,
};

/** To drop before the statement, since they stand in its way besides. */
const besides: Record<string, string[]> = {
  account_pkey: ['account.account_number_key', 'account.account_id_test'],
  account_id_test: ['account.account_pkey', 'account.account_number_key'],
  operation_pkey: ['operation.operation_account_id_main_key', 'operation.operation_account_id_slot_key'],
  dispute_pkey: ['dispute.dispute_connection_provider_id_key'],
  journal_two_lines: ['journal.journal_connection'],
  payment_card_check: ['payment.payment_card', 'payment.payment_settled'],
  journal_pkey: ['journal.journal_account_id_subject_event_reference_key'],
  incident_pkey: ['incident.incident_account_id_reference_key'],
  refund_pkey: ['refund.refund_account_id_request_key_key'],
  charge_cancel_pkey: ['charge_cancel.charge_cancel_account_id_payment_id_key'],
  intent_attempt_check: ['intent.intent_check2'],
  payment_returned_cents_check: ['payment.payment_check3'],
  payment_check3: ['payment.payment_check1'],
};

const samples = `
  INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, due_at, news_at,
      failures, absences, known, refused, created_at)
    SELECT account_id, id, operation_id, 'simulator', kind, 1, 'awaiting', command, 1, now(), now(), 0, 0, false, false, now()
    FROM payment LIMIT 1;
  INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, state, opened_at)
    SELECT account_id, id, 'debit', id, operation_id, 1, 'r', false, '{}', 'open', now() FROM payment LIMIT 1;
  INSERT INTO known_return (account_id, payment, reference, amount_cents, at, posted)
    SELECT account_id, id::text, 'r', 1, now(), true FROM payment LIMIT 1;
  INSERT INTO charge_cancel (account_id, id, operation_id, payment_id, status, amount_cents, fingerprint, created_at, updated_at, command)
    SELECT account_id, id, operation_id, id, 'unknown', 1, fingerprint, now(), now(), command FROM payment LIMIT 1;
  INSERT INTO due_change (account_id, id, operation_id, payment_id, status, amount_cents, fingerprint, created_at, updated_at, command)
    SELECT account_id, id, operation_id, id, 'unknown', 1, fingerprint, now(), now(), command FROM payment LIMIT 1;
  INSERT INTO refund (account_id, id, operation_id, payment_id, end_to_end, reason, status, amount_cents, description,
      request_key, fingerprint, created_at, updated_at, history, command)
    SELECT account_id, id, operation_id, id, 'E1', 'requested', 'unknown', 1, '', request_key, fingerprint, now(), now(), '[]', command
    FROM payment LIMIT 1;
  INSERT INTO statement_line (connection, kind, reference, moved_at, first_seen_at, tries, next_at)
    VALUES ('simulator', 'received', 'r', now(), now(), 0, now());
  INSERT INTO connection_movement (connection, kind, reference, amount_cents, moved_at, source, found_at)
    VALUES ('simulator', 'cost', 'received:E1', -1, now(), 'report', now());
  INSERT INTO cash_transfer (connection, reference, to_connection, amount_cents, left_at, due_at, found_at)
    VALUES ('simulator', 'po_1', 'simulator', 1, now(), now(), now());
  INSERT INTO hold (account_id, id, operation_id, wanted_cents, reason, placed_by, placed_at)
    SELECT account_id, id, operation_id, 1, 'r', 'me', now() FROM payment LIMIT 1;
  INSERT INTO dispute (account_id, id, payment_id, operation_id, connection, provider_id, end_to_end, amount_cents, status, opened_at,
      debited_cents, created_at, updated_at)
    SELECT account_id, id, id, operation_id, 'simulator', 'd', 'E', 1, 'open', now(), 0, now(), now() FROM payment LIMIT 1;
  INSERT INTO dispute_defence (account_id, id, dispute_id, payment_id, operation_id, status, attempts, amount_cents, fingerprint, created_at, updated_at,
      command)
    SELECT account_id, id, id, payment_id, operation_id, 'unknown', 0, 1, '', now(), now(), id FROM dispute LIMIT 1;
  INSERT INTO checkpoint (account_id, chain_id, seq, head, available, reserved, held, receivable, clearing, fee_revenue,
      provider_cost, suspense, adjustments, created_at)
    SELECT account_id, chain_id, seq, hash, 0, 0, 0, 0, 0, 0, 0, 0, 0, now() FROM journal LIMIT 1;`;

export interface Defence {
  constraint: string;
  fault: string | null;
}

export async function tryDefences(db: Database): Promise<Defence[]> {
  await openStage(db);
  return db.admin(() => {
    db.exec(samples);
    const constraints = db.run<{ table: string; name: string; kind: string }>(
      `SELECT conrelid::regclass::text AS table, conname AS name, contype AS kind FROM pg_constraint
        WHERE connamespace = 'vintem'::regnamespace AND contype IN ('c', 'u', 'p') ORDER BY 1, 2`,
      [],
    );
    return constraints
      .filter(({ table }) => tables.includes(table))
      .map(({ table, name, kind }) => ({ constraint: name, fault: attempt(db, table, name, kind) }));
  });
}

function attempt(db: Database, table: string, name: string, kind: string): string | null {
  const set = breaks[name];
  const copied = others[name] ?? (kind === 'p' ? '' : undefined);
  if (kind === 'c' ? set === undefined : copied === undefined) return 'no statement here breaks it';
  // "ctid" names one row, whatever its key.
  const one = `ctid = (SELECT ctid FROM ${table} WHERE ${rowOf[name] ?? 'true'} LIMIT 1)`;
  const statement =
    kind === 'c'
      ? `UPDATE ${table} SET ${set} WHERE ${one}`
      : `INSERT INTO ${table} SELECT (jsonb_populate_record(t, '{${copied}}')).* FROM ${table} t WHERE ${rowOf[name] ?? 'true'} LIMIT 1`;
  const tried = (dropped: boolean): DatabaseError | null => {
    db.exec('BEGIN');
    try {
      for (const more of besides[name] ?? []) {
        const [of, constraint] = more.split('.');
        db.exec(`ALTER TABLE ${of} DROP CONSTRAINT ${constraint} CASCADE`);
      }
      if (dropped) db.exec(`ALTER TABLE ${table} DROP CONSTRAINT ${name} CASCADE`);
      db.exec(statement);
      return null;
    } catch (error) {
      if (error instanceof DatabaseError) return error;
      throw error;
    } finally {
      db.exec('ROLLBACK');
    }
  };
  const refused = tried(false);
  if (refused === null) return 'nothing refuses it';
  if (refused.constraint !== name) return `refused by ${refused.constraint ?? refused.message}`;
  const alone = tried(true);
  return alone === null ? null : `without it ${alone.constraint ?? alone.message} refuses`;
}

if (import.meta.main) {
  const db = await openDatabase();
  const defences = await tryDefences(db);
  await db.close();
  const failed = defences.filter(({ fault }) => fault !== null);
  for (const { constraint, fault } of failed)
    console.log(`invariant of the database: ${constraint}: ${fault}`);
  console.log(
    `database: ${defences.length - failed.length} of ${defences.length} constraints refuse, and do so alone`,
  );
  process.exitCode = failed.length > 0 ? 1 : 0;
}
