import type { DefenceOutcome } from '../provider/provider.ts';
import { type Dispute, hasEnded } from './dispute.ts';

/**
 * The merchant's answer to a dispute, and its rules. Pure.
 *
 * **Committed before sent.** A defence begins `pending`. An attempt is counted and committed, which makes it `unknown`, before its first
 * byte goes out. So a defence that may have left is never taken for one that has not.
 *
 * **Only a certain refusal fails it**: one that the provider documents, in the answer to the only attempt that was ever started. After
 * an attempt that ended unclear a refusal proves nothing of that attempt, and "there is a defence already" says that it has arrived: the
 * provider takes one for each dispute. It is `sent` by the provider's answer, or by its word that the dispute is being defended.
 *
 * **Repeats are safe**, since the provider takes one defence for each dispute, and end with the deadline or the dispute.
 */
export interface Defence {
  accountId: string;
  disputeId: string;
  operationId: string;
  connection: string;
  status: (typeof defenceStatuses)[number];
  /** Why it failed. */
  reason: DefenceReason | null;
  /** The text, sealed, with the dispute's id as context; null where there is none, and once the payer is anonymised. */
  body: Buffer | null;
  fileIds: string[];
  /** Those that were started. */
  attempts: number;
  createdAt: number;
  sentAt: number | null;
  updatedAt: number;
}

export const defenceStatuses = ['pending', 'unknown', 'sent', 'failed'] as const;

export const defenceReasons = [
  'deadline_over',
  'already_defended',
  'provider_refused',
  'dispute_ended',
] as const;
export type DefenceReason = (typeof defenceReasons)[number];

/** A defence after a step. `dueAt` null: no further step. */
export type DefenceTurn =
  | { status: 'pending' | 'unknown'; dueAt: number | null }
  | { status: 'sent' }
  | { status: 'failed'; reason: DefenceReason };

type Answered = Pick<Dispute, 'status' | 'deadlineAt'>;

/** The provider's time for a defence is over. */
export const isLate = ({ deadlineAt }: Pick<Dispute, 'deadlineAt'>, now: number): boolean =>
  deadlineAt !== null && deadlineAt <= now;

/** Only one that the provider has certainly not taken, and may take in other words, makes room for another. */
export const mayBeReplaced = ({ status, reason }: Pick<Defence, 'status' | 'reason'>): boolean =>
  status === 'failed' && reason === 'provider_refused';

/** While nothing can be sent, the provider's word about the dispute is awaited. */
const lookAgainMs = 10 * 60_000;

/** Before an attempt: what is known of the dispute by now. Null: it is sent. */
export function beforeAttempt(
  { attempts }: Pick<Defence, 'attempts'>,
  dispute: Answered,
  now: number,
): DefenceTurn | null {
  const mayHaveLeft = attempts > 0;
  if (dispute.status === 'defending')
    return mayHaveLeft ? { status: 'sent' } : { status: 'failed', reason: 'already_defended' };
  if (hasEnded(dispute.status))
    return mayHaveLeft ? { status: 'unknown', dueAt: null } : { status: 'failed', reason: 'dispute_ended' };
  if (!isLate(dispute, now)) return null;
  return mayHaveLeft
    ? { status: 'unknown', dueAt: now + lookAgainMs }
    : { status: 'failed', reason: 'deadline_over' };
}

const firstWaitMs = 15_000;

/** How long an attempt is followed by none: twice as long after each, up to ten minutes. */
const waitMs = (attempts: number): number => Math.min(lookAgainMs, firstWaitMs * 2 ** Math.min(attempts, 10));

/**
 * After an attempt. `attempts` counts it.
 * @returns `attempts`: one less after one of which certainly not a byte went out
 */
export function afterAttempt(
  attempts: number,
  outcome: DefenceOutcome,
  now: number,
): DefenceTurn & { attempts: number } {
  const dueAt = now + waitMs(attempts);
  switch (outcome.outcome) {
    case 'accepted':
      return { status: 'sent', attempts };
    case 'notSent':
      return {
        status: attempts === 1 ? 'pending' : 'unknown',
        dueAt: Math.max(dueAt, now + (outcome.retryAfterMs ?? 0)),
        attempts: attempts - 1,
      };
    case 'unclear':
      return { status: 'unknown', dueAt: Math.max(dueAt, now + (outcome.retryAfterMs ?? 0)), attempts };
    case 'refused':
      if (attempts === 1) return { status: 'failed', reason: outcome.reason, attempts };
      return outcome.reason === 'already_defended'
        ? { status: 'sent', attempts }
        : { status: 'unknown', dueAt, attempts };
  }
}
