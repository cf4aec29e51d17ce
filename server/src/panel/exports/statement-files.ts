import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { ApiScope, CellOf } from '../../edge/edge.ts';
import { refuse } from '../../ground/errors.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { ofxOf } from '../../operate/statement/ofx.ts';
import { statementPdf } from '../../operate/statement/pdf.ts';
import { periodOf, withinMonth } from '../../operate/statement/period.ts';
import { findNames } from '../../operate/statement/statement.sql.ts';
import { mostJournals, openStretch, type Stretch } from '../../operate/statement/statement.ts';
import { nameOf, type PartyOf } from '../../operate/statement/words.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findLetterhead } from '../../store/rows/profile.sql.ts';
import { StatementCsvQuery, StatementFileQuery } from '../schema/schema.ts';
import { receiversFor, receiverText } from '../views/receivers.ts';
import { operationsOf } from '../views/records.ts';
import { fileName } from './file-name.ts';
import { languageOf, type Pages, sendCsv } from './send-csv.ts';

type Query = Static<typeof StatementFileQuery>;
type FileRequest = Pick<FastifyRequest, 'member'> & {
  language: FastifyRequest['language'];
  query: Omit<Query, 'operationId'> & { operationId?: string };
};
type Ending = 'csv' | 'ofx' | 'pdf';

/** A month of a busy shop: 10,000 transfers are 20,000 journals. */
const mostOf: Record<Ending, number> = { ...mostJournals, ofx: 50_000, pdf: 25_000 };

/** The statement of a period as files for people, with the receivers that the API's own do not name. */
interface FileDeps {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  papers: Papers;
}

export function statementFileRoutes(api: ApiScope, cellOf: CellOf<FileDeps>): void {
  const schema = { querystring: StatementFileQuery };
  const config = { panel: { needs: 'read' } } as const;

  api.get(
    '/statement.csv',
    { schema: { querystring: StatementCsvQuery }, config },
    async (request, reply) => {
      const deps = cellOf(request);
      const { member, query } = request;
      const operations = await operationsOf(deps, member.accountId, query.operationId);
      const files = await Promise.all(
        [...operations].map(async ([operationId, operationName]) => ({
          operationName,
          ...(await open(deps, request, { ...query, operationId }, 'csv')),
        })),
      );
      const [first] = files;
      if (!first) throw refuse('operation_not_found');
      return sendCsv(deps.papers, request, reply, first.name, columns, rowsOf(files));
    },
  );

  api.get('/statement.ofx', { schema, config }, async (request, reply) => {
    const deps = cellOf(request);
    const { stretch, partyOf, name, fromMs, toMs } = await open(deps, request, request.query, 'ofx');
    const { operationId } = request.query;
    const nowMs = deps.clock.now();
    const facts = { operationId, fromMs, toMs, nowMs, language: languageOf(request), partyOf };
    return reply
      .type('application/x-ofx')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(await deps.papers.text(request.member.accountId, ofxOf(stretch, facts)));
  });

  api.get('/statement.pdf', { schema, config }, async (request, reply) => {
    const deps = cellOf(request);
    const { stretch, partyOf, name, names, fromMs, toMs } = await open(deps, request, request.query, 'pdf');
    const letterhead = await findLetterhead(deps.sql, request.member.accountId);
    const facts = { ...names, fromMs, toMs, language: languageOf(request), partyOf, letterhead };
    return reply
      .type('application/pdf')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(await statementPdf(deps.papers, request.member.accountId, stretch, facts));
  });
}

async function open(deps: FileDeps, request: FileRequest, query: Query, ending: Ending) {
  const { member } = request;
  const scope = { accountId: member.accountId, operationId: query.operationId };
  const names = await findNames(deps.sql, scope);
  if (!names) throw refuse('operation_not_found');
  const now = deps.clock.now();
  const period = withinMonth(periodOf(query), now);
  const stretch = await openStretch(deps, scope, period, mostOf[ending]);
  // A file never speaks of the future, but one of a period that has not begun is still a period.
  const toMs = Math.max(Math.min(period.toMs ?? now, now), period.fromMs + 1);
  const receiverOf = receiversFor(deps.secrets, member.role);
  const partyOf: PartyOf = (payment) =>
    payment.payerName ?? receiverText(payment.receiver, payment.pixKeyType, receiverOf(payment));
  const { accountName, operationName } = names;
  const [from, to] = [period.fromMs, toMs].map((ms) => new Date(ms).toISOString());
  const name = fileName(
    {
      accountName,
      operationName: request.query.operationId ? operationName : null,
      kind: 'statement',
      from,
      to,
      now,
    },
    languageOf(request),
    ending,
  );
  return { stretch, partyOf, name, names, fromMs: period.fromMs, toMs };
}

const columns = [
  'at',
  'entry',
  'party',
  'description',
  'amount',
  'balanceAfter',
  'endToEnd',
  'paymentId',
  'id',
  'operation',
] as const;

interface File {
  operationName: string;
  stretch: Stretch;
  partyOf: PartyOf;
}

/** One operation behind the other: a balance is read downwards. */
async function* rowsOf(files: readonly File[]): Pages {
  // An empty period is a file with its header.
  yield [];
  for (const { operationName, stretch, partyOf } of files) {
    for await (const lines of stretch.pages(500)) {
      yield lines.map(({ id, at, kind, cause, payment, amountCents, balanceCents }) => [
        { at },
        { code: cause ? `${kind}_${cause}` : kind, pt: nameOf({ kind, cause })['pt-BR'] },
        payment && partyOf(payment),
        payment?.description ?? null,
        { cents: amountCents },
        { cents: balanceCents },
        payment?.endToEnd ?? null,
        payment?.id ?? null,
        id,
        operationName,
      ]);
    }
  }
}
