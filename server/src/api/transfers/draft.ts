import type { AcceptDeps } from '../../flow/accept.ts';
import { awaitOutcome } from '../../flow/await-outcome.ts';
import { type DispatchPlan, planDispatch, probeOf } from '../../flow/dispatch-plan.ts';
import { withProbe } from '../../flow/probe.ts';
import type { Caller } from '../../ground/caller.ts';
import { answerWithinMs, before } from '../../ground/deadline.ts';
import { refuse } from '../../ground/errors.ts';
import type { Mail } from '../../ground/mail.ts';
import { type TransferOrder, transfer } from '../../kinds/transfer/transfer.ts';
import { askedMetadata, metadataOf } from '../../money/metadata.ts';
import type { Payment } from '../../money/payment.ts';
import { fingerprintOf, paymentIdFor } from '../../store/rows/idempotency.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { findLetterhead, findShownMerchant } from '../../store/rows/profile.sql.ts';
import { openOrReport, reportUnreadable, unreadableKeyOf } from '../../store/rows/unreadable.ts';
import { findOperation } from '../operations/operations.sql.ts';
import { drafts, findOverdue } from './draft.sql.ts';
import { hashesOf, newCode } from './draft-code.ts';
import { codeLetter } from './draft-letter.ts';
import {
  buildCodeRenewal,
  buildConfirmation,
  buildDraft,
  buildDraftCancellation,
  buildDraftExpiry,
  type Confirmed,
} from './draft-transitions.ts';
import type { KeyPlaces } from './key-places.ts';

/**
 * Transfers that a person asks for, confirmed by a code from their mail.
 *
 * A draft is a payment in state `draft`: it has its fee and its request key, and reserves nothing. Its code is six digits, valid for
 * ten minutes, for this draft and nothing else: amount, key and operation of a payment never change. A draft of the panel is
 * confirmed in the session that asked for the code, and by no API key. Five wrong codes or
 * thirty minutes end the draft. Stored is only a scrypt hash of the code; the code itself is in the mail and nowhere
 * else, no log included.
 *
 * Confirming is accepting a transfer: the reserve and the intent commit in one transaction, under the same rules as an automatic one
 * (`flow/admission.ts`).
 */

/** The dependencies of a draft; the command line has no more. */
export type DraftDeps = Pick<
  AcceptDeps,
  'till' | 'sql' | 'clock' | 'ids' | 'identity' | 'secrets' | 'log'
> & { mail: Mail };

/** Further dependencies of a confirmation: a draft is accepted as any transfer is. */
type ConfirmDeps = DraftDeps & AcceptDeps;

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
  request: TransferOrder,
  email: string,
  ip?: string,
  session?: string,
): Promise<Payment> {
  const { accountId, operationId } = caller;
  const { amountCents, pixKey, pixKeyType, description, requestKey } = request;
  const paymentId = paymentIdFor(deps.identity, { id: accountId, number: caller.accountNumber }, requestKey);
  // `draft` makes it another request than the automatic transfer with the same data.
  const metadata = metadataOf(request.metadata);
  const asked = { amountCents, pixKey, pixKeyType, description, draft: true, ...askedMetadata(metadata) };
  const code = await newCode(deps, paymentId, session);
  const command = buildDraft({
    caller,
    request,
    paymentId,
    fingerprint: fingerprintOf(deps.identity, { ...asked, kind: 'transfer', operationId }),
    pixKey: deps.secrets.seal(pixKey, paymentId),
    email: deps.secrets.seal(email, paymentId),
    code,
    ...submission(deps),
  });
  const { payment, fresh } = await deps.till.submit(command);
  if (fresh) await mailCode(deps, payment, { to: email, pixKey, code: code.code, ip });
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
  const code = await newCode(deps, paymentId, session);
  const command = buildCodeRenewal({ caller, paymentId, code, ...submission(deps) });
  const { payment, draft } = await deps.till.submit(command);
  const unreadable = unreadableKeyOf(payment, 'draft');
  const to = await openOrReport(deps, draft.email, paymentId, unreadable);
  const pixKey = await openOrReport(deps, payment.pixKey ?? Buffer.alloc(0), paymentId, unreadable);
  if (to === null || pixKey === null) throw refuse('processing_unavailable', { paymentId });
  await mailCode(deps, payment, { to: to.toString(), pixKey: pixKey.toString(), code: code.code, ip });
  return payment;
}

