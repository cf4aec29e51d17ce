import { sentenceOf } from '../../operate/connections/connections.ts';
import { examineConnections } from '../../operate/connections/doctor.ts';
import { examinedOfEnvironment } from '../runtime.ts';
import { onDatabase } from '../start.ts';
import { type Command, table } from './command.ts';
import { operatorOf } from './operator-commands.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  usage: '[--connection N]',
  about:
    'what stands between each connection and its payments, and what to do: certificate, token, permissions, clock, Pix key, balance, limits, deliveries; exit code 1 when something is wrong',
  options: { connection: { type: 'string' } },
  run: async (edge, { values }) => {
    const name = typeof values.connection === 'string' ? values.connection : null;
    const connections = await onDatabase(edge, 'doctor', async (context) => {
      const { createUndiciNet } = await import('../../ports/undici-net.ts');
      const net = createUndiciNet();
      try {
        const ofEnvironment = await examinedOfEnvironment({ ...context, net });
        return await examineConnections({ ...operatorOf(context), ...context, net, ofEnvironment }, name);
      } finally {
        await net.close();
      }
    });
    const ok = connections.every(({ findings }) => findings.every((finding) => finding.ok));
    const rows = connections.flatMap(({ connection, findings }) =>
      findings.map((finding) => [
        finding.ok ? 'ok' : 'FAULT',
        connection,
        finding.check,
        sentenceOf(finding),
      ]),
    );
    return {
      json: { ok, connections },
      text: table(rows, 'no connections'),
      exitCode: ok ? 0 : 1,
    };
  },
};
