import type { Language } from '../../ground/errors.ts';
import { refuse } from '../../ground/errors.ts';
import type { Places } from '../../ground/places.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf, viewOf } from '../../kinds/payment/view.ts';
import type { Payment } from '../../money/payment.ts';
import { receivedCents } from '../../money/refund.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import type { Membership } from '../people/members.sql.ts';
import type { Mark } from '../schema/marks.ts';
import { findMarks } from './marks.sql.ts';
import { findBalances } from './overview.sql.ts';
import { type ReceiverOf, receiversFor } from './receivers.ts';
import { findRecordsById, type JournalLine, type Line } from './records.sql.ts';

export interface RecordDeps {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  /** The installation's identity secret. */
  identity: Buffer;
  /** Signs cursors. */
  cursorKey: Buffer;
  /** Where sealed keys are opened for a search: 80 ms of work for a page. */
  keySearches: Places;
}

/** Who looks, at which account. */
export type Viewer = Pick<Membership, 'accountId' | 'accountNumber' | 'role'>;

/** The operations that are looked at. @throws ApiError `operation_not_found` */
export async function operationsOf(
  deps: { sql: Sql },
  accountId: string,
  operationId: string | undefined,
): Promise<Map<string, string>> {
  const names = new Map((await findBalances(deps.sql, accountId)).map(({ id, name }) => [id, name]));
  if (operationId === undefined) return names;
  const name = names.get(operationId);
  if (name === undefined) throw refuse('operation_not_found');
  return new Map([[operationId, name]]);
}

/** The name of a payment for people: who paid or was paid, and what for. */
export const namesOf = (
  payment: Pick<Payment, 'id' | 'kind' | 'payerName' | 'pixKey' | 'pixKeyType' | 'receiver' | 'description'>,
  receiverOf: ReceiverOf,
) => ({
  kind: payment.kind,
  payerName: payment.payerName,
  pixKey: receiverOf(payment),
  pixKeyType: payment.pixKeyType,
  receiver: payment.receiver,
  description: payment.description,
});

/** The names of some payments by their id; of deleted operations none. */
export async function findNames(
  deps: Pick<RecordDeps, 'sql' | 'secrets'>,
  { accountId, role }: Viewer,
  ids: readonly (string | null)[],
  operationIds: readonly string[],
): Promise<(id: string | null) => ReturnType<typeof namesOf> | null> {
  const known = ids.filter((id): id is string => id !== null);
  const records = known.length === 0 ? [] : await findRecordsById(deps.sql, accountId, known, operationIds);
  const receiverOf = receiversFor(deps.secrets, role);
  const names = new Map(records.map((payment) => [payment.id, namesOf(payment, receiverOf)]));
  return (id) => (id === null ? null : (names.get(id) ?? null));
}

export const viewOfRecord = (payment: Payment, language: Language, receiverOf: ReceiverOf) => ({
  ...viewOf(payment, language),
  payerName: payment.payerName,
  pixKey: receiverOf(payment),
  pixKeyType: payment.pixKeyType,
  receiver: payment.receiver,
  description: payment.description,
  requestKey: payment.requestKey,
  ...(payment.kind === 'transfer' && payment.returnedCents > 0
    ? { returnedCents: payment.returnedCents }
    : {}),
});

/** The turns of some payments beside their states, and what the provider took back of each. */
export async function marksOf(
  sql: Queries,
  accountId: string,
  records: readonly Payment[],
): Promise<(payment: Payment) => { marks: Mark[]; debitedCents: number }> {
  const found =
    records.length === 0
      ? []
      : await findMarks(
          sql,
          accountId,
          records.map(({ id }) => id),
        );
  const byId = new Map(found.map((one) => [one.id, one]));
  return (payment) => {
    const { id, refundedCents } = payment;
    const received = receivedCents(payment) || payment.amountCents;
    const { open = false, odd = false, debitedCents = 0, returnedCents = 0 } = byId.get(id) ?? {};
    const list: [Mark, boolean][] = [
      ['disputed', open],
      ['dispute_lost', debitedCents > 0],
      ['refunded', refundedCents > 0 && refundedCents >= received],
      ['partly_refunded', refundedCents > 0 && refundedCents < received],
      ['odd', odd],
      ['returned', returnedCents > 0],
    ];
    return { marks: list.filter(([, has]) => has).map(([mark]) => mark), debitedCents };
  };
}

export const viewOfLine = (line: Line) => ({
  seq: line.seq,
  template: line.template,
  paymentId: line.subject,
  postedAt: isoOf(line.postedAt),
  availableCents: line.available,
  reservedCents: line.reserved,
  heldCents: line.held,
  cardHeldCents: line.cardHeld,
  feeCents: line.feeCents,
  balanceAfterCents: line.availableAfter - line.receivableAfter,
});

/** A line of the journal with the names of its payment; null: it is about none, as a hold is. */
export const viewOfJournalLine = (line: JournalLine, receiverOf: ReceiverOf) => ({
  ...viewOfLine(line),
  ...(line.payment && { paymentId: line.payment.id }),
  payment: line.payment && namesOf(line.payment, receiverOf),
});
