import { letterOfAlone, recordAlone, takesTwo } from '../../console/requests/alone.ts';
import { findOpenRequests, type OperatorRequest, type Wanted } from '../../console/requests/requests.sql.ts';
import { askAtShell } from '../../console/requests/requests.ts';
import { createMail } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import { acts } from '../../operate/acts.ts';
import type { Agreed } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';
import {
  type Answer,
  type Command,
  type CommandInput,
  instant,
  required,
  table,
  UsageFault,
} from './command.ts';

/** Of every command whose act takes two people in the console. */
export const breakGlassOption = { 'break-glass': { type: 'boolean' } } as const;

/** The act became a request: nothing else was done. */
class Asked extends Error {
  override name = 'Asked';
  readonly id: string;
  readonly expiresAt: number;
  constructor({ id, expiresAt }: { id: string; expiresAt: number }) {
    super(`request ${id}`);
    this.id = id;
    this.expiresAt = expiresAt;
  }
}

/** A command whose act is asked for with `--request` in place of doing it. */
export const askable = (command: Command): Command => ({
  ...command,
  usage: `${command.usage} [--request]`,
  options: { ...command.options, request: { type: 'boolean' } },
  run: async (edge, input, ending) => {
    for (const other of ['break-glass', 'dry-run'])
      if (input.values.request === true && input.values[other] === true)
        throw new UsageFault(`--request and --${other} exclude each other`);
    try {
      return await command.run(edge, input, ending);
    } catch (error) {
      if (!(error instanceof Asked)) throw error;
      const until = instant(error.expiresAt);
      const where = `${edge.config.operatorUrl}/operator/pedidos`;
      return {
        json: { requestId: error.id, expiresAt: until },
        text: `request ${error.id}\ngood until ${until}: one operator takes it up at ${where}, another one agrees`,
      };
    }
  },
});

const requestsMost = 200;

export const requestCommands: Command[] = [
  {
    name: 'request list',
    about: 'the acts that wait for a second person, the oldest first; they are decided in the console',
    run: async (edge) => {
      const found = await onDatabase(edge, 'request list', ({ sql, clock }) =>
        findOpenRequests(sql, clock.now(), requestsMost),
      );
      return requestsAnswer(found);
    },
  },
];

function requestsAnswer(found: readonly OperatorRequest[]): Answer {
  const requests = found.map(({ requestedBy, requestedByName, requestedAt, expiresAt, ...one }) => ({
    ...{ id: one.id, act: one.act, subject: one.subject, body: one.body, movedCents: one.movedCents },
    ...{ shown: one.shown, reason: one.reason, requestedBy: requestedByName, takenUp: requestedBy !== null },
    ...{ requestedAt: instant(requestedAt), expiresAt: instant(expiresAt) },
  }));
  const rows = requests.map((one) => [
    ...[one.id, one.act, one.subject, priceOf(one.movedCents), one.expiresAt],
    `${one.requestedBy}${one.takenUp ? '' : ', at the shell'}`,
  ]);
  const names = ['request', 'act', 'subject', 'moves', 'good until', 'asked by'];
  return { json: { requests }, text: table(rows, 'no open requests', names) };
}

type Shown = Pick<Wanted, 'postings' | 'movedCents' | 'shown'>;

/** An act as the shell wants it, and as it would be written. */
export interface ActOfTwo {
  act: Wanted['act'];
  subject: string;
  body: Wanted['body'];
  /** A rehearsal. */
  show(): Promise<Shown>;
}

/**
 * Lets one person at the shell do an act only where the console would let one, or where no two operators could agree to it. Else it is refused, and
 * with `--break-glass` recorded first and mailed.
 * @param directory the operator with the directory's database
 * @returns what the act may write; null: the act is free to write what it finds
 * @throws OperatorRefused two people decide this; UsageFault no reason; Asked with `--request`
 */
export async function agreedAtShell(
  { edge, context }: { edge: Edge; context: Context },
  values: CommandInput['values'],
  directory: Operator,
  { act, subject, body, show }: ActOfTwo,
): Promise<Agreed | null> {
  const asks = values.request === true;
  if (!(await takesTwo(directory.sql, act))) {
    if (asks)
      throw new OperatorRefused('no two operators could agree to it: without --request it is done at once');
    return null;
  }
  const seen = await show();
  if (asks) {
    const reason = reasonOf(required(values, 'reason'));
    throw new Asked(await askAtShell(directory, { act, subject, body, ...seen, reason }));
  }
  const { operatorAloneCents, operatorUrl } = edge.config;
  if (acts[act].secondPerson === 'with_money' && seen.movedCents <= operatorAloneCents)
    return { shown: seen.shown, mostCents: operatorAloneCents };
  if (values['break-glass'] !== true)
    throw new OperatorRefused(
      `two people decide this: ask for it with --request --reason R, or at ${operatorUrl}/operator, where they agree. --break-glass --reason R does it alone: that is recorded, mailed and shown until an operator has seen it`,
    );
  const wanted = { act, subject, body, ...seen, reason: reasonOf(required(values, 'reason')) };
  await recordAlone(directory, wanted);
  const { actor, log } = directory;
  try {
    const letter = letterOfAlone(wanted, actor, `${operatorUrl}/operator/pedidos`);
    await createMail(edge.config, { ...context, sql: directory.sql }).send(letter);
  } catch (error) {
    // The act is wanted now, and its record is there: the worklist and the metric show it.
    log.error({ err: error }, 'the mail about an act of one person was not sent');
    edge.say('vintem: the mail about this could not be sent; the worklist of the console shows it');
  }
  edge.say('vintem: an act of two people is done by one. It is recorded and mailed');
  return { shown: seen.shown, mostCents: Number.MAX_SAFE_INTEGER };
}
