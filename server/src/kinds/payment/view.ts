import type { Static } from 'typebox';
import type { Language } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import { attemptsMost, type CardPayment } from '../../money/card.ts';
import { type DueCharge, isPaidOtherwise } from '../../money/due.ts';
import { isTerminal, type Notice, type Payment, type PaymentReason } from '../../money/payment.ts';
import type { CardRefusal } from '../../provider/cards.ts';
import type { PaidParts } from '../../provider/due-terms.ts';
import { qrPngDataUrl } from '../../provider/qr.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import type { PaymentSchema } from './schema.ts';

export type PaymentView = Static<typeof PaymentSchema>;

/** Those that are kept, and those that follow from the terms of a due-date charge. */
const notices: Record<Notice | 'change_requested' | 'paid_by_other_terms', Record<Language, string>> = {
  returned: {
    en: 'The Pix was returned, in whole or in part; the amount is back in the balance.',
    'pt-BR': 'O Pix foi devolvido, no todo ou em parte; o valor voltou ao saldo.',
  },
  debited: {
    en: 'The provider took the received Pix back.',
    'pt-BR': 'O provedor retirou o Pix recebido.',
  },
  paid_other_amount: {
    en: 'A Pix of another amount was received for this charge. It enters the balance only after review.',
    'pt-BR': 'Um Pix de outro valor foi recebido nesta cobrança. Ele só entra no saldo após análise.',
  },
  paid_again: {
    en: 'This charge was paid more than once. The further payment enters the balance only after review.',
    'pt-BR': 'Esta cobrança foi paga mais de uma vez. O pagamento adicional só entra no saldo após análise.',
  },
  paid_after_failure: {
    en: 'A Pix was received for this failed charge. It enters the balance only after review.',
    'pt-BR': 'Um Pix foi recebido nesta cobrança que falhou. Ele só entra no saldo após análise.',
  },
  amount_differs_from_code: {
    en: 'The payer sent another amount than the static code names.',
    'pt-BR': 'O pagador enviou um valor diferente do que está no QR fixo.',
  },
  code_retired: {
    en: 'This static code was retired before it was paid.',
    'pt-BR': 'Este QR fixo foi desativado antes deste pagamento.',
  },
  cancel_requested: {
    en: 'Cancelling this charge was requested. It can still be paid until the provider has removed it.',
    'pt-BR': 'O cancelamento desta cobrança foi pedido. Ela ainda pode ser paga até o provedor removê-la.',
  },
  change_requested: {
    en: 'A change of this charge was requested. It is paid as before until the provider has confirmed the change.',
    'pt-BR':
      'Uma alteração desta cobrança foi pedida. Ela é paga como antes até o provedor confirmar a alteração.',
  },
  paid_by_other_terms: {
    en: 'This charge was paid by its terms of another moment: its payer read the code before a change.',
    'pt-BR':
      'Esta cobrança foi paga nas condições de outro momento: o pagador leu o código antes de uma alteração.',
  },
  odd_credited: {
    en: 'A Pix beside what this charge asked for was reviewed and credited to the balance.',
    'pt-BR': 'Um Pix fora do que esta cobrança pedia foi analisado e creditado no saldo.',
  },
  odd_returned: {
    en: 'A Pix beside what this charge asked for was reviewed: it goes back to its payer.',
    'pt-BR': 'Um Pix fora do que esta cobrança pedia foi analisado: ele volta ao pagador.',
  },
  odd_kept: {
    en: 'A Pix beside what this charge asked for was reviewed and did not enter the balance.',
    'pt-BR': 'Um Pix fora do que esta cobrança pedia foi analisado e não entrou no saldo.',
  },
};

/** Of a failed charge, by its reason. A charge fails for these reasons only. */
const failures: Partial<Record<PaymentReason, Record<Language, string>>> = {
  provider_refused: {
    en: 'The provider refused or removed this charge. It cannot be paid; create another one.',
    'pt-BR': 'O provedor recusou ou removeu esta cobrança. Ela não pode ser paga; crie outra.',
  },
  cancelled_by_merchant: {
    en: 'You cancelled this charge. It cannot be paid any more.',
    'pt-BR': 'Você cancelou esta cobrança. Ela não pode mais ser paga.',
  },
  cancelled_by_operator: {
    en: 'The operator of the service closed this charge because the provider did not confirm it. Create another one.',
    'pt-BR': 'O operador do serviço encerrou esta cobrança porque o provedor não a confirmou. Crie outra.',
  },
};

