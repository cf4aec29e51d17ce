import { type Static, Type } from 'typebox';
import { DefenceSchema, FileQuery } from '../../api/disputes/schema.ts';
import { EventQuerySchema } from '../../api/events/schema.ts';
import { LinkPageQuery } from '../../api/links/schema.ts';
import { nextRefunds } from '../../api/refunds/schema.ts';
import { permissions } from '../../ground/permissions.ts';
import { Body, Cents, NullableTime, OneOf, Text, Time, Uuid } from '../../ground/schema.ts';
import { DisputeSchema } from '../../kinds/dispute/view.ts';
import { RefundSchema } from '../../kinds/payment/refund-view.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { refundFees } from '../../money/refund.ts';
import { CloseSchema } from '../../operate/closes/view.ts';
import { type Figures, figureNames } from '../../operate/statement/figures.ts';
import { lineKinds } from '../../operate/statement/line.ts';
import { placesForm } from '../../operate/statement/merge.ts';
import { emailForm, emailMost } from '../people/members.ts';
import { passwordLength } from '../people/password-length.ts';
import { roles } from '../people/roles.ts';
import { activityGroups, securityEventKinds } from '../people/security-events.ts';
import { amountOrders, dateOrders, filterMarks, marks, recordDates } from './marks.ts';

/** Schemas that only the panel uses; all others are in the public API. */

export const NullableText = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });
export const NullableUuid = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });
const Day = (description: string) => Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description });
const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Role = OneOf(roles, 'Role in the account');
const Permissions = Type.Array(OneOf(permissions, 'Permission'), { description: 'What the key may do' });
export const Done = Type.Object({ ok: Type.Literal(true) });
export const Nothing = Body({});

const NoticeSchema = Type.Object({
  pt: Type.String(),
  en: Type.String(),
  until: Time('It ends then'),
  setAt: Time('When it was set: another time is another notice'),
});

const ViewSchema = Type.Object({
  endsAt: Time('It ends then at the latest'),
  reason: Type.String({ description: 'Why' }),
});

export const SessionSchema = Type.Object({
  name: Type.String(),
  email: Type.String(),
  language: OneOf(['pt-BR', 'en'], 'Language of the panel'),
  twoFactorEnabled: Type.Boolean(),
  passkeys: Count('Passkeys of this person'),
  secondFactor: Type.Boolean({ description: 'Two factors were shown in this session' }),
  frozenUntil: NullableTime('Transfers and changes of access are refused until then'),
  sessionId: Uuid('This session'),
  csrf: Type.String({ description: 'Sent as X-CSRF-Token with every change' }),
  mailbox: Type.Boolean({ description: 'Mails are shown at /mailbox' }),
  simulatorUrl: NullableText('Where the payer of test accounts sits'),
  notice: Type.Unsafe<Static<typeof NoticeSchema> | null>({
    anyOf: [NoticeSchema, { type: 'null' }],
    description: 'What the operator of the installation says to all accounts now; null: nothing',
  }),
  view: Type.Unsafe<Static<typeof ViewSchema> | null>({
    anyOf: [ViewSchema, { type: 'null' }],
    description: 'An operator sees the panel; null: a person of the account',
  }),
  accounts: Type.Array(
    Type.Object({
      id: Uuid('Account'),
      name: Type.String(),
      test: Type.Boolean({ description: 'No money moves' }),
      role: Role,
      abilities: Type.Array(Type.String()),
      secondFactorDueAt: NullableTime(
        'From then on this account is entered with a second factor only; null: it is not asked for',
      ),
      seenUntil: NullableTime(
        'The operator’s support sees this account now, until then at most; null: it does not',
      ),
    }),
  ),
});

export const InvitationSchema = Type.Object({
  email: Type.String(),
  role: Role,
  accountName: Type.String(),
  companyName: Type.String({ description: 'As the account shows itself to its payers; else its name' }),
  existing: Type.Boolean({ description: 'The person signs in already, and needs no password' }),
});

const Token = Type.String({ minLength: 20, maxLength: 100, description: 'Secret of the link' });
const Password = Type.String({ minLength: 1, maxLength: passwordLength.maximum, description: 'Password' });
const EmailAddress = Type.String({ minLength: 3, maxLength: emailMost, pattern: emailForm.source });
const PersonName = Text('Name', { minLength: 2, maxLength: 80, 'x-trim': true });

