import { type Static, Type } from 'typebox';
import { Cents, Time, Uuid } from '../../ground/schema.ts';
import type { DayClose } from './closes.sql.ts';

export const closeExample = {
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  day: '2026-11-20',
  openingCents: 10_000,
  inCents: 5_000,
  outCents: 2_000,
  feeCents: 50,
  refundCents: 0,
  holdCents: 0,
  closingCents: 12_950,
  reservedCents: 0,
  heldCents: 0,
  lastSeq: 17,
  head: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  closedAt: '2026-11-21T03:10:04.000Z',
};

export const CloseSchema = Type.Object(
  {
    operationId: Uuid('Business operation'),
    day: Type.String({ format: 'date', description: 'Day in São Paulo' }),
    openingCents: Cents('Balance at the beginning of the day; what is owed counts as negative'),
    inCents: Cents('What came in: paid charges, returned transfers'),
    outCents: Cents('What went out, without fees; a cancelled transfer is taken off'),
    feeCents: Cents('Fees of charges and transfers; what a refund brings back is taken off'),
    refundCents: Cents('What was refunded; a failed refund is taken off'),
    holdCents: Cents('What holds took, less what they freed'),
    closingCents: Cents('Balance at the end: opening + in − out − fees − refunds − holds'),
    reservedCents: Cents('Set aside for open transfers and refunds at the end of the day', { minimum: 0 }),
    heldCents: Cents('Held at the end of the day', { minimum: 0 }),
    lastSeq: Type.Integer({ description: 'The last journal of the day' }),
    head: Type.String({ description: 'Hash of that journal, SHA-256 in hex' }),
    closedAt: Time('When it was written; it never changes'),
  },
  {
    title: 'Close',
    examples: [closeExample],
  },
);

export type CloseView = Static<typeof CloseSchema>;

export const viewOfClose = (close: DayClose): CloseView => ({
  operationId: close.chainId,
  day: close.day,
  openingCents: close.openingCents,
  inCents: close.inCents,
  outCents: close.outCents,
  feeCents: close.feeCents,
  refundCents: close.refundCents,
  holdCents: close.holdCents,
  closingCents: close.closingCents,
  reservedCents: close.reserved,
  heldCents: close.held,
  lastSeq: close.closingSeq,
  head: close.head.toString('hex'),
  closedAt: new Date(close.closedAt).toISOString(),
});
