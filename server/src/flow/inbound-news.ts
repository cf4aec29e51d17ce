import { gather } from '../ground/gather.ts';
import type { RefusedNews } from '../kinds/checkout/outcome.ts';
import { observedRefund } from '../kinds/payment/refund-lines.ts';
import { isPixCharge } from '../money/intent.ts';
import { paymentIdOf } from '../money/payment.ts';
import { staticIdentifierOf } from '../provider/br-code.ts';
import type { RefusedAttempt } from '../provider/cards.ts';
import { queryAnyCharge } from '../provider/due-charges.ts';
import type {
  Moves,
  PaidPage,
  PayoutReport,
  Provider,
  QueryOutcome,
  ReceivedPix,
  ReturnOf,
  StatementLine,
  UnreadItem,
  WebhookNews,
} from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { findPaymentOfPage, type PaymentOwner } from '../store/rows/payments.sql.ts';
import { findRefundOwners, type RefundOwner } from '../store/rows/refunds.sql.ts';
import { applyOutcome } from './apply.ts';
import { keepMovements, movementsOfCosts } from './connection-movements.ts';
import { noteLost, strayOfPage, strayOfReport } from './find-lost-payments.ts';
import { byCell, findNamed, findOwnersInCells, findPage } from './in-cells.ts';
import { keepUnread } from './keep-unread.ts';
import { askForPage, askForRemoved, confirm, nextQuery } from './query.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';
import { bookUnmatched, type Unmatched, unmatchedLine, unmatchedOf } from './unmatched.ts';

/** A payment that a delivery names, and the cell that it is in. */
interface Owned {
  cell: TrackingDeps;
  owner: PaymentOwner;
}

type Named = { id: string; accountNumber: number };

/** Whose payments these are, for ids that came over a connection. */
export type OwnersOf = (connection: string, ids: readonly Named[]) => Promise<Owned[]>;

/** Deliveries that were stored together are applied together, and share the read of the payments that they name. */
export function gatherOwners(deps: TrackingDeps): OwnersOf {
  const find = gather<{ connection: string; ids: readonly Named[] }, Owned[]>(
    { clock: deps.clock, most: 256 },
    async (asked) => {
      const found = new Map<string, Owned>();
      for (const [connection, those] of Map.groupBy(asked, (one) => one.connection)) {
        const ids = new Map(those.flatMap((one) => one.ids.map((named) => [named.id, named])));
        for (const { deps: cell, owners } of await findOwnersInCells(deps, connection, [...ids.values()]))
          for (const owner of owners) found.set(`${connection} ${owner.id}`, { cell, owner });
      }
      return asked.map(({ connection, ids }) =>
        ids.flatMap(({ id }) => found.get(`${connection} ${id}`) ?? []),
      );
    },
  );
  return async (connection, ids) => (ids.length === 0 ? [] : find({ connection, ids }));
}

/**
 * Applies what an authentic delivery reports.
 * @param untilMs monotonic: how long it waits for queries of the shared limit
 */
