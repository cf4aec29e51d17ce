import { priceOf } from '../../ground/money.ts';
import { type ClosedDay, closeNow, postBeforeClose } from '../../operate/closes/close-now.ts';
import type { ConnectionClose } from '../../operate/closes/connection-closes.sql.ts';
import { answersOf, type Figures, verdictOf } from '../../operate/closes/verdict.ts';
import { viewOfClose } from '../../operate/closes/view.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { type Answer, type Command, instant, table, UsageFault } from './command.ts';
import { dryRunOption, postingAtProviders } from './dry-run.ts';
import { atProviders } from './operator-commands.ts';

export const closeCommand: Command = {
  name: 'close',
  usage: '[--day YYYY-MM-DD] [--connection NAME] [--dry-run]',
  about:
    "closes the days that are over and shows one of them (default: the last), with the books beside each provider's account. Exit code 3 when they differ, agree only under an assumption, or cannot be compared yet",
  options: { day: { type: 'string' }, connection: { type: 'string' }, ...dryRunOption },
  run: async (edge, { values }) => {
    const day = typeof values.day === 'string' ? dayOption(values.day) : null;
    const name = typeof values.connection === 'string' ? values.connection : null;
    return atProviders(edge, 'close', (runtime, operator) =>
      postingAtProviders(
        values,
        { runtime, operator },
        (deps) => closeNow(deps, day),
        (closed) => answerOf(name === null ? closed : ofConnection(closed, name)),
        (deps) => postBeforeClose(deps, day),
      ),
    );
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
    `opening ${priceOf(one.openingCents)}`,
    `in ${priceOf(one.inCents)}`,
    `out ${priceOf(one.outCents)}`,
    `refunds ${priceOf(one.refundCents)}`,
    `closing ${priceOf(one.closingCents)}`,
    `costs ${priceOf(one.costCents ?? 0)}`,
    `own money +${priceOf(one.ownInCents ?? 0)} -${priceOf(one.ownOutCents ?? 0)}`,
    `blocked ${one.blockedCents == null ? 'not told' : priceOf(one.blockedCents)}`,
    one.differenceCents === null ? 'not compared' : `difference ${priceOf(one.differenceCents)}`,
    one.incidentId === null ? '' : `incident ${one.incidentId}`,
  ]);
  const transits = shown.flatMap(transitLines);
  const assumed = shown.some((one) => verdictOf(one) === 'assumed');
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
      ...transits,
      ...(waits ? ["a provider's balance is still to be compared"] : []),
    ].join('\n'),
    exitCode: differs || waits || assumed ? 3 : 0,
  };
}

/** The transfers without an end that count as gone, and the results of the other answers. */
function transitLines(one: Pick<ConnectionClose, 'connection' | 'inTransitCents'> & Figures): string[] {
  const { connection, inTransitCents } = one;
  const answers = answersOf(one);
  if (answers === null) return [];
  const { settledCents, pendingCents, unsentCents, ifNone, ifSettled, ifPending, ifAll } = answers;
  return [
    `${connection}: in transit, by the provider's word: ${settledCents} gone, ${pendingCents} under way, ${unsentCents} not sent; ${inTransitCents} count as gone`,
    `${connection}: the difference would be ${ifNone} with none gone, ${ifSettled} with what the provider completed, ${ifPending} with what is under way, ${ifAll} with all`,
  ];
}
