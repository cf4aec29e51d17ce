import { paymentOfCode } from '../kinds/static-code/paid.ts';
import type { Payment } from '../money/payment.ts';
import { staticIdentifierOf } from '../provider/br-code.ts';
import type { NamedReturn, ReceivedPix, StatementLine } from '../provider/provider.ts';
import { findBooked } from '../store/rows/connection-movements.sql.ts';
import { fingerprintOf, paymentIdFor, requestKeyFor } from '../store/rows/idempotency.ts';
import { findKnownPayments } from '../store/rows/payments.sql.ts';
import { findIdentifiers, type IdentifierPlace } from '../store/rows/static-codes.sql.ts';
import { applyOutcome } from './apply.ts';
import { byCell } from './in-cells.ts';
import { applyWithinMs } from './send.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** A report of one Pix: what it moved, or what came back of it, or both. */
export interface ReportedPix {
  /** Of a static code, in the form of ours; null or absent: it names none. */
  identifier?: string | null;
  /** The end-to-end id, or the provider's id where it gives none. */
  pix: string;
  /** Null: the source reports a return alone. Cents; positive: received. */
  moved: { amountCents: number; at: number } | null;
  returns: readonly NamedReturn[];
}

/** The parts of one Pix that came under an identifier of ours, with the payment that it is. */
interface PixOfCode<Part extends ReportedPix = ReportedPix> {
  place: IdentifierPlace;
  endToEnd: string;
  requestKey: string;
  paymentId: string;
  parts: readonly Part[];
}

/**
 * Makes a payment of every Pix under the identifier of a static code of this connection, whatever reports it: a delivery, a list, the
 * statement. Its id is a function of account and Pix, so what is reported again finds the payment, and what went back of it is applied to that.
 * An identifier is in the form of ours and known to no account (a restore lost it): the Pix is left to suspense.
 * @param believed false: nothing is made by the word of what proves nothing; the provider's list will name it
 * @returns what belongs to no static code, and Pix of codes that contradict the books
 */
export async function bookCodePayments<Part extends ReportedPix>(
  deps: TrackingDeps,
  connection: string,
  all: readonly Part[],
  believed: boolean,
): Promise<{ left: Part[]; contradicting: Part[] }> {
  const identifiers = [...new Set(all.flatMap(({ identifier }) => identifier ?? []))];
  if (identifiers.length === 0) return { left: [...all], contradicting: [] };
  const found = await findIdentifiers(deps.sql, connection, identifiers);
  const places = new Map(found.map((place) => [place.identifier, place]));
  const placeOf = ({ identifier }: Part) => places.get(identifier ?? '');
  const left = all.filter((one) => placeOf(one) === undefined);
  const ours = all.filter((one) => placeOf(one) !== undefined);
  if (!believed || ours.length === 0) return { left, contradicting: [] };
  const pix = [...Map.groupBy(ours, ({ identifier, pix }) => `${identifier} ${pix}`).values()].map((parts) =>
    pixOfCode(deps.identity, placeOf(parts[0] as Part) as IdentifierPlace, (parts[0] as Part).pix, parts),
  );
  const named = pix.map((one) => ({ ...one, accountNumber: one.place.accountNumber }));
  const contradicting: Part[] = [];
  for (const cell of await byCell(deps, named))
    contradicting.push(...(await bookInCell(cell.deps, connection, cell.items)));
  return { left, contradicting };
}

function pixOfCode<Part extends ReportedPix>(
  identity: Buffer,
  place: IdentifierPlace,
  endToEnd: string,
  parts: readonly Part[],
): PixOfCode<Part> {
  const account = { id: place.accountId, number: place.accountNumber };
  const requestKey = requestKeyFor(identity, account.id, `static\0${endToEnd}`);
  return { place, endToEnd, requestKey, paymentId: paymentIdFor(identity, account, requestKey), parts };
}

