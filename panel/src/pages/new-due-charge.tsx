import { Button, Checkbox, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, Problem } from '../api/client.ts';
import { addDays, dayOf } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAmountRange } from '../ui/amount-range.ts';
import { daysAheadMost, Estimate, emptyTerms, Terms, termsOf } from '../ui/due-terms.tsx';
import { useNewForm } from '../ui/new-form.ts';
import { OperationField } from '../ui/operation-field.tsx';
import { FormError, MoneyInput, PageHead } from '../ui/parts.tsx';

/** The content of the form. */
const empty = { ...emptyTerms, name: '', document: '', email: '', reminders: false, description: '' };
type Fields = typeof empty;
type Set = (some: Partial<Fields>) => void;

function bodyOf(fields: Fields, requestKey: string) {
  const { fine, interest, rebate, ...terms } = termsOf(fields);
  const { name, document, email, reminders, description } = fields;
  return {
    ...terms,
    ...(fine && { fine }),
    ...(interest && { interest }),
    ...(rebate && { rebate }),
    payer: { name, document, ...(email !== '' && { email }) },
    ...(email !== '' && reminders && { reminders }),
    ...(description !== '' && { description }),
    requestKey,
  };
}

export function NewDueCharge() {
  const words = useWords();
  const { api, account } = useScope();
  const navigate = useNavigate();
  const [fields, setFields] = useState(empty);
  const set: Set = (some) => setFields((before) => ({ ...before, ...some }));
  const { outside, range } = useAmountRange(fields.cents);
  const form = useNewForm({
    async make({ requestKey, headers }) {
      const body = bodyOf(fields, requestKey);
      const { id } = await ask(() => api.POST('/pix/due-charges', { body, headers }));
      await navigate({ to: '/pagamentos/$id', params: { id }, replace: true });
    },
    rereads: [[account.id]],
    lacks: fields.cents === 0 || outside,
  });

  const amountError = outside ? range : form.sent && fields.cents === 0 ? words.common.amountMissing : null;
  return (
    <>
      <PageHead title={words.due.new} back={{ to: '/cobrancas', label: words.charges.title }} />
      <form className="card stack narrow" onSubmit={form.submit} onInvalid={form.lacking}>
        <p className="soft" style={{ margin: 0 }}>
          {words.due.lead}
        </p>
        <MoneyInput
          ref={form.amount}
          label={words.common.amount}
          description={range}
          autoFocus
          cents={fields.cents}
          onCents={(cents) => set({ cents })}
          error={amountError}
        />
        <PayerFields fields={fields} set={set} error={form.create.error} />
        <TextInput
          type="date"
          label={words.due.dueDate}
          required
          withAsterisk={false}
          min={dayOf(new Date())}
          max={addDays(dayOf(new Date()), daysAheadMost)}
          value={fields.dueDate}
          onChange={(event) => set({ dueDate: event.currentTarget.value })}
        />
        <TextInput
          label={`${words.common.description} (${words.common.optional})`}
          maxLength={140}
          autoComplete="off"
          value={fields.description}
          onChange={(event) => set({ description: event.currentTarget.value })}
        />
        <details className="technical">
          <summary>{words.due.terms}</summary>
          <Terms fields={fields} set={set} />
        </details>
        <Estimate fields={fields} />
        <OperationField value={form.operation} onValue={form.chooseOperation} />
        <FormError error={form.create.error} />
        <Button type="submit" size="md" loading={form.create.busy}>
          {words.charges.create}
        </Button>
      </form>
    </>
  );
}

function PayerFields({ fields, set, error }: { fields: Fields; set: Set; error: unknown }) {
  const words = useWords();
  const isWrong = documentIsWrong(error);
  return (
    <>
      <TextInput
        label={words.charges.payer}
        placeholder={words.charges.payerHint}
        minLength={2}
        maxLength={100}
        required
        withAsterisk={false}
        autoComplete="off"
        value={fields.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TextInput
        label={words.due.document}
        description={words.due.documentHint}
        minLength={11}
        maxLength={18}
        required
        withAsterisk={false}
        autoComplete="off"
        value={fields.document}
        onChange={(event) => set({ document: event.currentTarget.value.trim() })}
        error={isWrong ? words.due.documentWrong : null}
      />
      <TextInput
        type="email"
        label={`${words.due.email} (${words.common.optional})`}
        maxLength={200}
        autoComplete="off"
        value={fields.email}
        onChange={(event) => set({ email: event.currentTarget.value.trim() })}
      />
      {fields.email !== '' && (
        <Checkbox
          label={words.due.reminders}
          description={words.due.remindersHint}
          checked={fields.reminders}
          onChange={(event) => set({ reminders: event.currentTarget.checked })}
        />
      )}
    </>
  );
}

const documentIsWrong = (error: unknown): boolean =>
  error instanceof Problem && error.details.some(({ field }) => field === 'payer.document');
