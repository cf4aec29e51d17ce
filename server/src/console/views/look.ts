import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { paymentIdOf } from '../../money/payment.ts';
import { type IncidentView, showIncident } from '../../operate/incidents/incident.ts';
import { accountFacts, find, storyOf } from '../../operate/look.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { findIncident } from '../../store/rows/incidents.sql.ts';
import { noteOperator } from '../people/operators.ts';
import { consoleConfig } from '../route.ts';
import {
  AccountSchema,
  EvidenceSchema,
  FindQuery,
  FoundSchema,
  IncidentSchema,
  PaymentSchema,
  PersonalDataSchema,
  ReasonBody,
} from '../schema.ts';

const tags = ['Operator'];

export interface ViewDeps {
  sql: Sql;
  cells: {
    refresh(): Promise<unknown>;
    all(): readonly { sql: Sql }[];
    ofAccount(accountId: string): Promise<{ sql: Sql } | undefined>;
  };
  clock: Clock;
  ids: Ids;
  /** Of the installation: ids of payments are made from it. */
  identity: Buffer;
}

/** Pages that read. An id that is not there is one answer, whatever it is not. */
export function lookRoutes(api: ApiScope, deps: ViewDeps): void {
  api.get(
    '/find',
    {
      schema: {
        tags,
        summary: 'Exact identifiers first, then names of accounts',
        querystring: FindQuery,
        response: { 200: FoundSchema },
      },
      config: consoleConfig,
    },
    ({ query }) => find({ ...deps, identity: async () => deps.identity }, query.text),
  );

  api.get(
    '/accounts/:id',
    {
      schema: { tags, summary: 'An account', params: IdParams('Account'), response: { 200: AccountSchema } },
      config: consoleConfig,
    },
    async ({ params }) => {
      const cell = await deps.cells.ofAccount(params.id);
      const { operations, ...facts } = await orNotFound(accountFacts((cell ?? deps).sql, params.id));
      return {
        ...facts,
        operations: operations.map((one) => ({
          ...one,
          deletedAt: one.deletedAt === null ? null : isoOf(one.deletedAt),
        })),
      };
    },
  );

  api.get(
    '/incidents/:id',
    {
      schema: {
        tags,
        summary: 'An incident',
        params: IdParams('Incident'),
        response: { 200: IncidentSchema },
      },
      config: consoleConfig,
    },
    async ({ params }) => viewOf(await incidentOf(deps, params.id)),
  );

  paymentRoutes(api, deps);
}

function paymentRoutes(api: ApiScope, deps: ViewDeps): void {
  api.get(
    '/payments/:id',
    {
      schema: {
        tags,
        summary: 'A payment with its whole story',
        params: IdParams('Payment'),
        response: { 200: PaymentSchema },
      },
      config: consoleConfig,
    },
    ({ params }) => shownStory(deps, params.id),
  );

  api.get(
    '/payments/:id/evidence',
    {
      schema: {
        tags,
        summary: 'The story of a payment as a file, for a defence',
        params: IdParams('Payment'),
        response: { 200: EvidenceSchema },
      },
      config: consoleConfig,
    },
    async ({ params, operator: { email } }, reply) => {
      const payment = await shownStory(deps, params.id);
      reply.header('content-disposition', `attachment; filename="vintem-${payment.id}.json"`);
      return { takenAt: isoOf(deps.clock.now()), takenBy: email, payment };
    },
  );

  api.post(
    '/payments/:id/personal-data',
    {
      schema: {
        tags,
        summary: 'Names and texts of a payment, for a reason that is kept',
        params: IdParams('Payment'),
        body: ReasonBody,
        response: { 200: PersonalDataSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator }) => {
      const { ownerId, payerName, receiver, description, history } = await storyNamed(deps, params.id);
      const cell = (await deps.cells.ofAccount(ownerId)) ?? deps;
      // Kept before it is shown.
      await cell.sql.tx((tx) =>
        noteOperator(tx, deps, {
          accountId: ownerId,
          actor: operator.email,
          action: 'personal_data.show',
          subject: params.id,
          reason: body.reason,
        }),
      );
      return {
        payerName: payerName || null,
        receiverName: receiver?.name ?? null,
        receiverTaxId: receiver?.taxId ?? null,
        description: description || null,
        people: [
          ...new Set(history.flatMap(({ cause }) => (isPerson(cause) && cause.name ? [cause.name] : []))),
        ],
      };
    },
  );
}

/** Without names and texts: the schema of the answer does not have them. */
async function shownStory(deps: ViewDeps, id: string): Promise<Static<typeof PaymentSchema>> {
  const story = await storyNamed(deps, id);
  const history = story.history.map(({ at, status, cause }) => ({
    at,
    status,
    by: cause.by,
    actor: cause.actor,
    name: isPerson(cause) ? null : cause.name,
  }));
  return { ...story, history } as Static<typeof PaymentSchema>;
}

/** Of the account: a name is personal data. */
const isPerson = ({ actor }: { actor: string | null }): boolean => actor === 'person';

const storyNamed = (deps: ViewDeps, id: string) =>
  orNotFound(storyOf(deps, paymentIdOf(id.replaceAll('-', '')) ?? id));

async function incidentOf(deps: ViewDeps, id: string): Promise<IncidentView & { related: string[] }> {
  await deps.cells.refresh();
  for (const { sql } of deps.cells.all())
    if ((await findIncident(sql, id)) !== undefined) return orNotFound(showIncident({ sql }, id));
  throw new PanelError('not_found');
}

/** @throws PanelError `not_found` where an operator at the shell reads a sentence */
const orNotFound = <T>(look: Promise<T>): Promise<T> =>
  look.catch((error: unknown) => {
    throw error instanceof OperatorRefused ? new PanelError('not_found') : error;
  });

/** Facts whose names say that they may be about a person. */
const personal = /name|document|cpf|cnpj|taxId|pixKey|payer|receiver|description/i;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const viewOf = ({
  accountId,
  detail,
  openedAt,
  resolvedAt,
  keptAt,
  ...incident
}: IncidentView & { related: string[] }) => ({
  ...incident,
  ownerId: accountId,
  openedAt: isoOf(openedAt),
  resolvedAt: resolvedAt === null ? null : isoOf(resolvedAt),
  keptAt: keptAt === null ? null : isoOf(keptAt),
  // A value that is a structure may hold anything: only plain ones are shown.
  facts: Object.entries(detail)
    .filter(([name, value]) => !personal.test(name) && value !== null && typeof value !== 'object')
    .map(([name, value]) => ({ name, value: textOf(value) })),
});
