import { findOwnersInCells } from '../flow/in-cells.ts';
import { compareAmounts } from '../flow/movement-amounts.ts';
import { sortForeign } from '../flow/nameless-payouts.ts';
import { confirm, NoQueryLeft, takeAllowedQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import { bookUnmatched, unmatchedLine } from '../flow/unmatched.ts';
import { paymentIdOf } from '../money/payment.ts';
import type { PixOwner, Provider, UnnamedReturn } from '../provider/provider.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import type { PaymentOwner } from '../store/rows/payments.sql.ts';
import {
  claimLines,
  findOpenLines,
  type LineToAnswer,
  noteLineFailed,
  type OpenLine,
  postponeLine,
  removeLine,
  setLinesAside,
} from '../store/rows/statement-lines.sql.ts';
import { findLacking, findUnknown, findUnnamed } from './statement.sql.ts';

/**
 * Lines of a statement that could not be answered, each with retries of its own.
 *
 * Rejected: to read on only when every line has been answered. One payment that the provider answers wrongly would then keep the
 * late money of all merchants of the connection from being found. Rejected as well: to drop such a line after a time; a person decides
 * that (`vintem statement dismiss`).
 *
 * A return that is listed without its Pix cannot be looked up: the line ends when the books have its `rtrId`, by its delivery.
 */
const claimMs = 5 * 60_000;
const linesMost = 10;
const busyMs = 30_000;

/** Between the tries of one line: a minute at first, six hours at most. */
const retryAfterMs = (tries: number): number => Math.min(6 * 3_600_000, 60_000 * 2 ** Math.min(tries, 9));

export async function setAside(
  deps: Pick<TrackingDeps, 'sql' | 'clock' | 'log'>,
  connection: string,
  line: LineToAnswer,
  problem: string,
): Promise<void> {
  const now = deps.clock.now();
  deps.log.error({ connection, kind: line.kind, problem }, 'a line of the statement is set aside');
  await setLinesAside(deps.sql, connection, [line], { now, nextAt: now + retryAfterMs(0), problem });
}

/** Of returns that are listed without their Pix, those that the books lack: no account in any cell has them, and no refund is one of them. */
export async function withoutName<Return extends { rtrId: string }>(
  deps: TrackingDeps,
  returns: readonly Return[],
): Promise<Return[]> {
  let left = [...returns];
  for (const { sql } of deps.cells.all()) {
    if (left.length === 0) break;
    const lacking = new Set(
      await findUnnamed(
        sql,
        left.map(({ rtrId }) => rtrId),
      ),
    );
    left = left.filter(({ rtrId }) => lacking.has(rtrId));
  }
  return left;
}

export const lineOfUnnamed = ({ rtrId, amountCents, at }: UnnamedReturn): LineToAnswer => ({
  ...{ kind: 'reported', id: rtrId, rtrId, amountCents, at },
  ...{ endToEnd: null, providerId: null },
});

/** A provider that leaves returns out of its answer about a payout: nothing can be posted for one that its statement has, and a person compares it. */
export const inStatementAlone =
  'the statement alone names this return, and the answer about its payment does not: compare them at the provider';

export const noPixNamed = 'the provider names no Pix: have it send the delivery of this return again';

/** Looks up lines that are due. @returns true when there may be more at once */
export async function stepStatementLines(deps: TrackingDeps, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  const now = deps.clock.now();
  const due = await claimLines(deps.sql, connection, now, now + claimMs, linesMost);
  for (const [at, line] of due.entries()) {
    try {
      const problem = await problemOf(deps, provider, line);
      if (problem === null) await removeLine(deps.sql, connection, line);
      else await fail(deps, connection, line, problem);
    } catch (error) {
      if (error instanceof NoQueryLeft) {
        const nextAt = deps.clock.now() + busyMs;
        for (const left of due.slice(at)) await postponeLine(deps.sql, connection, left, nextAt);
        return false;
      }
      deps.log.warn({ err: error, connection }, 'a line of the statement could not be answered');
      await fail(deps, connection, line, (error as Error).message);
    }
  }
  return due.length === linesMost;
}

const fail = (
  deps: TrackingDeps,
  connection: string,
  line: LineToAnswer & { tries: number },
  problem: string,
) => noteLineFailed(deps.sql, connection, line, deps.clock.now() + retryAfterMs(line.tries), problem);

/**
 * Why the line has no answer; null: the books have what it says. A return of the company's own money is booked as such.
 *
 * A line of the statement that names no payment here was set aside by `reconcile`, which would have posted it as unexpected: the
 * payment may be one that a restore lost. Rejected: to leave it to the next `reconcile`, whose window may begin after it.
 */
async function problemOf(deps: TrackingDeps, provider: Provider, line: LineToAnswer): Promise<string | null> {
  let { providerId } = line;
  let reported: PixOwner | null = null;
  if (line.kind === 'reported') {
    if (line.endToEnd === null) {
      if (line.rtrId === null) return 'there is no end-to-end id to query';
      return (await withoutName(deps, [{ rtrId: line.rtrId }])).length > 0 ? noPixNamed : null;
    }
    const slot = await takeAllowedQuery(deps, provider);
    if (!slot) throw new NoQueryLeft();
    const found = await provider.findPix(line.endToEnd).finally(() => slot.free());
    if (found.outcome === 'notFound') return 'the provider does not know this Pix';
    if (found.outcome === 'unclear') return `the provider does not answer: ${found.detail}`;
    reported = found.report;
    providerId = reported.providerId;
  }
  const found = await ownerOf(deps, provider, providerId);
  if (found) {
    const { cell, owner } = found;
    const back = reported?.direction === 'received' ? ('debited' as const) : ('returned' as const);
    const named = { ...line, kind: line.kind === 'reported' ? back : line.kind };
    const ours = { ...named, paymentId: owner.id, accountNumber: accountNumberOf(owner.id) };
    const news = await findUnknown(cell.sql, provider.connection, [ours]);
    if (news.length > 0) await confirm(cell, provider, [owner], line.providerRef);
    await compareAmounts(cell, provider.connection, [ours]);
    const { returnsInStatementAlone = false } = provider.capabilities;
    if (!returnsInStatementAlone || line.kind !== 'returned' || news.length === 0) return null;
    return (await findLacking(cell.sql, provider.connection, [ours])).length > 0 ? inStatementAlone : null;
  }
  const { amountCents } = line;
  const booked = reported === null ? line.kind : ownBackOf(reported);
  if (booked === null || booked === 'reported') return null;
  if (amountCents === null) return 'the report names no amount';
  const { foreign, undecided } = await sortForeign(deps, provider, [
    { ...line, providerId, kind: booked, amountCents },
  ]);
  await bookUnmatched(deps, provider.connection, foreign.map(unmatchedLine), true);
  return undecided[0]?.problem ?? null;
}

/** A return of money that the company moved itself. Null: one under an id of our form that no account has is left to `reconcile`. */
const ownBackOf = ({ direction, providerId }: PixOwner): 'returned' | 'debited' | null =>
  providerId !== null && paymentIdOf(providerId) !== null
    ? null
    : direction === 'sent'
      ? 'returned'
      : 'debited';

async function ownerOf(
  deps: TrackingDeps,
  { connection }: Provider,
  providerId: string | null,
): Promise<{ cell: TrackingDeps; owner: PaymentOwner } | undefined> {
  const id = providerId === null ? null : paymentIdOf(providerId);
  if (id === null) return undefined;
  const cells = await findOwnersInCells(deps, connection, [{ id, accountNumber: accountNumberOf(id) }]);
  return cells.flatMap(({ deps: cell, owners }) => owners.map((owner) => ({ cell, owner })))[0];
}

/** The lines that operators have to look at. */
export const listOpenLines = (deps: Pick<TrackingDeps, 'sql'>): Promise<OpenLine[]> =>
  findOpenLines(deps.sql);

/** A person has dealt with the line: it is not looked up again. @throws OperatorRefused no such line */
export async function dismissLine(
  operator: Operator,
  connection: string,
  line: Pick<LineToAnswer, 'kind' | 'id'>,
  reason: string,
): Promise<void> {
  await operator.sql.tx(async (tx) => {
    if (!(await removeLine(tx, connection, line))) throw new OperatorRefused('no such line');
    const audit = {
      accountId: installationId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'statement_line.dismiss',
      subject: line.id,
      reason,
      detail: { connection, kind: line.kind },
    };
    await writeAudit(tx, audit);
  });
}
