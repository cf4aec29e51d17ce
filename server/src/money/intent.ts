import type { Capabilities, Unclear, UnclearCause } from '../provider/provider.ts';
import type { PaymentStatus } from './payment.ts';
import type { SentKind } from './sent-kinds.ts';

/** A charge that is paid by Pix, with a due date or without. */
export const isPixCharge = (kind: SentKind): boolean => kind === 'deposit' || kind === 'due_charge';

/**
 * The open work for a payment at its provider. The row is written with the payment and deleted with its terminal
 * state. The till makes every write of it, under the lock of the operation's balance, except for `dueAt`, which claims move as well
 * (`intents.sql.ts`).
 *
 * **ready**: no byte of it ever left; it is never queried. **sending**: its owner (the process that knows the fence) may be writing to the
 * provider until the lease ends. When the lease has ended, another process may take it over, and may only query. **awaiting**: at
 * least one attempt was made and none is under way: it is queried on a schedule until the provider's report ends it.
 *
 * A repeat goes out under the same id, and only where the adapter declares that safe, after two queries at least ten seconds
 * apart, both begun after the last attempt ended, that did not find it. "Not found" alone releases nothing, ever: the
 * first request may still be on its way. Once the provider has called the id a duplicate, it is never sent again.
 */
export interface Intent {
  accountId: string;
  /** Of what is sent about a payment, such as a refund or a cancel, its own id. */
  paymentId: string;
  operationId: string;
  connection: string;
  kind: SentKind;
  priority: number;
  state: 'ready' | 'sending' | 'awaiting';
  fence: string;
  attempt: number;
  leaseUntil: number | null;
  /** When the next send or query is due; a claim moves it on. */
  dueAt: number;
  /** The waits between queries count from it: the last news of the payment, at first its creation. */
  newsAt: number;
  attemptEndedAt: number | null;
  /** Failed queries, or sends that did not leave, in a row. */
  failures: number;
  /** Queries that did not find it and count for a repeat. */
  absences: number;
  /** When the last of them began. */
  absentAt: number | null;
  /** Since when the provider has answered queries without another state of the payment. The column is `absent_since`. */
  undecidedSince: number | null;
  /** The last query that the provider answered so. */
  answeredAt: number | null;
  /** The provider has shown that it knows the id: it is never sent again. */
  known: boolean;
  /** A repeat was refused, or the only attempt where a look has to prove it. */
  refused: boolean;
  createdAt: number;
  /**
   * Of a payout whose provider has two steps (`Capabilities.confirmsPayouts`); null: nothing is known of them. `prepared`: the provider has it and has
   * sent nothing, and no second step of ours began. `confirmed`: one began, so it may have been sent. `sent`: the provider says that it was, and no second step
   * begins any more.
   */
  step: 'prepared' | 'confirmed' | 'sent' | null;
  /** The provider's own name of the payout from its first answer, where its queries need that. */
  providerRef: string | null;
  /**
   * The account at the provider that its first attempt went to (`provider/identity.ts`): whatever comes of it is there, and nowhere else is it sent
   * again. Null: nothing was sent.
   */
  identity: string | null;
}

/** Of what is on record and was not sent yet. */
export const newIntent = (
  of: Pick<Intent, 'accountId' | 'paymentId' | 'operationId' | 'connection' | 'kind' | 'fence'>,
  now: number,
): Intent => ({
  ...of,
  priority: sendPriority,
  state: 'ready',
  attempt: 0,
  leaseUntil: null,
  dueAt: now,
  newsAt: now,
  attemptEndedAt: null,
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
  identity: null,
});

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A due-date charge waits for weeks, and the statement finds its payment: once a day is enough. No listing answers for it. */
const chargeWait = (kind: SentKind, elapsed: number): number => {
  if (elapsed < hour) return 10 * minute;
  return elapsed < 6 * hour ? 30 * minute : kind === 'due_charge' ? day : hour;
};

/** The lease outlives the provider's deadline by this much. */
export const leaseMarginMs = 10 * second;

/** Two absences count as two only when they are this far apart. */
const absenceGapMs = 10 * second;

/** A provider's Retry-After counts up to this. */
export const retryAfterMostMs = hour;

