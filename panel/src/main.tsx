import './mantine.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, startTransition, useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './queries.ts';
import { router } from './router.tsx';
import { expectSession } from './session.tsx';
import { TextProvider } from './text/text.tsx';
import { theme } from './theme.ts';
import { Lacking } from './ui/lacking.tsx';

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// Where libraries put a style into the page at run time, they look for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

/** The sign that the page showed until then goes with the first render. */
function Opened() {
  useLayoutEffect(() => document.querySelector('.opening')?.remove(), []);
  return null;
}

const program = (
  <StrictMode>
    <MantineProvider theme={theme} getStyleNonce={() => nonce} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <TextProvider>
          <RouterProvider router={router} />
          <Lacking />
          <Opened />
        </TextProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>
);

/** A page that still lacks something by then is shown without it, and says what it waits for. */
const mostMs = 1_500;

/**
 * The data of the first page is read before it is rendered, so that it is rendered once. Rendered first as an empty page and then again with
 * each answer, it kept a slow telephone busy for two thirds of a second.
 */
async function firstReading(): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, mostMs));
  const read = async () => {
    await router.load();
    await Promise.allSettled(router.state.matches.map(({ loaderData }) => loaderData?.read));
  };
  await Promise.race([late, read()]);
}

const place = document.getElementById('panel');
if (place) {
  const root = createRoot(place);
  // Where the page has begun to ask for the session, its answer is taken at once: a browser complains of one that is not.
  if (document.querySelector('link[as="fetch"]')) void expectSession();
  // In a task of its own, and the first render as a transition: the browser gets its turn between pieces.
  setTimeout(() => void firstReading().then(() => startTransition(() => root.render(program))));
}
