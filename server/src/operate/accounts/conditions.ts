import type { Queries, Statement } from '../../ports/sql.ts';
import { isAcquirer } from '../../provider/registry/adapters.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { type Conditions, conditions, updateConditions } from '../../store/rows/conditions.sql.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';

/** The conditions of an account that an operator may change. Fees in cents and hundredths of a percent. */
export type ConditionChange = Partial<Omit<Conditions, 'accountId'>>;

/** The interface's bounds; an account's own limits can only be narrower. */
const bounds: Readonly<Record<string, readonly [least: number, most: number]>> = {
  withdrawalFeeCents: [0, 1_000_000],
  withdrawalFeeBps: [0, 10_000],
  depositFeeCents: [0, 200_000],
  depositFeeBps: [0, 10_000],
  minimumDepositCents: [200, 200_000],
  maximumDepositCents: [200, 200_000],
  minimumWithdrawalCents: [1_000, 1_000_000],
  maximumWithdrawalCents: [1_000, 1_000_000],
  cardFeeCents: [0, 1_000_000],
  cardFeeBps: [0, 10_000],
  minimumCardCents: [100, 1_000_000],
  maximumCardCents: [100, 1_000_000],
};

const returnHostsMost = 20;

/** A host as an address has it: in lower case, without a path, with its port unless that is the usual one. */
const isHost = (text: string): boolean => URL.parse(`https://${text}`)?.href === `https://${text}/`;

/**
 * Changes an account's conditions, for new payments alone: each payment keeps the fee that it was made with.
 *
 * The account's row and all its balance rows are locked, so when this answers no flush that read the old values is open: a
 * block or a lower limit holds from here on, for every process.
 *
 * @throws OperatorRefused no such account, or what is outside the interface's limits
 */
export async function setConditions(
  operator: Operator,
  accountId: string,
  change: ConditionChange,
): Promise<Conditions> {
  for (const [name, [least, most]] of Object.entries(bounds)) {
    const value = change[name as keyof ConditionChange];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
      throw new OperatorRefused(`${name} is an integer from ${least} to ${most}`);
    }
  }
  const { returnHosts = [] } = change;
  if (returnHosts.length > returnHostsMost) throw new OperatorRefused(`at most ${returnHostsMost} hosts`);
  const odd = returnHosts.find((host) => !isHost(host));
  if (odd !== undefined) throw new OperatorRefused(`${odd} is no host, as shop.example or shop.example:8443`);
  if (accountId === installationId) throw new OperatorRefused('no such account');
  return operator.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    const [before] = account ? await conditions.read(tx, [accountId]) : [];
    if (!before) throw new OperatorRefused('no such account');
    const after: Conditions = { ...before, ...change };
    if (after.minimumDepositCents > after.maximumDepositCents)
      throw new OperatorRefused('the smallest deposit would be above the largest');
    if (after.minimumWithdrawalCents > after.maximumWithdrawalCents)
      throw new OperatorRefused('the smallest withdrawal would be above the largest');
    if (after.minimumCardCents > after.maximumCardCents)
      throw new OperatorRefused('the smallest card payment would be above the largest');
    if (change.cardConnection) await requireAcquirer(tx, change.cardConnection, account?.test === true);
    const audit = {
      accountId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'account.set',
      subject: accountId,
      reason: null,
      detail: { before, after },
    };
    await Promise.all([updateConditions(tx, after), writeAudit(tx, audit)]);
    return after;
  });
}

const acquirer: Statement = {
  name: 'conditions_card_connection',
  text: "SELECT test, adapter FROM connection WHERE id = $1 AND state = 'active'",
};

/** @throws OperatorRefused it is none, takes no cards, or is of the other kind of money */
async function requireAcquirer(tx: Queries, connection: string, test: boolean): Promise<void> {
  const [found] = await tx.run<{ test: boolean; adapter: string | null }>(acquirer, [connection]);
  if (!found) throw new OperatorRefused(`there is no connection ${connection}`);
  if (!isAcquirer(found.adapter)) throw new OperatorRefused(`${connection} takes no cards`);
  if (found.test !== test)
    throw new OperatorRefused(
      `${connection} is ${found.test ? 'a test' : 'a live'} connection, the account is not`,
    );
}
