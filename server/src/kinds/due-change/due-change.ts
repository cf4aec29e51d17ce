import { createHash } from 'node:crypto';
import { termsOf } from '../../money/due.ts';
import { providerIdOf } from '../../money/payment.ts';
import type { Queries } from '../../ports/sql.ts';
import { withoutDueCharges } from '../../provider/due-charges.ts';
import type { ChargeReport } from '../../provider/provider.ts';
import { findConnectionOf, paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { isChargeLookedAt, undecidedCancel } from '../cancel/outcome.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { admitChange, type ChangeOrder, changeReads, type DuePayment, hasDueDate } from './admission.ts';
import { type ChargeChange, chargeChanges, isChangeOpen } from './changes.sql.ts';
import { hearChange, observedChange } from './outcome.ts';

/**
 * The request key of a change, a UUIDv8: the same change that is asked for twice at once is one. No key that a merchant makes is the same by chance.
 * @param asked how often a change of the charge was asked for before
 */
export function changeKeyOf(
  { paymentId, fields }: Pick<ChangeOrder, 'paymentId' | 'fields'>,
  asked: number,
): string {
  const digest = createHash('sha256')
    .update(`change:${paymentId}:${asked}:${JSON.stringify(fields)}`)
    .digest();
  digest[6] = ((digest[6] as number) & 0x0f) | 0x80;
  digest[8] = ((digest[8] as number) & 0x3f) | 0x80;
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * A due-date charge gets other terms at its provider. Whatever is said about it goes to the charge, which takes them over once its provider shows them
 * (`money/due.ts`), and the change ends with that (`end.ts`). It goes over the charge's connection.
 */
export const dueChange: Kind<ChargeChange, ChangeOrder, ChargeReport, never> = {
  name: 'due_change',
  permission: 'charges',
  call: 'cancel',
  table: chargeChanges,
  isWithdrawal: false,
  isLimited: false,
  mayMove: false,
  isAwaited: true,
  createdEvent: null,
  notFound: 'payment_not_found',
  unread: ['charge'],
  offers: (can) => can.dueCharges,
  isOpen: isChangeOpen,
  subjectOf: ({ id, paymentId }) => ({ paymentId, detail: { changeId: id } }),
  undecided: undecidedCancel,
  isLookedAt: isChargeLookedAt,

  connectionOf: async (sql, { accountId, connection }, { paymentId }) =>
    (await findConnectionOf(sql, accountId, paymentId)) ?? connection,
  asked: ({ paymentId, fields }) => ({ paymentId, fields: JSON.stringify(fields) }),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admissionReads: changeReads,
  admit: admitChange,
  prepare: prepareChange,
  async locate(sql, { accountId, paymentId: id }) {
    const [found] = await chargeChanges.read(sql, [accountId + id]);
    const charge = found && isChangeOpen(found) ? await chargeOf(sql, found) : undefined;
    if (!found || !charge) return null;
    return {
      query: async (provider) =>
        provider.dueCharges?.query(providerIdOf(charge.id), charge.createdAt) ?? withoutDueCharges,
      observed: (connection, observation) => observedChange(found, connection, observation),
    };
  },
  observed: observedChange,
  hear: hearChange,
};

async function chargeOf(
  sql: Queries,
  { accountId, paymentId }: ChargeChange,
): Promise<DuePayment | undefined> {
  const [charge] = await payments.read(sql, [paymentKey(accountId, paymentId)]);
  return hasDueDate(charge) ? charge : undefined;
}

async function prepareChange(
  { sql }: PrepareDeps,
  row: ChargeChange,
  { connection, traceparent }: Sending,
): Promise<Prepared<ChargeReport>> {
  const charge = await chargeOf(sql, row);
  const notSent = (detail: string) => ({ outcome: 'notSent', detail }) as const;
  const change = charge?.due.change;
  if (!charge || change?.id !== row.id) return notSent('the charge has no such change');
  // One that the provider has confirmed stays on its connection.
  if (charge.status !== 'pending') return notSent(`the charge is ${charge.status}`);
  if (charge.connection !== null && charge.connection !== connection)
    return notSent('the charge is on another connection');
  const { amountCents, terms } = change;
  const instruction = {
    ...{ txid: providerIdOf(charge.id), amountCents, terms, before: termsOf(charge.due) },
    ...{ createdAt: charge.createdAt, traceparent },
  };
  return async (provider) =>
    provider.dueCharges?.change(instruction) ?? notSent('the connection has no due-date charges');
}
