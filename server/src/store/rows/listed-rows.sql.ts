import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';

interface Scope {
  accountId: string;
  operationId: string;
}

/** Rows of an operation that people list. */
export interface ListedRows<Row> {
  find(sql: Queries, scope: Scope, id: string): Promise<Row | undefined>;
  /** Newest first. */
  page(
    sql: Queries,
    scope: Scope,
    below: { createdAt: number; id: string } | null,
    limit: number,
  ): Promise<Row[]>;
}

/** @param columns the select list of the table, by this alias */
export function listedRows<Row>(table: string, alias: string, columns: string): ListedRows<Row> {
  const rowsOf = `SELECT ${columns} FROM ${table} ${alias} WHERE ${alias}.account_id = $1`;
  const one: Statement = {
    name: `${table}_of_operation`,
    text: `${rowsOf} AND ${alias}.id = $2 AND ${alias}.operation_id = $3`,
  };
  const listed: Statement = {
    name: `${table}_page`,
    text: `${rowsOf} AND ${alias}.operation_id = $2
      AND ($3::timestamptz IS NULL OR (${alias}.created_at, ${alias}.id) < ($3, $4::uuid))
    ORDER BY ${alias}.created_at DESC, ${alias}.id DESC LIMIT $5`,
  };
  return {
    find: async (sql, { accountId, operationId }, id) =>
      (await sql.run<Row>(one, [accountId, id, operationId]))[0],
    page: (sql, { accountId, operationId }, below, limit) =>
      sql.run<Row>(listed, [
        ...[accountId, operationId],
        ...[below && timestamp(below.createdAt), below?.id ?? null, limit],
      ]),
  };
}
