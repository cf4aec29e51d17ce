import type { Caller } from '../ground/caller.ts';
import type { ApiScope } from '../http/edge.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { chargeExamples } from '../payments/examples.ts';
import type { Payment } from '../payments/payment.ts';
import { PaymentSchema } from '../payments/schema.ts';
import { viewWithCode } from '../payments/view.ts';
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
