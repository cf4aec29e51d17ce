import type { Queries, Statement } from '../ports/sql.ts';
import { timestamp } from '../store/database/pool.ts';

const verified: Statement = {
  name: 'monitored_verified',
  text: 'UPDATE installation SET verified_at = $1, verified_ok = $2',
};

/** A pass over all accounts has ended. Alerts ask how long ago that was, and what it found. */
export const noteVerified = (sql: Queries, at: number, ok: boolean): Promise<unknown> =>
  sql.run(verified, [timestamp(at), ok]);

const certificate: Statement = {
  name: 'monitored_certificate',
  text: 'UPDATE connection SET certificate_expires_at = $2 WHERE id = $1 AND certificate_expires_at IS DISTINCT FROM $2',
};

/** Of a connection that the settings of the environment make. @param expiresAt null: it has no certificate */
export const noteCertificate = (
  sql: Queries,
  connection: string,
  expiresAt: number | null,
): Promise<unknown> => sql.run(certificate, [connection, expiresAt === null ? null : timestamp(expiresAt)]);
