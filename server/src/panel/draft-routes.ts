import { Type } from 'typebox';
import type { ApiScope, RouteFacts } from '../http/edge.ts';
import { ApiError, refuseFields } from '../http/errors.ts';
import { Body, IdParams } from '../http/schema.ts';
import { PaymentSchema } from '../payments/schema.ts';
import { viewOf } from '../payments/view.ts';
import { cancelDraft, confirmDraft, createDraft, resendCode } from '../transfers/draft.ts';
import { existsInDict, normalisePixKey } from '../transfers/pix-key.ts';
import { TransferBody } from '../transfers/schema.ts';
import { attempts } from './attempts.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import { Done, Nothing } from './schema.ts';
import { type Member, note, requireSecondFactor } from './session.ts';

const Draft = IdParams('The draft');
const config = {
  api: {
    permissions: ['transfers'],
    policy: 'transfers',
    operation: 'resolve',
    creates: true,
  } satisfies RouteFacts as RouteFacts,
  panel: { needs: 'transfers' as const },
};

/**
 * A person's transfer: a draft, a code to their own mail, the confirmation. The same use cases as the calls under
 * `/pix/transfers/{id}`, on the selected operation.
 */
export function draftRoutes(api: ApiScope, house: PanelHouse): void {
  const tags = ['Drafts'];
  // Five tries end a draft, but a person may write many: their wrong codes count together, and so do those of an address.
  const wrongCodes = attempts(house.clock);
  // An office has one address for many people.
  const wrongFrom = attempts(house.clock, 30);

  api.post(
    '/drafts',
    {
      schema: {
        tags,
        summary: 'Write a transfer and mail its code',
        body: TransferBody,
        response: { 201: PaymentSchema },
      },
      config,
    },
    async (request, reply) => {
      const { member, caller, body } = request;
      requireMayTransfer(house, member);
      const pixKey = normalisePixKey(body.pixKeyType, body.pixKey);
      if (!pixKey.ok || !existsInDict(body.pixKeyType, pixKey.key))
        throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType: body.pixKeyType }]);
      const wanted = { ...body, pixKey: pixKey.key };
      const payment = await createDraft(
        house,
        caller,
        wanted,
        member.person.email,
        request.ip,
        member.person.id,
      );
      await note(house, request, 'draft.created', { paymentId: payment.id });
      return reply.code(201).send(viewOf(payment, request.language));
    },
  );

  api.post(
    '/drafts/:id/confirm',
    {
      schema: {
        tags,
        summary: 'Send a draft',
        params: Draft,
        body: Body({ code: Type.String({ pattern: '^[0-9]{6}$', description: 'The code of the mail' }) }),
        response: { 200: PaymentSchema },
      },
      config,
    },
    async (request) => {
      const { member, caller, params, body } = request;
      requireMayTransfer(house, member);
      wrongCodes.require(member.person.userId);
      wrongFrom.require(request.ip);
      const payment = await confirmDraft(house, caller, params.id, body.code, member.person.id).catch(
        (error: unknown) => {
          if (error instanceof ApiError && error.code === 'invalid_code') {
            wrongCodes.count(member.person.userId);
            wrongFrom.count(request.ip);
          }
          throw error;
        },
      );
      await note(house, request, 'draft.confirmed', { paymentId: payment.id });
      return viewOf(payment, request.language);
    },
  );

  api.post(
    '/drafts/:id/cancel',
    {
      schema: {
        tags,
        summary: 'Give a draft up',
        params: Draft,
        body: Nothing,
        response: { 200: PaymentSchema },
      },
      config,
    },
    async (request) => viewOf(await cancelDraft(house, request.caller, request.params.id), request.language),
  );

  api.post(
    '/drafts/:id/resend',
    {
      schema: { tags, summary: 'Mail another code', params: Draft, body: Nothing, response: { 200: Done } },
      config,
    },
    async (request) => {
      requireMayTransfer(house, request.member);
      await resendCode(house, request.caller, request.params.id, request.ip, request.member.person.id);
      return { ok: true as const };
    },
  );
}

/** @throws PanelError `second_factor_required`, `transfers_frozen` */
function requireMayTransfer(house: PanelHouse, member: Member): void {
  requireSecondFactor(member);
  const { frozenUntil } = member.person;
  if (frozenUntil !== null && frozenUntil > house.clock.now()) throw new PanelError('transfers_frozen');
}
