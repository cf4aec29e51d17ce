import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ask, type PaymentLink } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { LinkStatus, linkAmount, paidOf } from '../ui/link-facts.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { OfMainOperation } from '../ui/of-source.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, PageHead, When } from '../ui/parts.tsx';

/** The payment links of an operation, newest first. */
export function Links() {
  const words = useWords();
  const { api, may } = useScope();
  const { pages } = useOperationPages(
    'payment-links',
    ({ operationId }, cursor: string | null) =>
      ask(() =>
        api.GET('/payment-links', {
          params: { query: { limit: 30, ...(cursor && { cursor }) } },
          // Without a name they are those of the main operation.
          headers: operationId ? { 'x-service-operation': operationId } : {},
        }),
      ),
    (last) => last.nextCursor,
  );
  const links = pages.data?.pages.flatMap((page) => page.paymentLinks) ?? [];
  const create = may('charges') && (
    <Button component={Link} to="/links/novo" leftSection={<Icon name="plus" size={18} />}>
      {words.links.new}
    </Button>
  );
  return (
    <>
      <PageHead title={words.links.title} lead={words.links.lead}>
        {links.length > 0 && create}
      </PageHead>
      <OfMainOperation />
      <section className="card" aria-label={words.links.title}>
        <Listed
          pages={pages}
          count={links.length}
          noMatch={null}
          empty={
            <Empty icon="link" title={words.links.empty} lead={words.links.emptyLead}>
              {create}
            </Empty>
          }
        >
          <LinkTable links={links} />
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}

function LinkTable({ links }: { links: PaymentLink[] }) {
  const words = useWords();
  return (
    <table className="table folding">
      <thead>
        <tr>
          <th scope="col">{words.links.name}</th>
          <th scope="col" className="right">
            {words.common.amount}
          </th>
          <th scope="col">{words.common.status}</th>
          <th scope="col" className="right">
            {words.links.payments}
          </th>
          <th scope="col" className="right">
            {words.links.received}
          </th>
          <th scope="col" className="right">
            {words.common.created}
          </th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={link.id} className="link">
            <td>
              <Link
                to="/links/$id"
                params={{ id: link.id }}
                search={{ operacao: link.operationId }}
                className="row"
              >
                {link.title}
              </Link>
            </td>
            <td className="right" data-label={words.common.amount}>
              {linkAmount(link, words)}
            </td>
            <td>
              <LinkStatus link={link} />
            </td>
            <td className="right num" data-label={words.links.payments}>
              {paidOf(link, words)}
            </td>
            <td className="right num" data-label={words.links.received}>
              {money(link.paidCents)}
            </td>
            <td className="right soft">
              <When at={link.createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
