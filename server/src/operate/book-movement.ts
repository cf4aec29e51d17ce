import { postMovements } from '../flow/connection-movements.ts';
import { type Operator, OperatorRefused, reasonOf } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';
import {
  findMovement,
  findMovementDays,
  insertMovements,
  isConnection,
  type MovementKind,
  type MovementsOfDay,
} from '../store/rows/connection-movements.sql.ts';
import { createTill } from '../store/till.ts';

/** A movement that a person books at a connection: a cost that no source of the provider names, or money of the company that no list shows. */
export interface MovementToBook {
  connection: string;
  kind: MovementKind;
  /** Of a cost, what the provider took (below zero: gave back); of own money, what came in (below zero: left). */
  amountCents: number;
  /** When it moved, ms since 1970. */
  at: number;
  /** The same key books it once. */
  requestKey: string;
  reason: string;
}

export interface BookedMovement extends Omit<MovementToBook, 'reason'> {
  /** It had been booked under this key before: nothing was done. */
  repeated: boolean;
}

/**
 * Books it, once under its key, with an entry in the audit log.
 * @throws OperatorRefused no such connection, no amount, no key, or a key that booked something else
 */
export async function bookMovement(operator: Operator, wanted: MovementToBook): Promise<BookedMovement> {
  const { connection, kind, amountCents, at, requestKey } = wanted;
  const reason = reasonOf(wanted.reason);
  if (!Number.isSafeInteger(amountCents) || amountCents === 0)
    throw new OperatorRefused('an amount is a number of cents other than zero');
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(requestKey))
    throw new OperatorRefused('a request key has 1 to 64 letters, digits, dots, hyphens or underscores');
  if (at > operator.clock.now()) throw new OperatorRefused('it cannot have moved in the future');
  if (!(await isConnection(operator.sql, connection)))
    throw new OperatorRefused(`no connection ${connection}`);
  const signed = kind === 'cost' ? 0 - amountCents : amountCents;
  const reference = `person:${requestKey}`;
  const movement = { kind, reference, amountCents: signed, at, source: 'person' as const };
  const isNew = await operator.sql.tx(async (tx) => {
    const now = operator.clock.now();
    const { added } = await insertMovements(tx, connection, [movement], now);
    if (added === 0) return false;
    const detail = { kind, amountCents, at: new Date(at).toISOString(), requestKey };
    const audit = {
      ...{ accountId: installationId, id: operator.ids.uuid(), at: now, actor: operator.actor },
      ...{ action: `connection.${kind}`, subject: connection, reason, detail },
    };
    await writeAudit(tx, audit);
    return true;
  });
  if (!isNew) {
    const before = await findMovement(operator.sql, connection, kind, reference);
    if (before?.amountCents !== signed || before.at !== at)
      throw new OperatorRefused(`the request key ${requestKey} has booked something else`);
  }
  await postMovements({ ...operator, till: createTill(operator) }, connection);
  return { connection, kind, amountCents, at, requestKey, repeated: !isNew };
}

/** A line for each day and kind. @throws OperatorRefused no such connection */
export async function listMovements(
  { sql }: Pick<Operator, 'sql'>,
  connection: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<MovementsOfDay[]> {
  if (!(await isConnection(sql, connection))) throw new OperatorRefused(`no connection ${connection}`);
  return findMovementDays(sql, connection, fromMs, toMs);
}
