import { findEndingKeys } from '../../api/keys/ending.sql.ts';
import { type ApiScope, type CellOf, onceForCell, type RouteFacts } from '../../edge/edge.ts';
import { refuse } from '../../ground/errors.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Payment } from '../../money/payment.ts';
import { namedHistory } from '../../operate/history.ts';
import { findDeliveriesOf, findEventsOf } from '../../operate/payment-events.sql.ts';
import { dayOf } from '../../operate/statement/period.ts';
import { findDisputesOf, findDueDisputes } from '../../store/rows/disputes.sql.ts';
import { shownKeyOf, type UnreadableDeps } from '../../store/rows/unreadable.ts';
import type { PanelFacts } from '../auth/session.ts';
import { may } from '../people/roles.ts';
import {
  DetailSchema,
  OverviewQuery,
  OverviewSchema,
  RecordListSchema,
  RecordQuery,
} from '../schema/schema.ts';
import { createCashDays } from './cash-days.ts';
import { type DisputeDeps, disputeViews } from './dispute-views.ts';
import { listRecords } from './list-records.ts';
import {
  findBalances,
  findFirstSteps,
  findOpenHolds,
  findOpenIncidents,
  findRestrictions,
  findUnknown,
} from './overview.sql.ts';
import { maskedFor, receiversFor } from './receivers.ts';
import { findLinesOf, findRecordsById } from './records.sql.ts';
import { findNames, marksOf, operationsOf, type RecordDeps, viewOfLine, viewOfRecord } from './records.ts';
import { findIncidentsOf, findRefundsOf, findReturnsOf, type StoryRefund } from './story.sql.ts';

/** The document's entry of a call; the role decides who may make it (`config.panel`). */
const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (needs: PanelFacts['needs']) => ({ api: described, panel: { needs } });

const tags = ['Panel'];
const dayMs = 24 * 3600 * 1000;

interface Refreshing {
  /** Asks the provider when the payment's next query is overdue. */
  refreshIfOverdue(payment: Payment): Promise<Payment>;
}

export function accountScopeRoutes(
  api: ApiScope,
  cellOf: CellOf<RecordDeps & UnreadableDeps & Refreshing & DisputeDeps>,
): void {
  overviewRoute(api, cellOf);
  recordRoutes(api, cellOf);
}

function overviewRoute(api: ApiScope, cellOf: CellOf<DisputeDeps>): void {
  const cashDaysOf = onceForCell(cellOf, createCashDays);
  api.get(
    '/overview',
    {
      schema: { tags, summary: 'Home', querystring: OverviewQuery, response: { 200: OverviewSchema } },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const deps = cellOf(member);
      const { sql, clock } = deps;
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const ids = [...names.keys()];
      // Whole days of São Paulo, today included.
      const firstDay = dayOf(clock.now() - ((query.days ?? 30) - 1) * dayMs);
      const [balances, cash, unknown, incidents, disputes, holds, restrictions, firstSteps, endingKeys] =
        await Promise.all([
          findBalances(sql, member.accountId),
          cashDaysOf(member)(member.accountId, ids, firstDay),
          findUnknown(sql, member.accountId, ids),
          findOpenIncidents(sql, member.accountId, ids),
          findDueDisputes(sql, member.accountId, ids),
          findOpenHolds(sql, member.accountId, ids),
          findRestrictions(sql, member.accountId),
          findFirstSteps(sql, member.accountId),
          may(member.role, 'keys') ? findEndingKeys(sql, member.accountId, clock.now()) : [],
        ]);
      const paymentIds = [...unknown.map((row) => row.id), ...incidents.map((row) => row.paymentId)];
      const namesById = await findNames(deps, member, paymentIds, ids);
      return {
        operations: balances.map(({ main, createdAt, updatedAt, ...rest }) => ({
          ...rest,
          isDefault: main,
          createdAt: isoOf(createdAt),
          updatedAt: isoOf(updatedAt),
        })),
        days: cash.days,
        daysComplete: cash.complete,
        unknown: unknown.map((row) => ({
          ...row,
          createdAt: isoOf(row.createdAt),
          payment: namesById(row.id),
        })),
        incidents: incidents.map((row) => ({
          ...row,
          openedAt: isoOf(row.openedAt),
          payment: namesById(row.paymentId),
        })),
        disputes: await disputeViews(deps, member, disputes),
        endingKeys: endingKeys.map((key) => ({ ...key, expiresAt: isoOf(key.expiresAt) })),
        holds: holds.map((row) => ({ ...row, placedAt: isoOf(row.placedAt) })),
        restrictions,
        firstSteps,
        at: isoOf(clock.now()),
      };
    },
  );
}

