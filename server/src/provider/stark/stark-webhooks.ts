import { textOf } from '../../ports/outside-text.ts';
import type { WebhookNews } from '../provider.ts';
import { unreadItem } from '../unread.ts';
import { readDeposit, readTransfer, recordOf, type Wire } from './stark-bodies.ts';

/** Stark's deliveries: one event each, a log with its transfer or deposit as it was then, signed with the key that Stark publishes. */

export const subscriptions = ['transfer', 'deposit'] as const;

/** The event of a delivery; null: it is none. */
export function eventOf(rawBody: Buffer): Wire | null {
  try {
    return recordOf(recordOf(JSON.parse(textOf(rawBody)))?.event);
  } catch {
    return null;
  }
}

/**
 * The key is Stark's for all its customers, so a delivery is for us only where it names our account. What has to be compared with the ledger (a failure, money
 * that went back) is only named, and then queried.
 */
export function readEvent(event: Wire, workspaceId: string): WebhookNews {
  const news: WebhookNews = {
    addressed: event.workspaceId === workspaceId,
    received: [],
    payouts: [],
    named: [],
  };
  const log = recordOf(event.log);
  if (event.subscription === 'transfer') {
    const transfer = readTransfer(log?.transfer);
    if (transfer === null) news.unread = [unreadItem('delivery', event)];
    else if (transfer !== 'foreign' && transfer.needsLedger) news.named?.push(transfer.report.providerId);
    else if (transfer !== 'foreign' && transfer.report.status === 'completed')
      news.payouts.push(transfer.report);
  }
  if (event.subscription === 'deposit') {
    const deposit = readDeposit(log?.deposit);
    if (deposit === null) news.unread = [unreadItem('delivery', event)];
    else if (deposit !== 'foreign') {
      const { id: _, ledgerIds, ...pix } = deposit;
      if (ledgerIds.length === 1) news.received.push({ ...pix, returns: [] });
      else if (pix.txid !== null) news.named?.push(pix.txid);
    }
  }
  return news;
}