/** After this long of answered queries that do not end a payment, an incident is opened. */
const undecidedAfterMs = day;

/**
 * When transfers, refunds and unknown charges are queried, counted from the last news; afterwards every 30 min on the first day, every hour in
 * the first week, then every 6 h.
 */
const transferOffsets = [5, 10, 20, 40, 80, 160, 320, 600, 1200].map((seconds) => seconds * second);
/**
 * The same for charges that wait for a payer; afterwards every 10 min in the first hour, every 30 min in the first six, then hourly until the
 * deadline. The statement, read every ten minutes, finds a payment whose webhook was lost whatever the age of its charge. With 10 min for
 * all of its life, five listings of a thousand a second kept up with three million open charges; with this, of charges that live for a
 * day, with twelve.
 */
const chargeOffsets = [5, 15, 30, 60, 120, 300].map((seconds) => seconds * second);
/** Counted from a charge's deadline; a query a minute after it may expire the charge. Afterwards once a day. */
const deadlineOffsets = [5 * second, 61 * second, 10 * minute, hour, day, 3 * day];

/**
 * When a payment without news is next queried, in milliseconds since 1970.
 *
 * @param jitter 0 to 1: up to a fifth of the wait is added, never taken off, so that no query comes before five seconds
 */
export function nextQueryAt(payment: Followed, newsAt: number, now: number, jitter: number): number {
  const at = nominalQueryAt(payment, newsAt, now);
  return at + Math.floor(Math.max(at - Math.max(now, newsAt), 0) * 0.2 * jitter);
}

function nominalQueryAt(payment: Followed, newsAt: number, now: number): number {
  const elapsed = now - newsAt;
  if (payment.kind === 'checkout' && payment.status === 'paid') return releaseQueryAt(payment.releaseAt, now);
  if (waitsForPayer(payment)) {
    const deadline = payment.expiresAt ?? Number.POSITIVE_INFINITY;
    if (now >= deadline) {
      const late = deadlineOffsets.find((offset) => offset > now - deadline);
      return late === undefined ? now + day : deadline + late;
    }
    const early = chargeOffsets.find((offset) => offset > elapsed);
    const at = early === undefined ? now + chargeWait(payment.kind, elapsed) : newsAt + early;
    return at < deadline ? at : deadline + (deadlineOffsets[0] as number);
  }
  const offset = transferOffsets.find((one) => one > elapsed);
  if (offset !== undefined) return newsAt + offset;
  return now + (elapsed < day ? 30 * minute : elapsed < 7 * day ? hour : 6 * hour);
}

/** The facts that a schedule of queries depends on. */
export interface Followed {
  kind: SentKind;
  status: PaymentStatus;
  expiresAt: number | null;
  /** Of an approved card payment: when its acquirer says that it will release; null: it has not said. */
  releaseAt?: number | null;
}

const waitsForPayer = ({ kind, status }: Pick<Followed, 'kind' | 'status'>): boolean =>
  (isPixCharge(kind) || kind === 'checkout') && status === 'pending';

/**
 * A card payment that its acquirer has approved and not released: once a day, for what is taken back or moved, at the moment that the acquirer named, and
 * hourly from then on. The date is the acquirer's plan and releases nothing.
 */
function releaseQueryAt(releaseAt: number | null = null, now: number): number {
  if (releaseAt === null) return now + day;
  return releaseAt > now ? Math.min(now + day, releaseAt + minute) : now + hour;
}

/** How long after its moment a release may be late: banks close for holidays that no acquirer names. */
const releaseLateMs = 5 * day;
/** Where the acquirer names no moment: the longest that a card payment in Brazil is held is 30 days and the weekend behind them. */
const releaseMostMs = 40 * day;

/**
 * How long to wait after a failed query, in milliseconds: 5 s doubled per failure, jittered downwards by at most half, at most 30 min, so
 * that waits neither shrink while failures go on nor ever fall below five seconds (full jitter would do both, and jitter below
 * the cap would make 15 min of 30).
 */
export function waitAfterFailure(failures: number, jitter: number, retryAfterMs: number | null): number {
  const full = 5 * second * 2 ** Math.min(failures, 12);
  return Math.max(Math.min(30 * minute, full - Math.floor((full / 2) * jitter)), patience(retryAfterMs));
}

