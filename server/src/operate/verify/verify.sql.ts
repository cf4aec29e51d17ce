import { requestsAboutCharges } from '../../kinds/registry/kinds.ts';
import type { StoredConnectionClose, StoredDayClose } from '../../money/day-closes.ts';
import { eventKinds } from '../../money/journal.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import type { BookedPix, PixRef } from '../../store/ledger.sql.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import type { ChainedAudit } from '../../store/rows/audit-chain.ts';
import type { OwedCredit } from '../../store/rows/incidents.sql.ts';
import type {
  AuditState,
  Chain,
  ChainState,
  StoredAccount,
  StoredAuditChain,
  StoredJournal,
  StoredOperation,
  StoredPayment,
} from './invariants.ts';

/**
 * The reads of `verify`. Each statement is a page that takes some tens of milliseconds: a snapshot that is held for longer keeps
 * the versions of hot balance rows from being pruned, and slows them to a tenth.
 */

/** No payment and no operation has it: only the installation has. */
export const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * Cash transfers whose movements or journals are others than their state says, and journals of arrivals beyond them. $1: the installation, whose chain has
 * the arrivals. They are read first: on Citus they stand on another node than the transfers.
 */
const selectCash: Statement = {
  name: 'verify_cash',
  text: `WITH arrived AS MATERIALIZED (SELECT reference, suspense FROM journal WHERE account_id = $1 AND subject = $1 AND event = 21)
      SELECT (SELECT count(*) FROM cash_transfer t CROSS JOIN LATERAL (
          SELECT CASE WHEN t.to_connection IS NULL THEN 'own' ELSE 'cash' END AS kind, t.arrival IS NOT NULL OR t.own_at IS NOT NULL AS ended) s
        WHERE (SELECT count(*) FROM connection_movement m WHERE m.connection = t.connection AND m.kind = s.kind
              AND m.reference = 'payout:' || t.reference AND m.amount_cents = -t.amount_cents) <> 1
          OR (t.to_connection IS NOT NULL AND (t.returned_at IS NOT NULL) <> EXISTS (SELECT FROM connection_movement m WHERE m.connection = t.connection
              AND m.kind = 'cash' AND m.reference = 'payout:' || t.reference || ':back' AND m.amount_cents = t.amount_cents))
          OR (SELECT coalesce(sum(j.suspense), 0)::bigint FROM arrived j WHERE j.reference IN (t.connection || ':' || t.reference, t.connection || ':' || t.reference || ':back'))
            <> CASE WHEN s.ended THEN t.amount_cents ELSE 0 END
          OR (t.arrival IS NOT NULL AND NOT EXISTS (SELECT FROM connection_movement m WHERE m.connection = t.to_connection AND m.kind = 'own'
              AND m.reference = t.arrival AND m.amount_cents = t.amount_cents AND m.posted_as IS NOT NULL)))
        + ((SELECT coalesce(sum(suspense), 0)::bigint FROM arrived) <> (SELECT coalesce(sum(t.amount_cents), 0)::bigint FROM cash_transfer t
            WHERE t.arrival IS NOT NULL OR t.own_at IS NOT NULL))::int AS "miscountedCash"`,
};

const accountsWhere = (condition: string): string => `SELECT a.id, a.number,
      (SELECT count(*) FROM request_key k WHERE k.account_id = a.id AND k.resource = 'operation'
        AND NOT EXISTS (SELECT FROM operation o WHERE o.account_id = a.id AND o.id = k.resource_id)) AS "lostKeys",
      (SELECT count(*) FROM lost_payment l JOIN payment p ON p.account_id = l.account_id AND p.id = l.payment_id
        WHERE l.account_id = a.id AND l.decided_at IS NULL AND coalesce(p.connection, a.first_connection, a.connection) <> l.connection
          AND CASE l.kind WHEN 'deposit' THEN l.status = 'settled' ELSE l.status <> 'refused' END) AS "bookedElsewhere",
      (SELECT count(*) FROM known_return r WHERE r.account_id = a.id AND r.pix = '' AND r.posted AND EXISTS (SELECT FROM known_return o
        WHERE o.rtr_id = r.rtr_id AND o.pix = '' AND o.posted AND (o.account_id, o.payment) <> (r.account_id, r.payment))) AS "returnedElsewhere",
      (SELECT count(*) FROM static_code s WHERE s.account_id = a.id AND s.paid_count <= 20000
        AND (s.paid_count, s.paid_cents) <> (SELECT count(*), coalesce(sum(p.amount_cents), 0)::bigint FROM payment p
          WHERE p.account_id = s.account_id AND p.static_code_id = s.id)) AS "miscountedCodes",
      (SELECT count(*) FROM payment_link l WHERE l.account_id = a.id AND l.paid_count <= 20000
        AND (l.open_count, l.paid_count, l.paid_cents) <> (SELECT count(*) FILTER (WHERE p.status IN ('unknown', 'pending')),
            count(*) FILTER (WHERE p.status = 'paid'), coalesce(sum(p.amount_cents) FILTER (WHERE p.status = 'paid'), 0)::bigint
          FROM payment p WHERE p.account_id = l.account_id AND p.payment_link_id = l.id)) AS "miscountedLinks"
    FROM account a WHERE ${condition}`;

const selectAccounts: Statement = {
  name: 'verify_accounts',
  text: `${accountsWhere('a.cell = $3 AND ($1::uuid IS NULL OR a.id > $1)')} ORDER BY a.id LIMIT $2`,
};

const selectOneAccount: Statement = { name: 'verify_account', text: accountsWhere('a.id = $1') };

export type AccountRow = Omit<StoredAccount, 'operations' | 'own'>;

/** By itself: within a statement that runs on another node of a cluster it would be that session's. */
const selectCell: Statement = { name: 'verify_cell', text: 'SELECT current_schema()::text AS cell' };

const cellOf = async (sql: Queries): Promise<string | undefined> =>
  (await sql.run<{ cell: string }>(selectCell))[0]?.cell;

type CountedRow = Omit<AccountRow, 'miscountedCash'>;

