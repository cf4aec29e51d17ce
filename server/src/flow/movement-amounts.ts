import { settledReturns } from '../kinds/payment/interpret-report.ts';
import { paymentIdOf } from '../money/payment.ts';
import type { ChargeReport, NamedReturn, PayoutReport, StatementLine } from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { byCell } from './in-cells.ts';
import { findOtherAmounts, type NamedMovement, type OtherAmount } from './movement-amounts.sql.ts';
import { buildIncident } from './open-incident.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * A movement of the provider's that the books have under the same name, with another amount: nothing is posted. It is an incident, once for each
 * movement and amount, and the operation's withdrawals are frozen until a person has looked where the difference is.
 *
 * Answers the payments about which a movement says another amount, also where that was an incident before.
 *
 * Rejected: to compare in the state machine. A webhook and a query say again what is booked at every look, and each would cost a read; every movement
 * passes a list, a statement or a report, which are compared here.
 */
export async function compareAmounts(
  deps: TrackingDeps,
  connection: string,
  movements: readonly NamedMovement[],
  accountId: string | null = null,
): Promise<string[]> {
  const different: string[] = [];
  for (const cell of await byCell(deps, movements)) {
    if (cell.items.length === 0) continue;
    for (const other of await findOtherAmounts(cell.deps.sql, connection, cell.items)) {
      const movement = cell.items[other.n];
      if (!movement || (accountId !== null && other.accountId !== accountId)) continue;
      await openIncident(cell.deps, connection, movement, other);
      different.push(movement.paymentId);
    }
  }
  return different;
}

/** Of the lines that name a payment's id of ours. */
export const namedOf = (lines: readonly StatementLine[]): (StatementLine & NamedMovement)[] =>
  lines.flatMap((line) => {
    const id = line.providerId === null ? null : paymentIdOf(line.providerId);
    return id === null ? [] : [{ ...line, paymentId: id, accountNumber: accountNumberOf(id) }];
  });

/** Everything that a report of a charge or of a payout says to have moved. */
export function movementsOf(report: ChargeReport | PayoutReport): NamedMovement[] {
  const paymentId = paymentIdOf('providerId' in report ? report.providerId : report.txid);
  if (paymentId === null) return [];
  const payment = { paymentId, accountNumber: accountNumberOf(paymentId) };
  const moved = (kind: NamedMovement['kind'], endToEnd: string | null, amountCents: number) => ({
    ...payment,
    ...{ kind, id: endToEnd ?? '', rtrId: null, endToEnd, amountCents },
  });
  const back = (kind: NamedMovement['kind'], endToEnd: string | null) => (one: NamedReturn) => ({
    ...moved(kind, endToEnd, one.amountCents),
    ...{ id: one.id ?? one.rtrId ?? '', rtrId: one.rtrId },
  });
  if (!('providerId' in report))
    return report.received.flatMap((pix) => [
      moved('received', pix.endToEnd, pix.amountCents),
      ...settledReturns(pix).map(back('debited', pix.endToEnd)),
    ]);
  if (report.status !== 'completed') return [];
  const { endToEnd, amountCents } = report;
  return [moved('sent', endToEnd, amountCents), ...settledReturns(report).map(back('returned', endToEnd))];
}

/** Freezes the operation. */
async function openIncident(
  deps: TrackingDeps,
  connection: string,
  { paymentId, kind, amountCents }: NamedMovement,
  { accountId, operationId, name, bookedCents }: OtherAmount,
): Promise<void> {
  const reportedCents = amountCents ?? 0;
  const wanted = {
    ...{ accountId, operationId, paymentId, kind: 'movement_mismatch' as const, freezes: true },
    ...{ reference: `amount:${paymentId}:${kind}:${name}:${reportedCents}`, amountCents: reportedCents },
    detail: { connection, movement: kind, pix: name || null, reportedCents, bookedCents },
  };
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  if (!(await deps.till.submit(buildIncident(wanted, deps.ids.uuid(), deadlineMs)))) return;
  deps.log.error({ accountId, paymentId, connection }, 'a movement is reported with another amount');
}
