import { stepUrlChangePruning } from '../api/webhooks/endpoints.ts';
import {
  stepOperatorChallenges,
  stepOperatorFlows,
  stepOperatorSessions,
} from '../console/people/operators.ts';
import { stepBucketPruning } from '../edge/rate-limit.ts';
import { stepRequestPruning } from '../edge/request-log/request-log.ts';
import { stepDisputeFiles } from '../flow/files.ts';
import { stepWordRetention } from '../flow/provider-words.sql.ts';
import { requestsAboutCharges } from '../kinds/registry/kinds.ts';
import { stepRetention } from '../operate/retention.ts';
import { stepUnreadPruning } from '../operate/unread/unread-items.ts';
import { stepAttemptPruning } from '../panel/auth/attempts.ts';
import { stepExpiredPruning } from '../panel/auth/expired-rows.ts';
import { stepSecurityEventPruning } from '../panel/people/security-events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql } from '../ports/sql.ts';
import { directoryTables } from '../store/database/cells.ts';

/** One small step. @returns whether there is more to remove at once */
type Prune = (deps: { sql: Sql; clock: Clock }) => Promise<boolean>;

/** A table whose old rows a loop removes. */
export interface Pruned {
  after: string;
  /** The name of its statement. */
  statement: string;
  /** The index that finds old rows: no step reads rows that it does not remove. */
  index: string;
  /** `deliveries`: the loop of deliveries removes an event with what stands on it. `mark`: the loop that writes the mark. */
  step: Prune | 'deliveries' | 'mark';
}

/** For good, since an entry, a proof or an answer to a repeat stands on it. */
const kept = (why: string) => ({ kept: why });
/** Its rows do not grow with time: what they are for removes them, or there are only so many. */
const bounded = (by: string) => ({ bounded: by });

/**
 * How long every table of the schema keeps its rows. A table that is not here fails a test, so none grows without a decision. Nothing
 * is removed on a person's request: a request would wait for what others have left behind.
 */
export const retention: Readonly<
  Record<string, Pruned | ReturnType<typeof kept> | ReturnType<typeof bounded>>
