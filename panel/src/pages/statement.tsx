import { Button, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { amountOf, dateTime, money, plainDay, shortDateTime } from '../format.ts';
import { queries } from '../queries.ts';
import { overviewQuery, useOverview, useScope, type View } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { Choice } from '../ui/choice.tsx';
import { Icon } from '../ui/icons.tsx';
import { FileLink, Listed, MoreButton, MoreFoot } from '../ui/listed.tsx';
import { feeOf, folded, isOfFee, nameOfLine, type Row, sumsOf } from '../ui/movements.ts';
import { type Names, partyOf } from '../ui/names.tsx';
import { useOperationNames, useShownOperation } from '../ui/operation-field.tsx';
import { Empty, Money, PageHead, SignedMoney } from '../ui/parts.tsx';
import { daysOf, PeriodField, type PeriodSearch } from '../ui/period.tsx';

/** The address of the page: a period, and what is looked for in it. */
export interface StatementSearch extends PeriodSearch {
  /** A figure, as the statement names it. */
  tipo?: string | undefined;
  /** As it was typed. */
  q?: string | undefined;
}

const figures = ['inCents', 'outCents', 'feeCents', 'refundCents', 'holdCents'] as const;

/** The filter in the address. An amount is one as people write it; a bare number may be a part of a name. */
function wantedOf({ tipo, q }: StatementSearch) {
  const figure = figures.find((one) => one === tipo);
  const amountCents = q === undefined ? null : amountOf(q);
  return {
    ...(figure && { figure }),
    ...(amountCents !== null ? { amountCents } : q && { search: q }),
  };
}

function filterOf(operationId: string | null, search: PeriodSearch) {
  const { de, ate } = daysOf(search, 'mes');
  return { ...(operationId && { operationId }), ...(de && { from: de }), ...(ate && { to: ate }) };
}

function statementQuery({ api, account }: View, operationId: string | null, search: StatementSearch) {
  const query = { ...filterOf(operationId, search), ...wantedOf(search) };
  return infiniteQueryOptions({
    queryKey: [account.id, 'statement', query],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/statement', {
          params: { query: { ...query, limit: 50, ...(pageParam && { below: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextBelow,
  });
}

/** The queries of the statement. */
export async function readStatement(
  view: View,
  search: StatementSearch & { operacao?: string },
): Promise<void> {
  const operationId = search.operacao ?? view.operationId;
  await Promise.all([
    queries.prefetchQuery(overviewQuery(view, true)),
    queries.prefetchInfiniteQuery(statementQuery(view, operationId, search)),
  ]);
}

/** The changes of the balance in a period, in the form that bookkeepers read. */
export function Statement() {
  const words = useWords();
  const scope = useScope();
  const search = useSearch({ strict: false }) as StatementSearch;
  const navigate = useNavigate();
  const operationId = useShownOperation();
  const names = useOperationNames(operationId);
  const { de, ate } = daysOf(search, 'mes');
  const query = filterOf(operationId, search);
  const pages = useInfiniteQuery(statementQuery(scope, operationId, search));
  // A file for programs or on paper is of one operation, as an account of a bank.
  const operations = useOverview(true).data?.operations ?? [];
  const only = operationId ?? operations[0]?.id;
  const first = pages.data?.pages[0];
  const lines = pages.data?.pages.flatMap((page) => page.lines) ?? [];
  const lookedBackTo = pages.data?.pages.at(-1)?.lookedBackTo ?? null;
  const filtered = Object.keys(wantedOf(search)).length > 0;
  const onSearch = (part: StatementSearch): void =>
    void navigate({ to: '/extrato', search: part, replace: true });
  const more = lookedBackTo === null ? undefined : words.common.searchOn(dateTime(lookedBackTo));
  return (
    <>
      <PageHead title={words.statement.title} lead={words.statement.lead}>
        <Button component={Link} to="/extrato/fechamentos" variant="default">
          {words.closes.title}
        </Button>
        <Button component={Link} to="/extrato/lancamentos" variant="default">
          {words.statement.openJournal}
        </Button>
      </PageHead>
      <div className="stack">
        <section className="card" aria-label={words.period.label}>
          <form className="filters" style={{ margin: 0 }} onSubmit={(event) => event.preventDefault()}>
            <PeriodField
              search={search}
              fallback="mes"
              onSearch={(period) => onSearch({ ...period, ...wantedInAddress(search) })}
            />
            <div className="files wide">
              {operationId === null && names ? (
                <span className="soft">{words.statement.filesOfOne}</span>
              ) : (
                <>
                  <FileLink file="statement.pdf" filters={{ ...query, operationId: only }}>
                    PDF
                  </FileLink>
                  <FileLink file="statement.ofx" filters={{ ...query, operationId: only }}>
                    OFX
                  </FileLink>
                </>
              )}
              <FileLink file="statement.csv" filters={query}>
                {words.common.exportCsv}
              </FileLink>
            </div>
          </form>
          <Sums page={first} de={de} ate={ate} />
        </section>
        <section className="card" aria-label={words.statement.title}>
          <form className="filters" onSubmit={(event) => event.preventDefault()}>
            <SearchField key={search.q ? 'some' : 'none'} search={search} onSearch={onSearch} />
            <Choice
              label={words.statement.figure}
              data={[
                { value: '', label: words.statement.allFigures },
                ...figures.map((value, at) => ({
                  value,
                  label: words.statement[parts[at]?.name ?? 'came'],
                })),
              ]}
              value={search.tipo ?? ''}
              onChoice={(value) => onSearch({ ...search, tipo: value || undefined })}
              className="wide"
              miw={170}
            />
            {filtered && (
              <Button
                className="wide"
                variant="subtle"
                onClick={() => onSearch({ ...search, tipo: undefined, q: undefined })}
              >
                {words.common.clear}
              </Button>
            )}
          </form>
          {filtered && <p className="soft">{words.statement.wholePeriod}</p>}
          <Listed
            pages={pages}
            count={lines.length}
            noMatch={filtered && !pages.hasNextPage ? words.statement.noMatch : null}
            empty={
              pages.hasNextPage ? (
                <MoreButton pages={pages} label={more} />
              ) : (
                <Empty icon="statement" title={words.statement.empty} />
              )
            }
          >
            <Lines lines={folded(lines)} names={names} />
            <MoreFoot pages={pages} label={more} />
          </Listed>
        </section>
      </div>
    </>
  );
}

/** An empty value leaves the address. */
const wantedInAddress = ({ tipo, q }: StatementSearch): StatementSearch => ({ tipo, q });

function SearchField({
  search,
  onSearch,
}: {
  search: StatementSearch;
  onSearch: (search: StatementSearch) => void;
}) {
  const words = useWords();
  const [text, setText] = useState(search.q ?? '');
  const later = useDebouncedCallback((value: string) => onSearch({ ...search, q: value || undefined }), 350);
  return (
    <TextInput
      className="grow"
      type="search"
      label={words.common.search}
      placeholder={words.statement.searchFor}
      leftSection={<Icon name="search" size={18} />}
      value={text}
      maxLength={100}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value.trim());
      }}
    />
  );
}

interface Totals {
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
}

/** Between the balances, with the sign by which each changes the balance. */
const parts = [
  { name: 'came', cents: (totals: Totals) => totals.inCents },
  { name: 'went', cents: (totals: Totals) => 0 - totals.outCents },
  { name: 'fees', cents: (totals: Totals) => 0 - totals.feeCents },
  { name: 'refunds', cents: (totals: Totals) => 0 - totals.refundCents },
  { name: 'holds', cents: (totals: Totals) => 0 - totals.holdCents },
] as const;

/** It has its place from the beginning, so that nothing below moves when the figures arrive. */
function Sums({
  page,
  de,
  ate,
}: {
  page:
    | {
        openingBalanceCents: number;
        closingBalanceCents: number;
        totals: Totals | null;
      }
    | undefined;
  de: string | undefined;
  ate: string | undefined;
}) {
  const { words } = useText();
  const { totals } = page ?? {};
  const none = page ? '–' : '\u00a0';
  return (
    <>
      <dl className="figures">
        <div>
          <dt>{de ? words.statement.openingOn(plainDay(de)) : words.statement.opening}</dt>
          <dd>{page ? <Money cents={page.openingBalanceCents} /> : none}</dd>
        </div>
        {parts.map(({ name, cents }) => (
          <div key={name}>
            <dt>{words.statement[name]}</dt>
            <dd className={name === 'came' ? 'plus' : ''}>
              {totals ? <Money cents={cents(totals)} /> : none}
            </dd>
          </div>
        ))}
        <div>
          <dt>{ate ? words.statement.closingOn(plainDay(ate)) : words.statement.closing}</dt>
          <dd className="strong">{page ? <Money cents={page.closingBalanceCents} /> : none}</dd>
        </div>
      </dl>
      {totals === null && <p className="soft">{words.statement.tooLong}</p>}
    </>
  );
}

function Lines({ lines, names }: { lines: readonly Row[]; names: Map<string, string> | null }) {
  const words = useWords();
  return (
    <table className="table folding dense statement">
      <thead>
        <tr>
          <th scope="col" className="date">
            {words.common.date}
          </th>
          <th scope="col" className="kind">
            {words.detail.line}
          </th>
          <th scope="col">{words.statement.party}</th>
          <th scope="col" className="right document">
            {words.statement.document}
          </th>
          {names && (
            <th scope="col" className="named">
              {words.common.operation}
            </th>
          )}
          <th scope="col" className="right sum">
            {words.statement.debit}
          </th>
          <th scope="col" className="right sum">
            {words.statement.credit}
          </th>
          <th scope="col" className="right sum">
            {words.detail.balanceAfter}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <LineRow
            key={`${line.operationId}${line.id}`}
            line={line}
            operation={names?.get(line.operationId)}
          />
        ))}
      </tbody>
    </table>
  );
}

