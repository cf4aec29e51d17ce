import { Type } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import { IdParams, Time } from '../../ground/schema.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { PanelError } from '../../panel/errors.ts';
import type { PanelMails } from '../../panel/people/mails.ts';
import { recordSecurityEvent } from '../../panel/people/security-events.ts';
import {
  endViewsOfSession,
  findOwners,
  findSupportGrant,
  insertView,
} from '../../panel/people/support-views.sql.ts';
import { newViewToken, viewCookie, viewKeyOf, viewTokenHash } from '../../panel/support/views.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import type { SignedIn } from '../auth/sessions.ts';
import { noteOperator } from '../people/operators.ts';
import { consoleConfig } from '../route.ts';
import { Done, Nothing, ReasonBody } from '../schema.ts';

const tags = ['Operator'];
const viewMs = 30 * 60_000;

export interface SupportDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  mails: Pick<PanelMails, 'supportView'>;
  secrets: Pick<Secrets, 'derive'>;
  /** `granted`: under a grant of an owner alone; `mailed`: without one after a mail to the owners. */
  supportViews: 'granted' | 'mailed';
}

/** An operator sees the panel of an account, read only, for half an hour. */
export function supportRoutes(api: ApiScope, deps: SupportDeps, overTls: boolean): void {
  const cookie = viewCookie(overTls);

  api.post(
    '/accounts/:id/view',
    {
      schema: {
        tags,
        summary: 'Begins to see the panel of an account',
        params: IdParams('Account'),
        body: ReasonBody,
        response: { 200: Type.Object({ endsAt: Time('It ends then at the latest') }) },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }, reply) => {
      const { token, endsAt } = await beginView(deps, operator, params.id, body.reason);
      reply.header('set-cookie', cookie.set(token, Math.ceil((endsAt - deps.clock.now()) / 1000)));
      return { endsAt: isoOf(endsAt) };
    },
  );

  api.post(
    '/view/end',
    {
      schema: { tags, summary: 'Ends it', body: Nothing, response: { 200: Done } },
      config: consoleConfig,
    },
    async ({ operator }, reply) => {
      await recordEnds(deps, operator, await deps.sql.tx((tx) => endViews(tx, deps, operator)));
      reply.header('set-cookie', cookie.gone);
      return { ok: true as const };
    },
  );
}

/** @throws PanelError `not_found`, `view_not_granted` */
async function beginView(
  deps: SupportDeps,
  operator: SignedIn,
  accountId: string,
  reason: string,
): Promise<{ token: string; endsAt: number }> {
  const { sql, clock, ids } = deps;
  const owners = await findOwners(sql, accountId);
  if (!owners) throw new PanelError('not_found');
  const begunAt = clock.now();
  const until = await findSupportGrant(sql, accountId, begunAt);
  const endsAt = Math.min(begunAt + viewMs, until ?? Number.POSITIVE_INFINITY);
  // Before the view: without the word to its owners there is none.
  if (until === null) await announce(deps, operator, owners, { reason, endsAt });
  const token = newViewToken(viewKeyOf(deps), ids.bytes(32));
  const view = {
    ...{ id: ids.uuid(), accountId, operatorId: operator.operatorId, sessionId: operator.id },
    ...{
      tokenHash: viewTokenHash(token),
      role: operator.role,
      reason,
      granted: until !== null,
      begunAt,
      endsAt,
    },
  };
  const ended = await sql.tx(async (tx) => {
    const before = await endViews(tx, deps, operator);
    await insertView(tx, view);
    await noteOperator(tx, deps, {
      ...{ accountId, actor: operator.email, action: 'view.begin', subject: view.id, reason },
      detail: { granted: view.granted, endsAt: isoOf(endsAt) },
    });
    return before;
  });
  await recordEnds(deps, operator, ended);
  await recordSecurityEvent(deps, {
    ...{ kind: 'support.view_begun', actor: 'operator', accountId },
    detail: { viewId: view.id, operator: operator.name, until: isoOf(endsAt) },
  });
  return { token, endsAt };
}

/** @throws PanelError `view_not_granted` where the installation asks for a grant, or no owner gets the mail */
async function announce(
  { supportViews, mails, log }: SupportDeps,
  operator: SignedIn,
  { accountName, emails }: { accountName: string; emails: readonly string[] },
  { reason, endsAt }: { reason: string; endsAt: number },
): Promise<void> {
  if (supportViews !== 'mailed' || emails.length === 0) throw new PanelError('view_not_granted');
  const seen = { accountName, operator: operator.name, reason, until: endsAt };
  try {
    await Promise.all(emails.map((to) => mails.supportView(to, seen)));
  } catch (error) {
    log.warn({ err: error }, 'a support view was not announced, and did not begin');
    throw new PanelError('view_not_granted');
  }
}

interface EndedView {
  id: string;
  accountId: string;
}

async function endViews(
  tx: Queries,
  deps: Pick<SupportDeps, 'clock' | 'ids'>,
  operator: SignedIn,
): Promise<EndedView[]> {
  const ended = await endViewsOfSession(tx, operator.id, deps.clock.now());
  for (const { id, accountId } of ended)
    await noteOperator(tx, deps, { accountId, actor: operator.email, action: 'view.end', subject: id });
  return ended;
}

/** To the security events of the accounts. */
async function recordEnds(deps: SupportDeps, operator: SignedIn, ended: readonly EndedView[]): Promise<void> {
  for (const { id, accountId } of ended)
    await recordSecurityEvent(deps, {
      ...{ kind: 'support.view_ended', actor: 'operator', accountId },
      detail: { viewId: id, operator: operator.name },
    });
}
