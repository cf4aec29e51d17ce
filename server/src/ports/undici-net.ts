import { lookup } from 'node:dns/promises';
import { request as httpRequest } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import type { ClientCertificate, Net, NetAnswer, NetRequest, Route } from './net.ts';
import { NetFailure, NotSent } from './net.ts';
import { textOf } from './outside-text.ts';
import { ownAddresses } from './own-addresses.ts';

/**
 * `Net` over undici's `Pool`, one per origin and client certificate or route, on its lowest level.
 *
 * Why not `fetch`, or `Pool.request`: only the handler of `dispatch` shows exactly whether a request was handed to a
 * connection (`onRequestStart` comes right before the first byte is written), and that decides between "not sent" and
 * "unclear". It is also what a send can afford: 20,000 PUTs of 200 bytes to a minimal server in another process, 64
 * at once, cost this process 40 µs of CPU each here and 340 µs with global `fetch` and an `AbortSignal.timeout`
 * (Node 26, two busy cores).
 */
export function createUndiciNet(): Net {
  const plain = new Map<string, Origin>();
  const apart = new Map<ClientCertificate | Route, Map<string, Origin>>();
  let closed = false;
  let turn = 0;

  function originOf(url: URL, { certificate, route }: NetRequest): Origin {
    const own = certificate ?? route;
    let origins = plain;
    if (own !== undefined) {
      origins = apart.get(own) ?? new Map();
      apart.set(own, origins);
    }
    const found = origins.get(url.origin);
    if (found !== undefined) {
      found.turn = ++turn;
      return found;
    }
    if (origins.size >= originsKept) dropLongestIdle(origins);
    const origin = {
      pool: poolOf(url.origin, certificate, route),
      most: route?.connectionsPerOrigin ?? connectionsPerOrigin,
      running: 0,
      waiting: [],
      turn: ++turn,
    };
    origins.set(url.origin, origin);
    return origin;
  }

  return {
    request(request) {
      return new Promise((resolve, reject) => {
        let url: URL;
        try {
          url = new URL(request.url);
        } catch (cause) {
          return reject(new NotSent('the address cannot be read', { cause }));
        }
        if (closed) return reject(new NotSent('the network port is closed'));
        const origin = originOf(url, request);
        const exchange = new Exchange(request, url.pathname + url.search, resolve, reject, () =>
          next(origin),
        );
        if (origin.running < origin.most) start(origin, exchange);
        else origin.waiting.push(exchange);
      });
    },

    lookup: async (hostname) =>
      (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address),

    ownAddresses,

    async close() {
      closed = true;
      const origins = [...plain.values(), ...[...apart.values()].flatMap((map) => [...map.values()])];
      for (const { waiting } of origins) {
        for (const exchange of waiting.splice(0)) exchange.fail(new NotSent('the network port is closed'));
      }
      // Exchanges that are under way end by themselves, at the latest by their own timeouts.
      await Promise.all(origins.map((origin) => origin.pool.close()));
    },
  };
}

const connectionsPerOrigin = 64;
/**
 * Merchants change the addresses of their webhooks as often as they like, and a process lives for months: beyond this many the origin
 * that was used the longest ago is closed. Those with a request under way stay, however many they are.
 */
const originsKept = 500;
const defaultMaxBytes = 16 * 1024 * 1024;

interface Origin {
  pool: Pool;
  /** Connections at most. */
  most: number;
  running: number;
  /**
   * Exchanges beyond the connections wait here and not in the pool's own queue, which would keep opening connections
   * to a dead host for requests that have long timed out.
   */
  waiting: Exchange[];
  /** The higher, the later it was used. */
  turn: number;
}

function dropLongestIdle(origins: Map<string, Origin>): void {
  let longest: [string, Origin] | undefined;
  for (const entry of origins)
    if (entry[1].running === 0 && (longest === undefined || entry[1].turn < longest[1].turn)) longest = entry;
  if (longest === undefined) return;
  origins.delete(longest[0]);
  void longest[1].pool.close();
}

function poolOf(origin: string, certificate: ClientCertificate | undefined, route: Route | undefined): Pool {
  return new Pool(origin, {
    connections: route?.connectionsPerOrigin ?? connectionsPerOrigin,
    pipelining: 1,
    // HTTP/2 would put many sends on one connection, to be lost together, and has retries of its own.
    allowH2: false,
    // Each exchange has one timer of its own over everything; undici's tick in half seconds.
    headersTimeout: 0,
    bodyTimeout: 0,
    // A host that swallows packets holds a place for this long, and the exchange is then certainly not sent.
    connectTimeout: route?.connectTimeoutMs ?? 3000,
    ...(certificate === undefined ? {} : { connect: { ...certificate } }),
    ...(route === undefined
      ? {}
      : {
          connect: route.proxy === null ? { lookup: lookupBy(route) } : tunnelBy(route, route.proxy),
          clientTtl: route.connectionLifeMs,
          keepAliveTimeout: 30_000,
        }),
  });
}

/**
 * Node connects to the answer of `resolve`: there is no second look-up in between for a name server to answer
 * otherwise. The name still serves for SNI and for the check of the certificate.
 */
