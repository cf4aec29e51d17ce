import { Alert, Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { FormError, MoneyInput } from '../ui/parts.tsx';
import { desk, deskKey } from './api.ts';
import { AskedNote, Planned } from './decision.tsx';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

type Shown = paths['/payments/{id}/return/acts']['post']['responses'][200]['content']['application/json'];

/** A return that names no payment, given to this transfer: its postings are shown first, and only those are written. */
export function ReturnOfTransfer({ id }: { id: string }) {
  const { returned: words } = useConsoleWords();
  return (
    <details className="card more">
      <summary>{words.title}</summary>
      <p className="soft">{words.lead}</p>
      <ReturnForm id={id} />
    </details>
  );
}

function ReturnForm({ id }: { id: string }) {
  const words = useConsoleWords();
  const [returnId, setReturnId] = useState('');
  const [amountCents, setAmount] = useState(0);
  const [at, setAt] = useState('');
  const [reason, setReason] = useState('');
  const [shown, setShown] = useState<Shown | null>(null);
  const [end, setEnd] = useState<'done' | 'asked' | null>(null);
  const params = { path: { id } };
  const wanted = {
    returnId: returnId.trim(),
    ...(amountCents > 0 ? { amountCents } : {}),
    ...(at === '' ? {} : { at: new Date(at).toISOString() }),
  };
  const changed = (change: () => void) => {
    change();
    setShown(null);
  };
  const look = useAction(async () => {
    setShown(await ask(() => desk.POST('/payments/{id}/return/acts', { params, body: wanted })));
  });
  const book = useAction(
    async () => {
      if (shown === null) return;
      const body = { ...wanted, reason: reason.trim(), shown: shown.shown };
      const { requestId } = await ask(() => desk.POST('/payments/{id}/return', { params, body }));
      setEnd(requestId === null ? 'done' : 'asked');
    },
    { rereads: [[deskKey]] },
  );
  if (end === 'asked') return <AskedNote text={words.decide.asked} />;
  if (end === 'done')
    return (
      <Alert color="green" variant="light" icon={<Icon name="check" />}>
        {words.returned.done}
      </Alert>
    );
  return (
    <form className="stack narrow" onSubmit={shown === null ? look.submit : book.submit}>
      <TextInput
        label={words.returned.id}
        value={returnId}
        maxLength={32}
        onChange={(event) => changed(() => setReturnId(event.currentTarget.value))}
      />
      <MoneyInput
        label={words.returned.amount}
        cents={amountCents}
        onCents={(cents) => changed(() => setAmount(cents))}
      />
      <TextInput
        type="datetime-local"
        step={1}
        label={words.returned.at}
        value={at}
        onChange={(event) => changed(() => setAt(event.currentTarget.value))}
      />
      <ReasonField label={words.decide.why} value={reason} onText={setReason} />
      {shown !== null && <Planned postings={shown.postings} />}
      <FormError error={look.error ?? book.error} />
      <Button
        type="submit"
        loading={look.busy || book.busy}
        disabled={returnId.trim() === '' || reason.trim().length < 5}
        style={{ alignSelf: 'start' }}
      >
        {shown === null ? words.returned.look : shown.alone ? words.returned.confirm : words.decide.request}
      </Button>
    </form>
  );
}
