import { buildCashEnds } from '../../server/src/flow/cash-transfers.ts';
import { buildPosting } from '../../server/src/flow/connection-movements.ts';
import { decide, emptyBalance } from '../../server/src/money/decide.ts';
import type { Queries } from '../../server/src/ports/sql.ts';
import type { CardPayout } from '../../server/src/provider/cards.ts';
import type { Table } from '../../server/src/store/database/table.ts';
import { insertPayouts } from '../../server/src/store/rows/cash-transfers.sql.ts';
import {
  type ConnectionMovement,
  insertMovements,
} from '../../server/src/store/rows/connection-movements.sql.ts';
import type { Command, View } from '../../server/src/store/till.ts';
import { cards } from '../simulation/acquirer.ts';
import type { Database } from '../simulation/database.ts';

/**
 * Every order in which cash moves from an acquirer to the account for Pix and in which both lists are read: payouts leave, arrive, and come back before or after
 * that; each list names what happened late, again and in any order; what is stored is posted, and transfers end, at any moment. The statements are those of
 * the program on PostgreSQL, and so are its commands and the lines of its journals. A step is taken back by a savepoint, so each state is looked at once.
 */
export interface CashSetting {
  /** In cents, of each payout. */
  payouts: readonly number[];
  /** Each line is posted as soon as it is read, and what has arrived stays: with two payouts, an hour of steps otherwise. */
  short?: boolean;
  /** A wrong reading of a list, which the search must find. */
  planted?: {
    ofAcquirer?(line: CardPayout): CardPayout;
    /** @param readings how often the line was read before */
    ofPix?(line: ConnectionMovement, readings: number): ConnectionMovement;
  };
}

export interface CashFound {
  states: number;
  steps: number;
  violation: { what: string; trace: string[] } | null;
}

const pix = 'simulator';
const day = 86_400_000;
const leftAt = Date.UTC(2026, 10, 20, 12);

/** The truth of a payout. `returned`: after it had arrived, so the account for Pix had its money and has it no more. */
type Payout = 'not yet' | 'left' | 'arrived' | 'back' | 'returned';

interface World {
  payouts: readonly Payout[];
  /** How often each line of the account for Pix was read, two being as good as more. */
  readings: Readonly<Record<string, number>>;
  /** The sums of all journals: `clearing` of each connection, and what the installation's chain has. */
  books: Readonly<{ acquirer: number; pix: number; suspense: number; adjustments: number }>;
}

interface Action {
  name: string;
  /** Of the world outside, and no work of the program. */
  isOutside: boolean;
  /** @returns null: it cannot be as things stand */
  run(world: World): Promise<World | null>;
}

/** @param db with both connections, of which the acquirer's pays out to the other */
export async function searchCash(db: Database, setting: CashSetting): Promise<CashFound> {
  const found: CashFound = { states: 1, steps: 0, violation: null };
  const actions = actionsOf(db, setting);
  const first: World = {
    payouts: setting.payouts.map(() => 'not yet' as const),
    readings: {},
    books: { acquirer: 0, pix: 0, suspense: 0, adjustments: 0 },
  };
  const seen = new Set<string>();
  const visit = async (world: World, at: string, trace: readonly string[]): Promise<void> => {
    let isAtRest = true;
    for (const { name, isOutside, run } of actions) {
      db.exec('SAVEPOINT step');
      const next = await run(world);
      if (next !== null && found.violation === null) {
        found.steps++;
        const key = keyOf(db, next);
        if (!isOutside && key !== at) isAtRest = false;
        const path = [...trace, name];
        const what = faultOf(db, setting, next);
        if (what !== null) found.violation = { what, trace: path };
        else if (!seen.has(key)) {
          seen.add(key);
          found.states++;
          await visit(next, key, path);
        }
      }
      db.exec('ROLLBACK TO SAVEPOINT step; RELEASE SAVEPOINT step');
    }
    const what = isAtRest && found.violation === null ? faultAtRest(setting, world) : null;
    if (what !== null) found.violation = { what, trace: [...trace] };
  };
  db.exec('BEGIN');
  try {
    const key = keyOf(db, first);
    seen.add(key);
    await visit(first, key, []);
  } finally {
    db.exec('ROLLBACK');
  }
  return found;
}

