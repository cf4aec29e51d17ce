import { lazy, Suspense, useEffect, useState } from 'react';
import { onReauthentication } from '../api/client.ts';

/** Read when it is wanted: a first look at a page asks for no factor. */
const ProofDialog = lazy(async () => ({
  default: (await import('./proof-dialog.tsx')).ProofDialog,
}));

/** Asks for a second factor again when a call needs one, then repeats that call. */
export function Prove() {
  const [asked, setAsked] = useState<{ answer: (given: boolean) => void } | null>(null);
  useEffect(() => {
    onReauthentication(() => new Promise((resolve) => setAsked({ answer: resolve })));
  }, []);
  if (asked === null) return null;
  const close = (given: boolean) => {
    setAsked(null);
    asked.answer(given);
  };
  return (
    <Suspense fallback={null}>
      <ProofDialog close={close} />
    </Suspense>
  );
}
