import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CsvForm } from '../ground/csv.ts';
import { refuse } from '../ground/errors.ts';
import type { Caller } from '../http/auth.ts';
import type { ApiScope, RouteFacts } from '../http/edge.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';
import { isoOf } from '../payments/view.ts';
import { csvOf } from './csv.ts';
import type { Line } from './line.ts';
import { ofxOf } from './ofx.ts';
import { statementPdf } from './pdf.ts';
import { type Period, periodOf, withinMonth } from './period.ts';
import {
  StatementCsv,
  StatementCsvQuery,
  StatementFileQuery,
  StatementOfx,
  StatementPdf,
  StatementQuery,
  StatementSchema,
} from './schema.ts';
import { findNames } from './statement.sql.ts';
import {
  mostJournals,
  openStretch,
  type PeriodQuery,
  readStatement,
  type StatementDeps,
} from './statement.ts';
import { payerOf } from './words.ts';

const tags = ['Account'];
const facts: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'resolve' };
const fileFacts = (produces: string): RouteFacts => ({ ...facts, policy: 'files', produces });

/** What the balance of the selected operation changed by, and when. It only reads. */
export function statementRoutes(
  api: ApiScope,
  deps: StatementDeps & { directory: OperationDirectory },
): void {
  const now = () => deps.clock.now();
  const onOperation = <Answer>(request: FastifyRequest, call: (caller: Caller) => Promise<Answer>) =>
    onCurrentOperation(deps.directory, request.caller, call);
  const periodOfFile = (query: PeriodQuery) => withinMonth(periodOf(query), now());
  /** Up to which moment a file speaks: never of the future. */
  const endOf = ({ toMs }: Period): number => Math.min(toMs ?? now(), now());

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
      const page = await onOperation(request, (caller) => readStatement(deps, caller, request.query));
      return { ...page, lines: page.lines.map(viewOf), hasMore: page.nextCursor !== null };
    },
  );

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
      const period = periodOfFile(query);
      const stretch = await onOperation(request, (caller) =>
        openStretch(deps, caller, period, mostJournals.csv),
      );
      // Made for programs as well: codes of the API in every language.
      const form: CsvForm = { separator: separator === 'semicolon' ? ';' : ',', language: 'en' };
      const text = csvOf(stretch, form, bom === 'yes');
      return sendFile(reply, 'csv', 'text/csv; charset=utf-8', Readable.from(text));
    },
  );

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
      const period = periodOfFile(request.query);
      const text = await onOperation(request, async (caller) => {
        const stretch = await openStretch(deps, caller, period, mostJournals.ofx);
        const { fromMs } = period;
        const { operationId } = caller;
        return ofxOf(stretch, {
          operationId,
          fromMs,
          toMs: Math.max(endOf(period), fromMs),
          nowMs: now(),
          language: request.language,
          partyOf: payerOf,
        });
      });
      return sendFile(reply, 'ofx', 'application/x-ofx', Readable.from(text));
    },
  );

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
      const period = periodOfFile(request.query);
      const pdf = await onOperation(request, async (caller) => {
        const stretch = await openStretch(deps, caller, period, mostJournals.pdf);
        const names = await findNames(deps.sql, caller);
        if (!names) throw refuse('operation_not_found');
        const toMs = Math.max(period.toMs ?? now(), period.fromMs + 1);
        const { fromMs } = period;
        return statementPdf(stretch, {
          ...names,
          fromMs,
          toMs,
          language: request.language,
          partyOf: payerOf,
        });
      });
      return sendFile(reply, 'pdf', 'application/pdf', pdf);
    },
  );
}

const sendFile = (reply: FastifyReply, ending: string, type: string, content: Readable | Buffer) =>
  reply
    .type(type)
    .header('content-disposition', `attachment; filename="statement.${ending}"`)
    .send(content as never);

const viewOf = ({ id, seq, at, kind, payment, amountCents, balanceCents }: Line) => ({
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
  ...(payment?.metadata && { metadata: payment.metadata }),
});