const takenByAcquirer = {
  en: 'The acquirer took money of this card payment back.',
  'pt-BR': 'A adquirente retirou dinheiro deste pagamento com cartão.',
};

function noticeOf(payment: ShownPayment): Record<Language, string> | undefined {
  const { notice, status, reasonCode, card, due } = payment;
  if (notice === 'debited' && card !== null) return takenByAcquirer;
  if (notice !== null && !(notice === 'cancel_requested' && isTerminal(status))) return notices[notice];
  if (due?.change && !isTerminal(status)) return notices.change_requested;
  if (isPaidOtherwise(payment)) return notices.paid_by_other_terms;
  return status === 'failed' && reasonCode !== null ? failures[reasonCode] : undefined;
}

/** A payment as shown to its merchant. */
export type ShownPayment = Pick<
  Payment,
  | 'id'
  | 'kind'
  | 'amountCents'
  | 'status'
  | 'createdAt'
  | 'updatedAt'
  | 'operationId'
  | 'feeCents'
  | 'settledAt'
  | 'expiresAt'
  | 'copyPaste'
  | 'endToEnd'
  | 'notice'
  | 'reasonCode'
  | 'providerFeeCents'
  | 'netAmountCents'
  | 'paidAt'
  | 'requestKey'
  | 'metadata'
  | 'fiscalDocuments'
  | 'refundedCents'
  | 'staticCodeId'
  | 'paymentLinkId'
  | 'card'
  | 'due'
  | 'payerDocument'
>;

/** A payment as lists and events show it. What is not known is left out, but for the eleven fields that are always there. */
export function viewOf(payment: ShownPayment, language: Language): PaymentView {
  const view: PaymentView = {
    id: payment.id,
    kind: payment.kind,
    amountCents: payment.amountCents,
    status: payment.status,
    createdAt: isoOf(payment.createdAt),
    updatedAt: isoOf(payment.updatedAt),
    operationId: payment.operationId,
    feeCents: payment.feeCents,
    settledAt: payment.settledAt === null ? null : isoOf(payment.settledAt),
    paymentMethod: payment.card === null ? 'pix' : 'card',
    expiresAt: payment.expiresAt === null ? null : isoOf(payment.expiresAt),
  };
  if (payment.endToEnd !== null) view.endToEnd = payment.endToEnd;
  const notice = noticeOf(payment)?.[language];
  if (notice !== undefined) view.notice = notice;
  if (payment.reasonCode !== null) view.reasonCode = payment.reasonCode;
  if (payment.providerFeeCents !== null) view.providerFeeCents = payment.providerFeeCents;
  if (payment.netAmountCents !== null) view.netAmountCents = payment.netAmountCents;
  if (payment.kind === 'transfer') {
    view.debitAmountCents = payment.amountCents;
    view.expectedNetAmountCents = payment.amountCents - payment.feeCents;
  }
  if (payment.refundedCents > 0) view.refundedCents = payment.refundedCents;
  if (payment.paidAt !== null) view.paidAt = isoOf(payment.paidAt);
  if (payment.card !== null) Object.assign(view, cardView(payment, payment.card, language));
  if (payment.due !== null) Object.assign(view, dueView(payment, payment.due));
  if (payment.metadata !== null) view.metadata = payment.metadata;
  if (payment.staticCodeId !== null) view.staticCodeId = payment.staticCodeId;
  if (payment.paymentLinkId !== null) view.paymentLinkId = payment.paymentLinkId;
  if (payment.payerDocument !== null) view.payerDocument = payment.payerDocument;
  if (payment.fiscalDocuments !== null) view.fiscalDocuments = [...payment.fiscalDocuments];
  return view;
}

