import { Button, NumberInput, TextInput } from '@mantine/core';
import { estimates } from '../due-estimate.ts';
import { money, plainDay } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Choice } from './choice.tsx';
import { MoneyInput } from './parts.tsx';

const partTypes = ['none', 'percent', 'fixed'] as const;
const interestTypes = ['none', 'percent_month', 'percent_day', 'fixed_day'] as const;
const interestDays = ['calendar', 'working'] as const;
const discountsMost = 3;
export const daysAheadMost = 2 * 365;

/** A part of the amount; a value of zero is one that was not typed. */
interface PartFields {
  type: (typeof partTypes)[number];
  value: number;
}

/** Amount and terms of a charge with a due date, as forms have them. */
export const emptyTerms = {
  cents: 0,
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
export type TermFields = typeof emptyTerms;
type Set = (some: Partial<TermFields>) => void;

const partOf = ({ type, value }: PartFields) => (type === 'none' || value === 0 ? null : { type, value });

/** The terms as the request has them; what is not there is null. */
export function termsOf({ fine, interest, discount, rebate, validAfterDue, dueDate, cents }: TermFields) {
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

/** The parts that are added and taken off, and on which days. */
export function Terms({ fields, set }: { fields: TermFields; set: Set }) {
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

function Discounts({ fields, set }: { fields: TermFields; set: Set }) {
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
export function Estimate({ fields }: { fields: TermFields }) {
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
