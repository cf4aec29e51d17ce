import { Type } from 'typebox';
import { Body, Cents, OneOf, Text, Uuid } from '../../ground/schema.ts';
import { MetadataBody } from '../../money/metadata.ts';

export const TransferBody = Body(
  {
    amountCents: Cents('Total taken from the balance, withdrawal fee included', {
      minimum: 1000,
      maximum: 1_000_000,
    }),
    pixKey: Text('Key of the receiver. CPF, CNPJ: digits only; PHONE: begins with +; RANDOM: a UUID', {
      minLength: 3,
      maxLength: 150,
      'x-trim': true,
    }),
    pixKeyType: OneOf(['EMAIL', 'CPF', 'CNPJ', 'PHONE', 'RANDOM'], 'Type of the key'),
    description: Text('May be empty', { minLength: 0, maxLength: 80 }),
    requestKey: Uuid('Made by the caller, once per transfer; repeat it, never replace it, after a timeout'),
    metadata: Type.Optional(MetadataBody),
  },
  {
    examples: [
      {
        amountCents: 1000,
        pixKey: 'maria@example.com',
        pixKeyType: 'EMAIL',
        description: 'Repasse 77',
        requestKey: '0c3c1d5e-2a91-4c1b-8a53-6f9f3f1a9b20',
      },
    ],
  },
);

export const CodeBody = Body(
  {
    code: Type.String({ pattern: '^[0-9]{6}$', description: 'The six digits from the mail' }),
  },
  { examples: [{ code: '123456' }] },
);
