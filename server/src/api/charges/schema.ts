import { Type } from 'typebox';
import { Body, Cents, Text, Uuid } from '../../ground/schema.ts';
import { FiscalDocumentsBody } from '../../money/fiscal-documents.ts';
import { MetadataBody } from '../../money/metadata.ts';

export const ChargeBody = Body(
  {
    amountCents: Cents('Amount to charge', { minimum: 200, maximum: 200_000 }),
    payerName: Text('Name of the payer', { minLength: 2, maxLength: 100, 'x-trim': true }),
    description: Type.Optional(Text('May be empty', { minLength: 0, maxLength: 200 })),
    requestKey: Uuid('Made by the caller, once per charge; repeat it, never replace it, after a timeout'),
    expiresInMinutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        description:
          'How long the code takes a payment, up to seven days; as the installation is set if left out. `expiresAt` is the deadline that the provider gave: some have a shortest life of a few minutes',
      }),
    ),
    metadata: Type.Optional(MetadataBody),
    fiscalDocuments: Type.Optional(FiscalDocumentsBody),
  },
  {
    examples: [
      {
        amountCents: 1000,
        payerName: 'Maria Silva',
        description: 'Pedido 1042',
        requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
      },
    ],
  },
);
