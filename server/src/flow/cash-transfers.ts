import { eventKinds } from '../money/journal.ts';
import type { Queries } from '../ports/sql.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import {
  type CashTransfer,
  findLateCash,
  lateCashReference,
  type OpenCash,
  openCash,
} from '../store/rows/cash-transfers.sql.ts';
import { type Command, type Posting, put, read } from '../store/till.ts';
import { buildIncident } from './open-incident.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

type CashDeps = Pick<TrackingDeps, 'sql' | 'till' | 'clock' | 'ids'>;

/**
 * Cash that moves from an acquirer to the company's account at another connection, from where merchants withdraw it.
 *
 * Two words are needed, and neither waits for the other. The acquirer's own: what left its account is in transit, which is suspense of the installation.
 * The statement of the other connection: what came in there is the company's own money, like everything under no id of ours. When the two are of one
 * amount, and the second is not from before the first, the transfer has arrived: own money becomes what was in transit. So each connection's books say what
 * its account holds at every moment, whichever word is first.
 *
 * Rejected: to book both sides when the acquirer says that it paid out. The other account would be short of money that is days away, and a payout that
 * its bank refuses would never have been missed.
 */
const chain = { accountId: installationId, chainId: installationId };

/** After the day that the acquirer named, weekends and holidays included. */
const lateAfterMs = 4 * 24 * 3_600_000;

/** Ends those that have arrived, and takes back the end of those that the acquirer has again. Answers how many. Pure. */
export function buildCashEnds(connection: string, token: string, deadlineMs: number): Command<number> {
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [read(openCash, connection)],
    eventRefs: [],
    decide: (view, now) => {
      const row = view.get(openCash, connection);
      if (!row) return { answer: 0 };
      const taken = new Set(row.ended.map(({ arrival }) => arrival));
      const open: OpenCash['open'] = [];
      const ended: CashTransfer[] = [];
      const postings: Posting[] = [];
      for (const one of row.open) {
        if (one.returnedAt !== null) {
          ended.push({ ...one, arrival: null, ownAt: null });
          postings.push(arrivalOf(one, -one.amountCents, now));
        } else if (one.found !== null && !taken.has(one.found)) {
          taken.add(one.found);
          ended.push({ ...one, arrival: one.found });
          postings.push(arrivalOf(one, one.amountCents, now));
          // Of two of one amount, the next command finds what is left for the second.
        } else open.push(one);
      }
      if (ended.length === 0) return { answer: 0 };
      return {
        answer: ended.length,
        postings,
        writes: [put(openCash, { connection, open, ended: [...row.ended, ...ended] })],
      };
    },
  };
}

/** @param amountCents below zero: it had not arrived */
export function arrivalOf(
  { connection, reference }: Pick<CashTransfer, 'connection' | 'reference'>,
  amountCents: number,
  now: number,
): Posting {
  return {
    chain,
    subject: installationId,
    event: eventKinds.cashArrive,
    reference: `${connection}:${reference}${amountCents < 0 ? ':back' : ''}`,
    movement: { kind: 'cashArrive', amountCents },
    effectiveAt: now,
  };
}

/** A look without a lock, so that a turn with nothing to end commits nothing. */
const hasEnds = async (sql: Queries, connection: string): Promise<boolean> =>
  (await openCash.read(sql, [connection])).some(({ open }) =>
    open.some(({ returnedAt, found }) => returnedAt !== null || found !== null),
  );

/** Ends what has arrived, and opens an incident for each that has not in time. */
export async function stepCash(deps: CashDeps, connection: string): Promise<void> {
  const submit = <Answer>(build: (token: string, deadlineMs: number) => Command<Answer>): Promise<Answer> =>
    deps.till.submit(build(deps.ids.uuid(), deps.clock.monotonicMs() + applyWithinMs));
  while (
    (await hasEnds(deps.sql, connection)) &&
    (await submit((token, deadlineMs) => buildCashEnds(connection, token, deadlineMs))) > 0
  );
  for (const { reference, toConnection, amountCents, leftAt, dueAt } of await findLateCash(
    deps.sql,
    connection,
    deps.clock.now() - lateAfterMs,
  )) {
    const detail = {
      ...{ connection, reference, toConnection },
      ...{ leftAt: new Date(leftAt).toISOString(), dueAt: new Date(dueAt).toISOString() },
    };
    const wanted = {
      ...({ accountId: installationId, kind: 'cash_missing', amountCents, detail } as const),
      reference: lateCashReference(connection, reference),
    };
    await submit((token, deadlineMs) => buildIncident(wanted, token, deadlineMs));
  }
}
