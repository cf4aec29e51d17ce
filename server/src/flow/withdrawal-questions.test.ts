import { expect, it } from 'vitest';
import { type Intent, sendPriority, startAttempt } from '../money/intent.ts';
import { newPayment } from '../money/payment.ts';
import type { Capabilities } from '../provider/provider.ts';
import type { Readable } from '../store/database/table.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { payments } from '../store/rows/payments.sql.ts';
import type { View } from '../store/till.ts';
import { buildApproval } from './withdrawal-questions.ts';

const [accountId, paymentId, operationId] = ['a', 'deadbeef-0123-8456-89ab-cdef01234567', 'o'];
const transfer = newPayment(
  {
    ...{ accountId, id: paymentId, operationId, kind: 'transfer', amountCents: 1_000, feeCents: 25 },
    ...{ requestKey: 'k', fingerprint: Buffer.alloc(33), description: '', payerName: null, command: 'c' },
    ...{
      pixKey: Buffer.from('ana@loja.example'),
      pixKeyType: 'EMAIL',
      connection: 'asaas',
      due: null,
      payer: null,
    },
  },
  'unknown',
  0,
  { by: 'api', id: 'req_1' },
);
const ready: Intent = {
  ...{ accountId, paymentId, operationId, connection: 'asaas', kind: 'transfer', priority: sendPriority },
  ...{ state: 'ready', fence: 'f', attempt: 0, leaseUntil: null, dueAt: 0, newsAt: 0, attemptEndedAt: null },
  ...{ failures: 0, absences: 0, absentAt: null, undecidedSince: null, answeredAt: null, known: false },
  ...{ refused: false, step: null, providerRef: null, createdAt: 0, identity: null },
};
const sent = startAttempt(ready, 'f 1', 0, { capabilities: {} as Capabilities, identity: 'us' }, 0);

const approvedOf = (intent: Intent): Intent => {
  const rows = new Map<Readable<never>, unknown>([
    [payments as never, transfer],
    [intents as never, intent],
  ]);
  const view = { get: (table: never) => rows.get(table) } as unknown as View;
  const decision = buildApproval({
    ...{ accountId, paymentId, operationId, connection: 'asaas', identity: 'us', token: 't', deadlineMs: 0 },
    secrets: { open: (sealed) => sealed },
    asked: { providerId: paymentId, providerRef: 'tra_1', amountCents: 975, pixKey: 'ana@loja.example' },
  }).decide(view, 60_000);
  expect(decision.answer).toBe(null);
  return decision.writes?.[0]?.put as Intent;
};

it('A payout that was to be sent again, since two queries had not found it, is queried once its provider has asked for it', () => {
  const absent: Intent = {
    ...sent,
    state: 'awaiting',
    leaseUntil: null,
    attemptEndedAt: 1,
    absences: 2,
    absentAt: 9,
  };
  expect(approvedOf(absent)).toMatchObject({
    ...{ known: true, providerRef: 'tra_1', priority: 1, absences: 0, absentAt: null },
  });
  expect(approvedOf(sent)).toEqual({ ...sent, known: true, providerRef: 'tra_1' });
});
