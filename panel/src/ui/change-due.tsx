import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ask } from '../api/client.ts';
import { addDays, dayOf, money, plainDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { useAmountRange } from './amount-range.ts';
import { Dialog } from './dialog.tsx';
import type { DueCharge } from './due.tsx';
import { daysAheadMost, Estimate, emptyTerms, type TermFields, Terms, termsOf } from './due-terms.tsx';
import { Fact, FormError, MoneyInput } from './parts.tsx';

const fieldsOf = ({ amountCents, dueDate, dueTerms }: DueCharge): TermFields => {
  const { validAfterDue, fine, interest, discounts, rebate } = dueTerms;
  const [first] = discounts;
  return {
    ...{ cents: amountCents, dueDate, validAfterDue },
    fine: fine ?? emptyTerms.fine,
    interest: interest ?? emptyTerms.interest,
    discount: first
      ? { type: first.type, dates: discounts.map(({ until, value }) => ({ until, value })) }
      : emptyTerms.discount,
    rebate: rebate ?? emptyTerms.rebate,
  };
};

type Asked = ReturnType<typeof termsOf>;

/** The members that are others than before: what is left out stays. */
function changedOf(before: Asked, after: Asked): Partial<Asked> {
  const names = Object.keys(after) as (keyof Asked)[];
  const changed = names.filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** The button that gives an open charge another amount, day or terms. Sent again after a lost answer it is the same change. */
export function ChangeDue({ charge }: { charge: DueCharge }) {
  const words = useWords();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {words.due.change}
      </Button>
      {asking && (
        <Dialog opened title={words.due.changeTitle} close={() => setAsking(false)} size="lg">
          <ChangeForm charge={charge} close={() => setAsking(false)} />
        </Dialog>
      )}
    </>
  );
}

function ChangeForm({ charge, close }: { charge: DueCharge; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  // As it was when the form was opened: news that come meanwhile change no field under a person's hands.
  const [start] = useState(() => fieldsOf(charge));
  const [fields, setFields] = useState(start);
  const set = (some: Partial<TermFields>) => setFields((before) => ({ ...before, ...some }));
  const before = termsOf(start);
  const changed = changedOf(before, termsOf(fields));
  const { outside, range } = useAmountRange(fields.cents);
  const change = useAction(
    async () => {
      const path = { id: charge.id };
      await ask(() => api.PATCH('/pix/due-charges/{id}', { params: { path }, body: changed }));
      close();
    },
    { rereads: [[account.id]] },
  );
  const isAmount = fields.cents > 0 && !(changed.amountCents !== undefined && outside);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (isAmount) change.run();
  }
  const today = dayOf(new Date());
  return (
    <form className="stack" onSubmit={submit}>
      <p className="soft" style={{ margin: 0 }}>
        {words.due.changeLead}
      </p>
      <MoneyInput
        label={words.common.amount}
        description={range}
        cents={fields.cents}
        onCents={(cents) => set({ cents })}
        error={isAmount ? null : range}
      />
      <TextInput
        type="date"
        label={words.due.dueDate}
        required
        withAsterisk={false}
        // A charge that is overdue keeps its day until it gets another one.
        min={fields.dueDate === start.dueDate ? start.dueDate : today}
        max={addDays(today, daysAheadMost)}
        value={fields.dueDate}
        onChange={(event) => set({ dueDate: event.currentTarget.value })}
      />
      <details className="technical">
        <summary>{words.due.terms}</summary>
        <Terms fields={fields} set={set} />
      </details>
      <Preview before={before} changed={changed} />
      <Estimate fields={fields} />
      <FormError error={change.error} />
      <Button type="submit" loading={change.busy} disabled={Object.keys(changed).length === 0}>
        {words.due.changeConfirm}
      </Button>
    </form>
  );
}

/** The members that will be others: amount and days with both values, the other terms by their names. */
function Preview({ before, changed }: { before: Asked; changed: Partial<Asked> }) {
  const words = useWords();
  const { amountCents, dueDate, validAfterDue } = changed;
  const names = { fine: words.due.fine, interest: words.due.interest, rebate: words.due.rebate };
  const others = [
    ...(Object.keys(names) as (keyof typeof names)[])
      .filter((name) => changed[name] !== undefined)
      .map((name) => [names[name], changed[name] === null] as const),
    ...(changed.discounts ? [[words.due.discount, changed.discounts.length === 0] as const] : []),
  ];
  if (Object.keys(changed).length === 0) return null;
  return (
    <dl className="facts" data-testid="due-preview">
      {amountCents !== undefined && (
        <Fact name={words.common.amount}>
          {words.due.fromTo(money(before.amountCents), money(amountCents))}
        </Fact>
      )}
      {dueDate !== undefined && dueDate !== '' && (
        <Fact name={words.due.dueDate}>{words.due.fromTo(plainDay(before.dueDate), plainDay(dueDate))}</Fact>
      )}
      {validAfterDue !== undefined && (
        <Fact name={words.due.payable}>
          {words.due.fromTo(words.due.lateDays(before.validAfterDue), words.due.lateDays(validAfterDue))}
        </Fact>
      )}
      {others.map(([name, isGone]) => (
        <Fact key={name} name={name}>
          {isGone ? words.due.takenAway : words.due.another}
        </Fact>
      ))}
    </dl>
  );
}
