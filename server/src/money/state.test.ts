import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Balance, decide, emptyBalance } from './decide.ts';
import { eventKinds } from './journal.ts';
import { isTerminal, newPayment, type Payment, type PaymentStatus } from './payment.ts';
import type { KnownReturn } from './returns.ts';
import { expiryGraceMs, type Facts, next, type PaymentEvent, type Step } from './state.ts';

const now = Date.UTC(2026, 10, 20, 12);
const deadline = now + 3_600_000;

const base: Payment = newPayment(
  {
    accountId: '0193a000-0000-7000-8000-0000000000a1',
    id: 'deadbeef-0123-8456-89ab-cdef01234567',
    operationId: '0193a000-0000-7000-8000-0000000000b2',
    kind: 'deposit',
    amountCents: 1000,
    feeCents: 25,
    requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
    fingerprint: Buffer.alloc(33),
    description: '',
    payerName: 'Maria',
    pixKey: null,
    pixKeyType: null,
    command: '0193a000-0000-7000-8000-0000000000c3',
    connection: 'simulator',
  },
  'unknown',
  now - 10_000,
  { by: 'api', id: 'req_1' },
);

const settled = { settledAt: now - 5_000, providerFeeCents: 25, netAmountCents: 975 };

function charge(status: PaymentStatus): Payment {
  const pending = { expiresAt: deadline, copyPaste: '000201' };
  const paid = { ...settled, paidAt: now - 6_000, endToEnd: 'E1' };
  return {
    ...base,
    status,
    ...(status === 'unknown' ? {} : pending),
    ...(status === 'paid' ? paid : {}),
  };
}

function transfer(status: PaymentStatus): Payment {
  const fields = {
    kind: 'transfer',
    payerName: null,
    pixKey: Buffer.from('sealed'),
    pixKeyType: 'EMAIL',
  } as const;
  return {
    ...base,
    ...fields,
    status,
    ...(status === 'pending' || status === 'completed' ? { endToEnd: 'E9' } : {}),
    ...(status === 'completed' ? settled : {}),
  };
}

const back = (reference: string, amountCents: number, at: number = now): KnownReturn => ({
  reference,
  pix: '',
  id: null,
  rtrId: reference,
  amountCents,
  at,
  posted: false,
});

const facts: Facts = {
  now,
  cause: { by: 'query', id: 'query 1' },
  operationDeleted: false,
  incidentOpen: () => false,
  posted: () => false,
  bookedUnder: () => null,
  knowsReturn: () => false,
  isCreditedAndDisputed: () => false,
  isPixKey: (reported) => reported === 'maria@loja.example',
};

/** `→state`, events, `$posting`, `!incident`, `!incident*` when it freezes; `·` when nothing changes. */
function told(before: Payment, step: Step | null): string {
  if (step === null) return '·';
  const state = step.payment.status === before.status ? [] : [`→${step.payment.status}`];
  const postings = step.postings.map(({ movement }) => `$${movement.kind}`);
  const incidents = step.incidents.map(({ kind, freezes }) => `!${kind}${freezes ? '*' : ''}`);
  return [...state, ...step.events, ...postings, ...incidents].join(' ');
}

const open = { type: 'chargeOpen', amountCents: 1000, expiresAt: deadline, copyPaste: '000201' } as const;
const payout = { pixKey: 'maria@loja.example', endToEnd: 'E9', amountCents: 975 } as const;

const chargeEvents: Record<string, PaymentEvent> = {
  open: { ...open, observedAt: now },
  'open after its deadline and a minute': { ...open, observedAt: deadline + expiryGraceMs + 1 },
  'open with another amount': { ...open, amountCents: 999, observedAt: now },
  paid: { type: 'chargePaid', endToEnd: 'E2', amountCents: 1000, paidAt: now - 1 },
  'paid with another amount': { type: 'chargePaid', endToEnd: 'E2', amountCents: 1001, paidAt: now - 1 },
  removed: { type: 'chargeRemoved' },
  refused: { type: 'refused', reason: 'provider_refused' },
};

const transferEvents: Record<string, PaymentEvent> = {
  pending: { type: 'payoutPending', ...payout },
  'pending with another amount': { type: 'payoutPending', ...payout, amountCents: 1000 },
  'pending with another key': { type: 'payoutPending', ...payout, pixKey: 'joao@loja.example' },
  completed: { type: 'payoutCompleted', ...payout, settledAt: now - 1 },
  'completed with another amount': {
    type: 'payoutCompleted',
    ...payout,
    amountCents: 976,
    settledAt: now - 1,
  },
  'completed with another key': {
    type: 'payoutCompleted',
    ...payout,
    pixKey: 'joao@loja.example',
    settledAt: now - 1,
  },
  refused: { type: 'refused', reason: 'pix_key_not_found' },
  returned: {
    type: 'payoutReturned',
    back: back('R1', 975, now - 1),
    sentCents: 975,
    pixKey: null,
  },
  'returned in a report with another amount': {
    type: 'payoutReturned',
    back: back('R1', 975, now - 1),
    sentCents: 976,
    pixKey: null,
  },
  confirmed: { type: 'confirmed' },
  'a draft that ended': { type: 'draftEnded', reason: 'draft_expired' },
};

