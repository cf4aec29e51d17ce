import type { CardApproval, CheckoutName, CheckoutReport, NamedPage } from '../cards.ts';
import { isSuccess, unclear, wordsIn } from '../exchange.ts';
import type { QueryOutcome, SendOutcome, Unclear } from '../provider.ts';
import { notRead } from './asaas-account.ts';
import { dayAt, recordOf, textOf } from './asaas-bodies.ts';
import {
  approvalOf,
  attemptIn,
  type CardPaymentItem,
  isAnticipated,
  lacksChargeback,
  planOf,
  readAnticipation,
  readCardPayment,
  reportOf,
} from './asaas-card-bodies.ts';
import { type AsaasDeps, listWhere } from './asaas-lists.ts';

/**
 * The fate of a page. Asaas has no call that reads one (`GET /v3/checkouts/{id}` does not exist), so:
 *
 * - **Approved** is what a payment says that names the page as its `checkoutSession`, or names our id. Once it is known by its own name that one
 *   payment is read, and the lists say only whether another one was approved as well.
 * - **No payment in a filtered list proves nothing**: the filter has answered nothing for pages that were paid. The page is reported open, which ends nothing.
 * - **Closed** is the answer to a cancellation. Each page lives a little longer than was asked for, and is cancelled at the time that was: an answer that it is cancelled
 *   says that it was open until then, and so was not paid. Where Asaas refuses to cancel it, it is closed when its own time is over as well and the
 *   whole list of its days, without a filter by page, has no payment of it.
 */

const minuteMs = 60_000;
/** `minutesToExpire` at most. */
const lifeMost = 1_440;
/** Of a page behind the time that was asked for. */
const spareMinutes = 20;
/** Behind its own time: the page may have been made a little after the payment here, and two clocks differ. */
const clocksApartMs = 10 * minuteMs;
export const lifeOf = (minutes: number): number => Math.min(lifeMost, minutes + spareMinutes);

export async function queryPage(
  deps: AsaasDeps,
  host: string,
  name: CheckoutName,
): Promise<QueryOutcome<CheckoutReport>> {
  const { providerRef, approval, createdAt, minutes } = name;
  if (approval !== null && providerRef !== null) return queryApproved(deps, name, providerRef, approval);
  const items = await paymentsOf(deps, name);
  if (!Array.isArray(items)) return items;
  // Only an inherited reference finds a page whose answer was lost.
  const ref = providerRef ?? items.find(({ session }) => session !== null)?.session ?? null;
  if (ref === null) return { outcome: 'notFound' };
  const found = await paidReport(deps, name, ref, items);
  if (found !== null) return found;
  const attempt = attemptIn(items);
  const url = `${host}/checkoutSession/show?id=${encodeURIComponent(ref)}`;
  const open = reportOf(name, ref, {
    ...{ page: 'open', url, expiresAt: createdAt + minutes * minuteMs, attempt },
  });
  const isOver = deps.clock.now() >= createdAt + minutes * minuteMs;
  // One that waits for a check of its risk may still be approved.
  if (!isOver || attempt?.status === 'processing') return { outcome: 'found', report: open };
  const closed = await closePage(deps, name, ref);
  if (closed === 'closed') return { outcome: 'found', report: { ...open, page: 'closed', url: null } };
  if ('outcome' in closed) return closed.outcome === 'notSent' ? { outcome: 'found', report: open } : closed;
  return (await paidReport(deps, name, ref, closed.items)) ?? { outcome: 'found', report: open };
}

/** Closes a page that was not paid. A payment of it that is checked for its risk may still be approved, though the page is cancelled: it stays open here. */
export async function expirePage(
  deps: AsaasDeps,
  _host: string,
  name: NamedPage,
  timeoutMs: number,
): Promise<SendOutcome<CheckoutReport>> {
  const { providerRef: ref } = name;
  const closed = await closePage(deps, name, ref, timeoutMs);
  const items = closed === 'closed' ? await paymentsOf(deps, name) : [];
  const isChecked = Array.isArray(items) && items.some(({ state }) => state === 'checked');
  if (closed === 'closed' && !isChecked)
    return { outcome: 'accepted', report: reportOf(name, ref, { page: 'closed' }) };
  if (closed === 'closed' || !('outcome' in closed))
    return { outcome: 'refused', reason: 'provider_refused', detail: 'a payment of the page is there' };
  if (closed.outcome === 'notSent') return { outcome: 'notSent', detail: closed.detail };
  return closed;
}

/**
 * Cancels a page, and says what that proves: that it is closed, or which payments were made on it.
 * https://docs.asaas.com/reference/cancelar-um-checkout
 */
