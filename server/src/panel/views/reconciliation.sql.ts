import type { Queries, Statement } from '../../ports/sql.ts';

const selectOperations: Statement = {
  name: 'panel_reconciled_operations',
  text: `SELECT o.id, o.name, b.available - b.receivable AS "balanceCents", b.seq AS lines,
      coalesce((SELECT available_after - receivable_after FROM journal j
        WHERE j.account_id = o.account_id AND j.chain_id = o.id ORDER BY j.seq DESC LIMIT 1), 0) AS "ledgerCents"
    FROM operation o JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
    WHERE o.account_id = $1 AND o.deleted_at IS NULL ORDER BY o.created_at, o.id`,
};

export interface ReconciledOperation {
  id: string;
  name: string;
  balanceCents: number;
  ledgerCents: number;
  lines: number;
}

/** Balance and last ledger line of each operation, read in one statement: they are of the same moment. */
export const findReconciledOperations = (sql: Queries, accountId: string): Promise<ReconciledOperation[]> =>
  sql.run<ReconciledOperation>(selectOperations, [accountId]);

const selectReadTo: Statement = {
  name: 'panel_statement_read_to',
  text: `SELECT c.statement_read_to AS "readTo" FROM account a JOIN connection c ON c.id = a.connection WHERE a.id = $1`,
};

export const findStatementReadTo = async (sql: Queries, accountId: string): Promise<number | null> =>
  (await sql.run<{ readTo: number | null }>(selectReadTo, [accountId]))[0]?.readTo ?? null;

const selectCompared: Statement = {
  name: 'panel_last_reconciled',
  text: `SELECT at, detail FROM audit WHERE account_id = $1 AND action = 'reconcile' ORDER BY id DESC LIMIT 1`,
};

export interface LastCompared {
  at: number;
  detail: { compared: number; missing: number; unexpected: number; different: number };
}

/** The last comparison of this account alone. */
export const findLastCompared = async (sql: Queries, accountId: string): Promise<LastCompared | null> =>
  (await sql.run<LastCompared>(selectCompared, [accountId]))[0] ?? null;
