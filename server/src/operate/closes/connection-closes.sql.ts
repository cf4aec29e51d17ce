import type { CellShare, ConnectionFigures, Moved } from '../../money/day-closes.ts';
import { outgoingPriorities } from '../../money/intent.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import {
  bytea,
  cents,
  date,
  defineTable,
  text,
  timestamptz,
  uuid,
} from '../../store/database/define-table.ts';
import type { Readable } from '../../store/database/table.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import type { Stretch } from '../statement/stretches.ts';

export interface ConnectionClose extends ConnectionFigures {
  head: Buffer;
}

export const connectionCloses = defineTable<ConnectionClose>({
  name: 'connection_close',
  alias: 'c',
  key: ['day', 'connection'],
  verbs: ['insert'],
  columns: {
    connection: text,
    day: date,
    previousDay: date.orNull,
    openingCents: cents,
    inCents: cents,
    outCents: cents,
    refundCents: cents,
    feeCents: cents,
    heldCents: cents,
    closingCents: cents,
    sinceCents: cents.orNull,
    inTransitCents: cents.orNull,
    providerCents: cents.orNull,
    differenceCents: cents.orNull,
    comparedAt: timestamptz.orNull,
    incidentId: uuid.orNull,
    closedAt: timestamptz,
    head: bytea,
    costCents: cents.orNull,
    ownInCents: cents.orNull,
    ownOutCents: cents.orNull,
    blockedCents: cents.orNull,
    transitSettledCents: cents.orNull,
    transitPendingCents: cents.orNull,
    transitUnsentCents: cents.orNull,
  },
});

const { columns } = connectionCloses;

/** Of a cell, beside the connection's close. */
export interface ConnectionCloseShare extends CellShare {
  connection: string;
  day: string;
}

export const connectionCloseShares = defineTable<ConnectionCloseShare>({
  name: 'connection_close_cell',
  alias: 's',
  key: ['day', 'cell', 'connection'],
  verbs: ['insert'],
  columns: {
    connection: text,
    day: date,
    cell: text,
    openingCents: cents,
    inCents: cents,
    outCents: cents,
    refundCents: cents,
    feeCents: cents,
    chains: text,
    costCents: cents,
    ownInCents: cents,
    ownOutCents: cents,
  },
});

const selectLast: Statement = {
  name: 'connection_close_last',
  text: `SELECT ${columns} FROM unnest($1::text[]) AS k (connection)
      CROSS JOIN LATERAL (SELECT * FROM connection_close l WHERE l.connection = k.connection ORDER BY l.day DESC LIMIT 1) c`,
};

/** The newest close of a connection. */
export const lastConnectionCloses: Readable<ConnectionClose> = {
  name: 'connection_close_last',
  keyOf: ({ connection }) => connection,
  read: (tx, keys) => tx.run<ConnectionClose>(selectLast, [keys]),
};

export const findLastClose = async (sql: Queries, connection: string): Promise<ConnectionClose | undefined> =>
  (await sql.run<ConnectionClose>(selectLast, [[connection]]))[0];

const connections: Statement = {
  name: 'close_connections',
  text: `SELECT id FROM connection ORDER BY id`,
};

/** By itself: what is joined stands on one node of a cluster, and connections are of the directory. */
const used: Statement = {
  name: 'close_connections_used',
  text: `SELECT k.id FROM unnest($1::text[]) AS k (id)
    WHERE EXISTS (SELECT FROM account a WHERE a.connection = k.id AND a.number <> 0)
      OR EXISTS (SELECT FROM day_close_money m WHERE m.connection = k.id)
    ORDER BY k.id`,
};

/** Those that have accounts, or had some in this cell. */
export async function findConnectionsToClose(sql: Queries): Promise<string[]> {
  const all = await sql.run<{ id: string }>(connections);
  return (await sql.run<{ id: string }>(used, [all.map(({ id }) => id)])).map(({ id }) => id);
}

const moved: Statement = {
  name: 'close_connection_moved',
  text: `SELECT coalesce(sum(m.opening_cents), 0)::bigint AS "openingCents", coalesce(sum(m.in_cents), 0)::bigint AS "inCents",
      coalesce(sum(m.out_cents), 0)::bigint AS "outCents", coalesce(sum(m.refund_cents), 0)::bigint AS "refundCents",
      coalesce(sum(m.fee_cents), 0)::bigint AS "feeCents", coalesce(sum(m.cost_cents), 0)::bigint AS "costCents",
      coalesce(sum(m.own_in_cents), 0)::bigint AS "ownInCents", coalesce(sum(m.own_out_cents), 0)::bigint AS "ownOutCents",
      encode(sha256(coalesce(string_agg(c.head, ''::bytea ORDER BY c.account_id, c.chain_id, c.day), ''::bytea)), 'hex') AS chains
    FROM day_close_money m JOIN day_close c USING (account_id, chain_id, day)
    WHERE m.connection = $1 AND m.day > coalesce($2::date, '-infinity') AND m.day <= $3::date`,
};

