import type { ApiScope } from '../../edge/edge.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { instant, sendList } from '../csv.ts';
import { changeOf, personNow, shownChange } from '../people/changes.ts';
import { listOperators } from '../people/operators.sql.ts';
import { asPanelError } from '../place.ts';
import { ask, type RequestDeps } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import { AskedSchema, ChangeBody, OperatorsSchema } from '../schema.ts';

const tags = ['Operator'];

/** The people of the console. Every change of them takes two. */
export function operatorRoutes(api: ApiScope, deps: RequestDeps): void {
  api.get(
    '/operators',
    {
      schema: { tags, summary: 'The people of the console', response: { 200: OperatorsSchema } },
      config: consoleConfig,
    },
    async () => ({
      operators: (await listOperators(deps.sql)).map((one) => ({
        ...one,
        createdAt: isoOf(one.createdAt),
        enrolledAt: one.enrolledAt === null ? null : isoOf(one.enrolledAt),
        suspendedAt: one.suspendedAt === null ? null : isoOf(one.suspendedAt),
      })),
    }),
  );

  api.get('/operators.csv', { config: {} }, async ({ language }, reply) =>
    sendList(
      reply,
      language,
      'operators',
      ['email', 'name', 'role', 'createdAt', 'enrolledAt', 'suspendedAt'],
      (await listOperators(deps.sql)).map((one) => [
        ...[one.email, one.name, one.role],
        ...[one.createdAt, one.enrolledAt, one.suspendedAt].map(instant),
      ]),
    ),
  );

  api.post(
    '/operators/changes',
    {
      schema: {
        tags,
        summary: 'Asks a second administrator to create, suspend, reset or grant',
        body: ChangeBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ body: { reason, ...fields }, operator: person }) => {
      const { sql, clock, ids, log } = deps;
      const operator = { sql, clock, ids, log, actor: person.email };
      const wanted = await asPanelError(Promise.resolve().then(() => changeOf(fields)));
      const shown = await asPanelError(shownChange(operator, wanted));
      const asked = {
        act: 'changeOperators' as const,
        subject: wanted.email,
        body: { ...wanted, ...(await personNow(sql, wanted)) },
      };
      return { requestId: await ask(deps, person, { ...asked, postings: [], movedCents: 0, shown, reason }) };
    },
  );
}
