import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../ports/clock.ts';
import { type ClientCertificate, type Net, NetFailure, NotSent } from '../ports/net.ts';
import type { FormBody } from './multipart.ts';
import { createTokens, type TokenForm, type Tokens } from './oauth.ts';
import type {
  ListOutcome,
  ProviderWords,
  ReasonCode,
  SendOutcome,
  Unclear,
  UnclearCause,
  UnreadItem,
  UnreadKind,
} from './provider.ts';
import { unreadItem } from './unread.ts';
import { callerHeaders } from './wire.ts';
import { wordsOf } from './words.ts';

/**
 * One authenticated exchange with a provider, and what its answer proves. This is the only place where an answer is
 * sorted into accepted, refused, duplicate, unclear and not sent; the adapters bring the tables and read the bodies.
 */

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base address, query included. */
  path: string;
  body?: unknown;
  /** In the place of `body`: what is no JSON. */
  form?: FormBody;
  headers?: Record<string, string>;
  /** Where the call needs another limit than `callTimeoutMs`. */
  timeoutMs?: number;
}

/** Forwards the caller's trace with the call; adds no span of our own. */
export const traceOf = ({ traceparent }: { traceparent?: string | undefined }): Pick<Call, 'headers'> =>
  traceparent === undefined ? {} : { headers: { traceparent } };

export type Reply =
  /** `body` is undefined when the text is no JSON. */
  | { kind: 'answer'; status: number; headers: Record<string, string>; text: string; body: unknown }
  | { kind: 'failed'; detail: string }
  | { kind: 'notSent'; detail: string };

export type Exchange = (call: Call) => Promise<Reply>;

export interface ExchangeOptions {
  /** Where the API's paths begin. */
  baseUrl: string;
  credentials: Credentials;
  certificate?: ClientCertificate;
  /** On every call; asked for anew each time, since some providers want an id of their own on each. */
  extraHeaders?: () => Record<string, string>;
  /** At the end of every call's query, without `?` or `&` before it. */
  extraQuery?: string;
  /** For a whole call, tokens and a second try included, in milliseconds. */
  callTimeoutMs: number;
  net: Net;
  clock: Clock;
}

export type Credentials =
  /** One key, as it stands, in `header`; default: `authorization`. */
  | { type: 'key'; value: string; header?: string }
  /** Each call is signed by itself: the headers that prove it, over the bytes of its body. */
  | { type: 'signed'; headersOf(body: string | Buffer): Record<string, string> }
  | {
      type: 'oauth';
      clientId: string;
      clientSecret: string;
      /** The whole address; default: `/oauth/token` below the base address. */
      tokenUrl?: string;
      form?: TokenForm;
      /** Called with the scopes of every new token, where the provider names them. */
      onScopes?: (granted: readonly string[]) => void;
    };

