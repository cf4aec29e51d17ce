import { byCell, findOwnersInCells } from '../../flow/in-cells.ts';
import { waitForQuery } from '../../flow/query.ts';
import { paymentsOfCodes } from '../../flow/static-codes.ts';
import type { TrackingDeps } from '../../flow/tracking-deps.ts';
import { ownReferencesOf } from '../../flow/unmatched.ts';
import { findUnknown } from '../../jobs/statement.sql.ts';
import { paymentIdOf } from '../../money/payment.ts';
import type { Provider, StatementLine } from '../../provider/provider.ts';
import { findBooked } from '../../store/rows/connection-movements.sql.ts';
import { accountNumberOf } from '../../store/rows/idempotency.ts';
import { findOpenLines } from '../../store/rows/statement-lines.sql.ts';
import type { Candidate } from './close-connection.ts';
import { findInTransit, findJournalsOf } from './connection-closes.sql.ts';
import { startsAt } from './day.ts';

const shownMost = 20;
/** Without an exact match only some of each kind are shown. */
const ofKindMost = 10;

/**
 * Candidates for a difference: lines of the provider that the books lack, lines that could not be answered, journals of just this amount,
 * and what is under way. Those of the difference's own amount come first.
 */
export async function findCandidates(
  deps: TrackingDeps,
  provider: Provider,
  day: string,
  differenceCents: number,
): Promise<Candidate[]> {
  const amountCents = Math.abs(differenceCents);
  const [lines, journals, open, unanswered] = await Promise.all([
    linesWeLack(deps, provider, day),
    inEvery(deps, ({ sql }) => findJournalsOf(sql, day, amountCents)),
    inEvery(deps, ({ sql }) => findInTransit(sql, provider.connection)),
    findOpenLines(deps.sql),
  ]);
  const all: Candidate[] = [
    ...lines.map((line) => ofLine('provider_line', line)),
    ...unanswered
      .filter(({ connection }) => connection === provider.connection)
      .map((line) => ofLine('line_without_answer', line)),
    ...journals.map((one): Candidate => {
      const detail = `${one.template} ${one.reference}`.trim();
      return { what: 'journal', id: one.subject, amountCents: one.cents, at: iso(one.at), detail };
    }),
    ...open.map(({ id, cents, taken }): Candidate => {
      const detail = taken ? 'the provider has it' : 'not known at the provider yet';
      return { what: 'in_transit', id, amountCents: -cents, at: null, detail };
    }),
  ];
  const exact = all.filter((one) => Math.abs(one.amountCents) === amountCents);
  const others = [...Map.groupBy(all, ({ what }) => what).values()].flatMap((some) =>
    some.filter((one) => !exact.includes(one)).slice(0, ofKindMost),
  );
  return [...exact, ...others].slice(0, shownMost);
}

const inEvery = async <Row>(
  deps: TrackingDeps,
  find: (cell: TrackingDeps) => Promise<Row[]>,
): Promise<Row[]> => (await Promise.all(deps.cells.all().map(find))).flat();

const iso = (ms: number): string => new Date(ms).toISOString();

function ofLine(
  what: 'provider_line' | 'line_without_answer',
  line: { id: string; kind: string; amountCents: number | null; at: number; endToEnd: string | null },
): Candidate {
  const sign = line.kind === 'sent' || line.kind === 'debited' ? -1 : 1;
  const detail = line.endToEnd === null ? line.kind : `${line.kind} ${line.endToEnd}`;
  return { what, id: line.id, amountCents: sign * (line.amountCents ?? 0), at: iso(line.at), detail };
}

/** Of the provider's list since the day began: what names no payment of ours, and what the books do not have. */
async function linesWeLack(deps: TrackingDeps, provider: Provider, day: string): Promise<StatementLine[]> {
  if (!provider.capabilities.statement.lists) return [];
  const slot = await waitForQuery(deps, provider);
  if (!slot) return [];
  const { connection } = provider;
  const window = { fromMs: startsAt(day), toMs: deps.clock.now() };
  const outcome = await provider.statement(window).finally(() => slot.free());
  if (outcome.outcome !== 'listed') return [];
  const named = outcome.reports.flatMap((line) => {
    const id = line.providerId === null ? null : paymentIdOf(line.providerId);
    return id === null ? [] : [{ ...line, paymentId: id, accountNumber: accountNumberOf(id) }];
  });
  const ids = named.map(({ paymentId: id, accountNumber }) => ({ id, accountNumber }));
  const owned = (await findOwnersInCells(deps, connection, ids)).flatMap(({ owners }) => owners);
  const ours = new Set(owned.map(({ id }) => id));
  const unknown = await Promise.all(
    (await byCell(deps, named)).map((cell) => findUnknown(cell.deps.sql, connection, cell.items)),
  );
  const lacking = new Set(unknown.flat().map(lineKey));
  const booked = await findBooked(deps.sql, connection, outcome.reports.flatMap(ownReferencesOf));
  const paidCodes = await paymentsOfCodes(deps, connection, outcome.reports);
  return outcome.reports.filter((line) => {
    const id = line.providerId === null ? null : paymentIdOf(line.providerId);
    if (ownReferencesOf(line).some((reference) => booked.has(reference))) return false;
    if (line.kind === 'received' && line.endToEnd !== null && paidCodes.has(line.endToEnd)) return false;
    return id === null || !ours.has(id) || lacking.has(lineKey(line));
  });
}

const lineKey = ({ kind, id, endToEnd }: Pick<StatementLine, 'kind' | 'id' | 'endToEnd'>): string =>
  [kind, id, endToEnd].join(' ');
