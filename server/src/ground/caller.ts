import { refuse } from './errors.ts';
import type { Permission } from './permissions.ts';

/** Who calls: an account, through one of its keys or one of its people. */
export interface KeyHolder {
  accountId: string;
  accountNumber: number;
  /** No money of the account moves. */
  test: boolean;
  /** The provider connection that the account is bound to. */
  connection: string;
  /** Where a new charge may go, in this order, while that one takes none; absent: nowhere. */
  chargeFallback?: readonly string[];
  /** Null: a person in the panel, whose session was checked when the request came in. */
  keyId: string | null;
  /** The person in the panel; absent: a key, or the command line. */
  userId?: string;
  permissions: ReadonlySet<Permission>;
  requestId: string;
  /** The caller's W3C trace, for what is asked of the provider while it waits. */
  traceparent?: string;
  /** Of a person: calls `end` once the session, the membership or the role is gone. @returns ends the watch */
  watch?: (end: () => void) => () => void;
  /** Monotonic, when the request came in; absent: now. */
  arrivedMs?: number;
}

/** Who calls, and for which business operation. */
export interface Caller extends KeyHolder {
  operationId: string;
  /** The header named the operation; false: it is the main one of this moment. */
  operationNamed: boolean;
}

/**
 * @param anyOf one of these is enough; the first is the one that the refusal names
 * @throws ApiError `permission_denied`
 */
export function requirePermission(held: ReadonlySet<Permission>, anyOf: readonly Permission[]): void {
  for (const permission of anyOf) if (held.has(permission)) return;
  throw refuse('permission_denied', { params: { permission: anyOf[0] ?? '' } });
}
