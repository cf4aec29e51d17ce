import type { Check } from '../check.ts';
import { type Answer, type Command, table } from './command.ts';

export const checkCommand: Command = {
  name: 'check',
  usage: '[--live]',
  about:
    'whether everything is ready for traffic: settings, database, migrations, rights, secret, connections, mail; --live asks only whether the local process answers',
  options: { live: { type: 'boolean' } },
  onSettingFault: ({ lines }) => answerOf(lines.map((message) => ({ name: 'settings', ok: false, message }))),
  run: async (edge, { values }) => {
    const { checkInstallation, checkLive } = await import('../check.ts');
    return answerOf(await (values.live === true ? checkLive(edge) : checkInstallation(edge)));
  },
};

function answerOf(checks: Check[]): Answer {
  const ok = checks.every((check) => check.ok);
  const rows = checks.map((check) => [check.ok ? 'ok' : 'FAILED', check.name, check.message]);
  return { json: { ok, checks }, text: table(rows, ''), exitCode: ok ? 0 : 1 };
}
