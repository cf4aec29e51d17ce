import { lazy, Suspense, useEffect, useState } from 'react';
import { onReauthentication } from '../api/client.ts';

/** Read when it is wanted: a first look at a page asks for no password. */
const PasswordDialog = lazy(async () => ({
  default: (await import('./password-dialog.tsx')).PasswordDialog,
}));

/** Asks for the password when a call needs a recent one, then repeats that call. */
export function Reauthenticate() {
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
      <PasswordDialog close={close} />
    </Suspense>
  );
}
