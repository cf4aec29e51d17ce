import type { Queries, Statement } from '../../ports/sql.ts';
import type { Readable } from '../database/table.ts';
import type { oddKinds } from './incidents.sql.ts';

export type OddKind = (typeof oddKinds)[number];

/** The odd money that the people of an account decide about themselves. */
export interface OddMoneyRule {
  accountId: string;
  /** None: the operator decides. */
  kinds: readonly OddKind[];
  /** The most of one Pix, in cents. */
  mostCents: number;
}

const select: Statement = {
  name: 'odd_money_rules',
  text: `SELECT a.id AS "accountId", a.merchant_odd_kinds AS kinds, a.merchant_odd_most_cents AS "mostCents"
    FROM account a WHERE a.id = ANY ($1::uuid[]) AND a.number > 0`,
};

/** Keyed by account; undefined: no such account. */
export const oddMoneyRules: Readable<OddMoneyRule> = {
  name: 'odd_money_rules',
  keyOf: (row) => row.accountId,
  read: (tx, keys) => tx.run<OddMoneyRule>(select, [keys]),
};

const update: Statement = {
  name: 'odd_money_rule_update',
  text: 'UPDATE account SET merchant_odd_kinds = $2::text[], merchant_odd_most_cents = $3 WHERE id = $1',
};

export const updateOddMoneyRule = (
  tx: Queries,
  { accountId, kinds, mostCents }: OddMoneyRule,
): Promise<unknown> => tx.run(update, [accountId, kinds, mostCents]);
