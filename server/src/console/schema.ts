import { type Static, Type } from 'typebox';
import { DefenceBody, DefenceOfDisputeSchema, DisputeFileSchema, FileQuery } from '../api/disputes/schema.ts';
import { Body, Cents, NullableTime, OneOf, Text, Time, Uuid } from '../ground/schema.ts';
import { defenceStatuses } from '../money/defence.ts';
import { type ActName, acts, type OperatorRole, operatorRoles } from '../operate/acts.ts';
import { foundKinds } from '../operate/find.sql.ts';
import { actions } from '../operate/incidents/endings.ts';
import { emailMost } from '../panel/people/members.ts';
import { passwordLength } from '../panel/people/password-length.ts';
import { oddKinds } from '../store/rows/incidents.sql.ts';
import { askedChanges, changeNames, standings } from './people/changes.ts';

/** Schemas of the console's calls. What is not named here does not leave: names of payers and receivers have a call of their own. */

export const Nullable = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });
export const NullableCents = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description });
export const Word = (description: string) => Type.String({ description });
export const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Role = OneOf(operatorRoles, 'Role of the operator');

export const Done = Type.Object({ ok: Type.Literal(true) });
export const Nothing = Body({});

const Email = Text('E-mail address', { minLength: 3, maxLength: emailMost });
const Password = Text('Password', { minLength: 1, maxLength: passwordLength.maximum });
export const Code = Type.String({ pattern: '^[0-9]{6}$', description: 'Code of the authenticator app' });
const Token = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: 'The secret of the link' });

export const SignInBody = Body({ email: Email, password: Password, code: Code });
export const InvitationBody = Body({ token: Token });
export const EnrolBody = Body({ token: Token, password: Password, code: Code });
export const ReasonBody = Body({
  reason: Text('Why', { minLength: 5, maxLength: 200, 'x-trim': true }),
});

export const InvitedSchema = Type.Object({ email: Type.String(), name: Type.String(), role: Role });
export const AppSchema = Type.Object({ appUri: Word('`otpauth:` address for the authenticator app') });

export const SessionSchema = Type.Object({
  email: Type.String(),
  name: Type.String(),
  role: Role,
  acts: Type.Array(OneOf(Object.keys(acts) as ActName[], 'Act')),
  csrf: Word('Goes back with every change'),
  endsAt: Time('The session ends then at the latest'),
});

/** Kinds of entries. `alone`: an act of two people that one did; `uncompared`: a connection since a restore; `cash` that is not in the account it should be in. */
export const worklistKinds = [
  ...(['alone', 'request', 'incident', 'dispute', 'unknown_transfer', 'statement_line'] as const),
  ...(['unread_item', 'certificate', 'uncompared', 'cash'] as const),
] as const;
export const ClaimBody = Body({
  kind: OneOf(worklistKinds, 'Of the entry'),
  id: Text('Of the entry', { minLength: 1, maxLength: 300 }),
  connection: Type.Optional(Text('Of the entry, where it names one', { minLength: 1, maxLength: 64 })),
});

export const WorklistSchema = Type.Object({
  withdrawalsPausedAt: NullableTime('Since when withdrawals are paused'),
  withdrawalsPausedReason: Nullable('Why'),
  /** So many of each list: a list that has as many may have more. */
  most: Count('Entries of a list'),
  items: Type.Array(
    Type.Object({
      kind: OneOf(worklistKinds, 'What waits for a person'),
      id: Word(
        'Id of the incident, the dispute, the payment, the line or the item; else the name of the connection',
      ),
      about: Word('Kind of the incident, status of the dispute, or kind of the line'),
      ownerId: Nullable('Account'),
      paymentId: Nullable('Payment'),
      connection: Nullable('Connection'),
      amountCents: NullableCents(
        'What it is about; null: it is about no amount, or the role counts no money of connections',
      ),
      since: Time('Since when it waits'),
      dueAt: NullableTime('The provider decides without us then, or a certificate ends'),
      freezes: Type.Boolean({ description: 'Withdrawals of its operation, or of all, wait for it' }),
      takenBy: Nullable('Name of the operator who works at it'),
      isMine: Type.Boolean({ description: 'That is the caller' }),
    }),
  ),
});

export const FoundSchema = Type.Object({
  found: Type.Array(
    Type.Object({
      kind: OneOf(['account', ...foundKinds], 'What was found'),
      id: Word('Its id'),
      ownerId: Uuid('Account'),
      operationId: Nullable('Operation'),
      state: Word('Status, kind or name'),
      amountCents: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    }),
  ),
  more: Type.Boolean({ description: 'There are others, which are not shown' }),
});

