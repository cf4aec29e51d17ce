import { Type } from 'typebox';
import { Body, Text, Time, Uuid } from '../../ground/schema.ts';

const Name = Text('Name', { minLength: 2, maxLength: 64, 'x-trim': true });

const shop = {
  id: '01939f3a-7a00-7000-8000-000000000003',
  name: 'Loja do Centro',
  isDefault: false,
  balanceCents: 125000,
  balanceUpdatedAt: '2026-11-20T20:43:18.000Z',
  createdAt: '2026-10-01T12:00:00.000Z',
};

export const OperationSchema = Type.Object(
  {
    id: Uuid('Id of the business operation'),
    name: Type.String({ minLength: 2, maxLength: 64, description: 'Name' }),
    isDefault: Type.Boolean({ description: 'True for the main operation' }),
    balanceCents: Type.Integer({ description: 'Available balance' }),
    balanceUpdatedAt: Time('Last posting that changed the balance'),
    createdAt: Time('Creation'),
  },
  {
    title: 'Operation',
    examples: [shop],
  },
);

const { balanceCents, balanceUpdatedAt, ...unmoved } = OperationSchema.properties;

/** The answer to a creation or a rename. */
export const SavedOperationSchema = Type.Object(
  {
    ...unmoved,
    balanceCents: Type.Optional(balanceCents),
    balanceUpdatedAt: Type.Optional(balanceUpdatedAt),
  },
  {
    title: 'SavedOperation',
    description:
      'The operation as it is now. A key without the permission `read` gets neither `balanceCents` nor `balanceUpdatedAt`.',
    examples: [shop],
  },
);

export const OperationListSchema = Type.Object({
  ownerId: Uuid('Stable id of the account'),
  limit: Type.Integer({ const: 10, description: 'Always 10' }),
  operations: Type.Array(OperationSchema, { description: 'The oldest first' }),
});

export const NewOperationBody = Body(
  { name: Name, requestKey: Uuid('Made by the caller, once per business operation') },
  { examples: [{ name: 'Loja do Centro', requestKey: '5d0f7a2c-9b35-4b4e-8d0a-3f6f0d2f8b11' }] },
);

export const RenameBody = Body({ name: Name }, { examples: [{ name: 'Loja da Praia' }] });

export const DeletedSchema = Type.Object({ ok: Type.Boolean({ description: 'Always true' }) });
