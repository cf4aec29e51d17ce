import { findWords } from '../flow/provider-words.sql.ts';
import { isoOf } from '../kinds/payment/view.ts';
import { paymentIdOf, providerIdOf } from '../money/payment.ts';
import type { Queries } from '../ports/sql.ts';
import { OperatorRefused } from '../store/operator.ts';
import { conditions } from '../store/rows/conditions.sql.ts';
import { findDefences } from '../store/rows/defences.sql.ts';
import { paymentIdFor } from '../store/rows/idempotency.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { oddMoneyRules } from '../store/rows/odd-money-rules.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import {
  countOpenIncidents,
  type DisputeRow,
  type FoundAccount,
  type FoundRow,
  findAccountById,
  findAccountNumbers,
  findAccountsNamed,
  findAccountsOfDocument,
  findByEndToEnd,
  findById,
  findByNameAtProvider,
  findByRequestKey,
  findByReturn,
  findIncidentsOf,
  findOperationsOf,
  findOwnerOf,
  findPaymentDisputes,
  findPostings,
  findRefundRows,
  findRequestsOf,
} from './find.sql.ts';
import { namedHistory } from './history.ts';
import { findDeliveriesOf, findEventsOf } from './payment-events.sql.ts';

/** Look-ups of operators, on the command line and in the console. Nothing here writes, and no Pix key is shown: keys are sealed. */

/** The directory, and the cells that have the rows of accounts. */
export interface LookDeps {
  sql: Queries;
  cells: {
    refresh(): Promise<unknown>;
    all(): readonly { sql: Queries }[];
    ofAccount(accountId: string): Promise<{ sql: Queries } | undefined>;
  };
}

/** Shown by one search. */
const foundMost = 50;
/** An account counts its open incidents no further. */
const incidentsMost = 1_000;

function timeOf(ms: number): string;
function timeOf(ms: number | null): string | null;
function timeOf(ms: number | null): string | null {
  return ms === null ? null : isoOf(ms);
}

/**
 * An account with its conditions, its operations and their balances.
 * @param sql of its cell
 * @throws OperatorRefused no such account
 */
export async function accountFacts(sql: Queries, ownerId: string) {
  const account = await findAccountById(sql, ownerId);
  const [held] = account ? await conditions.read(sql, [ownerId]) : [];
  const [oddMoney] = account ? await oddMoneyRules.read(sql, [ownerId]) : [];
  if (!account || !held) throw new OperatorRefused('no such account');
  const { accountId: _, ...rules } = held;
  const [operations, openIncidents] = await Promise.all([
    findOperationsOf(sql, ownerId),
    countOpenIncidents(sql, ownerId, incidentsMost),
  ]);
  const { number: __, ...shown } = account;
  const ofMerchant = {
    oddMoneyKinds: [...(oddMoney?.kinds ?? [])],
    oddMoneyMostCents: oddMoney?.mostCents ?? 0,
  };
  return { ...shown, ...rules, ...ofMerchant, openIncidents, operations };
}

/**
 * Everything that the books have of a payment, each with its own clock.
 * @param id as `paymentIdOf` reads it
 * @throws OperatorRefused no such payment
 */
export async function storyOf(deps: LookDeps, id: string) {
  const ownerId = await findOwnerOf(deps.sql, id);
  const cell = ownerId && (await deps.cells.ofAccount(ownerId));
  const sql = cell ? cell.sql : deps.sql;
  const [payment] = ownerId ? await payments.read(sql, [paymentKey(ownerId, id)]) : [];
  if (!ownerId || !payment) throw new OperatorRefused('no such payment');
  const [refunds, requests, disputes, incidents] = await Promise.all([
    findRefundRows(sql, ownerId, id),
    findRequestsOf(sql, ownerId, id),
    findPaymentDisputes(sql, ownerId, id),
    findIncidentsOf(sql, ownerId, id),
  ]);
  const scope = { accountId: ownerId, operationId: payment.operationId };
  const defences = await findDefences(
    sql,
    scope,
    disputes.map((one) => one.id),
  );
  const subjects = [id, ...[...refunds, ...requests, ...defences].map((one) => one.id)];
  const instants = [
    ...payment.history.map((step) => Date.parse(step.at)),
    ...refunds.flatMap((one) => [one.createdAt, one.settledAt ?? one.createdAt]),
    ...requests.flatMap((one) => [one.createdAt, one.updatedAt]),
    ...disputes.flatMap((one) => [one.createdAt, one.updatedAt]),
    ...incidents.flatMap((one) => [one.openedAt, one.resolvedAt ?? one.openedAt]),
    payment.updatedAt,
  ];
  const [history, events, words, postings, sends] = await Promise.all([
    namedHistory(sql, ownerId, payment.history),
    findEventsOf(sql, ownerId, id, instants),
    findWords(sql, ownerId, subjects),
    findPostings(sql, ownerId, subjects),
    intents.read(
      sql,
      subjects.map((one) => paymentKey(ownerId, one)),
    ),
  ]);
  const deliveries = await findDeliveriesOf(
    sql,
    ownerId,
    events.map((one) => one.id),
  );
  return {
    id,
    ownerId,
    operationId: payment.operationId,
    kind: payment.kind,
    status: payment.status,
    amountCents: payment.amountCents,
    feeCents: payment.feeCents,
    connection: payment.connection,
    providerId: providerIdOf(id),
    endToEnd: payment.endToEnd,
    payerName: payment.payerName,
    receiver: payment.receiver,
    description: payment.description,
    requestKey: payment.requestKey,
    reasonCode: payment.reasonCode,
    refundedCents: payment.refundedCents,
    returnedCents: payment.returnedCents,
    createdAt: timeOf(payment.createdAt),
    updatedAt: timeOf(payment.updatedAt),
    settledAt: timeOf(payment.settledAt),
    paidAt: timeOf(payment.paidAt),
    expiresAt: timeOf(payment.expiresAt),
    history,
    /** The open intents of it, of its refunds, of the requests about it, and of the defences of its disputes. */
    intents: sends.map(({ paymentId, connection, state, attempt, failures, absences, dueAt, known }) => ({
      id: paymentId,
      connection,
      state,
      attempts: attempt,
      failures,
      absences,
      known,
      dueAt: timeOf(dueAt),
    })),
    refunds: refunds.map((one) => ({
      ...one,
      createdAt: timeOf(one.createdAt),
      settledAt: timeOf(one.settledAt),
    })),
    /** Of a charge with a due date. */
    changes: requests
      .filter(({ kind }) => kind === 'due_change')
      .map(({ kind: _, createdAt, updatedAt, ...one }) => ({
        ...one,
        createdAt: timeOf(createdAt),
        endedAt: one.status === 'completed' ? timeOf(updatedAt) : null,
      })),
    disputes: disputes.map(shownDispute),
    incidents: incidents.map((one) => ({
      ...one,
      openedAt: timeOf(one.openedAt),
      resolvedAt: timeOf(one.resolvedAt),
    })),
    /** Of the last 90 days, each with what became of it at the merchant's endpoints. */
    events: events.map(({ createdAt, ...one }) => ({
      ...one,
      createdAt: timeOf(createdAt),
      deliveries: deliveries
        .filter(({ eventId }) => eventId === one.id)
        .map(({ eventId: _, lastAt, ...delivery }) => ({ ...delivery, lastAt: timeOf(lastAt) })),
    })),
    /** The provider's words to attempts that it did not accept. */
    words: words.map((one) => ({ ...one, at: timeOf(one.at) })),
    postings: postings.map(({ postedAt, ...one }) => ({ ...one, postedAt: timeOf(postedAt) })),
  };
}

