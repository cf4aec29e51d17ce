import { eventKinds } from '../../money/journal.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';
import { rankOf, type Table } from '../database/table.ts';
import { readPosted } from '../ledger.sql.ts';
import { installationId } from './audit.sql.ts';

/**
 * `cost`: the provider charged it. `own`: money of the company itself. `cash`: an acquirer paid it out to another connection of the company
 * (`cash-transfers.sql.ts`). None of them belongs to a merchant.
 */
export type MovementKind = 'cost' | 'own' | 'cash';

/** Where it was learnt first. */
export type MovementSource = 'delivery' | 'report' | 'statement' | 'person';

export interface ConnectionMovement {
  kind: MovementKind;
  /** Its name at its connection, the same from every source. */
  reference: string;
  /** As the provider's account changed: below zero, it left. */
  amountCents: number;
  /** ms since 1970. */
  at: number;
  source: MovementSource;
}

const insert: Statement = {
  name: 'connection_movement_insert',
  text: `INSERT INTO connection_movement (connection, kind, reference, amount_cents, moved_at, source, found_at)
    SELECT $1, k.kind, k.reference, k.amount_cents, k.moved_at, k.source, $7
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[]) AS k (kind, reference, amount_cents, moved_at, source)
    ON CONFLICT DO NOTHING RETURNING reference`,
};

const other: Statement = {
  name: 'connection_movement_other',
  text: `SELECT m.kind, m.reference, k.amount_cents AS "reportedCents", m.amount_cents AS "bookedCents"
    FROM unnest($2::text[], $3::text[], $4::bigint[]) AS k (kind, reference, amount_cents)
      JOIN connection_movement m ON m.connection = $1 AND m.kind = k.kind AND m.reference = k.reference
    WHERE m.amount_cents <> k.amount_cents`,
};

/** One that is kept with another amount than it is reported with, as the provider's account changed. */
export interface OtherMovement {
  kind: MovementKind;
  reference: string;
  reportedCents: number;
  bookedCents: number;
}

/**
 * Keeps each movement once. @returns `added`: how many are new; `differing`: those that are kept with another amount
 */
export async function insertMovements(
  sql: Queries,
  connection: string,
  movements: readonly ConnectionMovement[],
  now: number,
): Promise<{ added: number; differing: OtherMovement[] }> {
  if (movements.length === 0) return { added: 0, differing: [] };
  const kinds = movements.map(({ kind }) => kind);
  const references = movements.map(({ reference }) => reference);
  const amounts = movements.map(({ amountCents }) => amountCents);
  const added = await sql.run(insert, [
    connection,
    kinds,
    references,
    amounts,
    movements.map(({ at }) => timestamp(at)),
    movements.map(({ source }) => source),
    timestamp(now),
  ]);
  if (added.length === movements.length) return { added: added.length, differing: [] };
  const differing = await sql.run<OtherMovement>(other, [connection, kinds, references, amounts]);
  return { added: added.length, differing };
}

/** Money that a command of the till finds to be the company's own: as a delivery or a list names it again, it is kept once. */
export const foundMovements: Table<ConnectionMovement & { connection: string; foundAt: number }> = {
  name: 'connection_movement_found',
  rank: 64,
  keyOf: ({ connection, kind, reference }) => `${connection} ${kind} ${reference}`,
  read: async () => [],
  write: (tx, { inserted }) =>
    [...Map.groupBy(inserted, ({ connection }) => connection)].map(([connection, some]) =>
      insertMovements(tx, connection, some, some[0]?.foundAt ?? 0),
    ),
};

/** Of references of suspense, those that are posted there: money that was taken for unmatched before. */
export async function findInSuspense(
  sql: Queries,
  references: readonly string[],
): Promise<ReadonlySet<string>> {
  if (references.length === 0) return new Set();
  const chain = { accountId: installationId, subject: installationId };
  const refs = references.map((reference) => ({ ...chain, event: eventKinds.suspense, reference }));
  return new Set((await readPosted(sql, refs)).map(({ reference }) => reference));
}

// ------------------------------------------------------------------------------------------------------------------ posting

/** The movements of a connection that are not posted yet, the lowest references first; `posted`: those that a command posts. */
export interface UnpostedMovements {
  connection: string;
  open: { kind: MovementKind; reference: string; amountCents: number; at: number }[];
  posted: { kind: MovementKind; references: readonly string[]; postedAs: string }[];
}

/** Of one journal: more would make the statement that marks them long. */
export const postedMost = 5_000;

const unposted: Statement = {
  name: 'connection_movement_unposted',
  text: `SELECT m.connection, json_agg(json_build_object('kind', m.kind, 'reference', m.reference, 'amountCents', m.amount_cents,
        'at', (extract(epoch FROM m.moved_at) * 1000)::bigint) ORDER BY m.kind, m.reference) AS open
    FROM unnest($1::text[]) AS k (connection)
      CROSS JOIN LATERAL (SELECT * FROM connection_movement m WHERE m.connection = k.connection AND m.posted_as IS NULL
        ORDER BY m.kind, m.reference LIMIT ${postedMost}) m
    GROUP BY m.connection`,
};

