import { Type } from 'typebox';
import { Body, Cents, MailAddress, OneOf, Text, Uuid } from '../../ground/schema.ts';
import { FiscalDocumentsBody } from '../../money/fiscal-documents.ts';
import { MetadataBody } from '../../money/metadata.ts';
import { type Interest, interestDays, interestTypes, type Part } from '../../provider/due-terms.ts';

const Day = (description: string) =>
  Type.String({ pattern: '^[0-9]{4}[-][0-9]{2}[-][0-9]{2}$', description });

const partType = OneOf(
  ['fixed', 'percent'],
  '`fixed`: `value` is cents; `percent`: it is hundredths of a percent of the amount, 200 for 2 %',
);
const value = Cents('Cents, or hundredths of a percent', { minimum: 1, maximum: 1_000_000 });
const part = (description: string) =>
  Type.Object({ type: partType, value }, { additionalProperties: false, description });

const address = Type.Object(
  {
    street: Text('Street and number, as `Rua A, 12`', { minLength: 1, maxLength: 200 }),
    city: Text('City', { minLength: 1, maxLength: 200 }),
    state: Type.String({ pattern: '^[A-Z]{2}$', description: 'State, as `SP`' }),
    postalCode: Type.String({ pattern: '^[0-9]{8}$', description: 'CEP, eight digits' }),
    neighborhood: Type.Optional(
      Text('District (`bairro`); Woovi asks for it', { minLength: 1, maxLength: 200 }),
    ),
  },
  { additionalProperties: false, description: 'API Pix asks for no address; at Woovi it is required' },
);

const payer = Type.Object(
  {
    name: Text('Name of the payer', { minLength: 2, maxLength: 100, 'x-trim': true }),
    document: Type.String({
      minLength: 11,
      maxLength: 18,
      description: 'CPF or CNPJ with right check digits, with or without dots; kept sealed and shown masked',
    }),
    email: Type.Optional(MailAddress('The provider may show it')),
    address: Type.Optional(address),
  },
  { additionalProperties: false, description: 'The payer, whom API Pix wants named with a document' },
);

const interestShape = {
  type: OneOf(
    interestTypes,
    '`fixed_day`: `value` is cents for each day; `percent_day`, `percent_month`: hundredths of a percent',
  ),
  value,
  days: OneOf(interestDays, 'Which days count'),
};
const Discounts = Type.Array(
  Type.Object(
    { until: Day('Last day of the discount, not after the due date'), type: partType, value },
    { additionalProperties: false },
  ),
  { maxItems: 3, description: 'Up to three, all of one `type`; the first whose day is not over counts' },
);
const amountCents = Cents('Amount to charge, before fine, interest, discount and rebate', {
  minimum: 200,
  maximum: 200_000,
});
const validAfterDue = {
  minimum: 0,
  maximum: 365,
  description: 'Calendar days after the due date on which it can still be paid',
};

export const DueChargeBody = Body(
  {
    amountCents,
    payer,
    dueDate: Day('Day of Brasília, today or later, at most two years ahead'),
    validAfterDue: Type.Optional(Type.Integer({ ...validAfterDue, default: 30 })),
    fine: Type.Optional(part('Added once when it is paid after the due date')),
    interest: Type.Optional(
      Type.Object(interestShape, {
        additionalProperties: false,
        description: 'Added for each day after the due date',
      }),
    ),
    discounts: Type.Optional(Discounts),
    rebate: Type.Optional(part('Taken off whenever it is paid')),
    reminders: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'The payer is reminded by mail three days before the due date, on it and three days after it, as long as the charge is open; needs `payer.email`',
      }),
    ),
    // `solicitacaoPagador` of API Pix 2.9.0 takes no more.
    description: Type.Optional(Text('May be empty', { minLength: 0, maxLength: 140 })),
    requestKey: Uuid('Made by the caller, once per charge; repeat it, never replace it, after a timeout'),
    metadata: Type.Optional(MetadataBody),
    fiscalDocuments: Type.Optional(FiscalDocumentsBody),
  },
  {
    examples: [
      {
        amountCents: 10000,
        payer: { name: 'Maria Silva', document: '111.444.777-35' },
        dueDate: '2026-12-10',
        validAfterDue: 30,
        fine: { type: 'percent', value: 200 },
        interest: { type: 'percent_month', value: 100, days: 'calendar' },
        discounts: [{ until: '2026-12-05', type: 'fixed', value: 500 }],
        description: 'Mensalidade de dezembro',
        requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a13',
      },
    ],
  },
);

/** A part that can be taken away. */
const orNone = <T>(properties: object, description: string) =>
  Type.Unsafe<T | null>({
    type: ['object', 'null'],
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    description: `${description}; null takes it away`,
  });

export const DueChangeBody = Body(
  {
    amountCents: Type.Optional(amountCents),
    dueDate: Type.Optional(Day('Day of Brasília, today or later, at most two years ahead')),
    validAfterDue: Type.Optional(Type.Integer(validAfterDue)),
    fine: Type.Optional(
      orNone<Part>({ type: partType, value }, 'Added once when it is paid after the due date'),
    ),
    interest: Type.Optional(orNone<Interest>(interestShape, 'Added for each day after the due date')),
    discounts: Type.Optional(Discounts),
    rebate: Type.Optional(orNone<Part>({ type: partType, value }, 'Taken off whenever it is paid')),
  },
  { examples: [{ amountCents: 12000, dueDate: '2026-12-20' }] },
);
