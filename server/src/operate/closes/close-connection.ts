import { type CellShare, headOf, type Moved, movedInAll } from '../../money/day-closes.ts';
import { idsOf } from '../../ports/ids.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import { incidentKey, incidents } from '../../store/rows/incidents.sql.ts';
import { type Command, put, read } from '../../store/till.ts';
import type { Comparison } from './compare.ts';
import {
  type ConnectionClose,
  connectionCloseShares,
  connectionCloses,
  lastConnectionCloses,
} from './connection-closes.sql.ts';

export interface ConnectionCloseInput {
  connection: string;
  day: string;
  previous: ConnectionClose | undefined;
  /** The movements of each cell. */
  shares: readonly CellShare[];
  heldCents: number;
  /** Null: the provider offers no balance, or it could not be compared. */
  comparison: Comparison | null;
  /** Candidates for a new difference. */
  candidates: readonly Candidate[];
  token: string;
  deadlineMs: number;
}

/** Something that may explain a difference. */
export interface Candidate {
  what: 'provider_line' | 'line_without_answer' | 'journal' | 'in_transit';
  id: string;
  amountCents: number;
  at: string | null;
  detail: string;
}

/** The expected balance of the provider's account at the end of the day. */
export const closingOf = (
  previous: Pick<ConnectionClose, 'closingCents'> | undefined,
  moved: Moved,
): number =>
  (previous?.closingCents ?? 0) + moved.openingCents + moved.inCents - moved.outCents - moved.refundCents;

/** The difference of the last comparison: one that is known is no new one. */
export const carriedOf = (previous: Pick<ConnectionClose, 'differenceCents'> | undefined): number =>
  previous?.differenceCents ?? 0;

/** A difference that is neither zero nor known opens an incident. */
export const isNewDifference = (differenceCents: number | null, carriedCents: number): boolean =>
  differenceCents !== null && differenceCents !== 0 && differenceCents !== carriedCents;

/**
 * Writes the close of a connection, as the next one after `previous`, and opens the incident of a new difference. Nothing is posted: a
 * person finds out what it is. Pure. @returns the close; undefined: another process has written one since
 */
export function buildConnectionClose(input: ConnectionCloseInput): Command<ConnectionClose | undefined> {
  const { connection, day, previous, shares, comparison, token, deadlineMs } = input;
  const moved = movedInAll(shares);
  const reference = `close:${connection}:${day}`;
  const key = incidentKey(installationId, reference);
  return {
    token,
    deadlineMs,
    chains: [{ accountId: installationId, chainId: installationId }],
    reads: [read(lastConnectionCloses, connection), read(incidents, key)],
    eventRefs: [],
    decide: (view, now) => {
      const last = view.get(lastConnectionCloses, connection);
      if ((last?.day ?? null) !== (previous?.day ?? null)) return { answer: undefined };
      const carriedCents = carriedOf(previous);
      const differenceCents = comparison?.differenceCents ?? null;
      const isNew = isNewDifference(differenceCents, carriedCents);
      const incidentId = isNew ? idsOf(token).uuid() : null;
      const figures = {
        connection,
        day,
        previousDay: previous?.day ?? null,
        openingCents: (previous?.closingCents ?? 0) + moved.openingCents,
        inCents: moved.inCents,
        outCents: moved.outCents,
        refundCents: moved.refundCents,
        feeCents: moved.feeCents,
        heldCents: input.heldCents,
        closingCents: closingOf(previous, moved),
        sinceCents: comparison?.sinceCents ?? null,
        inTransitCents: comparison?.inTransitCents ?? null,
        providerCents: comparison?.providerCents ?? null,
        differenceCents,
        comparedAt: comparison?.comparedAt ?? null,
        incidentId,
        closedAt: now,
        costCents: moved.costCents,
        ownInCents: moved.ownInCents,
        ownOutCents: moved.ownOutCents,
        blockedCents: comparison?.blockedCents ?? null,
        transitSettledCents: comparison?.transits.settledCents ?? null,
        transitPendingCents: comparison?.transits.pendingCents ?? null,
        transitUnsentCents: comparison?.transits.unsentCents ?? null,
      };
      const close = { ...figures, head: headOf(figures, moved.chains, previous?.head ?? null) };
      const opened =
        incidentId === null
          ? []
          : [
              put(incidents, {
                accountId: installationId,
                id: incidentId,
                kind: 'close_difference' as const,
                paymentId: null,
                operationId: null,
                amountCents: Math.abs((differenceCents ?? 0) - carriedCents),
                reference,
                freezes: false,
                detail: { ...comparison, connection, day, carriedCents, candidates: input.candidates },
                openedAt: now,
              }),
            ];
      // Of a single cell the figures are its own.
      const ofCells =
        shares.length < 2
          ? []
          : shares.map((share) => put(connectionCloseShares, { ...share, connection, day }));
      return { answer: close, writes: [put(connectionCloses, close), ...ofCells, ...opened] };
    },
  };
}
