import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { type Queries, type Sql, type Statement, sqlState, type Transaction } from '../../ports/sql.ts';
import { isOfEnvironment } from '../../provider/provider.ts';
import { timestamp } from '../../store/database/pool.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { requireFree } from './connections.ts';

interface Needs {
  sql: Sql;
  clock: Clock;
  ids: Ids;
}

export interface NewAccount {
  /** 2 to 64 characters. */
  name: string;
  /** No money moves: as its connection is. */
  test: boolean;
  connection: string;
}

export interface CreatedAccount {
  ownerId: string;
  /** Of its main operation, `Principal`. */
  operationId: string;
}

/**
 * An account with its main operation and both of its chains.
 * @param actor whom the audit log names; null: no operator asked for it
 * @throws OperatorRefused the connection takes no account, or not this one
 */
export function createAccount(
  needs: Needs,
  account: NewAccount,
  actor: string | null = null,
): Promise<CreatedAccount> {
  return drawNumbers(() =>
    needs.sql.tx(async (tx) => {
      if (!isOfEnvironment(account.connection)) await requireFree(tx, account.connection, account.test);
      const created = await insertAccount(tx, needs, account);
      if (actor !== null) await noteCreated(tx, needs, { ...account, ...created, actor });
      return created;
    }),
  );
}

const noteCreated = (
  tx: Transaction,
  { clock, ids }: Needs,
  { ownerId, actor, ...detail }: NewAccount & CreatedAccount & { actor: string },
): Promise<unknown> =>
  writeAudit(tx, {
    ...{ accountId: ownerId, id: ids.uuid(), at: clock.now(), actor, action: 'account.create' },
    ...{ subject: ownerId, reason: null, detail },
  });

/** The name of the test account that a first start makes. */
export const FIRST_ACCOUNT = 'Loja de teste';

/**
 * The test account of a first start, or null when the database has an account already. Of several processes that start
 * at once, one creates it.
 */
export function createFirstTestAccount(needs: Needs): Promise<CreatedAccount | null> {
  return drawNumbers(() =>
    needs.sql.tx(async (tx) => {
      await tx.run({
        name: 'account.first.lock',
        text: 'SELECT FROM installation FOR NO KEY UPDATE',
      });
      if ((await tx.run(someAccount, [false])).length > 0) return null;
      return insertAccount(tx, needs, { name: FIRST_ACCOUNT, test: true, connection: 'simulator' });
    }),
  );
}

/** The account that the first start made, also when there are others by now. */
export async function findFirstTestAccount(sql: Queries): Promise<string | null> {
  const [row] = await sql.run<{ id: string }>(
    {
      name: 'account_first',
      text: 'SELECT id FROM account WHERE name = $1 AND test ORDER BY created_at, id LIMIT 1',
    },
    [FIRST_ACCOUNT],
  );
  return row?.id ?? null;
}

export interface AccountRow {
  ownerId: string;
  name: string;
  test: boolean;
  enabled: boolean;
  withdrawalsBlocked: boolean;
  /** The main operation's. */
  operationId: string;
  /** ms since 1970. */
  createdAt: number;
}

/** Every account of a cell but the installation's own, oldest first. */
export function listAccounts(sql: Queries): Promise<AccountRow[]> {
  return sql.run<AccountRow>({
    name: 'account.list',
    text: `SELECT a.id AS "ownerId", a.name, a.test, a.enabled, a.withdrawals_blocked AS "withdrawalsBlocked",
                  o.id AS "operationId", a.created_at AS "createdAt"
             FROM account a JOIN operation o ON o.account_id = a.id AND o.main
            WHERE a.number > 0
            ORDER BY a.created_at, a.id`,
  });
}

/** Whatever its cell. */
const someAccount: Statement = {
  name: 'account_some',
  text: `SELECT id AS "ownerId" FROM account WHERE number > 0 AND (test OR NOT $1) ORDER BY created_at, id LIMIT 1`,
};

/** The oldest test account. */
export const findTestAccount = async (sql: Queries): Promise<{ ownerId: string } | null> =>
  (await sql.run<{ ownerId: string }>(someAccount, [true]))[0] ?? null;

async function insertAccount(
  tx: Transaction,
  { clock, ids }: Needs,
  { name, test, connection }: NewAccount,
): Promise<CreatedAccount> {
  const ownerId = ids.uuid();
  const operationId = ids.uuid();
  const now = timestamp(clock.now());
  let number = 0;
  while (number === 0) number = ids.bytes(4).readUInt32BE();
  await tx.run(
    {
      name: 'account.insert',
      text: `INSERT INTO account (id, number, name, test, connection, created_at, cell) VALUES ($1, $2, $3, $4, $5, $6, current_schema())`,
    },
    [ownerId, number, name, test, connection, now],
  );
  await insertBooks(tx, { ownerId, operationId }, clock.now());
  return { ownerId, operationId };
}

/** The main operation of a new account, and both of its chains. */
export async function insertBooks(
  tx: Transaction,
  { ownerId, operationId }: CreatedAccount,
  nowMs: number,
): Promise<void> {
  const now = timestamp(nowMs);
  await tx.run(
    {
      name: 'account.insert.operation',
      text: `INSERT INTO operation (account_id, id, name, slot, main, created_at, updated_at)
             VALUES ($1, $2, 'Principal', 1, true, $3, $3)`,
    },
    [ownerId, operationId, now],
  );
  await tx.run(
    {
      name: 'account.insert.balances',
      text: `INSERT INTO balance (account_id, operation_id, head, updated_at)
             VALUES ($1, $1, $3, $4), ($1, $2, $3, $4)`,
    },
    [ownerId, operationId, Buffer.alloc(32), now],
  );
}

/** Payment ids begin with the account's number, so two accounts never have the same: drawn again when it is taken. */
export async function drawNumbers<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const { constraint } = error as { constraint?: string };
      if (sqlState(error) !== '23505' || constraint !== 'account_number_key') throw error;
    }
  }
}
