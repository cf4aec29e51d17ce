import { requestTable } from './charge-request.ts';

/** A change is open until the provider shows the charge so, has refused it, or the charge has ended. `amountCents` is that of the charge after it. */
export const chargeChanges = requestTable('due_change');
