import { ask } from '../api/client.ts';
import { plainDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, Money, PageHead } from '../ui/parts.tsx';

/** The closed days of an operation: each leads from its opening to its closing, and never changes. */
export function Closes() {
  const words = useWords();
  const { api } = useScope();
  const { names, pages } = useOperationPages(
    'closes',
    (operation, before: string | null) =>
      ask(() => api.GET('/closes', { params: { query: { ...operation, ...(before && { before }) } } })),
    (last) => last.nextBefore,
  );
  const closes = pages.data?.pages.flatMap((page) => page.closes) ?? [];
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
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.closes.day}</th>
                {names && <th scope="col">{words.common.operation}</th>}
                {columns.map(({ name }) => (
                  <th key={name} scope="col" className="right">
                    {words.closes[name]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {closes.map((close) => (
                <tr key={`${close.operationId}${close.day}`}>
                  <td>
                    <strong className="num">{plainDay(close.day)}</strong>
                    <div className="soft" title={`${words.closes.seal}: ${close.head}`}>
                      {words.closes.sealOf(close.lastSeq)}{' '}
                      <span className="mono">{close.head.slice(0, 8)}</span>
                    </div>
                  </td>
                  {names && <td data-label={words.common.operation}>{names.get(close.operationId)}</td>}
                  {columns.map(({ name, cents }) => (
                    <td key={name} className="right" data-label={words.closes[name]}>
                      <Money cents={cents(close)} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
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
