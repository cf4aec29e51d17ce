import { type Static, Type } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { Body, OneOf } from '../../ground/schema.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findHeads, findMailChoice, putMailChoice } from '../people/mail-choices.sql.ts';
import { chosen } from '../people/mail-choices.ts';
import { paces, zones } from '../people/mail-times.ts';

const described: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const config = { api: described, panel: { needs: 'read' } } as const;
const tags = ['Panel'];

const Hour = (description: string) => Type.Integer({ minimum: 0, maximum: 23, description });

const fields = {
  month: Type.Boolean({ description: 'A mail when the statement of a month is there' }),
  received: OneOf(paces, 'Mails about Pix that were received: none, at most one an hour, or one a day'),
  quietFrom: Hour('First hour without mails and notifications about received Pix; equal to the other: none'),
  quietTo: Hour('Hour from which they are sent again'),
  zone: OneOf(zones, 'Whose hours these are'),
};
const ChoiceSchema = Type.Object(fields);
const ChoiceBody = Body(fields);

const unchosen: Static<typeof ChoiceSchema> = {
  ...{ month: false, received: 'off', quietFrom: 22, quietTo: 7, zone: 'America/Sao_Paulo' },
};

/** The mails of an account that each of its people chooses for themselves. */
export function mailChoiceRoutes(api: ApiScope, cellOf: CellOf<{ sql: Sql; clock: Clock }>): void {
  api.get(
    '/mail-choice',
    { schema: { tags, summary: 'Which mails I want', response: { 200: ChoiceSchema } }, config },
    async ({ member }) => {
      const found = await findMailChoice(cellOf(member).sql, member.accountId, member.person.userId);
      if (!found) return unchosen;
      const { month, received, quietFrom, quietTo, zone } = found;
      return { month: month !== null, received, quietFrom, quietTo, zone };
    },
  );

  api.post(
    '/mail-choice',
    {
      schema: { tags, summary: 'Choose my mails', body: ChoiceBody, response: { 200: ChoiceSchema } },
      config,
    },
    async ({ member, body }) => {
      const { sql, clock } = cellOf(member);
      const of = { accountId: member.accountId, userId: member.person.userId };
      await putMailChoice(sql, chosen(of, body, await findHeads(sql, of.accountId), clock.now()));
      return body;
    },
  );
}
