import { capabilities as declared } from '@vintem/testkit/capabilities.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Capabilities } from '../provider/provider.ts';
import {
  type AttemptResult,
  afterEnding,
  failedQuery,
  type Intent,
  isOverdue,
  leaseMarginMs,
  nextQueryAt,
  queryPriorities,
  sendPriority,
  singlePriority,
  startAttempt,
  takeOver,
  waitAfterFailure,
  wantsRepeat,
} from './intent.ts';
import type { PaymentKind, PaymentStatus } from './payment.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 20, 12);

const capabilities: Capabilities = { ...declared, sendTimeoutMs: 15 * second };

const ready: Intent = {
  accountId: '0193a000-0000-7000-8000-0000000000a1',
  paymentId: 'deadbeef-0123-8456-89ab-cdef01234567',
  operationId: '0193a000-0000-7000-8000-0000000000b2',
  connection: 'simulator',
  kind: 'transfer',
  priority: sendPriority,
  state: 'ready',
  fence: 'fence 0',
  attempt: 0,
  leaseUntil: null,
  dueAt: start,
  newsAt: start,
  attemptEndedAt: null,
  failures: 0,
  absences: 0,
  absentAt: null,
  undecidedSince: null,
  answeredAt: null,
  known: false,
  refused: false,
  step: null,
  providerRef: null,
  createdAt: start,
  identity: null,
};

const at = { capabilities, identity: 'the account' };

const unknown = { kind: 'transfer', status: 'unknown', expiresAt: null } as const;
const pending = { kind: 'transfer', status: 'pending', expiresAt: null } as const;
const unclear: AttemptResult = { type: 'unclear', cause: 'network', retryAfterMs: null };

const sending = startAttempt(ready, 'fence 1', start, at, 0);
/** One unclear attempt, ended at `start`. */
const awaiting = afterEnding(sending, unclear, unknown, start, 0);

const absent = (startedAt: number): AttemptResult => ({ type: 'notFound', startedAt, repeatIsSafe: true });

/** When the queries of a payment without news are made, counted from its last news, when every one finds what was known. */
function queriesOf(
  payment: { kind: PaymentKind; status: PaymentStatus; expiresAt: number | null },
  untilMs: number,
): number[] {
  const offsets: number[] = [];
  for (let now = start; ; ) {
    now = nextQueryAt(payment, start, now, 0);
    if (now - start > untilMs) return offsets;
    offsets.push(now - start);
  }
}

