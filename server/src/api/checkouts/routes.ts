import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { checkout } from '../../kinds/checkout/checkout.ts';
import { checkoutExamples, expireExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { expireCheckout } from '../charges/cancel.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { CheckoutBody, minutes } from './schema.ts';

export function checkoutRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & { directory: OperationDirectory; pages: PageAddresses }>,
): void {
  api.post(
    '/card/checkouts',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a charge that is paid by card on a hosted page',
        body: CheckoutBody,
        response: { 201: PaymentSchema },
      },
      config: {
        api: {
          permissions: ['charges'],
          policy: 'charges',
          operation: 'resolve',
          creates: true,
          examples: checkoutExamples,
        },
      },
    },
    async (request, reply) => {
      const {
        amountCents,
        payerName,
        description = '',
        requestKey,
        expiresInMinutes = minutes.usual,
        metadata,
      } = request.body;
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, checkout, caller, {
          ...{ amountCents, payerName, description, requestKey, expiresInMinutes },
          ...(metadata && { metadata }),
        }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(await viewWithCode(payment, cellOf(request).pages, request.language));
    },
  );

  api.post(
    '/card/checkouts/:id/expire',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Close the page of a card payment that is not paid',
        params: IdParams('Id of the charge'),
        body: EmptyBody,
        response: { 200: PaymentSchema },
      },
      config: {
        api: { permissions: ['charges'], policy: 'charges', operation: 'resolve', examples: expireExamples },
      },
    },
    async (request) => {
      const charge = await onCurrentOperation(cellOf, request, (cell, caller) =>
        expireCheckout(cell, caller, request.params.id),
      );
      return viewWithCode(charge, cellOf(request).pages, request.language);
    },
  );
}
