import './mantine.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, startTransition } from 'react';
import { createRoot } from 'react-dom/client';
import { firstLook } from './first-look.ts';
import { queries } from './queries.ts';
import { router } from './router.tsx';
import { TextProvider } from './text/text.tsx';
import { theme } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// Where libraries put a style into the page at run time, they look for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const program = (
  <StrictMode>
    <MantineProvider theme={theme} getStyleNonce={() => nonce} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <TextProvider>
          <RouterProvider router={router} />
        </TextProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>
);

const place = document.getElementById('panel');
if (place) {
  const root = createRoot(place);
  // In a task of its own, and the first render as a transition: the browser gets its turn between pieces.
  setTimeout(() => void firstLook().then(() => startTransition(() => root.render(program))));
}
