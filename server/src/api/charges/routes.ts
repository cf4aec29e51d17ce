import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { charge } from '../../kinds/charge/charge.ts';
import { cancelExamples, chargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { fiscalDocumentsOf } from '../../money/fiscal-documents.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { cancelCharge } from './cancel.ts';
import { ChargeBody } from './schema.ts';

export function chargeRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & { directory: OperationDirectory; pages: PageAddresses }>,
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
      const fiscalDocuments = fiscalDocumentsOf(request.body.fiscalDocuments);
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, charge, caller, {
          amountCents,
          payerName,
          description,
          requestKey,
          ...(metadata && { metadata }),
          ...(fiscalDocuments && { fiscalDocuments }),
        }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(await viewWithCode(payment, cellOf(request).pages, request.language));
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
      config: {
        api: { permissions: ['charges'], policy: 'charges', operation: 'resolve', examples: cancelExamples },
      },
    },
    async (request) => {
      const charge = await onCurrentOperation(cellOf, request, (cell, caller) =>
        cancelCharge(cell, caller, request.params.id),
      );
      return viewWithCode(charge, cellOf(request).pages, request.language);
    },
  );
}