/** A fee without its movement, on a page of its own, says nothing more than what it is. */
function LineRow({ line, operation }: { line: Row; operation: string | undefined }) {
  const words = useWords();
  const isFee = isOfFee(line);
  const name = nameOfLine(line, words);
  const party = isFee || line.payment === null ? line.reason : lineOf(line.payment);
  const fee = feeOf(line, words);
  const { debitCents, creditCents } = sumsOf(line);
  return (
    <tr {...(line.paymentId && { className: 'link' })}>
      <td className="soft date">
        <time dateTime={line.at} className="num">
          {shortDateTime(line.at)}
        </time>
      </td>
      <td className="cut kind" title={name}>
        {line.paymentId === null ? (
          name
        ) : (
          <Link to="/pagamentos/$id" params={{ id: line.paymentId }} className={isFee ? 'row fee' : 'row'}>
            {name}
          </Link>
        )}
        {fee && <span className="soft"> · {fee}</span>}
      </td>
      <td className="cut party" title={party ?? undefined}>
        {party}
      </td>
      <td className="off right soft num">{line.id.split('-')[0]}</td>
      {operation !== undefined && (
        <td className="off cut" title={operation}>
          {operation}
        </td>
      )}
      <td className="right debit">{debitCents < 0 && <Money cents={debitCents} />}</td>
      <td className="right credit">{creditCents > 0 && <SignedMoney cents={creditCents} />}</td>
      <td className="right after">
        <strong className="num">{money(line.balanceCents)}</strong>
      </td>
    </tr>
  );
}

/** Who, and what for, on one line. */
const lineOf = (names: Names): string => [partyOf(names), names.description].filter(Boolean).join(' · ');
