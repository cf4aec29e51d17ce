import { capabilities } from '@vintem/testkit/capabilities.ts';
import { describe, expect, it } from 'vitest';
import type { Intent } from '../../money/intent.ts';
import { newPayment, type Payment } from '../../money/payment.ts';
import type { Facts } from '../../money/state.ts';
import type { ChargeReport, PayoutReport } from '../../provider/provider.ts';
import { interpret, type Observation, runEvents } from './interpret-report.ts';

const now = Date.UTC(2026, 10, 20, 15);
const day = 86_400_000;

const payment = (kind: Payment['kind'], status: Payment['status']): Payment => ({
  ...newPayment(
    {
      accountId: 'a',
      id: 'p',
      operationId: 'o',
      kind,
      amountCents: 1000,
      feeCents: 25,
      requestKey: 'k',
      fingerprint: Buffer.alloc(0),
      description: '',
      payerName: kind === 'deposit' ? 'Maria' : null,
      pixKey: kind === 'transfer' ? Buffer.alloc(1) : null,
      pixKeyType: kind === 'transfer' ? 'EMAIL' : null,
      command: 'c',
      connection: 'simulator',
    },
    'unknown',
    now,
    { by: 'api', id: 'r' },
  ),
  status,
});

const intent = (more: Partial<Intent> = {}): Intent => ({
  accountId: 'a',
  paymentId: 'p',
  operationId: 'o',
  connection: 'simulator',
  kind: 'transfer',
  priority: 1,
  state: 'awaiting',
  fence: 'mine',
  attempt: 1,
  identity: 'the account',
  leaseUntil: null,
  dueAt: now,
  newsAt: now,
  attemptEndedAt: now,
  failures: 0,
  absences: 0,
  absentAt: null,
  undecidedSince: null,
  answeredAt: null,
  known: false,
  refused: false,
  createdAt: now,
  step: null,
  providerRef: null,
  ...more,
});

const facts: Facts = {
  now,
  cause: { by: 'query', id: 'q' },
  operationDeleted: false,
  incidentOpen: () => false,
  posted: () => false,
  bookedUnder: () => null,
  knowsReturn: () => false,
  isCreditedAndDisputed: () => false,
  isPixKey: () => true,
};

const payout = (more: Partial<PayoutReport> = {}): PayoutReport => ({
  providerId: 'p',
  amountCents: 975,
  pixKey: null,
  status: 'completed',
  endToEnd: 'E1',
  settledAt: now,
  reason: null,
  returns: [],
  ...more,
});
const charge = (more: Partial<ChargeReport> = {}): ChargeReport => ({
  txid: 'p',
  amountCents: 1000,
  status: 'open',
  createdAt: now,
  expiresAt: now + 3_600_000,
  copyPaste: null,
  received: [],
  ...more,
});
const delivered = (payouts: PayoutReport[]): Observation => ({
  from: 'webhook',
  id: 'w',
  received: [],
  payouts,
});
const queried = (
  outcome: Extract<Observation, { from: 'query' }>['outcome'],
  startedAt = now,
): Observation => {
  return { from: 'query', id: 'q', startedAt, outcome };
};
const answered = (
  outcome: Extract<Observation, { from: 'send' }>['outcome'],
  fence = 'mine',
): Observation => ({ from: 'send', fence, outcome });
const refusal = { outcome: 'refused', reason: 'provider_refused', detail: '' } as const;

const read = (observation: Observation, of: Payment, at: Intent | undefined, can = capabilities) =>
  interpret(observation).read({ payment: of, intent: at, returns: [] }, can);
/** The result of an observation: the state after it, postings and incidents. */
function told(observation: Observation, of: Payment, at: Intent | undefined = intent()) {
  const steps = runEvents(of, read(observation, of, at)?.events ?? [], facts);
  return {
    status: steps.at(-1)?.payment.status ?? of.status,
    postings: steps.flatMap((step) => step.postings.map(({ movement }) => movement.kind)),
    incidents: steps.flatMap((step) => step.incidents.map(({ kind }) => kind)),
  };
}

