import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Caller } from '../../ground/caller.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { IdParams } from '../../ground/schema.ts';
import { PaymentLinkSchema, viewOfLink } from '../../kinds/link/link.ts';
import { paymentsOfSource } from '../../kinds/payment/made-by.ts';
import { PaymentListSchema } from '../../kinds/payment/schema.ts';
import { viewOf } from '../../kinds/payment/view.ts';
import type { PaymentLink } from '../../store/rows/payment-links.sql.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { createLink, getLink, type LinkDeps, listLinks, updateLink } from './links.ts';
import { LinkBody, LinkChange, LinkListSchema, LinkPageQuery } from './schema.ts';

const tags = ['Payment links'];
const looks: RouteFacts = { permissions: ['read', 'charges'], policy: 'reads', operation: 'resolve' };
const Id = IdParams('Id of the payment link');

interface Shown {
  clock: LinkDeps['clock'];
  pages: PageAddresses;
}

const shown = ({ clock, pages }: Shown, { accountNumber }: Caller, link: PaymentLink) => ({
  ...viewOfLink(link, clock.now()),
  url: pages.of('link', accountNumber, link.id),
});

export function linkRoutes(
  api: ApiScope,
  cellOf: CellOf<LinkDeps & Shown & { directory: OperationDirectory }>,
): void {
  api.post(
    '/payment-links',
    {
      schema: {
        tags,
        summary: 'Make a payment link, a page on which payers make charges of their own',
        body: LinkBody,
        response: { 201: PaymentLinkSchema },
      },
      config: {
        api: { permissions: ['charges'], policy: 'charges', operation: 'resolve', creates: true },
      },
    },
    async (request, reply) => {
      const { link, replayed } = await onCurrentOperation(cellOf, request, (cell, caller) =>
        createLink(cell, caller, request.body),
      );
      if (replayed) reply.header('idempotent-replayed', 'true');
      return reply.code(201).send(shown(cellOf(request), request.caller, link));
    },
  );

  api.get(
    '/payment-links',
    {
      schema: {
        tags,
        summary: 'The payment links of the operation',
        querystring: LinkPageQuery,
        response: { 200: LinkListSchema },
      },
      config: { api: looks },
    },
    async (request) => {
      const cell = cellOf(request);
      const { links, nextCursor } = await listLinks(cell, request.caller, request.query);
      return {
        paymentLinks: links.map((link) => shown(cell, request.caller, link)),
        hasMore: nextCursor !== null,
        nextCursor,
      };
    },
  );

  api.get(
    '/payment-links/:id',
    {
      schema: { tags, summary: 'One payment link', params: Id, response: { 200: PaymentLinkSchema } },
      config: { api: looks },
    },
    async (request) => {
      const cell = cellOf(request);
      return shown(cell, request.caller, await getLink(cell, request.caller, request.params.id));
    },
  );

  api.patch(
    '/payment-links/:id',
    {
      schema: {
        tags,
        summary: 'Change a payment link, close it, or open it again',
        params: Id,
        body: LinkChange,
        response: { 200: PaymentLinkSchema },
      },
      config: { api: { permissions: ['charges'], policy: 'charges', operation: 'resolve' } },
    },
    async (request) => {
      const { caller, params, body } = request;
      const cell = cellOf(request);
      return shown(cell, caller, await updateLink(cell, caller, params.id, body));
    },
  );

  api.get(
    '/payment-links/:id/payments',
    {
      schema: {
        tags,
        summary: 'The charges of a payment link',
        params: Id,
        querystring: LinkPageQuery,
        response: { 200: PaymentListSchema },
      },
      config: { api: looks },
    },
    async (request) => {
      const { caller, language, params, query } = request;
      const cell = cellOf(request);
      const { id } = await getLink(cell, caller, params.id);
      const source = { ...caller, of: 'payment_link_id', id } as const;
      const { payments, nextCursor } = await paymentsOfSource(cell, source, query);
      return {
        payments: payments.map((payment) => viewOf(payment, language)),
        hasMore: nextCursor !== null,
        nextCursor,
      };
    },
  );
}
