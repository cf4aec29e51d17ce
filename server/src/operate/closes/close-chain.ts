import { idsOf } from '../../ports/ids.ts';
import { eventRow, events } from '../../store/events/event.ts';
import type { SubscribedTypes } from '../../store/events/subscribed-types.ts';
import { type Command, put, read } from '../../store/till.ts';
import { changeOf } from '../statement/figures.ts';
import { type ChainToClose, chainKey, type DayClose, dayCloses, dayMoney, lastCloses } from './closes.sql.ts';
import type { DayRead } from './read-day.ts';
import { viewOfClose } from './view.ts';

export interface CloseInput {
  chain: ChainToClose;
  day: string;
  read: DayRead;
  subscribed: SubscribedTypes;
  token: string;
  deadlineMs: number;
}

/**
 * Writes the close, under the chain's lock and only as the next one after the close that it was read from. So a process that was held up
 * over midnight cannot close its day behind a later one. Pure. @returns whether it was written
 */
export function buildClose({
  chain,
  day,
  read: dayRead,
  subscribed,
  token,
  deadlineMs,
}: CloseInput): Command<boolean> {
  const { accountId, chainId } = chain;
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId }],
    reads: [read(lastCloses, chainKey(accountId, chainId))],
    eventRefs: [],
    decide: (view, now) => {
      const last = view.get(lastCloses, chainKey(accountId, chainId));
      const balance = view.balance({ accountId, chainId });
      if (!balance || (last?.day ?? null) !== chain.lastDay) return { answer: false };
      const close = closeOf(chain, day, dayRead, now, token);
      const money = dayRead.money.map((one) => put(dayMoney, { ...one, accountId, chainId, day }));
      // A deleted operation is invisible, and an account's own chain is no operation: they have no event.
      const tells =
        chain.createdAt !== null && balance.deletedAt === null && subscribed.has('close.completed');
      const event = () =>
        eventRow(idsOf(token), {
          accountId,
          operationId: chainId,
          paymentId: null,
          type: 'close.completed',
          livemode: !chain.test,
          change: null,
          data: viewOfClose(close),
          at: now,
        });
      return {
        answer: true,
        writes: [put(dayCloses, close), ...money, ...(tells ? [put(events, event())] : [])],
      };
    },
  };
}

function closeOf(chain: ChainToClose, day: string, dayRead: DayRead, now: number, command: string): DayClose {
  const { opening, closing, openingSeq, closingSeq, figures } = dayRead;
  const openingCents = opening.available - opening.receivable;
  const closingCents = closing.available - closing.receivable;
  if (openingCents + changeOf(figures) !== closingCents)
    throw new Error(`the lines of ${day} do not lead from its opening to its closing`);
  return {
    accountId: chain.accountId,
    chainId: chain.chainId,
    day,
    previousDay: chain.lastDay,
    openingSeq,
    closingSeq,
    ...figures,
    openingCents,
    closingCents,
    ...closing,
    closedAt: now,
    command,
  };
}
