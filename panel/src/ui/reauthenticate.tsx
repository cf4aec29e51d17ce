import { Button, PasswordInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ask, onReauthentication, person } from '../api/client.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { FormError } from './parts.tsx';

/** Asks for the password when a call needs a recent one, then repeats that call. */
export function Reauthenticate() {
  const words = useWords();
  const [opened, setOpened] = useState(false);
  const [password, setPassword] = useState('');
  const answer = useRef<(given: boolean) => void>(() => {});
  useEffect(() => {
    onReauthentication(
      () =>
        new Promise((resolve) => {
          answer.current = resolve;
          setOpened(true);
        }),
    );
  }, []);

  const give = useAction(async () => {
    await ask(() => person.POST('/reauthenticate', { body: { password } }));
    close(true);
  });
  function close(given: boolean) {
    setOpened(false);
    setPassword('');
    give.forget();
    answer.current(given);
  }
  return (
    <Dialog opened={opened} title={words.reauth.title} close={() => close(false)} zIndex={400}>
      <form className="stack" onSubmit={give.submit}>
        <p style={{ margin: 0 }}>{words.reauth.lead}</p>
        <PasswordInput
          data-autofocus
          label={words.signIn.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
        <FormError error={give.error} />
        <Button type="submit" loading={give.busy} disabled={password === ''}>
          {words.reauth.submit}
        </Button>
      </form>
    </Dialog>
  );
}
