import { expect, test } from 'vitest';
import { arrayWritersOf, binaryArray } from './arrays.ts';

const written = (type: string, values: unknown[]): string => {
  const [writer] = arrayWritersOf(`SELECT $1::${type}[]`);
  if (!writer) throw new Error(`no writer for ${type}`);
  return binaryArray(writer, values).toString('hex');
};

/** Dimensions, nulls, element type, length, lower bound. */
const head = (oid: number, length: number, nulls = 0): string =>
  [1, nulls, oid, length, 1].map((word) => word.toString(16).padStart(8, '0')).join('');

test('each type is written as PostgreSQL reads it', () => {
  expect(written('uuid', ['0193a000-0000-7000-8000-0000000000AF'])).toBe(
    `${head(2950, 1)}000000100193a0000000700080000000000000af`,
  );
  expect(written('bigint', [-1, 2 ** 52])).toBe(
    `${head(20, 2)}00000008ffffffffffffffff000000080010000000000000`,
  );
  expect(written('smallint', [-2])).toBe(`${head(21, 1)}00000002fffe`);
  expect(written('integer', [7])).toBe(`${head(23, 1)}0000000400000007`);
  expect(written('float8', [0.5])).toBe(`${head(701, 1)}000000083fe0000000000000`);
  expect(written('boolean', [true, false])).toBe(`${head(16, 2)}00000001010000000100`);
  expect(written('text', ['é', null])).toBe(`${head(25, 2, 1)}00000002c3a9ffffffff`);
  const long = 'ã'.repeat(70);
  expect(written('text', [long])).toBe(`${head(25, 1)}0000008c${Buffer.from(long).toString('hex')}`);
  expect(written('jsonb', ['"€"'])).toBe(`${head(3802, 1)}000000060122e282ac22`);
  expect(written('bigint', [2 ** 31, -(2 ** 40), 0])).toBe(
    `${head(20, 3)}${['0000000080000000', 'ffffff0000000000', '0000000000000000'].map((value) => `00000008${value}`).join('')}`,
  );
  expect(written('integer', [-(2 ** 31)])).toBe(`${head(23, 1)}0000000480000000`);
  expect(written('date', ['2000-01-02'])).toBe(`${head(1082, 1)}0000000400000001`);
  expect(written('bytea', [Buffer.of(1, 2)])).toBe(`${head(17, 1)}000000020102`);
  expect(written('jsonb', ['{}'])).toBe(`${head(3802, 1)}00000003017b7d`);
});

test('an instant is microseconds since 2000, from a number or from text', () => {
  const at = `${head(1184, 1)}0000000800000000000003e8`;
  expect(written('timestamptz', [946_684_800_001])).toBe(at);
  expect(written('timestamptz', ['2000-01-01T00:00:00.001Z'])).toBe(at);
});

test('an empty array has no dimension', () => {
  expect(written('uuid', [])).toBe('000000000000000000000b86');
});

test.each([
  ['uuid', '0193a00000007000800000000000000000af'],
  ['uuid', '0193a000-0000-7000-8000-00000000000g'],
  ['uuid', '0193a000-0000-7000-8000-0000000000a'],
  ['bigint', 0.5],
  ['bigint', 2 ** 53],
  ['bigint', '7'],
  ['timestamptz', 'yesterday'],
  ['smallint', 40_000],
  ['smallint', 0.5],
  ['integer', 2 ** 31],
  ['integer', '7'],
  ['date', 'yesterday'],
  ['text', 7],
])('what is no %s is refused: %s', (type, value) => {
  expect(() => written(type, [value])).toThrow();
});

test('types that are not known here, and parameters without a cast, have no writer', () => {
  expect(arrayWritersOf('SELECT $2::inet[], $1').filter(Boolean)).toEqual([]);
});
