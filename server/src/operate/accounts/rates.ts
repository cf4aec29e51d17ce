import { addressQuotas, defaultInFlight, defaultQuotas, type Quotas } from '../../ground/quotas.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';

const select: Statement = {
  name: 'account_rates_read',
  text: `SELECT rate_quotas AS quotas FROM account WHERE id = $1 AND number > 0`,
};

const update: Statement = {
  name: 'account_rates_update',
  text: `UPDATE account SET rate_quotas = $2 WHERE id = $1`,
};

/**
 * The rate limits of the account's own.
 * @throws OperatorRefused no such account
 */
export async function ratesOf(operator: { sql: Queries }, accountId: string): Promise<Quotas> {
  const [row] = await operator.sql.run<{ quotas: Quotas }>(select, [accountId]);
  if (!row) throw new OperatorRefused('no such account');
  return row.quotas;
}

/**
 * Gives an account rate limits of its own, in place of those it had; none: the installation's. Every process follows within a
 * second, with the next look at a key.
 * @throws OperatorRefused no such account, or a quota that is counted by address, before an account is known
 */
export async function setRates(operator: Operator, accountId: string, quotas: Quotas): Promise<Quotas> {
  const byAddress = addressQuotas.find((name) => quotas[name]);
  if (byAddress) throw new OperatorRefused(`${byAddress} is set for the whole installation alone`);
  return operator.sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const before = await ratesOf({ sql: tx }, accountId);
    const audit = {
      accountId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'account.rates',
      subject: accountId,
      reason: null,
      detail: { before, after: quotas },
    };
    await Promise.all([tx.run(update, [accountId, JSON.stringify(quotas)]), writeAudit(tx, audit)]);
    return quotas;
  });
}

/** Every limit of an account, its own laid over the installation's. */
export const withDefaults = (installation: Quotas, own: Quotas) => ({
  ...defaultQuotas,
  'in-flight': { atOnce: defaultInFlight },
  ...installation,
  ...own,
});
