import { queryOptions, useQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { queries } from '../queries.ts';
import { overviewQuery, useScope, type View } from '../session.tsx';

/** One payment with its postings, events and disputes. It is asked for again while its end is open. */
const detailQuery = ({ account, api }: View, id: string) =>
  queryOptions({
    queryKey: [account.id, 'detail', id],
    queryFn: () => ask(() => api.GET('/records/{id}', { params: { path: { id } } })),
    refetchInterval: (query) => {
      const status = query.state.data?.record.status;
      return status === 'unknown' ? 1_500 : status === 'pending' ? 10_000 : false;
    },
  });

export const useDetail = (id: string) => useQuery(detailQuery(useScope(), id));

/** The queries of a payment's page. */
export const readDetail = (view: View, id: string): Promise<unknown> =>
  Promise.all([
    queries.prefetchQuery(overviewQuery(view, true)),
    queries.prefetchQuery(detailQuery(view, id)),
  ]);
