import type { Payment, RecordView } from '../api/client.ts';
import { dayOf, money, plainDay, plainMoney } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Fact, Money } from './parts.tsx';

type Due = Pick<
  Payment,
  'status' | 'amountCents' | 'dueDate' | 'dueTerms' | 'amountPaidCents' | 'components'
>;
export type DueCharge = RecordView & Required<Pick<RecordView, 'dueDate' | 'dueTerms'>>;

export const hasDueDate = (record: RecordView): record is DueCharge =>
  record.dueDate !== undefined && record.dueTerms !== undefined;

type Part = { type: 'fixed' | 'percent'; value: number };

/** When an open charge is due, and that its day is over. */
export function DueMark({ record }: { record: Due }) {
  const words = useWords();
  const { dueDate, status } = record;
  if (dueDate === undefined || (status !== 'pending' && status !== 'unknown')) return null;
  const day = plainDay(dueDate);
  const over = dueDate < dayOf(new Date());
  return (
    <span className={`status ${over ? 'ask' : 'rest'}`}>
      {over ? words.due.overdue(day) : words.due.dueOn(day)}
    </span>
  );
}

const percent = (hundredths: number): string => `${plainMoney(hundredths)} %`;
const partText = ({ type, value }: Part): string => (type === 'fixed' ? money(value) : percent(value));

/** The terms of a charge with a due date as they were asked for, and the parts of its payment as the provider named them. */
export function DueFacts({ payment }: { payment: Due }) {
  const words = useWords();
  const { dueDate, dueTerms, amountCents, amountPaidCents, components } = payment;
  if (dueDate === undefined || dueTerms === undefined) return null;
  const { fine, interest, discounts, rebate, validAfterDue, payerDocument, reminders } = dueTerms;
  return (
    <>
      <Fact name={words.due.document}>
        <span className="mono">{payerDocument}</span>
      </Fact>
      <Fact name={words.due.dueDate}>
        <span className="num">{plainDay(dueDate)}</span>
      </Fact>
      <Fact name={words.due.payable}>{words.due.lateDays(validAfterDue)}</Fact>
      {amountPaidCents !== undefined && (
        <Fact name={words.due.asked}>
          <Money cents={amountCents} />
        </Fact>
      )}
      {fine && <Fact name={words.due.fine}>{words.due.fineOf(partText(fine))}</Fact>}
      {interest && (
        <Fact name={words.due.interest}>
          {words.due.interestOf(
            interest.type === 'fixed_day' ? money(interest.value) : percent(interest.value),
            words.due.each[interest.type],
            words.due.days[interest.days],
          )}
        </Fact>
      )}
      {discounts.map((one) => (
        <Fact key={one.until} name={words.due.discount}>
          {words.due.discountOf(partText(one), plainDay(one.until))}
        </Fact>
      ))}
      {reminders && <Fact name={words.due.reminders}>{words.common.yes}</Fact>}
      {rebate && <Fact name={words.due.rebate}>{words.due.rebateOf(partText(rebate))}</Fact>}
      {components &&
        (['fineCents', 'interestCents', 'discountCents', 'rebateCents'] as const)
          .filter((name) => components[name] > 0)
          .map((name) => (
            <Fact key={name} name={words.due.parts[name]}>
              <Money cents={components[name]} />
            </Fact>
          ))}
    </>
  );
}
