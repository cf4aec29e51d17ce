import type { Sql, Statement } from '../../ports/sql.ts';

const select: Statement = {
  name: 'charge_list',
  text: `SELECT connection || charge_fallback AS list FROM account WHERE id = $1`,
};

/** The connections over which an account's charges go: its own, then the others of its list in their order. */
export async function chargeListOf(sql: Sql, accountId: string): Promise<readonly string[]> {
  const [row] = await sql.run<{ list: string[] }>(select, [accountId]);
  return row?.list ?? [];
}