async function closePage(
  deps: AsaasDeps,
  name: CheckoutName,
  ref: string,
  timeoutMs?: number,
): Promise<'closed' | { items: CardPaymentItem[] } | { outcome: 'notSent'; detail: string } | Unclear> {
  const { exchange, clock } = deps;
  const reply = await exchange({
    ...{ method: 'POST', path: `/v3/checkouts/${encodeURIComponent(ref)}/cancel`, body: {} },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const unread = notRead(reply);
  if (unread) return unread;
  const page = reply.kind === 'answer' && isSuccess(reply.status) ? recordOf(reply.body) : null;
  const status = textOf(page?.status);
  if (page?.id === ref && (status === 'CANCELED' || status === 'EXPIRED')) return 'closed';
  const isRefused = reply.kind === 'answer' && (reply.status === 400 || reply.status === 404);
  if (!isRefused && status !== 'PAID') return unclear(reply, clock);
  // It is not open any more: paid, or closed before.
  const filtered = await paymentsOf(deps, name);
  if (!Array.isArray(filtered)) return filtered;
  if (filtered.some(({ state }) => state !== 'tried')) return { items: filtered };
  if (clock.now() < endOf(name))
    return {
      ...unclear(reply, clock),
      detail: 'it is not cancelled, and has no payment yet',
      ...wordsIn(reply),
    };
  const all = await paymentsOfDays(deps, name, ref);
  if (!Array.isArray(all)) return all;
  return all.some(({ state }) => state !== 'tried') ? { items: all } : 'closed';
}

const isOf =
  ({ providerId, providerRef }: CheckoutName) =>
  ({ session, reference }: CardPaymentItem): boolean =>
    reference === providerId || (session !== null && session === providerRef);

/** Payments under the page and under our id, each list compared item by item. */
async function paymentsOf(deps: AsaasDeps, name: CheckoutName): Promise<CardPaymentItem[] | Unclear> {
  const { providerId, providerRef } = name;
  const found = new Map<string, CardPaymentItem>();
  const filters = [
    ...(providerRef === null ? [] : [['checkoutSession', providerRef] as const]),
    ['externalReference', providerId] as const,
  ];
  for (const [filter, value] of filters) {
    const listed = await listWhere(deps, `/v3/payments?${filter}=${encodeURIComponent(value)}`, {
      ...{ kind: 'charge', read: readCardPayment, providerId },
      isWanted: ({ session, reference }) =>
        filter === 'checkoutSession' ? session === value : reference === value,
    });
    if (!('items' in listed)) return listed;
    for (const item of listed.items) found.set(item.id, item);
  }
  return [...found.values()];
}

/** From then on a page takes no payment, whatever was answered. */
const endOf = ({ createdAt, minutes }: CheckoutName): number =>
  createdAt + lifeOf(minutes) * minuteMs + clocksApartMs;

/** The days on which the page lived, three at most: those after it belong to other pages, and would be more with each look. */
function daysOf(name: CheckoutName): string[] {
  const moments = [name.createdAt, name.createdAt + lifeMost * minuteMs, endOf(name)];
  return [...new Set(moments.filter((at) => at <= endOf(name)).map(dayAt))];
}

/** The same out of every payment of the days on which the page lived, day by day, so that each list is as short as it can be: 5,000 payments of a day. */
async function paymentsOfDays(
  deps: AsaasDeps,
  name: CheckoutName,
  ref: string,
): Promise<CardPaymentItem[] | Unclear> {
  const isWanted = isOf({ ...name, providerRef: ref });
  const found: CardPaymentItem[] = [];
  for (const day of daysOf(name)) {
    const listed = await listWhere(deps, `/v3/payments?dateCreated[ge]=${day}&dateCreated[le]=${day}`, {
      ...{ kind: 'charge', isWanted: () => true, providerId: name.providerId },
      maxPages: deps.limits.maxPages,
      read: (item) => {
        const { checkoutSession, externalReference } = recordOf(item) ?? {};
        // Another payment of the account may be of a kind that no page makes.
        return checkoutSession === ref || externalReference === name.providerId
          ? readCardPayment(item)
          : 'foreign';
      },
    });
    if (!('items' in listed)) return listed;
    found.push(...listed.items.filter(isWanted));
  }
  return found;
}

/**
 * The approved payments of a page as one report; null: none was approved. Where two pages of one request were paid, the payment is that of the page that
 * the books have, and the rest goes to a person.
 */
async function paidReport(
  deps: AsaasDeps,
  name: CheckoutName,
  ref: string,
  items: readonly CardPaymentItem[],
): Promise<QueryOutcome<CheckoutReport> | null> {
  const all = items.filter(({ state }) => state === 'approved');
  const own = all.filter(({ session }) => session === name.providerRef);
  const paid = own.length > 0 ? own : all;
  const [first] = paid;
  if (first === undefined) return null;
  const isOnePlan = first.installment !== null && paid.every((one) => one.installment === first.installment);
  if (paid.length > 1 && !isOnePlan)
    return unreadable(name, 'more than one payment of it was approved', paid);
  const whole = isOnePlan ? planOf(paid, name.createdAt) : await wholeApproval(deps, name, first);
  if (whole === null) return unreadable(name, 'its payment cannot be read', paid);
  if ('outcome' in whole) return whole;
  // Our id may have found the payment of another page than the one that was asked for.
  const page = first.session ?? ref;
  const others = othersOf(all, paid);
  return { outcome: 'found', report: reportOf(name, page, { page: 'closed', approval: whole, ...others }) };
}

async function queryApproved(
  deps: AsaasDeps,
  name: CheckoutName,
  ref: string,
  approval: string,
): Promise<QueryOutcome<CheckoutReport>> {
  const { exchange, clock } = deps;
  const reply = await exchange({ method: 'GET', path: `/v3/payments/${encodeURIComponent(approval)}` });
  if (reply.kind === 'answer' && reply.status === 404) return { outcome: 'notFound' };
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) return unclear(reply, clock);
  const item = readCardPayment(reply.body);
  if (item === null || item === 'foreign' || item.id !== approval || !isOf(name)(item))
    return unreadable(name, 'it is not the payment of the page', [
      { body: recordOf(reply.body) ?? {} } as CardPaymentItem,
    ]);
  const report = await paidReport(deps, name, ref, [item]);
  if (report === null) return unreadable(name, 'its payment is not approved any more', [item]);
  return report.outcome === 'found' ? withOthers(deps, name, item, report.report) : report;
}

/**
 * A page may be paid twice, and the second payment after the first is known: so its payments are read as well. An empty list proves nothing, and neither
 * does one that did not take the filter: the known payment stays what it is.
 */
async function withOthers(
  deps: AsaasDeps,
  name: CheckoutName,
  known: CardPaymentItem,
  report: CheckoutReport,
): Promise<QueryOutcome<CheckoutReport>> {
  const items = await paymentsOf(deps, name);
  if (!Array.isArray(items))
    return items.cause === 'unreadable' && items.unread === undefined ? { outcome: 'found', report } : items;
  const all = items.filter(({ state }) => state === 'approved');
  return { outcome: 'found', report: { ...report, ...othersOf(all, [known]) } };
}

/** The approved payments beside the one that is the payment's. */
function othersOf(
  all: readonly CardPaymentItem[],
  paid: readonly CardPaymentItem[],
): Pick<CheckoutReport, 'others'> {
  const known = new Set(paid.map(({ id }) => id));
  const others = all.filter(({ id }) => !known.has(id));
  if (others.length === 0) return {};
  return { others: others.map(({ id: reference, amountCents }) => ({ reference, amountCents })) };
}

/** A payment with what stands in lists of their own: its chargeback, where it does not carry it, and whether it was anticipated. */
async function wholeApproval(
  deps: AsaasDeps,
  { createdAt, providerId }: CheckoutName,
  item: CardPaymentItem,
): Promise<CardApproval | null | Unclear> {
  const { exchange, clock } = deps;
  let body = item.body;
  if (lacksChargeback(item)) {
    const reply = await exchange({
      ...{ method: 'GET', path: `/v3/payments/${encodeURIComponent(item.id)}/chargeback` },
    });
    if (reply.kind !== 'answer' || !isSuccess(reply.status)) return unclear(reply, clock);
    body = { ...body, chargeback: reply.body };
  }
  const approval = approvalOf({ ...item, body }, createdAt);
  if (approval === null || !isAnticipated(item)) return approval;
  const listed = await listWhere(deps, `/v3/anticipations?payment=${encodeURIComponent(item.id)}`, {
    ...{ kind: 'charge', read: readAnticipation, providerId },
    isWanted: ({ payment }) => payment === item.id,
  });
  if (!('items' in listed)) return listed;
  return { ...approval, released: listed.items.some(({ isCredited }) => isCredited) };
}

function unreadable(
  { providerId }: CheckoutName,
  detail: string,
  items: readonly Pick<CardPaymentItem, 'body'>[],
): Unclear {
  const body = items.map((one) => one.body);
  return {
    ...{ outcome: 'unclear', cause: 'unreadable', retryAfterMs: null, detail },
    unread: { kind: 'charge', name: providerId, providerId, endToEnd: null, body },
  };
}
