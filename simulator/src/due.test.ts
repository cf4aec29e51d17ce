import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDue, emptyDueList, nextDueAt, takeDue } from './due.ts';

test('what is due comes in order of time, equal times in order of arrival, and nothing comes early', () => {
  const times = fc.array(fc.integer({ min: 0, max: 20 }));
  fc.assert(
    fc.property(times, fc.array(fc.integer({ min: 0, max: 25 })), (added, looks) => {
      const list = emptyDueList<{ at: number; n: number }>();
      added.forEach((at, n) => {
        addDue(list, at, { at, n });
      });
      const left = added.map((at, n) => ({ at, n })).sort((a, b) => a.at - b.at || a.n - b.n);
      for (const now of looks.sort((a, b) => a - b)) {
        expect(nextDueAt(list)).toBe(left[0]?.at);
        const due = left.filter((one) => one.at <= now);
        expect(takeDue(list, now)).toEqual(due);
        left.splice(0, due.length);
      }
    }),
  );
});
