import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { csvLine } from '../../ground/csv.ts';
import type { Language } from '../../ground/errors.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { type AuditPlace, type ExportedAudit, findAuditBelow } from '../../operate/find.sql.ts';
import type { Sql } from '../../ports/sql.ts';
import { formIn } from '../csv.ts';
import { consoleConfig } from '../route.ts';
import { AuditFileQuery, AuditQuery, AuditSchema } from '../schema.ts';

const tags = ['Operator'];

export interface AuditDeps {
  cells: { refresh(): Promise<unknown>; all(): readonly { sql: Sql }[] };
}

type Filters = Static<typeof AuditFileQuery>;

/** Of each cell at a time. */
const rowsPerPage = 200;
/** For one answer of the page: a filter that fits nothing reads no further, and the next page continues there. */
const pagesMost = 10;
const shownMost = 50;

/** Who did what: operators, people of the accounts and rules, over all accounts and cells; to those who do not read the log, what they did themselves. */
export function auditRoutes(api: ApiScope, deps: AuditDeps): void {
  const facts = { tags, querystring: AuditQuery, response: { 200: AuditSchema } };

  api.get(
    '/audit',
    { schema: { ...facts, summary: 'The audit log, the newest first' }, config: consoleConfig },
    ({ query }) => pageOf(deps, query, query.below),
  );

  api.get(
    '/audit/own',
    { schema: { ...facts, summary: 'What the caller did, the newest first' }, config: consoleConfig },
    ({ query, operator: { email } }) => pageOf(deps, { ...query, actor: email }, query.below),
  );

  api.get(
    '/audit.csv',
    { schema: { querystring: AuditFileQuery }, config: {} },
    ({ query, language }, reply) => sendFile(deps, reply, language, query),
  );

  api.get(
    '/audit/own.csv',
    { schema: { querystring: AuditFileQuery }, config: {} },
    ({ query, language, operator: { email } }, reply) =>
      sendFile(deps, reply, language, { ...query, actor: email }),
  );
}

async function pageOf(deps: AuditDeps, wanted: Filters, below: string | undefined) {
  const entries: ExportedAudit[] = [];
  let looked = 0;
  let next: string | null = null;
  for await (const page of pagesOf(deps, wanted.ownerId ?? null, placeOf(below))) {
    for (const row of page) {
      next = cursorOf(row);
      if (fits(row, wanted)) entries.push(row);
      if (entries.length === shownMost) break;
    }
    if (entries.length === shownMost || ++looked === pagesMost) break;
    if (page.length < rowsPerPage) next = null;
  }
  return { entries: entries.map(viewOf), next };
}

function sendFile(deps: AuditDeps, reply: FastifyReply, language: Language, wanted: Filters): FastifyReply {
  const form = formIn(language);
  async function* text(): AsyncGenerator<string> {
    yield csvLine(columns, form);
    for await (const page of pagesOf(deps, wanted.ownerId ?? null, null))
      for (const row of page) if (fits(row, wanted)) yield csvLine(cellsOf(row), form);
  }
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', 'attachment; filename="vintem-audit.csv"')
    .send(Readable.from(text()));
}

const fits = ({ actor, action }: ExportedAudit, wanted: Filters): boolean =>
  (wanted.actor === undefined || actor === wanted.actor) &&
  (wanted.action === undefined || action === wanted.action);

/** The rows of all cells in one order, the newest first. */
async function* pagesOf(
  { cells }: AuditDeps,
  ownerId: string | null,
  from: AuditPlace | null,
): AsyncGenerator<ExportedAudit[]> {
  await cells.refresh();
  const all = cells.all();
  for (let below = from; ; ) {
    const ofCells = await Promise.all(all.map(({ sql }) => findAuditBelow(sql, ownerId, below, rowsPerPage)));
    const page = ofCells.flat().sort(newestFirst).slice(0, rowsPerPage);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < rowsPerPage) return;
    below = last;
  }
}

const newestFirst = (one: AuditPlace, other: AuditPlace): number =>
  other.at - one.at || (one.id < other.id ? 1 : -1);

const cursorOf = ({ at, id }: AuditPlace): string => `${at}_${id}`;

function placeOf(cursor: string | undefined): AuditPlace | null {
  if (cursor === undefined) return null;
  const [at = '', id = ''] = cursor.split('_');
  return { at: Number(at), id };
}

const viewOf = ({ at, chainedMs, cell: _, detail, ...row }: ExportedAudit) => ({
  ...row,
  at: isoOf(at),
  chainedAt: chainedMs === null ? null : isoOf(chainedMs),
  detail: JSON.stringify(detail),
});

const columns = ['at', 'who', 'did', 'to', 'account', 'reason', 'detail', 'seq', 'chainedAt', 'hash', 'id'];

const cellsOf = (row: ExportedAudit) => [
  { at: row.at },
  row.actor,
  row.action,
  row.subject,
  row.ownerId,
  row.reason,
  JSON.stringify(row.detail),
  row.seq === null ? null : String(row.seq),
  row.chainedMs === null ? null : { at: row.chainedMs },
  row.hash,
  row.id,
];
