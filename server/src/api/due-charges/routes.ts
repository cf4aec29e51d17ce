import type { Static } from 'typebox';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import { refuseFields } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { type DueChargeOrder, dueCharge } from '../../kinds/due-charge/due-charge.ts';
import { documentOf } from '../../kinds/due-charge/terms.ts';
import { dueChargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { fiscalDocumentsOf } from '../../money/fiscal-documents.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { DueChargeBody } from './schema.ts';

export function dueChargeRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & { directory: OperationDirectory; pages: PageAddresses }>,
): void {
  api.post(
    '/pix/due-charges',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a Pix charge with a due date',
        body: DueChargeBody,
        response: { 201: PaymentSchema },
      },
      config: {
        api: {
          permissions: ['charges'],
          policy: 'charges',
          operation: 'resolve',
          creates: true,
          examples: dueChargeExamples,
        },
      },
    },
    async (request, reply) => {
      const order = orderOf(request.body);
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        accept(cell, dueCharge, caller, order),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(await viewWithCode(payment, cellOf(request).pages, request.language));
    },
  );
}

const validUsually = 30;

/** With its members in one order, so that a repeat may give them in another. @throws ApiError `validation_failed` */
function orderOf(body: Static<typeof DueChargeBody>): DueChargeOrder {
  const { amountCents, payer, dueDate, description = '', requestKey, metadata } = body;
  const { validAfterDue = validUsually, fine, interest, discounts = [], rebate } = body;
  const document = documentOf(payer.document);
  if (document === null) throw refuseFields([{ field: 'payer.document', code: 'invalid_format' }]);
  const fiscalDocuments = fiscalDocumentsOf(body.fiscalDocuments);
  const { name, email, address } = payer;
  if (body.reminders && email === undefined) throw refuseFields([{ field: 'payer.email', code: 'required' }]);
  const part = (given: typeof fine) => (given ? { type: given.type, value: given.value } : null);
  const inOrder = discounts.toSorted((one, other) => (one.until < other.until ? -1 : 1));
  return {
    ...{ amountCents, payerName: name, description, requestKey },
    payer: {
      ...{ name, document, ...(email !== undefined && { email }) },
      ...(address && {
        address: {
          ...{ street: address.street, city: address.city },
          ...{ state: address.state, postalCode: address.postalCode },
        },
      }),
    },
    terms: {
      ...{ dueDate, validAfterDue, fine: part(fine) },
      interest: interest ? { type: interest.type, value: interest.value, days: interest.days } : null,
      discounts: inOrder.map(({ until, type, value }) => ({ until, type, value })),
      rebate: part(rebate),
    },
    ...(body.reminders && { reminders: true as const }),
    ...(metadata && { metadata }),
    ...(fiscalDocuments && { fiscalDocuments }),
  };
}