export const EmailBody = Body({
  email: EmailAddress,
});
export const InvitationBody = Body({ token: Token });
export const AcceptBody = Body({
  token: Token,
  name: Type.Optional(PersonName),
  password: Type.Optional(
    Type.String({ minLength: passwordLength.minimum, maxLength: passwordLength.maximum }),
  ),
});
export const PasswordBody = Body({ password: Password });
export const ProfileBody = Body({
  name: Type.Optional(PersonName),
  language: Type.Optional(OneOf(['pt-BR', 'en'], 'Language')),
});

export const SessionListSchema = Type.Object({
  sessions: Type.Array(
    Type.Object({
      id: Uuid('Session'),
      current: Type.Boolean(),
      createdAt: Time('Sign-in'),
      seenAt: NullableTime('Last request'),
      ipAddress: NullableText('Where from'),
      userAgent: NullableText('Browser'),
    }),
  ),
});

const Balance = Type.Object({
  id: Uuid('Operation'),
  name: Type.String(),
  isDefault: Type.Boolean(),
  availableCents: Cents('Available'),
  reservedCents: Cents('Reserved for transfers under way'),
  heldCents: Cents('Held by the operator'),
  cardHeldCents: Cents('Received by card and not released by the acquirer'),
  receivableCents: Cents('Owed: paid by what comes in next'),
  frozen: Type.Boolean({ description: 'Withdrawals wait for the operator' }),
  createdAt: Time('Creation'),
  updatedAt: Time('Last posting'),
});

const Receiver = Type.Object(
  {
    name: Type.String(),
    taxId: NullableText('CPF with most digits masked, or CNPJ; null: not told'),
    bank: NullableText('Name of the bank, or its code (ISPB); null: not told'),
  },
  { description: 'Who receives a transfer, as its provider told it' },
);
const NullableReceiver = Type.Unsafe<Static<typeof Receiver> | null>({
  description: 'Who received a transfer; null: the provider has not told it',
  anyOf: [{ type: 'null' }, Receiver],
});

export const KeyOwnerSchema = Type.Object({
  answer: OneOf(
    ['told', 'unknown', 'not_told'],
    'told: receiver is given. unknown: no bank has this key. not_told: the provider cannot tell, or not now',
  ),
  receiver: Type.Optional(Receiver),
});

const kinds = ['deposit', 'transfer'] as const;

const paymentNames = {
  kind: OneOf(kinds, 'Kind'),
  payerName: NullableText('Payer of a charge'),
  pixKey: NullableText('Receiver of a transfer; masked for developers and viewers'),
  pixKeyType: NullableText('Type of the key'),
  receiver: NullableReceiver,
  description: Type.String(),
};

/** The name of a payment for people. */
export const PaymentNames = Type.Unsafe<Static<ReturnType<typeof Type.Object<typeof paymentNames>>> | null>({
  description: 'The payment; null: there is none, or its operation was deleted',
  anyOf: [{ type: 'null' }, Type.Object(paymentNames)],
});

const UnknownPayment = Type.Object({
  id: Uuid('Payment'),
  kind: OneOf(kinds, 'Kind'),
  amountCents: Cents('Amount'),
  operationId: Uuid('Operation'),
  createdAt: Time('Creation'),
  payment: PaymentNames,
});

const incidentFields = {
  id: Uuid('Incident'),
  kind: Type.String(),
  paymentId: NullableUuid('Payment'),
  operationId: NullableUuid('Operation'),
  amountCents: Cents('Amount'),
  freezes: Type.Boolean({ description: 'Withdrawals wait until it is resolved' }),
  openedAt: Time('Since'),
  payment: PaymentNames,
};

/** A dispute with the names of its payment and its defence. */
const ShownDispute = Type.Object({
  ...DisputeSchema.properties,
  payment: PaymentNames,
  answerable: Type.Boolean({ description: 'A defence is taken at this moment' }),
  defence: Type.Union([Type.Pick(DefenceSchema, ['status', 'reasonCode']), Type.Null()], {
    description: 'Null: there is none',
  }),
});