/** The reason for which it waited is over: it goes out at once, or after the attempt that is under way. */
export const broughtForward = (intent: Intent, now: number): Intent => ({
  ...intent,
  ...{ failures: 0, undecidedSince: null, answeredAt: null },
  dueAt: intent.state === 'ready' ? now : intent.dueAt,
});

/** How long a provider's Retry-After is heeded, in milliseconds. */
export const patience = (retryAfterMs: number | null): number =>
  Math.min(retryAfterMs ?? 0, retryAfterMostMs);

/** The priority of what is due for sending, before all queries: first sends, ended leases, repeats. They need no query of the shared limit. */
export const sendPriority = 0;

/** Of what is queried one by one: refunds, and whatever else no listing answers for. */
export const singlePriority = 3;

/** Of transfers and refunds. Charges share the first of them alone, while they are sent. */
export const outgoingPriorities = [sendPriority, 1, 2, singlePriority] as const;

/**
 * In which order awaiting payments are queried: unknown transfers, pending transfers, what is queried one by one, unknown charges, pending charges.
 * A refresh on demand claims its row itself.
 */
export const queryPriorities = [1, 2, singlePriority, 4, 5] as const;

/** Of a payment that waits for its end. */
export function priorityOf(kind: SentKind, status: PaymentStatus): (typeof queryPriorities)[number] {
  if (kind === 'transfer') return status === 'pending' ? 2 : 1;
  if (kind === 'deposit') return status === 'pending' ? 5 : 4;
  return singlePriority;
}

/**
 * Whether it was sent to another account than the one that is behind the connection now, or that one is not known: then it is neither sent nor
 * asked for there. An answer "not found" of another account proves nothing, and the same id is new to it.
 */
export const isElsewhere = (
  { identity }: Pick<Intent, 'identity'>,
  provider: { identity: string | null },
): boolean => provider.identity === null || (identity !== null && identity !== provider.identity);

/** Whether the next thing to do is to send it again under the same id. */
export const wantsRepeat = (intent: Intent, capabilities: Capabilities): boolean =>
  intent.state === 'awaiting' && intent.absences >= 2 && !intent.known && capabilities.repeatIsSafe;

/**
 * Whether the next thing to do is its second step, which sends it. The first one goes out as soon as the provider says that it has the payout: before it,
 * no call of ours could have sent anything. Another one goes out as a repeat does: where that is safe, after two queries that found it not sent.
 */
export const wantsSecondStep = (
  { state, step, absences }: Intent,
  { confirmsPayouts, repeatIsSafe }: Pick<Capabilities, 'confirmsPayouts' | 'repeatIsSafe'>,
): boolean =>
  confirmsPayouts === true &&
  state === 'awaiting' &&
  (step === 'prepared' || (step === 'confirmed' && absences >= 2 && repeatIsSafe));

/** Its owner begins the second step in the attempt of the first: recorded before the call, under the same fence. */
export function startSecondStep(
  intent: Intent,
  providerRef: string | null,
  now: number,
  { sendTimeoutMs }: Pick<Capabilities, 'sendTimeoutMs'>,
): Intent {
  const leaseUntil = now + sendTimeoutMs + leaseMarginMs;
  return {
    ...{ ...intent, step: 'confirmed', known: true, leaseUntil, dueAt: leaseUntil },
    providerRef: intent.providerRef ?? providerRef,
  };
}

/**
 * Whether its only attempt was answered with a refusal, where the look that proves it failed. It is queried by its id alone: a list that does not show it
 * proves nothing, and a repeat after two such lists would leave nothing that could be proven.
 */
const isUnlooked = ({ attempt, known, refused, providerRef }: Intent): boolean =>
  attempt === 1 && refused && !known && providerRef === null;

/** Whether a query that begins then, and does not find it, is that look. */
export const isRefusedUnlooked = (intent: Intent, queriedAt: number): boolean =>
  intent.state === 'awaiting' &&
  isUnlooked(intent) &&
  queriedAt >= (intent.attemptEndedAt ?? Number.POSITIVE_INFINITY);

