import type { CellsOf } from '../../flow/cells-of.ts';
import type { Log } from '../../ground/log.ts';
import { eventKinds } from '../../money/journal.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Ids, idsOf } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { audits } from '../../store/rows/audit.sql.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import {
  findOwedCredits,
  findPlaceOf,
  noteCredited,
  type OwedCredit,
  type Resolution,
} from '../../store/rows/incidents.sql.ts';
import { lostPayments } from '../../store/rows/lost-payments.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { type Command, put, read, type Till } from '../../store/till.ts';
import { creditPosting } from './endings.ts';

/**
 * Money in suspense of the installation that a decision gives to an account of another cell. The decision takes it out of suspense and keeps, in its
 * incident, to whom it is owed; then the account's cell credits it, once under its Pix, and the incident says so. A process that ends between two of
 * these steps leaves the rest to the next one: the record is there, and a second credit finds the first.
 *
 * Rejected: one transaction over both cells, which two nodes of a cluster commit at two times; and to credit first, since another decision about the
 * same money could follow before the incident ends.
 */
interface OwedDeps {
  sql: Sql;
  till: Till;
  cells: CellsOf<OwedDeps>;
  clock: Clock;
  ids: Ids;
  log: Log;
}

const most = 20;
const withinMs = 15_000;

/** @returns whether there may be more */
export async function stepOwedCredits(deps: OwedDeps): Promise<boolean> {
  const owed = await findOwedCredits(deps.sql, most);
  let done = 0;
  for (const { id, resolution } of owed) {
    try {
      await creditInCell(deps, id, resolution);
      await noteCredited(deps.sql, id);
      done++;
    } catch (error) {
      deps.log.error({ err: error, incident: id }, 'money of another cell is not credited yet');
    }
  }
  return owed.length === most && done > 0;
}

async function creditInCell(
  { cells, ids, clock }: OwedDeps,
  incidentId: string,
  resolution: Resolution & { owed: OwedCredit },
): Promise<void> {
  const { accountId, paymentId } = resolution.owed;
  const number = accountNumberOf(paymentId);
  const cell = (await cells.ofNumbers([number])).get(number);
  const place = cell && (await findPlaceOf(cell.sql, accountId));
  if (!cell || !place?.mainOperationId) throw new Error('its account has no live main operation');
  const command = buildOwedCredit({
    ...{ incidentId, resolution, operationId: place.mainOperationId, token: ids.uuid() },
    deadlineMs: clock.monotonicMs() + withinMs,
  });
  await cell.till.submit(command);
}

export interface OwedInput {
  incidentId: string;
  resolution: Resolution & { owed: OwedCredit };
  /** The account's main one. */
  operationId: string;
  token: string;
  deadlineMs: number;
}

/** Credits it, unless the cell has booked the Pix. Pure. @returns whether this command did */
export function buildOwedCredit({
  incidentId,
  resolution,
  operationId,
  token,
  deadlineMs,
}: OwedInput): Command<boolean> {
  const { owed, actor, reason } = resolution;
  const { accountId, paymentId, subject, pix, connection } = owed;
  const chain = { accountId, chainId: operationId };
  const ref = { accountId, subject, event: eventKinds.resolution, reference: pix };
  const received = { connection, endToEnd: pix };
  const key = paymentKey(accountId, paymentId);
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [read(lostPayments, key)],
    eventRefs: [ref],
    pix: [received],
    decide: (view, now) => {
      // The merchant's repeat may have brought the payment back, and the provider's report the money.
      if (view.posted(ref) || view.booked(received)) return { answer: false };
      if (view.balance(chain)?.deletedAt !== null) throw new Error('its operation was deleted');
      const lost = view.get(lostPayments, key);
      const audit = {
        ...{ accountId, id: idsOf(token).uuid(), at: now, actor, action: 'incident.credit' },
        ...{ subject: incidentId, reason, detail: { paymentId, connection, amountCents: owed.amountCents } },
      };
      return {
        answer: true,
        postings: [creditPosting(chain, owed)],
        writes: [
          ...(lost ? [put(lostPayments, { ...lost, decidedAt: lost.decidedAt ?? now })] : []),
          put(audits, audit),
        ],
      };
    },
  };
}
