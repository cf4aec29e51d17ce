import { buildOutcome, type OutcomeAnswer, type OutcomeInput } from '../flow/outcome.ts';
import type { PaymentNews } from '../kinds/payment/interpret-report.ts';
import { transfer } from '../kinds/transfer/transfer.ts';
import { type Payment, providerIdOf } from '../money/payment.ts';
import type { Provider } from '../provider/provider.ts';
import { type Agreed, hashOfShown, movedCents, onlyAsShown } from '../store/as-shown.ts';
import { subscribedBy, subscribedTypes } from '../store/events/subscribed-types.ts';
import { type Operator, OperatorRefused, operatorWaitMs, reasonOf } from '../store/operator.ts';
import { type PlannedPosting, rehearseAct } from '../store/rehearsal.ts';
import { audits } from '../store/rows/audit.sql.ts';
import {
  findPlaceOfTransfer,
  type PlaceOfTransfer,
  paymentKey,
  payments,
} from '../store/rows/payments.sql.ts';
import { isReturnOfPayout } from '../store/rows/returns.sql.ts';
import { findReturnLines, type LineToAnswer, removeLine } from '../store/rows/statement-lines.sql.ts';
import { type Command, createTill, put } from '../store/till.ts';

/**
 * A person says of which payout a return is, where no word of the provider does: a line of `vintem statement list` without its Pix, or money that
 * the provider's own pages alone show (Inter).
 *
 * It is heard as if the provider had reported it, under the same name, so that a later report of the return posts nothing: the same command, postings,
 * event and record. A return is booked under one payment: one that has another already is refused here, and an incident where the provider says it.
 */
export interface ReturnOfPayout {
  paymentId: string;
  /** Its id in the payment system (`rtrId`). */
  returnId: string;
  /** Null: as its line says. */
  amountCents: number | null;
  /** When it came, ms since 1970; null: as its line says. */
  at: number | null;
}

export interface ReturnDeps {
  /** By connection. */
  providers: ReadonlyMap<string, Pick<Provider, 'capabilities'>>;
  secrets: { open(sealed: Buffer, context: string): Buffer };
}

/** A return as it is booked. */
interface Booked {
  connection: string;
  amountCents: number;
  at: number;
  line: LineToAnswer | undefined;
}

export interface BookedReturn {
  paymentId: string;
  returnId: string;
  connection: string;
  amountCents: number;
  at: number;
  /** Of the payment, with this one. */
  returnedCents: number;
}

/**
 * Books it, with an entry in the audit log, and ends its line.
 * @param operator in the cell of the payment
 * @throws OperatorRefused no such transfer, one that has not been completed, a return that the books have, or more than is left
 */
export async function bookReturn(
  deps: ReturnDeps,
  operator: Operator,
  wanted: ReturnOfPayout & { reason: string },
): Promise<BookedReturn> {
  const { paymentId, returnId } = wanted;
  const reason = reasonOf(wanted.reason);
  const { sql, everyCell = [sql] } = operator;
  const place = await findPlaceOfTransfer(sql, paymentId);
  if (!place) throw new OperatorRefused('no such transfer');
  for (const cell of everyCell) if (await isReturnOfPayout(cell, returnId)) throw inBooks();
  const booked = await requireLine(operator, wanted, place.connection);
  const payment = await submit(deps, operator, { wanted, booked, place, reason });
  // Where this process ends before, the line finds the return in the books at its next look-up.
  if (booked.line) await removeLine(everyCell[0] ?? sql, booked.connection, booked.line);
  const { connection, amountCents, at } = booked;
  return { paymentId, returnId, connection, amountCents, at, returnedCents: payment.returnedCents };
}

const inBooks = () => new OperatorRefused('the books have this return already');

/** Amount and time, which a line names, or else the person. @throws OperatorRefused they do not fit */
async function requireLine(
  { sql, everyCell = [sql], clock }: Operator,
  { paymentId, returnId, ...given }: ReturnOfPayout,
  connection: string,
): Promise<Booked> {
  if (!/^D[A-Za-z0-9]{31}$/.test(returnId))
    throw new OperatorRefused('the id of a return in the payment system is a D and 31 letters or digits');
  const [line] = await findReturnLines(everyCell[0] ?? sql, returnId);
  if (line && line.connection !== connection)
    throw new OperatorRefused(`its line is of ${line.connection}, the transfer of ${connection}`);
  if (line?.providerId && line.providerId !== providerIdOf(paymentId))
    throw new OperatorRefused('its line names another payment');
  const amountCents = given.amountCents ?? line?.amountCents ?? null;
  const at = line?.at ?? given.at;
  if (amountCents === null || at === null)
    throw new OperatorRefused('no line of `vintem statement list` has it: it needs its amount and its time');
  if (line && line.amountCents !== null && line.amountCents !== amountCents)
    throw new OperatorRefused('its line has another amount');
  if (at > clock.now()) throw new OperatorRefused('it cannot have come in the future');
  return { connection, amountCents, at, line };
}

interface Case {
  wanted: ReturnOfPayout;
  booked: Booked;
  place: PlaceOfTransfer;
  reason: string;
}

