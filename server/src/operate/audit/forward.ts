import type { AuditForward } from '../../ground/config.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net, NetAnswer } from '../../ports/net.ts';
import type { Sql } from '../../ports/sql.ts';
import { type ChainedRow, findUnforwarded, noteForwarded } from './forward.sql.ts';
import { auditLine } from './line.ts';

/**
 * Sends the audit log to a receiver, as log records of OTLP over HTTP (JSON). The position of each account's chain is stored behind the receiver's
 * answer, so a row arrives at least once, and those of an account in the order of their numbers; one that comes again has the same id and hash.
 *
 * Rejected: syslog over TCP or TLS (RFC 5424, 5425, 6587), which has no answer: what a receiver had not read when it died would be lost without a word.
 * A collector of OTLP writes syslog where only that is read.
 */

const rowsMost = 100;
/** Of one request, beyond its first row. */
const bytesMost = 512 * 1024;
/** Of a worker that ends, less than it may take. */
const answersWithinMs = 5_000;
const longestPauseMs = 5 * 60_000;

export interface ForwardDeps {
  sql: Sql;
  clock: Clock;
  net: Net;
  /** Null: nothing is sent. */
  auditForward: AuditForward | null;
}

/** The steps of one cell. */
export function createAuditForward({ sql, clock, net, auditForward }: ForwardDeps): {
  step(): Promise<boolean>;
} {
  let pausedUntilMs = 0;
  // Rows that go one by one after a refusal: those before the one that is meant get through.
  let alone = 0;
  return {
    async step() {
      if (auditForward === null || clock.monotonicMs() < pausedUntilMs) return false;
      const most = alone > 0 ? 1 : rowsMost;
      const found = await findUnforwarded(sql, most);
      const batch = fitting(found);
      const last = batch.at(-1);
      if (last === undefined) return false;
      const answer = await post(net, auditForward, batch);
      const refusal = refusalOf(answer);
      if (refusal !== null) {
        pausedUntilMs = clock.monotonicMs() + pauseOf(answer);
        if (isAboutRows(answer)) alone = Math.max(alone, batch.length);
        throw new Error(`the receiver of the audit log ${refusal}, at row ${batch[0]?.id}`);
      }
      for (const [accountId, seq] of lastOfEach(batch)) await noteForwarded(sql, accountId, seq);
      alone = Math.max(0, alone - 1);
      return found.length === most || batch.length < found.length;
    },
  };
}

/** The first rows that make one request, one at least. */
function fitting(rows: readonly ChainedRow[]): readonly ChainedRow[] {
  let bytes = 0;
  const cut = rows.findIndex((row, index) => {
    bytes += Buffer.byteLength(JSON.stringify(auditLine(row)));
    return index > 0 && bytes > bytesMost;
  });
  return cut === -1 ? rows : rows.slice(0, cut);
}

const lastOfEach = (rows: readonly ChainedRow[]): ReadonlyMap<string, number> =>
  new Map(rows.map(({ ownerId, seq }) => [ownerId, seq]));

/** Whether a receiver takes what is sent to it. @throws when it does not answer */
export async function askReceiver(net: Net, forward: AuditForward, timeoutMs: number): Promise<string> {
  const { status } = await post(net, forward, [], timeoutMs);
  const refuses = (status >= 300 && status < 400) || status >= 500 || [401, 403, 404, 405].includes(status);
  if (refuses) throw new Error(`the receiver of the audit log answers ${status}`);
  return 'the receiver of the audit log answers';
}

const post = (
  net: Net,
  { url, headers }: AuditForward,
  rows: readonly ChainedRow[],
  timeoutMs = answersWithinMs,
): Promise<NetAnswer> =>
  net.request({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(exportOf(rows)),
    timeoutMs,
    maxBytes: 64 * 1024,
    cutsLongAnswers: true,
  });

// ------------------------------------------------------------------------------------------------------------ the answer

/** Null: every row was taken. */
function refusalOf({ status, text }: NetAnswer): string | null {
  if (status < 200 || status > 299) return `answered ${status}`;
  const rejected = rejectedOf(text);
  return rejected === 0 ? null : `rejected ${rejected} rows`;
}

/** `partialSuccess` of a success. Proto3 in JSON writes 64 bits as text, and takes a number too. */
function rejectedOf(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedLogRecords?: string | number };
    };
    return Number(partialSuccess?.rejectedLogRecords ?? 0);
  } catch {
    return 0;
  }
}

/** A refusal that another batch may not get: of what is in it, or of its size. */
const isAboutRows = ({ status }: NetAnswer): boolean =>
  (status >= 200 && status < 300) || status === 400 || status === 413 || status === 422;

/** The wish of `Retry-After` in seconds; loops rest by themselves after a failed step. */
function pauseOf({ headers }: NetAnswer): number {
  const seconds = /^\d{1,9}$/.test(headers['retry-after'] ?? '') ? Number(headers['retry-after']) : 0;
  return Math.min(seconds * 1_000, longestPauseMs);
}

// ------------------------------------------------------------------------------------------------------------ the request

/** `ExportLogsServiceRequest` of OTLP, in its JSON form: 64-bit numbers are text. */
const exportOf = (rows: readonly ChainedRow[]) => ({
  resourceLogs:
    rows.length === 0
      ? []
      : [
          {
            resource: { attributes: [attribute('service.name', 'vintem')] },
            scopeLogs: [{ scope: { name: 'vintem.audit' }, logRecords: rows.map(recordOf) }],
          },
        ],
});

/** The body is the line that `audit export` writes; what a rule of the receiver asks for stands beside it as attributes. */
const recordOf = (row: ChainedRow) => ({
  timeUnixNano: `${row.at}000000`,
  observedTimeUnixNano: `${row.chainedMs}000000`,
  severityNumber: 9,
  severityText: 'INFO',
  eventName: 'vintem.audit',
  body: { stringValue: JSON.stringify(auditLine(row)) },
  attributes: [
    attribute('log.record.uid', row.id),
    attribute('vintem.audit.actor', row.actor),
    attribute('vintem.audit.action', row.action),
    attribute('vintem.audit.subject', row.subject),
    attribute('vintem.audit.account', row.ownerId),
    attribute('vintem.audit.cell', row.cell),
    { key: 'vintem.audit.seq', value: { intValue: String(row.seq) } },
    attribute('vintem.audit.hash', row.hash ?? ''),
  ],
});

const attribute = (key: string, text: string) => ({ key, value: { stringValue: text } });
