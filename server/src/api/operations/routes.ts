import type { Static } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Permission } from '../../ground/permissions.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import type { OperationRow } from './operations.sql.ts';
import {
  createOperation,
  deleteOperation,
  listOperations,
  type OperationsDeps,
  operationsPerAccount,
  renameOperation,
  viewOfOperation,
} from './operations.ts';
import {
  DeletedSchema,
  NewOperationBody,
  OperationListSchema,
  RenameBody,
  SavedOperationSchema,
} from './schema.ts';

const tags = ['Operations'];
const reads: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const writes: RouteFacts = { permissions: ['operations'], policy: 'operations', operation: 'syntax' };
const Id = IdParams('Id of the business operation');

export function operationRoutes(api: ApiScope, cellOf: CellOf<OperationsDeps>): void {
  api.get(
    '/operations',
    {
      schema: { tags, summary: 'The business operations', response: { 200: OperationListSchema } },
      config: { api: reads },
    },
    async (request) => ({
      ownerId: request.caller.accountId,
      limit: operationsPerAccount,
      operations: (await listOperations(cellOf(request), request.caller)).map(viewOfOperation),
    }),
  );

  api.post(
    '/operations',
    {
      schema: {
        tags,
        summary: 'Create a business operation',
        body: NewOperationBody,
        response: { 201: SavedOperationSchema },
      },
      config: { api: { ...writes, creates: true } },
    },
    async (request, reply) => {
      const { operation, replayed } = await createOperation(cellOf(request), request.caller, request.body);
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(viewFor(request.caller, operation));
    },
  );

  api.patch(
    '/operations/:id',
    {
      schema: {
        tags,
        summary: 'Rename a business operation',
        params: Id,
        body: RenameBody,
        response: { 200: SavedOperationSchema },
      },
      config: { api: writes },
    },
    async (request) =>
      viewFor(
        request.caller,
        await renameOperation(cellOf(request), request.caller, request.params.id, request.body.name),
      ),
  );

  api.delete(
    '/operations/:id',
    {
      schema: {
        tags,
        summary: 'Delete an empty business operation',
        params: Id,
        body: EmptyBody,
        response: { 200: DeletedSchema },
      },
      config: { api: writes },
    },
    async (request) => {
      await deleteOperation(cellOf(request), request.caller, request.params.id);
      return { ok: true as const };
    },
  );
}

/** Who may change an operation may not therefore read its balance. */
function viewFor(
  { permissions }: { permissions: ReadonlySet<Permission> },
  operation: OperationRow,
): Static<typeof SavedOperationSchema> {
  const view = viewOfOperation(operation);
  if (permissions.has('read')) return view;
  const { balanceCents, balanceUpdatedAt, ...unmoved } = view;
  return unmoved;
}
