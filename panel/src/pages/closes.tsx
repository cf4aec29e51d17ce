import { Fragment } from 'react';
import { ask } from '../api/client.ts';
import { monthName, plainDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText } from '../text/text.tsx';
import { FileLink, Listed, ListFoot } from '../ui/listed.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, Money, PageHead } from '../ui/parts.tsx';

/** The closed days of an operation: each leads from its opening to its closing, and never changes. */
export function Closes() {
  const { words } = useText();
  const { api } = useScope();
  const { operationId, names, pages } = useOperationPages(
    'closes',
    (operation, before: string | null) =>
      ask(() => api.GET('/closes', { params: { query: { ...operation, ...(before && { before }) } } })),
    (last) => last.nextBefore,
  );
  const closes = pages.data?.pages.flatMap((page) => page.closes) ?? [];
  const months = monthsOf(closes, pages.hasNextPage);
  return (
    <>
      <PageHead
        title={words.closes.title}
        lead={words.closes.lead}
        back={{ to: '/extrato', label: words.statement.title }}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="card scroll" tabIndex={0} aria-label={words.closes.title}>
        <Listed
          pages={pages}
          count={closes.length}
          noMatch={null}
          empty={<Empty icon="statement" title={words.closes.empty} lead={words.closes.emptyHint} />}
        >
          <table className="table folding dense closes">
            <thead>
              <tr>
                <th scope="col" className="day">
                  {words.closes.day}
                </th>
                {names && (
                  <th scope="col" className="of">
                    {words.common.operation}
                  </th>
                )}
                {columns.map(({ name }) => (
                  <th key={name} scope="col" className="right">
                    {words.closes[name]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {months.map(({ month, whole, days }) => (
                <Fragment key={month}>
                  {whole && (
                    <MonthRow
                      month={month}
                      days={days}
                      withNames={names !== null}
                      operationId={operationId}
                    />
                  )}
                  {days.map((close) => (
                    <tr key={`${close.operationId}${close.day}`}>
                      <td title={words.closes.seal(close.lastSeq, close.head)}>
                        <strong className="num">{plainDay(close.day)}</strong>
                      </td>
                      {names && (
                        <td
                          className="cut"
                          data-label={words.common.operation}
                          title={names.get(close.operationId)}
                        >
                          {names.get(close.operationId)}
                        </td>
                      )}
                      {columns.map(({ name, cents }) => (
                        <td key={name} className="right" data-label={words.closes[name]}>
                          <Money cents={cents(close)} />
                        </td>
                      ))}
                    </tr>
                  ))}
                </Fragment>
              ))}
            </tbody>
          </table>
          <ListFoot file="closes.csv" filters={{ operationId: operationId ?? undefined }} pages={pages} />
        </Listed>
      </section>
    </>
  );
}

type Close = Figures & { day: string; operationId: string; lastSeq: number; head: string };

interface Month {
  /** 2026-11 */
  month: string;
  /** All closed days of it are here. */
  whole: boolean;
  days: Close[];
}

/** The days come newest first; of the last month there may be more on the next page. */
function monthsOf(closes: readonly Close[], more: boolean): Month[] {
  const months = [...Map.groupBy(closes, ({ day }) => day.slice(0, 7))];
  return months.map(([month, days], at) => ({ month, days, whole: !more || at < months.length - 1 }));
}

/** A month's sums over the operations that are shown, with its file. */
function MonthRow({
  month,
  days,
  withNames,
  operationId,
}: {
  month: string;
  days: Close[];
  withNames: boolean;
  /** Null: all are shown. */
  operationId: string | null;
}) {
  const { words, language } = useText();
  const filters = { month, operationId: operationId ?? undefined };
  return (
    <tr className="monthrow">
      <th scope="row" colSpan={withNames ? 2 : 1}>
        {words.closes.month(monthName(month, language))}
        <div>
          <FileLink file="closes.csv" filters={filters}>
            {words.closes.monthCsv}
          </FileLink>
          <FileLink file="closes.pdf" filters={filters}>
            {words.closes.monthPdf}
          </FileLink>
        </div>
      </th>
      {columns.map(({ name, cents }) => (
        <td key={name} className="right" data-label={words.closes[name]}>
          <Money cents={sumOf(name, days, cents)} />
        </td>
      ))}
    </tr>
  );
}

/** A month begins with the opening of each operation's first day in it, and ends with the closing of its last. */
function sumOf(
  name: (typeof columns)[number]['name'],
  days: readonly Close[],
  cents: (close: Figures) => number,
): number {
  const counted =
    name === 'opening' || name === 'closing'
      ? [...Map.groupBy(days, ({ operationId }) => operationId).values()].flatMap((own) => {
          const day = name === 'closing' ? own[0] : own.at(-1);
          return day === undefined ? [] : [day];
        })
      : days;
  return counted.reduce((sum, day) => sum + cents(day), 0);
}

interface Figures {
  openingCents: number;
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
  closingCents: number;
}

/** With the sign by which each changes the balance. */
const columns = [
  { name: 'opening', cents: (close: Figures) => close.openingCents },
  { name: 'came', cents: (close: Figures) => close.inCents },
  { name: 'went', cents: (close: Figures) => 0 - close.outCents },
  { name: 'fees', cents: (close: Figures) => 0 - close.feeCents },
  { name: 'refunds', cents: (close: Figures) => 0 - close.refundCents },
  { name: 'holds', cents: (close: Figures) => 0 - close.holdCents },
  { name: 'closing', cents: (close: Figures) => close.closingCents },
] as const;