export async function applyNews(
  deps: TrackingDeps,
  ownersOf: OwnersOf,
  { id: deliveryId, connection, news }: { id: string; connection: string; news: WebhookNews },
  untilMs: number,
): Promise<void> {
  const told = new Map<string, Moves>();
  const foreign: Moves = { received: [], payouts: [] };
  const of = (providerId: string | null): Moves => {
    const id = providerId === null ? null : paymentIdOf(providerId);
    if (id === null) return foreign;
    let one = told.get(id);
    if (!one) {
      one = { received: [], payouts: [] };
      told.set(id, one);
    }
    return one;
  };
  const provider = deps.providers.get(connection);
  if (!provider) throw new Error(`no provider for ${connection}`);
  await askForUnread(deps, ownersOf, provider, news.unread ?? []);
  await askForPaidPages(deps, ownersOf, provider, news.paidPages ?? [], untilMs);
  if (news.addressed)
    await countRefused(deps, ownersOf, { deliveryId, connection }, news.refusedAttempts ?? []);
  await askForNamed(ownersOf, provider, [
    ...(news.named ?? []),
    ...(await namesOf(deps, provider, news.namedAs ?? [], untilMs)),
  ]);
  for (const { cell, owner } of await ownersNamed(ownersOf, connection, news.removed ?? []))
    if (!isPixCharge(owner.kind)) await askForRemoved(cell, provider, owner, untilMs);
  const { named, lines } = await withReturned(deps, provider, news, untilMs);
  for (const pix of named.received) of(pix.txid).received.push(pix);
  for (const payout of named.payouts) of(payout.providerId).payouts.push(payout);

  const ids = [...told.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const owners = await ownersOf(connection, ids);
  const owned: (Owned & { news: Moves })[] = [];
  for (const { cell, owner } of owners) {
    const { received, payouts } = told.get(owner.id) as Moves;
    told.delete(owner.id);
    // A Pix received under a transfer's id is not that transfer's, nor a payout under a charge's.
    const charge = isPixCharge(owner.kind);
    (charge ? foreign.payouts : foreign.received).push(...((charge ? payouts : received) as never[]));
    owned.push({ cell, owner, news: charge ? { received, payouts: [] } : { received: [], payouts } });
  }
  const isBelieved = provider.capabilities.webhookTrust !== 'path' && news.addressed;
  // Before its money is posted: the account is stopped first.
  for (const { payouts } of told.values())
    for (const payout of payouts) await noteStray(deps, provider, payout, isBelieved, untilMs);
  for (const { received, payouts } of told.values()) {
    foreign.received.push(...received);
    foreign.payouts.push(...payouts);
  }
  // Money of another customer of the provider is none of ours; the statement shows what is.
  const unmatched = news.addressed
    ? [...unmatchedOf(foreign, deps.clock.now()), ...lines.map(unmatchedLine)]
    : [];
  const listed = news.addressed ? [] : await listedOf(deps, provider, lines, untilMs);
  if (!isBelieved) {
    // Not believed: what is ours is queried, what is not is only reported to a person.
    await Promise.all([
      ...[...Map.groupBy(owners, ({ cell }) => cell)].map(([cell, those]) =>
        confirm(
          cell,
          provider,
          those.map(({ owner }) => owner),
        ),
      ),
      bookUnbelieved(deps, provider, unmatched, untilMs),
      bookUnmatched(deps, connection, listed.map(unmatchedLine), true),
    ]);
    return;
  }
  const refunds = await refundsNamedIn(deps, connection, owned);
  const costs = movementsOfCosts(news.costs ?? [], 'delivery');
  await Promise.all([
    ...(costs.length === 0 ? [] : [keepMovements(deps, connection, costs)]),
    ...owned.map(({ cell, owner, news }) => applyOwned(cell, deliveryId, connection, owner, news, refunds)),
    bookUnmatched(deps, connection, unmatched, true),
  ]);
}

/**
 * A payout under an id of our form that the books lack: they lost a time, whether that was noticed or not. What a delivery alone says is no proof that our account has
 * it, so it is queried there.
 * @throws Error the provider does not answer: the delivery is kept, and applied later
 */
async function noteStray(
  deps: TrackingDeps,
  provider: Provider,
  payout: PayoutReport,
  isBelieved: boolean,
  untilMs: number,
): Promise<void> {
  const stray = strayOfReport(payout);
  if (stray === null) return;
  if (isBelieved) return void (await noteLost(deps, provider.connection, stray));
  if (!provider.capabilities.queryPayoutByOwnId) return;
  const slot = await nextQuery(deps, provider, untilMs);
  const outcome = await provider.queryPayout(payout.providerId).finally(() => slot.free());
  if (outcome.outcome === 'unclear') throw new Error(`the provider does not answer: ${outcome.detail}`);
  const found = outcome.outcome === 'found' ? strayOfReport(outcome.report) : null;
  if (found !== null) await noteLost(deps, provider.connection, found);
}

/**
 * Money that matches no payment, by the word of a delivery that proves nothing. What the company moved itself is in the provider's list, where the statement
 * finds it; a return comes later than the list of its Pix was read, so that list is asked for again.
 */
async function bookUnbelieved(
  deps: TrackingDeps,
  provider: Provider,
  unmatched: readonly Unmatched[],
  untilMs: number,
): Promise<void> {
  const left: Unmatched[] = [];
  for (const one of unmatched) {
    const isListed = (one.isOwn && one.returns.length > 0) || one.identifier;
    const lines = isListed ? await listedParts(deps, provider, one, untilMs) : [];
    if (lines.length === 0) left.push(one);
    else await bookUnmatched(deps, provider.connection, lines.map(unmatchedLine), true);
  }
  await bookUnmatched(deps, provider.connection, left, false);
}

/** The list names the time in whole seconds. */
const aroundMs = 1_000;

/**
 * Of returns of Pix without an id of ours, in a delivery that does not name our account, those that our account's own list has: the Pix is in
 * our account, since the provider answered for it, so the delivery may well be for us.
 * @throws Error the list does not have it (yet): the delivery is kept, and applied later
 */
async function listedOf(
  deps: TrackingDeps,
  provider: Provider,
  lines: readonly StatementLine[],
  untilMs: number,
): Promise<StatementLine[]> {
  const { listReturns } = provider;
  if (!listReturns) return [];
  for (const line of lines) {
    const slot = await nextQuery(deps, provider, untilMs);
    const listed = await listReturns({ fromMs: line.at - aroundMs, toMs: line.at + aroundMs }).finally(() =>
      slot.free(),
    );
    if (listed.outcome !== 'listed') throw new Error(`the provider does not answer: ${listed.detail}`);
    const isThere = listed.reports.some(
      ({ rtrId, amountCents }) => rtrId === line.rtrId && amountCents === line.amountCents,
    );
    if (!isThere)
      throw new Error('a return that does not name our account is not in the list of our account');
  }
  return [...lines];
}

/** Of a Pix: what came back of money of the company's own, and of a static code the receipt as well. */
async function listedParts(
  deps: TrackingDeps,
  provider: Provider,
  { pix, moved, identifier }: Unmatched,
  untilMs: number,
): Promise<StatementLine[]> {
  if (moved === null || !provider.capabilities.statement.lists) return [];
  const window = { fromMs: moved.at - aroundMs, toMs: moved.at + aroundMs };
  const slot = await nextQuery(deps, provider, untilMs);
  const listed = await provider.statement(window).finally(() => slot.free());
  if (listed.outcome !== 'listed') throw new Error(`the provider does not answer: ${listed.detail}`);
  return listed.reports.filter(
    ({ endToEnd, kind }) =>
      endToEnd === pix && (kind === 'returned' || kind === 'debited' || (kind === 'received' && identifier)),
  );
}

/** Keeps the unreadable parts of a delivery, and the payments that it names are queried: the provider's own answer may be readable. */
async function askForUnread(
  deps: TrackingDeps,
  ownersOf: OwnersOf,
  provider: Provider,
  unread: readonly UnreadItem[],
): Promise<void> {
  if (unread.length === 0) return;
  const { connection } = provider;
  await keepUnread(deps, connection, unread);
  const ids = unread.flatMap(({ providerId }) =>
    providerId === null ? [] : (paymentIdOf(providerId) ?? []),
  );
  const named = [...new Set(ids)].map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  for (const { cell, owner } of await ownersOf(connection, named)) {
    try {
      await confirm(cell, provider, [owner]);
    } catch (error) {
      // The item is kept, and asked for again.
      deps.log.warn(
        { err: error, connection, paymentId: owner.id },
        'a payment that a delivery names cannot be queried',
      );
    }
  }
}

/**
 * Keeps what was paid on pages that the books do not know, for a person at once. A page can be lost: a restore loses its name after the payer had its
 * address, the payment gets another page, and the acquirer's deliveries name the first one alone. No query of the payment asks for that one, so the payer's
 * money would be known by the close alone: where the delivery names the payment, its page is asked for under its own name.
 */
async function askForPaidPages(
  deps: TrackingDeps,
  ownersOf: OwnersOf,
  provider: Provider,
  paid: readonly PaidPage[],
  untilMs: number,
): Promise<void> {
  const { connection, capabilities } = provider;
  for (const { item, ...named } of paid) {
    const found = await ownerOfPage(deps, ownersOf, connection, named);
    // A delivery that proves nothing by itself is asked for by our id, which finds every page of the payment.
    const isSigned = capabilities.webhookTrust === 'signed';
    if (found && isSigned) await askForOther(found, provider, named.page, untilMs);
    if (found) continue;
    const stray = isSigned ? strayOfPage(named, named.page) : null;
    if (stray) await noteLost(deps, connection, stray);
    await keepUnread(deps, connection, [item], { atOnce: true });
  }
}

/** A page that is not the one which its payment has here. @throws Error the acquirer does not answer: the delivery is kept, and applied later */
async function askForOther(
  { cell, owner }: Owned,
  provider: Provider,
  page: string,
  untilMs: number,
): Promise<void> {
  if (
    owner.kind !== 'checkout' ||
    (await findPaymentOfPage(cell.sql, provider.connection, page)) === owner.id
  )
    return;
  const outcome = await askForPage(cell, provider, { owner, page }, async (query) => {
    const slot = await nextQuery(cell, provider, untilMs);
    return query().finally(() => slot.free());
  });
  if (outcome.outcome !== 'found') throw new Error('the acquirer does not answer for a page that was paid');
}

/** The payment of a page, by our id or by the acquirer's own name of the page; undefined: the books do not know it. */
async function ownerOfPage(
  deps: TrackingDeps,
  ownersOf: OwnersOf,
  connection: string,
  { page, providerId }: Pick<PaidPage, 'page' | 'providerId'>,
): Promise<Owned | undefined> {
  const [named] = await ownersNamed(ownersOf, connection, providerId === null ? [] : [providerId]);
  if (named) return named;
  const id = await findPage(deps, connection, page);
  if (id === undefined) return undefined;
  return (await ownersOf(connection, [{ id, accountNumber: accountNumberOf(id) }]))[0];
}

/** A delivery reports a refused attempt of a page that the books do not know: the creation of the page may not be answered yet. */
export class PageNotKnown extends Error {
  override name = 'PageNotKnown';
  constructor() {
    super('a refused attempt of a page that is not known');
  }
}

/**
 * Counts the refused attempts that a delivery reports. Also where a delivery proves nothing: a count moves no money, and the end that it leads to is the
 * acquirer's answer to a request to close the page.
 * @throws PageNotKnown
 */
async function countRefused(
  deps: TrackingDeps,
  ownersOf: OwnersOf,
  { deliveryId, connection }: { deliveryId: string; connection: string },
  attempts: readonly RefusedAttempt[],
): Promise<void> {
  for (const { attempt, ...named } of attempts) {
    const found = await ownerOfPage(deps, ownersOf, connection, named);
    if (found === undefined) throw new PageNotKnown();
    const { accountId, id: paymentId, operationId, kind } = found.owner;
    if (kind !== 'checkout') continue;
    const observation: RefusedNews = { from: 'webhook', id: deliveryId, page: named.page, attempt };
    const observed = { accountId, paymentId, operationId, connection, kind, observation };
    await applyOutcome(found.cell, observed, deps.clock.monotonicMs() + applyWithinMs);
  }
}

/** Our ids of payments that a delivery names as the provider does. @throws Error the provider does not answer */
async function namesOf(
  deps: TrackingDeps,
  provider: Provider,
  names: readonly string[],
  untilMs: number,
): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) {
    const slot = await nextQuery(deps, provider, untilMs);
    const found = await findNamed(deps, provider, name).finally(() => slot.free());
    if (found.outcome === 'unclear') throw new Error(`the provider does not answer: ${found.detail}`);
    const id = found.outcome === 'found' ? found.report.providerId : null;
    if (id !== null) ids.push(id);
  }
  return ids;
}

