import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { ListedKey } from '../../api/keys/keys.sql.ts';
import { listKeys } from '../../api/keys/keys.ts';
import { listDeliveries } from '../../api/webhooks/deliveries.ts';
import type { WebhooksDeps } from '../../api/webhooks/endpoints.ts';
import { WebhookParams } from '../../api/webhooks/schema.ts';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { listRequests } from '../../edge/request-log/list.ts';
import type { ShownRequest } from '../../edge/request-log/request-log.sql.ts';
import { listEvents } from '../../events/log.ts';
import type { DeliveryRow } from '../../events/webhooks/deliveries.sql.ts';
import type { Cell } from '../../ground/csv.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { IdParams } from '../../ground/schema.ts';
import { textOfDocuments } from '../../money/fiscal-documents.ts';
import { endedWithoutMoney, type PaymentKind, type PaymentStatus } from '../../money/payment.ts';
import { type DayClose, findClosesOf } from '../../operate/closes/closes.sql.ts';
import { closesPdf } from '../../operate/closes/pdf.ts';
import { type IncidentView, listIncidents } from '../../operate/incidents/incident.ts';
import { startOfDay } from '../../operate/statement/period.ts';
import type { Clock } from '../../ports/clock.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { findMembers, type ListedMember } from '../people/members.sql.ts';
import {
  ClosesCsvQuery,
  ClosesFileQuery,
  CsvQuery,
  EventCsvQuery,
  JournalCsvQuery,
  RecordCsvQuery,
  RequestCsvQuery,
  SourceCsvQuery,
} from '../schema/schema.ts';
import { listRecords } from '../views/list-records.ts';
import { type BalanceRow, findBalances } from '../views/overview.sql.ts';
import { receiversFor } from '../views/receivers.ts';
import { findJournal, highestSeq } from '../views/records.sql.ts';
import { marksOf, operationsOf, type RecordDeps, viewOfJournalLine, viewOfRecord } from '../views/records.ts';
import { requestFilterOf } from '../views/request-routes.ts';
import { recordsOf, sourceOf, sources } from '../views/source-routes.ts';
import {
  actionCell,
  deliveryCell,
  incidentCell,
  keyTypeCell,
  kindCell,
  marksCell,
  movementCell,
  permissionsCell,
  reasonCell,
  roleCell,
  stateCell,
  statusCell,
  yesNoCell,
} from './csv-words.ts';
import { type FileKind, fileName } from './file-name.ts';
import { languageOf, type Pages, type Row, sendCsv } from './send-csv.ts';

const pageRows = 500;
const reads = { panel: { needs: 'read' } } as const;

/** Every list of the panel as a file for spreadsheets, with the filters of the page that it stands on. */
type FileDeps = RecordDeps & { papers: Papers };

export function exportRoutes(api: ApiScope, cellOf: CellOf<FileDeps & WebhooksDeps>): void {
  moneyFiles(api, cellOf);
  closesFile(api, cellOf);
  closesPaper(api, cellOf);
  for (const source of sources) sourceFile(api, cellOf, source);
  logFiles(api, cellOf);
  deliveryFile(api, cellOf);
  accountFiles(api, cellOf);
}

/** Payments, journals and balances. */
function moneyFiles(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  api.get(
    '/records.csv',
    { schema: { querystring: RecordCsvQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query } = request;
      const { language: _language, separator, bom, ...filters } = query;
      const receiverOf = receiversFor(deps.secrets, member.role);
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const pages = pagesOf<string>(async (page) => {
        const { records, nextCursor } = await listRecords(deps, member, filters, page);
        const marked = await marksOf(deps.sql, member.accountId, records);
        return {
          rows: records.map((one) => rowOfRecord(viewOfRecord(one, 'en', receiverOf), marked(one), names)),
          nextCursor,
        };
      });
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, recordFile(filters.kind), filters, names),
        recordColumns,
        pages,
      );
    },
  );

  api.get(
    '/journal.csv',
    { schema: { querystring: JournalCsvQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query } = request;
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const receiverOf = receiversFor(deps.secrets, member.role);
      // One operation behind the other: a balance is read downwards.
      async function* lines(): Pages {
        for (const [operationId, operationName] of names)
          yield* pagesOf<number>(async ({ limit, cursor: below = highestSeq }) => {
            const page = await findJournal(deps.sql, member.accountId, operationId, below, limit);
            const last = page.length === limit ? page.at(-1) : undefined;
            return {
              rows: page.map((line) => [...rowOfLine(viewOfJournalLine(line, receiverOf)), operationName]),
              nextCursor: last?.seq ?? null,
            };
          });
      }
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, 'journal', query, names),
        lineColumns,
        lines(),
      );
    },
  );

  api.get('/operations.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) => {
    const deps = cellOf(request);
    return sendCsv(
      deps.papers,
      request,
      reply,
      nameOf(deps, request, 'operations'),
      operationColumns,
      onePage((await findBalances(deps.sql, request.member.accountId)).map(rowOfOperation)),
    );
  });
}