export function createExchange(options: ExchangeOptions): Exchange {
  const { net, clock, callTimeoutMs, credentials, extraHeaders, extraQuery } = options;
  const base = options.baseUrl.replace(/\/{1,9}$/, '');
  const certified = options.certificate === undefined ? {} : { certificate: options.certificate };
  // Half the time for a token leaves the other half for the call itself, so that the whole keeps its limit.
  const tokenTimeoutMs = callTimeoutMs / 2;
  const keyHeader = (credentials.type === 'key' ? credentials.header : undefined) ?? 'authorization';
  const tokens: Tokens | null =
    credentials.type !== 'oauth'
      ? null
      : createTokens({
          ...credentials,
          ...certified,
          ...(extraHeaders === undefined ? {} : { extraHeaders }),
          url: credentials.tokenUrl ?? `${base}/oauth/token`,
          timeoutMs: tokenTimeoutMs,
          net,
          clock,
        });
  const addressOf = (path: string): string =>
    extraQuery === undefined ? base + path : `${base + path}${path.includes('?') ? '&' : '?'}${extraQuery}`;

  async function send(call: Call, authorization: string, timeoutMs: number): Promise<Reply> {
    const content = contentOf(call);
    const proof =
      credentials.type === 'signed'
        ? credentials.headersOf(content?.bytes ?? '')
        : { [keyHeader]: authorization };
    try {
      const answer = await net.request({
        method: call.method,
        url: addressOf(call.path),
        headers: {
          ...callerHeaders,
          ...proof,
          ...(content && { 'content-type': content.type }),
          ...extraHeaders?.(),
          ...call.headers,
        },
        ...(content && { body: content.bytes }),
        timeoutMs,
        ...certified,
      });
      const { status, headers, text } = answer;
      return { kind: 'answer', status, headers, text, body: parse(text) };
    } catch (error) {
      if (error instanceof NotSent) return { kind: 'notSent', detail: error.message };
      if (error instanceof NetFailure) return { kind: 'failed', detail: error.message };
      throw error;
    }
  }

  if (tokens === null) {
    const key = credentials.type === 'key' ? credentials.value : '';
    return (call) => send(call, key, call.timeoutMs ?? callTimeoutMs);
  }
  return async (call) => {
    const deadline = clock.monotonicMs() + (call.timeoutMs ?? callTimeoutMs);
    let token: string;
    try {
      token = await tokens.get();
    } catch (error) {
      // Whatever became of the token call: not a byte of this instruction has left.
      return { kind: 'notSent', detail: (error as Error).message };
    }
    const leftMs = deadline - clock.monotonicMs();
    if (leftMs <= 0) return { kind: 'notSent', detail: 'the time was over before the call' };
    const reply = await send(call, `Bearer ${token}`, leftMs);
    // The next call gets a new token, so that a permission counts as soon as it is granted.
    if (lacksScope(reply)) tokens.drop(token);
    if (reply.kind !== 'answer' || reply.status !== 401) return reply;

    // A whole 401 answer to a bearer token says that the request "has not been applied" (RFC 9110, 15.5.2): it ended
    // at the provider's door. So saying it again with another token is the same attempt, for payouts too. That holds
    // for this one answer alone: a broken connection, a timeout or a second 401 are what they are, and unclear.
    tokens.drop(token);
    if (deadline - clock.monotonicMs() < tokenTimeoutMs) return reply;
    const second = await tokens.get().catch(() => null);
    const restMs = deadline - clock.monotonicMs();
    if (second === null || restMs <= 0) return reply;
    const repeated = await send(call, `Bearer ${second}`, restMs);
    if (repeated.kind === 'notSent') return reply;
    if (repeated.kind === 'answer' && repeated.status === 401) tokens.drop(second);
    return repeated;
  };
}

