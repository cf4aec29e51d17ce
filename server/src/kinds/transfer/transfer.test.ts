import { expect, test } from 'vitest';
import type { Payment } from '../../money/payment.ts';
import { transfer } from './transfer.ts';

test('A transfer that was accepted before the connection stopped paying out is not sent', async () => {
  const row = {
    ...{ id: '123e4567-e89b-12d3-a456-426614174000', amountCents: 1000, feeCents: 25, createdAt: 0 },
    ...{ description: '', pixKey: Buffer.from('a key'), pixKeyType: 'EMAIL' },
  } as Payment;
  const prepared = (payouts: boolean) =>
    transfer.prepare({ secrets: { open: (sealed: Buffer) => sealed } } as never, row, {
      ...{
        connection: 'bank',
        can: { payouts } as never,
        repeat: false,
        second: null,
        traceparent: undefined,
      },
    });
  expect(await prepared(false)).toMatchObject({ outcome: 'notSent' });
  expect(await prepared(true)).toBeTypeOf('function');
});
