import { type ErrorDetail, VintemError } from './error.ts';

/** The options of every call. */
export interface CallOptions {
  /** Ends the call, its waits included. A creation that was under way may still happen: repeat it with its `requestKey`. */
  signal?: AbortSignal | undefined;
  /** For each attempt, in milliseconds; instead of the client's. */
  timeoutMs?: number | undefined;
  /** The business operation, instead of the client's. */
  operation?: string | undefined;
}

export interface Call extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: object;
  /** In the place of `body`: a file, whose type is the content type. The same contents again make nothing new, so it may be repeated. */
  file?: { type: string; contents: Blob | Uint8Array<ArrayBuffer> };
  /** The creation's key: with it a POST may be repeated. */
  requestKey?: string;
  /** Made twice it is the same as made once, without a key. */
  repeatable?: true;
  /** Whether a 2xx body is an answer to this call; what is not counts as no answer. */
  fits?: (body: Record<string, unknown>) => boolean;
}

export interface Transport {
  request<Answer>(call: Call): Promise<Answer>;
  /** A file; an answer of another media type counts as no answer. */
  file(call: Call, type: string): Promise<Blob>;
  /** One attempt at a stream; resolves when its headers have come. @throws VintemError */
  open(call: Call, headers: Record<string, string>, signal: AbortSignal): Promise<Response>;
  /** @throws VintemError `aborted` */
  pause(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface Connection {
  apiKey: string;
  baseUrl: string;
  operation: string | undefined;
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof globalThis.fetch;
}

const firstWaitMs = 250;
const longestWaitMs = 8_000;
/** A `Retry-After` beyond this is left to the caller, as `retryAfterMs`. */
const retryAfterMostMs = 60_000;
/** Refusals that say that the key is in use: nothing under way can change them. */
const namesTheKey = new Set<string>(['idempotency_conflict', 'request_key_consumed']);

export function createTransport(connection: Connection): Transport {
  return {
    request: (call) => request(connection, call, (response) => readJson(response, call)),
    file: (call, type) => request(connection, call, (response) => readFile(response, type)),
    open: (call, headers, signal) => open(connection, call, headers, signal),
    pause,
  };
}

/** Reads a 2xx answer. @throws VintemError when it is none to the call */
type Read<Answer> = (response: Response) => Promise<Answer>;

async function request<Answer>(connection: Connection, call: Call, read: Read<Answer>): Promise<Answer> {
  // Once, so that every repeat carries the same bytes.
  const body = call.file?.contents ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  // A PATCH, a rotation or a replay without a key might happen twice, or undo what came between: only refusals repeat it.
  const repeatable =
    call.method === 'GET' ||
    call.method === 'DELETE' ||
    call.requestKey !== undefined ||
    call.repeatable === true ||
    call.file !== undefined;
  let unanswered = false;
  for (let attempt = 0; ; attempt++) {
    let failure: VintemError;
    try {
      return await attemptOnce(connection, call, body, read);
    } catch (error) {
      failure = error as VintemError;
    }
    const { code, statusCode, retryAfterMs = 0 } = failure;
    const refusedForNow = statusCode === 429;
    const noOutcome = statusCode < 300 || statusCode === 408 || statusCode >= 500;
    if (refusedForNow || (noOutcome && repeatable)) {
      const waitMs = Math.max(backoffMs(attempt), retryAfterMs);
      unanswered ||= noOutcome;
      if (code !== 'aborted' && attempt < connection.maxRetries && retryAfterMs <= retryAfterMostMs) {
        await pause(waitMs, call.signal).catch((aborted: VintemError) => {
          throw withFacts(aborted, call, true);
        });
        continue;
      }
      throw withFacts(failure, call, true);
    }
    // An attempt without an answer may still arrive, after this refusal, which leaves the key free (it names no payment):
    // the refusal is not the last word then, and saying so would let the caller use another key.
    const open =
      call.requestKey !== undefined &&
      unanswered &&
      failure.paymentId === undefined &&
      !namesTheKey.has(code);
    throw withFacts(failure, call, open || (repeatable && code === 'unexpected_answer'));
  }
}

/**
 * A state of money is never an old one. Frameworks put a cache of their own around `fetch`: Next.js 13 and 14 keep the answer to a GET for
 * good, so a payment would stay pending. Some runtimes (Cloudflare Workers older than November 2024) have no caches there and refuse the word.
 */
const uncached: { cache?: 'no-store' } = takesNoStore() ? { cache: 'no-store' } : {};

function takesNoStore(): boolean {
  try {
    new Request('https://vintem.example', { cache: 'no-store' });
    return true;
  } catch {
    return false;
  }
}

/** @throws VintemError */
async function attemptOnce<Answer>(
  connection: Connection,
  call: Call,
  body: string | Blob | Uint8Array<ArrayBuffer> | undefined,
  read: Read<Answer>,
): Promise<Answer> {
  const { signal, timeoutMs = connection.timeoutMs } = call;
  const ending = new AbortController();
  const abort = (): void => ending.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    abort();
  }, timeoutMs);
  try {
    const response = await connection.fetch(urlOf(connection, call), {
      method: call.method,
      headers: headersOf(connection, call),
      ...(body === undefined ? {} : { body }),
      // A redirect would carry the API key and the payment to another address.
      redirect: 'manual',
      ...uncached,
      signal: ending.signal,
    });
    if (response.ok) return await read(response);
    throw refusalOf(response, parsed(await response.text()));
  } catch (error) {
    if (error instanceof VintemError) throw error;
    if (signal?.aborted) throw aborted(signal);
    if (timedOut) throw new VintemError('timeout', `no answer within ${timeoutMs} ms`, { cause: error });
    throw lost(connection, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

const lost = ({ baseUrl }: Connection, facts: { retryable?: boolean; cause: unknown }): VintemError =>
  new VintemError('network_error', `the connection to ${new URL(baseUrl).host} failed`, facts);

async function readJson<Answer>(response: Response, { fits }: Call): Promise<Answer> {
  const body = parsed(await response.text());
  if (body !== null && (fits === undefined || fits(body))) return body as Answer;
  throw unexpected(response);
}

async function readFile(response: Response, type: string): Promise<Blob> {
  const file = await response.blob();
  if (file.type.startsWith(type)) return file;
  throw unexpected(response);
}

function refusalOf(response: Response, body: Record<string, unknown> | null): VintemError {
  // A proxy in between speaks for itself: what it says of a payment is not the service's word.
  if (body === null || body.statusCode !== response.status || typeof body.code !== 'string')
    return unexpected(response);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const { message } = body;
  return new VintemError(body.code, Array.isArray(message) ? message.join('; ') : String(message), {
    statusCode: response.status,
    requestId: text(body.requestId),
    paymentId: text(body.paymentId),
    details: body.details as ErrorDetail[] | undefined,
    retryAfterMs: retryAfterOf(response),
  });
}

const unexpected = (response: Response): VintemError =>
  new VintemError('unexpected_answer', `an answer with status ${response.status} that is not the service's`, {
    statusCode: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterOf(response),
  });

async function open(
  connection: Connection,
  call: Call,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    response = await connection.fetch(urlOf(connection, call), {
      headers: { ...headersOf(connection, call), ...headers },
      redirect: 'manual',
      ...uncached,
      signal,
    });
    if (response.ok && response.body) return response;
    throw refusalOf(response, parsed(await response.text()));
  } catch (error) {
    if (error instanceof VintemError) throw error;
    throw lost(connection, { retryable: true, cause: error });
  }
}

function urlOf({ baseUrl }: Connection, { path, query = {} }: Call): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return baseUrl + path + (given.length > 0 ? `?${search}` : '');
}

function headersOf(connection: Connection, call: Call): Record<string, string> {
  const operation = call.operation ?? connection.operation;
  const type = call.file?.type ?? (call.body === undefined ? undefined : 'application/json');
  return {
    authorization: `Bearer ${connection.apiKey}`,
    accept: 'application/json',
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(operation === undefined ? {} : { 'x-service-operation': operation }),
  };
}

/** One JSON object, or null. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterOf(response: Response): number | undefined {
  const header = response.headers.get('retry-after');
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Doubles with each attempt; half of it by chance, so that clients that failed together do not return together. */
function backoffMs(attempt: number): number {
  const most = Math.min(firstWaitMs * 2 ** attempt, longestWaitMs);
  return most / 2 + (Math.random() * most) / 2;
}

function withFacts(error: VintemError, { requestKey }: Call, retryable: boolean): VintemError {
  const { cause } = error;
  return new VintemError(error.code, error.message, {
    ...error,
    requestKey,
    retryable,
    ...(cause === undefined ? {} : { cause }),
  });
}

const aborted = (signal: AbortSignal): VintemError =>
  new VintemError('aborted', 'the call was aborted', { cause: signal.reason });

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const end = (): void => {
      clearTimeout(timer);
      if (signal) reject(aborted(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
