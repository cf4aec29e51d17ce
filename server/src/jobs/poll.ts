import { queryOf } from '../flow/breaker.ts';
import { findNamed, findOwnersInCells } from '../flow/in-cells.ts';
import { endUnread, keepUnread } from '../flow/keep-unread.ts';
import { confirm, NoQueryLeft, waitForQuery } from '../flow/query.ts';
import { buildDisputeReport } from '../flow/report-command.ts';
import { paymentOfIdentifier } from '../flow/static-codes.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import type { Dispute } from '../money/dispute.ts';
import { paymentIdOf } from '../money/payment.ts';
import type { DisputeReport } from '../provider/dispute-report.ts';
import type { Provider, UnreadItem } from '../provider/provider.ts';
import { findKnown, findOldestDispute } from '../store/rows/disputes.sql.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { claimJob, endTurn, type Job } from '../store/rows/jobs.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';

/**
 * Reads the provider's disputes. Providers of this protocol report them by no webhook, so a list is read every ten minutes: what is new,
 * and everything that the provider has not ended yet. A dispute that is read late by so much is why the hold is placed late by so much.
 */
const everyMs = 10 * 60_000;
/** After a list that was not read whole. A missing permission logs a line each time. */
const soonMs = 2 * 60_000;
const job: Job = { what: 'disputes', claimMs: 5 * 60_000 };
/** A Pix can be disputed for 80 days, and a dispute is decided within days: so long ago one may still have changed. */
const backMs = 30 * 24 * 3_600_000;
const applyWithinMs = 8_000;
/** Of a turn for queries of the shared limit: a turn that lasts beyond its claim would go on with an old list beside another process. */
const waitsMs = 60_000;

/** One reading of one connection, when it is due. @returns false: the next one has its time */
export async function stepDisputes(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  if (!provider.capabilities.canDispute || !provider.disputes) return false;
  const { connection } = provider;
  const now = deps.clock.now();
  const turn = await claimJob(deps.sql, job, connection, now);
  if (!turn) return false;
  const oldestAt = (await findOldestDispute(deps.sql, connection)) ?? now;
  const read = await readDisputes(deps, provider, Math.min(oldestAt, now - backMs), now);
  await endTurn(deps.sql, turn, now + (read ? everyMs : soonMs));
  return false;
}

/** @returns whether everything of the list is known now */
async function readDisputes(
  deps: TrackingDeps,
  provider: Provider,
  fromMs: number,
  toMs: number,
): Promise<boolean> {
  const { connection, disputes } = provider;
  const untilMs = deps.clock.monotonicMs() + waitsMs;
  const slot = disputes && (await waitForQuery(deps, provider, untilMs));
  if (!slot) return false;
  const outcome = await deps.breakers
    .counted(queryOf(connection), () => disputes.list({ fromMs, toMs }))
    .finally(() => slot.free());
  if (outcome.outcome !== 'listed') {
    deps.log.warn({ connection, detail: outcome.detail }, 'the disputes of the provider cannot be read');
    return false;
  }
  const isWhole = outcome.complete && outcome.unread.length === 0;
  if (!isWhole) deps.log.warn({ connection }, 'a part of the list of disputes cannot be read');
  const { reports } = outcome;
  const ids = reports.map(({ providerId }) => providerId);
  const named = [...ids, ...outcome.unread.flatMap(({ name }) => name ?? [])];
  const known = await Promise.all(
    deps.cells
      .all()
      .map(async (cell) => (await findKnown(cell.sql, connection, named)).map((one) => ({ ...one, cell }))),
  );
  const byId = new Map(known.flat().map((one) => [one.providerId, one]));
  let all = isWhole;
  for (const report of reports) {
    const earlier = byId.get(report.providerId);
    if (earlier && saysNothingNew(earlier, report)) continue;
    // A chargeback is part of its payment's own report, which the look for the owner reads.
    const isOfCard = provider.capabilities.cards;
    const owner = earlier && !isOfCard ? earlier : await ownerOf(deps, provider, report, untilMs);
    if (owner === 'later') all = false;
    else if (owner !== null && !isOfCard) await apply(owner.cell, provider, owner, report);
  }
  await endUnread(deps, connection, ['dispute'], ids);
  for (const item of outcome.unread) {
    if (item.name !== null && byId.has(item.name)) continue;
    if (!(await holdUnread(deps, provider, item, untilMs)))
      await keepUnread(deps, connection, [item], { atOnce: true });
  }
  await keepUnread(deps, connection, outcome.unread);
  return all;
}

