import type { House } from '../house.ts';
import { paymentIdOf, providerIdOf } from '../payments/payment.ts';
import { findOwners, type PaymentOwner } from '../payments/payments.sql.ts';
import type { Provider, StatementLine } from '../provider/provider.ts';
import { accountNumberOf } from '../request-keys/claim.ts';
import { confirm, takeAllowedQuery } from './follow-up.ts';
import { type State, stateOf } from './reconcile.ts';
import { resultOf } from './send.ts';
import { claimStatement, noteStatementRead } from './statement.sql.ts';

/**
 * Reads the statement of the provider's account, a little at a time, for money that moved after a payment had ended here: an
 * expired charge that was paid after all, a completed transfer that came back. The provider tells of these by webhook alone, and
 * nobody follows an ended payment, so a lost webhook would leave the money with the provider until somebody reconciles.
 *
 * Rejected: to go on asking after every ended payment (each would be asked after for days, and the shared limit is five queries
 * a second; a thousand lines of the statement cost one). Lines that name no payment of ours are left to `reconcile`: the company
 * moves money of its own over the same account.
 *
 * A line proves nothing by itself. It makes the payment it names be asked after, by its id.
 */
const everyMs = 10 * 60_000;
/** What was left over, for its length or for want of an answer, is read sooner. */
const soonMs = 30_000;
/** Lines of the last minutes are read again: providers write their statements late. */
const settlingMs = 10 * 60_000;
/** Of a turn; the shared limit is there for payments under way. */
const listingsMost = 10;
/** A line that leads to no answer holds the reading up no longer than this; after that `reconcile` has to find it. */
const insistMs = 24 * 3_600_000;
const widthLeastMs = 1_000;

/** One turn of one connection. @returns false: the next one has its time */
export async function stepStatement(house: House, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  const now = house.clock.now();
  let fromMs = await claimStatement(house.sql, connection, now, now + everyMs);
  // The very first turn only notes where to begin.
  if (fromMs === undefined || fromMs >= now) return false;
  let widthMs = Math.max(now - fromMs, widthLeastMs);
  let whole = false;
  for (let listings = 0; listings < listingsMost && !whole; listings++) {
    const slot = await takeAllowedQuery(house, provider);
    if (!slot) break;
    const toMs = Math.min(now, fromMs + widthMs);
    const outcome = await provider.statement({ fromMs, toMs }).finally(() => slot.free());
    house.breakers.record(connection, 'query', connection, resultOf(outcome));
    if (outcome.outcome !== 'listed') break;
    if (!outcome.complete && widthMs > widthLeastMs) {
      widthMs = Math.max(widthLeastMs, Math.floor(widthMs / 2));
      continue;
    }
    if (!(await askAfter(house, provider, outcome.reports, now))) break;
    fromMs = toMs;
    whole = toMs >= now;
  }
  await noteStatementRead(
    house.sql,
    connection,
    Math.min(fromMs, now - settlingMs),
    now + (whole ? everyMs : soonMs),
  );
  return false;
}

/** @returns whether everything that was news could be asked after */
async function askAfter(
  house: House,
  provider: Provider,
  lines: readonly StatementLine[],
  now: number,
): Promise<boolean> {
  const ids = lines
    .map(({ providerId }) => providerId && paymentIdOf(providerId))
    .filter((id) => id !== null);
  const found = await findOwners(
    house.sql,
    provider.connection,
    [...new Set(ids)].map((id) => ({ id, accountNumber: accountNumberOf(id) })),
  );
  const owners = new Map(found.map((owner) => [providerIdOf(owner.id), owner]));
  const states = await stateOf(house, found);
  const news = new Map<string, { owner: PaymentOwner; at: number }>();
  for (const line of lines) {
    const owner = line.providerId === null ? undefined : owners.get(line.providerId);
    const state = owner && states.get(owner.id);
    if (owner && state && !isKnown(line, state)) news.set(owner.id, { owner, at: line.at });
  }
  let all = true;
  for (const { owner, at } of news.values()) {
    const { accountId, id: paymentId } = owner;
    // What is followed up anyway is only asked after sooner; its webhook may be under way.
    if (!owner.followed)
      house.log.warn({ accountId, paymentId }, 'the statement tells of money that the books lack');
    try {
      await confirm(house, provider, [owner]);
    } catch (error) {
      house.log.error(
        { err: error, accountId, paymentId },
        'a line of the statement could not be asked after',
      );
      if (now - at < insistMs) all = false;
    }
  }
  return all;
}

/** Whether the books have what the line says. */
function isKnown({ id, kind, endToEnd }: StatementLine, { payment, references }: State): boolean {
  switch (kind) {
    case 'received':
      return endToEnd !== null && (payment.endToEnd === endToEnd || references.has(endToEnd));
    case 'sent':
      return payment.status === 'completed';
    // The line of a return carries the id of its settlement where the books have the id that the provider gave the return:
    // such a one is asked after each time that its line is read, which is once or twice.
    case 'returned':
      return references.has(id);
  }
}
