import type { House } from '../house.ts';
import { paymentIdOf } from '../payments/payment.ts';
import { findOwners } from '../payments/payments.sql.ts';
import type { Provider, StatementLine } from '../provider/provider.ts';
import { accountNumberOf } from '../request-keys/claim.ts';
import { confirm, takeAllowedQuery } from './follow-up.ts';
import { resultOf } from './send.ts';
import { claimStatement, findUnknown, noteStatementRead } from './statement.sql.ts';

/**
 * Reads the statement of the provider's account, a little at a time, for money that moved after a payment had ended here: an
 * expired charge that was paid after all, a completed transfer that came back. The provider tells of these by webhook alone, and
 * nobody follows an ended payment, so a lost webhook would leave the money with the provider until somebody reconciles.
 *
 * Rejected: to go on asking after every ended payment (each would be asked after for days, and the shared limit is five queries
 * a second; ten thousand lines of the statement cost one). Lines that name no payment of ours are left to `reconcile`: the company
 * moves money of its own over the same account.
 *
 * A line proves nothing by itself. It makes the payment it names be asked after, by its id.
 */
const everyMs = 10 * 60_000;
/** After a provider that did not answer, or a line that could not be asked after. */
const soonMs = 30_000;
/** Lines of the last minutes are read again by the next pass: providers write their statements late. */
const settlingMs = 10 * 60_000;
/**
 * Of a turn; the shared limit is there for payments under way. With ten thousand lines of each, and a turn every ten seconds, a pass
 * gets through seven thousand lines a second, and every line is read by two passes.
 */
const listingsMost = 20;
/** A line that leads to no answer holds the reading up no longer than this; after that `reconcile` has to find it. */
const insistMs = 24 * 3_600_000;
const widthLeastMs = 1_000;

/**
 * One turn of one connection. A pass reads up to the moment at which it began, in as many turns as that takes, and the next one begins
 * where lines may have been written late since.
 * @returns false: the next one has its time
 */
export async function stepStatement(house: House, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  const now = house.clock.now();
  const claimedTo = now + everyMs;
  const place = await claimStatement(house.sql, connection, now, claimedTo);
  if (!place || place.passAt === null) return false;
  const { passAt } = place;
  const { readTo, restMs } = await readOn(house, provider, place.readTo, passAt);
  if (readTo < passAt) {
    await noteStatementRead(house.sql, connection, { readTo, passAt }, now + restMs, claimedTo);
  } else {
    const next = { readTo: passAt - settlingMs, passAt: null };
    await noteStatementRead(house.sql, connection, next, passAt + everyMs, claimedTo);
  }
  return false;
}

/** Reads on, up to `passAt`. @returns up to where that was done, and how long the next turn should rest */
async function readOn(
  house: House,
  provider: Provider,
  from: number,
  passAt: number,
): Promise<{ readTo: number; restMs: number }> {
  let readTo = from;
  let widthMs = Math.max(passAt - from, widthLeastMs);
  for (let listings = 0; listings < listingsMost && readTo < passAt; listings++) {
    const slot = await takeAllowedQuery(house, provider);
    if (!slot) return { readTo, restMs: 0 };
    const toMs = Math.min(passAt, readTo + widthMs);
    const divisible = widthMs > widthLeastMs;
    const outcome = await provider
      .statement({ fromMs: readTo, toMs, wholeOnly: divisible })
      .finally(() => slot.free());
    house.breakers.record(provider.connection, 'query', provider.connection, resultOf(outcome));
    if (outcome.outcome !== 'listed') return { readTo, restMs: soonMs };
    if (!outcome.complete && divisible) {
      widthMs = Math.max(widthLeastMs, Math.ceil(widthMs / outcome.parts));
      continue;
    }
    if (!(await askAfter(house, provider, outcome.reports))) return { readTo, restMs: soonMs };
    readTo = toMs;
  }
  return { readTo, restMs: 0 };
}

/** @returns whether everything that was news could be asked after */
async function askAfter(house: House, provider: Provider, lines: readonly StatementLine[]): Promise<boolean> {
  const named = lines.flatMap((line) => {
    const id = line.providerId === null ? null : paymentIdOf(line.providerId);
    return id === null ? [] : [{ ...line, paymentId: id, accountNumber: accountNumberOf(id) }];
  });
  const news = await findUnknown(house.sql, provider.connection, named);
  if (news.length === 0) return true;
  const times = new Map(news.map(({ paymentId, at }) => [paymentId, at]));
  const owners = await findOwners(
    house.sql,
    provider.connection,
    [...times.keys()].map((id) => ({ id, accountNumber: accountNumberOf(id) })),
  );
  let all = true;
  for (const owner of owners) {
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
      if (house.clock.now() - (times.get(paymentId) ?? 0) < insistMs) all = false;
    }
  }
  return all;
}
