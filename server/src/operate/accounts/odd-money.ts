import type { Queries } from '../../ports/sql.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { isOddMoney } from '../../store/rows/incidents.sql.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';
import {
  type OddMoneyRule,
  oddMoneyRules,
  updateOddMoneyRule,
} from '../../store/rows/odd-money-rules.sql.ts';

/** R$ 1.000.000,00. */
const mostOfAll = 100_000_000;

/** The rule as its operator says it: kinds of odd money, and the most of one Pix. */
export type OddMoneyWanted = Omit<OddMoneyRule, 'accountId'>;

/** @throws OperatorRefused a kind that is not of odd money, or no amount where there is a kind */
export function oddMoneyWanted(kinds: readonly string[], mostCents: number): OddMoneyWanted {
  const known = [...new Set(kinds)].filter(isOddMoney);
  if (known.length !== kinds.length) throw new OperatorRefused('a kind of odd money is named once');
  if (known.length === 0) return { kinds: [], mostCents: 0 };
  if (!Number.isSafeInteger(mostCents) || mostCents < 1 || mostCents > mostOfAll)
    throw new OperatorRefused(`the most of one Pix is 1 to ${mostOfAll} cents`);
  return { kinds: known.sort(), mostCents };
}

/** @throws OperatorRefused no such account */
export async function oddMoneyRuleOf({ sql }: { sql: Queries }, accountId: string): Promise<OddMoneyRule> {
  const [rule] = await oddMoneyRules.read(sql, [accountId]);
  if (!rule) throw new OperatorRefused('no such account');
  return rule;
}

/**
 * Leaves odd money of these kinds, up to this amount, to the people of the account; none: the operator decides.
 * @throws OperatorRefused no such account
 */
export async function setOddMoneyRule(
  operator: Operator,
  accountId: string,
  { kinds, mostCents }: OddMoneyWanted,
): Promise<OddMoneyRule> {
  return operator.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const before = await oddMoneyRuleOf({ sql: tx }, accountId);
    const after = { accountId, kinds, mostCents };
    const audit = {
      ...{ accountId, id: operator.ids.uuid(), at: operator.clock.now(), actor: operator.actor },
      ...{ action: 'account.odd_money', subject: accountId, reason: null, detail: { before, after } },
    };
    await updateOddMoneyRule(tx, after);
    await writeAudit(tx, audit);
    return after;
  });
}
