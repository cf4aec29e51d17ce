import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type MergedPage, mergedPage, type Rests } from '../../../panel/src/merged.ts';

interface Row {
  id: string;
  createdAt: string;
}

test('Pages of several operations together are all of their rows once, the newest first, whatever their pages hold', async () => {
  const operation = fc.record({
    times: fc.array(fc.nat(50), { maxLength: 12 }),
    size: fc.integer({ min: 1, max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 4 }), async (operations) => {
      const lists = operations.map(({ times, size }, at) => ({
        size,
        rows: times
          .sort((one, other) => other - one)
          .map(
            (minute, n): Row => ({ id: `${at} ${n}`, createdAt: new Date(minute * 60_000).toISOString() }),
          ),
      }));
      const ids = lists.map((_, at) => String(at));
      const read = async (id: string, cursor: string | null) => {
        const { rows = [], size = 1 } = lists[Number(id)] ?? {};
        const from = Number(cursor ?? 0);
        return {
          rows: rows.slice(from, from + size),
          nextCursor: from + size < rows.length ? String(from + size) : null,
        };
      };
      const shown: Row[] = [];
      let rests: Rests<Row> | null = null;
      do {
        const page: MergedPage<Row> = await mergedPage(ids, rests, read);
        // A page that ends the list may be empty; no other one is.
        expect(page.rows.length > 0 || page.rests === null).toBe(true);
        shown.push(...page.rows);
        rests = page.rests;
      } while (rests !== null);
      const all = lists.flatMap(({ rows }) => rows);
      expect(shown.map(({ id }) => id).sort()).toEqual(all.map(({ id }) => id).sort());
      const times = shown.map(({ createdAt }) => createdAt);
      expect(times).toEqual(times.toSorted().reverse());
    }),
  );
});
