import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { IdParams } from '../../ground/schema.ts';
import { paymentsOfSource } from '../../kinds/payment/made-by.ts';
import { PaymentListSchema } from '../../kinds/payment/schema.ts';
import { viewOf } from '../../kinds/payment/view.ts';
import { StaticCodeSchema, viewOfCode, viewWithImage } from '../../kinds/static-code/view.ts';
import { findLetterhead, findShownMerchant } from '../../store/rows/profile.sql.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { posterOf } from './poster.ts';
import {
  PageQuery,
  PosterPdf,
  PosterQuery,
  StaticCodeBody,
  StaticCodeChange,
  StaticCodeListSchema,
} from './schema.ts';
import {
  createStaticCode,
  getStaticCode,
  listStaticCodes,
  type StaticCodeDeps,
  updateStaticCode,
} from './static-codes.ts';

const tags = ['Static codes'];
const looks: RouteFacts = { permissions: ['read', 'charges'], policy: 'reads', operation: 'resolve' };
const Id = IdParams('Id of the static code');

export function staticCodeRoutes(
  api: ApiScope,
  cellOf: CellOf<StaticCodeDeps & { directory: OperationDirectory }>,
): void {
  api.post(
    '/static-codes',
    {
      schema: {
        tags,
        summary: 'Make a static code, which payers pay as often as they like',
        body: StaticCodeBody,
        response: { 201: StaticCodeSchema },
      },
      config: {
        api: { permissions: ['charges'], policy: 'charges', operation: 'resolve', creates: true },
      },
    },
    async (request, reply) => {
      const { code, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        createStaticCode(cell, caller, request.body),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(await viewWithImage(code));
    },
  );

  api.get(
    '/static-codes',
    {
      schema: {
        tags,
        summary: 'The static codes of the operation',
        querystring: PageQuery,
        response: { 200: StaticCodeListSchema },
      },
      config: { api: looks },
    },
    async (request) => {
      const { codes, nextCursor } = await listStaticCodes(cellOf(request), request.caller, request.query);
      return { staticCodes: codes.map(viewOfCode), hasMore: nextCursor !== null, nextCursor };
    },
  );

  api.get(
    '/static-codes/:id',
    {
      schema: { tags, summary: 'One static code', params: Id, response: { 200: StaticCodeSchema } },
      config: { api: looks },
    },
    async (request) => viewWithImage(await getStaticCode(cellOf(request), request.caller, request.params.id)),
  );

  api.patch(
    '/static-codes/:id',
    {
      schema: {
        tags,
        summary: 'Rename a static code, retire it, or use it again',
        params: Id,
        body: StaticCodeChange,
        response: { 200: StaticCodeSchema },
      },
      config: { api: { permissions: ['charges'], policy: 'charges', operation: 'resolve' } },
    },
    async (request) => {
      const { caller, params, body } = request;
      return viewWithImage(await updateStaticCode(cellOf(request), caller, params.id, body));
    },
  );

  api.get(
    '/static-codes/:id/payments',
    {
      schema: {
        tags,
        summary: 'The payments of a static code',
        params: Id,
        querystring: PageQuery,
        response: { 200: PaymentListSchema },
      },
      config: { api: looks },
    },
    async (request) => {
      const { caller, language, params, query } = request;
      const cell = cellOf(request);
      const { id } = await getStaticCode(cell, caller, params.id);
      const source = { ...caller, of: 'static_code_id', id } as const;
      const { payments, nextCursor } = await paymentsOfSource(cell, source, query);
      return {
        payments: payments.map((payment) => viewOf(payment, language)),
        hasMore: nextCursor !== null,
        nextCursor,
      };
    },
  );
}

/** Of the API alone: the panel's page of a poster is printed by the browser, which knows the paper and the printer. */
export function posterRoute(api: ApiScope, cellOf: CellOf<StaticCodeDeps & { papers: Papers }>): void {
  api.get(
    '/static-codes/:id/poster.pdf',
    {
      schema: {
        tags,
        summary: 'A page with the static code, to print',
        params: Id,
        querystring: PosterQuery,
        response: { 200: PosterPdf },
      },
      config: { api: { ...looks, policy: 'files', produces: 'application/pdf' } },
    },
    async (request, reply) => {
      const { caller, language, params, query } = request;
      const cell = cellOf(request);
      const code = await getStaticCode(cell, caller, params.id);
      const [{ name }, letterhead] = await Promise.all([
        findShownMerchant(cell.sql, caller.accountId),
        findLetterhead(cell.sql, caller.accountId),
      ]);
      const { size = 'a6' } = query;
      const facts = { merchant: name, letterhead, test: caller.test, size, language };
      const pdf = await cell.papers.poster(caller.accountId, posterOf(code, facts));
      return reply
        .type('application/pdf')
        .header('content-disposition', 'attachment; filename="poster.pdf"')
        .send(pdf as never);
    },
  );
}
