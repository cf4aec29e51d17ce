import { arrayIn } from '../bacen.ts';
import { isSuccess, readList, unclear, unreadAnswer } from '../exchange.ts';
import type {
  ListOutcome,
  ListWindow,
  PixOwner,
  QueryOutcome,
  ReceivedPix,
  StatementLine,
  Unclear,
  UnreadItem,
} from '../provider.ts';
import { unreadItem } from '../unread.ts';
import {
  type AnyTransfer,
  type AsaasPayment,
  type AsaasPix,
  dayAt,
  readAnyTransfer,
  readPayment,
  readPix,
  readTransfer,
} from './asaas-bodies.ts';
import { type AsaasDeps, pages } from './asaas-lists.ts';

/**
 * The Pix themselves. A payment names its Pix by an id of Asaas alone, and `GET /v3/pix/transactions` is the only call that knows end-to-end ids and
 * hours. It has no filter by time.
 */

/** Looked up at once: Asaas allows 50 queries under way (docs.asaas.com/docs/api-limits-1). */
const atOnce = 8;

/** The Pix of payments that received one, each with what was given back of it. */
export async function pixOfPayments(
  deps: AsaasDeps,
  payments: readonly AsaasPayment[],
): Promise<{ pix: ReceivedPix[] } | Unclear> {
  // Oldest first: seconds alone do not order two Pix of one moment.
  const paid = payments.filter(({ status }) => status === 'paid').toReversed();
  const found: ReceivedPix[] = [];
  for (let from = 0; from < paid.length; from += atOnce) {
    const looked = await Promise.all(paid.slice(from, from + atOnce).map((payment) => pixOf(deps, payment)));
    for (const one of looked) {
      if ('outcome' in one) return one;
      found.push(one);
    }
  }
  return { pix: found.sort((one, other) => one.paidAt - other.paidAt) };
}

async function pixOf({ exchange, clock }: AsaasDeps, payment: AsaasPayment): Promise<ReceivedPix | Unclear> {
  const { id, pix: pixId, reference, returns } = payment;
  if (pixId === null) {
    const unread = { ...unreadItem('charge', { externalReference: reference, id }), name: reference };
    const detail = 'a paid charge without its Pix';
    return { outcome: 'unclear', cause: 'unreadable', retryAfterMs: null, detail, unread };
  }
  const reply = await exchange({ method: 'GET', path: `/v3/pix/transactions/${encodeURIComponent(pixId)}` });
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) return unclear(reply, clock);
  const pix = readPix(reply.body);
  if (pix === null || pix === 'foreign' || pix.kind !== 'received')
    return unreadAnswer(reply, clock, 'charge', reference ?? id);
  const { endToEnd, amountCents, at } = pix;
  return { endToEnd, amountCents, paidAt: at, txid: reference, returns };
}

/** The Pix of an end-to-end id; null: Asaas has none of it. */
export async function pixNamed(
  { exchange, clock }: AsaasDeps,
  endToEnd: string,
): Promise<AsaasPix | Unclear | null> {
  const path = `/v3/pix/transactions?endToEndIdentifier=${encodeURIComponent(endToEnd)}&limit=100`;
  const reply = await exchange({ method: 'GET', path });
  const items = reply.kind === 'answer' && isSuccess(reply.status) ? arrayIn(reply.body, 'data') : null;
  if (items === null) return unclear(reply, clock);
  const read = items.map(readPix);
  const found = read.find(
    (one): one is AsaasPix => one !== null && one !== 'foreign' && one.endToEnd === endToEnd,
  );
  if (found) return found;
  return items.length === 0 ? null : unreadAnswer(reply, clock, 'received', endToEnd);
}

export async function findPix(deps: AsaasDeps, endToEnd: string): Promise<QueryOutcome<PixOwner>> {
  const pix = await pixNamed(deps, endToEnd);
  if (pix === null) return { outcome: 'notFound' };
  if ('outcome' in pix) return pix;
  const direction = pix.kind === 'sent' || pix.kind === 'returned' ? 'sent' : 'received';
  const owner = await referenceOf(deps, pix);
  return typeof owner === 'object' && owner !== null
    ? owner
    : { outcome: 'found', report: { direction, providerId: owner } };
}

/** Our id, from the Pix itself or else from the payment or the transfer that it belongs to. */
async function referenceOf({ exchange, clock }: AsaasDeps, pix: AsaasPix): Promise<string | null | Unclear> {
  const { reference, paymentId, transferId } = pix;
  if (reference !== null) return reference;
  const owner = paymentId === null ? transferId : paymentId;
  if (owner === null) return null;
  const path = `/v3/${paymentId === null ? 'transfers' : 'payments'}/${encodeURIComponent(owner)}`;
  const reply = await exchange({ method: 'GET', path });
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) return unclear(reply, clock);
  if (paymentId !== null) return readPayment(reply.body)?.reference ?? null;
  const transfer = readTransfer(reply.body);
  return transfer === null || transfer === 'foreign' ? null : transfer.providerId;
}

