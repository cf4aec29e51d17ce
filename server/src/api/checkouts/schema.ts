import { Type } from 'typebox';
import { Body, Cents, MailAddress, Text, Uuid } from '../../ground/schema.ts';
import { MetadataBody } from '../../money/metadata.ts';

/** Stripe Checkout takes from half an hour to a day, Asaas Checkout the same. */
export const minutes = { least: 30, most: 1440, usual: 60 } as const;

const ReturnUrl = (what: string) =>
  Type.String({
    format: 'uri',
    maxLength: 500,
    description: `${what}; https, at a host that the operator has allowed for the account. A visit proves nothing`,
  });

const payer = Type.Object(
  {
    document: Type.Optional(
      Type.String({
        minLength: 11,
        maxLength: 18,
        description: 'CPF or CNPJ with right check digits, with or without dots',
      }),
    ),
    email: Type.Optional(MailAddress('Mail address')),
    phone: Type.Optional(
      Type.String({
        minLength: 9,
        maxLength: 16,
        pattern: '^[\\x2b][1-9][0-9]+$',
        description: 'Telephone with the code of its country, as `+5511987654321`',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Filled in on the page for the payer, where the acquirer can; kept sealed',
  },
);

export const CheckoutBody = Body(
  {
    amountCents: Cents('Amount to pay, within the limits of `GET /account`', {
      minimum: 100,
      maximum: 1_000_000,
    }),
    payerName: Text('Name of the payer', { minLength: 2, maxLength: 100, 'x-trim': true }),
    description: Type.Optional(
      Text('The payer reads it on the page; may be empty', { minLength: 0, maxLength: 200 }),
    ),
    requestKey: Uuid('Made by the caller, once per checkout; repeat it, never replace it, after a timeout'),
    expiresInMinutes: Type.Optional(
      Type.Integer({
        minimum: minutes.least,
        maximum: minutes.most,
        default: minutes.usual,
        description: 'How long the page takes a payment',
      }),
    ),
    successUrl: Type.Optional(ReturnUrl('Where the payer goes once the acquirer has approved the payment')),
    cancelUrl: Type.Optional(ReturnUrl('Where a payer goes who leaves the page without paying')),
    payer: Type.Optional(payer),
    metadata: Type.Optional(MetadataBody),
  },
  {
    examples: [
      {
        amountCents: 12500,
        payerName: 'Maria Silva',
        description: 'Pedido 1042',
        requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a12',
        expiresInMinutes: 60,
      },
      {
        amountCents: 12500,
        payerName: 'Maria Silva',
        requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a14',
        successUrl: 'https://loja.example/pedidos/1042/obrigado',
        cancelUrl: 'https://loja.example/pedidos/1042',
        payer: { document: '111.444.777-35', email: 'maria@example.com', phone: '+5511987654321' },
      },
    ],
  },
);
