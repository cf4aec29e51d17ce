import type { ApiScope } from '../../edge/edge.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { charge } from '../../kinds/charge/charge.ts';
import { cancelExamples, chargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { fiscalDocumentsOf } from '../../money/fiscal-documents.ts';
import { answered, type ChargeCells, chargeFacts, created } from './answer.ts';
import { cancelCharge } from './cancel.ts';
import { ChargeBody } from './schema.ts';

export function chargeRoutes(api: ApiScope, cellOf: ChargeCells): void {
  api.post(
    '/pix/charges',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a Pix charge',
        body: ChargeBody,
        response: { 201: PaymentSchema },
      },
      config: { api: { ...chargeFacts, creates: true, examples: chargeExamples } },
    },
    async (request, reply) => {
      const {
        amountCents,
        payerName,
        description = '',
        requestKey,
        expiresInMinutes,
        metadata,
      } = request.body;
      const fiscalDocuments = fiscalDocumentsOf(request.body.fiscalDocuments);
      const order = {
        ...{ amountCents, payerName, description, requestKey },
        ...(expiresInMinutes !== undefined && { expiresInMinutes }),
        ...(metadata && { metadata }),
        ...(fiscalDocuments && { fiscalDocuments }),
      };
      return reply.code(201).send(await created(cellOf, request, reply, charge, order));
    },
  );

  api.post(
    '/payments/:id/cancel',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Cancel a charge that is not paid',
        params: IdParams('Id of the charge'),
        body: EmptyBody,
        response: { 200: PaymentSchema },
      },
      config: { api: { ...chargeFacts, examples: cancelExamples } },
    },
    (request) => answered(cellOf, request, (cell, caller) => cancelCharge(cell, caller, request.params.id)),
  );
}
