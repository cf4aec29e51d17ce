import type { Static } from 'typebox';
import { getLink } from '../../api/links/links.ts';
import { getStaticCode } from '../../api/static-codes/static-codes.ts';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Caller } from '../../ground/caller.ts';
import { IdParams } from '../../ground/schema.ts';
import { type PaymentSource, paymentsOfSource } from '../../kinds/payment/made-by.ts';
import type { Payment } from '../../money/payment.ts';
import type { Sql } from '../../ports/sql.ts';
import { SourceQuery, SourceRecordsSchema } from '../schema/schema.ts';
import { receiversFor } from './receivers.ts';
import { findRecordsById } from './records.sql.ts';
import { marksOf, operationsOf, type RecordDeps, viewOfRecord } from './records.ts';

/** Where charges come from, by the path of its routes. */
export const sources = [
  { path: 'payment-links', of: 'payment_link_id', find: getLink },
  { path: 'static-codes', of: 'static_code_id', find: getStaticCode },
] as const;

type Source = (typeof sources)[number];

const looks: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };

/** The charges of payment links and static codes, as people see them: with the names of their payers. */
export function sourceViewRoutes(api: ApiScope, cellOf: CellOf<RecordDeps>): void {
  for (const source of sources) recordsRoute(api, cellOf, source);
}

function recordsRoute(api: ApiScope, cellOf: CellOf<RecordDeps>, source: Source): void {
  api.get(
    `/${source.path}/:id/records`,
    {
      schema: {
        tags: ['Panel'],
        summary: `Charges of one of the ${source.path}, with their payers`,
        params: IdParams('What the charges come from'),
        querystring: SourceQuery,
        response: { 200: SourceRecordsSchema },
      },
      config: { api: looks, panel: { needs: 'read' } },
    },
    async (request) => {
      const { member, params, query, language } = request;
      const deps = cellOf(member);
      const of = await sourceOf(deps, request, source, params.id);
      const { records, nextCursor } = await recordsOf(deps, of, query);
      const receiverOf = receiversFor(deps.secrets, member.role);
      const marked = await marksOf(deps.sql, member.accountId, records);
      return {
        records: records.map((one) => ({ ...viewOfRecord(one, language, receiverOf), ...marked(one) })),
        nextCursor,
      };
    },
  );
}

interface SourceRequest {
  caller: Caller;
  query: Pick<Static<typeof SourceQuery>, 'operationId'>;
}

/** @throws ApiError `operation_not_found`, `payment_link_not_found`, `static_code_not_found` */
export async function sourceOf(
  deps: { sql: Sql },
  { caller, query }: SourceRequest,
  { of, find }: Source,
  id: string,
): Promise<PaymentSource> {
  const { accountId } = caller;
  const { operationId } = query;
  await operationsOf(deps, accountId, operationId);
  await find(deps, { ...caller, operationId, operationNamed: true }, id);
  return { accountId, operationId, of, id };
}

/** A page of them, newest first. @throws ApiError `invalid_cursor` */
export async function recordsOf(
  deps: RecordDeps,
  source: PaymentSource,
  page: { limit?: number; cursor?: string },
): Promise<{ records: Payment[]; nextCursor: string | null }> {
  const { payments, nextCursor } = await paymentsOfSource(deps, source, page);
  const ids = payments.map(({ id }) => id);
  const found = await findRecordsById(deps.sql, source.accountId, ids, [source.operationId]);
  const byId = new Map(found.map((one) => [one.id, one]));
  return { records: ids.flatMap((id) => byId.get(id) ?? []), nextCursor };
}
