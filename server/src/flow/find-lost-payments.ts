import { paymentIdOf } from '../money/payment.ts';
import type {
  ChargeReport,
  MovedPage,
  PaidPage,
  PayoutReport,
  StatementLine,
  UnreadItem,
} from '../provider/provider.ts';
import { accountNumberOf } from '../store/rows/idempotency.ts';
import { findLostPlace, type LostPayment, storeLost } from '../store/rows/lost-payments.sql.ts';
import { byCell } from './in-cells.ts';
import { buildIncident } from './open-incident.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** A payment that a provider lists under an id of our form, and that is not among the payments of its connection. */
export interface Stray {
  paymentId: string;
  kind: LostPayment['kind'];
  status: LostPayment['status'];
  providerRef: string | null;
  /** Net: what moved, or is to move. */
  amountCents: number;
}

/** Null: the id is not of our form. */
export function strayOfReport(report: ChargeReport | PayoutReport): Stray | null {
  const paymentId = ownId('providerId' in report ? report.providerId : report.txid);
  if (paymentId === null) return null;
  const { amountCents } = report;
  if ('providerId' in report) {
    const status = lostStatus[report.status];
    return { paymentId, kind: 'transfer', status, providerRef: report.providerRef ?? null, amountCents };
  }
  const status = report.received.length > 0 ? 'settled' : report.status === 'removed' ? 'refused' : 'open';
  return { paymentId, kind: 'deposit', status, providerRef: null, amountCents };
}

/**
 * Paid by card. Null: it names no id of our form, as the pages of an acquirer that repeats none.
 * @param providerRef the acquirer's own name by which it is asked for
 */
export function strayOfPage({ providerId }: Pick<PaidPage, 'providerId'>, providerRef: string): Stray | null {
  const paymentId = providerId === null ? null : ownId(providerId);
  if (paymentId === null) return null;
  return { paymentId, kind: 'checkout', status: 'settled', providerRef, amountCents: 0 };
}

/** The acquirer's own name by which a page is asked for: its own, or that of what was paid on it where the list does not name it. */
export const nameOfMoved = ({ page, approval }: MovedPage): string => page ?? approval;

/** A prepared one may be sent at any time by a person in the provider's panel. */
const lostStatus = {
  prepared: 'pending',
  pending: 'pending',
  completed: 'settled',
  refused: 'refused',
} as const satisfies Record<PayoutReport['status'], LostPayment['status']>;

/** Null: the line names no id of our form. */
export function strayOfLine({ providerId, providerRef, kind, amountCents }: StatementLine): Stray | null {
  const paymentId = providerId === null ? null : ownId(providerId);
  if (paymentId === null) return null;
  const sent = kind === 'sent' || kind === 'returned';
  return {
    ...{ paymentId, kind: sent ? 'transfer' : 'deposit', status: 'settled' },
    ...{ providerRef: providerRef ?? null, amountCents },
  };
}

/** Of an item that cannot be read: it may be under way. Null: it names no id of our form. */
export function strayOfUnread({ kind, providerId }: UnreadItem): Stray | null {
  const paymentId = providerId === null ? null : ownId(providerId);
  if (paymentId === null) return null;
  const rest = { paymentId, providerRef: null, amountCents: 0 };
  return kind === 'payout' || kind === 'sent'
    ? { ...rest, kind: 'transfer', status: 'pending' }
    : { ...rest, kind: 'deposit', status: 'open' };
}

/** The id is a UUIDv8, as `paymentIdFor` makes them; programs of others that use the provider's account take random ones. */
const ownId = (providerId: string): string | null => {
  const id = paymentIdOf(providerId);
  return id !== null && /^.{14}8.{4}[89ab]/.test(id) ? id : null;
};

/**
 * Stores what was found, so that the merchant's repeat finds it and is never sent. A payout that was carried out, or may be, stops the
 * account's withdrawals and opens an incident: the books have its amount too much, and the same money must not leave again under another request key.
 *
 * Rejected: to book the payout at once. The id names the account, and neither the operation, the fee nor the request key.
 * @returns whether a person or the books know what to make of it: not while no account has the id's number, since that may have been lost as well
 */
export async function noteLost(
  deps: TrackingDeps,
  connection: string,
  stray: Stray,
): Promise<'open' | 'decided'> {
  const { paymentId, kind, status, providerRef } = stray;
  const accountNumber = accountNumberOf(paymentId);
  const [cell] = await byCell(deps, [{ accountNumber }]);
  const home = cell?.deps ?? deps;
  const place = await findLostPlace(home.sql, accountNumber, paymentId);
  if (!place) return 'open';
  const { accountId, bookedOn, decided } = place;
  // It came into the books meanwhile.
  if (bookedOn === connection) return 'decided';
  const now = home.clock.now();
  const identity = deps.providers.get(connection)?.identity ?? null;
  await home.sql.tx((tx) =>
    storeLost(tx, { accountId, paymentId, connection, identity, kind, status, providerRef }, now),
  );
  if (decided) return 'decided';
  if (kind !== 'transfer' || status === 'refused') return 'open';
  // The books have no payment of this id that could be shown.
  const incident = {
    ...{ accountId, kind: 'lost_payout' as const, reference: lostReference(paymentId) },
    amountCents: stray.amountCents,
    detail: { paymentId, connection, status, bookedOn },
  };
  const deadlineMs = home.clock.monotonicMs() + applyWithinMs;
  const opened = await home.till.submit(buildIncident(incident, home.ids.uuid(), deadlineMs));
  if (opened)
    home.log.error(
      { accountId, paymentId, connection, status },
      'a payout is not in the books: the account is stopped',
    );
  return 'open';
}

const lostReference = (paymentId: string): string => `lost:${paymentId}`;
