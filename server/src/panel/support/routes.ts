import { Type } from 'typebox';
import type { ApiScope, RouteFacts } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import { Body, NullableTime, Time } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { writeAudit } from '../../store/rows/audit.sql.ts';
import { actorOf, type Member } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import { recordSecurityEvent } from '../people/security-events.ts';
import { endSupport, findSupportGrant, listViews, putSupportGrant } from '../people/support-views.sql.ts';
import { Done, Nothing } from '../schema/schema.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const tags = ['Panel'];

const GrantBody = Body({
  minutes: Type.Integer({
    minimum: 30,
    maximum: 7 * 24 * 60,
    description: 'For so long: half an hour to seven days',
  }),
});
const SupportSchema = Type.Object({
  grantedUntil: NullableTime('The operator’s support may see the panel until then; null: it may not'),
  views: Type.Array(
    Type.Object({
      operator: Type.String({ description: 'Who looked' }),
      reason: Type.String({ description: 'Why' }),
      granted: Type.Boolean({ description: 'Under a grant; else a mail said it' }),
      begunAt: Time('From when'),
      endsAt: Time('It ends then at the latest'),
      endedAt: NullableTime('It was ended then'),
    }),
    { description: 'The newest first' },
  ),
});

export interface SupportDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** Who of the operator's support may see the panel, and who did. */
export function supportRoutes(api: ApiScope, deps: SupportDeps): void {
  const { sql, clock } = deps;

  api.get(
    '/support',
    {
      schema: { tags, summary: 'Who of support looked, when and why', response: { 200: SupportSchema } },
      config: { api: described, panel: { needs: 'members' } },
    },
    async ({ member: { accountId } }) => {
      const now = clock.now();
      const until = await findSupportGrant(sql, accountId, now);
      const views = await listViews(sql, accountId);
      return {
        grantedUntil: until === null ? null : isoOf(until),
        views: views.map(({ operatorName, reason, granted, begunAt, endsAt, endedAt }) => ({
          ...{ operator: operatorName, reason, granted, begunAt: isoOf(begunAt), endsAt: isoOf(endsAt) },
          endedAt: endedAt === null ? null : isoOf(endedAt),
        })),
      };
    },
  );

  api.post(
    '/support/grant',
    {
      schema: {
        tags,
        summary: 'Lets support see the panel for a time',
        body: GrantBody,
        response: { 200: Done },
      },
      config: { api: described, panel: { needs: 'members', fresh: true, sensitive: true } },
    },
    async (request) => {
      const { member } = request;
      const { minutes } = request.body;
      if (member.role !== 'owner') throw new PanelError('role_denied');
      const grantedAt = clock.now();
      const untilAt = grantedAt + minutes * 60_000;
      const { accountId, person } = member;
      await sql.tx(async (tx) => {
        await putSupportGrant(tx, { accountId, grantedBy: person.userId, grantedAt, untilAt });
        await noteSupport(tx, deps, member, 'support.grant', { until: isoOf(untilAt) });
      });
      await recordSecurityEvent(deps, {
        ...{ kind: 'support.granted', accountId, ...actorOf(request), detail: { until: isoOf(untilAt) } },
      });
      return { ok: true as const };
    },
  );

  api.post(
    '/support/end',
    {
      schema: {
        tags,
        summary: 'Ends what support may see, and sees now',
        body: Nothing,
        response: { 200: Done },
      },
      config: { api: described, panel: { needs: 'members', secondFactor: true } },
    },
    async (request) => {
      const { member } = request;
      await sql.tx(async (tx) => {
        await endSupport(tx, member.accountId, clock.now());
        await noteSupport(tx, deps, member, 'support.end', {});
      });
      const { accountId } = member;
      await recordSecurityEvent(deps, { kind: 'support.ended', accountId, ...actorOf(request) });
      return { ok: true as const };
    },
  );
}

const noteSupport = (
  tx: Queries,
  { ids, clock }: SupportDeps,
  { accountId, person }: Member,
  action: string,
  detail: object,
): Promise<unknown> =>
  writeAudit(tx, {
    accountId,
    id: ids.uuid(),
    at: clock.now(),
    actor: `panel:${person.userId}`,
    ...{ action, subject: accountId, reason: null, detail },
  });
