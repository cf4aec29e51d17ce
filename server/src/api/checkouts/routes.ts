import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { refuseFields } from '../../ground/errors.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { type CheckoutOrder, checkout } from '../../kinds/checkout/checkout.ts';
import { documentOf } from '../../kinds/due/terms.ts';
import { checkoutExamples, expireExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { answered, type ChargeCells, chargeFacts, created } from '../charges/answer.ts';
import { expireCheckout } from '../charges/cancel.ts';
import { CheckoutBody, minutes } from './schema.ts';

export function checkoutRoutes(api: ApiScope, cellOf: ChargeCells): void {
  api.post(
    '/card/checkouts',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a charge that is paid by card on a hosted page',
        body: CheckoutBody,
        response: { 201: PaymentSchema },
      },
      config: { api: { ...chargeFacts, creates: true, examples: checkoutExamples } },
    },
    async (request, reply) =>
      reply.code(201).send(await created(cellOf, request, reply, checkout, orderOf(request.body))),
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
      config: { api: { ...chargeFacts, examples: expireExamples } },
    },
    (request) => answered(cellOf, request, (cell, caller) => expireCheckout(cell, caller, request.params.id)),
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
