import { refuse, refuseFields } from '../../ground/errors.ts';
import { hindranceOf } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { DefenceOffer } from '../../provider/provider.ts';
import { disputesKey, disputesOfPayment } from '../../store/rows/disputes.sql.ts';
import { disputeFiles } from '../../store/rows/files.sql.ts';
import { put, type Read, read, type View } from '../../store/till.ts';
import { requestKeyOf } from '../charge-request/charge-request.ts';
import type { Admission, Admitted } from '../kind.ts';
import { disputesIn } from '../payment/hold-of-pix.ts';
import { defencesOfDisputes, type SentDefence } from './defences.sql.ts';

/** The merchant's text and files. */
export interface Said {
  text: string | null;
  /** In order. */
  fileIds: readonly string[];
}

export interface DefenceOrder extends Said {
  disputeId: string;
  /** The charge whose Pix is disputed. */
  paymentId: string;
  /** Of the dispute. */
  connection: string;
  /** `defenceKeyOf` of the dispute. */
  requestKey: string;
}

/** A dispute has one defence, however often and from where it is asked for, and one more behind each that was refused for what it says. */
export const defenceKeyOf = (disputeId: string, refusedBefore: number): string =>
  requestKeyOf(`defence:${disputeId}:${refusedBefore}`);

export const defenceReads = (accountId: string, { paymentId, fileIds }: DefenceOrder): Read[] => [
  read(disputesOfPayment, disputesKey(accountId, paymentId)),
  ...fileIds.map((id) => read(disputeFiles, accountId + id)),
];

/** Why a dispute takes no defence at this moment; null: it takes one. */
export function refusalOf(dispute: Dispute, offer: DefenceOffer | null, now: number) {
  if (offer === null) return 'not_offered_by_provider';
  const hindrance = hindranceOf(dispute, now);
  if (hindrance === 'already_defended') return 'dispute_defended';
  return hindrance === 'deadline_over' ? 'defence_window_closed' : hindrance;
}

/** @throws ApiError `not_offered_by_provider`, `validation_failed`, `defence_too_long`, `file_limit_reached` */
export function requireOffered({ textMost, files }: DefenceOffer, { text, fileIds }: Said): void {
  if ((text !== null && textMost === 0) || (fileIds.length > 0 && files === null))
    throw refuse('not_offered_by_provider');
  if (text === null && textMost > 0) throw refuseFields([{ field: 'text', code: 'required' }]);
  if (fileIds.length === 0 && textMost === 0) throw refuseFields([{ field: 'fileIds', code: 'required' }]);
  if (text !== null && text.length > textMost)
    throw refuse('defence_too_long', { params: { most: String(textMost) } });
  const most = files?.most ?? 0;
  if (fileIds.length > most) throw refuse('file_limit_reached', { params: { most: String(most) } });
}

/**
 * The dispute stays as it is until its provider says otherwise. Pure.
 * @throws ApiError `dispute_not_found`, `file_not_found`, those of `refusalOf` and `requireOffered`
 */
export function admitDefence(
  view: View,
  { caller, order, can, id, fingerprint, sealed, token }: Admission<DefenceOrder>,
  now: number,
): Admitted<SentDefence> {
  const { accountId, operationId } = caller;
  const { disputeId, paymentId, fileIds } = order;
  const dispute = disputesIn(view, accountId, paymentId).find((one) => one.id === disputeId);
  if (dispute?.operationId !== operationId) throw refuse('dispute_not_found');
  const offer = can?.defence ?? null;
  const refusal = refusalOf(dispute, offer, now);
  if (offer === null || refusal !== null) throw refuse(refusal ?? 'not_offered_by_provider');
  requireOffered(offer, order);
  const isThere = (fileId: string) => view.get(disputeFiles, accountId + fileId)?.disputeId === disputeId;
  if (!fileIds.every(isThere)) throw refuse('file_not_found');
  const row: SentDefence = {
    ...{ accountId, id, operationId, disputeId, paymentId, fileIds, fingerprint, command: token },
    ...{ amountCents: dispute.amountCents, body: sealed, status: 'unknown', reason: null, attempts: 0 },
    ...{ createdAt: now, sentAt: null, updatedAt: now, mailDueAt: null },
  };
  return { row, refusedAs: null, postings: [], writes: [put(defencesOfDisputes, row)] };
}
