import type { Queries, Statement } from '../../ports/sql.ts';
import type { CardPayout } from '../../provider/cards.ts';
import { timestamp } from '../database/pool.ts';
import { rankOf, type Table } from '../database/table.ts';
import { installationId } from './audit.sql.ts';
import type { OtherMovement } from './connection-movements.sql.ts';

/** Money that an acquirer pays out to the company's account at another connection, and has again when that bank refuses it. */
export interface CashTransfer {
  /** Of the acquirer. */
  connection: string;
  /** The acquirer's own name of it. */
  reference: string;
  toConnection: string;
  amountCents: number;
  leftAt: number;
  /** The movement of the other connection that it arrived as. */
  arrival: string | null;
  /** The acquirer has it again. */
  returnedAt: number | null;
  /** A person said that it went elsewhere. */
  ownAt: number | null;
}

/** The movement of the acquirer's connection; `back`: its return. */
export const movementOfPayout = (reference: string): string => `payout:${reference}`;
export const movementOfReturn = (reference: string): string => `payout:${reference}:back`;

/**
 * Each payout once, with its movement. Its kind is chosen once: two rows of one payout would be booked twice. One whose return was booked
 * as the company's own, because its payout was not known, is the company's own as well.
 */
const insertLeft: Statement = {
  name: 'cash_transfer_left',
  text: `WITH added AS (
      INSERT INTO cash_transfer (connection, reference, to_connection, amount_cents, left_at, due_at, found_at)
      SELECT c.id, k.reference, CASE WHEN NOT EXISTS (SELECT FROM connection_movement m WHERE m.connection = c.id AND m.kind = 'own'
          AND m.reference = 'payout:' || k.reference || ':back') THEN c.pays_out_to END, k.amount_cents, k.left_at, k.due_at, $6
      FROM unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[]) AS k (reference, amount_cents, left_at, due_at)
        JOIN connection c ON c.id = $1
      ORDER BY k.reference
      ON CONFLICT DO NOTHING RETURNING connection, reference, to_connection, amount_cents, left_at)
    INSERT INTO connection_movement (connection, kind, reference, amount_cents, moved_at, source, found_at)
    SELECT connection, CASE WHEN to_connection IS NULL THEN 'own' ELSE 'cash' END, 'payout:' || reference, -amount_cents, left_at, 'statement', $6
    FROM added ON CONFLICT DO NOTHING RETURNING reference`,
};

const insertBack: Statement = {
  name: 'cash_transfer_back',
  text: `WITH given AS (
      SELECT k.reference, k.amount_cents, k.at, t.reference IS NOT NULL AND t.to_connection IS NOT NULL AS cash
      FROM unnest($2::text[], $3::bigint[], $4::timestamptz[]) AS k (reference, amount_cents, at)
        LEFT JOIN cash_transfer t ON t.connection = $1 AND t.reference = k.reference
      WHERE t.reference IS NULL OR t.amount_cents = k.amount_cents),
    marked AS (
      UPDATE cash_transfer t SET returned_at = g.at FROM given g
      WHERE t.connection = $1 AND t.reference = g.reference AND t.returned_at IS NULL RETURNING t.reference)
    INSERT INTO connection_movement (connection, kind, reference, amount_cents, moved_at, source, found_at)
    SELECT $1, CASE WHEN cash THEN 'cash' ELSE 'own' END, 'payout:' || reference || ':back', amount_cents, at, 'statement', $5 FROM given
    ON CONFLICT DO NOTHING RETURNING reference`,
};

const otherPayout: Statement = {
  name: 'cash_transfer_other',
  text: `SELECT k.reference, k.amount_cents AS "reportedCents", t.amount_cents AS "bookedCents"
    FROM unnest($2::text[], $3::bigint[]) AS k (reference, amount_cents)
      JOIN cash_transfer t ON t.connection = $1 AND t.reference = k.reference
    WHERE t.amount_cents <> k.amount_cents`,
};

/** Of payouts and of their returns, those that are kept with another amount. */
export const findOtherPayouts = async (
  sql: Queries,
  connection: string,
  payouts: readonly CardPayout[],
): Promise<OtherMovement[]> =>
  (
    await sql.run<Omit<OtherMovement, 'kind'>>(otherPayout, [
      connection,
      payouts.map(({ reference }) => reference),
      payouts.map(({ amountCents }) => amountCents),
    ])
  ).map((one) => ({ ...one, kind: 'cash' }));

/** Keeps what left the acquirer's account, and then what came back to it, each once. */
export async function insertPayouts(
  sql: Queries,
  connection: string,
  payouts: readonly CardPayout[],
  now: number,
): Promise<number> {
  const left = payouts.filter(({ isReturn }) => !isReturn);
  const back = payouts.filter(({ isReturn }) => isReturn);
  const references = (some: readonly CardPayout[]) => some.map(({ reference }) => reference);
  const amounts = (some: readonly CardPayout[]) => some.map(({ amountCents }) => amountCents);
  const times = (some: readonly CardPayout[]) => some.map(({ at }) => timestamp(at));
  let added = 0;
  if (left.length > 0)
    added += (
      await sql.run(insertLeft, [
        ...[connection, references(left), amounts(left), times(left)],
        left.map(({ dueAt }) => timestamp(dueAt)),
        timestamp(now),
      ])
    ).length;
  if (back.length > 0)
    added += (
      await sql.run(insertBack, [connection, references(back), amounts(back), times(back), timestamp(now)])
    ).length;
  return added;
}

// ------------------------------------------------------------------------------------------------------------------ ending

