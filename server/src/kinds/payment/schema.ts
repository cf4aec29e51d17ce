import { Type } from 'typebox';
import { Cents, NullableTime, OneOf, Text, Time, Uuid } from '../../ground/schema.ts';
import { FiscalDocumentsShown } from '../../money/fiscal-documents.ts';
import { MetadataShown } from '../../money/metadata.ts';
import { paymentKinds, paymentStatuses, reasonCodes } from '../../money/payment.ts';
import { type CardBrand, cardBrands } from '../../provider/cards.ts';
import {
  type Discount,
  type Interest,
  interestDays,
  interestTypes,
  type Part,
} from '../../provider/due-terms.ts';

interface ShownCard {
  status: 'processing' | 'paid' | 'refused';
  brand: CardBrand;
  last4: string | null;
  installments: 1;
  refusedReason: string | null;
  attemptsLeft: number | null;
}

/** Closed on purpose: the interface allows no other properties here. */
const Card = Type.Unsafe<ShownCard | null>({
  type: ['object', 'null'],
  description: 'Card details',
  properties: {
    status: { type: 'string', enum: ['processing', 'paid', 'refused'] },
    brand: { type: 'string', enum: cardBrands },
    last4: { type: ['string', 'null'], pattern: '^[0-9]{4}$' },
    installments: { type: 'integer', const: 1 },
    refusedReason: { type: ['string', 'null'], maxLength: 300 },
    attemptsLeft: { type: ['integer', 'null'], minimum: 0, maximum: 3 },
  },
  required: ['status', 'brand', 'last4', 'installments', 'refusedReason', 'attemptsLeft'],
  additionalProperties: false,
});

const shownPart = (description: string) =>
  Type.Unsafe<Part | null>({
    type: ['object', 'null'],
    description,
    properties: { type: { type: 'string', enum: ['fixed', 'percent'] }, value: { type: 'integer' } },
    required: ['type', 'value'],
  });

const DueTermsShown = Type.Object(
  {
    validAfterDue: Type.Integer({ description: 'Calendar days after the due date on which it can be paid' }),
    payerDocument: Type.String({ description: "The payer's document, most of it masked" }),
    fine: shownPart('Added once after the due date'),
    interest: Type.Unsafe<Interest | null>({
      type: ['object', 'null'],
      description: 'Added for each day after the due date',
      properties: {
        type: { type: 'string', enum: [...interestTypes] },
        value: { type: 'integer' },
        days: { type: 'string', enum: [...interestDays] },
      },
      required: ['type', 'value', 'days'],
    }),
    discounts: Type.Unsafe<Discount[]>({
      type: 'array',
      description: 'Taken off until their days',
      items: {
        type: 'object',
        properties: {
          until: { type: 'string' },
          type: { type: 'string', enum: ['fixed', 'percent'] },
          value: { type: 'integer' },
        },
        required: ['until', 'type', 'value'],
      },
    }),
    rebate: shownPart('Taken off whenever it is paid'),
    reminders: Type.Boolean({ description: 'Whether the payer is reminded by mail' }),
  },
  { description: 'Terms of a charge with a due date, as they were asked for' },
);

const ComponentsShown = Type.Object(
  {
    fineCents: Cents('Fine', { minimum: 0 }),
    interestCents: Cents('Interest', { minimum: 0 }),
    discountCents: Cents('Discount', { minimum: 0 }),
    rebateCents: Cents('Rebate', { minimum: 0 }),
  },
  { description: 'Parts of the received amount, where the provider reports them' },
);

/** As `GET /payments/{id}` shows a paid charge. */
const paymentExample = {
  id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  kind: 'deposit',
  amountCents: 1000,
  status: 'paid',
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-20T20:44:02.318Z',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  feeCents: 0,
  settledAt: '2026-11-20T20:44:02.318Z',
  paymentMethod: 'pix',
  expiresAt: '2026-11-21T20:43:18.000Z',
  endToEnd: 'E12345678202611202044a1b2c3d4e5f',
  providerFeeCents: 0,
  netAmountCents: 1000,
  paidAt: '2026-11-20T20:44:01.000Z',
  requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
};

