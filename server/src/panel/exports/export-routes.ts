import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import { listEvents } from '../../events/log.ts';
import type { Language } from '../../ground/errors.ts';
import type { ApiScope } from '../../http/edge.ts';
import { listKeys } from '../../keys/keys.ts';
import { isoOf } from '../../payments/view.ts';
import { listRequests } from '../../request-log/list.ts';
import type { ShownRequest } from '../../request-log/request-log.sql.ts';
import { listIncidents } from '../../settlement/incidents/incident.ts';
import type { DeliveryRow } from '../../webhooks/deliveries.sql.ts';
import { listDeliveries } from '../../webhooks/deliveries.ts';
import type { WebhooksDeps } from '../../webhooks/endpoints.ts';
import { WebhookParams } from '../../webhooks/schema.ts';
import type { PanelDeps } from '../deps.ts';
import { findMembers } from '../members/members.sql.ts';
import { CsvQuery, EventCsvQuery, RecordCsvQuery, RequestCsvQuery, StatementCsvQuery } from '../schema.ts';
import { findBalances } from '../views/overview.sql.ts';
import { findStatement, highestSeq } from '../views/records.sql.ts';
import { listRecords, operationsOf, viewOfLine, viewOfRecord } from '../views/records.ts';
import { requestFilterOf } from '../views/request-routes.ts';
import { type Cell, type CsvForm, csvLine } from './csv.ts';

type Row = readonly Cell[];

/** Rows of one page after the other. */
type Pages = AsyncGenerator<Row[]>;

const pageRows = 500;