describe('the schedule of queries', () => {
  const transferStart = [5, 10, 20, 40, 80, 160, 320, 600, 1200].map((seconds) => seconds * second);

  it.each([
    { kind: 'transfer', status: 'unknown', expiresAt: null },
    { kind: 'transfer', status: 'pending', expiresAt: null },
    { kind: 'deposit', status: 'unknown', expiresAt: null },
  ] as const)(
    'of a $status $kind is 5, 10, 20, 40, 80, 160, 320 s, 10 and 20 min, then every 30 min',
    (payment) => {
      const halfHours = Array.from({ length: 5 }, (_, index) => 20 * minute + (index + 1) * 30 * minute);
      expect(queriesOf(payment, 3 * hour)).toEqual([...transferStart, ...halfHours]);
    },
  );

  it('of a transfer grows to hours after a day, to six hours after a week, and never ends [8c]', () => {
    const queries = queriesOf(unknown, 30 * day);
    const waits = queries.map((at, index) => ({
      from: queries[index - 1] ?? 0,
      wait: at - (queries[index - 1] ?? 0),
    }));
    for (const { from, wait } of waits.slice(transferStart.length)) {
      expect(wait).toBe(from < day ? 30 * minute : from < 7 * day ? hour : 6 * hour);
    }
    expect(waits.at(-1)?.wait).toBe(6 * hour);
    const aYear = start + 365 * day;
    expect(nextQueryAt(unknown, start, aYear, 0)).toBe(aYear + 6 * hour);
  });

  it('of a charge that waits for a payer is 5, 15, 30 s, 1, 2, 5 min, then 10 min, 30 min after an hour, and hourly after six [8c]', () => {
    const charge = { kind: 'deposit', status: 'pending', expiresAt: null } as const;
    const early = [5, 15, 30, 60, 120, 300].map((seconds) => seconds * second);
    const tens = [15, 25, 35, 45, 55, 65].map((minutes) => minutes * minute);
    const thirties = [95, 125, 155, 185, 215, 245, 275, 305, 335, 365].map((minutes) => minutes * minute);
    expect(queriesOf(charge, 8 * hour)).toEqual([...early, ...tens, ...thirties, 425 * minute]);
  });

  it('lets five listings of a thousand a second keep up with three million charges that live for a day', () => {
    const charge = { kind: 'deposit', status: 'pending', expiresAt: null } as const;
    const queriesPerSecond = (3_000_000 * queriesOf(charge, day).length) / (day / second);
    expect(queriesPerSecond).toBeLessThan(5 * 1_000);
  });

  it('of a charge continues after its deadline: 5 s, just over a minute, 10 min, 1 h, 1 and 3 days, then daily', () => {
    const charge = { kind: 'deposit', status: 'pending', expiresAt: start + 20 * minute } as const;
    const queries = queriesOf(charge, 20 * minute + 6 * day);
    const late = queries.filter((at) => at > 20 * minute).map((at) => at - 20 * minute);
    // A query a minute after the deadline, and not at the minute: only what began later than that can expire the charge.
    const after = [5 * second, 61 * second, 10 * minute, hour, day, 3 * day];
    expect(late).toEqual([...after, 4 * day, 5 * day, 6 * day]);
    expect(queries.filter((at) => at < 20 * minute)).toEqual(
      [5, 15, 30, 60, 120, 300, 900].map((seconds) => seconds * second),
    );
  });

  it('never brings a query earlier than five seconds after the last news, nor one that is already due [1.6a]', () => {
    const kinds = fc.constantFrom(
      { kind: 'transfer', status: 'unknown' } as const,
      { kind: 'transfer', status: 'pending' } as const,
      { kind: 'deposit', status: 'unknown' } as const,
      { kind: 'deposit', status: 'pending' } as const,
    );
    // Deadlines stand at least a minute after the charge.
    const deadline = fc.option(fc.integer({ min: minute, max: 7 * day }));
    fc.assert(
      fc.property(
        kinds,
        deadline,
        fc.nat(30 * day),
        fc.float({ min: 0, max: 1, noNaN: true }),
        (kind, life, elapsed, jitter) => {
          const payment = { ...kind, expiresAt: life === null ? null : start + life };
          const at = nextQueryAt(payment, start, start + elapsed, jitter);
          expect(at).toBeGreaterThanOrEqual(start + 5 * second);
          expect(at).toBeGreaterThan(start + elapsed);
          const plain = nextQueryAt(payment, start, start + elapsed, 0);
          expect(at).toBeGreaterThanOrEqual(plain);
          expect(at - plain).toBeLessThanOrEqual(0.2 * (plain - (start + elapsed)));
          expect(Number.isSafeInteger(at)).toBe(true);
        },
      ),
    );
  });

  it('waits five seconds when the clock went back behind the last news', () => {
    expect(nextQueryAt(unknown, start, start - hour, 1)).toBe(start + 6 * second);
  });
});

describe('waits after failed queries', () => {
  const failures = fc.integer({ min: 1, max: 40 });
  const jitter = fc.double({ min: 0, max: 1, noNaN: true });

  it('are at most 5 s doubled per failure, at most half an hour, and at least five seconds [1.6b]', () => {
    fc.assert(
      fc.property(failures, jitter, (count, one) => {
        const wait = waitAfterFailure(count, one, null);
        expect(wait).toBeLessThanOrEqual(Math.min(30 * minute, 5 * second * 2 ** count));
        expect(wait).toBeGreaterThanOrEqual(5 * second);
      }),
    );
    expect(waitAfterFailure(1, 0, null)).toBe(10 * second);
    expect(waitAfterFailure(30, 0, null)).toBe(30 * minute);
  });

  it('never shrink while failing, whatever is drawn [1.6b]', () => {
    fc.assert(
      fc.property(failures, jitter, jitter, (count, one, other) => {
        expect(waitAfterFailure(count + 1, other, null)).toBeGreaterThanOrEqual(
          waitAfterFailure(count, one, null),
        );
      }),
    );
  });

  it('are no shorter than what the provider asks for', () => {
    expect(waitAfterFailure(1, 0, hour)).toBe(hour);
    expect(waitAfterFailure(1, 0, second)).toBe(10 * second);
  });

  it('heed a provider that asks for more than an hour for an hour, and never more', () => {
    for (const retryAfterMs of [hour + second, 24 * hour, Number.MAX_SAFE_INTEGER]) {
      expect(waitAfterFailure(1, 0, retryAfterMs)).toBe(hour);
      const failed: AttemptResult = { type: 'queryFailed', retryAfterMs };
      expect(afterEnding(awaiting, failed, unknown, start, 0).dueAt).toBe(start + hour);
      const sent: AttemptResult = { type: 'unclear', cause: 'rateLimited', retryAfterMs };
      expect(afterEnding(sending, sent, unknown, start, 0).dueAt).toBe(start + hour);
    }
  });

  it.each([0, null])('are not shortened by a provider that says %s', (retryAfterMs) => {
    expect(waitAfterFailure(1, 0, retryAfterMs)).toBe(10 * second);
    const failed: AttemptResult = { type: 'queryFailed', retryAfterMs };
    expect(afterEnding(awaiting, failed, unknown, start, 0).dueAt).toBe(start + 10 * second);
    const sent: AttemptResult = { type: 'unclear', cause: 'rateLimited', retryAfterMs };
    expect(afterEnding(sending, sent, unknown, start, 0).dueAt).toBe(start + 5 * second);
  });

  it('count failures until something answers', () => {
    const failed: AttemptResult = { type: 'queryFailed', retryAfterMs: null };
    const twice = afterEnding(afterEnding(awaiting, failed, unknown, start, 0), failed, unknown, start, 0);
    expect(twice).toMatchObject({ failures: 2, dueAt: start + 20 * second, newsAt: start });
    expect(afterEnding(twice, { type: 'unchanged' }, unknown, start, 0).failures).toBe(0);
    expect(afterEnding(twice, absent(start), unknown, start, 0).failures).toBe(0);
  });
});

