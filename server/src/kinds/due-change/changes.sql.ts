import { bytea, cents, defineTable, text, timestamptz, uuid } from '../../store/database/define-table.ts';
import type { Sent } from '../kind.ts';

/**
 * That a merchant asked to change a charge with a due date. It is open until the provider shows the charge so, has refused it, or the charge has ended: its
 * result stands in the charge.
 */
export interface ChargeChange extends Omit<Sent, 'expiresAt' | 'card'> {
  /** The charge. */
  paymentId: string;
  /** `completed`: it is over, whichever way. */
  status: 'unknown' | 'completed';
  /** Of the charge after it. */
  amountCents: number;
  updatedAt: number;
  /** The token of the command that created it. */
  command: string;
}

export const isChangeOpen = ({ status }: ChargeChange): boolean => status === 'unknown';

/** Keyed by 36 characters of account and 36 of its own id. */
export const chargeChanges = defineTable<ChargeChange>({
  name: 'due_change',
  alias: 'c',
  key: ['accountId', 'id'],
  tokenOf: ({ command }) => command,
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    paymentId: uuid,
    status: text.changes,
    amountCents: cents,
    fingerprint: bytea,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
    command: uuid,
  },
});
