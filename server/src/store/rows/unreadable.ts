import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql, Statement } from '../../ports/sql.ts';

/**
 * A stored value that no configured secret opens: the secret was replaced before `secret rotate` had ended, or the value was changed.
 * Work that needs the value stops there, and an incident reports it to a person. Money that arrives is posted without it.
 */
export interface Unreadable {
  accountId: string;
  paymentId: string | null;
  operationId: string | null;
  amountCents: number;
  /** The act that could not be done, and its row: an incident of its own. */
  need:
    | `send:${string}`
    | `draft:${string}`
    | `show:${string}`
    | `delivery:${string}`
    | `webhook:${string}`
    | `defence:${string}`
    | `evidence:${string}`;
}

export interface UnreadableDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
}

const insert: Statement = {
  name: 'incident_unreadable',
  text: `INSERT INTO incident (account_id, id, kind, payment_id, operation_id, amount_cents, reference, freezes, detail, state, opened_at,
      mail_due_at)
    VALUES ($1, $2, 'unreadable', $3, $4, $5, $6, false, '{}', 'open', $7, $7)
    ON CONFLICT (account_id, reference) DO NOTHING RETURNING id`,
};

/** The reference of an incident is made from what was needed: the same value opens one, however often it is needed. */
export const unreadableReference = (need: string): string => `unreadable:${need}`;

/** Opens the incident, once. A failure to write it is logged: the caller has its own outcome to report. */
export async function reportUnreadable(deps: UnreadableDeps, value: Unreadable): Promise<void> {
  const { accountId, paymentId, operationId, amountCents, need } = value;
  try {
    const opened = await deps.sql.tx((tx) =>
      tx.run<{ id: string }>(insert, [
        accountId,
        deps.ids.uuid(),
        paymentId,
        operationId,
        amountCents,
        unreadableReference(need),
        new Date(deps.clock.now()).toISOString(),
      ]),
    );
    if (opened[0]) {
      deps.log.error({ accountId, paymentId, incident: opened[0].id, kind: 'unreadable' }, 'incident opened');
    }
  } catch (err) {
    deps.log.error({ err, accountId, paymentId }, 'an incident about an unreadable value was not written');
  }
}

/** Opens a sealed value, or reports that it cannot be opened and returns null. */
export async function openOrReport(
  deps: UnreadableDeps & { secrets: { open(sealed: Buffer, context: string): Buffer } },
  sealed: Buffer,
  context: string,
  value: Unreadable,
): Promise<Buffer | null> {
  try {
    return deps.secrets.open(sealed, context);
  } catch {
    await reportUnreadable(deps, value);
    return null;
  }
}

/** The Pix key of a payment, to be shown; null where there is none or it cannot be opened. */
export const shownKeyOf = async (
  deps: Parameters<typeof openOrReport>[0],
  payment: { accountId: string; id: string; operationId: string; amountCents: number; pixKey: Buffer | null },
): Promise<string | null> =>
  payment.pixKey &&
  ((await openOrReport(deps, payment.pixKey, payment.id, unreadableKeyOf(payment, 'show')))?.toString() ??
    null);

/** The report about a payment whose Pix key cannot be opened. */
export const unreadableKeyOf = (
  payment: { accountId: string; id: string; operationId: string; amountCents: number },
  need: 'send' | 'draft' | 'show',
): Unreadable => ({
  accountId: payment.accountId,
  paymentId: payment.id,
  operationId: payment.operationId,
  amountCents: payment.amountCents,
  need: `${need}:${payment.id}`,
});
