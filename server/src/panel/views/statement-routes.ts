import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { mergeInOrder, placesIn, placesText } from '../../operate/statement/merge.ts';
import { periodOf } from '../../operate/statement/period.ts';
import { type NewestPage, readNewest } from '../../operate/statement/statement.ts';
import type { Sql } from '../../ports/sql.ts';
import type { PanelFacts } from '../auth/session.ts';
import { JournalQuery, JournalSchema, StatementQuery, StatementSchema } from '../schema/schema.ts';
import { type ReceiverOf, receiversFor } from './receivers.ts';
import { findJournal, highestSeq } from './records.sql.ts';
import { namesOf, operationsOf, viewOfJournalLine } from './records.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const asks = (needs: PanelFacts['needs']) => ({ api: described, panel: { needs } });

/** The statement as people read it, and the journal behind it. */
export function statementViewRoutes(api: ApiScope, cellOf: CellOf<{ sql: Sql; secrets: Secrets }>): void {
  const tags = ['Panel'];

  api.get(
    '/statement',
    {
      schema: {
        tags,
        summary: 'What changed the balance of one operation or all',
        querystring: StatementQuery,
        response: { 200: StatementSchema },
      },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const { operationId, below, limit = 50, figure, search, amountCents, sums } = query;
      const wanted = { below, limit, summed: sums !== 'none' };
      const deps = cellOf(member);
      const { accountId } = member;
      const ids = [...(await operationsOf(deps, accountId, operationId)).keys()];
      const filter = {
        ...(figure && { figure }),
        ...(search && { search }),
        ...(amountCents && { amountCents }),
      };
      const page = await readNewest(deps, accountId, ids, periodOf(query), wanted, filter);
      const receiverOf = receiversFor(deps.secrets, member.role);
      return {
        ...page,
        lookedBackTo: page.lookedBackTo === null ? null : isoOf(page.lookedBackTo),
        lines: page.lines.map((line) => viewOfLine(line, receiverOf)),
      };
    },
  );

  api.get(
    '/journal',
    {
      schema: {
        tags,
        summary: 'Journal of one operation or all',
        querystring: JournalQuery,
        response: { 200: JournalSchema },
      },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const deps = cellOf(member);
      const { accountId } = member;
      const ids = [...(await operationsOf(deps, accountId, query.operationId)).keys()];
      const limit = query.limit ?? 50;
      const places = query.below === undefined ? null : placesIn(query.below);
      const pieces = await Promise.all(
        ids.map(async (operationId) => {
          const below = places === null ? highestSeq : (places.get(operationId) ?? 0);
          const rows = await findJournal(deps.sql, accountId, operationId, below, limit + 1);
          return { operationId, rows, rest: null };
        }),
      );
      const merged = mergeInOrder(pieces, limit, 'newest');
      const receiverOf = receiversFor(deps.secrets, member.role);
      return {
        lines: merged.rows.map(({ operationId, row }) => ({
          ...viewOfJournalLine(row, receiverOf),
          operationId,
        })),
        nextBelow: placesText(merged.places),
      };
    },
  );
}

const viewOfLine = (
  {
    id,
    operationId,
    at,
    kind,
    cause,
    reason,
    amountCents,
    balanceCents,
    payment,
  }: NewestPage['lines'][number],
  receiverOf: ReceiverOf,
) => ({
  id,
  operationId,
  at: isoOf(at),
  kind,
  cause,
  reason,
  amountCents,
  balanceCents,
  paymentId: payment?.id ?? null,
  payment: payment && namesOf(payment, receiverOf),
});
