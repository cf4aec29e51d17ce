import type { Letter } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import { acts } from '../../operate/acts.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Operator } from '../../store/operator.ts';
import { noteOperator } from '../people/operators.ts';
import { hasTwoPeople, insertAloneRequest, type Wanted } from './requests.sql.ts';
import { requestable } from './requests.ts';

/**
 * Acts of two people, done by one at the shell. The shell has the database, so it cannot be kept from an act; it can be loud. The act is recorded
 * before it is done, mailed to the operators' address, counted by a metric, and stands in the worklist until an operator has seen it.
 */

/** Whether the act takes two people here: where two could not agree, one at the shell has to. */
export const takesTwo = async (sql: Sql, act: Wanted['act']): Promise<boolean> =>
  requestable.includes(act) && hasTwoPeople(sql, acts[act].roles);

/** @param operator of the directory, whose actor is the system's user @returns the id of the record */
export async function recordAlone(
  { sql, ids, clock, actor }: Pick<Operator, 'sql' | 'ids' | 'clock' | 'actor'>,
  wanted: Wanted,
): Promise<string> {
  const id = ids.uuid();
  await sql.tx(async (tx) => {
    await insertAloneRequest(tx, { ...wanted, id, user: actor, at: clock.now() });
    const { act, subject, body, shown, reason } = wanted;
    const detail = { act, subject, ...body, shown };
    await noteOperator(tx, { ids, clock }, { actor, action: 'request.alone', subject: id, reason, detail });
  });
  return id;
}

/** To the operators' address. */
export function letterOfAlone(
  { act, subject, body, movedCents, reason }: Wanted,
  actor: string,
  consoleUrl: string,
): Letter {
  const facts = [act, body.action, subject, priceOf(movedCents)].filter(Boolean).join('  ');
  return {
    to: null,
    'pt-BR': {
      subject: `Ato de duas pessoas feito por uma: ${act}`,
      text: `${actor} fez sozinho, na linha de comando, o que exige duas pessoas:

${facts}
Motivo: ${reason}

Confira os lançamentos e confirme que viu: ${consoleUrl}
`,
    },
    en: {
      subject: `An act of two people was done by one: ${act}`,
      text: `${actor} did alone, at the command line, what takes two people:

${facts}
Reason: ${reason}

Look at the postings and confirm that you have seen it: ${consoleUrl}
`,
    },
  };
}