/** Payments that a delivery names and says nothing of by itself. @throws Error one could not be queried: the delivery is kept, and applied later */
async function askForNamed(ownersOf: OwnersOf, provider: Provider, names: readonly string[]): Promise<void> {
  for (const { cell, owner } of await ownersNamed(ownersOf, provider.connection, names))
    await confirm(cell, provider, [owner]);
}

/** Of names as the provider writes them, those of payments of ours. */
function ownersNamed(ownersOf: OwnersOf, connection: string, names: readonly string[]): Promise<Owned[]> {
  const ids = [...new Set(names.flatMap((name) => paymentIdOf(name) ?? []))];
  return ownersOf(
    connection,
    ids.map((id) => ({ id, accountNumber: accountNumberOf(id) })),
  );
}

/**
 * The news with every return that names only its Pix put into the report of the payment that the Pix belongs to; that report is queried now.
 * `lines`: returns of Pix that have no id of a payment.
 * @throws Error when the provider does not answer: the delivery is not applied yet
 */
async function withReturned(
  deps: TrackingDeps,
  provider: Provider,
  { received, payouts, returned = [] }: Moves,
  untilMs: number,
): Promise<{ named: Moves; lines: StatementLine[] }> {
  const named: Moves = { received: [...received], payouts: [...payouts] };
  const lines: StatementLine[] = [];
  for (const one of returned) {
    const slot = await nextQuery(deps, provider, untilMs);
    const line = await addReturned(provider, one, named).finally(() => slot.free());
    if (line) lines.push(line);
  }
  return { named, lines };
}