export const OverviewSchema = Type.Object({
  operations: Type.Array(Balance),
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: 'YYYY-MM-DD in America/Sao_Paulo' }),
      inCents: Cents('Received, before fees'),
      outCents: Cents('Sent, refunded and taken back, with all fees; cancelled transfers are taken off'),
    }),
  ),
  daysComplete: Type.Boolean({
    description:
      'False: the movements since the last daily close are not all summed up yet; the next call goes on',
  }),
  unknown: Type.Array(UnknownPayment),
  incidents: Type.Array(Type.Object(incidentFields)),
  disputes: Type.Array(ShownDispute, { description: 'Not decided yet, the next deadline first; at most 20' }),
  endingKeys: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Key' }),
      name: Type.String(),
      expiresAt: Time('When it ends'),
    }),
    { description: 'That end within two weeks, the next one first; for people who manage keys' },
  ),
  holds: Type.Array(
    Type.Object({
      operationId: Uuid('Operation'),
      wantedCents: Cents('What the operator wants kept back'),
      reason: Type.String({ description: 'As the operator wrote it' }),
      placedAt: Time('Since'),
    }),
    { description: 'The oldest 20' },
  ),
  restrictions: Type.Object({
    withdrawalsPaused: Type.Boolean(),
    withdrawalsBlocked: Type.Boolean(),
    enabled: Type.Boolean(),
  }),
  firstSteps: Type.Unsafe<null | { key: boolean; webhook: boolean; charge: boolean; transfer: boolean }>({
    description: 'What a new account has done; null: it is not new any more',
    anyOf: [
      { type: 'null' },
      Type.Object({
        key: Type.Boolean(),
        webhook: Type.Boolean(),
        charge: Type.Boolean({ description: 'One was paid' }),
        transfer: Type.Boolean({ description: 'One was completed' }),
      }),
    ],
  }),
  at: Time('When this was read'),
});

export const OverviewQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 180,
        default: 30,
        description: 'Days of the chart, today included',
      }),
    ),
  },
  { additionalProperties: false },
);

export const RecordSchema = Type.Object(
  {
    ...PaymentSchema.properties,
    payerName: NullableText('Payer of a charge'),
    pixKey: NullableText('Receiver of a transfer; masked for developers and viewers'),
    pixKeyType: NullableText('Type of the key'),
    receiver: NullableReceiver,
    description: Type.String(),
    requestKey: Uuid('As the caller gave it'),
    returnedCents: Type.Optional(Cents('Of a transfer: what its receiver sent back')),
  },
  { title: 'Record' },
);

const Marks = Type.Array(OneOf(marks, 'What came of it beside its state'));

/** A payment in a list. */
const Listed = Type.Object({
  ...RecordSchema.properties,
  marks: Marks,
  debitedCents: Cents('The part that the provider took back in disputes'),
});

export const RecordListSchema = Type.Object({
  records: Type.Array(Listed),
  nextCursor: NullableText('For the next page'),
  searchedTo: NullableTime(
    'The payments were looked through up to here; null: all of the period, or, in an order by date, the page is full',
  ),
});

const statuses = PaymentSchema.properties.status;

const recordFilters = {
  operationId: Type.Optional(Uuid('Only this operation')),
  kind: Type.Optional(OneOf(kinds, 'Only this kind')),
  status: Type.Optional(Type.Array(statuses, { description: 'Only these states' })),
  mark: Type.Optional(OneOf(filterMarks, 'Only what this came of')),
  by: Type.Optional(
    OneOf(
      recordDates,
      'The date that `from`, `to` and `order` go by; `paid` leaves out what moved no money; default: created',
    ),
  ),
  from: Type.Optional(Time('At or after')),
  to: Type.Optional(Time('Before')),
  search: Type.Optional(
    Text(
      'An id, requestKey, end-to-end id or whole Pix key; else part of description, payer, a metadata value or the key of a fiscal document',
      {
        minLength: 1,
        maxLength: 100,
      },
    ),
  ),
  minimumCents: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000_000 })),
  maximumCents: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000_000 })),
};

