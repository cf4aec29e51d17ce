import { expect, it } from 'vitest';
import { readTransaction, reasonOf, refusalOf } from './woovi-bodies.ts';

it('a transaction that names another charge is none of the charge that was asked for', () => {
  const pix = {
    type: 'PAYMENT',
    status: 'CONFIRMED',
    endToEndId: 'E1',
    value: 5000,
    time: '2026-11-20T15:00:00Z',
  };
  const of = (charge: string | null, asked: string | null) =>
    readTransaction(charge === null ? pix : { ...pix, charge: { correlationID: charge } }, asked);
  expect(of('one', 'other')).toEqual({ kind: 'other' });
  for (const [named, asked] of [
    ['one', 'one'],
    ['one', null],
    [null, 'one'],
  ] as const)
    expect(of(named, asked)).toMatchObject({ kind: 'received', pix: { endToEnd: 'E1', txid: 'one' } });
});

it('a receiver that the rules of the Central Bank restrict is a reason of its own, and no suspicion of this payment', () => {
  const code = 'ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER';
  expect(refusalOf({ status: 400, code, text: 'x' })).toBe('receiver_key_restricted');
  expect([reasonOf(code), reasonOf('FRAD')]).toEqual(['receiver_key_restricted', 'fraud_suspected']);
});