async function bookInCell<Part extends ReportedPix>(
  deps: TrackingDeps,
  connection: string,
  pix: readonly PixOfCode<Part>[],
): Promise<Part[]> {
  // Lists are read again and again: what the books have costs this read and nothing more.
  const known = await findKnownPayments(
    deps.sql,
    pix.map(({ place, paymentId }) => ({ accountId: place.accountId, id: paymentId })),
  );
  const news = pix.filter(
    ({ paymentId, parts }) => !known.has(paymentId) || parts.some(({ returns }) => returns.length > 0),
  );
  const fresh = news.filter(({ paymentId }) => !known.has(paymentId));
  const own = await findBooked(
    deps.sql,
    connection,
    fresh.map(({ endToEnd }) => `received:${endToEnd}`),
  );
  const contradicting: Part[] = [];
  await Promise.all(
    news.map(async (one) => {
      const isOwn = !known.has(one.paymentId) && own.has(`received:${one.endToEnd}`);
      const isBooked = !isOwn && (await book(deps, connection, one, known.get(one.paymentId)));
      if (!isBooked) contradicting.push(...one.parts);
    }),
  );
  return contradicting;
}

/** @returns false: the books have the Pix elsewhere, or its payment is not there and the report names a return alone */
async function book(
  deps: TrackingDeps,
  connection: string,
  { place, endToEnd, requestKey, paymentId, parts }: PixOfCode,
  knownCents: number | undefined,
): Promise<boolean> {
  const { accountId, operationId, codeId } = place;
  const moved = parts.find((one) => one.moved !== null)?.moved ?? null;
  const amountCents = moved?.amountCents ?? knownCents;
  if (amountCents === undefined) return false;
  const returns = parts.flatMap((one) => one.returns).map((one) => ({ ...one, status: 'settled' as const }));
  const paidAt = moved?.at ?? deps.clock.now();
  const received: ReceivedPix = { endToEnd, amountCents, paidAt, txid: place.identifier, returns };
  const sourceId = deps.ids.uuid();
  const fingerprint = fingerprintOf(deps.identity, { kind: 'static', codeId, endToEnd });
  const of = { accountId, operationId, paymentId, connection };
  const payment = await applyOutcome<Payment>(
    deps,
    {
      ...of,
      kind: 'deposit',
      observation: { from: 'webhook', id: sourceId, received: [received], payouts: [] },
      birth: paymentOfCode({ ...of, codeId, endToEnd, amountCents, requestKey, fingerprint, sourceId }),
    },
    deps.clock.monotonicMs() + applyWithinMs,
  );
  return payment.status === 'paid';
}

/**
 * Which payment a Pix under the identifier of a static code is. Null: it names none of this connection.
 * @param txid as the provider names it
 */
export async function paymentOfIdentifier(
  { sql, identity }: Pick<TrackingDeps, 'sql' | 'identity'>,
  connection: string,
  txid: string,
  endToEnd: string,
): Promise<{ id: string; accountNumber: number } | null> {
  const identifier = staticIdentifierOf(txid);
  if (identifier === null) return null;
  const [place] = await findIdentifiers(sql, connection, [identifier]);
  if (!place) return null;
  return { id: pixOfCode(identity, place, endToEnd, []).paymentId, accountNumber: place.accountNumber };
}

/** Of lines, the end-to-end ids of Pix under static codes that have their payment. */
export async function paymentsOfCodes(
  deps: TrackingDeps,
  connection: string,
  lines: readonly Pick<StatementLine, 'providerId' | 'endToEnd'>[],
): Promise<ReadonlySet<string>> {
  const named = lines.flatMap(({ providerId, endToEnd }) => {
    const identifier = staticIdentifierOf(providerId);
    return identifier === null || endToEnd === null ? [] : [{ identifier, endToEnd }];
  });
  if (named.length === 0) return new Set();
  const identifiers = [...new Set(named.map(({ identifier }) => identifier))];
  const places = new Map(
    (await findIdentifiers(deps.sql, connection, identifiers)).map((place) => [place.identifier, place]),
  );
  const pix = named.flatMap(({ identifier, endToEnd }) => {
    const place = places.get(identifier);
    if (!place) return [];
    return [{ ...pixOfCode(deps.identity, place, endToEnd, []), accountNumber: place.accountNumber }];
  });
  const there = new Set<string>();
  for (const cell of await byCell(deps, pix)) {
    const wanted = cell.items.map(({ place, paymentId: id }) => ({ accountId: place.accountId, id }));
    const known = await findKnownPayments(cell.deps.sql, wanted);
    for (const { paymentId, endToEnd } of cell.items) if (known.has(paymentId)) there.add(endToEnd);
  }
  return there;
}
