import { Button } from '@mantine/core';
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { money, plainDay } from '../format.ts';
import { queries } from '../queries.ts';
import { overviewQuery, useScope, type View } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { FileLink, Listed, MoreButton, MoreFoot } from '../ui/listed.tsx';
import { type Names, PaymentLines } from '../ui/names.tsx';
import { ShownOperation, shownAmong, useShownOperation } from '../ui/operation-field.tsx';
import { Empty, Money, PageHead, SignedMoney, When } from '../ui/parts.tsx';
import { daysOf, PeriodField, type PeriodSearch } from '../ui/period.tsx';

function filterOf(operationId: string, search: PeriodSearch) {
  const { de, ate } = daysOf(search, 'mes');
  return { operationId, ...(de && { from: de }), ...(ate && { to: ate }) };
}

function statementQuery({ api, account }: View, operationId: string, search: PeriodSearch) {
  const query = filterOf(operationId, search);
  return infiniteQueryOptions({
    queryKey: [account.id, 'statement', query],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/statement', {
          params: { query: { ...query, limit: 50, ...(pageParam && { below: pageParam }) } },
        }),
      ),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.nextBelow,
  });
}

/** The queries of the statement. */
export async function readStatement(view: View, search: PeriodSearch & { operacao?: string }): Promise<void> {
  const overview = overviewQuery(view, true);
  await queries.prefetchQuery(overview);
  const operations = queries.getQueryData(overview.queryKey)?.operations ?? [];
  const operation = shownAmong(operations, view.operationId, search.operacao);
  if (operation) await queries.prefetchInfiniteQuery(statementQuery(view, operation.id, search));
}

/** The changes of the balance in a period, in the form that bookkeepers read. */
export function Statement() {
  const words = useWords();
  const scope = useScope();
  const search = useSearch({ strict: false }) as PeriodSearch;
  const navigate = useNavigate();
  const operation = useShownOperation();
  const { de, ate } = daysOf(search, 'mes');
  const query = filterOf(operation?.id ?? '', search);
  const pages = useInfiniteQuery({
    ...statementQuery(scope, operation?.id ?? '', search),
    enabled: operation !== undefined,
  });
  const first = pages.data?.pages[0];
  const lines = pages.data?.pages.flatMap((page) => page.lines) ?? [];
  return (
    <>
      <PageHead title={words.statement.title} lead={words.statement.lead}>
        <ShownOperation />
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
              onSearch={(period) => void navigate({ to: '/extrato', search: period, replace: true })}
            />
            <div className="files wide">
              <FileLink file="statement.pdf" filters={query}>
                PDF
              </FileLink>
              <FileLink file="statement.ofx" filters={query}>
                OFX
              </FileLink>
              <FileLink file="statement.csv" filters={query}>
                {words.common.exportCsv}
              </FileLink>
            </div>
          </form>
          <Sums page={first} de={de} ate={ate} />
        </section>
        <section className="card" aria-label={words.statement.title}>
          <Listed
            pages={pages}
            count={lines.length}
            noMatch={null}
            empty={
              pages.hasNextPage ? (
                <MoreButton pages={pages} />
              ) : (
                <Empty icon="statement" title={words.statement.empty} />
              )
            }
          >
            <Lines lines={lines} />
            <MoreFoot pages={pages} />
          </Listed>
        </section>
      </div>
    </>
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

interface Line {
  id: string;
  at: string;
  kind: string;
  cause: string | null;
  reason: string | null;
  amountCents: number;
  balanceCents: number;
  paymentId: string | null;
  payment: Names | null;
}

function Lines({ lines }: { lines: readonly Line[] }) {
  const words = useWords();
  return (
    <table className="table folding statement">
      <thead>
        <tr>
          <th scope="col">{words.detail.line}</th>
          <th scope="col">{words.statement.party}</th>
          <th scope="col" className="right">
            {words.common.amount}
          </th>
          <th scope="col" className="right">
            {words.detail.balanceAfter}
          </th>
          <th scope="col" className="right">
            {words.common.date}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <LineRow key={line.id} line={line} />
        ))}
      </tbody>
    </table>
  );
}

/** A fee says nothing more than what it is: the line beside it says whose it was. */
function LineRow({ line }: { line: Line }) {
  const words = useWords();
  const isFee = /_fee(_cancelled)?$/.test(line.kind);
  const name =
    words.statement.caused[`${line.kind}_${line.cause}`] ??
    words.statement.kinds[line.kind as keyof typeof words.statement.kinds] ??
    line.kind;
  return (
    <tr {...(line.paymentId && { className: 'link' })}>
      <td>
        {line.paymentId === null ? (
          name
        ) : (
          <Link to="/pagamentos/$id" params={{ id: line.paymentId }} className={isFee ? 'row fee' : 'row'}>
            {name}
          </Link>
        )}
      </td>
      <td className="wide">
        <PaymentLines names={isFee ? null : line.payment} />
        {line.payment === null && line.reason}
      </td>
      <td className="right">
        <SignedMoney cents={line.amountCents} />
      </td>
      <td className="right">
        <strong className="num">{money(line.balanceCents)}</strong>
      </td>
      <td className="right soft">
        <When at={line.at} />
      </td>
    </tr>
  );
}
