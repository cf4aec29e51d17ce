import net from 'node:net';
import { expect } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import type { Movement } from '../../server/src/money/decide.ts';
import {
  chainStart,
  type EventKind,
  eventKinds,
  hashOf,
  type Journal,
} from '../../server/src/money/journal.ts';
import { newPayment } from '../../server/src/money/payment.ts';
import { createAccount } from '../../server/src/operate/connections/directory.ts';
import { systemClock as clock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import type { Sql, Statement } from '../../server/src/ports/sql.ts';
import type { BalanceRow } from '../../server/src/store/ledger.sql.ts';
import { paymentKey, payments } from '../../server/src/store/rows/payments.sql.ts';
import {
  type ChainKey,
  type Command,
  createTill,
  put,
  read,
  type Till,
} from '../../server/src/store/till.ts';
import type { TestDatabase } from './database.ts';

/** The material of the till's laws: commands, ways to stand between it and PostgreSQL, and an audit of what it wrote. */

const ids = systemIds(clock);
const silent = createLog('silent');

export const tillOver = (sql: Sql): Till => createTill({ sql, clock, log: silent });

export interface Told {
  subject?: string;
  event?: EventKind;
  withinMs?: number;
  /** Whether it looks first whether the event is posted; `false` for a command with a mistake. */
  looks?: boolean;
}

/** A command that posts one movement, once per subject. */
export function posting(chain: ChainKey, movement: Movement, told: Told = {}): Command<'posted' | 'already'> {
  const { subject = ids.uuid(), event = eventKinds.credit, withinMs = 120_000, looks = true } = told;
  const ref = { accountId: chain.accountId, subject, event, reference: '' };
  return {
    token: ids.uuid(),
    chains: [chain],
    reads: [],
    eventRefs: looks ? [ref] : [],
    deadlineMs: clock.monotonicMs() + withinMs,
    decide: (view) => {
      if (looks && view.posted(ref)) return { answer: 'already' };
      return {
        answer: 'posted',
        postings: [{ ...ref, chain, movement, effectiveAt: clock.now(), connection: 'simulator' }],
      };
    },
  };
}

export const credit = (chain: ChainKey, amountCents: number, told: Told = {}) =>
  posting(chain, { kind: 'credit', amountCents, feeCents: 0 }, told);

export const reserve = (chain: ChainKey, grossCents: number, told: Told = {}) =>
  posting(chain, { kind: 'reserve', grossCents }, { event: eventKinds.reserve, ...told });

/** A command that creates a charge, or answers that it exists. */
export function create(chain: ChainKey, id: string): Command<'created' | 'repeat'> {
  const { accountId, chainId: operationId } = chain;
  const token = ids.uuid();
  const now = clock.now();
  return {
    token,
    chains: [chain],
    reads: [read(payments, paymentKey(accountId, id))],
    eventRefs: [],
    deadlineMs: clock.monotonicMs() + 8_000,
    decide: (view) => {
      if (view.get(payments, paymentKey(accountId, id))) return { answer: 'repeat' };
      const charge = newPayment(
        {
          accountId,
          id,
          operationId,
          kind: 'deposit',
          amountCents: 1000,
          feeCents: 0,
          requestKey: id,
          fingerprint: Buffer.alloc(33),
          description: '',
          payerName: 'Maria',
          pixKey: null,
          pixKeyType: null,
          command: token,
          connection: 'simulator',
        },
        'unknown',
        now,
        { by: 'api', id: 'test' },
      );
      return { answer: 'created', writes: [put(payments, charge)] };
    },
  };
}

/** The code of the refusal that a command was answered with. */
export const codeOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    (value) => value,
    (error: { code?: unknown }) => error.code ?? error,
  );

