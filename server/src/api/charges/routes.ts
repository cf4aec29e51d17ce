import type { ApiScope } from '../../edge/edge.ts';
import type { Caller } from '../../ground/caller.ts';
import { chargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import type { Payment } from '../../money/payment.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import type { ChargeRequest } from './schema.ts';
import { ChargeBody } from './schema.ts';

export type CreateCharge = (
  caller: Caller,
  request: ChargeRequest,
) => Promise<{ payment: Payment; replayed: boolean }>;

export function chargeRoutes(
  api: ApiScope,
  deps: { createCharge: CreateCharge; directory: OperationDirectory },
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
      const { payment, replayed } = await onCurrentOperation(deps.directory, request.caller, (caller) =>
        deps.createCharge(caller, {
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
