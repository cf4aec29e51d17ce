import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { CsvForm } from '../../ground/csv.ts';
import { refuse } from '../../ground/errors.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { csvOf } from '../../operate/statement/csv.ts';
import type { Line } from '../../operate/statement/line.ts';
import { ofxOf } from '../../operate/statement/ofx.ts';
import { statementPdf } from '../../operate/statement/pdf.ts';
import { type Period, periodOf, withinMonth } from '../../operate/statement/period.ts';
import { findNames } from '../../operate/statement/statement.sql.ts';
import {
  mostJournals,
  openStretch,
  type PeriodQuery,
  readStatement,
  type StatementDeps,
} from '../../operate/statement/statement.ts';
import { payerOf } from '../../operate/statement/words.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import {
  StatementCsv,
  StatementCsvQuery,
  StatementFileQuery,
  StatementOfx,
  StatementPdf,
  StatementQuery,
  StatementSchema,
} from './schema.ts';

const tags = ['Account'];
const facts: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'resolve' };
const fileFacts = (produces: string): RouteFacts => ({ ...facts, policy: 'files', produces });

type RouteDeps = StatementDeps & { directory: OperationDirectory; papers: Papers };

/** The changes of the selected operation's balance. It only reads. */
export function statementRoutes(api: ApiScope, cellOf: CellOf<RouteDeps>): void {
  pageRoute(api, cellOf);
  csvRoute(api, cellOf);
  ofxRoute(api, cellOf);
  pdfRoute(api, cellOf);
}

function pageRoute(api: ApiScope, cellOf: CellOf<RouteDeps>): void {
  api.get(
    '/statement',
    {
      schema: {
        tags,
        summary: 'What changed the balance, oldest first',
        querystring: StatementQuery,
        response: { 200: StatementSchema },
      },
      config: { api: facts },
    },
    async (request) => {
      const page = await onCurrentOperation(cellOf, request, (cell, caller) =>
        readStatement(cell, caller, request.query),
      );
      return { ...page, lines: page.lines.map(viewOf), hasMore: page.nextCursor !== null };
    },
  );
}

function csvRoute(api: ApiScope, cellOf: CellOf<RouteDeps>): void {
  api.get(
    '/statement.csv',
    {
      schema: {
        tags,
        summary: 'The statement of a period as a table',
        querystring: StatementCsvQuery,
        response: { 200: StatementCsv },
      },
      config: { api: fileFacts('text/csv') },
    },
    async (request, reply) => {
      const { separator, bom, ...query } = request.query;
      const period = periodOfFile(cellOf(request), query);
      const stretch = await onCurrentOperation(cellOf, request, (cell, caller) =>
        openStretch(cell, caller, period, mostJournals.csv),
      );
      // Made for programs as well: codes of the API in every language.
      const form: CsvForm = { separator: separator === 'semicolon' ? ';' : ',', language: 'en' };
      const text = csvOf(stretch, form, bom === 'yes');
      const file = await cellOf(request).papers.text(request.caller.accountId, text);
      return sendFile(reply, 'csv', 'text/csv; charset=utf-8', file);
    },
  );
}

function ofxRoute(api: ApiScope, cellOf: CellOf<RouteDeps>): void {
  api.get(
    '/statement.ofx',
    {
      schema: {
        tags,
        summary: 'The statement of a period for accounting programs',
        querystring: StatementFileQuery,
        response: { 200: StatementOfx },
      },
      config: { api: fileFacts('application/x-ofx') },
    },
    async (request, reply) => {
      const period = periodOfFile(cellOf(request), request.query);
      const text = await onCurrentOperation(cellOf, request, async (cell, caller) => {
        const stretch = await openStretch(cell, caller, period, mostJournals.ofx);
        const { fromMs } = period;
        const { operationId } = caller;
        return ofxOf(stretch, {
          operationId,
          fromMs,
          toMs: Math.max(endOf(cell, period), fromMs),
          nowMs: cell.clock.now(),
          language: request.language,
          partyOf: payerOf,
        });
      });
      const file = await cellOf(request).papers.text(request.caller.accountId, text);
      return sendFile(reply, 'ofx', 'application/x-ofx', file);
    },
  );
}

function pdfRoute(api: ApiScope, cellOf: CellOf<RouteDeps>): void {
  api.get(
    '/statement.pdf',
    {
      schema: {
        tags,
        summary: 'The statement of a period to read and print',
        querystring: StatementFileQuery,
        response: { 200: StatementPdf },
      },
      config: { api: fileFacts('application/pdf') },
    },
    async (request, reply) => {
      const period = periodOfFile(cellOf(request), request.query);
      const pdf = await onCurrentOperation(cellOf, request, async (cell, caller) => {
        const stretch = await openStretch(cell, caller, period, mostJournals.pdf);
        const names = await findNames(cell.sql, caller);
        if (!names) throw refuse('operation_not_found');
        const toMs = Math.max(period.toMs ?? cell.clock.now(), period.fromMs + 1);
        const { fromMs } = period;
        return statementPdf(cell.papers, caller.accountId, stretch, {
          ...names,
          fromMs,
          toMs,
          language: request.language,
          partyOf: payerOf,
          letterhead: await findLetterhead(cell.sql, caller.accountId),
        });
      });
      return sendFile(reply, 'pdf', 'application/pdf', pdf);
    },
  );
}

const periodOfFile = ({ clock }: RouteDeps, query: PeriodQuery) => withinMonth(periodOf(query), clock.now());

/** Up to which moment a file speaks: never of the future. */
const endOf = ({ clock }: RouteDeps, { toMs }: Period): number => Math.min(toMs ?? clock.now(), clock.now());

const sendFile = (reply: FastifyReply, ending: string, type: string, content: Readable) =>
  reply
    .type(type)
    .header('content-disposition', `attachment; filename="statement.${ending}"`)
    .send(content as never);

const viewOf = ({ id, seq, at, kind, payment, cause, amountCents, balanceCents }: Line) => ({
  id,
  seq,
  at: isoOf(at),
  kind,
  paymentId: payment?.id ?? null,
  description: payment?.description ?? '',
  amountCents,
  balanceCents,
  payerName: payment?.payerName ?? null,
  endToEnd: payment?.endToEnd ?? null,
  requestKey: payment?.requestKey ?? null,
  cause,
  ...(payment?.metadata && { metadata: payment.metadata }),
  ...(payment?.fiscalDocuments && { fiscalDocuments: [...payment.fiscalDocuments] }),
});