export const RecordQuery = Type.Object(
  {
    ...recordFilters,
    order: Type.Optional(
      OneOf(
        [...dateOrders, ...amountOrders],
        'By the date, or by the amount among the newest 12,000 of the period; default: newest first',
      ),
    ),
    cursor: Type.Optional(Type.String({ maxLength: 800 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { additionalProperties: false },
);

const csvForm = {
  language: Type.Optional(OneOf(['pt-BR', 'en'], 'Language of the file; default: that of the request')),
  separator: Type.Optional(OneOf(['comma', 'semicolon'], 'Between fields')),
  bom: Type.Optional(OneOf(['yes', 'no'], 'Byte order mark, for spreadsheets')),
};

export const CsvQuery = Type.Object(csvForm, { additionalProperties: false });

const { limit: _limit, cursor: _cursor, ...eventFilters } = EventQuerySchema.properties;

export const EventCsvQuery = Type.Object({ ...eventFilters, ...csvForm }, { additionalProperties: false });

/** A file has no order by amount: it may be of any length, and spreadsheets sort it. */
export const RecordCsvQuery = Type.Object(
  {
    ...recordFilters,
    order: Type.Optional(OneOf(dateOrders, 'By the date; default: newest first')),
    ...csvForm,
  },
  { additionalProperties: false },
);

/** Of the charges of a payment link or a static code. */
export const SourceQuery = Type.Object(
  { operationId: Uuid('Operation'), ...LinkPageQuery.properties },
  { additionalProperties: false },
);

export const SourceRecordsSchema = Type.Object({
  records: Type.Array(Listed, { description: 'Newest first' }),
  nextCursor: NullableText('For the next page'),
});

const Line = Type.Object({
  seq: Count('Place in the chain'),
  template: Type.String({ description: 'Kind of posting' }),
  paymentId: Uuid('What it is about'),
  postedAt: Time('When it was written'),
  availableCents: Type.Integer(),
  reservedCents: Type.Integer(),
  heldCents: Type.Integer(),
  cardHeldCents: Type.Integer(),
  feeCents: Type.Integer(),
  balanceAfterCents: Type.Integer({ description: 'Available less what is owed, afterwards' }),
});

const ShownCause = Type.Object({
  by: Type.String(),
  id: Type.String(),
  name: NullableText('Name of the API key, person or operator'),
  actor: Type.Unsafe<'key' | 'person' | 'operator' | null>({
    type: ['string', 'null'],
    enum: ['key', 'person', 'operator', null],
    description: 'What the name names',
  }),
});

export const DetailSchema = Type.Object({
  record: RecordSchema,
  marks: Marks,
  disputes: Type.Array(ShownDispute, { description: 'Oldest first' }),
  incidents: Type.Array(
    Type.Object({
      id: Uuid('Incident'),
      kind: Type.String(),
      amountCents: Cents('Amount'),
      openedAt: Time('Since'),
      resolvedAt: NullableTime('When it was decided; null: it is open'),
      action: NullableText('The decision'),
      decidedBy: Type.Unsafe<'account' | 'operator' | 'rule' | null>({
        type: ['string', 'null'],
        enum: ['account', 'operator', 'rule', null],
        description: 'A person of the account, the operator, or the rule of the account',
      }),
    }),
    { description: 'Oldest first' },
  ),
  refunds: Type.Array(
    Type.Object({
      id: Uuid('Refund'),
      status: Type.String(),
      reason: Type.String({ description: '`odd_money`: back to the payer by a decision of the operator' }),
      amountCents: Cents('Amount'),
      createdAt: Time('Asked for'),
      updatedAt: Time('Of its state'),
      settledAt: NullableTime('When the money moved'),
    }),
    { description: 'Oldest first' },
  ),
  returns: Type.Array(Type.Object({ amountCents: Cents('Amount'), at: Time('When') }), {
    description: 'Money of its Pix that went back where it came from, oldest first',
  }),
  operationName: Type.String(),
  history: Type.Array(Type.Object({ status: Type.String(), at: Time('Since'), cause: ShownCause })),
  lines: Type.Array(Line),
  events: Type.Array(
    Type.Object({
      id: Uuid('Event'),
      type: Type.String(),
      createdAt: Time('Written'),
      deliveries: Type.Array(OneOf(['pending', 'delivered', 'failed', 'skipped'], 'To an endpoint')),
    }),
  ),
});

export const MerchantProfileBody = Body({
  displayName: Type.Optional(
    Text('Name on receipts, in mails and to payers', { minLength: 2, maxLength: 60, 'x-trim': true }),
  ),
  legalName: Type.Optional(
    Text('Name in its register (razão social), beside the CNPJ', {
      ...{ minLength: 2, maxLength: 120, 'x-trim': true },
    }),
  ),
  cnpj: Type.Optional(
    Type.String({ maxLength: 20, description: 'With or without points; letters as of 2026' }),
  ),
  colour: Type.Optional(
    Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description: 'Dark enough for white text' }),
  ),
});
export const MerchantProfileSchema = Type.Object({
  displayName: NullableText('Name on receipts, in mails and to payers; null: the name of the account'),
  legalName: NullableText('Name in its register (razão social)'),
  cnpj: NullableText('14 characters'),
  colour: NullableText('`#rrggbb`'),
  logoVersion: NullableText('Changes with the logo; null: there is none'),
});
export const LogoBody = Body({
  png: Type.String({
    minLength: 1,
    maxLength: 88_000,
    description: 'PNG in Base64: at most 480 × 160, 64 KiB',
  }),
});

const receiver = {
  name: Text('What people call the receiver', { minLength: 1, maxLength: 60, 'x-trim': true }),
  pixKeyType: OneOf(['EMAIL', 'CPF', 'CNPJ', 'PHONE', 'RANDOM'], 'Type of the key'),
};
export const SavedReceiverBody = Body({
  ...receiver,
  pixKey: Type.String({ minLength: 3, maxLength: 150, description: 'Pix key' }),
});
export const SavedReceiverSchema = Type.Object({
  id: Uuid('Saved receiver'),
  ...receiver,
  pixKey: Type.String({ description: 'Pix key' }),
  createdAt: Time('When it was saved'),
});
export const SavedReceiverListSchema = Type.Object({ receivers: Type.Array(SavedReceiverSchema) });

const refundClosed = ['not_received', 'not_offered', 'too_late', 'nothing_left'] as const;
export type RefundClosed = (typeof refundClosed)[number];

export const RefundsOfRecordSchema = Type.Object({
  refunds: Type.Array(Type.Object({ ...RefundSchema.properties, madeBy: ShownCause }), {
    description: 'Oldest first',
  }),
  nextCursor: nextRefunds,
  leftCents: Cents('What may still be refunded'),
  refundFees: OneOf(refundFees, 'Whether a refund brings back its part of the fee'),
  until: NullableTime('Until when; null: nothing was received'),
  closed: Type.Unsafe<RefundClosed | null>({
    type: ['string', 'null'],
    enum: [...refundClosed, null],
    description: 'Why no refund may be asked for; null: one may',
  }),
});

/** Each operation continues where the page before ended. */
const Below = Type.String({ pattern: placesForm, description: '`nextBelow` of the page before' });

const statementPeriod = {
  operationId: Type.Optional(Uuid('Only this operation')),
  from: Type.Optional(Day('First day in São Paulo, YYYY-MM-DD')),
  to: Type.Optional(Day('Last day, which is included')),
};

export const StatementQuery = Type.Object(
  {
    ...statementPeriod,
    figure: Type.Optional(OneOf(figureNames, 'Only lines that count for this figure')),
    search: Type.Optional(
      Text('Only lines with this in the name of payer or receiver, the description or the end-to-end id', {
        minLength: 1,
        maxLength: 100,
      }),
    ),
    amountCents: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100_000_000, description: 'Only lines of this amount' }),
    ),
    below: Type.Optional(Below),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Entries of a page' })),
    sums: Type.Optional(OneOf(['none'], 'Without the figures of the period')),
  },
  { additionalProperties: false },
);

