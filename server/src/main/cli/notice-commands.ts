import { endNotice, findNotice, type Notice, setNotice } from '../../operate/notice.ts';
import { onDatabase } from '../start.ts';
import { type Answer, type Command, facts, instant, required, timeOf } from './command.ts';
import { operatorOf } from './operator-commands.ts';

/** The text that every merchant's panel shows for a time. */
export const noticeCommands: Command[] = [
  {
    name: 'notice set',
    usage: '--pt TEXT --en TEXT [--from TIME] --until TIME',
    about:
      'shows a notice in every merchant’s panel until then, as about a maintenance; it takes the place of the one before',
    options: {
      pt: { type: 'string' },
      en: { type: 'string' },
      from: { type: 'string' },
      until: { type: 'string' },
    },
    run: async (edge, { values }) => {
      const wanted = {
        pt: required(values, 'pt'),
        en: required(values, 'en'),
        fromAt: values.from === undefined ? null : timeOf(String(values.from), '--from'),
        untilAt: timeOf(required(values, 'until'), '--until'),
      };
      return noticeAnswer(
        await onDatabase(edge, 'notice set', (context) => setNotice(operatorOf(context), wanted)),
      );
    },
  },
  {
    name: 'notice show',
    about: 'the notice in merchants’ panels',
    run: async (edge) =>
      noticeAnswer(await onDatabase(edge, 'notice show', ({ sql, clock }) => findNotice(sql, clock.now()))),
  },
  {
    name: 'notice end',
    about: 'ends the notice before its time',
    run: async (edge) => {
      await onDatabase(edge, 'notice end', (context) => endNotice(operatorOf(context)));
      return noticeAnswer(null);
    },
  },
];

function noticeAnswer(notice: Notice | null): Answer {
  if (notice === null) return { json: { notice }, text: 'no notice' };
  const { pt, en, setBy } = notice;
  const shown = {
    ...{ pt, en, from: instant(notice.fromAt), until: instant(notice.untilAt) },
    ...{ setBy, setAt: instant(notice.setAt) },
  };
  return { json: { notice: shown }, text: facts(shown) };
}
