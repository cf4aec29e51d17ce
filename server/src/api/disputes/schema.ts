import { Type } from 'typebox';
import type { DefenceOf, OpenedDefence } from '../../flow/defend.ts';
import { printableLines } from '../../ground/printable.ts';
import { Body, NullableTime, OneOf, Text, Time, Uuid } from '../../ground/schema.ts';
import { DisputeSchema, disputeStatuses } from '../../kinds/dispute/view.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { defenceReasons, defenceStatuses } from '../../money/defence.ts';
import { type DisputeFile, filesMost, fileTypes, nameMost } from '../../money/evidence.ts';

export const DisputeListSchema = Type.Object({
  disputes: Type.Array(DisputeSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page, with the same filters; valid for 7 days',
  }),
});

export const DisputeQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Disputes per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
    status: Type.Optional(
      Type.Array(OneOf(disputeStatuses, 'State'), { description: 'Only these states, separated by commas' }),
    ),
  },
  { additionalProperties: false },
);

const fileExample = {
  id: '01939f3a-7c00-7000-8000-000000000009',
  disputeId: '01939f3a-7c00-7000-8000-000000000007',
  name: 'recibo-assinado.pdf',
  type: 'application/pdf',
  sizeBytes: 48_213,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  createdAt: '2026-11-21T14:58:00.000Z',
} as const;

export const DisputeFileSchema = Type.Object(
  {
    id: Uuid('Id of the file'),
    disputeId: Uuid('The dispute that it is kept for'),
    name: Type.String({ description: 'As it was given; empty once the data of the payer is anonymised' }),
    type: OneOf(fileTypes, 'What it is'),
    sizeBytes: Type.Integer({ description: 'Size of the contents' }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the contents, in hex' }),
    createdAt: Time('When it was given'),
  },
  { title: 'DisputeFile', examples: [fileExample] },
);

export const FileQuery = Type.Object(
  {
    name: Text('Name of the file, without a path', { minLength: 1, maxLength: nameMost, 'x-trim': true }),
  },
  { additionalProperties: false },
);

export const FileParams = Type.Object({ id: Uuid('Id of the dispute'), fileId: Uuid('Id of the file') });

export const fileViewOf = ({ id, disputeId, name, type, sizeBytes, sha256, createdAt }: DisputeFile) => ({
  id,
  disputeId,
  name,
  type,
  sizeBytes,
  sha256,
  createdAt: isoOf(createdAt),
});

const defenceExample = {
  disputeId: '01939f3a-7c00-7000-8000-000000000007',
  status: 'sent',
  text: 'O produto foi entregue em 20/11, com assinatura do cliente.',
  files: [],
  createdAt: '2026-11-21T15:00:00.000Z',
  updatedAt: '2026-11-21T15:00:02.310Z',
  sentAt: '2026-11-21T15:00:02.310Z',
} as const;

export const DefenceBody = Body(
  {
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        pattern: printableLines,
        'x-trim': true,
        description: 'Why the Pix was rightly received. It cannot be changed once it is sent',
      }),
    ),
    fileIds: Type.Optional(
      Type.Array(Uuid('Id of a file of this dispute'), {
        minItems: 1,
        maxItems: filesMost,
        description: 'Files that were given before and go out with it',
      }),
    ),
  },
  { examples: [{ text: defenceExample.text }] },
);

export const DefenceSchema = Type.Object(
  {
    disputeId: Uuid('The dispute that it answers'),
    status: OneOf(
      defenceStatuses,
      'pending: not sent yet; unknown: sent, and not confirmed yet; sent: the provider has it; failed: the provider certainly has not',
    ),
    text: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Null where it has none, and once the data of the payer is anonymised',
    }),
    files: Type.Array(DisputeFileSchema, { description: 'What goes out with it' }),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change'),
    sentAt: NullableTime('When it was known that the provider has it'),
    reasonCode: Type.Optional(
      Type.String({
        description: 'Why it failed; more codes may be added',
        'x-extensible-enum': defenceReasons,
      }),
    ),
  },
  { title: 'Defence', examples: [defenceExample] },
);

export const DefenceOfDisputeSchema = Type.Object(
  {
    offer: Type.Union(
      [
        Type.Object({
          textMost: Type.Integer({
            description: 'Longest text, in UTF-16 code units: some symbols count as two; 0: no text is taken',
          }),
          files: Type.Union(
            [
              Type.Object({
                most: Type.Integer({ description: 'How many' }),
                mostBytes: Type.Integer({ description: 'Largest file' }),
                types: Type.Array(OneOf(fileTypes, 'Content type'), { description: 'What they may be' }),
              }),
              Type.Null(),
            ],
            { description: 'Null: no files are taken' },
          ),
        }),
        Type.Null(),
      ],
      { description: 'What a defence may contain at this moment; null: none is taken, or no further one' },
    ),
    files: Type.Array(DisputeFileSchema, { description: 'Given for this dispute, and part of no defence' }),
    defence: Type.Union([DefenceSchema, Type.Null()], { description: 'Null: there is none' }),
  },
  { examples: [{ offer: null, files: [], defence: defenceExample }] },
);

export const defenceViewOf = (defence: OpenedDefence) => ({
  disputeId: defence.disputeId,
  status: defence.status,
  text: defence.text,
  files: defence.files.map(fileViewOf),
  createdAt: isoOf(defence.createdAt),
  updatedAt: isoOf(defence.updatedAt),
  sentAt: defence.sentAt === null ? null : isoOf(defence.sentAt),
  ...(defence.reason !== null && { reasonCode: defence.reason }),
});

export const defenceOfDisputeView = ({ offer, files, defence }: DefenceOf) => ({
  offer: offer && {
    textMost: offer.textMost,
    files: offer.files && { ...offer.files, types: [...offer.files.types] },
  },
  files: files.map(fileViewOf),
  defence: defence && defenceViewOf(defence),
});
