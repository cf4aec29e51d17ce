import { type BinaryLike, scrypt, timingSafeEqual } from 'node:crypto';
import { answerWithinMs, before } from '../ground/deadline.ts';
import { type ErrorCode, refuse } from '../ground/errors.ts';
import type { Mail } from '../ground/mail.ts';
import type { Caller } from '../http/auth.ts';
import { put, read, remove, type View, type Write } from '../ledger/till.ts';
import { findOperation } from '../operations/operations.sql.ts';
import { type Cause, causeOfCall, newPayment, type Payment } from '../payments/payment.ts';
import { paymentKey, payments } from '../payments/payments.sql.ts';
import { type Facts, next, type PaymentEvent } from '../payments/state.ts';
import type { Ids } from '../ports/ids.ts';
import { fingerprintOf, paymentIdFor } from '../request-keys/idempotency.ts';
import type { AcceptDeps } from '../settlement/dispatch/accept.ts';
import {
  admissionReads,
  admit,
  begin,
  claimIn,
  claimReads,
  planDispatch,
  sent,
  stateAllows,
  stateReads,
} from '../settlement/dispatch/accept.ts';
import { openOrReport, reportUnreadable, unreadableKeyOf } from '../settlement/incidents/unreadable.ts';
import { announce } from '../settlement/payment-events.ts';
import { requireWithinLimits, withdrawalFeeOf } from './create.ts';
import { type Draft, drafts, findOverdue } from './draft.sql.ts';
import { codeLetter } from './draft-letter.ts';
import { existsInDict } from './pix-key.ts';
import type { TransferRequest } from './schema.ts';

/**
 * Transfers that a person asks for, confirmed by a code from their mail.
 *
 * A draft is a payment in state `draft`: it has its fee and its request key, and reserves nothing. Its code is six digits, good for
 * ten minutes, for this draft and nothing else: amount, key and operation of a payment never change. A draft of the panel is
 * confirmed in the session that asked for the code, and by no API key. Five wrong codes or
 * thirty minutes end the draft. What is stored of the code is a scrypt hash; the code itself stands in the mail and nowhere
 * else, no log included.
 *
 * Confirming is accepting a transfer: the reserve and the intent commit in one flush, under the same rules as an automatic one
 * (`settlement/dispatch/accept.ts`).
 */

/** What a draft needs; the command line has no more. */
export type DraftDeps = Pick<
  AcceptDeps,
  'till' | 'sql' | 'clock' | 'ids' | 'identity' | 'secrets' | 'log'
> & { mail: Mail };

/** What confirming a draft needs besides: it is accepted as any transfer is. */
type ConfirmDeps = DraftDeps & AcceptDeps;

const minute = 60_000;
const codeLifeMs = 10 * minute;
const draftLifeMs = 30 * minute;
const tries = 5;
/** The first mail included. */
const sends = 3;

/**
 * Writes a draft and mails its code. A repeat with the same request key returns the draft as it is and mails nothing.
 * @param request normalised
 * @param email where the code goes
 * @param ip from where it was asked for, to be shown in the mail
 * @param session of the person who asks: the code is good in that session alone
 * @throws ApiError `idempotency_conflict`, `account_disabled`, `withdrawals_blocked`, `withdrawals_paused`,
 *         `amount_out_of_limits`, `amount_below_fee`, `operation_not_found`
 */
export async function createDraft(
  deps: DraftDeps,
  caller: Caller,
  request: TransferRequest,
  email: string,
  ip?: string,
  session?: string,
): Promise<Payment> {
  const { accountId, operationId } = caller;
  const { amountCents, pixKey, pixKeyType, description, requestKey } = request;
  const id = paymentIdFor(deps.identity, { id: accountId, number: caller.accountNumber }, requestKey);
  // `draft` makes it another request than the automatic transfer with the same data.
  const asked = { amountCents, pixKey, pixKeyType, description, draft: true };
  const fingerprint = fingerprintOf(deps.identity, { ...asked, kind: 'transfer', operationId });
  const key = paymentKey(accountId, id);
  const chain = { accountId, chainId: operationId };
  const token = deps.ids.uuid();
  const sealedKey = deps.secrets.seal(pixKey, id);
  const made = await newCode(deps, id, session);
  const { payment, fresh } = await deps.till.submit<{ payment: Payment; fresh: boolean }>({
    token,
    deadlineMs: deps.clock.monotonicMs() + answerWithinMs,
    chains: [chain],
    reads: [...claimReads(accountId, id, requestKey), read(drafts, key), ...stateReads(caller)],
    eventRefs: [],
    decide: (view) => {
      const { balance, earlier } = claimIn(view, chain, id, requestKey, fingerprint);
      if (earlier) return { answer: { payment: earlier, fresh: false } };
      const now = deps.clock.now();
      const account = stateAllows(view, caller, 'transfer', balance.frozen, now);
      const payment = newPayment(
        {
          accountId,
          id,
          operationId,
          kind: 'transfer',
          amountCents,
          feeCents: withdrawalFeeOf(account, amountCents),
          requestKey,
          fingerprint,
          description,
          payerName: null,
          pixKey: sealedKey,
          pixKeyType,
          command: token,
        },
        'draft',
        now,
        causeOf(caller),
      );
      const draft: Draft = {
        accountId,
        paymentId: id,
        operationId,
        email: deps.secrets.seal(email, id),
        codeSalt: made.salt,
        codeHash: made.hash,
        codeExpiresAt: now + codeLifeMs,
        triesLeft: tries,
        sendsLeft: sends - 1,
        expiresAt: now + draftLifeMs,
      };
      return { answer: { payment, fresh: true }, writes: [put(payments, payment), put(drafts, draft)] };
    },
  });
  if (fresh) await mailCode(deps, payment, { to: email, pixKey, code: made.code, ip });
  return payment;
}

