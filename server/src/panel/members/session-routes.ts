import type { FastifyRequest } from 'fastify';
import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import type { Queries } from '../../ports/sql.ts';
import { actorOf, type Person, type Sessions } from '../auth/session.ts';
import {
  deleteNewEmailOf,
  endEverySession,
  endOtherSessions,
  endSession,
  findSessions,
} from '../people/members.sql.ts';
import { recordSecurityEvent, type SecurityEventDeps } from '../people/security-events.ts';
import { Done, Nothing, SessionListSchema } from '../schema/schema.ts';
import { personConfig } from './person-routes.ts';

const tags = ['Person'];

/** Where a person is signed in, and the end of it. */
export function sessionRoutes(api: ApiScope, deps: SecurityEventDeps, sessions: Sessions): void {
  listRoute(api, deps, sessions);
  endRoutes(api, deps, sessions);
}

function listRoute(api: ApiScope, { sql, clock }: SecurityEventDeps, sessions: Sessions): void {
  api.get(
    '/sessions',
    {
      schema: { tags, summary: 'Where this person is signed in', response: { 200: SessionListSchema } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      const rows = await findSessions(sql, person.userId, clock.now());
      return {
        sessions: rows.map((row) => ({
          ...row,
          current: row.id === person.id,
          createdAt: isoOf(row.createdAt),
          seenAt: row.seenAt === null ? null : isoOf(row.seenAt),
        })),
      };
    },
  );
}

function endRoutes(api: ApiScope, deps: SecurityEventDeps, sessions: Sessions): void {
  api.delete(
    '/sessions/:id',
    {
      schema: {
        tags,
        summary: 'End a session',
        params: IdParams('Session'),
        body: Nothing,
        response: { 200: Done },
      },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(
        deps,
        request,
        person,
        (tx) => endSession(tx, person.userId, request.params.id),
        request.params.id,
      );
      return { ok: true as const };
    },
  );

  api.post(
    '/sessions/end-others',
    {
      schema: { tags, summary: 'End every other session', body: Nothing, response: { 200: Done } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(
        deps,
        request,
        person,
        (tx) => endOtherSessions(tx, person.userId, person.id),
        'others',
      );
      return { ok: true as const };
    },
  );

  api.post(
    '/sessions/end-all',
    {
      schema: { tags, summary: 'End every session', body: Nothing, response: { 200: Done } },
      config: personConfig,
    },
    async (request) => {
      const person = await sessions.personOf(request);
      await endSessions(deps, request, person, (tx) => endEverySession(tx, person.userId), 'all');
      return { ok: true as const };
    },
  );
}

/** Sessions end with what waits for a link: who ends them may have lost one. */
async function endSessions(
  deps: SecurityEventDeps,
  request: FastifyRequest,
  person: Person,
  ending: (tx: Queries) => Promise<unknown>,
  which: string,
): Promise<void> {
  await deps.sql.tx(async (tx) => {
    await ending(tx);
    await deleteNewEmailOf(tx, person.userId);
  });
  await recordSecurityEvent(deps, { kind: 'session.ended', ...actorOf(request), detail: { which } });
}
