import type { Clock } from '../ports/clock.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import type { Provider } from '../provider/provider.ts';
import { glanceStatement, glanceWith } from '../store/database/glance.ts';
import { timestamp } from '../store/database/pool.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import type { Job } from '../store/rows/jobs.sql.ts';

const ours = 'connection = ANY ($1::text[])';

/** Each as the statement of its loop finds it, whatever the account. */
const ofCell = {
  sends: [
    `intent WHERE ${ours} AND priority = 0 AND due_at <= $2::timestamptz`,
    `intent WHERE ${ours} AND state = 'sending' AND kind = 'transfer' AND due_at <= $2::timestamptz`,
  ],
  queries: [`intent WHERE ${ours} AND priority = ANY ('{1,2,3,4,5}') AND due_at <= $2::timestamptz`],
  lateQueries: [`late_query WHERE ${ours} AND due_at <= $2::timestamptz`],
  unknown: [`intent WHERE ${ours} AND priority = ANY ('{0,1,2,3}') AND kind = 'transfer'`],
  drafts: ['draft WHERE expires_at <= $2::timestamptz'],
  links: [`payment_link WHERE status = 'active' AND expires_at <= $2::timestamptz`],
  soldLinks: [`payment_link WHERE status = 'completed' AND max_payments = 1 AND open_count > 0`],
  usedUpCheckouts: [`payment WHERE status = 'pending' AND (card ->> 'refusals')::int >= 3`],
  payerReturns: [
    `incident WHERE state = 'open' AND kept_at IS NULL
      AND kind IN ('amount_mismatch', 'second_payment', 'failed_charge_paid', 'deleted_operation')`,
  ],
  alerts: ['unknown_told', 'incident', 'dispute', 'dispute_defence'].map(
    (table) => `${table} WHERE mail_due_at <= $2::timestamptz`,
  ),
  testClocks: ['test_clock WHERE target_ahead_ms IS NOT NULL'],
  auditForward: ['audit_chain WHERE forwarded_seq < seq'],
} as const;

const ofDirectory = {
  deliveries: [`inbound WHERE ${ours} AND applied_at IS NULL AND authentic AND next_at <= $2::timestamptz`],
  statementLines: [`statement_line WHERE ${ours} AND next_at <= $2::timestamptz`],
  unread: [
    `unread_item WHERE ${ours}`,
    `incident WHERE account_id = $3::uuid AND state = 'open' AND kind = 'unread'`,
  ],
  owedCredits: [`incident WHERE resolution ? 'owed'`],
  connectionMovements: [`connection_movement WHERE ${ours} AND posted_as IS NULL`],
  examinations: ['connection_examination WHERE ended_at IS NULL'],
  connections: ['connection WHERE held_seen_at IS NOT NULL'],
} as const;

const cellLook = glanceStatement('glance_cell', ofCell);
const directoryLook: Statement = {
  name: 'glance_directory',
  text: `${glanceStatement('', ofDirectory).text}
    UNION ALL SELECT 'rests ' || what || ' ' || subject FROM job WHERE due_at > $2::timestamptz
    UNION ALL SELECT 'known ' || (SELECT count(*) FROM cell) || ' ' || count(*) || ' ' || coalesce(sum(version), 0) FROM connection`,
};

interface GlanceDeps {
  sql: Queries;
  clock: Clock;
  connections: { providers: ReadonlyMap<string, Provider>; held: ReadonlyMap<string, string> };
}

/** The connections of the process and its time, which every look needs. */
const valuesOf = ({ connections, clock }: GlanceDeps): unknown[] => [
  [...connections.providers.keys()],
  timestamp(clock.now()),
];

/** Of the payments of one cell. */
export interface CellGlance {
  sees(work: keyof typeof ofCell): Promise<boolean>;
}

export function glanceInCell(deps: GlanceDeps): CellGlance {
  const seen = glanceWith(deps, cellLook, () => valuesOf(deps));
  return { sees: async (work) => (await seen()).includes(work) };
}

/** Of the directory. */
export interface DirectoryGlance {
  sees(work: keyof typeof ofDirectory): Promise<boolean>;
  /** Whether a turn of it is due, or none was ever taken. */
  isDue(job: Job['what'], subject: string): Promise<boolean>;
  /** Whether connections or cells were made or changed, or one is held, or all were compared long ago. */
  mayDiffer(): Promise<boolean>;
}

/** Whatever the look says, as a provider may have changed the account behind a connection. */
const compareEveryMs = 10_000;

export function glanceAtDirectory(deps: GlanceDeps): DirectoryGlance {
  const { clock, connections } = deps;
  const seen = glanceWith(deps, directoryLook, () => [...valuesOf(deps), installationId]);
  let known = '';
  let comparedAt = Number.NEGATIVE_INFINITY;
  return {
    sees: async (work) => (await seen()).includes(work),
    isDue: async (job, subject) => !(await seen()).includes(`rests ${job} ${subject}`),
    mayDiffer: async () => {
      const rows = await seen();
      const now = rows.find((row) => row.startsWith('known ')) ?? '';
      const isOld = clock.monotonicMs() - comparedAt >= compareEveryMs;
      if (now === known && !isOld && connections.held.size === 0 && !rows.includes('connections'))
        return false;
      [known, comparedAt] = [now, clock.monotonicMs()];
      return true;
    },
  };
}