describe('an attempt', () => {
  it('holds a lease that outlives the deadline of the provider by ten seconds', () => {
    expect(leaseMarginMs).toBe(10 * second);
    expect(sending).toMatchObject({
      state: 'sending',
      fence: 'fence 1',
      attempt: 1,
      leaseUntil: start + 25 * second,
      dueAt: start + 25 * second,
      priority: sendPriority,
    });
  });

  it('that is unclear is first queried five seconds later, and keeps its count', () => {
    const ended = start + 15 * second;
    const after = afterEnding(sending, unclear, unknown, ended, 0);
    expect(after).toMatchObject({
      state: 'awaiting',
      attempt: 1,
      leaseUntil: null,
      attemptEndedAt: ended,
      dueAt: ended + 5 * second,
      priority: 1,
    });
    const told: AttemptResult = { type: 'unclear', cause: 'rateLimited', retryAfterMs: minute };
    expect(afterEnding(sending, told, unknown, ended, 0).dueAt).toBe(ended + minute);
  });

  it('that never left does not count: the first one is ready again', () => {
    const after = afterEnding(sending, { type: 'notSent' }, unknown, start, 0);
    expect(after).toMatchObject({
      state: 'ready',
      attempt: 0,
      priority: sendPriority,
      failures: 1,
      attemptEndedAt: null,
      leaseUntil: null,
      dueAt: start + second,
    });
    const waits = [];
    for (let intent = sending, turn = 0; turn < 8; turn++) {
      intent = afterEnding(intent, { type: 'notSent' }, unknown, start, 0);
      waits.push((intent.dueAt - start) / second);
      intent = startAttempt(intent, 'again', start, at, 0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it('that never left after one that may have is queried, and never ready again', () => {
    const repeat = startAttempt(awaiting, 'fence 2', start + minute, at, 0);
    const after = afterEnding(repeat, { type: 'notSent' }, unknown, start + minute, 0);
    expect(after).toMatchObject({ state: 'awaiting', attempt: 1, absences: 0, leaseUntil: null });
    expect(wantsRepeat(after, capabilities)).toBe(false);
  });

  it('whose lease ran out may only be queried, counted from the end of the lease', () => {
    const now = start + hour;
    const after = takeOver(sending, 'fence 2', 'unknown', now);
    expect(after).toMatchObject({
      state: 'awaiting',
      fence: 'fence 2',
      attempt: 1,
      leaseUntil: null,
      attemptEndedAt: start + 25 * second,
      dueAt: now,
      priority: 1,
    });
    expect(wantsRepeat(after, capabilities)).toBe(false);
  });

  it('that is answered continues the schedule from there', () => {
    const now = start + second;
    const after = afterEnding(sending, { type: 'answered' }, pending, now, 0);
    expect(after).toMatchObject({ state: 'awaiting', newsAt: now, dueAt: now + 5 * second, priority: 2 });
  });
});

describe('what is heard while an attempt is under way', () => {
  it('keeps that a person removed it at the provider, so that it is never sent again', () => {
    const removed: AttemptResult = { ...absent(start), removed: true } as AttemptResult;
    const told = afterEnding(sending, removed, unknown, start, 0);
    expect(told).toMatchObject({ state: 'sending', fence: sending.fence, known: true });
    let intent = afterEnding(told, unclear, unknown, start + second, 0);
    for (const at of [20, 40, 60])
      intent = afterEnding(intent, absent(start + at * second), unknown, start + at * second, 0);
    expect(intent.absences).toBeGreaterThan(1);
    expect(wantsRepeat(intent, capabilities)).toBe(false);
  });

  const repeat = startAttempt(
    { ...awaiting, absences: 2, absentAt: start + 20 * second },
    'fence 2',
    start + 30 * second,
    at,
    0,
  );
  const now = start + 31 * second;

  it.each<AttemptResult>([
    { type: 'queryFailed', retryAfterMs: null },
    absent(start + 29 * second),
    { type: 'unchanged' },
    { type: 'news' },
  ])('leaves its owner the lease and the fence: $type', (ending) => {
    expect(afterEnding(repeat, ending, unknown, now, 0)).toMatchObject({
      state: 'sending',
      fence: 'fence 2',
      leaseUntil: repeat.leaseUntil,
      attempt: 2,
      attemptEndedAt: null,
      absences: 0,
    });
  });
});

describe('answers that cannot be read', () => {
  it('A payment whose every query is answered with what cannot be read is overdue after a day, and one without an answer is not', () => {
    const payment = { kind: 'transfer', status: 'unknown', expiresAt: null, createdAt: start } as const;
    const after = (answered: boolean, until: number): boolean => {
      let intent = awaiting;
      for (let now = start; now <= until; now += hour)
        intent = afterEnding(intent, { type: 'queryFailed', retryAfterMs: null, answered }, payment, now, 0);
      return isOverdue(payment, intent);
    };
    expect(after(true, start + day)).toBe(false);
    expect(after(true, start + day + hour)).toBe(true);
    expect(after(false, start + 30 * day)).toBe(false);
    expect(failedQuery({ cause: 'unreadable', retryAfterMs: null })).toMatchObject({ answered: true });
    expect(failedQuery({ cause: 'unknownRefusal', retryAfterMs: null })).toMatchObject({ answered: true });
    expect(failedQuery({ cause: 'server', retryAfterMs: null })).toMatchObject({ answered: false });
  });
});

describe('what is heard of a payment that was never sent', () => {
  it.each<AttemptResult>([{ type: 'queryFailed', retryAfterMs: null }, absent(start), { type: 'unchanged' }])(
    'leaves it ready: $type',
    (ending) => {
      expect(afterEnding(ready, ending, unknown, start, 0)).toMatchObject({ state: 'ready', attempt: 0 });
    },
  );

  it('makes it one that may have been sent, and that is never sent, when the provider knows it', () => {
    const after = afterEnding(ready, { type: 'news' }, pending, start, 0);
    expect(after).toMatchObject({ state: 'awaiting', attempt: 1, known: true });
  });
});

describe('a repeat', () => {
  const first = afterEnding(awaiting, absent(start + 5 * second), unknown, start + 6 * second, 0);

  it('takes two queries that did not find it, begun at least ten seconds apart', () => {
    expect(first).toMatchObject({ absences: 1, absentAt: start + 5 * second });
    expect(wantsRepeat(first, capabilities)).toBe(false);

    const soon = afterEnding(first, absent(start + 15 * second - 1), unknown, start + 16 * second, 0);
    expect(soon).toMatchObject({ absences: 1, absentAt: start + 5 * second });
    expect(wantsRepeat(soon, capabilities)).toBe(false);

    const now = start + 16 * second;
    const apart = afterEnding(first, absent(start + 15 * second), unknown, now, 0);
    expect(apart).toMatchObject({ absences: 2, priority: sendPriority, dueAt: now });
    expect(wantsRepeat(apart, capabilities)).toBe(true);
  });

  it('counts only queries that began after the last attempt had ended', () => {
    const early = afterEnding(awaiting, absent(start - 1), unknown, start + second, 0);
    expect(early).toMatchObject({ absences: 0, absentAt: null });
    const gone = takeOver(sending, 'fence 2', 'unknown', start + hour);
    expect(afterEnding(gone, absent(start + 25 * second - 1), unknown, start + hour, 0).absences).toBe(0);
    expect(afterEnding(gone, absent(start + 25 * second), unknown, start + hour, 0).absences).toBe(1);
  });

  it('needs two new absences for every further repeat', () => {
    const twice = { ...first, absences: 2 };
    const repeat = startAttempt(twice, 'fence 2', start + 20 * second, at, 0);
    expect(repeat).toMatchObject({ attempt: 2, absences: 0, absentAt: null });
    const ended = afterEnding(repeat, unclear, unknown, start + 30 * second, 0);
    expect(wantsRepeat(ended, capabilities)).toBe(false);
    // Repeats do not start the schedule anew: a silent provider is asked ever more rarely.
    expect(ended.newsAt).toBe(awaiting.newsAt);
    expect(ended.dueAt).toBe(start + 40 * second);
  });

  it('is never made of an id that the provider has called a duplicate', () => {
    let intent = afterEnding(sending, { type: 'duplicate' }, unknown, start, 0);
    expect(intent).toMatchObject({ state: 'awaiting', known: true, dueAt: start + 5 * second });
    for (let turn = 1; turn <= 10; turn++) {
      const at = start + turn * minute;
      intent = afterEnding(intent, absent(at), unknown, at, 0);
      expect(intent.priority).not.toBe(sendPriority);
      expect(wantsRepeat(intent, capabilities)).toBe(false);
    }
  });

  it('is never made where the adapter does not declare it safe', () => {
    const unsafe = { ...capabilities, repeatIsSafe: false };
    let intent = awaiting;
    for (let turn = 1; turn <= 5; turn++) {
      const at = start + turn * minute;
      intent = afterEnding(intent, { type: 'notFound', startedAt: at, repeatIsSafe: false }, unknown, at, 0);
      expect(wantsRepeat(intent, unsafe)).toBe(false);
      expect(intent.priority).toBe(1);
    }
  });

  it('is off when the provider shows the payment after all', () => {
    for (const type of ['news', 'unchanged'] as const) {
      const seen = afterEnding(first, { type }, unknown, start + 20 * second, 0);
      expect(seen).toMatchObject({ absences: 0, absentAt: null });
    }
  });

  it('leaves a payment overdue after a day of answered queries, whatever they answered, and not before', () => {
    const created = { createdAt: start, expiresAt: null };
    for (const ending of [{ type: 'unchanged' }, absent(start)] as const) {
      const begun = afterEnding(awaiting, ending, unknown, start, 0);
      expect(begun).toMatchObject({ undecidedSince: start, answeredAt: start });
      const answered = (at: number) => afterEnding(begun, ending, unknown, at, 0);
      const transfer = { kind: 'transfer', status: 'unknown', ...created } as const;
      expect(isOverdue(transfer, answered(start + 24 * hour))).toBe(false);
      expect(isOverdue(transfer, answered(start + 24 * hour + 1))).toBe(true);
      expect(isOverdue({ ...transfer, status: 'pending' }, answered(start + 24 * hour + 1))).toBe(true);
      expect(isOverdue({ ...transfer, kind: 'deposit' }, answered(start + 24 * hour + 1))).toBe(true);
      // No answer proves nothing, and does not count.
      const silent = afterEnding(
        begun,
        { type: 'queryFailed', retryAfterMs: null },
        unknown,
        start + 30 * hour,
        0,
      );
      expect(isOverdue(transfer, silent)).toBe(false);
      expect(isOverdue(transfer, afterEnding(silent, { type: 'news' }, unknown, start + 31 * hour, 0))).toBe(
        false,
      );
    }
  });

  it('leaves a charge that waits for its payer overdue a day after its deadline', () => {
    const begun = afterEnding(awaiting, { type: 'unchanged' }, unknown, start, 0);
    const answered = (at: number) => afterEnding(begun, { type: 'unchanged' }, unknown, at, 0);
    const charge = {
      kind: 'deposit',
      status: 'pending',
      createdAt: start,
      expiresAt: start + 48 * hour,
    } as const;
    expect(isOverdue(charge, answered(start + 72 * hour))).toBe(false);
    expect(isOverdue(charge, answered(start + 72 * hour + 1))).toBe(true);
    expect(isOverdue({ ...charge, expiresAt: null }, answered(start + 24 * hour + 1))).toBe(true);
  });

  it('that is refused is remembered, and the refusal ends nothing', () => {
    const repeat = startAttempt({ ...first, absences: 2 }, 'fence 2', start + minute, at, 0);
    const after = afterEnding(repeat, { type: 'refused' }, unknown, start + minute + second, 0);
    expect(after).toMatchObject({
      state: 'awaiting',
      refused: true,
      attempt: 2,
      undecidedSince: start + 6 * second,
    });
  });

  it('that is refused at its first attempt, where the look failed, is queried by its id and by no list until it is known', () => {
    const sent = startAttempt(ready, 'fence 1', start, at, 0);
    const refused = afterEnding(sent, { type: 'refused' }, unknown, start + second, 0);
    const failed: AttemptResult = { type: 'queryFailed', retryAfterMs: null };
    const still = afterEnding(refused, failed, unknown, start + minute, 0);
    const known = afterEnding(still, { type: 'unchanged' }, unknown, start + hour, 0);
    const later = afterEnding(known, { type: 'unchanged' }, unknown, start + 2 * hour, 0);
    expect([refused, still, later].map(({ priority }) => priority)).toEqual([
      singlePriority,
      singlePriority,
      1,
    ]);
    const repeat = startAttempt({ ...first, absences: 2 }, 'fence 2', start + minute, at, 0);
    expect(afterEnding(repeat, { type: 'refused' }, unknown, start + hour, 0).priority).toBe(1);
  });

  it('starts a count of the time without any word, which only a word ends', () => {
    expect(first.undecidedSince).toBe(start + 6 * second);
    const later = afterEnding(first, absent(start + hour), unknown, start + hour, 0);
    expect(later.undecidedSince).toBe(start + 6 * second);
  });
});

describe('any history of an intent', () => {
  const ending = fc.oneof(
    fc.constantFrom<AttemptResult>(
      { type: 'answered' },
      { type: 'news' },
      { type: 'unchanged' },
      { type: 'refused' },
      { type: 'duplicate' },
      { type: 'notSent' },
      unclear,
      { type: 'queryFailed', retryAfterMs: null },
    ),
    fc.nat(60 * second).map((ago) => ({ type: 'notFound' as const, ago })),
  );
  const sendEndings = new Set(['answered', 'refused', 'duplicate', 'notSent', 'unclear']);

  it('keeps what the database checks, and is sent again only after two absences', () => {
    const turn = fc.record({
      ending,
      waitMs: fc.nat(120 * second),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 40 }), (turns) => {
        let intent: Intent = ready;
        let now = start;
        let known = false;
        let endedAt = Number.POSITIVE_INFINITY;
        let absences: number[] = [];
        for (const [index, one] of turns.entries()) {
          now += one.waitMs;
          if (intent.state === 'ready' || wantsRepeat(intent, capabilities)) {
            if (intent.state !== 'ready') {
              expect(known).toBe(false);
              const [earlier, later] = absences.slice(-2) as [number, number];
              expect(later - earlier).toBeGreaterThanOrEqual(10 * second);
              expect(earlier).toBeGreaterThanOrEqual(endedAt);
            }
            intent = startAttempt(intent, `fence ${index + 1}`, now, at, 0);
            absences = [];
            endedAt = Number.POSITIVE_INFINITY;
          } else if (intent.state === 'sending' && now > (intent.leaseUntil ?? 0)) {
            endedAt = intent.leaseUntil as number;
            intent = takeOver(intent, `fence ${index + 1}`, 'unknown', now);
          }
          const happened: AttemptResult = 'ago' in one.ending ? absent(now - one.ending.ago) : one.ending;
          const wasSending = intent.state === 'sending';
          if (sendEndings.has(happened.type) && !wasSending) continue;
          if (happened.type === 'notFound' && !wasSending && happened.startedAt >= endedAt) {
            const last = absences.at(-1);
            if (last === undefined || happened.startedAt - last >= 10 * second)
              absences.push(happened.startedAt);
          }
          if (happened.type === 'duplicate') known = true;
          if (happened.type === 'news' || happened.type === 'unchanged') absences = [];
          intent = afterEnding(intent, happened, unknown, now, one.jitter);
          if (wasSending && intent.state !== 'sending') endedAt = now;

          expect(intent.state === 'sending').toBe(intent.leaseUntil !== null);
          expect(intent.state === 'ready').toBe(intent.attempt === 0);
          expect([sendPriority, ...queryPriorities]).toContain(intent.priority);
          if (intent.state === 'ready') expect(intent.priority).toBe(sendPriority);
          for (const at of [intent.dueAt, intent.newsAt]) expect(Number.isSafeInteger(at)).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });
});
