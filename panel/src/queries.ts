import { QueryClient } from '@tanstack/react-query';
import { Problem } from './api/client.ts';

/** The queries of the pages, and their answers. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Without a network a query fails, and the page says so: the library's default waits and shows nothing.
      networkMode: 'always',
      refetchOnReconnect: true,
      // A refusal stays one; what did not arrive is tried again.
      retry: (count, error) =>
        count < 2 && (!(error instanceof Problem) || error.status === 0 || error.status >= 500),
    },
  },
});

// The session ended elsewhere, or by its time: whatever was asked then is asked of the gate.
queries.getQueryCache().subscribe((event) => {
  const error = event.type === 'updated' && event.action.type === 'error' ? event.action.error : null;
  if (!(error instanceof Problem) || error.status !== 401) return;
  // The console of the operators has a session of its own.
  const realm = event.query.queryKey[0] === 'operator' ? ['operator', 'session'] : ['session'];
  queries.setQueryData(realm, null);
});
