import { Type } from 'typebox';
import { type PosterSize, posterSizes } from '../../ground/paper/poster.ts';
import { Body, OneOf, OpenAmount, Text, Uuid } from '../../ground/schema.ts';
import { StaticCodeSchema } from '../../kinds/static-code/view.ts';
import { MetadataBody } from '../../money/metadata.ts';
import { staticCodeStatuses } from '../../store/rows/static-codes.sql.ts';

const Name = Text('Name, which the payer may read', { minLength: 2, maxLength: 64, 'x-trim': true });

export const StaticCodeBody = Body(
  {
    name: Name,
    amountCents: Type.Optional(OpenAmount('Amount in the code; null, the default: the payer types it')),
    requestKey: Uuid(
      'Made by the caller, once per static code; repeat it, never replace it, after a timeout',
    ),
    metadata: Type.Optional(MetadataBody),
  },
  { examples: [{ name: 'Balcão 1', requestKey: '2f9e1c7a-61d4-4c0e-9d34-7a1be7f0c2d5' }] },
);

export const StaticCodeChange = Body(
  {
    name: Type.Optional(Name),
    status: Type.Optional(
      OneOf(staticCodeStatuses, 'retired: no longer shown; a printed one can still be paid'),
    ),
  },
  { examples: [{ status: 'retired' }] },
);

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Rows per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
  },
  { additionalProperties: false },
);

export const StaticCodeListSchema = Type.Object({
  staticCodes: Type.Array(StaticCodeSchema, { description: 'Newest first' }),
  hasMore: Type.Boolean({ description: 'Older ones follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page; valid for 7 days',
  }),
});

export const PosterQuery = Type.Object(
  {
    size: Type.Optional(
      OneOf(
        Object.keys(posterSizes) as PosterSize[],
        'Paper; `80mm`: the roll of receipt printers; default: `a6`',
      ),
    ),
  },
  { additionalProperties: false },
);

export const PosterPdf = Type.String({ format: 'binary', description: 'One page, to print' });
