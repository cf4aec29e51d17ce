import { refuse } from '../../ground/errors.ts';
import { newCard } from '../../money/card.ts';
import { pageNameOf } from '../../money/card-page.ts';
import { askedMetadata, type Metadata, metadataOf } from '../../money/metadata.ts';
import { type Payment, providerIdOf } from '../../money/payment.ts';
import {
  type CardPayer,
  type CardReturn,
  type CheckoutReport,
  type NamedCardPayer,
  withoutCards,
} from '../../provider/cards.ts';
import { type Conditions, findCardConnection } from '../../store/rows/conditions.sql.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { openOrReport, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import { newCharge } from '../charge/charge.ts';
import type { Admission, Admitted, Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { nameless } from '../link/takes-charge.ts';
import { isLookedAt, undecidedPayment } from '../payment/outcome.ts';
import { sentPayment } from '../payment/sent-payment.ts';
import { receivedFee } from '../received-fee.ts';
import { hearCheckout, isCheckoutOpen, type RefusedNews } from './outcome.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    checkout: true;
  }
}

export interface CheckoutOrder {
  amountCents: number;
  payerName: string;
  description: string;
  requestKey: string;
  expiresInMinutes: number;
  /** Each as a browser reads it. */
  successUrl?: string;
  cancelUrl?: string;
  payer?: CardPayer;
  metadata?: Metadata;
}

/**
 * A charge that is paid by card on the page of an acquirer, over the account's card connection. It is a payment like any charge; its states, and when
 * its money is the merchant's, are those of `money/checkout.ts`.
 */
export const checkout: Kind<Payment, CheckoutOrder, CheckoutReport, RefusedNews> = {
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
  asked: ({ amountCents, payerName, description, expiresInMinutes, payer, metadata, ...order }) => ({
    amountCents,
    payerName,
    description,
    expiresInMinutes,
    method: 'card',
    ...urlsOf(order),
    ...(payer && { payer: JSON.stringify(payer) }),
    ...askedMetadata(metadataOf(metadata)),
  }),
  secretOf: ({ payer }) => (payer ? JSON.stringify(payer) : null),
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admit: admitCheckout,
  adopted: sentPayment.adopted,
  prepare: prepareCheckout,
  async locate(sql, asked) {
    const [payment] = await payments.read(sql, [paymentKey(asked.accountId, asked.paymentId)]);
    if (!payment?.card) return null;
    const { card } = payment;
    const named =
      asked.page === undefined
        ? { ref: card.ref ?? asked.providerRef }
        : // An approval on another page is not known here.
          { ref: asked.page, ...(asked.page !== card.ref && { approval: null }) };
    const name = pageNameOf(payment, { ...card, ...named });
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

const urlsOf = ({ successUrl, cancelUrl }: Pick<CheckoutOrder, 'successUrl' | 'cancelUrl'>) => ({
  ...(successUrl !== undefined && { successUrl }),
  ...(cancelUrl !== undefined && { cancelUrl }),
});

const isAllowed = (
  { protocol, username, password, host }: URL,
  { returnHosts }: Pick<Conditions, 'returnHosts'>,
): boolean => protocol === 'https:' && username === '' && password === '' && returnHosts.includes(host);

/** @throws ApiError `card_not_enabled`, `return_url_not_allowed`, `amount_out_of_limits`, `amount_below_fee` */
function admitCheckout(_view: unknown, admission: Admission<CheckoutOrder>, now: number): Admitted<Payment> {
  const { order, account, connection, can, sealed } = admission;
  // The connection was read before the lock.
  if (account.cardConnection !== connection || can?.cards !== true) throw refuse('card_not_enabled');
  const urls = urlsOf(order);
  for (const url of Object.values(urls))
    if (!isAllowed(new URL(url), account)) throw refuse('return_url_not_allowed');
  const feeCents = cardFeeOf(account, order.amountCents);
  return newCharge(admission, { feeCents, card: newCard(order.expiresInMinutes, urls), payer: sealed }, now);
}

/** @throws ApiError `amount_out_of_limits`, `amount_below_fee` */
export const cardFeeOf = (account: Conditions, amountCents: number): number =>
  receivedFee(
    amountCents,
    { minimumCents: account.minimumCardCents, maximumCents: account.maximumCardCents },
    { fixedCents: account.cardFeeCents, bps: account.cardFeeBps },
  );

/** Everything of the request follows from the row, so that a repeat is the same to the last byte: acquirers refuse another one under the same id. */
async function prepareCheckout(
  deps: PrepareDeps,
  payment: Payment,
  { traceparent }: Sending,
): Promise<Prepared<CheckoutReport>> {
  const { id, amountCents, description, createdAt, card } = payment;
  if (card === null) throw new Error('a checkout without a card');
  const payer = await payerOf(deps, payment);
  // Certainly not sent, and not the acquirer's fault: it is tried again when the payer can be opened.
  if (payer === undefined) return { outcome: 'notSent', detail: 'its payer cannot be opened' };
  const page = deps.settings.pageOf(accountNumberOf(id), id);
  const back = (how: CardReturn) => `${page}/back?how=${how}`;
  const instruction = {
    providerId: providerIdOf(id),
    amountCents,
    description,
    createdAt,
    minutes: card.minutes,
    back: { success: back('success'), cancel: back('cancel'), expired: back('expired') },
    payer,
    traceparent,
  };
  return async (provider) =>
    provider.cards?.create(instruction) ?? {
      outcome: 'notSent',
      detail: 'the connection has no card payments',
    };
}

/** @returns null: nothing was given; undefined: it cannot be opened */
async function payerOf(deps: PrepareDeps, payment: Payment): Promise<NamedCardPayer | null | undefined> {
  const { payer, payerName, paymentLinkId } = payment;
  if (payer === null || payerName === null) return null;
  // A payer of a link who gave no name has none: the acquirer's page asks for it.
  if (paymentLinkId !== null && payerName === nameless) return null;
  const opened = await openOrReport(deps, payer, payment.id, unreadableKeyOf(payment, 'send'));
  return opened === null ? undefined : { name: payerName, ...(JSON.parse(opened.toString()) as CardPayer) };
}
