import { pageNameOf } from '../../money/card-page.ts';
import { providerIdOf } from '../../money/payment.ts';
import { withoutCards } from '../../provider/cards.ts';
import { withoutDueCharges } from '../../provider/due-charges.ts';
import {
  type ChargeRequest,
  chargeOf,
  isRequestOpen,
  ofCharge,
  waitsFor,
} from '../charge-request/charge-request.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { admitCancel, type CancelOrder } from './admission.ts';
import { chargeCancels } from './cancels.sql.ts';
import { cancelEndedWith, cancelOf } from './end.ts';
import { type CancelReport, hearCancel, observedCancel } from './outcome.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    cancel: { cause: 'cancel' };
  }
}

/**
 * A merchant takes a charge back that is not paid. The provider's word alone ends the charge, and a payment that was quicker wins. It goes to the
 * connection that its charge is on, and not before the provider has confirmed the charge: a creation that arrives behind its cancel would stay payable.
 * Of a payment by card it closes the page.
 */
export const cancel: Kind<ChargeRequest, CancelOrder, CancelReport, never> = {
  ...ofCharge,
  name: 'cancel',
  table: chargeCancels,
  request: { cause: 'cancel', shownAs: null, outcome: null, openOf: cancelOf, endedWith: cancelEndedWith },
  offers: (can) => can.cancelsCharges,
  subjectOf: ({ id, paymentId }) => ({ paymentId, detail: { cancelId: id } }),

  asked: ({ paymentId }) => ({ paymentId }),
  admit: admitCancel,
  prepare: prepareCancel,
  async locate(sql, { accountId, paymentId: id }) {
    const [found] = await chargeCancels.read(sql, [accountId + id]);
    const charge = found && isRequestOpen(found) ? await chargeOf(sql, found) : undefined;
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

async function prepareCancel(
  { sql }: PrepareDeps,
  row: ChargeRequest,
  { connection, traceparent }: Sending,
): Promise<Prepared<CancelReport>> {
  const charge = await chargeOf(sql, row);
  const notSent = (detail: string) => ({ outcome: 'notSent', detail }) as const;
  if (!charge) return notSent('there is no such charge');
  // One that the provider has confirmed stays on its connection.
  if (charge.status !== 'pending') return waitsFor(charge);
  if (charge.connection !== null && charge.connection !== connection)
    return notSent('the charge is on another connection');
  const { id, amountCents, createdAt, card } = charge;
  if (card !== null) {
    const { providerRef, ...name } = pageNameOf(charge, card);
    if (providerRef === null) return notSent('the page has no name yet');
    return async (provider) =>
      provider.cards?.expire({ ...name, providerRef }) ?? notSent('the connection has no card payments');
  }
  const instruction = { txid: providerIdOf(id), amountCents, createdAt, traceparent };
  return async (provider) =>
    (charge.due === null ? provider.cancelCharge?.(instruction) : provider.dueCharges?.cancel(instruction)) ??
    notSent('the connection cancels no charges');
}
