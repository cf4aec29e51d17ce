import type { Caller } from '../http/auth.ts';
import type { ApiScope } from '../http/edge.ts';
import { type ErrorCode, refuse, refuseFields } from '../http/errors.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import type { Payment, PaymentReason } from '../payments/payment.ts';
import { PaymentSchema } from '../payments/schema.ts';
import { viewWithCode } from '../payments/view.ts';
import type { PixKeyType } from '../provider/provider.ts';
import { normalisePixKey } from './pix-key.ts';
import { TransferBody } from './schema.ts';

export interface TransferRequest {
  amountCents: number;
  /** Normalised. */
  pixKey: string;
  pixKeyType: PixKeyType;
  description: string;
  requestKey: string;
}

export type CreateTransfer = (
  caller: Caller,
  request: TransferRequest,
) => Promise<{ payment: Payment; replayed: boolean }>;

export function transferRoutes(
  api: ApiScope,
  house: { createTransfer: CreateTransfer; directory: OperationDirectory; limiter: RateLimiter },
): void {
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
        api: { permissions: ['transfers'], policy: 'transfers', operation: 'resolve', creates: true },
      },
    },
    async (request, reply) => {
      const { amountCents, pixKeyType, description, requestKey } = request.body;
      const pixKey = normalisePixKey(pixKeyType, request.body.pixKey);
      if (!pixKey.ok) throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key' }]);
      house.limiter.requireKeysFound(request.caller.accountId);
      const { payment, replayed } = await onCurrentOperation(house.directory, request.caller, (caller) =>
        house.createTransfer(caller, {
          amountCents,
          pixKey: pixKey.key,
          pixKeyType,
          description,
          requestKey,
        }),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      // By state alone, first call or repeat: a 201 here reads as pending, unknown or completed, and a 400 as "not sent".
      if (payment.status === 'cancelled') {
        const code = refusalOf(payment.reasonCode);
        if (code === 'pix_key_not_found' && !replayed) house.limiter.keyNotFound(request.caller.accountId);
        throw refuse(code, { paymentId: payment.id });
      }
      return reply.code(201).send(await viewWithCode(payment, request.language));
    },
  );
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