/** The movements in the closes of a cell's chains at a connection, after one day and up to another. */
export const findMovedAt = async (
  sql: Queries,
  connection: string,
  afterDay: string | null,
  day: string,
): Promise<Moved> => (await sql.run<Moved>(moved, [connection, afterDay, day]))[0] as Moved;

const firstMoved: Statement = {
  name: 'close_connection_first',
  text: `SELECT to_char(min(m.day), 'YYYY-MM-DD') AS day FROM day_close_money m WHERE m.connection = $1`,
};

/** The first day on which a cell's chains moved money at a connection; null: none has. */
export const findFirstMoved = async (sql: Queries, connection: string): Promise<string | null> =>
  (await sql.run<{ day: string | null }>(firstMoved, [connection]))[0]?.day ?? null;

const held: Statement = {
  name: 'close_connection_held',
  text: `SELECT coalesce(sum(c.held), 0)::bigint AS cents FROM day_close c JOIN account a ON a.id = c.account_id
    WHERE c.day = $2::date AND a.connection = $1`,
};

export const findHeldAt = async (sql: Queries, connection: string, day: string): Promise<number> =>
  (await sql.run<{ cents: number }>(held, [connection, day]))[0]?.cents ?? 0;

const sinceClose: Statement = {
  name: 'close_since_chains',
  text: `SELECT b.account_id AS "accountId", b.operation_id AS "chainId", coalesce(c.closing_seq, 0) AS after, b.seq AS "upTo"
    FROM (SELECT account_id, operation_id, seq FROM balance WHERE (account_id, operation_id) >= ($2, $3)
        AND ($5 OR (account_id, operation_id) <> ($2, $3)) ORDER BY account_id, operation_id LIMIT $4) b
      LEFT JOIN LATERAL (SELECT l.closing_seq FROM day_close l WHERE l.account_id = b.account_id AND l.chain_id = b.operation_id
        AND l.day <= $1::date ORDER BY l.day DESC LIMIT 1) c ON true
    ORDER BY b.account_id, b.operation_id`,
};

export const chainsPerPage = 500;

/** A page of chains behind a place (null: from the installation's own chain on, the lowest there is), each with its journals behind its close of the day, or behind the last one before it. */
export const findJournalsSince = (
  sql: Queries,
  day: string,
  after: { accountId: string; chainId: string } | null,
): Promise<Stretch[]> =>
  sql.run<Stretch>(sinceClose, [
    day,
    after?.accountId ?? installationId,
    after?.chainId ?? installationId,
    chainsPerPage,
    after === null,
  ]);

const movedIn: Statement = {
  name: 'close_since',
  text: `SELECT coalesce(m.cents, 0)::bigint AS cents
    FROM (SELECT unnest($2::uuid[]) AS account_id, unnest($3::uuid[]) AS chain_id, unnest($4::bigint[]) AS after,
        unnest($5::bigint[]) AS up_to, generate_subscripts($2::uuid[], 1) AS nth) k
      JOIN account a ON a.id = k.account_id
      CROSS JOIN LATERAL (SELECT sum(-j.clearing) AS cents FROM journal j
        WHERE j.account_id = k.account_id AND j.chain_id = k.chain_id AND j.seq > k.after AND j.seq <= k.up_to AND j.clearing <> 0
          AND coalesce(j.connection, a.first_connection, a.connection) = $1) m
    ORDER BY k.nth`,
};

/** The sum of each of these stretches at a connection, cents. */
export const findMovedIn = async (
  sql: Queries,
  connection: string,
  some: readonly Stretch[],
): Promise<number[]> => {
  const rows = await sql.run<{ cents: number }>(movedIn, [
    connection,
    some.map(({ accountId }) => accountId),
    some.map(({ chainId }) => chainId),
    some.map(({ after }) => after),
    some.map(({ upTo }) => upTo),
  ]);
  return rows.map(({ cents }) => cents);
};

