import { Button } from '@mantine/core';
import { useState } from 'react';
import { ask, person } from '../api/client.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { FormError } from './parts.tsx';
import { PasswordField } from './secret-fields.tsx';

/** Asks for the password again; `close` says whether it was given. */
export function PasswordDialog({ close }: { close: (given: boolean) => void }) {
  const words = useWords();
  const [password, setPassword] = useState('');
  const give = useAction(async () => {
    await ask(() => person.POST('/reauthenticate', { body: { password } }));
    close(true);
  });
  return (
    <Dialog title={words.reauth.title} close={() => close(false)} zIndex={400}>
      <form className="stack" onSubmit={give.submit}>
        <p style={{ margin: 0 }}>{words.reauth.lead}</p>
        <PasswordField data-autofocus label={words.signIn.password} value={password} onValue={setPassword} />
        <FormError error={give.error} />
        <Button type="submit" loading={give.busy} disabled={password === ''}>
          {words.reauth.submit}
        </Button>
      </form>
    </Dialog>
  );
}
