import { accounts } from '../money/decide.ts';
import type { Journal } from '../money/journal.ts';
import type { Clock } from '../ports/clock.ts';
import { isUnavailable, type Queries, type Sql, type Statement, type Transaction } from '../ports/sql.ts';
import { onlyReads } from './database/pool.ts';
import { journals } from './ledger.sql.ts';
import { type Operator, OperatorRefused } from './operator.ts';

/** A journal as an act would write it. */
export interface PlannedPosting {
  accountId: string;
  /** The operation, or the account's own chain. */
  chainId: string;
  /** The name of the movement. */
  movement: string;
  /** In cents, credit-positive, without those of zero; their sum is zero. */
  lines: Partial<Journal['lines']>;
  connection: string | null;
}

/**
 * Rehearses an act: it runs in one transaction that is rolled back at its end, so that its journals are those that the act itself would write, and nothing
 * is written. What it locks stays locked until then: it ends after `heldMostMs`, for payments of the same operations wait.
 *
 * Rejected: to roll back each transaction of the act by itself. A step would not find what the step before it wrote, and loops until there is nothing
 * left would have no end.
 * @param act takes instead of each Sql what the second parameter makes of it
 * @throws OperatorRefused the books were busy, or it takes too long; what the act throws
 */
export async function rehearse(
  clock: Clock,
  act: (over: (sql: Sql) => Sql) => Promise<unknown>,
): Promise<PlannedPosting[]> {
  const planned: PlannedPosting[] = [];
  const opened = new Map<Sql, RehearsedSql>();
  const over = (sql: Sql): Sql => {
    const known = opened.get(sql) ?? new RehearsedSql(sql, clock, planned);
    opened.set(sql, known);
    return known;
  };
  try {
    await act(over);
  } catch (error) {
    throw failureOf(opened.values()) ?? error;
  } finally {
    for (const one of opened.values()) await one.end();
  }
  const failure = failureOf(opened.values());
  if (failure) throw failure;
  return planned;
}

/** The postings of an operator's act. @throws as `rehearse` */
export const rehearseAct = (
  operator: Operator,
  act: (operator: Operator) => Promise<unknown>,
): Promise<PlannedPosting[]> =>
  rehearse(operator.clock, (over) => {
    const { sql, everyCell } = operator;
    return act({ ...operator, sql: over(sql), ...(everyCell && { everyCell: everyCell.map(over) }) });
  });

const failureOf = (all: Iterable<RehearsedSql>): OperatorRefused | null =>
  [...all].find(({ failure }) => failure !== null)?.failure ?? null;

/** How long a rehearsal may hold what it locked. A till waits for a lock so long that a payment which meets one is still answered in time. */
export const heldMostMs = 3_000;

/** Other work was in the way: nothing is known of the act itself. */
export class RehearsalBusy extends OperatorRefused {
  override name = 'RehearsalBusy';
}

/** The rehearsal held its locks for too long. What it has learnt from providers may make the next one short. */
export class HeldTooLong extends RehearsalBusy {
  override name = 'HeldTooLong';
}

const inner = {
  begin: { name: 'rehearsal_begin', text: 'SAVEPOINT rehearsed' },
  commit: { name: 'rehearsal_commit', text: 'RELEASE SAVEPOINT rehearsed' },
  rollback: { name: 'rehearsal_rollback', text: 'ROLLBACK TO SAVEPOINT rehearsed' },
} as const;

/** The session ends by itself where this process hangs, and not while a provider answers. */
const patient: Statement = {
  name: 'rehearsal_patient',
  text: `SET LOCAL idle_in_transaction_session_timeout = ${heldMostMs + 1_000}`,
};

/** The limits of calls to a provider are taken where a provider is asked: held in a transaction they would stop every other process. */
const isLimit = ({ name }: Statement): boolean => /^query_(token|slot_(take|free))$/.test(name);
const granted = { slot: 0 };

/** The notes of a comparison, which it removes itself. */
const isNote = ({ name }: Statement): boolean => name.startsWith('reconcile_seen_');

