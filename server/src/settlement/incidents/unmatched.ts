import type { Log } from '../../ground/log.ts';
import { eventKinds } from '../../ledger/journal.ts';
import { type Posting, put, read, type Till, type View, type Write } from '../../ledger/till.ts';
import { knownReturns, knownReturnsKey } from '../../payments/returns.sql.ts';
import { identifyReturns, type KnownReturn } from '../../payments/returns.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { NamedReturn, StatementLine, WebhookNews } from '../../provider/provider.ts';
import { applyWithinMs } from '../dispatch/send.ts';
import { installationId } from '../operator/audit.sql.ts';
import { settledReturns } from '../tracking/interpret-report.ts';
import { type Incident, incidentKey, incidents } from './incidents.sql.ts';

/**
 * A Pix that matches no payment of ours: what it moved and what came back of it. Each part goes to suspense of the
 * installation once, whether a webhook, a list or a statement tells of it.
 */
export interface Unmatched {
  /** The end-to-end id, or the provider's id where it gives none. */
  pix: string;
  /** Null: the source tells of a return alone. Cents; positive: received. */
  moved: { amountCents: number; at: number } | null;
  returns: readonly NamedReturn[];
  /** Of the returns: 1, they came back to us; -1, they left. */
  sign: 1 | -1;
}

/** @param now stands in for a settlement time that is not given, ms since 1970 */
export function unmatchedOf({ received, payouts }: WebhookNews, now: number): Unmatched[] {
  return [
    ...received.map(
      (pix): Unmatched => ({
        pix: pix.endToEnd,
        moved: { amountCents: pix.amountCents, at: pix.paidAt },
        returns: settledReturns(pix),
        sign: -1,
      }),
    ),
    ...payouts
      .filter(({ status }) => status === 'completed')
      .map(
        (payout): Unmatched => ({
          pix: payout.endToEnd ?? payout.providerId,
          moved: { amountCents: -payout.amountCents, at: payout.settledAt ?? now },
          returns: settledReturns(payout),
          sign: 1,
        }),
      ),
  ];
}

/** A line of the statement. */
export function unmatchedLine({ id, rtrId, kind, endToEnd, amountCents, at }: StatementLine): Unmatched {
  const pix = endToEnd ?? id;
  if (kind === 'sent' || kind === 'received') {
    const moved = { amountCents: kind === 'sent' ? -amountCents : amountCents, at };
    return { pix, moved, returns: [], sign: 1 };
  }
  const names = { id: id === rtrId ? null : id, rtrId };
  const sign = kind === 'returned' ? 1 : -1;
  return { pix, moved: null, returns: [{ ...names, amountCents, at }], sign };
}

export interface UnmatchedDeps {
  till: Till;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** A part of it, with what is on record of it. */
interface Part {
  reference: string;
  /** Positive: received. */
  amountCents: number;
  at: number;
  posted: boolean;
  opened: boolean;
}

/**
 * Posts what is not posted yet and opens an incident for each part.
 * @param believed false: incidents alone
 */
export function postUnmatched(deps: UnmatchedDeps, unmatched: Unmatched, believed: boolean): Promise<void> {
  const { till, ids, clock } = deps;
  const { pix, moved, returns } = unmatched;
  const accountId = installationId;
  const chain = { accountId, chainId: accountId };
  const key = knownReturnsKey(accountId, pix);
  const references = [...new Set([pix, ...returns.flatMap((one) => referencesOf(pix, one))])];
  return till.submit<void>({
    token: ids.uuid(),
    deadlineMs: clock.monotonicMs() + applyWithinMs,
    chains: [chain],
    reads: [
      ...references.map((reference) => read(incidents, incidentOfReference(reference))),
      read(knownReturns, key),
    ],
    eventRefs: references.map(suspenseOf),
    decide: (view) => {
      const known = view.get(knownReturns, key)?.returns ?? [];
      const earlier = [...known, ...returns.flatMap((line) => postedEarlier(line, known, view))];
      const told = withoutRepeats(identifyReturns({ pix, name: pix }, returns, earlier));
      const parts: Part[] = [
        ...(moved ? [{ ...moved, reference: pix, ...onRecord(pix, view) }] : []),
        ...told.map((one) => {
          const isKnown = earlier.some(({ reference }) => reference === one.reference);
          const record = isKnown ? { posted: one.posted, opened: true } : onRecord(one.reference, view);
          return { ...one, amountCents: unmatched.sign * one.amountCents, ...record };
        }),
      ].filter(({ amountCents }) => amountCents !== 0);
      const writes: Write[] = parts
        .filter(({ opened }) => !opened)
        .map((part) => put(incidents, incidentOf(part, believed, deps)));
      if (told.length > 0) {
        const now = told.map((one) => ({ ...one, posted: one.posted || believed }));
        writes.push(put(knownReturns, { accountId, payment: pix, returns: merged(known, now) }));
      }
      const posts = believed ? parts.filter(({ posted }) => !posted) : [];
      return {
        answer: undefined,
        postings: posts.map(
          ({ reference, amountCents, at }): Posting => ({
            chain,
            ...suspenseOf(reference),
            movement: { kind: 'suspend', amountCents },
            effectiveAt: at,
          }),
        ),
        writes,
      };
    },
  });
}

const suspenseOf = (reference: string) => ({
  accountId: installationId,
  subject: installationId,
  event: eventKinds.suspense,
  reference,
});

/** A report may list a return twice, also under its two names: with two parts of one reference the command could never be written. */
const withoutRepeats = (returns: readonly KnownReturn[]): KnownReturn[] => [
  ...new Map(returns.map((one) => [one.reference, one])).values(),
];

/** An incident that was opened under one of the return's names before returns were stored by themselves. */
function postedEarlier(line: NamedReturn, known: readonly KnownReturn[], view: View): KnownReturn[] {
  return [line.rtrId, line.id].flatMap((name) => {
    if (name === null || known.some(({ reference }) => reference === name)) return [];
    const incident = view.get(incidents, incidentOfReference(name));
    if (incident?.amountCents !== line.amountCents) return [];
    return [{ ...line, pix: null, reference: name, posted: view.posted(suspenseOf(name)) }];
  });
}

/** Under which references it may be on record: its own, and either name by itself from before returns were stored. */
const referencesOf = (pix: string, { id, rtrId }: NamedReturn): string[] => [
  ...[id, rtrId].filter((name) => name !== null),
  `${pix}/${id}`,
];

const onRecord = (reference: string, view: View): { posted: boolean; opened: boolean } => ({
  posted: view.posted(suspenseOf(reference)),
  opened: view.get(incidents, incidentOfReference(reference)) !== undefined,
});

const incidentOfReference = (reference: string): string =>
  incidentKey(installationId, `unmatched:${reference}`);

const merged = (known: readonly KnownReturn[], now: readonly KnownReturn[]): KnownReturn[] => [
  ...known.filter((one) => !now.some(({ reference }) => reference === one.reference)),
  ...now,
];

function incidentOf(
  { reference, amountCents }: Part,
  believed: boolean,
  { ids, clock, log }: UnmatchedDeps,
): Incident {
  const id = ids.uuid();
  log.error({ incident: id, kind: 'unmatched', amountCents }, 'incident opened');
  return {
    accountId: installationId,
    id,
    kind: 'unmatched',
    paymentId: null,
    operationId: null,
    amountCents: Math.abs(amountCents),
    reference: `unmatched:${reference}`,
    freezes: false,
    detail: { believed },
    openedAt: clock.now(),
  };
}