/** A Pix may be held for a check of up to three days, and then counts from its own time in an old place of the list. */
const heldMostMs = 73 * 3_600_000;
/** Twenty thousand Pix. */
const pagesMost = 200;

/**
 * Money that moved in the window: received and given back from the list of Pix, which is read from its newest item on until everything is older; sent from the list
 * of transfers, which has a filter by day. Where the list of Pix does not reach back so far the answer is unclear, and not a part that looks whole.
 */
export async function statementOf(deps: AsaasDeps, window: ListWindow): Promise<ListOutcome<StatementLine>> {
  const moved = await movedIn(deps, window);
  if (moved.outcome === 'unclear') return moved;
  const lines: StatementLine[] = [];
  for (const pix of moved.pix) {
    const line = await lineOf(deps, pix);
    if ('outcome' in line) return line;
    lines.push(line);
  }
  const sent = await sentIn(deps, window);
  if (sent.outcome !== 'listed') return sent;
  const reports = [...sent.reports, ...lines].sort((one, other) => one.at - other.at);
  return { ...sent, reports, unread: [...moved.unread, ...sent.unread] };
}

type Moved = { outcome: 'read'; pix: AsaasPix[]; unread: UnreadItem[] } | Unclear;

async function movedIn({ exchange, clock, limits }: AsaasDeps, { fromMs, toMs }: ListWindow): Promise<Moved> {
  const pix = new Map<string, AsaasPix>();
  const unread: UnreadItem[] = [];
  let skip = 0;
  for (let page = 0; page < pagesMost; page++) {
    const path = `/v3/pix/transactions?offset=${skip}&limit=${limits.pageSize}`;
    const reply = await exchange({ method: 'GET', path });
    const items = reply.kind === 'answer' && isSuccess(reply.status) ? arrayIn(reply.body, 'data') : null;
    if (reply.kind !== 'answer' || items === null) return unclear(reply, clock);
    const times: number[] = [];
    for (const item of items) {
      const one = readPix(item);
      if (one === null) unread.push(unreadItem('received', item));
      if (one === null || one === 'foreign') continue;
      times.push(one.createdAt);
      if (one.kind !== 'sent' && one.at >= fromMs && one.at <= toMs) pix.set(one.id, one);
    }
    skip += items.length;
    const { hasMore, totalCount } = reply.body as { hasMore?: unknown; totalCount?: unknown };
    const isWhole =
      hasMore === false || (hasMore !== true && typeof totalCount === 'number' && skip >= totalCount);
    // That the newest stands first is not documented: only a page that falls in time ends the reading.
    const falls = times.length > 0 && (times[0] as number) >= (times.at(-1) as number);
    if (isWhole || (falls && Math.max(...times) < fromMs - heldMostMs))
      return { outcome: 'read', pix: [...pix.values()], unread };
    if (items.length === 0) return unclear(reply, clock);
  }
  const detail = 'the list of Pix does not reach back to this time';
  return { outcome: 'unclear', cause: 'unreadable', detail, retryAfterMs: null };
}

async function lineOf(deps: AsaasDeps, pix: AsaasPix): Promise<StatementLine | Unclear> {
  const owner = await referenceOf(deps, pix);
  if (typeof owner === 'object' && owner !== null) return owner;
  const { endToEnd, original, kind, at, amountCents, transferId } = pix;
  const back = kind === 'returned' || kind === 'debited';
  return {
    id: endToEnd,
    rtrId: back ? endToEnd : null,
    ...{ at, kind, amountCents, providerId: owner },
    endToEnd: back ? original : endToEnd,
    ...(transferId === null ? {} : { providerRef: transferId }),
  };
}

/** Transfers that left on the days of the window. One that names the day alone counts from the window's beginning. */
async function sentIn(
  deps: AsaasDeps,
  { fromMs, toMs, wholeOnly }: ListWindow,
): Promise<ListOutcome<StatementLine>> {
  const days = `transferDate[ge]=${dayAt(fromMs)}&transferDate[le]=${dayAt(toMs)}`;
  const listed = await readList(deps.exchange, deps.clock, {
    ...pages(deps, 'sent', () => `/v3/transfers?${days}`),
    read: readAnyTransfer,
    wholeOnly,
  });
  if (listed.outcome !== 'listed') return listed;
  const reports = listed.reports
    .flatMap((payout) => lineOfPayout(payout, fromMs))
    .filter(({ at }) => at <= toMs);
  return { ...listed, reports };
}

function lineOfPayout(payout: AnyTransfer, fromMs: number): StatementLine[] {
  const { status, endToEnd, amountCents, providerId, providerRef = null, settledAt } = payout;
  if (status !== 'completed' || endToEnd === null) return [];
  const at = Math.max(settledAt ?? fromMs, fromMs);
  return [{ id: endToEnd, rtrId: null, at, kind: 'sent', amountCents, endToEnd, providerId, providerRef }];
}
