import { timingSafeEqual } from 'node:crypto';
import {
  type Allowed,
  admissionReads,
  createSendIntent,
  findEarlier,
  liveBalance,
  requestKeyReads,
  requireAdmission,
  requireAllowed,
  stateReads,
} from '../../flow/admission.ts';
import type { DispatchPlan } from '../../flow/dispatch-plan.ts';
import type { Caller } from '../../ground/caller.ts';
import { type ErrorCode, refuse } from '../../ground/errors.ts';
import { announce } from '../../kinds/payment/payment-events.ts';
import { existsInDict } from '../../kinds/transfer/pix-key.ts';
import {
  requireWithinLimits,
  type TransferOrder,
  transfer,
  withdrawalFeeOf,
} from '../../kinds/transfer/transfer.ts';
import { metadataOf } from '../../money/metadata.ts';
import { type Cause, causeOfCall, newPayment, type Payment } from '../../money/payment.ts';
import { factsOfDecision, next, type PaymentEvent, type Step } from '../../money/state.ts';
import { type Ids, idsOf } from '../../ports/ids.ts';
import type { Receiver } from '../../provider/provider.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { type Command, type Decision, put, read, remove, type View, type Write } from '../../store/till.ts';
import { type Draft, drafts } from './draft.sql.ts';

/** The commands of a draft's life. Pure. */

const minute = 60_000;
const codeLifeMs = 10 * minute;
const draftLifeMs = 30 * minute;
const tries = 5;
/** Mails with a code, the first one included. */
const mailsMost = 3;

interface CodeHash {
  salt: Buffer;
  hash: Buffer;
}

interface Submission {
  token: string;
  deadlineMs: number;
}

export interface DraftCreation extends Submission {
  caller: Caller;
  /** Normalised. */
  request: TransferOrder;
  paymentId: string;
  fingerprint: Buffer;
  /** Sealed for this payment. */
  pixKey: Buffer;
  /** Sealed for this payment. */
  email: Buffer;
  code: CodeHash;
}

/** Writes a draft, or answers the one that an earlier request with the key made (`fresh: false`). */
export function buildDraft(input: DraftCreation): Command<{ payment: Payment; fresh: boolean }> {
  const { caller, request, paymentId, fingerprint, token, deadlineMs } = input;
  const { accountId, operationId } = caller;
  const { requestKey } = request;
  const chain = { accountId, chainId: operationId };
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [
      ...requestKeyReads(accountId, paymentId, requestKey),
      read(drafts, paymentKey(accountId, paymentId)),
      ...stateReads(caller),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const { frozen } = liveBalance(view, chain);
      const earlier = findEarlier(view, payments, { accountId, id: paymentId, requestKey }, fingerprint);
      if (earlier) return { answer: { payment: earlier, fresh: false } };
      const account = requireAllowed(view, transfer, caller, { frozen }, now);
      const feeCents = withdrawalFeeOf(account, request.amountCents);
      const payment = newDraftPayment(input, feeCents, now);
      const draft = newDraft(input, now);
      return { answer: { payment, fresh: true }, writes: [put(payments, payment), put(drafts, draft)] };
    },
  };
}

function newDraftPayment(input: DraftCreation, feeCents: number, now: number): Payment {
  const { caller, request, paymentId, fingerprint, pixKey, token } = input;
  const { accountId, operationId } = caller;
  const { amountCents, requestKey, description, pixKeyType } = request;
  return newPayment(
    {
      accountId,
      id: paymentId,
      operationId,
      kind: 'transfer',
      amountCents,
      feeCents,
      requestKey,
      fingerprint,
      description,
      metadata: metadataOf(request.metadata),
      payerName: null,
      pixKey,
      pixKeyType,
      command: token,
      connection: caller.connection,
    },
    'draft',
    now,
    causeOfCall('api', caller),
  );
}

