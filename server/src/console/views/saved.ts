import { Type } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { Body, OneOf, Text, Uuid } from '../../ground/schema.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { noteOperator } from '../people/operators.ts';
import { consoleConfig } from '../route.ts';
import { Nothing } from '../schema.ts';
import { filteredPages, findViews, removeView, saveView } from './saved.sql.ts';

const tags = ['Operator'];

const Page = OneOf(filteredPages, 'Page');
const Filter = (description: string) =>
  Type.Optional(Text(description, { minLength: 1, maxLength: 200, 'x-trim': true }));
const Search = Type.Object(
  {
    ownerId: Type.Optional(Uuid('Account')),
    actor: Filter('Who'),
    action: Filter('Name of the act'),
    connection: Filter('Connection'),
  },
  { additionalProperties: false, minProperties: 1 },
);
const Name = Text('Name', { minLength: 1, maxLength: 60, 'x-trim': true });
const SaveBody = Body({ page: Page, name: Name, search: Search });
const SlotParams = Type.Object({
  slot: Type.String({ pattern: '^[1-9][0-9]?$', description: 'Place of the view' }),
});
const ViewsSchema = Type.Object({
  views: Type.Array(Type.Object({ slot: Type.Integer(), page: Page, name: Type.String(), search: Search }), {
    description: 'Those of the caller alone',
  }),
});

/** Filters that an operator keeps under a name; no other operator sees them. */
export function savedViewRoutes(api: ApiScope, deps: { sql: Sql; clock: Clock; ids: Ids }): void {
  const { sql } = deps;
  const own = async (operatorId: string) => ({ views: await findViews(sql, operatorId) });

  api.get(
    '/views',
    {
      schema: { tags, summary: 'The kept filters of the caller', response: { 200: ViewsSchema } },
      config: consoleConfig,
    },
    ({ operator }) => own(operator.operatorId),
  );

  api.post(
    '/views',
    {
      schema: {
        tags,
        summary: 'Keeps the filters of a page under a name',
        body: SaveBody,
        response: { 200: ViewsSchema },
      },
      config: consoleConfig,
    },
    async ({ body, operator: { operatorId, email } }) => {
      await sql.tx(async (tx) => {
        if (!(await saveView(tx, operatorId, body))) throw new PanelError('act_refused');
        const { page, name, search } = body;
        await noteOperator(tx, deps, {
          actor: email,
          action: 'view.save',
          subject: page,
          detail: { name, search },
        });
      });
      return own(operatorId);
    },
  );

  api.post(
    '/views/:slot/removal',
    {
      schema: {
        tags,
        summary: 'Removes kept filters',
        params: SlotParams,
        body: Nothing,
        response: { 200: ViewsSchema },
      },
      config: consoleConfig,
    },
    async ({ params: { slot }, operator: { operatorId, email } }) => {
      await sql.tx(async (tx) => {
        const gone = await removeView(tx, operatorId, Number(slot));
        if (!gone) throw new PanelError('not_found');
        const { page, name } = gone;
        await noteOperator(tx, deps, {
          actor: email,
          action: 'view.remove',
          subject: page,
          detail: { name },
        });
      });
      return own(operatorId);
    },
  );
}
