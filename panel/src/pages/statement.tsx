import { Select } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { money } from '../format.ts';
import { useOverview, useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Listed, ListFoot } from '../ui/listed.tsx';
import { partyOf } from '../ui/names.tsx';
import { Empty, Money, PageHead, When } from '../ui/parts.tsx';

export function Statement() {
  const words = useWords();
  const { api, account, operationId } = useScope();
  const overview = useOverview(true);
  const { operacao } = useSearch({ strict: false }) as { operacao?: string };
  const navigate = useNavigate();
  const operations = overview.data?.operations ?? [];
  const chosen =
    operations.find((one) => one.id === (operacao ?? operationId))?.id ??
    operations.find((one) => one.isDefault)?.id ??
    null;
  const pages = useInfiniteQuery({
    queryKey: [account.id, 'statement', chosen],
    enabled: chosen !== null,
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/statement', {
          params: {
            query: { operationId: chosen as string, limit: 50, ...(pageParam && { below: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.nextBelow,
  });
  const lines = pages.data?.pages.flatMap((page) => page.lines) ?? [];
  return (
    <>
      <PageHead title={words.statement.title} lead={words.statement.lead}>
        {operations.length > 1 && (
          <Select
            label={words.statement.choose}
            data={operations.map(({ id, name }) => ({ value: id, label: name }))}
            value={chosen}
            onChange={(id) =>
              id && void navigate({ to: '/extrato', search: { operacao: id }, replace: true })
            }
            allowDeselect={false}
          />
        )}
      </PageHead>
      <section className="card">
        <Listed
          pages={pages}
          count={lines.length}
          noMatch={null}
          empty={<Empty icon="statement" title={words.statement.empty} />}
        >
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.detail.line}</th>
                <th scope="col">{words.statement.party}</th>
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
                <th scope="col" className="right">
                  {words.common.date}
                </th>
              </tr>
            </thead>
            <tbody>
              {lines.map((line) => (
                <tr key={line.seq} {...(line.payment && { className: 'link' })}>
                  <td>
                    {line.payment === null ? (
                      (words.detail.lines[line.template] ?? line.template)
                    ) : (
                      <Link to="/pagamentos/$id" params={{ id: line.paymentId }} className="row">
                        {words.detail.lines[line.template] ?? line.template}
                      </Link>
                    )}
                  </td>
                  <td className="wide">
                    {line.payment && partyOf(line.payment)}
                    {line.payment?.description && (
                      <div className="soft" style={{ fontSize: 14 }}>
                        {line.payment.description}
                      </div>
                    )}
                  </td>
                  <td className="right">
                    <span className={`num ${line.availableCents > 0 ? 'plus' : ''}`}>
                      {line.availableCents > 0 ? '+' : ''}
                      {money(line.availableCents)}
                    </span>
                  </td>
                  <td className="right off">
                    <Money cents={line.reservedCents} />
                  </td>
                  <td className="right off">
                    <Money cents={line.heldCents} />
                  </td>
                  <td className="right">
                    <strong className="num">{money(line.balanceAfterCents)}</strong>
                  </td>
                  <td className="right soft">
                    <When at={line.postedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <ListFoot file="statement.csv" filters={{ operationId: chosen }} pages={pages} />
        </Listed>
      </section>
    </>
  );
}