const newDraft = ({ caller, paymentId, email, code }: DraftCreation, now: number): Draft => ({
  accountId: caller.accountId,
  paymentId,
  operationId: caller.operationId,
  email,
  codeSalt: code.salt,
  codeHash: code.hash,
  codeExpiresAt: now + codeLifeMs,
  triesLeft: tries,
  sendsLeft: mailsMost - 1,
  expiresAt: now + draftLifeMs,
});

interface DraftInput extends Submission {
  caller: Caller;
  paymentId: string;
}

/** Replaces the code. @throws ApiError from `decide`: `rate_limited` after three mails */
export const buildCodeRenewal = (
  input: DraftInput & { code: CodeHash },
): Command<{ payment: Payment; draft: Draft }> =>
  onDraft(input, ({ payment, draft }, now) => {
    if (draft.sendsLeft === 0) throw refuse('rate_limited', { details: [{ policy: 'codes' }] });
    const renewed: Draft = {
      ...draft,
      codeSalt: input.code.salt,
      codeHash: input.code.hash,
      codeExpiresAt: Math.min(now + codeLifeMs, draft.expiresAt),
      sendsLeft: draft.sendsLeft - 1,
    };
    return { answer: { payment, draft: renewed }, writes: [put(drafts, renewed)] };
  });

/** Stores who owns the draft's Pix key. @throws ApiError from `decide`: `not_a_draft` when it has ended meanwhile */
export const buildDraftReceiver = (input: DraftInput & { receiver: Receiver }): Command<Payment> =>
  onDraft(input, ({ payment }) => {
    const named = { ...payment, receiver: input.receiver };
    return { answer: named, writes: [put(payments, named)] };
  });

export const buildDraftCancellation = (input: DraftInput): Command<Payment> =>
  onDraft(input, ({ payment }, now) => {
    const { caller, token } = input;
    const event = { type: 'draftEnded', reason: 'draft_cancelled' } as const;
    const step = stepOf(payment, event, causeOfCall('api', caller), now);
    return { answer: step.payment, writes: endingWrites(idsOf(token), step, !caller.test) };
  });

function onDraft<Answer>(
  { caller, paymentId, token, deadlineMs }: DraftInput,
  decide: (found: { payment: Payment; draft: Draft }, now: number) => Decision<Answer>,
): Command<Answer> {
  const { accountId, operationId } = caller;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(drafts, key)],
    eventRefs: [],
    decide: (view, now) => decide(draftIn(view, caller, paymentId), now),
  };
}

export interface DraftConfirmation extends DraftInput {
  plan: DispatchPlan;
  /** The given code, hashed under the salt that was stored before the lock; null: no draft was found. */
  given: { salt: Buffer; hashes: readonly Buffer[] } | null;
  secrets: { open(sealed: Buffer, context: string): Buffer };
  /** It has the probe of an open breaker. */
  hasProbe: boolean;
}

export type Confirmed =
  | { payment: Payment; fence: string | null; breakerOpen: boolean }
  | { refused: ErrorCode; triesLeft?: number }
  /** Another code was mailed since: the given one must be hashed under its salt. */
  | { salt: 'changed' }
  /** Its Pix key cannot be opened. */
  | { unreadable: Payment };

/** Makes a draft a transfer: reserve and intent in one transaction, under the rules of an automatic transfer. */
export function buildConfirmation(input: DraftConfirmation): Command<Confirmed> {
  const { caller, paymentId, plan, given, token, hasProbe } = input;
  const { accountId, operationId } = caller;
  const chain = { accountId, chainId: operationId };
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs: input.deadlineMs,
    chains: [chain],
    reads: [read(payments, key), read(drafts, key), ...admissionReads(caller, plan)],
    eventRefs: [],
    decide: (view, now) => {
      const { payment, draft } = draftIn(view, caller, paymentId);
      const frozen = view.balance(chain)?.frozen ?? false;
      const admission = requireAdmission(view, transfer, { caller, plan, frozen, hasProbe }, now);
      const end = (reason: DraftEnd, cause: Cause): Write[] =>
        endingWrites(idsOf(token), stepOf(payment, { type: 'draftEnded', reason }, cause, now), !caller.test);
      if (draft.expiresAt <= now) {
        const writes = end('draft_expired', { by: 'clock', id: paymentId });
        return { answer: { refused: 'code_expired' }, writes };
      }
      if (draft.codeExpiresAt <= now) throw refuse('code_expired', { paymentId });
      if (!given?.salt.equals(draft.codeSalt)) return { answer: { salt: 'changed' } };
      if (!given.hashes.some((hash) => timingSafeEqual(hash, draft.codeHash))) {
        const triesLeft = draft.triesLeft - 1;
        const writes =
          triesLeft > 0
            ? [put(drafts, { ...draft, triesLeft })]
            : end('draft_locked', causeOfCall('rule', caller));
        return { answer: { refused: 'invalid_code', triesLeft }, writes };
      }
      return confirmed(view, input, admission, payment, now);
    },
  };
}

