import { Type } from 'typebox';
import { Cents, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { Count, Nullable, NullableCents, Word } from '../schema.ts';

/** Schemas of the connections' pages. */

const Name = Type.String({ pattern: '^[a-z][a-z0-9-]{1,39}$', description: 'Name of a connection' });
export const NameParams = Type.Object({ name: Name });
export const AfterQuery = Type.Object({ after: Type.Optional(Name) }, { additionalProperties: false });

const listed = {
  name: Word('Name'),
  adapter: Word('Protocol; environment: the settings make it'),
  mode: OneOf(['shared', 'own'], 'own: of one account'),
  state: OneOf(['active', 'retired'], 'State'),
  environment: OneOf(['live', 'sandbox', 'simulator'], 'Money moves at live alone'),
  accounts: Count('Accounts that are bound to it'),
  certificateExpiresAt: NullableTime('When its certificate ends'),
  heldSince: NullableTime('Nothing goes over it since then'),
  heldReason: Nullable('Why it is held'),
  refused: Type.Array(
    Type.Object({
      call: Word('Kind of call'),
      since: Time('Its breaker is open since then'),
      probeAt: Time('One call may try again then'),
    }),
  ),
  faults: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'What the doctor did not find in order; null: it never looked',
  }),
  foundAt: NullableTime('When the doctor looked last'),
};

export const ConnectionsSchema = Type.Object({
  connections: Type.Array(Type.Object(listed)),
  next: Nullable('For the next page; null: there is none'),
});

export const ExaminationSchema = Type.Object({
  askedAt: NullableTime('When it was asked for; null: never'),
  askedBy: Nullable('E-mail address of the operator'),
  underWay: Type.Boolean({ description: 'It waits for a worker, or one is at it' }),
  unanswered: Type.Boolean({ description: 'The last one ended without an answer in time' }),
  foundAt: NullableTime('When the findings were made'),
  findings: Type.Array(
    Type.Object({
      check: Word('What was looked at'),
      ok: Type.Boolean(),
      message: Word('The finding in words'),
      action: Nullable('The remedy'),
    }),
  ),
});

export const ConnectionSchema = Type.Object({
  ...listed,
  createdAt: NullableTime('When it was made'),
  bound: Type.Array(
    Type.Object({
      ownerId: Uuid('Account'),
      name: Type.String(),
      test: Type.Boolean(),
      enabled: Type.Boolean(),
    }),
    { description: 'The newest accounts that are bound to it' },
  ),
  examination: ExaminationSchema,
});

export const ConnectionMoneySchema = Type.Object({
  balanceCents: NullableCents('What can be paid out of the account, by the provider’s word'),
  balanceReadAt: NullableTime('When it said so'),
  blockedJudicialCents: NullableCents('Blocked by a court'),
  blockedMedCents: NullableCents('Blocked for contested Pix'),
  blockedTotalCents: NullableCents('Blocked in all'),
  paysOutTo: Nullable('Where the payouts of an acquirer arrive'),
  maxParallelSends: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'Sends that may be under way at once; null: no limit',
  }),
  cash: Type.Array(
    Type.Object({
      connection: Word('Acquirer'),
      reference: Word('The acquirer’s name of it'),
      toConnection: Word('Where it goes'),
      amountCents: Cents('Amount'),
      leftAt: Time('When it left'),
      dueAt: Time('When it should be there'),
    }),
    { description: 'Cash between two connections that has not arrived, the oldest first' },
  ),
  days: Type.Array(
    Type.Object({
      day: Type.String({ format: 'date', description: 'Day in São Paulo' }),
      closed: Type.Boolean({ description: 'The figures do not change any more' }),
      costCents: Cents('Costs of the provider'),
      ownInCents: Cents('Own money that came in'),
      ownOutCents: Cents('Own money that left'),
    }),
    { description: 'Costs and own money by day, the newest first' },
  ),
});
