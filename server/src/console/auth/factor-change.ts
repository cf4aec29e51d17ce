import type { Log } from '../../ground/log.ts';
import type { Mail } from '../../ground/mail.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries } from '../../ports/sql.ts';
import { type FactorChange, letterOfFactor } from '../people/factor-letter.ts';
import { noteOperator } from '../people/operators.ts';
import type { SignedIn } from './sessions.ts';

/** A change of how the operator who is signed in comes in: it stands in the audit log, and is mailed to them. */

export const noteFactor = (
  tx: Queries,
  deps: { clock: Clock; ids: Ids },
  { operatorId, email, network }: SignedIn,
  change: FactorChange,
  detail: object,
): Promise<unknown> =>
  noteOperator(tx, deps, {
    ...{ actor: email, action: `operator.${change}`, subject: operatorId, detail: { ...detail, network } },
  });

/** Not waited for: the change is made, and stands in the audit log. */
export function tellPerson(
  { mail, log }: { mail: Mail; log: Log },
  { email, network }: SignedIn,
  change: FactorChange,
  at: number,
): void {
  mail
    .send(letterOfFactor(email, { change, at, network }))
    .catch((err: unknown) => log.error({ err }, 'a mail was not sent'));
}
