import { Readable } from 'node:stream';
import type { ApiScope } from '../../edge/edge.ts';
import { type Cell, csvLine } from '../../ground/csv.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { type DayClose, findClosesOfDay } from '../../operate/closes/closes.sql.ts';
import {
  type ConnectionClose,
  findClosesBelow,
  findClosesOfConnection,
  findConnectionCloses,
} from '../../operate/closes/connection-closes.sql.ts';
import { dayAfter } from '../../operate/closes/day.ts';
import { answersOf, verdictOf } from '../../operate/closes/verdict.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Sql } from '../../ports/sql.ts';
import { consoleConfig } from '../route.ts';
import {
  ClosesFileQuery,
  ClosesQuery,
  ClosesSchema,
  DayParams,
  DaySchema,
  OperationClosesSchema,
  OperationsQuery,
} from './closes.schema.ts';

const tags = ['Operator'];
const closesMost = 60;
const operationsMost = 100;
const rowsPerPage = 500;

export interface ClosesDeps {
  sql: Sql;
  cells: { refresh(): Promise<unknown>; all(): readonly { sql: Sql }[] };
}

type ChainPlace = Pick<DayClose, 'accountId' | 'chainId'>;
const lowest = '00000000-0000-0000-0000-000000000000';
const first: ChainPlace = { accountId: lowest, chainId: lowest };

/** Closed days, as `vintem close` shows them. Nothing is closed and nothing is asked of a provider here. */
export function closesRoutes(api: ApiScope, deps: ClosesDeps): void {
  const { sql } = deps;

  api.get(
    '/closes',
    {
      schema: {
        tags,
        summary: 'Closed days by connection, the newest first',
        querystring: ClosesQuery,
        response: { 200: ClosesSchema },
      },
      config: consoleConfig,
    },
    async ({ query: { connection, below } }) => {
      const [day = '', name = ''] = below?.split('_') ?? [];
      const after = below === undefined ? null : { day, connection: name };
      const rows = await (connection === undefined
        ? findClosesBelow(sql, after, closesMost + 1)
        : findClosesOfConnection(sql, connection, after?.day ?? null, closesMost + 1));
      const shown = rows.slice(0, closesMost);
      const last = shown.at(-1);
      return {
        closes: shown.map(closeView),
        next: rows.length > closesMost && last ? `${last.day}_${last.connection}` : null,
      };
    },
  );

  api.get(
    '/closes/:day',
    {
      schema: {
        tags,
        summary: 'A closed day of every connection, with the ground on which it agrees',
        params: DayParams,
        response: { 200: DaySchema },
      },
      config: consoleConfig,
    },
    async ({ params: { day } }) => {
      const closes = await findConnectionCloses(sql, day);
      if (closes.length === 0) throw new PanelError('not_found');
      return { day, closes: closes.map(detailView) };
    },
  );

  api.get(
    '/closes/:day/operations',
    {
      schema: {
        tags,
        summary: 'A closed day of every operation',
        params: DayParams,
        querystring: OperationsQuery,
        response: { 200: OperationClosesSchema },
      },
      config: consoleConfig,
    },
    async ({ params: { day }, query: { after } }) => {
      await requireClosed(sql, day);
      const [accountId = lowest, chainId = lowest] = after?.split('_') ?? [];
      const rows = await operationsBehind(deps, day, { accountId, chainId }, operationsMost + 1);
      const shown = rows.slice(0, operationsMost);
      const last = shown.at(-1);
      return {
        operations: shown.map(operationView),
        next: rows.length > operationsMost && last ? `${last.accountId}_${last.chainId}` : null,
      };
    },
  );

  closesFiles(api, deps);
}

/** The same as files, read page by page while they are written. */
function closesFiles(api: ApiScope, deps: ClosesDeps): void {
  const fileOf = (name: string) => `attachment; filename="vintem-${name}.csv"`;

  api.get(
    '/closes.csv',
    { schema: { querystring: ClosesFileQuery }, config: {} },
    async ({ query, language }, reply) => {
      const form = { separator: language === 'en' ? (',' as const) : (';' as const), language };
      async function* text(): AsyncGenerator<string> {
        yield csvLine(closeColumns, form);
        for await (const row of closesOf(deps.sql, query)) yield csvLine(closeCells(row), form);
      }
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', fileOf('closes'))
        .send(Readable.from(text()));
    },
  );

  api.get(
    '/closes/:day/operations.csv',
    { schema: { params: DayParams }, config: {} },
    async ({ params: { day }, language }, reply) => {
      await requireClosed(deps.sql, day);
      const form = { separator: language === 'en' ? (',' as const) : (';' as const), language };
      async function* text(): AsyncGenerator<string> {
        yield csvLine(operationColumns, form);
        for (let after = first; ; ) {
          const rows = await operationsBehind(deps, day, after, rowsPerPage);
          for (const row of rows) yield csvLine(operationCells(row), form);
          const last = rows.at(-1);
          if (!last || rows.length < rowsPerPage) return;
          after = last;
        }
      }
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', fileOf(`closes-${day}`))
        .send(Readable.from(text()));
    },
  );
}

