import type { Permission } from '../../ground/permissions.ts';
import type { Statement } from '../../ports/sql.ts';
import type { Readable } from '../database/table.ts';

/**
 * Whether a key may still move money: read in every flush, so that a revocation and a removed permission count there at once.
 * The keyring at the edge gives out what it read up to a second ago.
 */
export interface KeyState {
  accountId: string;
  id: string;
  expiresAt: number | null;
  revokedAt: number | null;
  permissions: readonly Permission[];
}

const select: Statement = {
  name: 'key_state_read',
  text: `SELECT account_id AS "accountId", id, expires_at AS "expiresAt", revoked_at AS "revokedAt", permissions
    FROM api_key WHERE id = ANY ($1::text[])`,
};

/** Keyed by the key's public id. */
export const keyStates: Readable<KeyState> = {
  name: 'key_state',
  keyOf: (row) => row.id,
  read: (tx, keys) => tx.run<KeyState>(select, [keys]),
};
