import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useOverview, useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { RecordTable, recordsQuery } from '../ui/records.tsx';

/** Charges and transfers of all operations that the field in the top bar finds: by text, amount, id or endToEnd. */
export function Search() {
  const words = useWords();
  const scope = { ...useScope(), operationId: null };
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const pages = useInfiniteQuery(recordsQuery(scope, null, { q }));
  const records = pages.data?.pages.flatMap((page) => page.records) ?? [];
  const operations = useOverview(true).data?.operations ?? [];
  const names = new Map(operations.map((one) => [one.id, one.name]));
  return (
    <>
      <PageHead title={words.find.title} lead={q} />
      <section className="card" aria-label={words.find.title}>
        <Listed
          pages={pages}
          count={records.length}
          noMatch={null}
          empty={<Empty icon="search" title={words.find.noMatch} />}
        >
          <RecordTable records={records} kind={null} names={names.size > 1 ? names : null} />
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}
