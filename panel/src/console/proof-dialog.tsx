import { Button } from '@mantine/core';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { FormError } from '../ui/parts.tsx';
import { CodeField } from '../ui/secret-fields.tsx';
import { desk } from './api.ts';
import { digits, usePasskey } from './factor.tsx';
import { useConsoleWords } from './words.ts';

/** The code of the app, or the passkey. */
export function ProofDialog({ close }: { close: (given: boolean) => void }) {
  const words = useConsoleWords();
  const [code, setCode] = useState('');
  const byCode = useAction(async () => {
    byPasskey.forget();
    await ask(() => desk.POST('/factors/proof', { body: { code: digits(code) } }));
    close(true);
  });
  const byPasskey = usePasskey(
    () => {
      byCode.forget();
      return ask(() => desk.POST('/factors/proof/options', { body: {} }));
    },
    async (response) => {
      await ask(() => desk.POST('/factors/proof', { body: { response } }));
      close(true);
    },
  );
  return (
    <Dialog title={words.proof.title} close={() => close(false)} zIndex={400}>
      <form className="stack" onSubmit={byCode.submit}>
        <p style={{ margin: 0 }}>{words.proof.lead}</p>
        <CodeField data-autofocus label={words.signIn.code} value={code} onValue={setCode} />
        <FormError error={byCode.error ?? byPasskey.error} />
        <Button type="submit" loading={byCode.busy} disabled={code.trim() === ''}>
          {words.proof.submit}
        </Button>
        <Button
          variant="default"
          leftSection={<Icon name="finger" size={18} />}
          loading={byPasskey.busy}
          onClick={() => byPasskey.run()}
        >
          {words.proof.passkey}
        </Button>
      </form>
    </Dialog>
  );
}