/** By priority, which the index of due rows has: there may be millions of open charges. */
const transit: Statement = {
  name: 'close_in_transit',
  text: `SELECT n.payment_id AS id, coalesce(p.amount_cents - p.fee_cents, r.amount_cents) AS cents,
      coalesce(p.status, r.status) = 'pending' AS taken, r.end_to_end AS "endToEnd", n.provider_ref AS "providerRef"
    FROM (SELECT account_id, payment_id, provider_ref FROM intent
        WHERE connection = $1 AND priority IN (${outgoingPriorities.join(', ')}) AND kind IN ('transfer', 'refund') AND attempt > 0 LIMIT $2) n
      LEFT JOIN payment p ON p.account_id = n.account_id AND p.id = n.payment_id
      LEFT JOIN refund r ON r.account_id = n.account_id AND r.id = n.payment_id`,
};

/** A transfer or refund that was sent and has no end yet. `taken`: the provider has said that it has it. */
export interface InTransit {
  id: string;
  cents: number;
  taken: boolean;
  /** Of a refund, the Pix that it gives back; null: it is a transfer. */
  endToEnd: string | null;
  /** The provider's own name of a transfer, where its queries need one. */
  providerRef: string | null;
}

const inTransitMost = 10_000;

export const findInTransit = (sql: Queries, connection: string): Promise<InTransit[]> =>
  sql.run<InTransit>(transit, [connection, inTransitMost]);

const waiting: Statement = {
  name: 'close_costs_waited_for',
  text: `SELECT FROM connection c WHERE c.id = $1 AND c.report_day <= $2::date
    AND EXISTS (SELECT FROM connection_movement m WHERE m.connection = c.id AND m.kind = 'cost' AND m.source <> 'person')`,
};

/** Whether a provider that charges for its services has not given the report of this day yet, which may name what it charged. */
export const waitsForReport = async (sql: Queries, connection: string, day: string): Promise<boolean> =>
  (await sql.run(waiting, [connection, day])).length > 0;

const ofAmount: Statement = {
  name: 'close_journals_of',
  text: `SELECT j.account_id AS "accountId", j.subject, j.template, j.reference, -j.clearing AS cents, j.effective_at AS at
    FROM (SELECT j.* FROM (SELECT * FROM day_close WHERE day = $1::date AND closing_seq > opening_seq
          ORDER BY account_id, chain_id LIMIT 500) c
        CROSS JOIN LATERAL (SELECT * FROM journal j WHERE j.account_id = c.account_id AND j.chain_id = c.chain_id
          AND j.seq > c.opening_seq ORDER BY j.seq LIMIT 10000) j
      LIMIT 20000) j
    WHERE abs(j.clearing) = $2 ORDER BY j.posted_at DESC LIMIT 10`,
};

export interface JournalOfAmount {
  accountId: string;
  subject: string;
  template: string;
  reference: string;
  cents: number;
  at: number;
}

/** Journals of the day, and since, that moved just this amount at the provider: hints, from among 20,000 at most. */
export const findJournalsOf = (sql: Queries, day: string, amountCents: number): Promise<JournalOfAmount[]> =>
  sql.run<JournalOfAmount>(ofAmount, [day, amountCents]);

const page: Statement = {
  name: 'connection_close_list',
  text: `SELECT ${columns} FROM connection_close c WHERE c.day = $1::date ORDER BY c.connection`,
};

export const findConnectionCloses = (sql: Queries, day: string): Promise<ConnectionClose[]> =>
  sql.run<ConnectionClose>(page, [day]);

const ofConnection: Statement = {
  name: 'connection_close_of',
  text: `SELECT ${columns} FROM connection_close c WHERE c.connection = $1 AND ($2::date IS NULL OR c.day < $2::date)
    ORDER BY c.day DESC LIMIT $3`,
};

/** The newest first, before a day. */
export const findClosesOfConnection = (
  sql: Queries,
  connection: string,
  beforeDay: string | null,
  most: number,
): Promise<ConnectionClose[]> => sql.run<ConnectionClose>(ofConnection, [connection, beforeDay, most]);

// The bound on the day alone begins the index at the place; an OR over both would read the days above it.
const below: Statement = {
  name: 'connection_close_below',
  text: `SELECT ${columns} FROM connection_close c
    WHERE c.day <= coalesce($1::date, 'infinity') AND (c.day < coalesce($1::date, 'infinity') OR c.connection > $2::text)
    ORDER BY c.day DESC, c.connection LIMIT $3`,
};

/** Of all connections: the newest day first, within a day by name; behind a place. */
export const findClosesBelow = (
  sql: Queries,
  after: { day: string; connection: string } | null,
  most: number,
): Promise<ConnectionClose[]> =>
  sql.run<ConnectionClose>(below, [after?.day ?? null, after?.connection ?? '', most]);
