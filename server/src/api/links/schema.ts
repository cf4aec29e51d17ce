import { Type } from 'typebox';
import { printableLines } from '../../ground/printable.ts';
import { Body, Cents, OneOf, OpenAmount, Text, Uuid } from '../../ground/schema.ts';
import { PaymentLinkSchema } from '../../kinds/link/link.ts';
import { linkMethods } from '../../kinds/link/methods.ts';
import { MetadataBody } from '../../money/metadata.ts';
import { fieldRules } from '../../store/rows/payment-links.sql.ts';

const Title = Text('Title on its page', { minLength: 2, maxLength: 100, 'x-trim': true });
const Description = Type.String({
  minLength: 0,
  maxLength: 500,
  pattern: printableLines,
  description: 'Text below the title; may be empty',
});
const MaxPayments = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 1,
  maximum: 100_000,
  description: 'After so many payments it is completed; null, the default: without a limit',
});
const Ends = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'date-time',
  description: 'When it ends; null, the default: it does not',
});

export const LinkBody = Body(
  {
    title: Title,
    description: Type.Optional(Description),
    amountCents: Type.Optional(OpenAmount('Amount; null, the default: the payer types it')),
    minimumCents: Type.Optional(
      Cents('Least amount that a payer may type; default: that of the account', {
        minimum: 1,
        maximum: 100_000_000,
      }),
    ),
    maximumCents: Type.Optional(
      Cents('Greatest amount that a payer may type; default: that of the account', {
        minimum: 1,
        maximum: 100_000_000,
      }),
    ),
    methods: Type.Optional(
      Type.Array(OneOf(linkMethods, 'Method'), {
        minItems: 1,
        maxItems: linkMethods.length,
        default: ['pix'],
        description:
          'How it can be paid. `card` needs an account that takes cards; the payer chooses where there are both',
      }),
    ),
    maxPayments: Type.Optional(MaxPayments),
    payerFields: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(OneOf(fieldRules, 'Name of the payer; default: optional')),
          document: Type.Optional(
            OneOf(fieldRules, 'CPF or CNPJ of the payer, for the provider; default: none'),
          ),
        },
        { additionalProperties: false, description: 'What its page asks the payer for' },
      ),
    ),
    onlyDocument: Type.Optional(
      Type.String({
        minLength: 11,
        maxLength: 18,
        description:
          'CPF or CNPJ of the only payer. No provider of this version reports who paid a Pix, so each value is refused with 400 `not_offered_by_provider`',
      }),
    ),
    expiresAt: Type.Optional(Ends),
    successUrl: Type.Optional(
      Type.String({
        format: 'uri',
        maxLength: 500,
        description: 'Where its page leads after the payment; https alone',
      }),
    ),
    requestKey: Uuid(
      'Made by the caller, once per payment link; repeat it, never replace it, after a timeout',
    ),
    metadata: Type.Optional(MetadataBody),
  },
  {
    examples: [
      {
        title: 'Curso de cerâmica',
        amountCents: 25000,
        maxPayments: 12,
        requestKey: '9a7d3f64-8c01-4b6e-a5de-2f1b30c7e9d8',
      },
    ],
  },
);

export const LinkChange = Body(
  {
    title: Type.Optional(Title),
    description: Type.Optional(Description),
    maxPayments: Type.Optional(MaxPayments),
    expiresAt: Type.Optional(Ends),
    status: Type.Optional(
      OneOf(['active', 'disabled'], 'disabled: it makes no charge; those that it made can still be paid'),
    ),
  },
  { examples: [{ status: 'disabled' }] },
);

export const LinkListSchema = Type.Object({
  paymentLinks: Type.Array(PaymentLinkSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page; valid for 7 days',
  }),
});

export const LinkPageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Rows per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
  },
  { additionalProperties: false },
);
