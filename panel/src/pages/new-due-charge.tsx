import { Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { ask, Problem } from '../api/client.ts';
import { estimates } from '../due-estimate.ts';
import { addDays, dayOf, money, plainDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { useAmountRange } from '../ui/amount-range.ts';
import { Choice } from '../ui/choice.tsx';
import { OperationField, useArrivedOperation, useStartOperation } from '../ui/operation-field.tsx';
import { FormError, MoneyInput, PageHead } from '../ui/parts.tsx';

const partTypes = ['none', 'percent', 'fixed'] as const;
const interestTypes = ['none', 'percent_month', 'percent_day', 'fixed_day'] as const;
const interestDays = ['calendar', 'working'] as const;
const discountsMost = 3;
const daysAheadMost = 2 * 365;

/** A part of the amount; a value of zero is one that was not typed. */
interface PartFields {
  type: (typeof partTypes)[number];
  value: number;
}

/** The content of the form. */
const empty = {
  cents: 0,
  name: '',
  document: '',
  email: '',
  reminders: false,
  description: '',
  dueDate: '',
  validAfterDue: 30,
  fine: { type: 'none', value: 0 } as PartFields,
  interest: {
    type: 'none' as (typeof interestTypes)[number],
    value: 0,
    days: 'calendar' as (typeof interestDays)[number],
  },
  discount: { type: 'none' as PartFields['type'], dates: [{ until: '', value: 0 }] },
  rebate: { type: 'none', value: 0 } as PartFields,
};
type Fields = typeof empty;
type Set = (some: Partial<Fields>) => void;

const partOf = ({ type, value }: PartFields) => (type === 'none' || value === 0 ? null : { type, value });

/** The terms as the request has them; what is not there is null. */
function termsOf({ fine, interest, discount, rebate, validAfterDue, dueDate, cents }: Fields) {
  const { type, dates } = discount;
  return {
    ...{ amountCents: cents, dueDate, validAfterDue, fine: partOf(fine), rebate: partOf(rebate) },
    interest: interest.type === 'none' || interest.value === 0 ? null : { ...interest, type: interest.type },
    discounts:
      type === 'none'
        ? []
        : dates.flatMap(({ until, value }) => (until === '' || value === 0 ? [] : [{ until, type, value }])),
  };
}

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

/** The parts that are added and taken off, and on which days. */
function Terms({ fields, set }: { fields: Fields; set: Set }) {
  const words = useWords();
  const { interest } = fields;
  return (
    <div className="stack">
      <PartField label={words.due.fine} part={fields.fine} onPart={(fine) => set({ fine })} />
      <div className="fieldpair">
        <Choice
          label={words.due.interest}
          data={interestTypes.map((value) => ({
            value,
            label: value === 'none' ? words.due.none : words.due.interestKinds[value],
          }))}
          value={interest.type}
          onChoice={(value) =>
            set({ interest: { ...interest, type: interestTypes.find((one) => one === value) ?? 'none' } })
          }
        />
        {interest.type !== 'none' && (
          <MoneyInput
            label={words.due.value(words.due.interest)}
            unit={interest.type === 'fixed_day' ? 'R$' : '%'}
            cents={interest.value}
            onCents={(value) => set({ interest: { ...interest, value } })}
          />
        )}
        {interest.type !== 'none' && (
          <Choice
            label={words.due.daysLabel}
            data={interestDays.map((value) => ({ value, label: words.due.days[value] }))}
            value={interest.days}
            onChoice={(value) =>
              set({ interest: { ...interest, days: value === 'working' ? 'working' : 'calendar' } })
            }
          />
        )}
      </div>
      <Discounts fields={fields} set={set} />
      <PartField label={words.due.rebate} part={fields.rebate} onPart={(rebate) => set({ rebate })} />
      <NumberInput
        label={words.due.validAfterDue}
        min={0}
        max={365}
        hideControls
        required
        withAsterisk={false}
        allowDecimal={false}
        allowNegative={false}
        value={fields.validAfterDue}
        onChange={(value) => set({ validAfterDue: Number(value) })}
      />
    </div>
  );
}

function TypeChoice({
  label,
  type,
  onType,
}: {
  label: string;
  type: PartFields['type'];
  onType: (type: PartFields['type']) => void;
}) {
  const words = useWords();
  return (
    <Choice
      label={label}
      data={partTypes.map((value) => ({
        value,
        label: value === 'none' ? words.due.none : words.due.kinds[value],
      }))}
      value={type}
      onChoice={(value) => onType(partTypes.find((one) => one === value) ?? 'none')}
    />
  );
}

function PartField({
  label,
  part,
  onPart,
}: {
  label: string;
  part: PartFields;
  onPart: (part: PartFields) => void;
}) {
  const words = useWords();
  return (
    <div className="fieldpair">
      <TypeChoice label={label} type={part.type} onType={(type) => onPart({ ...part, type })} />
      {part.type !== 'none' && (
        <MoneyInput
          label={words.due.value(label)}
          unit={part.type === 'fixed' ? 'R$' : '%'}
          cents={part.value}
          onCents={(value) => onPart({ ...part, value })}
        />
      )}
    </div>
  );
}

function Discounts({ fields, set }: { fields: Fields; set: Set }) {
  const words = useWords();
  const { type, dates } = fields.discount;
  const change = (at: number, some: Partial<(typeof dates)[number]>) =>
    set({ discount: { type, dates: dates.map((one, place) => (place === at ? { ...one, ...some } : one)) } });
  return (
    <div className="field">
      <TypeChoice
        label={words.due.discount}
        type={type}
        onType={(chosen) => set({ discount: { type: chosen, dates } })}
      />
      {type !== 'none' &&
        dates.map(({ until, value }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a discount is its place, nothing else names it
          <div className="fieldpair" key={at}>
            <TextInput
              type="date"
              label={words.due.until(at + 1)}
              {...(fields.dueDate !== '' && { max: fields.dueDate })}
              value={until}
              onChange={(event) => change(at, { until: event.currentTarget.value })}
            />
            <MoneyInput
              label={words.due.ofDay(at + 1)}
              unit={type === 'fixed' ? 'R$' : '%'}
              cents={value}
              onCents={(cents) => change(at, { value: cents })}
            />
          </div>
        ))}
      {type !== 'none' && dates.length < discountsMost && (
        <Button
          variant="default"
          onClick={() => set({ discount: { type, dates: [...dates, { until: '', value: 0 }] } })}
        >
          {words.due.moreDiscount}
        </Button>
      )}
    </div>
  );
}

/** The amount that the payer probably pays on which day, where the terms change it. */
function Estimate({ fields }: { fields: Fields }) {
  const words = useWords();
  const terms = termsOf(fields);
  const changes = terms.fine || terms.interest || terms.rebate || terms.discounts.length > 0;
  if (fields.cents === 0 || fields.dueDate === '' || !changes) return null;
  return (
    <section aria-labelledby="estimate">
      <h2 id="estimate" style={{ fontSize: 16, margin: 0 }}>
        {words.due.estimate}
      </h2>
      <p className="soft" style={{ margin: '4px 0 8px', fontSize: 14 }}>
        {words.due.estimateHint}
      </p>
      <table className="table dense">
        <thead>
          <tr>
            <th scope="col">{words.due.day}</th>
            <th scope="col" className="right">
              {words.common.amount}
            </th>
          </tr>
        </thead>
        <tbody>
          {estimates(terms).map(({ day, cents }) => (
            <tr key={day}>
              <td className="num">{plainDay(day)}</td>
              <td className="right num">{money(cents)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
