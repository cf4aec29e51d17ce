import { settledReturns } from '../kinds/payment/interpret-report.ts';
import { paymentIdOf } from '../money/payment.ts';
import { idsOf } from '../ports/ids.ts';
import type { ChargeReport, NamedReturn, PayoutReport, StatementLine } from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { incidentKey, incidents, openIncidents } from '../store/rows/incidents.sql.ts';
import { type Command, put, read } from '../store/till.ts';
import { byCell } from './in-cells.ts';
import { findOtherAmounts, type NamedMovement, type OtherAmount } from './movement-amounts.sql.ts';
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
    return id === null
      ? []
      : [{ ...line, amountCents: line.amountCents, paymentId: id, accountNumber: accountNumberOf(id) }];
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

async function openIncident(
  deps: TrackingDeps,
  connection: string,
  movement: NamedMovement,
  other: OtherAmount,
): Promise<void> {
  const { paymentId } = movement;
  const { accountId } = other;
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const command = buildOtherAmount({ connection, movement, other, token: deps.ids.uuid(), deadlineMs });
  if (!(await deps.till.submit(command))) return;
  deps.log.error({ accountId, paymentId, connection }, 'a movement is reported with another amount');
}

interface OtherAmountInput {
  connection: string;
  movement: NamedMovement;
  other: OtherAmount;
  token: string;
  deadlineMs: number;
}

/** Opens the incident and freezes the operation. Answers whether it was opened. Pure. */
export function buildOtherAmount(input: OtherAmountInput): Command<boolean> {
  const { connection, movement, other, token, deadlineMs } = input;
  const { accountId, operationId, name, bookedCents } = other;
  const { paymentId, kind, amountCents } = movement;
  const reportedCents = amountCents ?? 0;
  const reference = `amount:${paymentId}:${kind}:${name}:${reportedCents}`;
  const key = incidentKey(accountId, reference);
  const operation = { accountId, chainId: operationId };
  return {
    token,
    deadlineMs,
    chains: [operation],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, openedAt) => {
      if (view.get(incidents, key)) return { answer: false };
      const incident = {
        ...{ accountId, id: idsOf(token).uuid(), kind: 'movement_mismatch' as const, paymentId, operationId },
        ...{ amountCents: reportedCents, reference, freezes: true, openedAt },
        detail: { connection, movement: kind, pix: name || null, reportedCents, bookedCents },
      };
      return {
        answer: true,
        writes: [put(openIncidents, { accountId, paymentId }), put(incidents, incident)],
        freeze: view.balance(operation)?.deletedAt === null ? [operation] : [],
      };
    },
  };
}