/** A Sql whose transactions are parts of one, which is never committed. */
class RehearsedSql implements Sql {
  failure: OperatorRefused | null = null;
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #planned: PlannedPosting[];
  readonly #over = new AbortController();
  #outer: Promise<Transaction> | null = null;
  /** Behind the inner transaction that is open: there is one at a time. */
  #turn: Promise<void> = Promise.resolve();

  constructor(sql: Sql, clock: Clock, planned: PlannedPosting[]) {
    this.#sql = sql;
    this.#clock = clock;
    this.#planned = planned;
  }

  async run<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    if (isLimit(statement)) return [granted as Row];
    if (isNote(statement)) return this.#sql.run<Row>(statement, values);
    if (onlyReads(statement)) {
      this.#requireLife();
      if (this.#outer === null) return this.#sql.run<Row>(statement, values);
      return this.#issue<Row>(await this.#outer, statement, values);
    }
    return this.tx((tx) => tx.run<Row>(statement, values));
  }

  async begin(): Promise<Transaction> {
    const before = this.#turn;
    const { promise, resolve: leave } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    try {
      this.#requireLife();
      this.#outer ??= this.#open();
      return this.#within(await this.#outer, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  async tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const tx = await this.begin();
    try {
      const result = await work(tx);
      await tx.commit();
      return result;
    } finally {
      await tx.rollback();
    }
  }

  /** Undoes everything. */
  async end(): Promise<void> {
    this.#over.abort();
    const outer = await this.#outer?.catch(() => null);
    await outer?.rollback();
    this.#outer = null;
  }

  async #open(): Promise<Transaction> {
    const outer = await this.#sql.begin();
    void outer.run(patient);
    void this.#clock.sleep(heldMostMs, this.#over.signal).then(() => {
      if (this.#over.signal.aborted) return;
      this.failure = new HeldTooLong(
        'it would keep payments waiting: nothing is shown of an act that takes so long. Narrow it, or run it while few payments are under way',
      );
      return outer.rollback();
    });
    return outer;
  }

  #within(outer: Transaction, leave: () => void): Transaction {
    const posted: PlannedPosting[] = [];
    let ended = false;
    void this.#issue(outer, inner.begin);
    return {
      run: (statement, values = []) => {
        posted.push(...plannedBy(statement, values));
        return this.#issue(outer, statement, values);
      },
      commit: async () => {
        await this.#issue(outer, inner.commit);
        ended = true;
        this.#planned.push(...posted);
        leave();
      },
      rollback: async () => {
        if (ended) return;
        ended = true;
        await this.#issue(outer, inner.rollback).catch(() => {});
        leave();
      },
    };
  }

  /** PostgreSQL ends a transaction with the first statement that fails. In the act itself the same failure would be met by a repeat. */
  #issue<Row>(tx: Queries, statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const rows = (async () => {
      this.#requireLife();
      try {
        return await tx.run<Row>(statement, values);
      } catch (error) {
        const isBusy = isUnavailable(error);
        const why = isBusy ? 'other work was in its way' : 'a statement failed';
        this.failure ??= new (isBusy ? RehearsalBusy : OperatorRefused)(
          `${why}: nothing was written, and nothing is shown; run it again`,
          { cause: error },
        );
        throw this.failure;
      }
    })();
    rows.catch(() => {});
    return rows;
  }

  #requireLife(): void {
    if (this.failure) throw this.failure;
  }
}

/** The journals that a statement inserts; none for any other. */
export const plannedBy = (statement: Statement, values: readonly unknown[]): PlannedPosting[] =>
  journals.insertedBy(statement, values).map((journal) => ({
    chainId: journal.chainId,
    accountId: journal.accountId,
    movement: journal.template,
    lines: Object.fromEntries(
      accounts.flatMap((account) => (journal[account] === 0 ? [] : [[account, journal[account]]])),
    ),
    connection: journal.connection,
  }));
