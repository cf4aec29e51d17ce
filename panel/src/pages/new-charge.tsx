import { Button, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, type Payment } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAmountRange } from '../ui/amount-range.ts';
import { ChargeCode } from '../ui/charge-code.tsx';
import { Choice } from '../ui/choice.tsx';
import { useNewForm } from '../ui/new-form.ts';
import { OperationField } from '../ui/operation-field.tsx';
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
      <form className="card stack narrow" onSubmit={form.submit} onInvalid={form.lacking}>
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
        <Choice
          label={words.charges.life}
          data={lives.map((value) => ({ value, label: words.charges.lives[value] }))}
          value={form.life}
          onChoice={(value) => form.setLife(value as Life)}
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

/** Minutes; `usual`: as the installation is set. */
const lives = ['usual', '15', '60', '1440', '4320', '10080'] as const;
type Life = (typeof lives)[number];

/** The content of the form, its submission, and the new charge. */
function useChargeForm() {
  const words = useWords();
  const { api, account } = useScope();
  const [cents, setCents] = useState(0);
  const [payerName, setPayerName] = useState('');
  const [description, setDescription] = useState('');
  const [life, setLife] = useState<Life>('usual');
  const [made, setMade] = useState<Payment | null>(null);
  const { outside, range } = useAmountRange(cents);
  const form = useNewForm({
    async make({ requestKey, headers }) {
      const body = {
        ...{ amountCents: cents, payerName, description, requestKey },
        ...(life !== 'usual' && { expiresInMinutes: Number(life) }),
      };
      setMade(await ask(() => api.POST('/pix/charges', { body, headers })));
    },
    rereads: [[account.id]],
    lacks: cents === 0 || outside,
  });
  const amountError = outside ? range : form.sent && cents === 0 ? words.common.amountMissing : null;

  function another() {
    setMade(null);
    setCents(0);
    setPayerName('');
    setDescription('');
    setLife('usual');
    form.again();
  }

  return {
    ...form,
    ...{ cents, setCents, range, amountError, payerName, setPayerName },
    ...{ description, setDescription, life, setLife, made, another },
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
