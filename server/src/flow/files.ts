import { createHash } from 'node:crypto';
import { answerWithinMs } from '../ground/deadline.ts';
import { refuse, refuseFields } from '../ground/errors.ts';
import type { Secrets } from '../ground/secrets.ts';
import { type AnswerDeps, hindrance, lookUp, offerOf } from '../kinds/defence/answerable.ts';
import { defencesOfDisputes, sentDefences } from '../kinds/defence/defences.sql.ts';
import { mayBeReplaced } from '../money/defence.ts';
import { accountMostBytes, beginsAs, type DisputeFile, filesMost, isFileName } from '../money/evidence.ts';
import type { Clock } from '../ports/clock.ts';
import { type Ids, lowestIdAt } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import type { FileType } from '../provider/provider.ts';
import type { Scope } from '../store/rows/disputes.sql.ts';
import {
  disputeFiles,
  findFiles,
  insertFile,
  keptBytes,
  lockFiles,
  pruneFiles,
} from '../store/rows/files.sql.ts';
import { type Command, read, remove } from '../store/till.ts';
import type { AcceptDeps } from './accept.ts';

export interface GivenFile {
  name: string;
  type: FileType;
  contents: Buffer;
}

/**
 * Keeps a file for the defence of a dispute, sealed. The same contents again are the same file, under its first name.
 * @throws ApiError `validation_failed`, `file_not_accepted`, `dispute_not_found`, `not_offered_by_provider`, `dispute_ended`,
 *   `defence_window_closed`, `dispute_defended`, `body_too_large`, `file_limit_reached`, `file_storage_full`
 */
export async function keepFile(
  deps: AnswerDeps & { ids: Ids; secrets: Secrets },
  scope: Scope,
  disputeId: string,
  { name, type, contents }: GivenFile,
): Promise<{ file: DisputeFile; replayed: boolean }> {
  if (!isFileName(name)) throw refuseFields([{ field: 'name', code: 'invalid_format' }]);
  const { dispute, defence, files } = await lookUp(deps, scope, disputeId);
  const sha256 = createHash('sha256').update(contents).digest('hex');
  const same = files.find((one) => one.sha256 === sha256);
  if (same) return { file: same, replayed: true };
  const refusal = hindrance(deps, dispute, defence);
  if (refusal !== null) throw refuse(refusal);
  const offer = offerOf(deps, dispute)?.files ?? null;
  if (!offer?.types.includes(type)) throw refuse('not_offered_by_provider');
  if (contents.length > offer.mostBytes) throw refuse('body_too_large');
  if (!beginsAs(type, contents)) throw refuse('file_not_accepted', { params: { type } });
  const { sql, clock, ids, secrets } = deps;
  const { accountId, operationId } = scope;
  const id = ids.uuid();
  const place = { accountId, id, disputeId, operationId };
  const file = { ...place, name, type, sizeBytes: contents.length, sha256, createdAt: clock.now() };
  const body = secrets.seal(contents, id);
  return sql.tx(async (tx) => {
    await lockFiles(tx, accountId);
    const [there, bytes] = await Promise.all([findFiles(tx, scope, disputeId), keptBytes(tx, accountId)]);
    const first = there.find((one) => one.sha256 === sha256);
    if (first) return { file: first, replayed: true };
    const most = Math.min(filesMost, offer.most);
    if (there.length >= most) throw refuse('file_limit_reached', { params: { most: String(most) } });
    if (bytes + contents.length > accountMostBytes)
      throw refuse('file_storage_full', { params: { most: String(accountMostBytes / 1024 / 1024) } });
    await insertFile(tx, file, body);
    return { file, replayed: false };
  });
}

/**
 * Takes a file away that goes out with no defence. One that is there when the call begins, and that something else takes away before the till decides, is gone as wanted.
 * @throws ApiError `dispute_not_found`, `file_not_found`, `dispute_defended`
 */
export async function removeFile(
  deps: Pick<AcceptDeps, 'sql' | 'till' | 'ids' | 'clock'>,
  scope: Scope,
  disputeId: string,
  fileId: string,
): Promise<void> {
  const { files } = await lookUp(deps, scope, disputeId);
  if (!files.some(({ id }) => id === fileId)) throw refuse('file_not_found');
  const { till, ids, clock } = deps;
  const deadlineMs = clock.monotonicMs() + answerWithinMs;
  await till.submit(buildRemoval({ scope, disputeId, fileId, token: ids.uuid(), deadlineMs }));
}

interface RemovalInput {
  scope: Scope;
  disputeId: string;
  fileId: string;
  token: string;
  deadlineMs: number;
}

/**
 * Under the lock under which a defence takes its files. Where the answer to COMMIT was lost and the row is gone, it is decided again without it, and a
 * removal leaves no row that carries its token: so a file that is not there is answered as one that was taken away. Pure.
 */
function buildRemoval({ scope, disputeId, fileId, token, deadlineMs }: RemovalInput): Command<void> {
  const { accountId, operationId } = scope;
  const key = accountId + fileId;
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [read(disputeFiles, key), read(defencesOfDisputes, accountId + disputeId)],
    eventRefs: [],
    decide: (view) => {
      if (!view.get(disputeFiles, key)) return { answer: undefined };
      const known = view.get(defencesOfDisputes, accountId + disputeId);
      const sent = known && view.get(sentDefences, accountId + known.id);
      if (sent?.fileIds.includes(fileId) && !mayBeReplaced(sent)) throw refuse('dispute_defended');
      return { answer: undefined, writes: [remove(disputeFiles, key)] };
    },
  };
}

const keptMs = 90 * 86_400_000;
/** Each frees up to 10 MB. */
const filesPerStep = 50;

/**
 * Takes the contents away of files that are older than 90 days and whose dispute has ended. Name, size and hash stay with the dispute.
 * @returns whether there is more at once
 */
export const stepDisputeFiles = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneFiles(sql, lowestIdAt(clock.now() - keptMs), filesPerStep)) === filesPerStep;