> = {
  // ------------------------------------------------------------------------------------------------------ money
  account: kept('payments and entries name it'),
  operation: kept('payments and entries name it'),
  balance: bounded('one for each operation'),
  journal: kept('entries never change'),
  checkpoint: kept('what `verify` proved of the entries'),
  payment: kept('records of operations; `anonymise` takes the persons out after five years'),
  refund: kept('as its payment'),
  ...Object.fromEntries(requestsAboutCharges.map(({ table }) => [table.name, kept('as its payment')])),
  dispute: kept('as its payment'),
  dispute_defence: kept('what was said to the provider about money'),
  dispute_file: {
    after: 'its contents 90 days after it was given, once its dispute has ended; its name stays',
    statement: 'dispute_files_prune',
    index: 'dispute_file_oldest',
    step: stepDisputeFiles,
  },
  hold: kept('who held money, and why'),
  incident: kept('what was decided about money'),
  known_return: kept('a return is posted once, however late it is named again'),
  request_key: kept('a repeat is never a second payment, however late'),
  charge_reminder: kept('as its payment'),
  reminder_stop: kept('a payer who wants no reminders gets none, however late'),
  unknown_told: kept('one for each payment that was unknown: it is reported once'),
  day_close: kept('documents that were handed out'),
  day_close_money: kept('documents that were handed out'),
  connection_close: kept('documents that were handed out'),
  connection_close_cell: kept('documents that were handed out'),
  static_code: kept('paper is paid as long as it hangs'),
  payment_link: kept('charges name it'),
  static_identifier: kept('a Pix that comes years later has its owner by it'),
  connection_movement: kept('money of the connection, posted once'),
  cash_transfer: kept('money between two connections, posted once'),
  lost_payment: kept('what a restore lost, and what was decided'),
  lost_time: kept('when the database went back'),
  audit: kept('what operators, people of an account and rules did'),
  audit_chain: bounded('one for each account with an entry'),
  intent: bounded('removed with the end of its payment'),
  draft: bounded('removed when it is confirmed, cancelled or expired'),
  late_query: bounded('removed with the answer of its charge, or after ten tries'),
  statement_line: bounded('removed when its movement is known'),
  inbound: {
    after: '90 days, and not before it is applied',
    statement: 'inbound_prune',
    index: 'inbound_pkey',
    step: stepRetention,
  },
  provider_word: {
    after: '90 days',
    statement: 'provider_word_prune',
    index: 'provider_word_at',
    step: stepWordRetention,
  },
  unread_item: {
    after: '90 days after the provider sent it last',
    statement: 'unread_prune',
    index: 'unread_item_seen',
    step: stepUnreadPruning,
  },
  job: bounded('one for each kind of work and connection'),
  reconcile_seen: bounded(
    'removed at the end of its comparison; the next one removes what an ended process left',
  ),

  // ----------------------------------------------------------------------------------------------------- events
  event: { after: '90 days', statement: 'prune_events', index: 'event_pkey', step: 'deliveries' },
  event_log: { after: '90 days', statement: 'prune_log', index: 'event_log_pkey', step: 'deliveries' },
  webhook_delivery: {
    after: '90 days',
    statement: 'prune_deliveries',
    index: 'webhook_delivery_pkey',
    step: 'deliveries',
  },
  event_fresh: bounded('removed when it is published'),
  event_sequence: bounded('one for each account'),
  publisher: bounded('one'),
  webhook_endpoint: kept('deliveries name it; an account has ten that are not deleted'),
  webhook_lane: bounded('one for each endpoint'),
  webhook_url_change: {
    after: 'an hour',
    statement: 'webhook_url_change_prune',
    index: 'webhook_url_change_at',
    step: stepUrlChangePruning,
  },

  // ------------------------------------------------------------------------------------------------ requests, keys
  api_key: kept('entries of the audit name it'),
  request_log: {
    after: '30 days',
    statement: 'request_log_prune',
    index: 'request_log_at',
    step: stepRequestPruning,
  },
  rate_bucket: {
    after: 'as soon as it is full again',
    statement: 'rate_bucket_drop',
    index: 'rate_bucket_pkey',
    step: stepBucketPruning,
  },
  storage_budget: bounded('four for each account'),
  key_place: bounded('one for each account, of the look-ups of an hour'),
  saved_receiver: bounded('so many for each account'),
  merchant_profile: bounded('one for each account'),
  test_clock: bounded('one for each test account'),
  test_clock_move: kept('times of a test account are counted by it'),

  // ----------------------------------------------------------------------------------------------------- people
  panel_user: kept('audits and security events name it'),
  panel_credential: bounded('one for each person'),
  panel_two_factor: bounded('one for each person'),
  panel_passkey: kept('until its person or an operator removes it'),
  panel_mail_choice: bounded('one for each person of an account'),
  panel_member: bounded('one for each person and account'),
  panel_invitation: kept('who let whom in; one that is withdrawn is removed'),
  panel_new_email: bounded('one for each person'),
  panel_place: kept('a sign-in from elsewhere is notified as long as one place is known'),
  panel_session: {
    after: 'its end',
    statement: 'panel_session_prune',
    index: 'panel_session_expires_at',
    step: stepExpiredPruning,
  },
  panel_session_access: bounded('removed with its session'),
  panel_verification: {
    after: 'its end',
    statement: 'panel_verification_prune',
    index: 'panel_verification_expires_at',
    step: stepExpiredPruning,
  },
  panel_attempt: {
    after: 'as soon as it counts nothing',
    statement: 'panel_attempt_prune',
    index: 'panel_attempt_used_until',
    step: stepAttemptPruning,
  },
  security_event: {
    after: '365 days',
    statement: 'security_event_prune',
    index: 'security_event_pkey',
    step: stepSecurityEventPruning,
  },

  operator_person: kept('the audit names it'),
  operator_request: kept('who asked, who agreed, and to which postings'),
  operator_view: bounded('thirty for each operator'),
  worklist_claim: bounded('what was open within a month: each one that is taken removes those from before'),
  notice: bounded('one'),
  support_grant: bounded('one for each account'),
  support_view: kept('who of the operators saw the panel of an account, and why'),
  operator_session: {
    after: 'its end',
    statement: 'operator_session_prune',
    index: 'operator_session_expires_at',
    step: stepOperatorSessions,
  },
  operator_passkey: bounded('ten for each operator'),
  operator_identity: bounded('one for each operator'),
  operator_oidc_flow: {
    after: 'its end',
    statement: 'operator_oidc_flow_prune',
    index: 'operator_oidc_flow_expires_at',
    step: stepOperatorFlows,
  },
  operator_challenge: {
    after: 'its end',
    statement: 'operator_challenge_prune',
    index: 'operator_challenge_expires_at',
    step: stepOperatorChallenges,
  },

  // ---------------------------------------------------------------------------------------------------- program
  migration: bounded('one for each migration'),
  cell: bounded('one for each cell'),
  cell_migration: bounded('one for each cell and migration'),
  installation: bounded('one'),
  connection: bounded('one for each connection'),
  connection_examination: bounded('one for each connection'),
  breaker: bounded('one for each connection and call'),
  query_slot: bounded('so many for each connection'),
  send_slot: bounded('so many for each connection'),
  sealing_secret: bounded('one for each secret'),
  retired_pepper: bounded('one for each secret'),
  page_key: bounded('one'),
  worker: bounded('removed when it ends, or an hour after it died'),
  write_probe: bounded('empty: what is written there is taken back'),
  database_mark: { after: '30 days', statement: 'mark_prune', index: 'database_mark_pkey', step: 'mark' },
};

const prunesOf = (isOfDirectory: boolean): readonly Prune[] => [
  ...new Set(
    Object.entries(retention).flatMap(([table, rows]) =>
      'step' in rows && typeof rows.step === 'function' && directoryTables.includes(table) === isOfDirectory
        ? [rows.step]
        : [],
    ),
  ),
];

async function stepAll(prunes: readonly Prune[], deps: { sql: Sql; clock: Clock }): Promise<boolean> {
  let more = false;
  const failures: unknown[] = [];
  for (const prune of prunes) {
    try {
      more = (await prune(deps)) || more;
    } catch (error) {
      // The others have their step all the same.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return more;
}

/** One step of each table that all accounts share. @returns whether there is more to remove at once */
export const stepDirectoryRetention = (deps: { sql: Sql; clock: Clock }): Promise<boolean> =>
  stepAll(prunesOf(true), deps);

/** One step of each table of a cell. @returns whether there is more to remove at once */
export const stepCellRetention = (deps: { sql: Sql; clock: Clock }): Promise<boolean> =>
  stepAll(prunesOf(false), deps);
