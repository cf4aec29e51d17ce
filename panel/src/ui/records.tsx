import { Button, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { ask, type ListedRecord, type RecordsPage, type RecordView } from '../api/client.ts';
import { amountOf, dateTime, endOfDay, money, shortDateTime, startOfDay } from '../format.ts';
import { queries } from '../queries.ts';
import { overviewQuery, useOverview, useScope, type View } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { CardMark } from './card.tsx';
import { Choice } from './choice.tsx';
import { DueMark } from './due.tsx';
import { Icon } from './icons.tsx';
import { Listed, ListFoot } from './listed.tsx';
import { movedCents, partyOf } from './names.tsx';
import { endedWithoutMoney, Status } from './parts.tsx';
import { daysOf, PeriodField, type PeriodSearch } from './period.tsx';
import { feeCentsOf, hasMoved, netCentsOf, RecordSums } from './record-sums.tsx';
import { Marks } from './story.tsx';

export interface Filters extends PeriodSearch {
  q?: string;
  status?: string;
  /** `pagamento`: order and period go by the date on which the money moved. */
  por?: string;
  /** `antigas`, `maiores`, `menores`; the newest first without it. */
  ordem?: string;
}

/** The last query of a list, so that the way back from a payment leads to it. */
const lastFilters: { [Kind in 'deposit' | 'transfer']?: Filters } = {};
export const lastFiltersOf = (kind: 'deposit' | 'transfer'): Filters => lastFilters[kind] ?? {};

type State = RecordView['status'];
type Kind = 'deposit' | 'transfer';

/** Turns of payments that a list is filtered by, beside the states. */
const filterMarks = ['refunded', 'disputed', 'odd', 'returned'] as const;
type FilterMark = (typeof filterMarks)[number];
const marksOfKind: Record<'deposit' | 'transfer', readonly FilterMark[]> = {
  deposit: ['refunded', 'disputed', 'odd'],
  transfer: ['returned'],
};
const byPaid = 'pagamento';
/** In the address, and as it is asked for. */
const orders = { antigas: 'oldest', maiores: 'largest', menores: 'smallest' } as const;
type Order = (typeof orders)[keyof typeof orders];
const orderOf = ({ ordem }: Filters): Order | undefined => orders[ordem as keyof typeof orders];
const isAmount = (order: Order | undefined): order is 'largest' | 'smallest' =>
  order === 'largest' || order === 'smallest';

const isMark = (value: string): value is FilterMark => filterMarks.some((one) => one === value);

/** The query of the list. */
function filterOf({ operationId }: View, kind: Kind | null, filters: Filters) {
  const cents = amountOf(filters.q ?? '');
  const days = daysOf(filters, null);
  const order = orderOf(filters);
  return {
    ...(kind && { kind }),
    ...(operationId && { operationId }),
    ...(cents !== null ? { minimumCents: cents, maximumCents: cents } : filters.q && { search: filters.q }),
    ...(filters.status &&
      (isMark(filters.status) ? { mark: filters.status } : { status: [filters.status as State] })),
    ...(days.de && { from: startOfDay(days.de) }),
    ...(days.ate && { to: endOfDay(days.ate) }),
    ...(filters.por === byPaid && { by: 'paid' as const }),
    ...(order && { order }),
  };
}

/** Of its file and of its sums, which are about all that match: an order by amount is one of the payments that are looked through for it. */
const wholeOf = ({ order, ...query }: ReturnType<typeof filterOf>) => ({
  ...query,
  ...(order === 'oldest' && { order }),
});

const askForPage = (
  { api }: View,
  query: ReturnType<typeof filterOf>,
  limit: number,
  cursor: string | null,
): Promise<RecordsPage> =>
  ask(() =>
    api.GET('/records', {
      params: { query: { ...query, limit, ...(cursor && { cursor }) } },
      querySerializer: { array: { style: 'form', explode: false } },
    }),
  );

/** @param kind null: charges and transfers */
export function recordsQuery(view: View, kind: Kind | null, filters: Filters) {
  const query = filterOf(view, kind, filters);
  return infiniteQueryOptions({
    queryKey: [view.account.id, 'records', query],
    queryFn: ({ pageParam }) => askForPage(view, query, 30, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
}

/** The query of a list of charges or transfers. */
export const readRecords = (view: View, kind: 'deposit' | 'transfer', filters: Filters): Promise<unknown> =>
  Promise.all([
    queries.prefetchQuery(overviewQuery(view, true)),
    queries.prefetchInfiniteQuery(recordsQuery(view, kind, filters)),
  ]);

/** The charges or transfers of the account: filters, pages, export. What is asked for stands in the address. */
export function RecordList({
  kind,
  filters,
  onFilters,
  statuses,
  searchHint,
  empty,
  noMatch,
}: {
  kind: 'deposit' | 'transfer';
  filters: Filters;
  onFilters: (filters: Filters) => void;
  statuses: readonly State[];
  searchHint: string;
  empty: ReactNode;
  noMatch: string;
}) {
  const words = useWords();
  const scope = useScope();
  const { operationId } = scope;
  const [open, setOpen] = useState(false);
  useEffect(() => {
    lastFilters[kind] = filters;
  }, [kind, filters]);
  const query = filterOf(scope, kind, filters);
  const pages = useInfiniteQuery(recordsQuery(scope, kind, filters));
  const searchedTo = pages.data?.pages.at(-1)?.searchedTo ?? null;
  const records = pages.data?.pages.flatMap((page) => page.records) ?? [];
  const order = orderOf(filters);
  const ofPaid = filters.por === byPaid;
  const folded = [filters.status, filters.por, filters.periodo ?? filters.de ?? filters.ate].filter(
    Boolean,
  ).length;
  const filtered = Boolean(filters.q) || folded > 0;
  const names = new Map(useOverview(true).data?.operations.map((one) => [one.id, one.name]));

  return (
    <section className="card">
      <form className={`filters ${open ? '' : 'folded'}`} onSubmit={(event) => event.preventDefault()}>
        <Search key={filters.q ? 'some' : 'none'} filters={filters} onFilters={onFilters} hint={searchHint} />
        <Button className="wide unfold" variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? words.common.fewerFilters : words.common.filters}
          {folded > 0 && ` (${folded})`}
        </Button>
        <Choice
          label={words.common.status}
          data={[
            { value: '', label: words.common.all },
            ...statuses
              .filter((status) => !ofPaid || hasMoved({ status }))
              .map((value) => ({
                value,
                label: words.status[value === 'pending' && kind === 'transfer' ? 'processing' : value],
              })),
            ...marksOfKind[kind].map((value) => ({ value, label: words.story.marks[value] })),
          ]}
          value={filters.status ?? ''}
          onChoice={(value) => onFilters({ ...filters, ...without(value, 'status') })}
          className="wide"
          miw={150}
        />
        <Choice
          label={words.common.date}
          data={[
            { value: '', label: words.common.dates.created },
            { value: byPaid, label: words.common.dates.paid },
          ]}
          value={ofPaid ? byPaid : ''}
          onChoice={(value) => onFilters({ ...onlyMoved(filters, value), ...without(value, 'por') })}
          className="wide"
          miw={130}
        />
        <PeriodField
          search={filters}
          fallback={null}
          onSearch={({ periodo, de, ate }) => onFilters(present({ ...filters, periodo, de, ate }))}
        />
        <Choice
          label={words.common.order}
          data={[
            { value: '', label: words.common.newestFirst },
            { value: 'antigas', label: words.common.oldestFirst },
            { value: 'maiores', label: words.common.largestFirst },
            { value: 'menores', label: words.common.smallestFirst },
          ]}
          value={order ? (filters.ordem ?? '') : ''}
          onChoice={(value) => onFilters({ ...filters, ...without(value, 'ordem') })}
          className="wide"
          miw={150}
        />
        {filtered && (
          <Button className="wide" variant="subtle" onClick={() => onFilters({})}>
            {words.common.clear}
          </Button>
        )}
      </form>
      <Listed
        pages={pages}
        count={records.length + (searchedTo === null ? 0 : 1)}
        noMatch={filtered ? noMatch : null}
        empty={empty}
      >
        {records.length > 0 ? (
          <RecordTable
            records={records}
            kind={kind}
            names={operationId === null && names.size > 1 ? names : null}
            sorted={{
              by: isAmount(order) ? 'amount' : ofPaid ? 'paid' : 'created',
              direction: order === 'oldest' || order === 'smallest' ? 'ascending' : 'descending',
            }}
          />
        ) : (
          searchedTo && (
            <p className="soft">
              {(order === 'oldest' ? words.common.searchedFrom : words.common.searchedTo)(
                dateTime(searchedTo),
              )}
            </p>
          )
        )}
        {records.length > 0 && isAmount(order) && searchedTo && (
          <p className="soft">{words.common.amountsSince(dateTime(searchedTo))}</p>
        )}
        <ListFoot
          file="records.csv"
          filters={wholeOf(query)}
          pages={pages}
          {...(searchedTo &&
            !isAmount(order) && {
              more: (order === 'oldest' ? words.common.searchAfter : words.common.searchOn)(
                dateTime(searchedTo),
              ),
            })}
        >
          {records.length > 0 && (
            <RecordSums
              key={JSON.stringify(query)}
              records={records}
              more={pages.hasNextPage}
              pageAt={(cursor) => askForPage(scope, wholeOf(query), 100, cursor)}
            />
          )}
        </ListFoot>
      </Listed>
    </section>
  );
}

/** A payment that moved no money has no date of payment, so its state is not looked for by it. */
function onlyMoved(filters: Filters, by: string | null): Filters {
  const { status, ...others } = filters;
  const isLeft = !status || isMark(status) || hasMoved({ status: status as State });
  return by === byPaid && !isLeft ? others : filters;
}

/** Without the names that have no value. */
const present = (filters: { [Name in keyof Filters]: Filters[Name] | undefined }): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value));

/** An empty value leaves the address. */
const without = (value: string | null, name: keyof Filters): Filters => ({
  [name]: value ? value : undefined,
});

function Search({
  filters,
  onFilters,
  hint,
}: {
  filters: Filters;
  onFilters: (filters: Filters) => void;
  hint: string;
}) {
  const words = useWords();
  const [text, setText] = useState(filters.q ?? '');
  const later = useDebouncedCallback(
    (value: string) => onFilters({ ...filters, ...without(value.trim(), 'q') }),
    350,
  );
  return (
    <TextInput
      className="grow"
      type="search"
      label={words.common.search}
      placeholder={hint}
      leftSection={<Icon name="search" size={18} />}
      value={text}
      maxLength={100}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
    />
  );
}

/** When its money moved: of a card payment, when its acquirer approved it. */
const movedAt = (record: ListedRecord): string | null =>
  hasMoved(record) ? (record.card && record.paidAt) || record.settledAt : null;

export function RecordTable({
  records,
  kind,
  names,
  sorted,
}: {
  records: ListedRecord[];
  /** Null: both. */
  kind: Kind | null;
  names: Map<string, string> | null;
  /** Where the person chooses it. */
  sorted?: { by: 'created' | 'paid' | 'amount'; direction: 'ascending' | 'descending' };
}) {
  const words = useWords();
  const sortOf = (by: 'created' | 'paid' | 'amount') => (sorted?.by === by ? sorted.direction : undefined);
  return (
    <table className="table folding dense records">
      <thead>
        <tr>
          <th scope="col" className="named">
            {kind === 'deposit'
              ? words.charges.payer
              : kind === 'transfer'
                ? words.detail.receiver
                : words.statement.party}
          </th>
          <th scope="col" className="right sum" aria-sort={sortOf('amount')}>
            {words.common.amount}
          </th>
          <th scope="col" className="state">
            {words.common.status}
          </th>
          <th scope="col" className="right fee">
            {words.common.fee}
          </th>
          <th scope="col" className="right sum">
            {words.common.net}
          </th>
          <th scope="col">{words.common.description}</th>
          {names && (
            <th scope="col" className="of">
              {words.common.operation}
            </th>
          )}
          <th scope="col" className="right date" aria-sort={sortOf('created')}>
            {words.common.created}
          </th>
          <th scope="col" className="right date" aria-sort={sortOf('paid')}>
            {kind === 'deposit' ? words.charges.paidAt : words.detail.settled}
          </th>
        </tr>
      </thead>
      <tbody>
        {records.map((record) => {
          const charge = record.kind === 'deposit';
          const moved = hasMoved(record);
          const when = movedAt(record);
          const party =
            (partyOf(record) ?? record.description) || (charge ? words.detail.charge : words.detail.transfer);
          return (
            <tr key={record.id} className="link">
              <td className="cut" title={party}>
                <Link to="/pagamentos/$id" params={{ id: record.id }} className="row">
                  {party}
                </Link>
              </td>
              <td className="right">
                <strong className="num">{money(movedCents(record))}</strong>
              </td>
              <td>
                <span className="marks">
                  <Status status={record.status} kind={record.kind} />
                  <Marks marks={record.marks} />
                  <DueMark record={record} />
                  <CardMark record={record} />
                </span>
              </td>
              <td className="right off num">{moved ? money(feeCentsOf(record)) : '–'}</td>
              <td className="right off num">
                {endedWithoutMoney(record.status) || (charge && !moved) ? '–' : money(netCentsOf(record))}
              </td>
              <td className="off soft cut" title={record.description}>
                {record.description}
              </td>
              {names && (
                <td className="off cut" title={names.get(record.operationId)}>
                  {names.get(record.operationId)}
                </td>
              )}
              <td className="right soft">
                <time dateTime={record.createdAt} className="num">
                  {shortDateTime(record.createdAt)}
                </time>
              </td>
              <td className="right soft off num">{when === null ? '–' : shortDateTime(when)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
