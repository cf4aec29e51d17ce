/** Payments as calls answer them, for the document; a test checks them against the schema and the state machine's states. */

const operationId = '01939f3a-7a00-7000-8000-000000000003';

const charge = {
  id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
  kind: 'deposit',
  amountCents: 1000,
  status: 'pending',
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-20T20:43:18.412Z',
  operationId,
  feeCents: 0,
  settledAt: null,
  paymentMethod: 'pix',
  expiresAt: '2026-11-21T20:43:18.000Z',
};

const code = {
  copyPaste:
    '00020101021226580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-426655440000520400005303986540510.005802BR5905Loja 6009SAO PAULO62070503***6304ABCD',
  qrCodeBase64: 'data:image/png;base64,iVBORw0KGgo=',
};

const transfer = {
  id: '00c0ffee-13c4-8f0e-b6a1-5f0c1a7d9e21',
  kind: 'transfer',
  amountCents: 1000,
  status: 'pending',
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-20T20:43:18.207Z',
  operationId,
  feeCents: 25,
  settledAt: null,
  paymentMethod: 'pix',
  expiresAt: null,
  debitAmountCents: 1000,
  expectedNetAmountCents: 975,
};

export const chargeExamples = {
  pending: { ...charge, ...code },
  unknown: { ...charge, status: 'unknown', expiresAt: null },
  failed: { ...charge, status: 'failed', expiresAt: null, reasonCode: 'provider_refused' },
};

const dueCharge = {
  ...charge,
  amountCents: 10000,
  expiresAt: '2027-01-14T03:00:00.000Z',
  dueDate: '2026-12-10',
  dueTerms: {
    validAfterDue: 30,
    payerDocument: '***.444.777-**',
    fine: { type: 'percent', value: 200 },
    interest: { type: 'percent_month', value: 100, days: 'calendar' },
    discounts: [{ until: '2026-12-05', type: 'fixed', value: 500 }],
    rebate: null,
    reminders: false,
  },
};

export const dueChargeExamples = {
  pending: { ...dueCharge, ...code },
  unknown: { ...dueCharge, status: 'unknown', expiresAt: null },
  failed: { ...dueCharge, status: 'failed', expiresAt: null, reasonCode: 'provider_refused' },
};

const checkout = {
  ...charge,
  amountCents: 12500,
  feeCents: 499,
  paymentMethod: 'card',
  expectedNetAmountCents: 12001,
  card: null,
};

export const checkoutExamples = {
  pending: { ...checkout, checkoutUrl: 'https://pay.example.com/pay/AWb1x9Q' },
  unknown: { ...checkout, status: 'unknown', expiresAt: null },
  failed: { ...checkout, status: 'failed', expiresAt: null, reasonCode: 'provider_refused' },
};

export const expireExamples = {
  expired: { ...checkout, status: 'expired' },
  requested: {
    ...checkout,
    checkoutUrl: 'https://pay.example.com/pay/AWb1x9Q',
    notice: 'O cancelamento desta cobrança foi pedido. Ela ainda pode ser paga até o provedor removê-la.',
  },
};

export const cancelExamples = {
  cancelled: {
    ...charge,
    status: 'failed',
    notice: 'Você cancelou esta cobrança. Ela não pode mais ser paga.',
    reasonCode: 'cancelled_by_merchant',
  },
  requested: {
    ...charge,
    ...code,
    notice: 'O cancelamento desta cobrança foi pedido. Ela ainda pode ser paga até o provedor removê-la.',
  },
};

export const transferExamples = {
  pending: transfer,
  unknown: { ...transfer, status: 'unknown' },
  completed: {
    ...transfer,
    status: 'completed',
    settledAt: '2026-11-20T20:43:18.207Z',
    endToEnd: 'E12345678202611202043a1b2c3d4e5f',
    providerFeeCents: 25,
    netAmountCents: 975,
  },
};

const cancelled = { ...transfer, status: 'cancelled', reasonCode: 'recipient_refused' };

export const draftCancelledExamples = {
  cancelled: { ...transfer, status: 'cancelled', reasonCode: 'draft_cancelled' },
};

export const lookupExamples = {
  chargePending: { ...charge, ...code },
  chargePaid: {
    ...charge,
    status: 'paid',
    settledAt: '2026-11-20T20:44:02.318Z',
    paidAt: '2026-11-20T20:44:01.000Z',
    endToEnd: 'E12345678202611202044a1b2c3d4e5f',
    providerFeeCents: 0,
    netAmountCents: 1000,
  },
  chargeExpired: { ...charge, status: 'expired' },
  chargeFailed: chargeExamples.failed,
  transferUnknown: transferExamples.unknown,
  transferPending: transfer,
  transferCompleted: transferExamples.completed,
  transferCancelled: cancelled,
  transferDraft: { ...transfer, status: 'draft' },
};
