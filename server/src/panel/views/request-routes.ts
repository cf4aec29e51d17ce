import type { Static } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { listRequests, type RequestListDeps } from '../../edge/request-log/list.ts';
import type { RequestFilter } from '../../edge/request-log/request-log.sql.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { periodOf } from '../../operate/statement/period.ts';
import { lowestIdAt } from '../../ports/ids.ts';
import { RequestListSchema, RequestQuery } from '../schema/schema.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };

/** The API requests of the merchant's own programs in the last 30 days. */
export function requestRoutes(api: ApiScope, cellOf: CellOf<RequestListDeps>): void {
  api.get(
    '/requests',
    {
      schema: {
        tags: ['Panel'],
        summary: 'Requests of the API',
        querystring: RequestQuery,
        response: { 200: RequestListSchema },
      },
      config: { api: described, panel: { needs: 'read' } },
    },
    async ({ member, query }) => {
      const { cursor, limit = 50 } = query;
      const page = { cursor, limit };
      const { requests, nextCursor } = await listRequests(
        cellOf(member),
        member.accountId,
        requestFilterOf(query),
        page,
      );
      return { requests: requests.map((one) => ({ ...one, at: isoOf(one.at) })), nextCursor };
    },
  );
}

const beyondEvery = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** @throws ApiError `validation_failed` */
export function requestFilterOf(query: Omit<Static<typeof RequestQuery>, 'cursor' | 'limit'>): RequestFilter {
  const { method, status, keyId, paymentId, requestId, from, to } = query;
  const { fromMs, toMs } = periodOf({ ...(from && { from }), ...(to && { to }) });
  return {
    method: method ?? null,
    statusClass: status === undefined ? null : Number(status[0]),
    keyId: keyId ?? null,
    paymentId: paymentId ?? null,
    requestId: requestId ?? null,
    fromId: lowestIdAt(fromMs ?? 0),
    belowId: toMs === null ? beyondEvery : lowestIdAt(toMs),
  };
}
