import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Defences } from '../../flow/defend.ts';
import type { Caller } from '../../ground/caller.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import { refuse } from '../../ground/errors.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { viewsOf } from '../../kinds/dispute/held-views.ts';
import { DisputeSchema } from '../../kinds/dispute/view.ts';
import type { Dispute } from '../../money/dispute.ts';
import { fileMostBytes, fileTypes } from '../../money/evidence.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findDispute, findDisputePage } from '../../store/rows/disputes.sql.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { DeletedSchema } from '../operations/schema.ts';
import { givenFileOf, requireSomething } from './given.ts';
import {
  DefenceBody,
  DefenceOfDisputeSchema,
  DefenceSchema,
  DisputeFileSchema,
  DisputeListSchema,
  DisputeQuery,
  defenceOfDisputeView,
  defenceViewOf,
  FileParams,
  FileQuery,
  fileViewOf,
} from './schema.ts';

const tags = ['Disputes'];
const facts: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'resolve' };

/** Before every id. */
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

interface DisputeDeps {
  sql: Sql;
  clock: Clock;
  defences: Defences;
  /** Signs cursors. */
  cursorKey: Buffer;
  directory: OperationDirectory;
}

export function disputeRoutes(api: ApiScope, cellOf: CellOf<DisputeDeps>): void {
  readRoutes(api, cellOf);
  defenceRoutes(api, cellOf);
  fileRoutes(api, cellOf);
}

type ReadDeps = Pick<DisputeDeps, 'sql' | 'clock' | 'cursorKey' | 'directory'>;

function readRoutes(api: ApiScope, cellOf: CellOf<ReadDeps>): void {
  api.get(
    '/disputes',
    {
      schema: {
        tags,
        summary: 'Disputes (MED) of received Pix',
        querystring: DisputeQuery,
        response: { 200: DisputeListSchema },
      },
      config: { api: facts },
    },
    (request) => onCurrentOperation(cellOf, request, (cell, caller) => list(cell, caller, request.query)),
  );

  api.get(
    '/disputes/:id',
    {
      schema: {
        tags,
        summary: 'One dispute',
        params: IdParams('Id of the dispute'),
        response: { 200: DisputeSchema },
      },
      config: { api: facts },
    },
    (request) =>
      onCurrentOperation(cellOf, request, async ({ sql }, caller) => {
        const found = await findDispute(sql, caller, request.params.id);
        const [view] = found ? await viewsOf(sql, caller, [found]) : [];
        if (!view) throw refuse('dispute_not_found');
        return view;
      }),
  );
}

/** @throws ApiError `invalid_cursor` */
async function list(
  { sql, clock, cursorKey }: ReadDeps,
  caller: Caller,
  { limit = 100, cursor, status }: ListQuery,
) {
  const key = JSON.stringify(['disputes', caller.accountId, caller.operationId, status ?? null]);
  const now = clock.now();
  const below = cursor === undefined ? highestId : placeOf(cursorKey, key, cursor, now).id;
  const disputes = await findDisputePage(sql, caller, below, status ?? null, limit + 1);
  const last = disputes.length > limit ? (disputes[limit - 1] as Dispute) : null;
  return {
    disputes: await viewsOf(sql, caller, disputes.slice(0, limit)),
    hasMore: last !== null,
    nextCursor: last && cursorOf(cursorKey, key, last, now),
  };
}

type DefenceDeps = Pick<DisputeDeps, 'defences' | 'directory'>;

function defenceRoutes(api: ApiScope, cellOf: CellOf<DefenceDeps>): void {
  api.get(
    '/disputes/:id/defence',
    {
      schema: {
        tags,
        summary: 'The defence of a dispute, and what it may contain',
        params: IdParams('Id of the dispute'),
        response: { 200: DefenceOfDisputeSchema },
      },
      config: { api: { ...facts, permissions: ['read', 'disputes'] } },
    },
    (request) =>
      onCurrentOperation(cellOf, request, async ({ defences }, caller) =>
        defenceOfDisputeView(await defences.of(caller, request.params.id)),
      ),
  );

  api.post(
    '/disputes/:id/defence',
    {
      schema: {
        tags,
        summary: 'Answer a dispute',
        params: IdParams('Id of the dispute'),
        body: DefenceBody,
        response: { 201: DefenceSchema },
      },
      config: {
        api: { permissions: ['disputes'], policy: 'operations', operation: 'resolve', creates: true },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { defence, replayed } = await onCurrentOperation(cellOf, request, ({ defences }, caller) =>
        defences.defend(caller, id, requireSomething(request.body)),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(defenceViewOf(defence));
    },
  );
}

const changes: RouteFacts = { permissions: ['disputes'], policy: 'operations', operation: 'resolve' };

function fileRoutes(api: ApiScope, cellOf: CellOf<DefenceDeps>): void {
  api.post(
    '/disputes/:id/files',
    {
      bodyLimit: fileMostBytes,
      schema: {
        tags,
        summary: 'Give a file for the defence of a dispute',
        params: IdParams('Id of the dispute'),
        querystring: FileQuery,
        response: { 201: DisputeFileSchema },
      },
      config: { api: { ...changes, creates: true, consumes: fileTypes } },
    },
    async (request, reply) => {
      const { params, query } = request;
      const given = givenFileOf(request, query.name);
      const { file, replayed } = await onCurrentOperation(cellOf, request, ({ defences }, caller) =>
        defences.keepFile(caller, params.id, given),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(fileViewOf(file));
    },
  );

  api.delete(
    '/disputes/:id/files/:fileId',
    {
      schema: {
        tags,
        summary: 'Take a file away that goes out with no defence',
        params: FileParams,
        body: EmptyBody,
        response: { 200: DeletedSchema },
      },
      config: { api: changes },
    },
    async (request) => {
      const { params } = request;
      await onCurrentOperation(cellOf, request, ({ defences }, caller) =>
        defences.removeFile(caller, params.id, params.fileId),
      );
      return { ok: true as const };
    },
  );
}

interface ListQuery {
  limit?: number;
  cursor?: string;
  status?: Dispute['status'][];
}