/**
 * The provider has asked for it, or named it, in a call of its own: it has it, so it is never sent again. One that was to be repeated, because two queries
 * had not found it, is queried instead; an attempt that is under way continues.
 */
export const afterNamed = (intent: Intent, providerRef: string, status: PaymentStatus): Intent => ({
  ...intent,
  ...{ providerRef, known: true, absences: 0, absentAt: null },
  ...(intent.state === 'awaiting' && { priority: priorityOf(intent.kind, status) }),
});

/**
 * Whether its creation was certainly not sent, so that another connection may make it: no attempt counts, and the provider has said nothing
 * of the id. A payout has one connection, whatever happens.
 */
export const mayMove = ({ kind, state, attempt, known, refused }: Intent): boolean =>
  kind === 'deposit' && state === 'ready' && attempt === 0 && !known && !refused;

/**
 * The owner named by `fence` begins an attempt.
 * @param identity the account at the provider that it goes to
 * @param lostAttempts after a restore the id may have gone out in the time that was lost: one attempt more than the row knows of
 */
export function startAttempt(
  intent: Intent,
  fence: string,
  now: number,
  { capabilities, identity }: { capabilities: Pick<Capabilities, 'sendTimeoutMs'>; identity: string | null },
  lostAttempts: number,
): Intent {
  const leaseUntil = now + capabilities.sendTimeoutMs + leaseMarginMs;
  return {
    ...intent,
    priority: sendPriority,
    state: 'sending',
    fence,
    attempt: intent.attempt + 1 + (intent.state === 'ready' ? lostAttempts : 0),
    leaseUntil,
    dueAt: leaseUntil,
    attemptEndedAt: null,
    absences: 0,
    absentAt: null,
    step: intent.step === null ? null : 'confirmed',
    identity: intent.identity ?? identity,
  };
}

/** The lease ended without an outcome: the attempt may have arrived, so from now on it may only be queried. */
export const takeOver = (intent: Intent, fence: string, status: PaymentStatus, now: number): Intent => ({
  ...intent,
  priority: priorityOf(intent.kind, status),
  state: 'awaiting',
  fence,
  leaseUntil: null,
  dueAt: now,
  attemptEndedAt: intent.leaseUntil,
});

/** The result of a send, a query or a report that leaves open what was sent. */
export type AttemptResult =
  /** The owner's send was accepted. */
  | { type: 'answered' }
  /** A webhook or a query reported something new of the id. */
  | { type: 'news' }
  /** The provider has it and has not sent it. `startedAt`: when the query began that said so; null: the owner's own call is answered so. */
  | { type: 'prepared'; startedAt: number | null; repeatIsSafe: boolean }
  /** It reported what was known. */
  | { type: 'unchanged' }
  /** A repeat was refused; or the only attempt was, and whether nothing is there could not be looked at. */
  | { type: 'refused' }
  | { type: 'duplicate' }
  | { type: 'unclear'; cause: UnclearCause; retryAfterMs: number | null }
  /** `waits`: it was not its time yet, and a person looks when that lasts. */
  | { type: 'notSent'; retryAfterMs?: number; waits?: true }
  /** A query, begun at `startedAt`, did not find it. `removed`: it was there, and a person removed it: it is not sent again. */
  | { type: 'notFound'; startedAt: number; repeatIsSafe: boolean; removed?: true }
  /** `answered`: the provider answered, and not what was asked: it cannot be read, or is an error that no table knows. */
  | { type: 'queryFailed'; retryAfterMs: number | null; answered?: boolean };

/** An answer that cannot be read, or an error that no table knows, is an answer: a payment that gets nothing else does not wait without end. */
export const failedQuery = ({
  cause,
  retryAfterMs,
}: Pick<Unclear, 'cause' | 'retryAfterMs'>): AttemptResult => ({
  type: 'queryFailed',
  retryAfterMs,
  answered: cause === 'unreadable' || cause === 'unknownRefusal',
});

/**
 * Whether the provider has answered queries for a day without ending the payment: not found, not yet decided, a report that
 * does not match, an answer that cannot be read. A charge that waits for its payer is not overdue before a day after its deadline; one without a deadline
 * counts from its creation.
 */