/** A file for programs or on paper is of one operation, as an account of a bank; a table may be of all. */
export const StatementFileQuery = Type.Object(
  { ...statementPeriod, operationId: Uuid('Operation'), ...csvForm },
  { additionalProperties: false },
);

export const StatementCsvQuery = Type.Object(
  { ...statementPeriod, ...csvForm },
  { additionalProperties: false },
);

export const StatementSchema = Type.Object({
  lines: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Unique in the operation' }),
      operationId: Uuid('Operation'),
      at: Time('When it was posted'),
      kind: OneOf(lineKinds, 'What it is'),
      amountCents: Cents('What the balance changed by: negative is out'),
      balanceCents: Cents('Balance after this line, of all operations that are shown'),
      cause: Type.Union([Type.Literal('dispute'), Type.Literal('operator'), Type.Null()]),
      reason: Type.Union([Type.String(), Type.Null()], {
        description: 'Of a hold, in words of the operator',
      }),
      paymentId: NullableUuid('Its payment'),
      payment: PaymentNames,
    }),
    { description: 'Newest first' },
  ),
  openingBalanceCents: Cents('Before the period'),
  closingBalanceCents: Cents('After the period'),
  totals: Type.Unsafe<Figures | null>({
    description: 'Of the whole period; null: a later page, or the period is too long to be summed up',
    anyOf: [
      { type: 'null' },
      Type.Object({
        inCents: Cents('In'),
        outCents: Cents('Out'),
        feeCents: Cents('Fees'),
        refundCents: Cents('Refunds'),
        holdCents: Cents('Holds'),
      }),
    ],
  }),
  lookedBackTo: NullableTime('With a filter: how far it was looked for, when there is a next page'),
  nextBelow: NullableText('For the next page'),
});

