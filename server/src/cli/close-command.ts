import { type ClosedDay, closeNow } from '../closes/close-now.ts';
import { viewOfClose } from '../closes/view.ts';
import { OperatorRefused } from '../settlement/operator/operator.ts';
import { type Answer, type Command, instant, table, UsageFault } from './command.ts';
import { atProviders } from './operator-commands.ts';

export const closeCommand: Command = {
  name: 'close',
  usage: '[--day YYYY-MM-DD] [--connection NAME]',
  about:
    "closes the days that are over and shows one of them (default: the last), with the books beside each provider's account. Exit code 3 when they differ or cannot be compared yet",
  options: { day: { type: 'string' }, connection: { type: 'string' } },
  run: async (edge, { values }) => {
    const day = typeof values.day === 'string' ? dayOption(values.day) : null;
    const closed = await atProviders(edge, 'close', (runtime) => closeNow(runtime, day));
    return answerOf(typeof values.connection === 'string' ? ofConnection(closed, values.connection) : closed);
  },
};

function dayOption(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text))
    throw new UsageFault('--day takes a day like 2026-11-21');
  return text;
}

function ofConnection(closed: ClosedDay, name: string): ClosedDay {
  const connections = closed.connections.filter(({ connection }) => connection === name);
  if (connections.length === 0)
    throw new OperatorRefused(`no connection ${name} was closed on ${closed.day}`);
  const waits = closed.waits && connections.some(({ differenceCents }) => differenceCents === null);
  return { ...closed, connections, waits };
}

function answerOf({ day, connections, operations, waits }: ClosedDay): Answer {
  const shown = connections.map(({ comparedAt, closedAt, head, ...close }) => ({
    ...close,
    comparedAt: instant(comparedAt),
    closedAt: instant(closedAt),
    head: head.toString('hex'),
  }));
  const rows = shown.map((one) => [
    one.connection,
    `opening ${one.openingCents}`,
    `in ${one.inCents}`,
    `out ${one.outCents}`,
    `refunds ${one.refundCents}`,
    `closing ${one.closingCents}`,
    one.differenceCents === null ? 'not compared' : `difference ${one.differenceCents}`,
    one.incidentId === null ? '' : `incident ${one.incidentId}`,
  ]);
  const differs = shown.some((one) => one.differenceCents !== null && one.differenceCents !== 0);
  return {
    json: {
      day,
      complete: !waits,
      connections: shown,
      operations: operations.map((one) => ({ ownerId: one.accountId, ...viewOfClose(one) })),
    },
    text: [
      `${day}: ${operations.length} operations`,
      table(rows, ''),
      ...(waits ? ["a provider's balance is still to be compared"] : []),
    ].join('\n'),
    exitCode: differs || waits ? 3 : 0,
  };
}
