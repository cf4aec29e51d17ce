import type { Log } from '../ground/log.ts';
import type { CallKind } from '../kinds/kind.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sql, Statement } from '../ports/sql.ts';
import type { UnclearCause } from '../provider/provider.ts';
import type { Readable } from '../store/database/table.ts';
import { createStandstills } from './standstill.ts';

export type CallResult =
  | 'ok'
  /** Timeout, broken connection, not connected at all. */
  | 'network'
  /** 5xx or an answer that cannot be read. */
  | 'server';

export interface BreakerRow {
  connection: string;
  call: CallKind;
  open: boolean;
  /** While open: from then on one call may try. */
  probeAt: number;
  changedAt: number;
}

/**
 * The breaker: when a provider is down, nothing new is committed for it (503, the request key stays free), and one call in thirty
 * seconds goes out as a probe.
 *
 * Its state is a row per connection and kind of call, written by the process that sees the change and read by every flush, so that all
 * processes agree. Each process counts its own calls. Ten connection failures or timeouts in a row open the breaker, in the order in which
 * the calls began: of a crowd that begins together, those that hang end together, seconds after all others were answered. 5xx and unreadable
 * answers open it only as a rate, and only over several accounts where several are seen, so that one merchant's bad payload stops no
 * other merchant.
 */
export interface Breakers {
  /**
   * Makes one call, counts its result, and opens or closes the breaker when that is due. What failed while this process stood still is not
   * counted: ten calls of a worker that was paused would otherwise stop every process.
   * @throws what `make` throws, and then nothing is counted
   */
  counted<Outcome extends CallOutcome>(call: CountedCall, make: () => Promise<Outcome>): Promise<Outcome>;
  /** A row as a flush read it: keeps this process's counting in step with the others. */
  seen(connection: string, call: CallKind, open: boolean): void;
  /** For calls outside the till: whether this one may go out. An open breaker lets one through when its probe is due. */
  allows(connection: string, call: CallKind): Promise<boolean>;
  /** Takes the probe that is due; null: another call has it, or the breaker is closed by now. */
  takeProbe(connection: string, call: CallKind): Promise<Probe | null>;
  /** Gives back a probe that was not used: the next call may take it at once. Never throws. */
  returnProbe(probe: Probe): Promise<void>;
}

export interface CountedCall {
  connection: string;
  call: CallKind;
  /** Whose call it is; of a call for the whole connection, the connection. */
  accountId: string;
  /** Which results say something of the provider; default: all. */
  counts?: (result: CallResult) => boolean;
}

/** A query for the whole connection. */
export const queryOf = (connection: string): CountedCall => ({
  connection,
  call: 'query',
  accountId: connection,
});

/** Of the outcomes of all calls (`provider.ts`), what the breaker looks at. */
interface CallOutcome {
  outcome: string;
  /** Of one that was not sent: the provider is not the reason, or answered that. */
  answered?: true;
  /** Of one that was not sent: what the look before it ended with. */
  cause?: UnclearCause;
}

/** The right to one call while the breaker is open. */
export interface Probe {
  connection: string;
  call: CallKind;
  /** When the next one is due: names this one. */
  nextAt: number;
}

/** So many `network` results in a row open the breaker, at any rate of failures. */
const networkFailuresToOpen = 10;
/** A rate over fewer calls than this says nothing. */
const callsForARate = 20;
const windowMs = 30_000;
const windowMost = 200;
export const probeEveryMs = 30_000;

const readRows: Statement = {
  name: 'breaker_read',
  text: `SELECT b.connection, b.call, b.open, b.probe_at AS "probeAt", b.changed_at AS "changedAt"
    FROM breaker b JOIN unnest($1::text[], $2::text[]) AS k (connection, call) USING (connection, call)`,
};

const upsert: Statement = {
  name: 'breaker_upsert',
  text: `INSERT INTO breaker (connection, call, open, probe_at, changed_at)
    VALUES (unnest($1::text[]), unnest($2::text[]), unnest($3::boolean[]), unnest($4::timestamptz[]), unnest($5::timestamptz[]))
    ON CONFLICT (connection, call) DO UPDATE SET open = excluded.open, probe_at = excluded.probe_at, changed_at = excluded.changed_at`,
};

const takeProbe: Statement = {
  name: 'breaker_probe',
  text: `UPDATE breaker SET probe_at = $4 WHERE connection = $1 AND call = $2 AND open AND probe_at <= $3 RETURNING call`,
};

const returnProbe: Statement = {
  name: 'breaker_return',
  text: `UPDATE breaker SET probe_at = $4 WHERE connection = $1 AND call = $2 AND open AND probe_at = $3`,
};

const write = (rows: readonly BreakerRow[]): unknown[] => [
  rows.map((row) => row.connection),
  rows.map((row) => row.call),
  rows.map((row) => row.open),
  rows.map((row) => new Date(row.probeAt).toISOString()),
  rows.map((row) => new Date(row.changedAt).toISOString()),
];

