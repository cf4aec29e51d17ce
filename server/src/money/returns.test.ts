import { describe, expect, it } from 'vitest';
import type { NamedReturn } from '../provider/provider.ts';
import { identifyReturns, type KnownReturn } from './returns.ts';

const now = Date.UTC(2026, 10, 20, 15);
const hour = 3_600_000;
const pix = { pix: 'E1', name: 'E1' };

const line = (id: string | null, rtrId: string | null, amountCents = 400, at = now): NamedReturn => ({
  id,
  rtrId,
  amountCents,
  at,
});

/** The record after these reports, one after the other. */
function after(...reports: NamedReturn[][]): KnownReturn[] {
  let known: KnownReturn[] = [];
  for (const report of reports) {
    const found = identifyReturns(pix, report, known);
    const names = new Set(found.map(({ reference }) => reference));
    known = [...known.filter(({ reference }) => !names.has(reference)), ...found];
  }
  return known;
}

describe('a return', () => {
  it('is named by its rtrId, or else by the Pix and its id together', () => {
    const references = (...lines: NamedReturn[]) => after(lines).map(({ reference }) => reference);
    expect(references(line('1', 'R1'))).toEqual(['R1']);
    expect(references(line(null, 'R1'))).toEqual(['R1']);
    expect(references(line('1', null))).toEqual(['E1/1']);
  });

  const forms = { id: line('1', null), rtrId: line(null, 'R1'), both: line('1', 'R1') };
  const orders = [
    ['id', 'both', 'rtrId'],
    ['id', 'rtrId', 'both'],
    ['rtrId', 'both', 'id'],
    ['rtrId', 'id', 'both'],
    ['both', 'id', 'rtrId'],
    ['both', 'rtrId', 'id'],
  ] as const;
  it.each(orders)('reported by %s, then %s, then %s is one return', (...order) => {
    expect(after(...order.map((form) => [forms[form]]))).toMatchObject([{ id: '1', rtrId: 'R1' }]);
  });

  it('with the id of another return, under another Pix, is another return', () => {
    const [first] = identifyReturns(pix, [line('1', null)], []);
    const other = { pix: 'E2', name: 'E2' };
    expect(identifyReturns(other, [line('1', null)], [first as KnownReturn])).toMatchObject([
      { reference: 'E2/1' },
    ]);
  });

  it('of the same amount is another one where the report lists both', () => {
    const both = after([line('1', null)], [line(null, 'R1'), line(null, 'R2')]);
    expect(both.map(({ id, rtrId }) => [id, rtrId])).toEqual([
      ['1', 'R1'],
      [null, 'R2'],
    ]);
    expect(after([line('1', null), line('2', null)], [line(null, 'R1')])).toHaveLength(2);
    expect(after([line('1', null)], [line('1', null), line(null, 'R2')])).toHaveLength(2);
  });

  it('shares no name with another of the same amount: the nearest in time is the same one', () => {
    const known = after(
      [line('1', null, 400, now - hour), line('2', null, 400, now)],
      [line(null, 'R', 400, now)],
    );
    expect(known).toHaveLength(2);
    expect(known.find(({ rtrId }) => rtrId === 'R')?.id).toBe('2');
  });

  it('of another amount, of another day, or with another name of the same kind is another one', () => {
    expect(after([line('1', null)], [line(null, 'R1', 401)])).toHaveLength(2);
    expect(after([line('1', null)], [line(null, 'R1', 400, now + 25 * hour)])).toHaveLength(2);
    expect(after([line('1', null)], [line('2', null)])).toHaveLength(2);
    expect(after([line(null, 'R1')], [line(null, 'R2')])).toHaveLength(2);
  });

  it('that was posted before its Pix was stored is found by either name, and by its amount', () => {
    const old: KnownReturn = { ...line('1', null), reference: '1', pix: null, posted: true };
    const found = (given: NamedReturn) => identifyReturns(pix, [given], [old])[0]?.reference;
    expect(found(line('1', 'R1'))).toBe('1');
    expect(found(line('1', null))).toBe('1');
    expect(found(line(null, 'R1'))).toBe('1');
    expect(found(line('2', 'R1'))).toBe('R1');
    expect(found(line('1', null, 401))).toBe('E1/1');
  });
});