async function addReturned(
  provider: Provider,
  { endToEnd, back }: ReturnOf,
  news: Moves,
): Promise<StatementLine | undefined> {
  const answered = <Report>(outcome: QueryOutcome<Report>): Report => {
    if (outcome.outcome === 'found') return outcome.report;
    const detail = outcome.outcome === 'unclear' ? outcome.detail : 'not found';
    throw new Error(`the Pix of a return cannot be asked for: ${detail}`);
  };
  const { direction, providerId } = answered(await provider.findPix(endToEnd));
  if (providerId === null || (direction === 'received' && staticIdentifierOf(providerId) !== null)) {
    const { id, rtrId, amountCents, at } = back;
    const kind = direction === 'sent' ? 'returned' : 'debited';
    return { id: rtrId ?? id ?? endToEnd, rtrId, at, kind, amountCents, endToEnd, providerId };
  }
  if (direction === 'sent') {
    const payout = answered(await provider.queryPayout(providerId));
    news.payouts.push({ ...payout, returns: [...payout.returns, back] });
    return;
  }
  const charge = answered(await queryAnyCharge(provider, providerId));
  const pix = charge.received.find((one) => one.endToEnd === endToEnd);
  if (!pix) throw new Error('the Pix of a return is not among those of its charge');
  news.received.push({ ...pix, returns: [...pix.returns, back] });
}

