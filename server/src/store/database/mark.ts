import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { writeDurably } from '../../ground/durable-files.ts';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import { isUnavailable, type Sql, type Statement } from '../../ports/sql.ts';

/**
 * Whether the database went back to an earlier moment, whatever took it there: a snapshot of its disk, recovery to a point in time, a standby
 * that had not everything, a provider's managed restore.
 *
 * Every few seconds a row with a number and a random token is committed (`database_mark`), one for all processes. Each process remembers the newest one that it
 * has seen, in its memory and in a file beside the database. A database that does not have that row is one from before it, or one that went
 * back and has gone on since; both are a loss. A promoted standby may have the row and lack what came behind it: it is recognised by the timeline,
 * and counts as a loss where the server did not wait for a synchronous standby. Every connection that a pool opens is compared before it is used: a database
 * that goes back ends all connections there were.
 *
 * Rejected: PostgreSQL's own position in its log as the mark, which grows past the old one before a process that was away compares. Rejected: a row for
 * each commit, one write more for each transfer.
 */
export interface Mark {
  /** Of the installation: a folder may serve another one later. */
  installation: string;
  seq: number;
  token: string;
  /** When the row was written, by the database's clock, ms since 1970. */
  at: number;
  /** PostgreSQL's system identifier and timeline. */
  system: string;
  timeline: string;
  /** The server waited for a synchronous standby. */
  synchronous: boolean;
}

/** The database's answer about a remembered mark. */
export interface Look extends Omit<Mark, 'seq' | 'token' | 'at'> {
  /** The newest row; null: there is none. */
  newest: { seq: number; token: string; at: number } | null;
  /** The oldest row that is kept. */
  oldestSeq: number | null;
  /** Of the row with the remembered number. */
  token: string | null;
  /** The loss of the remembered moment is noted already. */
  noted: boolean;
  /** `fsync`. */
  flushes: boolean;
  /** Of the installation. */
  createdAt: number;
}

/** Something committed is gone, or may be. */
export interface Loss {
  /** The last moment of which it is known that the database has everything, ms since 1970; null: it has to be looked up. */
  since: number | null;
  why: 'behind' | 'diverged' | 'timeline' | 'system';
}

/** Pure. */
export function lossOf(mark: Mark, look: Look): Loss | null {
  if (look.installation !== mark.installation || look.noted) return null;
  if (look.token === mark.token) {
    if (look.system !== mark.system) return { since: mark.at, why: 'system' };
    return look.timeline === mark.timeline || mark.synchronous ? null : { since: mark.at, why: 'timeline' };
  }
  if (look.newest === null || look.newest.seq < mark.seq) return { since: null, why: 'behind' };
  // It was away for longer than rows are kept: the others have compared.
  if (look.oldestSeq !== null && mark.seq < look.oldestSeq) return null;
  return { since: null, why: 'diverged' };
}

/**
 * As text, so that every driver reads it alike.
 * @param named false for a managed server that says neither its identifier nor its timeline
 */
const lookText = (named: boolean): string => `SELECT json_build_object(
    'newest', (SELECT json_build_object('seq', seq, 'token', token, 'at', floor(extract(epoch FROM written_at) * 1000))
      FROM vintem.database_mark ORDER BY seq DESC LIMIT 1),
    'oldestSeq', (SELECT min(seq) FROM vintem.database_mark),
    'token', (SELECT token FROM vintem.database_mark WHERE seq = $1::bigint),
    'noted', EXISTS (SELECT FROM vintem.lost_time WHERE since <= $2::timestamptz AND noted_at >= $2::timestamptz),
    'system', ${named ? '(SELECT system_identifier::text FROM pg_control_system())' : "''"},
    'timeline', ${named ? 'left(pg_walfile_name(pg_current_wal_lsn()), 8)' : "''"},
    'synchronous', current_setting('synchronous_standby_names') <> '',
    'flushes', current_setting('fsync') = 'on',
    'installation', encode(sha256(identity_secret), 'hex'),
    'createdAt', floor(extract(epoch FROM created_at) * 1000))::text AS look
  FROM vintem.installation`;

const lookTelling: Statement = { name: 'mark_look', text: lookText(true) };
const lookSilent: Statement = { name: 'mark_look_silent', text: lookText(false) };

/** Of processes that write at once one has the number. */
const write: Statement = {
  name: 'mark_write',
  text: `INSERT INTO database_mark (seq, token, written_at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT DO NOTHING`,
};

const before: Statement = {
  name: 'mark_before',
  text: `SELECT written_at AS at FROM database_mark WHERE seq < $1 AND written_at <= $2 ORDER BY seq DESC LIMIT 1`,
};

const prune: Statement = {
  name: 'mark_prune',
  text: `DELETE FROM database_mark WHERE seq < (SELECT min(seq) FROM database_mark) + 100 AND written_at < $1`,
};

const everyMs = 5_000;
/** A process that was away for longer relies on the others. */
const keptMs = 30 * 86_400_000;
const fileName = 'database-mark.json';

export interface MarkDeps {
  sql: Sql;
  clock: Clock;
  ids: Pick<Ids, 'uuid'>;
  log: Log;
  dataDir: string;
  /** Pauses withdrawals and marks what may have been sent. May be called again for the same loss. */
  onLoss(since: number, why: Loss['why']): Promise<unknown>;
}

