import { expect, test } from 'vitest';
import { closedDays, dayOf, linesOfReport, nextPlace } from './day-reports.ts';

const brasilia = -3 * 3_600_000;
const at = (text: string): number => Date.parse(text);

test('a day begins and ends at midnight of the provider', () => {
  expect(dayOf(at('2026-11-21T02:59:59.999Z'), brasilia)).toBe('2026-11-20');
  expect(dayOf(at('2026-11-21T03:00:00Z'), brasilia)).toBe('2026-11-21');
});

test('the days of a window are those that are over', () => {
  const window = { fromMs: at('2026-11-19T12:00:00Z'), toMs: at('2026-11-21T12:00:00Z') };
  expect(closedDays(window, at('2026-11-21T12:00:00Z'), brasilia)).toEqual(['2026-11-19', '2026-11-20']);
  expect(closedDays(window, at('2026-11-21T02:59:59Z'), brasilia)).toEqual(['2026-11-19']);
  const hour = { fromMs: at('2026-11-21T12:00:00Z'), toMs: at('2026-11-21T13:00:00Z') };
  expect(closedDays(hour, at('2026-11-21T13:00:00Z'), brasilia)).toEqual([]);
  expect(closedDays(hour, at('2026-11-30T00:00:00Z'), brasilia)).toEqual(['2026-11-21']);
});

test('records without an id are one line for a person', () => {
  const returns = [{ id: 'D1', rtrId: 'D1', endToEnd: 'E1', amountCents: 100 }];
  const lines = linesOfReport('2026-11-20', brasilia, { outcome: 'ready', returns, unreadable: 2 });
  const moved = at('2026-11-21T02:59:59.999Z');
  expect(lines).toEqual([
    {
      id: 'D1',
      rtrId: 'D1',
      endToEnd: 'E1',
      amountCents: 100,
      kind: 'reported',
      providerId: null,
      at: moved,
    },
    {
      id: '2026-11-20: 2 records without an id',
      rtrId: null,
      endToEnd: null,
      amountCents: null,
      kind: 'reported',
      providerId: null,
      at: moved,
    },
  ]);
});

test('a report that stays pending is requested again after an hour; one that never comes is given up after a day', () => {
  const hourMs = 3_600_000;
  const since = at('2026-11-21T04:00:00Z');
  const asked = { day: '2026-11-20', reportId: 'r1', since, requestedAt: since };
  const pending = (afterMs: number) => nextPlace(asked, { outcome: 'pending' }, since + afterMs);
  expect(pending(hourMs - 1).place).toEqual(asked);
  expect(pending(hourMs).place).toEqual({ ...asked, reportId: null });
  expect(pending(24 * hourMs - 1)).toMatchObject({ place: { day: '2026-11-20' }, unread: null });
  const next = { day: '2026-11-21', reportId: null, since: null, requestedAt: null };
  expect(pending(24 * hourMs)).toMatchObject({ place: next, unread: 'it was not ready in a day' });
  const refused = { outcome: 'unclear', cause: 'unknownRefusal', detail: '403', retryAfterMs: null } as const;
  expect(nextPlace(asked, refused, since + 24 * hourMs)).toMatchObject({ place: next, unread: '403' });
  expect(nextPlace({ ...next, day: '2026-11-20' }, refused, since).place.since).toBe(since);
  // One that comes late is still read.
  const ready = { outcome: 'ready' as const, returns: [], unreadable: 0 };
  expect(nextPlace(asked, ready, since + 48 * hourMs)).toMatchObject({ place: next, unread: null });
});
