/**
 * The requests that a merchant makes about a charge that is not paid. Each is a kind with a folder and rules of its own; here stands what
 * everything else needs of it: its table, the cause that it leaves in the charge's history, its name for people, null where no
 * page or answer shows its id, and the column that says how it ended, null where its charge says it alone.
 */
export const chargeRequests = {
  cancel: { table: 'charge_cancel', cause: 'cancel', shownAs: null, outcome: null },
  due_change: { table: 'due_change', cause: 'change', shownAs: 'change', outcome: 'outcome' },
} as const satisfies Record<
  string,
  { table: string; cause: string; shownAs: string | null; outcome: string | null }
>;

type Of<Fact extends 'table' | 'cause' | 'shownAs'> = (typeof chargeRequests)[RequestKind][Fact];

export type RequestKind = keyof typeof chargeRequests;
export type RequestTable = Of<'table'>;
export type RequestCause = Of<'cause'>;
export type ShownRequest = NonNullable<Of<'shownAs'>>;

export const requestKinds = Object.keys(chargeRequests) as RequestKind[];
export const requestTables: readonly RequestTable[] = Object.values(chargeRequests).map(({ table }) => table);
export const requestCauses: readonly RequestCause[] = Object.values(chargeRequests).map(({ cause }) => cause);