/** Closed days, newest first: of a month, or all. */
function closesFile(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  api.get(
    '/closes.csv',
    { schema: { querystring: ClosesCsvQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query } = request;
      const { accountId } = member;
      const names = await operationsOf(deps, accountId, query.operationId);
      const span = query.month === undefined ? null : daysOfMonth(query.month);
      // One operation behind the other: each day begins with what the day before left.
      async function* days(): Pages {
        for (const [operationId, operationName] of names)
          yield* pagesOf<string>(async ({ limit, cursor = span?.behind ?? null }) => {
            const found = await findClosesOf(deps.sql, { accountId, operationId }, cursor, limit);
            const shown = span === null ? found : found.filter(({ day }) => day >= span.first);
            const more = found.length === limit && shown.length === found.length;
            return {
              rows: shown.map((close) => rowOfClose(close, operationName)),
              nextCursor: more ? (shown.at(-1)?.day ?? null) : null,
            };
          });
      }
      const period = span === null ? {} : { from: startOf(span.first), to: startOf(span.behind) };
      const name = nameOf(deps, request, 'closes', { ...query, ...period }, names);
      return sendCsv(deps.papers, request, reply, name, closeColumns, days());
    },
  );
}

/** The closed days of a month, on paper. */
function closesPaper(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  api.get(
    '/closes.pdf',
    { schema: { querystring: ClosesFileQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { accountId, accountName } = request.member;
      const { month, operationId } = request.query;
      const { first, behind } = daysOfMonth(month);
      const names = await operationsOf(deps, accountId, operationId);
      const months = await Promise.all(
        [...names].map(async ([id, operationName]) => {
          const found = await findClosesOf(deps.sql, { accountId, operationId: id }, behind, 31);
          return { operationName, closes: found.filter(({ day }) => day >= first).toReversed() };
        }),
      );
      const letterhead = await findLetterhead(deps.sql, accountId);
      const { test } = request.caller;
      const facts = { accountName, test, month, language: languageOf(request), letterhead };
      const filters = { ...request.query, from: startOf(first), to: startOf(behind) };
      const name = nameOf(deps, request, 'closes', filters, names, 'pdf');
      return reply
        .type('application/pdf')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(await closesPdf(deps.papers, accountId, months, facts));
    },
  );
}

/** The first day of a month, and the one behind its last. */
function daysOfMonth(month: string): { first: string; behind: string } {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return { first: `${month}-01`, behind: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) };
}

const startOf = (day: string): string => new Date(startOfDay(day)).toISOString();

const closeColumns = [
  'day',
  'opening',
  'in',
  'out',
  'fees',
  'refunds',
  'holds',
  'closing',
  'seq',
  'hash',
  'operation',
] as const;

/** Money that goes out is negative, so that a line adds up from its opening to its closing. */
const rowOfClose = (close: DayClose, operationName: string): Row => [
  close.day,
  { cents: close.openingCents },
  { cents: close.inCents },
  { cents: 0 - close.outCents },
  { cents: 0 - close.feeCents },
  { cents: 0 - close.refundCents },
  { cents: 0 - close.holdCents },
  { cents: close.closingCents },
  String(close.closingSeq),
  close.head.toString('hex'),
  operationName,
];

/** The charges of a payment link or a static code. */
function sourceFile(api: ApiScope, cellOf: CellOf<FileDeps>, source: (typeof sources)[number]): void {
  api.get(
    `/${source.path}/:id/records.csv`,
    {
      schema: { params: IdParams('What the charges come from'), querystring: SourceCsvQuery },
      config: reads,
    },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query, params } = request;
      const of = await sourceOf(deps, request, source, params.id);
      const receiverOf = receiversFor(deps.secrets, member.role);
      const names = await operationsOf(deps, member.accountId, query.operationId);
      const pages = pagesOf<string>(async (page) => {
        const { records, nextCursor } = await recordsOf(deps, of, page);
        const marked = await marksOf(deps.sql, member.accountId, records);
        return {
          rows: records.map((one) => rowOfRecord(viewOfRecord(one, 'en', receiverOf), marked(one), names)),
          nextCursor,
        };
      });
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, 'charges', query, names),
        recordColumns,
        pages,
      );
    },
  );
}

