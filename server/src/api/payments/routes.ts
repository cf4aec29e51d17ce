import { type ApiScope, type CellOf, onceForCell, type RouteFacts } from '../../edge/edge.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { IdParams } from '../../ground/schema.ts';
import { gatherLookups } from '../../kinds/payment/batch-lookups.ts';
import { lookupExamples } from '../../kinds/payment/examples.ts';
import { getPayment, type LookupDeps, listPayments } from '../../kinds/payment/lookup.ts';
import { PaymentListSchema, PaymentQuery, PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewOf, viewWithCode } from '../../kinds/payment/view.ts';

const tags = ['Payments'];
/** With `charges` or `transfers` alone a key sees that kind only. */
const facts: RouteFacts = {
  permissions: ['read', 'charges', 'transfers'],
  policy: 'reads',
  operation: 'resolve',
};

export function paymentRoutes(api: ApiScope, cellOf: CellOf<LookupDeps & { pages: PageAddresses }>): void {
  const lookUpOf = onceForCell(cellOf, gatherLookups);
  api.get(
    '/payments/:id',
    {
      schema: {
        tags,
        summary: 'One payment',
        params: IdParams('Id of the payment'),
        response: { 200: PaymentSchema },
      },
      config: { api: { ...facts, examples: lookupExamples } },
    },
    async (request) =>
      viewWithCode(
        await getPayment(cellOf(request), lookUpOf(request), request.caller, request.params.id),
        cellOf(request).pages,
        request.language,
      ),
  );

  api.get(
    '/payments',
    {
      schema: {
        tags,
        summary: 'Recent payments',
        querystring: PaymentQuery,
        response: { 200: PaymentListSchema },
      },
      config: { api: facts },
    },
    async (request) => {
      const { payments, nextCursor } = await listPayments(cellOf(request), request.caller, request.query);
      return {
        payments: payments.map((payment) => viewOf(payment, request.language)),
        hasMore: nextCursor !== null,
        nextCursor,
      };
    },
  );
}