export const FindQuery = Type.Object(
  {
    text: Text(
      'Id, end-to-end id, id of a return or an event, request key, document, name at the provider, or part of a name',
      {
        minLength: 1,
        maxLength: 200,
        'x-trim': true,
      },
    ),
  },
  { additionalProperties: false },
);

const auditFilters = {
  ownerId: Type.Optional(Uuid('Account; absent: all of them and the installation')),
  actor: Type.Optional(Text('Who', { minLength: 1, maxLength: 200, 'x-trim': true })),
  action: Type.Optional(Text('Name of the act', { minLength: 1, maxLength: 100, 'x-trim': true })),
};
export const AuditFileQuery = Type.Object(auditFilters, { additionalProperties: false });
export const AuditQuery = Type.Object(
  {
    ...auditFilters,
    below: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,15}_[0-9a-f-]{36}$', description: 'The `next` of the page before' }),
    ),
  },
  { additionalProperties: false },
);
export const AuditSchema = Type.Object({
  entries: Type.Array(
    Type.Object({
      id: Uuid('Entry'),
      ownerId: Uuid('Account; that of number 0 is the installation'),
      at: Time('When, by the program’s clock'),
      actor: Word('Who'),
      action: Word('What was done'),
      subject: Word('To what'),
      reason: Nullable('Why'),
      detail: Word('What changed, as JSON'),
      seq: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        description: 'Number in the chain of its account',
      }),
      chainedAt: NullableTime('When it was chained, by the database’s clock'),
      hash: Nullable('SHA-256 over it and the entry before it'),
    }),
  ),
  next: Nullable('For the next page; null: there is none'),
});

const OperationFacts = Type.Object({
  id: Uuid('Operation'),
  name: Type.String(),
  isDefault: Type.Boolean(),
  deletedAt: NullableTime('When it was deleted'),
  availableCents: Cents('Available'),
  reservedCents: Cents('Reserved for transfers'),
  heldCents: Cents('Held'),
  receivableCents: Cents('Owed'),
  frozen: Type.Boolean({ description: 'An incident freezes its withdrawals' }),
});

const OddMoneyRule = {
  oddMoneyKinds: Type.Array(OneOf(oddKinds, 'Kind of odd money'), {
    description: 'What the people of the account decide about; none: the operator decides',
  }),
  oddMoneyMostCents: Cents('The most of one Pix that they decide about'),
};

export const AccountSchema = Type.Object({
  ownerId: Uuid('Account'),
  name: Type.String(),
  test: Type.Boolean(),
  enabled: Type.Boolean(),
  connection: Type.String(),
  withdrawalsBlocked: Type.Boolean(),
  withdrawalFeeCents: Cents('Fee of a withdrawal'),
  withdrawalFeeBps: Count('Fee of a withdrawal, in hundredths of a percent'),
  depositFeeCents: Cents('Fee of a charge'),
  depositFeeBps: Count('Fee of a charge, in hundredths of a percent'),
  minimumDepositCents: Cents('Smallest charge'),
  maximumDepositCents: Cents('Largest charge'),
  minimumWithdrawalCents: Cents('Smallest withdrawal'),
  maximumWithdrawalCents: Cents('Largest withdrawal'),
  ...OddMoneyRule,
  openIncidents: Count('Open incidents'),
  operations: Type.Array(OperationFacts),
});

const columns = [
  'available',
  'reserved',
  'held',
  'receivable',
  'clearing',
  'feeRevenue',
  'providerCost',
  'suspense',
  'adjustments',
] as const;

