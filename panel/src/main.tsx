import './mantine.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Problem } from './api/client.ts';
import { router } from './router.tsx';
import { TextProvider } from './text/text.tsx';
import { theme } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// Where libraries put a style into the page at run time, they look for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; what did not arrive is tried again.
      retry: (count, error) =>
        count < 2 && (!(error instanceof Problem) || error.status === 0 || error.status >= 500),
    },
  },
});

// The session ended elsewhere, or by its time: whatever was asked then is asked of the gate.
queries.getQueryCache().subscribe((event) => {
  const error = event.type === 'updated' && event.action.type === 'error' ? event.action.error : null;
  if (error instanceof Problem && error.status === 401) queries.setQueryData(['session'], null);
});

const place = document.getElementById('panel');
if (place) {
  createRoot(place).render(
    <StrictMode>
      <MantineProvider theme={theme} getStyleNonce={() => nonce} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <TextProvider>
            <RouterProvider router={router} />
          </TextProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