type Row = [status: PaymentStatus, event: string, expected: string];

const chargeTable: Row[] = [
  ['unknown', 'open', '→pending charge.created'],
  ['unknown', 'open after its deadline and a minute', '→expired charge.created charge.expired'],
  ['unknown', 'open with another amount', '!report_mismatch'],
  ['unknown', 'paid', '→paid charge.created charge.paid $credit'],
  ['unknown', 'paid with another amount', 'charge.unexpected_payment $bookToSuspense !amount_mismatch'],
  ['unknown', 'removed', '→failed charge.created charge.failed'],
  ['unknown', 'refused', '→failed charge.created charge.failed'],

  ['pending', 'open', '·'],
  ['pending', 'open after its deadline and a minute', '→expired charge.expired'],
  ['pending', 'open with another amount', '!report_mismatch'],
  ['pending', 'paid', '→paid charge.paid $credit'],
  ['pending', 'paid with another amount', 'charge.unexpected_payment $bookToSuspense !amount_mismatch'],
  ['pending', 'removed', '→failed charge.failed'],
  ['pending', 'refused', '→failed charge.failed'],

  ['paid', 'open', '·'],
  ['paid', 'open after its deadline and a minute', '·'],
  ['paid', 'open with another amount', '·'],
  ['paid', 'paid', 'charge.unexpected_payment $bookToSuspense !second_payment'],
  ['paid', 'paid with another amount', 'charge.unexpected_payment $bookToSuspense !second_payment'],
  ['paid', 'removed', '·'],
  ['paid', 'refused', '·'],

  ['expired', 'open', '·'],
  ['expired', 'open after its deadline and a minute', '·'],
  ['expired', 'open with another amount', '·'],
  ['expired', 'paid', '→paid charge.paid $credit'],
  ['expired', 'paid with another amount', 'charge.unexpected_payment $bookToSuspense !amount_mismatch'],
  ['expired', 'removed', '·'],
  ['expired', 'refused', '·'],

  ['failed', 'open', '·'],
  ['failed', 'open after its deadline and a minute', '·'],
  ['failed', 'open with another amount', '·'],
  ['failed', 'paid', 'charge.unexpected_payment $bookToSuspense !failed_charge_paid'],
  ['failed', 'paid with another amount', 'charge.unexpected_payment $bookToSuspense !failed_charge_paid'],
  ['failed', 'removed', '·'],
  ['failed', 'refused', '·'],
];

const transferTable: Row[] = [
  ['unknown', 'pending', '→pending transfer.created'],
  ['unknown', 'pending with another amount', '!report_mismatch*'],
  ['unknown', 'pending with another key', '!report_mismatch*'],
  ['unknown', 'completed', '→completed transfer.created transfer.completed $complete'],
  ['unknown', 'completed with another amount', '!report_mismatch*'],
  ['unknown', 'completed with another key', '!report_mismatch*'],
  ['unknown', 'refused', '→cancelled transfer.created transfer.cancelled $release'],
  [
    'unknown',
    'returned',
    '→completed transfer.created transfer.completed transfer.returned $complete $return',
  ],
  ['unknown', 'returned in a report with another amount', '!report_mismatch*'],
  ['unknown', 'confirmed', '·'],
  ['unknown', 'a draft that ended', '·'],

  ['pending', 'pending', '·'],
  ['pending', 'pending with another amount', '!report_mismatch*'],
  ['pending', 'pending with another key', '!report_mismatch*'],
  ['pending', 'completed', '→completed transfer.completed $complete'],
  ['pending', 'completed with another amount', '!report_mismatch*'],
  ['pending', 'completed with another key', '!report_mismatch*'],
  ['pending', 'refused', '→cancelled transfer.cancelled $release'],
  ['pending', 'returned', '→completed transfer.completed transfer.returned $complete $return'],
  ['pending', 'returned in a report with another amount', '!report_mismatch*'],
  ['pending', 'confirmed', '·'],
  ['pending', 'a draft that ended', '·'],

  ['completed', 'pending', '·'],
  ['completed', 'pending with another amount', '·'],
  ['completed', 'pending with another key', '·'],
  ['completed', 'completed', '·'],
  ['completed', 'refused', '!contradiction*'],
  ['completed', 'returned', 'transfer.returned $return'],
  ['completed', 'confirmed', '·'],
  ['completed', 'a draft that ended', '·'],

  ['cancelled', 'pending', '·'],
  ['cancelled', 'pending with another amount', '·'],
  ['cancelled', 'pending with another key', '·'],
  ['cancelled', 'completed', '!contradiction*'],
  ['cancelled', 'completed with another amount', '!report_mismatch*'],
  ['cancelled', 'completed with another key', '!report_mismatch*'],
  ['cancelled', 'refused', '·'],
  ['cancelled', 'returned', '!contradiction*'],
  ['cancelled', 'confirmed', '·'],
  ['cancelled', 'a draft that ended', '·'],

  // The provider knows nothing of a draft: whatever it says of one is wrong, and moves nothing.
  ['draft', 'confirmed', '→unknown $reserve'],
  ['draft', 'a draft that ended', '→cancelled transfer.cancelled'],
  ['draft', 'pending', '·'],
  ['draft', 'completed', '!contradiction*'],
  ['draft', 'returned', '!contradiction*'],
  ['draft', 'refused', '·'],
];

