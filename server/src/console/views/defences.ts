import type { Static } from 'typebox';
import { givenFileOf, requireSomething } from '../../api/disputes/given.ts';
import { fileViewOf } from '../../api/disputes/schema.ts';
import type { ApiScope } from '../../edge/edge.ts';
import type { AcceptDeps } from '../../flow/accept.ts';
import { type DefenceOf, type Defences, defencesOf } from '../../flow/defend.ts';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { requireOffered } from '../../kinds/defence/admission.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { fileMostBytes, fileTypes } from '../../money/evidence.ts';
import { findAccountById } from '../../operate/find.sql.ts';
import { PanelError } from '../../panel/errors.ts';
import { hashOfShown } from '../../store/as-shown.ts';
import { findAccountOf } from '../../store/rows/holds.sql.ts';
import { noteOperator } from '../people/operators.ts';
import type { PlaceDeps } from '../place.ts';
import { consoleConfig } from '../route.ts';
import {
  DefenceFileParams,
  DefenceFileQuery,
  DefenceForBody,
  DefenceForSchema,
  DefenceForWanted,
  DefenceParams,
  Done,
  Nothing,
  ShownDefenceSchema,
} from '../schema.ts';

const tags = ['Operator'];

export type DefenceRoutesDeps = Omit<PlaceDeps, 'cells'> & {
  cells: { refresh(): Promise<unknown>; all(): readonly AcceptDeps[] };
};

type Wanted = Static<typeof DefenceForWanted>;

/** Where a dispute of a merchant is answered, and as whom. */
interface Answering {
  deps: AcceptDeps;
  defences: Defences;
  caller: Caller;
}

/**
 * An operator answers a dispute for its merchant, by the calls with which the merchant does. It is shown first, since a provider takes one defence; the
 * texts that the merchant wrote are not.
 */
