import { hash } from 'node:crypto';

/** What `verify` sees of a chain's close. */
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
  /** What it moved over all connections; of a chain's first close with what had moved before. */
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
}

export interface StoredConnectionClose extends ConnectionFigures {
  head: Buffer;
  /** Over the heads of the chains that moved, SHA-256 in hex. */
  chains: string;
  /** What the closes of these chains add up to. */
  moved: { openingCents: number; inCents: number; outCents: number; refundCents: number; feeCents: number };
  hasIncident: boolean;
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
  ];
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
