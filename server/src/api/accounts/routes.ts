import type { ApiScope, CellOf } from '../../edge/edge.ts';
import type { Sql } from '../../ports/sql.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { SummarySchema } from './schema.ts';
import { summaryOf } from './summary.ts';

export function accountRoutes(
  api: ApiScope,
  cellOf: CellOf<{ sql: Sql; directory: OperationDirectory }>,
): void {
  api.get(
    '/account',
    {
      schema: { tags: ['Account'], summary: 'Balance and conditions', response: { 200: SummarySchema } },
      config: { api: { permissions: ['read'], policy: 'reads', operation: 'resolve' } },
    },
    (request) => onCurrentOperation(cellOf, request, ({ sql }, caller) => summaryOf(sql, caller)),
  );
}
