import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { lowestIdAt } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { insertSecurityEvent, pruneSecurityEvents } from './security-events.sql.ts';

/** The recorded kinds; `docs/security/events.md` describes each. */
export const securityEventKinds = [
  'sign_in',
  'sign_out',
  'factor.code',
  'factor.enrolled',
  'factor.removed',
  'factor.backup_codes',
  'factor.grace',
  'password.checked',
  'password.changed',
  'password.reset_asked',
  'password.reset',
  'email.change_asked',
  'email.change_cancelled',
  'email.changed',
  'session.ended',
  'key.created',
  'key.rolled',
  'key.narrowed',
  'key.revoked',
  'webhook.changed',
  'member.invited',
  'member.invitation_withdrawn',
  'member.joined',
  'member.role',
  'member.removed',
  'draft.created',
  'draft.confirmed',
  'refund.created',
  'odd_money.decided',
  'defence.created',
  'receiver.saved',
  'receiver.removed',
  'profile.changed',
  'operation.changed',
  'account.reset',
  'support.granted',
  'support.ended',
  'support.view_begun',
  'support.view_ended',
  'export.downloaded',
  'access.refused',
] as const;

/** Groups that people look for: kinds under the words of the page. */
export const activityGroups = {
  access: [
    'sign_in',
    'sign_out',
    'session.ended',
    'support.granted',
    'support.ended',
    'support.view_begun',
    'support.view_ended',
    'access.refused',
  ],
  factors: [
    'factor.code',
    'factor.enrolled',
    'factor.removed',
    'factor.backup_codes',
    'factor.grace',
    'password.checked',
    'password.changed',
    'password.reset_asked',
    'password.reset',
    'email.change_asked',
    'email.change_cancelled',
    'email.changed',
  ],
  keys: ['key.created', 'key.rolled', 'key.narrowed', 'key.revoked'],
  webhooks: ['webhook.changed'],
  people: ['member.invited', 'member.invitation_withdrawn', 'member.joined', 'member.role', 'member.removed'],
  operations: ['operation.changed', 'account.reset'],
  transfers: [
    'draft.created',
    'draft.confirmed',
    'refund.created',
    'odd_money.decided',
    'defence.created',
    'receiver.saved',
    'receiver.removed',
  ],
  profile: ['profile.changed'],
  exports: ['export.downloaded'],
} as const satisfies Record<string, readonly (typeof securityEventKinds)[number][]>;

export type ActivityGroup = keyof typeof activityGroups;

export type SecurityEventKind = (typeof securityEventKinds)[number];

export interface SecurityEvent {
  kind: SecurityEventKind;
  outcome?: 'ok' | 'refused';
  actor?: 'person' | 'operator';
  accountId?: string | null;
  userId?: string | null;
  sessionId?: string | null;
  ipAddress?: string | null;
  /** Ids and names of what was done. Never a secret, a code, a password or a Pix key. */
  detail?: Record<string, string | number | boolean | readonly string[]>;
}

export interface SecurityEventDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/**
 * Writes the event to its table and to the log, in one form: the constant message `security event` with the event under
 * `security`. If the table cannot be written, the event is only in the log and the call still succeeds: the act has already happened.
 */
export async function recordSecurityEvent(deps: SecurityEventDeps, event: SecurityEvent): Promise<void> {
  const row = {
    id: deps.ids.uuid(),
    at: deps.clock.now(),
    accountId: event.accountId ?? null,
    userId: event.userId ?? null,
    sessionId: event.sessionId ?? null,
    actor: event.actor ?? 'person',
    kind: event.kind,
    outcome: event.outcome ?? 'ok',
    ipAddress: event.ipAddress ?? null,
    detail: event.detail ?? {},
  } as const;
  deps.log.info({ security: { ...row, at: new Date(row.at).toISOString() } }, 'security event');
  await insertSecurityEvent(deps.sql, row).catch((err: unknown) =>
    deps.log.error({ err, eventId: row.id }, 'a security event was not stored'),
  );
}

const keptMs = 365 * 86_400_000;
const rowsPerStep = 500;

/** Removes events older than a year. @returns whether there is more to remove at once */
export const stepSecurityEventPruning = async ({
  sql,
  clock,
}: {
  sql: Sql;
  clock: Clock;
}): Promise<boolean> =>
  (await pruneSecurityEvents(sql, lowestIdAt(clock.now() - keptMs), rowsPerStep)) === rowsPerStep;
