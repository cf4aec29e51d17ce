import { refuse } from '../../ground/errors.ts';
import { newCard } from '../../money/card.ts';
import { pageNameOf } from '../../money/card-page.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import { causeOfCall, newPayment, type Payment, providerIdOf } from '../../money/payment.ts';
import { type CheckoutReport, withoutCards } from '../../provider/cards.ts';
import { type Conditions, findCardConnection } from '../../store/rows/conditions.sql.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import type { Admission, Admitted, Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { isLookedAt, undecidedPayment } from '../payment/outcome.ts';
import { sentPayment } from '../payment/sent-payment.ts';
import { receivedFee } from '../received-fee.ts';
import { hearCheckout, isCheckoutOpen } from './outcome.ts';

export interface CheckoutOrder {
  amountCents: number;
  payerName: string;
  description: string;
  requestKey: string;
  expiresInMinutes: number;
  metadata?: Metadata;
}

/**
 * A charge that is paid by card on the page of an acquirer, over the account's card connection. It is a payment like any charge; its states, and when
 * its money is the merchant's, are those of `money/checkout.ts`.
 */
export const checkout: Kind<Payment, CheckoutOrder, CheckoutReport, never> = {
  name: 'checkout',
  permission: 'charges',
  call: 'charge',
  table: payments,
  isWithdrawal: false,
  isLimited: false,
  mayMove: false,
  isAwaited: true,
  createdEvent: 'charge.created',
  notFound: 'payment_not_found',
  unread: ['charge'],
  // The account may have no card connection: `admit` says so.
  offers: () => true,
  isOpen: isCheckoutOpen,
  subjectOf: sentPayment.subjectOf,
  undecided: undecidedPayment,
  isLookedAt,

  connectionOf: async (sql, { accountId, connection }) =>
    (await findCardConnection(sql, accountId)) ?? connection,
  asked: ({ amountCents, payerName, description, expiresInMinutes, metadata }) => ({
    amountCents,
    payerName,
    description,
    expiresInMinutes,
    method: 'card',
    ...askedMetadata(metadataOf(metadata)),
  }),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admit: admitCheckout,
  prepare: prepareCheckout,
  async locate(sql, asked) {
    const [payment] = await payments.read(sql, [paymentKey(asked.accountId, asked.paymentId)]);
    if (!payment?.card) return null;
    const { card } = payment;
    const name = pageNameOf(payment, { ...card, ref: card.ref ?? asked.providerRef });
    return {
      query: async (provider) => provider.cards?.query(name) ?? withoutCards,
      observed: (connection, observation) => observedCheckout(payment, connection, observation),
    };
  },
  observed: observedCheckout,
  hear: hearCheckout,
};

function observedCheckout<Seen>(
  { accountId, id, operationId }: Payment,
  connection: string,
  observation: Seen,
) {
  return { accountId, paymentId: id, operationId, connection, kind: 'checkout', observation } as const;
}

/** @throws ApiError `card_not_enabled`, `amount_out_of_limits`, `amount_below_fee` */
function admitCheckout(_view: unknown, admission: Admission<CheckoutOrder>, now: number): Admitted<Payment> {
  const { caller, order, account, connection, can, id, fingerprint, token } = admission;
  const { accountId, operationId } = caller;
  const { amountCents, payerName, description, requestKey, expiresInMinutes } = order;
  // The connection was read before the lock.
  if (account.cardConnection !== connection || can?.cards !== true) throw refuse('card_not_enabled');
  const row = newPayment(
    {
      accountId,
      id,
      operationId,
      kind: 'deposit',
      amountCents,
      feeCents: cardFeeOf(account, amountCents),
      requestKey,
      fingerprint,
      description,
      metadata: metadataOf(order.metadata),
      payerName,
      pixKey: null,
      pixKeyType: null,
      command: token,
      card: newCard(expiresInMinutes),
      connection,
    },
    'unknown',
    now,
    causeOfCall('api', caller),
  );
  return { row, refusedAs: null, postings: [], writes: [] };
}

const cardFeeOf = (account: Conditions, amountCents: number): number =>
  receivedFee(
    amountCents,
    { minimumCents: account.minimumCardCents, maximumCents: account.maximumCardCents },
    { fixedCents: account.cardFeeCents, bps: account.cardFeeBps },
  );

/** Everything of the request follows from the row, so that a repeat is the same to the last byte: acquirers refuse another one under the same id. */
async function prepareCheckout(
  { settings }: PrepareDeps,
  { id, amountCents, description, createdAt, card }: Payment,
  { traceparent }: Sending,
): Promise<Prepared<CheckoutReport>> {
  if (card === null) throw new Error('a checkout without a card');
  const instruction = {
    providerId: providerIdOf(id),
    amountCents,
    description,
    createdAt,
    minutes: card.minutes,
    returnUrl: settings.pageOf(accountNumberOf(id), id),
    traceparent,
  };
  return async (provider) =>
    provider.cards?.create(instruction) ?? {
      outcome: 'notSent',
      detail: 'the connection has no card payments',
    };
}
