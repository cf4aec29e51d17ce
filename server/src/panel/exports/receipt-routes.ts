import { Type } from 'typebox';
import { refuse } from '../../ground/errors.ts';
import type { ApiScope } from '../../http/edge.ts';
import { IdParams, OneOf } from '../../http/schema.ts';
import { shownKeyOf } from '../../settlement/incidents/unreadable.ts';
import type { PanelDeps } from '../deps.ts';
import { PanelError } from '../errors.ts';
import { maskedFor } from '../views/receivers.ts';
import { findRecordsById } from '../views/records.sql.ts';
import { operationsOf } from '../views/records.ts';
import { hasReceipt, receiptPdf } from './receipt.ts';

const Query = Type.Object(
  { language: Type.Optional(OneOf(['pt-BR', 'en'], 'Language of the receipt')) },
  { additionalProperties: false },
);

/** The receipt of a settled payment as a file to keep and to send on. */
export function receiptRoutes(api: ApiScope, deps: PanelDeps): void {
  api.get(
    '/records/:id/receipt.pdf',
    { schema: { params: IdParams('Payment'), querystring: Query }, config: { panel: { needs: 'read' } } },
    async (request, reply) => {
      const { member, params, query } = request;
      const names = await operationsOf(deps, member.accountId, undefined);
      const [payment] = await findRecordsById(deps.sql, member.accountId, [params.id], [...names.keys()]);
      if (!payment) throw refuse('payment_not_found');
      if (!hasReceipt(payment)) throw new PanelError('receipt_not_yet');
      const facts = {
        accountName: member.accountName,
        operationName: names.get(payment.operationId) ?? '',
        pixKey: maskedFor(member.role, await shownKeyOf(deps, payment)),
        test: member.test,
      };
      const pdf = await receiptPdf(payment, facts, query.language ?? 'pt-BR');
      return reply
        .type('application/pdf')
        .header('content-disposition', `attachment; filename="comprovante-${payment.id}.pdf"`)
        .header('cache-control', 'no-store')
        .header('x-content-type-options', 'nosniff')
        .send(pdf);
    },
  );
}
