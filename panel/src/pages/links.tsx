import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { LinkStatus, linkAmount, paidOf } from '../ui/link-facts.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { useSources } from '../ui/of-source.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { SourceTable } from '../ui/source-table.tsx';

/** The payment links of the operations shown, newest first. */
export function Links() {
  const words = useWords();
  const { api, may } = useScope();
  const {
    pages,
    rows: links,
    names,
  } = useSources('payment-links', async (operationId, cursor) => {
    const page = await ask(() =>
      api.GET('/payment-links', {
        params: { query: { limit: 30, ...(cursor && { cursor }) } },
        headers: { 'x-service-operation': operationId },
      }),
    );
    return { rows: page.paymentLinks, nextCursor: page.nextCursor };
  });
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
            names={names}
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