/** The installation has the cash. */
const withCash = (sql: Queries, rows: readonly CountedRow[]): Promise<AccountRow[]> =>
  Promise.all(
    rows.map(async (row) => {
      const [cash] = row.number === 0 ? await sql.run<{ miscountedCash: number }>(selectCash, [row.id]) : [];
      return { ...row, miscountedCash: cash?.miscountedCash ?? 0 };
    }),
  );

export const findAccounts = async (sql: Queries, after: string | null, most: number): Promise<AccountRow[]> =>
  withCash(sql, await sql.run<CountedRow>(selectAccounts, [after, most, await cellOf(sql)]));

export const findAccount = async (sql: Queries, accountId: string): Promise<AccountRow[]> =>
  withCash(sql, await sql.run<CountedRow>(selectOneAccount, [accountId]));

const selectCells: Statement = {
  name: 'verify_cells',
  text: 'SELECT id, cell FROM account WHERE id = ANY ($1::uuid[])',
};

export const findCellsOf = (
  sql: Queries,
  accounts: readonly string[],
): Promise<{ id: string; cell: string }[]> => sql.run(selectCells, [accounts]);

/** The first page begins at the installation's own chain, the lowest there is. */
const selectPlaces: Statement = {
  name: 'verify_places',
  text: `SELECT b.account_id AS "accountId", b.operation_id AS "chainId", coalesce(a.cell = $5, false) AS own
    FROM (SELECT account_id, operation_id FROM balance WHERE (account_id, operation_id) >= ($1, $2)
        AND ($4 OR (account_id, operation_id) <> ($1, $2)) ORDER BY account_id, operation_id LIMIT $3) b
      LEFT JOIN LATERAL (SELECT cell FROM account WHERE id = b.account_id LIMIT 1) a ON true
    ORDER BY b.account_id, b.operation_id`,
};

/** The next chains of a cell. `own`: their account belongs to it. */
export const findPlaces = async (
  sql: Queries,
  after: { accountId: string; chainId: string } | null,
  most: number,
): Promise<{ accountId: string; chainId: string; own: boolean }[]> =>
  sql.run(selectPlaces, [
    after?.accountId ?? beforeAll,
    after?.chainId ?? beforeAll,
    most,
    after === null,
    await cellOf(sql),
  ]);

/** Tables whose rows stand in the cell of their account alone; chains with a balance are looked for by `findPlaces`. */
const tablesOfAccounts = [
  'operation',
  'request_key',
  'payment',
  'refund',
  'intent',
  'journal',
  'hold',
  'event',
];

const selectElsewhere: Statement = {
  name: 'verify_elsewhere',
  text: `SELECT a.id AS "accountId", CASE WHEN a.cell = $3 THEN '{}' ELSE array_remove(ARRAY[${tablesOfAccounts
    .map((table) => `CASE WHEN EXISTS (SELECT FROM ${table} x WHERE x.account_id = a.id) THEN '${table}' END`)
    .join(', ')}], NULL) END AS tables
    FROM (SELECT id, cell FROM account WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2) a ORDER BY a.id`,
};

/** The next accounts, and of those that belong to another cell the tables of this one with rows of them. */
export const findElsewhere = async (
  sql: Queries,
  after: string | null,
  most: number,
): Promise<{ accountId: string; tables: string[] }[]> =>
  sql.run(selectElsewhere, [after, most, await cellOf(sql)]);

const selectOperations: Statement = {
  name: 'verify_operations',
  text: `SELECT o.id, o.slot, o.main IS TRUE AS main, o.created_at AS "createdAt", o.deleted_at AS "deletedAt",
      b.operation_id IS NOT NULL AS "hasBalance", coalesce(b.available, 0) AS available, coalesce(b.reserved, 0) AS reserved,
      coalesce(b.held, 0) AS held, coalesce(b.receivable, 0) AS receivable, coalesce(b.hold_wanted, 0) AS "holdWanted",
      coalesce(b.card_held, 0) AS "cardHeld", coalesce(c.cents, 0) AS "heldCardCents",
      coalesce(b.frozen, false) AS frozen, coalesce(h.cents, 0) AS "openHoldCents", coalesce(f.incidents, 0) AS "freezingIncidents"
    FROM operation o
      LEFT JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
      LEFT JOIN (SELECT operation_id, sum(wanted_cents) AS cents FROM hold
        WHERE account_id = $1 AND released_at IS NULL GROUP BY operation_id) h ON h.operation_id = o.id
      LEFT JOIN (SELECT operation_id, count(*) AS incidents FROM incident
        WHERE account_id = $1 AND state = 'open' AND freezes GROUP BY operation_id) f ON f.operation_id = o.id
      LEFT JOIN (SELECT operation_id, sum(amount_cents - coalesce((card ->> 'outCents')::bigint, 0))::bigint AS cents FROM payment
        WHERE account_id = $1 AND card ->> 'settlement' = 'held' GROUP BY operation_id) c ON c.operation_id = o.id
    WHERE o.account_id = $1`,
};

const selectOwn: Statement = {
  name: 'verify_own_chain',
  text: 'SELECT reserved FROM balance WHERE account_id = $1 AND operation_id = $1',
};

type OperationRow = Omit<StoredOperation, 'openTransferCents' | 'unfinished'>;

const openPerPage = 5_000;

/**
 * The page is cut before payments are joined, and its size is no parameter: for one the plan would be to join everything first. An intent
 * without its payment counts too, or its page would look like the last one.
 *
 * Payments are looked up one by one, behind OFFSET 0, a barrier to the planner. A join may keep a plan from when the account had a few, and
 * then compares all of them with each of the page: 5,000 of 10,000 took longer than five seconds.
 */