export const ClosesQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    before: Type.Optional(Type.String({ format: 'date', description: 'Days before this one' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Days of a page' })),
  },
  { additionalProperties: false },
);

export const ClosesSchema = Type.Object({
  closes: Type.Array(CloseSchema, { description: 'Newest first' }),
  nextBefore: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date' }),
});

export const DisputesQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    below: Type.Optional(Uuid('Disputes before this one')),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Disputes of a page' })),
  },
  { additionalProperties: false },
);

export const OfOperationQuery = Type.Object(
  { operationId: Uuid('Operation') },
  { additionalProperties: false },
);

export const FileOfOperationQuery = Type.Object(
  { operationId: Uuid('Operation'), ...FileQuery.properties },
  { additionalProperties: false },
);

export const DisputesSchema = Type.Object({
  disputes: Type.Array(ShownDispute, { description: 'Newest first' }),
  nextBelow: NullableUuid('For the next page'),
});

export const JournalQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    below: Type.Optional(Below),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { additionalProperties: false },
);

export const JournalSchema = Type.Object({
  lines: Type.Array(
    Type.Object({ ...Line.properties, operationId: Uuid('Operation'), payment: PaymentNames }),
  ),
  nextBelow: NullableText('For the next page'),
});

export const ReconciliationSchema = Type.Object({
  statementReadTo: NullableTime("How far the provider's statement was read by itself"),
  compared: Type.Unsafe<null | {
    at: string;
    compared: number;
    missing: number;
    unexpected: number;
    different: number;
  }>({
    description: "The last comparison of everything with the provider's lists; null: none yet",
    anyOf: [
      { type: 'null' },
      Type.Object({
        at: Time('When'),
        compared: Count('Payments that both have'),
        missing: Count('Posted then'),
        unexpected: Count('At the provider alone'),
        different: Count('Both have it and disagree'),
      }),
    ],
  }),
  operations: Type.Array(
    Type.Object({
      id: Uuid('Operation'),
      name: Type.String(),
      balanceCents: Type.Integer({ description: 'The balance: available less what is owed' }),
      ledgerCents: Type.Integer({ description: 'The same after the last line of the ledger' }),
      lines: Count('Lines of the ledger'),
    }),
  ),
  unknown: Type.Array(UnknownPayment, { description: 'The oldest 100' }),
  incidents: Type.Array(
    Type.Object({
      ...incidentFields,
      state: OneOf(['open', 'resolved'], 'State'),
      resolvedAt: NullableTime('Until'),
      action: NullableText('What was decided'),
      reason: NullableText('Why'),
    }),
    { description: 'The newest 100' },
  ),
  at: Time('When this was read'),
});

