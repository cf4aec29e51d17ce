import { expect, test } from 'vitest';
import { nextReminder } from './reminder-times.ts';

const at = (text: string): number => Date.parse(text);
const terms = { dueDate: '2027-03-02', validAfterDue: 30 };

test.each<[string, number, string, string | null]>([
  ['long before', 30, '2027-01-01T00:00:00Z', '2027-02-27T12:00:00Z'],
  ['at the first moment itself', 30, '2027-02-27T12:00:00Z', '2027-03-02T12:00:00Z'],
  ['on the evening before the due date', 30, '2027-03-01T23:00:00-03:00', '2027-03-02T12:00:00Z'],
  ['on the due date after nine', 30, '2027-03-02T12:00:01Z', '2027-03-05T12:00:00Z'],
  ['on the due date, where it is paid that day or never', 0, '2027-03-02T12:00:01Z', null],
  ['on the due date, where two more days are left', 2, '2027-03-02T12:00:01Z', null],
  ['after the third day', 30, '2027-03-05T12:00:00Z', null],
])(
  'A reminder comes three days before, on the day or three days after, while the charge can be paid: %s',
  (_name, validAfterDue, now, expected) => {
    const next = nextReminder({ ...terms, validAfterDue }, at(now));
    expect(next).toBe(expected === null ? null : at(expected));
  },
);