function lookupBy({ resolve }: Route): LookupFunction {
  return (hostname, { all, family }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const fitting = found.filter(
          (one) => !family || one.family === Number(String(family).replace('IPv', '')),
        );
        const [first] = fitting;
        if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
        else if (all) callback(null, fitting);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/**
 * The same through a proxy. The proxy gets the address that was checked, not the name, so that its own name server cannot resolve it
 * differently. (undici's `ProxyAgent` would send the name.) A straight connection gets from Node what is done here by hand: the addresses of
 * a name are tried in turn, since a proxy may reach one family only.
 */
function tunnelBy(route: Route, proxy: URL): buildConnector.connector {
  async function open(options: buildConnector.Options): Promise<Socket> {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(host) === 0 ? await route.resolve(host) : [host];
    const secure = options.protocol === 'https:';
    const port = options.port || (secure ? '443' : '80');
    const socket = await tunnelToAny(proxy, inTurn(addresses), port, route.connectTimeoutMs);
    if (!secure) return socket;
    return new Promise((resolve, reject) => {
      const tls = connectTls({ socket, servername: options.servername ?? host, ALPNProtocols: ['http/1.1'] });
      const late = setTimeout(() => tls.destroy(new Error('no TLS in time')), route.connectTimeoutMs);
      tls.once('close', () => clearTimeout(late));
      tls.once('error', reject);
      tls.once('secureConnect', () => {
        clearTimeout(late);
        tls.off('error', reject);
        resolve(tls);
      });
    });
  }
  return (options, callback) => {
    open(options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

/** A family after the other, beginning with that of the first address; some, since each costs time. */
export function inTurn(addresses: readonly string[]): string[] {
  const [first = ''] = addresses;
  const own = addresses.filter((address) => isIP(address) === isIP(first));
  const other = addresses.filter((address) => isIP(address) !== isIP(first));
  return own
    .flatMap((address, at) => [address, ...other.slice(at, at + 1)])
    .concat(other.slice(own.length))
    .slice(0, 4);
}

/** Within `timeoutMs` for all: each address has an equal share of what is left. */
async function tunnelToAny(
  proxy: URL,
  addresses: readonly string[],
  port: string,
  timeoutMs: number,
): Promise<Socket> {
  const endsAt = performance.now() + timeoutMs;
  let last: Error = Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
  for (const [at, address] of addresses.entries()) {
    const shareMs = Math.max(1, (endsAt - performance.now()) / (addresses.length - at));
    const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
    try {
      return await tunnel(proxy, authority, shareMs);
    } catch (error) {
      last = error as Error;
    }
  }
  throw last;
}

function tunnel(proxy: URL, authority: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    const asked = httpRequest({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || 80,
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        ...(proxy.username === ''
          ? {}
          : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }),
      },
      agent: false,
    });
    const late = setTimeout(() => asked.destroy(new Error('no tunnel in time')), timeoutMs);
    const end = (): void => clearTimeout(late);
    asked.once('connect', (answer, socket) => {
      end();
      if (answer.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      reject(new Error('the proxy refused'));
    });
    // Any other answer than to CONNECT is none.
    asked.once('response', (answer) => {
      end();
      answer.destroy();
      reject(new Error('the proxy refused'));
    });
    asked.once('error', (error) => {
      end();
      reject(error);
    });
    asked.end();
  });
}

function start(origin: Origin, exchange: Exchange): void {
  origin.running++;
  origin.pool.dispatch(exchange.options, exchange);
}

/** An exchange has ended: its place goes to the first that still waits. */
function next(origin: Origin): void {
  origin.running--;
  for (let exchange = origin.waiting.shift(); exchange !== undefined; exchange = origin.waiting.shift()) {
    if (exchange.settled) continue;
    start(origin, exchange);
    return;
  }
}

/**
 * One exchange, from the queue to its last byte: the handler that undici calls. It settles once; it gives its place
 * back (`leave`) only when undici will touch it no more, so there are never more exchanges in a pool than connections.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly options: Dispatcher.DispatchOptions;
  settled = false;
  /** A connection may have taken a byte of it. */
  #written = false;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #maxBytes: number;
  readonly #cuts: boolean;
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (answer: NetAnswer) => void;
  readonly #reject: (error: NotSent | NetFailure) => void;
  readonly #leave: () => void;

  constructor(
    request: NetRequest,
    path: string,
    resolve: (answer: NetAnswer) => void,
    reject: (error: NotSent | NetFailure) => void,
    leave: () => void,
  ) {
    this.options = {
      path,
      method: request.method,
      headers: request.headers ?? null,
      body: request.body ?? null,
    };
    this.#maxBytes = request.maxBytes ?? defaultMaxBytes;
    this.#cuts = request.cutsLongAnswers ?? false;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#leave = leave;
    this.#timer = setTimeout(() => this.#timedOut(request.timeoutMs), request.timeoutMs);
  }

  fail(error: NotSent | NetFailure): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    this.#reject(error);
  }

  #timedOut(timeoutMs: number): void {
    if (this.#written) {
      this.fail(new NetFailure(`no whole answer within ${timeoutMs} ms`, { timedOut: true }));
      this.#controller?.abort(new Error('timed out'));
    } else {
      // It may still stand in undici's queue: `onRequestStart` then refuses it.
      this.fail(new NotSent(`no connection within ${timeoutMs} ms`));
    }
  }

  /** Throwing here ends the request and keeps the connection, before anything is written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.settled) throw new Error('given up before it was sent');
    if (this.#written) throw new Error('never written twice');
    this.#written = true;
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ');
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes && this.#cuts) {
      this.#chunks.push(chunk.subarray(0, chunk.length - (this.#bytes - this.#maxBytes)));
      this.#answer();
      controller.abort(new Error('read enough'));
    } else if (this.#bytes > this.#maxBytes) {
      this.fail(new NetFailure(`an answer above ${this.#maxBytes} bytes`, { timedOut: false }));
      controller.abort(new Error('too large'));
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.#answer();
    this.#leave();
  }

  #answer(): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.#timer);
    const [only] = this.#chunks;
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, text: textOf(body) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    const reason = reasonOf(cause);
    this.fail(
      this.#written ? new NetFailure(reason, { timedOut: false, cause }) : new NotSent(reason, { cause }),
    );
    this.#leave();
  }
}

/** The system's or undici's code: their messages may carry addresses. */
function reasonOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
