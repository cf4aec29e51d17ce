import { refuse } from '../../ground/errors.ts';
import type { ApiScope, RouteFacts } from '../../http/edge.ts';
import { IdParams } from '../../http/schema.ts';
import type { Payment } from '../../payments/payment.ts';
import { isoOf } from '../../payments/view.ts';
import { shownKeyOf } from '../../settlement/incidents/unreadable.ts';
import type { PanelFacts } from '../auth/session.ts';
import type { PanelDeps } from '../deps.ts';
import {
  DetailSchema,
  OverviewQuery,
  OverviewSchema,
  RecordListSchema,
  RecordQuery,
  StatementQuery,
  StatementSchema,
} from '../schema.ts';
import { findBalances, findDays, findOpenIncidents, findRestrictions, findUnknown } from './overview.sql.ts';
import { findEventsOf, findLinesOf, findRecordsById, findStatement, highestSeq } from './records.sql.ts';
import { listRecords, operationsOf, viewOfLine, viewOfRecord } from './records.ts';

/** What the document says of a call; who may make it is decided by the role (`config.panel`). */
const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (needs: PanelFacts['needs']) => ({ api: described, panel: { needs } });

const dayMs = 24 * 3600 * 1000;

export function accountScopeRoutes(
  api: ApiScope,
  deps: PanelDeps,
  refresh: (payment: Payment) => Promise<Payment>,
): void {
  const { sql, clock } = deps;
  const tags = ['Panel'];

  api.get(
    '/overview',
    {
      schema: { tags, summary: 'Home', querystring: OverviewQuery, response: { 200: OverviewSchema } },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const ids = [...names.keys()];
      const since = clock.now() - (query.days ?? 30) * dayMs;
      const [balances, days, unknown, incidents, restrictions] = await Promise.all([
        findBalances(sql, member.accountId),
        findDays(sql, member.accountId, ids, since),
        findUnknown(sql, member.accountId, ids),
        findOpenIncidents(sql, member.accountId, ids),
        findRestrictions(sql, member.accountId),
      ]);
      return {
        operations: balances.map(({ main, createdAt, updatedAt, ...rest }) => ({
          ...rest,
          isDefault: main,
          createdAt: isoOf(createdAt),
          updatedAt: isoOf(updatedAt),
        })),
        days,
        unknown: unknown.map((row) => ({ ...row, createdAt: isoOf(row.createdAt) })),
        incidents: incidents.map((row) => ({ ...row, openedAt: isoOf(row.openedAt) })),
        restrictions,
        at: isoOf(clock.now()),
      };
    },
  );

  api.get(
    '/records',
    {
      schema: {
        tags,
        summary: 'Payments over one or all operations',
        querystring: RecordQuery,
        response: { 200: RecordListSchema },
      },
      config: asks('read'),
    },
    async ({ member, query, language }) => {
      const { cursor, limit, ...filters } = query;
      const page = { ...(cursor && { cursor }), ...(limit && { limit }) };
      const { records, nextCursor } = await listRecords(deps, member, filters, page);
      return { records: records.map((payment) => viewOfRecord(payment, language)), nextCursor };
    },
  );

  api.get(
    '/records/:id',
    {
      schema: {
        tags,
        summary: 'Everything about a payment',
        params: IdParams('Payment'),
        response: { 200: DetailSchema },
      },
      config: asks('read'),
    },
    async ({ member, params, language }) => {
      const names = await operationsOf(deps, member.accountId, undefined);
      const [found] = await findRecordsById(sql, member.accountId, [params.id], [...names.keys()]);
      if (!found) throw refuse('payment_not_found');
      const payment = await refresh(found);
      const instants = payment.history.map((step) => Date.parse(step.at));
      const [lines, events] = await Promise.all([
        findLinesOf(sql, member.accountId, payment.id),
        findEventsOf(sql, member.accountId, payment.id, instants),
      ]);
      return {
        record: viewOfRecord(payment, language),
        operationName: names.get(payment.operationId) ?? '',
        pixKey: await shownKeyOf(deps, payment),
        pixKeyType: payment.pixKeyType,
        history: payment.history,
        lines: lines.map(viewOfLine),
        events: events.map(({ id, type, createdAt }) => ({ id, type, createdAt: isoOf(createdAt) })),
      };
    },
  );

  api.get(
    '/statement',
    {
      schema: {
        tags,
        summary: 'Ledger of an operation',
        querystring: StatementQuery,
        response: { 200: StatementSchema },
      },
      config: asks('read'),
    },
    async ({ member, query }) => {
      await operationsOf(deps, member.accountId, query.operationId);
      const limit = query.limit ?? 50;
      const lines = await findStatement(
        sql,
        member.accountId,
        query.operationId,
        query.below ?? highestSeq,
        limit + 1,
      );
      const more = lines.length > limit;
      if (more) lines.pop();
      return { lines: lines.map(viewOfLine), nextBelow: more ? (lines.at(-1)?.seq ?? null) : null };
    },
  );
}
