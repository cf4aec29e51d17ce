import { chainStart } from '../../money/journal.ts';
import type { Queries } from '../../ports/sql.ts';
import { type Figures, figuresOf, type TransferFees } from '../statement/figures.ts';
import type { EntrySum } from '../statement/line.ts';
import { findSums, findTransferFees } from '../statement/statement.sql.ts';
import {
  type ChainToClose,
  type Columns,
  findColumnsAt,
  findMoved,
  findPlaceBefore,
  type MovedMoney,
} from './closes.sql.ts';
import { endsAt, startsAt } from './day.ts';

/** A chain's journals of a day. They never change, so this is read before the lock. */
export interface DayRead {
  openingSeq: number;
  closingSeq: number;
  opening: Columns;
  closing: Columns;
  figures: Figures;
  money: MovedMoney[];
}

/** Journals of one statement. */
const page = 5_000;

const empty: Columns = { available: 0, reserved: 0, held: 0, receivable: 0, head: chainStart };

/** Whether the chain has a close of this day: it lived then, or something was posted that no close holds yet. */
export function isToClose(chain: ChainToClose, day: string): boolean {
  if (chain.lastDay !== null && chain.lastDay >= day) return false;
  if (chain.seq > (chain.lastSeq ?? 0)) return true;
  if (chain.createdAt === null) return chain.lastDay !== null;
  return chain.createdAt < endsAt(day) && (chain.deletedAt === null || chain.deletedAt >= startsAt(day));
}

/** Reads the day by pages. A chain's first close begins with the day itself; what moved before is its opening. */
export async function readDay(sql: Queries, chain: ChainToClose, day: string): Promise<DayRead> {
  const { accountId, chainId, seq } = chain;
  const openingSeq = chain.lastSeq ?? (await findPlaceBefore(sql, chain, startsAt(day), seq));
  const closingSeq = Math.max(openingSeq, await findPlaceBefore(sql, chain, endsAt(day), seq));
  const sums: EntrySum[] = [];
  const fees: TransferFees = { reservedCents: 0, releasedCents: 0 };
  const money = new Map<string, MovedMoney>();
  const scope = { accountId, operationId: chainId };
  for (let at = openingSeq; at < closingSeq; at += page) {
    const to = Math.min(closingSeq, at + page);
    sums.push(...(await findSums(sql, scope, at, to)));
    const part = await findTransferFees(sql, scope, at, to);
    fees.reservedCents += part.reservedCents;
    fees.releasedCents += part.releasedCents;
    for (const one of await findMoved(sql, [accountId, chainId, at, to])) add(money, one);
  }
  const before = chain.lastDay === null ? openingSeq : 0;
  for (let at = 0; at < before; at += page) {
    const to = Math.min(before, at + page);
    for (const one of await findMoved(sql, [accountId, chainId, at, to])) {
      const openingCents = one.inCents - one.outCents - one.refundCents;
      add(money, { ...nothingAt(one.connection), openingCents });
    }
  }
  return {
    openingSeq,
    closingSeq,
    opening: (await findColumnsAt(sql, chain, openingSeq)) ?? empty,
    closing: (await findColumnsAt(sql, chain, closingSeq)) ?? empty,
    figures: figuresOf(sums, fees),
    money: [...money.values()],
  };
}

const nothingAt = (connection: string): MovedMoney => ({
  connection,
  openingCents: 0,
  inCents: 0,
  outCents: 0,
  refundCents: 0,
  feeCents: 0,
  costCents: 0,
  ownInCents: 0,
  ownOutCents: 0,
});

function add(money: Map<string, MovedMoney>, one: MovedMoney): void {
  const sum = money.get(one.connection) ?? nothingAt(one.connection);
  money.set(one.connection, {
    connection: one.connection,
    openingCents: sum.openingCents + one.openingCents,
    inCents: sum.inCents + one.inCents,
    outCents: sum.outCents + one.outCents,
    refundCents: sum.refundCents + one.refundCents,
    feeCents: sum.feeCents + one.feeCents,
    costCents: sum.costCents + one.costCents,
    ownInCents: sum.ownInCents + one.ownInCents,
    ownOutCents: sum.ownOutCents + one.ownOutCents,
  });
}
