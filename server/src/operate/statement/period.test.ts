import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayOf, localTimeOf, periodOf, startOfDay, withinMonth, zone } from './period.ts';

const iso = (ms: number | null): string => new Date(ms ?? Number.NaN).toISOString();

// tzdata, America/Sao_Paulo: the last summer time ran from 2018-11-04 00:00 to 2019-02-17 00:00.
test.each([
  ['2026-11-22', '2026-11-22T03:00:00.000Z'],
  ['2018-11-03', '2018-11-03T03:00:00.000Z'],
  ['2018-11-04', '2018-11-04T03:00:00.000Z'],
  ['2018-11-05', '2018-11-05T02:00:00.000Z'],
  ['2019-02-16', '2019-02-16T02:00:00.000Z'],
  ['2019-02-17', '2019-02-17T03:00:00.000Z'],
  ['2019-02-18', '2019-02-18T03:00:00.000Z'],
])('the day %s begins at %s', (day, instant) => {
  expect(iso(startOfDay(day))).toBe(instant);
});

test('a day of summer time has 23, 24 or 25 hours, and its range has all of them', () => {
  const hours = (day: string): number => {
    const { fromMs, toMs } = periodOf({ from: day, to: day });
    return ((toMs ?? 0) - (fromMs ?? 0)) / 3600_000;
  };
  expect(['2018-11-03', '2018-11-04', '2019-02-16', '2019-02-17'].map(hours)).toEqual([24, 23, 25, 24]);
});

/** Another way to the local date than the one under test. */
const localDate = new Intl.DateTimeFormat('sv-SE', { timeZone: zone });

test('every instant is in the range of its own day and of no other', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('1970-01-03'), max: new Date('2060-01-01'), noInvalidDate: true }),
      (at) => {
        const day = localDate.format(at);
        expect(dayOf(at.getTime())).toBe(day);
        const { fromMs, toMs } = periodOf({ from: day, to: day });
        expect(at.getTime()).toBeGreaterThanOrEqual(fromMs ?? Number.NaN);
        expect(at.getTime()).toBeLessThan(toMs ?? Number.NaN);
        expect(Date.parse(localTimeOf(at.getTime()))).toBe(at.getTime());
      },
    ),
    { numRuns: 2_000 },
  );
});

test('days follow each other without a gap, across every change of offset', () => {
  let day = '1985-01-01';
  let start = startOfDay(day);
  while (day < '2021-01-01') {
    const next = new Date(Date.parse(`${day}T00:00:00Z`) + 24 * 3600_000).toISOString().slice(0, 10);
    expect(startOfDay(day, 1)).toBe(startOfDay(next));
    expect([dayOf(start - 1) < day, dayOf(start)]).toEqual([true, day]);
    [day, start] = [next, startOfDay(next)];
  }
});

test('times have an offset, and `to` is before its time', () => {
  expect(periodOf({ from: '2026-11-01T00:00:00-03:00', to: '2026-11-01T06:30:00Z' })).toEqual({
    fromMs: Date.parse('2026-11-01T03:00:00Z'),
    toMs: Date.parse('2026-11-01T06:30:00Z'),
  });
  expect(localTimeOf(Date.parse('2019-01-10T02:00:00.007Z'))).toBe('2019-01-10T00:00:00.007-02:00');
});

test.each([
  '',
  'today',
  '2026-13-01',
  '2026-02-30',
  '2026-1-1',
  '20261101',
  '2026-11-01T00:00:00',
  '2026-02-30T00:00:00Z',
  '2026-11-01T25:00:00Z',
  '2026-11-01 00:00:00Z',
  '+002026-11-01',
])('%j is neither a day nor a time', (text) => {
  expect(() => periodOf({ from: text })).toThrow(
    expect.objectContaining({ options: { details: [{ field: 'from', code: 'not_a_day_or_time' }] } }),
  );
});

test.each([
  ['2026-11-02', '2026-11-01'],
  ['2026-11-01T10:00:00Z', '2026-11-01T10:00:00Z'],
  ['2026-11-02', '2026-11-02T03:00:00Z'],
])('from %s to %s is refused', (from, to) => {
  expect(() => periodOf({ from, to })).toThrow(
    expect.objectContaining({ options: { details: [{ field: 'to', code: 'not_after_from' }] } }),
  );
});

test('without a beginning a file has the month of its last moment', () => {
  const now = Date.parse('2026-11-01T02:59:59Z');
  expect(iso(withinMonth(periodOf({}), now).fromMs)).toBe('2026-10-01T03:00:00.000Z');
  expect(iso(withinMonth(periodOf({ to: '2026-02-28' }), now).fromMs)).toBe('2026-02-01T03:00:00.000Z');
  expect(iso(withinMonth(periodOf({ from: '2020-01-01' }), now).fromMs)).toBe('2020-01-01T03:00:00.000Z');
});
