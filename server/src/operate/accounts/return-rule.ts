import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';

/** The money in suspense that goes back to its payers by itself. */
export const returnOddMoney = ['never', 'second_payment', 'all'] as const;

export interface ReturnRule {
  returnOddMoney: (typeof returnOddMoney)[number];
  /** After it arrived: until then a person can keep it (`incident keep`). */
  afterMinutes: number;
}

/** A week. */
const mostMinutes = 10_080;

const select: Statement = {
  name: 'account_return_rule_read',
  text: `SELECT return_odd_money AS "returnOddMoney", return_odd_money_after_minutes AS "afterMinutes"
    FROM account WHERE id = $1 AND number > 0`,
};

const update: Statement = {
  name: 'account_return_rule_update',
  text: `UPDATE account SET return_odd_money = $2, return_odd_money_after_minutes = $3,
      return_odd_money_since = CASE WHEN $2 = 'never' THEN NULL
        WHEN return_odd_money = $2 THEN return_odd_money_since ELSE $4::timestamptz END
    WHERE id = $1`,
};

/** @throws OperatorRefused no such account */
export async function returnRuleOf(operator: { sql: Queries }, accountId: string): Promise<ReturnRule> {
  const [row] = await operator.sql.run<ReturnRule>(select, [accountId]);
  if (!row) throw new OperatorRefused('no such account');
  return row;
}

/**
 * The rule for what arrives from now on; what arrived before another rule is left to people.
 * @throws OperatorRefused no such account, or a time outside of 0 minutes to a week
 */
export async function setReturnRule(
  operator: Operator,
  accountId: string,
  change: Partial<ReturnRule>,
): Promise<ReturnRule> {
  return operator.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const before = await returnRuleOf({ sql: tx }, accountId);
    const after = { ...before, ...change };
    const { afterMinutes } = after;
    if (!Number.isSafeInteger(afterMinutes) || afterMinutes < 0 || afterMinutes > mostMinutes)
      throw new OperatorRefused(`money goes back after 0 to ${mostMinutes} minutes`);
    const at = operator.clock.now();
    const audit = {
      accountId,
      id: operator.ids.uuid(),
      at,
      actor: operator.actor,
      action: 'account.return_rule',
      subject: accountId,
      reason: null,
      detail: { before, after },
    };
    await Promise.all([
      tx.run(update, [accountId, after.returnOddMoney, afterMinutes, timestamp(at)]),
      writeAudit(tx, audit),
    ]);
    return after;
  });
}