const selectOpenSums: Statement = {
  name: 'verify_open_sums',
  text: `WITH page AS MATERIALIZED (SELECT operation_id, payment_id FROM intent
      WHERE account_id = $1 AND payment_id > $2 ORDER BY payment_id LIMIT ${openPerPage})
    SELECT n.operation_id AS "operationId", count(*) AS unfinished, max(n.payment_id::text) AS last,
      (coalesce(sum(p.amount_cents) FILTER (WHERE p.kind = 'transfer' AND p.status IN ('unknown', 'pending')), 0)
        + coalesce(sum(r.amount_cents) FILTER (WHERE r.status IN ('unknown', 'pending')), 0))::bigint AS cents
    FROM page n
      LEFT JOIN LATERAL (SELECT kind, status, amount_cents FROM payment WHERE account_id = $1 AND id = n.payment_id OFFSET 0) p ON true
      LEFT JOIN LATERAL (SELECT status, amount_cents FROM refund WHERE account_id = $1 AND id = n.payment_id OFFSET 0) r ON true
    GROUP BY n.operation_id`,
};

const oneSnapshot: Statement = {
  name: 'verify_one_snapshot',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};

/**
 * The balances and what is open under them, as of one moment. What is open is read by pages as well, because after an outage it may be
 * millions of payments of one account: in one statement 2.5 million took longer than any statement may. The snapshot is held for all of
 * it, 37 s for two million: read at different moments, balances and what is open would differ without a fault.
 */
export const findStoredBooks = (
  sql: Sql,
  accountId: string,
): Promise<Pick<StoredAccount, 'operations' | 'own'>> =>
  sql.tx(async (tx) => {
    void tx.run(oneSnapshot);
    const operations = tx.run<OperationRow>(selectOperations, [accountId]);
    const own = tx.run<{ reserved: number }>(selectOwn, [accountId]);
    const open = new Map<string, { unfinished: number; cents: number }>();
    for (let after = beforeAll, full = true; full; ) {
      const sums = await tx.run<{ operationId: string; unfinished: number; cents: number; last: string }>(
        selectOpenSums,
        [accountId, after],
      );
      let read = 0;
      for (const { operationId, unfinished, cents, last } of sums) {
        const before = open.get(operationId) ?? { unfinished: 0, cents: 0 };
        open.set(operationId, { unfinished: before.unfinished + unfinished, cents: before.cents + cents });
        read += unfinished;
        if (last > after) after = last;
      }
      full = read === openPerPage;
    }
    return {
      operations: (await operations).map((operation) => ({
        ...operation,
        openTransferCents: open.get(operation.id)?.cents ?? 0,
        unfinished: open.get(operation.id)?.unfinished ?? 0,
      })),
      own: { reserved: (await own)[0]?.reserved ?? 0, openCents: open.get(accountId)?.cents ?? 0 },
    };
  });

const selectChains: Statement = {
  name: 'verify_chains',
  text: `SELECT b.account_id AS "accountId", b.operation_id AS "chainId", b.available, b.reserved, b.held, b.receivable,
      b.hold_wanted AS "holdWanted", b.card_held AS "cardHeld", b.seq, b.head, b.deleted_at AS "deletedAt", coalesce(
        (SELECT max(j.seq) FROM journal j WHERE j.account_id = b.account_id AND j.chain_id = b.operation_id), 0) AS "lastSeq"
    FROM balance b WHERE b.account_id = $1 AND ($2::uuid IS NULL OR b.operation_id > $2) ORDER BY b.account_id, b.operation_id LIMIT $3`,
};

export const findChains = (
  sql: Queries,
  accountId: string,
  after: string | null,
  most: number,
): Promise<Chain[]> => sql.run<Chain>(selectChains, [accountId, after, most]);

const selectNextChain: Statement = {
  name: 'verify_next_chain',
  text: `SELECT chain_id AS "chainId",
      EXISTS (SELECT FROM balance b WHERE b.account_id = j.account_id AND b.operation_id = j.chain_id) AS known
    FROM journal j WHERE account_id = $1 AND chain_id > $2 ORDER BY account_id, chain_id LIMIT 1`,
};

/** The first chain after this one that has journals, whether or not it has a balance row. */
export const findNextChain = async (
  sql: Queries,
  accountId: string,
  after: string,
): Promise<{ chainId: string; known: boolean } | undefined> =>
  (await sql.run<{ chainId: string; known: boolean }>(selectNextChain, [accountId, after]))[0];

const lines = `j.available, j.reserved, j.held, j.receivable, j.clearing, j.fee_revenue AS "feeRevenue",
  j.provider_cost AS "providerCost", j.suspense, j.adjustments, j.card_held AS "cardHeld"`;

const selectJournals: Statement = {
  name: 'verify_journals',
  text: `SELECT j.account_id AS "accountId", j.chain_id AS "chainId", j.seq, j.template, j.subject, j.event, j.reference, ${lines},
      j.available_after AS "availableAfter", j.reserved_after AS "reservedAfter", j.held_after AS "heldAfter",
      j.receivable_after AS "receivableAfter", j.card_held_after AS "cardHeldAfter", j.effective_at AS "effectiveAt", j.posted_at AS "postedAt", j.command, j.version,
      j.previous, j.hash, j.connection, j.pix, coalesce(j.connection, a.first_connection, a.connection) AS "clearingOf",
      CASE WHEN p.id IS NOT NULL THEN coalesce(p.connection, a.first_connection, a.connection) END AS "paymentConnection",
      coalesce(p.operation_id, r.operation_id) AS "paymentOperationId", coalesce(p.id, r.payment_id) AS "paymentId",
      i.id IS NOT NULL AS "hasIncident"
    FROM journal j JOIN account a ON a.id = j.account_id
      LEFT JOIN payment p ON p.account_id = j.account_id AND p.id = j.subject
      LEFT JOIN refund r ON j.event IN (11, 12, 13) AND r.account_id = j.account_id AND r.id = j.subject
      LEFT JOIN incident i ON j.event = 7 AND i.account_id = j.account_id AND i.reference = CASE
        WHEN j.subject = j.account_id THEN 'unmatched:' || j.reference
        ELSE 'suspense:' || j.subject || ':' || j.reference END
    WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq > $3 AND j.seq <= $4 ORDER BY j.seq LIMIT $5`,
};

