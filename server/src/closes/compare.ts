import type { Provider } from '../provider/provider.ts';
import { everyCell } from '../settlement/tracking/cells-of.ts';
import { askBalance } from '../settlement/tracking/provider-balance.ts';
import type { TrackingDeps } from '../settlement/tracking/tracking-deps.ts';
import { findInTransit } from './connection-closes.sql.ts';
import { findSince, type Since } from './since.ts';

/** The provider's account beside the books, at one moment. */
export interface Comparison {
  /** All that is in the account, blocked money included. */
  providerCents: number;
  /** What the books moved after the day, up to this moment. */
  sinceCents: number;
  /** Of transfers and refunds that the provider has taken from the account, and the books complete later. */
  inTransitCents: number;
  differenceCents: number;
  comparedAt: number;
}

/**
 * A balance can be asked for as it is now, never as it was at midnight. So what the books have moved since is taken off, and the two are
 * compared as of one moment.
 *
 * Money that is under way between the two (a paid charge whose webhook comes in a second) makes them differ for a moment. An agreement to
 * the cent is believed at once; a difference only when three readings in a row show the same one and nothing was posted while each was
 * taken. Rejected: taking the provider's list of movements off its balance, since a list names a return under the day of its Pix.
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
): Promise<Comparison | null> {
  let same: Comparison[] = [];
  for (let readings = 0; readings < readingsMost && !deps.draining.aborted; readings++) {
    if (readings > 0) await deps.clock.sleep(betweenMs, deps.draining);
    const reading = await readBoth(deps, provider, day, books);
    if (reading === null) continue;
    if (reading.agrees) return reading.agrees;
    const { quiet } = reading;
    const goesOn = quiet !== null && same.every((one) => one.differenceCents === quiet.differenceCents);
    same = quiet === null ? [] : goesOn ? [...same, quiet] : [quiet];
    if (same.length === sameMost) return quiet;
  }
  return null;
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
  day: string,
  { closingCents, carriedCents }: { closingCents: number; carriedCents: number },
): Promise<Reading | null> {
  const { connection } = provider;
  const before = await sinceOf(deps, connection, day);
  const providerCents = (await askBalance(deps, provider))?.totalCents;
  if (providerCents === undefined) return null;
  const open = (await Promise.all(everyCell(deps).map(({ sql }) => findInTransit(sql, connection)))).flat();
  const after = await sinceOf(deps, connection, day);
  const sumOf = (some: readonly { cents: number }[]): number =>
    some.reduce((sum, { cents }) => sum + cents, 0);
  const comparedAt = deps.clock.now();
  const made = (sinceCents: number, inTransitCents: number): Comparison => ({
    providerCents,
    sinceCents,
    inTransitCents,
    differenceCents: providerCents + inTransitCents - closingCents - sinceCents,
    comparedAt,
  });
  const transits = [0, sumOf(open.filter(({ taken }) => taken)), sumOf(open)];
  const all = transits.flatMap((cents) => [made(after.cents, cents), made(before.cents, cents)]);
  return {
    agrees:
      all.find(({ differenceCents }) => differenceCents === 0) ??
      all.find(({ differenceCents }) => differenceCents === carriedCents),
    quiet: before.journals === after.journals ? made(after.cents, 0) : null,
  };
}

/** Over all cells. */
async function sinceOf(deps: TrackingDeps, connection: string, day: string): Promise<Since> {
  const ofCells = await Promise.all(everyCell(deps).map(({ sql }) => findSince(sql, connection, day)));
  return ofCells.reduce((sum, one) => ({
    cents: sum.cents + one.cents,
    journals: sum.journals + one.journals,
  }));
}