export function defenceRoutes(api: ApiScope, deps: DefenceRoutesDeps): void {
  api.get(
    '/operations/:id/disputes/:disputeId/defence',
    {
      schema: {
        tags,
        summary: 'What a defence of a dispute may contain, its files, and how the given one stands',
        params: DefenceParams,
        response: { 200: DefenceForSchema },
      },
      config: consoleConfig,
    },
    async ({ params, id }) => {
      const { defences, caller } = await answering(deps, params.id, id);
      return viewOf(await defences.of(caller, params.disputeId));
    },
  );

  api.post(
    '/operations/:id/disputes/:disputeId/defence/acts',
    {
      schema: {
        tags,
        summary: 'A defence as it would be sent for the merchant',
        params: DefenceParams,
        body: DefenceForWanted,
        response: { 200: ShownDefenceSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, id }) => {
      const { defences, caller } = await answering(deps, params.id, id);
      const { files, shown } = await shownDefence(defences, caller, params.disputeId, body);
      return { text: body.text ?? null, files: files.map(fileViewOf), shown };
    },
  );

  api.post(
    '/operations/:id/disputes/:disputeId/defence',
    {
      schema: {
        tags,
        summary: 'Sends a defence for the merchant, as it was shown',
        params: DefenceParams,
        body: DefenceForBody,
        response: { 200: DefenceForSchema },
      },
      config: consoleConfig,
    },
    async ({ params: { id: operationId, disputeId }, body, id, operator: { email } }) => {
      const { reason, shown, ...said } = body;
      const { deps: cell, defences, caller } = await answering(deps, operationId, id);
      const seen = await shownDefence(defences, caller, disputeId, said);
      if (seen.shown !== shown) throw new PanelError('facts_changed');
      // Kept before it is sent; the text stays with the defence alone.
      await cell.sql.tx((tx) =>
        noteOperator(tx, deps, {
          ...{
            accountId: caller.accountId,
            actor: email,
            action: 'dispute.defend',
            subject: disputeId,
            reason,
          },
          detail: { operationId, shown, files: seen.files.map(({ sha256 }) => sha256) },
        }),
      );
      await defences.defend(caller, disputeId, said);
      return viewOf(await defences.of(caller, disputeId));
    },
  );

  fileRoutes(api, deps);
}

/** Files of a defence that is not sent yet, the merchant's among them. */
function fileRoutes(api: ApiScope, deps: DefenceRoutesDeps): void {
  const note = (
    { deps: { sql }, caller }: Answering,
    actor: string,
    action: 'dispute.file_give' | 'dispute.file_remove',
    { disputeId, fileId }: { disputeId: string; fileId: string },
  ) =>
    sql.tx((tx) =>
      noteOperator(tx, deps, {
        ...{ accountId: caller.accountId, actor, action, subject: disputeId },
        detail: { operationId: caller.operationId, fileId },
      }),
    );

  api.post(
    '/operations/:id/disputes/:disputeId/files',
    {
      bodyLimit: fileMostBytes,
      schema: {
        tags,
        summary: 'Gives a file for the defence of a merchant',
        params: DefenceParams,
        querystring: DefenceFileQuery,
        response: { 200: DefenceForSchema },
      },
      config: { api: { ...consoleConfig.api, consumes: fileTypes } },
    },
    async (request) => {
      const { params, query, id, operator } = request;
      const given = givenFileOf(request, query.name);
      const at = await answering(deps, params.id, id);
      const { file, replayed } = await at.defences.keepFile(at.caller, params.disputeId, given);
      if (!replayed)
        await note(at, operator.email, 'dispute.file_give', {
          disputeId: params.disputeId,
          fileId: file.id,
        });
      return viewOf(await at.defences.of(at.caller, params.disputeId));
    },
  );

  api.post(
    '/operations/:id/disputes/:disputeId/files/:fileId/removal',
    {
      schema: {
        tags,
        summary: 'Takes a file away that goes out with no defence',
        params: DefenceFileParams,
        body: Nothing,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, id, operator }) => {
      const at = await answering(deps, params.id, id);
      await at.defences.removeFile(at.caller, params.disputeId, params.fileId);
      await note(at, operator.email, 'dispute.file_remove', params);
      return { ok: true as const };
    },
  );
}

/** @throws PanelError `not_found` no such operation */
async function answering(
  { cells }: DefenceRoutesDeps,
  operationId: string,
  requestId: string,
): Promise<Answering> {
  await cells.refresh();
  for (const deps of cells.all()) {
    const accountId = await findAccountOf(deps.sql, operationId);
    const account = accountId && (await findAccountById(deps.sql, accountId));
    if (!account) continue;
    const { number: accountNumber, test, connection } = account;
    const caller: Caller = {
      ...{ accountId: account.ownerId, accountNumber, test, connection, operationId, operationNamed: true },
      ...{ keyId: null, permissions: new Set(['disputes'] as const), requestId },
    };
    return { deps, defences: defencesOf(deps), caller };
  }
  throw new PanelError('not_found');
}

/** @throws ApiError what refuses the defence of a merchant */
async function shownDefence(defences: Defences, caller: Caller, disputeId: string, said: Wanted) {
  const { text, fileIds = [] } = requireSomething(said);
  const { offer, files } = await defences.of(caller, disputeId);
  if (offer === null) throw new PanelError('act_refused');
  requireOffered(offer, { text: text ?? null, fileIds });
  const named = files.filter(({ id }) => fileIds.includes(id));
  if (named.length !== new Set(fileIds).size) throw refuse('file_not_found');
  const facts = ['dispute.defend', disputeId, text ?? '', ...named.map(({ sha256 }) => sha256).sort()];
  return { files: named, shown: hashOfShown(facts, []) };
}

const viewOf = ({ offer, files, defence }: DefenceOf): Static<typeof DefenceForSchema> => ({
  offer: offer && {
    textMost: offer.textMost,
    files: offer.files && { ...offer.files, types: [...offer.files.types] },
  },
  files: files.map(fileViewOf),
  defence: defence && {
    status: defence.status,
    files: defence.files.length,
    createdAt: isoOf(defence.createdAt),
    sentAt: defence.sentAt === null ? null : isoOf(defence.sentAt),
    reasonCode: defence.reason,
  },
});
