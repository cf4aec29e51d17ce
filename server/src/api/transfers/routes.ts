import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { AcceptDeps } from '../../flow/accept.ts';
import { type ErrorCode, refuse, refuseFields } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { draftCancelledExamples, transferExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { normalisePixKey, type PixKeyRules } from '../../kinds/transfer/pix-key.ts';
import type { Payment, PaymentReason } from '../../money/payment.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { sendTransfer, type TransferGuards } from './create.ts';
import { cancelDraft, type DraftDeps, sendDraft } from './draft.ts';
import { CodeBody, TransferBody } from './schema.ts';

/** Drafts exist for people at the panel; integrations send transfers. Since 2026-11-20. */
const draftFacts: RouteFacts = {
  permissions: ['transfers'],
  policy: 'transfers',
  operation: 'resolve',
  deprecatedAt: 1_795_132_800,
};

type TransferCell = AcceptDeps &
  DraftDeps &
  TransferGuards & { directory: OperationDirectory; pages: PageAddresses };

export function transferRoutes(api: ApiScope, cellOf: CellOf<TransferCell>, pixKeys: PixKeyRules): void {
  api.post(
    '/pix/transfers',
    {
      schema: {
        tags: ['Transfers'],
        summary: 'Send a Pix transfer',
        body: TransferBody,
        response: { 201: PaymentSchema },
      },
      config: {
        api: {
          permissions: ['transfers'],
          policy: 'transfers',
          operation: 'resolve',
          creates: true,
          examples: transferExamples,
        },
      },
    },
    async (request, reply) => {
      const { amountCents, pixKeyType, description, requestKey, metadata } = request.body;
      const pixKey = normalisePixKey(pixKeyType, request.body.pixKey, pixKeys);
      if (!pixKey.ok) throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType }]);
      const { row: payment, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        sendTransfer(cell, caller, {
          amountCents,
          pixKey: pixKey.key,
          pixKeyType,
          description,
          requestKey,
          ...(metadata && { metadata }),
        }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      requireSent(payment);
      return reply.code(201).send(await viewWithCode(payment, cellOf(request).pages, request.language));
    },
  );

  api.post(
    '/pix/transfers/:id/confirm',
    {
      schema: {
        tags: ['Transfers'],
        summary: 'Confirm a draft with the code from the mail',
        params: IdParams('Id of the draft'),
        body: CodeBody,
        response: { 200: PaymentSchema },
      },
      config: { api: { ...draftFacts, creates: true, examples: transferExamples } },
    },
    async (request) => {
      const { id } = request.params;
      const payment = await onCurrentOperation(cellOf, request, (cell, caller) =>
        sendDraft(cell, caller, id, request.body.code),
      );
      requireSent(payment);
      return viewWithCode(payment, cellOf(request).pages, request.language);
    },
  );

  api.post(
    '/pix/transfers/:id/cancel',
    {
      schema: {
        tags: ['Transfers'],
        summary: 'Cancel a draft',
        params: IdParams('Id of the draft'),
        body: EmptyBody,
        response: { 200: PaymentSchema },
      },
      config: { api: { ...draftFacts, examples: draftCancelledExamples } },
    },
    async (request) => {
      const payment = await onCurrentOperation(cellOf, request, (cell, caller) =>
        cancelDraft(cell, caller, request.params.id),
      );
      return viewWithCode(payment, cellOf(request).pages, request.language);
    },
  );
}

/**
 * By state alone, first call or repeat: success reads as pending, unknown or completed, and a 400 as "not sent".
 * @throws ApiError `pix_key_not_found`, `recipient_refused`, `provider_refused` for a payment that is cancelled
 */
function requireSent(payment: Payment): void {
  if (payment.status !== 'cancelled') return;
  throw refuse(refusalOf(payment.reasonCode), { paymentId: payment.id });
}

function refusalOf(reason: PaymentReason | null): ErrorCode {
  switch (reason) {
    case 'pix_key_not_found':
      return 'pix_key_not_found';
    case 'recipient_refused':
    case 'recipient_account_closed':
      return 'recipient_refused';
    default:
      return 'provider_refused';
  }
}