export const PaymentSchema = Type.Object({
  id: Uuid('Payment'),
  ownerId: Uuid('Account'),
  operationId: Uuid('Operation'),
  kind: OneOf(['deposit', 'transfer'], 'Kind'),
  status: Type.String(),
  amountCents: Cents('Amount'),
  feeCents: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  connection: Nullable('Connection'),
  providerId: Word('Id at the provider'),
  endToEnd: Nullable('End-to-end id'),
  requestKey: Word('Request key'),
  reasonCode: Nullable('Why it ended'),
  refundedCents: Cents('Refunded'),
  returnedCents: Cents('Returned'),
  createdAt: Time('Created'),
  updatedAt: Time('Last change'),
  settledAt: NullableTime('Settled'),
  paidAt: NullableTime('Paid'),
  expiresAt: NullableTime('Expires'),
  history: Type.Array(
    Type.Object({
      at: Time('When'),
      status: Type.String(),
      by: Word('What caused it'),
      actor: Type.Unsafe<'key' | 'person' | 'operator' | null>({
        enum: ['key', 'person', 'operator', null],
        description: 'Who',
      }),
      name: Nullable('Of a key or an operator; of a person of the account with the personal data'),
    }),
  ),
  events: Type.Array(
    Type.Object({
      id: Uuid('Event'),
      type: Word('What happened'),
      createdAt: Time('When it was written'),
      deliveries: Type.Array(
        Type.Object({
          endpointId: Uuid('Endpoint of the account'),
          status: OneOf(['pending', 'delivered', 'failed', 'skipped'], 'How it stands'),
          attempts: Count('Attempts'),
          lastAt: NullableTime('Last attempt'),
          lastResult: Nullable('Status code, or why there was no answer'),
        }),
      ),
    }),
    { description: 'Of the last 90 days, with their deliveries to the account' },
  ),
  intents: Type.Array(
    Type.Object({
      id: Uuid('Payment, refund or change'),
      state: Type.String(),
      attempts: Count('Attempts'),
      known: Type.Boolean({ description: 'The provider confirmed that it knows it' }),
      dueAt: Time('Next look'),
    }),
  ),
  refunds: Type.Array(
    Type.Object({
      id: Uuid('Refund'),
      status: Type.String(),
      amountCents: Cents('Amount'),
      reasonCode: Nullable('Why it ended'),
      createdAt: Time('Created'),
      settledAt: NullableTime('Settled'),
    }),
  ),
  changes: Type.Array(
    Type.Object({
      id: Uuid('Change of a due-date charge'),
      status: Type.String(),
      outcome: Nullable('How it ended: `carried_out`, `refused`, `charge_ended`'),
      amountCents: Cents('Of the charge after it'),
      createdAt: Time('Asked for'),
      endedAt: NullableTime('Over, whichever way'),
    }),
  ),
  disputes: Type.Array(
    Type.Object({
      id: Uuid('Dispute'),
      status: Type.String(),
      amountCents: Cents('Amount'),
      openedAt: Time('Opened'),
      deadlineAt: NullableTime('Deadline'),
      endedAt: NullableTime('Ended'),
    }),
  ),
  incidents: Type.Array(
    Type.Object({
      id: Uuid('Incident'),
      kind: Type.String(),
      state: Type.String(),
      amountCents: Cents('Amount'),
      bookedCents: NullableCents('What the books have, where the provider reports another amount'),
      openedAt: Time('Opened'),
      resolvedAt: NullableTime('Resolved'),
    }),
  ),
  words: Type.Array(Type.Object({ at: Time('When'), name: Type.String(), message: Nullable('Masked text') })),
  postings: Type.Array(
    Type.Object({
      seq: Count('Place in its chain'),
      postedAt: Time('When'),
      template: Word('Movement'),
      ...Object.fromEntries(columns.map((name) => [name, Cents(name)])),
    } as {
      seq: ReturnType<typeof Count>;
      postedAt: ReturnType<typeof Time>;
      template: ReturnType<typeof Word>;
    } & {
      [Name in (typeof columns)[number]]: ReturnType<typeof Cents>;
    }),
  ),
});

export const EvidenceSchema = Type.Object({
  takenAt: Time('When it was taken'),
  takenBy: Word('E-mail address of the operator'),
  payment: PaymentSchema,
});

export const PersonalDataSchema = Type.Object({
  payerName: Nullable('Payer'),
  receiverName: Nullable('Receiver'),
  receiverTaxId: Nullable('Document of the receiver, as the provider masks it'),
  description: Nullable('Text of the merchant'),
  people: Type.Array(Word('A person of the account who caused a state')),
});

export const IncidentSchema = Type.Object({
  id: Uuid('Incident'),
  ownerId: Uuid('Account'),
  kind: Type.String(),
  state: OneOf(['open', 'resolved'], 'State'),
  paymentId: Nullable('Payment'),
  operationId: Nullable('Operation'),
  amountCents: Cents('Amount'),
  freezes: Type.Boolean(),
  reference: Word('What it is about'),
  openedAt: Time('Opened'),
  resolvedAt: NullableTime('Resolved'),
  keptAt: NullableTime('A person keeps its money from the rule of the account since then'),
  resolution: Type.Unsafe<{ action: string; reason: string; actor: string } | null>({
    anyOf: [
      Type.Object({ action: Type.String(), reason: Type.String(), actor: Type.String() }),
      { type: 'null' },
    ],
  }),
  related: Type.Array(Uuid('Incident about the same Pix')),
  facts: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
    description: 'What was found, without names and documents',
  }),
});

