import { OperatorRefused } from '../../store/operator.ts';
import { type IncidentCase, isOddMoney } from '../../store/rows/incidents.sql.ts';
import type { OddMoneyRule } from '../../store/rows/odd-money-rules.sql.ts';
import type { Action } from './endings.ts';

/** The acts that the operator's rule can leave to the people of an account. The others make a loss or a gain of the installation. */
export const merchantActions = ['credit', 'return'] as const satisfies readonly Action[];
export type MerchantAction = (typeof merchantActions)[number];

/** Why an incident is not the account's to decide: the rule leaves it to the operator, or the operator has looked at it. */
export type NotOfMerchant = 'resolved' | 'kept' | 'kind' | 'amount';

/** Null: the people of its account decide about it. Pure. */
export function notOfMerchant(
  rule: OddMoneyRule | undefined,
  { kind, state, keptAt, amountCents }: Pick<IncidentCase, 'kind' | 'state' | 'keptAt' | 'amountCents'>,
): NotOfMerchant | null {
  if (state === 'resolved') return 'resolved';
  if (!rule || !isOddMoney(kind) || !rule.kinds.includes(kind)) return 'kind';
  // An incident that an operator keeps stays with operators: there may be a fraud behind it.
  if (keptAt !== null) return 'kept';
  return amountCents > 0 && amountCents <= rule.mostCents ? null : 'amount';
}

/** @throws OperatorRefused the act is the operator's */
export function requireOfMerchant(
  rule: OddMoneyRule | undefined,
  incident: IncidentCase,
  action: Action,
): asserts action is MerchantAction {
  const why = notOfMerchant(rule, incident);
  if (why !== null) throw new OperatorRefused(`the operator decides about this incident: ${why}`);
  if (!(merchantActions as readonly Action[]).includes(action))
    throw new OperatorRefused('the people of an account credit their operation or give back to the payer');
}
