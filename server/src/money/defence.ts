import { type Dispute, hasEnded } from './dispute.ts';

/**
 * The merchant's answer to a dispute, and its rules. Pure.
 *
 * It is committed before it is sent, as everything that goes to a provider is. **Only a certain refusal fails it**: one that the provider documents, in the
 * answer to the only attempt that was ever started. After an attempt that ended unclear a refusal proves nothing of that attempt, and "there is a defence
 * already" says that it has arrived: the provider takes one for each dispute. It is `sent` by the provider's answer, or by its word that the dispute
 * is being defended.
 *
 * **Repeats are safe**, since the provider takes one defence for each dispute, and end with the deadline or the dispute.
 */
export interface Defence {
  accountId: string;
  disputeId: string;
  operationId: string;
  status: (typeof defenceStatuses)[number];
  /** Why it failed. */
  reason: DefenceReason | null;
  /** The text, sealed, with the defence's id as context; null where there is none, and once the payer is anonymised. */
  body: Buffer | null;
  id: string;
  fileIds: string[];
  createdAt: number;
  sentAt: number | null;
  updatedAt: number;
}

/** As merchants see it. `pending`: not a byte of it has left. `unknown`: it may have left. */
export const defenceStatuses = ['pending', 'unknown', 'sent', 'failed'] as const;

export const defenceReasons = [
  'deadline_over',
  'already_defended',
  'provider_refused',
  'dispute_ended',
] as const;
export type DefenceReason = (typeof defenceReasons)[number];

/** `expired`: its dispute has ended, and whether the provider has it was never known. */
export type DefenceEnd =
  | { status: 'completed' }
  | { status: 'failed'; reason: DefenceReason }
  | { status: 'expired' };

type Answered = Pick<Dispute, 'status' | 'deadlineAt'>;

/** The provider's time for a defence is over. */
export const isLate = ({ deadlineAt }: Pick<Dispute, 'deadlineAt'>, now: number): boolean =>
  deadlineAt !== null && deadlineAt <= now;

/** Only one that the provider has certainly not taken, and may take in other words, makes room for another. */
export const mayBeReplaced = ({ reason }: Pick<Defence, 'reason'>): boolean => reason === 'provider_refused';

/** Why none may be sent now, by what is known of the dispute; null: one may. */
export function hindranceOf(dispute: Answered, now: number): DefenceReason | null {
  if (dispute.status === 'defending') return 'already_defended';
  if (hasEnded(dispute.status)) return 'dispute_ended';
  return isLate(dispute, now) ? 'deadline_over' : null;
}

/**
 * The end of a defence with no attempt under way, by what is known of its dispute; null: it waits, or is awaited.
 * @param mayHaveLeft an attempt of it was made
 */
export function endedBy(mayHaveLeft: boolean, dispute: Answered, now: number): DefenceEnd | null {
  const reason = hindranceOf(dispute, now);
  if (reason === null) return null;
  if (!mayHaveLeft) return { status: 'failed', reason };
  if (reason === 'already_defended') return { status: 'completed' };
  // The provider's word about the dispute is awaited beyond the deadline.
  return reason === 'dispute_ended' ? { status: 'expired' } : null;
}