/**
 * Mails another code, which ends the one before and is good in the session that asked for it. The tries that are left stay as
 * they are.
 * @throws ApiError `payment_not_found`, `not_a_draft`, `rate_limited` after three mails
 */
export async function resendCode(
  deps: DraftDeps,
  caller: Caller,
  paymentId: string,
  ip?: string,
  session?: string,
): Promise<Payment> {
  const made = await newCode(deps, paymentId, session);
  const { payment, draft } = await submitOnDraft<{ payment: Payment; draft: Draft }>(
    deps,
    caller,
    paymentId,
    (_view, payment, draft, now) => {
      if (draft.sendsLeft === 0) throw refuse('rate_limited', { details: [{ policy: 'codes' }] });
      const renewed: Draft = {
        ...draft,
        codeSalt: made.salt,
        codeHash: made.hash,
        codeExpiresAt: Math.min(now + codeLifeMs, draft.expiresAt),
        sendsLeft: draft.sendsLeft - 1,
      };
      return { answer: { payment, draft: renewed }, writes: [put(drafts, renewed)] };
    },
  );
  const unreadable = unreadableKeyOf(payment, 'draft');
  const to = await openOrReport(deps, draft.email, paymentId, unreadable);
  const pixKey = await openOrReport(deps, payment.pixKey ?? Buffer.alloc(0), paymentId, unreadable);
  if (to === null || pixKey === null) throw refuse('processing_unavailable', { paymentId });
  await mailCode(deps, payment, { to: to.toString(), pixKey: pixKey.toString(), code: made.code, ip });
  return payment;
}

type Confirmed =
  | { payment: Payment; fence: string | null; breakerOpen: boolean }
  | { refused: ErrorCode; triesLeft?: number }
  | { salt: 'changed' }
  | { unreadable: Payment };

/**
 * Makes a draft a transfer: reserve and intent in one flush, then sends it as any other.
 * @returns the payment, `cancelled` when it was refused at once
 * @throws ApiError `payment_not_found`, `not_a_draft`, `invalid_code`, `code_expired`, `insufficient_balance`, and what refuses
 *         an automatic transfer
 */
