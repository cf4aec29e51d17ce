import type { Provider, StatementLine } from '../provider/provider.ts';
import { platform, platformKey } from '../store/rows/conditions.sql.ts';
import { findInBooks, type InBooks } from './nameless-payouts.sql.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * Payouts in a statement that name no id of ours, at a provider that knows payouts by a name of its own alone (Inter), or whose statement leaves
 * our id out (Woovi). At Inter it stands in the description, and no document says that it comes back whole: such a line may be a payout of ours.
 *
 * So the books decide. A line whose Pix they have is no news. While a payout of its amount is under way, the line waits until that has
 * ended and its Pix is known; one of the amount of a payout that a person ended without its Pix waits for a person. Everything else the
 * company sent itself. Rejected: to leave such lines out, which makes every own payout a difference of the daily close; rejected as well: to
 * believe a description that looks whole.
 */
export interface Sorted<Line> {
  /** To be booked as money under no id of ours. */
  foreign: Line[];
  undecided: { line: Line; problem: string }[];
}

type SentLine = Pick<StatementLine, 'providerId' | 'endToEnd'> & { kind: string; amountCents: number | null };

export const mayBeOurs = ({ capabilities }: Provider, { kind, providerId }: SentLine): boolean =>
  kind === 'sent' &&
  providerId === null &&
  capabilities.payouts &&
  (!capabilities.queryPayoutByOwnId || capabilities.statementLacksOwnIds === true);

/** @param lines those that name no payment of ours */
export async function sortForeign<Line extends SentLine>(
  deps: Pick<TrackingDeps, 'sql'> & { cells: Pick<TrackingDeps['cells'], 'all'> },
  provider: Provider,
  lines: readonly Line[],
): Promise<Sorted<Line>> {
  const { connection } = provider;
  const doubtful = lines.filter((line) => mayBeOurs(provider, line));
  const sorted: Sorted<Line> = {
    foreign: lines.filter((line) => !doubtful.includes(line)),
    undecided: [],
  };
  const asked = doubtful.map((line) => ({ pix: line.endToEnd ?? '', amountCents: line.amountCents ?? 0 }));
  if (asked.length === 0) return sorted;
  const ofCells = await Promise.all(deps.cells.all().map(({ sql }) => findInBooks(sql, connection, asked)));
  const [installation] = await platform.read(deps.sql, [platformKey]);
  // Payouts of a lost time are in no books and in no list: until a person has looked at the provider, a line may be one of them.
  const isUncompared =
    installation === undefined ||
    installation.restoredAt !== null ||
    installation.uncompared.includes(connection);
  for (const [at, line] of doubtful.entries()) {
    const found = ofCells.map((cell) => cell[at] as InBooks);
    if (line.endToEnd !== null && found.some(({ booked }) => booked)) continue;
    const problem = problemOf(
      line,
      isUncompared,
      found.some(({ underWay }) => underWay),
      found.some(({ decided }) => decided),
    );
    if (problem === null) sorted.foreign.push(line);
    else sorted.undecided.push({ line, problem });
  }
  return sorted;
}

function problemOf(
  { endToEnd }: SentLine,
  isUncompared: boolean,
  underWay: boolean,
  decided: boolean,
): string | null {
  if (endToEnd === null) return 'a payout that names neither an id of ours nor its Pix';
  if (isUncompared)
    return 'a payout that names no id of ours may be of the lost time: look at it, then run `vintem provider compared`';
  if (decided)
    return 'a payout that names no id of ours has the amount of one that a person ended: look whether it left after all';
  return underWay
    ? 'a payout that names no id of ours has the amount of one that is under way: it waits until that has ended'
    : null;
}