const requestFilters = {
  method: Type.Optional(OneOf(['GET', 'POST', 'PATCH', 'DELETE'], 'Only this method')),
  status: Type.Optional(OneOf(['2xx', '4xx', '5xx'], 'Only answers of this class')),
  keyId: Type.Optional(Type.String({ pattern: '^[0-9A-Za-z]{12}$', description: 'Only with this key' })),
  paymentId: Type.Optional(Uuid('Only about this payment')),
  requestId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'X-Request-Id of the answer or of the request',
    }),
  ),
  from: Type.Optional(Day('First day in São Paulo')),
  to: Type.Optional(Day('Last day, which is included')),
};

export const RequestQuery = Type.Object(
  {
    ...requestFilters,
    cursor: Type.Optional(Type.String({ maxLength: 200 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { additionalProperties: false },
);

export const RequestCsvQuery = Type.Object(
  { ...requestFilters, ...csvForm },
  { additionalProperties: false },
);

export const RequestListSchema = Type.Object({
  requests: Type.Array(
    Type.Object({
      id: Uuid('In the log'),
      at: Time('When it was answered'),
      method: Type.String(),
      route: Type.String({ description: 'Pattern of the route' }),
      status: Type.Integer(),
      errorCode: NullableText('Code of a refusal'),
      keyId: Type.String(),
      keyName: NullableText('Name of the key'),
      requestId: Type.String({ description: 'X-Request-Id of the answer' }),
      clientRequestId: NullableText('X-Request-Id of the request'),
      durationMs: Count('How long the answer took'),
      ip: Type.String({ description: 'From where' }),
      operationId: NullableUuid('Business operation'),
      paymentId: NullableUuid('Payment'),
      body: Type.Unsafe<null | {
        values: Record<string, string | number | boolean>;
        fields: Record<string, string>;
      }>({
        description: 'Some values; of the other fields their names and kinds',
        anyOf: [
          { type: 'null' },
          {
            type: 'object',
            properties: {
              values: { type: 'object', additionalProperties: true },
              fields: { type: 'object', additionalProperties: { type: 'string' } },
            },
            required: ['values', 'fields'],
          },
        ],
      }),
      leftOut: Count('Requests since the row before that were not kept'),
    }),
  ),
  nextCursor: NullableText('For the next page'),
});

export const AskedSchema = Type.Object({ record: RecordSchema });

export const SourceCsvQuery = Type.Object(
  { operationId: Uuid('Operation'), ...csvForm },
  { additionalProperties: false },
);

export const JournalCsvQuery = Type.Object(
  { operationId: Type.Optional(Uuid('Only this operation')), ...csvForm },
  { additionalProperties: false },
);

export const ClosesCsvQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    month: Type.Optional(
      Type.String({ pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$', description: 'Only this month, as 2026-11' }),
    ),
    ...csvForm,
  },
  { additionalProperties: false },
);

export const ClosesFileQuery = Type.Object(
  {
    operationId: Type.Optional(Uuid('Only this operation')),
    month: Type.String({ pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$', description: 'As 2026-11' }),
    ...csvForm,
  },
  { additionalProperties: false },
);

export const KeyListSchema = Type.Object({
  keys: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Public part of the key' }),
      name: Type.String(),
      permissions: Permissions,
      ips: Type.Array(Type.String(), { description: 'Addresses and networks; empty: from everywhere' }),
      createdAt: Time('Creation'),
      expiresAt: NullableTime('End'),
      rolledTo: NullableText('The key that follows it'),
      revokedAt: NullableTime('Revocation'),
      lastUsedAt: NullableTime('Last use, to the minute'),
      lastUsedIp: NullableText('Last use: from where'),
      lastUsedAgent: NullableText('Last use: the first word of User-Agent'),
      createdByName: NullableText('The member who made it; null: the operator, or somebody who left'),
      makerLeft: Type.Boolean({
        description: 'Its maker is no longer a member: somebody decides whether it stays',
      }),
    }),
  ),
});

export const NewKeyBody = Body({
  name: Text('Name', { minLength: 1, maxLength: 64, 'x-trim': true }),
  permissions: Type.Array(OneOf(permissions, 'Permission'), { minItems: 1, maxItems: permissions.length }),
  expiresInDays: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650, description: 'Default: for ever' })),
  ips: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: 20,
      description: 'Addresses and networks; default: everywhere',
    }),
  ),
});

