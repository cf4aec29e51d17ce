import { hash } from 'node:crypto';

/** A chain's close, as `verify` reads it. */
export interface StoredDayClose {
  day: string;
  previousDay: string | null;
  openingSeq: number;
  closingSeq: number;
  head: Buffer;
  openingCents: number;
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
  closingCents: number;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  /** Its movements over all connections; of a chain's first close with all earlier ones. */
  movedCents: number;
}

/** The figures of a connection's close, in the order in which they are hashed. */
export interface ConnectionFigures {
  connection: string;
  day: string;
  previousDay: string | null;
  openingCents: number;
  inCents: number;
  outCents: number;
  refundCents: number;
  feeCents: number;
  heldCents: number;
  closingCents: number;
  sinceCents: number | null;
  inTransitCents: number | null;
  providerCents: number | null;
  differenceCents: number | null;
  comparedAt: number | null;
  incidentId: string | null;
  closedAt: number;
  /** Of what left: what the provider charged. This and what follows is null in closes from before these were kept, whose hash lacks them. */
  costCents: number | null;
  /** Of what came in and what left: the company's own money. */
  ownInCents: number | null;
  ownOutCents: number | null;
  /** In the provider's account and not to be paid out; null: the provider does not say it. */
  blockedCents: number | null;
  /**
   * Of transfers and refunds without an end here, by the provider's word at the comparison: those that have left, those that are under way, and those that
   * it does not know or has refused. Null: nothing was compared.
   */
  transitSettledCents: number | null;
  transitPendingCents: number | null;
  transitUnsentCents: number | null;
}

/** The sum of closed chains at a connection. */
export interface Moved {
  openingCents: number;
  inCents: number;
  outCents: number;
  refundCents: number;
  feeCents: number;
  costCents: number;
  ownInCents: number;
  ownOutCents: number;
  /** Over the heads of the chains, SHA-256 in hex. */
  chains: string;
}

/** The movements of one cell, as the connection's close has them. */
export interface CellShare extends Moved {
  cell: string;
}

export interface StoredConnectionClose extends ConnectionFigures {
  head: Buffer;
  /** The cell that is examined. */
  cell: string;
  /** The sum of the closes of its chains. */
  moved: Moved;
  /** Of every cell there was; empty: there was the first one alone. */
  shares: readonly CellShare[];
  hasIncident: boolean;
}

/** The sums over all cells. Of one cell they are its own; of several, the hash is over theirs by the names of the cells. */
export function movedInAll(shares: readonly CellShare[]): Moved {
  const [first, ...others] = [...shares].sort((one, other) => (one.cell < other.cell ? -1 : 1));
  if (!first) throw new Error('there is no cell');
  const { cell, ...sum } = first;
  if (others.length === 0) return sum;
  for (const share of others) {
    sum.openingCents += share.openingCents;
    sum.inCents += share.inCents;
    sum.outCents += share.outCents;
    sum.refundCents += share.refundCents;
    sum.feeCents += share.feeCents;
    sum.costCents += share.costCents;
    sum.ownInCents += share.ownInCents;
    sum.ownOutCents += share.ownOutCents;
  }
  const chains = [first, ...others].map((share) => [share.cell, share.chains]);
  return { ...sum, chains: hash('sha256', JSON.stringify(chains), 'hex') };
}

/** The hash of a connection's close: over the one before, the heads of the chains that moved, and the figures. */
export function headOf(figures: ConnectionFigures, chains: string, previous: Buffer | null): Buffer {
  const parts = [
    previous?.toString('hex') ?? '',
    chains,
    figures.connection,
    figures.day,
    figures.previousDay,
    figures.openingCents,
    figures.inCents,
    figures.outCents,
    figures.refundCents,
    figures.feeCents,
    figures.heldCents,
    figures.closingCents,
    figures.sinceCents,
    figures.inTransitCents,
    figures.providerCents,
    figures.differenceCents,
    figures.comparedAt,
    figures.incidentId,
    figures.closedAt,
    ...(figures.costCents === null
      ? []
      : [
          figures.costCents,
          figures.ownInCents,
          figures.ownOutCents,
          figures.blockedCents,
          figures.transitSettledCents,
          figures.transitPendingCents,
          figures.transitUnsentCents,
        ]),
  ];
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