export async function confirmDraft(
  deps: ConfirmDeps,
  caller: Caller,
  paymentId: string,
  code: string,
  session?: string,
): Promise<Payment> {
  const way = planDispatch(deps, caller, 'transfer', deps.settings.transferWaitMs);
  const { accountId, operationId } = caller;
  const chain = { accountId, chainId: operationId };
  const key = paymentKey(accountId, paymentId);
  for (;;) {
    // The hash takes some 50 ms: made before the lock, under the salt of this moment.
    const [stored] = await before(deps.clock, way.acceptByMs, drafts.read(deps.sql, [key]));
    const given = stored && (await hashesOf(deps, { paymentId, session, code }, stored.codeSalt));
    const token = deps.ids.uuid();
    const confirmed = await deps.till.submit<Confirmed>({
      token,
      deadlineMs: way.acceptByMs,
      chains: [chain],
      reads: [read(payments, key), read(drafts, key), ...admissionReads(caller, way)],
      eventRefs: [],
      decide: (view) => {
        const { payment, draft } = draftIn(view, caller, paymentId);
        const now = deps.clock.now();
        const admission = admit(view, caller, way, view.balance(chain)?.frozen ?? false, now);
        if (draft.expiresAt <= now) {
          return {
            answer: { refused: 'code_expired' },
            writes: ended(deps, payment, 'draft_expired', { by: 'clock', id: paymentId }, way.connection)
              .writes,
          };
        }
        if (draft.codeExpiresAt <= now) throw refuse('code_expired', { paymentId });
        // Another code was mailed since: what was given is looked at under its salt.
        if (!stored || !given || !stored.codeSalt.equals(draft.codeSalt))
          return { answer: { salt: 'changed' } };
        const cause = causeOf(caller);
        if (!given.some((hash) => timingSafeEqual(hash, draft.codeHash))) {
          const triesLeft = draft.triesLeft - 1;
          const writes =
            triesLeft > 0
              ? [put(drafts, { ...draft, triesLeft })]
              : ended(deps, payment, 'draft_locked', causeOfCall('rule', caller), way.connection).writes;
          return { answer: { refused: 'invalid_code', triesLeft }, writes };
        }
        requireWithinLimits(admission.account, payment.amountCents);
        const step = stepOf(payment, { type: 'confirmed' }, cause, now);
        const pixKey = openedOrNull(deps, payment);
        if (pixKey === null) return { answer: { unreadable: payment } };
        const known = payment.pixKeyType !== null && existsInDict(payment.pixKeyType, pixKey);
        const refusedAs = known ? null : 'pix_key_not_found';
        const begun = begin(deps, view, way, admission, {
          payment: step.payment,
          refusedAs,
          token,
          now,
          caller,
        });
        return {
          answer: {
            payment: begun.payment,
            fence: begun.fence,
            breakerOpen: admission.breaker?.open ?? false,
          },
          postings: [
            ...step.postings.map((posting) => ({ ...posting, chain, subject: paymentId })),
            ...begun.postings,
          ],
          writes: [...begun.writes, remove(drafts, key)],
        };
      },
    });
    if ('salt' in confirmed) continue;
    if ('unreadable' in confirmed) {
      await reportUnreadable(deps, unreadableKeyOf(confirmed.unreadable, 'draft'));
      throw refuse('processing_unavailable', { paymentId });
    }
    if ('refused' in confirmed) {
      const { refused, triesLeft } = confirmed;
      deps.eventsWritten();
      throw refuse(refused, { paymentId, ...(triesLeft !== undefined && { details: [{ triesLeft }] }) });
    }
    deps.breakers.seen(way.connection, way.call, confirmed.breakerOpen);
    return sent(deps, way, confirmed.payment, confirmed.fence);
  }
}

/**
 * Ends a draft.
 * @throws ApiError `payment_not_found`, `not_a_draft`
 */
export async function cancelDraft(
  deps: DraftDeps & Pick<AcceptDeps, 'eventsWritten'>,
  caller: Caller,
  paymentId: string,
): Promise<Payment> {
  const connection = caller.test ? 'simulator' : 'live';
  const cancelled = await submitOnDraft<Payment>(deps, caller, paymentId, (_view, payment) => {
    const { payment: after, writes } = ended(deps, payment, 'draft_cancelled', causeOf(caller), connection);
    return { answer: after, writes };
  });
  deps.eventsWritten();
  return cancelled;
}

const expireAtOnce = 100;

/**
 * Cancels the drafts whose time is over.
 * @returns whether there may be more
 */
export async function expireDrafts(deps: ConfirmDeps): Promise<boolean> {
  const overdue = await findOverdue(deps.sql, deps.clock.now(), expireAtOnce);
  await Promise.all(
    overdue.map(({ accountId, paymentId, operationId, connection }) => {
      const key = paymentKey(accountId, paymentId);
      return deps.till.submit<void>({
        token: deps.ids.uuid(),
        deadlineMs: deps.clock.monotonicMs() + answerWithinMs,
        chains: [{ accountId, chainId: operationId }],
        reads: [read(payments, key), read(drafts, key)],
        eventRefs: [],
        decide: (view) => {
          const payment = view.get(payments, key);
          const draft = view.get(drafts, key);
          if (payment?.status !== 'draft' || !draft || draft.expiresAt > deps.clock.now()) {
            return { answer: undefined };
          }
          const cause: Cause = { by: 'clock', id: paymentId };
          return {
            answer: undefined,
            writes: ended(deps, payment, 'draft_expired', cause, connection).writes,
          };
        },
      });
    }),
  );
  if (overdue.length > 0) deps.eventsWritten();
  return overdue.length === expireAtOnce;
}

// ---------------------------------------------------------------------------------------------------------- in the flush

function submitOnDraft<Answer>(
  deps: DraftDeps,
  caller: Caller,
  paymentId: string,
  decide: (view: View, payment: Payment, draft: Draft, now: number) => { answer: Answer; writes: Write[] },
): Promise<Answer> {
  const { accountId, operationId } = caller;
  const key = paymentKey(accountId, paymentId);
  return deps.till.submit<Answer>({
    token: deps.ids.uuid(),
    deadlineMs: deps.clock.monotonicMs() + answerWithinMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(drafts, key)],
    eventRefs: [],
    decide: (view) => {
      const { payment, draft } = draftIn(view, caller, paymentId);
      return decide(view, payment, draft, deps.clock.now());
    },
  });
}