export function isOverdue(
  payment: Followed & { createdAt: number },
  { undecidedSince, answeredAt }: Intent,
): boolean {
  if (undecidedSince === null || answeredAt === null) return false;
  const { releaseAt = null } = payment;
  if (payment.kind === 'checkout' && payment.status === 'paid')
    return answeredAt > (releaseAt === null ? undecidedSince + releaseMostMs : releaseAt + releaseLateMs);
  const waits = waitsForPayer(payment);
  const from = waits ? Math.max(payment.expiresAt ?? payment.createdAt, undecidedSince) : undecidedSince;
  return answeredAt - from > undecidedAfterMs;
}

export function afterEnding(
  intent: Intent,
  ending: AttemptResult,
  payment: Followed,
  now: number,
  jitter: number,
): Intent {
  const refused = intent.refused || ending.type === 'refused';
  const ended: Intent = {
    ...intent,
    refused,
    priority: isUnlooked({ ...intent, refused }) ? singlePriority : priorityOf(payment.kind, payment.status),
    state: 'awaiting',
    leaseUntil: null,
    attemptEndedAt: intent.state === 'sending' ? now : intent.attemptEndedAt,
  };
  const schedule = (newsAt: number): number => nextQueryAt(payment, newsAt, now, jitter);
  switch (ending.type) {
    case 'answered':
    case 'news':
      return afterNews(intent, ended, ending.type, now, schedule(now));
    case 'prepared':
      return afterPrepared(intent, ended, ending, now, schedule(intent.newsAt), jitter);
    case 'unchanged':
      if (intent.state !== 'awaiting') return intent;
      return {
        ...ended,
        known: true,
        failures: 0,
        absences: 0,
        absentAt: null,
        undecidedSince: intent.undecidedSince ?? now,
        answeredAt: now,
        step: intent.step === null ? null : 'sent',
        dueAt: schedule(intent.newsAt),
      };
    case 'refused':
      return {
        ...ended,
        undecidedSince: ended.undecidedSince ?? now,
        dueAt: schedule(ended.newsAt),
      };
    case 'duplicate':
      return { ...ended, known: true, dueAt: schedule(now), newsAt: now };
    case 'unclear': {
      // Only the first attempt starts the schedule: repeats of a silent provider grow rarer with its queries.
      const newsAt = intent.attempt === 1 ? now : intent.newsAt;
      return { ...ended, newsAt, dueAt: Math.max(schedule(newsAt), now + patience(ending.retryAfterMs)) };
    }
    case 'notSent': {
      const failures = intent.failures + 1;
      const wait = Math.min(30 * second, second * 2 ** Math.min(failures - 1, 5));
      const waits = ending.waits && { undecidedSince: intent.undecidedSince ?? now, answeredAt: now };
      const least = waits ? waitAfterFailure(failures, jitter, null) : wait;
      const dueAt = now + Math.max(least, patience(ending.retryAfterMs ?? null));
      // The first step is done: what did not go out is the second.
      if (intent.step !== null)
        return { ...ended, priority: sendPriority, step: 'prepared', failures, dueAt };
      // No byte went out: the attempt does not count. Only the first can become `ready` again.
      const attempt = intent.attempt - 1;
      return attempt === 0
        ? {
            ...ended,
            ...waits,
            priority: sendPriority,
            state: 'ready',
            attempt,
            failures,
            dueAt,
            attemptEndedAt: null,
            identity: null,
          }
        : { ...ended, ...waits, attempt, failures, dueAt };
    }
    case 'notFound':
      return afterAbsence(intent, ended, ending, now, schedule(intent.newsAt));
    case 'queryFailed': {
      if (intent.state !== 'awaiting') return intent;
      const failures = intent.failures + 1;
      const dueAt = now + waitAfterFailure(failures, jitter, ending.retryAfterMs);
      if (!ending.answered) return { ...ended, failures, dueAt };
      return { ...ended, failures, dueAt, undecidedSince: intent.undecidedSince ?? now, answeredAt: now };
    }
  }
}

/**
 * @param ended the intent with no attempt under way
 * @param nextAt when it is queried next
 */