/**
 * The sums of the movements that journals of connections hold. In a statement of its own: it costs the other journals nothing, and on Citus they stand on another
 * node than most journals.
 */
const selectMovements: Statement = {
  name: 'verify_movements',
  text: `SELECT posted_as AS reference, connection, kind, sum(amount_cents)::bigint AS cents FROM connection_movement
    WHERE posted_as = ANY ($1::text[]) GROUP BY posted_as, connection, kind`,
};

interface MovementSum {
  reference: string;
  connection: string;
  kind: string;
  cents: number;
}

/** Which movements a journal of a connection holds. */
const kindOfMovements: Readonly<Partial<Record<number, string>>> = {
  [eventKinds.providerCost]: 'cost',
  [eventKinds.ownMoney]: 'own',
  [eventKinds.cashTransfer]: 'cash',
};

type Held = Pick<StoredJournal, 'event' | 'reference' | 'connection'>;

/** @returns what a journal's movements come to; null: it is about something else */
async function movementsHeldBy(
  sql: Queries,
  journals: readonly Held[],
): Promise<(journal: Held) => number | null> {
  const references = journals.flatMap(({ event, reference }) => (kindOfMovements[event] ? reference : []));
  const sums = references.length > 0 ? await sql.run<MovementSum>(selectMovements, [references]) : [];
  const keyOf = (...names: (string | null)[]): string => JSON.stringify(names);
  const held = new Map(sums.map((one) => [keyOf(one.reference, one.connection, one.kind), one.cents]));
  return ({ event, reference, connection }) => {
    const kind = kindOfMovements[event];
    return kind === undefined ? null : (held.get(keyOf(reference, connection, kind)) ?? 0);
  };
}

type JournalRow = Omit<StoredJournal, 'lines' | 'after' | 'movementCents'> &
  StoredJournal['lines'] & {
    availableAfter: number;
    reservedAfter: number;
    heldAfter: number;
    receivableAfter: number;
    cardHeldAfter: number;
  };

export const findJournals = async (
  sql: Queries,
  chain: { accountId: string; chainId: string; seq: number },
  after: number,
  most: number,
): Promise<StoredJournal[]> => {
  const rows = await sql.run<JournalRow>(selectJournals, [
    chain.accountId,
    chain.chainId,
    after,
    chain.seq,
    most,
  ]);
  const movementsOf = await movementsHeldBy(sql, rows);
  return rows.map((row) => ({
    ...row,
    movementCents: movementsOf(row),
    lines: {
      available: row.available,
      reserved: row.reserved,
      held: row.held,
      receivable: row.receivable,
      clearing: row.clearing,
      feeRevenue: row.feeRevenue,
      providerCost: row.providerCost,
      suspense: row.suspense,
      adjustments: row.adjustments,
      cardHeld: row.cardHeld,
    },
    after: {
      available: row.availableAfter,
      reserved: row.reservedAfter,
      held: row.heldAfter,
      receivable: row.receivableAfter,
      cardHeld: row.cardHeldAfter,
    },
  }));
};

/** The requests of its merchant. */
const requestsOfPayment = requestsAboutCharges
  .map(
    ({ name, table, request: { outcome } }) =>
      `SELECT '${name}' AS kind, id, status, ${outcome ?? 'NULL::text AS outcome'}, created_at FROM ${table.name} WHERE account_id = p.account_id AND payment_id = p.id`,
  )
  .join(' UNION ALL ');

/**
 * The event of a terminal state, found by its time: there is no index by payment, which every event would pay for.
 * Its id is a UUIDv7 of the moment in which the state was entered, so a quarter of a second around it is enough.
 */
