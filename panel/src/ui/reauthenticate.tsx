import { Button, Modal, PasswordInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ask, onReauthentication, person } from '../api/client.ts';
import { useWords } from '../text/text.tsx';
import { FormError } from './parts.tsx';

/** Asks for the password in front of what wants a fresh one; the call that wanted it goes on afterwards. */
export function Reauthenticate() {
  const words = useWords();
  const [opened, setOpened] = useState(false);
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
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

  function close(given: boolean) {
    setOpened(false);
    setPassword('');
    setError(null);
    answer.current(given);
  }
  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      await ask(() => person.POST('/reauthenticate', { body: { password } }));
      close(true);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Modal
      opened={opened}
      onClose={() => close(false)}
      title={words.reauth.title}
      closeButtonProps={{ 'aria-label': words.common.close }}
      zIndex={400}
    >
      <form className="stack" onSubmit={submit}>
        <p style={{ margin: 0 }}>{words.reauth.lead}</p>
        <PasswordInput
          data-autofocus
          label={words.signIn.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
        <FormError error={error} />
        <Button type="submit" loading={busy} disabled={password === ''}>
          {words.reauth.submit}
        </Button>
      </form>
    </Modal>
  );
}
