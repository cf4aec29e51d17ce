import { expect, test } from 'vitest';
import type { PaymentLink } from '../../store/rows/payment-links.sql.ts';
import { afterCharge } from './link.ts';

const link: PaymentLink = {
  ...{ accountId: 'a', id: 'l', operationId: 'o', title: 'Curso', description: '', amountCents: 2_500 },
  ...{ minimumCents: null, maximumCents: null, maxPayments: 2, nameField: 'none', documentField: 'none' },
  ...{ takesPix: true, takesCard: false, expiresAt: null, successUrl: null, metadata: null },
  ...{ status: 'active', requestKey: 'k', openCount: 2, paidCount: 1, paidCents: 2_500 },
  ...{ createdAt: 1, updatedAt: 1 },
};
const paid = (before: PaymentLink) =>
  afterCharge(before, { status: 'pending' }, { status: 'paid', amountCents: 2_500, updatedAt: 2 });

test.each(['active', 'expired', 'disabled'] as const)(
  'A link that is %s is complete with its last payment',
  (status) => {
    const { link: after, events } = paid({ ...link, status });
    expect(after).toMatchObject({ status: 'completed', openCount: 1, paidCount: 2, paidCents: 5_000 });
    expect(events).toEqual(['payment_link.completed']);
  },
);

test.each(['completed', 'disabled'] as const)(
  'A link that was sold and is %s is overpaid by a later payment, and not completed once more',
  (status) => {
    const { link: after, events } = paid({ ...link, status, paidCount: 2 });
    expect(after).toMatchObject({ status, paidCount: 3 });
    expect(events).toEqual(['payment_link.overpaid']);
  },
);
