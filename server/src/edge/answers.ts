import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, type ErrorCode, errorBody, type Language, languageOf, refuse } from '../ground/errors.ts';
import type { Log } from '../ground/log.ts';
import type { Measures } from '../ground/measures.ts';
import { isUnavailable } from '../ports/sql.ts';
import { securityHeaders, strictTransport } from './security-headers.ts';
import { clientTraceOf } from './trace.ts';

/** `Retry-After` of an answer 503 that knows no better time: a database that restarts is back within seconds. */
const unavailableSeconds = 1;

interface AnswerDeps {
  config: { publicUrl: string; trustedProxies: readonly string[]; defaultLanguage?: Language };
  log: Log;
  measures?: Pick<Measures, 'shed'>;
}

/** The common form of the edge's answers, and the answers to errors. */
export interface Answers {
  /** Headers of every answer, and what the request says of itself. */
  greet(request: FastifyRequest, reply: FastifyReply): void;
  refused(request: FastifyRequest, reply: FastifyReply, error: ApiError): void;
  failed(error: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply): void;
}

export function createAnswers({ config, log, measures }: AnswerDeps): Answers {
  const overTls = config.trustedProxies.length > 0 || config.publicUrl.startsWith('https:');

  function greet(request: FastifyRequest, reply: FastifyReply): void {
    request.trace = clientTraceOf(request.headers);
    request.language = languageOf(request.headers['accept-language'], config.defaultLanguage);
    reply.header('x-request-id', request.id);
    reply.header('cache-control', 'no-store');
    reply.header('content-language', request.language);
    reply.headers(securityHeaders);
    if (overTls) reply.header('strict-transport-security', strictTransport);
  }

  function refused(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
    const { code, status, options } = error;
    request.refusal = error;
    if (code === 'overloaded' && measures) measures.shed.count++;
    if (!reply.hasHeader('x-request-id')) greet(request, reply);
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    const retryAfterSeconds =
      options.retryAfterSeconds ?? (code === 'processing_unavailable' ? unavailableSeconds : undefined);
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
    reply
      .code(status)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(errorBody(error, request.language, request.id)));
  }

  /** The answer to an error. */
  function refusalOf(error: FastifyError | ApiError, request: FastifyRequest): ApiError {
    if (error instanceof ApiError) return error;
    const code = frameworkCodes[error.code];
    if (code) return refuse(code);
    // Only Fastify gives errors a status: what it could not read of the request, such as a body that broke off.
    if (error.statusCode !== undefined && error.statusCode < 500) return refuse('malformed_request');
    const { method, url, config: route } = request.routeOptions;
    if (isUnavailable(error)) {
      log.warn({ err: error, requestId: request.id, method, route: url }, 'the database is unavailable');
      return refuse('processing_unavailable');
    }
    log.error(
      { err: error, requestId: request.id, ...request.trace, method, route: url },
      'a request failed',
    );
    return refuse(route.api?.creates ? 'processing_unavailable' : 'internal_error');
  }

  return {
    greet,
    refused,
    failed: (error, request, reply) => refused(request, reply, refusalOf(error, request)),
  };
}

const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_request',
};

const rawSecurityHeaders = Object.entries(securityHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** Bytes that are no HTTP request get an answer of the same form, as far as the connection still takes one. */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
  linger: () => Promise<void>,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'malformed_request';
  const refusal = refuse(code);
  const body = errorBody(refusal, 'en', requestId);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.statusCode} ${body.error}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nX-Request-Id: ${requestId}\r\nCache-Control: no-store\r\n${rawSecurityHeaders}Connection: close\r\n\r\n${text}`,
  );
  // `end` closes our half only: a client that keeps the other half open would hold the descriptor without an end.
  socket.destroySoon();
  void linger().then(() => socket.destroy());
}