/** @throws ApiError `operation_not_found`, `payment_not_found`, `not_a_draft` */
function draftIn(view: View, caller: Caller, paymentId: string): { payment: Payment; draft: Draft } {
  const { accountId, operationId } = caller;
  const balance = view.balance({ accountId, chainId: operationId });
  if (!balance || balance.deletedAt !== null) throw refuse('operation_not_found');
  const key = paymentKey(accountId, paymentId);
  const payment = view.get(payments, key);
  if (payment?.operationId !== operationId || payment.kind !== 'transfer') throw refuse('payment_not_found');
  const draft = view.get(drafts, key);
  if (payment.status !== 'draft' || !draft) throw refuse('not_a_draft', { paymentId });
  return { payment, draft };
}

function ended(
  deps: DraftDeps,
  payment: Payment,
  reason: Extract<PaymentEvent, { type: 'draftEnded' }>['reason'],
  cause: Cause,
  connection: string,
): { payment: Payment; writes: Write[] } {
  const step = stepOf(payment, { type: 'draftEnded', reason }, cause, deps.clock.now());
  return {
    payment: step.payment,
    writes: [
      put(payments, step.payment),
      remove(drafts, paymentKey(payment.accountId, payment.id)),
      ...announce(deps, connection, step.payment, 'draft', step.events),
    ],
  };
}

function stepOf(payment: Payment, event: PaymentEvent, cause: Cause, now: number) {
  const facts: Facts = {
    now,
    cause,
    operationDeleted: false,
    incidentOpen: false,
    posted: () => false,
    knowsReturn: () => false,
    isPixKey: () => false,
  };
  const step = next(payment, event, facts);
  if (!step) throw new Error(`a draft took no ${event.type}`);
  return step;
}

const causeOf = (caller: Caller): Cause => causeOfCall('api', caller);

// ------------------------------------------------------------------------------------------------------------------ codes

async function mailCode(
  deps: DraftDeps,
  payment: Payment,
  about: { to: string; pixKey: string; code: string; ip: string | undefined },
): Promise<void> {
  const operation = await findOperation(deps.sql, payment.accountId, payment.operationId);
  const operationName = operation?.name ?? payment.operationId;
  await deps.mail.send(codeLetter({ ...about, payment, operationName }));
}

async function newCode(
  deps: DraftDeps,
  paymentId: string,
  session: string | undefined,
): Promise<{ code: string; salt: Buffer; hash: Buffer }> {
  const code = sixDigits(deps.ids);
  const salt = deps.ids.bytes(16);
  return {
    code,
    salt,
    hash: await hashOf(deps.secrets.derive(codePurpose), { paymentId, session, code }, salt),
  };
}

interface GivenCode {
  paymentId: string;
  session: string | undefined;
  code: string;
}

const codePurpose = 'draft codes';

/** Under every secret at hand: a code that was mailed before the secret was replaced is good until its draft ends. */
const hashesOf = (deps: DraftDeps, given: GivenCode, salt: BinaryLike): Promise<Buffer[]> =>
  Promise.all(deps.secrets.known.map(({ derive }) => hashOf(derive(codePurpose), given, salt)));

/** For a decision, which must not throw over a value that cannot be opened. */
function openedOrNull(deps: DraftDeps, payment: Payment): string | null {
  try {
    return deps.secrets.open(payment.pixKey ?? Buffer.alloc(0), payment.id).toString();
  } catch {
    return null;
  }
}

/** Every code equally often: numbers from the last, incomplete million of 32 bits are drawn again. */
export function sixDigits(ids: Ids): string {
  const most = Math.floor(2 ** 32 / 1_000_000) * 1_000_000;
  for (;;) {
    const drawn = ids.bytes(4).readUInt32BE();
    if (drawn < most) return String(drawn % 1_000_000).padStart(6, '0');
  }
}

/**
 * scrypt with 16 MiB, some 50 ms of a core, over the code, its draft, the session and a secret of the installation. A million codes can be
 * tried against any hash in a short time: the secret prevents that for an attacker who has a copy of the database.
 */
function hashOf(
  secret: Buffer,
  { paymentId, session = '', code }: GivenCode,
  salt: BinaryLike,
): Promise<Buffer> {
  const pepper = secret.toString('base64');
  return new Promise((resolve, reject) => {
    scrypt(`${pepper}:${paymentId}:${session}:${code}`, salt, 32, { N: 16_384, r: 8, p: 1 }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
}
