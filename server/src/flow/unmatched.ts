import type { Log } from '../ground/log.ts';
import { settledReturns } from '../kinds/payment/interpret-report.ts';
import { eventKinds } from '../money/journal.ts';
import { paymentIdOf } from '../money/payment.ts';
import { identifyReturns, type KnownReturn } from '../money/returns.ts';
import type { Clock } from '../ports/clock.ts';
import { type Ids, idsOf } from '../ports/ids.ts';
import type { Sql } from '../ports/sql.ts';
import { staticIdentifierOf } from '../provider/br-code.ts';
import type { Moves, NamedReturn, StatementLine } from '../provider/provider.ts';
import { isOfEnvironment } from '../provider/provider.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import {
  type ConnectionMovement,
  findInSuspense,
  foundMovements,
} from '../store/rows/connection-movements.sql.ts';
import { findOtherCharge, type Incident, incidentKey, incidents } from '../store/rows/incidents.sql.ts';
import { knownReturns, knownReturnsKey } from '../store/rows/returns.sql.ts';
import { type Command, type Posting, put, read, type Till, type View } from '../store/till.ts';
import type { CellsOf } from './cells-of.ts';
import { keepMovements } from './connection-movements.ts';
import { applyWithinMs } from './send.ts';
import { bookCodePayments, type ReportedPix } from './static-codes.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/**
 * A Pix that matches no payment of ours: what it moved and what came back of it. Each part goes to suspense of the
 * installation once, whether a webhook, a list or a statement reports it.
 */
export interface Unmatched extends ReportedPix {
  /** The payment of our form that it names; absent or null: none. Its id names an account, though no payment of this id is here. */
  named?: string | null;
  /** Of the returns: 1, they came back to us; -1, they left. */
  sign: 1 | -1;
  /** It is under no id of our form: the company itself received or sent it. */
  isOwn: boolean;
}

const isOwn = (providerId: string | null): boolean =>
  providerId === null || (paymentIdOf(providerId) === null && staticIdentifierOf(providerId) === null);

/** @param now stands in for a settlement time that is not given, ms since 1970 */
export function unmatchedOf({ received, payouts }: Moves, now: number): Unmatched[] {
  return [
    ...received.map(
      (pix): Unmatched => ({
        named: pix.txid === null ? null : paymentIdOf(pix.txid),
        identifier: staticIdentifierOf(pix.txid),
        pix: pix.endToEnd,
        moved: { amountCents: pix.amountCents, at: pix.paidAt },
        returns: settledReturns(pix),
        sign: -1,
        isOwn: isOwn(pix.txid),
      }),
    ),
    ...payouts
      .filter(({ status }) => status === 'completed')
      .map(
        (payout): Unmatched => ({
          named: paymentIdOf(payout.providerId),
          pix: payout.endToEnd ?? payout.providerId,
          moved: { amountCents: -payout.amountCents, at: payout.settledAt ?? now },
          returns: settledReturns(payout),
          sign: 1,
          isOwn: isOwn(payout.providerId),
        }),
      ),
  ];
}

/** A line about a Pix that came under the identifier of a static code, in the form of ours. */
export const namesStaticCode = ({ kind, providerId }: StatementLine): boolean =>
  (kind === 'received' || kind === 'debited') && staticIdentifierOf(providerId) !== null;

/** A line of the statement. */
export function unmatchedLine(line: StatementLine): Unmatched {
  const { id, rtrId, kind, endToEnd, amountCents, at } = line;
  const named = line.providerId === null ? null : paymentIdOf(line.providerId);
  const identifier = namesStaticCode(line) ? staticIdentifierOf(line.providerId) : null;
  const isOwnLine = isOwn(line.providerId);
  const pix = endToEnd ?? id;
  if (kind === 'sent' || kind === 'received') {
    const moved = { amountCents: kind === 'sent' ? -amountCents : amountCents, at };
    return { named, identifier, pix, moved, returns: [], sign: 1, isOwn: isOwnLine };
  }
  // A line without names of its own stands under those of its Pix.
  const names = { id: id === rtrId || id === endToEnd ? null : id, rtrId };
  const sign = kind === 'returned' ? 1 : -1;
  const returns = [{ ...names, amountCents, at }];
  return { named, identifier, pix, moved: null, returns, sign, isOwn: isOwnLine };
}

