import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { refuse } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { IdParams, OneOf, Uuid } from '../../ground/schema.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Payment } from '../../money/payment.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { shownKeyOf, type UnreadableDeps } from '../../store/rows/unreadable.ts';
import type { Member } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import { maskedFor } from '../views/receivers.ts';
import { findRecordsById } from '../views/records.sql.ts';
import { marksOf, operationsOf } from '../views/records.ts';
import { refundOf } from '../views/refund-routes.ts';
import { hasReceipt, type ReceiptFacts, receiptSheet, refundReceiptSheet } from './receipt.ts';

const Query = Type.Object(
  { language: Type.Optional(OneOf(['pt-BR', 'en'], 'Language of the receipt')) },
  { additionalProperties: false },
);

type ReceiptDeps = UnreadableDeps & { secrets: Secrets; pages: PageAddresses };

/** The receipt of a settled payment or refund as a file to keep and to send on. */
export function receiptRoutes(api: ApiScope, cellOf: CellOf<ReceiptDeps & { papers: Papers }>): void {
  api.get(
    '/records/:id/receipt.pdf',
    { schema: { params: IdParams('Payment'), querystring: Query }, config: { panel: { needs: 'read' } } },
    async (request, reply) => {
      const { member, params, query } = request;
      const deps = cellOf(member);
      const { payment, facts } = await factsOf(deps, member, params.id);
      if (!hasReceipt(payment)) throw new PanelError('receipt_not_yet');
      const proofUrl = deps.pages.of('receipt', request.caller.accountNumber, payment.id);
      const sheet = receiptSheet(payment, { ...facts, proofUrl }, query.language ?? 'pt-BR');
      const pdf = await deps.papers.sheet(member.accountId, sheet);
      return sendPdf(reply, `comprovante-${payment.id}.pdf`, pdf);
    },
  );

  api.get(
    '/records/:id/refunds/:refund/receipt.pdf',
    {
      schema: {
        params: Type.Object({ id: Uuid('Payment'), refund: Uuid('Refund') }),
        querystring: Query,
      },
      config: { panel: { needs: 'read' } },
    },
    async (request, reply) => {
      const { member, params, query } = request;
      const deps = cellOf(member);
      const { payment, facts } = await factsOf(deps, member, params.id);
      const refund = await refundOf(deps, payment, params.refund);
      if (refund.status !== 'completed') throw new PanelError('receipt_not_yet');
      const proofUrl = deps.pages.of('refundReceipt', request.caller.accountNumber, refund.id);
      const sheet = refundReceiptSheet(refund, payment, { ...facts, proofUrl }, query.language ?? 'pt-BR');
      const pdf = await deps.papers.sheet(member.accountId, sheet);
      return sendPdf(reply, `comprovante-${refund.id}.pdf`, pdf);
    },
  );
}

/** @throws ApiError `payment_not_found` */
async function factsOf(
  deps: ReceiptDeps,
  member: Member,
  id: string,
): Promise<{ payment: Payment; facts: Omit<ReceiptFacts, 'proofUrl'> }> {
  const [names, letterhead] = await Promise.all([
    operationsOf(deps, member.accountId, undefined),
    findLetterhead(deps.sql, member.accountId),
  ]);
  const [payment] = await findRecordsById(deps.sql, member.accountId, [id], [...names.keys()]);
  if (!payment) throw refuse('payment_not_found');
  const marked = await marksOf(deps.sql, member.accountId, [payment]);
  const facts = {
    debitedCents: marked(payment).debitedCents,
    accountName: member.accountName,
    operationName: names.get(payment.operationId) ?? '',
    pixKey: maskedFor(member.role, await shownKeyOf(deps, payment)),
    test: member.test,
    letterhead,
  };
  return { payment, facts };
}

const sendPdf = (reply: FastifyReply, name: string, pdf: Buffer) =>
  reply
    .type('application/pdf')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send(pdf);
