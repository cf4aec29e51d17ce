import type { Static } from 'typebox';
import { refundPage } from '../../api/refunds/lookup.ts';
import { RefundBody, RefundPageQuery } from '../../api/refunds/schema.ts';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { AcceptDeps } from '../../flow/accept.ts';
import { accept } from '../../flow/accept.ts';
import { refuse } from '../../ground/errors.ts';
import { IdParams } from '../../ground/schema.ts';
import { refundViewOf } from '../../kinds/payment/refund-view.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { refund } from '../../kinds/refund/refund.ts';
import type { Payment } from '../../money/payment.ts';
import { paidUnder, type Refund, receivedCents, refundWindowMs, takenOf } from '../../money/refund.ts';
import { namedHistory } from '../../operate/history.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Provider } from '../../provider/provider.ts';
import { conditions } from '../../store/rows/conditions.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { findRefund, refundSums } from '../../store/rows/refunds.sql.ts';
import { knownReturns } from '../../store/rows/returns.sql.ts';
import { clockMovesSincePaid } from '../../store/rows/test-clock.sql.ts';
import { type Member, note } from '../auth/session.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import { type RefundClosed, RefundsOfRecordSchema } from '../schema/schema.ts';
import { findRecordsById } from './records.sql.ts';
import { operationsOf } from './records.ts';

const looks: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const moves: RouteFacts = {
  permissions: ['refunds'],
  policy: 'transfers',
  operation: 'syntax',
  creates: true,
};
const tags = ['Panel'];

/**
 * The refunds of a charge, over all operations of the account. A person's refund needs no mailed code, as a transfer does: it can go
 * to the payer alone. It needs a second factor and a password given within ten minutes.
 */
interface RefundsDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
}

export function refundViewRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & RefundsDeps & SecurityEventDeps>,
): void {
  api.get(
    '/records/:id/refunds',
    {
      schema: {
        tags,
        summary: 'The refunds of a charge, and what may still be refunded',
        params: IdParams('Payment'),
        querystring: RefundPageQuery,
        response: { 200: RefundsOfRecordSchema },
      },
      config: { api: looks, panel: { needs: 'read' } },
    },
    async ({ member, params, query }) => {
      const deps = cellOf(member);
      const charge = await recordOf(deps, member, params.id);
      return refundsOf(deps, charge, query);
    },
  );

  api.post(
    '/records/:id/refunds',
    {
      schema: {
        tags,
        summary: 'Give a paid charge back to its payer, in whole or in part',
        params: IdParams('Payment'),
        body: RefundBody,
        response: { 201: RefundsOfRecordSchema },
      },
      config: { api: moves, panel: { needs: 'refunds', sensitive: true, fresh: true } },
    },
    async (request, reply) => {
      const { member, params, body, caller } = request;
      const deps = cellOf(member);
      const charge = await recordOf(deps, member, params.id);
      const { amountCents = null, description = '', requestKey } = body;
      const { row, replayed } = await accept(
        deps,
        refund,
        { ...caller, operationId: charge.operationId, operationNamed: true },
        { paymentId: charge.id, amountCents, description, requestKey },
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      else await note(deps, request, 'refund.created', { paymentId: charge.id, refundId: row.id });
      return reply.code(201).send(await refundsOf(deps, charge));
    },
  );
}

/** @throws ApiError `payment_not_found` */
export async function recordOf(
  deps: { sql: Sql },
  { accountId }: Pick<Member, 'accountId'>,
  id: string,
): Promise<Payment> {
  const names = await operationsOf(deps, accountId, undefined);
  const [found] = await findRecordsById(deps.sql, accountId, [id], [...names.keys()]);
  if (!found) throw refuse('payment_not_found');
  return found;
}

async function refundsOf(deps: RefundsDeps, charge: Payment, query: Static<typeof RefundPageQuery> = {}) {
  const { sql, clock } = deps;
  const key = paymentKey(charge.accountId, charge.id);
  const [{ refunds, nextCursor }, [sum], [known], [account], [move]] = await Promise.all([
    refundPage(deps, { accountId: charge.accountId, paymentId: charge.id }, query),
    refundSums.read(sql, [key]),
    knownReturns.read(sql, [key]),
    conditions.read(sql, [charge.accountId]),
    clockMovesSincePaid.read(sql, [key]),
  ]);
  const first = refunds.flatMap(({ history }) => history.slice(0, 1));
  const makers = await namedHistory(sql, charge.accountId, first);
  const received = receivedCents(charge);
  const goneCents = takenOf(charge, known?.returns ?? []);
  const leftCents = Math.max(0, received - (sum?.takenCents ?? 0) - goneCents);
  // By our clock, as far away as it is by the account's.
  const untilMs = (charge.paidAt ?? charge.createdAt) + refundWindowMs - (move?.movedMs ?? 0);
  const offered = deps.providers.get(sum?.connection ?? '')?.capabilities.canRefund ?? false;
  return {
    refunds: makers.flatMap(({ cause }, at) => {
      const refund = refunds[at];
      return refund ? [{ ...refundViewOf(refund), madeBy: cause }] : [];
    }),
    nextCursor,
    leftCents,
    refundFees: account?.refundFees ?? ('kept' as const),
    until: received === 0 || charge.card !== null ? null : isoOf(untilMs),
    closed: closedBy(received, charge, { offered, late: clock.now() > untilMs, leftCents }),
  };
}

/** Why there is no (further) refund; null: one may be asked for. The same order as the refusals of the call. */
function closedBy(
  received: number,
  charge: Payment,
  { offered, late, leftCents }: { offered: boolean; late: boolean; leftCents: number },
): RefundClosed | null {
  if (received === 0 || paidUnder(charge) === null) return 'not_received';
  if (!offered) return 'not_offered';
  // An acquirer has a window of its own, which its refusal says.
  if (late && charge.card === null) return 'too_late';
  return leftCents === 0 ? 'nothing_left' : null;
}

/** @throws ApiError `refund_not_found` */
export async function refundOf(deps: { sql: Sql }, charge: Payment, id: string): Promise<Refund> {
  const refund = await findRefund(deps.sql, charge, id);
  if (refund?.paymentId !== charge.id) throw refuse('refund_not_found');
  return refund;
}
