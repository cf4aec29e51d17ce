import { Type } from 'typebox';
import { NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { Count, Nullable, Word } from '../schema.ts';

/** Readings of the database that the page shows, of those that the metrics have. */
export const readingNames = [
  'oldest_due_seconds',
  'unknown_oldest_seconds',
  'deliveries_waiting',
  'statement_lag_seconds',
  'statement_lines_set_aside',
  'unread_items',
  'outbox_lag_seconds',
  'webhook_oldest_due_seconds',
  'replication_lag_seconds',
  'backup_age_seconds',
  'verify_age_seconds',
] as const;

export const ProcessesSchema = Type.Object({
  takenAt: Time('When it was read: at most every ten seconds'),
  workers: Type.Array(
    Type.Object({
      id: Uuid('Worker'),
      cells: Type.Array(Type.String(), { description: 'The cells in which it works' }),
    }),
    { description: 'Workers that have said within eight seconds that they are alive' },
  ),
  machines: Type.Array(
    Type.Object({
      address: Nullable('Null: the machine of the database itself'),
      connections: Count('Connections of processes of the service'),
      since: Time('Its oldest connection began'),
    }),
  ),
  cells: Type.Array(
    Type.Object({
      name: Word('Schema'),
      open: Type.Boolean({ description: 'Takes new accounts' }),
      accounts: Count('Accounts'),
      openPayments: Count('Payments that are still sent or followed, counted up to a hundred thousand'),
      oldestDueSeconds: Type.Number({ description: 'How long its most overdue send or query has been due' }),
      connections: Count('Connections of processes'),
      bytes: Count('Size of its tables with their indexes'),
      createdAt: Time('When it was made'),
    }),
  ),
  migrations: Type.Object({
    applied: Count('Migrations that ran'),
    newest: Word('Name of the newest'),
    newestAt: NullableTime('When it ran'),
    missing: Type.Array(Type.String(), { description: 'Of this program, those that did not run' }),
    unknown: Type.Array(Type.String(), { description: 'Of a newer program' }),
  }),
  readings: Type.Array(
    Type.Object({
      name: OneOf(readingNames, 'What was read'),
      of: Nullable('Connection, or standby; null: the installation'),
      value: Type.Number(),
    }),
  ),
});
