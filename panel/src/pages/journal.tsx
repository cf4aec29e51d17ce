import { Link } from '@tanstack/react-router';
import { ask, type JournalLine } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Listed, ListFoot } from '../ui/listed.tsx';
import { partyOf } from '../ui/names.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, Money, PageHead, SignedMoney, When } from '../ui/parts.tsx';

/** The ledger of an operation, entry by entry: what stands behind the statement. */
export function Journal() {
  const words = useWords();
  const { api } = useScope();
  const { operationId, names, pages } = useOperationPages(
    'journal',
    (operation, below: string | null) =>
      ask(() =>
        api.GET('/journal', { params: { query: { ...operation, limit: 50, ...(below && { below }) } } }),
      ),
    (last) => last.nextBelow,
  );
  const lines = pages.data?.pages.flatMap((page) => page.lines) ?? [];
  return (
    <>
      <PageHead
        title={words.statement.journal}
        lead={words.statement.journalLead}
        back={{ to: '/extrato', label: words.statement.title }}
      />
      <section className="card">
        <Listed
          pages={pages}
          count={lines.length}
          noMatch={null}
          empty={<Empty icon="statement" title={words.statement.journalEmpty} />}
        >
          <JournalTable lines={lines} names={names} />
          <ListFoot file="journal.csv" filters={{ operationId: operationId ?? undefined }} pages={pages} />
        </Listed>
      </section>
    </>
  );
}

function JournalTable({ lines, names }: { lines: JournalLine[]; names: Map<string, string> | null }) {
  const words = useWords();
  return (
    <table className="table folding dense journal">
      <thead>
        <tr>
          <th scope="col" className="kind">
            {words.detail.line}
          </th>
          <th scope="col">{words.statement.party}</th>
          {names && (
            <th scope="col" className="of">
              {words.common.operation}
            </th>
          )}
          <th scope="col" className="right">
            {words.detail.available}
          </th>
          <th scope="col" className="right">
            {words.detail.reserved}
          </th>
          <th scope="col" className="right">
            {words.detail.held}
          </th>
          <th scope="col" className="right">
            {words.detail.balanceAfter}
          </th>
          <th scope="col" className="right date">
            {words.common.date}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <JournalRow
            key={`${line.operationId}${line.seq}`}
            line={line}
            operation={names?.get(line.operationId)}
          />
        ))}
      </tbody>
    </table>
  );
}

function JournalRow({ line, operation }: { line: JournalLine; operation: string | undefined }) {
  const words = useWords();
  const name = words.detail.lines[line.template] ?? line.template;
  const party = line.payment && [partyOf(line.payment), line.payment.description].filter(Boolean).join(' · ');
  return (
    <tr {...(line.payment && { className: 'link' })}>
      <td className="kind cut" title={name}>
        {line.payment === null ? (
          name
        ) : (
          <Link to="/pagamentos/$id" params={{ id: line.paymentId }} className="row">
            {name}
          </Link>
        )}
      </td>
      <td className="wide party cut" title={party ?? undefined}>
        {party}
      </td>
      {operation !== undefined && (
        <td className="off cut" title={operation}>
          {operation}
        </td>
      )}
      <td className="right change">
        <SignedMoney cents={line.availableCents} />
      </td>
      <td className="right off">
        <Money cents={line.reservedCents} />
      </td>
      <td className="right off">
        <Money cents={line.heldCents} />
      </td>
      <td className="right after">
        <strong className="num">{money(line.balanceAfterCents)}</strong>
      </td>
      <td className="right soft date">
        <When at={line.postedAt} />
      </td>
    </tr>
  );
}
