import type { NamedReturn } from '../provider/provider.ts';

/**
 * A return that was posted or that opened an incident, under all the names that were reported for it.
 *
 * API Pix gives a return two names. `rtrId` is the payment system's and unique. `id` is chosen by the party that returns the Pix and
 * unique only within one `e2eid` (`PUT /v2/pix/{e2eid}/devolucao/{id}`), so it identifies a return only together with the
 * Pix. Providers report either name or both, and not always the same: Efí's sent Pix carry `rtrId` alone
 * (`PixSendDetailResponseSchema` of its SDK 2.0), its webhooks both.
 */
export interface KnownReturn extends NamedReturn {
  /** Of the journal and of the incident: the first name under which it was reported. */
  reference: string;
  /** The Pix that was returned: the end-to-end id of a received one, empty for a payout; null where it was not stored. */
  pix: string | null;
  /** False: it opened an incident, and nothing is posted. */
  posted: boolean;
}

/** The returns of a Pix that were posted. Refunds are not in it. */
export const postedReturnsOf = (endToEnd: string, returns: readonly KnownReturn[]): KnownReturn[] =>
  returns.filter(({ posted, pix }) => posted && (pix === null || pix === endToEnd));

/** The posted returns of a Pix that a charge received. */
export const returnedOf = (endToEnd: string, returns: readonly KnownReturn[]): number =>
  postedReturnsOf(endToEnd, returns).reduce((cents, { amountCents }) => cents + amountCents, 0);

/** The Pix of a report. */
export interface ReturnedPix {
  /** As in `KnownReturn`. */
  pix: string;
  /** The part before `id` in a reference: the end-to-end id, or the provider's id where there is none yet. */
  name: string;
}

/**
 * The same return reported at two times differs by no more than this: statements may give the day alone, and some
 * providers label local time as UTC (bacen/pix-api issues 163 and 573).
 */
const sameReturnWithinMs = 24 * 3_600_000;

/**
 * Each reported return with its reference and all its names: a known one, or a new one (`posted` false).
 *
 * 1. The same `rtrId`, or the same `id` under the same Pix, is the same return.
 * 2. Where a known return has one name and the report only the other, they share no name. Then the amount decides, among
 *    the known returns of the Pix that no other line of the report names; the nearest in time is taken. A report lists
 *    all returns of a Pix, so each of its lines stands for another return.
 *
 * Rejected: names alone. A provider that reports `id` first and `rtrId` later would be credited twice.
 */
export function identifyReturns(
  { pix, name }: ReturnedPix,
  reported: readonly NamedReturn[],
  known: readonly KnownReturn[],
): KnownReturn[] {
  const ofPix = known.filter((one) => one.pix === null || one.pix === pix);
  const found = reported.map((line) => ofPix.find((one) => sharesName(line, one)));
  const free = new Set(ofPix.filter((one) => !found.includes(one)));
  return reported.map((line, at) => {
    const same = found[at] ?? nearest(line, [...free]);
    if (!same) {
      const reference = line.rtrId ?? `${name}/${line.id}`;
      return { ...line, pix, reference, posted: false };
    }
    free.delete(same);
    return { ...same, pix, id: same.id ?? line.id, rtrId: same.rtrId ?? line.rtrId };
  });
}

function sharesName(line: NamedReturn, known: KnownReturn): boolean {
  // Where the Pix is not stored, the same `id` may be that of another Pix of the same charge.
  if (known.pix === null && known.amountCents !== line.amountCents) return false;
  return (line.rtrId !== null && line.rtrId === known.rtrId) || (line.id !== null && line.id === known.id);
}

function nearest(line: NamedReturn, known: readonly KnownReturn[]): KnownReturn | undefined {
  const distance = (one: KnownReturn): number => Math.abs(one.at - line.at);
  return known
    .filter(
      (one) =>
        one.amountCents === line.amountCents &&
        (line.id === null || one.id === null) &&
        (line.rtrId === null || one.rtrId === null) &&
        distance(one) <= sameReturnWithinMs,
    )
    .sort((one, other) => distance(one) - distance(other))[0];
}
