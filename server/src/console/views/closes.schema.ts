import { Type } from 'typebox';
import { Cents, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { verdicts } from '../../operate/closes/verdict.ts';
import { Nullable, NullableCents, Word } from '../schema.ts';

/** Schemas of the closes' pages. */

const Day = Type.String({
  format: 'date',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
  description: 'Day in São Paulo',
});
const Name = Type.String({ pattern: '^[a-z][a-z0-9-]{1,39}$', description: 'Name of a connection' });

export const DayParams = Type.Object({ day: Day });
export const ClosesQuery = Type.Object(
  {
    connection: Type.Optional(Name),
    below: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}_[a-z][a-z0-9-]{1,39}$',
        description: 'The `next` of the page before',
      }),
    ),
  },
  { additionalProperties: false },
);
export const ClosesFileQuery = Type.Object(
  { connection: Type.Optional(Name), from: Type.Optional(Day), to: Type.Optional(Day) },
  { additionalProperties: false },
);
export const OperationsQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({ pattern: '^[0-9a-f-]{36}_[0-9a-f-]{36}$', description: 'The `next` of the page before' }),
    ),
  },
  { additionalProperties: false },
);

const close = {
  connection: Word('Connection'),
  day: Day,
  openingCents: Cents('Expected balance of the provider’s account at the beginning of the day'),
  inCents: Cents('What came in'),
  outCents: Cents('What left, costs of the provider included'),
  refundCents: Cents('What went back to payers'),
  feeCents: Cents('Fees that merchants paid: they stay in the account'),
  costCents: NullableCents('Costs of the provider, a part of what left'),
  ownInCents: NullableCents('Own money, a part of what came in'),
  ownOutCents: NullableCents('Own money, a part of what left'),
  closingCents: Cents('Expected balance at the end: opening + in − out − refunds'),
  providerCents: NullableCents('The balance by the provider’s word at the comparison'),
  differenceCents: NullableCents('The provider’s less the books’; null: not compared'),
  verdict: OneOf(verdicts, 'Whether they agree, and on which ground'),
  incidentId: Nullable('Incident of a new difference'),
};

export const ClosesSchema = Type.Object({
  closes: Type.Array(Type.Object(close)),
  next: Nullable('For the next page; null: there is none'),
});

export const DaySchema = Type.Object({
  day: Day,
  closes: Type.Array(
    Type.Object({
      ...close,
      heldCents: Cents('Held in operations of its accounts at the end of the day'),
      blockedCents: NullableCents('Blocked at the provider; null: it does not say it'),
      sinceCents: NullableCents('What the books moved from the end of the day to the comparison'),
      inTransitCents: NullableCents('What counts as gone of transfers and refunds without an end'),
      comparedAt: NullableTime('When the provider was asked'),
      closedAt: Time('When it was written; it never changes'),
      head: Word('SHA-256 over it and the close before it'),
      answers: Type.Unsafe<{
        settledCents: number;
        pendingCents: number;
        unsentCents: number;
        ifNone: number;
        ifSettled: number;
        ifPending: number;
        ifAll: number;
      } | null>({
        anyOf: [
          Type.Object({
            settledCents: Cents('Completed, by the provider’s word'),
            pendingCents: Cents('Under way, by its word'),
            unsentCents: Cents('Refused, or not known there'),
            ifNone: Cents('The difference with none of it gone'),
            ifSettled: Cents('The difference with what is completed gone'),
            ifPending: Cents('The difference with what is under way gone as well'),
            ifAll: Cents('The difference with all of it gone'),
          }),
          { type: 'null' },
        ],
        description: 'What was in transit, and the difference under each answer; null: nothing was',
      }),
    }),
  ),
});

export const OperationClosesSchema = Type.Object({
  operations: Type.Array(
    Type.Object({
      ownerId: Uuid('Account'),
      operationId: Uuid('Operation'),
      openingCents: Cents('At the beginning'),
      inCents: Cents('In'),
      outCents: Cents('Out'),
      feeCents: Cents('Fees'),
      refundCents: Cents('Refunded'),
      holdCents: Cents('Held, less freed'),
      closingCents: Cents('At the end'),
    }),
  ),
  next: Nullable('For the next page; null: there is none'),
});