function confirmed(
  view: View,
  { caller, paymentId, plan, secrets, token }: DraftConfirmation,
  admission: Allowed,
  draft: Payment,
  now: number,
): Decision<Confirmed> {
  requireWithinLimits(admission.account, draft.amountCents);
  const chain = { accountId: caller.accountId, chainId: caller.operationId };
  const confirmation = { type: 'confirmed' } as const;
  const { payment: begins, postings } = stepOf(draft, confirmation, causeOfCall('api', caller), now);
  const payment = { ...begins, connection: plan.connection };
  const pixKey = openedOrNull(secrets, draft);
  if (pixKey === null) return { answer: { unreadable: draft } };
  const known = draft.pixKeyType !== null && existsInDict(draft.pixKeyType, pixKey);
  const refusedAs = known ? null : 'pix_key_not_found';
  const begun = createSendIntent<Payment>(view, transfer, plan, {
    row: payment,
    refusedAs,
    token,
    now,
    caller,
  });
  const breakerOpen = admission.breaker?.open ?? false;
  return {
    answer: { payment: begun.row, fence: begun.fence, breakerOpen },
    postings: [...postings.map((posting) => ({ ...posting, chain, subject: paymentId })), ...begun.postings],
    writes: [...begun.writes, remove(drafts, paymentKey(caller.accountId, paymentId))],
  };
}

export interface DraftExpiry extends Submission {
  accountId: string;
  paymentId: string;
  operationId: string;
  livemode: boolean;
}

/** Ends a draft whose time is over; one that was confirmed or ended meanwhile stays as it is. */
export function buildDraftExpiry(input: DraftExpiry): Command<void> {
  const { accountId, paymentId, operationId, livemode, token, deadlineMs } = input;
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(payments, key), read(drafts, key)],
    eventRefs: [],
    decide: (view, now) => {
      const payment = view.get(payments, key);
      const draft = view.get(drafts, key);
      if (payment?.status !== 'draft' || !draft || draft.expiresAt > now) return { answer: undefined };
      const event = { type: 'draftEnded', reason: 'draft_expired' } as const;
      const step = stepOf(payment, event, { by: 'clock', id: paymentId }, now);
      return { answer: undefined, writes: endingWrites(idsOf(token), step, livemode) };
    },
  };
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

type DraftEnd = Extract<PaymentEvent, { type: 'draftEnded' }>['reason'];

const endingWrites = (ids: Pick<Ids, 'uuid'>, { payment, events }: Step, livemode: boolean): Write[] => [
  put(payments, payment),
  remove(drafts, paymentKey(payment.accountId, payment.id)),
  ...announce(ids, livemode, payment, 'draft', events),
];

function stepOf(payment: Payment, event: PaymentEvent, cause: Cause, now: number): Step {
  const step = next(payment, event, factsOfDecision(now, cause));
  if (!step) throw new Error(`a draft took no ${event.type}`);
  return step;
}

/** A decision must not fail over a value that cannot be opened. */
function openedOrNull(secrets: DraftConfirmation['secrets'], payment: Payment): string | null {
  try {
    return secrets.open(payment.pixKey ?? Buffer.alloc(0), payment.id).toString();
  } catch {
    return null;
  }
}
