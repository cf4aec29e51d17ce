import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { LinkStatus, linkAmount, paidOf } from '../ui/link-facts.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { OfMainOperation } from '../ui/of-source.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { SourceTable } from '../ui/source-table.tsx';

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
          <SourceTable
            to="/links/$id"
            heads={words.links}
            rows={links.map((link) => ({
              ...link,
              name: link.title,
              amount: linkAmount(link, words),
              status: <LinkStatus link={link} />,
              payments: paidOf(link, words),
            }))}
          />
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}