/** Shows a test every statement of every transaction, one after the other, before and after it. */
export function watched(sql: Sql, watch: (point: string, pid: number) => Promise<unknown> | undefined): Sql {
  const whoAmI: Statement = { name: 'test_pid', text: 'SELECT pg_backend_pid() AS pid' };
  return {
    ...sql,
    begin: async () => {
      const tx = await sql.begin();
      const [row] = await tx.run<{ pid: number }>(whoAmI);
      const pid = row?.pid as number;
      let last: Promise<unknown> = Promise.resolve();
      const inOrder = <T>(name: string, act: () => Promise<T>): Promise<T> => {
        const answer = last.then(async () => {
          await watch(`before ${name}`, pid);
          const value = await act();
          await watch(`after ${name}`, pid);
          return value;
        });
        last = answer.catch(() => {});
        return answer;
      };
      return {
        run: (statement, values) => inOrder(statement.name, () => tx.run(statement, values)),
        commit: () => inOrder('COMMIT', () => tx.commit()),
        rollback: () => tx.rollback(),
      };
    },
  };
}

/** Stops at `point` the first time that it is reached, until it is opened. */
export function gate(over: Sql, point: string): { sql: Sql; reached: Promise<void>; open(): void } {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let first = true;
  const sql = watched(over, (at) => {
    if (at !== point || !first) return undefined;
    first = false;
    reached.resolve();
    return opened.promise;
  });
  return { sql, reached: reached.promise, open: opened.resolve };
}

const selectJournals: Statement = {
  name: 'test_journals',
  text: `SELECT account_id AS "accountId", chain_id AS "chainId", seq, template, subject, event, reference, available, reserved,
      held, receivable, clearing, fee_revenue AS "feeRevenue", provider_cost AS "providerCost", suspense, adjustments,
      available_after AS "availableAfter", reserved_after AS "reservedAfter", held_after AS "heldAfter",
      card_held AS "cardHeld", receivable_after AS "receivableAfter", card_held_after AS "cardHeldAfter", effective_at AS "effectiveAt", posted_at AS "postedAt", command, version, previous, hash,
      connection
    FROM journal WHERE account_id = ANY ($1::uuid[]) ORDER BY account_id, chain_id, seq`,
};

type StoredJournal = Omit<Journal, 'lines' | 'after'> &
  Journal['lines'] &
  Record<'availableAfter' | 'reservedAfter' | 'heldAfter' | 'receivableAfter' | 'cardHeldAfter', number>;

const selectBalances: Statement = {
  name: 'test_balances',
  text: `SELECT account_id AS "accountId", operation_id AS "chainId", available, reserved, held, receivable, card_held AS "cardHeld", seq, head
    FROM balance WHERE account_id = ANY ($1::uuid[])`,
};

type StoredBalance = Pick<
  BalanceRow,
  'accountId' | 'chainId' | 'available' | 'reserved' | 'held' | 'receivable' | 'cardHeld' | 'seq' | 'head'
>;