/** Every cell as payment and event. */
const cells = [
  ...chargeTable.map(([status, name, expected]) => {
    return { before: charge(status), event: chargeEvents[name] as PaymentEvent, name, expected };
  }),
  ...transferTable.map(([status, name, expected]) => {
    return { before: transfer(status), event: transferEvents[name] as PaymentEvent, name, expected };
  }),
].map((cell) => ({ ...cell, title: `a ${cell.before.kind} that is ${cell.before.status}: ${cell.name}` }));

/** The journal after a step, less the journal before. */
const knownAfter =
  (step: Step | null, before: Facts['knowsReturn'] = () => false): Facts['knowsReturn'] =>
  (reference) =>
    before(reference) || (step?.returns.some((one) => one.reference === reference) ?? false);

function postedAfter(step: Step | null, before: Facts['posted'] = () => false): Facts['posted'] {
  return (event, reference) =>
    before(event, reference) ||
    (step?.postings.some((one) => one.event === event && one.reference === reference) ?? false);
}

describe('the table', () => {
  it.each(cells)('$title → $expected', ({ before, event, expected }) => {
    expect(told(before, next(before, event, facts))).toBe(expected);
  });
});

describe.each(cells)('$title', ({ before, event }) => {
  const step = next(before, event, facts);
  const after = step?.payment ?? before;

  it('a second time changes nothing', () => {
    const again = next(after, event, {
      ...facts,
      posted: postedAfter(step),
      knowsReturn: knownAfter(step),
      incidentOpen: () => (step?.incidents.length ?? 0) > 0,
    });
    if (again === null) return;
    expect(again.payment).toEqual(after);
    expect(again).toMatchObject({ postings: [], events: [] });
    // The same incident, which the database knows by its reference.
    expect(again.incidents.map(({ reference }) => reference)).toEqual(
      step?.incidents.map(({ reference }) => reference),
    );
  });

  it('never changes what was promised at creation, and moves nothing it does not say', () => {
    const { id, accountId, operationId, kind, amountCents, feeCents, requestKey, createdAt, command } =
      before;
    expect(after).toMatchObject({
      id,
      accountId,
      operationId,
      kind,
      amountCents,
      feeCents,
      requestKey,
      createdAt,
      command,
    });
    expect(after.settledAt !== null).toBe(after.status === 'paid' || after.status === 'completed');
    // An incident that freezes waits for a person: it posts nothing, changes no state and writes no event.
    if (step?.incidents.some(({ freezes }) => freezes)) {
      expect(step).toMatchObject({ payment: before, postings: [], events: [] });
    }
  });

  it('writes down each state that is entered, once, with its cause', () => {
    const entered = after.history.slice(before.history.length);
    expect(after.history.slice(0, before.history.length)).toEqual(before.history);
    expect(entered).toEqual(
      after.status === before.status
        ? []
        : [{ status: after.status, at: new Date(now).toISOString(), cause: facts.cause }],
    );
  });

  it('has its created event exactly when it leaves unknown, and one event for each state that it enters', () => {
    const told = step?.events ?? [];
    const left = before.status === 'unknown' && after.status !== 'unknown';
    expect(told.filter((type) => type.endsWith('.created'))).toHaveLength(left ? 1 : 0);
    expect(new Set(told).size).toBe(told.length);
    const announced = after.status !== before.status && !['unknown', 'pending'].includes(after.status);
    const own = told.filter((type) => type.endsWith(`.${after.status}`));
    expect(own).toHaveLength(announced ? 1 : 0);
  });

  it('is newer than before, even when the clock went back', () => {
    const turned = next(before, event, { ...facts, now: before.updatedAt - 3_600_000 });
    if (turned && turned.payment !== before)
      expect(turned.payment.updatedAt).toBeGreaterThan(before.updatedAt);
  });
});

it('what our own rules refuse before it is sent was never created for a subscriber', () => {
  const refusal = transferEvents.refused as PaymentEvent;
  const step = next(transfer('unknown'), refusal, { ...facts, cause: { by: 'rule', id: 'req_1' } });
  expect(step?.events).toEqual(['transfer.cancelled']);
});