const mark: Statement = {
  name: 'connection_movement_posted',
  text: `UPDATE connection_movement m SET posted_as = k.posted_as
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (connection, kind, reference, posted_as)
    WHERE m.connection = k.connection AND m.kind = k.kind AND m.reference = k.reference AND m.posted_as IS NULL`,
};

/** Read and marked under the lock of the installation's chain, so that each movement is in one journal. */
export const unpostedMovements: Table<UnpostedMovements> = {
  name: 'connection_movement',
  rank: rankOf('connection_movement'),
  keyOf: ({ connection }) => connection,
  read: async (tx, keys) =>
    (await tx.run<Omit<UnpostedMovements, 'posted'>>(unposted, [keys])).map((row) => ({
      ...row,
      posted: [],
    })),
  write: (tx, { updated }) => {
    const marks = updated.flatMap(({ connection, posted }) =>
      posted.flatMap(({ kind, references, postedAs }) =>
        references.map((reference) => ({ connection, kind, reference, postedAs })),
      ),
    );
    return [
      tx.run(mark, [
        marks.map((one) => one.connection),
        marks.map((one) => one.kind),
        marks.map((one) => one.reference),
        marks.map((one) => one.postedAs),
      ]),
    ];
  },
};

// ------------------------------------------------------------------------------------------------------------------ shown

export interface MovementsOfDay {
  /** `2026-11-21` in São Paulo. */
  day: string;
  kind: MovementKind;
  inCents: number;
  outCents: number;
  count: number;
  /** Of them, those that are not posted yet. */
  unposted: number;
}

const ofDays: Statement = {
  name: 'connection_movement_days',
  text: `SELECT to_char(m.moved_at AT TIME ZONE 'America/Sao_Paulo', 'YYYY-MM-DD') AS day, m.kind,
      coalesce(sum(m.amount_cents) FILTER (WHERE m.amount_cents > 0), 0)::bigint AS "inCents",
      coalesce(-sum(m.amount_cents) FILTER (WHERE m.amount_cents < 0), 0)::bigint AS "outCents",
      count(*) AS count, count(*) FILTER (WHERE m.posted_as IS NULL) AS unposted
    FROM connection_movement m WHERE m.connection = $1 AND m.moved_at >= $2 AND m.moved_at < $3
    GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
};

/** A line for each day and kind, the newest first. */
export const findMovementDays = (
  sql: Queries,
  connection: string,
  fromMs: number,
  toMs: number,
): Promise<MovementsOfDay[]> =>
  sql.run<MovementsOfDay>(ofDays, [connection, timestamp(fromMs), timestamp(toMs)]);

// --------------------------------------------------------------------------------------------------------- list of costs

const place: Statement = {
  name: 'costs_place',
  text: `SELECT coalesce(costs_read_to, $2) AS "readTo" FROM connection WHERE id = $1`,
};

/** Up to where the provider's costs are read. @param usual of a connection whose costs were never read */
export const findCostsPlace = async (sql: Queries, connection: string, usual: number): Promise<number> =>
  (await sql.run<{ readTo: number }>(place, [connection, timestamp(usual)]))[0]?.readTo ?? usual;

const note: Statement = {
  name: 'costs_note',
  text: `UPDATE connection SET costs_read_to = greatest(costs_read_to, $2) WHERE id = $1`,
};

export const noteCostsRead = (sql: Queries, connection: string, readTo: number): Promise<unknown> =>
  sql.run(note, [connection, timestamp(readTo)]);

// ---------------------------------------------------------------------------------------------------- booked by a person

const known: Statement = {
  name: 'connection_known',
  text: 'SELECT FROM connection WHERE id = $1',
};

export const isConnection = async (sql: Queries, connection: string): Promise<boolean> =>
  (await sql.run(known, [connection])).length > 0;

const one: Statement = {
  name: 'connection_movement',
  text: `SELECT amount_cents AS "amountCents", moved_at AS at FROM connection_movement
    WHERE connection = $1 AND kind = $2 AND reference = $3`,
};

export const findMovement = async (
  sql: Queries,
  connection: string,
  kind: MovementKind,
  reference: string,
): Promise<{ amountCents: number; at: number } | undefined> =>
  (await sql.run<{ amountCents: number; at: number }>(one, [connection, kind, reference]))[0];

const booked: Statement = {
  name: 'connection_movement_own',
  text: `SELECT reference FROM connection_movement WHERE connection = $1 AND kind = 'own' AND reference = ANY ($2::text[])`,
};

/** Of these, what is known as money of the company itself. */
export const findBooked = async (
  sql: Queries,
  connection: string,
  references: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (references.length === 0) return new Set();
  const found = await sql.run<{ reference: string }>(booked, [connection, references]);
  return new Set(found.map(({ reference }) => reference));
};
