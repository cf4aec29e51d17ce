import { Type } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import type { Log } from '../../ground/log.ts';
import { Body, Text, Time } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import {
  endNotice,
  findNotice,
  type Notice,
  noticeLength,
  type RecentNotice,
  setNotice,
} from '../../operate/notice.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { asPanelError } from '../place.ts';
import { consoleConfig } from '../route.ts';
import { Nothing } from '../schema.ts';

const tags = ['Operator'];

const Words = (language: string) =>
  Text(`Text in ${language}`, {
    minLength: noticeLength.minimum,
    maxLength: noticeLength.maximum,
    'x-trim': true,
  });
const NoticeBody = Body({
  pt: Words('Portuguese'),
  en: Words('English'),
  from: Type.Optional(Time('Panels show it from then on; absent: from now on')),
  until: Time('It ends then'),
});
const Shown = Type.Object({
  pt: Type.String(),
  en: Type.String(),
  from: Time('Panels show it from then on'),
  until: Time('It ends then'),
  setBy: Type.String({ description: 'Who set it' }),
  setAt: Time('When it was set'),
});
type ShownNotice = Pick<Notice, 'pt' | 'en' | 'setBy'> & Record<'from' | 'until' | 'setAt', string>;
const NoticeSchema = Type.Object({
  notice: Type.Unsafe<ShownNotice | null>({
    anyOf: [Shown, { type: 'null' }],
    description: 'The one that was set last, until its end',
  }),
});

const viewOf = (notice: Notice | null): { notice: ShownNotice | null } => {
  if (notice === null) return { notice };
  const { pt, en, fromAt, untilAt, setBy, setAt } = notice;
  return {
    notice: { pt, en, from: isoOf(fromAt), until: isoOf(untilAt), setBy, setAt: isoOf(setAt) },
  };
};

export interface NoticeDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  notice: RecentNotice;
}

/** The notice that every merchant's panel shows while it holds. */
export function noticeRoutes(api: ApiScope, deps: NoticeDeps): void {
  api.get(
    '/notice',
    {
      schema: { tags, summary: 'The notice in merchants’ panels', response: { 200: NoticeSchema } },
      config: consoleConfig,
    },
    async () => viewOf(await findNotice(deps.sql, deps.clock.now())),
  );

  api.post(
    '/notice',
    {
      schema: {
        tags,
        summary: 'Shows a notice in every merchant’s panel, in the place of the one before',
        body: NoticeBody,
        response: { 200: NoticeSchema },
      },
      config: consoleConfig,
    },
    async ({ body: { pt, en, from, until }, operator: { email } }) => {
      const wanted = {
        pt,
        en,
        fromAt: from === undefined ? null : instantOf(from),
        untilAt: instantOf(until),
      };
      const set = await asPanelError(setNotice({ ...deps, actor: email }, wanted));
      deps.notice.forget();
      return viewOf(set);
    },
  );

  api.post(
    '/notice/end',
    {
      schema: {
        tags,
        summary: 'Ends the notice before its time',
        body: Nothing,
        response: { 200: NoticeSchema },
      },
      config: consoleConfig,
    },
    async ({ operator: { email } }) => {
      await asPanelError(endNotice({ ...deps, actor: email }));
      deps.notice.forget();
      return viewOf(null);
    },
  );
}

/** A day that the calendar lacks passes the form of a time. @throws PanelError `act_refused` */
function instantOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new PanelError('act_refused');
  return at;
}