export const NarrowBody = Body({
  permissions: Type.Array(OneOf(permissions, 'Permission'), {
    minItems: 1,
    maxItems: permissions.length,
    description: 'What is left: some of those that it has',
  }),
});

export const NewKeySchema = Type.Object({
  id: Type.String(),
  key: Type.String({ description: 'Shown this once' }),
});

export const RollBody = Body({
  overlapHours: Type.Integer({
    minimum: 0,
    maximum: 168,
    description: 'How many hours the old key stays valid',
  }),
});

export const KeyParams = Type.Object({ id: Type.String({ pattern: '^[0-9A-Za-z]{12}$' }) });

export const MemberListSchema = Type.Object({
  members: Type.Array(
    Type.Object({
      userId: Uuid('Person'),
      name: Type.String(),
      email: Type.String(),
      role: Role,
      createdAt: Time('Since'),
      secondFactor: Type.Boolean(),
      self: Type.Boolean(),
    }),
  ),
  invitations: Type.Array(
    Type.Object({
      id: Uuid('Invitation'),
      email: Type.String(),
      role: Role,
      expiresAt: Time('End'),
    }),
  ),
  secondFactorGraceDays: Count('Days that a new member has to set up a second factor'),
});

export const GraceBody = Body({
  days: Type.Integer({ minimum: 0, maximum: 30, description: 'Days that a new member has' }),
});
export const DismissBody = Body({
  revokeKeys: Type.Optional(
    Type.Boolean({ description: 'Also revoke the active keys that this person made; default: no' }),
  ),
});
const KeyName = Type.Object({
  id: Type.String({ description: 'Public part of the key' }),
  name: Type.String(),
});
export const RoleChangedSchema = Type.Object({
  ok: Type.Literal(true),
  keysLeft: Type.Array(KeyName, {
    description: 'Active keys that this person made and could not make with the new role: decide on each',
  }),
});
export const DismissedSchema = Type.Object({
  ok: Type.Literal(true),
  keysRevoked: Type.Array(KeyName),
  keysLeft: Type.Array(KeyName, { description: 'Active keys that this person made: decide on each' }),
});

const EventDetail = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Ids and names of what was done; no secrets',
});
export const SecurityEventListSchema = Type.Object({
  events: Type.Array(
    Type.Object({
      id: Uuid('Event'),
      at: Time('When'),
      kind: OneOf(securityEventKinds, 'What'),
      outcome: OneOf(['ok', 'refused'], 'Whether it happened'),
      actor: OneOf(['person', 'operator'], 'Who'),
      userId: NullableUuid('Person'),
      name: NullableText('Name of the person'),
      email: NullableText('E-mail of the person'),
      subjectName: NullableText('Name of the person to whom it was done'),
      sessionId: NullableUuid('Session'),
      ipAddress: NullableText('Where from'),
      detail: EventDetail,
    }),
  ),
  nextBelow: NullableUuid('Ask for what is below this id; null: that was all'),
});
export const activityFilters = {
  group: Type.Optional(
    OneOf(Object.keys(activityGroups) as (keyof typeof activityGroups)[], 'Only events of this group'),
  ),
  outcome: Type.Optional(OneOf(['ok', 'refused'], 'Only these')),
  userId: Type.Optional(Uuid('Only what this person did')),
  from: Type.Optional(Day('First day in São Paulo')),
  to: Type.Optional(Day('Last day, which is included')),
};

export const SecurityEventFileQuery = Type.Object(
  { ...activityFilters, ...csvForm },
  { additionalProperties: false },
);

export const SecurityEventQuery = Type.Object(
  {
    ...activityFilters,
    below: Type.Optional(Uuid('Events before this one')),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  { additionalProperties: false },
);

export const InviteBody = Body({
  email: EmailAddress,
  role: Role,
});

export const RoleBody = Body({ role: Role });

export const MailListSchema = Type.Object({
  mails: Type.Array(
    Type.Object({
      id: Type.String(),
      to: Type.String(),
      subject: Type.String(),
      date: Type.String(),
      text: Type.String(),
    }),
  ),
});
