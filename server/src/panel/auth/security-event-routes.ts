import type { ApiScope, RouteFacts } from '../../http/edge.ts';
import { isoOf } from '../../payments/view.ts';
import type { Sql } from '../../ports/sql.ts';
import { SecurityEventListSchema, SecurityEventQuery } from '../schema.ts';
import { findSecurityEvents } from './security-events.sql.ts';
import type { SecurityEventKind } from './security-events.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** What happened to the access of an account in the last year, for its owners and administrators. */
export function securityEventRoutes(api: ApiScope, { sql }: { sql: Sql }): void {
  api.get(
    '/security-events',
    {
      schema: {
        tags: ['Panel'],
        summary: 'Sign-ins, factors, passwords, keys, webhooks, people, refusals and exports',
        querystring: SecurityEventQuery,
        response: { 200: SecurityEventListSchema },
      },
      config: { api: described, panel: { needs: 'audit' } },
    },
    async ({ member, query }) => {
      const limit = query.limit ?? 50;
      const rows = await findSecurityEvents(sql, member.accountId, query.below ?? lastId, limit + 1);
      const more = rows.length > limit;
      if (more) rows.pop();
      return {
        events: rows.map(({ accountId: _, at, kind, ...row }) => ({
          ...row,
          kind: kind as SecurityEventKind,
          at: isoOf(at),
        })),
        nextBelow: more ? (rows.at(-1)?.id ?? null) : null,
      };
    },
  );
}