/** `state`: of an account its name. */
export type Found = Omit<FoundRow, 'kind'> & { kind: FoundRow['kind'] | 'account' };

const foundAccount = ({ ownerId, name }: FoundAccount): Found => ({
  kind: 'account',
  id: ownerId,
  ownerId,
  operationId: null,
  state: name,
  amountCents: null,
});

/**
 * Exact identifiers first; a text that is none of them is looked for in the names of accounts.
 * @returns `more`: there are others, which are not shown
 */
export async function find(
  deps: LookDeps & { identity(): Promise<Buffer> },
  text: string,
): Promise<{ found: Found[]; more: boolean }> {
  await deps.cells.refresh();
  const all = await everyFound(deps, text);
  return { found: all.slice(0, foundMost), more: all.length > foundMost };
}

/** One more than is shown of what may be many. */
async function everyFound(deps: LookDeps & { identity(): Promise<Buffer> }, text: string): Promise<Found[]> {
  const cells = deps.cells.all();
  const inCells = async (look: (sql: Queries) => Promise<FoundRow[]>): Promise<FoundRow[]> =>
    (await Promise.all(cells.map(({ sql }) => look(sql)))).flat();
  // Digits and letters of an end-to-end id may all be hexadecimal, as those of an id are.
  if (/^[ED][0-9A-Za-z]{31}$/.test(text)) {
    const ofPix = await inCells((sql) => findByEndToEnd(sql, text, foundMost + 1));
    const found = ofPix.length > 0 ? ofPix : await inCells((sql) => findByReturn(sql, text));
    if (found.length > 0) return found;
  }
  const id = paymentIdOf(text.replaceAll('-', ''));
  if (id !== null) {
    const account = await findAccountById(deps.sql, id);
    if (account) return [foundAccount(account)];
    const rows = await inCells((sql) => findById(sql, id));
    if (rows.length > 0) return rows;
    const identity = await deps.identity();
    const accounts = await findAccountNumbers(deps.sql);
    const ids = accounts.map(({ ownerId, number }) => ({
      accountId: ownerId,
      paymentId: paymentIdFor(identity, { id: ownerId, number }, id),
    }));
    const ofKey = await inCells((sql) => findByRequestKey(sql, id, ids));
    // An acquirer may name its pages in the same form.
    return ofKey.length > 0 ? ofKey : inCells((sql) => findByNameAtProvider(sql, text));
  }
  const document = text.replace(/[./-]/g, '').toUpperCase();
  if (/^[0-9A-Z]{12}[0-9]{2}$/.test(document)) {
    const ofDocument = await Promise.all(cells.map(({ sql }) => findAccountsOfDocument(sql, document)));
    if (ofDocument.flat().length > 0) return ofDocument.flat().map(foundAccount);
  }
  const named = await inCells((sql) => findByNameAtProvider(sql, text));
  if (named.length > 0) return named;
  return (await findAccountsNamed(deps.sql, text, foundMost + 1)).map(foundAccount);
}

export const shownDispute = (row: DisputeRow) => ({
  ...row,
  openedAt: timeOf(row.openedAt),
  deadlineAt: timeOf(row.deadlineAt),
  endedAt: timeOf(row.endedAt),
  createdAt: timeOf(row.createdAt),
  updatedAt: timeOf(row.updatedAt),
});
