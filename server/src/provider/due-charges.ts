import type { ChargeReport, Provider, QueryOutcome } from './provider.ts';

export const withoutDueCharges = {
  outcome: 'unclear',
  cause: 'unknownRefusal',
  detail: 'the connection has no due-date charges',
  retryAfterMs: null,
} as const;

/** Asks for a charge of which it is not known whether it has a due date: they share their ids, and not their calls. A connection may
 * have no permission for due-date charges: there its refusal would say nothing. */
export async function queryAnyCharge(
  provider: Pick<Provider, 'queryCharge' | 'dueCharges' | 'capabilities'>,
  txid: string,
): Promise<QueryOutcome<ChargeReport>> {
  const found = await provider.queryCharge(txid);
  const mayHaveIt = found.outcome === 'notFound' && provider.capabilities.dueCharges;
  return mayHaveIt && provider.dueCharges ? provider.dueCharges.query(txid) : found;
}
