import { givenFileOf, requireSomething } from '../../api/disputes/given.ts';
import {
  DefenceBody,
  DefenceOfDisputeSchema,
  DisputeFileSchema,
  defenceOfDisputeView,
  FileParams,
  fileViewOf,
} from '../../api/disputes/schema.ts';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Defences } from '../../flow/defend.ts';
import { IdParams } from '../../ground/schema.ts';
import { fileMostBytes, fileTypes } from '../../money/evidence.ts';
import { findClosesOf } from '../../operate/closes/closes.sql.ts';
import { viewOfClose } from '../../operate/closes/view.ts';
import type { Sql } from '../../ports/sql.ts';
import { findDisputePage } from '../../store/rows/disputes.sql.ts';
import { note } from '../auth/session.ts';
import type { SecurityEventDeps } from '../people/security-events.ts';
import {
  ClosesQuery,
  ClosesSchema,
  DisputesQuery,
  DisputesSchema,
  Done,
  FileOfOperationQuery,
  Nothing,
  OfOperationQuery,
} from '../schema/schema.ts';
import { type DisputeDeps, disputeViews } from './dispute-views.ts';
import { operationsOf } from './records.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const answers: RouteFacts = {
  permissions: ['disputes'],
  policy: 'operations',
  operation: 'syntax',
  creates: true,
};
const asks = { api: described, panel: { needs: 'read' } } as const;
const tags = ['Panel'];
/** Before every id. */
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The closed days and the disputes of an operation, with what they are answered. */
export function closeViewRoutes(api: ApiScope, cellOf: CellOf<DisputeDeps & DefenceDeps>): void {
  closesRoute(api, cellOf);
  disputesRoute(api, cellOf);
  defenceRoutes(api, cellOf);
  fileViewRoutes(api, cellOf);
}

type DefenceDeps = SecurityEventDeps & { defences: Defences };

function closesRoute(api: ApiScope, cellOf: CellOf<{ sql: Sql }>): void {
  api.get(
    '/closes',
    {
      schema: {
        tags,
        summary: 'Closed days of one operation or all',
        querystring: ClosesQuery,
        response: { 200: ClosesSchema },
      },
      config: asks,
    },
    async ({ member, query }) => {
      const { operationId, before = null, limit = 31 } = query;
      const { sql } = cellOf(member);
      const { accountId } = member;
      const ids = [...(await operationsOf({ sql }, accountId, operationId)).keys()];
      const found = await Promise.all(
        ids.map((id) => findClosesOf(sql, { accountId, operationId: id }, before, limit + 1)),
      );
      const days = Map.groupBy(found.flat(), ({ day }) => day);
      // The youngest days, whole: each operation gave more of them than are shown.
      const shown = [...days.keys()].toSorted().toReversed().slice(0, limit);
      return {
        closes: shown.flatMap((day) => days.get(day) ?? []).map(viewOfClose),
        nextBefore: days.size > limit ? (shown.at(-1) ?? null) : null,
      };
    },
  );
}

function disputesRoute(api: ApiScope, cellOf: CellOf<DisputeDeps>): void {
  api.get(
    '/operation-disputes',
    {
      schema: {
        tags,
        summary: 'Disputes (MED) of one operation or all',
        querystring: DisputesQuery,
        response: { 200: DisputesSchema },
      },
      config: asks,
    },
    async ({ member, query }) => {
      const { operationId, below = highestId, limit = 50 } = query;
      const deps = cellOf(member);
      const { accountId } = member;
      const ids = [...(await operationsOf(deps, accountId, operationId)).keys()];
      const pages = await Promise.all(
        ids.map((id) => findDisputePage(deps.sql, { accountId, operationId: id }, below, null, limit + 1)),
      );
      const found = pages.flat().toSorted((one, other) => (one.id < other.id ? 1 : -1));
      const shown = found.slice(0, limit);
      return {
        disputes: await disputeViews(deps, member, shown),
        nextBelow: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
      };
    },
  );
}

function defenceRoutes(api: ApiScope, cellOf: CellOf<DefenceDeps>): void {
  api.get(
    '/operation-disputes/:id/defence',
    {
      schema: {
        tags,
        summary: 'The defence of a dispute, and what it may contain',
        params: IdParams('Dispute'),
        querystring: OfOperationQuery,
        response: { 200: DefenceOfDisputeSchema },
      },
      config: asks,
    },
    async ({ member, params, query: { operationId } }) => {
      const deps = cellOf(member);
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      return defenceOfDisputeView(await deps.defences.of(scope, params.id));
    },
  );

  api.post(
    '/operation-disputes/:id/defence',
    {
      schema: {
        tags,
        summary: 'Answer a dispute',
        params: IdParams('Dispute'),
        querystring: OfOperationQuery,
        body: DefenceBody,
        response: { 201: DefenceOfDisputeSchema },
      },
      config: { api: answers, panel: { needs: 'disputes', sensitive: true } },
    },
    async (request, reply) => {
      const { member, params, query, body, caller } = request;
      const { operationId } = query;
      const deps = cellOf(member);
      await operationsOf(deps, member.accountId, operationId);
      const scope = { ...caller, operationId, operationNamed: true };
      const { replayed } = await deps.defences.defend(scope, params.id, requireSomething(body));
      if (replayed) reply.header('idempotent-replayed', 'true');
      else await note(deps, request, 'defence.created', { disputeId: params.id });
      return reply.code(201).send(defenceOfDisputeView(await deps.defences.of(scope, params.id)));
    },
  );
}

/** The files of a defence. */
function fileViewRoutes(api: ApiScope, cellOf: CellOf<DefenceDeps>): void {
  api.post(
    '/operation-disputes/:id/files',
    {
      bodyLimit: fileMostBytes,
      schema: {
        tags,
        summary: 'Give a file for the defence of a dispute',
        params: IdParams('Dispute'),
        querystring: FileOfOperationQuery,
        response: { 201: DisputeFileSchema },
      },
      config: {
        api: { ...answers, consumes: fileTypes },
        panel: { needs: 'disputes', sensitive: true },
      },
    },
    async (request, reply) => {
      const { member, params, query } = request;
      const { operationId, name } = query;
      const deps = cellOf(member);
      const given = givenFileOf(request, name);
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      const { file, replayed } = await deps.defences.keepFile(scope, params.id, given);
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(fileViewOf(file));
    },
  );

  api.delete(
    '/operation-disputes/:id/files/:fileId',
    {
      schema: {
        tags,
        summary: 'Take a file away that goes out with no defence',
        params: FileParams,
        querystring: OfOperationQuery,
        body: Nothing,
        response: { 200: Done },
      },
      config: { api: answers, panel: { needs: 'disputes', sensitive: true } },
    },
    async ({ member, params, query: { operationId } }) => {
      const deps = cellOf(member);
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      await deps.defences.removeFile(scope, params.id, params.fileId);
      return { ok: true as const };
    },
  );
}