/** The members that only a payment by card has. The card is null before the first attempt. */
function cardView(
  { amountCents, feeCents }: Pick<Payment, 'amountCents' | 'feeCents'>,
  card: CardPayment,
  language: Language,
): Pick<PaymentView, 'expectedNetAmountCents' | 'releaseAt' | 'cardSettlementStatus' | 'card'> {
  const { settlement, releaseAt, status, brand, last4, refusal, refusals } = card;
  return {
    expectedNetAmountCents: amountCents - feeCents,
    ...(settlement !== null && { cardSettlementStatus: settlement }),
    ...(releaseAt !== null && { releaseAt: isoOf(releaseAt) }),
    card:
      status === null
        ? null
        : {
            status,
            brand: brand ?? 'other',
            last4,
            installments: 1,
            refusedReason: status === 'refused' && refusal !== null ? cardRefusals[refusal][language] : null,
            attemptsLeft: status === 'paid' ? null : Math.max(0, attemptsMost - refusals),
          },
  };
}

/** The members that only a charge with a due date has. What a payer owes on a day is for the payer's bank to show. */
function dueView(
  { amountCents: askedCents, status }: Pick<Payment, 'amountCents' | 'status'>,
  due: DueCharge,
): Pick<
  PaymentView,
  'dueDate' | 'dueTerms' | 'changeId' | 'originalAmountCents' | 'amountPaidCents' | 'components'
> {
  const {
    dueDate,
    validAfterDue,
    document,
    fine,
    interest,
    discounts,
    rebate,
    paid,
    reminders = false,
    change,
  } = due;
  return {
    dueDate,
    dueTerms: {
      ...{ validAfterDue, payerDocument: document, fine, interest, discounts: [...discounts], rebate },
      reminders,
    },
    ...(change && !isTerminal(status) && { changeId: change.id }),
    ...(paid && {
      originalAmountCents: paid.parts?.originalCents ?? askedCents,
      amountPaidCents: paid.amountCents,
    }),
    ...(paid?.parts && { components: partsOf(paid.parts) }),
  };
}

const partsOf = ({ fineCents, interestCents, discountCents, rebateCents }: PaidParts) => ({
  ...{ fineCents, interestCents, discountCents, rebateCents },
});

const cardRefusals: Record<CardRefusal, Record<Language, string>> = {
  insufficient_funds: {
    en: 'The card has not enough limit or balance.',
    'pt-BR': 'O cartão não tem limite ou saldo suficiente.',
  },
  expired_card: { en: 'The card has expired.', 'pt-BR': 'O cartão está vencido.' },
  incorrect_data: {
    en: 'The data of the card is not right.',
    'pt-BR': 'Os dados do cartão não estão corretos.',
  },
  not_authenticated: {
    en: 'The bank asked the payer to confirm the payment, and it was not confirmed.',
    'pt-BR': 'O banco pediu que o pagador confirmasse o pagamento, e ele não foi confirmado.',
  },
  lost_or_stolen: {
    en: 'The bank that issued the card has blocked it.',
    'pt-BR': 'O banco emissor bloqueou o cartão.',
  },
  refused_by_issuer: {
    en: 'The bank that issued the card refused the payment.',
    'pt-BR': 'O banco emissor do cartão recusou o pagamento.',
  },
  refused_as_risk: {
    en: 'The payment was refused after a check for fraud.',
    'pt-BR': 'O pagamento foi recusado na análise de fraude.',
  },
};

/**
 * A payment as its creation, a repeat and `GET /payments/{id}` show it: with the request key that made it, the address of a charge's public page and,
 * while it is pending, with the code to pay it. Not later, since a code past its state misleads, and not in lists, where a hundred images
 * are megabytes.
 */
export async function viewWithCode(
  payment: ShownPayment,
  pages: PageAddresses,
  language: Language,
): Promise<PaymentView> {
  const view = viewOf(payment, language);
  view.requestKey = payment.requestKey;
  // A payment of a static code had no payer who waits at a page.
  if (payment.kind === 'deposit' && payment.staticCodeId === null)
    view.payerUrl = pages.of('charge', accountNumberOf(payment.id), payment.id);
  if (payment.status === 'pending' && payment.card?.url)
    view.checkoutUrl = pages.of('checkout', accountNumberOf(payment.id), payment.id);
  if (payment.status === 'pending' && payment.copyPaste !== null) {
    view.copyPaste = payment.copyPaste;
    view.qrCodeBase64 = await qrPngDataUrl(payment.copyPaste);
  }
  return view;
}

/** RFC 3339, UTC, milliseconds. */
export const isoOf = (ms: number): string => new Date(ms).toISOString();
