import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { refuse } from '../../ground/errors.ts';
import { IdParams } from '../../ground/schema.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { isTerminal, type Payment } from '../../money/payment.ts';
import { type IncidentView, listIncidents } from '../../operate/incidents/incident.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { makeDue } from '../../store/rows/intents.sql.ts';
import type { Attempts } from '../auth/attempts.ts';
import type { Member } from '../auth/session.ts';
import { AskedSchema, Nothing, ReconciliationSchema } from '../schema/schema.ts';
import { findUnknown } from './overview.sql.ts';
import { receiversFor } from './receivers.ts';
import {
  findLastCompared,
  findReconciledOperations,
  findStatementReadTo,
  type LastCompared,
} from './reconciliation.sql.ts';
import { findRecordsById } from './records.sql.ts';
import { findNames, operationsOf, viewOfRecord } from './records.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = { api: described, panel: { needs: 'read' } } as const;

const shownMost = 100;

const tags = ['Panel'];

interface ReconciliationDeps {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  /** Asks the provider when the payment's next query is overdue. */
  refreshIfOverdue(payment: Payment): Promise<Payment>;
}

/** Payments that agree, payments not confirmed yet, and decisions that wait for a person. */
export function reconciliationRoutes(
  api: ApiScope,
  cellOf: CellOf<ReconciliationDeps>,
  attempts: Attempts,
): void {
  api.get(
    '/reconciliation',
    {
      schema: { tags, summary: 'Reconciliation', response: { 200: ReconciliationSchema } },
      config: asks,
    },
    ({ member }) => reconciliationOf(cellOf(member), member),
  );

  api.post(
    '/records/:id/query',
    {
      schema: {
        tags,
        summary: 'Ask the provider about a payment now',
        params: IdParams('Payment'),
        body: Nothing,
        response: { 200: AskedSchema },
      },
      config: asks,
    },
    async ({ member, params, language }) => {
      const { accountId } = member;
      const deps = cellOf(member);
      const { sql, clock } = deps;
      const receiverOf = receiversFor(deps.secrets, member.role);
      const names = await operationsOf(deps, accountId, undefined);
      const [payment] = await findRecordsById(sql, accountId, [params.id], [...names.keys()]);
      if (!payment) throw refuse('payment_not_found');
      if (isTerminal(payment.status) || payment.status === 'draft')
        return { record: viewOfRecord(payment, language, receiverOf) };
      await attempts.take('paymentQuery', accountId);
      await makeDue(sql, [{ accountId, paymentId: payment.id }], clock.now());
      return { record: viewOfRecord(await deps.refreshIfOverdue(payment), language, receiverOf) };
    },
  );
}

async function reconciliationOf(deps: ReconciliationDeps, member: Member) {
  const { sql, clock } = deps;
  const { accountId } = member;
  const names = await operationsOf(deps, accountId, undefined);
  const [operations, unknown, incidents, readTo, compared] = await Promise.all([
    findReconciledOperations(sql, accountId),
    findUnknown(sql, accountId, [...names.keys()], shownMost),
    listIncidents(deps, accountId),
    findStatementReadTo(sql, accountId),
    findLastCompared(sql, accountId),
  ]);
  const shown = incidents.slice(0, shownMost);
  const paymentIds = [...unknown.map((row) => row.id), ...shown.map((one) => one.paymentId)];
  const namesById = await findNames(deps, member, paymentIds, [...names.keys()]);
  return {
    statementReadTo: readTo === null ? null : isoOf(readTo),
    compared: compared && viewOfCompared(compared),
    operations,
    unknown: unknown.map((row) => ({ ...row, createdAt: isoOf(row.createdAt), payment: namesById(row.id) })),
    incidents: shown.map((one) => ({ ...viewOfIncident(one), payment: namesById(one.paymentId) })),
    at: isoOf(clock.now()),
  };
}

const viewOfCompared = ({ at, detail }: LastCompared) => ({
  at: isoOf(at),
  compared: detail.compared,
  missing: detail.missing,
  unexpected: detail.unexpected,
  different: detail.different,
});

const viewOfIncident = (one: IncidentView) => ({
  id: one.id,
  kind: one.kind,
  state: one.state,
  paymentId: one.paymentId,
  operationId: one.operationId,
  amountCents: one.amountCents,
  freezes: one.freezes,
  openedAt: isoOf(one.openedAt),
  resolvedAt: one.resolvedAt === null ? null : isoOf(one.resolvedAt),
  action: one.resolution?.action ?? null,
  // A person of the account gives none.
  reason: one.resolution?.actor.startsWith('panel:') ? null : (one.resolution?.reason ?? null),
});
