import { hindranceOf } from '../../money/defence.ts';
import type { Dispute } from '../../money/dispute.ts';
import type { DisputeFile } from '../../money/evidence.ts';
import type {
  DefenceFile,
  DefenceInstruction,
  DefenceOutcome,
  Provider,
  QueryOutcome,
  SendOutcome,
} from '../../provider/provider.ts';
import { findDispute } from '../../store/rows/disputes.sql.ts';
import { findContents, findFiles } from '../../store/rows/files.sql.ts';
import { makeJobDue } from '../../store/rows/jobs.sql.ts';
import { openOrReport } from '../../store/rows/unreadable.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { admitDefence, type DefenceOrder, defenceReads } from './admission.ts';
import { isDefenceOpen, type SentDefence, sentDefences } from './defences.sql.ts';
import { type DefenceReport, hearDefence, observedDefence } from './outcome.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    defence: true;
  }
}

/**
 * The merchant's answer to a dispute goes to the provider, over the connection of the dispute. No money moves, and no caller waits: the provider's answer
 * ends it, or its list of disputes, or the end of the dispute (`end.ts`).
 */
export const defence: Kind<SentDefence, DefenceOrder, DefenceReport, never> = {
  name: 'defence',
  permission: 'disputes',
  call: 'defence',
  table: sentDefences,
  isWithdrawal: false,
  // The deadlines of its disputes run.
  whileDisabled: true,
  timeoutMs: (can) => can.defence?.timeoutMs ?? can.sendTimeoutMs,
  // A missing permission, or a file that is gone.
  failsByItself: true,
  isLimited: false,
  mayMove: false,
  isAwaited: false,
  createdEvent: null,
  notFound: 'dispute_not_found',
  unread: [],
  offers: (can) => can.defence !== null,
  isOpen: isDefenceOpen,
  subjectOf: ({ id, paymentId, disputeId }) => ({ paymentId, detail: { disputeId, defenceId: id } }),
  undecided: () => null,
  isLookedAt: () => false,

  connectionOf: async (_sql, _caller, { connection }) => connection,
  asked: ({ disputeId, text, fileIds }) => ({ disputeId, text, fileIds: fileIds.join() }),
  secretOf: ({ text }) => text,
  waitMs: () => 0,
  admissionReads: defenceReads,
  admit: admitDefence,
  prepare: prepareDefence,
  async locate(sql, { accountId, paymentId: id }) {
    const [found] = await sentDefences.read(sql, [accountId + id]);
    const dispute = found && isDefenceOpen(found) && (await findDispute(sql, found, found.disputeId));
    if (!found || !dispute) return null;
    return {
      query: (provider) => queryDispute(provider, dispute),
      observed: (connection, observation) => observedDefence(found, connection, observation),
    };
  },
  observed: observedDefence,
  hear: hearDefence,
};

const notSent = (detail: string) => ({ outcome: 'notSent', detail, answered: true }) as const;

/** One that is not to be sent any more ends by the dispute, when its outcome is heard (`outcome.ts`). */
async function prepareDefence(
  deps: PrepareDeps,
  row: SentDefence,
  { connection }: Sending,
): Promise<Prepared<DefenceReport>> {
  const { sql, clock, log } = deps;
  const dispute = await findDispute(sql, row, row.disputeId);
  const hindrance = dispute ? hindranceOf(dispute, clock.now()) : 'dispute_ended';
  if (!dispute || hindrance !== null) return notSent(`no defence is taken: ${hindrance}`);
  const content = await contentOf(deps, row, dispute);
  if (content === null) return notSent('a part of it cannot be opened');
  return async (provider) => {
    const outcome = (await provider.disputes?.defend?.(content)) ?? notSent('the connection takes none');
    if (outcome.outcome !== 'accepted') {
      log.warn({ connection, disputeId: dispute.id, ...outcome }, 'the provider has not taken a defence');
      return ofDefence(outcome);
    }
    // Its state of the dispute is read at once. Nothing of the outcome rests on it.
    await makeJobDue(sql, 'disputes', connection, clock.now()).catch((err: unknown) =>
      log.warn({ err, connection }, 'the disputes are read later'),
    );
    return { outcome: 'accepted', report: { status: 'defending' } };
  };
}

const ofDefence = (outcome: Exclude<DefenceOutcome, { outcome: 'accepted' }>): SendOutcome<DefenceReport> =>
  outcome.outcome === 'refused'
    ? { ...outcome, reason: 'provider_refused', defence: outcome.reason }
    : outcome;

/** Null when a part of it cannot be opened, which opens an incident, or is gone. */
async function contentOf(
  deps: PrepareDeps,
  row: SentDefence,
  dispute: Dispute,
): Promise<DefenceInstruction | null> {
  const { id, body, fileIds, disputeId } = row;
  const text = body && (await opened(deps, row, body, id, `defence:${disputeId}`));
  if (text === null && (body !== null || fileIds.length === 0)) return null;
  const known = fileIds.length > 0 ? await findFiles(deps.sql, row, disputeId) : [];
  const files = known.filter((file) => fileIds.includes(file.id));
  if (files.length !== fileIds.length) return null;
  return {
    disputeId: dispute.providerId,
    text: text?.toString() ?? null,
    files: files.map((file) => readable(deps, row, file)),
  };
}

/** Its contents are read when they go out: one file is in memory at a time. */
const readable = (deps: PrepareDeps, row: SentDefence, file: DisputeFile): DefenceFile => ({
  id: file.id,
  name: file.name,
  type: file.type,
  read: async () => {
    const contents = await findContents(deps.sql, file);
    return contents && opened(deps, row, contents, file.id, `evidence:${file.id}`);
  },
});

const opened = (
  deps: PrepareDeps,
  { accountId, operationId, paymentId, amountCents }: SentDefence,
  sealed: Buffer,
  context: string,
  need: `defence:${string}` | `evidence:${string}`,
): Promise<Buffer | null> =>
  openOrReport(deps, sealed, context, { accountId, paymentId, operationId, amountCents, need });

/** A list names times to the second at best. */
const aroundMs = 60_000;

/** No provider shows a single dispute: the list of the minute in which it was opened does. */
async function queryDispute(
  provider: Provider,
  { providerId, openedAt }: Dispute,
): Promise<QueryOutcome<DefenceReport>> {
  const window = { fromMs: openedAt - aroundMs, toMs: openedAt + aroundMs };
  const lacks = { outcome: 'unclear', cause: 'unreadable', retryAfterMs: null } as const;
  const listed = await provider.disputes?.list(window);
  if (!listed) return { ...lacks, detail: 'the connection lists no disputes' };
  if (listed.outcome !== 'listed') return listed;
  const report = listed.reports.find((one) => one.providerId === providerId);
  return report ? { outcome: 'found', report } : { ...lacks, detail: 'the dispute is not in the list' };
}
