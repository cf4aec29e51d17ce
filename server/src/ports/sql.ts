/**
 * The only way to PostgreSQL. A statement is prepared once per connection under its name and run many times.
 * Statements that are issued without waiting travel together (one round trip); each sees what was committed
 * before it began (READ COMMITTED).
 */
export interface Statement {
  /** Unique in the program; the name of the prepared statement. */
  readonly name: string;
  readonly text: string;
}

export interface Queries {
  /** Rows with the column names of the statement; bigint and timestamps arrive as numbers (timestamps as ms since 1970). */
  run<Row = Record<string, unknown>>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Transaction extends Queries {
  /**
   * Sends COMMIT behind whatever was issued before.
   * @throws CommitUnknown when COMMIT itself failed, or the connection was lost after it may have been sent, whatever the statements before
   *         it say; otherwise what the first statement failed with: nothing was committed.
   */
  commit(): Promise<void>;
  /** Gives the connection back; harmless after `commit`. */
  rollback(): Promise<void>;
}

export interface Sql extends Queries {
  /** Takes a connection and issues BEGIN. Every transaction ends with `commit` or `rollback`. */
  begin(): Promise<Transaction>;
  /** Runs `work` in a transaction: commits what it returns from, rolls back what it throws from. */
  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** Commits the statements of `work`, or rolls them back where it throws: `tx` of every Sql. */
export async function committed<T>(tx: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
  try {
    const result = await work(tx);
    await tx.commit();
    return result;
  } catch (error) {
    await tx.rollback();
    throw error;
  }
}

/** COMMIT failed or its answer was lost: the transaction may be on disk or not. */
export class CommitUnknown extends Error {
  override name = 'CommitUnknown';
}

/** The connection failed before COMMIT could have been sent: nothing of the transaction is on disk. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
}

/**
 * Whether an error says that the database cannot serve at this moment, so that the same call may work later: the connection failed,
 * the server is stopping or starting, is out of connections, memory or disk, takes no writes (25006; 0A000 where it became a standby), cancelled the statement for its
 * time (57014), or another transaction was in the way. Codes: PostgreSQL's manual, Appendix A.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionLost || error instanceof CommitUnknown) return true;
  if (/^(08|0A000|53|57|58|XX|25P03|25006|40001|40P01|55P03)/.test(sqlState(error) ?? '')) return true;
  // A statement behind the one that failed carries that failure as its cause.
  return error instanceof Error && error.cause !== undefined && isUnavailable(error.cause);
}

/** PostgreSQL's five-character error code, when `error` came from the server (`23505`: unique violation, …). */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