describe('a charge', () => {
  it('that is paid credits the asked amount less the fee that was fixed at its creation', () => {
    const step = next(charge('pending'), chargeEvents.paid as PaymentEvent, facts);
    expect(step?.payment).toMatchObject({
      endToEnd: 'E2',
      paidAt: now - 1,
      settledAt: now,
      providerFeeCents: 25,
      netAmountCents: 975,
    });
    expect(step?.postings).toEqual([
      {
        event: eventKinds.credit,
        reference: '',
        movement: { kind: 'credit', amountCents: 1000, feeCents: 25 },
        effectiveAt: now - 1,
        pix: 'E2',
      },
    ]);
  });

  it('that another payment has the Pix of stays as it is, moves nothing, and a person is asked', () => {
    const elsewhere: Facts = { ...facts, bookedUnder: (endToEnd) => (endToEnd === 'E2' ? 'other' : null) };
    const taken: PaymentEvent = { type: 'debited', back: back('D1', 100), endToEnd: 'E2' };
    for (const status of ['unknown', 'pending', 'expired', 'failed', 'paid'] as const) {
      const before = charge(status);
      const step = next(before, chargeEvents.paid as PaymentEvent, elsewhere);
      expect(step).toMatchObject({ payment: before, postings: [], events: [] });
      expect(step?.incidents).toMatchObject([
        { kind: 'report_mismatch', freezes: false, detail: { pix: 'E2', bookedUnder: 'other' } },
      ]);
      expect(next(before, taken, elsewhere)).toBeNull();
    }
  });

  it('shows the deadline and the code of the provider, and none when it gives none', () => {
    const bare = { ...open, expiresAt: null, copyPaste: null, observedAt: null };
    expect(next(charge('unknown'), bare, facts)?.payment).toMatchObject({ expiresAt: null, copyPaste: null });
    const later = { ...open, expiresAt: deadline + 5_000, copyPaste: '000202', observedAt: now };
    const step = next(charge('pending'), later, facts);
    expect(step).toMatchObject({
      payment: { status: 'pending', expiresAt: deadline + 5_000, copyPaste: '000202' },
      postings: [],
      events: [],
    });
    // An answer without them takes nothing away.
    expect(next(charge('pending'), { ...bare, observedAt: now }, facts)).toBeNull();
  });

  it('expires only by a query that began more than a minute after the deadline in its own answer', () => {
    const pending = charge('pending');
    const seen = (observedAt: number | null, expiresAt: number | null) =>
      next(pending, { ...open, observedAt, expiresAt }, { ...facts, now: deadline + 1_000_000 })?.payment
        .status ?? 'pending';
    expect(seen(deadline + expiryGraceMs, deadline)).toBe('pending');
    expect(seen(deadline + expiryGraceMs + 1, deadline)).toBe('expired');
    // Our own idea of the deadline expires nothing, nor does what is no query.
    expect(seen(deadline + 1_000_000, null)).toBe('pending');
    expect(seen(null, deadline)).toBe('pending');
    expect(seen(deadline + 1_000_000, deadline + 1_000_000)).toBe('pending');
  });

  it('with an open incident is not expired by any query', () => {
    for (const status of ['unknown', 'pending'] as const) {
      const late = chargeEvents['open after its deadline and a minute'] as PaymentEvent;
      const step = next(charge(status), late, { ...facts, incidentOpen: () => true });
      expect(step?.payment.status ?? status).not.toBe('expired');
    }
  });

  it('is paid once, however often and by whichever way its payment is reported', () => {
    const again: PaymentEvent = { type: 'chargePaid', endToEnd: 'E1', amountCents: 1000, paidAt: now };
    expect(next(charge('paid'), again, facts)).toBeNull();
    // The same Pix reported with another amount is still the same Pix.
    expect(next(charge('paid'), { ...again, amountCents: 5 }, facts)).toBeNull();
  });

  it('whose odd payment lies in suspense stays open and can still be paid', () => {
    const odd = next(charge('pending'), chargeEvents['paid with another amount'] as PaymentEvent, facts);
    expect(odd?.postings).toEqual([
      {
        event: eventKinds.suspense,
        reference: 'E2',
        movement: { kind: 'bookToSuspense', amountCents: 1001 },
        effectiveAt: now - 1,
        pix: 'E2',
      },
    ]);
    const exact: PaymentEvent = { type: 'chargePaid', endToEnd: 'E3', amountCents: 1000, paidAt: now };
    const known = { ...facts, posted: postedAfter(odd), incidentOpen: () => true };
    const step = next(odd?.payment as Payment, exact, known);
    expect(step?.payment).toMatchObject({ status: 'paid', endToEnd: 'E3' });
  });

  it('that stands without a deadline has none, and never expires by itself [2.1c]', () => {
    const event: PaymentEvent = { ...open, expiresAt: null, observedAt: now + 400 * 24 * 3_600_000 };
    const step = next(charge('unknown'), event, facts) as Step;
    expect(step.payment).toMatchObject({ status: 'pending', expiresAt: null });
    expect(next(step.payment, event, facts)).toBeNull();
  });

  it('that the provider takes back keeps its state, with a notice, an incident and the debit, once', () => {
    const event: PaymentEvent = {
      type: 'debited',
      back: back('D1', 400, now - 1),
      endToEnd: 'E1',
    };
    const paid = charge('paid');
    const step = next(paid, event, facts);
    expect(told(paid, step)).toBe('$debit !debit');
    expect(step?.payment).toMatchObject({ status: 'paid', notice: 'debited' });
    expect(step?.postings).toEqual([
      {
        event: eventKinds.debit,
        reference: 'D1',
        movement: { kind: 'debit', amountCents: 400 },
        effectiveAt: now - 1,
      },
    ]);
    const known = { ...facts, knowsReturn: knownAfter(step) };
    expect(next(step?.payment as Payment, event, known)).toBeNull();
    const other: PaymentEvent = { type: 'debited', back: back('D2', 400), endToEnd: 'E1' };
    expect(told(paid, next(step?.payment as Payment, other, known))).toBe('$debit !debit');
  });

  it('whose odd payment is given back loses nothing: it goes back out of suspense, once', () => {
    const odd = next(charge('pending'), chargeEvents['paid with another amount'] as PaymentEvent, facts);
    const given = { type: 'debited', back: back('D1', 1001), endToEnd: 'E2' } as const;
    const known = { ...facts, posted: postedAfter(odd) };
    const step = next(charge('pending'), given, known);
    expect(told(charge('pending'), step)).toBe('$bookToSuspense !debit');
    expect(step?.postings[0]?.movement).toEqual({ kind: 'bookToSuspense', amountCents: -1001 });
    expect(next(charge('pending'), given, { ...known, knowsReturn: knownAfter(step) })).toBeNull();
    // Beside a payment in earnest: only what was credited is taken from the operation.
    expect(told(charge('paid'), next(charge('paid'), { ...given, endToEnd: 'E1' }, known))).toBe(
      '$debit !debit',
    );
    expect(told(charge('paid'), next(charge('paid'), given, known))).toBe('$bookToSuspense !debit');
  });
});