const paymentsOf = (page: string): string => `WITH page AS (${page})
  SELECT p.account_id AS "accountId", a.number AS "accountNumber", p.id, p.operation_id AS "operationId", p.kind, p.status, p.reason_code AS "reasonCode",
    p.amount_cents AS "amountCents", p.fee_cents AS "feeCents", p.request_key AS "requestKey", p.created_at AS "createdAt",
    p.updated_at AS "updatedAt", p.end_to_end AS "endToEnd", p.provider_fee_cents AS "providerFeeCents",
    p.net_amount_cents AS "netAmountCents", p.returned_cents AS "returnedCents",
    p.refunded_cents AS "refundedCents", p.history, p.command, p.card, p.due, p.static_code_id AS "staticCodeId",
    EXISTS (SELECT FROM static_code s WHERE s.account_id = p.account_id AND s.id = p.static_code_id
      AND s.operation_id = p.operation_id AND s.connection = p.connection) AS "codeIsOurs",
    p.payment_link_id IS NULL OR EXISTS (SELECT FROM payment_link l WHERE l.account_id = p.account_id AND l.id = p.payment_link_id
      AND l.operation_id = p.operation_id AND CASE WHEN p.card IS NULL THEN l.takes_pix ELSE l.takes_card END) AS "linkIsOurs",
    o.deleted_at IS NOT NULL AS "operationDeleted", n.state AS "intentState", n.identity AS "intentIdentity", n.lease_until IS NOT NULL AS leased,
    p.expires_at AS "expiresAt", n.absent_since AS "undecidedSince", n.answered_at AS "answeredAt",
    CASE WHEN n.payment_id IS NULL THEN 0
      ELSE (SELECT count(*) FROM incident i WHERE i.account_id = p.account_id AND i.payment_id = p.id) END AS incidents,
    (SELECT coalesce(json_agg(json_build_object('reference', r.reference, 'pix', r.pix, 'id', r.return_id, 'rtrId', r.rtr_id,
        'amountCents', r.amount_cents, 'posted', r.posted)), '[]')
      FROM known_return r WHERE r.account_id = p.account_id AND r.payment = p.id::text) AS returns,
    EXISTS (SELECT FROM request_key k WHERE k.account_id = p.account_id AND k.request_key = p.request_key) AS "keyTaken",
    (SELECT count(*) FROM event e WHERE e.account_id = p.account_id AND e.payment_id = p.id AND e.type =
        CASE p.kind WHEN 'deposit' THEN 'charge.' ELSE 'transfer.' END || p.status
      AND e.id BETWEEN (lpad(to_hex(p.entered - 250), 12, '0') || '00000000000000000000')::uuid
        AND (lpad(to_hex(p.entered + 250), 12, '0') || 'ffffffffffffffffffff')::uuid) AS events,
    (SELECT coalesce(json_agg(json_build_object('chainId', j.chain_id, 'event', j.event, 'template', j.template,
        'reference', j.reference, 'command', j.command, 'pix', j.pix, 'available', j.available, 'reserved', j.reserved, 'held', j.held,
        'receivable', j.receivable, 'clearing', j.clearing, 'feeRevenue', j.fee_revenue, 'providerCost', j.provider_cost,
        'suspense', j.suspense, 'adjustments', j.adjustments, 'cardHeld', j.card_held)), '[]')
      FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id) AS journals,
    (SELECT coalesce(json_agg(json_build_object('id', r.id, 'operationId', r.operation_id, 'endToEnd', r.end_to_end,
        'reason', r.reason, 'status', r.status, 'amountCents', r.amount_cents, 'feeBackCents', r.fee_back_cents,
        'requestKey', r.request_key, 'rtrId', r.rtr_id, 'command', r.command,
        'history', r.history, 'intentState', ri.state, 'intentIdentity', ri.identity,
        'journals', (SELECT coalesce(json_agg(json_build_object('chainId', j.chain_id, 'event', j.event, 'template', j.template,
            'reference', j.reference, 'command', j.command, 'pix', j.pix, 'available', j.available, 'reserved', j.reserved, 'held', j.held,
            'receivable', j.receivable, 'clearing', j.clearing, 'feeRevenue', j.fee_revenue, 'providerCost', j.provider_cost,
            'suspense', j.suspense, 'adjustments', j.adjustments, 'cardHeld', j.card_held)), '[]')
          FROM journal j WHERE j.account_id = r.account_id AND j.subject = r.id))), '[]')
      FROM refund r LEFT JOIN intent ri ON ri.account_id = r.account_id AND ri.payment_id = r.id
      WHERE r.account_id = p.account_id AND r.payment_id = p.id) AS refunds,
    (SELECT coalesce(json_agg(json_build_object('kind', c.kind, 'id', c.id, 'status', c.status, 'outcome', c.outcome,
          'intentState', ci.state, 'intentIdentity', ci.identity) ORDER BY c.created_at, c.id), '[]')
        FROM (${requestsOfPayment}) c LEFT JOIN intent ci ON ci.account_id = p.account_id AND ci.payment_id = c.id) AS requests,
    (SELECT coalesce(json_agg(json_build_object('id', d.id, 'endToEnd', d.end_to_end, 'amountCents', d.amount_cents,
        'debitedCents', d.debited_cents, 'status', d.status, 'holdId', d.hold_id,
        'wantedCents', CASE WHEN h.released_at IS NULL THEN h.wanted_cents END, 'released', d.released_at IS NOT NULL,
        'defences', (SELECT coalesce(json_agg(json_build_object('id', f.id, 'status', f.status, 'reason', f.reason, 'attempts', f.attempts,
              'intentState', fi.state, 'intentIdentity', fi.identity,
              'lostFiles', (SELECT count(*) FROM jsonb_array_elements_text(f.file_ids) AS n (id) WHERE NOT EXISTS (SELECT FROM dispute_file x
                WHERE x.account_id = f.account_id AND x.id = n.id::uuid AND x.dispute_id = f.dispute_id)))), '[]')
          FROM dispute_defence f LEFT JOIN intent fi ON fi.account_id = f.account_id AND fi.payment_id = f.id
          WHERE f.account_id = d.account_id AND f.dispute_id = d.id))), '[]')
      FROM dispute d LEFT JOIN hold h ON h.account_id = d.account_id AND h.id = d.hold_id
      WHERE d.account_id = p.account_id AND d.payment_id = p.id) AS disputes,
    (SELECT coalesce(json_agg(json_build_object('endToEnd', j.reference, 'cents', j.suspense)), '[]')
      FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id AND j.event = 7
        AND j.reference IS DISTINCT FROM p.end_to_end AND EXISTS (SELECT FROM incident i
          WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.resolution ->> 'action' = 'credit'
            AND (i.reference = 'suspense:' || p.id || ':' || j.reference OR i.reference IN (SELECT 'return_refused:' || r.id
              FROM refund r WHERE r.account_id = p.account_id AND r.payment_id = p.id AND r.end_to_end = j.reference)))) AS credited
  FROM page p
    JOIN account a ON a.id = p.account_id
    JOIN operation o ON o.account_id = p.account_id AND o.id = p.operation_id
    LEFT JOIN intent n ON n.account_id = p.account_id AND n.payment_id = p.id
  ORDER BY p.id`;

const entered = `(extract(epoch FROM (history -> -1 ->> 'at')::timestamptz) * 1000)::bigint AS entered`;