function actionsOf(db: Database, { payouts, planted = {}, short = false }: CashSetting): Action[] {
  const sql: Queries = {
    run: <Row>({ text }: { text: string }, values = []) => Promise.resolve(db.run<Row>(text, values)),
  };
  const read = (connection: string, world: World): Promise<World> =>
    short ? submit(sql, world, buildPosting(connection, 'token', 0)) : Promise.resolve(world);
  const moves = (at: number, from: Payout, to: Payout): Action => ({
    name: `payout ${at + 1} is ${to}`,
    isOutside: true,
    run: ({ payouts: all, ...world }) =>
      Promise.resolve(all[at] === from ? { ...world, payouts: all.with(at, to) } : null),
  });
  const ofAcquirer = (at: number, isReturn: boolean): Action => ({
    name: `the acquirer's list says that payout ${at + 1} ${isReturn ? 'came back' : 'left'}`,
    isOutside: false,
    async run(world) {
      const state = world.payouts[at];
      if (state === 'not yet' || (isReturn && state !== 'back' && state !== 'returned')) return null;
      const when = leftAt + (isReturn ? 2 * day : 0);
      const line: CardPayout = {
        ...{ reference: `po_${at}`, isReturn, amountCents: payouts[at] ?? 0 },
        ...{ at: when, dueAt: isReturn ? when : when + day },
      };
      await insertPayouts(sql, cards, [planted.ofAcquirer?.(line) ?? line], when);
      return read(cards, world);
    },
  });
  const ofPix = (at: number, isReturn: boolean): Action => ({
    name: `the statement says that payout ${at + 1} ${isReturn ? 'was returned' : 'arrived'}`,
    isOutside: false,
    async run(world) {
      const state = world.payouts[at];
      if (isReturn ? state !== 'returned' : state !== 'arrived' && state !== 'returned') return null;
      const amountCents = (isReturn ? -1 : 1) * (payouts[at] ?? 0);
      const reference = isReturn ? `sent:E${at}back` : `received:E${at}`;
      const line: ConnectionMovement = {
        ...{ kind: 'own', reference, amountCents, at: leftAt + day, source: 'statement' },
      };
      const before = world.readings[reference] ?? 0;
      await insertMovements(sql, pix, [planted.ofPix?.(line, before) ?? line], leftAt + day);
      // Of a reading that is right, the second is as the first.
      if (planted.ofPix === undefined) return read(pix, world);
      return read(pix, { ...world, readings: { ...world.readings, [reference]: Math.min(2, before + 1) } });
    },
  });
  const submits = (name: string, command: () => Command<number>): Action => ({
    name,
    isOutside: false,
    run: (world) => submit(sql, world, command()),
  });
  return [
    ...payouts.flatMap((_, at) => [
      ...[moves(at, 'not yet', 'left'), moves(at, 'left', 'arrived'), moves(at, 'left', 'back')],
      ...[ofAcquirer(at, false), ofAcquirer(at, true), ofPix(at, false)],
      ...(short ? [] : [moves(at, 'arrived', 'returned'), ofPix(at, true)]),
    ]),
    ...(short
      ? []
      : [
          submits('movements of the acquirer are posted', () => buildPosting(cards, 'token', 0)),
          submits('movements of the account for Pix are posted', () => buildPosting(pix, 'token', 0)),
        ]),
    submits('transfers end', () => buildCashEnds(cards, 'token', 0)),
  ];
}

/** One command as the till carries it out: what it reads, its decision, its lines and what it writes. */
async function submit(sql: Queries, world: World, command: Command<number>): Promise<World> {
  const rows = new Map<string, unknown>();
  for (const { table, key } of command.reads)
    for (const row of await table.read(sql, [key])) rows.set(`${table.name} ${key}`, row);
  const view = { get: (table: { name: string }, key: string) => rows.get(`${table.name} ${key}`) };
  const { postings = [], writes = [] } = command.decide(view as unknown as View, leftAt + 3 * day);
  const books = { ...world.books };
  for (const { connection, movement } of postings) {
    const decision = decide(emptyBalance, movement);
    if ('refused' in decision) throw new Error(`${movement.kind} was refused`);
    const { clearing, suspense, adjustments } = decision.lines;
    books[connection === cards ? 'acquirer' : 'pix'] -= clearing;
    books.suspense += suspense;
    books.adjustments += adjustments;
  }
  for (const { table, put } of writes)
    await Promise.all((table as Table<unknown>).write(sql, { inserted: [], updated: [put], deleted: [] }));
  return { ...world, books };
}

interface Row {
  reference: string;
  amount: number;
  arrival: string | null;
  returned: boolean;
  to: string | null;
}

const rowsOf = (db: Database): Row[] =>
  db.run<Row>(
    `SELECT reference, amount_cents AS amount, arrival, returned_at IS NOT NULL AS returned, to_connection AS "to"
      FROM cash_transfer ORDER BY reference`,
    [],
  );

const keyOf = (db: Database, world: World): string =>
  JSON.stringify([
    world,
    rowsOf(db),
    db.run(
      `SELECT connection, kind, reference, amount_cents, posted_as IS NOT NULL FROM connection_movement ORDER BY 1, 2, 3`,
      [],
    ),
  ]);

/** At every moment: each arrival ends one payout, by money of its amount that came in, and nothing stands in suspense that no payout explains. */
function faultOf(db: Database, { payouts }: CashSetting, { books }: World): string | null {
  const rows = rowsOf(db);
  const arrivals = rows.flatMap(({ arrival }) => arrival ?? []);
  if (new Set(arrivals).size < arrivals.length) return `one arrival ends two payouts: ${arrivals}`;
  const most = payouts.reduce((sum, cents) => sum + cents, 0);
  if (Math.abs(books.suspense) > most) return `${books.suspense} stand in suspense`;
  return null;
}

/** When both lists are read and nothing is left to do, the books of each connection are what its account holds, and no payout that has ended stands in suspense. */
function faultAtRest({ payouts: cents }: CashSetting, { payouts, books }: World): string | null {
  const sumOf = (...states: Payout[]): number =>
    payouts.reduce((sum, state, at) => sum + (states.includes(state) ? (cents[at] ?? 0) : 0), 0);
  const atAcquirer = -sumOf('left', 'arrived');
  if (books.acquirer !== atAcquirer)
    return `the acquirer has ${atAcquirer}, and its books say ${books.acquirer}`;
  const atPix = sumOf('arrived');
  if (books.pix !== atPix) return `the account for Pix has ${atPix}, and its books say ${books.pix}`;
  // Which of two payouts of one amount has arrived is not known before both have ended.
  const isAlike = new Set(cents).size < cents.length;
  // It is money of the company that neither account has.
  const inTransit = -sumOf('left');
  if (isAlike && inTransit > 0) return null;
  if (books.suspense !== inTransit) return `${inTransit} is in transit, and ${books.suspense} in suspense`;
  return books.adjustments === 0 ? null : `${books.adjustments} are the company's own, which moved none`;
}
