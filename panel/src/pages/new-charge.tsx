import { Button, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { ask, type Payment } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { useAmountRange } from '../ui/amount-range.ts';
import { ChargeCode } from '../ui/charge-code.tsx';
import { OperationField, useArrivedOperation, useStartOperation } from '../ui/operation-field.tsx';
import { FormError, MoneyInput, PageHead } from '../ui/parts.tsx';

export function NewCharge() {
  const words = useWords();
  const form = useChargeForm();
  if (form.made) {
    return (
      <>
        <PageHead title={words.detail.charge} back={{ to: '/cobrancas', label: words.charges.title }} />
        <MadeCharge id={form.made.id} another={form.another} />
      </>
    );
  }
  return (
    <>
      <PageHead title={words.charges.new} back={{ to: '/cobrancas', label: words.charges.title }} />
      <form className="card stack narrow" onSubmit={form.submit}>
        <MoneyInput
          ref={form.amount}
          label={words.common.amount}
          description={form.range}
          autoFocus
          cents={form.cents}
          onCents={form.setCents}
          error={form.amountError}
        />
        <TextInput
          label={words.charges.payer}
          placeholder={words.charges.payerHint}
          minLength={2}
          maxLength={100}
          required
          withAsterisk={false}
          autoComplete="off"
          value={form.payerName}
          onChange={(event) => form.setPayerName(event.currentTarget.value)}
        />
        <TextInput
          label={`${words.common.description} (${words.common.optional})`}
          maxLength={200}
          autoComplete="off"
          value={form.description}
          onChange={(event) => form.setDescription(event.currentTarget.value)}
        />
        <OperationField value={form.operation} onValue={form.chooseOperation} />
        <FormError error={form.create.error} />
        <Button type="submit" size="md" loading={form.create.busy}>
          {words.charges.create}
        </Button>
      </form>
    </>
  );
}

/** The content of the form, its submission, and the new charge. */
function useChargeForm() {
  const words = useWords();
  const { api, account, operationId } = useScope();
  const start = useStartOperation(operationId);
  const [chosen, setChosen] = useState<string | null>(null);
  const operation = chosen ?? start;
  const [cents, setCents] = useState(0);
  const [payerName, setPayerName] = useState('');
  const [description, setDescription] = useState('');
  // One for this form, whatever happens on the way: a repeat finds the charge that was made.
  const [requestKey, setRequestKey] = useState(() => crypto.randomUUID());
  const [made, setMade] = useState<Payment | null>(null);
  const { outside, range } = useAmountRange(cents);

  const amount = useRef<HTMLInputElement>(null);
  const [sent, setSent] = useState(false);
  const amountError = outside ? range : sent && cents === 0 ? words.common.amountMissing : null;

  const arrived = useArrivedOperation();
  const create = useAction(
    async () => {
      const target = await arrived(operation);
      const payment = await ask(() =>
        api.POST('/pix/charges', {
          body: { amountCents: cents, payerName, description, requestKey },
          headers: { 'x-service-operation': target },
        }),
      );
      setMade(payment);
    },
    { rereads: [[account.id]] },
  );

  /** Enter shows validation errors even while the button is disabled. */
  function submit(event: FormEvent) {
    event.preventDefault();
    setSent(true);
    if (cents === 0 || outside) amount.current?.focus();
    else create.run();
  }

  function another() {
    setMade(null);
    setCents(0);
    setPayerName('');
    setDescription('');
    setRequestKey(crypto.randomUUID());
    setSent(false);
  }

  return {
    operation,
    chooseOperation: setChosen,
    cents,
    setCents,
    /** The field of the amount. */
    amount,
    range,
    amountError,
    payerName,
    setPayerName,
    description,
    setDescription,
    create,
    submit,
    made,
    another,
  };
}

function MadeCharge({ id, another }: { id: string; another: () => void }) {
  const words = useWords();
  return (
    <div className="card narrow">
      <ChargeCode id={id} />
      <div style={{ display: 'flex', gap: 10, marginTop: 20, flexWrap: 'wrap', justifyContent: 'center' }}>
        <Button variant="default" onClick={another}>
          {words.charges.another}
        </Button>
        <Button variant="subtle" component={Link} to={`/pagamentos/${id}`}>
          {words.charges.detail}
        </Button>
      </div>
    </div>
  );
}
