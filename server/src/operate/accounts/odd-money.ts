import type { Queries } from '../../ports/sql.ts';
import { type Agreed, FactsChanged, hashOfShown, MovesTooMuch } from '../../store/as-shown.ts';
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

/** A change of the rule as the fields of a request, and read from them. */
export const bodyOfRuleChange = ({ before, after }: Pick<ShownOddMoney, 'before' | 'after'>) => ({
  ...{ kinds: after.kinds.join(), mostCents: String(after.mostCents) },
  ...{ kindsBefore: before.kinds.join(), mostCentsBefore: String(before.mostCents) },
});

export function ruleChangeOf(body: Readonly<Record<string, string>>): {
  before: OddMoneyWanted;
  after: OddMoneyWanted;
} {
  const ruleOf = (kinds = '', most = '0') =>
    oddMoneyWanted(kinds === '' ? [] : kinds.split(','), Number(most));
  return {
    before: ruleOf(body.kindsBefore, body.mostCentsBefore),
    after: ruleOf(body.kinds, body.mostCents),
  };
}

/** @throws OperatorRefused no such account */
export async function oddMoneyRuleOf({ sql }: { sql: Queries }, accountId: string): Promise<OddMoneyRule> {
  const [rule] = await oddMoneyRules.read(sql, [accountId]);
  if (!rule) throw new OperatorRefused('no such account');
  return rule;
}

/** A change of the rule as a person sees it before it is done. */
export interface ShownOddMoney {
  before: OddMoneyWanted;
  after: OddMoneyWanted;
  /** The most of one Pix that it newly leaves to the people of the account, in cents; 0: it takes away, or changes nothing. */
  movedCents: number;
  /** Names exactly this change of exactly this rule. */
  shown: string;
}

/** Pure. */
export function shownOddMoney(
  { accountId, ...before }: OddMoneyRule,
  { kinds, mostCents }: OddMoneyWanted,
): ShownOddMoney {
  const isNarrower = mostCents <= before.mostCents && kinds.every((kind) => before.kinds.includes(kind));
  const facts = [before, { kinds, mostCents }].map((rule) => `${rule.mostCents} ${rule.kinds.join()}`);
  return {
    before,
    after: { kinds, mostCents },
    movedCents: isNarrower ? 0 : mostCents,
    shown: hashOfShown(['account.odd_money', accountId, ...facts], []),
  };
}

/**
 * Leaves odd money of these kinds, up to this amount, to the people of the account; none: the operator decides.
 * @param how.agreed null: whatever the rule is now
 * @throws OperatorRefused no such account; FactsChanged, MovesTooMuch
 */
export async function setOddMoneyRule(
  operator: Operator,
  accountId: string,
  wanted: OddMoneyWanted,
  how: { reason?: string | null; agreed?: Agreed | null } = {},
): Promise<OddMoneyRule> {
  const { reason = null, agreed = null } = how;
  return operator.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const { before, after, movedCents, shown } = shownOddMoney(
      await oddMoneyRuleOf({ sql: tx }, accountId),
      wanted,
    );
    if (agreed && shown !== agreed.shown)
      throw new FactsChanged('the rule was changed since it was shown: look again');
    if (agreed && movedCents > agreed.mostCents)
      throw new MovesTooMuch('it leaves more than one person may leave alone');
    const audit = {
      ...{ accountId, id: operator.ids.uuid(), at: operator.clock.now(), actor: operator.actor },
      ...{ action: 'account.odd_money', subject: accountId, reason, detail: { before, after } },
    };
    await updateOddMoneyRule(tx, { accountId, ...after });
    await writeAudit(tx, audit);
    return { accountId, ...after };
  });
}