const selectPayments: Statement = {
  name: 'verify_payments',
  text: paymentsOf(
    `SELECT *, ${entered} FROM payment WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
  ),
};

export const findPayments = async (
  sql: Queries,
  accountId: string,
  after: string,
  most: number,
  eventsSince: number,
): Promise<StoredPayment[]> =>
  withLateEvents(sql, eventsSince, await sql.run<StoredPayment>(selectPayments, [accountId, after, most]));

const selectBookedPix: Statement = {
  name: 'verify_booked_pix',
  text: `SELECT account_id AS "accountId", subject, connection, pix AS "endToEnd" FROM journal
    WHERE pix IS NOT NULL AND (connection, pix) > ($1, $2) ORDER BY connection, pix LIMIT $3`,
};

/** Pix that the cell has booked, in the order of their index, behind `after`. */
export const findBookedPix = (sql: Queries, after: PixRef | null, most: number): Promise<BookedPix[]> =>
  sql.run(selectBookedPix, [after?.connection ?? '', after?.endToEnd ?? '', most]);

const selectGiven: Statement = {
  name: 'verify_given',
  text: `SELECT id, coalesce(resolution -> 'owed', resolution -> 'credited') AS money, resolution ? 'owed' AS owed, resolved_at AS "resolvedAt"
    FROM incident WHERE account_id = $1 AND id > $2 AND (resolution ? 'owed' OR resolution ? 'credited') ORDER BY id LIMIT $3`,
};

/** A decision of the installation that gave money to an account of another cell. */
export interface GivenMoney {
  id: string;
  money: OwedCredit;
  /** That cell was still to credit it. */
  owed: boolean;
  resolvedAt: number;
}

export const findGiven = (sql: Queries, after: string, most: number): Promise<GivenMoney[]> =>
  sql.run(selectGiven, [installationId, after, most]);

const selectTaken: Statement = {
  name: 'verify_taken',
  text: `SELECT k.n FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[])
      WITH ORDINALITY AS k (account_id, subject, connection, pix, cents, n)
    WHERE EXISTS (SELECT FROM journal j WHERE j.account_id = k.account_id AND j.subject = k.subject AND j.event = $6
        AND j.reference = k.pix AND j.connection = k.connection AND j.clearing = -k.cents)
      OR EXISTS (SELECT FROM journal j WHERE j.connection = k.connection AND j.pix = k.pix AND j.clearing = -k.cents)`,
};

/** Those of them that a cell has in its books, by their place from zero. */
export const findTaken = async (sql: Queries, given: readonly GivenMoney[]): Promise<ReadonlySet<number>> => {
  const all = given.map(({ money }) => money);
  const rows = await sql.run<{ n: number }>(selectTaken, [
    ...[all.map((one) => one.accountId), all.map((one) => one.subject), all.map((one) => one.connection)],
    ...[all.map((one) => one.pix), all.map((one) => one.amountCents), eventKinds.resolution],
  ]);
  return new Set(rows.map(({ n }) => n - 1));
};

const selectPaymentsById: Statement = {
  name: 'verify_payments_by_id',
  text: paymentsOf(`SELECT *, ${entered} FROM payment WHERE account_id = $1 AND id = ANY ($2::uuid[])`),
};

export const findPaymentsById = async (
  sql: Queries,
  accountId: string,
  ids: readonly string[],
  eventsSince: number,
): Promise<StoredPayment[]> =>
  withLateEvents(sql, eventsSince, await sql.run<StoredPayment>(selectPaymentsById, [accountId, ids]));

const selectLateEvents: Statement = {
  name: 'verify_late_events',
  text: `SELECT count(*) AS events FROM event
    WHERE account_id = $1 AND payment_id = $2 AND type = $3 AND id BETWEEN $4 AND $5`,
};

const settledAs: ReadonlySet<string> = new Set(['paid', 'completed', 'failed', 'expired', 'cancelled']);

/**
 * After a clock has been set back, ids go on from where they were: where no event was found, a minute around is looked at, and
 * then a day.
 */
async function withLateEvents(
  sql: Queries,
  eventsSince: number,
  page: StoredPayment[],
): Promise<StoredPayment[]> {
  for (const payment of page) {
    if (payment.events > 0 || payment.operationDeleted || !settledAs.has(payment.status)) continue;
    const at = Date.parse(payment.history.at(-1)?.at ?? '');
    if (at < eventsSince) continue;
    const hex = (ms: number): string => ms.toString(16).padStart(12, '0');
    const type = `${payment.kind === 'deposit' ? 'charge' : 'transfer'}.${payment.status}`;
    for (const aroundMs of [60_000, 86_400_000]) {
      if (payment.events > 0) break;
      const [late] = await sql.run<{ events: number }>(selectLateEvents, [
        payment.accountId,
        payment.id,
        type,
        hex(at - aroundMs).padEnd(32, '0'),
        hex(at + aroundMs).padEnd(32, 'f'),
      ]);
      payment.events = late?.events ?? 0;
    }
  }
  return page;
}

const selectOpen: Statement = {
  name: 'verify_open_payments',
  text: `SELECT payment_id AS id FROM intent WHERE account_id = $1 AND payment_id > $2 ORDER BY payment_id LIMIT $3`,
};

export const findOpenIds = async (
  sql: Queries,
  accountId: string,
  after: string,
  most: number,
): Promise<string[]> =>
  (await sql.run<{ id: string }>(selectOpen, [accountId, after, most])).map(({ id }) => id);

/** The disputes of an account by their own order, with the payments that they are about. */
const selectDisputed: Statement = {
  name: 'verify_disputed_payments',
  text: 'SELECT id, payment_id AS "paymentId" FROM dispute WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3',
};

export const findDisputed = (
  sql: Queries,
  accountId: string,
  after: string,
  most: number,
): Promise<{ id: string; paymentId: string }[]> => sql.run(selectDisputed, [accountId, after, most]);

const selectFloats: Statement = {
  name: 'verify_floats',
  text: `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
    WHERE table_schema = 'vintem' AND data_type IN ('real', 'double precision', 'numeric', 'money')
      AND (column_name LIKE '%cents%' OR table_name IN ('journal', 'balance', 'checkpoint', 'payment', 'hold', 'incident'))`,
};

export const findFloatColumns = async (sql: Queries): Promise<string[]> =>
  (await sql.run<{ name: string }>(selectFloats)).map(({ name }) => name);

// ------------------------------------------------------------------------------------------------------------------- closes

const selectCloses: Statement = {
  name: 'verify_closes',
  text: `SELECT to_char(c.day, 'YYYY-MM-DD') AS day, to_char(c.previous_day, 'YYYY-MM-DD') AS "previousDay",
      c.opening_seq AS "openingSeq", c.closing_seq AS "closingSeq", c.head, c.opening_cents AS "openingCents", c.in_cents AS "inCents",
      c.out_cents AS "outCents", c.fee_cents AS "feeCents", c.refund_cents AS "refundCents", c.hold_cents AS "holdCents",
      c.closing_cents AS "closingCents", c.available, c.reserved, c.held, c.receivable,
      coalesce((SELECT sum(m.opening_cents + m.in_cents - m.out_cents - m.refund_cents) FROM day_close_money m
        WHERE m.account_id = c.account_id AND m.chain_id = c.chain_id AND m.day = c.day), 0)::bigint AS "movedCents"
    FROM day_close c WHERE c.account_id = $1 AND c.chain_id = $2 AND c.day >= coalesce(
      (SELECT max(l.day) FROM day_close l WHERE l.account_id = $1 AND l.chain_id = $2 AND l.closing_seq < $3), '-infinity')
    ORDER BY c.day`,
};

/** Those that end at a journal or later, and the one before them. */
export const findCloses = (
  sql: Queries,
  chain: { accountId: string; chainId: string },
  seq: number,
): Promise<StoredDayClose[]> => sql.run<StoredDayClose>(selectCloses, [chain.accountId, chain.chainId, seq]);

const selectConnectionCloses: Statement = {
  name: 'verify_connection_closes',
  text: `SELECT c.connection, to_char(c.day, 'YYYY-MM-DD') AS day, to_char(c.previous_day, 'YYYY-MM-DD') AS "previousDay",
      c.opening_cents AS "openingCents", c.in_cents AS "inCents", c.out_cents AS "outCents", c.refund_cents AS "refundCents",
      c.fee_cents AS "feeCents", c.held_cents AS "heldCents", c.closing_cents AS "closingCents", c.since_cents AS "sinceCents",
      c.in_transit_cents AS "inTransitCents", c.provider_cents AS "providerCents", c.difference_cents AS "differenceCents",
      c.compared_at AS "comparedAt", c.incident_id AS "incidentId", c.closed_at AS "closedAt", c.head, c.cost_cents AS "costCents",
      c.own_in_cents AS "ownInCents", c.own_out_cents AS "ownOutCents", c.blocked_cents AS "blockedCents",
      c.transit_settled_cents AS "transitSettledCents", c.transit_pending_cents AS "transitPendingCents",
      c.transit_unsent_cents AS "transitUnsentCents", current_schema()::text AS cell, s.shares
    FROM (SELECT * FROM connection_close WHERE (connection, day) > ($1, $2::date) ORDER BY connection, day LIMIT $3) c
      CROSS JOIN LATERAL (SELECT coalesce(json_agg(json_build_object('cell', s.cell, 'chains', s.chains, 'openingCents', s.opening_cents,
            'inCents', s.in_cents, 'outCents', s.out_cents, 'refundCents', s.refund_cents, 'feeCents', s.fee_cents,
            'costCents', s.cost_cents, 'ownInCents', s.own_in_cents, 'ownOutCents', s.own_out_cents)), '[]') AS shares
        FROM connection_close_cell s WHERE s.connection = c.connection AND s.day = c.day) s
    ORDER BY c.connection, c.day`,
};

/**
 * The cell's part of each: the heads are read from the closes of its chains themselves, over the days since the connection's close before. By
 * itself, because closes of connections stand in the directory.
 */
const selectMovedOfCell: Statement = {
  name: 'verify_connection_closes_moved',
  text: `SELECT m.moved, EXISTS (SELECT FROM incident i WHERE i.id = k.incident_id AND i.kind = 'close_difference') AS "hasIncident"
    FROM unnest($1::text[], $2::date[], $3::date[], $4::uuid[]) WITH ORDINALITY AS k (connection, previous_day, day, incident_id, place)
      CROSS JOIN LATERAL (SELECT
          json_build_object('chains',
            encode(sha256(coalesce(string_agg(d.head, ''::bytea ORDER BY d.account_id, d.chain_id, d.day), ''::bytea)), 'hex'),
            'openingCents', coalesce(sum(m.opening_cents), 0), 'inCents', coalesce(sum(m.in_cents), 0),
            'outCents', coalesce(sum(m.out_cents), 0), 'refundCents', coalesce(sum(m.refund_cents), 0),
            'feeCents', coalesce(sum(m.fee_cents), 0), 'costCents', coalesce(sum(m.cost_cents), 0),
            'ownInCents', coalesce(sum(m.own_in_cents), 0), 'ownOutCents', coalesce(sum(m.own_out_cents), 0)) AS moved
        FROM day_close_money m JOIN day_close d USING (account_id, chain_id, day)
        WHERE m.connection = k.connection AND m.day > coalesce(k.previous_day, '-infinity') AND m.day <= k.day) m
    ORDER BY k.place`,
};

type OfCell = Pick<StoredConnectionClose, 'moved' | 'hasIncident'>;

export async function findConnectionCloses(
  sql: Queries,
  after: { connection: string; day: string },
  most: number,
): Promise<StoredConnectionClose[]> {
  const closes = await sql.run<Omit<StoredConnectionClose, keyof OfCell>>(selectConnectionCloses, [
    after.connection,
    after.day,
    most,
  ]);
  const ofCell = await sql.run<OfCell>(selectMovedOfCell, [
    closes.map(({ connection }) => connection),
    closes.map(({ previousDay }) => previousDay),
    closes.map(({ day }) => day),
    closes.map(({ incidentId }) => incidentId),
  ]);
  return closes.map((close, at) => ({ ...close, ...(ofCell[at] as OfCell) }));
}

// -------------------------------------------------------------------------------------------------------------- checkpoints

const checkpointColumns = `j.seq, j.head, ${lines}`;

const selectCheckpoints: Statement = {
  name: 'verify_checkpoints',
  text: `SELECT ${checkpointColumns} FROM checkpoint j WHERE j.account_id = $1 AND j.chain_id = $2 ORDER BY j.seq`,
};

const selectLastCheckpoint: Statement = {
  name: 'verify_last_checkpoint',
  text: `SELECT ${checkpointColumns}, j.created_at AS "createdAt" FROM checkpoint j
    WHERE j.account_id = $1 AND j.chain_id = $2 ORDER BY j.seq DESC LIMIT 1`,
};

/** All of a chain, in order. */
export const findCheckpoints = (
  sql: Queries,
  chain: { accountId: string; chainId: string },
): Promise<ChainState[]> => sql.run<ChainState>(selectCheckpoints, [chain.accountId, chain.chainId]);

export const findLastCheckpoint = async (
  sql: Queries,
  chain: { accountId: string; chainId: string },
): Promise<(ChainState & { createdAt: number }) | undefined> =>
  (
    await sql.run<ChainState & { createdAt: number }>(selectLastCheckpoint, [chain.accountId, chain.chainId])
  )[0];

const insert: Statement = {
  name: 'checkpoint_insert',
  text: `INSERT INTO checkpoint (account_id, chain_id, seq, head, available, reserved, held, receivable, clearing, fee_revenue,
      provider_cost, suspense, adjustments, card_held, created_at)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::bigint[]), unnest($4::bytea[]), unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::bigint[]),
      unnest($9::bigint[]), unnest($10::bigint[]), unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::bigint[]), unnest($14::bigint[]),
      unnest($15::timestamptz[]))
    ON CONFLICT DO NOTHING`,
};

/** Two passes may come to the same place at once. */
export const insertCheckpoints = (
  sql: Queries,
  rows: readonly { accountId: string; chainId: string; sums: ChainState }[],
  nowMs: number,
): Promise<unknown> =>
  sql.run(insert, [
    rows.map((row) => row.accountId),
    rows.map((row) => row.chainId),
    rows.map((row) => row.sums.seq),
    rows.map((row) => row.sums.head),
    rows.map((row) => row.sums.available),
    rows.map((row) => row.sums.reserved),
    rows.map((row) => row.sums.held),
    rows.map((row) => row.sums.receivable),
    rows.map((row) => row.sums.clearing),
    rows.map((row) => row.sums.feeRevenue),
    rows.map((row) => row.sums.providerCost),
    rows.map((row) => row.sums.suspense),
    rows.map((row) => row.sums.adjustments),
    rows.map((row) => row.sums.cardHeld),
    rows.map(() => new Date(nowMs).toISOString()),
  ]);

const selectHash: Statement = {
  name: 'verify_hash',
  text: `SELECT hash FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq = $3`,
};

export const findHashAt = async (
  sql: Queries,
  chain: { accountId: string; chainId: string; seq: number },
): Promise<Buffer | undefined> =>
  (await sql.run<{ hash: Buffer }>(selectHash, [chain.accountId, chain.chainId, chain.seq]))[0]?.hash;

// -------------------------------------------------------------------------------------------------------------------- audit

const auditChainColumns = `current_schema()::text AS cell, c.account_id AS "accountId", c.start, c.seq, c.head,
      coalesce((SELECT max(a.seq) FROM audit a WHERE a.account_id = c.account_id), 0) AS "lastSeq"`;

const selectAuditChains: Statement = {
  name: 'verify_audit_chains',
  text: `SELECT ${auditChainColumns} FROM audit_chain c WHERE c.account_id >= $1 AND ($2 OR c.account_id > $1) ORDER BY c.account_id LIMIT $3`,
};

/** @param after null: from the first, which is the installation's own */
export const findAuditChains = (
  sql: Queries,
  after: string | null,
  most: number,
): Promise<StoredAuditChain[]> =>
  sql.run<StoredAuditChain>(selectAuditChains, [after ?? beforeAll, after === null, most]);

const selectAuditChain: Statement = {
  name: 'verify_audit_chain',
  text: `SELECT ${auditChainColumns} FROM audit_chain c WHERE c.account_id = $1`,
};

export const findAuditChain = (sql: Queries, accountId: string): Promise<StoredAuditChain[]> =>
  sql.run<StoredAuditChain>(selectAuditChain, [accountId]);

const selectAuditAt: Statement = {
  name: 'verify_audit_at',
  text: 'SELECT seq, hash FROM audit WHERE account_id = $1 AND seq = $2',
};

export const findAuditAt = async (
  sql: Queries,
  accountId: string,
  seq: number,
): Promise<AuditState | undefined> => (await sql.run<AuditState>(selectAuditAt, [accountId, seq]))[0];

/** As the migration that began the chain made it (`0072_audit_chain.sql`). */
const selectEarlierAudit: Statement = {
  name: 'verify_audit_earlier',
  text: `SELECT sha256(coalesce(string_agg(sha256(convert_to(jsonb_build_array(account_id, id, (extract(epoch FROM at) * 1000000)::bigint,
        actor, action, subject, reason, detail)::text, 'UTF8')), ''::bytea ORDER BY id), ''::bytea)) AS digest
    FROM audit WHERE account_id = $1 AND seq IS NULL`,
};

export const findEarlierAudit = async (sql: Queries, accountId: string): Promise<Buffer | null> =>
  (await sql.run<{ digest: Buffer }>(selectEarlierAudit, [accountId]))[0]?.digest ?? null;

const selectAuditRows: Statement = {
  name: 'verify_audit_rows',
  text: `SELECT account_id AS "accountId", id, at, actor, action, subject, reason, detail, seq, chained_ms AS "chainedMs", hash
    FROM audit WHERE account_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`,
};

export const findAuditRows = (
  sql: Queries,
  { accountId, seq }: Pick<StoredAuditChain, 'accountId' | 'seq'>,
  after: number,
  most: number,
): Promise<ChainedAudit[]> => sql.run<ChainedAudit>(selectAuditRows, [accountId, after, seq, most]);

const selectNextAudited: Statement = {
  name: 'verify_audit_next',
  text: `SELECT a.account_id AS "accountId", EXISTS (SELECT FROM audit_chain c WHERE c.account_id = a.account_id) AS chained
    FROM audit a WHERE a.account_id >= $1 AND ($2 OR a.account_id > $1) ORDER BY a.account_id LIMIT 1`,
};

/** The next account with audit rows. */
export const findNextAudited = async (
  sql: Queries,
  after: string | null,
): Promise<{ accountId: string; chained: boolean } | undefined> =>
  (
    await sql.run<{ accountId: string; chained: boolean }>(selectNextAudited, [
      after ?? beforeAll,
      after === null,
    ])
  )[0];
