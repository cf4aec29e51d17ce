import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listEvents } from '../events/log.ts';
import type { ApiScope } from '../http/edge.ts';
import type { Language } from '../http/errors.ts';
import { listKeys } from '../keys/keys.ts';
import { isoOf } from '../payments/view.ts';
import { listRequests } from '../request-log/list.ts';
import type { ShownRequest } from '../request-log/request-log.sql.ts';
import { listIncidents } from '../settlement/incident.ts';
import { listDeliveries } from '../webhooks/deliveries.ts';
import type { WebhooksHouse } from '../webhooks/endpoints.ts';
import { WebhookParams } from '../webhooks/schema.ts';
import { type Cell, type CsvForm, csvLine } from './csv.ts';
import type { PanelHouse } from './house.ts';
import { findMembers } from './members.sql.ts';
import { findBalances } from './overview.sql.ts';
import { findStatement, highestSeq } from './records.sql.ts';
import { everyRecord, operationsOf, viewOfLine, viewOfRecord } from './records.ts';
import { requestFilterOf } from './request-routes.ts';
import { CsvQuery, EventCsvQuery, RecordCsvQuery, RequestCsvQuery, StatementCsvQuery } from './schema.ts';

type Row = readonly Cell[];

/** Rows of one page. No snapshot is held from one to the next, and no more than a page is in memory. */
type Pages = AsyncGenerator<Row[]>;

const pageRows = 500;

/** Every list of the panel as a file for spreadsheets, with the filters of the page that it stands on. */
export function exportRoutes(api: ApiScope, house: PanelHouse & WebhooksHouse): void {
  const { sql } = house;
  const reads = { panel: { needs: 'read' } } as const;

  api.get(
    '/records.csv',
    { schema: { querystring: RecordCsvQuery }, config: reads },
    async (request, reply) => {
      const { member, query, language } = request;
      const { separator, bom, ...filters } = query;
      const names = await operationsOf(house, member.accountId, query.operationId);
      return sendCsv(request, reply, 'pagamentos', query, recordColumns, records());
      async function* records(): Pages {
        for await (const page of everyRecord(house, member, filters))
          yield page.map((payment) => rowOfRecord(viewOfRecord(payment, language), names));
      }
    },
  );

  api.get(
    '/statement.csv',
    { schema: { querystring: StatementCsvQuery }, config: reads },
    async (request, reply) => {
      const { member, query } = request;
      await operationsOf(house, member.accountId, query.operationId);
      return sendCsv(request, reply, 'extrato', query, lineColumns, lines());
      async function* lines(): Pages {
        for (let below = highestSeq, more = true; more; ) {
          const page = await findStatement(sql, member.accountId, query.operationId, below, pageRows);
          yield page.map(viewOfLine).map(rowOfLine);
          more = page.length === pageRows;
          below = page.at(-1)?.seq ?? 0;
        }
      }
    },
  );

  api.get('/operations.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) =>
    sendCsv(
      request,
      reply,
      'operacoes',
      request.query,
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
      const log = { ...house, cursorKey: house.secrets.derive('panel cursors') };
      return sendCsv(request, reply, 'eventos', request.query, eventColumns, events());
      async function* events(): Pages {
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const page = { ...filters, limit: pageRows, ...(cursor === undefined ? {} : { cursor }) };
          const listed = await listEvents(log, request.caller, page);
          yield listed.events.map(({ body }) => rowOfEvent(JSON.parse(body) as EventBody));
          cursor = listed.nextCursor;
        }
      }
    },
  );

  api.get(
    '/requests.csv',
    { schema: { querystring: RequestCsvQuery }, config: reads },
    async (request, reply) => {
      const log = { ...house, cursorKey: house.secrets.derive('panel cursors') };
      const { member, query } = request;
      return sendCsv(request, reply, 'requisicoes', query, requestColumns, requests());
      async function* requests(): Pages {
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const page = { cursor, limit: pageRows };
          const listed = await listRequests(log, member.accountId, requestFilterOf(query), page);
          yield listed.requests.map(rowOfRequest);
          cursor = listed.nextCursor;
        }
      }
    },
  );

  api.get(
    '/webhooks/:id/deliveries.csv',
    {
      schema: { params: WebhookParams, querystring: CsvQuery },
      config: { panel: { needs: 'webhooks' } },
    },
    async (request, reply) => {
      const { id } = request.params;
      // The first page tells a stranger's endpoint before a file is begun.
      let listed = await listDeliveries(house, request.caller, id, { limit: pageRows });
      return sendCsv(request, reply, 'entregas', request.query, deliveryColumns, deliveries());
      async function* deliveries(): Pages {
        for (;;) {
          yield listed.deliveries.map(({ eventId, type, status, attempts, createdAt }) => {
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
          });
          if (listed.nextCursor === null) return;
          const page = { limit: pageRows, cursor: listed.nextCursor };
          listed = await listDeliveries(house, request.caller, id, page);
        }
      }
    },
  );

  api.get('/keys.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) =>
    sendCsv(
      request,
      reply,
      'chaves',
      request.query,
      ['id', 'name', 'permissions', 'addresses', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'],
      onePage(
        (await listKeys(house, request.member.accountId)).map((key) => [
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
        request.query,
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
      request.query,
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
        (await listIncidents(house, request.member.accountId)).map((one) => [
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

/** Brazilian spreadsheets want semicolons and a byte order mark; whoever wants something else says so. */
function sendCsv(
  { language }: FastifyRequest,
  reply: FastifyReply,
  name: string,
  asked: { separator?: string | undefined; bom?: string | undefined },
  columns: readonly string[],
  pages: Pages,
): FastifyReply {
  const form = formOf(language, asked.separator);
  const bom = asked.bom === undefined ? language === 'pt-BR' : asked.bom === 'yes';
  async function* text(): AsyncGenerator<string> {
    yield `${bom ? '\ufeff' : ''}${csvLine(columns, form)}`;
    for await (const rows of pages) yield rows.map((row) => csvLine(row, form)).join('');
  }
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(text()));
}

const formOf = (language: Language, separator: string | undefined): CsvForm => ({
  separator: (separator === undefined ? language === 'pt-BR' : separator === 'semicolon') ? ';' : ',',
});
