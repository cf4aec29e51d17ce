import { pageNameOf } from '../../money/card-page.ts';
import { type Payment, providerIdOf } from '../../money/payment.ts';
import type { Queries } from '../../ports/sql.ts';
import { withoutCards } from '../../provider/cards.ts';
import { withoutDueCharges } from '../../provider/due-charges.ts';
import { findConnectionOf, paymentKey, payments } from '../../store/rows/payments.sql.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { admitCancel, type CancelOrder, cancelReads } from './admission.ts';
import { chargeCancels } from './cancels.sql.ts';
import { type ChargeCancel, isCancelOpen } from './charge-cancel.ts';
import {
  type CancelReport,
  hearCancel,
  isChargeLookedAt,
  observedCancel,
  undecidedCancel,
} from './outcome.ts';

/**
 * A merchant takes a charge back that is not paid. The provider's word alone ends the charge, and a payment that was quicker wins. It goes to the
 * connection that its charge is on, and not before the provider has confirmed the charge: a creation that arrives behind its cancel would stay payable.
 * Of a payment by card it closes the page.
 */
export const cancel: Kind<ChargeCancel, CancelOrder, CancelReport, never> = {
  name: 'cancel',
  permission: 'charges',
  call: 'cancel',
  table: chargeCancels,
  isWithdrawal: false,
  isLimited: false,
  mayMove: false,
  isAwaited: true,
  createdEvent: null,
  notFound: 'payment_not_found',
  unread: ['charge'],
  offers: (can) => can.cancelsCharges,
  isOpen: isCancelOpen,
  subjectOf: ({ id, paymentId }) => ({ paymentId, detail: { cancelId: id } }),
  undecided: undecidedCancel,
  isLookedAt: isChargeLookedAt,

  connectionOf: async (sql, { accountId, connection }, { paymentId }) =>
    (await findConnectionOf(sql, accountId, paymentId)) ?? connection,
  asked: ({ paymentId }) => ({ paymentId }),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admissionReads: cancelReads,
  admit: admitCancel,
  prepare: prepareCancel,
  async locate(sql, { accountId, paymentId: id }) {
    const [found] = await chargeCancels.read(sql, [accountId + id]);
    const charge = found && isCancelOpen(found) ? await chargeOf(sql, found) : undefined;
    if (!found || !charge) return null;
    return {
      query: async (provider) => {
        const { id, card, due, createdAt } = charge;
        if (card !== null) return provider.cards?.query(pageNameOf(charge, card)) ?? withoutCards;
        const txid = providerIdOf(id);
        if (due === null) return provider.queryCharge(txid, createdAt);
        return provider.dueCharges?.query(txid, createdAt) ?? withoutDueCharges;
      },
      observed: (connection, observation) => observedCancel(found, connection, observation),
    };
  },
  observed: observedCancel,
  hear: hearCancel,
};

const chargeOf = async (sql: Queries, { accountId, paymentId }: ChargeCancel): Promise<Payment | undefined> =>
  (await payments.read(sql, [paymentKey(accountId, paymentId)]))[0];

async function prepareCancel(
  { sql }: PrepareDeps,
  row: ChargeCancel,
  { connection, traceparent }: Sending,
): Promise<Prepared<CancelReport>> {
  const charge = await chargeOf(sql, row);
  const notSent = (detail: string) => ({ outcome: 'notSent', detail }) as const;
  if (!charge) return notSent('there is no such charge');
  // One that the provider has confirmed stays on its connection.
  if (charge.status !== 'pending') return notSent(`the charge is ${charge.status}`);
  if (charge.connection !== null && charge.connection !== connection)
    return notSent('the charge is on another connection');
  const { id, amountCents, createdAt, card } = charge;
  if (card !== null)
    return async (provider) =>
      provider.cards?.expire(pageNameOf(charge, card)) ?? notSent('the connection has no card payments');
  const instruction = { txid: providerIdOf(id), amountCents, createdAt, traceparent };
  return async (provider) =>
    (charge.due === null ? provider.cancelCharge?.(instruction) : provider.dueCharges?.cancel(instruction)) ??
    notSent('the connection cancels no charges');
}