function recordRoutes(
  api: ApiScope,
  cellOf: CellOf<RecordDeps & UnreadableDeps & Refreshing & DisputeDeps>,
): void {
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
      const deps = cellOf(member);
      const { cursor, limit, ...filters } = query;
      const page = { ...(cursor && { cursor }), ...(limit && { limit }) };
      const { records, nextCursor, searchedTo } = await listRecords(deps, member, filters, page);
      const receiverOf = receiversFor(deps.secrets, member.role);
      const marked = await marksOf(deps.sql, member.accountId, records);
      return {
        records: records.map((payment) => ({
          ...viewOfRecord(payment, language, receiverOf),
          ...marked(payment),
        })),
        nextCursor,
        searchedTo: searchedTo === null ? null : isoOf(searchedTo),
      };
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
      const deps = cellOf(member);
      const { sql } = deps;
      const names = await operationsOf(deps, member.accountId, undefined);
      const [found] = await findRecordsById(sql, member.accountId, [params.id], [...names.keys()]);
      if (!found) throw refuse('payment_not_found');
      const payment = await deps.refreshIfOverdue(found);
      const { accountId } = member;
      const [pixKey, lines, history, disputes, incidents, refunds, returns] = await Promise.all([
        shownKeyOf(deps, payment),
        findLinesOf(sql, accountId, payment.id),
        namedHistory(sql, accountId, payment.history),
        findDisputesOf(sql, accountId, [payment.id]),
        findIncidentsOf(sql, accountId, payment.id),
        findRefundsOf(sql, accountId, payment.id),
        findReturnsOf(sql, accountId, payment.id),
      ]);
      const instants = [
        ...payment.history.map((step) => Date.parse(step.at)),
        ...disputes.flatMap((one) => [one.createdAt, one.updatedAt]),
        ...incidents.map((one) => one.openedAt),
        ...refunds.flatMap((one) => [one.createdAt, one.settledAt ?? one.createdAt]),
        payment.updatedAt,
      ];
      const events = await findEventsOf(sql, accountId, payment.id, instants);
      const deliveries = await findDeliveriesOf(
        sql,
        accountId,
        events.map(({ id }) => id),
      );
      const marked = await marksOf(sql, accountId, [payment]);
      return {
        marks: marked(payment).marks,
        disputes: await disputeViews(deps, member, disputes),
        incidents: incidents.map((one) => ({
          ...one,
          openedAt: isoOf(one.openedAt),
          resolvedAt: isoOrNull(one.resolvedAt),
        })),
        refunds: refunds.map(viewOfRefund),
        returns: returns.map((one) => ({ ...one, at: isoOf(one.at) })),
        record: viewOfRecord(payment, language, () => maskedFor(member.role, pixKey)),
        operationName: names.get(payment.operationId) ?? '',
        history,
        lines: lines.map(viewOfLine),
        events: events.map(({ id, type, createdAt }) => ({
          id,
          type,
          createdAt: isoOf(createdAt),
          deliveries: deliveries.filter(({ eventId }) => eventId === id).map(({ status }) => status),
        })),
      };
    },
  );
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

const viewOfRefund = ({ createdAt, updatedAt, settledAt, ...refund }: StoryRefund) => ({
  ...refund,
  createdAt: isoOf(createdAt),
  updatedAt: isoOf(updatedAt),
  settledAt: isoOrNull(settledAt),
});
