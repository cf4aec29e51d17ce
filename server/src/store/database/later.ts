/**
 * SQL for an instant that lies `ms` milliseconds after another one, where a row's column is part of it: `later('due_at', '$2')`.
 *
 * `due_at + $2 * interval '1 millisecond'` is STABLE for PostgreSQL, since days and months depend on the session's time zone. Citus refuses it in an
 * UPDATE, and 13.2 dies of it under a generic plan (signal 11). By way of UTC each step is IMMUTABLE.
 */
export const later = (instant: string, ms: string): string =>
  `((${instant} AT TIME ZONE 'UTC' + (${ms}) * interval '1 millisecond') AT TIME ZONE 'UTC')`;
