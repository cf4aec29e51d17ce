import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { allowedActions, resolveAsShown, shownAction } from '../../operate/incidents/allowed.ts';
import { keepIncident } from '../../operate/incidents/incident.ts';
import { pauseWithdrawals, shownResume } from '../../operate/pause.ts';
import { PanelError } from '../../panel/errors.ts';
import { MovesTooMuch } from '../../store/as-shown.ts';
import type { Operator } from '../../store/operator.ts';
import type { PlannedPosting } from '../../store/rehearsal.ts';
import type { SignedIn } from '../auth/sessions.ts';
import { asPanelError, atIncident } from '../place.ts';
import { ask, type RequestDeps } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import {
  AllowedSchema,
  AskedSchema,
  Done,
  Nothing,
  PauseSchema,
  ReasonBody,
  ResolutionBody,
} from '../schema.ts';

const tags = ['Operator'];

export type DecideDeps = RequestDeps & {
  /** The most that one person moves alone, in cents. */
  aloneCents: number;
};

/** Decisions of operators. Where one posts, it is shown first, and carried out only as it was shown. */
export function decideRoutes(api: ApiScope, deps: DecideDeps): void {
  api.post(
    '/incidents/:id/acts',
    {
      schema: {
        tags,
        summary: 'What an incident allows, with the postings of each act',
        params: IdParams('Incident'),
        body: Nothing,
        response: { 200: AllowedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, operator: { email } }) => ({
      allowed: (await asPanelError(allowedActions(await atIncident(deps, params.id, email), params.id))).map(
        (one) => ({
          ...one,
          postings: one.postings.map(postingView),
          alone: one.movedCents <= deps.aloneCents,
        }),
      ),
    }),
  );

  api.post(
    '/incidents/:id/resolution',
    {
      schema: {
        tags,
        summary: 'Resolves an incident as it was shown, or asks a second person for it',
        params: IdParams('Incident'),
        body: ResolutionBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator: person }) => {
      const operator = await atIncident(deps, params.id, person.email);
      const agreed = { shown: body.shown, mostCents: deps.aloneCents };
      const alone = await resolveAsShown(operator, params.id, body, agreed).catch((error: unknown) => {
        if (error instanceof MovesTooMuch) return null;
        return asPanelError(Promise.reject(error));
      });
      return {
        requestId: alone === null ? await askToResolve(deps, operator, person, params.id, body) : null,
      };
    },
  );

  api.post(
    '/incidents/:id/keep',
    {
      schema: {
        tags,
        summary: 'Keeps the money of an incident from the rule of its account',
        params: IdParams('Incident'),
        body: ReasonBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator: { email } }) => {
      await asPanelError(keepIncident(await atIncident(deps, params.id, email), params.id, body.reason));
      return { ok: true as const };
    },
  );

  api.post(
    '/withdrawals/pause',
    {
      schema: {
        tags,
        summary: 'Refuses new withdrawals of every account',
        body: ReasonBody,
        response: { 200: PauseSchema },
      },
      config: consoleConfig,
    },
    async ({ body, operator: { email } }) => {
      const { pausedAt } = await asPanelError(pauseWithdrawals({ ...deps, actor: email }, body.reason));
      return { withdrawalsPausedAt: pausedAt === null ? null : isoOf(pausedAt) };
    },
  );

  api.post(
    '/withdrawals/resume',
    {
      schema: {
        tags,
        summary: 'Asks a second person to end the pause of withdrawals',
        body: ReasonBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ body: { reason }, operator: person }) => {
      const pause = await shownResume(deps.sql);
      if (pause === null) throw new PanelError('act_refused');
      const { pausedAt, shown } = pause;
      const fields = {
        ...{
          act: 'resumeWithdrawals' as const,
          subject: 'installation',
          body: { pausedAt: String(pausedAt) },
        },
        ...{ postings: [], movedCents: 0, shown, reason },
      };
      return { requestId: await ask(deps, person, fields) };
    },
  );
}

/** An act that moves too much for one person becomes a request, with the postings that this person saw. */
async function askToResolve(
  deps: DecideDeps,
  operator: Operator,
  person: SignedIn,
  id: string,
  { action, reason, shown }: Static<typeof ResolutionBody>,
): Promise<string> {
  const now = await asPanelError(shownAction(operator, id, action));
  if (now.shown !== shown) throw new PanelError('facts_changed');
  const { postings, movedCents } = now;
  const act = 'resolveIncident' as const;
  return ask(deps, person, { act, subject: id, body: { action }, postings, movedCents, shown, reason });
}

export const postingView = ({ accountId, lines, ...posting }: PlannedPosting) => ({
  ...posting,
  ownerId: accountId,
  lines: Object.entries(lines).map(([column, cents]) => ({ column, cents })),
});
