import { bringCostsUpToDate } from '../../flow/connection-movements.ts';
import type { TrackingDeps } from '../../flow/tracking-deps.ts';
import { askBalance } from '../../jobs/provider-balance.ts';
import { readLatest } from '../../jobs/statement.ts';
import type { Provider } from '../../provider/provider.ts';
import { findInTransit } from './connection-closes.sql.ts';
import type { Since, Sums } from './since.ts';
import { createTransitQueries, type Transits } from './transits.ts';

/** The provider's account beside the books, at one moment. */
export interface Comparison {
  /** All that is in the account, blocked money included. */
  providerCents: number;
  /** Of it, what may not be paid out; null: the provider does not say it. */
  blockedCents: number | null;
  /** The books' movements after the day, up to this moment. */
  sinceCents: number;
  /** Of transfers and refunds without an end here, what counts as having left the account. */
  inTransitCents: number;
  /** All of these, by what the provider says of each. */
  transits: Transits;
  differenceCents: number;
  comparedAt: number;
}

/** `assumed`: it agrees only when what is under way at the provider has left the account, which the provider does not say. */
export interface Compared {
  comparison: Comparison;
  assumed: boolean;
}

/**
 * A balance can be asked for as it is now, never as it was at midnight. So what the books have moved since is taken off, and the two are
 * compared as of one moment.
 *
 * Money that the company moved itself in the last minutes is in no books yet: when a reading differs, the statement is read up to now, and again with the
 * next reading where that did not succeed (the shared limit of queries was spent).
 *
 * Money that is under way between the two (a paid charge whose webhook comes in a second) makes them differ for a moment. An agreement to
 * the cent is believed at once; a difference only when three readings in a row show the same one and nothing was posted while each was
 * taken. Rejected: taking the provider's list of movements off its balance, since a list names a return under the day of its Pix.
 *
 * What of open transfers has left the account, the provider says of each. Rejected: to try whether none, some or all of them make the two agree:
 * missing money of the same amount would then be no difference.
 */
const sameMost = 3;
const readingsMost = 12;
const betweenMs = 2_000;

/** @returns null: the provider did not answer, or too much moved to compare */
export async function compare(
  deps: TrackingDeps,
  provider: Provider,
  day: string,
  books: { closingCents: number; carriedCents: number },
  sums: Sums,
): Promise<Compared | null> {
  const since = (): Promise<Since> => sinceOf(deps, provider.connection, day, sums);
  const stateOf = createTransitQueries(deps, provider);
  let same: Comparison[] = [];
  let isRead = false;
  for (let readings = 0; readings < readingsMost && !deps.draining.aborted; readings++) {
    if (readings > 0) await deps.clock.sleep(betweenMs, deps.draining);
    const reading = await readBoth(deps, provider, books, since, stateOf);
    if (reading === null) continue;
    if (reading.agrees) return { comparison: reading.agrees, assumed: false };
    isRead ||= await readLatest(deps, provider);
    const { quiet } = reading;
    const goesOn = quiet !== null && same.every((one) => one.differenceCents === quiet.differenceCents);
    same = quiet === null ? [] : goesOn ? [...same, quiet] : [quiet];
    if (same.length === sameMost && quiet) return asAssumed(quiet, books.carriedCents);
  }
  return null;
}

/** A difference that what is under way would explain to the cent. */
function asAssumed(quiet: Comparison, carriedCents: number): Compared {
  const { pendingCents } = quiet.transits;
  const differenceCents = quiet.differenceCents + pendingCents;
  if (pendingCents === 0 || (differenceCents !== 0 && differenceCents !== carriedCents))
    return { comparison: quiet, assumed: false };
  const inTransitCents = quiet.inTransitCents + pendingCents;
  return { comparison: { ...quiet, inTransitCents, differenceCents }, assumed: true };
}

interface Reading {
  /** No difference, or the known one. */
  agrees: Comparison | undefined;
  /** Null: something was posted while the balance was read. */
  quiet: Comparison | null;
}

async function readBoth(
  deps: TrackingDeps,
  provider: Provider,
  { closingCents, carriedCents }: { closingCents: number; carriedCents: number },
  since: () => Promise<Since>,
  stateOf: ReturnType<typeof createTransitQueries>,
): Promise<Reading | null> {
  const { connection } = provider;
  if (!(await bringCostsUpToDate(deps, provider))) return null;
  const before = await since();
  const balance = await askBalance(deps, provider);
  if (balance === null) return null;
  const open = (await Promise.all(deps.cells.all().map(({ sql }) => findInTransit(sql, connection)))).flat();
  const transits = await stateOf(open);
  if (transits === null) return null;
  const after = await since();
  const providerCents = balance.totalCents;
  const comparedAt = deps.clock.now();
  const made = (sinceCents: number): Comparison => ({
    providerCents,
    blockedCents: balance.blocked?.totalCents ?? null,
    sinceCents,
    inTransitCents: transits.settledCents,
    transits,
    differenceCents: providerCents + transits.settledCents - closingCents - sinceCents,
    comparedAt,
  });
  const all = [made(after.cents), made(before.cents)];
  return {
    agrees:
      all.find(({ differenceCents }) => differenceCents === 0) ??
      all.find(({ differenceCents }) => differenceCents === carriedCents),
    quiet: before.journals === after.journals ? made(after.cents) : null,
  };
}

/** Over all cells. */
async function sinceOf(deps: TrackingDeps, connection: string, day: string, sums: Sums): Promise<Since> {
  const ofCells = await Promise.all(deps.cells.all().map(({ sql }) => sums.read(sql, connection, day)));
  return ofCells.reduce((sum, one) => ({
    cents: sum.cents + one.cents,
    journals: sum.journals + one.journals,
  }));
}
