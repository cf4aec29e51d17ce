import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { mayAct } from '../../operate/acts.ts';
import type { SignedIn } from '../auth/sessions.ts';
import {
  findDecidedRequests,
  findOpenRequests,
  findUnseenRequests,
  type OperatorRequest,
} from '../requests/requests.sql.ts';
import { agree, type RequestDeps, refuse, see } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import { AgreementBody, Done, Nothing, RequestsSchema } from '../schema.ts';
import { postingView } from './decide.ts';

const tags = ['Operator'];
const openMost = 200;
const decidedMost = 50;

/** Acts that wait for a second person, and those that were decided last. */
export function requestRoutes(api: ApiScope, deps: RequestDeps): void {
  api.get(
    '/requests',
    {
      schema: { tags, summary: 'Acts that wait for a second person', response: { 200: RequestsSchema } },
      config: consoleConfig,
    },
    async ({ operator }) => {
      const [unseen, open, decided] = await Promise.all([
        findUnseenRequests(deps.sql, openMost),
        findOpenRequests(deps.sql, deps.clock.now(), openMost),
        findDecidedRequests(deps.sql, decidedMost),
      ]);
      return { requests: [...unseen, ...open, ...decided].map((one) => requestView(one, operator)) };
    },
  );

  api.post(
    '/requests/:id/agreement',
    {
      schema: {
        tags,
        summary: 'Agrees to what was shown, which is then carried out',
        params: IdParams('Request'),
        body: AgreementBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }) => {
      await agree(deps, operator, params.id, body.shown);
      return { ok: true as const };
    },
  );

  api.post(
    '/requests/:id/sight',
    {
      schema: {
        tags,
        summary: 'Says that an act of two people, done by one at the shell, was seen',
        params: IdParams('Request'),
        body: AgreementBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }) => {
      await see(deps, operator, params.id, body.shown);
      return { ok: true as const };
    },
  );

  api.post(
    '/requests/:id/refusal',
    {
      schema: {
        tags,
        summary: 'Refuses a request, or takes back an own one',
        params: IdParams('Request'),
        body: Nothing,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, operator }) => {
      await refuse(deps, operator, params.id);
      return { ok: true as const };
    },
  );
}

function requestView(one: OperatorRequest, { operatorId, role }: SignedIn) {
  const mine = one.requestedBy === operatorId;
  return {
    id: one.id,
    act: one.act,
    action: one.body.action ?? null,
    incidentId: one.act === 'resolveIncident' ? one.subject : null,
    postings: one.postings.map(postingView),
    movedCents: one.movedCents,
    shown: one.shown,
    reason: one.reason,
    requestedBy: one.requestedByName,
    requestedAt: isoOf(one.requestedAt),
    expiresAt: isoOf(one.expiresAt),
    state: one.state,
    decidedBy: one.decidedByEmail,
    decidedAt: one.decidedAt === null ? null : isoOf(one.decidedAt),
    mine,
    mayAgree:
      (one.state === 'open' || one.state === 'alone') &&
      !mine &&
      mayAct(role, one.act) &&
      mayAct(role, 'decideRequests'),
  };
}