/** The refunds of ours that a delivery names, by their ids: one read for all. */
async function refundsNamedIn(
  deps: TrackingDeps,
  connection: string,
  owned: readonly { news: Moves }[],
): Promise<ReadonlyMap<string, RefundOwner>> {
  const lines = owned.flatMap(({ news }) => news.received.flatMap(({ returns }) => returns));
  const ids = lines.flatMap(({ id }) => (id === null ? [] : (paymentIdOf(id) ?? [])));
  if (ids.length === 0) return new Map();
  const named = ids.map((id) => ({ id, accountNumber: accountNumberOf(id) }));
  const found = await Promise.all(
    (await byCell(deps, named)).map((cell) => findRefundOwners(cell.deps.sql, connection, cell.items)),
  );
  return new Map(found.flat().map((one) => [one.id, one]));
}

/**
 * Applies lines about refunds to their refunds directly. Where the charge is already paid with this Pix and nothing else is reported, the
 * charge's own command is left out: the end of a refund then costs one command, as that of a transfer does.
 */
async function applyOwned(
  deps: TrackingDeps,
  deliveryId: string,
  connection: string,
  owner: PaymentOwner,
  { received, payouts }: Moves,
  refunds: ReadonlyMap<string, RefundOwner>,
): Promise<void> {
  const { accountId, id: paymentId, operationId } = owner;
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const left: ReceivedPix[] = [];
  for (const pix of received) {
    const returns = [];
    for (const line of pix.returns) {
      const refund = line.id === null ? undefined : refunds.get(paymentIdOf(line.id) ?? '');
      const isOurs =
        refund?.accountId === accountId && refund.paymentId === paymentId && refund.endToEnd === pix.endToEnd;
      if (!isOurs) returns.push(line);
      else {
        const news = { from: 'charge', cause: { by: 'webhook', id: deliveryId }, line } as const;
        await applyOutcome(deps, observedRefund(refund, connection, news), deadlineMs);
      }
    }
    const isKnown = owner.endToEnd === pix.endToEnd && pix.returns.length > 0 && returns.length === 0;
    if (!isKnown) left.push({ ...pix, returns });
  }
  if (left.length + payouts.length === 0) return;
  const observation = { from: 'webhook', id: deliveryId, received: left, payouts } as const;
  const { kind } = owner;
  const observed = { accountId, paymentId, operationId, connection, kind, observation };
  await applyOutcome(deps, observed, deadlineMs);
}
