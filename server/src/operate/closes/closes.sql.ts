import type { Queries, Statement } from '../../ports/sql.ts';
import {
  bigint,
  bytea,
  cents,
  date,
  defineTable,
  text,
  timestamptz,
  uuid,
} from '../../store/database/define-table.ts';
import { timestamp } from '../../store/database/pool.ts';
import type { Readable } from '../../store/database/table.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import type { Figures } from '../statement/figures.ts';

/** The close of a chain: an operation's, or an account's own under the account's id. */
export interface DayClose extends Figures {
  accountId: string;
  chainId: string;
  /** `2026-11-21` in São Paulo. */
  day: string;
  previousDay: string | null;
  openingSeq: number;
  closingSeq: number;
  head: Buffer;
  openingCents: number;
  closingCents: number;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  closedAt: number;
  command: string;
}

/** A chain's movements at a connection on a day. */
export interface MovedMoney {
  connection: string;
  openingCents: number;
  inCents: number;
  outCents: number;
  refundCents: number;
  feeCents: number;
  costCents: number;
  ownInCents: number;
  ownOutCents: number;
}

export interface DayMoney extends MovedMoney {
  accountId: string;
  chainId: string;
  day: string;
}

export const dayCloses = defineTable<DayClose>({
  name: 'day_close',
  alias: 'c',
  key: ['accountId', 'chainId', 'day'],
  tokenOf: ({ command }) => command,
  verbs: ['read', 'insert'],
  columns: {
    accountId: uuid,
    chainId: uuid,
    day: date,
    previousDay: date.orNull,
    openingSeq: bigint,
    closingSeq: bigint,
    head: bytea,
    openingCents: cents,
    inCents: cents,
    outCents: cents,
    feeCents: cents,
    refundCents: cents,
    holdCents: cents,
    closingCents: cents,
    available: cents,
    reserved: cents,
    held: cents,
    receivable: cents,
    closedAt: timestamptz,
    command: uuid,
  },
});

const { columns } = dayCloses;

export const dayMoney = defineTable<DayMoney>({
  name: 'day_close_money',
  alias: 'm',
  key: ['accountId', 'chainId', 'day', 'connection'],
  verbs: ['insert'],
  columns: {
    accountId: uuid,
    chainId: uuid,
    day: date,
    connection: text,
    openingCents: cents,
    inCents: cents,
    outCents: cents,
    refundCents: cents,
    feeCents: cents,
    costCents: cents,
    ownInCents: cents,
    ownOutCents: cents,
  },
});

const lastOf = `LEFT JOIN LATERAL (SELECT l.* FROM day_close l WHERE l.account_id = b.account_id AND l.chain_id = b.operation_id
      ORDER BY l.day DESC LIMIT 1) c ON true`;

const selectLast: Statement = {
  name: 'close_last',
  text: `SELECT b.account_id AS "keyAccount", b.operation_id AS "keyChain", ${columns}
    FROM unnest($1::uuid[], $2::uuid[]) AS b (account_id, operation_id) ${lastOf} WHERE c.day IS NOT NULL`,
};

export const chainKey = (accountId: string, chainId: string): string => accountId + chainId;

