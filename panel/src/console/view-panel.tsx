import { Button } from '@mantine/core';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { FormError } from '../ui/parts.tsx';
import { desk, useOperator } from './api.ts';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

/** Leads into the panel of an account, read only. */
export function ViewPanel({ id }: { id: string }) {
  const { view: words } = useConsoleWords();
  const { data: operator } = useOperator();
  const [reason, setReason] = useState('');
  const begin = useAction(async () => {
    const body = { reason: reason.trim() };
    await ask(() => desk.POST('/accounts/{id}/view', { params: { path: { id } }, body }));
    // Another realm: nothing of the console's pages stays.
    window.location.assign('/');
  });
  if (!operator?.acts.includes('viewPanel')) return null;
  return (
    <details className="card more">
      <summary>{words.action}</summary>
      <form className="stack narrow" onSubmit={begin.submit}>
        <p className="soft" style={{ margin: 0 }}>
          {words.lead}
        </p>
        <ReasonField label={words.why} value={reason} onText={setReason} />
        <FormError error={begin.error} />
        <Button type="submit" loading={begin.busy} style={{ alignSelf: 'start' }}>
          {words.submit}
        </Button>
      </form>
    </details>
  );
}