describe('a transfer', () => {
  it('that is completed gives the net to the receiver and the fee to us', () => {
    const step = next(transfer('unknown'), transferEvents.completed as PaymentEvent, facts);
    expect(step?.payment).toMatchObject({
      endToEnd: 'E9',
      settledAt: now,
      netAmountCents: 975,
      paidAt: null,
    });
    expect(step?.postings).toEqual([
      {
        event: eventKinds.complete,
        reference: '',
        movement: { kind: 'complete', grossCents: 1000, feeCents: 25 },
        effectiveAt: now - 1,
      },
    ]);
  });

  it('that is refused gets its whole gross back, without a fee, and its reason', () => {
    const step = next(transfer('pending'), transferEvents.refused as PaymentEvent, facts);
    expect(step?.payment).toMatchObject({ status: 'cancelled', reasonCode: 'pix_key_not_found' });
    expect(step?.postings).toMatchObject([{ movement: { kind: 'release', grossCents: 1000 } }]);
  });

  it('without a key in the report is judged by its amount', () => {
    const quiet: PaymentEvent = { type: 'payoutCompleted', ...payout, pixKey: null, settledAt: null };
    const step = next(transfer('pending'), quiet, facts);
    expect(step?.payment.status).toBe('completed');
    expect(step?.postings).toMatchObject([{ effectiveAt: now }]);
  });

  it('whose return another payment has posts nothing of it, and a person is asked', () => {
    const given = (rtrId: string | null): PaymentEvent => {
      return { type: 'payoutReturned', back: { ...back('R1', 500), rtrId }, sentCents: 975, pixKey: null };
    };
    const elsewhere: Facts = { ...facts, bookedUnder: (pix) => (pix === 'R1' ? 'other' : null) };
    for (const operationDeleted of [false, true])
      expect(next(transfer('completed'), given('R1'), { ...elsewhere, operationDeleted })).toMatchObject({
        ...{ payment: transfer('completed'), postings: [], events: [], returns: [] },
        incidents: [{ kind: 'report_mismatch', freezes: false, detail: { pix: 'R1', bookedUnder: 'other' } }],
      });
    // Its id in the payment system books it, wherever its money goes.
    const booked = (step: Step | null) => step?.postings.map(({ pix }) => pix);
    expect(booked(next(transfer('completed'), given('R1'), facts))).toEqual(['R1']);
    const deleted = { ...facts, operationDeleted: true };
    expect(booked(next(transfer('completed'), given('R1'), deleted))).toEqual(['R1']);
    expect(booked(next(transfer('completed'), given(null), elsewhere))).toEqual([undefined]);
  });

  it('comes back in parts, each return once, together at most the net', () => {
    const part = (returnId: string, amountCents: number): PaymentEvent => {
      return { type: 'payoutReturned', back: back(returnId, amountCents), sentCents: 975, pixKey: null };
    };
    const sent = transfer('completed');
    const first = next(sent, part('R1', 500), facts) as Step;
    expect(first.payment).toMatchObject({ status: 'completed', returnedCents: 500, notice: 'returned' });
    expect(first.postings).toMatchObject([
      { reference: 'R1', movement: { kind: 'return', amountCents: 500 } },
    ]);

    const known = { ...facts, knowsReturn: knownAfter(first) };
    expect(next(first.payment, part('R1', 500), known)).toBeNull();
    const second = next(first.payment, part('R2', 475), known) as Step;
    expect(second.payment.returnedCents).toBe(975);

    const more = next(second.payment, part('R3', 1), {
      ...facts,
      knowsReturn: knownAfter(second, known.knowsReturn),
    }) as Step;
    expect(told(second.payment, more)).toBe('$bookToSuspense !return_exceeds');
    expect(more.payment.returnedCents).toBe(975);
    const after = { ...facts, knowsReturn: knownAfter(more) };
    expect(next(more.payment, part('R3', 1), after)).toBeNull();
  });

  it('is contradicted with one incident per contradiction, however often it is reported', () => {
    const twice = [1, 2].map(() =>
      next(transfer('cancelled'), transferEvents.completed as PaymentEvent, facts),
    );
    const references = twice.map((step) => step?.incidents[0]?.reference);
    expect(new Set(references).size).toBe(1);
    const other = next(transfer('cancelled'), transferEvents.returned as PaymentEvent, facts);
    expect(other?.incidents[0]?.reference).not.toBe(references[0]);
  });

  it('opens one incident for each different mismatch: what a person decided of one says nothing of the next', () => {
    const named = (amountCents: number, pixKey: string | null = null) =>
      next(
        transfer('pending'),
        { type: 'payoutCompleted', amountCents, pixKey, endToEnd: 'E9', settledAt: null },
        { ...facts, incidentOpen: () => true },
      )?.incidents.map(({ reference }) => reference);
    expect(named(976)).toEqual([`mismatch:${base.id}:976`]);
    expect(named(977)).toEqual([`mismatch:${base.id}:977`]);
    expect(named(975, 'joao@loja.example')).toEqual([`mismatch:${base.id}:key`]);
  });

  it('that was cancelled and comes back is known afterwards, so that its other names open no second incident', () => {
    const event = { ...transferEvents.returned } as PaymentEvent;
    const step = next(transfer('cancelled'), event, facts);
    expect(step?.returns).toMatchObject([{ reference: 'R1', posted: false }]);
    expect(step?.incidents).toMatchObject([{ reference: `contradiction:${base.id}:returned:R1` }]);
    expect(next(transfer('cancelled'), event, { ...facts, knowsReturn: knownAfter(step) })).toBeNull();
  });
});

