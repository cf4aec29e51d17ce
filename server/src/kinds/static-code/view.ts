import { type Static, Type } from 'typebox';
import { Cents, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { MetadataShown } from '../../money/metadata.ts';
import { qrPngDataUrl } from '../../provider/qr.ts';
import { type StaticCode, staticCodeStatuses } from '../../store/rows/static-codes.sql.ts';

const example = {
  id: '01939f3a-7a00-7000-8000-000000000071',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  name: 'Balcão 1',
  identifier: 'SA4DKRWQ2MZ7C5NUXJ3TBYHPE',
  amountCents: null,
  copyPaste:
    '00020126450014br.gov.bcb.pix0123loja@provedor.example.br5204000053039865802BR5904LOJA6006BRASIL62290525SA4DKRWQ2MZ7C5NUXJ3TBYHPE63041D3D',
  status: 'active',
  paidCount: 12,
  paidCents: 48050,
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-21T14:02:10.120Z',
};

export const StaticCodeSchema = Type.Object(
  {
    id: Uuid('Id of the static code'),
    operationId: Uuid('Business operation that its payments belong to'),
    name: Type.String({ description: 'Name; banks may show it to payers' }),
    identifier: Type.String({
      minLength: 25,
      maxLength: 25,
      description: 'What a Pix of this code carries; unique for its Pix key',
    }),
    amountCents: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      description: 'Amount in the code; null: the payer types it',
    }),
    copyPaste: Type.String({ description: 'Text of the code' }),
    qrCodeBase64: Type.Optional(Type.String({ description: 'PNG data URL of the QR code; not in lists' })),
    status: OneOf(staticCodeStatuses, 'retired: no longer shown; a printed one can still be paid'),
    paidCount: Type.Integer({ minimum: 0, description: 'Payments that it has brought' }),
    paidCents: Cents('What they were together, before fees and refunds', { minimum: 0 }),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change or payment'),
    metadata: Type.Optional(MetadataShown),
  },
  { title: 'StaticCode', examples: [example] },
);

export type StaticCodeView = Static<typeof StaticCodeSchema>;

/** As lists show it. */
export function viewOfCode(code: StaticCode): StaticCodeView {
  const { id, operationId, name, identifier, amountCents, copyPaste, status, paidCount, paidCents } = code;
  return {
    ...{ id, operationId, name, identifier, amountCents, status, paidCount, paidCents },
    copyPaste: copyPaste ?? '',
    createdAt: new Date(code.createdAt).toISOString(),
    updatedAt: new Date(code.updatedAt).toISOString(),
    ...(code.metadata === null ? {} : { metadata: code.metadata }),
  };
}

/** By itself, with its image. */
export async function viewWithImage(code: StaticCode): Promise<StaticCodeView> {
  const view = viewOfCode(code);
  return code.copyPaste === null ? view : { ...view, qrCodeBase64: await qrPngDataUrl(code.copyPaste) };
}
