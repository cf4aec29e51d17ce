import { Type } from 'typebox';
import { Body, Cents, Text, Uuid } from '../../ground/schema.ts';
import { MetadataBody } from '../../money/metadata.ts';

/** Stripe Checkout takes from half an hour to a day, Asaas Checkout the same. */
export const minutes = { least: 30, most: 1440, usual: 60 } as const;

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
    ],
  },
);