/** Events and requests. */
function logFiles(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  api.get(
    '/events.csv',
    { schema: { querystring: EventCsvQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { language: _language, separator, bom, ...filters } = request.query;
      const pages = pagesOf<string>(async (page) => {
        const { events, nextCursor } = await listEvents(deps, request.caller, { ...filters, ...page });
        return { rows: events.map(({ body }) => rowOfEvent(JSON.parse(body) as EventBody)), nextCursor };
      });
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, 'events', { from: filters.createdFrom, to: filters.createdTo }),
        eventColumns,
        pages,
      );
    },
  );

  api.get(
    '/requests.csv',
    { schema: { querystring: RequestCsvQuery }, config: reads },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query } = request;
      const pages = pagesOf<string>(async (page) => {
        const listed = await listRequests(deps, member.accountId, requestFilterOf(query), page);
        return { rows: listed.requests.map(rowOfRequest), nextCursor: listed.nextCursor };
      });
      return sendCsv(deps.papers, request, reply, nameOf(deps, request, 'requests'), requestColumns, pages);
    },
  );
}

function deliveryFile(api: ApiScope, cellOf: CellOf<FileDeps & WebhooksDeps>): void {
  api.get(
    '/webhooks/:id/deliveries.csv',
    {
      schema: { params: WebhookParams, querystring: CsvQuery },
      config: { panel: { needs: 'webhooks' } },
    },
    async (request, reply) => {
      const deps = cellOf(request);
      const pages = pagesOf<string>(async (page) => {
        const listed = await listDeliveries(deps, request.caller, request.params.id, page);
        return { rows: listed.deliveries.map(rowOfDelivery), nextCursor: listed.nextCursor };
      });
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, 'deliveries'),
        deliveryColumns,
        pages,
      );
    },
  );
}

/** Keys, people and incidents: each list is one page. */
function accountFiles(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  api.get('/keys.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) => {
    const deps = cellOf(request);
    return sendCsv(
      deps.papers,
      request,
      reply,
      nameOf(deps, request, 'keys'),
      keyColumns,
      onePage((await listKeys(deps, request.member.accountId)).map(rowOfKey)),
    );
  });

  api.get(
    '/members.csv',
    { schema: { querystring: CsvQuery }, config: { panel: { needs: 'members' } } },
    async (request, reply) => {
      const deps = cellOf(request);
      return sendCsv(
        deps.papers,
        request,
        reply,
        nameOf(deps, request, 'people'),
        memberColumns,
        onePage((await findMembers(deps.sql, request.member.accountId)).map(rowOfMember)),
      );
    },
  );

  api.get('/incidents.csv', { schema: { querystring: CsvQuery }, config: reads }, async (request, reply) => {
    const deps = cellOf(request);
    return sendCsv(
      deps.papers,
      request,
      reply,
      nameOf(deps, request, 'incidents'),
      incidentColumns,
      onePage((await listIncidents(deps, request.member.accountId)).map(rowOfIncident)),
    );
  });
}

function nameOf(
  deps: { clock: Clock },
  request: FastifyRequest<{ Querystring: Static<typeof CsvQuery> }>,
  kind: FileKind,
  filters: { from?: string | undefined; to?: string | undefined; operationId?: string } = {},
  names?: ReadonlyMap<string, string>,
  ending: 'csv' | 'pdf' = 'csv',
): string {
  const { from, to, operationId } = filters;
  const operationName = (operationId !== undefined && names?.get(operationId)) || null;
  const { accountName } = request.member;
  return fileName(
    { accountName, operationName, kind, from, to, now: deps.clock.now() },
    languageOf(request),
    ending,
  );
}

const instant = (at: string | number | null | undefined): Cell =>
  at === null || at === undefined ? null : { at };

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

const recordFile = (kind: 'deposit' | 'transfer' | undefined): FileKind =>
  kind === undefined ? 'payments' : kind === 'deposit' ? 'charges' : 'transfers';

/** Neither for what ended without money: no fee was taken and nothing was sent or received. */
function feeAndNet({
  status,
  feeCents,
  providerFeeCents,
  netAmountCents,
}: ReturnType<typeof viewOfRecord>): [Cell, Cell] {
  if (endedWithoutMoney(status)) return [null, null];
  const taken = providerFeeCents ?? feeCents;
  return [
    taken === null ? null : { cents: taken },
    netAmountCents === undefined ? null : { cents: netAmountCents },
  ];
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
  'receiver',
  'receiverKey',
  'receiverKeyType',
  'description',
  'reason',
  'endToEnd',
  'requestKey',
  'metadata',
  'fiscalDocuments',
  'refunded',
  'debited',
  'marks',
] as const;

