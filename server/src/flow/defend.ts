import type { Caller } from '../ground/caller.ts';
import { ApiError, refuse } from '../ground/errors.ts';
import type { Secrets } from '../ground/secrets.ts';
import { defenceKeyOf, requireOffered, type Said } from '../kinds/defence/admission.ts';
import { type AnswerDeps, hindrance, lookUp, offerOf } from '../kinds/defence/answerable.ts';
import { defence } from '../kinds/defence/defence.ts';
import { type Defence, mayBeReplaced } from '../money/defence.ts';
import type { Dispute } from '../money/dispute.ts';
import type { DisputeFile } from '../money/evidence.ts';
import type { DefenceOffer } from '../provider/provider.ts';
import { findDefences } from '../store/rows/defences.sql.ts';
import type { Scope } from '../store/rows/disputes.sql.ts';
import { type AcceptDeps, accept } from './accept.ts';
import { type GivenFile, keepFile, removeFile } from './files.ts';

/** The calls about defences. */
export interface Defences {
  of(scope: Scope, disputeId: string): Promise<DefenceOf>;
  defend(caller: Caller, disputeId: string, given: GivenDefence): Promise<MadeDefence>;
  keepFile(
    scope: Scope,
    disputeId: string,
    given: GivenFile,
  ): Promise<{ file: DisputeFile; replayed: boolean }>;
  removeFile(scope: Scope, disputeId: string, fileId: string): Promise<void>;
}

export const defencesOf = (deps: AcceptDeps): Defences => ({
  of: (scope, disputeId) => defenceOf(deps, scope, disputeId),
  defend: (caller, disputeId, given) => defend(deps, caller, disputeId, given),
  keepFile: (scope, disputeId, given) => keepFile(deps, scope, disputeId, given),
  removeFile: (scope, disputeId, fileId) => removeFile(deps, scope, disputeId, fileId),
});

/** The merchant's text and files. */
export interface GivenDefence {
  text?: string | undefined;
  fileIds?: readonly string[] | undefined;
}

export interface MadeDefence {
  defence: OpenedDefence;
  /** It was there before. */
  replayed: boolean;
}

/** A defence in plain text; `text` is null where it has none, once the payer is anonymised, or where the secret that sealed it is lost. */
export interface OpenedDefence extends Omit<Defence, 'body' | 'fileIds'> {
  text: string | null;
  files: DisputeFile[];
}

/** The possible defence of a dispute, and the one that was given. */
export interface DefenceOf {
  /** Null: no defence is taken, or no further one. */
  offer: DefenceOffer | null;
  /** Those that go out with no defence. */
  files: DisputeFile[];
  defence: OpenedDefence | null;
}

/** @throws ApiError `dispute_not_found` */
async function defenceOf(deps: AcceptDeps, scope: Scope, disputeId: string): Promise<DefenceOf> {
  const { dispute, defence, files } = await lookUp(deps, scope, disputeId);
  const refusal = hindrance(deps, dispute, defence);
  const taken = defence && !mayBeReplaced(defence) ? defence.fileIds : [];
  return {
    offer: refusal === null ? offerOf(deps, dispute) : null,
    files: files.filter(({ id }) => !taken.includes(id)),
    defence: defence ? opened(deps, defence, files) : null,
  };
}

/** Of several disputes, by their ids: whether one can be answered, and the defence that there is. */
export async function defencesOfPage(
  deps: AnswerDeps,
  scope: Scope,
  disputes: readonly Dispute[],
): Promise<Map<string, { answerable: boolean; defence: Defence | null }>> {
  const ids = disputes.map(({ id }) => id);
  const found = disputes.length > 0 ? await findDefences(deps.sql, scope, ids) : [];
  const known = new Map(found.map((defence) => [defence.disputeId, defence]));
  return new Map(
    disputes.map((dispute) => {
      const defence = known.get(dispute.id);
      return [
        dispute.id,
        { answerable: hindrance(deps, dispute, defence) === null, defence: defence ?? null },
      ];
    }),
  );
}

/**
 * Commits the merchant's answer to a dispute, which is sent as everything else is; its caller waits for nothing. The same text and files again are the same
 * defence.
 * @throws ApiError `validation_failed`, `dispute_not_found`, `not_offered_by_provider`, `dispute_ended`, `defence_window_closed`,
 *   `dispute_defended`, `defence_too_long`, `file_not_found`, and what refuses whatever is sent
 */
async function defend(
  deps: AcceptDeps,
  caller: Caller,
  disputeId: string,
  { text, fileIds: named = [] }: GivenDefence,
): Promise<MadeDefence> {
  const said: Said = { text: text ?? null, fileIds: [...new Set(named)].sort() };
  // A repeat, and what is refused by what is stored, cost no transaction.
  const { dispute, defence: known, refused, files } = await lookUp(deps, caller, disputeId);
  if (known && !mayBeReplaced(known)) return replayed(deps, known, said, files);
  const refusal = hindrance(deps, dispute, known);
  if (refusal !== null) throw refuse(refusal);
  const offer = offerOf(deps, dispute);
  if (offer) requireOffered(offer, said);
  const { paymentId, connection } = dispute;
  const order = { ...said, disputeId, paymentId, connection, requestKey: defenceKeyOf(disputeId, refused) };
  const { row, replayed: isRepeat } = await accept(deps, defence, caller, order).catch(otherDefence);
  if (isRepeat) return { ...(await stored(deps, caller, disputeId)), replayed: true };
  const { body, reason, status: _, ...made } = row;
  const first = { ...made, body, reason, fileIds: [...made.fileIds], status: 'pending' as const };
  return { defence: opened(deps, first, files), replayed: false };
}

/** Another call was first, with another text. */
function otherDefence(error: unknown): never {
  if (error instanceof ApiError && error.code === 'idempotency_conflict') throw refuse('dispute_defended');
  throw error;
}

async function stored(
  deps: AcceptDeps,
  scope: Scope,
  disputeId: string,
): Promise<Pick<MadeDefence, 'defence'>> {
  const { defence, files } = await lookUp(deps, scope, disputeId);
  if (!defence) throw refuse('dispute_not_found');
  return { defence: opened(deps, defence, files) };
}

function replayed(deps: AcceptDeps, known: Defence, said: Said, files: readonly DisputeFile[]): MadeDefence {
  const defence = opened(deps, known, files);
  const isSame = defence.text === said.text && known.fileIds.join() === said.fileIds.join();
  if (!isSame) throw refuse('dispute_defended');
  return { defence, replayed: true };
}

function opened(
  { secrets }: { secrets: Secrets },
  { body, fileIds, ...defence }: Defence,
  files: readonly DisputeFile[],
): OpenedDefence {
  return {
    ...defence,
    text: textOf(secrets, body, defence.id),
    files: files.filter(({ id }) => fileIds.includes(id)),
  };
}

function textOf(secrets: Secrets, body: Buffer | null, id: string): string | null {
  if (body === null) return null;
  try {
    return secrets.open(body, id).toString();
  } catch {
    return null;
  }
}