describe('a refusal', () => {
  it('of another amount or key than ours releases nothing: an incident freezes the withdrawals', () => {
    for (const reported of [
      { amountCents: 700, pixKey: null },
      { amountCents: 975, pixKey: 'joao@loja.example' },
    ]) {
      const sent = transfer('unknown');
      const step = next(sent, { type: 'refused', reason: 'provider_refused', reported }, facts);
      expect(step?.payment).toEqual(sent);
      expect(step?.postings).toEqual([]);
      expect(step?.incidents).toMatchObject([{ kind: 'report_mismatch', freezes: true }]);
    }
  });
});

describe('a deleted operation', () => {
  const deleted = { ...facts, operationDeleted: true };
  const debit: PaymentEvent = { type: 'debited', back: back('D1', 400), endToEnd: 'E1' };

  it.each([
    ['paid late', charge('expired'), chargeEvents.paid, '→paid $bookToSuspense !deleted_operation', 1000],
    ['paid twice', charge('paid'), chargeEvents.paid, '$bookToSuspense !deleted_operation', 1000],
    [
      'paid though it failed',
      charge('failed'),
      chargeEvents.paid,
      '$bookToSuspense !deleted_operation',
      1000,
    ],
    ['taken back', charge('paid'), debit, '$bookToSuspense !deleted_operation', -400],
    ['returned', transfer('completed'), transferEvents.returned, '$bookToSuspense !deleted_operation', 975],
  ])('gets nothing: its payment was %s, the money goes to suspense and no event is written', (...row) => {
    const [, before, event, expected, amountCents] = row;
    const step = next(before, event as PaymentEvent, deleted);
    expect(told(before, step)).toBe(expected);
    expect(step?.postings[0]?.movement).toEqual({ kind: 'bookToSuspense', amountCents });
    expect(step?.incidents[0]?.amountCents).toBe(Math.abs(amountCents));
    const again = { ...deleted, posted: postedAfter(step), knowsReturn: knownAfter(step) };
    expect(next(step?.payment as Payment, event as PaymentEvent, again)).toBeNull();
  });
});

describe('an amount that is none', () => {
  it.each(cells)('says nothing of money: $title', ({ before, event }) => {
    for (const amountCents of [0, -1])
      if ('amountCents' in event) expect(next(before, { ...event, amountCents }, facts)).toBeNull();
      else if ('back' in event)
        expect(next(before, { ...event, back: { ...event.back, amountCents } }, facts)).toBeNull();
  });
});

