import { writeFailedDefence } from '../kinds/dispute/defence-event.ts';
import { afterAttempt, beforeAttempt, type DefenceTurn } from '../money/defence.ts';
import type { DisputeFile } from '../money/evidence.ts';
import { isElsewhere } from '../money/intent.ts';
import type { DefenceFile, DefenceInstruction, DefenceOutcome, Provider } from '../provider/provider.ts';
import { beginAttempt, type ClaimedDefence, claimDefence, turnDefence } from '../store/rows/defences.sql.ts';
import { findContents, findFiles } from '../store/rows/files.sql.ts';
import { makeJobDue } from '../store/rows/jobs.sql.ts';
import { openOrReport } from '../store/rows/unreadable.ts';
import type { CallResult } from './breaker.ts';
import { takeAllowedQuery } from './query.ts';
import { anotherAccount } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** How long a process has a defence. Another one repeats it afterwards, which the provider refuses if it has the first. */
const leaseMs = 120_000;
const unreadableAgainMs = 10 * 60_000;
const elsewhereAgainMs = 10 * 60_000;

/** One defence of the connection in this cell, when one is due. @returns true: there may be another one */
export async function stepDefences(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  if (!provider.disputes?.defend) return false;
  const { sql, clock, ids } = deps;
  const leaseEndsMs = clock.monotonicMs() + leaseMs;
  const now = clock.now();
  const claimed = await claimDefence(sql, connection, { now, fence: ids.uuid(), untilMs: now + leaseMs });
  if (!claimed) return false;
  const turned = beforeAttempt(claimed, claimed.dispute, now);
  if (turned) await turn(deps, provider, claimed, { ...turned, attempts: claimed.attempts });
  else await attempt(deps, provider, claimed, leaseEndsMs);
  return true;
}

/** A defence that cannot be sent at this moment is due again when its lease ends. */
async function attempt(
  deps: TrackingDeps,
  provider: Provider,
  claimed: ClaimedDefence,
  leaseEndsMs: number,
): Promise<void> {
  const { sql, clock } = deps;
  const later = (waitMs: number) => {
    const status = claimed.attempts === 0 ? 'pending' : 'unknown';
    return turn(deps, provider, claimed, { status, dueAt: clock.now() + waitMs, attempts: claimed.attempts });
  };
  const { identity } = provider;
  if (isElsewhere(claimed, { identity })) {
    const { connection, disputeId } = claimed;
    deps.log.error({ connection, disputeId }, 'a defence waits: another account is behind its connection');
    return later(elsewhereAgainMs);
  }
  const content = await contentOf(deps, claimed);
  if (content === null) return later(unreadableAgainMs);
  const slot = await takeAllowedQuery(deps, provider);
  if (!slot) return;
  try {
    const attempts = await beginAttempt(sql, claimed, identity, clock.now());
    if (attempts === undefined) return;
    const outcome: DefenceOutcome =
      provider.identity === identity
        ? await send(deps, provider, claimed.accountId, content, leaseEndsMs)
        : await anotherAccount();
    if (outcome.outcome !== 'accepted') {
      const { connection, disputeId } = claimed;
      deps.log.warn({ connection, disputeId, ...outcome }, 'the provider has not taken a defence');
    }
    await turn(deps, provider, claimed, afterAttempt(attempts, outcome, clock.now()));
  } finally {
    await slot.free();
  }
}

/** A process that was frozen past its lease sends nothing: another one may have the defence. */
async function send(
  { clock, breakers }: TrackingDeps,
  { connection, disputes, capabilities }: Provider,
  accountId: string,
  content: DefenceInstruction,
  leaseEndsMs: number,
): Promise<DefenceOutcome> {
  const timeoutMs = capabilities.defence?.timeoutMs ?? capabilities.callTimeoutMs;
  const defend = disputes?.defend;
  if (!defend || clock.monotonicMs() + timeoutMs > leaseEndsMs)
    return { outcome: 'notSent', detail: 'too late for its lease' };
  // A failure says more of the defence than of the provider (a missing scope, a file that is gone), and would stop all queries.
  const counts = (result: CallResult) => result === 'ok';
  return breakers.counted({ connection, call: 'query', accountId, counts }, () => defend(content));
}

/** Null when a part of it cannot be opened, which opens an incident, or is gone. */
async function contentOf(deps: TrackingDeps, claimed: ClaimedDefence): Promise<DefenceInstruction | null> {
  const { disputeId, body, fileIds, dispute } = claimed;
  const sealedText = body && (await opened(deps, claimed, body, disputeId, `defence:${disputeId}`));
  const text = sealedText?.toString() ?? null;
  if (text === null && (body !== null || fileIds.length === 0)) return null;
  const known = fileIds.length > 0 ? await findFiles(deps.sql, claimed, disputeId) : [];
  const files = known.filter(({ id }) => fileIds.includes(id));
  if (files.length !== fileIds.length) return null;
  return {
    disputeId: dispute.providerId,
    text,
    files: files.map((file) => readable(deps, claimed, file)),
  };
}

/** Its contents are read when they go out: one file is in memory at a time. */
const readable = (deps: TrackingDeps, claimed: ClaimedDefence, file: DisputeFile): DefenceFile => ({
  id: file.id,
  name: file.name,
  type: file.type,
  read: async () => {
    const sealed = await findContents(deps.sql, file);
    return sealed && opened(deps, claimed, sealed, file.id, `evidence:${file.id}`);
  },
});

function opened(
  deps: TrackingDeps,
  { accountId, operationId, dispute: { paymentId, amountCents } }: ClaimedDefence,
  sealed: Buffer,
  context: string,
  need: `defence:${string}` | `evidence:${string}`,
): Promise<Buffer | null> {
  return openOrReport(deps, sealed, context, { accountId, paymentId, operationId, amountCents, need });
}

/** Notifies the account of a failed defence. After a sent one, reads the provider's dispute list again at once. */
async function turn(
  { sql, clock, ids, eventsWritten }: TrackingDeps,
  { capabilities }: Provider,
  claimed: ClaimedDefence,
  turned: DefenceTurn & { attempts: number },
): Promise<void> {
  const now = clock.now();
  if (turned.status === 'failed') {
    const failed = { ...claimed, reason: turned.reason, livemode: capabilities.movesMoney };
    const written = await sql.tx(async (tx) => {
      const isOurs = await turnDefence(tx, claimed, turned, now);
      if (isOurs) await writeFailedDefence(tx, ids, failed, now);
      return isOurs;
    });
    if (written) eventsWritten();
    return;
  }
  const written = await turnDefence(sql, claimed, turned, now);
  if (written && turned.status === 'sent' && claimed.dispute.status === 'open')
    await makeJobDue(sql, 'disputes', claimed.connection, now);
}
