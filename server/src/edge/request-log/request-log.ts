import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { takeStorage } from '../../store/database/storage-budget.ts';
import { callerAddress } from '../caller-address.ts';
import type { Holder } from '../edge.ts';
import { uuidOf } from '../validation.ts';
import { createKept, type RequestKind, requestKinds, type TakenRequests } from './kept.ts';
import { redact } from './redact.ts';
import { insertRequests, type LoggedRequest, pruneRequests } from './request-log.sql.ts';

/**
 * The log of the public API that merchants see: requests with one of their keys, and the answers. Requests
 * without a valid key belong to no account and are in no log.
 *
 * No payment may wait for this log: rows are gathered in memory and written once a second, and rows that cannot be
 * written are lost.
 */
export interface RequestLog {
  /** When the answer is about to be sent. */
  note(request: FastifyRequest, reply: FastifyReply): void;
  /** Writes once a second until `stopping`, and what is left then. */
  run(stopping: AbortSignal): Promise<void>;
}

interface Needs {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** The payment that an account's request key makes or has made. */
  paymentIdOf(account: { id: string; number: number }, requestKey: string): string;
}

const everyMs = 1_000;

export function createRequestLog({ sql, clock, ids, log, paymentIdOf }: Needs): RequestLog {
  const kept = createKept<Row>();

  function rowOf(request: FastifyRequest, reply: FastifyReply, holder: Holder): Row {
    const { method, routeOptions, caller, trace, headers } = request;
    const named = headers['x-service-operation'];
    return {
      accountId: holder.accountId,
      id: ids.uuid(),
      at: clock.now(),
      method,
      route: routeOptions.url ?? '',
      status: reply.statusCode,
      errorCode: request.refusal?.code ?? null,
      keyId: holder.id,
      requestId: request.id,
      clientRequestId: trace.clientRequestId ?? null,
      durationMs: Math.round(clock.monotonicMs() - request.arrivedMs),
      ip: callerAddress(request),
      operationId: caller?.operationId || (typeof named === 'string' ? uuidOf(named) : null),
      paymentId: paymentOf(request, reply, holder),
      body: redact(request.body, fieldsOf(routeOptions.schema)),
    };
  }

  /** The payment that was asked for or that this request has made; none where it was refused before there was one. */
  function paymentOf(request: FastifyRequest, reply: FastifyReply, holder: Holder): string | null {
    const { routeOptions, refusal } = request;
    if (refusal && reply.statusCode < 500) return refusal.options.paymentId ?? null;
    if (routeOptions.url?.includes('/payments/')) return uuidOf((request.params as { id?: string }).id ?? '');
    if (!routeOptions.url?.includes('/pix/')) return null;
    const requestKey = uuidOf(String((request.body as { requestKey?: unknown } | null)?.requestKey));
    return requestKey && paymentIdOf({ id: holder.accountId, number: holder.accountNumber }, requestKey);
  }

  async function write(): Promise<void> {
    const taken = kept.take();
    if (taken.length === 0) return;
    try {
      const left = await sql.tx((tx) => storeWithinBudget(tx, taken, clock.now()));
      for (const { accountId, count } of left) kept.leaveOut(accountId, count);
    } catch (err) {
      log.warn({ err, accounts: taken.length }, 'requests are missing in the log');
    }
  }

  return {
    note(request, reply) {
      const { holder } = request;
      if (holder) kept.add(holder.accountId, kindOf(request, reply), () => rowOf(request, reply, holder));
    },
    run: async (stopping) => {
      while (!stopping.aborted) {
        await clock.sleep(everyMs, stopping);
        await write();
      }
      await write();
    },
  };
}

const kindOf = ({ method }: FastifyRequest, { statusCode }: FastifyReply): RequestKind =>
  statusCode >= 400 ? 'refused' : method === 'GET' || method === 'HEAD' ? 'reading' : 'changing';

type Row = Omit<LoggedRequest, 'leftOut'>;

/** Columns of fixed length and the three indexes; a row of a transfer measured 664 bytes in all. */
const bytesOfRow = 350;
const sizeOf = (row: Row): number =>
  bytesOfRow +
  row.method.length +
  row.route.length +
  row.keyId.length +
  row.requestId.length +
  (row.errorCode?.length ?? 0) +
  (row.clientRequestId?.length ?? 0) +
  row.ip.length +
  (row.body === null ? 0 : JSON.stringify(row.body).length);

/** Stores what each account's budgets take, the oldest first. @returns how many of whose requests were left out, with none stored to tell it */
async function storeWithinBudget(
  tx: Queries,
  taken: readonly TakenRequests<Row>[],
  nowMs: number,
): Promise<{ accountId: string; count: number }[]> {
  const sizes = new Map(taken.flatMap(({ rows }) => rows.map(({ row }) => [row, sizeOf(row)] as const)));
  const granted = new Map(
    await Promise.all(
      requestKinds.map(async (kind) => {
        const wanted = new Map<string, number>();
        for (const { accountId, rows } of taken) {
          const bytes = rows.reduce(
            (sum, one) => sum + (one.kind === kind ? (sizes.get(one.row) ?? 0) : 0),
            0,
          );
          if (bytes > 0) wanted.set(accountId, bytes);
        }
        const left = wanted.size === 0 ? wanted : await takeStorage(tx, `${kind}-requests`, wanted, nowMs);
        return [kind, left] as const;
      }),
    ),
  );
  const stored: LoggedRequest[] = [];
  const untold: { accountId: string; count: number }[] = [];
  for (const { accountId, rows, leftOut } of taken) {
    const fitting = rows.filter(({ kind, row }) => {
      const left = granted.get(kind) as Map<string, number>;
      const after = (left.get(accountId) ?? 0) - (sizes.get(row) ?? 0);
      left.set(accountId, after);
      return after >= 0;
    });
    const count = leftOut + rows.length - fitting.length;
    if (fitting.length === 0) untold.push({ accountId, count });
    fitting.forEach(({ row }, at) => {
      stored.push({ ...row, leftOut: at === fitting.length - 1 ? count : 0 });
    });
  }
  if (stored.length > 0) await insertRequests(tx, stored);
  return untold;
}

const fieldsOf = (schema: unknown): readonly string[] =>
  Object.keys((schema as { body?: { properties?: object } } | undefined)?.body?.properties ?? {});

// ----------------------------------------------------------------------------------------------------------------- pruning

const keptDays = 30;
const rowsPerStep = 1_000;

/** Removes what is older than its 30 days, in small steps. @returns whether there is more at once */
export const stepRequestPruning = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneRequests(sql, clock.now() - keptDays * 86_400_000, rowsPerStep)) === rowsPerStep;
