import { refuse, refuseFields } from '../ground/errors.ts';
import type { Secrets } from '../ground/secrets.ts';
import { type DefendDeps, lookUp, offerOf, refusalOf } from '../kinds/dispute/answerable.ts';
import { type Defence, mayBeReplaced } from '../money/defence.ts';
import type { Dispute } from '../money/dispute.ts';
import type { DisputeFile } from '../money/evidence.ts';
import type { DefenceOffer } from '../provider/provider.ts';
import { findDefence, findDefences, insertDefence } from '../store/rows/defences.sql.ts';
import type { Scope } from '../store/rows/disputes.sql.ts';
import { findFiles, lockFiles } from '../store/rows/files.sql.ts';
import { type GivenFile, keepFile, removeFile } from './files.ts';

/** The calls about defences. */
export interface Defences {
  of(scope: Scope, disputeId: string): Promise<DefenceOf>;
  defend(scope: Scope, disputeId: string, given: GivenDefence): Promise<MadeDefence>;
  keepFile(
    scope: Scope,
    disputeId: string,
    given: GivenFile,
  ): Promise<{ file: DisputeFile; replayed: boolean }>;
  removeFile(scope: Scope, disputeId: string, fileId: string): Promise<void>;
}

export const defencesOf = (deps: DefendDeps): Defences => ({
  of: (scope, disputeId) => defenceOf(deps, scope, disputeId),
  defend: (scope, disputeId, given) => defend(deps, scope, disputeId, given),
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
async function defenceOf(deps: DefendDeps, scope: Scope, disputeId: string): Promise<DefenceOf> {
  const { dispute, defence, files } = await lookUp(deps, scope, disputeId);
  const refusal = refusalOf(deps, dispute, defence);
  const taken = defence && !mayBeReplaced(defence) ? defence.fileIds : [];
  return {
    offer: refusal === null ? offerOf(deps, dispute) : null,
    files: files.filter(({ id }) => !taken.includes(id)),
    defence: defence ? opened(deps, defence, files) : null,
  };
}

/** Of several disputes, by their ids: whether one can be answered, and the defence that there is. */
export async function defencesOfPage(
  deps: DefendDeps,
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
        { answerable: refusalOf(deps, dispute, defence) === null, defence: defence ?? null },
      ];
    }),
  );
}

/**
 * Commits the merchant's answer to a dispute; a step of its connection sends it. The same text and files again are the same defence.
 * @throws ApiError `validation_failed`, `dispute_not_found`, `not_offered_by_provider`, `dispute_ended`, `defence_window_closed`,
 *   `dispute_defended`, `defence_too_long`, `file_not_found`
 */
async function defend(
  deps: DefendDeps,
  scope: Scope,
  disputeId: string,
  { text, fileIds: named = [] }: GivenDefence,
): Promise<MadeDefence> {
  const { sql, clock, secrets } = deps;
  const given = { text: text ?? null, fileIds: [...new Set(named)].sort() };
  const { dispute, defence: known, files } = await lookUp(deps, scope, disputeId);
  if (known && !mayBeReplaced(known)) return replayed(deps, known, given, files);
  const refusal = refusalOf(deps, dispute, known);
  if (refusal !== null) throw refuse(refusal);
  const offer = offerOf(deps, dispute);
  if (offer === null) throw refuse('not_offered_by_provider');
  requireOffered(offer, given);
  const body = given.text === null ? null : secrets.seal(given.text, dispute.id);
  return sql.tx(async (tx) => {
    await lockFiles(tx, scope.accountId);
    const there = await findFiles(tx, scope, disputeId);
    const ids = new Set(there.map(({ id }) => id));
    if (!given.fileIds.every((id) => ids.has(id))) throw refuse('file_not_found');
    const made = await insertDefence(tx, dispute, { body, fileIds: given.fileIds }, clock.now());
    if (made) return { defence: opened(deps, made, there), replayed: false };
    // Another call was first.
    const other = await findDefence(tx, scope, disputeId);
    if (!other) throw refuse('dispute_not_found');
    return replayed(deps, other, given, there);
  });
}

interface Said {
  text: string | null;
  /** In order. */
  fileIds: string[];
}

/** @throws ApiError `not_offered_by_provider`, `validation_failed`, `defence_too_long`, `file_limit_reached` */
function requireOffered({ textMost, files }: DefenceOffer, { text, fileIds }: Said): void {
  if ((text !== null && textMost === 0) || (fileIds.length > 0 && files === null))
    throw refuse('not_offered_by_provider');
  if (text === null && textMost > 0) throw refuseFields([{ field: 'text', code: 'required' }]);
  if (fileIds.length === 0 && textMost === 0) throw refuseFields([{ field: 'fileIds', code: 'required' }]);
  if (text !== null && text.length > textMost)
    throw refuse('defence_too_long', { params: { most: String(textMost) } });
  const most = files?.most ?? 0;
  if (fileIds.length > most) throw refuse('file_limit_reached', { params: { most: String(most) } });
}

function replayed(
  deps: DefendDeps,
  known: Defence,
  { text, fileIds }: Said,
  files: readonly DisputeFile[],
): MadeDefence {
  const defence = opened(deps, known, files);
  const isSame = defence.text === text && known.fileIds.join() === fileIds.join();
  if (!isSame) throw refuse('dispute_defended');
  return { defence, replayed: true };
}

function opened(
  { secrets }: DefendDeps,
  { body, fileIds, ...defence }: Defence,
  files: readonly DisputeFile[],
): OpenedDefence {
  return {
    ...defence,
    text: textOf(secrets, body, defence.disputeId),
    files: files.filter(({ id }) => fileIds.includes(id)),
  };
}

function textOf(secrets: Secrets, body: Buffer | null, disputeId: string): string | null {
  if (body === null) return null;
  try {
    return secrets.open(body, disputeId).toString();
  } catch {
    return null;
  }
}
