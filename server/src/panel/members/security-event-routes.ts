import type { Static } from 'typebox';
import type { ApiScope, RouteFacts } from '../../edge/edge.ts';
import type { Cell } from '../../ground/csv.ts';
import type { Papers } from '../../ground/paper/papers.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { periodOf } from '../../operate/statement/period.ts';
import type { Clock } from '../../ports/clock.ts';
import { lowestIdAt } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { activityCell, outcomeCell } from '../exports/csv-words.ts';
import { fileName } from '../exports/file-name.ts';
import { languageOf, type Pages, sendCsv } from '../exports/send-csv.ts';
import {
  findSecurityEvents,
  type ListedSecurityEvent,
  type SecurityEventFilter,
} from '../people/security-events.sql.ts';
import { activityGroups, type SecurityEventKind } from '../people/security-events.ts';
import {
  type activityFilters,
  SecurityEventFileQuery,
  SecurityEventListSchema,
  SecurityEventQuery,
} from '../schema/schema.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

type Filters = { [Name in keyof typeof activityFilters]?: Static<(typeof activityFilters)[Name]> };

/** The first id below which is looked, and what an event has to be. @throws ApiError `validation_failed` */
function filterOf({ group, outcome, userId, from, to }: Filters): {
  below: string;
  filter: SecurityEventFilter;
} {
  const { fromMs, toMs } = periodOf({ ...(from && { from }), ...(to && { to }) });
  const filter = {
    kinds: group === undefined ? null : activityGroups[group],
    outcome: outcome ?? null,
    userId: userId ?? null,
    fromId: lowestIdAt(fromMs ?? 0),
  };
  return { below: toMs === null ? lastId : lowestIdAt(toMs), filter };
}

/** Who did what in the account and to its access in the last year, for its owners and administrators. */
export function securityEventRoutes(api: ApiScope, deps: { sql: Sql; clock: Clock; papers: Papers }): void {
  const { sql } = deps;
  api.get(
    '/security-events',
    {
      schema: {
        tags: ['Panel'],
        summary:
          'Sign-ins, factors, passwords, keys, webhooks, people, operations, transfers, refusals and exports',
        querystring: SecurityEventQuery,
        response: { 200: SecurityEventListSchema },
      },
      config: { api: described, panel: { needs: 'audit' } },
    },
    async ({ member, query }) => {
      const { below, filter } = filterOf(query);
      const from = query.below !== undefined && query.below < below ? query.below : below;
      const found = await findSecurityEvents(sql, member.accountId, from, query.limit ?? 50, filter);
      const events = found.events.map(({ accountId: _, at, kind, ...row }) => ({
        ...row,
        kind: kind as SecurityEventKind,
        at: isoOf(at),
      }));
      return { ...found, events };
    },
  );

  api.get(
    '/security-events.csv',
    { schema: { querystring: SecurityEventFileQuery }, config: { panel: { needs: 'audit' } } },
    async (request, reply) => {
      const { member, query } = request;
      const { below, filter } = filterOf(query);
      const { fromMs, toMs } = periodOf({
        ...(query.from && { from: query.from }),
        ...(query.to && { to: query.to }),
      });
      async function* pages(): Pages {
        for (let next: string | null = below; next !== null; ) {
          const { events, nextBelow } = await findSecurityEvents(sql, member.accountId, next, 500, filter);
          yield events.map(rowOf);
          next = nextBelow;
        }
      }
      const name = fileName(
        {
          accountName: member.accountName,
          operationName: null,
          kind: 'activity',
          from: fromMs === null ? undefined : isoOf(fromMs),
          to: toMs === null ? undefined : isoOf(toMs),
          now: deps.clock.now(),
        },
        languageOf(request),
        'csv',
      );
      return sendCsv(deps.papers, request, reply, name, columns, pages());
    },
  );
}

const columns = ['at', 'activity', 'outcome', 'name', 'email', 'subjectName', 'ip', 'details', 'id'] as const;

const rowOf = (one: ListedSecurityEvent): readonly Cell[] => [
  { at: one.at },
  activityCell(one.kind),
  outcomeCell(one.outcome),
  one.actor === 'operator' ? 'operator' : one.name,
  one.email,
  one.subjectName,
  one.ipAddress,
  Object.entries(one.detail)
    .filter(([name]) => shownDetails.has(name))
    .map(([name, value]) => `${name}: ${[value].flat().join(' ')}`)
    .join('; '),
  one.id,
];

/** The readable part of the detail; ids are left to the log. */
const shownDetails: ReadonlySet<string> = new Set([
  'method',
  'factor',
  'role',
  'name',
  'permissions',
  'days',
  'reason',
  'route',
]);