describe('one observation', () => {
  const back = { id: 'D1', rtrId: null, amountCents: 975, at: now, status: 'settled' } as const;
  const open = payment('transfer', 'pending');

  it('that says the same twice books it once', () => {
    const report = payout({ returns: [back] });
    const twice = told(delivered([report, report]), open);
    expect(twice).toEqual({ status: 'completed', postings: ['complete', 'return'], incidents: [] });
    expect(told(delivered([payout({ returns: [back, back] })]), open)).toEqual(twice);
  });

  it('that names a return in two forms, in one delivery, books it once', () => {
    const [named, both] = [{ ...back }, { ...back, rtrId: 'R1' }];
    const only = { ...back, id: null, rtrId: 'R1' };
    for (const forms of [
      [named, both, only],
      [only, both, named],
      [named, only, both],
    ])
      expect(told(delivered(forms.map((one) => payout({ returns: [one] }))), open).postings).toEqual([
        'complete',
        'return',
      ]);
  });

  it('that mismatches posts nothing, its returns included', () => {
    expect(told(delivered([payout({ amountCents: 5000, returns: [back] })]), open)).toMatchObject({
      status: 'pending',
      postings: [],
    });
  });

  it('that brings odd money does not let the charge expire by the same word', () => {
    const odd = { endToEnd: 'E2', amountCents: 700, paidAt: now, txid: 'p', returns: [] };
    const report = charge({ expiresAt: now - day, received: [odd] });
    expect(told(queried({ outcome: 'found', report }), payment('deposit', 'pending'))).toEqual({
      status: 'pending',
      postings: ['bookToSuspense'],
      incidents: ['amount_mismatch'],
    });
  });
});

describe('a refusal', () => {
  const sending = intent({ state: 'sending', leaseUntil: now + 1000 });
  const open = payment('transfer', 'unknown');

  it('in the answer releases only when that send was the only attempt ever started', () => {
    expect(told(answered(refusal), open, sending)).toMatchObject({
      status: 'cancelled',
      postings: ['release'],
    });
    const second = told(answered(refusal), open, { ...sending, attempt: 2 });
    expect(second).toMatchObject({ status: 'unknown', postings: [] });
  });

  it('in the answer to a send that the provider has shown to know releases nothing', () => {
    const known = told(answered(refusal), open, { ...sending, known: true });
    expect(known).toMatchObject({ status: 'unknown', postings: [] });
  });

  it('that could not be looked for ends the only attempt, and no other, once a later query does not find it', () => {
    const unlooked = answered({
      ...{ outcome: 'unclear', cause: 'server', detail: '', retryAfterMs: null, refused: true },
    });
    expect(read(unlooked, open, sending)).toMatchObject({ events: [], ending: { type: 'refused' } });
    for (const more of [{ attempt: 2 }, { known: true }])
      expect(read(unlooked, open, { ...sending, ...more })?.ending).toMatchObject({ type: 'unclear' });
    const absent = (startedAt: number, more: Partial<Intent> = {}) =>
      told(queried({ outcome: 'notFound' }, startedAt), open, intent({ refused: true, ...more }));
    expect(absent(now)).toMatchObject({ status: 'cancelled', postings: ['release'] });
    // A query that began before the attempt ended, an attempt of another time, a payment that the provider knows.
    const unknown = { status: 'unknown', postings: [] };
    expect(absent(now - 1)).toMatchObject(unknown);
    for (const more of [{ attempt: 2 }, { known: true }, { providerRef: 'approved' }])
      expect(absent(now, more)).toMatchObject(unknown);
    // A list has a window and may lag.
    const unlisted = { ...queried({ outcome: 'notFound' }), isList: true } as Observation;
    expect(told(unlisted, open, intent({ refused: true }))).toMatchObject(unknown);
  });

  it('to an owner that was overtaken judges nothing; what was accepted counts all the same', () => {
    expect(read(answered(refusal, 'late'), open, sending)).toBeNull();
    const late = answered({ outcome: 'accepted', report: payout() }, 'late');
    expect(told(late, open, sending)).toMatchObject({ status: 'completed', postings: ['complete'] });
    expect(told(late, payment('transfer', 'cancelled'), undefined)).toMatchObject({
      status: 'cancelled',
      postings: [],
      incidents: ['contradiction'],
    });
  });

  it('in the body of an accepted repeat is judged like any other: it releases only where refusals are final', () => {
    const unsure = { ...capabilities, refusalIsFinal: false };
    const word = answered({ outcome: 'accepted', report: payout({ status: 'refused', settledAt: null }) });
    const repeat = { ...sending, attempt: 2 };
    expect(read(word, open, repeat, unsure)).toMatchObject({ events: [], undecided: true });
    expect(read(word, open, repeat)).toMatchObject({ events: [{ type: 'refused' }], undecided: false });
    expect(read(word, open, sending, unsure)).toMatchObject({ events: [{ type: 'refused' }] });
  });

  it('that the adapter cannot call final opens an incident after an unclear attempt, and releases nothing', () => {
    const unsure = { ...capabilities, refusalIsFinal: false };
    const word = queried({ outcome: 'found', report: payout({ status: 'refused', settledAt: null }) });
    expect(read(word, open, intent({ attempt: 2 }), unsure)).toMatchObject({ events: [], undecided: true });
    expect(read(word, open, intent({ attempt: 2 }))).toMatchObject({
      events: [{ type: 'refused' }],
      undecided: false,
    });
  });
});