const Posting = Type.Object({
  ownerId: Uuid('Account'),
  chainId: Word('The operation, or the account for its own books'),
  movement: Word('Movement'),
  lines: Type.Array(
    Type.Object({ column: Word('Column of the books'), cents: Cents('Credit; below zero: debit') }),
  ),
  connection: Nullable('Connection'),
});
const Shown = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'Hash of the act with its postings, as they were shown',
});

export const AllowedSchema = Type.Object({
  allowed: Type.Array(
    Type.Object({
      action: OneOf(actions, 'Action'),
      postings: Type.Array(Posting),
      movedCents: Cents('What it moves in all'),
      shown: Shown,
      alone: Type.Boolean({ description: 'One person may decide it' }),
    }),
  ),
});
export const ResolutionBody = Body({
  action: OneOf(actions, 'Action'),
  reason: Text('Why it is decided so', { minLength: 5, maxLength: 500, 'x-trim': true }),
  shown: Shown,
});
export const AskedSchema = Type.Object({
  requestId: Nullable('The request that waits for a second person; null: it is done'),
});
const ChangedPerson = Type.Object({
  change: OneOf(changeNames, 'Change'),
  email: Word('E-mail address of the operator'),
  name: Nullable('Name of a new one'),
  role: Type.Unsafe<OperatorRole | null>({ enum: [...operatorRoles, null], description: 'Role' }),
  roleNow: Type.Unsafe<OperatorRole | null>({
    enum: [...operatorRoles, null],
    description: 'Role when it was asked for; null: there is no such person',
  }),
  stateNow: Type.Unsafe<(typeof standings)[number] | null>({
    enum: [...standings, null],
    description: 'State when it was asked for; null: there is no such person',
  }),
});
const ChangedRule = Type.Object({
  ownerId: Uuid('Account'),
  before: Type.Object(OddMoneyRule),
  after: Type.Object(OddMoneyRule),
});
export const RequestsSchema = Type.Object({
  requests: Type.Array(
    Type.Object({
      id: Uuid('Request'),
      act: OneOf(Object.keys(acts) as ActName[], 'Act'),
      action: Nullable('What is decided about an incident'),
      incidentId: Nullable('Incident'),
      paymentId: Nullable('The transfer that a return is to be given to'),
      returnId: Nullable('Id of that return in the payment system'),
      person: Type.Unsafe<Static<typeof ChangedPerson> | null>({
        anyOf: [ChangedPerson, { type: 'null' }],
        description: 'The change of an operator that is asked for',
      }),
      rule: Type.Unsafe<Static<typeof ChangedRule> | null>({
        anyOf: [ChangedRule, { type: 'null' }],
        description: 'The change of the rule of odd money that is asked for',
      }),
      postings: Type.Array(Posting),
      movedCents: Cents('What it moves in all'),
      shown: Shown,
      reason: Word('Why'),
      requestedBy: Word(
        'E-mail address of the one who asked; the name of the system’s user at the shell; both where an operator took it up',
      ),
      requestedAt: Time('Asked'),
      expiresAt: Time('Ends then'),
      state: OneOf(
        ['open', 'agreed', 'done', 'stale', 'refused', 'withdrawn', 'alone', 'seen'],
        'State; alone: done by one person at the shell, and seen by no operator yet',
      ),
      decidedBy: Nullable('E-mail address of the one who decided'),
      decidedAt: NullableTime('Decided'),
      mine: Type.Boolean({ description: 'The caller asked for it' }),
      ofShell: Type.Boolean({ description: 'Asked for at the shell, and no operator has taken it up' }),
      mayAgree: Type.Boolean({
        description: 'The caller may agree to it, take it up, or say that it was seen',
      }),
    }),
  ),
});
export const AgreementBody = Body({ shown: Shown });
export const AgreedSchema = Type.Object({
  invitation: Type.Unsafe<{ email: string; mailed: boolean; link: string | null } | null>({
    anyOf: [
      Type.Object({
        email: Word('Who is invited'),
        mailed: Type.Boolean({ description: 'The link went to that address' }),
        link: Nullable('To be handed over in person; null: it was mailed, or could not be'),
      }),
      { type: 'null' },
    ],
    description: 'The invitation that the act made',
  }),
});
export const ChangeBody = Body({
  change: OneOf(askedChanges, 'Change'),
  email: Text('E-mail address of the operator', { minLength: 3, maxLength: emailMost, 'x-trim': true }),
  name: Type.Optional(Text('Name of a new one', { minLength: 2, maxLength: 80, 'x-trim': true })),
  role: Type.Optional(OneOf(operatorRoles, 'Role of a new one, or the new role')),
  reason: Text('Why', { minLength: 5, maxLength: 200, 'x-trim': true }),
});