function contentOf({ body, form }: Call): { type: string; bytes: string | Buffer } | undefined {
  if (form !== undefined) return form;
  return body === undefined ? undefined : { type: 'application/json', bytes: JSON.stringify(body) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Of a look before a send: that one sends nothing, so whatever comes of it, nothing has gone out. An answer that cannot be used is about one
 * payment, and the provider is up.
 */
export const notSentAfter = ({ cause, detail }: Unclear) => ({
  ...{ outcome: 'notSent' as const, detail: `what is there could not be looked at: ${detail}`, cause },
  ...((cause === 'unreadable' || cause === 'unknownRefusal') && { answered: true as const }),
});

/** The errors that the provider documents: `"422 pagamento_negado"` to a reason. */
export type Refusals = Readonly<Record<string, ReasonCode>>;

/**
 * RFC 6750, 3.1: the token lacks a scope. The provider refuses at its door, before it reads the request, so nothing was carried
 * out; what is missing is a permission of the credentials, and the same request passes once it is granted.
 */
export const lacksScope = (reply: Reply): boolean =>
  reply.kind === 'answer' && reply.status === 403 && errorNameOf(reply.body) === 'insufficient_scope';

/** The outcome of a send. `read` gives null for a body that is not the answer to this instruction. */
export function outcomeOfSend<Report>(
  reply: Reply,
  clock: Clock,
  known: { refusals: Refusals; duplicates: ReadonlySet<string>; read: (body: unknown) => Report | null },
): SendOutcome<Report> {
  if (reply.kind === 'notSent') return { outcome: 'notSent', detail: reply.detail };
  if (lacksScope(reply)) return { outcome: 'notSent', detail: missingScope };
  if (reply.kind === 'answer') {
    if (isSuccess(reply.status)) {
      const report = known.read(reply.body);
      if (report !== null) return { outcome: 'accepted', report, ...restOf(reply.headers, clock) };
    } else {
      const error = `${reply.status} ${errorNameOf(reply.body)}`;
      const reason = Object.hasOwn(known.refusals, error) ? known.refusals[error] : undefined;
      if (reason !== undefined) return { outcome: 'refused', reason, detail: error, ...wordsIn(reply) };
      if (known.duplicates.has(error)) return { outcome: 'duplicate' };
    }
  }
  return unclear(reply, clock);
}

export const missingScope = 'the credentials lack a permission (scope) for this call';

/** How long sends rest after `Bucket-Size: 0` without a `Retry-After`. */
const emptyBucketRestMs = 60_000;

/** `Bucket-Size` counts the key look-ups that are left: with none, the next send would be answered 429. */
function restOf(headers: Record<string, string>, clock: Clock): { restMs?: number } {
  const left = headers['bucket-size'];
  if (left === undefined || !/^(0|-\d+)$/.test(left)) return {};
  return { restMs: retryAfterMs(headers['retry-after'], clock.now()) ?? emptyBucketRestMs };
}

/** The outcome for an answer that cannot be read or is in no table: it proves nothing. */
export function unclear(reply: Reply, clock: Clock): Unclear {
  if (reply.kind !== 'answer') {
    return { outcome: 'unclear', cause: 'network', detail: reply.detail, retryAfterMs: null };
  }
  return {
    outcome: 'unclear',
    cause: causeOf(reply.status),
    detail: isSuccess(reply.status)
      ? `${reply.status}, but not the answer to this call`
      : `${reply.status} ${errorNameOf(reply.body)}`,
    retryAfterMs: retryAfterMs(reply.headers['retry-after'], clock.now()),
    ...wordsIn(reply),
  };
}

/** The provider's words in an error answer. */
export const wordsIn = (reply: Reply): { words?: ProviderWords } =>
  reply.kind !== 'answer' || isSuccess(reply.status)
    ? {}
    : { words: wordsOf(reply.status, errorNameOf(reply.body), reply.body) };

/** The same for a query, with what was answered in the place of what was asked for. */
export function unreadAnswer(reply: Reply, clock: Clock, kind: UnreadKind, name: string): Unclear {
  const outcome = unclear(reply, clock);
  if (reply.kind !== 'answer' || !isSuccess(reply.status)) return outcome;
  const item = unreadItem(kind, reply.body ?? reply.text);
  const named = kind === 'received' || kind === 'sent' ? { endToEnd: name } : { providerId: name };
  return { ...outcome, unread: { ...item, ...named, name } };
}

/** For calls that move nothing: what went wrong with them, as an error for operators. */
export function failureOf(what: string, reply: Reply, clock: Clock): Error {
  const { cause, detail } = unclear(reply, clock);
  return new Error(`${what}: ${cause} (${detail})`);
}

function causeOf(status: number): UnclearCause {
  if (status === 429) return 'rateLimited';
  if (status >= 500) return 'server';
  return status >= 400 ? 'unknownRefusal' : 'unreadable';
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * The name of an error in any of the shapes that are in use: `type` of API Pix (RFC 7807; its last part), `nome` of Efí, `error` of OAuth, `codigo` of
 * the first of `erros` at Banco do Brasil, `code` of the first of `errors` at Stark Bank and Asaas. Messages are left out: they may hold Pix keys and names.
 */
export function errorNameOf(body: unknown): string {
  if (body === undefined) return 'no JSON';
  const { type, nome, error, erros, errors } = (body ?? {}) as Record<string, unknown>;
  const kind = typeof type === 'string' ? type.slice(type.lastIndexOf('/') + 1) : null;
  const first = Array.isArray(erros) ? (erros[0] as { codigo?: unknown } | null) : null;
  const named = Array.isArray(errors) ? (errors[0] as { code?: unknown } | null) : null;
  const code = typeof first?.codigo === 'number' ? String(first.codigo) : (first?.codigo ?? named?.code);
  // `{statusCode, error: "Bad Request", message}` of its gateway: the words of the status, as one name.
  const status =
    typeof error === 'string' && /^[A-Z][a-z]+( [A-Z][a-z]+){0,3}$/.test(error)
      ? error.replaceAll(' ', '')
      : error;
  const name = [nome, kind, code, status].find(
    (candidate) => typeof candidate === 'string' && /^[\w.-]{1,80}$/.test(candidate),
  );
  return name === undefined ? 'no known error' : String(name);
}

/** The three forms of an HTTP date begin with a day of the week; `Date.parse` alone reads a date into `later 2040` or `-5`. */
const httpDate = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/;

/** `Retry-After` in milliseconds, however long it is: seconds or an HTTP date (RFC 9110, 10.2.3). Null: it says neither. */
function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Math.min(Number(header) * 1000, Number.MAX_SAFE_INTEGER);
  const at = httpDate.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

export interface Listing<Report> {
  /** The kind of the items. */
  kind: UnreadKind;
  /** The path of a page. */
  path: (place: PagePlace) => string;
  /** The items of a page's body; null when it is no list. */
  items: (body: unknown) => unknown[] | null;
  /** Null: cannot be read. `foreign`: none of ours, left out. */
  read: (item: unknown) => Report | null | 'foreign';
  /** The size of the whole list, as a page gives it; default: as API Pix gives it. */
  paging?: (body: unknown) => Paging;
  /** How many items of a page are asked for. The provider may give fewer. */
  pageSize: number;
  maxPages: number;
  /** See `ListWindow`. */
  wholeOnly: boolean | undefined;
}

/** Where a page begins. */
export interface PagePlace {
  /** Counted from 0. */
  page: number;
  /** How many items the pages before it gave: never the number that was asked for. */
  skip: number;
}

/** Null: the page does not say it. */
export interface Paging {
  pages: number | null;
  total: number | null;
  /** Whether another page follows. */
  more: boolean | null;
}

/** Parts of a window are made so much smaller than would do: what happens does not happen evenly. */
const slack = 1.25;
/** A part may be divided again, so a count of pages that cannot be right costs little. */
const partsMost = 100;

/** Reads the pages of a list one after the other. Each is a call of its own, with the time of one. */
export async function readList<Report>(
  exchange: Exchange,
  clock: Clock,
  listing: Listing<Report>,
): Promise<ListOutcome<Report>> {
  const reports: Report[] = [];
  const unread: UnreadItem[] = [];
  let skip = 0;
  let pagesThere: number | null = null;
  let before: unknown[] | null = null;
  const cutOff = (): ListOutcome<Report> => {
    const wanted = Math.ceil((slack * (pagesThere ?? 0)) / listing.maxPages);
    const parts = Math.min(Math.max(2, wanted), partsMost);
    return { outcome: 'listed', reports, unread, complete: false, parts };
  };
  for (let page = 0; ; page++) {
    if (page >= listing.maxPages) return cutOff();
    const reply = await exchange({ method: 'GET', path: listing.path({ page, skip }) });
    const items = reply.kind === 'answer' && isSuccess(reply.status) ? listing.items(reply.body) : null;
    if (reply.kind !== 'answer' || items === null) {
      // The earlier pages are still true.
      return page === 0 ? unclear(reply, clock) : cutOff();
    }
    const { pages, total, more } = (listing.paging ?? pagesOf)(reply.body);
    // A provider that does not divide its list answers the same items to every page.
    const isNew = items.length > 0 && !(before !== null && isDeepStrictEqual(items, before));
    before = items;
    if (isNew) {
      for (const item of items) {
        const report = listing.read(item);
        if (report === null) unread.push(unreadItem(listing.kind, item));
        else if (report !== 'foreign') reports.push(report);
      }
      skip += items.length;
    }
    pagesThere =
      pages ?? (total === null ? null : Math.ceil(total / Math.max(1, Math.ceil(skip / (page + 1)))));
    if (isNew && mayFollow({ pages, total, more }, page, skip)) {
      if (listing.wholeOnly && (pagesThere ?? 0) > listing.maxPages) return cutOff();
      continue;
    }
    // The list may have grown while its pages were read, or a page that is said to be there was not given.
    const isWhole = more !== true && (total === null || skip >= total);
    return isWhole ? { outcome: 'listed', reports, unread, complete: true } : cutOff();
  }
}

/** A page that gives fewer items than were asked for may be the cap of the provider: it ends a list only where the provider says so. */
function mayFollow({ pages, total, more }: Paging, page: number, seen: number): boolean {
  if (more !== null) return more;
  if (pages !== null) return page + 1 < pages;
  return total === null || seen < total;
}

function pagesOf(body: unknown): Paging {
  const paging = (body as { parametros?: { paginacao?: Record<string, unknown> | null } | null } | null)
    ?.parametros?.paginacao;
  const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null);
  return {
    pages: count(paging?.quantidadeDePaginas),
    total: count(paging?.quantidadeTotalDeItens),
    more: null,
  };
}

/** `inicio`, `fim` and the page, as API Pix names them. `wholeSeconds`: the end is rounded up, so that nothing of the window is left out. */
export function windowQuery(
  { fromMs, toMs }: { fromMs: number; toMs: number },
  page: number,
  pageSize: number,
  wholeSeconds = false,
): string {
  const time = (ms: number): string => {
    const text = new Date(ms).toISOString();
    return encodeURIComponent(wholeSeconds ? text.replace('.000Z', 'Z') : text);
  };
  const [from, to] = wholeSeconds
    ? [Math.floor(fromMs / 1000) * 1000, Math.ceil(toMs / 1000) * 1000]
    : [fromMs, toMs];
  return `inicio=${time(from)}&fim=${time(to)}&paginacao.paginaAtual=${page}&paginacao.itensPorPagina=${pageSize}`;
}
