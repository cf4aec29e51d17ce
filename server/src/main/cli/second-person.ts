import { letterOfAlone, recordAlone, takesTwo } from '../../console/requests/alone.ts';
import type { Wanted } from '../../console/requests/requests.sql.ts';
import { createMail } from '../../ground/mail.ts';
import { acts } from '../../operate/acts.ts';
import type { Agreed } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import type { Context, Edge } from '../start.ts';
import { type CommandInput, required } from './command.ts';

/** Of every command whose act takes two people in the console. */
export const breakGlassOption = { 'break-glass': { type: 'boolean' } } as const;

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
 * @throws OperatorRefused two people decide this; UsageFault no reason
 */
export async function agreedAtShell(
  { edge, context }: { edge: Edge; context: Context },
  values: CommandInput['values'],
  directory: Operator,
  { act, subject, body, show }: ActOfTwo,
): Promise<Agreed | null> {
  if (!(await takesTwo(directory.sql, act))) return null;
  const seen = await show();
  const { operatorAloneCents, operatorUrl } = edge.config;
  if (acts[act].secondPerson === 'with_money' && seen.movedCents <= operatorAloneCents)
    return { shown: seen.shown, mostCents: operatorAloneCents };
  if (values['break-glass'] !== true)
    throw new OperatorRefused(
      `two people decide this: ask for it at ${operatorUrl}/operator, where another one agrees. --break-glass --reason R does it alone: that is recorded, mailed and shown until an operator has seen it`,
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