const Reason = Text('Why', { minLength: 5, maxLength: 200, 'x-trim': true });
const Amount = Type.Integer({ minimum: 1, maximum: 1e12, description: 'Amount in cents' });

export const AmountBody = Body({ amountCents: Amount });
export const HoldBody = Body({
  amountCents: Amount,
  reason: Reason,
  shown: Shown,
  requestKey: Uuid('Key of this wish: a repeat places nothing more'),
});
export const ShownBody = Body({ reason: Reason, shown: Shown });
export const ShownSchema = Type.Object({
  postings: Type.Array(Posting),
  movedCents: Cents('What it moves in all'),
  shown: Shown,
});
const returnFields = {
  returnId: Type.String({
    pattern: '^D[A-Za-z0-9]{31}$',
    description: 'Id of the return in the payment system',
  }),
  amountCents: Type.Optional(Amount),
  at: Type.Optional(Time('When it came; without it, as its line says')),
};
export const ReturnBody = Body(returnFields);
export const ReturnChangeBody = Body({ ...returnFields, reason: Reason, shown: Shown });
export const ShownReturnSchema = Type.Object({
  ...ShownSchema.properties,
  alone: Type.Boolean({ description: 'One person may do it' }),
});
export const DefenceParams = Type.Object({ id: Uuid('Operation'), disputeId: Uuid('Dispute') });
export const DefenceFileParams = Type.Object({
  ...DefenceParams.properties,
  fileId: Uuid('File'),
});
export const DefenceFileQuery = FileQuery;
export const DefenceForWanted = DefenceBody;
export const DefenceForBody = Body({ ...DefenceBody.properties, reason: Reason, shown: Shown });
export const ShownDefenceSchema = Type.Object({
  text: Nullable('As the provider would read it'),
  files: Type.Array(DisputeFileSchema),
  shown: Shown,
});
/** Without the text of a defence that was given: a merchant may have written it. */
export const DefenceForSchema = Type.Object({
  offer: DefenceOfDisputeSchema.properties.offer,
  files: Type.Array(DisputeFileSchema, { description: 'Given for this dispute, and part of no defence' }),
  defence: Type.Union([
    Type.Object({
      status: OneOf(defenceStatuses, 'State'),
      files: Type.Integer({ description: 'How many went out with it' }),
      createdAt: Time('Creation'),
      sentAt: NullableTime('When it was known that the provider has it'),
      reasonCode: Nullable('Why it failed'),
    }),
    Type.Null(),
  ]),
});
export const HoldsSchema = Type.Object({
  holds: Type.Array(
    Type.Object({
      id: Uuid('Hold'),
      operationId: Uuid('Operation'),
      amountCents: Cents('What it wants'),
      capturedCents: Cents('What it has at this moment'),
      reason: Word('Why'),
      placedBy: Word('Who placed it'),
      placedAt: Time('Placed'),
      releasedAt: NullableTime('Ended'),
      releasedBy: Nullable('Who ended it; null with an end: what it was placed for has ended'),
    }),
  ),
});
export const PauseSchema = Type.Object({
  withdrawalsPausedAt: NullableTime('Since when withdrawals are paused'),
});

export const OperatorsSchema = Type.Object({
  operators: Type.Array(
    Type.Object({
      id: Uuid('Operator'),
      email: Type.String(),
      name: Type.String(),
      role: Role,
      createdAt: Time('Created'),
      enrolledAt: NullableTime('Accepted the invitation'),
      suspendedAt: NullableTime('Suspended'),
    }),
  ),
});

const mostOfOnePix = Type.Integer({
  minimum: 0,
  maximum: 100_000_000,
  description: 'The most of one Pix, in cents; 0 where no kind is named',
});
const wantedRule = {
  kinds: Type.Array(OneOf(oddKinds, 'Kind of odd money'), { maxItems: oddKinds.length, uniqueItems: true }),
  mostCents: mostOfOnePix,
};
export const OddMoneyBody = Body(wantedRule);
export const OddMoneyChangeBody = Body({ ...wantedRule, reason: Reason, shown: Shown });
export const ShownOddMoneySchema = Type.Object({
  before: Type.Object(OddMoneyRule),
  after: Type.Object(OddMoneyRule),
  movedCents: Cents('The most of one Pix that it newly leaves to the account'),
  shown: Shown,
  alone: Type.Boolean({ description: 'One person may decide it' }),
});
