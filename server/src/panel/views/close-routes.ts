import { findClosesOf } from '../../closes/closes.sql.ts';
import { viewOfClose } from '../../closes/view.ts';
import { viewsOf } from '../../disputes/views.ts';
import type { ApiScope, RouteFacts } from '../../http/edge.ts';
import { findDisputePage } from '../../settlement/disputes/disputes.sql.ts';
import type { PanelDeps } from '../deps.ts';
import { ClosesQuery, ClosesSchema, DisputesQuery, DisputesSchema } from '../schema.ts';
import { findNames, operationsOf } from './records.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = { api: described, panel: { needs: 'read' } } as const;
const tags = ['Panel'];
/** Before every id. */
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The closed days and the disputes of an operation. */
export function closeViewRoutes(api: ApiScope, deps: PanelDeps): void {
  const { sql } = deps;

  api.get(
    '/closes',
    {
      schema: {
        tags,
        summary: 'Closed days of an operation',
        querystring: ClosesQuery,
        response: { 200: ClosesSchema },
      },
      config: asks,
    },
    async ({ member, query }) => {
      const { operationId, before = null, limit = 31 } = query;
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      const found = await findClosesOf(sql, scope, before, limit + 1);
      const shown = found.slice(0, limit);
      return {
        closes: shown.map(viewOfClose),
        nextBefore: found.length > limit ? (shown.at(-1)?.day ?? null) : null,
      };
    },
  );

  api.get(
    '/operation-disputes',
    {
      schema: {
        tags,
        summary: 'Disputes (MED) of an operation',
        querystring: DisputesQuery,
        response: { 200: DisputesSchema },
      },
      config: asks,
    },
    async ({ member, query }) => {
      const { operationId, below = highestId, limit = 50 } = query;
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      const found = await findDisputePage(sql, scope, below, null, limit + 1);
      const shown = found.slice(0, limit);
      const views = await viewsOf(sql, scope, shown);
      const paymentIds = views.map(({ paymentId }) => paymentId);
      const namesById = await findNames(deps, member, paymentIds, [operationId]);
      return {
        disputes: views.map((view) => ({ ...view, payment: namesById(view.paymentId) })),
        nextBelow: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
      };
    },
  );
}
