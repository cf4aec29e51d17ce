import { createHash } from 'node:crypto';
import type { Caller } from '../../ground/caller.ts';
import { broughtForward } from '../../money/intent.ts';
import { causeOfCall, type Payment } from '../../money/payment.ts';
import type { OpenedIncident } from '../../money/state.ts';
import type { Queries } from '../../ports/sql.ts';
import { bytea, cents, text, timestamptz, uuid } from '../../store/database/define-table.ts';
import type { Table } from '../../store/database/table.ts';
import { uuidOf } from '../../store/rows/idempotency.ts';
import { openIncidents } from '../../store/rows/incidents.sql.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { findConnectionOf, paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { put, read, remove, type View, type Write } from '../../store/till.ts';
import type { Answered, Hearing, Kind, Observed, Sent } from '../kind.ts';

/**
 * That a merchant asked for something about a charge that is not paid: to cancel it, or to change its terms. It goes over the charge's connection, and its
 * result stands in the charge.
 */
export interface ChargeRequest extends Omit<Sent, 'expiresAt' | 'card'> {
  /** The charge. */
  paymentId: string;
  /** `completed`: it is over, whichever way. */
  status: 'unknown' | 'completed';
  updatedAt: number;
  /** The token of the command that created it. */
  command: string;
}

export const isRequestOpen = ({ status }: ChargeRequest): boolean => status === 'unknown';

/** Of its table, whose rows are keyed by 36 characters of account and 36 of their own id. */
export const requestTable = {
  place: 'charge_request',
  alias: 'c',
  key: ['accountId', 'id'],
  tokenOf: ({ command }: ChargeRequest) => command,
  verbs: ['read', 'insert', 'update'],
} as const;

export const requestColumns = {
  accountId: uuid,
  id: uuid,
  operationId: uuid,
  paymentId: uuid,
  status: text.changes,
  amountCents: cents,
  fingerprint: bytea,
  createdAt: timestamptz,
  updatedAt: timestamptz.changes,
  command: uuid,
};

/** A request key, as a UUIDv8: the same request that is asked for twice at once is one. No key that a merchant makes is the same by chance. */
export const requestKeyOf = (asked: string): string => uuidOf(createHash('sha256').update(asked).digest());

interface Order {
  paymentId: string;
}

/** The parts of a kind that every request about a charge shares. */
export const ofCharge = {
  permission: 'charges',
  call: 'cancel',
  isWithdrawal: false,
  isLimited: false,
  mayMove: false,
  isAwaited: true,
  createdEvent: null,
  notFound: 'payment_not_found',
  unread: ['charge'],
  isOpen: isRequestOpen,
  /** One without an end is a charge without one, and a person decides about the charge. */
  undecided: ({ paymentId, amountCents }: ChargeRequest): OpenedIncident => ({
    kind: 'undecided',
    reference: `undecided:${paymentId}`,
    amountCents,
    freezes: false,
  }),
  isLookedAt: (view: View, { accountId, paymentId }: ChargeRequest): boolean =>
    view.get(openIncidents, paymentKey(accountId, paymentId)) !== undefined,
  connectionOf: async (sql: Queries, { accountId, connection }: Caller, { paymentId }: Order) =>
    (await findConnectionOf(sql, accountId, paymentId)) ?? connection,
  waitMs: ({ chargeWaitMs }) => chargeWaitMs,
  admissionReads: (accountId: string, { paymentId }: Order) => [
    read(payments, paymentKey(accountId, paymentId)),
  ],
} as const satisfies Partial<Kind<ChargeRequest, Order, never, never>>;

export const chargeOf = async (
  sql: Queries,
  { accountId, paymentId }: ChargeRequest,
): Promise<Payment | undefined> => (await payments.read(sql, [paymentKey(accountId, paymentId)]))[0];

/** A creation that arrives behind it would undo it, so it waits for its charge. */
export const waitsFor = ({ status }: Payment) =>
  ({ outcome: 'notSent', detail: `the charge is ${status}`, waits: true }) as const;

/** Its charge is confirmed: it waits no longer. */
export function confirmedWrites(view: View, accountId: string, id: string, now: number): Write[] {
  const intent = view.get(intents, accountId + id);
  return intent && intent.attempt <= 1 && !intent.known ? [put(intents, broughtForward(intent, now))] : [];
}

/** The charge's history says that a merchant asked. */
export function askedFor(
  charge: Payment,
  call: Parameters<typeof causeOfCall>[0],
  caller: Caller,
  now: number,
): Pick<Payment, 'updatedAt' | 'history'> {
  const updatedAt = Math.max(now, charge.updatedAt + 1);
  const step = {
    status: charge.status,
    at: new Date(updatedAt).toISOString(),
    cause: causeOfCall(call, caller),
  };
  return { updatedAt, history: [...charge.history, step] };
}

/** A request's own answers and queries: both report the charge. */
export type ObservedRequest<Report> = Observed<Answered<Report>> & {
  /** The payment. */
  chargeId: string;
};

export const observedOf =
  <Report>(kind: ObservedRequest<Report>['kind']) =>
  (
    { accountId, id, operationId, paymentId }: ChargeRequest,
    connection: string,
    observation: Answered<Report>,
  ): ObservedRequest<Report> => ({
    ...{ accountId, paymentId: id, operationId, connection, kind, observation },
    chargeId: paymentId,
  });

/** Heard under the lock of the operation, beside the charge. */
export const hearingOf = ({
  accountId,
  chargeId,
  operationId,
}: ObservedRequest<unknown>): Omit<Hearing<ChargeRequest>, 'decide'> => ({
  chains: [{ accountId, chainId: operationId }],
  reads: [read(payments, paymentKey(accountId, chargeId))],
  eventRefs: [],
  pix: [],
});

/**
 * From then on it is neither sent nor asked for. Nothing where it is over already.
 * @param ended what else its row says from then on
 */
export function endOf<Row extends ChargeRequest>(
  view: View,
  table: Table<Row>,
  key: string,
  ended: Pick<ChargeRequest, 'updatedAt'> & Partial<Row>,
): Write[] {
  const request = view.get(table, key);
  if (request?.status !== 'unknown') return [];
  const updatedAt = Math.max(ended.updatedAt, request.updatedAt);
  return [
    put(table, { ...request, ...ended, status: 'completed', updatedAt }),
    ...(view.get(intents, key) ? [remove(intents, key)] : []),
  ];
}