export const PaymentSchema = Type.Object(
  {
    id: Uuid('Id of the payment'),
    kind: OneOf(paymentKinds, 'deposit: a charge; transfer: a withdrawal'),
    amountCents: Cents('Amount of a charge, gross amount of a transfer'),
    status: OneOf(paymentStatuses, 'State; confirmed by the settlement provider alone'),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change; strictly increasing per payment'),
    operationId: Uuid('Business operation that owns the payment'),
    feeCents: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 0,
      description: 'Account fee recorded at creation',
    }),
    settledAt: NullableTime('When the final state was posted'),
    paymentMethod: Type.Unsafe<'pix' | 'card' | null>({
      type: ['string', 'null'],
      enum: ['pix', 'card', null],
      description: 'Payment method',
    }),
    expiresAt: NullableTime("The provider's deadline; null when it gives none"),
    copyPaste: Type.Optional(Type.String({ description: 'Pix copy-and-paste code, while pending' })),
    qrCodeBase64: Type.Optional(Type.String({ description: 'PNG data URL of the QR code, while pending' })),
    endToEnd: Type.Optional(Type.String({ description: 'End-to-end id of the Pix' })),
    notice: Type.Optional(Type.String({ maxLength: 200, description: 'A remark for people' })),
    reasonCode: Type.Optional(
      Type.String({
        description: 'Why it failed or was cancelled; more codes may be added',
        'x-extensible-enum': reasonCodes,
      }),
    ),
    providerFeeCents: Type.Optional(Cents('Fee confirmed by processing', { minimum: 0 })),
    netAmountCents: Type.Optional(Cents('Net amount confirmed by processing', { minimum: 0 })),
    debitAmountCents: Type.Optional(Cents('Gross debit of a withdrawal, fee included', { minimum: 1000 })),
    expectedNetAmountCents: Type.Optional(Cents('Gross minus account fee', { minimum: 1 })),
    refundedCents: Type.Optional(
      Cents('What refunds have given back of a paid charge; left out while nothing was', { minimum: 1 }),
    ),
    paidAt: Type.Optional(Time("Instant of the payer's Pix, or of the approval of the card")),
    checkoutUrl: Type.Optional(
      Type.String({ format: 'uri', description: 'Hosted checkout, card only, while pending; not in lists' }),
    ),
    releaseAt: Type.Optional(Time('Release time reported by the settler')),
    cardSettlementStatus: Type.Optional(OneOf(['held', 'available'], 'Card only')),
    card: Type.Optional(Card),
    requestKey: Type.Optional(Uuid('Key of the request that created it; not in lists')),
    metadata: Type.Optional(MetadataShown),
    payerUrl: Type.Optional(
      Type.String({ description: 'Public page of the charge for its payer; not in lists', format: 'uri' }),
    ),
    staticCodeId: Type.Optional(Uuid('Static code that was paid')),
    paymentLinkId: Type.Optional(Uuid('Payment link that it was made by')),
    payerDocument: Type.Optional(
      Type.String({ description: 'CPF or CNPJ that the payer gave at the payment link, most of it masked' }),
    ),
    fiscalDocuments: Type.Optional(FiscalDocumentsShown),
    dueDate: Type.Optional(Type.String({ description: 'Of a charge with a due date: the day, in Brasília' })),
    dueTerms: Type.Optional(DueTermsShown),
    changeId: Type.Optional(
      Uuid('Of such a charge: the change that was asked for and has not ended; `charge.changed` names it'),
    ),
    originalAmountCents: Type.Optional(Cents('Of such a charge, once it is paid: the amount asked for')),
    amountPaidCents: Type.Optional(
      Cents('Of such a charge, once it is paid: the amount received, as the provider reports it', {
        minimum: 1,
      }),
    ),
    components: Type.Optional(ComponentsShown),
  },
  { title: 'Payment', examples: [paymentExample] },
);

export const PaymentListSchema = Type.Object({
  payments: Type.Array(PaymentSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones may follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page, with the same filters; valid for 7 days',
  }),
});

export const PaymentQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Payments per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
    kind: Type.Optional(OneOf(paymentKinds, 'Only this kind')),
    status: Type.Optional(
      Type.Array(OneOf(paymentStatuses, 'State'), { description: 'Only these states, separated by commas' }),
    ),
    paymentMethod: Type.Optional(OneOf(['pix', 'card'], 'Only this method')),
    createdFrom: Type.Optional(Time('Created at or after; RFC 3339 with an offset or Z')),
    createdTo: Type.Optional(Time('Created before; RFC 3339 with an offset or Z')),
    requestKey: Type.Optional(Uuid('The payment created with this requestKey: one or none')),
    endToEnd: Type.Optional(Text('Only with this end-to-end id', { minLength: 1, maxLength: 64 })),
    metadata: Type.Optional(
      Text('Only with this pair, as `name:value`; the value whole', { minLength: 3, maxLength: 241 }),
    ),
  },
  { additionalProperties: false },
);
