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
  /** Sessions end with what waits for a link: who ends them may have lost one. */
  async function ended(
    request: FastifyRequest,
    which: string,
    ending: (tx: Queries, person: Person) => Promise<unknown>,
  ): Promise<{ ok: true }> {
    const person = await sessions.personOf(request);
    await deps.sql.tx(async (tx) => {
      await ending(tx, person);
      await deleteNewEmailOf(tx, person.userId);
    });
    await recordSecurityEvent(deps, { kind: 'session.ended', ...actorOf(request), detail: { which } });
    return { ok: true };
  }

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
    (request) =>
      ended(request, request.params.id, (tx, { userId }) => endSession(tx, userId, request.params.id)),
  );

  api.post(
    '/sessions/end-others',
    {
      schema: { tags, summary: 'End every other session', body: Nothing, response: { 200: Done } },
      config: personConfig,
    },
    (request) => ended(request, 'others', (tx, { userId, id }) => endOtherSessions(tx, userId, id)),
  );

  api.post(
    '/sessions/end-all',
    {
      schema: { tags, summary: 'End every session', body: Nothing, response: { 200: Done } },
      config: personConfig,
    },
    (request) => ended(request, 'all', (tx, { userId }) => endEverySession(tx, userId)),
  );
}