async function submit(deps: ReturnDeps, operator: Operator, about: Case): Promise<Payment> {
  const { accountId, connection } = about.place;
  const capabilities = deps.providers.get(connection)?.capabilities;
  if (!capabilities) throw new OperatorRefused(`no connection ${connection} that is in use`);
  const token = operator.ids.uuid();
  const command = buildReturn(about, operator.actor, {
    observed: observedOf(about, token),
    capabilities,
    subscribed: await subscribedBy({ subscribed: subscribedTypes(operator) }, accountId),
    secrets: deps.secrets,
    token,
    jitter: 0,
    deadlineMs: operator.clock.monotonicMs() + operatorWaitMs,
  });
  // A till of its own: its batch is this command alone, so the view holds only what was read under the lock.
  const { row } = await createTill(operator).submit(command);
  return row as Payment;
}

/** The command of the report, with what a person must not do and the entry in the audit log. Pure. @throws OperatorRefused from `decide` */
function buildReturn(about: Case, actor: string, input: OutcomeInput): Command<OutcomeAnswer> {
  const { wanted, booked, place } = about;
  const heard = buildOutcome(transfer, input);
  return {
    ...heard,
    decide: (view, now) => {
      requireReturnable(view.get(payments, paymentKey(place.accountId, wanted.paymentId)), booked);
      if (view.booked({ connection: place.connection, endToEnd: wanted.returnId })) throw inBooks();
      const decision = heard.decide(view, now);
      if (!decision.postings?.length)
        throw new OperatorRefused('the books have a return of this amount and day under another name');
      const audit = auditOf(input.token, actor, about, now);
      return { ...decision, writes: [...(decision.writes ?? []), put(audits, audit)] };
    },
  };
}

/** @throws OperatorRefused of this transfer nothing can come back, or less */
function requireReturnable(payment: Payment | undefined, { amountCents, at }: Booked): void {
  if (payment?.kind !== 'transfer') throw new OperatorRefused('no such transfer');
  if (payment.status !== 'completed') throw new OperatorRefused('the transfer is not completed');
  if (at < payment.createdAt) throw new OperatorRefused('it came before the transfer was made');
  const leftCents = payment.amountCents - payment.feeCents - payment.returnedCents;
  if (!Number.isSafeInteger(amountCents) || amountCents <= 0 || amountCents > leftCents)
    throw new OperatorRefused(`of the transfer ${leftCents} cents can come back`);
}

/** The report that the provider does not make, in the form of its delivery. */
function observedOf({ wanted, booked, place }: Case, id: string) {
  const { paymentId, returnId: rtrId } = wanted;
  const { amountCents, at } = booked;
  const { sentCents, endToEnd, ...of } = place;
  const observation: PaymentNews = {
    ...{ from: 'webhook', id, received: [] },
    payouts: [
      {
        ...{ providerId: providerIdOf(paymentId), amountCents: sentCents, pixKey: null, endToEnd },
        ...{ status: 'completed', settledAt: null, reason: null },
        returns: [{ id: null, rtrId, amountCents, at, status: 'settled' }],
      },
    ],
  };
  return { ...of, kind: 'transfer' as const, paymentId, observation };
}

function auditOf(id: string, actor: string, { wanted, booked, place, reason }: Case, at: number) {
  const { connection, amountCents } = booked;
  const detail = {
    connection,
    returnId: wanted.returnId,
    amountCents,
    at: new Date(booked.at).toISOString(),
  };
  return {
    ...{ accountId: place.accountId, id, at, actor, action: 'payment.returned' },
    ...{ subject: wanted.paymentId, reason, detail },
  };
}

/** The act as its hash has it. */
const actOf = ({ paymentId, returnId, amountCents, at }: ReturnOfPayout): readonly string[] => [
  'payment.returned',
  paymentId,
  returnId,
  String(amountCents),
  String(at),
];

/** The act as a person sees it before it is done. */
export interface ShownReturn {
  postings: PlannedPosting[];
  /** The sum of what they move, in cents. */
  movedCents: number;
  /** Names exactly this act with these postings. */
  shown: string;
}

/** @throws OperatorRefused as `bookReturn`; RehearsalBusy */
export async function shownReturn(
  deps: ReturnDeps,
  operator: Operator,
  wanted: ReturnOfPayout,
): Promise<ShownReturn> {
  const postings = await rehearseAct(operator, (one) =>
    bookReturn(deps, one, { ...wanted, reason: 'rehearsed' }),
  );
  return { postings, movedCents: movedCents(postings), shown: hashOfShown(actOf(wanted), postings) };
}

/**
 * Books it with the postings that a person saw, and with no others.
 * @throws FactsChanged it would post something else now; MovesTooMuch; OperatorRefused as `bookReturn`
 */
export const bookReturnAsShown = (
  deps: ReturnDeps,
  operator: Operator,
  wanted: ReturnOfPayout & { reason: string },
  agreed: Agreed,
): Promise<BookedReturn> => bookReturn(deps, onlyAsShown(operator, actOf(wanted), agreed), wanted);