export interface UnmatchedDeps {
  sql: Sql;
  cells: CellsOf<UnmatchedDeps>;
  till: Till;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** One part of it, and whether it was posted and has an incident. */
interface Part {
  reference: string;
  /** Positive: received. */
  amountCents: number;
  at: number;
  posted: boolean;
  opened: boolean;
  /** With which amount its incident was opened; absent: there is none, or it is not asked for. */
  bookedCents?: number | undefined;
}

/**
 * Books money that matches no payment that was asked for, the same way whatever reports it: a delivery, a list, the statement. What the company received or sent itself, and
 * what went back of it, becomes a movement of its connection, which needs no person; what is under an id of our form becomes suspense with an incident.
 * @param believed false: incidents alone, and nothing of the company's own
 */
export async function bookUnmatched(
  deps: TrackingDeps,
  connection: string,
  reported: readonly Unmatched[],
  believed: boolean,
): Promise<void> {
  const { left: all, contradicting } = await bookCodePayments(deps, connection, reported, believed);
  for (const one of contradicting) await postUnmatched(deps, connection, one, false);
  const own = all.filter((one) => one.isOwn && one.moved !== null);
  if (believed) await keepOwn(deps, connection, own);
  const others = all.flatMap((one) => {
    if (!own.includes(one)) return [one];
    return one.returns.length === 0 ? [] : [{ ...one, moved: null }];
  });
  await Promise.all(
    others.map(async (one) => {
      const isOwn = one.isOwn && !(await paidCharge(deps, connection, one));
      await postUnmatched(deps, connection, { ...one, isOwn }, believed);
    }),
  );
}

/** The provider names no charge of ours for the Pix, and the books do: that contradicts, and is a person's. */
async function paidCharge(
  deps: UnmatchedDeps,
  connection: string,
  { isOwn, pix, sign }: Unmatched,
): Promise<boolean> {
  if (!isOwn || sign === 1) return false;
  for (const { sql } of deps.cells.all())
    if ((await findOtherCharge(sql, pix, installationId, connection)) !== undefined) return true;
  return false;
}

/** But for what stands in suspense: it was taken for unmatched money before, and its incident is a person's. */
async function keepOwn(deps: UnmatchedDeps, connection: string, own: readonly Unmatched[]): Promise<void> {
  const { refer } = referencesAt(connection);
  const there = await findInSuspense(
    deps.sql,
    own.map(({ pix }) => refer(pix)),
  );
  const movements = own.flatMap(({ pix, moved }): ConnectionMovement[] => {
    if (moved === null || there.has(refer(pix))) return [];
    const { amountCents, at } = moved;
    const reference = `${amountCents > 0 ? 'received' : 'sent'}:${pix}`;
    return [{ kind: 'own', reference, amountCents, at, source: 'statement' }];
  });
  await keepMovements(deps, connection, movements);
}

/**
 * Posts the parts that are not posted yet and opens an incident for each part.
 * @param believed false: incidents alone
 */
export async function postUnmatched(
  deps: UnmatchedDeps,
  connection: string,
  unmatched: Unmatched,
  believed: boolean,
): Promise<void> {
  const deadlineMs = deps.clock.monotonicMs() + applyWithinMs;
  const command = buildUnmatched({ connection, unmatched, believed, token: deps.ids.uuid(), deadlineMs });
  for (const { id, kind, amountCents } of await deps.till.submit(command))
    deps.log.error({ incident: id, kind, amountCents }, 'incident opened');
}

export interface UnmatchedInput {
  /** Where it moved. */
  connection: string;
  unmatched: Unmatched;
  /** False: incidents alone. */
  believed: boolean;
  token: string;
  deadlineMs: number;
}

/**
 * Answers the incidents that were opened. Of a Pix of the company's own the returns are its own as well, unless the Pix stands in suspense from
 * before: then what went back of it does so too, and both are one person's. Pure.
 */
export function buildUnmatched(input: UnmatchedInput): Command<Incident[]> {
  const { connection, unmatched, believed, token, deadlineMs } = input;
  const { pix, returns } = unmatched;
  const { refer } = referencesAt(connection);
  const key = knownReturnsKey(accountId, refer(pix));
  const otherKey = unmatched.moved && incidentKey(accountId, otherReference(refer(pix), unmatched.moved));
  const references = [...new Set([pix, ...returns.flatMap((one) => referencesOf(pix, one))])];
  return {
    token,
    deadlineMs,
    chains: [chain],
    reads: [
      ...references.map((reference) => read(incidents, incidentOfReference(refer(reference)))),
      ...(otherKey === null ? [] : [read(incidents, otherKey)]),
      read(knownReturns, key),
    ],
    eventRefs: references.map((reference) => suspenseOf(refer(reference))),
    decide: (view, now) => {
      const known = view.get(knownReturns, key)?.returns ?? [];
      const { parts, reported } = partsOf(viewAt(view, refer), unmatched, known);
      const ids = idsOf(token);
      const fresh = parts.filter(({ posted }) => !posted);
      const isOwn = believed && unmatched.isOwn && !view.posted(suspenseOf(refer(pix)));
      const opened = parts
        .filter((part) => !part.opened && !isOwn)
        .map((part) => incidentOf(ids, { ...part, reference: refer(part.reference) }, input, now));
      const different =
        believed && otherKey !== null && view.get(incidents, otherKey) === undefined
          ? parts
              .filter((part) => part.reference === pix && isDifferent(part))
              .map((part) => differentOf(ids, part, refer(pix), connection, now))
          : [];
      const after = reported.map((one) => ({ ...one, posted: one.posted || believed }));
      const row = { accountId, payment: refer(pix), returns: merged(known, after) };
      return {
        answer: [...opened, ...different],
        postings:
          believed && !isOwn ? fresh.map((part) => suspended(part, refer(part.reference), connection)) : [],
        writes: [
          ...(isOwn ? fresh.map((part) => put(foundMovements, ownReturn(part, connection, now))) : []),
          ...[...opened, ...different].map((incident) => put(incidents, incident)),
          ...(reported.length > 0 ? [put(knownReturns, row)] : []),
        ],
      };
    },
  };
}

const accountId = installationId;
const chain = { accountId, chainId: accountId };

/**
 * A transfer between two connections of ours has one end-to-end id on both sides, so references name the connection, but for those of the
 * environment: they were the only ones when the first references were written.
 */
export function referencesAt(connection: string): { refer(name: string): string } {
  const before = isOfEnvironment(connection) ? '' : `${connection}:`;
  return { refer: (name) => before + name };
}

/** Before the name of a return in the reference of its movement. */
const ownBack = 'back:';

/** Under which references a line of the statement may be a movement of its connection. */
export const ownReferencesOf = ({ kind, endToEnd, id, rtrId }: StatementLine): string[] =>
  kind === 'sent' || kind === 'received'
    ? [`${kind}:${endToEnd ?? id}`]
    : [...(rtrId === null ? [] : [ownBack + rtrId]), `${ownBack}${endToEnd ?? id}/${id}`];

/** The Pix, return or payment that a reference names, whatever the connection. */
export const pixOf = (reference: string): string => reference.slice(reference.indexOf(':') + 1);

/** The records under the names of one connection. */
interface Records {
  posted(reference: string): boolean;
  incident(reference: string): Incident | undefined;
}

const viewAt = (view: View, refer: (name: string) => string): Records => ({
  posted: (reference) => view.posted(suspenseOf(refer(reference))),
  incident: (reference) => view.get(incidents, incidentOfReference(refer(reference))),
});

function partsOf(
  view: Records,
  { pix, moved, returns, sign }: Unmatched,
  known: readonly KnownReturn[],
): { parts: Part[]; reported: KnownReturn[] } {
  const earlier = [...known, ...returns.flatMap((line) => postedEarlier(line, known, view))];
  const reported = withoutRepeats(identifyReturns({ pix, name: pix }, returns, earlier));
  const ofReturns = reported.map((one): Part => {
    const isKnown = earlier.some(({ reference }) => reference === one.reference);
    const record = isKnown ? { posted: one.posted, opened: true } : onRecord(one.reference, view);
    return { ...one, amountCents: sign * one.amountCents, ...record };
  });
  const ofPix: Part[] = moved ? [{ ...moved, reference: pix, ...onRecord(pix, view) }] : [];
  const parts = [...ofPix, ...ofReturns].filter(({ amountCents }) => amountCents !== 0);
  return { parts, reported };
}

const suspended = ({ amountCents, at }: Part, reference: string, connection: string): Posting => ({
  chain,
  connection,
  ...suspenseOf(reference),
  movement: { kind: 'bookToSuspense', amountCents },
  effectiveAt: at,
});

const ownReturn = ({ reference, amountCents, at }: Part, connection: string, foundAt: number) => ({
  ...{ connection, kind: 'own' as const, reference: `${ownBack}${reference}`, amountCents, at, foundAt },
  source: 'statement' as const,
});

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
function postedEarlier(line: NamedReturn, known: readonly KnownReturn[], view: Records): KnownReturn[] {
  return [line.rtrId, line.id].flatMap((name) => {
    if (name === null || known.some(({ reference }) => reference === name)) return [];
    const incident = view.incident(name);
    if (incident?.amountCents !== line.amountCents) return [];
    return [{ ...line, pix: null, reference: name, posted: view.posted(name) }];
  });
}

/** Under which references it may be on record: its own, and either name by itself from before returns were stored. */
const referencesOf = (pix: string, { id, rtrId }: NamedReturn): string[] => [
  ...[id, rtrId].filter((name) => name !== null),
  `${pix}/${id}`,
];

const onRecord = (reference: string, view: Records): Pick<Part, 'posted' | 'opened' | 'bookedCents'> => ({
  posted: view.posted(reference),
  opened: view.incident(reference) !== undefined,
  bookedCents: view.incident(reference)?.amountCents,
});

/** It stands in suspense, and the provider says another amount. */
const isDifferent = ({ posted, bookedCents, amountCents }: Part): boolean =>
  posted && bookedCents !== undefined && bookedCents !== Math.abs(amountCents);

const otherReference = (name: string, { amountCents }: { amountCents: number }): string =>
  `amount:${name}:${Math.abs(amountCents)}`;

/** Nothing of it is posted: a person looks where the difference is. */
const differentOf = (
  ids: Pick<Ids, 'uuid'>,
  { amountCents, bookedCents }: Part,
  name: string,
  connection: string,
  now: number,
): Incident => ({
  ...{ accountId, id: ids.uuid(), kind: 'movement_mismatch', paymentId: null, operationId: null },
  ...{ amountCents: Math.abs(amountCents), reference: otherReference(name, { amountCents }), freezes: false },
  detail: { connection, movement: 'unmatched', pix: name, reportedCents: Math.abs(amountCents), bookedCents },
  openedAt: now,
});

const incidentOfReference = (reference: string): string =>
  incidentKey(installationId, `unmatched:${reference}`);

const merged = (known: readonly KnownReturn[], now: readonly KnownReturn[]): KnownReturn[] => [
  ...known.filter((one) => !now.some(({ reference }) => reference === one.reference)),
  ...now,
];

const incidentOf = (
  ids: Pick<Ids, 'uuid'>,
  { reference, amountCents }: Part,
  { connection, believed, unmatched: { pix, named } }: UnmatchedInput,
  now: number,
): Incident => ({
  accountId,
  id: ids.uuid(),
  kind: 'unmatched',
  paymentId: null,
  operationId: null,
  amountCents: Math.abs(amountCents),
  reference: `unmatched:${reference}`,
  freezes: false,
  detail: { believed, connection, pix, ...(named ? { named } : {}) },
  openedAt: now,
});
