import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Line } from '../../operate/statement/line.ts';
import { periodOf } from '../../operate/statement/period.ts';
import { readNewest } from '../../operate/statement/statement.ts';
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
        summary: 'What changed the balance of an operation',
        querystring: StatementQuery,
        response: { 200: StatementSchema },
      },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const { operationId, below, limit = 50 } = query;
      const deps = cellOf(member);
      await operationsOf(deps, member.accountId, operationId);
      const scope = { accountId: member.accountId, operationId };
      const page = await readNewest(deps, scope, periodOf(query), { below, limit });
      const receiverOf = receiversFor(deps.secrets, member.role);
      return { ...page, lines: page.lines.map((line) => viewOfLine(line, receiverOf)) };
    },
  );

  api.get(
    '/journal',
    {
      schema: {
        tags,
        summary: 'Journal of an operation',
        querystring: JournalQuery,
        response: { 200: JournalSchema },
      },
      config: asks('read'),
    },
    async ({ member, query }) => {
      const deps = cellOf(member);
      await operationsOf(deps, member.accountId, query.operationId);
      const limit = query.limit ?? 50;
      const lines = await findJournal(
        deps.sql,
        member.accountId,
        query.operationId,
        query.below ?? highestSeq,
        limit + 1,
      );
      const more = lines.length > limit;
      if (more) lines.pop();
      const receiverOf = receiversFor(deps.secrets, member.role);
      return {
        lines: lines.map((line) => viewOfJournalLine(line, receiverOf)),
        nextBelow: more ? (lines.at(-1)?.seq ?? null) : null,
      };
    },
  );
}

const viewOfLine = (
  { id, at, kind, cause, reason, amountCents, balanceCents, payment }: Line,
  receiverOf: ReceiverOf,
) => ({
  id,
  at: isoOf(at),
  kind,
  cause,
  reason,
  amountCents,
  balanceCents,
  paymentId: payment?.id ?? null,
  payment: payment && namesOf(payment, receiverOf),
});
