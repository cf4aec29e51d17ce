import { useInfiniteQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { type MergedPage, mergedPage, type Rests } from '../merged.ts';
import { useOverview, useScope } from '../session.tsx';
import { Listed, ListFoot } from './listed.tsx';
import { useOperationNames, useShownOperation, useStartOperation } from './operation-field.tsx';
import { RecordTable } from './records.tsx';

/** Which payment link or static code a page shows, by its address; the operation is empty until the operations have arrived. */
export function useSourceAddress(): { id: string; operationId: string } {
  const { operationId } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const { operacao } = useSearch({ strict: false }) as { operacao?: string };
  return { id, operationId: useStartOperation(operacao ?? operationId) };
}

/** Payment links or static codes of the operation chosen at the top, or of all of them, the newest first. */
export function useSources<Row extends { createdAt: string }>(
  what: 'payment-links' | 'static-codes',
  read: (operationId: string, cursor: string | null) => Promise<{ rows: Row[]; nextCursor: string | null }>,
) {
  const { account } = useScope();
  const operationId = useShownOperation();
  const { data } = useOverview(true);
  const shown = operationId === null ? data?.operations.map(({ id }) => id) : [operationId];
  const pages = useInfiniteQuery({
    queryKey: [account.id, what, shown],
    queryFn: ({ pageParam }) => mergedPage(shown ?? [], pageParam, read),
    enabled: shown !== undefined,
    initialPageParam: null as Rests<Row> | null,
    getNextPageParam: ({ rests }: MergedPage<Row>) => rests,
  });
  return {
    pages,
    rows: pages.data?.pages.flatMap((page) => page.rows) ?? [],
    names: useOperationNames(operationId),
  };
}

/** The charges of a payment link or of a static code, with their payers, and the file of them. */
export function ChargesOf({
  path,
  id,
  operationId,
  title,
  none,
}: {
  path: 'payment-links' | 'static-codes';
  id: string;
  operationId: string;
  title: string;
  /** For a source that brought none yet. */
  none: string;
}) {
  const { api, account } = useScope();
  const pages = useInfiniteQuery({
    queryKey: [account.id, path, id, 'records', operationId],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET(`/${path}/{id}/records`, {
          params: {
            path: { id },
            query: { operationId, limit: 30, ...(pageParam && { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const records = pages.data?.pages.flatMap((page) => page.records) ?? [];
  return (
    <section className="card" aria-label={title}>
      <div className="cardhead">
        <h2>{title}</h2>
      </div>
      <Listed
        pages={pages}
        count={records.length}
        noMatch={null}
        empty={
          <p className="soft" style={{ margin: 0 }}>
            {none}
          </p>
        }
      >
        <RecordTable records={records} kind="deposit" names={null} />
        <ListFoot file={`${path}/${id}/records.csv`} filters={{ operationId }} pages={pages} />
      </Listed>
    </section>
  );
}
