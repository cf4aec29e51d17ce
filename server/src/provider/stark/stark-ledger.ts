import type { Clock } from '../../ports/clock.ts';
import { type Exchange, isSuccess, type Listing, readList, unclear } from '../exchange.ts';
import type {
  ListOutcome,
  ListWindow,
  PayoutReport,
  ProviderCost,
  ReceivedPix,
  StatementLine,
  Unclear,
  UnreadKind,
} from '../provider.ts';
import { unreadItem } from '../unread.ts';
import {
  costOf,
  type Deposit,
  itemsOf,
  type LedgerEntry,
  pagingOf,
  readDeposit,
  readEntry,
  readTransfer,
  reasonOf,
  receivedOf,
  recordOf,
  type Transfer,
  withEntries,
} from './stark-bodies.ts';

/** Stark's lists, and its ledger (`/transaction`), whose entries never change: the proof of what came back and of what a failure took. */

export interface StarkDeps {
  exchange: Exchange;
  clock: Clock;
  pages: { size: number; most: number };
}

const dayMs = 86_400_000;
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/**
 * Lists take days, and nothing says whether those of UTC or of São Paulo, nor whether both ends are in it: so a day more at each end is read, and what
 * lies outside of the window is left out.
 */
const days = ({ fromMs, toMs }: ListWindow): string =>
  `after=${dayOf(fromMs - dayMs)}&before=${dayOf(toMs + dayMs)}`;