/** Of an acquirer's connection those that are to be decided, the oldest first, each with what it may have arrived as; `ended`: those that a command ends. */
export interface OpenCash {
  connection: string;
  open: (CashTransfer & { found: string | null })[];
  ended: CashTransfer[];
}

/** Of one command. */
const decidedMost = 200;

/** Statements may name a day alone, so a day before is close enough; what stood there earlier is none of it. */
const selectOpen: Statement = {
  name: 'cash_transfer_open',
  text: `SELECT k.connection, json_agg(json_build_object('connection', t.connection, 'reference', t.reference, 'toConnection', t.to_connection,
        'amountCents', t.amount_cents, 'leftAt', (extract(epoch FROM t.left_at) * 1000)::bigint, 'arrival', t.arrival,
        'returnedAt', (extract(epoch FROM t.returned_at) * 1000)::bigint, 'ownAt', (extract(epoch FROM t.own_at) * 1000)::bigint,
        'found', f.reference) ORDER BY t.left_at, t.reference) AS open
    FROM unnest($1::text[]) AS k (connection)
      CROSS JOIN LATERAL (SELECT * FROM cash_transfer t WHERE t.connection = k.connection AND t.to_connection IS NOT NULL
          AND (t.arrival IS NULL AND t.own_at IS NULL) = (t.returned_at IS NULL)
          AND EXISTS (SELECT FROM connection_movement m WHERE m.connection = t.connection AND m.kind = 'cash'
            AND m.reference = 'payout:' || t.reference AND m.posted_as IS NOT NULL)
        ORDER BY t.left_at, t.reference LIMIT ${decidedMost}) t
      LEFT JOIN LATERAL (SELECT m.reference FROM connection_movement m
        WHERE t.returned_at IS NULL AND m.connection = t.to_connection AND m.kind = 'own' AND m.amount_cents = t.amount_cents AND m.amount_cents > 0
          AND m.posted_as IS NOT NULL AND m.moved_at < t.due_at + interval '30 days'
          AND m.moved_at >= t.left_at - interval '1 day'
          AND NOT EXISTS (SELECT FROM cash_transfer o WHERE o.to_connection = m.connection AND o.arrival = m.reference)
        ORDER BY m.moved_at, m.reference LIMIT 1) f ON true
    GROUP BY k.connection`,
};

const end: Statement = {
  name: 'cash_transfer_end',
  text: `UPDATE cash_transfer t SET arrival = k.arrival, own_at = k.own_at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS k (connection, reference, arrival, own_at)
    WHERE t.connection = k.connection AND t.reference = k.reference`,
};

/** Read and ended under the lock of the installation's chain. */
export const openCash: Table<OpenCash> = {
  name: 'cash_transfer',
  rank: rankOf('cash_transfer'),
  keyOf: ({ connection }) => connection,
  read: async (tx, keys) =>
    (await tx.run<Omit<OpenCash, 'ended'>>(selectOpen, [keys])).map((row) => ({ ...row, ended: [] })),
  write: (tx, { updated }) => {
    const all = updated.flatMap(({ ended }) => ended);
    return [
      tx.run(end, [
        all.map(({ connection }) => connection),
        all.map(({ reference }) => reference),
        all.map(({ arrival }) => arrival),
        all.map(({ ownAt }) => (ownAt === null ? null : timestamp(ownAt))),
      ]),
    ];
  },
};

/** Under way to another connection. */
export interface CashInTransit {
  reference: string;
  toConnection: string;
  amountCents: number;
  leftAt: number;
  dueAt: number;
}

const inTransit = `t.to_connection IS NOT NULL AND t.arrival IS NULL AND t.own_at IS NULL AND t.returned_at IS NULL`;
const columnsInTransit = `t.reference, t.to_connection AS "toConnection", t.amount_cents AS "amountCents", t.left_at AS "leftAt", t.due_at AS "dueAt"`;

const selectInTransit: Statement = {
  name: 'cash_transfer_in_transit',
  text: `SELECT ${columnsInTransit} FROM cash_transfer t WHERE t.connection = $1 AND ${inTransit} ORDER BY t.left_at, t.reference LIMIT 500`,
};

/** The oldest first. */
export const findCashInTransit = (sql: Queries, connection: string): Promise<CashInTransit[]> =>
  sql.run<CashInTransit>(selectInTransit, [connection]);

export const lateCashReference = (connection: string, reference: string): string =>
  `cash:${connection}:${reference}`;

const selectLate: Statement = {
  name: 'cash_transfer_late',
  text: `WITH late AS MATERIALIZED (SELECT * FROM cash_transfer t WHERE t.connection = $1 AND ${inTransit} AND t.due_at < $2)
    SELECT ${columnsInTransit} FROM late t
    WHERE NOT EXISTS (SELECT FROM incident i WHERE i.account_id = $3 AND i.reference = 'cash:' || t.connection || ':' || t.reference)
    ORDER BY t.left_at, t.reference LIMIT ${decidedMost}`,
};

/** Under way although they should have arrived before a time, and no incident names them. */
export const findLateCash = (sql: Queries, connection: string, beforeMs: number): Promise<CashInTransit[]> =>
  sql.run<CashInTransit>(selectLate, [connection, timestamp(beforeMs), installationId]);

const routed: Statement = {
  name: 'cash_transfer_route',
  text: 'UPDATE connection SET pays_out_to = $2 WHERE id = $1 RETURNING id',
};

/** @returns false: there is no such connection */
export const setPaysOutTo = async (
  sql: Queries,
  connection: string,
  toConnection: string | null,
): Promise<boolean> => (await sql.run(routed, [connection, toConnection])).length > 0;