async function* closesOf(
  sql: Sql,
  { connection, from, to }: { connection?: string; from?: string; to?: string },
): AsyncGenerator<ConnectionClose> {
  let place = to === undefined ? null : { day: dayAfter(to), connection: '' };
  for (;;) {
    const rows = await (connection === undefined
      ? findClosesBelow(sql, place, rowsPerPage)
      : findClosesOfConnection(sql, connection, place?.day ?? null, rowsPerPage));
    for (const row of rows) {
      if (from !== undefined && row.day < from) return;
      if (to !== undefined && row.day > to) continue;
      yield row;
    }
    const last = rows.at(-1);
    if (!last || rows.length < rowsPerPage) return;
    place = last;
  }
}

/** @throws PanelError `not_found` no connection has a close of that day */
async function requireClosed(sql: Sql, day: string): Promise<void> {
  if ((await findConnectionCloses(sql, day)).length === 0) throw new PanelError('not_found');
}

/** Over all cells, in the order of accounts. */
async function operationsBehind(
  { cells }: ClosesDeps,
  day: string,
  after: ChainPlace,
  most: number,
): Promise<DayClose[]> {
  await cells.refresh();
  const ofCells = await Promise.all(cells.all().map(({ sql }) => findClosesOfDay(sql, day, after, most)));
  return ofCells
    .flat()
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    .slice(0, most);
}

const keyOf = ({ accountId, chainId }: ChainPlace): string => accountId + chainId;

const closeView = (close: ConnectionClose) => ({
  connection: close.connection,
  day: close.day,
  openingCents: close.openingCents,
  inCents: close.inCents,
  outCents: close.outCents,
  refundCents: close.refundCents,
  feeCents: close.feeCents,
  costCents: close.costCents,
  ownInCents: close.ownInCents,
  ownOutCents: close.ownOutCents,
  closingCents: close.closingCents,
  providerCents: close.providerCents,
  differenceCents: close.differenceCents,
  verdict: verdictOf(close),
  incidentId: close.incidentId,
});

const detailView = (close: ConnectionClose) => ({
  ...closeView(close),
  heldCents: close.heldCents,
  blockedCents: close.blockedCents,
  sinceCents: close.sinceCents,
  inTransitCents: close.inTransitCents,
  comparedAt: close.comparedAt === null ? null : isoOf(close.comparedAt),
  closedAt: isoOf(close.closedAt),
  head: close.head.toString('hex'),
  answers: answersOf(close),
});

const operationView = (close: DayClose) => ({
  ownerId: close.accountId,
  operationId: close.chainId,
  openingCents: close.openingCents,
  inCents: close.inCents,
  outCents: close.outCents,
  feeCents: close.feeCents,
  refundCents: close.refundCents,
  holdCents: close.holdCents,
  closingCents: close.closingCents,
});

const closeColumns = [
  ...['day', 'connection', 'opening', 'in', 'out', 'refunds', 'closing', 'fees', 'costs', 'ownIn', 'ownOut'],
  ...[
    'blocked',
    'since',
    'inTransit',
    'provider',
    'difference',
    'verdict',
    'incident',
    'comparedAt',
    'closedAt',
    'hash',
  ],
];

const cents = (amount: number | null): Cell => (amount === null ? null : { cents: amount });

const closeCells = (one: ConnectionClose): Cell[] => [
  one.day,
  one.connection,
  ...[one.openingCents, one.inCents, one.outCents, one.refundCents, one.closingCents, one.feeCents].map(
    cents,
  ),
  ...[
    one.costCents,
    one.ownInCents,
    one.ownOutCents,
    one.blockedCents,
    one.sinceCents,
    one.inTransitCents,
  ].map(cents),
  ...[one.providerCents, one.differenceCents].map(cents),
  verdictOf(one),
  one.incidentId,
  one.comparedAt === null ? null : { at: one.comparedAt },
  { at: one.closedAt },
  one.head.toString('hex'),
];

const operationColumns = [
  ...['day', 'account', 'operation', 'opening', 'in', 'out', 'fees', 'refunds', 'holds', 'closing', 'hash'],
];

const operationCells = (one: DayClose): Cell[] => [
  one.day,
  one.accountId,
  one.chainId,
  ...[one.openingCents, one.inCents, one.outCents, one.feeCents, one.refundCents, one.holdCents].map(cents),
  cents(one.closingCents),
  one.head.toString('hex'),
];