export interface MarkWatch {
  /** For every connection that a pool opens. Rejects where it cannot be said whether the database went back: the connection is not used. */
  verify(client: pg.PoolClient): Promise<void>;
  /** Compares with the file, acts on a loss, and compares from then on, until `ending`. Resolves after the first comparison. */
  begin(deps: MarkDeps, ending: AbortSignal): Promise<void>;
}

/**
 * The row that a connection writes at once where it finds a loss: nothing is sent before the rest is marked. Both times are the transaction's: a pause that begins
 * at another one is a person's, and no comparison ends it.
 */
const pauseAtOnce = `UPDATE vintem.installation SET restored_at = now(), lost_since = LEAST(lost_since, $1::timestamptz),
    withdrawals_paused_at = COALESCE(NULLIF(withdrawals_paused_at, restored_at), now()),
    withdrawals_paused_reason = CASE WHEN withdrawals_paused_at IS NULL OR withdrawals_paused_at = restored_at
      THEN 'the database went back to an earlier moment' ELSE withdrawals_paused_reason END`;

export function createMarkWatch(): MarkWatch {
  let mark: Mark | null = null;
  let handled: Promise<void> | null = null;
  let act: ((known: Mark, look: Look) => Promise<void>) | null = null;
  let looking = lookTelling;

  const remember = (look: Look): void => {
    if (look.newest === null) return;
    const { installation, system, timeline, synchronous } = look;
    mark = { ...look.newest, installation, system, timeline, synchronous };
  };

  return {
    verify: async (client) => {
      // The watch may remember a newer mark before the answer comes: the answer is about this one.
      const known = mark;
      if (known === null) return;
      const { rows } = await client.query<{ look: string }>(looking.text, [known.seq, instant(known.at)]);
      const look = JSON.parse((rows[0] as { look: string }).look) as Look;
      const loss = lossOf(known, look);
      if (loss === null) return;
      await client.query('BEGIN READ WRITE');
      await client.query(pauseAtOnce, [instant(loss.since ?? known.at)]);
      await client.query('COMMIT');
      // Behind the answer: it needs connections itself.
      handled ??= Promise.resolve()
        .then(() => act?.(known, look))
        .finally(() => {
          handled = null;
        });
      handled.catch(() => {});
    },

    begin: async (deps, ending) => {
      const { sql, clock, ids, log, dataDir, onLoss } = deps;
      const path = join(dataDir, fileName);
      mark = await readMark(path);
      let written = '';
      let canWrite = true;
      act = async (known, look) => {
        const loss = lossOf(known, look);
        if (loss === null) return;
        const since = loss.since ?? (await lastBefore(sql, known)) ?? look.createdAt;
        log.error(
          { since: instant(since), why: loss.why },
          'the database went back: what happened since may be lost',
        );
        await onLoss(since, loss.why);
      };
      looking = await lookingOn(sql, log);
      const step = async (): Promise<void> => {
        const known = mark;
        const seen = await lookAt(sql, looking, known);
        if (known !== null) await act?.(known, seen);
        if (!seen.flushes)
          log.error({}, 'PostgreSQL acknowledges commits that are not on disk: fsync is off');
        if (clock.now() - (seen.newest?.at ?? 0) >= everyMs - 1_000)
          await sql.tx((tx) => tx.run(write, [(seen.newest?.seq ?? 0) + 1, ids.uuid()]));
        remember(await lookAt(sql, looking, mark));
        await sql.tx((tx) => tx.run(prune, [instant(clock.now() - keptMs)]));
        const content = JSON.stringify(mark);
        if (mark === null || content === written || !canWrite) return;
        await writeDurably(path, `${content}\n`).catch((error: unknown) => {
          canWrite = false;
          log.warn(
            { err: error },
            'DATA_DIR takes no file: only running processes notice that the database went back',
          );
        });
        written = content;
      };
      await step();
      void (async () => {
        while (!ending.aborted) {
          await clock.sleep(everyMs, ending);
          if (ending.aborted) return;
          await step().catch((error: unknown) =>
            log.warn({ err: error }, 'the mark of the database was not compared'),
          );
        }
      })();
    },
  };
}

const instant = (ms: number): string => new Date(ms).toISOString();

const nowhere = { seq: 0, at: 0 };

/** Where the server refuses to say where it stands, rows alone are compared. */
async function lookingOn(sql: Sql, log: Log): Promise<Statement> {
  try {
    await lookAt(sql, lookTelling, null);
    return lookTelling;
  } catch (error) {
    if (isUnavailable(error)) throw error;
    log.warn(
      { err: error },
      'PostgreSQL does not say its timeline: the promotion of a standby is not noticed',
    );
    return lookSilent;
  }
}

async function lookAt(sql: Sql, looking: Statement, mark: Mark | null): Promise<Look> {
  const { seq, at } = mark ?? nowhere;
  const [row] = await sql.run<{ look: string }>(looking, [seq, instant(at)]);
  if (!row) throw new Error('the installation has no row');
  return JSON.parse(row.look) as Look;
}

/** The newest row from before the remembered one: the database has everything up to there. */
const lastBefore = async (sql: Sql, { seq, at }: Mark): Promise<number | undefined> =>
  (await sql.run<{ at: number }>(before, [seq, instant(at)]))[0]?.at;

/** Null: there is none, or it cannot be read. */
async function readMark(path: string): Promise<Mark | null> {
  try {
    const found = JSON.parse(await readFile(path, 'utf8')) as Mark;
    return Number.isSafeInteger(found.seq) && Number.isFinite(found.at) ? found : null;
  } catch {
    return null;
  }
}
