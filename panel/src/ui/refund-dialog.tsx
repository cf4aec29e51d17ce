import { Alert, Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ask, Problem, type RecordView, type Refunds } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { FormError, MoneyInput } from './parts.tsx';

/** How much of a charge goes back to its payer. */
export function AskForRefund({
  charge,
  leftCents,
  refundFees,
  requestKey,
  settled,
  close,
}: {
  charge: RecordView;
  leftCents: number;
  refundFees: Refunds['refundFees'];
  requestKey: string;
  /** The service has decided: what is asked for next is another refund. */
  settled: () => void;
  close: () => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const [cents, setCents] = useState(leftCents);
  const [description, setDescription] = useState('');
  const give = useAction(
    async () => {
      try {
        await ask(() =>
          api.POST('/records/{id}/refunds', {
            params: { path: { id: charge.id } },
            body: { amountCents: cents, description, requestKey },
          }),
        );
        settled();
        close();
      } catch (problem) {
        if (problem instanceof Problem && problem.status >= 400 && problem.status < 500) settled();
        throw problem;
      }
    },
    { rereads: [[account.id]] },
  );
  return (
    <Dialog opened title={words.refund.dialogTitle} close={close}>
      <form className="stack" onSubmit={give.submit}>
        <p style={{ margin: 0 }}>
          {charge.paymentMethod === 'card'
            ? words.card.refundLead
            : words.refund.lead(charge.payerName ?? '')}
        </p>
        <MoneyInput
          data-autofocus
          label={words.common.amount}
          description={words.refund.most(money(leftCents))}
          cents={cents}
          onCents={setCents}
          error={cents > leftCents ? words.refund.tooMuch : null}
        />
        <TextInput
          label={`${words.refund.message} (${words.common.optional})`}
          maxLength={140}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {`${words.refund.final} ${words.refund.fees[refundFees]}`}
        </Alert>
        <FormError error={give.error} />
        <Button type="submit" loading={give.busy} disabled={cents === 0 || cents > leftCents}>
          {words.refund.give(money(cents))}
        </Button>
      </form>
    </Dialog>
  );
}