describe('any sequence of reports [3a]', () => {
  const amount = fc.constantFrom(975, 1000, 999);
  const id = fc.constantFrom('X1', 'X2', 'X3');
  const part = fc.integer({ min: 1, max: 1000 });
  const at = fc.constant(now);
  const event: fc.Arbitrary<PaymentEvent> = fc.oneof(
    fc.record({
      type: fc.constant('chargeOpen' as const),
      amountCents: amount,
      expiresAt: fc.constantFrom(null, deadline),
      copyPaste: fc.constantFrom(null, '000201'),
      observedAt: fc.constantFrom(null, now, deadline + 100_000),
    }),
    fc.record({ type: fc.constant('chargePaid' as const), endToEnd: id, amountCents: amount, paidAt: at }),
    fc.constant<PaymentEvent>({ type: 'chargeRemoved' }),
    fc.constant<PaymentEvent>({ type: 'refused', reason: 'provider_refused' }),
    fc.record({
      type: fc.constant('payoutPending' as const),
      amountCents: amount,
      pixKey: fc.constantFrom(null, 'maria@loja.example', 'joao@loja.example'),
      endToEnd: fc.constantFrom(null, 'E9'),
    }),
    fc.record({
      type: fc.constant('payoutCompleted' as const),
      amountCents: amount,
      pixKey: fc.constantFrom(null, 'maria@loja.example', 'joao@loja.example'),
      endToEnd: fc.constantFrom(null, 'E9'),
      settledAt: fc.constantFrom(null, now),
    }),
    fc.record({
      type: fc.constant('payoutReturned' as const),
      back: fc.tuple(id, part).map(([reference, amountCents]) => back(reference, amountCents)),
      sentCents: amount,
      pixKey: fc.constantFrom(null, 'maria@loja.example', 'joao@loja.example'),
    }),
  );
  const forCharges = new Set(['chargeOpen', 'chargePaid', 'chargeRemoved', 'refused']);

  it.each([charge('unknown'), transfer('unknown')])('leaves a $kind where the money is', (created) => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, fc.integer({ min: -5_000, max: 5_000 })), { maxLength: 25 }),
        (all) => {
          let payment = created;
          let balance: Balance = { ...emptyBalance, reserved: created.kind === 'transfer' ? 1000 : 0 };
          const references = new Set<string>();
          const returned = new Set<string>();
          const told: string[] = [];
          let incidents = 0;
          for (const [one, drift] of all) {
            const isForCharges = forCharges.has(one.type) && one.type !== 'refused';
            if (one.type !== 'refused' && isForCharges !== (payment.kind === 'deposit')) continue;
            const step = next(payment, one, {
              ...facts,
              now: now + drift,
              incidentOpen: () => incidents > 0,
              posted: (kind, reference) => references.has(`${kind}/${reference}`),
              knowsReturn: (reference) => returned.has(reference),
            });
            if (!step) continue;
            if (step.payment.status !== payment.status) {
              expect(isTerminal(payment.status) && payment.status !== 'expired').toBe(false);
              if (payment.status === 'expired') expect(step.payment.status).toBe('paid');
            }
            if (step.payment !== payment) expect(step.payment.updatedAt).toBeGreaterThan(payment.updatedAt);
            for (const posting of step.postings) {
              const reference = `${posting.event}/${posting.reference}`;
              expect(references).not.toContain(reference);
              references.add(reference);
              const decision = decide(balance, posting.movement);
              if ('refused' in decision) throw new Error('a report is never refused');
              balance = decision.balance;
            }
            for (const { reference } of step.returns) returned.add(reference);
            incidents += step.incidents.length;
            told.push(...step.events);
            payment = step.payment;
          }
          const open = payment.status === 'unknown' || payment.status === 'pending';
          expect(balance.reserved).toBe(payment.kind === 'transfer' && open ? 1000 : 0);
          const earned = {
            paid: 975,
            cancelled: 1000,
            completed: payment.returnedCents,
            unknown: 0,
            pending: 0,
            failed: 0,
            expired: 0,
            draft: 0,
          };
          expect(balance.available).toBe(earned[payment.status]);
          expect(payment.returnedCents).toBeLessThanOrEqual(975);
          // Each state is entered once, and has one event.
          const several = ['transfer.returned', 'charge.unexpected_payment'];
          const once = told.filter((type) => !several.includes(type));
          expect(new Set(once).size).toBe(once.length);
          expect(payment.history.map(({ status }) => status)).toEqual([
            ...new Set(payment.history.map(({ status }) => status)),
          ]);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('a draft [3a]', () => {
  const ended = (reason: 'draft_cancelled' | 'draft_expired' | 'draft_locked'): PaymentEvent => {
    return { type: 'draftEnded', reason };
  };
  const statuses: PaymentStatus[] = ['unknown', 'pending', 'completed', 'cancelled'];

  it('that is confirmed sets its gross aside and is unknown, a transfer like any other', () => {
    const step = next(transfer('draft'), { type: 'confirmed' }, facts) as Step;
    expect(told(transfer('draft'), step)).toBe('→unknown $reserve');
    expect(step.postings[0]?.movement).toEqual({ kind: 'reserve', grossCents: 1000 });
  });

  it.each(['draft_cancelled', 'draft_expired', 'draft_locked'] as const)(
    'that ends (%s) is cancelled, and no money moves',
    (reason) => {
      const step = next(transfer('draft'), ended(reason), facts) as Step;
      expect(told(transfer('draft'), step)).toBe('→cancelled transfer.cancelled');
      expect(step.payment.reasonCode).toBe(reason);
    },
  );

  it.each(statuses)('is confirmed and ended once: nothing of it changes what is %s', (status) => {
    expect(next(transfer(status), { type: 'confirmed' }, facts)).toBeNull();
    expect(next(transfer(status), ended('draft_cancelled'), facts)).toBeNull();
  });

  it('was never sent, so a refusal of it means nothing, and a report of it is a contradiction', () => {
    const draft = transfer('draft');
    const { refused, pending, completed, returned } = transferEvents as Record<string, PaymentEvent>;
    expect(next(draft, refused as PaymentEvent, facts)).toBeNull();
    expect(next(draft, pending as PaymentEvent, facts)).toBeNull();
    for (const event of [completed, returned] as PaymentEvent[]) {
      expect(told(draft, next(draft, event, facts))).toBe('!contradiction*');
    }
  });
});

describe('what is kept of a step', () => {
  const by = (payment: Payment, event: PaymentEvent, more: Partial<Facts> = {}): Step => {
    const step = next(payment, event, { ...facts, ...more });
    if (!step) throw new Error('nothing changed');
    return step;
  };

  it('every state that was entered stays in the history, the new one behind them', () => {
    const { payment } = by(charge('pending'), { type: 'chargeRemoved' });
    expect(payment.history).toHaveLength(2);
    expect(payment.history[0]).toEqual(base.history[0]);
    expect(payment.history[1]).toMatchObject({ status: 'failed', cause: facts.cause });
  });

  it('a failed charge keeps why it failed', () => {
    expect(by(charge('pending'), { type: 'chargeRemoved' }).payment.reasonCode).toBe('provider_refused');
    expect(by(charge('unknown'), { type: 'refused', reason: 'provider_refused' }).payment.reasonCode).toBe(
      'provider_refused',
    );
  });

  it('for a deleted operation no event is written, and a payment is kept with its time', () => {
    const paid: PaymentEvent = { type: 'chargePaid', endToEnd: 'E1', amountCents: 1000, paidAt: now - 500 };
    const step = by(charge('pending'), paid, { operationDeleted: true });
    expect(step.events).toEqual([]);
    expect(step.payment).toMatchObject({ paidAt: now - 500, endToEnd: 'E1', settledAt: now });
  });

  it('for a deleted operation no other ending writes an event either', () => {
    const refused: PaymentEvent = { type: 'refused', reason: 'provider_refused' };
    expect(by(charge('pending'), { type: 'chargeRemoved' }, { operationDeleted: true }).events).toEqual([]);
    expect(by(transfer('pending'), refused, { operationDeleted: true }).events).toEqual([]);
  });

  it('a reserve and its release are posted under no reference but the payment', () => {
    const references = [
      by(transfer('draft'), { type: 'confirmed' }),
      by(transfer('pending'), { type: 'refused', reason: 'provider_refused' }),
    ].flatMap(({ postings }) => postings.map(({ reference }) => reference));
    expect(references).toEqual(['', '']);
  });

  it('news of a waiting charge from a query is kept, and known facts change nothing', () => {
    const asked = (news: object): Step | null =>
      next(charge('pending'), { ...open, observedAt: now, ...news }, facts);
    expect(asked({})).toBeNull();
    expect(asked({ copyPaste: '000202' })?.payment).toMatchObject({
      copyPaste: '000202',
      expiresAt: deadline,
      updatedAt: now,
    });
    expect(asked({ expiresAt: deadline + 1 })?.payment).toMatchObject({
      copyPaste: '000201',
      expiresAt: deadline + 1,
      updatedAt: now,
    });
  });

  it('the end-to-end id of a waiting transfer is kept, a new one too, and none takes it away', () => {
    const reported = (status: PaymentStatus, endToEnd: string | null): Step | null =>
      next(transfer(status), { type: 'payoutPending', ...payout, endToEnd }, facts);
    expect(reported('unknown', 'E9')?.payment).toMatchObject({ status: 'pending', endToEnd: 'E9' });
    expect(reported('pending', 'E8')?.payment).toMatchObject({
      status: 'pending',
      endToEnd: 'E8',
      updatedAt: now,
    });
    expect(reported('pending', null)).toBeNull();
    expect(reported('pending', 'E9')).toBeNull();
  });

  it('only what lies in suspense is given back out of it: all else is taken from the operation', () => {
    const taking = { type: 'debited', back: back('D1', 400) } as const;
    const taken = (endToEnd: string, suspended: string | null) =>
      by(
        charge('paid'),
        { ...taking, endToEnd },
        { posted: (kind, reference) => kind === eventKinds.suspense && reference === suspended },
      ).postings.map(({ movement }) => movement.kind);
    expect(taken('E1', null)).toEqual(['debit']);
    expect(taken('E2', null)).toEqual(['debit']);
    expect(taken('E2', 'E2')).toEqual(['bookToSuspense']);
    expect(taken('E1', 'E1')).toEqual(['debit']);
  });

  it('an incident is named after what it is about, so that another one is another incident', () => {
    const named = (payment: Payment, event: PaymentEvent) =>
      by(payment, event).incidents.map(({ reference }) => reference);
    const debit = { type: 'debited', back: back('D1', 400), endToEnd: 'E1' } as const;
    expect(named(charge('paid'), debit)).toEqual([`debit:${base.id}:D1`]);
    const odd = chargeEvents['paid with another amount'] as PaymentEvent;
    expect(named(charge('pending'), odd)).toEqual([`suspense:${base.id}:E2`]);
    const other = transferEvents['completed with another amount'] as PaymentEvent;
    expect(named(transfer('pending'), other)).toEqual([`mismatch:${base.id}:976`]);
  });
});
