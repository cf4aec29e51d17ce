import { Button, Checkbox, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { ask, Problem } from '../api/client.ts';
import { addDays, dayOf } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { useAmountRange } from '../ui/amount-range.ts';
import { daysAheadMost, Estimate, emptyTerms, Terms, termsOf } from '../ui/due-terms.tsx';
import { OperationField, useArrivedOperation, useStartOperation } from '../ui/operation-field.tsx';
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
  const { api, account, operationId } = useScope();
  const navigate = useNavigate();
  const start = useStartOperation(operationId);
  const [chosen, setChosen] = useState<string | null>(null);
  const operation = chosen ?? start;
  const [fields, setFields] = useState(empty);
  const set: Set = (some) => setFields((before) => ({ ...before, ...some }));
  // One for this form, whatever happens on the way: a repeat finds the charge that was made.
  const [requestKey] = useState(() => crypto.randomUUID());
  const [sent, setSent] = useState(false);
  const amount = useRef<HTMLInputElement>(null);
  const { outside, range } = useAmountRange(fields.cents);

  const arrived = useArrivedOperation();
  const create = useAction(
    async () => {
      const target = await arrived(operation);
      const { id } = await ask(() =>
        api.POST('/pix/due-charges', {
          body: bodyOf(fields, requestKey),
          headers: { 'x-service-operation': target },
        }),
      );
      await navigate({ to: '/pagamentos/$id', params: { id }, replace: true });
    },
    { rereads: [[account.id]] },
  );

  function submit(event: FormEvent) {
    event.preventDefault();
    setSent(true);
    if (fields.cents === 0 || outside) amount.current?.focus();
    else create.run();
  }

  const amountError = outside ? range : sent && fields.cents === 0 ? words.common.amountMissing : null;
  return (
    <>
      <PageHead title={words.due.new} back={{ to: '/cobrancas', label: words.charges.title }} />
      <form className="card stack narrow" onSubmit={submit}>
        <p className="soft" style={{ margin: 0 }}>
          {words.due.lead}
        </p>
        <MoneyInput
          ref={amount}
          label={words.common.amount}
          description={range}
          autoFocus
          cents={fields.cents}
          onCents={(cents) => set({ cents })}
          error={amountError}
        />
        <PayerFields fields={fields} set={set} error={create.error} />
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
          maxLength={200}
          autoComplete="off"
          value={fields.description}
          onChange={(event) => set({ description: event.currentTarget.value })}
        />
        <details className="technical">
          <summary>{words.due.terms}</summary>
          <Terms fields={fields} set={set} />
        </details>
        <Estimate fields={fields} />
        <OperationField value={operation} onValue={setChosen} />
        <FormError error={create.error} />
        <Button type="submit" size="md" loading={create.busy}>
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