export const breakerKey = (connection: string, call: CallKind): string => `${connection}/${call}`;

/** Read by every flush, and written by none (`probe.ts`). */
export const breakerRows: Readable<BreakerRow> = {
  name: 'breaker',
  keyOf: (row) => breakerKey(row.connection, row.call),
  read: (tx, keys) => {
    const parts = keys.map((key) => key.split('/'));
    return tx.run<BreakerRow>(readRows, [
      parts.map(([connection]) => connection),
      parts.map(([, call]) => call),
    ]);
  },
};

interface Counted {
  /** Monotonic ms, as is the next. */
  beganMs: number;
  endedMs: number;
  accountId: string;
  result: CallResult;
}

function resultOf({ outcome, cause, answered }: CallOutcome): CallResult {
  if (outcome === 'notSent' && cause === undefined) return answered ? 'ok' : 'network';
  if (answered || (outcome !== 'unclear' && outcome !== 'notSent')) return 'ok';
  if (cause === 'network') return 'network';
  return cause === 'server' || cause === 'unreadable' ? 'server' : 'ok';
}

export function createBreakers({ sql, clock, log }: { sql: Sql; clock: Clock; log: Log }): Breakers {
  const standstills = createStandstills(clock);
  const windows = new Map<string, Counted[]>();
  /** Whether each breaker was open when this process last read or wrote it; the row decides. */
  const known = new Map<string, boolean>();

  function isDown(calls: readonly Counted[]): boolean {
    const recent = calls.toSorted((one, other) => one.beganMs - other.beganMs).slice(-networkFailuresToOpen);
    if (recent.length === networkFailuresToOpen && recent.every((call) => call.result === 'network'))
      return true;
    const failed = calls.filter((call) => call.result === 'server');
    if (calls.length < callsForARate || failed.length * 2 < calls.length) return false;
    const seen = new Set(calls.map((call) => call.accountId)).size;
    return new Set(failed.map((call) => call.accountId)).size >= Math.min(3, seen);
  }

  function change(connection: string, call: CallKind, open: boolean): void {
    const now = clock.now();
    known.set(breakerKey(connection, call), open);
    log[open ? 'error' : 'info']({ connection, call }, open ? 'provider is down' : 'provider is back');
    const row: BreakerRow = { connection, call, open, probeAt: now + probeEveryMs, changedAt: now };
    sql.run(upsert, write([row])).catch((error: unknown) => {
      known.delete(breakerKey(connection, call));
      log.warn({ err: error, connection, call }, 'breaker state was not stored');
    });
  }

  async function take(connection: string, call: CallKind): Promise<Probe | null> {
    const now = clock.now();
    const nextAt = now + probeEveryMs;
    const [due, next] = [now, nextAt].map((ms) => new Date(ms).toISOString());
    const [taken] = await sql.run(takeProbe, [connection, call, due, next]);
    return taken === undefined ? null : { connection, call, nextAt };
  }

  function count({ connection, call, accountId }: CountedCall, beganMs: number, result: CallResult): void {
    const key = breakerKey(connection, call);
    const now = clock.monotonicMs();
    const calls = windows.get(key) ?? [];
    const counted = { beganMs, endedMs: now, accountId, result };
    calls.push(counted);
    while (calls.length > windowMost || (calls[0]?.endedMs ?? now) <= now - windowMs) calls.shift();
    windows.set(key, calls);
    if (result === 'ok') {
      if (known.get(key) === true) {
        // It stays: what began before it and fails later says nothing new.
        windows.set(key, [counted]);
        change(connection, call, false);
      }
    } else if (known.get(key) !== true && isDown(calls)) change(connection, call, true);
  }

  /** A breaker that another process closed: what this one counted before says nothing new, as after a success of its own. */
  function seen(connection: string, call: CallKind, open: boolean): void {
    const key = breakerKey(connection, call);
    if (known.get(key) === true && !open) windows.delete(key);
    known.set(key, open);
  }

  return {
    async counted(call, make) {
      const beganMs = clock.monotonicMs();
      const { outcome, stoodStill } = await standstills.during(make);
      const result = resultOf(outcome);
      if (result === 'network' && stoodStill) {
        const { connection, call: kind } = call;
        log.warn({ connection, call: kind }, 'a call failed while this process stood still');
      } else if (call.counts?.(result) ?? true) count(call, beganMs, result);
      return outcome;
    },

    seen,

    async allows(connection, call) {
      const [row] = await sql.run<BreakerRow>(readRows, [[connection], [call]]);
      seen(connection, call, row?.open ?? false);
      return !row?.open || (await take(connection, call)) !== null;
    },

    takeProbe: take,

    async returnProbe({ connection, call, nextAt }) {
      const [mine, now] = [nextAt, clock.now()].map((ms) => new Date(ms).toISOString());
      await sql.run(returnProbe, [connection, call, mine, now]).catch((error: unknown) => {
        log.warn({ err: error, connection, call }, 'a probe was not given back');
      });
    },
  };
}
