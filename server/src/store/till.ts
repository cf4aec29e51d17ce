import { refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { Measures } from '../ground/measures.ts';
import type { TraceSpan, Traces } from '../ground/traces.ts';
import { accounts, decide, type Movement } from '../money/decide.ts';
import { canonicalVersion, type EventKind, hashOf, type Journal } from '../money/journal.ts';
import type { Clock } from '../ports/clock.ts';
import { CommitUnknown, ConnectionLost, type Queries, type Sql, sqlState } from '../ports/sql.ts';
import { byWriteOrder, type Derived, type Readable, type Table } from './database/table.ts';
import { forEverybody } from './database/whose-call.ts';
import {
  type BalanceRow,
  type BookedPix,
  type EventRef,
  insertJournals,
  lockBalances,
  lockPix,
  type PixRef,
  readBookedIn,
  readPosted,
  readPostedOrBooked,
  updateBalances,
} from './ledger.sql.ts';
import { OperatorRefused } from './operator.ts';

/**
 * The till: the only writer of money and of payment states.
 *
 * Commands queue. When no flush is under way, a command starts one at once, so that a single caller does not wait; during a flush
 * commands collect, and the next flush takes up to 512 of them as its batch, which share one commit. A flush is one transaction:
 *
 * 1. lock the balance rows of every chain in the batch, in key order (with several cells, first the Pix that it may book);
 * 2. *then* read what the commands asked for: each statement sees what was committed before it began, and so what the lock waited for;
 * 3. decide in memory, in order of arrival, on one view that the batch shares;
 * 4. write with one statement per table, each ordered by its unique key;
 * 5. commit once, and answer every command.
 *
 * Two round trips, whatever the size: 1 and 2 travel together, 4 and 5 as well. A decision that asks for a row which its command did not name costs
 * one more, and one that asks for a chain begins the flush again with that chain: both are for what is rare and would cost every other command a read.
 *
 * Rejected: one transaction per command (a quarter of the throughput at 64 callers), and stored procedures (the rules
 * would stand in a language that the search and the simulation cannot run).
 *
 * **The fixed order of writes**, for all code that writes in a transaction: account · operation · balance (locks) · journal ·
 * balance · then tables by `rank` (`writeOrder` in `database/table.ts`). Correctness rests on the row locks alone: any number of processes
 * run tills over one database.
 *
 * **When something fails.** A refusal is one command's answer and never the batch's. A unique violation re-runs the batch with
 * everything read again; after a second one it is bisected, and the command that still collides is answered that its request is
 * in progress. Other statement errors: once more, then bisect. A lock that does not come in time: the operations of the batch
 * go on in queues of their own, so that a process that froze with the lock of one operation delays no other operation. A lost
 * connection before COMMIT committed nothing: run again. A lost answer to COMMIT proves nothing: take the same locks again (the lost transaction
 * held them to its end, so what is absent then was rolled back) and look for our own tokens; payment ids are functions of the
 * request key and prove nothing.
 */
export interface Till {
  /**
   * Runs a command; resolves after its commit.
   * @throws ApiError what `decide` refused with, or 503 when it could not be run or its fate could not be learnt in time
   */
  submit<Answer>(command: Command<Answer>): Promise<Answer>;
  /** Resolves when everything submitted so far is answered. */
  idle(): Promise<void>;
  /** From now on everything is answered 503, also what waits: the database is about to go. */
  close(): void;
}

export interface ChainKey {
  accountId: string;
  /** The operation's id, or the account's own for its second chain. */
  chainId: string;
}

export interface Command<Answer> {
  /** Random: a row that carries it was written by this command and no other. */
  token: string;
  /** The chains whose balance rows are locked. */
  chains: readonly ChainKey[];
  reads: readonly Read[];
  eventRefs: readonly EventRef[];
  /** Received Pix of which it has to know whether, and where, they are booked. */
  pix?: readonly PixRef[];
  /**
   * Pure: it calls no clock, no generator and no other part, and writes no log. It may run more than once.
   * @param now the time at which the till decides, under the locks, in milliseconds since 1970
   * @throws ApiError to refuse
   */
  decide(view: View, now: number): Decision<Answer>;
  /** In milliseconds of the monotonic clock. After it the till answers 503. */
  deadlineMs: number;
}

/** A command that changes nothing: it measures the wait in the till. */
export const emptyCommand = (token: string, deadlineMs: number): Command<void> => ({
  token,
  deadlineMs,
  chains: [],
  reads: [],
  eventRefs: [],
  decide: () => ({ answer: undefined }),
});

/**
 * The view of a decision. A row or a chain that its command did not name is read, or locked, when it is asked for, and the decision runs once more: it has
 * to let what `get` and `balance` throw pass.
 */
export interface View {
  /** Undefined when there is no such operation. */
  balance(chain: ChainKey): Readonly<BalanceRow> | undefined;
  get<Row>(table: Readable<Row>, key: string): Row | undefined;
  posted(ref: EventRef): boolean;
  /** Where the Pix is booked, whatever the account; undefined: it is not. */
  booked(pix: PixRef): BookedPix | undefined;
}

export interface Decision<Answer> {
  answer: Answer;
  postings?: readonly Posting[];
  writes?: readonly Write[];
  /** Operations whose withdrawals freeze. */
  freeze?: readonly ChainKey[];
  /** Operations whose withdrawals are free again. */
  thaw?: readonly ChainKey[];
}

export interface Posting {
  chain: ChainKey;
  subject: string;
  event: EventKind;
  reference: string;
  movement: Movement;
  effectiveAt: number;
  /** Whose clearing account moves; needed by every movement that has a clearing line. */
  connection?: string;
  /** The end-to-end id of the received Pix that it books. */
  pix?: string;
}

export interface Read {
  table: Readable<unknown>;
  key: string;
}

export type Write =
  | { table: Table<unknown> | Derived<unknown>; put: unknown; remove?: never }
  | { table: Table<unknown>; remove: string; put?: never };

export const read = <Row>(table: Readable<Row>, key: string): Read => ({
  table: table as Readable<unknown>,
  key,
});
export const put = <Row>(table: Table<Row> | Derived<Row>, row: Row): Write => ({
  table: table as Table<unknown> | Derived<unknown>,
  put: row,
});
export const remove = <Row>(table: Table<Row>, key: string): Write => ({
  table: table as Table<unknown>,
  remove: key,
});

const keyOfChain = (chain: ChainKey): string => chain.accountId + chain.chainId;
const keyOfRef = (ref: EventRef): string => `${ref.accountId}${ref.subject}${ref.event}/${ref.reference}`;
const keyOfPix = (pix: PixRef): string => `${pix.connection}/${pix.endToEnd}`;

/** More commands than this per flush gain nothing and lengthen every caller's wait. */
const batchMost = 512;

interface Pending {
  command: Command<unknown>;
  /** Monotonic. */
  since: number;
  /** Of who asked, where traces are kept. */
  span: TraceSpan | null;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

interface TillDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  /** Counts waits, flushes and their sizes. */
  measures?: Pick<Measures, 'tillWait' | 'tillFlush' | 'tillBatch'>;
  traces?: Traces | null;
  /** The schemas of the other cells: a Pix is booked in one cell alone. Absent: there are none. */
  otherCells?: () => readonly string[];
}

const noOthers = (): readonly string[] => [];

export function createTill(deps: TillDeps): Till {
  const { sql, clock, log, measures, traces, otherCells = noOthers } = deps;
  let queue: Pending[] = [];
  let working: Promise<void> | null = null;
  /** By chain whose lock another process holds for long: the commands that wait for it. */
  const apart = new Map<string, Pending[]>();
  const waits = new Set<Promise<void>>();
  let closed = false;

  async function work(): Promise<void> {
    // Commands that were submitted together, in one turn of the event loop, share the first flush as well.
    await Promise.resolve();
    while (queue.length > 0) {
      const taken = queue.slice(0, batchMost);
      queue = queue.slice(batchMost);
      const batch = taken.filter((pending) => !joinsApart(pending));
      await answerAll(batch, { violations: 0, errors: 0, apart: null });
    }
    working = null;
  }

  function joinsApart(pending: Pending): boolean {
    if (apart.size === 0) return false;
    for (const chain of pending.command.chains) {
      const waiting = apart.get(keyOfChain(chain));
      if (!waiting) continue;
      waiting.push(pending);
      return true;
    }
    return false;
  }

  /** Runs commands of the same chains beside the queue, and every command for these chains that comes meanwhile. */
  function runApart(group: Pending[]): void {
    const waiting: Pending[] = [];
    const keys = new Set(group.flatMap((pending) => pending.command.chains.map(keyOfChain)));
    for (const key of keys) apart.set(key, waiting);
    const wait = (async () => {
      for (let batch = group; batch.length > 0; batch = waiting.splice(0, batchMost))
        await answerAll(batch, { violations: 0, errors: 0, apart: waiting });
      for (const key of keys) if (apart.get(key) === waiting) apart.delete(key);
    })();
    waits.add(wait);
    void wait.then(() => waits.delete(wait));
  }

  /** Answers every command of the batch, whatever happens. Commands whose lock did not come in time go on apart from the queue. */
  async function answerAll(
    batch: Pending[],
    seen: { violations: number; errors: number; apart: Pending[] | null },
  ): Promise<void> {
    let waitMs = 20;
    for (;;) {
      batch = withinDeadline(batch);
      if (batch.length === 0) return;
      let flush: Flush | null = null;
      try {
        flush = new Flush(batch, clock, otherCells);
        const began = clock.monotonicMs();
        const ran = answerLate(batch);
        await flush.run(sql).finally(() => ran.abort());
        flush.answer();
        measure(batch, began);
        return;
      } catch (error) {
        // Nothing was written yet: once more, with the chain that a decision asked for among those that are locked first.
        if (error instanceof LockLacking) {
          const { pending, chain } = error;
          pending.command = { ...pending.command, chains: [...pending.command.chains, chain] };
          continue;
        }
        if (error instanceof CommitUnknown && flush !== null) {
          if (await isOnDisk(flush)) return flush.answer();
          continue;
        }
        // The one who acts does not let it commit: it is rehearsed, or no longer what was shown.
        if (error instanceof OperatorRefused) {
          for (const pending of batch) pending.reject(error);
          return;
        }
        const kind = kindOf(error);
        if (kind === 'connection' || kind === 'contention') {
          log.warn({ err: error, kind, commands: batch.length }, 'till: flush failed, running again');
          await clock.sleep(waitMs);
          waitMs = Math.min(waitMs * 2, 500);
          continue;
        }
        if (kind === 'locked') {
          if (seen.apart) seen.apart.unshift(...batch);
          else for (const group of byChain(batch)) runApart(group);
          return;
        }
        if (kind === 'exhausted') {
          log.error({ err: error, commands: batch.length }, 'till: the database cannot write');
          for (const pending of batch) pending.reject(refuse('processing_unavailable'));
          return;
        }
        const repeats = kind === 'violation' ? ++seen.violations : ++seen.errors;
        if (repeats === 1) continue;
        const [only] = batch;
        if (batch.length === 1 && only !== undefined) {
          log.error({ err: error, kind }, 'till: a command cannot be written');
          only.reject(
            kind === 'violation'
              ? refuse('request_in_progress', { retryAfterSeconds: 1 })
              : refuse('processing_unavailable'),
          );
          return;
        }
        const middle = batch.length >> 1;
        await answerAll(batch.slice(0, middle), { ...seen });
        await answerAll(batch.slice(middle), { ...seen });
        return;
      }
    }
  }

  function measure(batch: readonly Pending[], began: number): void {
    const now = clock.monotonicMs();
    if (traces) {
      const waits = batch.flatMap(({ span, since }) => (span === null ? [] : [{ span, ms: now - since }]));
      traces.flushed({ ms: now - began, commands: batch.length }, waits);
    }
    if (measures === undefined) return;
    measures.tillFlush.observe((now - began) / 1000);
    measures.tillBatch.observe(batch.length);
    for (const { since } of batch) measures.tillWait.observe((now - since) / 1000);
  }

  /** Whether the transaction of `flush` is on disk, learnt without a commit, since an operator's transaction commits only what was shown, and under the locks that it held; false as well when no caller waits any more. */
  async function isOnDisk(flush: Flush): Promise<boolean> {
    let waitMs = 20;
    log.warn({ commands: flush.batch.length }, 'till: the answer to COMMIT was lost, looking for our tokens');
    for (;;) {
      if (withinDeadline(flush.batch).length === 0) return false;
      try {
        const tx = await sql.begin();
        try {
          return await flush.isCommitted(tx);
        } finally {
          await tx.rollback();
        }
      } catch (error) {
        log.warn({ err: error }, 'till: cannot look yet');
        await clock.sleep(waitMs);
        waitMs = Math.min(waitMs * 2, 500);
      }
    }
  }

  /** While a flush runs: a caller whose deadline passes is answered 503 although the database is silent. A repeat shows the result of the command. */
  function answerLate(batch: Pending[]): AbortController {
    const ran = new AbortController();
    void (async () => {
      for (let waiting = batch; waiting.length > 0; waiting = withinDeadline(waiting)) {
        const first = Math.min(...waiting.map((pending) => pending.command.deadlineMs));
        await clock.sleep(Math.max(1, first - clock.monotonicMs()), ran.signal);
        if (ran.signal.aborted) return;
      }
    })();
    return ran;
  }

  /** Answers 503 to commands past their deadline, or to all once the till is closed. @returns the others */
  function withinDeadline(batch: readonly Pending[]): Pending[] {
    const now = clock.monotonicMs();
    const [late, live] = [[] as Pending[], [] as Pending[]];
    for (const pending of batch) (!closed && pending.command.deadlineMs > now ? live : late).push(pending);
    for (const pending of late) pending.reject(refuse('processing_unavailable'));
    return live;
  }

  return {
    submit: <Answer>(command: Command<Answer>) =>
      new Promise<Answer>((resolve, reject) => {
        const pending: Pending = {
          command,
          since: clock.monotonicMs(),
          span: traces?.current() ?? null,
          resolve: resolve as (answer: unknown) => void,
          reject,
        };
        if (isBesideOperations(command)) {
          if (!joinsApart(pending)) runApart([pending]);
          return;
        }
        queue.push(pending);
        working ??= forEverybody(work);
      }),
    idle: async () => {
      while (working || waits.size > 0) await Promise.all([working, ...waits]);
    },
    close: () => {
      closed = true;
    },
  };
}

/**
 * Whether a command concerns no operation, only an account's own chain. That of the installation takes all unmatched money: in a flush with
 * operations every merchant of the flush would wait for a row that all processes want.
 */
const isBesideOperations = ({ chains }: Command<unknown>): boolean =>
  chains.length > 0 && chains.every(({ accountId, chainId }) => accountId === chainId);

/** One transaction over a batch: what it locked, read, decided and wrote. */
class Flush {
  readonly batch: readonly Pending[];
  readonly #clock: Clock;
  readonly #otherCells: () => readonly string[];
  readonly #chains = new Map<string, ChainKey>();
  readonly #refs = new Map<string, EventRef>();
  readonly #balances = new Map<string, BalanceRow>();
  readonly #touched = new Set<string>();
  readonly #posted = new Set<string>();
  readonly #pix = new Map<string, PixRef>();
  readonly #booked = new Map<string, BookedPix>();
  readonly #tables = new Map<string, TableState>();
  readonly #journals: Journal[] = [];
  readonly #outcomes = new Map<Pending, { answer: unknown } | { error: unknown }>();

  constructor(batch: readonly Pending[], clock: Clock, otherCells: () => readonly string[]) {
    this.batch = batch;
    this.#clock = clock;
    this.#otherCells = otherCells;
    for (const { command } of batch) {
      for (const chain of command.chains) this.#chains.set(keyOfChain(chain), chain);
      for (const ref of command.eventRefs) this.#refs.set(keyOfRef(ref), ref);
      for (const pix of command.pix ?? []) this.#pix.set(keyOfPix(pix), pix);
      for (const { table, key } of command.reads) this.#state(table).keys.add(key);
    }
  }

  async run(sql: Sql): Promise<void> {
    const tx = await sql.begin();
    try {
      await this.#readAll(tx);
      // A command whose lock came after its deadline is answered already: it is not decided any more.
      const now = this.#clock.monotonicMs();
      for (const pending of this.batch) {
        const late = pending.command.deadlineMs <= now;
        let outcome = late ? { error: refuse('processing_unavailable') } : this.#decide(pending.command);
        while ('error' in outcome && outcome.error instanceof NotRead) {
          await this.#readLate(tx, outcome.error);
          outcome = this.#decide(pending.command);
        }
        if ('error' in outcome && outcome.error instanceof NotLocked)
          throw new LockLacking(pending, outcome.error.chain);
        this.#outcomes.set(pending, outcome);
      }
      const writes = this.#writeAll(tx);
      if (writes.length === 0) return void (await tx.rollback());
      // COMMIT travels behind the writes and reports the first failure among them; their own answers are not read.
      void Promise.allSettled(writes);
      await tx.commit();
    } finally {
      await tx.rollback();
    }
  }

  answer(): void {
    for (const [pending, outcome] of this.#outcomes) {
      if ('error' in outcome) pending.reject(outcome.error);
      else pending.resolve(outcome.answer);
    }
  }

  async #readAll(tx: Queries): Promise<void> {
    const pix = [...this.#pix.values()];
    // A Pix may be reported of charges of two cells. With one cell nothing is asked.
    const others = pix.length > 0 ? this.#otherCells() : [];
    const pixLocked = others.length > 0 ? lockPix(tx, pix) : null;
    const locked = lockBalances(tx, [...this.#chains.values()]);
    const posted = this.#readPosted(tx);
    const elsewhere = others.length > 0 ? readBookedIn(tx, others, pix) : [];
    const tables = [...this.#tables.values()];
    const rows = tables.map((state) => state.table.read(tx, [...state.keys]));
    await Promise.all([pixLocked, locked, posted, elsewhere, ...rows]);
    for (const row of await locked) this.#balances.set(keyOfChain(row), row);
    for (const row of await elsewhere) this.#book(row);
    for (const row of await posted) {
      if (row.pix === null || row.connection === null) this.#posted.add(keyOfRef(row));
      else this.#book({ ...row, connection: row.connection, endToEnd: row.pix });
    }
    for (const [index, state] of tables.entries()) {
      for (const row of (await rows[index]) ?? []) {
        state.rows.set(state.table.keyOf(row), row);
        state.stored.add(state.table.keyOf(row));
      }
    }
  }

  /** One row that a decision asked for. Commands of the same flush may have staged it before: what they staged stays. */
  async #readLate(tx: Queries, { table, key }: NotRead): Promise<void> {
    const state = this.#state(table);
    state.keys.add(key);
    for (const row of await table.read(tx, [key])) {
      state.stored.add(key);
      if (!state.changed.has(key)) state.rows.set(key, row);
    }
  }

  /** Where no Pix is looked for, the statement is the shorter one: that is every payout. */
  async #readPosted(tx: Queries): ReturnType<typeof readPostedOrBooked> {
    const refs = [...this.#refs.values()];
    if (this.#pix.size > 0) return readPostedOrBooked(tx, refs, [...this.#pix.values()]);
    if (refs.length === 0) return [];
    return (await readPosted(tx, refs)).map((ref) => ({ ...ref, connection: null, pix: null }));
  }

  #book({ connection, endToEnd, accountId, subject }: BookedPix): void {
    this.#booked.set(keyOfPix({ connection, endToEnd }), { connection, endToEnd, accountId, subject });
  }

  /** Decides one command and, when it is not refused, lays its effects over the view for the next one. */
  #decide(command: Command<unknown>): { answer: unknown } | { error: unknown } {
    try {
      const decision = command.decide(this.#view, this.#clock.now());
      const balances = new Map<string, BalanceRow>();
      const journals: Journal[] = [];
      for (const posting of decision.postings ?? []) {
        const key = keyOfChain(posting.chain);
        const before = balances.get(key) ?? this.#balances.get(key);
        if (!before) throw new Error(`posting to a chain that is not locked: ${posting.event}`);
        const [journal, after] = this.#post(before, posting, command.token);
        balances.set(key, after);
        if (journal) journals.push(journal);
      }
      for (const [chains, frozen] of [
        [decision.freeze ?? [], true],
        [decision.thaw ?? [], false],
      ] as const) {
        for (const chain of chains) {
          const key = keyOfChain(chain);
          const before = balances.get(key) ?? this.#balances.get(key);
          if (before) balances.set(key, { ...before, frozen });
        }
      }
      for (const [key, row] of balances) {
        this.#balances.set(key, row);
        this.#touched.add(key);
      }
      for (const journal of journals) {
        this.#journals.push(journal);
        this.#posted.add(keyOfRef(journal));
        const { connection, pix } = journal;
        if (connection !== null && pix !== null) this.#book({ ...journal, connection, endToEnd: pix });
      }
      for (const write of decision.writes ?? []) this.#stage(write, command.token);
      return { answer: decision.answer };
    } catch (error) {
      return { error };
    }
  }

  #post(before: BalanceRow, posting: Posting, command: string): [Journal | null, BalanceRow] {
    const decision = decide(before, posting.movement);
    if ('refused' in decision) throw refuse(decision.refused);
    const { lines, balance } = decision;
    // A hold that captures nothing yet moves no money: only what holds still want has changed.
    if (accounts.every((account) => lines[account] === 0)) return [null, { ...before, ...balance }];
    if (lines.clearing !== 0 && posting.connection === undefined)
      throw new Error(`a posting moves clearing and names no connection: ${posting.event}`);
    const postedAt = this.#clock.now();
    const unsealed: Omit<Journal, 'hash'> = {
      accountId: posting.chain.accountId,
      chainId: posting.chain.chainId,
      seq: before.seq + 1,
      template: posting.movement.kind,
      subject: posting.subject,
      event: posting.event,
      reference: posting.reference,
      lines,
      after: balance,
      effectiveAt: posting.effectiveAt,
      postedAt,
      command,
      connection: lines.clearing === 0 ? null : (posting.connection ?? null),
      pix: posting.pix ?? null,
      version: canonicalVersion,
      previous: before.head,
    };
    const journal: Journal = { ...unsealed, hash: hashOf(unsealed) };
    const seen = lines.available !== 0 || lines.receivable !== 0;
    const after: BalanceRow = {
      ...before,
      ...balance,
      seq: journal.seq,
      head: journal.hash,
      updatedAt: seen ? Math.max(postedAt, before.updatedAt) : before.updatedAt,
    };
    return [journal, after];
  }

  #stage(write: Write, token: string): void {
    const state = this.#state(write.table);
    const table = write.table;
    if (write.remove !== undefined) {
      state.rows.delete(write.remove);
      state.changed.add(write.remove);
      return;
    }
    const key = table.keyOf(write.put);
    if ('tokenOf' in table && table.tokenOf?.(write.put) === token) state.tokens.set(key, token);
    state.rows.set(key, write.put);
    state.changed.add(key);
  }

  /** Issues every write without waiting; empty when nothing changed. */
  #writeAll(tx: Queries): Promise<unknown>[] {
    const writes: Promise<unknown>[] = [];
    if (this.#journals.length > 0) {
      // By event reference: two processes may post the same events on different chains, and would deadlock in arrival order.
      const byRef = this.#journals.map((journal) => ({ journal, key: keyOfRef(journal) }));
      byRef.sort((one, other) => (one.key < other.key ? -1 : 1));
      writes.push(
        insertJournals(
          tx,
          byRef.map(({ journal }) => journal),
        ),
      );
    }
    if (this.#touched.size > 0) {
      const keys = [...this.#touched].sort();
      writes.push(
        updateBalances(
          tx,
          keys.map((key) => this.#balances.get(key) as BalanceRow),
        ),
      );
    }
    const changed = [...this.#tables.values()].filter((state) => state.changed.size > 0);
    const tables = changed.flatMap((state) =>
      isWritten(state.table) ? [{ state, table: state.table }] : [],
    );
    for (const { state, table } of tables.sort((one, other) => byWriteOrder(one.table, other.table))) {
      const changes = { inserted: [] as unknown[], updated: [] as unknown[], deleted: [] as string[] };
      for (const key of [...state.changed].sort()) {
        const row = state.rows.get(key);
        if (row === undefined) {
          if (state.stored.has(key)) changes.deleted.push(key);
        } else if (state.stored.has(key)) changes.updated.push(row);
        else changes.inserted.push(row);
      }
      writes.push(...table.write(tx, changes));
    }
    return writes;
  }

  /**
   * Takes the same locks and looks for a row that only this flush can have written: a journal or another row with one of its
   * commands' tokens. A flush without such a row only changed states, which deciding again does not do twice.
   */
  async isCommitted(tx: Queries): Promise<boolean> {
    const locked = lockBalances(tx, [...this.#chains.values()]);
    const posted = this.#journals.length > 0 ? readPosted(tx, this.#journals) : Promise.resolve([]);
    const states = [...this.#tables.values()].filter((state) => state.tokens.size > 0);
    const rows = states.map((state) => state.table.read(tx, [...state.tokens.keys()]));
    await Promise.all([locked, posted, ...rows]);
    const tokens = new Set(this.#journals.map((journal) => journal.command));
    for (const journal of await posted) if (tokens.has(journal.command)) return true;
    for (const [index, state] of states.entries()) {
      const table = state.table as Table<unknown>;
      for (const row of (await rows[index]) ?? []) {
        if (table.tokenOf?.(row) === state.tokens.get(table.keyOf(row))) return true;
      }
    }
    return false;
  }

  #state(table: Readable<unknown>): TableState {
    let state = this.#tables.get(table.name);
    if (!state) {
      state = {
        table,
        keys: new Set(),
        rows: new Map(),
        stored: new Set(),
        changed: new Set(),
        tokens: new Map(),
      };
      this.#tables.set(table.name, state);
    }
    return state;
  }

  readonly #view: View = {
    balance: (chain) => {
      const key = keyOfChain(chain);
      if (!this.#chains.has(key)) throw new NotLocked(chain);
      return this.#balances.get(key);
    },
    get: <Row>(table: Readable<Row>, key: string) => {
      const state = this.#tables.get(table.name);
      if (!state?.keys.has(key)) throw new NotRead(table as Readable<unknown>, key);
      return state.rows.get(key) as Row | undefined;
    },
    posted: (ref) => {
      const key = keyOfRef(ref);
      if (!this.#refs.has(key)) throw new Error('the command did not ask for this event reference');
      return this.#posted.has(key);
    },
    booked: (pix) => {
      const key = keyOfPix(pix);
      if (!this.#pix.has(key)) throw new Error('the command did not ask for this Pix');
      return this.#booked.get(key);
    },
  };
}

const isWritten = (table: Readable<unknown>): table is Table<unknown> => 'write' in table;

/** A decision asks for a row that its command did not name. */
class NotRead extends Error {
  readonly table: Readable<unknown>;
  readonly key: string;
  constructor(table: Readable<unknown>, key: string) {
    super(`a row of ${table.name} was not read`);
    this.table = table;
    this.key = key;
  }
}

/** The same of a chain. */
class NotLocked extends Error {
  readonly chain: ChainKey;
  constructor(chain: ChainKey) {
    super('a chain was not locked');
    this.chain = chain;
  }
}

/** Locks are taken in the order of their keys, so a flush that lacks one has to begin again. */
class LockLacking extends Error {
  readonly pending: Pending;
  readonly chain: ChainKey;
  constructor(pending: Pending, chain: ChainKey) {
    super('a flush lacks the lock of a chain');
    this.pending = pending;
    this.chain = chain;
  }
}

interface TableState {
  table: Readable<unknown>;
  keys: Set<string>;
  /** As stored, with what the batch decided so far laid over. */
  rows: Map<string, unknown>;
  stored: Set<string>;
  changed: Set<string>;
  /** Rows written by this flush that carry the token of their command. */
  tokens: Map<string, string>;
}

function byChain(batch: readonly Pending[]): Pending[][] {
  const groups = new Map<string, Pending[]>();
  for (const pending of batch) {
    const key = pending.command.chains.map(keyOfChain).sort().join();
    const group = groups.get(key);
    if (group) group.push(pending);
    else groups.set(key, [pending]);
  }
  return [...groups.values()];
}

type FailureKind = 'connection' | 'contention' | 'locked' | 'violation' | 'exhausted' | 'statement';

/** The meaning of a failed flush; the codes are PostgreSQL's (Appendix A of its manual). */
function kindOf(error: unknown): FailureKind {
  if (error instanceof ConnectionLost || error instanceof CommitUnknown) return 'connection';
  const state = sqlState(error) ?? '';
  if (state === '55P03') return 'locked';
  if (state === '23505') return 'violation';
  if (state === '40001' || state === '40P01') return 'contention';
  // Shut down, starting up, too many connections, connection exceptions, ended for idling in a transaction, became a standby.
  if (/^(57P0|08|0A000|25P03|53300)/.test(state)) return 'connection';
  if (/^(53|58|XX|25006)/.test(state)) return 'exhausted';
  return 'statement';
}
