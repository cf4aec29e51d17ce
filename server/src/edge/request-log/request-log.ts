import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../ground/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import { callerAddress } from '../caller-address.ts';
import type { Holder } from '../edge.ts';
import { uuidOf } from '../validation.ts';
import { createKept } from './kept.ts';
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
  const kept = createKept<Omit<LoggedRequest, 'leftOut'>>();

  function rowOf(
    request: FastifyRequest,
    reply: FastifyReply,
    holder: Holder,
  ): Omit<LoggedRequest, 'leftOut'> {
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
    const rows = kept.take();
    if (rows.length === 0) return;
    await insertRequests(sql, rows).catch((error: unknown) =>
      log.warn({ err: error, requests: rows.length }, 'requests are missing in the log'),
    );
  }

  return {
    note(request, reply) {
      const { holder } = request;
      if (holder) kept.add(holder.accountId, reply.statusCode >= 400, () => rowOf(request, reply, holder));
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

const fieldsOf = (schema: unknown): readonly string[] =>
  Object.keys((schema as { body?: { properties?: object } } | undefined)?.body?.properties ?? {});

// ----------------------------------------------------------------------------------------------------------------- pruning

const keptDays = 30;
const rowsPerStep = 1_000;

/** Removes what is older than its 30 days, in small steps. @returns whether there is more at once */
export const stepRequestPruning = async ({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> =>
  (await pruneRequests(sql, clock.now() - keptDays * 86_400_000, rowsPerStep)) === rowsPerStep;
