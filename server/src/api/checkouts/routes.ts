import type { Static } from 'typebox';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import { refuseFields } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { type CheckoutOrder, checkout } from '../../kinds/checkout/checkout.ts';
import { documentOf } from '../../kinds/due/terms.ts';
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
      const order = orderOf(request.body);
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, checkout, caller, order),
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

/** With its members in one order, so that a repeat may give them in another. @throws ApiError `validation_failed` */
function orderOf(body: Static<typeof CheckoutBody>): CheckoutOrder {
  const { amountCents, payerName, description = '', requestKey, metadata } = body;
  const { expiresInMinutes = minutes.usual, payer: { document: given, email, phone } = {} } = body;
  const successUrl = returnUrlOf('successUrl', body.successUrl);
  const cancelUrl = returnUrlOf('cancelUrl', body.cancelUrl);
  const document = given === undefined ? undefined : documentOf(given);
  if (document === null) throw refuseFields([{ field: 'payer.document', code: 'invalid_format' }]);
  const payer = {
    ...(document !== undefined && { document }),
    ...(email !== undefined && { email }),
    ...(phone !== undefined && { phone }),
  };
  return {
    ...{ amountCents, payerName, description, requestKey, expiresInMinutes },
    ...(successUrl !== undefined && { successUrl }),
    ...(cancelUrl !== undefined && { cancelUrl }),
    ...(Object.keys(payer).length > 0 && { payer }),
    ...(metadata && { metadata }),
  };
}

/** As a browser reads it, so that its host is the one that was looked at. @throws ApiError `validation_failed` */
function returnUrlOf(field: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null) throw refuseFields([{ field, code: 'invalid_format' }]);
  return url.href;
}
