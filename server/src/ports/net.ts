/**
 * The only way out to other servers: the provider, merchants' endpoints, mail.
 */
export interface NetRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute. */
  url: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For the whole exchange, in milliseconds. */
  timeoutMs: number;
  /** Refuses answers above this many bytes (default 16 MiB). */
  maxBytes?: number;
  /** Of an answer above `maxBytes`, its beginning is given back instead of a failure. */
  cutsLongAnswers?: boolean;
  /** How its host is reached. The same object shares its connections. */
  route?: Route;
  /** Shown to a server that asks for one. The same object shares its connections. */
  certificate?: ClientCertificate;
}

/** A way to hosts that are not ours to trust. */
export interface Route {
  /** Turns a name into addresses. These and no others are connected to. Not asked where the URL itself holds an address. */
  resolve(hostname: string): Promise<readonly string[]>;
  connectTimeoutMs: number;
  /** An HTTP proxy that connections go through (CONNECT, to the address and not to the name); null: straight. */
  proxy: URL | null;
  connectionsPerOrigin: number;
  /** After this long a connection takes no more requests, so that a name is looked up again. */
  connectionLifeMs: number;
}

/** PKCS #12 with its key, or a PEM pair. */
export type ClientCertificate = (
  | { pfx: Buffer }
  /** PEM; `cert` with its chain, where there is one. */
  | { cert: Buffer; key: Buffer }
) & { passphrase?: string };

export interface NetAnswer {
  status: number;
  headers: Record<string, string>;
  /** The body as it came, decoded as UTF-8. */
  text: string;
}

export interface Net {
  /**
   * One HTTP exchange: no retries, no redirects.
   * @throws NotSent when no byte of the request was handed to a connection; NetFailure for everything else.
   */
  request(request: NetRequest): Promise<NetAnswer>;
  /** Every IPv4 and IPv6 address of a name, as the system resolves it. @throws when there is none */
  lookup(hostname: string): Promise<string[]>;
  /** The addresses of this machine's own interfaces. */
  ownAddresses(): string[];
  close(): Promise<void>;
}

/**
 * Refused connection, unknown host, TLS handshake, no free connection within the time: the other side cannot have
 * seen the request, and will not see it later.
 */
export class NotSent extends Error {
  override name = 'NotSent';
}

/** Timeout, broken connection, an answer that is too large: the other side may have acted. */
export class NetFailure extends Error {
  override name = 'NetFailure';
  readonly timedOut: boolean;
  constructor(message: string, options: { timedOut: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut;
  }
}
