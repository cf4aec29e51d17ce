import { Type } from 'typebox';
import { Body, Cents, EmptyBody, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import type { Act, DisputeAct } from './simulate.ts';

const Amount = Type.Optional(
  Cents('Default: the whole amount of a charge or of the Pix that is disputed, or what is left to return', {
    minimum: 1,
    maximum: 999_999_999_999,
  }),
);

export const ActedSchema = Type.Object(
  { ok: Type.Literal(true) },
  { description: 'The simulator did it. The payment follows by its webhook, as it does with any provider' },
);

export const bodies = {
  pay: Body({ amountCents: Amount }),
  expire: EmptyBody,
  remove: EmptyBody,
  complete: EmptyBody,
  refuse: Body({
    code: Type.Optional(
      Type.String({
        pattern: '^[A-Z0-9]{4}$',
        description: 'Of the payment system, as `AC03` (default), `AM04` or `FRAD`; the guide lists them',
      }),
    ),
  }),
  return: Body({ amountCents: Amount }),
  dispute: Body({ amountCents: Amount }),
} satisfies Record<Act, unknown>;

export const summaries: Readonly<Record<Act, string>> = {
  pay: 'A payer pays the charge',
  expire: 'The charge reaches its deadline',
  remove: 'The provider removes the charge',
  complete: 'A transfer that waits is completed',
  refuse: "The receiver's institution refuses a transfer that waits",
  return: 'What was received or sent goes back, in whole or in part',
  dispute: 'The payer disputes what the charge received (MED), in whole or in part',
};

export const disputeSummaries: Readonly<Record<DisputeAct, string>> = {
  defend: 'A defence reaches the provider',
  accept: 'The provider accepts the dispute: what it takes comes with `return` of the charge',
  reject: 'The provider rejects the dispute: what was held is free again',
  cancel: 'The dispute is cancelled: what was held is free again',
};

export const ClockSchema = Type.Object({
  now: Time("The account's time"),
  started: Type.Boolean({
    description: 'Whether the account has a clock of its own; without one its time is the real one',
  }),
  status: OneOf(['ready', 'advancing'], '`advancing`: what falls due on the way is being carried out'),
  to: NullableTime('Where it is being moved to'),
});

export const AdvanceBody = Body({ to: Time('Where to, at most two years from now') });

export const ResetSchema = Type.Object({
  ownerId: Uuid('The account that begins'),
  operationId: Uuid('Its main operation'),
});
