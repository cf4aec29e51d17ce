import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import { IdParams } from '../../ground/schema.ts';
import { RefundSchema, refundViewOf } from '../../kinds/payment/refund-view.ts';
import { refund } from '../../kinds/refund/refund.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { getRefund, listRefunds, type RefundPageDeps } from './lookup.ts';
import { RefundBody, RefundListSchema, RefundPageQuery } from './schema.ts';

type RefundDeps = AcceptDeps & RefundPageDeps & { directory: OperationDirectory };

const tags = ['Refunds'];
const looks: RouteFacts = { permissions: ['read', 'refunds'], policy: 'reads', operation: 'resolve' };

export function refundRoutes(api: ApiScope, cellOf: CellOf<RefundDeps>): void {
  api.post(
    '/payments/:id/refunds',
    {
      schema: {
        tags,
        summary: 'Give a paid charge back to its payer, in whole or in part',
        params: IdParams('Id of the charge'),
        body: RefundBody,
        response: { 201: RefundSchema },
      },
      config: {
        api: { permissions: ['refunds'], policy: 'transfers', operation: 'resolve', creates: true },
      },
    },
    async (request, reply) => {
      const { amountCents = null, description = '', requestKey } = request.body;
      const paymentId = request.params.id;
      const { row, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, refund, caller, { paymentId, amountCents, description, requestKey }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(refundViewOf(row));
    },
  );

  api.get(
    '/payments/:id/refunds',
    {
      schema: {
        tags,
        summary: 'The refunds of a charge',
        params: IdParams('Id of the charge'),
        querystring: RefundPageQuery,
        response: { 200: RefundListSchema },
      },
      config: { api: looks },
    },
    async (request) => {
      const { caller, params, query } = request;
      const { refunds, nextCursor } = await listRefunds(cellOf(request), caller, params.id, query);
      return { refunds: refunds.map(refundViewOf), hasMore: nextCursor !== null, nextCursor };
    },
  );

  api.get(
    '/refunds/:id',
    {
      schema: {
        tags,
        summary: 'One refund',
        params: IdParams('Id of the refund'),
        response: { 200: RefundSchema },
      },
      config: { api: looks },
    },
    async (request) => refundViewOf(await getRefund(cellOf(request), request.caller, request.params.id)),
  );
}
