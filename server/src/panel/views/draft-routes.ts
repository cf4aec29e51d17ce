import { Type } from 'typebox';
import {
  cancelDraft,
  createDraft,
  type DraftDeps,
  resendCode,
  sendDraft,
} from '../../api/transfers/draft.ts';
import { keyOwnerOf, type ReceiverDeps } from '../../api/transfers/receiver.ts';
import { TransferBody } from '../../api/transfers/schema.ts';
import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { AcceptDeps } from '../../flow/accept.ts';
import { ApiError, refuseFields } from '../../ground/errors.ts';
import { Body, IdParams } from '../../ground/schema.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewOf } from '../../kinds/payment/view.ts';
import { existsInDict, normalisePixKey, type PixKeyRules } from '../../kinds/transfer/pix-key.ts';
import type { Attempts } from '../auth/attempts.ts';
import { actorOf, type Member, note } from '../auth/session.ts';
import { recordSecurityEvent } from '../people/security-events.ts';
import { Done, KeyOwnerSchema, Nothing } from '../schema/schema.ts';

const tags = ['Drafts'];
const Draft = IdParams('The draft');
const config = {
  api: {
    permissions: ['transfers'],
    policy: 'transfers',
    operation: 'resolve',
    creates: true,
  } satisfies RouteFacts as RouteFacts,
  panel: { needs: 'transfers' as const, sensitive: true },
};

/**
 * A person's transfer: a draft, a code to their own mail, the confirmation. The same use cases as the calls under
 * `/pix/transfers/{id}`, on the selected operation.
 */
export function draftRoutes(
  api: ApiScope,
  cellOf: CellOf<AcceptDeps & ReceiverDeps>,
  attempts: Attempts,
  pixKeys: PixKeyRules,
): void {
  writeRoute(api, cellOf, attempts, pixKeys);
  receiverRoute(api, cellOf, attempts);
  confirmRoute(api, cellOf, attempts);
  cancelRoute(api, cellOf);
  resendRoute(api, cellOf, attempts);
}

function writeRoute(
  api: ApiScope,
  cellOf: CellOf<DraftDeps>,
  attempts: Attempts,
  pixKeys: PixKeyRules,
): void {
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
      const deps = cellOf(member);
      await countMail(attempts, member);
      const pixKey = normalisePixKey(body.pixKeyType, body.pixKey, pixKeys);
      if (!pixKey.ok || !existsInDict(body.pixKeyType, pixKey.key))
        throw refuseFields([{ field: 'pixKey', code: 'invalid_pix_key', pixKeyType: body.pixKeyType }]);
      const wanted = { ...body, pixKey: pixKey.key };
      const payment = await createDraft(
        deps,
        caller,
        wanted,
        member.person.email,
        callerAddress(request),
        member.person.id,
      );
      await note(deps, request, 'draft.created', { paymentId: payment.id });
      return reply.code(201).send(viewOf(payment, request.language));
    },
  );
}

function receiverRoute(api: ApiScope, cellOf: CellOf<ReceiverDeps>, attempts: Attempts): void {
  api.post(
    '/drafts/:id/receiver',
    {
      schema: {
        tags,
        summary: 'Ask the provider who owns the Pix key of a draft',
        params: Draft,
        body: Nothing,
        response: { 200: KeyOwnerSchema },
      },
      config,
    },
    ({ member, caller, params }) =>
      keyOwnerOf(
        cellOf(member),
        caller,
        params.id,
        async () =>
          (await attempts.tryTake('receiverLookUpPerson', member.person.userId)) &&
          (await attempts.tryTake('receiverLookUpAccount', member.accountId)),
      ),
  );
}

function confirmRoute(api: ApiScope, cellOf: CellOf<AcceptDeps & ReceiverDeps>, attempts: Attempts): void {
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
      const { userId } = member.person;
      const deps = cellOf(member);
      // Five tries end a draft, but a person may write many: codes count together over all of them, before the code is looked at.
      await attempts.take('draftCode', userId);
      await attempts.take('draftCodeAddress', callerNetwork(request));
      const confirmed = sendDraft(deps, caller, params.id, body.code, member.person.id);
      const payment = await confirmed.catch(async (error: unknown) => {
        if (error instanceof ApiError && error.code === 'invalid_code') {
          await recordSecurityEvent(deps, {
            kind: 'draft.confirmed',
            outcome: 'refused',
            accountId: member.accountId,
            ...actorOf(request),
            detail: { paymentId: params.id },
          });
        } else {
          await attempts.giveBack('draftCode', userId);
          await attempts.giveBack('draftCodeAddress', callerNetwork(request));
        }
        throw error;
      });
      await attempts.giveBack('draftCode', userId);
      await attempts.giveBack('draftCodeAddress', callerNetwork(request));
      await note(deps, request, 'draft.confirmed', { paymentId: payment.id });
      return viewOf(payment, request.language);
    },
  );
}

function cancelRoute(api: ApiScope, cellOf: CellOf<AcceptDeps & DraftDeps>): void {
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
      // Also while the person is frozen: nothing moves.
      config: { ...config, panel: { needs: 'transfers' as const } },
    },
    async (request) =>
      viewOf(await cancelDraft(cellOf(request), request.caller, request.params.id), request.language),
  );
}

function resendRoute(api: ApiScope, cellOf: CellOf<DraftDeps>, attempts: Attempts): void {
  api.post(
    '/drafts/:id/resend',
    {
      schema: { tags, summary: 'Mail another code', params: Draft, body: Nothing, response: { 200: Done } },
      config,
    },
    async (request) => {
      await countMail(attempts, request.member);
      await resendCode(
        cellOf(request),
        request.caller,
        request.params.id,
        callerAddress(request),
        request.member.person.id,
      );
      return { ok: true as const };
    },
  );
}

/** Each draft and each code is a mail. @throws PanelError `too_many_attempts` */
async function countMail(attempts: Attempts, { person, accountId }: Member): Promise<void> {
  await attempts.take('draftMailPerson', person.userId);
  await attempts.take('draftMailAccount', accountId);
}
