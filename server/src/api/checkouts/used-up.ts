import type { AcceptDeps } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { ApiError } from '../../ground/errors.ts';
import type { Permission } from '../../ground/permissions.ts';
import type { Sql } from '../../ports/sql.ts';
import { findUsedUp, type UsedUp } from '../../store/rows/payments.sql.ts';
import { cancelCharge } from '../charges/cancel.ts';

const paymentsPerStep = 50;

const charges: ReadonlySet<Permission> = new Set(['charges']);

const lowest = '00000000-0000-0000-0000-000000000000';
/** Where this process has come to, by the database that it looks at. */
const lookedTo = new WeakMap<Sql, Pick<UsedUp, 'accountId' | 'paymentId'>>();

/**
 * Asks acquirers to close the pages of card payments on which the last attempt was refused. The acquirer decides: an approval that was quicker is a payment. In
 * the order of the key: pages that cannot be closed now keep no others waiting.
 * @returns whether there is more to look at at once
 */
export async function stepUsedUpCheckouts(deps: AcceptDeps): Promise<boolean> {
  const place = lookedTo.get(deps.sql) ?? { accountId: lowest, paymentId: lowest };
  const found = await findUsedUp(deps.sql, place, paymentsPerStep);
  const last = found.length < paymentsPerStep ? undefined : found.at(-1);
  if (last) lookedTo.set(deps.sql, last);
  else lookedTo.delete(deps.sql);
  for (const { paymentId, ...account } of found) {
    const caller: Caller = {
      ...account,
      ...{ operationNamed: true, keyId: null, permissions: charges, requestId: `attempts ${paymentId}` },
    };
    await cancelCharge(deps, caller, paymentId).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
  }
  return last !== undefined;
}
