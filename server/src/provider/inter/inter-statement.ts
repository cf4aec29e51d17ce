import type { Clock } from '../../ports/clock.ts';
import { arrayIn } from '../bacen.ts';
import { type Exchange, readList } from '../exchange.ts';
import type { ListOutcome, ListWindow, ProviderCost, StatementLine, Unclear } from '../provider.ts';
import { type Debit, dayAt, readCost, readDebit, statementPaging } from './inter-bodies.ts';

/**
 * Inter's enriched statement (`GET /banking/v2/extrato/completo`): what it charges, and the Pix that left the account. It takes days, so the first and the
 * last one are read whole, and at most 90 of them.
 */
interface Deps {
  exchange: Exchange;
  clock: Clock;
}

const pageSize = 1_000;
const maxPages = 10;
const longestMs = 89 * 86_400_000;

interface Lines<Report> {
  kind: 'cost' | 'sent';
  only: string;
  read: (line: unknown) => Report | 'foreign' | null;
  maxPages?: number;
}

const listLines = <Report>(
  { exchange, clock }: Deps,
  { fromMs, toMs, wholeOnly }: ListWindow,
  lines: Lines<Report>,
): Promise<ListOutcome<Report>> =>
  readList(exchange, clock, {
    kind: lines.kind,
    path: ({ page }) =>
      `/banking/v2/extrato/completo?dataInicio=${dayAt(fromMs)}&dataFim=${dayAt(toMs)}&${lines.only}&pagina=${page}&tamanhoPagina=${pageSize}`,
    items: (body) => arrayIn(body, 'transacoes'),
    read: lines.read,
    paging: statementPaging,
    pageSize,
    maxPages: lines.maxPages ?? maxPages,
    wholeOnly,
  });

export const listCosts = (deps: Deps, window: ListWindow): Promise<ListOutcome<ProviderCost>> =>
  listLines(deps, window, { kind: 'cost', only: 'tipoTransacao=TARIFA', read: readCost });

const debits = { kind: 'sent', only: 'tipoTransacao=PIX&tipoOperacao=D', read: readDebit } as const;

/** The Pix that left the account. One whose description does not end in an id of ours may be ours all the same (`flow/nameless-payouts.ts`). */
export async function listSentLines(deps: Deps, window: ListWindow): Promise<ListOutcome<StatementLine>> {
  const listed = await listLines(deps, window, debits);
  return listed.outcome === 'listed' ? { ...listed, reports: listed.reports.map(lineOf) } : listed;
}

const lineOf = ({ id, at, amountCents, endToEnd, providerId, providerRef }: Debit): StatementLine => ({
  ...{ id: endToEnd ?? id, rtrId: null, at, kind: 'sent', amountCents, endToEnd, providerId, providerRef },
});

/** The names of a payout in a line; null: not known. */
export type NamesOfPayout = Pick<Debit, 'providerId' | 'providerRef' | 'endToEnd'>;

/** Pages of one look: it is a part of a send or a query, whose time is limited. */
const lookedAtMost = 2;

/**
 * The line by which a payout left the account.
 * @param sinceMs when it was asked for
 * @returns null: the statement was read whole, and has none; Unclear: it says nothing
 */
export async function findDebit(
  deps: Deps,
  names: NamesOfPayout,
  sinceMs: number,
): Promise<Debit | Unclear | null> {
  const toMs = deps.clock.now();
  const listed = await listLines(
    deps,
    { fromMs: Math.max(sinceMs, toMs - longestMs), toMs },
    { ...debits, maxPages: lookedAtMost },
  );
  if (listed.outcome !== 'listed') return listed;
  const found = listed.reports.find((debit) =>
    (['providerId', 'providerRef', 'endToEnd'] as const).some(
      (name) => names[name] !== null && names[name] === debit[name],
    ),
  );
  if (found) return found;
  if (listed.complete && listed.unread.length === 0 && toMs - sinceMs <= longestMs) return null;
  return {
    outcome: 'unclear',
    cause: 'unreadable',
    detail: 'the statement was not read whole',
    retryAfterMs: null,
  };
}
