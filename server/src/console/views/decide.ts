import type { ApiScope } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { allowedActions, resolveAsShown } from '../../operate/incidents/allowed.ts';
import { keepIncident } from '../../operate/incidents/incident.ts';
import { pauseWithdrawals } from '../../operate/pause.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Sql } from '../../ports/sql.ts';
import { FactsChanged, MovesTooMuch } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { type PlannedPosting, RehearsalBusy } from '../../store/rehearsal.ts';
import { findIncident } from '../../store/rows/incidents.sql.ts';
import { consoleConfig } from '../route.ts';
import { AllowedSchema, Done, Nothing, PauseSchema, ReasonBody, ResolutionBody } from '../schema.ts';
import type { ViewDeps } from './look.ts';

const tags = ['Operator'];

export type DecideDeps = Pick<ViewDeps, 'sql' | 'cells' | 'clock' | 'ids'> & {
  log: Log;
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
        summary: 'Resolves an incident as it was shown',
        params: IdParams('Incident'),
        body: ResolutionBody,
        response: { 200: Done },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator: { email } }) => {
      const operator = await atIncident(deps, params.id, email);
      const agreed = { shown: body.shown, mostCents: deps.aloneCents };
      await asPanelError(resolveAsShown(operator, params.id, body, agreed));
      return { ok: true as const };
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
}

/** The operator in the cell that has the incident. @throws PanelError `not_found` */
async function atIncident({ cells, ...deps }: DecideDeps, id: string, actor: string): Promise<Operator> {
  await cells.refresh();
  const everyCell: Sql[] = cells.all().map(({ sql }) => sql);
  for (const sql of everyCell)
    if ((await findIncident(sql, id)) !== undefined) return { ...deps, sql, everyCell, actor };
  throw new PanelError('not_found');
}

/** @throws PanelError where an operator at the shell reads a sentence */
const asPanelError = <T>(act: Promise<T>): Promise<T> =>
  act.catch((error: unknown) => {
    if (error instanceof FactsChanged) throw new PanelError('facts_changed');
    if (error instanceof MovesTooMuch) throw new PanelError('second_person_needed');
    if (error instanceof RehearsalBusy) throw new PanelError('books_busy');
    throw error instanceof OperatorRefused ? new PanelError('act_refused') : error;
  });

const postingView = ({ accountId, lines, ...posting }: PlannedPosting) => ({
  ...posting,
  ownerId: accountId,
  lines: Object.entries(lines).map(([column, cents]) => ({ column, cents })),
});
