import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import { charge } from '../../kinds/charge/charge.ts';
import { chargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { ChargeBody } from './schema.ts';

export function chargeRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & { directory: OperationDirectory }>,
): void {
  api.post(
    '/pix/charges',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a Pix charge',
        body: ChargeBody,
        response: { 201: PaymentSchema },
      },
      config: {
        api: {
          permissions: ['charges'],
          policy: 'charges',
          operation: 'resolve',
          creates: true,
          examples: chargeExamples,
        },
      },
    },
    async (request, reply) => {
      const { amountCents, payerName, description = '', requestKey, metadata } = request.body;
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, charge, caller, {
          amountCents,
          payerName,
          description,
          requestKey,
          ...(metadata && { metadata }),
        }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(await viewWithCode(payment, request.language));
    },
  );
}