/**
 * Makes a draft a transfer: reserve and intent in one transaction, then sends it as any other.
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
  await deps.connections.takeUp(caller.connection);
  const plan = planDispatch(deps, caller, transfer, deps.settings.transferWaitMs);
  const confirmed = await submitConfirmation(deps, caller, plan, { paymentId, session, code });
  if ('unreadable' in confirmed) {
    await reportUnreadable(deps, unreadableKeyOf(confirmed.unreadable, 'draft'));
    throw refuse('processing_unavailable', { paymentId });
  }
  if ('refused' in confirmed) {
    const { refused, triesLeft } = confirmed;
    deps.eventsWritten();
    throw refuse(refused, { paymentId, ...(triesLeft !== undefined && { details: [{ triesLeft }] }) });
  }
  deps.breakers.seen(plan.connection, plan.call, confirmed.breakerOpen);
  return awaitOutcome(deps, transfer, plan, confirmed.payment, confirmed.fence);
}

/** The same in a place of its account. @throws ApiError as `confirmDraft`, `rate_limited` */
export const sendDraft = (
  deps: ConfirmDeps & { keyPlaces: KeyPlaces },
  caller: Caller,
  paymentId: string,
  code: string,
  session?: string,
): Promise<Payment> =>
  deps.keyPlaces.send(
    { accountId: caller.accountId, id: paymentId, key: null, arrivedMs: caller.arrivedMs },
    () => confirmDraft(deps, caller, paymentId, code, session),
    (payment) => payment,
  );

/** Submits until the code was hashed under the salt that is stored: another code may be mailed in between. */
async function submitConfirmation(
  deps: ConfirmDeps,
  caller: Caller,
  plan: DispatchPlan,
  code: { paymentId: string; session: string | undefined; code: string },
): Promise<Exclude<Confirmed, { salt: 'changed' }>> {
  const { paymentId } = code;
  const key = paymentKey(caller.accountId, paymentId);
  for (;;) {
    // The hash takes some 50 ms: made before the lock, under the salt of this moment.
    const [stored] = await before(deps.clock, plan.acceptByMs, drafts.read(deps.sql, [key]));
    const salt = stored?.codeSalt;
    const given = salt ? { salt, hashes: await hashesOf(deps, code, salt) } : null;
    const { secrets } = deps;
    const input = { caller, paymentId, plan, given, secrets, deadlineMs: plan.acceptByMs };
    const confirmed = await withProbe(
      deps,
      probeOf(plan),
      (hasProbe) => deps.till.submit(buildConfirmation({ ...input, token: deps.ids.uuid(), hasProbe })),
      (answer) => 'fence' in answer && answer.payment.status === 'unknown',
    );
    if (!('salt' in confirmed)) return confirmed;
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
  const command = buildDraftCancellation({ caller, paymentId, ...submission(deps) });
  const cancelled = await deps.till.submit(command);
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
    overdue.map((one) => deps.till.submit(buildDraftExpiry({ ...one, ...submission(deps) }))),
  );
  if (overdue.length > 0) deps.eventsWritten();
  return overdue.length === expireAtOnce;
}

const submission = ({ ids, clock }: Pick<DraftDeps, 'ids' | 'clock'>) => ({
  token: ids.uuid(),
  deadlineMs: clock.monotonicMs() + answerWithinMs,
});

async function mailCode(
  deps: DraftDeps,
  payment: Payment,
  about: { to: string; pixKey: string; code: string; ip: string | undefined },
): Promise<void> {
  const [operation, merchant, letterhead] = await Promise.all([
    findOperation(deps.sql, payment.accountId, payment.operationId),
    findShownMerchant(deps.sql, payment.accountId),
    findLetterhead(deps.sql, payment.accountId),
  ]);
  const operationName = operation?.name ?? payment.operationId;
  await deps.mail.send(codeLetter({ ...about, payment, operationName, merchant, letterhead }));
}