/**
 * A dispute that is new and cannot be read holds its whole Pix until it can be, where it says which Pix that is. One that is known keeps
 * what it holds.
 * @returns false: nothing is held for it
 */
async function holdUnread(
  deps: TrackingDeps,
  provider: Provider,
  { name, endToEnd }: UnreadItem,
  untilMs: number,
): Promise<boolean> {
  if (name === null || endToEnd === null || name === endToEnd) return false;
  const unknown = { status: 'open', reason: null, deadlineAt: null } as const;
  const dispute = { ...unknown, providerId: name, endToEnd, openedAt: deps.clock.now() };
  const owner = await ownerOf(deps, provider, { ...dispute, amountCents: 0 }, untilMs);
  if (owner === 'later' || owner === null) return false;
  const { accountId, paymentId, cell } = owner;
  const [payment] = await payments.read(cell.sql, [paymentKey(accountId, paymentId)]);
  if (!payment) return false;
  // Of a due-date charge its Pix may be more than was asked.
  const amountCents = payment.due?.paid?.amountCents ?? payment.amountCents;
  await apply(cell, provider, owner, { ...dispute, amountCents });
  return true;
}

/** An acquirer may move the money of a dispute without a new status. */
export const saysNothingNew = (known: Dispute, report: DisputeReport): boolean =>
  known.status === report.status &&
  known.amountCents === report.amountCents &&
  known.deadlineAt === report.deadlineAt &&
  (report.debitedCents === undefined ||
    known.debitedCents === Math.max(0, Math.min(known.amountCents, report.debitedCents)));

type Owner = Pick<Dispute, 'accountId' | 'paymentId' | 'operationId'> & { cell: TrackingDeps };

/** Whose Pix is disputed; null: no payment of ours, as where the company moves money of its own. `later`: the provider did not say. */
async function ownerOf(
  deps: TrackingDeps,
  provider: Provider,
  { endToEnd, providerId: disputeId }: DisputeReport,
  untilMs: number,
): Promise<Owner | 'later' | null> {
  const { connection } = provider;
  const slot = await waitForQuery(deps, provider, untilMs);
  if (!slot) return 'later';
  const found = await findNamed(deps, provider, endToEnd).finally(() => slot.free());
  if (found.outcome === 'unclear') return 'later';
  const txid =
    found.outcome === 'found' && found.report.direction === 'received' ? found.report.providerId : null;
  const id = txid === null ? null : paymentIdOf(txid);
  const ofCode = txid === null ? null : await paymentOfIdentifier(deps, connection, txid, endToEnd);
  const named = id === null ? (ofCode ? [ofCode] : []) : [{ id, accountNumber: accountNumberOf(id) }];
  const [holder] = (await findOwnersInCells(deps, connection, named)).filter(
    ({ owners }) => owners.length > 0,
  );
  const owner = holder?.owners[0];
  if (holder && owner) {
    const cell = holder.deps;
    if (ofCode)
      return { cell, accountId: owner.accountId, paymentId: owner.id, operationId: owner.operationId };
    try {
      // Receipts and returns of the charge are posted before the amount of the hold is known.
      await confirm(cell, provider, [owner]);
    } catch (error) {
      if (!(error instanceof NoQueryLeft))
        deps.log.warn({ err: error, connection, disputeId }, 'a disputed payment cannot be queried');
      return 'later';
    }
    return { cell, accountId: owner.accountId, paymentId: owner.id, operationId: owner.operationId };
  }
  // A Pix of a static code is booked by the next reading of the statement.
  if (ofCode) return 'later';
  deps.log.warn({ connection, disputeId }, 'a dispute is about a Pix that is no payment of ours');
  if (found.outcome === 'found' && found.report.page !== undefined) {
    // Paid on a page that the books do not know: by the name that a delivery of the payment has as well.
    const body = { payment: endToEnd, page: found.report.page, dispute: disputeId };
    const item = { kind: 'charge', name: endToEnd, providerId: null, endToEnd: null, body } as const;
    await keepUnread(deps, connection, [item], { atOnce: true });
  }
  return null;
}

async function apply(
  deps: TrackingDeps,
  { connection, capabilities }: Provider,
  { accountId, paymentId, operationId }: Owner,
  report: DisputeReport,
): Promise<void> {
  const isNew = await deps.till.submit(
    buildDisputeReport({
      accountId,
      paymentId,
      operationId,
      connection,
      livemode: capabilities.movesMoney,
      report,
      token: deps.ids.uuid(),
      deadlineMs: deps.clock.monotonicMs() + applyWithinMs,
    }),
  );
  if (isNew) deps.eventsWritten();
}