describe('not found', () => {
  it('never ends a transfer', () => {
    const open = payment('transfer', 'unknown');
    expect(read(queried({ outcome: 'notFound' }), open, intent())?.events).toEqual([]);
  });

  it('fails a charge whose repeat was refused, and none that is pending', () => {
    const absent = queried({ outcome: 'notFound' });
    const refused = intent({ kind: 'deposit', attempt: 2, refused: true });
    expect(told(absent, payment('deposit', 'unknown'), refused).status).toBe('failed');
    expect(told(absent, payment('deposit', 'unknown'), intent({ kind: 'deposit' })).status).toBe('unknown');
    expect(told(absent, payment('deposit', 'pending'), refused).status).toBe('pending');
  });
});

describe('a report of a charge under our id that names another amount than ours', () => {
  it.each(['open', 'paid', 'removed'] as const)(
    'says nothing of money, and nothing of an end, when it is %s: only that it does not match',
    (status) => {
      const received = [{ txid: 'p', endToEnd: 'E1', amountCents: 9_000, paidAt: now, returns: [] }];
      const report = charge({ status, amountCents: 9_000, received });
      expect(
        told(
          queried({ outcome: 'found', report }),
          payment('deposit', 'pending'),
          intent({ kind: 'deposit' }),
        ),
      ).toEqual({ status: 'pending', postings: [], incidents: ['report_mismatch'] });
    },
  );
});

describe('a payout of which a repeat made another one', () => {
  const standing = (providerRef: string | null) => ({
    payment: payment('transfer', 'pending'),
    intent: intent({ providerRef }),
    returns: [],
  });
  const refused = delivered([
    payout({ status: 'refused', providerRef: 'one', endToEnd: null, settledAt: null }),
  ]);

  it('is not refused by a refusal of the one that was not approved', () => {
    expect(interpret(refused).read(standing('two'), capabilities)?.events).toEqual([]);
  });

  it('is refused by a refusal of its own', () => {
    for (const ref of ['one', null])
      expect(interpret(refused).read(standing(ref), capabilities)?.events).toMatchObject([
        { type: 'refused' },
      ]);
  });
});
