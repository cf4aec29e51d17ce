import { type Figures, figuresOf } from '../../operate/statement/figures.ts';
import type { Sql } from '../../ports/sql.ts';
import { chainHeads, findClosedDays, findOpenDaySums } from './cash-days.sql.ts';

/** Money in and out on a day of São Paulo. */
export interface CashDay {
  day: string;
  inCents: number;
  /** Sent, refunded and taken back, with all fees. */
  outCents: number;
}

export interface CashDays {
  days: CashDay[];
  /** False: today is not summed up to its last journal yet; the next look continues from there. */
  complete: boolean;
}

/** The journals of an operation after its last close, as far as they were summed up. Never changed: a further look makes a new one. */
interface Summed {
  /** Where its last close ended. */
  afterSeq: number;
  seq: number;
  days: ReadonlyMap<string, CashDay>;
}

/** Journals that one look reads at most, over all operations: no request costs in proportion to a day. */
const readAtMost = 5_000;
/** Operations that a process keeps sums of. */
const keptAtMost = 2_000;

const noFees = { reservedCents: 0, releasedCents: 0 };

const cashOf = (day: string, figures: Figures): CashDay => ({
  day,
  inCents: figures.inCents,
  outCents: figures.outCents + figures.feeCents + figures.refundCents,
});

/**
 * The days of the home chart. Days that are closed stand in their closes, one row each. What was posted since is summed up from the
 * journal a piece at a time and kept in memory: each journal is read once by a process, since it never changes. So in and out are those of
 * the statement and of the closes, by the day of the entry.
 */
export function createCashDays({ sql }: { sql: Pick<Sql, 'run'> }) {
  const kept = new Map<string, Summed>();

  function keep(chain: string, before: Summed | undefined, after: Summed): void {
    // Another look at the same operation went on meanwhile: its sums stand, and these are not added to them.
    if (kept.get(chain) !== before) return;
    kept.delete(chain);
    kept.set(chain, after);
    const [oldest] = kept.keys();
    if (kept.size > keptAtMost && oldest !== undefined) kept.delete(oldest);
  }

  return async (accountId: string, operationIds: readonly string[], firstDay: string): Promise<CashDays> => {
    const [closed, heads] = await Promise.all([
      findClosedDays(sql, accountId, operationIds, firstDay),
      chainHeads(sql, accountId, operationIds),
    ]);
    const all = new Map<string, CashDay>(closed.map(({ day, ...figures }) => [day, cashOf(day, figures)]));
    let left = readAtMost;
    let complete = true;
    for (const { operationId, seq, closedSeq } of heads) {
      const chain = accountId + operationId;
      const known = kept.get(chain);
      const from =
        known?.afterSeq === closedSeq ? known : { afterSeq: closedSeq, seq: closedSeq, days: new Map() };
      const to = Math.min(seq, from.seq + left);
      let summed: Summed = from;
      if (to > from.seq) {
        const sums = await findOpenDaySums(sql, { accountId, operationId }, from.seq, to);
        const days = new Map(from.days);
        for (const [day, some] of Map.groupBy(sums, (one) => one.day))
          add(days, cashOf(day, figuresOf(some, noFees)));
        summed = { afterSeq: closedSeq, seq: to, days };
        keep(chain, known, summed);
        left -= to - from.seq;
      }
      if (summed.seq < seq) complete = false;
      for (const day of summed.days.values()) if (day.day >= firstDay) add(all, day);
    }
    return { days: [...all.values()].sort((one, other) => (one.day < other.day ? -1 : 1)), complete };
  };
}

function add(days: Map<string, CashDay>, { day, inCents, outCents }: CashDay): void {
  const sum = days.get(day) ?? { day, inCents: 0, outCents: 0 };
  days.set(day, { day, inCents: sum.inCents + inCents, outCents: sum.outCents + outCents });
}
