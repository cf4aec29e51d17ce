import type { Queries, Sql, Transaction } from '../../ports/sql.ts';
import type { Provider } from '../../provider/provider.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { isRestored } from '../../store/rows/conditions.sql.ts';
import {
  type ConnectionRow,
  findConnectionRow,
  hasOpenPayments,
  keepAccount,
  lockConnection,
} from './connections.sql.ts';

/**
 * Which account at the provider is behind a connection may change only while nothing depends on it: nothing is unfinished there, and no
 * restore waits for its comparison, which would look at the new account for what was sent to the old one.
 */

/**
 * The account behind credentials, by the provider's word where it gives one.
 * @throws OperatorRefused the provider does not say it
 */
export async function identityBehind(provider: Provider): Promise<string> {
  if (provider.identity !== null) return provider.identity;
  const said = await provider.askAccount?.();
  if (said?.outcome === 'found') return said.identity;
  throw new OperatorRefused(
    `the provider does not say which account the credentials are of (${said?.detail ?? 'no answer'}): grant the permission to read the account`,
  );
}

/** Why another account may not come behind the connection now; null: it may. What changes it asks under the lock of its row. */
export async function holdsIdentity(tx: Queries, name: string): Promise<string | null> {
  if (await hasOpenPayments(tx, name))
    return 'payments on it are unfinished, and these credentials are of another account at the provider';
  if (await isRestored(tx))
    return 'a restore waits for its comparison, and these credentials are of another account at the provider';
  return null;
}

/** @throws OperatorRefused another account comes behind the connection, and something depends on the one before */
export async function requireSameOrFree(
  tx: Transaction,
  { name, identity: before }: Pick<ConnectionRow, 'name' | 'identity'>,
  after: string | null,
): Promise<void> {
  if (before === after || before === null) return;
  const reason = await holdsIdentity(tx, name);
  if (reason !== null)
    throw new OperatorRefused(
      `${reason}: wait until they have ended, or make a connection for the other account (vintem connection create)`,
    );
}

/**
 * Compares what the settings of the environment put behind a connection with what was behind it before, and takes it where nothing depends on
 * that. @returns why the connection is held; null: it is in order
 */
export async function takeIdentity(sql: Sql, name: string, identity: string | null): Promise<string | null> {
  const stored = await findConnectionRow(sql, name);
  if (!stored || stored.identity === identity) return null;
  return sql.tx(async (tx) => {
    const row = await lockConnection(tx, name);
    if (!row || row.identity === identity) return null;
    const reason = row.identity === null ? null : await holdsIdentity(tx, name);
    if (reason === null) await keepAccount(tx, { ...row, identity });
    return reason;
  });
}
