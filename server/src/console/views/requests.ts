import type { ApiScope } from '../../edge/edge.ts';
import type { Cell } from '../../ground/csv.ts';
import type { Mail } from '../../ground/mail.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { ruleChangeOf } from '../../operate/accounts/odd-money.ts';
import { mayAct, type OperatorRole } from '../../operate/acts.ts';
import type { SignedIn } from '../auth/sessions.ts';
import { instant, sendList } from '../csv.ts';
import { type ChangeName, letterOfInvitation, type standings } from '../people/changes.ts';
import { type Invited, operatorInvitationLink } from '../people/operators.ts';
import {
  findDecidedRequests,
  findOpenRequests,
  findUnseenRequests,
  type OperatorRequest,
} from '../requests/requests.sql.ts';
import { agree, type RequestDeps, refuse, see, takeUp } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import { AgreedSchema, AgreementBody, Done, Nothing, RequestsSchema } from '../schema.ts';
import { postingView } from './decide.ts';
import { ruleView } from './odd-money.ts';

const tags = ['Operator'];
const openMost = 200;
const decidedMost = 50;

export type RequestRoutesDeps = RequestDeps & {
  mail: Mail;
  config: { operatorUrl: string; smtpUrl: string | null };
};

/** Acts that wait for a second person, and those that were decided last. */
export function requestRoutes(api: ApiScope, deps: RequestRoutesDeps): void {
  api.get(
    '/requests',
    {
      schema: { tags, summary: 'Acts that wait for a second person', response: { 200: RequestsSchema } },
      config: consoleConfig,
    },
    async ({ operator }) => ({
      requests: (await knownTo(deps, operator)).map((one) => requestView(one, operator)),
    }),
  );

  api.get('/requests.csv', { config: {} }, async ({ operator, language }, reply) =>
    sendList(reply, language, 'requests', columns, (await knownTo(deps, operator)).map(cellsOf)),
  );

  api.post(
    '/requests/:id/agreement',
    {
      schema: {
        tags,
        summary: 'Agrees to what was shown, which is then carried out',
        params: IdParams('Request'),
        body: AgreementBody,
        response: { 200: AgreedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }) => {
      const invited = await agree(deps, operator, params.id, body.shown);
      return invited === null ? { invitation: null } : { invitation: await handedOver(deps, invited) };
    },
  );

  api.post(
    '/requests/:id/taking-up',
    {
      schema: {
        tags,
        summary: 'Makes what was asked for at the shell a request of the caller',
        params: IdParams('Request'),
        body: AgreementBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }) => {
      await takeUp(deps, operator, params.id, body.shown);
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

const columns = [
  'id',
  'act',
  'subject',
  'moved',
  'reason',
  'askedBy',
  'askedAt',
  'expiresAt',
  'state',
  'decidedBy',
  'decidedAt',
  'hash',
];

const cellsOf = (one: OperatorRequest): Cell[] => [
  ...[one.id, one.act, one.subject],
  { cents: one.movedCents },
  ...[one.reason, one.requestedByName],
  ...[one.requestedAt, one.expiresAt].map(instant),
  ...[one.state, one.decidedByEmail, instant(one.decidedAt), one.shown],
];

async function knownTo(
  { sql, clock }: RequestRoutesDeps,
  { role }: { role: OperatorRole },
): Promise<OperatorRequest[]> {
  const [unseen, open, decided] = await Promise.all([
    findUnseenRequests(sql, openMost),
    findOpenRequests(sql, clock.now(), openMost),
    findDecidedRequests(sql, decidedMost),
  ]);
  // As the list of the people themselves.
  return [...unseen, ...open, ...decided].filter(
    ({ act }) => act !== 'changeOperators' || mayAct(role, 'operators'),
  );
}

const personOf = ({ change = '', email = '', name, role, roleNow, stateNow }: OperatorRequest['body']) => ({
  change: change as ChangeName,
  email,
  name: name ?? null,
  role: (role ?? null) as OperatorRole | null,
  roleNow: (roleNow ?? null) as OperatorRole | null,
  stateNow: (stateNow ?? null) as (typeof standings)[number] | null,
});

/**
 * The link of an invitation goes to the person by mail, where there is a mail server. Else the one who agreed hands it over. A mail that cannot be sent is
 * no reason to show the link: another invitation is asked for.
 */
async function handedOver(
  { mail, log, config }: RequestRoutesDeps,
  invited: Invited,
): Promise<{ email: string; mailed: boolean; link: string | null }> {
  const { email } = invited;
  const link = operatorInvitationLink(config.operatorUrl, invited.token);
  if (config.smtpUrl === null) return { email, mailed: false, link };
  const mailed = await mail.send(letterOfInvitation(invited, link)).then(
    () => true,
    (err: unknown) => {
      log.error({ err }, 'an invitation to the console was not sent');
      return false;
    },
  );
  return { email, mailed, link: null };
}

function ruleOf({ subject, body }: OperatorRequest) {
  const { before, after } = ruleChangeOf(body);
  return { ownerId: subject, before: ruleView(before), after: ruleView(after) };
}

function requestView(one: OperatorRequest, { operatorId, role }: SignedIn) {
  const mine = one.requestedBy === operatorId;
  return {
    id: one.id,
    act: one.act,
    action: one.body.action ?? null,
    incidentId: one.act === 'resolveIncident' ? one.subject : null,
    paymentId: one.act === 'bookReturn' ? one.subject : null,
    returnId: one.body.returnId ?? null,
    person: one.act === 'changeOperators' ? personOf(one.body) : null,
    rule: one.act === 'changeOddMoneyRule' ? ruleOf(one) : null,
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
    ofShell: one.state === 'open' && one.requestedBy === null,
    mayAgree:
      (one.state === 'open' || one.state === 'alone') &&
      !mine &&
      mayAct(role, one.act) &&
      mayAct(role, 'decideRequests'),
  };
}