/** The operations of one test database: makes them, and adds up what tills have written. */
export function booksOf(db: TestDatabase) {
  const made: string[] = [];

  async function newOperation(): Promise<ChainKey> {
    const account = { name: 'Loja', test: true, connection: 'simulator' } as const;
    const { ownerId, operationId } = await createAccount({ sql: db.sql, clock, ids }, account);
    made.push(ownerId);
    return { accountId: ownerId, chainId: operationId };
  }

  /** Another operation of the same account. */
  async function secondOperation({ accountId }: ChainKey): Promise<ChainKey> {
    const chainId = ids.uuid();
    await db.admin(
      `INSERT INTO operation (account_id, id, name, slot, created_at, updated_at) VALUES ($1, $2, 'Filial', 2, now(), now())`,
      [accountId, chainId],
    );
    await db.admin(
      'INSERT INTO balance (account_id, operation_id, head, updated_at) VALUES ($1, $2, $3, now())',
      [accountId, chainId, chainStart],
    );
    return { accountId, chainId };
  }

  async function balanceOf(chain: ChainKey): Promise<StoredBalance> {
    const rows = await db.sql.run<StoredBalance>(selectBalances, [[chain.accountId]]);
    return rows.find((row) => row.chainId === chain.chainId) as StoredBalance;
  }

  async function timesPosted(subject: string): Promise<number> {
    const rows = await db.admin<{ count: string }>('SELECT count(*) FROM journal WHERE subject = $1', [
      subject,
    ]);
    return Number(rows[0]?.count);
  }

  /** Re-sums every chain from its first journal: seq without gaps, the hashes, the columns, the balance row. */
  /** Of the operations made since the last one: whatever a test did, the chains hold, and every balance is the sum of its journal. */
  async function audit(): Promise<void> {
    const accounts = made.splice(0);
    const journals = await db.sql.run<StoredJournal>(selectJournals, [accounts]);
    const balances = await db.sql.run<StoredBalance>(selectBalances, [accounts]);
    const sums = new Map<string, Omit<StoredBalance, 'accountId' | 'chainId'>>();
    const empty = {
      ...{ available: 0, reserved: 0, held: 0, receivable: 0, cardHeld: 0 },
      ...{ seq: 0, head: chainStart },
    };
    for (const row of journals) {
      const key = row.accountId + row.chainId;
      const before = sums.get(key) ?? empty;
      const {
        available,
        reserved,
        held,
        receivable,
        clearing,
        feeRevenue,
        providerCost,
        suspense,
        adjustments,
        cardHeld,
      } = row;
      const own = { available, reserved, held, receivable };
      const lines = { ...own, clearing, feeRevenue, providerCost, suspense, adjustments, cardHeld };
      expect(Object.values(lines).reduce((sum, line) => sum + line, 0)).toBe(0);
      const after = {
        available: before.available + available,
        reserved: before.reserved + reserved,
        held: before.held + held,
        receivable: before.receivable - receivable,
        cardHeld: before.cardHeld + cardHeld,
      };
      expect({
        available: row.availableAfter,
        reserved: row.reservedAfter,
        held: row.heldAfter,
        receivable: row.receivableAfter,
        cardHeld: row.cardHeldAfter,
      }).toEqual(after);
      expect(row.seq).toBe(before.seq + 1);
      expect(row.previous.equals(before.head)).toBe(true);
      expect(row.hash.equals(hashOf({ ...row, lines, after }))).toBe(true);
      sums.set(key, { ...after, seq: row.seq, head: row.hash });
    }
    for (const { accountId, chainId, ...columns } of balances) {
      expect(columns).toEqual(sums.get(accountId + chainId) ?? empty);
    }
  }

  async function somebodyWaitsForALock(): Promise<void> {
    await expect
      .poll(() =>
        db.admin(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      )
      .not.toEqual([]);
  }

  return { newOperation, secondOperation, balanceOf, timesPosted, audit, somebodyWaitsForALock };
}

export interface Way {
  url: string;
  /** How many connections were cut. */
  cuts(): number;
  /** Cuts the next one as well, and lets connections through again. */
  rearm(): void;
  /** After the cut no new connection gets through. */
  refuseOthers(): void;
  /** Lets held messages arrive, and new connections. */
  letThrough(): void;
  close(): Promise<void>;
}

/** A way to the server that is cut where a COMMIT passes: the client never learns its result. */
export const cutAtCommit = (url: string, arrives: boolean | 'late'): Promise<Way> =>
  cutAt(url, 'COMMIT\0', 1, arrives);

/** The same for the first `times` connections on which `word` passes; `late`: it arrives when it is let through. */
export async function cutAt(
  url: string,
  word: string,
  times: number,
  arrives: boolean | 'late',
): Promise<Way> {
  const target = Number(new URL(url).port);
  let cuts = 0;
  let left = times;
  let refusing = false;
  let heldBack = () => {};
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    client.on('error', () => {});
    if (refusing && left === 0) return void client.destroy();
    const upstream = net.connect(target, '127.0.0.1');
    upstream.on('error', () => {});
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    let cut = false;
    client.on('close', () => {
      if (!cut) upstream.end();
    });
    upstream.on('close', () => client.destroy());
    upstream.pipe(client);
    client.on('data', (bytes) => {
      if (left === 0 || !bytes.includes(word)) return void upstream.write(bytes);
      left -= 1;
      cuts += 1;
      cut = true;
      upstream.unpipe(client);
      if (arrives === 'late') heldBack = () => void upstream.end(bytes);
      else if (arrives) upstream.end(bytes);
      else upstream.destroy();
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    url: url.replace(/:\d+\//, `:${port}/`),
    cuts: () => cuts,
    rearm: () => {
      left = 1;
      refusing = false;
    },
    refuseOthers: () => {
      refusing = true;
    },
    letThrough: () => {
      refusing = false;
      heldBack();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