function afterNews(
  intent: Intent,
  ended: Intent,
  type: 'answered' | 'news',
  now: number,
  nextAt: number,
): Intent {
  // The provider knows the id from now on, whatever a later query does not find.
  const heard = {
    newsAt: now,
    known: true,
    failures: 0,
    absences: 0,
    absentAt: null,
    undecidedSince: null,
    answeredAt: null,
    step: intent.step === null ? null : ('sent' as const),
  };
  // While its owner is still sending, state and lease stay as they are.
  if (type === 'news' && intent.state === 'sending') return { ...intent, ...heard };
  const attempted = intent.state === 'ready' ? { attempt: 1, attemptEndedAt: now } : {};
  return { ...ended, ...heard, ...attempted, dueAt: nextAt };
}

/**
 * The provider has it and has sent nothing. That is an answer of the provider, and no end.
 * @param ended the intent with no attempt under way
 * @param nextAt when it is queried next, unless its second step goes out
 */
function afterPrepared(
  intent: Intent,
  ended: Intent,
  { startedAt, repeatIsSafe }: Extract<AttemptResult, { type: 'prepared' }>,
  now: number,
  nextAt: number,
  jitter: number,
): Intent {
  // Said of a time in which another owner's attempt is under way.
  if (startedAt !== null && intent.state === 'sending') return { ...intent, known: true };
  const waits: Intent = {
    ...ended,
    ...(intent.state === 'ready' ? { attempt: 1, attemptEndedAt: now } : {}),
    known: true,
    undecidedSince: intent.undecidedSince ?? now,
    answeredAt: now,
  };
  const sends = { priority: sendPriority, step: 'prepared' as const };
  switch (intent.step) {
    case null:
    case 'prepared':
      return { ...waits, ...sends, failures: 0, absences: 0, absentAt: null, dueAt: now };
    case 'sent':
      return { ...waits, failures: 0, dueAt: nextAt };
    case 'confirmed': {
      // The second step itself was answered so, for lack of money for example: it is tried again, ever more rarely.
      if (startedAt === null) {
        const failures = intent.failures + 1;
        return { ...waits, ...sends, failures, dueAt: now + waitAfterFailure(failures, jitter, null) };
      }
      const counts = countsAsAbsence(intent, startedAt);
      const absences = intent.absences + (counts ? 1 : 0);
      const repeats = absences >= 2 && repeatIsSafe;
      return {
        ...waits,
        priority: repeats ? sendPriority : ended.priority,
        failures: 0,
        absences,
        absentAt: counts ? startedAt : intent.absentAt,
        dueAt: repeats ? now : nextAt,
      };
    }
  }
}

/** Whether a query that began then says something of the attempts that have ended, and something new. */
const countsAsAbsence = ({ attemptEndedAt, absentAt }: Intent, startedAt: number): boolean =>
  startedAt >= (attemptEndedAt ?? Number.POSITIVE_INFINITY) &&
  (absentAt === null || startedAt >= absentAt + absenceGapMs);

/**
 * @param ended the intent with no attempt under way
 * @param nextAt when it is queried next, unless it is sent again
 */
function afterAbsence(
  intent: Intent,
  ended: Intent,
  { startedAt, repeatIsSafe, removed }: Extract<AttemptResult, { type: 'notFound' }>,
  now: number,
  nextAt: number,
): Intent {
  const known = intent.known || removed === true;
  // A query that began before an attempt and ended during it: the owner keeps its lease, and the attempt has not ended.
  if (intent.state !== 'awaiting') return known === intent.known ? intent : { ...intent, known };
  // Of a prepared one only that it stands there unsent counts.
  const counts = intent.step === null && countsAsAbsence(intent, startedAt);
  const absences = intent.absences + (counts ? 1 : 0);
  const repeats = absences >= 2 && !known && repeatIsSafe;
  return {
    ...ended,
    known,
    priority: repeats ? sendPriority : ended.priority,
    failures: 0,
    absences,
    absentAt: counts ? startedAt : intent.absentAt,
    undecidedSince: intent.undecidedSince ?? now,
    answeredAt: now,
    dueAt: repeats ? now : nextAt,
  };
}