const rowOfRecord = (
  record: ReturnType<typeof viewOfRecord>,
  { marks, debitedCents }: ReturnType<Awaited<ReturnType<typeof marksOf>>>,
  names: ReadonlyMap<string, string>,
): Row => [
  record.id,
  kindCell(record.kind),
  statusCell(record.status, record.kind),
  { at: record.createdAt },
  instant(record.settledAt),
  { cents: record.amountCents },
  ...feeAndNet(record),
  names.get(record.operationId) ?? '',
  record.payerName,
  record.receiver?.name ?? null,
  record.pixKey,
  keyTypeCell(record.pixKeyType),
  record.description,
  reasonCell(record.reasonCode ?? null),
  record.endToEnd ?? null,
  record.requestKey,
  record.metadata ? JSON.stringify(record.metadata) : null,
  textOfDocuments(record.fiscalDocuments),
  { cents: record.refundedCents ?? 0 },
  { cents: debitedCents },
  marksCell(marks),
];

const lineColumns = [
  'seq',
  'postedAt',
  'kind',
  'payer',
  'receiver',
  'receiverKey',
  'receiverKeyType',
  'description',
  'available',
  'reserved',
  'held',
  'balanceAfter',
  'paymentId',
  'operation',
] as const;

const rowOfLine = ({ payment, ...line }: ReturnType<typeof viewOfJournalLine>): Row => [
  String(line.seq),
  { at: line.postedAt },
  movementCell(line.template),
  payment?.payerName ?? null,
  payment?.receiver?.name ?? null,
  payment?.pixKey ?? null,
  keyTypeCell(payment?.pixKeyType ?? null),
  payment?.description ?? null,
  { cents: line.availableCents },
  { cents: line.reservedCents },
  { cents: line.heldCents },
  { cents: line.balanceAfterCents },
  payment && line.paymentId,
];

const operationColumns = [
  'id',
  'name',
  'main',
  'available',
  'reserved',
  'held',
  'receivable',
  'createdAt',
] as const;

const rowOfOperation = (one: BalanceRow): Row => [
  one.id,
  one.name,
  yesNoCell(one.main),
  { cents: one.availableCents },
  { cents: one.reservedCents },
  { cents: one.heldCents },
  { cents: one.receivableCents },
  { at: one.createdAt },
];

const eventColumns = ['id', 'type', 'timestamp', 'operationId', 'subject', 'status', 'amount'] as const;

/** The fields of every payload, and further ones of payments. */
interface EventBody {
  id: string;
  type: string;
  timestamp: string;
  data: {
    operationId: string;
    id?: string;
    kind?: PaymentKind;
    status?: PaymentStatus;
    amountCents?: number;
  };
}

const rowOfEvent = ({ id, type, timestamp, data }: EventBody): Row => [
  id,
  type,
  { at: timestamp },
  data.operationId,
  data.id ?? null,
  data.status && data.kind ? statusCell(data.status, data.kind) : (data.status ?? null),
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
] as const;

const rowOfRequest = (one: ShownRequest): Row => [
  { at: one.at },
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

const deliveryColumns = [
  'eventId',
  'type',
  'status',
  'attempts',
  'lastAttemptAt',
  'lastResult',
  'createdAt',
] as const;

const rowOfDelivery = ({ eventId, type, status, attempts, createdAt }: DeliveryRow): Row => {
  const last = attempts.at(-1);
  return [
    eventId,
    type,
    deliveryCell(status),
    String(attempts.length),
    instant(last?.at),
    last === undefined ? null : String(last.statusCode ?? last.error ?? ''),
    { at: createdAt },
  ];
};

const keyColumns = [
  'id',
  'name',
  'permissions',
  'addresses',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
] as const;

const rowOfKey = (key: ListedKey): Row => [
  key.id,
  key.name,
  permissionsCell(key.permissions),
  key.ips.join(' '),
  { at: key.createdAt },
  instant(key.expiresAt),
  instant(key.revokedAt),
  instant(key.lastUsedAt),
];

const memberColumns = ['name', 'email', 'role', 'secondFactor', 'createdAt'] as const;

const rowOfMember = (one: ListedMember): Row => [
  one.name,
  one.email,
  roleCell(one.role),
  yesNoCell(one.twoFactorEnabled || one.passkeys > 0),
  { at: one.createdAt },
];

const incidentColumns = [
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
] as const;

const rowOfIncident = (one: IncidentView): Row => [
  one.id,
  incidentCell(one.kind),
  stateCell(one.state),
  { cents: one.amountCents },
  one.paymentId,
  one.operationId,
  { at: one.openedAt },
  instant(one.resolvedAt),
  actionCell(one.resolution?.action ?? null),
  one.resolution?.reason ?? null,
];
