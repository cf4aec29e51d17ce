import { test } from 'vitest';
import { afterEnding, waitAfterFailure, wantsRepeat, startAttempt, type Intent } from '../src/settlement/intent.ts';
import { next, type Facts, type PaymentEvent } from '../src/payments/state.ts';
import type { Payment } from '../src/payments/payment.ts';

const base: Payment = { accountId: 'a', id: 'p', operationId: 'o', kind: 'transfer', status: 'pending', amountCents: 1000, feeCents: 25, requestKey: 'k', fingerprint: Buffer.alloc(0), description: '', payerName: null, pixKey: Buffer.alloc(1), pixKeyType: 'EMAIL', createdAt: 1, updatedAt: 1, settledAt: null, paidAt: null, expiresAt: null, copyPaste: null, endToEnd: null, notice: null, reasonCode: null, providerFeeCents: null, netAmountCents: null, returnedCents: 0, history: [], command: 'c' };
const facts: Facts = { now: 1000, cause: { by: 'query', id: 'q' }, operationDeleted: false, incidentOpen: false, posted: () => false, isPixKey: () => true };
const out = (name: string, x: unknown) => console.log(`### ${name}: ${JSON.stringify(x)}`);

test('waits shrink', () => {
  const shrunk: string[] = [];
  for (let f = 1; f < 14; f++) { const a = waitAfterFailure(f, 0, null), b = waitAfterFailure(f + 1, 1, null); if (b < a) shrunk.push(`${f}:${a}->${b}`); }
  out('shrinking waits', shrunk);
});
test('return after a mismatch completes', () => {
  const done: PaymentEvent = { type: 'payoutCompleted', amountCents: 5000, pixKey: null, endToEnd: 'E', settledAt: 5 };
  const back: PaymentEvent = { type: 'payoutReturned', returnId: 'D', amountCents: 975, at: 6 };
  const s1 = next(base, done, facts);
  const s2 = next(s1?.payment ?? base, back, { ...facts, incidentOpen: true });
  out('mismatch then return', { first: s1?.incidents, status: s2?.payment.status, postings: s2?.postings });
});
test('debit of money in suspense', () => {
  const charge: Payment = { ...base, kind: 'deposit', payerName: 'x', pixKey: null, pixKeyType: null };
  const posted = (e: number, r: string) => e === 7 && r === 'E1';
  out('wrong-amount pix', next(charge, { type: 'chargePaid', endToEnd: 'E1', amountCents: 700, paidAt: 5 }, facts)?.postings);
  out('its refund', next(charge, { type: 'debited', returnId: 'D1', amountCents: 700, at: 6 }, { ...facts, posted })?.postings);
});
test('pending is repeated', () => {
  const caps = { repeatIsSafe: true, refusalIsFinal: true, maxParallelSends: null, canList: true, webhookTrust: 'signed' as const, callTimeoutMs: 5000 };
  let i: Intent = { accountId: 'a', paymentId: 'p', operationId: 'o', connection: 's', kind: 'deposit', priority: 0, state: 'sending', fence: 'f', attempt: 1, leaseUntil: 20000, dueAt: 20000, newsAt: 0, attemptEndedAt: null, failures: 0, absences: 0, absentAt: null, absentSince: null, known: false, refused: false, createdAt: 0 };
  const p = { kind: 'deposit' as const, status: 'pending' as const, expiresAt: 1e9 };
  i = afterEnding(i, { type: 'answered' }, p, 1000, 0);
  i = afterEnding(i, { type: 'notFound', startedAt: 6000, repeatIsSafe: true }, p, 6000, 0);
  i = afterEnding(i, { type: 'notFound', startedAt: 17000, repeatIsSafe: true }, p, 17000, 0);
  out('accepted and pending, wants repeat', { wants: wantsRepeat(i, caps), known: i.known });
  i = startAttempt(i, 'g', 18000, caps);
  i = afterEnding(i, { type: 'refused' }, p, 18100, 0);
  out('after refused repeat', { refused: i.refused, status: p.status });
});