/** Pages follow by a cursor, which the page before names. */
export function listOf<Report>(
  { exchange, clock, pages }: StarkDeps,
  list: { kind: UnreadKind; path: string; name: string; read: Listing<Report>['read']; wholeOnly?: boolean },
): Promise<ListOutcome<Report>> {
  let cursor = '';
  return readList(exchange, clock, {
    kind: list.kind,
    path: () =>
      `${list.path}&limit=${pages.size}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    items: itemsOf(list.name),
    read: list.read,
    paging: (body) => {
      cursor = String(recordOf(body)?.cursor ?? '');
      return pagingOf(body);
    },
    pageSize: pages.size,
    maxPages: pages.most,
    wholeOnly: list.wholeOnly,
  });
}

/** Of what a list gives, what was created in the window. */
export const listWindow = <Report>(
  deps: StarkDeps,
  window: ListWindow,
  list: { kind: UnreadKind; path: string; name: string; read: Listing<Report>['read'] },
  at: (report: Report) => number,
): Promise<ListOutcome<Report>> =>
  listOf(deps, {
    ...list,
    path: `${list.path}?${days(window)}`,
    read: (item) => {
      const report = list.read(item);
      if (report === null || report === 'foreign') return report;
      return at(report) < window.fromMs || at(report) > window.toMs ? 'foreign' : report;
    },
    wholeOnly: window.wholeOnly ?? false,
  });

const asked = <Item>(ids: readonly Item[], most: number): Item[][] =>
  Array.from({ length: Math.ceil(ids.length / most) }, (_, at) => ids.slice(at * most, (at + 1) * most));

/** Items by their ids, so many a call. Unclear: a call was not answered. */
async function byIds(
  { exchange, clock }: StarkDeps,
  path: string,
  name: string,
  ids: readonly string[],
  most = 100,
): Promise<unknown[] | Unclear> {
  const found: unknown[] = [];
  for (const some of asked([...new Set(ids)], most)) {
    const reply = await exchange({ method: 'GET', path: `${path}=${some.join(',')}&limit=100` });
    const items = reply.kind === 'answer' && isSuccess(reply.status) ? itemsOf(name)(reply.body) : null;
    if (items === null) return unclear(reply, clock);
    found.push(...items);
  }
  return found;
}

async function entriesOf(
  deps: StarkDeps,
  ids: readonly string[],
): Promise<Map<string, LedgerEntry> | Unclear> {
  const items = await byIds(deps, '/v2/transaction?ids', 'transactions', ids);
  if (!Array.isArray(items)) return items;
  return new Map(items.flatMap((item) => readEntry(item) ?? []).map((entry) => [entry.id, entry]));
}

/** The entries of one thing; null: one of them is not there, or cannot be read. */
const those = (
  entries: ReadonlyMap<string, LedgerEntry>,
  ids: readonly string[],
): readonly LedgerEntry[] | null => {
  const found = ids.flatMap((id) => entries.get(id) ?? []);
  return found.length === ids.length ? found : null;
};

/** Transfers with what the ledger and their logs say of them; null in the place of one whose entries contradict it. */
export async function wholePayouts(
  deps: StarkDeps,
  transfers: readonly Transfer[],
): Promise<(PayoutReport | null)[] | Unclear> {
  const looked = transfers.filter(({ needsLedger }) => needsLedger);
  const entries = await entriesOf(
    deps,
    looked.flatMap(({ ledgerIds }) => ledgerIds),
  );
  if (!(entries instanceof Map)) return entries;
  const whole = transfers.map((transfer) => {
    if (!transfer.needsLedger) return transfer.report;
    const own = those(entries, transfer.ledgerIds);
    return own && withEntries(transfer, own);
  });
  const refused = transfers.filter((_, at) => whole[at]?.status === 'refused').map(({ id }) => id);
  // A transfer has few logs: those of twenty-five stand on one page.
  const logs = await byIds(deps, '/v2/transfer/log?transferIds', 'logs', refused, 25);
  if (!Array.isArray(logs)) return logs;
  return whole.map((report, at) => {
    if (report?.status !== 'refused') return report;
    const own = logs.filter((log) => recordOf(recordOf(log)?.transfer)?.id === transfers[at]?.id);
    return { ...report, reason: reasonOf(own) };
  });
}

/** Deposits with what was reversed; null in the place of one whose entries contradict it. */
export async function wholeDeposits(
  deps: StarkDeps,
  deposits: readonly Deposit[],
): Promise<(ReceivedPix | null)[] | Unclear> {
  const reversed = deposits.filter(({ ledgerIds }) => ledgerIds.length > 1);
  const entries = await entriesOf(
    deps,
    reversed.flatMap(({ ledgerIds }) => ledgerIds),
  );
  if (!(entries instanceof Map)) return entries;
  return deposits.map((deposit) => {
    const { id: _, ledgerIds, ...pix } = deposit;
    if (ledgerIds.length === 1) return { ...pix, returns: [] };
    const own = those(entries, ledgerIds);
    return own && receivedOf(deposit, own);
  });
}

const listEntries = (deps: StarkDeps, window: ListWindow, kind: UnreadKind) =>
  listWindow(
    deps,
    window,
    { kind, path: '/v2/transaction', name: 'transactions', read: readEntry },
    ({ at }) => at,
  );

/** The fee stands with each entry of the ledger. */
export async function listCosts(deps: StarkDeps, window: ListWindow): Promise<ListOutcome<ProviderCost>> {
  const listed = await listEntries(deps, window, 'cost');
  if (listed.outcome !== 'listed') return listed;
  const reports = listed.reports.map(costOf).filter((cost) => cost !== 'foreign');
  return { ...listed, reports };
}

/** The transfer or deposit of an entry, by its `source`. */
function sourceOf({ source }: LedgerEntry): { of: 'transfer' | 'deposit'; id: string } | null {
  const [, of, id] = /^(transfer|deposit)\/(\d+)(?:\/|$)/.exec(source) ?? [];
  return id === undefined ? null : { of: of as 'transfer' | 'deposit', id };
}

/**
 * The ledger as lines. An entry names a transfer or a deposit by Stark's id, so these are asked for, a hundred a call. A failed transfer of ours took and gave
 * back its amount: neither is a line. Everything else is the company's own money.
 */
export async function listLines(deps: StarkDeps, window: ListWindow): Promise<ListOutcome<StatementLine>> {
  const listed = await listEntries(deps, window, 'sent');
  if (listed.outcome !== 'listed' || (!listed.complete && window.wholeOnly)) return listed as never;
  const idsOf = (wanted: string) =>
    listed.reports.flatMap((entry) => {
      const source = sourceOf(entry);
      return source?.of === wanted ? [source.id] : [];
    });
  const transfers = await byIds(deps, '/v2/transfer?ids', 'transfers', idsOf('transfer'));
  if (!Array.isArray(transfers)) return transfers;
  const deposits = await byIds(deps, '/v2/deposit?ids', 'deposits', idsOf('deposit'));
  if (!Array.isArray(deposits)) return deposits;
  const byId = (items: readonly unknown[]) =>
    new Map(items.map((item) => [String(recordOf(item)?.id), item] as const));
  const known = { transfer: byId(transfers), deposit: byId(deposits) };
  const lines = listed.reports.map((entry) => {
    const source = sourceOf(entry);
    if (source === null) return ownLine(entry);
    const item = known[source.of].get(source.id);
    return source.of === 'transfer' ? lineOfTransfer(entry, item) : lineOfDeposit(entry, item);
  });
  const unread = lines.flatMap((line, at) => {
    const source = line === null ? sourceOf(listed.reports[at] as LedgerEntry) : null;
    const item = source && known[source.of].get(source.id);
    return source === null ? [] : [unreadItem('sent', item ?? listed.reports[at])];
  });
  const reports = lines.flatMap((line) => line ?? []);
  return { ...listed, reports, unread: [...listed.unread, ...unread] };
}

const ownLine = ({ id, at, amountCents }: LedgerEntry): StatementLine[] =>
  amountCents === 0
    ? []
    : [
        {
          ...{ id, rtrId: null, at, kind: amountCents > 0 ? 'received' : 'sent' },
          ...{ amountCents: Math.abs(amountCents), endToEnd: null, providerId: null },
        },
      ];

/** Null: it cannot be read. */
function lineOfTransfer(entry: LedgerEntry, item: unknown): StatementLine[] | null {
  const transfer = readTransfer(item);
  if (transfer === null) return null;
  if (transfer === 'foreign') return ownLine(entry);
  const { status, providerId, endToEnd } = transfer.report;
  if (status !== 'completed') return [];
  const kind = entry.amountCents < 0 ? 'sent' : 'returned';
  return ownLine(entry).map((line) => ({ ...line, kind, endToEnd, providerId }));
}

function lineOfDeposit(entry: LedgerEntry, item: unknown): StatementLine[] | null {
  const deposit = readDeposit(item);
  if (deposit === null) return null;
  if (deposit === 'foreign') return ownLine(entry);
  const { endToEnd, txid } = deposit;
  const isBack = entry.amountCents < 0;
  return ownLine(entry).map((line) => ({
    ...line,
    ...(isBack ? { kind: 'debited' as const } : { kind: 'received' as const, id: endToEnd }),
    ...{ endToEnd, providerId: txid },
  }));
}