/** Every list of the panel as a file for spreadsheets, with the filters of the page that it stands on. */
export function exportRoutes(api: ApiScope, deps: PanelDeps & WebhooksDeps): void {
  const { sql } = deps;
  const reads = { panel: { needs: 'read' } } as const;
  const log = { ...deps, cursorKey: deps.secrets.derive('panel cursors') };

  api.get(
    '/records.csv',
    { schema: { querystring: RecordCsvQuery }, config: reads },
    async (request, reply) => {
      const { member, query, language } = request;
      const { separator, bom, ...filters } = query;
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const pages = pagesOf<string>(async (page) => {
        const { records, nextCursor } = await listRecords(deps, member, filters, page);
        return { rows: records.map((one) => rowOfRecord(viewOfRecord(one, language), names)), nextCursor };
      });
      return sendCsv(request, reply, 'pagamentos', recordColumns, pages);
    },
  );

  api.get(
    '/statement.csv',
    { schema: { querystring: StatementCsvQuery }, config: reads },
    async (request, reply) => {
      const { member, query } = request;
      await operationsOf(deps, member.accountId, query.operationId);
      const lines = pagesOf<number>(async ({ limit, cursor: below = highestSeq }) => {
        const page = await findStatement(sql, member.accountId, query.operationId, below, limit);
        const last = page.length === limit ? page.at(-1) : undefined;
        return { rows: page.map(viewOfLine).map(rowOfLine), nextCursor: last?.seq ?? null };
      });
      return sendCsv(request, reply, 'extrato', lineColumns, lines);
    },
  );

  api.get('/operations.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) =>
    sendCsv(
      request,
      reply,
      'operacoes',
      ['id', 'name', 'main', 'available', 'reserved', 'held', 'receivable', 'createdAt'],
      onePage(
        (await findBalances(sql, request.member.accountId)).map((one) => [
          one.id,
          one.name,
          one.main ? 'yes' : 'no',
          { cents: one.availableCents },
          { cents: one.reservedCents },
          { cents: one.heldCents },
          { cents: one.receivableCents },
          isoOf(one.createdAt),
        ]),
      ),
    ),
  );

  api.get(
    '/events.csv',
    { schema: { querystring: EventCsvQuery }, config: reads },
    async (request, reply) => {
      const { separator, bom, ...filters } = request.query;
      const pages = pagesOf<string>(async (page) => {
        const { events, nextCursor } = await listEvents(log, request.caller, { ...filters, ...page });
        return { rows: events.map(({ body }) => rowOfEvent(JSON.parse(body) as EventBody)), nextCursor };
      });
      return sendCsv(request, reply, 'eventos', eventColumns, pages);
    },
  );

  api.get(
    '/requests.csv',
    { schema: { querystring: RequestCsvQuery }, config: reads },
    async (request, reply) => {
      const { member, query } = request;
      const pages = pagesOf<string>(async (page) => {
        const listed = await listRequests(log, member.accountId, requestFilterOf(query), page);
        return { rows: listed.requests.map(rowOfRequest), nextCursor: listed.nextCursor };
      });
      return sendCsv(request, reply, 'requisicoes', requestColumns, pages);
    },
  );

  api.get(
    '/webhooks/:id/deliveries.csv',
    {
      schema: { params: WebhookParams, querystring: CsvQuery },
      config: { panel: { needs: 'webhooks' } },
    },
    async (request, reply) => {
      const pages = pagesOf<string>(async (page) => {
        const listed = await listDeliveries(deps, request.caller, request.params.id, page);
        return { rows: listed.deliveries.map(rowOfDelivery), nextCursor: listed.nextCursor };
      });
      return sendCsv(request, reply, 'entregas', deliveryColumns, pages);
    },
  );

  api.get('/keys.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) =>
    sendCsv(
      request,
      reply,
      'chaves',
      ['id', 'name', 'permissions', 'addresses', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'],
      onePage(
        (await listKeys(deps, request.member.accountId)).map((key) => [
          key.id,
          key.name,
          key.permissions.join(' '),
          key.ips.join(' '),
          isoOf(key.createdAt),
          instant(key.expiresAt),
          instant(key.revokedAt),
          instant(key.lastUsedAt),
        ]),
      ),
    ),
  );

  api.get(
    '/members.csv',
    { schema: { querystring: CsvQuery }, config: { panel: { needs: 'members' } } },
    async (request, reply) =>
      sendCsv(
        request,
        reply,
        'pessoas',
        ['name', 'email', 'role', 'secondFactor', 'createdAt'],
        onePage(
          (await findMembers(sql, request.member.accountId)).map((one) => [
            one.name,
            one.email,
            one.role,
            one.twoFactorEnabled || one.passkeys > 0 ? 'yes' : 'no',
            isoOf(one.createdAt),
          ]),
        ),
      ),
  );

  api.get('/incidents.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) =>
    sendCsv(
      request,
      reply,
      'incidentes',
      [
        'id',
        'kind',
        'state',
        'amount',
        'paymentId',
        'operationId',
        'openedAt',
        'resolvedAt',
        'action',
        'reason',
      ],
      onePage(
        (await listIncidents(deps, request.member.accountId)).map((one) => [
          one.id,
          one.kind,
          one.state,
          { cents: one.amountCents },
          one.paymentId,
          one.operationId,
          isoOf(one.openedAt),
          instant(one.resolvedAt),
          one.resolution?.action ?? null,
          one.resolution?.reason ?? null,
        ]),
      ),
    ),
  );
}

const instant = (ms: number | null): string | null => (ms === null ? null : isoOf(ms));

async function* onePage(rows: Row[]): Pages {
  yield rows;
}

/** A list from its first page to its last: no snapshot is held between two, and no more than one is in memory. */
async function* pagesOf<Cursor>(
  list: (page: { limit: number; cursor?: Cursor }) => Promise<{ rows: Row[]; nextCursor: Cursor | null }>,
): Pages {
  for (let page: { limit: number; cursor?: Cursor } = { limit: pageRows }; ; ) {
    const { rows, nextCursor } = await list(page);
    yield rows;
    if (nextCursor === null) return;
    page = { limit: pageRows, cursor: nextCursor };
  }
}

const recordColumns = [
  'id',
  'kind',
  'status',
  'createdAt',
  'settledAt',
  'amount',
  'fee',
  'net',
  'operation',
  'payer',
  'description',
  'endToEnd',
  'requestKey',
];

const rowOfRecord = (record: ReturnType<typeof viewOfRecord>, names: ReadonlyMap<string, string>): Row => [
  record.id,
  record.kind,
  record.status,
  record.createdAt,
  record.settledAt,
  { cents: record.amountCents },
  record.feeCents === null ? null : { cents: record.feeCents },
  record.netAmountCents === undefined ? null : { cents: record.netAmountCents },
  names.get(record.operationId) ?? '',
  record.payerName,
  record.description,
  record.endToEnd ?? null,
  record.requestKey,
];

const lineColumns = ['seq', 'postedAt', 'kind', 'paymentId', 'available', 'reserved', 'held', 'balanceAfter'];

const rowOfLine = (line: ReturnType<typeof viewOfLine>): Row => [
  String(line.seq),
  line.postedAt,
  line.template,
  line.paymentId,
  { cents: line.availableCents },
  { cents: line.reservedCents },
  { cents: line.heldCents },
  { cents: line.balanceAfterCents },
];

const eventColumns = ['id', 'type', 'timestamp', 'operationId', 'subject', 'status', 'amount'];

/** What every payload has, and what those of payments have besides. */
interface EventBody {
  id: string;
  type: string;
  timestamp: string;
  data: { operationId: string; id?: string; status?: string; amountCents?: number };
}

const rowOfEvent = ({ id, type, timestamp, data }: EventBody): Row => [
  id,
  type,
  timestamp,
  data.operationId,
  data.id ?? null,
  data.status ?? null,
  data.amountCents === undefined ? null : { cents: data.amountCents },
];

const requestColumns = [
  'at',
  'method',
  'route',
  'status',
  'errorCode',
  'key',
  'durationMs',
  'ip',
  'requestId',
  'clientRequestId',
  'operationId',
  'paymentId',
];

const rowOfRequest = (one: ShownRequest): Row => [
  isoOf(one.at),
  one.method,
  one.route,
  String(one.status),
  one.errorCode,
  one.keyName ?? one.keyId,
  String(one.durationMs),
  one.ip,
  one.requestId,
  one.clientRequestId,
  one.operationId,
  one.paymentId,
];

const deliveryColumns = ['eventId', 'type', 'status', 'attempts', 'lastAttemptAt', 'lastResult', 'createdAt'];

const rowOfDelivery = ({ eventId, type, status, attempts, createdAt }: DeliveryRow): Row => {
  const last = attempts.at(-1);
  return [
    eventId,
    type,
    status,
    String(attempts.length),
    last?.at ?? null,
    last === undefined ? null : String(last.statusCode ?? last.error ?? ''),
    isoOf(createdAt),
  ];
};

/**
 * Brazilian spreadsheets want semicolons and a byte order mark; whoever wants something else says so. The first page is
 * read before the file is begun: what it is refused for is an answer, and no broken file.
 */
async function sendCsv(
  { language, query }: { language: Language; query: Static<typeof CsvQuery> },
  reply: FastifyReply,
  name: string,
  columns: readonly string[],
  pages: Pages,
): Promise<FastifyReply> {
  const form = formOf(language, query.separator);
  const bom = query.bom === undefined ? language === 'pt-BR' : query.bom === 'yes';
  const first = await pages.next();
  const linesOf = (rows: readonly Row[]): string => rows.map((row) => csvLine(row, form)).join('');
  async function* text(): AsyncGenerator<string> {
    yield `${bom ? '\ufeff' : ''}${csvLine(columns, form)}`;
    if (!first.done) yield linesOf(first.value);
    for await (const rows of pages) yield linesOf(rows);
  }
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(text()));
}

const formOf = (language: Language, separator: string | undefined): CsvForm => ({
  separator: (separator === undefined ? language === 'pt-BR' : separator === 'semicolon') ? ';' : ',',
});
