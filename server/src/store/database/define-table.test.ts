import { expect, test } from 'vitest';
import type { Queries, Statement } from '../../ports/sql.ts';
import { cents, date, describeRows, jsonb, text, timestamptz, uuid } from './define-table.ts';

interface Sample {
  accountId: string;
  place: string;
  id: string;
  day: string;
  amountCents: number;
  note: object | null;
  seenAt: number | null;
  state: string;
}

const samples = describeRows<Sample>({
  name: 'sample',
  alias: 's',
  key: ['accountId', 'place', 'id'],
  verbs: ['read', 'insert', 'update', 'delete'],
  columns: {
    accountId: uuid,
    place: text,
    id: text.named('sample_id'),
    day: date,
    amountCents: cents,
    note: jsonb.orNull.changes,
    seenAt: timestamptz.orNull.later,
    state: text,
  },
  also: { mail_due_at: { as: 'seenAt' }, tries: '0' },
});

const textOf = (verb: string) =>
  samples.statements.find(({ name }) => name === `sample_${verb}`)?.text.replace(/\s+/g, ' ');

const account = '01939f3a-7a00-7000-8000-000000000003';

/** The statements that run over it: their names with their values. */
function recorder(): { tx: Queries; ran: [string, unknown][] } {
  const ran: [string, unknown][] = [];
  const run: Queries['run'] = async ({ name }, values) => {
    ran.push([name, values]);
    return [];
  };
  return { tx: { run }, ran };
}

test('The statements of a table follow from its columns', () => {
  expect(samples.columns).toBe(
    `s.account_id AS "accountId", s.place, s.sample_id AS id, to_char(s.day, 'YYYY-MM-DD') AS day, s.amount_cents AS "amountCents", s.note, s.seen_at AS "seenAt", s.state`,
  );
  expect(textOf('read')).toBe(
    `SELECT ${samples.columns} FROM sample s JOIN unnest($1::uuid[], $2::text[], $3::text[]) AS k (account_id, place, sample_id) USING (account_id, place, sample_id)`,
  );
  expect(textOf('update')).toBe(
    'UPDATE sample s SET note = k.note, seen_at = k.seen_at FROM (SELECT unnest($1::uuid[]) AS account_id, unnest($2::text[]) AS place, unnest($3::text[]) AS sample_id, unnest($4::jsonb[]) AS note, unnest($5::timestamptz[]) AS seen_at) AS k WHERE s.account_id = k.account_id AND s.place = k.place AND s.sample_id = k.sample_id',
  );
  expect(textOf('delete')).toBe(
    'DELETE FROM sample s USING unnest($1::uuid[], $2::text[], $3::text[]) AS k (account_id, place, sample_id) WHERE s.account_id = k.account_id AND s.place = k.place AND s.sample_id = k.sample_id',
  );
});

test('A parameter of an insert stands at the place of its column', async () => {
  const row = { accountId: account, place: 'a', id: 'b', day: '2026-11-21', amountCents: 5, state: 'open' };
  const { tx, ran } = recorder();
  const inserting = describeRows<typeof row & { note: object | null }>({
    name: 'sample',
    alias: 's',
    key: ['accountId', 'place', 'id'],
    verbs: ['upsert'],
    columns: {
      accountId: uuid,
      place: text,
      id: text.named('sample_id'),
      day: date,
      amountCents: cents.changes,
      state: text.later,
      note: jsonb.orNull,
    },
    also: { first_cents: { as: 'amountCents' }, tries: '0' },
  });
  await inserting.insert(tx, [
    { ...row, note: [1, 2] },
    { ...row, note: null },
  ]);
  expect(inserting.statements[0]?.text.replace(/\s+/g, ' ')).toBe(
    'INSERT INTO sample (account_id, place, sample_id, day, amount_cents, note, first_cents, tries) VALUES (unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[]), unnest($4::date[]), unnest($5::bigint[]), unnest($6::jsonb[]), unnest($5::bigint[]), 0) ON CONFLICT (account_id, place, sample_id) DO UPDATE SET amount_cents = excluded.amount_cents, state = excluded.state',
  );
  expect(ran).toEqual([
    [
      'sample_upsert',
      [
        [account, account],
        ['a', 'a'],
        ['b', 'b'],
        ['2026-11-21', '2026-11-21'],
        [5, 5],
        ['[1,2]', null],
      ],
    ],
  ]);
});

test('An insert goes without its rare columns where no row has a value of them, and with all of them where one has', async () => {
  interface Rare {
    id: string;
    amountCents: number;
    note: object | null;
    heldCents: number;
    paidAt: number | null;
  }
  const { tx, ran } = recorder();
  const rows = describeRows<Rare>({
    name: 'rare',
    alias: 'r',
    key: ['id'],
    verbs: ['insert', 'update'],
    columns: {
      id: text,
      note: jsonb.rare,
      amountCents: cents,
      heldCents: cents.mostlyZero,
      paidAt: timestamptz.rare.changes,
    },
  });
  const common = { id: 'a', amountCents: 5, note: null, heldCents: 0, paidAt: null };
  await rows.insert(tx, [common, { ...common, id: 'b' }]);
  await rows.insert(tx, [common, { ...common, id: 'b', paidAt: 7 }]);
  await rows.insert(tx, [{ ...common, heldCents: -3 }]);
  await rows.update(tx, [common]);
  expect(ran).toEqual([
    [
      'rare_insert_common',
      [
        ['a', 'b'],
        [5, 5],
      ],
    ],
    [
      'rare_insert',
      [
        ['a', 'b'],
        [null, null],
        [5, 5],
        [0, 0],
        [null, 7],
      ],
    ],
    ['rare_insert', [['a'], [null], [5], [-3], [null]]],
    ['rare_update', [['a'], [null]]],
  ]);
  expect(rows.statements.find(({ name }) => name === 'rare_insert_common')?.text.replace(/\s+/g, ' ')).toBe(
    'INSERT INTO rare (id, amount_cents, held_cents) VALUES (unnest($1::text[]), unnest($2::bigint[]), 0)',
  );
  const statementOf = (verb: string): Statement =>
    rows.statements.find(({ name }) => name === verb) as Statement;
  expect(rows.insertedBy(statementOf('rare_insert_common'), [['a'], [5]])).toEqual([common]);
  expect(rows.insertedBy(statementOf('rare_insert'), [['a'], [null], [5], [-3], [7]])).toEqual([
    { ...common, heldCents: -3, paidAt: 7 },
  ]);
  expect(rows.insertedBy(statementOf('rare_update'), [['a'], [null]])).toEqual([]);
});

test('Two rows whose names only together are the same have different keys, and a key is read as it was made', async () => {
  const keyOf = (place: string, id: string) => samples.keyOf({ accountId: account, place, id } as Sample);
  expect(keyOf('ab', 'c')).not.toBe(keyOf('a', 'bc'));
  const { tx, ran } = recorder();
  await samples.remove(tx, [keyOf('ab', 'c'), keyOf('a', 'bc d')]);
  expect(ran).toEqual([
    [
      'sample_delete',
      [
        [account, account],
        ['ab', 'a'],
        ['c', 'bc d'],
      ],
    ],
  ]);
});
