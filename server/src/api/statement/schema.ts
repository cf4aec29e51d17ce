import { Type } from 'typebox';
import { Cents, OneOf, Time } from '../../ground/schema.ts';
import { FiscalDocumentsShown } from '../../money/fiscal-documents.ts';
import { MetadataShown } from '../../money/metadata.ts';
import { lineKinds } from '../../operate/statement/line.ts';

const Nullable = (description: string, format?: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...(format && { format }), description });

const example = {
  id: '18',
  seq: 18,
  at: '2026-11-20T20:44:02.318Z',
  kind: 'charge',
  paymentId: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  description: 'Pedido 1042',
  amountCents: 1000,
  balanceCents: 5000,
  payerName: 'Maria Silva',
  endToEnd: 'E12345678202611202044a1b2c3d4e5f',
  requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
  cause: null,
};

export const StatementLineSchema = Type.Object(
  {
    id: Type.String({ description: 'Unique in the business operation; it never changes' }),
    seq: Type.Integer({
      minimum: 1,
      description: 'Number of the ledger entry; a movement, its fee and what a hold took of it share it',
    }),
    at: Time('When it was posted'),
    kind: Type.String({
      description: 'What it is; more kinds may be added',
      'x-extensible-enum': [...lineKinds],
    }),
    paymentId: Nullable('The payment that it belongs to', 'uuid'),
    description: Type.String({ description: 'Of the payment; may be empty' }),
    amountCents: Cents('What the balance changed by: negative is out'),
    balanceCents: Cents('Balance after this line, as `GET /account` shows it'),
    payerName: Nullable('Of a charge'),
    endToEnd: Nullable('End-to-end id of the Pix, once known'),
    requestKey: Nullable('Key of the request that created the payment', 'uuid'),
    cause: Type.Unsafe<'dispute' | 'operator' | null>({
      type: ['string', 'null'],
      description: 'Why an amount is held, let go or taken; null: for no reason beyond the kind',
      'x-extensible-enum': ['dispute', 'operator'],
    }),
    metadata: Type.Optional(MetadataShown),
    fiscalDocuments: Type.Optional(FiscalDocumentsShown),
  },
  { title: 'StatementLine', examples: [example] },
);

export const StatementSchema = Type.Object({
  lines: Type.Array(StatementLineSchema, { description: 'Oldest first' }),
  openingBalanceCents: Cents('Balance before the first line of the period'),
  closingBalanceCents: Cents('Balance after the last line of the period'),
  hasMore: Type.Boolean({ description: 'Later ones follow' }),
  nextCursor: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'For the next page, with the same period; valid for 7 days',
  }),
});

const moment = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));

const period = {
  from: moment('First day (`YYYY-MM-DD`, in São Paulo), or an RFC 3339 time with an offset or Z'),
  to: moment('Last day, which is included, or the RFC 3339 time before which the lines are'),
};

export const StatementQuery = Type.Object(
  {
    ...period,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 100, description: 'Lines per page' }),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: '`nextCursor` of the page before' })),
  },
  { additionalProperties: false },
);

export const StatementFileQuery = Type.Object(period, { additionalProperties: false });

export const StatementCsvQuery = Type.Object(
  {
    ...period,
    separator: Type.Optional(
      OneOf(['comma', 'semicolon'], '`semicolon` makes the comma the decimal sign; default: `comma`'),
    ),
    bom: Type.Optional(OneOf(['yes', 'no'], 'A byte order mark in front; default: `no`')),
  },
  { additionalProperties: false },
);

export const StatementCsv = Type.String({ description: 'RFC 4180 in UTF-8, with a header line' });
export const StatementOfx = Type.String({ description: 'OFX 1.0.2, for accounting programs' });
export const StatementPdf = Type.String({ format: 'binary', description: 'For people to read and to print' });