/** The newest close of a chain; read under the chain's lock. */
export const lastCloses: Readable<DayClose> = {
  name: 'close_last',
  keyOf: ({ accountId, chainId }) => chainKey(accountId, chainId),
  read: (tx, keys) =>
    tx.run<DayClose>(selectLast, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

// ------------------------------------------------------------------------------------------------------- which day, whose turn

export interface CloseTurn {
  /** Up to which every chain is closed; null: none was. */
  closedDay: string | null;
  /** The database's own time: no day is over before it says so. */
  databaseNow: number;
}

const closed: Statement = {
  name: 'close_day',
  text: `UPDATE installation SET closed_day = $1::date WHERE closed_day IS NULL OR closed_day < $1::date`,
};

export const noteDayClosed = (sql: Queries, day: string): Promise<unknown> => sql.run(closed, [day]);

const state: Statement = {
  name: 'close_state',
  text: `SELECT to_char(closed_day, 'YYYY-MM-DD') AS "closedDay", restored_at IS NOT NULL AS restored, clock_timestamp() AS "databaseNow"
    FROM installation`,
};

export const findCloseState = async (sql: Queries): Promise<CloseTurn & { restored: boolean }> => {
  const [row] = await sql.run<CloseTurn & { restored: boolean }>(state);
  if (!row) throw new Error('the installation has no row: its migrations have not run');
  return row;
};

// -------------------------------------------------------------------------------------------------------------- of one chain

export interface ChainToClose {
  accountId: string;
  chainId: string;
  test: boolean;
  seq: number;
  deletedAt: number | null;
  /** Null: the account's own chain. */
  createdAt: number | null;
  lastDay: string | null;
  lastSeq: number | null;
}

const chains: Statement = {
  name: 'close_chains',
  text: `SELECT b.account_id AS "accountId", b.operation_id AS "chainId", a.test, b.seq, b.deleted_at AS "deletedAt",
      o.created_at AS "createdAt", to_char(c.day, 'YYYY-MM-DD') AS "lastDay", c.closing_seq AS "lastSeq"
    FROM (SELECT * FROM balance WHERE (account_id, operation_id) >= ($1, $2) AND ($4 OR (account_id, operation_id) <> ($1, $2))
        ORDER BY account_id, operation_id LIMIT $3) b
      JOIN account a ON a.id = b.account_id
      LEFT JOIN operation o ON o.account_id = b.account_id AND o.id = b.operation_id ${lastOf}
    ORDER BY b.account_id, b.operation_id`,
};

/** A page behind a place; null: from the installation's own chain on, the lowest there is. */
export const findChainsToClose = (
  sql: Queries,
  after: { accountId: string; chainId: string } | null,
  most: number,
): Promise<ChainToClose[]> =>
  sql.run<ChainToClose>(chains, [
    after?.accountId ?? installationId,
    after?.chainId ?? installationId,
    most,
    after === null,
  ]);

/** By halving and without EXISTS, as `statement_places`: `seq` has no gaps, and `posted_at` follows it but for the clocks of processes. */
const place: Statement = {
  name: 'close_place',
  text: `WITH RECURSIVE halving (seq, step) AS (
      SELECT 0::bigint, 1::bigint << (floor(log(2, greatest($4::bigint, 1)))::int + 1)
      UNION ALL
      SELECT h.seq + CASE WHEN (SELECT j.posted_at < $3 FROM journal j WHERE j.account_id = $1 AND j.chain_id = $2
          AND j.seq = h.seq + h.step) THEN h.step ELSE 0 END, h.step / 2
      FROM halving h WHERE h.step > 0)
    SELECT seq FROM halving WHERE step = 0`,
};

/** The last journal of a chain before an instant; 0 before the first. @param seq of the chain, or any above it */
export const findPlaceBefore = async (
  sql: Queries,
  { accountId, chainId }: { accountId: string; chainId: string },
  beforeMs: number,
  seq: number,
): Promise<number> =>
  (await sql.run<{ seq: number }>(place, [accountId, chainId, timestamp(beforeMs), seq]))[0]?.seq ?? 0;

export interface Columns {
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  head: Buffer;
}

const at: Statement = {
  name: 'close_columns',
  text: `SELECT available_after AS available, reserved_after AS reserved, held_after AS held, receivable_after AS receivable, hash AS head
    FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq = $3`,
};

/** Undefined before the first journal. */
export const findColumnsAt = async (
  sql: Queries,
  { accountId, chainId }: { accountId: string; chainId: string },
  seq: number,
): Promise<Columns | undefined> => (await sql.run<Columns>(at, [accountId, chainId, seq]))[0];

type Stretch = readonly [accountId: string, chainId: string, afterSeq: number, lastSeq: number];

/** Given back to payers; everything else that leaves the provider's account is `out`. */
const givenBack = `j.template IN ('refundComplete', 'debit', 'debitHeld', 'cardSeize')`;

const moved: Statement = {
  name: 'close_moved',
  text: `SELECT coalesce(j.connection, a.first_connection, a.connection) AS connection, 0::bigint AS "openingCents",
      coalesce(sum(-j.clearing) FILTER (WHERE j.clearing < 0), 0)::bigint AS "inCents",
      coalesce(sum(j.clearing) FILTER (WHERE j.clearing > 0 AND NOT ${givenBack}), 0)::bigint AS "outCents",
      coalesce(sum(j.clearing) FILTER (WHERE j.clearing > 0 AND ${givenBack}), 0)::bigint AS "refundCents",
      sum(j.fee_revenue)::bigint AS "feeCents",
      coalesce(sum(j.clearing) FILTER (WHERE j.template = 'providerCost'), 0)::bigint AS "costCents",
      coalesce(sum(-j.clearing) FILTER (WHERE j.template = 'ownMoney' AND j.clearing < 0), 0)::bigint AS "ownInCents",
      coalesce(sum(j.clearing) FILTER (WHERE j.template = 'ownMoney' AND j.clearing > 0), 0)::bigint AS "ownOutCents"
    FROM journal j JOIN account a ON a.id = j.account_id
    WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq > $3 AND j.seq <= $4 AND (j.clearing <> 0 OR j.fee_revenue <> 0)
    GROUP BY 1`,
};

export const findMoved = (sql: Queries, stretch: Stretch): Promise<MovedMoney[]> =>
  sql.run<MovedMoney>(moved, stretch);

// ------------------------------------------------------------------------------------------------------------- what is shown

const ofDay: Statement = {
  name: 'close_of_day',
  text: `SELECT ${columns} FROM day_close c WHERE c.day = $1::date AND c.chain_id <> c.account_id
      AND (c.account_id, c.chain_id) > ($2, $3) ORDER BY c.account_id, c.chain_id LIMIT $4`,
};

/** The operations' closes of a day, a page behind a place. */
export const findClosesOfDay = (
  sql: Queries,
  day: string,
  after: { accountId: string; chainId: string },
  most: number,
): Promise<DayClose[]> => sql.run<DayClose>(ofDay, [day, after.accountId, after.chainId, most]);

const ofOperation: Statement = {
  name: 'close_of_operation',
  text: `SELECT ${columns} FROM day_close c WHERE c.account_id = $1 AND c.chain_id = $2 AND ($3::date IS NULL OR c.day < $3::date)
    ORDER BY c.day DESC LIMIT $4`,
};

/** The newest first, before a day. */
export const findClosesOf = (
  sql: Queries,
  scope: { accountId: string; operationId: string },
  beforeDay: string | null,
  most: number,
): Promise<DayClose[]> =>
  sql.run<DayClose>(ofOperation, [scope.accountId, scope.operationId, beforeDay, most]);
