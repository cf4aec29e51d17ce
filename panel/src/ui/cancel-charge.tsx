import { Button } from '@mantine/core';
import { useState } from 'react';
import { ask, type RecordView } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { FormError } from './parts.tsx';

/** The button that takes an open charge back, once a person has confirmed it. Pressed again after a lost answer it is the same cancel. */
export function CancelCharge({ charge }: { charge: RecordView }) {
  const words = useWords();
  const { api, account } = useScope();
  const [asking, setAsking] = useState(false);
  const cancel = useAction(
    async () => {
      await ask(() => api.POST('/payments/{id}/cancel', { params: { path: { id: charge.id } }, body: {} }));
      setAsking(false);
    },
    { rereads: [[account.id]] },
  );
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {words.cancel.act}
      </Button>
      {asking && (
        <Dialog opened title={words.cancel.title} close={() => setAsking(false)}>
          <form className="stack" onSubmit={cancel.submit}>
            <p style={{ margin: 0 }}>{words.cancel.lead}</p>
            <FormError error={cancel.error} />
            <Button type="submit" color="red" loading={cancel.busy}>
              {words.cancel.confirm}
            </Button>
          </form>
        </Dialog>
      )}
    </>
  );
}
